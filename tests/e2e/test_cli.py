"""The command line: verbs, names of runs, exit codes, envelopes, colours and awkward paths."""

import fcntl
import gzip
import itertools
import json
import os
import shutil
import struct
import subprocess
import termios
import threading

import pytest

import trace_text
from conftest import BAD_INPUT, BINARY, GATE_FAILED, MISSING, OK, Neurolens, run_id_of

VERBS = (
    "import", "runs", "show", "query", "verify", "doctor", "gc", "schema", "label", "tag", "note", "baseline", "state",
    "export", "rules", "findings", "profile", "record", "deep", "bench", "queue",
)
ESCAPE = "\x1b["


def plain(*arguments, **options):
    """A call without --ledger."""
    return subprocess.run([str(BINARY), *arguments], capture_output=True, text=True, timeout=60, **options)


def assert_envelope(result, verb):
    envelope = result.envelope
    assert set(envelope) == {"schema", "version", "data", "warnings", "next"}
    assert envelope["schema"] == f"neurolens.{verb}/1"
    assert isinstance(envelope["warnings"], list) and isinstance(envelope["next"], list)
    return envelope


def assert_error(result, code_name):
    envelope = result.envelope
    assert set(envelope["error"]) == {"code", "message", "hint"}
    assert envelope["error"]["code"] == code_name, envelope
    assert envelope["error"]["message"]
    assert "data" not in envelope
    assert {"schema", "version"} <= set(envelope)
    return envelope["error"]


# ---- Help and usage


def test_alone_prints_help():
    done = plain()
    assert done.returncode == OK
    assert all(verb in done.stdout for verb in VERBS)
    assert done.stderr == ""


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help(flag):
    done = plain(flag)
    assert done.returncode == OK
    assert all(verb in done.stdout for verb in VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb(verb):
    done = plain(verb, "--help")
    assert done.returncode == OK
    assert f"neurolens {verb}" in done.stdout
    assert "Use when" in done.stdout


def test_version():
    done = plain("--version")
    assert done.returncode == OK
    name, version = done.stdout.split()
    assert name == "neurolens"
    assert all(part.isdigit() for part in version.split("."))


@pytest.mark.parametrize("word, meant", [("imprt", "import"), ("qeury", "query"), ("verfy", "verify")])
def test_wrong_verb_gets_a_suggestion(neurolens, word, meant):
    result = neurolens(word, code=BAD_INPUT)
    assert f"did you mean: neurolens {meant}" in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    "words, meant",
    [
        (["analize", "trace.json"], "analyze trace.json"),
        (["comapre", "a.json", "b.json"], "compare a.json b.json"),
        (["analize", "my trace.json", "--window", "whole"], "analyze 'my trace.json' --window whole"),
        (["qurey", "@latest", "SELECT 1"], "query @latest 'SELECT 1'"),
    ],
)
def test_wrong_verb_with_arguments_gets_a_suggestion(neurolens, words, meant):
    """What was typed behind the verb is kept, so that the line can be copied."""
    result = neurolens(*words, code=BAD_INPUT)
    assert f"did you mean: neurolens {meant}\n" in result.err
    assert result.out == ""
    error = assert_error(neurolens(*words, "--json", code=BAD_INPUT), "bad_input")
    assert error["hint"] == f"did you mean: neurolens {meant}"


def test_several_files_are_no_verb(neurolens, make_trace):
    result = neurolens(make_trace(1), make_trace(2), code=BAD_INPUT)
    assert "neurolens import takes several" in result.err
    assert "did you mean" not in result.err


