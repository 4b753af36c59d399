"""What a terminal obeys never reaches one: not from names in profiles, labels, files or messages."""

import json
import os
import pty
import subprocess

import pytest

import trace_text

# Title, clipboard, clear, conceal, a C1 control sequence, a reversed line, a bell, and a byte that is no UTF-8.
PLANTED = "\x1b]0;owned\x07\x1b]52;c;aGk=\x07\x1b[2J\x1b[8m\u009b31m\u202ebackwards\x07"
ESCAPES = (b"\x1b", b"\x07", b"\xc2\x9b", b"\xe2\x80\xae", b"\x9b31m", b"\r")


@pytest.fixture
def planted_run(neurolens, tmp_path):
    """Planted in names of the device, kernels and ops."""
    planted = json.dumps(PLANTED)[1:-1]
    text = trace_text.trace_text().replace(trace_text.DEVICE_NAME, "GPU" + planted).replace("aten::addmm", "aten::" + planted)
    path = tmp_path / "planted.json"
    path.write_text(text.replace("gemm_tile", "gemm" + planted))
    return neurolens.import_file(path)["run_id"]


def assert_safe(*outputs):
    for output in outputs:
        for escape in ESCAPES:
            assert escape not in output, output[:2000]


@pytest.mark.parametrize("style", [(), ("--json",)], ids=["text", "json"])
@pytest.mark.parametrize(
    "words",
    [("show",), ("analyze",), ("findings",), ("compare",), ("verify",), ("lint",), ("fingerprint",), ("query", "FROM kernels"),
     ("query", "SELECT 1 AS \"a\x1b[2Jb\", chr(27) || chr(155) AS c"), ("query", "SELECT \x1b]0;x\x07"), ("note",), ("report",)],
    ids=lambda words: "-".join(words)[:12].encode("ascii", "ignore").decode().replace("\x1b", ""),
)  # fmt: skip
def test_no_output_has_what_a_terminal_obeys(neurolens, planted_run, words, style, tmp_path):
    verb, *more = words
    if verb == "compare":
        more = [planted_run]
    if verb == "report":
        more = ["--output", tmp_path / "report"]
    result = neurolens(verb, planted_run, *more, *style, code=None)
    assert_safe(result.bytes, result.err.encode())
    if style and result.code == 0:
        assert result.envelope["schema"]


def test_our_own_colours_stay(neurolens, planted_run):
    out = neurolens("show", planted_run, "--color", "always").bytes
    assert b"\x1b[1m" in out and b"\x1b[8m" not in out and b"\x1b]" not in out and b"\x1b[2J" not in out


def test_messages_name_files_safely(neurolens, tmp_path):
    name = tmp_path / "a\x1b[2J\x07b\u202ec.json"
    for words in (("show", name), ("import", name)):
        result = neurolens(*words, code=None)
        assert result.code != 0
        assert_safe(result.bytes, result.err.encode())
    name.write_text("no profile")
    assert_safe(neurolens("import", name, code=None).err.encode())
    assert_safe(neurolens("no\x1b[2Jverb", code=None).err.encode())


def test_rows_are_sent_on_as_they_are_but_not_to_a_terminal(neurolens, planted_run):
    sql = "SELECT DISTINCT name FROM kernels LIMIT 1"
    sent = neurolens("query", planted_run, sql, "--format", "csv").bytes
    assert b"\x1b]0;owned\x07" in sent, "a program gets the bytes of the profile"
    ours, theirs = pty.openpty()
    done = subprocess.run(neurolens.command("query", planted_run, sql, "--format", "csv"), stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert done.returncode == 0 and b"owned" in shown
    assert b"\x1b" not in shown and b"\x07" not in shown


def test_labels_of_a_run_file_are_shown_safely(neurolens, small_run):
    document = neurolens.bundle(small_run) / "run.json"
    changed = json.loads(document.read_text())
    changed["labels"] = {"model": PLANTED}
    document.write_text(json.dumps(changed))
    for verb in ("show", "verify", "analyze"):
        result = neurolens(verb, neurolens.bundle(small_run), code=None)
        assert_safe(result.bytes, result.err.encode())
