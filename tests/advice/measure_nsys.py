#!/usr/bin/env python3
"""Compute the figures behind the verdicts on the Nsight Systems and rocprofv3 profiles, without NeuroLens.

Usage: measure_nsys.py TRACES_FOLDER [--check]

Reads nsys/*.sqlite.gz and three sets of CSV files of rocprof/, and writes measured_nsys.json beside this script, keyed by the
name of the profile. With --check nothing is written; the figures are computed anew and the exit code is 1 if one differs.

For each profile: the span of all records, what ran on which device, and for one window (named in WINDOWS) the closing sum
compute + exposed communication + exposed copies + idle = window, in integer nanoseconds. All times but `first_record_ns` are
counted from the first record. Further figures come from the functions in DETAILS, one per profile that needs them.
"""

import argparse
import csv
import gzip
import json
import re
import shutil
import sqlite3
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

Span = tuple[int, int]
OUT = Path(__file__).with_name("measured_nsys.json")
COPY_KIND = {1: "HtoD", 2: "DtoH", 8: "DtoD", 10: "PtoP"}
MEM_KIND = {0: "pageable", 1: "pinned", 2: "device"}
CLASSES = [
    ("communication", r"nccl|rccl|all_?reduce"),
    ("attention", r"flash_fwd|flash_attn|attention"),
    ("gemm", r"gemm|nvjet|cutlass::Kernel|mul_mat"),
    ("copy", r"direct_copy|copy_kernel|copy_device_to_device|CatArray|concat|copyBuffer|seqCopy"),
    ("norm_or_reduce", r"reduce|layer_norm|rms_norm|l2_norm|softmax|Reduce"),
    ("elementwise", r"elementwise|unary|bin_bcast|scale_f32|fusion"),
]


@dataclass
class Work:
    """One piece of device work: a kernel, a copy or a memset."""

    start: int
    end: int
    device: int
    kind: str
    name: str
    corr: tuple[int, int]
    info: dict[str, int] = field(default_factory=dict)

    @property
    def ns(self) -> int:
        """Its duration."""
        return self.end - self.start


@dataclass
class Call:
    """One call on the host: of the CUDA or HIP API or of the OS runtime."""

    start: int
    end: int
    name: str
    corr: tuple[int, int]

    @property
    def ns(self) -> int:
        """Its duration."""
        return self.end - self.start


@dataclass
class Profile:
    """What one profile holds, ordered by start."""

    work: list[Work] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    nvtx: list[Call] = field(default_factory=list)
    osrt: list[Call] = field(default_factory=list)
    overhead: list[Call] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    capture: dict[str, str] = field(default_factory=dict)

    def records(self) -> Iterable[Work | Call]:
        """All records that have a start and an end, the profiler's own left out."""
        yield from self.work
        yield from self.calls
        yield from self.nvtx
        yield from self.osrt

    def first(self) -> int:
        """Start of the first record."""
        return min(r.start for r in self.records())

    def last(self) -> int:
        """End of the last record."""
        return max(r.end for r in self.records())

    def kernels(self, device: int | None = None) -> list[Work]:
        """Kernels, of one device if named."""
        return [w for w in self.work if w.kind == "kernel" and device in (None, w.device)]


def union(spans: Iterable[Span]) -> list[Span]:
    """Join spans that touch or overlap."""
    out: list[Span] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((start, end))
    return out


def length(spans: Iterable[Span]) -> int:
    """Length of the union."""
    return sum(end - start for start, end in union(spans))


def clip(spans: Iterable[Span], window: Span) -> list[Span]:
    """The parts inside of the window."""
    return [(max(s, window[0]), min(e, window[1])) for s, e in spans if e > window[0] and s < window[1]]


def kernel_class(name: str) -> str:
    """Class of a kernel by its name."""
    return next((label for label, pattern in CLASSES if re.search(pattern, name)), "other")


