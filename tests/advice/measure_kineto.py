"""Figures behind the verdicts on Kineto traces, computed from the files alone (no NeuroLens).

For each profile: span of the file, devices, recording options; for each device the busy union, the kernel time by class of
name, and kernels without a launch in the file; for each window that an argument needs the closing sum
compute + exposed communication + exposed copies + idle, and what the host did while the device was idle.
For sets of ranks also the collectives: shortest duration (transfer) and the waiting of each rank.

All times are integer nanoseconds; windows are counted from the first record of the file.

Usage: measure_kineto.py TRACES_FOLDER [--check]
Writes measured_kineto.json next to this file; with --check recomputes and exits 1 if a figure differs.
"""

from __future__ import annotations

import bisect
import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

OUT = Path(__file__).with_name("measured_kineto.json")

Interval = tuple[int, int]

DEVICE_CATS = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset", "mtia_ccp_events"}
RUNTIME_CATS = {"runtime", "cuda_runtime", "cuda_driver", "mtia_runtime"}
OP_CATS = {"cpu_op", "operator"}
MARK_CATS = {"user_annotation", "operator"}

CLASSES: list[tuple[str, str]] = [
    ("communication", r"nccl|rccl|cross_device_reduce"),
    ("host_to_device", r"Memcpy HtoD"),
    ("device_to_host", r"Memcpy DtoH"),
    ("device_to_device", r"Memcpy DtoD|Memcpy PtoP"),
    ("memset", r"Memset"),
    ("embedding", r"split_embedding|fbgemm|embedding|bounds_check_indices|linearize_index"),
    ("layout", r"nchwToNhwc|nhwcToNchw|CatArrayBatchedCopy|direct_copy_kernel|permute_pooled|transpose"),
    ("batchnorm", r"bn_bw_|bn_fw_|batch_norm"),
    ("conv", r"conv|scudnn|wgrad|dgrad|fprop|winograd|fft2d|gcgemm"),
    ("gemm", r"gemm|Cijk_|gemv|splitKreduce"),
    ("optimizer", r"multi_tensor_apply|AdamFunctor|lars"),
    ("elementwise", r"elementwise|triton_poi|dropout"),
    ("reduction", r"reduce_kernel|softmax|nll_loss"),
    ("sort_scan", r"cub::|RadixSort|DeviceScan"),
]

HOST_KINDS: list[tuple[str, str]] = [
    ("alloc", r"^(cudaMalloc|cudaFree|cudaHostAlloc|hipMalloc|hipFree)"),
    ("sync", r"^(cuda|hip)\w*Synchronize"),
    ("data_loading", r"DataLoader|## data_load ##|load_batch"),
    ("copy_call", r"^(cuda|hip)Memcpy"),
    ("launch_call", r"^(cuda|cu|hip)\w*Launch"),
]


@dataclass(slots=True)
class Event:
    """One complete event of the file."""

    name: str
    cat: str
    start: int
    end: int
    tid: str
    args: dict[str, Any]

    @property
    def interval(self) -> Interval:
        """Start and end."""
        return (self.start, self.end)


@dataclass
class Trace:
    """A parsed file: times from its first record."""

    events: list[Event]
    head: dict[str, Any]
    span: int
    launches: dict[int, Event] = field(default_factory=dict)

    def cats(self, cats: set[str]) -> list[Event]:
        """Events of these categories, in order of their start."""
        return [e for e in self.events if e.cat in cats]

    def device_work(self, device: int | None = None) -> list[Event]:
        """Kernels, copies and memsets (of one device)."""
        found = self.cats(DEVICE_CATS)
        return [e for e in found if device is None or e.args.get("device") == device]


