#!/usr/bin/env python3
"""Measure the sixteen TraceLens profiles (models on one device, serving engines, graph captures) without NeuroLens.

Usage: measure_engines.py TRACES_FOLDER [--check]

Writes measured_engines.json beside this script: for each profile the span of its records, the device, what was recorded,
the busy union and the kernel time by class, the window an expert would look at, the gaps in it, records without a launch,
the steps of the serving engine with their tokens per second, and the matrix products whose sizes were recorded.
All times are integer nanoseconds from the first record of the file (the span "PyTorch Profiler" is no record).

The window on a device goes from the first record on the main compute stream whose launch is in the file to the end of the last.
A gap counts as `host` where the launch call of the next record began after the device had run dry, as `queued` otherwise.
With --check nothing is written; the exit code is 1 if a figure differs.
"""

import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
OUTPUT = HERE / "measured_engines.json"
PROFILES = {
    name: f"{folder}/tracelens_{name}.json.gz"
    for folder, names in {
        "kineto": (
            "b200_eager h100_bert-small h100_falconsai_vit h100_qwen1.5-0.5b h100_timesformer mi300_bert-small"
            " mi300_falconsai_vit mi300_qwen1.5-0.5b sglang_qwen3-8b_decode sglang_qwen3-8b_prefilldecode"
            " vllm_decode_full_cudagraph vllm_prefilldecode_piecewise"
        ),
        "more/kineto": ("mi210_gpu_only sglang_qwen3-8b_graph_capture_bs32 torch_compile_triton vllm_decode_full_graph_capture"),
    }.items()
    for name in names.split()
}
DEVICE_CATEGORIES = {"kernel", "gpu_memcpy", "gpu_memset"}
CALL_CATEGORIES = {"cuda_runtime", "cuda_driver"}
FLAGS = ("record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory")
# The first pattern that fits the name of a record gives its class.
CLASSES = (
    ("communication", r"nccl|rccl|all_?reduce|cross_device_reduce"),
    ("moe", r"_matmul_ogs|^bmm_.*E2m1|moe::|_topk_forward|_combined_routing|_sum_bitmatrix|_finalize_matmul|moe_forward"),
    ("attention", r"flash_fwd|fmha|Fmha|attn_fwd|paged_attention|unified_attention|reduce_segments"),
    ("convolution", r"^igemm|fprop|conv2d"),
    ("gemm", r"^Cijk|gemm|nvjet|gemv|^void cutlass::Kernel2"),
    ("layout", r"batched_transpose|nchwToNhwc|nhwcToNchw|SubTensorOp|CatArray|direct_copy|copy_kernel|_to_copy"),
    ("softmax", r"[sS]oft[mM]ax"),
    ("norm", r"norm"),
    ("copy", r"^Memcpy"),
    ("memset", r"^Memset"),
    ("elementwise", r"elementwise|triton_|act_and_mul|rotary|multi_tensor|quant"),
)
PRODUCTS = {"aten::mm", "aten::addmm", "aten::bmm"}


@dataclass(frozen=True)
class Record:
    """One complete event, its times from the first record of the file."""

    name: str
    category: str
    start: int
    end: int
    track: tuple[int, int]
    correlation: int | None
    args: dict[str, Any]


def nanoseconds(microseconds: int | Decimal) -> int:
    """Exact integer nanoseconds of a time in microseconds."""
    return int(Decimal(microseconds) * 1000)


def read(path: Path) -> tuple[dict[str, Any], list[Record], int]:
    """The head of a trace, its complete events in order of time and the absolute time of the first one."""
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        trace: dict[str, Any] = json.load(stream, parse_float=Decimal)
    events = [event for event in trace.pop("traceEvents") if event.get("ph") == "X" and event.get("cat") != "Trace"]
    first = min(nanoseconds(event["ts"]) for event in events)
    records = []
    for event in events:
        args = event.get("args", {})
        start = nanoseconds(event["ts"]) - first
        track = (event["pid"], event["tid"])
        end = start + nanoseconds(event["dur"])
        records.append(Record(event["name"], event["cat"], start, end, track, args.get("correlation"), args))
    records.sort(key=lambda record: (record.start, record.end))
    return trace, records, first + int(trace.get("baseTimeNanoseconds", 0))


def union(records: list[Record], window: tuple[int, int]) -> int:
    """Length of the union of records, sorted by start, within a window."""
    total, reached = 0, window[0]
    for record in records:
        start, end = max(record.start, reached), min(record.end, window[1])
        if end > start:
            total += end - start
            reached = end
    return total


