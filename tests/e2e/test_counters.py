"""Runs of a counter profiler: analysed and reported without a time line, and never mixed with one."""

import csv
import io
import json
import shutil
import subprocess

import pytest

from conftest import BAD_INPUT

IDENTITY = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Device", "CC"]


def raw_page(units, launches):
    """Text of a raw page: units by metric, launches as pairs of kernel and values by metric."""
    out = io.StringIO()
    writer = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(IDENTITY + list(units))
    writer.writerow([""] * len(IDENTITY) + list(units.values()))
    for number, (kernel, values) in enumerate(launches):
        writer.writerow([number, 1, "app", "127.0.0.1", kernel, 1, 7, 0, "8.0"] + [values.get(m, "") for m in units])
    return out.getvalue()


OPS = "smsp__sass_thread_inst_executed_op_%s_pred_on.sum"
UNITS = {
    "device__attribute_display_name": "", "gpu__time_duration.sum": "nsecond", "dram__bytes.sum": "byte",
    OPS % "fadd": "inst", OPS % "fmul": "inst", OPS % "ffma": "inst",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": "%", "sm__ops_path_tensor_src_bf16_dst_fp32.sum": "",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "%", "lts__t_sector_hit_rate.pct": "%",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "", "sm__throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "%",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "%",
}


def launch(ns, occupancy, sm=20, memory=80, tensor=0, **more):
    return {"device__attribute_display_name": "NVIDIA A100-SXM4-80GB", "gpu__time_duration.sum": ns,
            "dram__bytes.sum": 1000, OPS % "fadd": 100, OPS % "fmul": 200, OPS % "ffma": 350,
            "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": tensor,
            "sm__warps_active.avg.pct_of_peak_sustained_active": occupancy, "lts__t_sector_hit_rate.pct": 50,
            "smsp__thread_inst_executed_per_inst_executed.ratio": 16,
            "sm__throughput.avg.pct_of_peak_sustained_elapsed": sm,
            "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": memory,
            "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": 75, **more}


@pytest.fixture
def counters(neurolens, tmp_path):
    def analyse(launches, units=None):
        path = tmp_path / "counters.csv"
        path.write_text(raw_page(units or UNITS, launches))
        run = neurolens.import_file(path)["run_id"]
        return run, neurolens("analyze", run, "--json").data["counters"]

    return analyse


def test_means_are_weighted_by_time(counters):
    _, data = counters([("k", launch(1000, 10)), ("k", launch(3000, 50)), ("other", launch(10, 1))])
    row = data["kernels"][0]
    assert (data["launches"], data["replay_ns"]) == (3, 4010)
    assert (row["kernel"], row["launches"], row["replay_ns"]) == ("k", 2, 4000)
    assert row["achieved_occupancy_pct"] == 40
    assert row["warp_efficiency_pct"] == 50
    assert row["dram_bytes_per_s"] == pytest.approx(2000 / 4000e-9)
    assert row["flops"] == 2 * (100 + 200 + 2 * 350)
    assert row["intensity"] == 1
    assert row["bound"] == "memory"
    assert row["roof_bound"] == "memory"
    assert row["dtype"] == "fp32"


@pytest.mark.parametrize("sm, memory, bound", [(60, 59, "compute"), (59, 60, "memory"), (59.9, 59.9, "latency")])
def test_the_bound_follows_the_speed_of_light(counters, sm, memory, bound):
    _, data = counters([("k", launch(1000, 10, sm, memory))])
    assert data["kernels"][0]["bound"] == bound


def test_tensor_work_without_a_count_leaves_the_intensity_unknown(counters):
    _, data = counters([("k", launch(1000, 10, tensor=30))])
    row = data["kernels"][0]
    assert row["intensity"] is None and row["flops"] is None
    assert "tensor" in row["absent"]["flops"]


def test_counted_tensor_work_is_added(counters):
    _, data = counters([("k", launch(1000, 10, tensor=30, **{"sm__ops_path_tensor_src_bf16_dst_fp32.sum": 9000}))])
    row = data["kernels"][0]
    assert row["flops"] == 10000
    assert row["dtype"] == "bf16"


def test_a_launch_without_duration_has_no_figures(counters):
    _, data = counters([("k", launch("-nan", 10))])
    row = data["kernels"][0]
    assert row["replay_ns"] is None and row["measured"] == 0
    assert row["achieved_occupancy_pct"] is None and row["bound"] is None
    assert row["absent"]["achieved_occupancy_pct"] == "no launch has a duration"


def test_an_unknown_device_has_no_roof(counters):
    _, data = counters([("k", launch(1000, 10, device__attribute_display_name="Strange GPU"))])
    row = data["kernels"][0]
    assert row["intensity"] == 1
    assert row["roof_share"] is None and "Strange GPU" in row["absent"]["roof_share"]


def test_top_cuts_both_lists_and_says_so(counters, neurolens):
    run, _ = counters([(f"k{n}", launch(1000 + n, 10)) for n in range(5)])
    data = neurolens("analyze", run, "--top", "2", "--json").data["counters"]
    assert [row["kernel"] for row in data["kernels"]] == ["k4", "k3"]
    assert data["not_shown"] == {"rows": 3, "replay_ns": 1000 + 1001 + 1002}
    assert [row["launch_id"] for row in data["top_launches"]] == [4, 3]


def test_text_and_report_without_a_time_line(counters, neurolens, tmp_path):
    run, _ = counters([("gemm<float>", launch(4_250_000, 12.5))])
    text = neurolens("analyze", run).out
    assert "4.250 ms" in text and "12.5" in text and "gemm" in text and "not the time of the run" in text
    assert neurolens("show", run).out
    neurolens("report", run, "--output", tmp_path / "report")
    report = (tmp_path / "report/report.md").read_text()
    assert "Counters by kernel" in report and "12.5" in report
    assert "<svg" in (tmp_path / "report/report.html").read_text()
    neurolens("report", "--verify", tmp_path / "report/report.json")


def test_the_query_of_the_figure_gives_its_rows(counters, neurolens, tmp_path):
    run, _ = counters([("b", launch(5, 10)), ("a", launch(5, 10)), ("c", launch("nan", 10)), ("b", launch(7, 10))])
    neurolens("report", run, "--output", tmp_path / "report", "--format", "json")

    report = json.loads((tmp_path / "report/report.json").read_text())
    figure = next(f for f in report["figures"] if f["id"] == "counters")
    rows = [list(row.values()) for row in neurolens.rows(run, figure["sql"])]
    assert rows == figure["rows"]
    assert [row[0] for row in rows] == ["b", "a", "c"]


def test_a_trace_has_no_counters(neurolens, tmp_path):
    path = tmp_path / "trace.csv"
    path.write_text("Start (ns),Duration (ns),CorrId,Device,Ctx,Strm,Name\n10,5,1,GPU (0),1,7,k\n")
    run = neurolens.import_file(path)["run_id"]
    assert neurolens("analyze", run, "--json").data["counters"] is None


@pytest.mark.skipif(shutil.which("ncu") is None, reason="no ncu on this machine")
def test_a_real_ncu_without_a_device_is_told_in_its_own_words(neurolens, tmp_path):
    page = tmp_path / "page.csv"
    with page.open("wb") as out:
        subprocess.run(["ncu", "--csv", "/bin/true"], stdout=out, stderr=subprocess.STDOUT, timeout=120, check=False)
    if b'"ID"' in page.read_bytes():
        pytest.skip("this machine has a device")
    result = neurolens("import", page, code=BAD_INPUT)
    assert "no launch of a kernel; the profiler says: " in result.err