def to_ns(text: str | int) -> int:
    """Microseconds as written (a decimal text or an integer) to integer nanoseconds, without going through a double."""
    if isinstance(text, int):
        return text * 1000
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def load(path: Path) -> Trace:
    """Read a trace; times are counted from the first complete event."""
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", errors="replace") as stream:
        doc = json.load(stream, parse_float=str, strict=False)
    raw = [e for e in doc["traceEvents"] if e.get("ph") == "X"]
    first = min(to_ns(e["ts"]) for e in raw)
    events = []
    for e in raw:
        start = to_ns(e["ts"]) - first
        end = start + to_ns(e.get("dur", 0))
        events.append(Event(e["name"], str(e.get("cat", "")).lower(), start, end, str(e.get("tid")), e.get("args", {})))
    events.sort(key=lambda e: (e.start, -e.end))
    trace = Trace(events, {k: v for k, v in doc.items() if k != "traceEvents"}, max(e.end for e in events))
    for e in trace.cats(RUNTIME_CATS):
        if "correlation" in e.args:
            trace.launches.setdefault(int(e.args["correlation"]), e)
    return trace


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Merge intervals."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        elif end > start:
            merged.append((start, end))
    return merged


def length(intervals: Iterable[Interval]) -> int:
    """Total length of merged intervals."""
    return sum(end - start for start, end in intervals)


def clip(merged: list[Interval], window: Interval) -> list[Interval]:
    """The part of merged intervals inside of a window."""
    first = max(0, bisect.bisect_left(merged, (window[0], window[0])) - 1)
    out = []
    for start, end in merged[first:]:
        if start >= window[1]:
            break
        if end > window[0]:
            out.append((max(start, window[0]), min(end, window[1])))
    return out


def minus(merged: list[Interval], other: list[Interval]) -> list[Interval]:
    """What of merged intervals is not in the other ones."""
    out = []
    for start, end in merged:
        at = start
        for s, e in clip(other, (start, end)):
            if s > at:
                out.append((at, s))
            at = e
        if at < end:
            out.append((at, end))
    return out


def class_of(name: str) -> str:
    """Class of a piece of device work by its name."""
    return next((cls for cls, pattern in CLASSES if re.search(pattern, name, re.IGNORECASE)), "other")


def kind_of(name: str) -> str | None:
    """What a host record does, if it is one of the kinds that explain idle time."""
    return next((kind for kind, pattern in HOST_KINDS if re.search(pattern, name)), None)


def by_class(work: Iterable[Event]) -> dict[str, int]:
    """Sum of durations by class, longest first."""
    sums: Counter[str] = Counter()
    for e in work:
        sums[class_of(e.name)] += e.end - e.start
    return dict(sums.most_common())


def closing_sum(work: list[Event], window: Interval) -> dict[str, int]:
    """compute + exposed_communication + exposed_copy + idle = window."""
    groups: dict[str, list[Interval]] = {"compute": [], "communication": [], "copy": []}
    for e in work:
        cls = class_of(e.name)
        copy = cls in ("host_to_device", "device_to_host", "device_to_device", "memset")
        groups["communication" if cls == "communication" else "copy" if copy else "compute"].append(e.interval)
    comp, comm, copies = (clip(union(groups[g]), window) for g in ("compute", "communication", "copy"))
    exposed_comm = minus(comm, comp)
    exposed_copy = minus(copies, union(comp + comm))
    busy = length(union(comp + comm + copies))
    return {
        "length": window[1] - window[0],
        "compute": length(comp),
        "communication": length(comm),
        "exposed_communication": length(exposed_comm),
        "copies": length(copies),
        "exposed_copies": length(exposed_copy),
        "idle": window[1] - window[0] - busy,
    }