def read_nsys(path: Path) -> Profile:
    """Read one Nsight Systems export."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "profile.sqlite"
        with gzip.open(path, "rb") as source, plain.open("wb") as target:
            shutil.copyfileobj(source, target)
        with sqlite3.connect(plain) as db:
            return fill_nsys(db)


def fill_nsys(db: sqlite3.Connection) -> Profile:
    """Take the tables that exist from an open export."""
    profile = Profile()
    strings: dict[int, str] = dict(db.execute("select id, value from StringIds"))
    tables = {row[0] for row in db.execute("select name from sqlite_master where type = 'table'")}
    profile.tables = sorted(t for t in tables if t.startswith(("CUPTI", "NVTX_EVENTS", "OSRT_API", "SAMPLING", "COMPOSITE")))
    prefix = "CUPTI_ACTIVITY_KIND_"
    if f"{prefix}KERNEL" in tables:
        query = (
            "select start, end, deviceId, demangledName, correlationId, globalPid, gridX, gridY, gridZ,"
            f" blockX * blockY * blockZ, registersPerThread, streamId from {prefix}KERNEL"
        )
        for s, e, dev, name, corr, pid, gx, gy, gz, threads, regs, stream in db.execute(query):
            info = {"gx": gx, "gy": gy, "gz": gz, "threads": threads, "regs": regs, "stream": stream}
            profile.work.append(Work(s, e, dev, "kernel", strings[name], (pid >> 24, corr), info))
    if f"{prefix}MEMCPY" in tables:
        query = f"select start, end, deviceId, copyKind, srcKind, dstKind, bytes, correlationId, globalPid from {prefix}MEMCPY"
        for s, e, dev, kind, src, dst, size, corr, pid in db.execute(query):
            ends = [MEM_KIND.get(src, "other"), MEM_KIND.get(dst, "other")]
            host = next((m for m in ends if m != "device"), "device")
            label = f"{COPY_KIND.get(kind, 'other')} {host}"
            profile.work.append(Work(s, e, dev, "copy", label, (pid >> 24, corr), {"bytes": size}))
    if f"{prefix}MEMSET" in tables:
        for s, e, dev, corr, pid in db.execute(f"select start, end, deviceId, correlationId, globalPid from {prefix}MEMSET"):
            profile.work.append(Work(s, e, dev, "memset", "memset", (pid >> 24, corr)))
    if f"{prefix}RUNTIME" in tables:
        for s, e, name, corr, tid in db.execute(f"select start, end, nameId, correlationId, globalTid from {prefix}RUNTIME"):
            profile.calls.append(Call(s, e, re.sub(r"_v\d+$", "", strings[name]), (tid >> 24, corr)))
    if "NVTX_EVENTS" in tables:
        for s, e, text, text_id in db.execute("select start, end, text, textId from NVTX_EVENTS where end is not null"):
            profile.nvtx.append(Call(s, e, text or strings.get(text_id, ""), (0, 0)))
    for table, target in (("OSRT_API", profile.osrt), ("PROFILER_OVERHEAD", profile.overhead)):
        if table in tables:
            for s, e, name in db.execute(f"select start, end, nameId from {table}"):
                target.append(Call(s, e, strings.get(name, ""), (0, 0)))
    if "TARGET_INFO_GPU" in tables:
        profile.devices = [row[0] for row in db.execute("select name from TARGET_INFO_GPU order by id")]
    if "META_DATA_CAPTURE" in tables:
        wanted = "select name, value from META_DATA_CAPTURE where name like '%COLLECT_CUDA_TRACE'"
        profile.capture = dict(db.execute(wanted))
    for rows in (profile.work, profile.calls, profile.nvtx, profile.osrt):
        rows.sort(key=lambda r: (r.start, r.end))
    return profile


def read_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a CSV file, packed or not."""
    if path.suffix == ".gz":
        with gzip.open(path, "rt", newline="") as packed:
            return list(csv.DictReader(packed))
    with path.open(newline="") as plain:
        return list(csv.DictReader(plain))


