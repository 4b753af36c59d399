"""Exports as Chrome traces, and their way back: import finds the same rows."""

import pytest

import trace_files
from conftest import TRACES
from test_export_perfetto import RECORDED


@pytest.mark.parametrize("name", RECORDED)
def test_round_trip(neurolens, tmp_path, name):
    if not (TRACES / name).exists():
        pytest.skip(f"no recorded trace {TRACES / name}: set NEUROLENS_TRACES")
    run = neurolens.import_file(TRACES / name)["run_id"]
    trace_files.check_chrome_round_trip(neurolens, run, tmp_path / "run.json")