def idle_causes(trace: Trace, work: list[Event], window: Interval) -> dict[str, int]:
    """Split the idle time of a window by whether the next piece of work was launched late and what the host did meanwhile."""
    busy = clip(union(e.interval for e in work), window)
    gaps = minus([window], busy)
    starts = {e.start: e for e in reversed(work)}
    kinds: dict[str, list[Interval]] = defaultdict(list)
    for e in trace.events:
        kind = kind_of(e.name) if e.cat in RUNTIME_CATS | OP_CATS | MARK_CATS else None
        if kind:
            kinds[kind].append(e.interval)
        elif e.cat in OP_CATS and not e.name.startswith("ProfilerStep"):
            kinds["in_op"].append(e.interval)
    merged = {k: union(v) for k, v in kinds.items()}
    sums: Counter[str] = Counter()
    for gap in gaps:
        nxt = starts.get(gap[1])
        launch = trace.launches.get(int(nxt.args.get("correlation", -1))) if nxt else None
        if nxt is None or launch is None:
            sums["no_launch_seen"] += gap[1] - gap[0]
            continue
        late_until = min(max(launch.start, gap[0]), gap[1])
        sums["queued_in_time_or_latency"] += gap[1] - late_until
        rest = [(gap[0], late_until)] if late_until > gap[0] else []
        for kind in ("alloc", "sync", "data_loading", "copy_call", "launch_call", "in_op"):
            part = minus(rest, merged.get(kind, []))
            sums["late_" + kind] += length(rest) - length(part)
            rest = part
        sums["late_outside_ops"] += length(rest)
    return {k: v for k, v in sorted(sums.items()) if v}


def windowed(trace: Trace, work: list[Event], window: Interval) -> dict[str, Any]:
    """All figures of one window on one device."""
    inside = [e for e in work if e.start >= window[0] and e.start < window[1]]
    return {
        "window": list(window),
        **closing_sum(work, window),
        "kernels": sum(1 for e in inside if e.cat == "kernel"),
        "by_class": by_class(inside),
        "idle_causes": idle_causes(trace, work, window),
    }


def device_steps(trace: Trace, work: list[Event], pattern: str = r"^ProfilerStep#") -> list[Interval]:
    """Steps on the device: from the first kernel that a host step launched on the main stream to that of the next one."""
    marks = [e for e in trace.cats(MARK_CATS) if re.search(pattern, e.name)]
    streams: Counter[Any] = Counter()
    for e in work:
        if class_of(e.name) != "communication":
            streams[e.args.get("stream")] += e.end - e.start
    main = streams.most_common(1)[0][0]
    firsts: list[int] = []
    last = 0
    for mark in marks:
        own = []
        for e in work:
            launch = trace.launches.get(int(e.args.get("correlation", -1)))
            if launch and mark.start <= launch.start < mark.end:
                own.append(e)
        on_main = [e.start for e in own if e.args.get("stream") == main and e.cat == "kernel"]
        if on_main:
            firsts.append(min(on_main))
            last = max(e.end for e in own)
    return list(zip(firsts, [*firsts[1:], last], strict=True))


def unlinked(trace: Trace, work: list[Event]) -> dict[str, Any]:
    """Kernels without a launch in the file, and whether their ids precede that of every recorded call (queued before)."""
    kernels = [e for e in work if e.cat == "kernel"]
    missing = [e for e in kernels if int(e.args.get("correlation", -1)) not in trace.launches]
    if not missing:
        return {"count": 0}
    return {
        "count": len(missing),
        "time": sum(e.end - e.start for e in missing),
        "last_start": max(e.start for e in missing),
        "all_ids_before_first_call": max(int(e.args["correlation"]) for e in missing) < min(trace.launches, default=0),
    }


