"""Measures the profiles of single kernels (ncu), of CPU sessions (ONNX Runtime) and of engines (trtexec) without NeuroLens.

ncu: time and share per kernel name; of the longest launch of each its grid against the SMs, waves, shares of peak, occupancy,
share of sectors fetched in vain, local memory and the largest reasons for stalls.
ONNX Runtime: time inside of ops, inside of runs but outside of ops, and between runs; the excess of single slow ops.
trtexec: time of layers, share of reformatting (by name and by type of layer), percentiles and queries per second.

Usage: measure_kernels.py TRACES_FOLDER [--check]
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Measured = dict[str, Any]
Row = dict[str, str]
OUT = Path(__file__).with_name("measured_kernels.json")

NCU = [
    "cutlass_b2b_gemm_s8_sm80_a100", "cutlass_b2b_gemm_sm75_a100", "cutlass_gemm_s4_a100", "indexspaces_bb_a40",
    "indexspaces_frb_a40", "mistic_154launches_a100", "mistic_full_a100", "mistic_higgs_a100", "mistic_susy_a100",
    "physicell_pgi_v100", "sglang_pod_flash_attn_h800", "speedyscan_rtx3070",
]  # fmt: skip
ORT = [
    "generated/convnet_t1_optall_10runs", "generated/convnet_t2_noopt_10runs", "generated/transformer_t1_optall_5runs",
    "generated/transformer_t2_noopt_5runs", "generated/transformer_t2_optall_5runs", "generated/transformer_t2_parallel_3runs",
    "generated_old/ort1.20.1_transformer_t2_optall_5runs",
]  # fmt: skip
TRT = [
    "a100_resnet_fp16", "a100_resnet_fp32", "a100_resnet_qat_int8", "mobilenet_qat_a", "rtx3090_resnet_fp32",
    "rtx3090_resnet_fp16",
]  # fmt: skip

TIME = "gpu__time_duration.sum"
UNIT_NS = {"nsecond": 1.0, "usecond": 1e3, "msecond": 1e6, "second": 1e9}
FACTS = {
    "grid": "launch__grid_size",
    "block": "launch__block_size",
    "waves": "launch__waves_per_multiprocessor",
    "registers": "launch__registers_per_thread",
    "compute_pct": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "memory_pct": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_pct": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "occupancy_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "occupancy_limit_pct": "sm__maximum_warps_per_active_cycle_pct",
    "threads_per_instruction": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "local_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
    "local_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
}
STALL = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")


def number(text: str | None) -> float | None:
    """The value of a cell; None for a missing one."""
    try:
        value = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return value if value == value and abs(value) != float("inf") else None


def share(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


def ns(us: float) -> int:
    return round(us * 1000)


def read(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt") as file:
            return file.read()
    return path.read_text()


def launch_facts(row: Row) -> Measured:
    """What one launch says of itself."""
    facts: Measured = {key: value for key, name in FACTS.items() if (value := number(row.get(name))) is not None}
    active = number(row.get("sm__cycles_active.avg"))
    elapsed = number(row.get("sm__cycles_elapsed.max")) or number(row.get("gpc__cycles_elapsed.max"))
    if active and elapsed:
        facts["sm_active_share"] = share(active, elapsed)
    sectors = "memory_l2_theoretical_sectors_global" if "memory_l2_theoretical_sectors_global" in row else "memory_l2_sectors_global"
    wide, ideal = number(row.get(sectors)), number(row.get(f"{sectors}_ideal"))
    if wide and ideal is not None:
        facts["excess_sectors_share"] = share(wide - ideal, wide)
    stalls = {m.group(1): v for key, text in row.items() if (m := STALL.fullmatch(key)) and (v := number(text))}
    total = sum(stalls.values())
    facts["stalls"] = {key: share(stalls[key], total) for key in sorted(stalls, key=lambda k: -stalls[k])[:3]}
    return facts


def ncu_wide(traces: Path, name: str) -> Measured:
    rows = list(csv.reader(io.StringIO(read(traces / "ncu" / f"{name}.raw.csv.gz"))))
    scale = UNIT_NS[dict(zip(rows[0], rows[1], strict=True))[TIME]]
    launches = [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]
    groups: dict[str, list[tuple[float, Row]]] = defaultdict(list)
    for row in launches:
        groups[row["Kernel Name"]].append(((number(row[TIME]) or 0.0) * scale, row))
    total = sum(time for group in groups.values() for time, _ in group)
    kernels = []
    for kernel, group in sorted(groups.items(), key=lambda item: -sum(t for t, _ in item[1])):
        time = sum(t for t, _ in group)
        longest = max(group, key=lambda item: item[0])
        kernels.append({
            "name": kernel[:60], "launches": len(group), "time_ns": round(time), "share": share(time, total),
            "longest_ns": round(longest[0]), "longest": launch_facts(longest[1]),
        })  # fmt: skip
    return {
        "device": launches[0]["device__attribute_display_name"], "vendor": "nvidia",
        "sms": number(launches[0]["device__attribute_multiprocessor_count"]), "launches": len(launches),
        "launches_without_time": sum(number(row[TIME]) is None for row in launches), "time_ns": round(total),
        "kernels": kernels,
    }  # fmt: skip


def ncu_long(traces: Path, file: str) -> Measured:
    """The details page as CSV: one row per metric; lines of the program stand before the table."""
    text = read(traces / "ncu" / file)
    begin = text.index('"ID"')
    rows = list(csv.reader(io.StringIO(text[begin:])))
    at = {key: index for index, key in enumerate(rows[0])}
    metrics = {row[at["Metric Name"]]: row[at["Metric Value"]] for row in rows[1:] if row[at["Metric Name"]]}
    sizes = next(line.split() for line in text[:begin].splitlines() if re.match(r"\d+\s+\d+\s+\d+\s", line))
    return {
        "kernel": rows[1][at["Kernel Name"]], "vendor": "nvidia", "time_ns": int(metrics["Duration"]),
        "printed_gemm_sizes": [int(size) for size in sizes[:3]],
        "sizes_mod_16": [int(size) % 16 for size in sizes[:3]], "printed_time_us": float(sizes[4]),
        **{key: number(metrics[key]) for key in ("Grid Size", "# SMs", "Waves Per SM", "Compute (SM) Throughput",
            "Memory Throughput", "DRAM Throughput", "Achieved Occupancy", "Theoretical Occupancy", "Registers Per Thread")},
        "sm_active_share": share(float(metrics["SM Active Cycles"]), float(metrics["Elapsed Cycles"])),
    }  # fmt: skip


def ncu_text(traces: Path, file: str) -> Measured:
    """The details page as text: `name  unit  value` in columns."""
    text = read(traces / "ncu" / file)
    wanted = ("Grid Size", "# SMs", "Waves Per SM", "Compute (SM) Throughput", "DRAM Throughput", "Achieved Occupancy",
              "Theoretical Occupancy", "Registers Per Thread", "Avg. Active Threads Per Warp", "Branch Efficiency",
              "L1/TEX Hit Rate", "SM Active Cycles", "Elapsed Cycles")  # fmt: skip
    found = {key: re.search(rf"^ +{re.escape(key)} .*?([\d.,]+) *$", text, re.M) for key in wanted}
    metrics = {key: number(match.group(1)) for key, match in found.items() if match}
    duration = re.search(r"^ +Duration +ms +([\d.]+)", text, re.M)
    barrier = re.search(r"about ([\d.]+)% of the total average", text)
    run = re.search(r"Optimized GPU time: ([\d.]+) seconds", text)
    assert duration and barrier and run
    return {"vendor": "nvidia", "time_ns": ns(float(duration.group(1)) * 1000), "barrier_share": float(barrier.group(1)) / 100,
            "program_seconds_with_31_passes": float(run.group(1)), **metrics}  # fmt: skip


def union(spans: Iterable[tuple[int, int]]) -> int:
    total, end = 0, -1
    for begin, stop in sorted(spans):
        total += max(0, stop - max(begin, end))
        end = max(end, stop)
    return total


def slow_ops(nodes: list[Measured]) -> Measured:
    """Single calls that took more than four times the median of their node, and at least 200 us more."""
    times: dict[str, list[int]] = defaultdict(list)
    for node in nodes:
        times[node["name"]].append(node["dur"])
    excess = [dur - statistics.median(all_) for all_ in times.values() for dur in all_
              if dur > 4 * statistics.median(all_) and dur - statistics.median(all_) > 200]  # fmt: skip
    return {"calls": len(excess), "excess_ns": ns(sum(excess))}


def ort(traces: Path, path: str) -> Measured:
    events = json.loads(read(traces / "onnxruntime" / f"{path}.json"))
    runs = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["name"] == "model_run")
    nodes = [e for e in events if e["cat"] == "Node" and e["name"].endswith("_kernel_time")]
    ops: dict[str, int] = defaultdict(int)
    for node in nodes:
        ops[node["args"]["op_name"]] += node["dur"]
    begin, end = runs[0][0], runs[-1][1]
    inside = [union((n["ts"], n["ts"] + n["dur"]) for n in nodes if a <= n["ts"] < b) for a, b in runs]
    run_time = sum(b - a for a, b in runs)
    window = end - begin
    return {
        "device": "CPU", "provider": sorted({n["args"]["provider"] for n in nodes}),
        "span_ns": ns(max(e["ts"] + e["dur"] for e in events) - min(e["ts"] for e in events)),
        "first_run_ns": ns(begin - min(e["ts"] for e in events)), "window_ns": ns(window), "runs": len(runs),
        "run_ns": [ns(b - a) for a, b in runs], "ops_ns": ns(sum(inside)), "outside_ops_ns": ns(run_time - sum(inside)),
        "between_runs_ns": ns(window - run_time), "ops_share": share(sum(inside), window),
        "outside_ops_share": share(run_time - sum(inside), window), "between_runs_share": share(window - run_time, window),
        "ops_share_of_runs": share(sum(inside), run_time), "slow": slow_ops(nodes),
        "threads_of_ops": len({n["tid"] for n in nodes}),
        "ops_by_type_ns": {key: ns(ops[key]) for key in sorted(ops, key=lambda k: -ops[k])[:6]},
    }  # fmt: skip


def quantile(values: list[float], part: float) -> float:
    return values[min(len(values) - 1, int(part * len(values)))]


def timing(path: Path) -> Measured:
    items = json.loads(read(path))
    compute = sorted(item["computeMs"] for item in items)
    span = max(item["endComputeMs"] for item in items) - min(item["startComputeMs"] for item in items)
    return {
        "inferences": len(items), "span_ns": ns(span * 1000), "queries_per_second": round(len(items) / span * 1000, 2),
        "busy_share": share(sum(compute), span), "median_ns": ns(statistics.median(compute) * 1000),
        "p90_ns": ns(quantile(compute, 0.9) * 1000), "p99_ns": ns(quantile(compute, 0.99) * 1000),
        "max_ns": ns(compute[-1] * 1000), "copies_ns": ns(sum(i["h2dMs"] + i["d2hMs"] for i in items) * 1000),
    }  # fmt: skip


def kind_of_math(tactic: str) -> str:
    """The arithmetic that a kernel of a convolution names: int8, tf32, f16, or f32 (scudnn and xmma without tf32)."""
    marks = {"int8": ("int8", "i8"), "tf32": ("tf32",), "f16": ("f16f16", "h16816", "hmma")}
    for kind, keys in marks.items():
        if any(key in tactic for key in keys):
            return kind
    return "f32" if tactic else "other"


def trt(traces: Path, name: str) -> Measured:
    folder = traces / "trtexec"
    profile = json.loads(read(folder / f"{name}.profile.json"))
    layers = {layer["name"]: layer["averageMs"] for layer in profile[1:]}
    total = sum(layers.values())
    reformat = [time for layer, time in layers.items() if layer.startswith("Reformatting")]
    slowest = sorted(layers, key=lambda key: -layers[key])[:3]
    out: Measured = {
        "vendor": "nvidia", "iterations": profile[0]["count"], "layers": len(layers), "layers_ns": ns(total * 1000),
        "reformat_by_name": {"layers": len(reformat), "with_time": sum(t > 0 for t in reformat),
                             "time_ns": ns(sum(reformat) * 1000), "share": share(sum(reformat), total)},
        "slowest": [{"name": key[:60], "time_ns": ns(layers[key] * 1000), "share": share(layers[key], total)}
                    for key in slowest],
    }  # fmt: skip
    graph, times = folder / f"{name}.graph.json", folder / f"{name}.timing.json.gz"
    if graph.exists():
        by_type: dict[str, float] = defaultdict(float)
        by_math: dict[str, float] = defaultdict(float)
        for layer in json.loads(read(graph))["Layers"]:
            by_type[layer["LayerType"]] += layers.get(layer["Name"], 0)
            if "Conv" in layer["LayerType"]:
                by_math[kind_of_math(layer.get("TacticName") or "")] += layers.get(layer["Name"], 0)
        for title, parts in (("share_by_type", by_type), ("convolution_share_by_math", by_math)):
            out[title] = {key: share(parts[key], total) for key in sorted(parts, key=lambda k: -parts[k])}
    if times.exists():
        out["timing"] = timing(times)
    return out


def measure(traces: Path) -> dict[str, Measured]:
    out: dict[str, Measured] = {name: ncu_wide(traces, name) for name in NCU}
    out["superbench_cublaslt_sm100_details"] = ncu_long(traces, "superbench_cublaslt_sm100_details.csv.log")
    out["bobbyal_kmer_details_text"] = ncu_text(traces, "bobbyal_kmer_details_text.txt")
    parts: list[tuple[list[str], Callable[[Path, str], Measured]]] = [(ORT, ort), (TRT, trt)]
    for names, function in parts:
        out |= {name.split("/")[-1]: function(traces, name) for name in names}
    return out


def main() -> int:
    found = measure(Path(sys.argv[1]))
    if "--check" in sys.argv[2:]:
        kept = json.loads(OUT.read_text())
        wrong = [name for name in found.keys() | kept.keys() if found.get(name) != kept.get(name)]
        print("\n".join(f"differs: {name}" for name in sorted(wrong)) or f"{len(found)} profiles agree")
        return 1 if wrong else 0
    OUT.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