def test_wrong_verb_like_no_other(neurolens):
    result = neurolens("xylophone", code=BAD_INPUT)
    assert "xylophone" in result.err
    assert "did you mean" not in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["import"],
        ["show"],
        ["query", "@latest"],
        ["runs", "--no-such-option"],
        ["runs", "surprise"],
        ["runs", "--limit", "0"],
        ["runs", "--limit", "many"],
        ["runs", "--offset", ""],
        ["runs", "--offset", "99999999999999999999"],
        ["runs", "--color", "purple"],
        ["query", "@latest", "SELECT 1", "--format", "xml"],
        ["import", "x.json", "--threads", "0"],
        ["import", "x.json", "--threads", "100000"],
        ["completion"],
        ["completion", "cmd"],
        ["schema", "no_such_table"],
        ["label"],
        ["tag", "@latest", "--remove"],
        ["note", "@latest", "x", "--remove", "1"],
        ["baseline", "--remove"],
        ["state"],
        ["state", "import"],
        ["state", "burn"],
        ["rules", "burn"],
        ["rules", "show"],
        ["rules", "check"],
        ["findings", "--pairs", "x.yaml"],
        ["findings", "--score", "--pairs", "no_such_file.yaml"],
    ],
    ids=lambda arguments: " ".join(arguments).strip(),
)
def test_bad_usage(neurolens, arguments):
    result = neurolens(*arguments, code=BAD_INPUT)
    assert result.err
    assert result.out == ""


# ---- Envelopes


def test_envelope_of_every_verb(neurolens, small_trace):
    run_id = assert_envelope(neurolens("import", small_trace, "--json"), "import")["data"]["run_id"]
    assert_envelope(neurolens("runs", "--json"), "runs")
    assert_envelope(neurolens("show", run_id, "--json"), "show")
    assert_envelope(neurolens("query", run_id, "SELECT 1", "--json"), "query")
    assert_envelope(neurolens("verify", run_id, "--json"), "verify")
    assert_envelope(neurolens("label", run_id, "a=b", "--json"), "label")
    assert_envelope(neurolens("tag", run_id, "x", "--json"), "tag")
    assert_envelope(neurolens("note", run_id, "x", "--json"), "note")
    assert_envelope(neurolens("baseline", "b", run_id, "--json"), "baseline")
    assert_envelope(neurolens("state", "export", "--json"), "state")
    assert_envelope(neurolens("rules", "--json"), "rules")
    assert_envelope(neurolens("findings", "--json"), "findings")
    assert_envelope(neurolens("doctor", "--json"), "doctor")
    assert_envelope(neurolens("gc", "--json"), "gc")
    assert_envelope(neurolens("gc", "--reindex", "--json"), "gc")
    assert_envelope(neurolens("schema", "--json"), "schema")
    assert_envelope(neurolens("schema", "run", "--json"), "schema")
    assert_envelope(neurolens(small_trace, "--json"), "show")


def test_envelope_leaves_standard_error_alone(neurolens, small_trace):
    assert neurolens("import", small_trace, "--json").err == ""


def test_json_flag_before_the_verb(neurolens, small_trace):
    assert_envelope(neurolens("--json", "import", small_trace), "import")
    assert_envelope(neurolens("--json", small_trace), "show")


def test_error_envelope_of_every_verb(neurolens, tmp_path):
    missing = tmp_path / "missing.json"
    assert_error(neurolens("import", missing, "--json", code=BAD_INPUT), "not_found")
    assert_error(neurolens("show", "@latest", "--json", code=BAD_INPUT), "not_found")
    assert_error(neurolens("show", "abcdef", "--json", code=BAD_INPUT), "not_found")
    assert_error(neurolens("verify", "abcdef", "--json", code=BAD_INPUT), "not_found")
    assert_error(neurolens("query", "abcdef", "SELECT 1", "--json", code=BAD_INPUT), "not_found")
    assert_error(neurolens("schema", "no_such_table", "--json", code=BAD_INPUT), "not_found")
    assert_error(neurolens(missing, "--json", code=BAD_INPUT), "not_found")


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs", "--limit", "0"],
        ["query", "@latest", "SELECT 1", "--format", "xml"],
        ["runs", "--no-such-option"],
        ["import"],
        ["xylophone"],
    ],
    ids=" ".join,
)
def test_error_envelope_of_bad_usage(neurolens, arguments):
    """A program that asked for JSON gets JSON, whatever is wrong."""
    result = neurolens(*arguments, "--json", code=BAD_INPUT)
    assert result.out.startswith("{"), "no JSON on standard output"
    assert result.envelope["error"]["code"] in ("bad_input", "not_found")


