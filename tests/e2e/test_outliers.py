"""Outliers: runs of one kind, of which one is slow in one class of kernels and another has one slow step. Just these are found."""

import json
import random
import statistics

import pytest

from conftest import BAD_INPUT, Neurolens
from test_trend import event

RUNS, STEPS, LAYERS = 9, 12, 3
SLOW_RUN, SLOW_STEP = 4, (6, 7)  # the run whose layer 1 is slow; run and number of a step that hangs


def trace_of(number):
    """Steps of three layers, each with a matrix product; the first two steps are slow in every run, as the first ones are."""
    dice = random.Random(number)
    events, at, launch = [], 1000.0, 0
    for step in range(STEPS):
        begin = at
        at += 2
        for layer in range(LAYERS):
            dur = round(100 * dice.gauss(1, 0.004) * (2 if (number, layer) == (SLOW_RUN, 1) else 1) * (3 if step < 2 else 1), 3)
            launch += 1
            events.append(event("python_function", f"nn.Module: Block_{layer}", round(at, 3), round(dur + 3, 3)))
            events.append(event("cuda_runtime", "cudaLaunchKernel", round(at + 1, 3), 0.5, correlation=launch))
            events.append(event("kernel", "gemm_tile", round(at + 2, 3), dur, 0, 7, device=0, stream=7, correlation=launch))
            at += dur + 5
        if (number, step) == SLOW_STEP:
            at += 400
        events.append(event("user_annotation", f"ProfilerStep#{step}", round(begin, 3), round(at - begin, 3)))
        at = round(at + 1, 3)
    properties = [{"id": 0, "name": "NVIDIA Test GPU", "totalGlobalMem": 1 << 30, "computeMajor": 8, "computeMinor": 0, "numSms": 8}]
    return {"schemaVersion": 1, "deviceProperties": properties, "traceEvents": events, "traceName": str(number)}


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    neurolens = Neurolens(folder / "ledger")
    ids = []
    for number in range(RUNS):
        path = folder / f"{number}.json"
        path.write_text(json.dumps(trace_of(number)))
        ids.append(neurolens.import_file(path, "--set", "model=blocks")["run_id"])
    return neurolens, ids


def group_of(neurolens, *words):
    (group,) = neurolens("outliers", "--json", *words).data["groups"]
    return group


def test_the_odd_run_and_its_class_are_found(peers):
    neurolens, ids = peers
    group = group_of(neurolens)
    found = {(one["kind"], one["run_id"], one["name"]): one for one in group["outliers"]}
    run = found.pop(("run", ids[SLOW_RUN], "step_time"))
    assert run["meaning"] == "worse" and run["peers"] == RUNS and 1.2 < run["ratio"] < 1.5
    gemm = found.pop(("class", ids[SLOW_RUN], "gemm"))
    assert 1.2 < gemm["ratio"] < 1.5
    step = found.pop(("step", ids[SLOW_STEP[0]], f"step:{SLOW_STEP[1]}"))
    assert step["value"] - step["usual"] == pytest.approx(400_000, rel=0.05), "the time that the step hung"
    assert step["peers"] == STEPS - 2, "without the slow begin"
    layers = {key: one for key, one in found.items() if key[0] == "layer"}
    assert {key[1] for key in layers} <= {ids[SLOW_RUN]} and len(layers) == len(found), found
    assert group["outliers"][0]["kind"] == "run"
    assert group["typical_run_id"] != ids[SLOW_RUN] and group["silent"] is None


def test_figures_are_those_of_the_runs(peers):
    """Median and spread, computed anew from what trend says of each run."""
    neurolens, ids = peers
    (series,) = neurolens("trend", "--json").data["groups"]
    by_run = {point["run_id"]: point["value"] for point in series["points"]}
    times = [by_run[run] for run in ids]
    usual = statistics.median(times)
    group = group_of(neurolens)
    assert group["usual"] == usual
    assert group["spread"] == pytest.approx(1.4826 * statistics.median(abs(time - usual) for time in times))
    assert group["outliers"][0]["spreads"] == pytest.approx((times[SLOW_RUN] - usual) / group["spread"])


def test_a_large_threshold_hides_them_and_says_so(peers):
    neurolens, _ = peers
    group = group_of(neurolens, "--threshold", "900%")
    assert group["outliers"] == [] and "900" in group["silent"]


def test_few_runs_say_that_they_are_few(peers):
    neurolens, _ = peers
    data = neurolens("outliers", "--limit", "3", "--metric", "total_time", "--json").data
    kinds = {one["kind"] for group in data["groups"] for one in group["outliers"]}
    assert kinds <= {"step"} and all("run" not in group["looked_at"] for group in data["groups"])


def test_the_text_names_them_and_the_next_command(peers):
    neurolens, ids = peers
    done = neurolens("outliers")
    assert ids[SLOW_RUN][:12] in done.out and "usual" in done.out
    assert f"neurolens compare {group_of(neurolens)['typical_run_id'][:12]} {ids[SLOW_RUN][:12]}" in done.err + done.out
    assert len(done.out.splitlines()) < 24


def test_wrong_questions(peers, neurolens):
    asked, _ = peers
    asked("outliers", "--metric", "nothing", code=BAD_INPUT)
    asked("outliers", "--threshold", "much", code=BAD_INPUT)
    assert "No run" in neurolens("outliers").out
    assert neurolens("outliers", "--json").data["groups"] == []


def test_runs_of_different_kinds_are_not_held_against_each_other(neurolens, tmp_path):
    for number in range(8):
        trace = trace_of(number)
        for one in trace["traceEvents"]:
            one["ts"], one["dur"] = round(one["ts"] * 3**number, 3), round(one["dur"] * 3**number, 3)
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(trace))
        neurolens.import_file(path)
    group = group_of(neurolens)
    assert "not held against each other" in group["doubt"] and "group_by" in group["doubt"]
    assert {one["kind"] for one in group["outliers"]} == {"step"}
    assert "run" not in group["looked_at"]


def test_runs_without_labels_are_doubted(neurolens, tmp_path):
    for number in range(6):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(trace_of(number)))
        neurolens.import_file(path)
    assert "no model" in group_of(neurolens)["doubt"]
