"""Markers from programs in C++ and Python: recorded in processes of their own, imported and asked for."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import BINARY, REPOSITORY

BUILD = BINARY.resolve().parent.parent
RECORD = BUILD / "bin/record_markers"
LIBRARY = BUILD / "lib/libneurolens_collect.so"

pytestmark = pytest.mark.skipif(not RECORD.exists(), reason=f"no {RECORD}: build the target record_markers")


class Recorded:
    def __init__(self, path, end):
        self.path = path
        self.markers = end["recorded"]
        self.lost = end["lost"]


@pytest.fixture
def record(tmp_path):
    """Runs a command, or Python text, under the recorder."""

    def run(*command, options=(), python=None, code=0):
        if python is not None:
            script = tmp_path / "workload.py"
            script.write_text(python)
            command = [sys.executable, script]
        folder = tmp_path / f"recording-{time.monotonic_ns()}"
        environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
        done = subprocess.run([RECORD, folder, *options, "--", *command], env=environment, capture_output=True, text=True,
                              timeout=120)
        assert done.returncode == code, done.stderr
        return Recorded(folder / "recording.nlr", json.loads(done.stdout.splitlines()[-1]))

    return run


def wait_until(holds):
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


needs_extension = pytest.mark.skipif(not list(BUILD.glob("python/neurolens/_markers*.so")),
                                     reason="the Python package was not built: no headers of Python")


def test_the_header_loads_the_collector(record, neurolens):
    recorded = record(BUILD / "bin/marker_cost", "1", "1000")
    assert recorded.markers == 6000 and not recorded.lost
    run = neurolens.import_file(recorded.path)["run_id"]
    assert neurolens.rows(run, "SELECT name, category, kind, count(*) n, min(dur_ns) >= 0 fine FROM spans GROUP BY ALL") == [
        {"name": "prefill", "category": "neurolens", "kind": "annotation", "n": 3000, "fine": True}]
    document = json.loads((neurolens.bundle(run) / "run.json").read_text())
    assert document["capture"]["counts"] == {"seen": 6000, "stored": 3000, "folded": {"begin_joins_its_end": 3000}, "dropped": {}}


def test_times_are_of_the_wall_clock(record, neurolens):
    before = time.time_ns()
    recorded = record(BUILD / "bin/marker_cost", "1", "10")
    after = time.time_ns()
    run = neurolens.import_file(recorded.path)["run_id"]
    first, last = neurolens.rows(run, "SELECT min(start_ns) a, max(start_ns + dur_ns) b FROM spans")[0].values()
    assert before < first < last < after


SYNC = """
import neurolens, threading
assert neurolens.is_recording()

@neurolens.scope("decorated")
def work(n):
    with neurolens.scope("inner"):
        return n

with neurolens.scope("outer"):
    for i in range(10):
        work(i)
        neurolens.counter("progress", i / 2)