def test_results_follow_their_lists(neurolens, small_run):
    """Fields that other programs rely on."""
    (run,) = neurolens.runs()
    assert (run["run_id"], run["format"], run["kernels"], run["records"]) == (small_run, "kineto", 20, 206)
    assert (run["device"], run["dropped"], run["on_the_way"]) == (trace_text.DEVICE_NAME, 0, False)
    shown = neurolens("show", small_run, "--json").data
    assert shown["kernels"]["total_ns"] == trace_text.Expected(2).kernel_ns
    assert shown["window"] == {"start_ns": trace_text.BASE_NS + 100_000_000_000, "dur_ns": 1_990_125}


# ---- The summary


def test_file_prints_a_summary(neurolens, small_trace):
    result = neurolens(small_trace)
    for line in (
        "kineto trace of pytorch",
        f"0 {trace_text.DEVICE_NAME}: 20 kernels, 696.660 us; 20 copies",
        "window    1.990 ms",
        "20 of 10 names, 696.660 us in all; 20 with their launch, 20 inside an op",
        "206 seen = 120 stored + 86 folded + 0 dropped",
        "Top kernels",
        trace_text.kernel_name(9),
    ):
        assert line in result.out
    run_id = neurolens.run_ids()[0]
    assert f"neurolens query {run_id[:12]}" in result.err
    assert "next:" not in result.out


@pytest.mark.parametrize("verb", ["show", "analyze", "findings"])
def test_next_commands_work(neurolens, small_trace, tmp_path, verb):
    """What is suggested can be typed as it stands, and leads to a page."""
    run = neurolens.import_file(small_trace)["run_id"]
    suggestions = neurolens(verb, run, "--json").envelope["next"]
    report = f"neurolens report {run[:12]} --output report-{run[:12]}"
    assert {report, f"neurolens view {run[:12]}"} <= set(suggestions)
    own = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "BROWSER": "true"}
    for suggestion in suggestions:
        ends = " --offline" if suggestion.startswith("neurolens view") else ""  # else it serves until Ctrl+C
        command = suggestion.replace("neurolens", str(BINARY), 1) + f' --ledger "{neurolens.ledger}"{ends}'
        done = subprocess.run(["bash", "-c", command], capture_output=True, cwd=tmp_path, env=own)
        assert done.returncode == OK, suggestion


def test_quiet_says_nothing_on_standard_error(neurolens, small_trace):
    assert neurolens(small_trace, "--quiet").err == ""


def test_top_rows(neurolens, small_run):
    assert len(neurolens("show", small_run, "--top", "3", "--json").data["top"]) == 3


def test_trace_without_a_device(neurolens, tmp_path):
    """A CPU run shows its ops."""
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2.25, "args": {}}
    path = tmp_path / "cpu.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    result = neurolens(path)
    assert "no device work was recorded" in result.out
    assert "Top ops" in result.out


# ---- Bad inputs: exit code 2, and the error names the file