def read_rocprof(kernels: Path, api: Path | None) -> Profile:
    """Read a kernel trace and, if given, the API trace of rocprofv3."""
    profile = Profile(devices=["AMD"])
    for row in read_rows(kernels):
        info = {"dispatch": int(row["Dispatch_Id"]), "queue": int(row["Queue_Id"])}
        start, end = int(row["Start_Timestamp"]), int(row["End_Timestamp"])
        profile.work.append(Work(start, end, 0, "kernel", row["Kernel_Name"], (0, int(row["Correlation_Id"])), info))
    for row in read_rows(api) if api else []:
        start, end = int(row["Start_Timestamp"]), int(row["End_Timestamp"])
        profile.calls.append(Call(start, end, row["Function"], (0, int(row["Correlation_Id"]))))
    profile.work.sort(key=lambda w: (w.start, w.end))
    profile.calls.sort(key=lambda c: (c.start, c.end))
    return profile


def decompose(work: list[Work], window: Span) -> dict[str, int]:
    """The closing sum of one device in one window."""
    parts: dict[str, list[Span]] = {"compute": [], "communication": [], "copy": []}
    for w in work:
        label = "copy" if w.kind != "kernel" else "communication" if kernel_class(w.name) == "communication" else "compute"
        parts[label].append((w.start, w.end))
    inside = {label: clip(spans, window) for label, spans in parts.items()}
    compute = length(inside["compute"])
    both = length(inside["compute"] + inside["communication"])
    busy = length(inside["compute"] + inside["communication"] + inside["copy"])
    size = window[1] - window[0]
    return {
        "compute_ns": compute,
        "exposed_communication_ns": both - compute,
        "exposed_copy_ns": busy - both,
        "idle_ns": size - busy,
        "window_ns": size,
    }


def totals(profile: Profile, device: int) -> dict[str, Any]:
    """Sums of one device over the whole file."""
    work = [w for w in profile.work if w.device == device]
    kernels = [w for w in work if w.kind == "kernel"]
    known = {c.corr for c in profile.calls}
    by_class: Counter[str] = Counter()
    for k in kernels:
        by_class[kernel_class(k.name)] += k.ns
    copies: dict[str, Counter[str]] = defaultdict(Counter)
    for w in work:
        if w.kind == "copy":
            copies[w.name].update(count=1, ns=w.ns, bytes=w.info["bytes"])
    out: dict[str, Any] = {
        "busy_ns": length((w.start, w.end) for w in work),
        "kernels": len(kernels),
        "kernel_ns_by_class": dict(sorted(by_class.items())),
        "copies": {name: dict(c) for name, c in sorted(copies.items())},
    }
    if profile.calls:
        out["kernels_without_launch"] = sum(k.corr not in known for k in kernels)
    return out