def calls(trace: Trace, minimum: int = 500_000) -> dict[str, dict[str, int]]:
    """Runtime calls by name with count and sum, those above a minimum."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for e in trace.cats(RUNTIME_CATS):
        sums[e.name][0] += 1
        sums[e.name][1] += e.end - e.start
    big = sorted((item for item in sums.items() if item[1][1] >= minimum), key=lambda item: -item[1][1])
    return {name: {"count": n, "time": t} for name, (n, t) in big}


def head(trace: Trace) -> dict[str, Any]:
    """Span, devices named by the file, recording options, rank."""
    props = trace.head.get("deviceProperties") or []
    info = trace.head.get("distributedInfo") or {}
    flags = ("record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory")
    return {
        "span": trace.span,
        "devices_named": sorted({str(p.get("name")) for p in props}),
        "options": [f for f in flags if trace.head.get(f)],
        **{k: info[k] for k in ("rank", "world_size", "backend") if k in info},
        "records": dict(sorted(Counter(e.cat for e in trace.events).items())),
    }


def device(trace: Trace, number: int | None = None) -> dict[str, Any]:
    """Figures of a device over the whole file."""
    work = trace.device_work(number)
    if not work:
        return {"kernels": 0}
    streams: Counter[str] = Counter()
    for e in work:
        streams[str(e.args.get("stream"))] += e.end - e.start
    return {
        "first_start": work[0].start,
        "last_end": max(e.end for e in work),
        "busy": length(union(e.interval for e in work)),
        "kernels": sum(1 for e in work if e.cat == "kernel"),
        "by_class": by_class(work),
        "by_stream": dict(streams.most_common()),
        "without_launch": unlinked(trace, work),
    }


def copies(trace: Trace) -> dict[str, dict[str, int]]:
    """Copies by name: count, time, bytes and those of more than 1 MB."""
    out: dict[str, dict[str, int]] = {}
    for e in trace.device_work():
        if not e.name.startswith("Memcpy"):
            continue
        row = out.setdefault(e.name, {"count": 0, "time": 0, "bytes": 0, "over_1MB": 0})
        row["count"] += 1
        row["time"] += e.end - e.start
        size = int(e.args.get("bytes", 0))
        row["bytes"] += size
        row["over_1MB"] += size > 1_000_000
    return out


def marks(trace: Trace, pattern: str) -> dict[str, dict[str, int]]:
    """Annotations and ops of a pattern: count, sum of times."""
    out: dict[str, dict[str, int]] = {}
    for e in trace.cats(MARK_CATS | OP_CATS):
        if re.search(pattern, e.name):
            row = out.setdefault(e.name, {"count": 0, "time": 0})
            row["count"] += 1
            row["time"] += e.end - e.start
    return out


def standard(trace: Trace, drop_first: int = 0, drop_last: int = 0) -> dict[str, Any]:
    """What a trace with ProfilerStep marks needs: head, device, steps on the device, the window of the steady ones."""
    work = trace.device_work()
    steps = device_steps(trace, work)
    kept = steps[drop_first : len(steps) - drop_last]
    window = (kept[0][0], kept[-1][1])
    return {
        **head(trace),
        "device": device(trace),
        "device_steps": [list(s) for s in steps],
        "steady": windowed(trace, work, window),
        "copies": copies(trace),
        "calls": calls(trace),
    }


def host_only(trace: Trace) -> dict[str, Any]:
    """A file without device work: head, ops by thread as a union, collectives by annotation."""
    ops = trace.cats(OP_CATS)
    threads = sorted({e.tid for e in ops})
    comm = [e for e in trace.cats(MARK_CATS) if re.search(r"^(gloo|nccl):", e.name)]
    return {
        **head(trace),
        "ops_union_by_thread": {t: length(union(e.interval for e in ops if e.tid == t)) for t in threads},
        "collectives": marks(trace, r"^(gloo|nccl):"),
        "collectives_union": length(union(e.interval for e in comm)),
        "collectives_window": [comm[0].start, max(e.end for e in comm)] if comm else [],
    }


def whole(trace: Trace) -> dict[str, Any]:
    """A file with a few kernels: head, device, calls, the window from the first to the last piece of device work."""
    work = trace.device_work()
    window = (work[0].start, max(e.end for e in work))
    return {
        **head(trace),
        "device": device(trace),
        "work": windowed(trace, work, window),
        "copies": copies(trace),
        "calls": calls(trace, 100_000),
    }


def alexnet(trace: Trace) -> dict[str, Any]:
    """The measured forward pass of the benchmark, next to the whole file."""
    mark = max((e for e in trace.cats(MARK_CATS) if "measure|forward" in e.name), key=lambda e: e.start)
    return {**whole(trace), "measured_pass": windowed(trace, trace.device_work(), mark.interval)}


def counters(trace: Trace) -> dict[str, Any]:
    """A file of CUPTI counters: ranges instead of kernels."""
    ranges = trace.cats({"cuda_profiler_range"})
    return {
        **head(trace),
        "ranges": len(ranges),
        "ranges_time": sum(e.end - e.start for e in ranges),
        "ranges_union": length(union(e.interval for e in ranges)),
        "calls": calls(trace),
    }


def mtia(trace: Trace) -> dict[str, Any]:
    """MTIA: work of the device by name; waits for events are not work."""
    events = trace.cats({"mtia_ccp_events"})
    host = next(e for e in trace.events if e.cat == "trace").interval
    work = [e for e in events if e.name not in ("event_wait", "event_record")]
    compute = union(e.interval for e in work if e.name != "dma_request")
    sums: dict[str, dict[str, int]] = {}
    for e in events:
        row = sums.setdefault(e.name, {"count": 0, "time": 0})
        row["count"] += 1
        row["time"] += e.end - e.start
    return {
        **head(trace),
        "host_window": list(host),
        "device_window": [min(e.start for e in work), max(e.end for e in work)],
        "by_name": sums,
        "busy": length(union(e.interval for e in work)),
        "compute_union": length(compute),
        "compute_in_host_window": length(clip(compute, host)),
        "calls": calls(trace, 50_000_000),
    }


def data_loop(trace: Trace) -> dict[str, Any]:
    """A loop marked by its data loader: the window begins with the second batch copied to the device."""
    work = trace.device_work()
    big = [e for e in work if class_of(e.name) == "host_to_device" and int(e.args.get("bytes", 0)) > 1_000_000]
    window = (big[1].start, max(e.end for e in work))
    return {
        **whole(trace),
        "batches": len(big),
        "steady": windowed(trace, work, window),
        "loader": marks(trace, "DataLoader"),
    }


def graph_holes(trace: Trace) -> dict[str, Any]:
    """Graph launches, their recorded nodes, and the idle time inside of a graph or before its first recorded node."""
    work = trace.device_work()
    graphs = {int(e.args["correlation"]) for e in trace.cats(RUNTIME_CATS) if e.name == "cudaGraphLaunch"}
    first: dict[int, int] = {}
    for e in work:
        first.setdefault(int(e.args.get("correlation", -1)), e.start)
    starts = {e.start: e for e in reversed(work)}
    busy = union(e.interval for e in work)
    steps = device_steps(trace, work)
    inside = before = 0
    for (_, end), (start, _) in pairwise(busy):
        corr = int(starts[start].args.get("correlation", -1))
        if start <= steps[0][0] or corr not in graphs:
            continue
        if first[corr] < start:
            inside += start - end
        else:
            before += start - end
    nodes = [e for e in work if int(e.args.get("correlation", -1)) in graphs]
    return {
        "launches": len(graphs),
        "nodes": dict(Counter(e.cat for e in nodes)),
        "idle_inside_of_graphs": inside,
        "idle_before_first_node": before,
    }


def with_graphs(trace: Trace) -> dict[str, Any]:
    """Steps and what the file shows of graphs."""
    return {**standard(trace), "graphs": graph_holes(trace)}


def linear(trace: Trace) -> dict[str, Any]:
    """A loop without marks: from the first matrix product to the last kernel."""
    work = trace.device_work()
    begin = next(e.start for e in work if class_of(e.name) == "gemm")
    return {**whole(trace), "loop": windowed(trace, work, (begin, max(e.end for e in work)))}


def ids_kept(trace: Trace) -> dict[str, int]:
    """How many of the ids between the first and the last recorded op are in the file."""
    ids = {int(e.args["External id"]) for e in trace.cats(OP_CATS) if "External id" in e.args}
    return {"present": len(ids), "range": max(ids) - min(ids) + 1}


def rank(trace: Trace) -> dict[str, Any]:
    """One rank of a set: figures of the window of the work launched inside of the capture."""
    work = trace.device_work()
    linked = [e for e in work if int(e.args.get("correlation", -1)) in trace.launches]
    window = (linked[0].start, max(e.end for e in linked))
    return {**head(trace), "device": device(trace), "step": windowed(trace, work, window), "op_ids": ids_kept(trace)}


def waits(traces: list[Trace]) -> dict[str, Any]:
    """Collectives in their order on all ranks: shortest duration is the transfer, the rest of each rank is waiting."""
    rows = [[e.end - e.start for e in t.device_work() if class_of(e.name) == "communication"] for t in traces]
    if len({len(r) for r in rows}) != 1:
        return {}
    shortest = [min(column) for column in zip(*rows, strict=True)]
    return {
        "transfer_by_collective": shortest,
        "transfer": sum(shortest),
        "wait_by_rank": [sum(row) - sum(shortest) for row in rows],
        "last_to_come": [column.index(min(column)) for column in zip(*rows, strict=True)],
    }


def ranks(traces: list[Trace]) -> dict[str, Any]:
    """A set of ranks: each rank, pooled shares, waiting in collectives."""
    each = [rank(t) for t in traces]
    keys = ("length", "compute", "exposed_communication", "exposed_copies", "idle")
    return {"ranks": each, "pooled": {k: sum(r["step"][k] for r in each) for k in keys}, "collectives": waits(traces)}


def sampled(traces: list[Trace]) -> dict[str, Any]:
    """Two of many ranks, thinned out by the maker: no waiting can be computed."""
    return {k: v for k, v in ranks(traces).items() if k != "collectives"}


Single = Callable[[Trace], dict[str, Any]]
K, M = "kineto/", "more/kineto/"
SINGLES: dict[str, Single] = {
    K + "hta_alexnet_train.json.gz": alexnet,
    K + "hta_cpu_only_rank34.pt.trace.json.gz": host_only,
    K + "hta_cuda_event_sync_multistream.json.gz": whole,
    K + "hta_cupti_profiler_counters.json.gz": counters,
    K + "hta_mi250_rocm6.2_minitoy_train.json.gz": whole,
    K + "hta_mtia_inference_rank0.json.gz": mtia,
    K + "hta_nccl_data.json.gz": standard,
    K + "hta_ns_resolution_rank0.pt.trace.json.gz": standard,
    K + "hta_rank_non_gpu.json.gz": host_only,
    K + "hta_simple_add_trace.json.gz": whole,
    K + "hta_triton_example.json.gz": whole,
    K + "kineto_docs_after_fix_trace.json": whole,
    K + "kineto_docs_before_fix_trace.json": whole,
    K + "kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz": standard,
    K + "kineto_tb_resnet50_nw4_worker0.1623212756351.pt.trace.json.gz": standard,
    M + "hta_negative_queue_length_rank0.json.gz": with_graphs,
    M + "hta_trace_diff_control.json.gz": standard,
    M + "hta_trace_diff_test.json.gz": with_graphs,
    M + "param_linear_kineto.json.gz": linear,
    M + "param_resnet_kineto.json.gz": data_loop,
}
SETS: dict[str, tuple[str, Callable[[list[Trace]], dict[str, Any]]]] = {
    "more/multirank/dlrm_8rank": ("dlrm_kineto_rank*.json.gz", ranks),
    "more/multirank/hta_sampled_world128": ("hta_sampled_rank*.json.gz", sampled),
}


def name_of(path: str) -> str:
    """The name of a verdict: the file name up to the first of the known endings."""
    return re.split(r"\.pt\.trace|\.json", Path(path).name, maxsplit=1)[0]


def measure(folder: Path) -> dict[str, Any]:
    """All profiles of this part, keyed by the name of the verdict."""
    out: dict[str, Any] = {}
    for path, figures in SINGLES.items():
        out[name_of(path)] = figures(load(folder / path))
    for path, (pattern, figures_of_set) in SETS.items():
        out[Path(path).name] = figures_of_set([load(p) for p in sorted((folder / path).glob(pattern))])
    return dict(sorted(out.items()))


def main(arguments: list[str]) -> int:
    """Write the figures, or compare them with those written before."""
    if not arguments or len(arguments) > 2 or (len(arguments) == 2 and arguments[1] != "--check"):
        print(__doc__)
        return 2
    found = json.loads(json.dumps(measure(Path(arguments[0]))))
    if len(arguments) == 2:
        known = json.loads(OUT.read_text(encoding="utf-8"))
        differing = sorted(n for n in found.keys() | known.keys() if found.get(n) != known.get(n))
        print(f"{len(found)} profiles, differing: {', '.join(differing) or 'none'}")
        return 1 if differing else 0
    OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
