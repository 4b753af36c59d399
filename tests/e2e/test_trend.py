"""Trend: a history of runs with a known break, found where it is and explained by what differs there."""

import json
import random
import shutil
import xml.etree.ElementTree

import pytest

from conftest import BAD_INPUT, Neurolens

RUNS = 24
BREAK = 14  # the first slow run, by date of its commit
STEPS = 6


def event(category, name, start_us, dur_us, process=1, thread=1, **args):
    return {"ph": "X", "cat": category, "name": name, "ts": start_us, "dur": dur_us, "pid": process, "tid": thread, "args": args}


def trace_of(number, slow, driver):
    """Steps of two kernels; in a slow run the second takes a fifth longer than the step did."""
    dice = random.Random(number)
    events, at = [], 1000.0
    for step in range(STEPS):
        gemm = round(400 * dice.gauss(1, 0.005), 3)
        norm = round((100 + (100 if slow else 0)) * dice.gauss(1, 0.005), 3)
        events.append(event("user_annotation", f"ProfilerStep#{step}", at, round(gemm + norm + 20, 3)))
        for kernel, (name, dur, offset) in enumerate((("gemm_tile", gemm, 5), ("layer_norm_kernel", norm, gemm + 10))):
            ids = dict(correlation=step * 2 + kernel + 1)
            events.append(event("cuda_runtime", "cudaLaunchKernel", round(at + 1 + kernel, 3), 0.5, **ids))
            events.append(event("kernel", name, round(at + offset, 3), dur, 0, 7, device=0, stream=7, **ids))
        at += round(gemm + norm + 20, 3)
    properties = [{"id": 0, "name": "NVIDIA Test GPU", "totalGlobalMem": 1 << 30, "computeMajor": 8, "computeMinor": 0, "numSms": 8}]
    return {"schemaVersion": 1, "deviceProperties": properties, "cuda_driver_version": driver, "traceEvents": events,
            "traceName": str(number)}


def import_run(neurolens, folder, model, number):
    slow = model == "broken" and number >= BREAK
    path = folder / f"{model}-{number}.json"
    driver = 12040 if number < BREAK else 12080
    path.write_text(json.dumps(trace_of(number + (0 if model == "broken" else 1000), slow, driver)))
    labels = {"model": model, "commit": f"c{number:03d}", "commit_date": f"2026-03-{number + 1:02d}", "batch": str(number % 2)}
    return neurolens.import_file(path, *(word for pair in labels.items() for word in ("--set", "=".join(pair))))["run_id"]


@pytest.fixture(scope="module")
def made_history(tmp_path_factory):
    """Imported in another order than that of the commits. One model has the break, the other has not."""
    folder = tmp_path_factory.mktemp("history")
    neurolens = Neurolens(folder / "ledger")
    order = [(model, number) for number in range(RUNS) for model in ("broken", "steady")]
    random.Random(1).shuffle(order)
    ids = {key: import_run(neurolens, folder, *key) for key in order}
    neurolens("trend")  # measures are kept from now on
    return neurolens.ledger, ids


@pytest.fixture
def history(made_history, neurolens):
    """Ids by model and number; the ledger is a copy."""
    ledger, ids = made_history
    shutil.copytree(ledger, neurolens.ledger)
    return ids


def test_break_is_found_and_explained(neurolens, history):
    data = neurolens("trend", "--json").data
    assert data["order"] == "commit_date" and data["figure"]["id"] == "step_time"
    by_model = {group["group"]["model"]: group for group in data["groups"]}
    assert by_model.keys() == {"broken", "steady"}
    broken = by_model["broken"]
    assert [point["run_id"] for point in broken["points"]] == [history["broken", n] for n in range(RUNS)]
    (change,) = broken["change_points"]
    assert change["run_id"] == history["broken", BREAK] and change["previous_run_id"] == history["broken", BREAK - 1]
    assert change["alert"] and change["meaning"] == "worse" and change["p"] < 0.001
    assert 1.15 < change["ratio"] < 1.23
    differences = {one["what"]: one["lasts"] for one in change["differences"]}
    assert differences[f"commit: c{BREAK - 1:03d} → c{BREAK:03d}"]
    assert differences["cuda_driver_version: 12.4 → 12.8"]
    (flaky,) = (what for what, lasts in differences.items() if not lasts)
    assert flaky.startswith("batch: ") and change["differences"][-1]["what"] == flaky
    kernel = next(row for row in change["work"] if row["kind"] == "kernel")
    assert kernel["name"] == "layer_norm_kernel" and 90_000 < kernel["delta_ns"] < 110_000
    assert by_model["steady"]["change_points"] == []
    assert data["alerts"] == 1 and data["left_out"] == []


def test_same_bytes_again(neurolens, history):
    assert neurolens("trend", "--json").bytes == neurolens("trend", "--json").bytes


