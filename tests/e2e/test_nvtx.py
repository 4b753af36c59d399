"""Ranges of NVTX in a recording: programs that know nothing of NeuroLens, in C++ and Python."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import REPOSITORY, Neurolens, need

DEPS = pathlib.Path(os.environ.get("NEUROLENS_DEPS") or REPOSITORY / ".deps")
HEADERS = DEPS / "nvidia-1/nvtx"
needs_headers = pytest.mark.skipif(not HEADERS.exists(), reason=f"no headers of NVTX in {HEADERS}: run tools/setup")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    binary = tmp_path_factory.mktemp("nvtx") / "nvtx_program"
    subprocess.run(["g++", "-std=c++17", "-O1", "-isystem", HEADERS, "-isystem", HEADERS.parent / "cupti-13.4", "-o", binary,
                    REPOSITORY / "tests/e2e/nvtx_program.cpp", "-ldl", "-pthread"], check=True)
    return binary


@pytest.fixture
def recorder(tmp_path):
    return Neurolens(tmp_path / "ledger")


def record(recorder, *command):
    result = recorder("record", "--json", "--", *command)
    assert result.data["workload"]["exit_code"] == 0
    recorder("verify", result.data["run_id"])
    return result


def ranges(recorder, run, columns="name, category, kind"):
    return [tuple(row.values()) for row in recorder.rows(run, f"SELECT {columns} FROM spans ORDER BY start_ns, dur_ns DESC")]


@needs_headers
def test_every_form_of_a_range(recorder, program):
    result = record(recorder, program)
    assert "levels 0 1 1" in result.err or "levels 0 1 1" in result.out
    assert "enabled 1" in result.err + result.out
    run = result.data["run_id"]
    assert ranges(recorder, run) == [
        ("outer", "NVTX", "annotation"),
        ("inner \u00e9\U0001f600", "NVTX", "annotation"),
        ("marked", "NVTX", "instant"),
        ("prefill", "model", "annotation"),
        ("crossing", "other", "annotation"),
        ("step", "model", "instant"),
        ("request 1", "NVTX", "annotation"),
        ("step", "model", "annotation"),
        ("on finisher", "NVTX", "annotation"),
    ]
    (args,) = recorder.rows(run, "SELECT args FROM spans WHERE name = 'prefill'")
    assert json.loads(args["args"]) == {"category": "phase", "color": 0xFF0000FF, "payload": 2.5}
    steps = recorder.rows(run, "SELECT args FROM spans WHERE name = 'step'")
    assert [json.loads(row["args"]) for row in steps] == [{"payload": 18446744073709551615}] * 2
    # every call is there; a stream's name has no form, and one pop found nothing open
    assert result.data["markers"] == {"recorded": 17, "lost": {"unsupported": 1, "begin_lost": 1}}
    document = json.loads((recorder.bundle(run) / "run.json").read_text())
    assert document["capture"]["counts"]["seen"] == 19 + 1  # and how it ran


@needs_headers
def test_nesting_and_threads(recorder, program):
    run = record(recorder, program).data["run_id"]
    parents = recorder.rows(run, "SELECT s.name, p.name AS parent, s.dur_ns >= 0 AS ended FROM spans s "
                                 "LEFT JOIN spans p ON p.span_id = s.parent_id WHERE s.kind = 'annotation' ORDER BY s.start_ns")
    assert all(row["ended"] for row in parents)
    assert {(row["name"], row["parent"]) for row in parents} >= {("outer", None), ("prefill", "outer"), ("request 1", None)}
    tracks = recorder.rows(run, "SELECT s.name, t.kind, t.thread_name FROM spans s JOIN tracks t USING (track_id)")
    on = {row["name"]: (row["kind"], row["thread_name"]) for row in tracks if row["name"] in ("request 1", "on finisher")}
    assert on == {"request 1": ("other", "ranges 1"), "on finisher": ("thread", "finisher")}


@needs_headers
def test_more_messages_than_names(recorder, program):
    result = record(recorder, program, "messages", "20000")
    assert result.data["markers"] == {"recorded": 40000, "lost": {}}
    run = result.data["run_id"]
    (row,) = recorder.rows(run, "SELECT count(*) n, count(DISTINCT coalesce(args->>'message', name)) AS texts FROM spans")
    assert row == {"n": 20000, "texts": 20000}


@needs_headers
def test_too_deep_is_counted(recorder, program):
    result = record(recorder, program, "deep", "200")
    assert result.data["markers"] == {"recorded": 256, "lost": {"too_deep": 144}}


@needs_headers
def test_a_forked_child_knows_its_parents_handles(recorder, program):
    result = record(recorder, program, "fork")
    assert result.data["markers"] == {"recorded": 4, "lost": {}}
    rows = recorder.rows(result.data["run_id"], "SELECT s.name, s.category, count(DISTINCT t.process_id) AS processes FROM spans s "
                                                "JOIN tracks t USING (track_id) GROUP BY ALL")
    assert rows == [{"name": "decode", "category": "model", "processes": 2}]


@needs_headers
def test_the_tool_of_the_user_is_left_alone(recorder, program, tmp_path):
    other = Neurolens(tmp_path / "ledger", {"NVTX_INJECTION64_PATH": "/opt/other.so"})
    result = other("record", "--json", "--", program)
    assert result.data["markers"]["recorded"] == 0
    assert any("/opt/other.so" in warning for warning in result.envelope["warnings"])


PYTHON = """
import nvtx

