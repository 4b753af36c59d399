"""Figures that argue what limits each trace of answers.json, read from the files alone.

usage: figures.py FUNCTION FILE      prints them as JSON
No other tool takes part: JSON and SQLite as Python reads them. Shares are in per cent, of the window (first to last
record with a duration) unless the name says otherwise.
"""

import bisect
import gzip
import json
import pathlib
import re
import sqlite3
import sys
import tempfile

WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
CALLS = ("cuda_runtime", "cuda_driver", "runtime")


def text_of(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def union(intervals):
    merged = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        elif end > begin:
            merged.append([begin, end])
    return merged


def length(intervals):
    return sum(end - begin for begin, end in intervals)


def common(a, b):
    """Length of what two unions share."""
    starts = [begin for begin, _ in b]
    total = 0
    for begin, end in a:
        for other in b[max(bisect.bisect_right(starts, begin) - 1, 0) :]:
            if other[0] >= end:
                break
            total += max(0, min(end, other[1]) - max(begin, other[0]))
    return total


def both(a, b):
    """What two unions share."""
    found = [(max(x[0], y[0]), min(x[1], y[1])) for x in a for y in b]
    return [(begin, end) for begin, end in found if end > begin]


def gaps(window, busy):
    edges = [window[0]] + [t for pair in busy for t in pair] + [window[1]]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2]) if b > a]


def percent(part, whole):
    return round(100 * part / whole, 1)


class Kineto:
    """Times of a PyTorch trace in microseconds since its first record."""

    def __init__(self, path):
        events = [e for e in json.loads(text_of(path))["traceEvents"] if e.get("ph") == "X"]
        base = min(e["ts"] for e in events)
        for e in events:
            e["time"] = (e["ts"] - base, e["ts"] - base + e["dur"])
            e["cat"] = str(e.get("cat")).lower()
        self.events = events
        self.window = (0, max(e["time"][1] for e in events))
        self.work = sorted((e for e in events if e["cat"] in WORK), key=lambda e: e["time"])
        self.kernels = [e for e in self.work if e["cat"] == "kernel"]
        self.idle = gaps(self.window, union(e["time"] for e in self.work))
        self.calls = {e["args"]["correlation"]: e for e in events if e["cat"] in CALLS and "correlation" in e["args"]}

    def share(self, time):
        return percent(time, self.window[1])

    def of_device_span(self, intervals):
        """Share of the time between the first and the last work of the device."""
        span = [(self.work[0]["time"][0], max(e["time"][1] for e in self.work))]
        return percent(common(span, intervals), length(span))

    def named(self, pattern):
        return union(e["time"] for e in self.events if re.search(pattern, e["name"]))

    def kernel_time(self, pattern=""):
        return sum(e["dur"] for e in self.kernels if re.search(pattern, e["name"], re.IGNORECASE))

    def busy_stream(self):
        """Work of the stream with the most of it."""
        streams = {e["args"]["stream"]: [] for e in self.work}
        for e in self.work:
            streams[e["args"]["stream"]].append(e)
        return max(streams.values(), key=lambda work: sum(e["dur"] for e in work))

    def late(self):
        """Time of the gaps whose next launch call began after the device had run dry."""
        starts = [e["time"][0] for e in self.work]
        total = 0
        for begin, end in self.idle:
            at = bisect.bisect_left(starts, end)
            call = self.calls.get(self.work[at]["args"].get("correlation")) if at < len(starts) else None
            if call and call["time"][0] >= begin:
                total += end - begin
        return total


# ---- one function for each trace


def input_pipeline(path):
    trace = Kineto(path)
    other = Kineto(path.parent / "kineto_tb_resnet50_nw4_worker0.1623212756351.pt.trace.json.gz")
    loader = r"DataLoader.*__next__"
    return {
        "kernels": trace.share(trace.kernel_time()),
        "device idle while in the data loader": trace.share(common(trace.idle, trace.named(loader))),
        "device idle while in the data loader, of the span of the device": trace.of_device_span(both(trace.idle, trace.named(loader))),
        "window_ms": round(trace.window[1] / 1000, 1),
        "window_ms with four workers": round(other.window[1] / 1000, 1),
        "kernels_ms": round(trace.kernel_time() / 1000, 1),
        "kernels_ms with four workers": round(other.kernel_time() / 1000, 1),
    }


def host_late(path):
    trace = Kineto(path)
    return {
        "idle": trace.share(length(trace.idle)),
        "idle, next launch not yet called": trace.share(trace.late()),
        "kernels": trace.share(trace.kernel_time()),
        "communication kernels": trace.share(trace.kernel_time("nccl|all_reduce")),
    }


def kernel_classes(path):
    trace = Kineto(path)
    whole = trace.kernel_time()
    return {
        "kernels": trace.share(whole),
        "idle": trace.share(length(trace.idle)),
        "elementwise, of the kernel time": percent(trace.kernel_time("elementwise"), whole),
        "products, of the kernel time": percent(trace.kernel_time("gemm|gemv"), whole),
    }