def test_kernels_classes_and_metrics(neurolens, history):
    def points(*arguments):
        (group,) = neurolens("trend", "--where", "model=broken", "--json", *arguments).data["groups"]
        return group["points"], group["change_points"]

    values, changes = points("--kernel", "layer_norm")
    assert 95_000 < values[0]["value"] < 105_000 and 190_000 < values[-1]["value"] < 210_000
    assert [change["at"] for change in changes] == [BREAK]
    values, changes = points("--kernel", "gemm")
    assert changes == [] and len(values) == RUNS
    values, changes = points("--metric", "kernel_sum_time")
    assert [change["at"] for change in changes] == [BREAK]
    values, changes = points("--class", "gemm")
    assert changes == []


def test_order_of_imports_hides_the_break(neurolens, history):
    """The order matters, so it is said: shuffled imports are another history."""
    data = neurolens("trend", "--where", "model=broken", "--order", "imported", "--json").data
    assert data["order"] == "imported"
    times = [point["imported_at_ns"] for point in data["groups"][0]["points"]]
    assert times == sorted(times)
    assert [change["at"] for change in data["groups"][0]["change_points"]] != [BREAK]


def test_threshold_and_persistence(neurolens, history):
    where = ("--where", "model=broken", "--json")
    (group,) = neurolens("trend", *where, "--threshold", "30%").data["groups"]
    assert group["change_points"] == []
    (group,) = neurolens("trend", *where, "--persistence", str(RUNS - BREAK + 1)).data["groups"]
    assert [change["alert"] for change in group["change_points"]] == [False]


def test_runs_without_the_figure_are_counted(neurolens, history, make_trace):
    neurolens.import_file(make_trace(5))  # marks no steps
    data = neurolens("trend", "--order", "imported", "--json").data
    assert [left["runs"] for left in data["left_out"]] == [1]
    data = neurolens("trend", "--order", "commit_date", "--json").data
    assert data["without_order"] == 1 and data["left_out"] == []


def test_text_names_run_and_order(neurolens, history):
    text = neurolens("trend").out
    assert "in the order of commit_date" in text
    assert history["broken", BREAK][:12] in text and f"c{BREAK:03d}" in text and "worse" in text
    sparkline = text.splitlines()[3].split()[0]
    assert set(sparkline) <= set("▁▂▃▄▅▆▇█") and len(sparkline) == RUNS, text
    assert "▁" in neurolens("trend", "--color", "always").out


def test_picture_is_valid_xml(neurolens, history, tmp_path):
    picture = tmp_path / "trend.svg"
    neurolens("trend", "--svg", picture)
    root = xml.etree.ElementTree.fromstring(picture.read_text())
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    circles = root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 2 * RUNS


def test_picture_escapes_names(neurolens, history, tmp_path):
    for run in neurolens("runs", "--where", "model=steady", "--limit", "100", "--json").data["runs"]:
        neurolens("label", run["run_id"], 'model=<b>&"x"')
    picture = tmp_path / "trend.svg"
    neurolens("trend", "--kernel", "gemm", "--where", 'model=<b>&"x"', "--svg", picture)
    text = "".join(xml.etree.ElementTree.fromstring(picture.read_text()).itertext())
    assert '<b>&"x"' in text


def test_says_why_it_is_silent(neurolens, history, tmp_path):
    (group,) = neurolens("trend", "--where", "model=steady", "--json").data["groups"]
    assert group["change_points"] == [] and "would not show" in group["silent"]
    (group,) = neurolens("trend", "--where", "model=broken", "--json").data["groups"]
    assert group["silent"] is None
    (group,) = neurolens("trend", "--where", "model=broken", "--threshold", "30%", "--json").data["groups"]
    assert "below the threshold of 30.0 %" in group["silent"]
    data = neurolens("trend", "--where", "model=nobody", "--json").data
    assert data["silent"] == "no run matches the conditions"
    assert "too few" in neurolens("trend", "--where", "model=broken", "--limit", "3").out
    assert "groups by commit" in neurolens("trend", "--group-by", "commit", "--json").data["silent"]


def test_five_and_five_runs_that_do_not_overlap(neurolens, tmp_path):
    for number in range(10):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(trace_of(number, number >= 5, 12040)))
        neurolens.import_file(path, "--set", "model=few")
    (group,) = neurolens("trend", "--json").data["groups"]
    (change,) = group["change_points"]
    assert change["at"] == 5 and change["alert"] is True and change["meaning"] == "worse"


def test_bad_questions(neurolens, history):
    neurolens("trend", "--metric", "no_such", code=BAD_INPUT)
    neurolens("trend", "--class", "no_such", code=BAD_INPUT)
    neurolens("trend", "--kernel", "a", "--class", "gemm", code=BAD_INPUT)
    neurolens("trend", "--threshold", "much", code=BAD_INPUT)


def test_empty_ledger(neurolens):
    data = neurolens("trend", "--json").data
    assert data["groups"] == [] and data["alerts"] == 0
    assert "No run" in neurolens("trend").out
