"""Broken and hostile inputs: an error or counted drops, and never a crash, a hang, much memory or half a run."""

import base64
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time

import pytest

import hostile_inputs
import trace_text
from conftest import BAD_INPUT, BINARY, MISSING, OK, Neurolens
from hostile_inputs import Reads

MAX_RSS_MB = 600
INTERRUPTED = 130
PATIENCE_SECONDS = 120  # by the clock, on a machine that others use too; the limit of work is tighter
EXIT_OF = {
    **dict.fromkeys(("bad_input", "unsupported", "not_found", "conflict", "limit"), BAD_INPUT),
    **dict.fromkeys(("permission", "unavailable", "io"), MISSING),
}


class Measured:
    """A call that has ended: exit code (negative: signal), output, peak memory, seconds by the clock and of work."""

    def __init__(self, code, out, err, usage, seconds, seen_kb):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds
        # The kernel counts the peak of whoever starts a program as the program's own. Below that, what was seen while it ran counts.
        own_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.rss_mb = (usage.ru_maxrss if usage.ru_maxrss > own_kb else seen_kb) // 1024
        self.cpu_seconds = usage.ru_utime + usage.ru_stime

    @property
    def envelope(self):
        return json.loads(self.out)

    def __repr__(self):
        took = f"{self.seconds:.1f} s, {self.cpu_seconds:.1f} s of work"
        return f"exit code {self.code}, {self.rss_mb} MB, {took}\n{self.out[:1500]}\n{self.err[:1500]}"


