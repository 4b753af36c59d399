"""docs/analysis/hta.md against the tool that wrote it: HTA's definitions, computed from our tables, and our own figures.

With NEUROLENS_HTA_PYTHON (a Python that has HolisticTraceAnalysis) the tool asks HTA itself too.
"""

import importlib.util
import os
import re
import subprocess

import pytest

from conftest import BINARY, REPOSITORY, TRACES

TOOL = REPOSITORY / "tools/compare_hta.py"
TEXT = (REPOSITORY / "docs/analysis/hta.md").read_text()


def tables_of(text):
    """{trace: {row: cells}} of the tables that the tool prints."""
    tables = {}
    for part in text.split("\n### ")[1:]:
        rows = re.findall(r"^\| ([^|]+) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$", part.split("\n## ")[0], re.M)
        tables[part.splitlines()[0]] = {row[0]: row[1:] for row in rows}
    return tables


TABLES = tables_of(TEXT)


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("compare_hta", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.BINARY = BINARY
    return module


def path_of(trace):
    path = TRACES / "kineto" / f"{trace}.json.gz"
    if not path.exists():
        pytest.skip(f"no recorded trace {path}: set NEUROLENS_TRACES")
    return path


def test_the_page_has_tables():
    assert len(TABLES) >= 6
    assert all(len(rows) == 12 for rows in TABLES.values())


@pytest.mark.parametrize("trace", TABLES)
def test_the_page_shows_what_the_tables_give(tool, tmp_path, trace):
    ours = tool.Ours(str(tmp_path), path_of(trace))
    theirs, own = ours.by_their_definition(), ours.by_ours()
    for key, words in tool.WORDS.items():
        assert TABLES[trace][words][1:] == (tool.shown(theirs.get(key)), tool.shown(own.get(key))), words


@pytest.mark.parametrize("trace", TABLES)
def test_their_definition_on_our_tables_gives_their_figures(trace):
    for words, (hta, by_definition, _) in TABLES[trace].items():
        if hta != "AssertionError":
            assert hta == by_definition, words


def test_the_page_is_what_the_tool_prints():
    python = os.environ.get("NEUROLENS_HTA_PYTHON")
    if not python:
        pytest.skip("NEUROLENS_HTA_PYTHON names no Python with HolisticTraceAnalysis")
    paths = [path_of(trace) for trace in TABLES]
    environment = {**os.environ, "NEUROLENS_BIN": str(BINARY)}
    done = subprocess.run([python, TOOL, *paths], env=environment, capture_output=True, text=True, check=True)
    assert tables_of(done.stdout) == TABLES