neurolens.mark_event("sampled", token=42, text="\\u00e9\\"", odd={1, 2}, nothing=None)
neurolens.mark_event("plain")
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
scope = neurolens.scope("reused")
with scope:
    with scope:
        pass
with scope:
    pass
"""


@needs_extension
def test_python_scopes_marks_and_counters(record, neurolens):
    recorded = record(python=SYNC)
    assert recorded.lost == {"scope_reused": 2}
    run = neurolens.import_file(recorded.path)["run_id"]
    names = {row["name"]: row["n"] for row in neurolens.rows(run, "SELECT name, count(*) n FROM spans GROUP BY 1")}
    assert names == {"decorated": 14, "inner": 14, "outer": 1, "sampled": 1, "plain": 1, "reused": 2}
    assert neurolens.value(run, "SELECT sum(value) FROM counters WHERE name = 'progress'") == 22.5
    assert neurolens.value(run, "SELECT max(depth) FROM spans WHERE name = 'inner'") == 2
    attributes = json.loads(neurolens.value(run, "SELECT args FROM spans WHERE name = 'sampled'"))
    assert attributes == {"token": 42, "text": 'é"', "odd": "{1, 2}", "nothing": None}
    assert neurolens.value(run, "SELECT count(DISTINCT track_id) FROM spans") == 5


ASYNC = """
import asyncio, neurolens

@neurolens.scope("request")
async def request(i):
    with neurolens.scope(f"step {i}"):
        await asyncio.sleep(0.002)
        with neurolens.scope("inner"):
            await asyncio.sleep(0.002)

async def main():
    await asyncio.gather(*(request(i) for i in range(8)))

with neurolens.scope("program"):
    asyncio.run(main())
"""


@needs_extension
def test_scopes_of_tasks_that_take_turns_nest_task_by_task(record, neurolens):
    recorded = record(python=ASYNC)
    assert not recorded.lost
    run = neurolens.import_file(recorded.path)["run_id"]
    health = json.loads((neurolens.bundle(run) / "run.json").read_text())["capture"]["health"]
    assert health == {}
    rows = neurolens.rows(run, "SELECT string_agg(name || ' ' || depth, ', ' ORDER BY depth) tree FROM spans GROUP BY track_id "
                               "ORDER BY 1")
    assert [row["tree"] for row in rows] == ["program 0"] + [f"request 0, step {i} 1, inner 2" for i in range(8)]


FORKING = """
import os, neurolens
with neurolens.scope("parent"):
    child = os.fork()
    if child == 0:
        for _ in range(5):
            with neurolens.scope("child"):
                pass
        os._exit(0)
    os.waitpid(child, 0)
"""


@needs_extension
def test_a_forked_child_has_markers_of_its_own(record, neurolens):
    run = neurolens.import_file(record(python=FORKING).path)["run_id"]
    rows = neurolens.rows(run, "SELECT name, count(*) n, count(DISTINCT process_id) p FROM spans JOIN tracks USING (track_id) "
                               "GROUP BY 1 ORDER BY 1")
    assert rows == [{"name": "child", "n": 5, "p": 1}, {"name": "parent", "n": 1, "p": 1}]
    assert neurolens.value(run, "SELECT count(DISTINCT process_id) FROM tracks") == 2


KILLED = """
import os, signal, neurolens
with neurolens.scope("never ends"):
    for i in range(1000):
        neurolens.counter("i", i)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@needs_extension
def test_a_killed_workload_keeps_its_markers(record, neurolens):
    recorded = record(python=KILLED, code=128 + signal.SIGKILL)
    assert recorded.markers == 1001
    run = neurolens.import_file(recorded.path)["run_id"]
    assert neurolens.value(run, "SELECT max(value) FROM counters") == 999
    assert neurolens.rows(run, "SELECT name, dur_ns FROM spans") == [{"name": "never ends", "dur_ns": None}]


@needs_extension
def test_a_killed_recorder_leaves_a_recording(tmp_path, neurolens):
    script = tmp_path / "workload.py"
    done = tmp_path / "done"
    script.write_text("import neurolens, pathlib, time\n"
                      "for i in range(20000):\n"
                      "    neurolens.counter('i', i)\n"
                      "    if i % 100 == 0: time.sleep(0.001)\n"
                      f"pathlib.Path({str(done)!r}).touch()\n")
    folder = tmp_path / "recording"
    recorder = subprocess.Popen([RECORD, folder, "--", sys.executable, script],
                                env={**os.environ, "PYTHONPATH": str(BUILD / "python")}, stdout=subprocess.DEVNULL)
    file = folder / "recording.nlr"
    wait_until(lambda: file.exists() and file.stat().st_size > 20_000)
    recorder.kill()
    recorder.wait()
    assert not done.exists(), "the recorder was to be killed while the workload runs"

    unfinished = neurolens.import_file(file)["run_id"]
    health = json.loads((neurolens.bundle(unfinished) / "run.json").read_text())["capture"]["health"]
    assert health["unfinished"] == 1
    wait_until(done.exists)
    time.sleep(0.2)  # the workload has no parent to wait for it
    end = json.loads(subprocess.run([RECORD, "--recover", folder], stdout=subprocess.PIPE, check=True).stdout)
    assert end["recorded"] == 20000 and not end["lost"]
    run = neurolens.import_file(file)["run_id"]
    assert neurolens.rows(run, "SELECT count(*) n, count(DISTINCT value) v FROM counters") == [{"n": 20000, "v": 20000}]


def test_the_collector_needs_libc_alone():
    needed = subprocess.run(["readelf", "-d", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
    libraries = [line.split("[")[1].rstrip("]") for line in needed.splitlines() if "NEEDED" in line]
    assert set(libraries) <= {"libc.so.6", "libpthread.so.0", "libdl.so.2"}
    symbols = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert [line.split()[-1] for line in symbols.splitlines()] == [
        "InitializeInjection", "InitializeInjectionNvtx2", "InitializeInjectionNvtxExtension", "neurolens_collect"]


@needs_extension
def test_the_package_by_itself():
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", REPOSITORY / "python/tests"],
                          env={**os.environ, "PYTHONPATH": str(BUILD / "python")}, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("program", ["c++", pytest.param("python", marks=needs_extension)])
def test_what_is_measured_is_recorded_without_loss(tmp_path, program):
    """bench/markers says what a scope costs; here, that its programs do what it measures."""
    command = [BUILD / "bin/marker_cost", "2"] if program == "c++" else [sys.executable, REPOSITORY / "bench/markers/marker_cost.py", "2"]
    done = subprocess.run([RECORD, tmp_path / "cost", "ring_bytes=16777216", "--", *command],
                          env={**os.environ, "PYTHONPATH": str(BUILD / "python")}, stdout=subprocess.PIPE, text=True, check=True)
    *rounds, end = [json.loads(line) for line in done.stdout.splitlines()]
    assert not end["lost"] and len(rounds) == 2
    assert all(ns >= 0 for one in rounds for ns in one.values())
