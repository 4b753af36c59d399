"""Exports as Chrome traces, and their way back: import finds the same rows."""

import json

import pytest

import trace_files
from conftest import TRACES
from test_export_perfetto import RECORDED, RUN_FILE


@pytest.mark.parametrize("name", RECORDED)
def test_round_trip(neurolens, tmp_path, name):
    if not (TRACES / name).exists():
        pytest.skip(f"no recorded trace {TRACES / name}: set NEUROLENS_TRACES")
    run = neurolens.import_file(TRACES / name)["run_id"]
    trace_files.check_chrome_round_trip(neurolens, run, tmp_path / "run.json")


def test_what_changes_on_the_way(neurolens, tmp_path):
    """The differences that docs/exports.md lists."""
    path = tmp_path / "tables.json"
    path.write_text(json.dumps(RUN_FILE))
    run = neurolens.import_file(path)["run_id"]
    report, again = trace_files.check_chrome_round_trip(neurolens, run, tmp_path / "run.json")
    assert report["lost"] == {
        "spans without a duration": 1,
        "kernels without a time": 1,
        "counters without a time or a value": 1,
        "units of counters": 1,
        "samples of stacks": 1,
        "layers of engines": 1,
    }
    made = f"SELECT name, kind, category, start_ns, dur_ns FROM spans WHERE category IN {trace_files.MADE_SPANS} ORDER BY start_ns, name"
    assert [(row["name"], row["kind"], row["category"], row["start_ns"], row["dur_ns"]) for row in neurolens.rows(again, made)] == [
        ("r0", "other", "request", 0, 10),
        ("r1", "other", "request", 5, 10),
        ("r2", "other", "request", 12, 10),
        ("allreduce", "other", "collective", 20, 4),
        ("profiled iteration", "other", "iteration", 200, 100),
    ]
    (counter,) = neurolens.rows(again, "SELECT series, unit FROM counters")
    assert counter == {"series": "value", "unit": None}


def test_times_are_exact_and_small(small_run, neurolens, tmp_path):
    """Viewers hold times as doubles, so that they count from a base nearby."""
    path = tmp_path / "run.json"
    neurolens("export", small_run, "--format", "chrome", "--output", path)
    document = json.loads(path.read_text())
    assert document["baseTimeNanoseconds"] == 1_700_000_100_000_000_000
    kernels = [one for one in document["traceEvents"] if one.get("cat") == "kernel"]
    assert (kernels[0]["ts"], kernels[0]["dur"]) == (20.007, 30.333)
    assert '"ts":20.007,"dur":30.333' in path.read_text()