def top_calls(calls: list[Call], count: int = 4) -> list[dict[str, Any]]:
    """The calls with the largest sums."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for c in calls:
        sums[c.name].update(ns=c.ns, count=1)
    ranked = sorted(sums.items(), key=lambda item: (-item[1]["ns"], item[0]))
    return [{"name": name, "count": s["count"], "ns": s["ns"]} for name, s in ranked[:count]]


def all_work(profile: Profile, device: int) -> Span:
    """From the first to the last work of a device."""
    work = [w for w in profile.work if w.device == device]
    return work[0].start, max(w.end for w in work)


def from_first_kernel(profile: Profile, device: int) -> Span:
    """From the first kernel of a device to its last work."""
    return profile.kernels(device)[0].start, all_work(profile, device)[1]


def attention_blocks(profile: Profile, device: int) -> Span:
    """From the first long attention kernel of a device to its last one: whole blocks of the model."""
    starts = long_attention(profile, device)
    return starts[0], starts[-1]


def long_attention(profile: Profile, device: int) -> list[int]:
    """Starts of the self-attention kernels, of which each block of the model has one."""
    return [k.start for k in profile.kernels(device) if kernel_class(k.name) == "attention" and k.ns > 2_000_000]


def timed_gemms(profile: Profile, device: int) -> Span:
    """From the first launch of the first warm loop of a GEMM benchmark to the end of the last kernel.

    The warm loop begins after the sleep with which the benchmark separates checking from timing.
    """
    sleep = min(c.end for c in profile.osrt if c.name == "usleep")
    kernels = [k for k in profile.kernels(device) if k.start >= sleep]
    return kernels[0].start, max(k.end for k in kernels)


def steady_products(profile: Profile, device: int) -> Span:
    """From the second large upload to the last one: whole iterations of the sgemm program."""
    large = [w.start for w in profile.work if w.kind == "copy" and w.device == device and w.info["bytes"] > 4_000_000_000]
    return large[1], large[-1]


WINDOWS: dict[str, Callable[[Profile, int], Span]] = {
    "accel_cublas_dot_titanv": from_first_kernel,
    "cutlass_gemm_cublas_rtx2080ti": timed_gemms,
    "cutlass_profiler_rtx2080ti": timed_gemms,
    "nsysai_mfu_2gpu_after": attention_blocks,
    "nsysai_mfu_2gpu_before": attention_blocks,
    "volta_sgemm_v100": steady_products,
}


def blocks(profile: Profile) -> dict[str, Any]:
    """Time, kernels and work per block of the model, and the synchronising calls."""
    out: dict[str, Any] = {}
    for device in (0, 1):
        starts = long_attention(profile, device)
        kernels = profile.kernels(device)
        rows = [[k for k in kernels if a <= k.start < b] for a, b in pairwise(starts)]
        local = [sum(k.ns for k in row if kernel_class(k.name) != "communication") for row in rows]
        window = (starts[0], starts[-1])
        by_class: Counter[str] = Counter()
        for k in kernels:
            if window[0] <= k.start < window[1]:
                by_class[kernel_class(k.name)] += k.ns
        out[f"blocks of device {device}"] = {
            "blocks": len(rows),
            "period_median_ns": int(statistics.median(b - a for a, b in pairwise(starts))),
            "period_mean_ns": (starts[-1] - starts[0]) // len(rows),
            "kernels_per_block": sorted({len(row) for row in rows}),
            "compute_per_block_median_ns": int(statistics.median(local)),
            "kernel_ns_by_class_in_window": dict(sorted(by_class.items())),
        }
    syncs = [c for c in profile.calls if c.name == "cudaStreamSynchronize"]
    out["stream_synchronize"] = {"count": len(syncs), "ns": sum(c.ns for c in syncs)}
    out["grid_of_gemms"] = sorted({k.info["gx"] * k.info["gy"] * k.info["gz"] for k in profile.kernels() if "coopB" in k.name})
    return out


def gemm_variants(profile: Profile) -> dict[str, Any]:
    """Each GEMM kernel with its launch shape and its times."""
    groups: dict[str, list[Work]] = defaultdict(list)
    for k in profile.kernels():
        if kernel_class(k.name) == "gemm":
            found = re.search(r"cutlass_tensorop_\w+?(?=>)|\w+gemm\w+", k.name)
            groups[found.group(0) if found else k.name].append(k)
    rows = {
        name: {
            "count": len(ks),
            "median_ns": int(statistics.median(k.ns for k in ks)),
            "blocks": ks[0].info["gx"] * ks[0].info["gy"] * ks[0].info["gz"],
            "threads_per_block": ks[0].info["threads"],
            "registers_per_thread": ks[0].info["regs"],
        }
        for name, ks in sorted(groups.items())
    }
    sleeps = [c.ns for c in profile.osrt if c.name == "usleep"]
    return {"gemms": rows, "usleep": {"count": len(sleeps), "ns": sum(sleeps)}}


def uploads(profile: Profile) -> dict[str, Any]:
    """Rates of the large copies to the device, repeats of the same size, and work queued before the capture."""
    out: dict[str, Any] = {}
    first_call = profile.calls[0].start
    for device in sorted({w.device for w in profile.work}):
        work = [w for w in profile.work if w.device == device]
        large = [w for w in work if w.name == "HtoD pinned" and w.info["bytes"] > 1_000_000]
        kernels = [(w.start, w.end) for w in work if w.kind == "kernel"]
        spans = [(w.start, w.end) for w in large]
        known = {c.corr for c in profile.calls}
        unlinked = [w for w in work if w.corr not in known]
        out[f"uploads of device {device}"] = {
            "large_htod": {"count": len(large), "bytes": sum(w.info["bytes"] for w in large), "ns": sum(w.ns for w in large)},
            "large_htod_mb_per_s": sum(w.info["bytes"] for w in large) * 1000 // sum(w.ns for w in large),
            "overlap_of_kernels_and_large_htod_ns": length(kernels) + length(spans) - length(kernels + spans),
            "work_without_launch": len(unlinked),
            "last_of_it_starts_ns_after_first_call": max(w.start for w in unlinked) - first_call,
            "work_with_launch_before_that": sum(w.corr in known and w.start < unlinked[-1].start for w in work),
        }
    return out


def tiny_reads(profile: Profile) -> dict[str, Any]:
    """Copies of a few bytes to the host, and the idle time of the device around them."""
    tiny = [w for w in profile.work if w.name.startswith("DtoH") and w.info["bytes"] <= 8]
    after = sum(b.start - a.end for a, b in pairwise(profile.work) if b.start > a.end and a.name.startswith("DtoH"))
    slow = max((c for c in profile.calls if c.name == "cudaLaunchKernel"), key=lambda c: c.ns)
    return {"tiny_dtoh": len(tiny), "idle_after_dtoh_ns": after, "slowest_launch_ns": slow.ns}


def host_gaps(profile: Profile) -> dict[str, Any]:
    """Gaps of the device longer than a second, and how long the host spends in CUDA calls inside of them."""
    busy = union((w.start, w.end) for w in profile.work)
    gaps = [(a[1], b[0]) for a, b in pairwise(busy) if b[0] - a[1] > 1_000_000_000]
    spans = [(c.start, c.end) for c in profile.calls]
    return {
        "gaps_over_1s": len(gaps),
        "their_ns": length(gaps),
        "cuda_calls_inside_ns": sum(length(clip(spans, g)) for g in gaps),
    }


def compile_time(profile: Profile) -> dict[str, Any]:
    """Linker and module calls and programs started, between the first and the last work of the device."""
    names = Counter(c.name for c in profile.calls if c.name.startswith(("cuLink", "cuModuleLoad")))
    spawned = sum(c.name == "posix_spawnp" for c in profile.osrt)
    return {"link_and_module_calls": dict(sorted(names.items())), "programs_started": spawned}


def ranges(profile: Profile) -> dict[str, Any]:
    """Ranges of the user, by name."""
    sums: Counter[str] = Counter()
    for n in profile.nvtx:
        sums[n.name] += n.ns
    return {"nvtx_ns": dict(sums.most_common(8))}


def overheads(profile: Profile) -> dict[str, Any]:
    """What the profiler itself recorded as its cost or as loading of libraries."""
    return {"overhead_top": top_calls(profile.overhead, 3), "capture": profile.capture}


def staging(profile: Profile) -> dict[str, Any]:
    """Copies in chunks: time between the first and the last one of a direction, and time of the copies themselves."""
    out: dict[str, Any] = {}
    for direction in ("HtoD pinned", "DtoH pinned"):
        chunks = [w for w in profile.work if w.name == direction]
        out[direction] = {
            "chunks": len(chunks),
            "ns": sum(w.ns for w in chunks),
            "from_to_ns": chunks[-1].end - chunks[0].start,
        }
    return out


def dispatch_runs(profile: Profile) -> dict[str, Any]:
    """Runs of consecutive dispatch numbers; a jump between two runs means that dispatches are missing from the file."""
    ordered = sorted(profile.work, key=lambda w: w.info["dispatch"])
    runs: list[list[Work]] = [[ordered[0]]]
    for w in ordered[1:]:
        if w.info["dispatch"] == runs[-1][-1].info["dispatch"] + 1:
            runs[-1].append(w)
        else:
            runs.append([w])
    ids = [[run[0].info["dispatch"], run[-1].info["dispatch"]] for run in runs]
    starts = [run[0].start - ordered[0].start for run in runs]
    numbered = ids[-1][1] - ids[0][0] + 1
    graphs = [c.corr for c in profile.calls if c.name == "hipGraphLaunch"]
    return {
        "runs": ids,
        "run_starts_ns": starts,
        "dispatches_numbered": numbered,
        "dispatches_in_file": len(ordered),
        "graph_launches": len(graphs),
        "kernels_of_graph_launches": sum(w.corr in graphs for w in ordered),
    }


DETAILS: dict[str, list[Callable[[Profile], dict[str, Any]]]] = {
    "accel_cublas_dot_titanv": [overheads],
    "alpa_jax_rtx3090": [compile_time],
    "alpa_memcpy_nvtx_rtx3090": [ranges],
    "cutlass_gemm_cublas_rtx2080ti": [gemm_variants],
    "cutlass_profiler_rtx2080ti": [gemm_variants],
    "gpubootcamp_rdf_nvtx_gv100": [ranges],
    "jimw_gfx1151_llamacpp_decode_kernel_trace": [dispatch_runs],
    "jimw_gfx1151_llamacpp_prefill_kernel_trace": [dispatch_runs],
    "nevakrien_report1": [overheads],
    "nsysai_h100_2gpu_1s": [uploads],
    "nsysai_mfu_2gpu_after": [blocks],
    "nsysai_mfu_2gpu_before": [blocks],
    "pytorch_elementwise_v100": [tiny_reads],
    "raiderstream_openacc_v100": [staging],
    "volta_sgemm_v100": [host_gaps],
}


def measure(name: str, profile: Profile) -> dict[str, Any]:
    """All figures of one profile."""
    first = profile.first()
    out: dict[str, Any] = {"first_record_ns": first, "span_ns": profile.last() - first, "devices": profile.devices}
    if profile.tables:
        out["tables"] = profile.tables
    for device in sorted({w.device for w in profile.work}):
        window = WINDOWS.get(name, all_work)(profile, device)
        work = [w for w in profile.work if w.device == device]
        out[f"device {device}"] = totals(profile, device) | {
            "window": [window[0] - first, window[1] - first],
            "in_window": decompose(work, window),
        }
    if profile.calls:
        out["api"] = top_calls(profile.calls)
    for detail in DETAILS.get(name, []):
        out |= detail(profile)
    return out


def documentation_set(folder: Path) -> dict[str, Any]:
    """The samples of the documentation of rocprofiler-sdk: processes and clocks show whether the files are one run."""
    out: dict[str, Any] = {"files": {}}
    for path in sorted(folder.glob("rocprofiler_sdk_docs_*.csv")):
        rows = read_rows(path)
        times = [int(r[c]) for r in rows for c in ("Start_Timestamp", "End_Timestamp") if c in r]
        out["files"][path.name] = {
            "rows": len(rows),
            "processes": sorted({r["Process_Id"] for r in rows if r.get("Process_Id")}),
            "from_to": [min(times), max(times)] if times else [],
        }
    out |= measure("rocprofiler_sdk_docs", read_rocprof(folder / "rocprofiler_sdk_docs_kernel_trace.csv", None))
    return out


def measure_all(traces: Path) -> dict[str, Any]:
    """All profiles of this part."""
    out: dict[str, Any] = {}
    for path in sorted((traces / "nsys").glob("*.sqlite.gz")):
        name = path.name.split(".sqlite")[0]
        out[name] = measure(name, read_nsys(path))
    rocprof = traces / "rocprof"
    for part, packed in (("decode", ""), ("prefill", ".gz")):
        name = f"jimw_gfx1151_llamacpp_{part}_kernel_trace"
        api = rocprof / f"jimw_gfx1151_llamacpp_{part}_hip_api_trace.csv"
        out[name] = measure(name, read_rocprof(rocprof / f"{name}.csv{packed}", api))
    out["rocprofiler_sdk_docs"] = documentation_set(rocprof)
    return out


def main() -> int:
    """Write or check the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("traces", type=Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    text = json.dumps(measure_all(options.traces), indent=1, sort_keys=True) + "\n"
    if not options.check:
        OUT.write_text(text)
        return 0
    old, new = json.loads(OUT.read_text()), json.loads(text)
    differing = [name for name in sorted(set(old) | set(new)) if old.get(name) != new.get(name)]
    for name in differing:
        print(f"{name}: the figures differ", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