@nvtx.annotate("decorated", domain="model", color="blue", category="phase", payload=7)
def work():
    with nvtx.annotate("inner", domain="model"):
        pass

with nvtx.annotate("outer"):
    work()
nvtx.mark("marked")
nvtx.push_range("pushed")
nvtx.pop_range()
nvtx.end_range(nvtx.start_range("started"))
"""


@pytest.mark.parametrize("version", ["0.2.11", "0.2.16"])
def test_python(recorder, tmp_path, version):
    packages = DEPS / f"python-nvtx-{version}"
    if not packages.exists():
        pytest.skip(f"no nvtx {version} in {packages}: run tools/setup")
    (tmp_path / "program.py").write_text(PYTHON)
    python = Neurolens(tmp_path / "ledger", {"PYTHONPATH": str(packages)})
    result = record(python, sys.executable, tmp_path / "program.py")
    run = result.data["run_id"]
    assert [row[:1] + row[2:] for row in ranges(python, run)] == [
        ("outer", "annotation"), ("decorated", "annotation"), ("inner", "annotation"), ("marked", "instant"),
        ("pushed", "annotation"), ("started", "annotation")]
    assert {row[0]: row[1] for row in ranges(python, run)}["decorated"] == "model"
    (row,) = python.rows(run, "SELECT args FROM spans WHERE name = 'decorated'")
    args = json.loads(row["args"])
    assert args["payload"] == 7 and args["category"] == "phase" and args["color"] & 0xFFFFFF == 0xFF
    assert result.data["markers"] == {"recorded": 11, "lost": {}}


PYTORCH = """
import torch
torch.cuda.nvtx.range_push("prefill")
with torch.cuda.nvtx.range("attention"):
    torch.randn(8, 8) @ torch.randn(8, 8)
torch.cuda.nvtx.mark("token")
torch.cuda.nvtx.range_pop()
"""


def test_pytorch(recorder, tmp_path):
    """PyTorch that was built for CUDA; it needs no driver for this."""
    (tmp_path / "program.py").write_text(PYTORCH)
    run = record(recorder, need("torch"), tmp_path / "program.py").data["run_id"]
    assert [row[0] for row in ranges(recorder, run)] == ["prefill", "attention", "token"]
    depths = recorder.rows(run, "SELECT s.name, t.depth FROM spans s JOIN span_tree t USING (span_id)")
    assert {row["name"]: row["depth"] for row in depths} == {"prefill": 0, "attention": 1, "token": 1}
