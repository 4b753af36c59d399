"""What limits five recorded runs, computed here from the files alone, is what the first ten lines of analyze name.

docs/analysis/limiters.md argues the same by hand and shows these lines.
"""

import bisect
import gzip
import json
import re
from decimal import Decimal

import pytest

from conftest import REPOSITORY, TRACES

PAGE = (REPOSITORY / "docs/analysis/limiters.md").read_text()
WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
PLAUSIBLE_LAUNCH_NS = 100_000


# ---- sets of time


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
    total = 0
    starts = [begin for begin, _ in b]
    for begin, end in a:
        for i in range(max(bisect.bisect_right(starts, begin) - 1, 0), len(b)):
            if b[i][0] >= end:
                break
            total += max(0, min(end, b[i][1]) - max(begin, b[i][0]))
    return total


def inside(intervals, window):
    clipped = ((max(begin, window[0]), min(end, window[1])) for begin, end in intervals)
    return [(begin, end) for begin, end in clipped if end > begin]


def gaps(window, busy):
    edges = [window[0]] + [t for pair in busy for t in pair] + [window[1]]
    return [(a, b) for a, b in zip(edges[::2], edges[1::2]) if b > a]


# ---- a Kineto file


class Trace:
    """Times of the steady part: from the first work of the first step on the busiest stream to the end of the last step's work."""

    def __init__(self, path, step="^ProfilerStep#"):
        events = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)["traceEvents"]
        self.events = [e for e in events if e.get("ph") == "X"]
        for e in self.events:
            e["time"] = (int(Decimal(e["ts"]) * 1000), int((Decimal(e["ts"]) + Decimal(e["dur"])) * 1000))
            e["cat"] = str(e.get("cat")).lower()
        self.work = sorted((e for e in self.events if e["cat"] in WORK), key=lambda e: e["time"])
        calls = ("cuda_runtime", "cuda_driver", "runtime")
        runtime = [e for e in self.events if e["cat"] in calls and "correlation" in e["args"]]
        self.calls = {e["args"]["correlation"]: e for e in runtime}
        marks = [e for e in self.events if re.search(step, e["name"]) and e["cat"] != "gpu_user_annotation"]
        self.window = self.steady(sorted(e["time"] for e in marks))
        self.idle = gaps(self.window, inside(union(e["time"] for e in self.work), self.window))

    def steady(self, steps):
        launched = [self.launched_in(begin, end) for begin, end in steps]
        launched = [work for work in launched if work]
        kernels = [e for e in self.work if e["cat"] == "kernel"]
        times = {}
        for e in kernels:
            times[e["args"]["stream"]] = times.get(e["args"]["stream"], 0) + e["time"][1] - e["time"][0]
        stream = max(times, key=times.get)
        return (min(e["time"][0] for e in launched[0] if e["args"]["stream"] == stream), max(e["time"][1] for e in launched[-1]))

    def launched_in(self, begin, end):
        calls = ((e, self.calls.get(e["args"].get("correlation"))) for e in self.work)
        return [e for e, call in calls if call and begin <= call["time"][0] < end]

    def share(self, ns):
        return ns / (self.window[1] - self.window[0])

    def compute(self):
        """Share of the window in which a kernel ran that is not communication."""
        return self.share(length(inside(union(e["time"] for e in self.work if is_compute(e)), self.window)))

    def named(self, pattern, thread):
        wanted = re.compile(pattern)
        return union(e["time"] for e in self.events if (e["pid"], e["tid"]) == thread and wanted.search(e["name"]))

    def late_gaps(self):
        """Gaps whose next launch had not come: (thread, begin, launch call, end of what is the launch itself)."""
        starts = [e["time"][0] for e in self.work]
        for begin, end in self.idle:
            at = bisect.bisect_left(starts, end)
            call = self.calls.get(self.work[at]["args"]["correlation"]) if at < len(starts) else None
            if call is None or call["time"][0] <= begin:
                continue  # launched before the capture, or in time
            called, returned = (min(max(time, begin), end) for time in call["time"])
            yield (call["pid"], call["tid"]), begin, called, end if end - returned <= PLAUSIBLE_LAUNCH_NS else returned

    def late_in(self, pattern):
        """Share of the window in such gaps before the call, with the launching thread in spans of these names."""
        found = list(self.late_gaps())
        spans = {thread: self.named(pattern, thread) for thread in {gap[0] for gap in found}}
        return self.share(sum(common([(begin, called)], spans[thread]) for thread, begin, called, _ in found))

    def slow_host(self):
        """All of them, but for waiting for the device, allocating and loading data."""
        whole = self.share(sum(end - begin for _, begin, _, end in self.late_gaps()))
        return whole - self.late_in(r"^cuda.*Synchronize$|^cuda(Malloc|Free|HostAlloc)|DataLoader")


def is_compute(event):
    return event["cat"] == "kernel" and "nccl" not in event["name"].lower()


def recorded(path):
    path = TRACES / path
    if not path.exists():
        pytest.skip(f"no recorded profile {path}: set NEUROLENS_TRACES")
    return path


# ---- what is expected


def compute_of(path):
    return "compute", Trace(path).compute()


def compute_of_engine_steps(path):
    return "compute", Trace(path, "^execute_").compute()


def host_of(path):
    return "host", Trace(path).slow_host()


def ops_of_onnxruntime(path):
    """Nodes run one after another, inside of the runs of the model."""
    events = [e for e in json.loads(path.read_text()) if e.get("ph") == "X"]
    times = [(e["name"], (e["ts"], e["ts"] + e["dur"])) for e in events]
    nodes = union(time for name, time in times if name.endswith("_kernel_time"))
    runs = [time for name, time in times if name == "model_run"]
    return "compute", length(nodes) / (max(end for _, end in runs) - min(begin for begin, _ in runs))


CASES = {
    "kineto/tracelens_h100_qwen1.5-0.5b.json.gz": compute_of,
    "kineto/kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz": compute_of,
    "kineto/tracelens_vllm_decode_full_cudagraph.json.gz": compute_of_engine_steps,
    "kineto/hta_nccl_data.json.gz": host_of,
    "onnxruntime/generated/transformer_t2_noopt_5runs.json": ops_of_onnxruntime,
}


def first_lines(neurolens, path):
    return neurolens("analyze", path, "--quiet").out.splitlines()[:10]


@pytest.mark.parametrize("path", CASES)
def test_the_first_ten_lines_name_the_limiter_and_its_share(neurolens, path):
    source = recorded(path)
    name, share = CASES[path](source)
    lines = first_lines(neurolens, source)
    assert any(re.search(rf"\blimiter +{100 * share:.1f} % +{name}:", line) for line in lines), "\n".join(lines)


@pytest.mark.parametrize("path", CASES)
def test_the_page_shows_the_first_ten_lines(neurolens, path):
    lines = first_lines(neurolens, recorded(path))
    assert "\n".join(line.rstrip() for line in lines) in PAGE


def test_data_loading_comes_second(neurolens):
    """The run whose data loader has no workers of its own."""
    source = recorded("kineto/kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz")
    share = Trace(source).late_in("DataLoader")
    lines = first_lines(neurolens, source)
    assert any(re.search(rf"\bthen +{100 * share:.1f} % +host_data:", line) for line in lines), "\n".join(lines)
