"""neurolens record: a program under the recorder becomes a run."""

import ctypes
import errno
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

import pytest

from conftest import BAD_INPUT, BINARY, GATE_FAILED, Neurolens, pids_of

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


BUSY = """
import hashlib, sys, time
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        hashlib.sha256(b"x" * 100_000).hexdigest()
def outer(seconds):
    burn(seconds)
outer(float(sys.argv[1]))
"""


def can_sample(recorder):
    return {"cpu_sampling", "ok"} in [{c["check"], c["status"]} for c in recorder("doctor", "--json", code=None).data["checks"]]


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
    kept = {p.name for p in folder.iterdir()}
    assert kept - {"samples.nlr"} == {"capture.json", "recording.nlr", "stderr.txt", "stdout.txt"}
    assert ("samples.nlr" in kept) == (data["samples"]["recorded"] > 0)
    assert (folder / "stdout.txt").read_text() == "recording True\n"
    run = data["run_id"]
    recorder("verify", run)
    assert [row["name"] for row in recorder.rows(run, "SELECT name FROM spans WHERE kind = 'annotation' ORDER BY start_ns")] == [
        "prefill", "attention"]
    clocks = recorder.rows(run, "SELECT method, bound_ns FROM clock_fits")
    assert clocks and all(clock == {"method": "same_clock", "bound_ns": 0} for clock in clocks)
    (whole,) = recorder.rows(run, "SELECT pass, dur_ns, start_ns FROM iterations")
    (scope,) = recorder.rows(run, "SELECT start_ns, dur_ns FROM spans WHERE name = 'prefill'")
    assert whole["pass"] == "recorded" and whole["dur_ns"] == data["workload"]["wall_ns"]
    assert whole["dur_ns"] > scope["dur_ns"] > 10_000_000
    assert recordings(recorder) == [] and recorder.leftovers() == []
    shown = recorder("show", run).out
    assert "recorded: " in shown


@needs_extension
def test_the_report_of_a_recording(recorder, tmp_path):
    """Each figure with the query that gives it again."""
    options = ["--python", "--off-cpu", "--hz", "999"] if can_sample(recorder) else []
    run = recorder("record", *options, "--json", "--", sys.executable, tmp_path / "program.py").data["run_id"]
    recorder("report", run, "--format", "json", "--output", tmp_path / "report")
    path = tmp_path / "report/report.json"
    recorder("report", "--verify", path)
    report = json.loads(path.read_text())
    recorded = {figure["id"]: figure for figure in report["figures"] if figure["id"].startswith("recorded-")}
    assert {"recorded-scopes"} | ({"recorded-functions", "recorded-python", "recorded-waits"} if options else set()) == set(recorded)
    for figure in recorded.values():
        rows = recorder.rows(run, figure["sql"])
        assert all(list(row) == figure["columns"] for row in rows), figure["id"]
        assert [list(row.values()) for row in rows] == figure["rows"], figure["id"]
    assert any("The scope with the most time of its own is attention" in line["text"] for line in report["summary"])
    text = recorder("analyze", run).out
    assert "Top scopes" in text and "Clocks" not in text


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


@needs_extension
def test_ctrl_c_keeps_what_was_recorded(recorder, tmp_path):
    running = started(recorder, tmp_path)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    (run,) = recorder.run_ids()
    assert recorder.value(run, "SELECT count(*) FROM spans WHERE name = 'prefill'") == 1
    assert pids_of(tmp_path / "program.py") == []


def recorded_programs(path):
    """Processes of the program, without those of the recorder, whose command line names it, too."""
    return [pid for pid in pids_of(path) if "neurolens" not in os.readlink(f"/proc/{pid}/exe")]


@needs_extension
def test_a_killed_program_loses_nothing(recorder, tmp_path):
    running = started(recorder, tmp_path)
    (program,) = recorded_programs(tmp_path / "program.py")
    os.kill(program, signal.SIGKILL)
    running.communicate(timeout=60)
    assert running.returncode == GATE_FAILED
    (run,) = recorder.run_ids()
    waiting = recorder.rows(run, "SELECT dur_ns FROM spans WHERE name = 'waiting'")
    assert waiting == [{"dur_ns": None}], "it says what the program was in"


@needs_extension
def test_a_killed_recorder_is_recovered(recorder, tmp_path):
    running = started(recorder, tmp_path)
    (program,) = recorded_programs(tmp_path / "program.py")
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