def dominating_kernels(path):
    trace = Kineto(path)
    whole = trace.kernel_time()
    first, last = trace.work[0]["time"][0], max(e["time"][1] for e in trace.work)
    return {
        "kernels, of the span of the device": percent(whole, last - first),
        "_matmul_ogs, of the kernel time": percent(trace.kernel_time("^_matmul_ogs"), whole),
        "before the first kernel": trace.share(first),
    }


def prefill_products(path):
    trace = Kineto(path)
    ours = [e for e in trace.busy_stream() if e["cat"] == "kernel"]
    begin, last = ours[0]["time"][0], max(e["time"][1] for e in ours)
    return {
        "kernels, of the span of the busy stream": percent(sum(e["dur"] for e in ours), last - begin),
        "products (Cijk_), of the kernel time": percent(trace.kernel_time("^Cijk_"), trace.kernel_time()),
        "first kernel of that stream_ms": round(begin / 1000, 1),
    }


def capture_begins_late(path):
    trace = Kineto(path)
    ours = trace.busy_stream()
    called = trace.calls[ours[0]["args"]["correlation"]]["time"]
    begin, last = ours[0]["time"][0], max(e["time"][1] for e in ours)
    return {
        "idle": trace.share(length(trace.idle)),
        "from the first launch of the busy stream to its first work": trace.share(begin - called[1]),
        "first work of that stream_ms": round(begin / 1000, 1),
        "kernels, of the span of that stream": percent(sum(e["dur"] for e in ours), last - begin),
        "host in one blocking copy": trace.share(length(trace.named("^hipMemcpyWithStream$"))),
    }


def one_call(path):
    trace = Kineto(path)
    call = max((e for e in trace.events if e["cat"] in CALLS), key=lambda e: e["dur"])
    return {
        "idle": trace.share(length(trace.idle)),
        "the longest call, " + call["name"]: trace.share(call["dur"]),
        "the longest call_s": round(call["dur"] / 1e6, 1),
        "allocating and freeing": trace.share(length(trace.named("^cuda(Malloc|Free)"))),
    }


def preparation(path):
    trace = Kineto(path)
    first = trace.work[0]["time"][0]
    before = [(0, first)]
    return {
        "before the first work of the device": trace.share(first),
        "in image_processing_videomae.py before it_ms": round(common(before, trace.named("image_processing_videomae")) / 1000, 1),
        "in image_processing_videomae.py before it": trace.share(common(before, trace.named("image_processing_videomae"))),
        "kernels": trace.share(trace.kernel_time()),
        "idle after it": trace.share(length(trace.idle) - first),
    }


class Nsys:
    def __init__(self, path):
        self.file = tempfile.NamedTemporaryFile(suffix=".sqlite")
        self.file.write(text_of(path))
        self.file.flush()
        self.rows = sqlite3.connect(self.file.name).execute
        tables = ["CUPTI_ACTIVITY_KIND_" + t for t in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME")]
        spans = [self.rows(f"SELECT min(start), max(end) FROM {t}").fetchone() for t in tables]
        self.window = max(s[1] for s in spans) - min(s[0] for s in spans)

    def device_time(self, table, condition="true"):
        query = f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{table} WHERE deviceId = 0 AND {condition}"
        return self.rows(query).fetchall()


def copies(path):
    trace = Nsys(path)
    to_device = trace.device_time("MEMCPY", "copyKind = 1 AND srcKind = 1")
    kernels = union(trace.device_time("KERNEL"))
    return {
        "pinned copies to the device": percent(length(union(to_device)), trace.window),
        "of them beside a kernel": percent(common(union(to_device), kernels), trace.window),
        "kernels": percent(length(kernels), trace.window),
    }


def attention(path):
    trace = Nsys(path)
    flash = trace.device_time("KERNEL", "shortName IN (SELECT id FROM StringIds WHERE value = 'flash_fwd_kernel')")
    kernels = trace.device_time("KERNEL")
    return {
        "kernels": percent(length(union(kernels)), trace.window),
        "flash_fwd_kernel, of the kernel time": percent(length(flash), length(kernels)),
    }


def onnxruntime_ops(path):
    events = [e for e in json.loads(text_of(path)) if e.get("ph") == "X"]
    window = max(e["ts"] + e["dur"] for e in events) - min(e["ts"] for e in events)
    nodes = [e for e in events if e["name"].endswith("_kernel_time")]
    whole = sum(e["dur"] for e in nodes)
    products = sum(e["dur"] for e in nodes if e["args"]["op_name"] in ("MatMul", "Gemm"))
    runs = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"] == "model_run"]
    ready = sum(e["dur"] for e in events if re.match("session_init|model_loading", e["name"]))
    return {
        "nodes": percent(whole, window),
        "nodes, from the first run to the last": percent(whole, runs[-1][1] - runs[0][0]),
        "products, of the time of nodes": percent(products, whole),
        "loading and initialisation": percent(ready, window),
    }


def layers(path):
    rows = [row for row in json.loads(text_of(path)) if "name" in row]
    whole = sum(row["timeMs"] for row in rows)
    ordered = sorted(rows, key=lambda row: -row["timeMs"])
    return {f"{row['name']}, of all layers": percent(row["timeMs"], whole) for row in ordered[:2]}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](pathlib.Path(sys.argv[2]))))
