"""Replayed launches of a counter profiler joined to the launches of a real trace. The passes are simulated: written
from the trace's own launches in the form of Nsight Compute's raw page, with launches lost, swapped, moved and added."""

import csv
import io
import random

import pytest

from conftest import TRACES

TRACE_NAMES = ["hta_ns_resolution_rank0.pt.trace", "tracelens_h100_qwen1.5-0.5b", "kineto_tb_resnet50_nw4_worker0"
               ".1623212756351.pt.trace"]
EXTRA = -1


def ncu_page(launches):
    """Nsight Compute's raw page in base units: header, units, one row a launch."""
    out = io.StringIO()
    table = csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n")
    table.writerow(["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time", "Context", "Stream",
                    "gpu__time_duration.sum", "launch__block_size", "launch__grid_size",
                    "sm__throughput.avg.pct_of_peak_sustained_elapsed"])
    table.writerow([""] * 8 + ["nsecond", "", "", "%"])
    for number, k in enumerate(launches):
        blocks = k["grid_x"] * k["grid_y"] * k["grid_z"]
        threads = k["block_x"] * k["block_y"] * k["block_z"]
        table.writerow([number, 4242, "python", "127.0.0.1", k["name"], "2026-Jan-01 00:00:00", 1, 7,
                        k["dur_ns"] * 3, threads, blocks, "12.50"])
    return out.getvalue()


def disturbed(kernels, share, chance):
    """Launches of the pass, and for each the kernel that it is, or EXTRA."""
    order = []
    for place in range(len(kernels)):
        if chance.random() < share:
            continue
        order.append(place)
        if chance.random() < share:
            order.append(EXTRA)
        if len(order) > 1 and chance.random() < share:
            order[-1], order[-2] = order[-2], order[-1]
    launches = [kernels[place] if place != EXTRA else chance.choice(kernels) for place in order]
    return launches, [kernels[place]["kernel_id"] if place != EXTRA else EXTRA for place in order]


def launched_kernels(neurolens, trace):
    return neurolens.rows(trace, "SELECT k.kernel_id, k.name, k.dur_ns, grid_x, grid_y, grid_z, block_x, block_y, "
                                 "block_z FROM kernels k JOIN spans l ON l.span_id = k.launch_span_id "
                                 "WHERE grid_x IS NOT NULL ORDER BY l.start_ns, k.correlation_id, k.kernel_id")


@pytest.mark.parametrize("name", TRACE_NAMES)
def test_a_disturbed_pass_finds_its_launches(neurolens, tmp_path, name):
    trace = TRACES / "kineto" / f"{name}.json.gz"
    if not trace.exists():
        pytest.skip(f"no {trace}")
    kernels = launched_kernels(neurolens, trace)
    assert len(kernels) > 500
    launches, truth = disturbed(kernels, 0.01, random.Random(5))
    page = tmp_path / "pass.csv"
    page.write_text(ncu_page(launches))
    run = neurolens("import", trace, page, "--as-one", "--json").data["run_id"]
    rows = neurolens.rows(run, "SELECT launch_id, kernel_id, matched_by FROM launch_matches ORDER BY launch_id")
    assert len(rows) == len(launches)
    right = sum(row["kernel_id"] == kernel for row, kernel in zip(rows, truth))
    wrong = sum(row["kernel_id"] not in (None, kernel) for row, kernel in zip(rows, truth))
    missed = sum(row["kernel_id"] is None and kernel != EXTRA for row, kernel in zip(rows, truth))
    possible = sum(kernel != EXTRA for kernel in truth)
    print(f"{name}: {len(launches)} launches: {right} right, {wrong} wrong, {missed} missed of {possible}")
    assert right >= 0.99 * (right + wrong), [row for row, kernel in zip(rows, truth)
                                             if row["kernel_id"] not in (None, kernel)]
    assert right >= 0.95 * possible


def test_durations_are_never_mixed(neurolens, tmp_path):
    trace = TRACES / "kineto" / f"{TRACE_NAMES[0]}.json.gz"
    if not trace.exists():
        pytest.skip(f"no {trace}")
    kernels = launched_kernels(neurolens, trace)
    page = tmp_path / "pass.csv"
    page.write_text(ncu_page(kernels[:200]))
    alone = neurolens("analyze", trace, "--json").data
    run = neurolens("import", trace, page, "--as-one", "--json").data["run_id"]
    both = neurolens("analyze", run, "--json").data
    sums = ["window_ns", "compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns", "busy_ns"]
    assert [[d[key] for key in sums] for d in both["devices"]] == [[d[key] for key in sums] for d in alone["devices"]]
    assert neurolens.rows(run, "SELECT count(*) AS n FROM profiled_launches")[0]["n"] == 200
    neurolens("verify", run)