# ---- Samples


@pytest.fixture
def busy(recorder, tmp_path):
    (tmp_path / "busy.py").write_text(BUSY)
    if not can_sample(recorder):
        pytest.skip("the kernel refuses samples")
    return [sys.executable, tmp_path / "busy.py"]


def test_processor_time_is_sampled(recorder, busy):
    data = recorder("record", "--silent", "--hz", "999", "--json", "--", *busy, "0.5").data
    samples = data["samples"]
    assert samples["recorded"] > 100 and samples["lost"] == {} and "absent_reason" not in samples
    run = data["run_id"]
    recorder("verify", run)
    assert recorder.value(run, "SELECT count(*) FROM samples") == samples["recorded"]
    cpu_ns = data["workload"]["user_ns"] + data["workload"]["system_ns"]
    sampled_ns = recorder.value(run, "SELECT sum(weight)::BIGINT FROM samples")
    if samples["with_kernel"]:
        assert 0.8 * cpu_ns < sampled_ns < 1.2 * cpu_ns
    shown = recorder("show", run, "--json").data["recorded_times"]["functions"]
    assert [row["own_ns"] for row in shown] == sorted((row["own_ns"] for row in shown), reverse=True)
    assert all(0 < row["own_ns"] <= row["total_ns"] for row in shown) and 0.5 < sum(row["share"] for row in shown) <= 1
    assert "Top functions" in recorder("show", run).out


def test_samples_are_on_the_clock_of_the_markers(recorder, busy, tmp_path):
    if not list(BUILD.glob("python/neurolens/_markers*.so")):
        pytest.skip("the Python package was not built")
    marked = BUSY.replace("    burn(seconds)", "    with neurolens.scope('burning'):\n        burn(seconds)")
    (tmp_path / "marked.py").write_text("import neurolens\n" + marked)
    run = recorder("record", "--silent", "--hz", "999", "--json", "--", busy[0], tmp_path / "marked.py", "0.5").data["run_id"]
    inside = recorder.value(run, "SELECT coalesce(sum(weight), 0)::BIGINT FROM samples s, spans p WHERE p.name = 'burning'"
                                 " AND s.start_ns BETWEEN p.start_ns AND p.start_ns + p.dur_ns")
    assert inside > 300_000_000
    (scope,) = recorder("show", run, "--json").data["recorded_times"]["scopes"]
    assert scope["name"] == "burning" and scope["calls"] == 1 and scope["own_ns"] == scope["total_ns"] > 400_000_000
    assert "Top scopes" in recorder("show", run).out


def pythons():
    """Those that can be read, as far as they are installed here."""
    found = {}
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    for version in ("3.9", "3.10", "3.11", "3.12", "3.13"):
        of_pyenv = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
        path = next(iter(of_pyenv), shutil.which(f"python{version}"))
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            found[version] = path
    return found


@pytest.mark.parametrize("version", pythons())
def test_python_functions(recorder, busy, version):
    data = recorder("record", "--silent", "--hz", "999", "--python", "--json", "--", pythons()[version], busy[1], "0.5").data
    python = data["samples"]["python"]
    assert python["recorded"] > 50 and python["torn"] < python["recorded"] / 5
    run = data["run_id"]
    recorder("verify", run)
    of_python = "FROM samples JOIN tracks USING (track_id) WHERE tracks.kind = 'python'"
    assert recorder.value(run, f"SELECT count(*) {of_python}") == python["recorded"]
    of_burn = f"{of_python} AND stack LIKE '%outer (%/busy.py:7);burn (%/busy.py:3)%'"
    assert recorder.value(run, f"SELECT sum(weight)::BIGINT {of_burn}") > 300_000_000
    (first, *_) = recorder("show", run, "--json").data["recorded_times"]["python"]
    assert first["name"].startswith("burn (") and first["share"] > 0.5
    assert "Top Python functions" in recorder("show", run).out


def test_threads_that_do_not_run(recorder, busy):
    data = recorder("record", "--silent", "--off-cpu", "--json", "--", busy[0], "-c", "import time; time.sleep(0.4)").data
    run = data["run_id"]
    recorder("verify", run)
    rows = recorder.rows(run, "SELECT name, count(*) AS n, max(dur_ns) AS longest FROM spans WHERE category = 'off_cpu' GROUP BY name")
    assert sum(row["n"] for row in rows) == data["samples"]["waits"]
    (waiting,) = [row for row in rows if row["name"] == "waiting"]
    assert 400_000_000 <= waiting["longest"] < 10e9
    assert "waiting" in recorder("show", run).out


