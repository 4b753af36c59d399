"""Traces that are valid and unkind: memory stays in proportion to the records, and what a bound leaves out is counted.

Small forms of tests/full/costs, which also judges time. Here nothing is judged by the clock."""

import json
import subprocess
import sys

import pytest

from conftest import BINARY, OK, REPOSITORY, peak_memory

sys.path.insert(0, str(REPOSITORY / "tests/scale"))

import adversarial

EVENTS = 20_000
MOST_MB = 300  # an ordinary run of this size takes less than a third
CASES = ("crossing_ranges", "modules", "frames", "names", "devices", "one_op", "ncu")


def memory_of(*command):
    """Peak in MB of one call; its output goes nowhere."""
    code, megabytes, said = peak_memory([BINARY, *map(str, command)])
    assert code == OK, said
    return megabytes


@pytest.fixture
def imported(tmp_path):
    """Imports a case and gives the options that name its ledger."""

    def make(case, events=EVENTS):
        trace = tmp_path / adversarial.file_name(case)
        adversarial.write(case, events, trace)
        ledger = ("--ledger", tmp_path / "ledger")
        assert memory_of("import", trace, *ledger) < MOST_MB
        return ledger

    return make


def answer(*command):
    done = subprocess.run([BINARY, *map(str, command), "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)["data"]


@pytest.mark.parametrize("case", CASES)
def test_memory_stays_in_proportion(imported, tmp_path, case):
    ledger = imported(case)
    assert memory_of("analyze", "@latest", *ledger) < MOST_MB
    assert memory_of("report", "@latest", "-o", tmp_path / "report", *ledger) < MOST_MB
    assert memory_of("compare", "@latest", "@latest", *ledger) < MOST_MB


def test_devices_beyond_the_bound_are_counted(imported):
    data = answer("analyze", "@latest", *imported("devices", 300_000))
    assert len(data["devices"]) == 1000
    note = next(note for note in data["notes"] if note["id"] == "devices_left_out")
    assert "1,200 devices" in note["text"]


def test_every_kernel_of_a_million_names_is_in_a_sum(imported):
    data = answer("analyze", "@latest", *imported("names"))
    kernels = EVENTS // 3
    assert len(data["top_kernels"]) + data["not_shown"][0]["kernels"]["rows"] == kernels


def test_paths_of_deep_modules_say_how_many_they_leave_out(imported):
    data = answer("analyze", "@latest", *imported("modules"))
    paths = [row["path"] for row in data["top_modules"]]
    assert all(" modules) / " in path for path in paths if path.count(" / ") > 40 or "(" in path)
    assert max(map(len, paths)) < 1000
    assert len(data["top_modules"]) + data["not_shown"][0]["modules"]["rows"] == EVENTS // 3
