"""neurolens record: a program under the recorder becomes a run."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from conftest import BAD_INPUT, BINARY, GATE_FAILED, Neurolens

BUILD = BINARY.resolve().parent.parent
MARKER_COST = BUILD / "bin/marker_cost"
needs_markers = pytest.mark.skipif(not MARKER_COST.exists(), reason=f"no {MARKER_COST}")
needs_extension = pytest.mark.skipif(not list(BUILD.glob("python/neurolens/_markers*.so")),
                                     reason="the Python package was not built: no headers of Python")

PROGRAM = """
import neurolens, os, sys, time
print("recording", neurolens.is_recording())
with neurolens.scope("prefill"):
    with neurolens.scope("attention"):
        time.sleep(0.01)
    neurolens.mark_event("sampled", token=42)
neurolens.counter("batch", 8)
if len(sys.argv) > 1:
    pathlib = __import__("pathlib"); pathlib.Path(sys.argv[1]).write_text("ready")
    with neurolens.scope("waiting"):
        time.sleep(600)
"""


@pytest.fixture
def recorder(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    return Neurolens(tmp_path / "ledger", {"PYTHONPATH": str(BUILD / "python")})


def recordings(neurolens):
    folder = neurolens.ledger / "recordings"
    return sorted(folder.iterdir()) if folder.exists() else []


@needs_extension
def test_a_program_becomes_a_run(recorder, tmp_path):
    result = recorder("record", "--json", "--set", "model=tiny", "--", sys.executable, tmp_path / "program.py")
    data = result.data
    assert data["markers"] == {"recorded": 6, "lost": {}} and data["workload"]["exit_code"] == 0
    assert "recording True" in result.err and "recording True" not in result.out
    folder = pathlib.Path(data["artifacts"])
    assert sorted(p.name for p in folder.iterdir()) == ["capture.json", "recording.nlr", "stderr.txt", "stdout.txt"]
    assert (folder / "stdout.txt").read_text() == "recording True\n"
    run = data["run_id"]
    recorder("verify", run)
    assert [row["name"] for row in recorder.rows(run, "SELECT name FROM spans WHERE kind = 'annotation' ORDER BY start_ns")] == [
        "prefill", "attention"]
    (whole,) = recorder.rows(run, "SELECT pass, dur_ns, start_ns FROM iterations")
    (scope,) = recorder.rows(run, "SELECT start_ns, dur_ns FROM spans WHERE name = 'prefill'")
    assert whole["pass"] == "recorded" and whole["dur_ns"] == data["workload"]["wall_ns"]
    assert whole["dur_ns"] > scope["dur_ns"] > 10_000_000
    assert recordings(recorder) == [] and recorder.leftovers() == []
    shown = recorder("show", run).out
    assert "recorded: " in shown


def test_a_program_without_markers(recorder):
    data = recorder("record", "--silent", "--json", "--", "sh", "-c", "echo hello; echo bad >&2; exit 3", code=GATE_FAILED).data
    assert data["workload"]["exit_code"] == 3 and data["markers"]["recorded"] == 0
    assert (pathlib.Path(data["artifacts"]) / "stderr.txt").read_text() == "bad\n"
    recorder("verify", data["run_id"])
    recorder("show", data["run_id"])


def test_no_program(recorder):
    assert "no such program" in recorder("record", "--", "no-such-program", code=BAD_INPUT).err
    assert "no command" in recorder("record", code=BAD_INPUT).err
    assert recordings(recorder) == [] and recorder.runs() == []


@needs_markers
def test_markers_of_cpp_and_a_flight_recorder(recorder):
    data = recorder("record", "--silent", "--json", "--", MARKER_COST, "1", "1000").data
    assert data["markers"]["recorded"] == 6000
    data = recorder("record", "--silent", "--ring", "1", "--json", "--", MARKER_COST, "1", "200000").data
    markers = data["markers"]
    assert markers["recorded"] + sum(markers["lost"].values()) == 1_200_000
    assert 0 < markers["recorded"] < 200_000 and markers["lost"]["overwritten"] > 0
    recorder("verify", data["run_id"])


def test_time_limit(recorder):
    data = recorder("record", "--time-limit", "1", "--json", "--", "sleep", "600", code=GATE_FAILED).data
    assert "did not end within 1 s" in data["workload"]["cut_short"]
    assert data["workload"]["wall_ns"] < 30e9


def started(recorder, tmp_path):
    """A recording whose program waits for ever; it and the pid of the program."""
    ready = tmp_path / "ready"
    running = subprocess.Popen(recorder.command("record", "--silent", "--", sys.executable, tmp_path / "program.py", ready),
                               env=recorder.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not ready.exists():
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.02)
    return running


def pids_of(word):
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@needs_extension
def test_ctrl_c_keeps_what_was_recorded(recorder, tmp_path):
    running = started(recorder, tmp_path)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    (run,) = recorder.run_ids()
    assert recorder.value(run, "SELECT count(*) FROM spans WHERE name = 'prefill'") == 1
    assert pids_of(str(tmp_path / "program.py")) == []


@needs_extension
def test_a_killed_program_loses_nothing(recorder, tmp_path):
    running = started(recorder, tmp_path)
    (program,) = [pid for pid in pids_of(str(tmp_path / "program.py")) if pid != running.pid]
    os.kill(program, signal.SIGKILL)
    running.communicate(timeout=60)
    assert running.returncode == GATE_FAILED
    (run,) = recorder.run_ids()
    waiting = recorder.rows(run, "SELECT dur_ns FROM spans WHERE name = 'waiting'")
    assert waiting == [{"dur_ns": None}], "it says what the program was in"


@needs_extension
def test_a_killed_recorder_is_recovered(recorder, tmp_path):
    running = started(recorder, tmp_path)
    (program,) = [pid for pid in pids_of(str(tmp_path / "program.py")) if pid != running.pid]
    running.kill()
    running.communicate(timeout=60)
    os.kill(program, signal.SIGKILL)
    assert recorder.runs() == [] and len(recordings(recorder)) == 1
    assert any(check["check"] == "recordings" for check in recorder("doctor", "--json").data["checks"])
    (recording,) = recorder("record", "--recover", "--json").data["runs"]
    assert recording["markers"]["recorded"] == 7
    assert recorder.value(recording["run_id"], "SELECT count(*) FROM spans WHERE name = 'attention'") == 1
    assert recordings(recorder) == []
    assert recorder("record", "--recover", "--json").data["runs"] == []
