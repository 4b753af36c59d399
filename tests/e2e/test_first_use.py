"""The first minutes in a strange terminal: no home, no room, a narrow or dumb terminal, pipes that close, Ctrl-C."""

import fcntl
import json
import os
import pty
import random
import re
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import BAD_INPUT, BINARY, MISSING

INTERRUPTED = 130


def run(*arguments, environment=None, **options):
    """Without a ledger of the test's own: the environment decides."""
    options = {"capture_output": True, "text": True, "timeout": 60, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([str(BINARY), *map(str, arguments)], env=environment or {}, **options)


def in_terminal(command, columns, environment):
    """All that a terminal of that width gets, and the exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True)
    os.close(theirs)
    output = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the other side is gone
            break
        if not part:
            break
        output += part
    os.close(ours)
    return output.decode(), process.wait(timeout=60)


# ---- no place for the ledger


def test_without_a_home_the_hint_names_the_ways_out(small_trace):
    done = run("analyze", small_trace)
    assert done.returncode == BAD_INPUT
    assert "--ledger DIR" in done.stderr and "NEUROLENS_LEDGER" in done.stderr


def test_a_home_that_cannot_be_written_has_the_same_hint(small_trace, tmp_path):
    home = tmp_path / "home"
    home.write_text("no folder, whoever asks")
    for arguments in (["analyze", small_trace], ["runs"]):
        done = run(*arguments, environment={"HOME": str(home)})
        assert done.returncode != 0 and done.stdout == ""
        assert "--ledger DIR" in done.stderr and "NEUROLENS_LEDGER" in done.stderr


def test_verbs_without_a_ledger_need_no_home():
    for verb in ("metrics", "schema", "rules", "--version"):
        assert run(verb).returncode == 0


def trace_that_does_not_shrink(path):
    """A megabyte of names that no compression makes much smaller."""
    digits = random.Random(1)
    events = [{"ph": "X", "cat": "cpu_op", "name": digits.randbytes(32).hex(), "pid": 1, "tid": 1, "ts": 10 * at,
               "dur": 5, "args": {}} for at in range(30_000)]
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    return path


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_leaves_no_half_run_and_says_what_to_do(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no tmpfs can be mounted here")
    try:
        done = run("import", trace_that_does_not_shrink(tmp_path / "trace.json"), "--ledger", small / "ledger")
        assert done.returncode == MISSING and "the disk is full" in done.stderr
        assert list((small / "ledger/runs").iterdir()) == [] == list((small / "ledger/staging").iterdir())
        (small / "rest").write_bytes(b"")
        with pytest.raises(OSError), open(small / "rest", "wb", buffering=0) as rest:
            while rest.write(b"x" * 4096):
                pass
        done = run("runs", "--ledger", small / "another")
        assert done.returncode == MISSING and "--ledger DIR" in done.stderr
    finally:
        subprocess.run(["umount", str(small)], check=True)


# ---- what is named


def test_a_folder_that_holds_no_run_is_called_so(neurolens, tmp_path):
    (tmp_path / "profiles").mkdir()
    done = neurolens("analyze", tmp_path / "profiles", code=BAD_INPUT)
    assert "folder without a run" in done.err and "name the profile" in done.err


def test_blanks_and_other_letters_in_paths(make_trace, tmp_path):
    folder = tmp_path / "ein Ordner — 日本"
    folder.mkdir()
    trace = make_trace(name="ein Ordner — 日本/träce 1.json")
    done = run("analyze", trace, "--ledger", folder / "led ger")
    assert done.returncode == 0 and done.stdout.startswith("run ")
    assert "träce 1.json" in run("runs", "--ledger", folder / "led ger").stdout


# ---- pipes and files


def test_the_result_comes_before_the_suggestions_in_one_file(neurolens, small_run):
    done = subprocess.run(neurolens.command("analyze", small_run), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = done.stdout.decode()
    assert text.startswith("run ") and text.index("\nnext:") > text.index("Findings")


def test_a_reader_that_leaves_makes_no_noise(neurolens, small_run):
    command = neurolens.command("query", small_run, "SELECT * FROM spans, range(2000)", "--format", "csv")
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert writer.stdout.readline().startswith(b"span_id,")
    writer.stdout.close()
    assert writer.stderr.read() == b""
    assert writer.wait(60) == -signal.SIGPIPE


@pytest.mark.parametrize("arguments", [["runs"], ["analyze"], ["analyze", "--json"], ["show", "--json"]])
def test_a_full_output_is_an_error_and_not_silence(neurolens, small_run, arguments):
    verb, *flags = arguments
    runs = [] if verb == "runs" else [small_run]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(neurolens.command(verb, *runs, *flags), stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == MISSING
    assert done.stderr == b"neurolens: cannot write to standard output\n"


def test_a_dash_is_standard_output(neurolens, small_run, tmp_path):
    done = neurolens("export", small_run, "--output", "-", cwd=tmp_path)
    assert json.loads(done.out)
    assert not (tmp_path / "-").exists()


# ---- terminals


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}])
def test_no_escapes_where_they_are_not_wanted(neurolens, small_run, environment):
    text, code = in_terminal(neurolens.command("analyze", small_run), 80, environment)
    assert code == 0 and "\x1b" not in text
    assert "\x1b[" in in_terminal(neurolens.command("analyze", small_run), 80, {"TERM": "xterm"})[0]


def test_the_bar_of_progress_fits_a_narrow_terminal(neurolens, make_big_trace):
    trace = make_big_trace(0)
    text, code = in_terminal(neurolens.command("import", trace), 40, {"TERM": "xterm"})
    bars = re.findall(r"\r([^\r]*\[=* *\] *)", text)
    assert code == 0 and bars, text[:400]
    assert max(map(len, bars)) < 40


# ---- Ctrl-C


def test_ctrl_c_in_an_import_leaves_nothing_and_says_so(neurolens, make_big_trace):
    importing = neurolens.start("import", make_big_trace(0))
    deadline = time.monotonic() + 30
    while not neurolens.leftovers() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert neurolens.leftovers(), "the import never began"
    importing.send_signal(signal.SIGINT)
    out, err = importing.communicate(timeout=60)
    assert importing.returncode == INTERRUPTED
    assert (out, err) == (b"", b"neurolens: interrupted\n")
    assert neurolens.leftovers() == [] == neurolens.run_ids()