def device_of(trace: dict[str, Any]) -> dict[str, Any]:
    """Vendor, name and number of devices; the name is empty in some traces of vLLM."""
    devices = trace.get("deviceProperties", [])
    vendor = "AMD" if "hip_runtime_version" in trace else "NVIDIA"
    world = trace.get("distributedInfo", {}).get("world_size")
    first = devices[0]
    return {
        "vendor": vendor,
        "name": first.get("name", ""),
        "listed": len(devices),
        "sms": first.get("numSms"),
        "world_size": world,
    }


def class_of(name: str) -> str:
    """Class of a device record by its name."""
    return next((label for label, pattern in CLASSES if re.search(pattern, name)), "other")


def classes(device: list[Record], window: tuple[int, int]) -> dict[str, dict[str, int]]:
    """Number and summed time of the records of each class which start in the window, longest first."""
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for record in device:
        if window[0] <= record.start < window[1]:
            entry = sums[class_of(record.name)]
            entry[0] += 1
            entry[1] += record.end - record.start
    ordered = sorted(sums.items(), key=lambda item: -item[1][1])
    return {label: {"count": count, "sum_ns": total} for label, (count, total) in ordered}


def gaps(device: list[Record], calls: dict[int | None, Record], window: tuple[int, int]) -> dict[str, int]:
    """Gaps of a device within a window by what the host had done when the device ran dry."""
    result = {"host_ns": 0, "host_before_call_ns": 0, "queued_ns": 0, "largest_ns": 0}
    reached = window[0]
    for record in device:
        start = min(record.start, window[1])
        if start > reached:
            call = calls.get(record.correlation)
            late = call is not None and call.start > reached
            result["host_ns" if late else "queued_ns"] += start - reached
            if call is not None and late:
                result["host_before_call_ns"] += min(call.start, start) - reached
            result["largest_ns"] = max(result["largest_ns"], start - reached)
        reached = max(reached, record.end)
    if window[1] > reached:
        result["queued_ns"] += window[1] - reached
    return result


def window_of(device: list[Record], calls: dict[int | None, Record], records: list[Record], name: str) -> tuple[int, int]:
    """The window an expert would look at."""
    if name == "h100_timesformer":  # the pipeline prepares the video on the host before any device work: the whole step counts
        step = next(record for record in records if record.category == "user_annotation")
        return step.start, step.end
    busy: Counter[tuple[int, int]] = Counter()
    for record in device:
        busy[record.track] += record.end - record.start
    main = max(busy, key=lambda track: busy[track])
    linked = [record for record in device if record.track == main and record.correlation in calls]
    return linked[0].start, max(record.end for record in linked)


def unlinked(device: list[Record], calls: dict[int | None, Record]) -> dict[str, int | bool]:
    """Device records without a launch in the file, and whether all of them end before the first one that has its launch."""
    without = [record for record in device if record.correlation not in calls]
    linked = [record.start for record in device if record.correlation in calls]
    before = all(record.end <= linked[0] for record in without) if linked else False
    last = max((record.end for record in without), default=0)
    return {"records": len(without), "all_before_first_linked": bool(without) and before, "last_end_ns": last}


def first_wait(device: list[Record], calls: dict[int | None, Record], window: tuple[int, int]) -> int:
    """How long the first launch of the window waited on its stream: earlier work that is not in the file."""
    first = next(record for record in device if record.start == window[0])
    call = calls.get(first.correlation)
    return max(0, first.start - call.end) if call else 0


def serving_steps(records: list[Record], window: tuple[int, int]) -> list[dict[str, Any]]:
    """Steps which a serving engine annotated: requests and tokens by phase, and tokens per second."""
    steps = []
    pattern = re.compile(r"execute_(?:\d+_)?context_(\d+)\((?:sq)?(\d+)(?:sk(\d+))?\D.*generation_(\d+)\((?:sq)?(\d+)(?:sk(\d+))?")
    for record in records:
        found = pattern.match(record.name) if record.category == "user_annotation" else None
        if found:
            values = [int(group or 0) for group in found.groups()]
            tokens = values[1] + values[4]
            steps.append(
                {
                    "name": record.name,
                    "prefill_requests": values[0],
                    "prefill_tokens": values[1],
                    "decode_requests": values[3],
                    "decode_tokens": values[4],
                    "decode_kv_tokens": values[5],
                    "host_range_ns": record.end - record.start,
                    "tokens_per_s_device": round(tokens * 1e9 / (window[1] - window[0])),
                    "tokens_per_s_by_host_range": round(tokens * 1e9 / (record.end - record.start)),
                }
            )
    return steps