def peak_kb(pid):
    """Of a program that runs; 0 if it has just ended."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


class Running:
    """A call whose memory and time are measured. Output goes to files, so that nobody waits for a reader."""

    def __init__(self, command, folder, **options):
        folder.mkdir(parents=True, exist_ok=True)
        self.files = [open(folder / name, "wb+") for name in ("out", "err")]  # noqa: SIM115 (wait() closes them)
        self.peak_kb = 0
        self.begin = time.monotonic()
        options = {"stdin": subprocess.DEVNULL, "stdout": self.files[0], "stderr": self.files[1], **options}
        self.process = subprocess.Popen(list(map(os.fspath, command)), **options)

    def alive(self):
        """Without reaping it: wait() needs what it used."""
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None

    def wait(self, seconds):
        hung = False
        while True:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                break
            if not hung and time.monotonic() - self.begin > seconds:
                hung = True
                self.process.kill()
            self.peak_kb = max(self.peak_kb, peak_kb(self.process.pid))
            time.sleep(0.002)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in self.files:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
            file.close()
        took = time.monotonic() - self.begin
        done = Measured(self.process.returncode, *texts, usage, took, self.peak_kb)
        assert not hung, f"still running after {seconds} s\n{done}"
        return done


def measured(command, folder, seconds=30, **options):
    return Running(command, folder, **options).wait(seconds)


def assert_healthy(done):
    assert done.code in (OK, BAD_INPUT, MISSING), f"crashed: {done}"
    assert done.rss_mb < MAX_RSS_MB, done


def assert_error(done, *codes):
    assert_healthy(done)
    assert done.code != OK, f"no error: {done}"
    error = done.envelope["error"]
    assert error["code"] in codes, done
    assert done.code == EXIT_OF[error["code"]], done
    assert error["message"]


def listed_runs(ledger):
    """Straight from the index, without a call."""
    index = ledger / "index.sqlite"
    if not index.exists():
        return set()
    with contextlib.closing(sqlite3.connect(index)) as connection:
        return {row[0] for row in connection.execute("SELECT run_id FROM runs")}


def folders(ledger, name):
    return {path.name for path in (ledger / name).iterdir()} if (ledger / name).exists() else set()


def assert_tidy(ledger, runs, staging=frozenset()):
    """Nothing is visible or left but these runs."""
    assert folders(ledger, "runs") == runs
    assert listed_runs(ledger) == runs
    assert folders(ledger, "staging") == staging


def assert_all_verified(ledger):
    neurolens = Neurolens(ledger)
    runs = neurolens.run_ids()
    assert set(runs) == folders(ledger, "runs")
    for run_id in runs:
        assert neurolens("verify", run_id, "--json").data["verified"]


# ---- Files


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory):
    """One for import, one for the short form, so that both are called at the same time. Checked at the end."""
    both = [tmp_path_factory.mktemp("hostile") / name for name in ("imported", "shown")]
    yield both
    for ledger in both:
        assert_all_verified(ledger)


@pytest.mark.parametrize("hostile", hostile_inputs.all_inputs(), ids=lambda hostile: hostile.name)
def test_input(hostile, ledgers, tmp_path):
    """Import and the short form end alike, in time and in memory; what is read is counted to the last record.

    The short form takes no format, so that inputs with one are only imported.
    """
    path = tmp_path / hostile.file_name
    with open(path, "wb") as out:
        hostile.write(out)
    before = [(folders(ledger, "runs"), folders(ledger, "staging")) for ledger in ledgers]
    calls = [("import", path, *hostile.arguments), (path,)]
    running = [
        Running([BINARY, *call, "--json", "--ledger", ledger], tmp_path / ledger.name)
        for call, ledger in list(zip(calls, ledgers))[: 1 if hostile.arguments else 2]
    ]
    calls_done = [one.wait(PATIENCE_SECONDS) for one in running]
    path.unlink()
    is_read = isinstance(hostile.expected, Reads)
    for done, ledger, (runs, staging) in zip(calls_done, ledgers, before):
        assert_healthy(done)
        assert done.cpu_seconds < hostile.cpu_seconds, done
        new = folders(ledger, "runs") - runs
        assert len(new) == is_read, done
        assert_tidy(ledger, runs | new, staging)
        if not is_read:
            assert_error(done, hostile.expected)
        else:
            assert done.code == OK, done
    if not is_read:
        return
    data = calls_done[0].envelope["data"]
    counts = data["counts"]
    assert counts["stored"] == hostile.expected.stored, counts
    assert counts["dropped"] == hostile.expected.dropped
    assert data["health"] == hostile.expected.health
    if hostile.expected.folded:
        assert counts["folded"] == hostile.expected.folded
    assert counts["seen"] == counts["stored"] + sum(counts["dropped"].values()) + sum(counts["folded"].values())
    assert_analysed(data["run_id"], ledgers[0], tmp_path)


def assert_analysed(run_id, ledger, folder):
    """What could be read is analysed, and its sums close; or the analysis says why not."""
    done = Running([BINARY, "analyze", run_id, "--json", "--ledger", ledger], folder / "analyzed").wait(PATIENCE_SECONDS)
    assert_healthy(done)
    if done.code != OK:
        assert_error(done, "bad_input")
        return
    for device in done.envelope["data"]["devices"]:
        parts = [device[part] for part in ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns")]
        assert sum(parts) == device["window_ns"]
        assert sum(device["idle_causes"].values()) == device["idle_ns"]


# ---- What is no regular file


def start_import(path, ledger, folder, *arguments, **options):
    return Running([BINARY, "import", path, "--json", "--ledger", ledger, *arguments], folder, **options)


def import_once(path, ledger, folder, *arguments, seconds=30, **options):
    return start_import(path, ledger, folder, *arguments, **options).wait(seconds)


@pytest.fixture
def ledger(tmp_path):
    """An empty one. Whatever a test leaves in it must be whole."""
    folder = tmp_path / "ledger"
    yield folder
    if (folder / "runs").exists():
        assert_all_verified(folder)
        assert folders(folder, "staging") == set()


@pytest.mark.parametrize("arguments", [(), ("--format", "kineto")], ids=["sniffed", "forced"])
@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/dev/urandom", "/dev/full", "/dev/tty", "/"])
def test_devices_and_folders(path, arguments, ledger, tmp_path):
    done = import_once(path, ledger, tmp_path / "call", *arguments)
    assert_error(done, *(("io", "bad_input") if path == "/dev/tty" else ("bad_input",)))
    assert_tidy(ledger, set())


def test_short_form_of_a_device(ledger, tmp_path):
    assert_error(measured([BINARY, "/dev/zero", "--json", "--ledger", ledger], tmp_path / "call"), "bad_input")


def test_socket(ledger, tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        assert_error(import_once(path, ledger, tmp_path / "call"), "bad_input")


def test_links(ledger, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    assert_error(import_once(tmp_path / "loop", ledger, tmp_path / "call"), "bad_input")
    assert_error(import_once(tmp_path / "dangling", ledger, tmp_path / "call"), "not_found")
    assert_error(import_once(tmp_path / "loop" / "below", ledger, tmp_path / "call"), "bad_input")


@pytest.mark.parametrize("name", ["new\nline", "two  blanks", "-dash", "naïve 測試 😀", "'quo\"te;--", "\x1b[2J", "%s%n"])
def test_odd_paths(name, ledger, tmp_path):
    path = tmp_path / f"{name}.json"
    path.write_text(hostile_inputs.GOOD["kineto"])
    done = import_once(path, ledger, tmp_path / "call")
    assert_healthy(done)
    assert done.code == OK, done


def test_path_that_is_not_utf_8(ledger, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe.json"
    with open(path, "w") as out:
        out.write(hostile_inputs.GOOD["kineto"])
    done = import_once(path, ledger, tmp_path / "call")
    assert_healthy(done)
    assert done.code == OK, done


def test_paths_that_are_too_long(ledger, tmp_path):
    assert_error(import_once(tmp_path / ("n" * 300), ledger, tmp_path / "call"), "bad_input")
    assert_error(import_once("/" + "a/" * 2500 + "f", ledger, tmp_path / "call"), "bad_input")
    assert_error(import_once("", ledger, tmp_path / "call"), "not_found", "bad_input")
    done = measured([BINARY, "/" + "a/" * 2500 + "f", "--json", "--ledger", ledger], tmp_path / "call")
    assert done.code == BAD_INPUT, done


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv to give root up")
def test_no_permission(ledger, tmp_path):
    """As nobody: a file that may not be read, and a ledger that may not be written."""
    for folder in [tmp_path, *tmp_path.parents][:-2]:
        if folder != pathlib.Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o055)
    secret, readable = tmp_path / "secret.json", tmp_path / "readable.json"
    for path in (secret, readable):
        path.write_text(hostile_inputs.GOOD["kineto"])
    secret.chmod(0o600)
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", f"HOME={tmp_path}"]
    binary = tmp_path / "neurolens"
    shutil.copy(BINARY, binary)
    own = tmp_path / "own"
    own.mkdir()
    os.chown(own, 65534, 65534)

    def call(path, ledger):
        return measured([*as_nobody, binary, "import", path, "--json", "--ledger", ledger], tmp_path / "call")

    assert_error(call(secret, own / "ledger"), "permission")
    assert_error(call(readable, tmp_path / "not mine"), "permission")
    assert call(readable, own / "ledger").code == OK
    assert not (tmp_path / "not mine").exists()


# ---- Pipes


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_pipe_without_a_writer(pipe, ledger, tmp_path):
    """Given up after ten seconds."""
    done = import_once(pipe, ledger, tmp_path / "call", seconds=20)
    assert_error(done, "unavailable")
    assert done.seconds > 5
    assert_tidy(ledger, set())


def test_pipe_without_a_writer_is_interrupted(pipe, ledger, tmp_path):
    running = start_import(pipe, ledger, tmp_path / "call")
    time.sleep(0.5)
    running.process.send_signal(signal.SIGINT)
    assert running.wait(5).code == INTERRUPTED
    assert_tidy(ledger, set())


def write_slowly(pipe, pieces, pause=0.2):
    def write():
        with open(pipe, "wb", buffering=0) as out:
            for piece in pieces:
                out.write(piece)
                time.sleep(pause)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


def test_pipe_with_a_late_and_slow_writer(pipe, ledger, tmp_path):
    running = start_import(pipe, ledger, tmp_path / "call")
    time.sleep(1)
    text = hostile_inputs.GOOD["kineto"].encode()
    write_slowly(pipe, [text[:10], text[10:60], text[60:]])
    done = running.wait(20)
    assert_healthy(done)
    assert done.envelope["data"]["counts"]["stored"] == 2


@pytest.mark.parametrize("pieces", [[], [hostile_inputs.GOOD["kineto"].encode()[:80]]], ids=["nothing", "half"])
def test_pipe_whose_writer_goes_away(pieces, pipe, ledger, tmp_path):
    running = start_import(pipe, ledger, tmp_path / "call")
    write_slowly(pipe, pieces)
    done = running.wait(20)
    assert_error(done, "bad_input")
    assert done.seconds < 8
    assert_tidy(ledger, set())


def test_pipe_whose_writer_stops(pipe, ledger, tmp_path):
    """A writer that is there may take its time; Ctrl-C ends the waiting."""
    running = start_import(pipe, ledger, tmp_path / "call")
    holder = os.open(pipe, os.O_WRONLY)
    os.write(holder, hostile_inputs.GOOD["kineto"].encode()[:80])
    time.sleep(1.5)
    assert running.alive()
    running.process.send_signal(signal.SIGINT)
    done = running.wait(5)
    os.close(holder)
    assert done.code == INTERRUPTED, done
    assert_tidy(ledger, set())


def test_standard_input(ledger, tmp_path):
    """Redirected or piped, under its path."""
    text = hostile_inputs.GOOD["kineto"].encode()
    path = tmp_path / "t.json"
    path.write_bytes(text)
    with open(path, "rb") as redirected:
        done = import_once("/dev/stdin", ledger, tmp_path / "call", stdin=redirected)
    assert done.code == OK, done
    reader, writer = os.pipe()
    os.write(writer, hostile_inputs.GOOD["chrome"].encode())
    os.close(writer)
    done = import_once("/dev/stdin", ledger, tmp_path / "call", stdin=reader)
    os.close(reader)
    assert done.code == OK, done
    assert_error(import_once("/dev/stdin", ledger, tmp_path / "call"), "bad_input")


# ---- Files that change


def change_while_read(path, ledger, folder, change):
    """The import of a file that is changed once it has begun to write its tables."""
    running = start_import(path, ledger, folder)
    while running.alive() and not any(ledger.glob("staging/*/bundle/*.parquet")):
        time.sleep(0.001)
    assert running.alive(), "the import was over before the change"
    running.process.send_signal(signal.SIGSTOP)
    change()
    running.process.send_signal(signal.SIGCONT)
    return running.wait(60)


def append(path):
    with open(path, "ab") as out:
        out.write(b" ")


def overwrite(path):
    with open(path, "rb+") as out:
        out.seek(-10, os.SEEK_END)
        out.write(b" ")


CHANGES = {
    "grows": append,
    "shrinks": lambda path: os.truncate(path, path.stat().st_size // 2),
    "emptied": lambda path: os.truncate(path, 0),
    "overwritten": overwrite,
}


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "gzip"])
def test_file_that_changes_while_it_is_read(kind, compressed, ledger, tmp_path):
    path = tmp_path / "changing.json"
    if compressed:
        trace_text.write_gzip_head(path, blocks=3000)
        with open(path, "ab") as out:
            out.write(trace_text.gzip_bytes(trace_text.ending(0)))
    else:
        path.write_text(trace_text.trace_text(blocks=2000))
    done = change_while_read(path, ledger, tmp_path / "call", lambda: CHANGES[kind](path))
    assert_error(done, "conflict")
    assert_tidy(ledger, set())


def test_file_that_is_replaced_while_it_is_read(ledger, tmp_path):
    """The file that was opened is read to its end, whatever has its name by then."""
    path = tmp_path / "replaced.json"
    path.write_text(trace_text.trace_text(blocks=2000))
    other = tmp_path / "other.json"
    other.write_text("something else")
    done = change_while_read(path, ledger, tmp_path / "call", lambda: other.rename(path))
    assert done.code == OK, done


# ---- Disks and limits of the process


@contextlib.contextmanager
def small_disk(folder, size):
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def write_incompressible(path):
    """A trace whose bundle has 4 MB, most of them in the names of spans."""
    dice = random.Random(7)
    event = '{"ph":"X","cat":"cpu_op","name":"%s","pid":1,"tid":2,"ts":%d,"dur":5}'
    names = (base64.b64encode(dice.randbytes(3000)).decode() for _ in range(1300))
    path.write_text(hostile_inputs.kineto(*(event % (name, n) for n, name in enumerate(names))))


@pytest.mark.parametrize("free_kb", [0, 8, 20, 60, 200, 500, 1000, 2000, 3000, 3600])
def test_full_disk(free_kb, tmp_path):
    """An error and nothing half-visible; once there is space, the same ledger takes the same file."""
    trace = tmp_path / "trace.json"
    write_incompressible(trace)
    with small_disk(tmp_path / "disk", "64m") as disk:
        ledger = disk / "ledger"
        first = tmp_path / "first.json"
        first.write_text(hostile_inputs.GOOD["kineto"])
        assert import_once(first, ledger, tmp_path / "call").code == OK
        runs = folders(ledger, "runs")
        filler = disk / "filler"
        with open(filler, "wb") as out:
            free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
            out.write(b"\0" * (free - free_kb * 1024))
        done = import_once(trace, ledger, tmp_path / "call")
        assert_error(done, "io", "limit")
        assert folders(ledger, "runs") == runs
        filler.unlink()
        assert_tidy(ledger, runs)
        assert_all_verified(ledger)
        assert import_once(trace, ledger, tmp_path / "call").code == OK
        assert len(folders(ledger, "runs")) == len(runs) + 1
        assert_all_verified(ledger)


def test_full_disk_from_the_start(tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text(hostile_inputs.GOOD["kineto"])
    with small_disk(tmp_path / "disk", "8k") as disk:
        assert_error(import_once(trace, disk / "ledger", tmp_path / "call"), "io", "limit")


@pytest.mark.parametrize("kb", [1, 16, 64, 400, 1500])
def test_limited_file_size(kb, ledger, tmp_path):
    """RLIMIT_FSIZE: an error like a full disk, not a signal."""
    trace = tmp_path / "trace.json"
    write_incompressible(trace)
    command = f'ulimit -f {kb}; exec "$@" >/dev/null'
    call = ["bash", "-c", command, "-", BINARY, "import", trace, "--ledger", ledger]
    done = measured(call, tmp_path / "call")
    assert_healthy(done)
    assert done.code == MISSING, done
    assert folders(ledger, "runs") == set() == folders(ledger, "staging")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "2>/dev/full", "<&- >&- 2>&-"])
@pytest.mark.parametrize("verb", ["import", "short"])
def test_closed_standard_streams(closed, verb, ledger, tmp_path):
    """Nothing of what is printed ends up in a file of the ledger."""
    trace = tmp_path / "trace.json"
    trace.write_text(hostile_inputs.GOOD["kineto"])
    call = ["import", trace] if verb == "import" else [trace]
    done = measured(["bash", "-c", f'"$@" {closed}', "-", BINARY, *call, "--ledger", ledger], tmp_path / "call")
    assert_healthy(done)
    assert done.code == (MISSING if ">&-" in closed.split() else OK), done
    assert len(folders(ledger, "runs")) == 1


def test_standard_output_that_takes_nothing(ledger, tmp_path):
    trace = tmp_path / "trace.json"
    trace.write_text(hostile_inputs.GOOD["kineto"])
    with open("/dev/full", "wb") as full:
        done = import_once(trace, ledger, tmp_path / "call", stdout=full)
    assert done.code == MISSING, done
    assert len(folders(ledger, "runs")) == 1


@pytest.mark.parametrize("word", ["--help", "completion bash", "nonsense"])
def test_text_that_cannot_be_written(word, tmp_path):
    done = measured(["bash", "-c", f'"$0" {word} >/dev/full 2>/dev/full', BINARY], tmp_path / "call")
    assert done.code in (BAD_INPUT, MISSING), done


def test_bare_environment(tmp_path):
    """No HOME, no TMPDIR: with a ledger given, nothing else is needed; without one, it is an error."""
    trace = tmp_path / "trace.json"
    trace.write_text(hostile_inputs.GOOD["kineto"])
    ledger = tmp_path / "ledger"
    for environment in ({}, {"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}, {"HOME": "", "TMPDIR": ""}):
        done = import_once(trace, ledger, tmp_path / "call", env=environment)
        assert done.code == OK, done
    done = measured([BINARY, "import", trace, "--json"], tmp_path / "call", env={"HOME": "/proc/nonexistent"})
    assert_healthy(done)
    assert done.code != OK
    query = [BINARY, "query", "@latest", "SELECT 1 AS one", "--format", "parquet", "--ledger", ledger]
    done = measured(query, tmp_path / "call", env={"TMPDIR": "/proc/nonexistent"})
    assert done.code == BAD_INPUT and "nonexistent" in done.err, done


# ---- Several processes


def test_two_imports_of_one_file_beside_gc(ledger, tmp_path):
    """Whoever wins, there is one run, and gc takes nothing from anybody."""
    for variant in range(4):
        trace = tmp_path / f"trace-{variant}.json"
        trace.write_text(trace_text.trace_text(blocks=300, variant=variant))
        calls = [start_import(trace, ledger, tmp_path / f"call-{n}") for n in range(2)]
        collectors = 0
        while any(call.alive() for call in calls) and collectors < 50:
            assert measured([BINARY, "gc", "--ledger", ledger], tmp_path / "gc").code == OK
            collectors += 1
        for call in calls:
            done = call.wait(60)
            assert done.code == OK, done
        assert len(folders(ledger, "runs")) == variant + 1
        assert_tidy(ledger, folders(ledger, "runs"))


def test_killed_query_leaves_no_file(ledger, tmp_path):
    """What a query writes aside has no name."""
    trace = tmp_path / "trace.json"
    trace.write_text(trace_text.trace_text(blocks=300))
    assert import_once(trace, ledger, tmp_path / "call").code == OK
    aside = tmp_path / "aside"
    aside.mkdir()
    sql = "SELECT a.name, b.start_ns, c.dur_ns FROM spans a, spans b, spans c"
    query = [BINARY, "query", "@latest", sql, "--format", "parquet", "--ledger", ledger]
    running = Running(query, tmp_path / "call", env={**os.environ, "TMPDIR": str(aside)})
    time.sleep(1.5)
    assert running.alive(), "the query was over before the kill"
    running.process.kill()
    running.wait(10)
    assert list(aside.iterdir()) == []