def test_without_samples(recorder, busy):
    data = recorder("record", "--silent", "--hz", "0", "--json", "--", *busy, "0.1").data
    assert data["samples"]["recorded"] == 0 and data["samples"]["absent_reason"]
    assert recorder.value(data["run_id"], "SELECT count(*) FROM samples") == 0
    recorder("record", "--hz", "10000", "--", *busy, "0.1", code=BAD_INPUT)


def refuse_perf_events():
    """From now on perf_event_open gives EACCES to this process and what it starts, as kernel.perf_event_paranoid can."""
    number = {"x86_64": 298, "aarch64": 241}[os.uname().machine]
    load, equal, give = 0x20, 0x15, 0x06
    program = b"".join(struct.pack("HBBI", *step) for step in [
        (load, 0, 0, 0), (equal, 0, 1, number), (give, 0, 0, 0x00050000 | errno.EACCES), (give, 0, 0, 0x7FFF0000)])
    steps = ctypes.create_string_buffer(program)
    filter = struct.pack("HxxxxxxP", 4, ctypes.addressof(steps))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_rights, set_filter, by_filter = 38, 22, 2
    assert libc.prctl(no_new_rights, 1, 0, 0, 0) == 0 and libc.prctl(set_filter, by_filter, filter, 0, 0) == 0


def test_where_the_kernel_refuses_the_program_runs_all_the_same(recorder, busy):
    result = recorder("record", "--silent", "--json", "--", *busy, "0.1", preexec_fn=refuse_perf_events)
    assert result.data["workload"]["exit_code"] == 0
    samples = result.data["samples"]
    assert samples["recorded"] == 0 and "perf_event" in samples["absent_reason"] and samples["with_kernel"] is False
    shown = recorder("record", "--silent", "--", *busy, "0.1", preexec_fn=refuse_perf_events).out
    assert [line for line in shown.splitlines() if "samples" in line and "perf_event_open" in line]


def test_samples_of_a_killed_recorder_are_recovered(recorder, busy):
    running = subprocess.Popen(recorder.command("record", "--silent", "--hz", "999", "--", *busy, "600"),
                               env=recorder.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not any(p.stat().st_size > 20_000 for p in recorder.ledger.glob("recordings/*/samples.nlr")):
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.05)
    running.kill()
    running.communicate(timeout=60)
    for pid in pids_of(busy[1]):
        os.kill(pid, signal.SIGKILL)
    (recording,) = recorder("record", "--recover", "--json").data["runs"]
    assert recording["samples"]["recorded"] > 100
    assert recorder.value(recording["run_id"], "SELECT count(*) FROM samples WHERE stack LIKE '%sha256%' OR stack LIKE '%+0x%'") > 0


# ---- The flight recorder


@needs_extension
@pytest.mark.parametrize("way", ["dump", "signal"])
def test_a_flight_recorder_gives_what_it_holds_and_goes_on(recorder, tmp_path, way):
    ready = tmp_path / "ready"
    running = subprocess.Popen(recorder.command("record", "--silent", "--ring", "1", "--set", "model=tiny", "--", sys.executable,
                                                tmp_path / "program.py", ready),
                               env=recorder.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not ready.exists():
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.02)
    if way == "dump":
        (recording,) = recorder("record", "--dump", "--json").data["runs"]
        assert recording["markers"]["recorded"] == 7
    else:
        running.send_signal(signal.SIGUSR1)
    while not recorder.runs():
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.1)
    (run,) = recorder.run_ids()
    assert recorder.rows(run, "SELECT name, dur_ns IS NULL AS is_open FROM spans WHERE name IN ('prefill', 'waiting') ORDER BY name") == [
        {"name": "prefill", "is_open": False}, {"name": "waiting", "is_open": True}]
    assert running.poll() is None, "the recording goes on"
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert len(recorder.run_ids()) == 2 and recordings(recorder) == []
    recorder("record", "--dump", code=BAD_INPUT)