def gzip_head(path):
    content = gzip.compress(trace_text.trace_text(blocks=20).encode(), mtime=0)
    path.write_bytes(content[: len(content) // 2])


def json_cut(path):
    text = trace_text.trace_text(blocks=20)
    path.write_text(text[: len(text) // 2])


BAD_FILES = {
    "empty": lambda path: path.write_bytes(b""),
    "blank": lambda path: path.write_text("  \n"),
    "truncated_gzip": gzip_head,
    "empty_gzip": lambda path: path.write_bytes(gzip.compress(b"")),
    "gzip_magic_only": lambda path: path.write_bytes(b"\x1f\x8b"),
    "gzip_with_bad_checksum": lambda path: path.write_bytes(
        gzip.compress(trace_text.trace_text().encode(), mtime=0)[:-8] + b"\0" * 8
    ),
    "gzip_with_other_bytes_behind": lambda path: path.write_bytes(
        gzip.compress(trace_text.trace_text().encode(), mtime=0) + b"surprise"
    ),
    "truncated_json": json_cut,
    "json_of_another_kind": lambda path: path.write_text('{"name": "package", "version": "1.0.0"}'),
    "json_array_of_numbers": lambda path: path.write_text("[1, 2, 3]"),
    "json_text": lambda path: path.write_text('"traceEvents"'),
    "no_events": lambda path: path.write_text('{"schemaVersion": 1, "traceEvents": []}'),
    "text": lambda path: path.write_text("hello, world\n" * 100),
    "binary": lambda path: path.write_bytes(bytes(range(256)) * 64),
    "html": lambda path: path.write_text("<html><body>404</body></html>"),
    "directory": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("make", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_file(neurolens, tmp_path, make):
    path = tmp_path / "bad input.json"
    make(path)
    result = neurolens("import", path, "--json", code=BAD_INPUT)
    assert "bad input.json" in result.envelope["error"]["message"]
    assert neurolens.runs() == []
    assert neurolens.leftovers() == []


@pytest.mark.parametrize("make", BAD_FILES.values(), ids=BAD_FILES)
def test_bad_file_shown(neurolens, tmp_path, make):
    path = tmp_path / "bad input.json"
    make(path)
    result = neurolens(path, code=BAD_INPUT)
    assert "bad input.json" in result.err
    assert result.out == ""


@pytest.mark.parametrize("verb", ["import", "show", "verify"])
def test_missing_file(neurolens, tmp_path, verb):
    result = neurolens(verb, tmp_path / "no such file.json.gz", code=BAD_INPUT)
    assert "no such file.json.gz" in result.err


def test_missing_file_alone(neurolens, tmp_path):
    assert "no such file.json" in neurolens(tmp_path / "no such file.json", code=BAD_INPUT).err


def test_unknown_format(neurolens, small_trace):
    error = assert_error(neurolens("import", small_trace, "--format", "xml", "--json", code=BAD_INPUT), "bad_input")
    assert "xml" in error["message"]
    assert "kineto" in error["hint"]


def test_named_format(neurolens, small_trace):
    assert neurolens.import_file(small_trace, "--format", "kineto")["format"] == "kineto"


def test_several_paths_with_a_bad_one(neurolens, make_trace, tmp_path):
    """The good ones are imported, the bad ones are named, the exit code is 2."""
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    first, second, missing = make_trace(1), make_trace(2), tmp_path / "missing.json"
    data = neurolens("import", first, bad, missing, second, "--json", code=BAD_INPUT).data
    assert [run["created"] for run in data["runs"]] == [True, True]
    assert [failed["path"] for failed in data["failed"]] == [str(bad), str(missing)]
    assert all(failed["path"] in failed["message"] for failed in data["failed"])
    assert len(neurolens.run_ids()) == 2
    result = neurolens("import", first, bad, code=BAD_INPUT)
    assert "bad.json" in result.out + result.err


def test_one_path_given_twice(neurolens, small_trace):
    data = neurolens("import", small_trace, small_trace, "--json").data
    assert [run["created"] for run in data["runs"]] == [True, False]


def test_two_files_without_a_verb(neurolens, make_trace):
    assert "neurolens import" in neurolens(make_trace(1), make_trace(2), code=BAD_INPUT).err


# ---- Missing means: exit code 3


def test_ledger_that_cannot_be_made(small_trace):
    """A folder cannot lie below a file: a wrong --ledger, so bad usage, and the error names it."""
    ledger = small_trace / "ledger"
    assert str(ledger) in Neurolens(ledger)("import", small_trace, code=BAD_INPUT).err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
def test_no_permission(neurolens, small_trace, tmp_path):
    small_trace.chmod(0)
    assert_error(neurolens("import", small_trace, "--json", code=MISSING), "permission")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    Neurolens(closed / "ledger")("runs", code=MISSING)


def test_damaged_state_is_said(neurolens, small_run):
    """state.sqlite is precious: it is never replaced silently, and doctor sees it."""
    state = neurolens.ledger / "state.sqlite"
    state.write_bytes(b"no database at all, but long enough to look at" * 100)
    before = state.read_bytes()
    assert "state.sqlite" in neurolens("runs", code=MISSING).err
    assert neurolens("doctor", "--json", code=MISSING).data["healthy"] is False
    assert state.read_bytes() == before


def test_full_disk(neurolens, small_run):
    """Output that cannot be written is an error."""
    with open("/dev/full", "wb") as full:
        for arguments in (["query", small_run, "SELECT * FROM spans", "--format", "csv"], ["show", small_run]):
            done = subprocess.run(neurolens.command(*arguments), stdout=full, stderr=subprocess.PIPE, timeout=60)
            assert done.returncode == MISSING, arguments


def test_closed_pipe(neurolens, small_run):
    """`neurolens query … | head -1` ends soon and without a word."""
    command = " ".join(f"'{part}'" for part in neurolens.command("query", small_run, "SELECT * FROM range(9000000)"))
    done = subprocess.run(f"{command} --format csv | head -1", shell=True, capture_output=True, timeout=30)
    assert done.stdout == b"range\n"
    assert done.stderr == b""


# ---- Names of runs


def test_names_of_a_run(neurolens, make_trace):
    """Id, prefix, @latest, bundle folder and path mean the same run."""
    old, new = (neurolens.import_file(make_trace(variant))["run_id"] for variant in (1, 2))
    names = {
        new: [new, new[:12], new[:4], "@latest", "@latest~0", neurolens.bundle(new), make_trace(2)],
        old: [old, old[:12], "@latest~1", neurolens.bundle(old), f"{neurolens.bundle(old)}/", make_trace(1)],
    }
    for run_id, forms in names.items():
        for form in forms:
            assert neurolens("show", form, "--json").data["run_id"] == run_id, form
            assert neurolens("verify", form, "--json").data["run_id"] == run_id, form
            neurolens("query", form, "SELECT count(*) FROM kernels")


@pytest.mark.parametrize(
    "name",
    ["@latest~1", "@latest~-1", "@latest~x", "@latest~", "@latestfoo", "@first", "abc", "zzzz", "0" * 64, "0" * 65],
)
def test_names_of_no_run(neurolens, small_run, name):
    assert_error(neurolens("show", name, "--json", code=BAD_INPUT), "not_found")


def test_latest_of_an_empty_ledger(neurolens):
    assert_error(neurolens("show", "@latest", "--json", code=BAD_INPUT), "not_found")


def test_bundle_folder_needs_no_ledger(neurolens, small_run, tmp_path):
    """A bundle that was copied away is read where it lies."""
    bundle = tmp_path / "copied bundle"
    shutil.copytree(neurolens.bundle(small_run), bundle)
    other = Neurolens(tmp_path / "other ledger")
    assert other("show", bundle, "--json").data["run_id"] == small_run
    other("verify", bundle)
    assert other.value(bundle, "SELECT count(*) FROM kernels") == 20


def test_folder_that_is_no_bundle(neurolens, tmp_path):
    assert str(tmp_path) in neurolens("show", tmp_path, code=BAD_INPUT).err


def test_ambiguous_prefix(neurolens, tmp_path):
    """Two traces whose ids begin with the same four characters; found by trying."""
    seen = {}
    for variant in itertools.count():
        text = trace_text.trace_text(blocks=1, variant=variant)
        prefix = run_id_of(text.encode())[:4]
        if prefix in seen:
            break
        seen[prefix] = text
    for name, content in (("a.json", seen[prefix]), ("b.json", text)):
        (tmp_path / name).write_text(content)
        assert neurolens.import_file(tmp_path / name)["run_id"].startswith(prefix)
    ids = neurolens.run_ids()
    error = assert_error(neurolens("show", prefix, "--json", code=BAD_INPUT), "bad_input")
    assert all(run_id[:12] in error["message"] for run_id in ids)
    assert neurolens("show", ids[0][:20], "--json").data["run_id"] == ids[0]


def test_import_twice_says_so(neurolens, small_trace):
    assert neurolens.import_file(small_trace)["created"] is True
    again = neurolens("import", small_trace, "--json")
    assert again.data["created"] is False
    assert "already" in neurolens("import", small_trace).out
    assert len(neurolens.run_ids()) == 1


def test_import_by_name_keeps_a_run_imported_on_the_way(neurolens, small_trace):
    neurolens(small_trace)
    assert neurolens.runs()[0]["on_the_way"] is True
    neurolens("import", small_trace)
    assert neurolens.runs()[0]["on_the_way"] is False
    assert neurolens("gc", "--drop-on-the-way", "--json").data["dropped_runs"] == 0


def test_import_after_the_bundle_was_deleted(neurolens, small_trace, small_run):
    """A run removed by hand can be imported again without a reindex."""
    shutil.rmtree(neurolens.bundle(small_run))
    assert neurolens.import_file(small_trace)["run_id"] == small_run
    neurolens("verify", small_run)


def test_list_is_newest_first_and_in_pages(neurolens, make_trace):
    ids = [neurolens.import_file(make_trace(variant))["run_id"] for variant in range(4)]
    assert neurolens.run_ids() == ids[::-1]
    page = neurolens("runs", "--limit", "2", "--offset", "1", "--json").data
    assert [run["run_id"] for run in page["runs"]] == [ids[2], ids[1]]
    assert page["total"] == 4


# ---- Ledger by environment


def test_ledger_from_the_environment(tmp_path, small_trace):
    """NEUROLENS_LEDGER, then XDG_DATA_HOME, then HOME."""
    places = {
        "NEUROLENS_LEDGER": tmp_path / "own",
        "XDG_DATA_HOME": tmp_path / "data" / "neurolens",
        "HOME": tmp_path / "home" / ".local/share/neurolens",
    }
    values = {"NEUROLENS_LEDGER": "own", "XDG_DATA_HOME": "data", "HOME": "home"}
    environment = {name: str(tmp_path / value) for name, value in values.items()}
    for name, ledger in places.items():
        done = plain("import", str(small_trace), "--quiet", env={"PATH": os.environ["PATH"], **environment})
        assert done.returncode == OK, done.stderr
        assert (ledger / "state.sqlite").exists(), name
        del environment[name]
    done = plain("runs", env={"PATH": os.environ["PATH"]})
    assert done.returncode == BAD_INPUT
    assert "--ledger" in done.stderr


# ---- Colours


def test_no_colours_into_a_pipe(neurolens, small_run):
    assert ESCAPE not in neurolens("show", small_run).out


def test_colours_when_asked_for(neurolens, small_run):
    assert ESCAPE in neurolens("show", small_run, "--color", "always").out
    assert ESCAPE not in neurolens("show", small_run, "--color", "never").out
    assert ESCAPE not in neurolens("show", small_run, "--color", "auto").out


def on_a_terminal(neurolens, *arguments, columns=0, **environment):
    """Standard output of a call whose output is a terminal."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        neurolens.command(*arguments),
        stdout=follower,
        stderr=subprocess.DEVNULL,
        env={**neurolens.environment, "TERM": "xterm", **environment},
    )
    os.close(follower)
    chunks = []
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(leader)
    assert process.wait(timeout=60) == OK
    return b"".join(chunks).decode()


def four_parts(tmp_path):
    """A run with compute, exposed communication, exposed copies and idle time of several causes."""
    kernels = [{"name": f"kernel_{i}", "start_ns": 1_000_000 * i, "dur_ns": 123_456, "device": 0} for i in range(20)]
    kernels += [{"name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "start_ns": 500_000, "dur_ns": 234_567, "device": 0}]
    copies = [{"name": "Memcpy HtoD", "kind": "memcpy", "start_ns": 800_000, "dur_ns": 111_111, "device": 0}]
    path = tmp_path / "parts.json"
    path.write_text(json.dumps({"schema": "neurolens.run-file/1", "kernels": kernels, "copies": copies}))
    return path


def device_lines(text):
    lines = text.replace("\r", "").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("  device 0"))
    return lines[first : lines.index("", first)]


def test_parts_of_a_device_fit_the_terminal(neurolens, tmp_path):
    run = neurolens.import_file(four_parts(tmp_path))["run_id"]
    piped = device_lines(neurolens("analyze", run).out)
    assert max(map(len, piped)) > 80, "nothing to break"
    shown = device_lines(on_a_terminal(neurolens, "analyze", run, columns=80, NO_COLOR="1"))
    assert max(map(len, shown)) <= 80, shown
    words = [word for line in shown[2:] for word in line.split()]
    assert words == [word for line in piped[2:] for word in line.split()], "broken between items, nothing lost"


@pytest.mark.parametrize("verb", ["analyze", "show"])
def test_screens_of_a_run_fit_the_terminal(neurolens, small_run, tmp_path, verb):
    for run in (small_run, neurolens.import_file(four_parts(tmp_path))["run_id"]):
        lines = on_a_terminal(neurolens, verb, run, columns=80, NO_COLOR="1").replace("\r", "").splitlines()
        assert len(lines) > 5 and [line for line in lines if len(line) > 80] == []


def test_limiters_fit_the_terminal(neurolens, small_run):
    lines = on_a_terminal(neurolens, "analyze", small_run, columns=60, NO_COLOR="1").replace("\r", "").splitlines()
    device = next(i for i, line in enumerate(lines) if line.startswith("  device 0"))
    assert any(line.startswith("  limiter") for line in lines[1:device]) and max(map(len, lines[1:device])) <= 60
    piped = neurolens("analyze", small_run).out.split("  device 0")[0].splitlines()
    assert " ".join(lines[:device]).split() == " ".join(piped).split()


@pytest.mark.parametrize("name", ["none.json", "e", "folder/"])
def test_error_names_the_file_once(neurolens, tmp_path, name):
    (tmp_path / "e").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    message = neurolens("import", name, "--json", code=BAD_INPUT, cwd=tmp_path).envelope["error"]["message"]
    assert message.split(": ").count(name) == 1, message


def test_one_row_is_no_rows(neurolens, small_run):
    assert neurolens("query", small_run, "SELECT 1 AS n").out.endswith("\n1 row\n")
    assert neurolens("query", small_run, "SELECT * FROM range(2)").out.endswith("\n2 rows\n")


def test_colours_on_a_terminal(neurolens, small_run):
    neurolens.environment.pop("NO_COLOR", None)
    assert ESCAPE in on_a_terminal(neurolens, "show", small_run)
    assert ESCAPE not in on_a_terminal(neurolens, "show", small_run, NO_COLOR="1")
    assert ESCAPE not in on_a_terminal(neurolens, "show", small_run, TERM="dumb")
    assert ESCAPE in on_a_terminal(neurolens, "show", small_run, "--color", "always", NO_COLOR="1")
    assert ESCAPE not in on_a_terminal(neurolens, "show", small_run, "--color", "never")


def test_colours_never_enter_json(neurolens, small_run):
    assert ESCAPE not in neurolens("show", small_run, "--json", "--color", "always").out


# ---- Completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(neurolens, shell):
    done = plain("completion", shell)
    assert done.returncode == OK
    assert all(verb in done.stdout for verb in VERBS)


def test_bash_completion_parses_and_completes():
    script = plain("completion", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).returncode == OK
    ask = 'COMP_WORDS=(neurolens ver) COMP_CWORD=1; _neurolens; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash"], input=f"{script}\n{ask}\n", text=True, capture_output=True)
    assert "verify" in done.stdout.split()


@pytest.mark.parametrize("shell, command", [("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])])
def test_other_completions_parse(shell, command):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = plain("completion", shell).stdout
    assert subprocess.run(command, input=script, text=True, capture_output=True).returncode == OK


# ---- Awkward paths and pipes


@pytest.mark.parametrize("name", ["with space.json", "Prüfung 漢字 😀.json", "quote's \"and\" $HOME;.json"])
def test_awkward_names(tmp_path, small_trace, name):
    """In the name of the profile and of the ledger."""
    folder = tmp_path / f"folder {name}"
    folder.mkdir()
    trace = folder / name
    shutil.copy(small_trace, trace)
    neurolens = Neurolens(folder / f"ledger {name}")
    run_id = neurolens.import_file(trace)["run_id"]
    assert neurolens.runs()[0]["file_names"] == str(trace)
    neurolens("verify", run_id)
    assert neurolens.value(trace, "SELECT count(*) FROM kernels") == 20
    assert parquet_rows(neurolens, run_id) == 20
    shutil.rmtree(neurolens.bundle(run_id) / "derived")
    assert neurolens.value(run_id, "SELECT count(op_id) FROM kernels") == 20


def parquet_rows(neurolens, run_id):
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    path = neurolens.ledger / "out.parquet"
    path.write_bytes(neurolens("query", run_id, "SELECT * FROM kernels", "--format", "parquet").bytes)
    return pyarrow_parquet.read_table(path).num_rows


def test_name_that_starts_with_a_dash(tmp_path, small_trace):
    """`--` ends the options, and ./ always helps."""
    shutil.copy(small_trace, tmp_path / "-dash.json")
    command = [str(BINARY), "import", "--json", "--ledger", "ledger"]
    for arguments in (["./-dash.json"], ["--", "-dash.json"]):
        done = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, timeout=60)
        assert done.returncode == OK, done.stderr


def test_name_that_is_not_utf8(neurolens, small_trace, tmp_path):
    """The JSON that tells of it is valid all the same."""
    path = os.fsencode(tmp_path) + b"/latin-\xe9.json"
    shutil.copy(small_trace, path)
    command = [os.fsencode(part) for part in neurolens.command("import", "--json")] + [path]
    done = subprocess.run(command, capture_output=True)
    assert done.returncode == OK, done.stderr
    json.loads(done.stdout.decode("utf-8"))
    assert len(neurolens.runs()) == 1
    neurolens("runs").out.encode("utf-8")


def test_glob_characters_in_the_ledger(tmp_path, small_trace):
    """Folders named like patterns are read as folders."""
    neurolens = Neurolens(tmp_path / "ledger [abc] *?{x}")
    run_id = neurolens.import_file(small_trace)["run_id"]
    neurolens("verify", run_id)
    assert neurolens.value(run_id, "SELECT count(op_id) FROM kernels") == 20


def test_relative_ledger_and_path(tmp_path, small_trace):
    neurolens = Neurolens("ledger")
    assert neurolens("import", small_trace.name, "--json", cwd=tmp_path).data["created"] is True
    sql = "SELECT count(op_id) AS n FROM kernels"
    assert neurolens("query", small_trace.name, sql, "--format", "csv", cwd=tmp_path).out == "n\n20\n"
    neurolens("verify", "@latest", cwd=tmp_path)
    assert (tmp_path / "ledger" / "runs").is_dir()


def test_import_from_standard_input(neurolens, small_trace):
    """A pipe gives the run of the same bytes."""
    data = neurolens("import", "/dev/stdin", "--json", input=small_trace.read_bytes()).data
    assert (data["run_id"], data["created"]) == (run_id_of(small_trace.read_bytes()), True)
    again = neurolens("import", "/dev/stdin", "--json", input=small_trace.read_bytes()).data
    assert (again["run_id"], again["created"]) == (data["run_id"], False)
    assert neurolens.import_file(small_trace)["created"] is False
    neurolens("verify", data["run_id"])


def test_import_from_redirected_input(neurolens, small_trace):
    with small_trace.open("rb") as source:
        data = neurolens("import", "/dev/stdin", "--json", stdin=source).data
    assert data["run_id"] == run_id_of(small_trace.read_bytes())


def test_import_of_compressed_standard_input(neurolens):
    content = trace_text.gzip_bytes(trace_text.trace_text(blocks=200))
    data = neurolens("import", "/dev/stdin", "--json", input=content).data
    assert data["counts"]["seen"] == trace_text.Expected(200).records


def test_import_from_a_fifo(neurolens, small_trace, tmp_path):
    fifo = tmp_path / "fifo.json"
    os.mkfifo(fifo)
    writer = threading.Thread(target=lambda: fifo.write_bytes(small_trace.read_bytes()), daemon=True)
    writer.start()
    data = neurolens.import_file(fifo)
    writer.join()
    assert data["run_id"] == run_id_of(small_trace.read_bytes())


def test_empty_standard_input(neurolens):
    neurolens("import", "/dev/stdin", input=b"", code=BAD_INPUT)


def test_verify_fails_with_one(neurolens, small_run):
    (neurolens.bundle(small_run) / "spans.parquet").write_bytes(b"")
    result = neurolens("verify", small_run, code=GATE_FAILED)
    assert "NOT VERIFIED" in result.out
