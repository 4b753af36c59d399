"""What limits a recorded run stands on the first screen of `neurolens analyze FILE`, for the traces of docs/bottleneck.md."""

import json
import re
import subprocess
import sys

import pytest

from conftest import REPOSITORY, TRACES

FOLDER = REPOSITORY / "bench/bottleneck"
LINES, COLUMNS = 24, 80
CASES = {case["name"]: case for case in json.loads((FOLDER / "answers.json").read_text())}


def recorded(case):
    path = TRACES / case["file"]
    if not path.exists():
        pytest.skip(f"no recorded profile {path}: set NEUROLENS_TRACES")
    return path


def screen(text):
    """The lines that are whole on the first screen of a terminal that breaks what is wider than it."""
    shown, rows = [], 0
    for line in text.splitlines():
        rows += max(1, -(-len(line) // COLUMNS))
        if rows > LINES:
            break
        shown.append(line)
    return shown


def states(lines, wanted):
    for line in lines:
        found = re.search(wanted["line"], line)
        if found and ("between" not in wanted or wanted["between"][0] <= float(found["share"]) <= wanted["between"][1]):
            return True
    return False


@pytest.mark.parametrize("name", CASES)
def test_the_argued_limiter_is_on_the_first_screen(neurolens, name):
    case = CASES[name]
    shown = screen(neurolens("analyze", recorded(case), "--quiet").out)
    for wanted in case["neurolens"]["must"]:
        assert states(shown, wanted), f"{wanted}\n" + "\n".join(shown)


@pytest.mark.parametrize("name", CASES)
def test_the_argument_holds(name):
    """The figures of the answer are those of the file, computed without the product."""
    case = CASES[name]
    # In a process of its own: whoever is started by this one inherits its peak of memory, and others measure that.
    command = [sys.executable, FOLDER / "figures.py", case["figures"], recorded(case)]
    computed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert {key: computed.get(key) for key in case["expected"]} == case["expected"]


def test_there_are_many_traces_of_several_formats():
    assert len(CASES) >= 14
    assert len({case["file"].split("/")[0] for case in CASES.values()}) >= 4


def test_the_page_has_a_row_for_each_trace():
    page = (REPOSITORY / "docs/bottleneck.md").read_text()
    for case in CASES.values():
        assert f"\n| {case['name']} | {case['limiter']} |" in page