def products(records: list[Record]) -> dict[str, Any]:
    """Matrix products with recorded sizes: number and FLOP of each, type, and the greatest power of 2 that divides N and K."""
    found: dict[str, dict[str, Any]] = {}
    for record in records:
        if record.category != "cpu_op" or record.name not in PRODUCTS:
            continue
        dims = [size for size in record.args.get("Input Dims", []) if len(size) > 1][:2]
        kinds = record.args.get("Input type", ["?"])
        left, right = dims
        batch = left[0] if len(left) == 3 else 1
        m, k, n = left[-2], left[-1], right[-1]
        key = f"{batch}x{m}x{n}x{k} {kinds[0]}"
        entry = found.setdefault(key, {"count": 0, "flop_each": 2 * batch * m * n * k, "n_and_k_divisible_by": (n | k) & -(n | k)})
        entry["count"] += 1
    return found


def host_share(records: list[Record]) -> dict[str, int]:
    """Longest runtime calls by summed time: where the host waits."""
    sums: Counter[str] = Counter()
    for record in records:
        if record.category in CALL_CATEGORIES:
            sums[record.name] += record.end - record.start
    return dict(sums.most_common(4))


def preprocessing(records: list[Record]) -> int:
    """Time of the host in the preparation of its input by a pipeline of transformers."""
    spans = [
        r.end - r.start
        for r in records
        if r.category == "python_function" and "video_classification.py" in r.name and r.name.endswith("): preprocess")
    ]
    return max(spans, default=0)


def measure(path: Path, name: str) -> dict[str, Any]:
    """All figures of one profile."""
    trace, records, absolute = read(path)
    device = [record for record in records if record.category in DEVICE_CATEGORIES]
    calls: dict[int | None, Record] = {r.correlation: r for r in records if r.category in CALL_CATEGORIES}
    whole = (0, max(record.end for record in records))
    window = window_of(device, calls, records, name)
    kernels = [record for record in device if record.category == "kernel"]
    launched = Counter(calls[r.correlation].name for r in device if r.correlation in calls)
    inside = union(device, window)
    capture = any(record.name.endswith("StreamBeginCapture") for record in records)
    return {
        "first_record_unix_ns": absolute,
        "span_ns": whole[1],
        "device": device_of(trace),
        "recorded_with": [flag for flag in FLAGS if trace.get(flag)],
        "python_functions": sum(record.category == "python_function" for record in records),
        "cpu_ops": sum(record.category == "cpu_op" for record in records),
        "graph_capture": capture,
        "kernels": len(kernels),
        "kernels_below_8_us": {
            "count": sum(k.end - k.start < 8000 for k in kernels),
            "sum_ns": sum(k.end - k.start for k in kernels if k.end - k.start < 8000),
        },
        "busy_union_ns": union(device, whole),
        "launched_by": dict(launched.most_common()),
        "unlinked": unlinked(device, calls),
        "window_ns": list(window),
        "window_busy_ns": inside,
        "window_idle_ns": window[1] - window[0] - inside,
        "window_gaps": gaps(device, calls, window),
        "first_launch_waited_ns": first_wait(device, calls, window) if name != "h100_timesformer" else 0,
        "classes": classes(device, window),
        "copies": dict(Counter(record.name for record in device if record.category == "gpu_memcpy")),
        "serving_steps": serving_steps(records, window),
        "products": products(records),
        "runtime_calls_ns": host_share(records),
        "preprocessing_ns": preprocessing(records),
    }


def main(arguments: list[str]) -> int:
    """Measure all profiles; write the figures or compare them with those written."""
    check = "--check" in arguments
    folders = [argument for argument in arguments if argument != "--check"]
    if len(folders) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    measured = {f"tracelens_{name}": measure(Path(folders[0]) / path, name) for name, path in PROFILES.items()}
    text = json.dumps(measured, indent=1, sort_keys=True) + "\n"
    if not check:
        OUTPUT.write_text(text, encoding="utf-8")
        return 0
    written = json.loads(OUTPUT.read_text(encoding="utf-8"))
    different = [name for name, block in json.loads(text).items() if written.get(name) != block]
    for name in different + sorted(set(written) - set(measured)):
        print(f"differs: {name}")
    return 1 if different or set(written) != set(measured) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