@needs_extension
def test_a_slow_scope_triggers_a_dump(recorder, tmp_path):
    (tmp_path / "steps.py").write_text("import neurolens, time\nfor ms in [1] * 20 + [400] + [1] * 20 + [400]:\n"
                                       "    with neurolens.scope('step'): time.sleep(ms / 1000)\ntime.sleep(0.3)\n")
    command = [sys.executable, tmp_path / "steps.py"]
    recorder("record", "--silent", "--ring", "1", "--trigger-on", "step=200", "--", *command)
    counts = sorted(recorder.value(run, "SELECT count(*) FROM spans WHERE name = 'step'") for run in recorder.run_ids())
    assert len(counts) == 2 and 21 <= counts[0] < 42 and counts[1] == 42, "one for the first of the slow ones, and the whole"
    recorder("record", "--ring", "1", "--trigger-on", "step", "--", *command, code=BAD_INPUT)
    recorder("record", "--trigger-on", "step=200", "--", *command, code=BAD_INPUT)


# ---- Where the collector lies


def wait_for(path):
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_no_code_in_the_ledger(recorder, tmp_path):
    """A ledger may be shared: whoever can write to it must not decide what the program loads."""
    recorder.environment.update(TMPDIR="", XDG_RUNTIME_DIR="")
    script = f"env > {tmp_path}/env.txt; mv {tmp_path}/env.txt {tmp_path}/env; while ! test -e {tmp_path}/go; do sleep 0.05; done"
    running = recorder.start("record", "--silent", "--", "sh", "-c", script)
    wait_for(tmp_path / "env")
    variables = dict(line.split("=", 1) for line in (tmp_path / "env").read_text().splitlines() if "=" in line)
    for name in ("NEUROLENS_COLLECT", "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"):
        library = pathlib.Path(variables[name])
        assert not library.is_relative_to(recorder.ledger), name
        folder = library.parent.stat()
        assert folder.st_mode & 0o777 == 0o700 and folder.st_uid == os.geteuid(), name
    code = [p for p in recorder.ledger.rglob("*") if p.is_file() and (p.suffix == ".so" or p.read_bytes()[:4] == b"\x7fELF")]
    assert code == []
    (tmp_path / "go").touch()
    _, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert not library.parent.exists(), "its folder is gone"


def test_the_code_of_a_killed_recorder_is_removed_later(recorder, tmp_path):
    recorder.environment.update(TMPDIR="", XDG_RUNTIME_DIR="")
    script = f"env > {tmp_path}/env.txt; mv {tmp_path}/env.txt {tmp_path}/env; exec sleep 600"
    running = recorder.start("record", "--silent", "--", "sh", "-c", script)
    wait_for(tmp_path / "env")
    (library,) = re.findall("^NEUROLENS_COLLECT=(.+)$", (tmp_path / "env").read_text(), re.MULTILINE)
    running.kill()
    running.communicate()
    assert pathlib.Path(library).exists()
    recorder("record", "--silent", "--", "true")
    assert not pathlib.Path(library).parent.exists()


def test_a_recorder_takes_no_folder_that_others_can_move(recorder, tmp_path):
    """$TMPDIR is open to all and not sticky."""
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    recorder.environment.update(TMPDIR=str(open_to_all), XDG_RUNTIME_DIR="")
    data = recorder("record", "--silent", "--json", "--", "env").data
    lines = (pathlib.Path(data["artifacts"]) / "stdout.txt").read_text().splitlines()
    (library,) = [line for line in lines if line.startswith("NEUROLENS_COLLECT=")]
    assert library.startswith("NEUROLENS_COLLECT=/tmp/neurolens-"), library


@needs_extension
@pytest.mark.parametrize("name", ["ring-*", "process", "session"])
def test_a_program_that_cuts_off_what_it_shares(recorder, tmp_path, name):
    """The recorder reads on, and says what was lost; the folder goes."""
    program = tmp_path / "cutting.py"
    program.write_text(f"""
import neurolens, os, pathlib, time
for i in range(200):
    neurolens.counter("batch", i)
time.sleep(0.2)
folder = pathlib.Path(os.environ["NEUROLENS_RECORDING"])
for path in folder.rglob({name!r}):
    os.truncate(path, 0)
time.sleep(0.3)
os._exit(0)
""")
    result = recorder("record", "--silent", "--json", "--", sys.executable, program)
    assert result.data["workload"]["exit_code"] == 0
    assert result.data["markers"]["recorded"] == 200
    assert recordings(recorder) == []
