"""Notes: what they may be about, what becomes of texts that are changed, who wrote them, what goes along, and what reports make
of Markdown that may mean harm."""

import concurrent.futures
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import time

import pytest

import trace_text
from conftest import BAD_INPUT, MISSING, OK, Neurolens
from html_page import Page, faults, look_at
from server import until
from sqlite_pages import edited_sqlite
from test_ledger_limits import NOBODY, ReadOnlyMount, contents

KERNEL = trace_text.kernel_name(3)
FIELDS = {"note", "written_at_ns", "user", "text", "about"}
MOST_BYTES = 16384
PAGE_BYTES = 4 << 20  # of a report with one note, however nested
SECONDS = 60

RICH = """# A heading

Some **bold** and *leaning* text with `code`, a [link](https://example.com/change?a=1&b=2 "title") and <https://example.com>.

- one
- two
  - nested

7. first
8. second

> a quote
> > in a quote

```cpp
auto x = gemm<float>(a, b);  // and on and on and on and on and on and on and on and on and on and on and on and on and on
```

    indented <b>code</b>

line one\\
line two

---

## Another one

###### The smallest

the end
"""


def error_of(result):
    return result.envelope["error"]


def notes_of(neurolens, run):
    return neurolens("note", run, "--json").data["notes"]


def texts_of(neurolens, run):
    return [one["text"] for one in notes_of(neurolens, run)]


def numbers_of(neurolens, run):
    return [one["note"] for one in notes_of(neurolens, run)]


def history_of(neurolens, run):
    return neurolens("note", run, "--history", "--json").data["past_notes"]


def add(neurolens, run, text, about=None, **options):
    """The note as it is listed then."""
    words = [] if about is None else ["--about", about]
    return neurolens("note", run, text, *words, "--json", **options).data["notes"][-1]


def edit(neurolens, run, number, text, **options):
    return neurolens("note", run, text, "--edit", str(number), "--json", **options)


def remove(neurolens, run, number):
    return neurolens("note", run, "--remove", str(number), "--json")


@pytest.fixture
def two_runs(neurolens, make_trace):
    return [neurolens.import_file(make_trace(variant))["run_id"] for variant in range(2)]


@pytest.fixture
def import_names(neurolens, tmp_path):
    """A run with kernels of these names."""

    def do(*names):
        kernels = [{"name": name, "start_ns": 100_000 * i, "dur_ns": 50_000, "device": 0} for i, name in enumerate(names)]
        path = tmp_path / "names.json"
        path.write_text(json.dumps({"schema": "neurolens.run-file/1", "kernels": kernels}))
        return neurolens.import_file(path)["run_id"]

    return do


# ---- What a note is about


@pytest.mark.parametrize("about", [None, f"kernel:{KERNEL}", "span:0", "span:7", "finding:host_bound"])
def test_a_note_has_a_subject(neurolens, small_run, about):
    before = time.time_ns()
    one = add(neurolens, small_run, "worth a *sentence*", about)
    assert set(one) == FIELDS
    assert (one["note"], one["text"], one["about"]) == (1, "worth a *sentence*", about or "")
    assert one["user"] and before <= one["written_at_ns"] <= time.time_ns()
    assert notes_of(neurolens, small_run) == [one]
    assert neurolens("show", small_run, "--json").data["notes"] == [one]
    shown = neurolens("note", small_run).out
    assert "worth a *sentence*" in shown
    assert ("about" in shown) is (about is not None) and (about or "") in shown


def test_a_comparison_is_kept_with_the_whole_id(neurolens, two_runs):
    first, second = two_runs
    neurolens("tag", second, "gold")
    neurolens("baseline", "main", second)
    for name in (second, second[:8], "gold", "@latest", "@baseline:main"):
        assert add(neurolens, first, "x", f"compare:{name}")["about"] == f"compare:{second}"


def test_every_finding_of_an_analysis_can_have_a_note(neurolens, small_run):
    found = {one["rule"] for one in neurolens("analyze", small_run, "--json").data["findings"]}
    assert found
    for rule in found:
        assert add(neurolens, small_run, "known", f"finding:{rule}")["about"] == f"finding:{rule}"


NO_TEXT = "there is no text"
WRONG = {
    "unknown kernel": (["x", "--about", "kernel:nosuch"], "not_found", "the run has no such kernel: nosuch"),
    "number as kernel": (["x", "--about", "kernel:5"], "not_found", "the run has no such kernel: 5"),
    "part of a kernel": (["x", "--about", "kernel:void gemm_tile"], "not_found", "the run has no such kernel: void gemm_tile"),
    "kernel without a name": (["x", "--about", "kernel:"], "bad_input", "notes are not about: kernel:"),
    "kernel and a blank": (["x", "--about", f"kernel:{KERNEL} "], "not_found", f"the run has no such kernel: {KERNEL} "),
    "SQL as kernel": (["x", "--about", "kernel:' OR '1'='1"], "not_found", "the run has no such kernel: ' OR '1'='1"),
    "unknown span": (["x", "--about", "span:999999"], "not_found", "the run has no such span: 999999"),
    "span below zero": (["x", "--about", "span:-1"], "not_found", "the run has no such span: -1"),
    "span beyond 64 bits": (["x", "--about", "span:99999999999999999999"], "not_found", "the run has no such span: 99999999999999999999"),
    "name as span": (["x", "--about", "span:aten::linear"], "not_found", "the run has no such span: aten::linear"),
    "SQL as span": (["x", "--about", "span:0 OR 1=1"], "not_found", "the run has no such span: 0 OR 1=1"),
    "span and a blank": (["x", "--about", "span: 0"], "not_found", "the run has no such span:  0"),
    "span without a number": (["x", "--about", "span:"], "bad_input", "notes are not about: span:"),
    "unknown rule": (["x", "--about", "finding:nosuch"], "not_found", "there is no such rule: nosuch"),
    "rule without a name": (["x", "--about", "finding:"], "bad_input", "notes are not about: finding:"),
    "unknown run": (["x", "--about", "compare:nosuch"], "not_found", "there is no run and no file named: nosuch"),
    "run without a name": (["x", "--about", "compare:"], "bad_input", "notes are not about: compare:"),
    "unknown kind": (["x", "--about", "step:1"], "bad_input", "notes are not about: step:1"),
    "kind in capitals": (["x", "--about", f"Kernel:{KERNEL}"], "bad_input", f"notes are not about: Kernel:{KERNEL}"),
    "no kind": (["x", "--about", KERNEL], "bad_input", f"notes are not about: {KERNEL}"),
    "a colon alone": (["x", "--about", ":"], "bad_input", "notes are not about: :"),
    "about without a text": (["--about", f"kernel:{KERNEL}"], "bad_input", NO_TEXT),
    "about and remove": (["--about", f"kernel:{KERNEL}", "--remove", "1"], "bad_input", NO_TEXT),
    "edit without a text": (["--edit", "1"], "bad_input", NO_TEXT),
    "edit and remove": (["--edit", "1", "--remove", "1"], "bad_input", NO_TEXT),
    "edit and about": (["x", "--edit", "1", "--about", "span:0"], "bad_input", "what a note is about does not change"),
    "edit and remove and a text": (["x", "--edit", "1", "--remove", "1"], "bad_input", "a text and --remove cannot be used together"),
    "text and remove": (["x", "--remove", "1"], "bad_input", "a text and --remove cannot be used together"),
    "edit of no note": (["x", "--edit", "99"], "not_found", "the run has no note 99"),
    "removal of no note": (["--remove", "99"], "not_found", "the run has no note 99"),
    "edit of note zero": (["x", "--edit", "0"], "bad_input", "--edit must be a whole number from 1 to 9223372036854775807, not: 0"),
    "empty text": ([""], "bad_input", "the note is empty"),
    "empty new text": (["", "--edit", "1"], "bad_input", "the note is empty"),
    "long new text": (["x" * (MOST_BYTES + 1), "--edit", "1"], "limit", "the note has 16385 bytes"),
    "escape in the new text": (["\x1b[31m", "--edit", "1"], "bad_input", "the note is not plain UTF-8 text"),
}


@pytest.mark.parametrize("arguments, code, message", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_and_changes_nothing(neurolens, small_run, arguments, code, message):
    add(neurolens, small_run, "as it was", "span:0")
    before = neurolens("note", small_run, "--history", "--json").data
    error = error_of(neurolens("note", small_run, *arguments, "--json", code=BAD_INPUT))
    assert (error["code"], error["message"]) == (code, message)
    spoken = neurolens("note", small_run, *arguments, code=BAD_INPUT)
    assert spoken.out == "" and spoken.err.startswith(f"neurolens: {message}\n")
    assert neurolens("note", small_run, "--history", "--json").data == before


@pytest.mark.parametrize("about", ["kernel", "span", "finding", "compare"])
def test_a_kind_without_a_colon_is_no_subject(neurolens, small_run, about):
    error = error_of(neurolens("note", small_run, "x", "--about", about, "--json", code=BAD_INPUT))
    assert (error["code"], error["message"]) == ("bad_input", f"notes are not about: {about}")


def test_an_empty_subject_is_not_taken_for_the_run(neurolens, small_run):
    """--about "$WHAT" with a variable that is not set."""
    neurolens("note", small_run, "x", "--about", "", "--json", code=BAD_INPUT)
    assert notes_of(neurolens, small_run) == []


@pytest.mark.parametrize("number", ["00", "-0", "007"])
def test_a_span_has_one_name(neurolens, small_run, number):
    """Else notes about one span are about several."""
    result = neurolens("note", small_run, "x", "--about", f"span:{number}", "--json", code=None)
    assert result.code == BAD_INPUT or result.data["notes"][0]["about"] == f"span:{int(number)}"


@pytest.mark.parametrize("about", [b"kernel:\xff", b"kernel:a\xc3", b"span:\xff", b"finding:\xff", b"compare:\xff", b"\xff"])
def test_a_subject_that_is_no_utf8_is_bad_input(neurolens, small_run, about):
    command = [*neurolens.command("note", small_run, "x", "--json"), "--about", about]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS)
    assert done.returncode == BAD_INPUT, done
    assert json.loads(done.stdout)["error"]["code"] in ("bad_input", "not_found")


NAMES = {
    "colons": "at::native::gemm:a:b", "quotes": 'say "hi" \\', "quotes of SQL": "it's; DROP TABLE notes; --", "percent": "%s {} ${7*7}",
    "letters": "größe 核 🚀", "blanks": " a  b ", "tags": "</code><script>alert(1)</script>", "ticks": "`` ` ``` |",
    "lines": "two\nlines\r\n# and more", "control": "bell\x07escape\x1b[31m", "turned": "a\u202eb\u2066c", "4,000 letters": "x" * 4000,
    "4,000 letters of two bytes": "ä" * 4000, "prefix": "kernel:span:0",
}  # fmt: skip


def test_any_name_of_a_kernel_can_be_the_subject(neurolens, import_names):
    run = import_names(*NAMES.values())
    for number, name in enumerate(NAMES.values(), 1):
        assert add(neurolens, run, "seen", f"kernel:{name}")["about"] == f"kernel:{name}"
        edit(neurolens, run, number, "seen again")
    subjects = [f"kernel:{name}" for name in NAMES.values()]
    for past in (notes_of(neurolens, run), history_of(neurolens, run)):
        assert [one["about"] for one in past] == subjects
    with sqlite3.connect(neurolens.ledger / "state.sqlite") as state:
        assert [about for (about,) in state.execute("SELECT about FROM note_subjects ORDER BY note_id")] == subjects


def test_names_do_nothing_where_they_are_shown(neurolens, import_names, tmp_path):
    run = import_names(*NAMES.values())
    for name in NAMES.values():
        add(neurolens, run, "seen", f"kernel:{name}")
    listed = neurolens("note", run, "--color", "never").out.splitlines()
    assert len(listed) == 1 + 2 * len(NAMES) and max(map(len, listed)) < 200
    files = reported(neurolens, run, tmp_path / "out")
    check_harmless(files)
    for text in (*listed, section_of(files, "report.html"), section_of(files, "report.md")):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
    assert [one["about"] for one in json.loads(files["report.json"])["notes"]] == [f"kernel:{name}" for name in NAMES.values()]


def test_a_name_beyond_the_limit_is_refused(neurolens, import_names):
    run = import_names("x" * 4089, "x" * 4090)
    assert len(add(neurolens, run, "x", "kernel:" + "x" * 4089)["about"]) == 4096
    error = error_of(neurolens("note", run, "x", "--about", "kernel:" + "x" * 4090, "--json", code=BAD_INPUT))
    assert "4096" in error["message"]


def test_a_kernel_of_another_run_is_none_of_this_one(neurolens, small_run, import_names):
    other = import_names("only here")
    add(neurolens, other, "x", "kernel:only here")
    neurolens("note", small_run, "x", "--about", "kernel:only here", code=BAD_INPUT)


# ---- Changes


def test_three_edits_and_a_removal_are_history(neurolens, small_run):
    add(neurolens, small_run, "one", f"kernel:{KERNEL}")
    add(neurolens, small_run, "bystander")
    said = [notes_of(neurolens, small_run)[0]]
    for text in ("two", "three", "four"):
        data = edit(neurolens, small_run, 1, text).data
        assert "past_notes" not in data
        assert [one["text"] for one in data["notes"]] == [text, "bystander"]
        said.append(data["notes"][0])
    assert [one["text"] for one in remove(neurolens, small_run, 1).data["notes"]] == ["bystander"]
    past = history_of(neurolens, small_run)
    assert [one["text"] for one in past] == ["one", "two", "three", "four"]
    assert all(set(one) == FIELDS | {"until_ns", "until_user"} for one in past)
    assert [{key: one[key] for key in FIELDS} for one in past] == said
    assert all((one["note"], one["about"]) == (1, f"kernel:{KERNEL}") for one in past)
    assert all(one["until_user"] == one["user"] for one in past)
    assert all(one["until_ns"] > one["written_at_ns"] for one in past)
    assert [one["until_ns"] for one in past[:-1]] == [one["written_at_ns"] for one in past[1:]]


def test_history_is_in_the_order_in_which_texts_ended(neurolens, small_run):
    for text in ("a", "b", "c"):
        add(neurolens, small_run, text)
    edit(neurolens, small_run, 2, "b2")
    remove(neurolens, small_run, 3)
    edit(neurolens, small_run, 1, "a2")
    edit(neurolens, small_run, 2, "b3")
    past = history_of(neurolens, small_run)
    assert [(one["note"], one["text"]) for one in past] == [(2, "b"), (3, "c"), (1, "a"), (2, "b2")]
    assert [one["until_ns"] for one in past] == sorted(one["until_ns"] for one in past)
    shown = neurolens("note", small_run, "--history").out
    now, _, before = shown.partition("\nbefore:\n")
    assert [word for word in now.split() if word in ("a2", "b3")] == ["a2", "b3"]
    assert [word for word in before.split() if word in ("a", "b", "c", "b2")] == ["b", "c", "a", "b2"]
    assert before.count("; until ") == before.count(" by ") == 4


def test_history_of_a_run_without_changes_is_empty(neurolens, small_run):
    assert neurolens("note", small_run, "--history", "--json").data == {"run_id": small_run, "notes": [], "past_notes": []}
    shown = neurolens("note", small_run, "--history").out
    assert "no notes" in shown and "before:" not in shown
    add(neurolens, small_run, "x")
    assert history_of(neurolens, small_run) == []


def test_history_shows_with_the_change_itself(neurolens, small_run):
    add(neurolens, small_run, "x")
    data = edit(neurolens, small_run, 1, "y").data
    assert "past_notes" not in data
    data = neurolens("note", small_run, "--remove", "1", "--history", "--json").data
    assert data["notes"] == [] and [one["text"] for one in data["past_notes"]] == ["x", "y"]


def test_history_belongs_to_one_run(neurolens, two_runs):
    for run in two_runs:
        add(neurolens, run, f"of {run}")
    edit(neurolens, two_runs[0], 1, "changed")
    assert history_of(neurolens, two_runs[1]) == [] and texts_of(neurolens, two_runs[1]) == [f"of {two_runs[1]}"]


def test_a_number_is_never_given_twice(neurolens, small_run):
    for text in ("a", "b", "c"):
        add(neurolens, small_run, text)
    remove(neurolens, small_run, 3)
    assert add(neurolens, small_run, "d")["note"] == 4
    remove(neurolens, small_run, 1)
    assert add(neurolens, small_run, "e")["note"] == 5
    for number in (2, 4, 5):
        remove(neurolens, small_run, number)
    assert notes_of(neurolens, small_run) == []
    assert add(neurolens, small_run, "f")["note"] == 6
    error = error_of(neurolens("note", small_run, "x", "--edit", "3", "--json", code=BAD_INPUT))
    assert error["message"] == "the run has no note 3"


def test_a_removed_subject_does_not_stick_to_the_next_note(neurolens, small_run):
    add(neurolens, small_run, "a", "span:0")
    remove(neurolens, small_run, 1)
    assert add(neurolens, small_run, "b")["about"] == ""


def test_texts_stay_as_they_were_written(neurolens, small_run):
    texts = ["  a", "b\n", "\n\n", "tab\there", "a\n\n\nb", "<b>&amp;</b>", "'; DROP TABLE notes; --", "größe 🚀", "x" * MOST_BYTES]
    for text in texts:
        assert add(neurolens, small_run, text)["text"] == text
    for number, text in enumerate(reversed(texts), 1):
        edit(neurolens, small_run, number, text)
    assert texts_of(neurolens, small_run) == texts[::-1]


def test_an_edit_is_later_than_what_it_changes(neurolens, small_run):
    """As with labels: also if the clock went back, or another machine's is ahead."""
    add(neurolens, small_run, "of tomorrow")
    tomorrow = time.time_ns() + 86_400 * 10**9
    with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
        state.execute("UPDATE notes SET written_at_ns = ?", (tomorrow,))
    edit(neurolens, small_run, 1, "of today")
    remove(neurolens, small_run, 1)
    past = history_of(neurolens, small_run)
    assert [one["text"] for one in past] == ["of tomorrow", "of today"]
    assert past[0]["written_at_ns"] == tomorrow
    assert all(one["until_ns"] > one["written_at_ns"] for one in past), past


def test_a_noted_run_is_not_dropped(neurolens, make_trace):
    neurolens(make_trace(0))
    neurolens(make_trace(1))
    kept, _ = neurolens.run_ids()
    add(neurolens, kept, "keep it")
    assert neurolens("gc", "--drop-on-the-way", "--json").data["dropped_runs"] == 1
    assert neurolens.run_ids() == [kept]


def test_a_deleted_run_takes_its_notes_along(neurolens, small_run, small_trace):
    add(neurolens, small_run, "one", "span:0")
    edit(neurolens, small_run, 1, "two")
    neurolens("delete", small_run, "--reason", "a test")
    with sqlite3.connect(neurolens.ledger / "state.sqlite") as state:
        for table in ("notes", "note_subjects", "past_notes"):
            assert state.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    neurolens.import_file(small_trace)
    assert neurolens("note", small_run, "--history", "--json").data == {"run_id": small_run, "notes": [], "past_notes": []}


def test_a_note_of_a_sidecar_that_was_changed_does_not_come_back(neurolens, small_trace, tmp_path):
    """The same file is imported again and again, by scripts."""
    (tmp_path / "neurolens.yaml").write_text("notes: [to be changed, to be removed]")
    run = neurolens.import_file(small_trace)["run_id"]
    edit(neurolens, run, 1, "changed")
    remove(neurolens, run, 2)
    neurolens.import_file(small_trace)
    assert texts_of(neurolens, run) == ["changed"]


# ---- At once, killed, read-only


def test_two_processes_add_notes_at_once(neurolens, small_run):
    def add_twenty(name):
        for i in range(20):
            add(neurolens, small_run, f"{name} {i}", "span:0" if i % 2 else None)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        for done in [pool.submit(add_twenty, name) for name in "ab"]:
            done.result()
    notes = notes_of(neurolens, small_run)
    assert [one["note"] for one in notes] == [*range(1, 41)]
    assert sorted(one["text"] for one in notes) == sorted(f"{name} {i}" for name in "ab" for i in range(20))
    assert all(one["about"] == ("span:0" if int(one["text"][2:]) % 2 else "") for one in notes)
    for name in "ab":
        assert [one["text"] for one in notes if one["text"][0] == name] == [f"{name} {i}" for i in range(20)]


def test_command_line_and_server_add_notes_at_once(neurolens, small_run, serve):
    server = serve()

    def add_twenty(write):
        for i in range(20):
            write(i)

    with concurrent.futures.ThreadPoolExecutor() as pool:
        here = pool.submit(add_twenty, lambda i: add(neurolens, small_run, f"here {i}"))
        there = pool.submit(add_twenty, lambda i: server.call("note", run=small_run, text=f"there {i}").data)
        here.result(), there.result()
    notes = notes_of(neurolens, small_run)
    assert [one["note"] for one in notes] == [*range(1, 41)]
    assert len({one["text"] for one in notes}) == 40


def check_chain(notes, past):
    """Each text of one note followed another one."""
    said = [*past, *notes]
    assert [one["until_ns"] for one in past] == [one["written_at_ns"] for one in said[1:]]
    assert all(one["until_user"] == after["user"] for one, after in zip(past, said[1:]))


def test_edits_of_one_note_at_once_are_all_in_the_history(neurolens, small_run):
    add(neurolens, small_run, "first", "span:0")
    started = [neurolens.start("note", small_run, f"by {i}", "--edit", "1", "--quiet") for i in range(16)]
    for process in started:
        _, error = process.communicate(timeout=SECONDS)
        assert process.returncode == OK, error
    data = neurolens("note", small_run, "--history", "--json").data
    (now,) = data["notes"]
    past = data["past_notes"]
    assert past[0]["text"] == "first"
    assert sorted([now["text"], *(one["text"] for one in past)]) == sorted(["first", *(f"by {i}" for i in range(16))])
    check_chain([now], past)
    assert all(one["until_ns"] > one["written_at_ns"] for one in past), "the time was taken before the ledger was"


def test_one_of_many_removals_at_once_wins(neurolens, small_run):
    add(neurolens, small_run, "x")
    started = [neurolens.start("note", small_run, "--remove", "1", "--json") for _ in range(8)]
    codes = []
    for process in started:
        process.communicate(timeout=SECONDS)
        codes.append(process.returncode)
    assert sorted(codes) == [OK] + [BAD_INPUT] * 7
    assert [one["text"] for one in history_of(neurolens, small_run)] == ["x"]


@pytest.mark.slow
def test_kill_while_editing(neurolens, small_run):
    """Whatever the moment: the old or the new text, and a history that fits."""
    dice = random.Random(11)
    add(neurolens, small_run, "text 0", "span:0")
    begin = time.monotonic()
    edit(neurolens, small_run, 1, "text 1")
    most = 1.2 * (time.monotonic() - begin)
    said, killed = ["text 0", "text 1"], 0
    for i in range(60):
        text = f"text {i + 2} " + "x" * 15_000
        process = neurolens.start("note", small_run, text, "--edit", "1", "--quiet")
        time.sleep(dice.uniform(0, most))
        process.kill()
        process.communicate()
        killed += process.returncode != OK
        data = neurolens("note", small_run, "--history", "--json").data
        (now,) = data["notes"]
        assert now["text"] == text if process.returncode == OK else now["text"] in (text, said[-1])
        if now["text"] == text:
            said.append(text)
        assert [one["text"] for one in [*data["past_notes"], now]] == said
        assert now["about"] == "span:0"
        check_chain([now], data["past_notes"])
    assert 5 < killed, "no kill met a living process"
    assert len(said) > 3, "no edit came to its end"
    assert neurolens("verify", small_run, "--json").data["verified"]


def check_only_reading(ledger, run, **options):
    before = neurolens_data(ledger, run, **options)
    assert [one["text"] for one in before["notes"]] == ["two", "other"]
    assert [one["text"] for one in before["past_notes"]] == ["one"]
    for words in (["x"], ["x", "--about", "span:0"], ["x", "--edit", "1"], ["--remove", "1"]):
        error = error_of(ledger("note", run, *words, "--json", code=MISSING, **options))
        assert error["code"] == "permission" and "--ledger" in error["hint"], error
        assert str(ledger.ledger) in error["message"], error
    assert neurolens_data(ledger, run, **options) == before


def neurolens_data(ledger, run, **options):
    return ledger("note", run, "--history", "--json", **options).data


@pytest.fixture
def noted_run(neurolens, small_run):
    add(neurolens, small_run, "one", f"kernel:{KERNEL}")
    add(neurolens, small_run, "other")
    edit(neurolens, small_run, 1, "two")
    return small_run


def test_a_ledger_that_is_read_only_lists_notes(neurolens, noted_run, tmp_path):
    before = contents(neurolens.ledger)
    with ReadOnlyMount(neurolens.ledger, tmp_path / "mounted") as target:
        check_only_reading(Neurolens(target), noted_run)
        files = reported(Neurolens(target), noted_run, tmp_path / "out")
        assert "two" in section_of(files, "report.html")
    assert contents(neurolens.ledger) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_a_ledger_of_somebody_else_lists_notes(neurolens, noted_run, tmp_path):
    for folder in [tmp_path, *tmp_path.parents]:
        if not folder.stat().st_mode & 0o001 and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    subprocess.run(["chmod", "-R", "a+rX", neurolens.ledger], check=True)
    check_only_reading(neurolens, noted_run, user=NOBODY, group=NOBODY)


def without_version_6(neurolens):
    """The state as version 5 has it."""
    with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
        for table in ("note_subjects", "past_notes"):
            state.execute(f"DROP TABLE {table}")
        state.execute("PRAGMA user_version = 5")


def test_notes_of_version_5_can_be_changed(neurolens, small_run):
    add(neurolens, small_run, "old")
    without_version_6(neurolens)
    assert texts_of(neurolens, small_run) == ["old"] and history_of(neurolens, small_run) == []
    edit(neurolens, small_run, 1, "new")
    add(neurolens, small_run, "more", "span:0")
    assert [one["text"] for one in history_of(neurolens, small_run)] == ["old"]
    assert [(one["text"], one["about"]) for one in notes_of(neurolens, small_run)] == [("new", ""), ("more", "span:0")]
    with sqlite3.connect(neurolens.ledger / "state.sqlite") as state:
        assert state.execute("PRAGMA user_version").fetchone() == (6,)


def test_notes_of_version_5_can_be_read_where_nothing_can_be_written(neurolens, small_run, tmp_path):
    add(neurolens, small_run, "old")
    without_version_6(neurolens)
    before = contents(neurolens.ledger)
    with ReadOnlyMount(neurolens.ledger, tmp_path / "mounted") as target:
        assert texts_of(Neurolens(target), small_run) == ["old"] and history_of(Neurolens(target), small_run) == []
    assert contents(neurolens.ledger) == before


# ---- Over HTTP


@pytest.fixture
def server(serve, small_run):
    return serve()


def test_a_writer_writes_under_the_name_of_the_token(server, neurolens, small_run):
    ann, bob = (server.add_token(name, "write") for name in ("ann", "bob"))

    def ask(token, **parameters):
        return server.post("/api/v1/note", {"run": small_run, **parameters}, token=token).data

    (one,) = ask(ann, text="first", about=f"kernel:{KERNEL}")["notes"]
    assert set(one) == FIELDS and (one["user"], one["note"], one["about"]) == ("ann", 1, f"kernel:{KERNEL}")
    (one,) = ask(bob, text="second", edit=1)["notes"]
    assert (one["user"], one["text"]) == ("bob", "second")
    ask(ann, remove=1)
    data = ask(bob, history=True)
    assert data["notes"] == []
    assert [(past["text"], past["user"], past["until_user"]) for past in data["past_notes"]] == [
        ("first", "ann", "bob"), ("second", "bob", "ann"),
    ]  # fmt: skip
    assert data == neurolens("note", small_run, "--history", "--json").data


def test_the_server_says_what_the_command_line_says(server, neurolens, noted_run):
    for parameters, words in (({}, []), ({"history": True}, ["--history"])):
        answer = server.call("note", run=noted_run, **parameters)
        assert answer.data == neurolens("note", noted_run, *words, "--json").data
    asked = server.ask("POST", "/api/v1/note", json.dumps({"run": noted_run, "history": True}).encode(),
                       {"Content-Type": "application/json", "Accept": "text/plain"})  # fmt: skip
    assert asked.text == neurolens("note", noted_run, "--history").out


def test_a_reader_sees_notes_but_writes_none(server, neurolens, noted_run):
    token = server.add_token("reader", "read")
    for parameters in ({"text": "x"}, {"text": "x", "edit": 1}, {"remove": 1}):
        assert server.post("/api/v1/note", {"run": noted_run, **parameters}, token=token).status == 403
    for parameters in ({}, {"history": True}):
        assert server.post("/api/v1/note", {"run": noted_run, **parameters}, token=token).data["notes"] == notes_of(neurolens, noted_run)
    assert server.get(f"/api/v1/show?run={noted_run}", token=token).data["notes"] == notes_of(neurolens, noted_run)
    assert texts_of(neurolens, noted_run) == ["two", "other"]


def test_a_note_is_not_written_by_get(server, neurolens, noted_run):
    for role in ("read", "write", "admin"):
        token = server.add_token(role, role)
        for more in ("", "&text=x", "&remove=1", "&edit=1&text=x", "&history=true"):
            answer = server.get(f"/api/v1/note?run={noted_run}{more}", token=token)
            assert answer.status == 405, answer
    assert texts_of(neurolens, noted_run) == ["two", "other"]


def parameters_of(words):
    """Of the command line, for the server."""
    words = [*words]
    parameters = {} if words[0].startswith("--") else {"text": words.pop(0)}
    for flag, value in zip(words[::2], words[1::2]):
        parameters[flag[2:]] = value if flag == "--about" else int(value)
    return parameters


def test_the_server_refuses_what_the_command_line_refuses(server, neurolens, small_run):
    for name, (words, code, message) in WRONG.items():
        if name == "edit of note zero":
            continue  # it speaks of parameters, not of flags
        answer = server.call("note", run=small_run, **parameters_of(words))
        assert answer.status == {"not_found": 404, "bad_input": 400, "limit": 422}[code], (name, answer)
        assert answer.json["error"]["code"] == code, name
        assert answer.message.replace("there is no run named", "there is no run and no file named") == message, name
    assert notes_of(neurolens, small_run) == []


WRONG_TYPES = [
    {"text": 7}, {"edit": "1", "text": "x"}, {"edit": 1.5, "text": "x"}, {"about": ["span:0"], "text": "x"}, {"history": "yes"},
    {"remove": True}, {"edit": 0, "text": "x"}, {"user": "root", "text": "x"}, {"written_at_ns": 1, "text": "x"},
]  # fmt: skip


def test_other_types_and_names_are_refused(server, neurolens, small_run):
    for parameters in WRONG_TYPES:
        answer = server.call("note", run=small_run, **parameters)
        assert answer.status == 400, (parameters, answer)
    assert notes_of(neurolens, small_run) == []


def test_files_of_the_server_are_no_runs_to_compare_with(server, neurolens, small_run, make_trace):
    answers = {}
    for path in ("/etc/passwd", "/nosuch", make_trace(9), neurolens.bundle(small_run), neurolens.ledger):
        answer = server.call("note", run=small_run, text="x", about=f"compare:{path}")
        assert answer.status == 404, answer
        answers[str(path)] = answer.text.replace(str(path), "PATH")
    assert len(set(answers.values())) == 1, answers
    assert neurolens.run_ids() == [small_run] and notes_of(neurolens, small_run) == []


def test_runs_of_another_project_are_no_runs_to_compare_with(server, small_run, make_trace):
    token = server.add_token("other", "write", "other")
    upload = server.upload(("a.json", make_trace(3).read_bytes()), token=token)
    assert server.post("/api/v1/import", {"upload": upload}, token=token).status == 202
    job = until(lambda: "status" in (now := server.get(f"/api/v1/jobs/{upload}", token=token).json) and now)
    theirs = job["answer"]["data"]["run_id"]
    assert server.post("/api/v1/note", {"run": theirs, "text": "x", "about": f"compare:{theirs}"}, token=token).status == 200
    real, none = (server.post("/api/v1/note", {"run": theirs, "text": "x", "about": f"compare:{run}"}, token=token)
                  for run in (small_run, "0" * 64))  # fmt: skip
    assert real.status == none.status == 404
    assert real.text.replace(small_run, "X") == none.text.replace("0" * 64, "X")
    assert server.call("note", run=small_run, text="x", about=f"compare:{theirs}").status == 404


def test_a_report_of_the_server_follows_the_notes(server, neurolens, small_run):
    """Also for a browser that has the page already."""
    path = f"/api/v1/report?run={small_run}&format=html"
    first = server.get(path)
    assert first.status == 200 and 'id="notes"' not in first.text
    server.call("note", run=small_run, text="a **new** one")
    again = server.get(path, {"If-None-Match": first.headers["ETag"]} if first.headers["ETag"] else {})
    assert again.status == 200 and "<strong>new</strong>" in again.text


# ---- In reports


def reported(neurolens, run, folder):
    neurolens("report", run, "-o", folder, timeout=SECONDS)
    return {path.name: path.read_bytes().decode() for path in sorted(folder.iterdir())}


def section_of(files, name):
    """The chapter of the notes."""
    begin, end = {"report.html": ('<section id="notes">', "</section>"), "report.md": ("## Notes\n", '<a id="window"></a>')}[name]
    text = files[name]
    assert text.count(begin) == 1, "no chapter of notes, or several"
    at = text.index(begin)
    return text[at : text.index(end, at) + len(end) * (name == "report.html")]


TAGS = {"section": {"id"}, "article": {"class"}, "p": {"class"}, "a": {"href", "title", "rel"}, "code": {"class"}, "ol": {"start"},
        **{tag: set() for tag in ("ul", "li", "blockquote", "pre", "strong", "em", "br", "hr", *(f"h{level}" for level in range(1, 7)))}}


def check_elements(elements, tags=TAGS):
    for tag, attributes in elements:
        assert tag in tags and set(attributes) <= tags[tag], (tag, attributes)
        if tag == "a":
            assert re.match("(https?://|mailto:)", attributes["href"]), attributes


def elements_of_markdown(text):
    """What a reader of Markdown that lets tags pass makes of it."""
    markdown_it = pytest.importorskip("markdown_it")
    reader = markdown_it.MarkdownIt("commonmark")
    reader.validateLink = lambda _: True  # it would not make links of javascript:, others do
    page = Page(reader.render(text))
    assert set(page.comments) <= {" end list "}, "only what divides two lists"
    return page.elements


def check_harmless(files):
    page = Page(section_of(files, "report.html"))
    assert page.comments == []
    check_elements(page.elements)
    check_elements(elements_of_markdown(section_of(files, "report.md")))
    return page


def test_a_report_shows_markdown_rendered(neurolens, small_run, tmp_path):
    add(neurolens, small_run, RICH)
    files = reported(neurolens, small_run, tmp_path / "out")
    section = section_of(files, "report.html")
    for piece in (
        "<strong>bold</strong>", "<em>leaning</em>", "<code>code</code>", "<li>one</li>", '<ol start="7">', "<li>first</li>",
        '<a href="https://example.com/change?a=1&amp;b=2" title="title">link</a>', '<a href="https://example.com">https://example.com</a>',
        "gemm&lt;float&gt;(a, b);", "indented &lt;b&gt;code&lt;/b&gt;", "<blockquote>", "A heading", "the end",
    ):  # fmt: skip
        assert piece in section, piece
    assert section.count("<blockquote>") == 2 and section.count("<pre>") == 2
    check_harmless(files)
    assert '<a href="#notes">' in files["report.html"]
    assert json.loads(files["report.json"])["notes"] == notes_of(neurolens, small_run)


def test_a_report_in_markdown_quotes_the_note(neurolens, small_run, tmp_path):
    add(neurolens, small_run, RICH)
    section = section_of(reported(neurolens, small_run, tmp_path / "out"), "report.md")
    head, _, text = section.partition(":\n\n")
    assert head.splitlines()[-1].endswith("UTC, on the run")
    assert all(line.startswith(">") for line in text.rstrip("\n").splitlines()), text
    for piece in ("**bold**", "*leaning*", "`code`", "[link](https://example.com/change?a=1&b=2", "gemm<float>(a, b);", "> > a quote"):
        assert piece in text, piece


FORMS = [
    "- one\n- two", "1. one\n2. two", "- one\n\n  more\n- two\n  - three", "* a\n\n+ b", "    code\n\n    more", "> a\n>\n> - b\n> - c",
    "    code\n\n- a\n- b", "a\n- b\n- c", "# a\n\nb", "```\n\n  code\n\n```", "---\n\na", "a  \nb", "5. a\n6. b", "\n\n- a\n- b", RICH,
]  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_both_reports_give_a_note_the_same_form(long_place, tmp_path, text):
    files = check_long(long_place, tmp_path, text)

    def form(elements):
        return ["h" if re.fullmatch("h[1-6]", tag) else tag for tag, _ in elements]

    section = section_of(files, "report.html")
    shown = Page(section[section.index("</p>") + 4 : section.rindex("</article>")])
    _, _, quoted = section_of(files, "report.md").partition(":\n\n")
    assert form(elements_of_markdown(quoted)) == ["blockquote", *form(shown.elements)]


def test_a_report_says_who_wrote_and_about_what(neurolens, two_runs, tmp_path, serve):
    run, other = two_runs
    token = (server := serve()).add_token("ann <b>&", "write")
    subjects = ["", f"kernel:{KERNEL}", "span:4", "finding:host_bound", f"compare:{other}"]
    for about in subjects:
        assert server.post("/api/v1/note", {"run": run, "text": "said", "about": about} if about else {"run": run, "text": "said"},
                           token=token).status == 200  # fmt: skip
    files = reported(neurolens, run, tmp_path / "out")
    page = check_harmless(files)
    when = [time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(one["written_at_ns"] // 10**9)) for one in notes_of(neurolens, run)]
    wanted = ["the run", f"the kernel {KERNEL}", "the span 4", "the finding host_bound", f"the comparison with run {other[:12]}"]
    for at, words in zip(when, wanted):
        assert f"ann <b>&, {at}, on {words}" in page.text
    assert [tag for tag, _ in page.elements].count("article") == len(subjects)


def test_a_report_without_notes_has_no_chapter_of_them(neurolens, small_run, tmp_path):
    before = reported(neurolens, small_run, tmp_path / "before")
    assert 'id="notes"' not in before["report.html"] and "#notes" not in before["report.html"]
    assert "## Notes" not in before["report.md"] and 'id="notes"' not in before["report.md"]
    assert json.loads(before["report.json"]).get("notes", []) == []
    add(neurolens, small_run, "x")
    assert reported(neurolens, small_run, tmp_path / "noted")["report.html"] != before["report.html"]
    remove(neurolens, small_run, 1)
    assert reported(neurolens, small_run, tmp_path / "after") == before, "what was removed leaves no trace"


def test_a_changed_note_is_in_the_report_and_its_past_is_not(neurolens, noted_run, tmp_path):
    edit(neurolens, noted_run, 2, "now this")
    section = section_of(reported(neurolens, noted_run, tmp_path / "out"), "report.html")
    assert "<p>two</p>" in section and "<p>now this</p>" in section
    assert "<p>one</p>" not in section and "<p>other</p>" not in section


def test_headings_of_notes_stand_below_the_heading_of_the_chapter(neurolens, small_run, tmp_path):
    """The page has one title, and its chapters are no parts of a note."""
    add(neurolens, small_run, "# one\n\ntext\n\n## two\n\nSet\n===\n\nSet\n---\n")
    files = reported(neurolens, small_run, tmp_path / "out")
    levels = [tag for tag, _ in Page(section_of(files, "report.html")).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == "h2" and all(level > "h2" for level in levels[1:]), levels
    assert [tag for tag, _ in Page(files["report.html"]).elements].count("h1") == 1


HARM = {
    "script": "<script>alert(1)</script>", "script in a line": "a <script>alert(1)</script> b", "onerror": "<img src=x onerror=alert(1)>",
    "picture in a line": "a <img src=x onerror=alert(1)> b", "picture": "![seen](https://example.com/pixel.png)",
    "picture by reference": "![seen][p]\n\n[p]: https://example.com/pixel.png", "javascript": "[x](javascript:alert(1))",
    "JaVaScRiPt": "[x](JaVaScRiPt:alert(1))", "javascript in entities": "[x](&#106;avascript:alert(1))",
    "javascript behind a tab": "[x](<java\tscript:alert(1)>)", "javascript behind a blank": "[x](< javascript:alert(1)>)",
    "javascript by reference": "[x][y]\n\n[y]: javascript:alert(1)", "javascript as autolink": "<javascript:alert(1)>",
    "data": "[x](data:text/html;base64,PHNjcmlwdD4=)", "vbscript": "[x](vbscript:x)", "file": "[x](file:///etc/passwd)",
    "no scheme": "[x](//example.com/a) [y](/etc) [z](#summary) [w](a.html) [v]()",
    "picture in a link": "[![s](https://e.com/p)](vbscript:x)", "link in a picture": "![a [b](javascript:alert(1)) c](https://e.com/p)",
    "quote in a link": '[x](https://e.com/"onmouseover="alert(1))',
    "quote in a title": '[x](https://e.com "a\\" onmouseover=\\"alert(1)")', "quote in an autolink": '<https://e.com/"onmouseover="x>',
    "block of HTML": "<div onclick=alert(1)>\n<table><tr><td>x\n</div>\n\nafter",
    "end of the page": "</p></article></section></main></body></html>",
    "details": "<details open ontoggle=alert(1)>\n\ntext\n\n</details>", "comment": "<!-- hidden -->\n\na <!-- hidden --> b <!--",
    "style": "<style>*{display:none}</style>", "meta": '<meta http-equiv=refresh content="0;url=https://e.com">',
    "base": "<base href=https://e.com>", "form": "<form action=https://e.com><input name=a></form>",
    "frame": "<iframe src=https://e.com></iframe>", "svg": "<svg onload=alert(1)>", "CDATA": "<![CDATA[ <script>alert(1)</script> ]]>",
    "processing": "<?php echo 1 ?>", "declaration": "<!DOCTYPE html>", "HTML as code": "    <script>alert(1)</script>",
    "HTML as code, twice": "    <script>alert(1)</script>\n\n\n    <img src=x onerror=alert(1)>\n",
    "HTML in a fence": "```\n<script>alert(1)</script>\n```", "HTML in an open fence": "~~~\n<script>alert(1)</script>",
    "HTML in ticks": "`<script>alert(1)</script>`", "info of a fence": '``` "><script>alert(1)</script>\nx\n```',
    "HTML in a quote": "> <script>alert(1)</script>\n> > <img src=x onerror=alert(1)>",
    "HTML in a list": "- <script>alert(1)</script>\n- <b>x", "HTML in a heading": "# <script>alert(1)</script>",
    "entities": "&lt;script&gt;alert(1)&lt;/script&gt; &#60;img src=x onerror=alert(1)&#62;", "escaped": "\\<script>alert(1)\\</script>",
    "null": "&#0; &#x1b;[31m &#x202e;", "nested quotes": "> > > > a\n> > b\n\nc",
    "the end of the quote": "a\n\n## Findings\n\n<a id=\"window\"></a>", "blank lines": "\n\n\n    <b>code</b>\n\n\n",
    "nothing": "[a]: b", "tag over lines": "a <b\nonmouseover=alert(1)\n> b", "heading of HTML": "<b>x</b>\n===\n",
    "tabs": "\t<script>alert(1)</script>",
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A report with a note of each harm: its folder, and each note of it by the harm, in HTML and Markdown."""
    folder = tmp_path_factory.mktemp("hostile")
    neurolens = Neurolens(folder / "ledger")
    (folder / "small.json").write_text(trace_text.trace_text())
    run = neurolens.import_file(folder / "small.json")["run_id"]
    for text in HARM.values():
        add(neurolens, run, text)
    assert texts_of(neurolens, run) == [*HARM.values()], "as they were written"
    files = reported(neurolens, run, folder / "out")
    assert [one["text"] for one in json.loads(files["report.json"])["notes"]] == [*HARM.values()]
    articles = re.split('<article class="note">', section_of(files, "report.html").removesuffix("</section>"))[1:]
    quotes = re.split("(?m)^[^>\n]*UTC, on the run:\n\n", section_of(files, "report.md"))[1:]
    assert len(articles) == len(quotes) == len(HARM)
    return folder / "out", dict(zip(HARM, articles)), dict(zip(HARM, quotes))


@pytest.mark.parametrize("name", HARM)
def test_hostile_markdown_does_nothing(hostile, name):
    _, articles, quotes = hostile
    page = Page('<article class="note">' + articles[name])
    assert page.comments == []
    check_elements(page.elements)
    assert all(line.startswith(">") for line in quotes[name].strip("\n").splitlines()), quotes[name]
    check_elements(elements_of_markdown(quotes[name]))


def test_a_page_with_hostile_notes_is_whole(hostile):
    text = (hostile[0] / "report.html").read_text()
    page = Page(text)
    assert [tag for tag, _ in page.elements].count("main") == 1 and page.comments == []
    assert text.index('id="notes"') < text.index('id="findings"')


def test_tags_become_text_that_shows(neurolens, small_run, tmp_path):
    add(neurolens, small_run, "a <b>fat</b> word\n\n<div>\nblock\n</div>\n\n![described](https://example.com/x.png)")
    text = " ".join(check_harmless(reported(neurolens, small_run, tmp_path / "out")).text.split())
    assert "a <b>fat</b> word" in text and "<div> block </div>" in text and "described" in text


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_marks_that_turn_text_become_visible(neurolens, small_run, tmp_path, name):
    """As in names, and as in the terminal."""
    add(neurolens, small_run, "exe.\u202egnp.\u202c and \u2066more\u2069")
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", neurolens("note", small_run).out)
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", section_of(reported(neurolens, small_run, tmp_path / "out"), name))


LONG = {
    "[": "[", "*": "*", ">": ">", "quotes": "> ", "lists": "- ", "numbers": "1. ", "mixed": "> - ", "![": "![", "[a](": "[a](", "]": "]",
    "_": "_", "`": "`", "<": "<", "<!--": "<!--", "<?": "<?", "&": "&", "backslashes": "\\", "a**b": "a**b", "*a _b ": "*a _b ",
    "(": "[a](" + "(" * 32, "#": "#\n", "lines": "a\n", "no lines": "\n", "breaks": "a  \n", "links": "[a](https://b)",
    "references": "[a]: b\n", "tags": "<b>", "pictures": "![a](b)",
}  # fmt: skip
NESTED = {
    "quotes with lazy lines": ">" * 8000 + "a\n" * 4000, "lists with lazy lines": "- " * 4000 + "a\n" * 4000,
    "pictures in pictures": "![" * 4000 + "a" + "](b)" * 2000, "links in emphasis": "*a " * 2700 + "b*" * 4000,
    "ticks of all lengths": "".join("e" + "`" * i for i in range(1, 178)),
    "indented lists": "".join("  " * i + "- a\n" for i in range(120)),
}  # fmt: skip


@pytest.fixture(scope="module")
def long_place(tmp_path_factory):
    """A ledger and its run, for one note at a time."""
    folder = tmp_path_factory.mktemp("long")
    neurolens = Neurolens(folder / "ledger")
    (folder / "small.json").write_text(trace_text.trace_text())
    return neurolens, neurolens.import_file(folder / "small.json")["run_id"]


def check_long(place, tmp_path, text):
    neurolens, run = place
    text = text[:MOST_BYTES]
    for one in notes_of(neurolens, run):
        remove(neurolens, run, one["note"])
    assert add(neurolens, run, text, timeout=SECONDS)["text"] == text
    files = reported(neurolens, run, tmp_path / "out")
    for name in ("report.html", "report.md", "report.json"):
        assert len(files[name]) < PAGE_BYTES, f"{name} has {len(files[name]):,} bytes"
    check_elements(Page(section_of(files, "report.html")).elements)
    neurolens("note", run, timeout=SECONDS)
    return files


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_16_kilobytes_of_a_mark_take_no_time(long_place, tmp_path, text):
    check_long(long_place, tmp_path, text * MOST_BYTES)


@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_nested_marks_do_not_multiply_the_text(long_place, tmp_path, text):
    check_long(long_place, tmp_path, text)


@pytest.fixture
def full_page(neurolens, two_runs, tmp_path):
    """A report with all kinds of notes; its path."""
    run, other = two_runs
    add(neurolens, run, RICH)
    for text, about in (
        ("Slower since the driver update: **12 %**. Tried `--use_fast_math`, no difference.", f"kernel:{KERNEL}"),
        ("This span is the warm-up.", "span:3"),
        ("Will be fixed by the new allocator.\n\n- see ticket 42\n- ask Ann", "finding:host_bound"),
        ("Same code, other driver.", f"compare:{other}"),
    ):
        add(neurolens, run, text, about)
    reported(neurolens, run, tmp_path / "out")
    return tmp_path / "out/report.html"


def test_html_with_notes_is_valid(full_page, validator, tmp_path):
    assert faults(validator, full_page, tmp_path) == []


ODD = ["a  \nb", "---", "#", "[](https://example.com)", "1) a\n\n3) b", "-\n-", ">", "# a\n\n###### b", "``` \n```", "**", "[a]: b"]


@pytest.mark.parametrize("text", ODD)
def test_html_with_odd_markdown_is_valid(long_place, validator, tmp_path, text):
    check_long(long_place, tmp_path, text)
    assert faults(validator, tmp_path / "out/report.html", tmp_path) == []


def test_html_with_hostile_notes_is_valid(hostile, validator, tmp_path):
    assert faults(validator, hostile[0] / "report.html", tmp_path) == []


@pytest.mark.parametrize("width", [1440, 390])
def test_hostile_notes_do_nothing_in_a_browser(hostile, browser, width):
    path = hostile[0] / "report.html"
    seen, requests, messages = look_at(browser, path, width)
    assert requests == [path.as_uri()] and messages == []
    assert seen["width"] <= seen["inner"] == width


DEEP = {
    "quotes": ">" * 60 + " deep", "lists": "- " * 60 + "deep", "a word": "x" * 5000, "code": "`" + "y" * 5000 + "`",
    "a line of code": "```\n" + "z " * 5000 + "\n```", "a word of code": "```\n" + "z" * 5000 + "\n```",
}  # fmt: skip


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_a_note_does_not_widen_the_page(long_place, browser, tmp_path, text):
    check_long(long_place, tmp_path, text)
    for width in (1440, 390):
        seen, _, _ = look_at(browser, tmp_path / "out/report.html", width)
        assert seen["width"] <= seen["inner"] == width


def test_notes_look_well(full_page, browser, tmp_path):
    """Nothing sticks out of its card. NEUROLENS_PICTURE=FILE keeps a picture of the chapter."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto(full_page.as_uri())
    page.locator("#notes").screenshot(path=os.environ.get("NEUROLENS_PICTURE", tmp_path / "notes.png"))
    out = page.evaluate("""() => [...document.querySelectorAll('#notes article')].flatMap(card => {
        const edge = card.getBoundingClientRect();
        return [...card.querySelectorAll('*')].map(e => e.getBoundingClientRect())
            .filter(r => r.width > 0 && (r.left < edge.left || r.right > edge.right + 1 || r.bottom > edge.bottom + 1))})""")
    assert out == []
    assert page.locator("#notes article").count() == 5
    page.close()


def test_notes_are_no_figures(neurolens, noted_run, tmp_path):
    files = reported(neurolens, noted_run, tmp_path / "out")
    path = tmp_path / "out/report.json"
    for change in (
        lambda: add(neurolens, noted_run, "more", "span:0"),
        lambda: edit(neurolens, noted_run, 1, "changed"),
        lambda: [remove(neurolens, noted_run, number) for number in numbers_of(neurolens, noted_run)],
    ):
        assert neurolens("report", "--verify", path, "--json").data["verified"] is True
        change()
    assert neurolens("report", "--verify", path, "--json").data["verified"] is True
    old = json.loads(files["report.json"])
    del old["notes"]
    path.write_text(json.dumps(old))
    add(neurolens, noted_run, "again")
    assert neurolens("report", "--verify", path, "--json").data["verified"] is True, "a report of an older version has no notes"


def test_reports_of_the_same_notes_are_equal_everywhere(neurolens, noted_run, tmp_path):
    add(neurolens, noted_run, RICH)
    first = reported(neurolens, noted_run, tmp_path / "first")
    assert reported(neurolens, noted_run, tmp_path / "second") == first
    elsewhere = Neurolens(neurolens.ledger, {"TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "USER": "somebody"})
    assert reported(elsewhere, noted_run, tmp_path / "third") == first


# ---- What goes along


def test_state_goes_to_an_empty_ledger_with_notes_subjects_and_history(neurolens, two_runs, tmp_path):
    run, second = two_runs
    add(neurolens, run, "one", f"kernel:{KERNEL}")
    add(neurolens, run, "two\nlines")
    add(neurolens, run, "same", "span:0")
    add(neurolens, run, "same", "span:1")
    edit(neurolens, run, 1, "one again")
    edit(neurolens, run, 1, "one at last")
    edit(neurolens, second, add(neurolens, second, "of the other")["note"], "of the other, changed")
    check_moved(neurolens, two_runs, tmp_path)


def check_moved(neurolens, runs, tmp_path):
    exported = neurolens("state", "export").out
    (tmp_path / "state.jsonl").write_text(exported)
    other = Neurolens(tmp_path / "moved")
    for run in runs:
        shutil.copytree(neurolens.bundle(run), other.bundle(run))
    other("gc", "--reindex")
    count = len(exported.splitlines())
    assert {"note", "past_note"} <= {json.loads(line)["record"] for line in exported.splitlines()}
    assert other("state", "import", tmp_path / "state.jsonl", "--json").data == {"records": count, "added": count}
    for run in runs:
        assert neurolens_data(other, run) == neurolens_data(neurolens, run)
    assert other("state", "export").out == exported
    assert other("state", "import", tmp_path / "state.jsonl", "--json").data["added"] == 0, "again changes nothing"
    for run in runs:
        assert neurolens_data(other, run) == neurolens_data(neurolens, run)
    return other


def test_numbers_go_along_with_the_state(neurolens, small_run, tmp_path):
    """The history speaks of them: a number that means another note there makes it wrong."""
    for text in ("a", "b", "c", "d"):
        add(neurolens, small_run, text, "span:0")
    remove(neurolens, small_run, 2)
    edit(neurolens, small_run, 3, "c again")
    remove(neurolens, small_run, 4)
    other = check_moved(neurolens, [small_run], tmp_path)
    assert add(other, small_run, "e")["note"] == 5


def test_an_older_state_does_not_bring_back_what_was_changed(neurolens, small_run, tmp_path):
    """The history knows the text that the backup still has."""
    add(neurolens, small_run, "old", "span:0")
    path = tmp_path / "state.jsonl"
    path.write_text(neurolens("state", "export").out)
    edit(neurolens, small_run, 1, "new")
    neurolens("state", "import", path)
    assert texts_of(neurolens, small_run) == ["new"]


def test_a_repaired_state_has_all_of_the_notes(neurolens, noted_run):
    remove(neurolens, noted_run, add(neurolens, noted_run, "in between")["note"])
    add(neurolens, noted_run, "the last", "span:0")
    before = neurolens_data(neurolens, noted_run)
    path = neurolens.ledger / "state.sqlite"
    with sqlite3.connect(path) as state:
        (page,) = state.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'tombstones'").fetchone()
        (size,) = state.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * 64)
    assert neurolens("state", "export", code=None).code != OK, "it is damaged"
    neurolens("state", "repair")
    assert neurolens_data(neurolens, noted_run) == before


@pytest.mark.parametrize("record", [
    {"record": "note_subject", "run_id": "0" * 64, "written_at_ns": 1, "text": "x"},
    {"record": "note_subject", "run_id": "no id", "written_at_ns": 1, "text": "x", "about": "span:0"},
    {"record": "past_note", "run_id": "0" * 64, "note_id": "1", "written_at_ns": 1, "user": "u", "text": "x", "about": "", "until_ns": 2,
     "until_user": "u"},
    {"record": "past_note", "run_id": "0" * 64, "note_id": 1, "written_at_ns": 1, "user": "u", "text": "x", "about": "", "until_ns": 2},
])  # fmt: skip
def test_bad_records_of_notes_are_not_imported(neurolens, noted_run, tmp_path, record):
    path = tmp_path / "state.jsonl"
    path.write_text(json.dumps(record) + "\n")
    before = neurolens("state", "export").out
    assert error_of(neurolens("state", "import", path, "--json", code=BAD_INPUT))["code"] == "bad_input"
    assert neurolens("state", "export").out == before


def packed(neurolens, run, path, *options):
    neurolens("export", run, "--format", "nlz", "--output", path, *options)
    return path


def test_a_packed_run_takes_the_texts_along(neurolens, noted_run, tmp_path):
    path = packed(neurolens, noted_run, tmp_path / "a.nlz")
    other = Neurolens(tmp_path / "other")
    assert [one["text"] for one in other("show", path, "--json").data["notes"]] == ["two", "other"]
    other("import", path)
    assert texts_of(other, noted_run) == ["two", "other"] and history_of(other, noted_run) == []
    other("import", path)
    assert texts_of(other, noted_run) == ["two", "other"], "not twice"


def test_a_packed_run_can_leave_the_notes_at_home(neurolens, noted_run, tmp_path):
    path = packed(neurolens, noted_run, tmp_path / "a.nlz", "--without", "notes")
    other = Neurolens(tmp_path / "other")
    assert other("show", path, "--json").data["notes"] == []
    other("import", path)
    assert notes_of(other, noted_run) == []
    assert 'id="notes"' not in reported(other, path, tmp_path / "out")["report.html"]


@pytest.mark.parametrize("known", [False, True])
def test_a_report_of_a_packed_run_shows_its_notes_once(neurolens, noted_run, tmp_path, known):
    """Who wrote them and when is not in the file: the report does not make it up."""
    path = packed(neurolens, noted_run, tmp_path / "a.nlz")
    files = reported(neurolens if known else Neurolens(tmp_path / "other"), path, tmp_path / "out")
    section = section_of(files, "report.html")
    assert section.count("<p>two</p>") == section.count("<p>other</p>") == 1
    for name in ("report.html", "report.md"):
        text = section_of(files, name)
        assert "1970" not in text and not re.search(r'(^|">|\n), ', text), text
    check_harmless(files)


def test_a_redacted_run_has_no_notes(neurolens, noted_run, tmp_path):
    for text in ("the secret sentence", "# secret heading"):
        add(neurolens, noted_run, text, f"kernel:{KERNEL}")
    path = packed(neurolens, noted_run, tmp_path / "a.nlz", "--redact")
    other = Neurolens(tmp_path / "other")
    assert other("show", path, "--json").data["notes"] == []
    run = other.import_file(path)["run_id"]
    assert neurolens_data(other, run) == {"run_id": run, "notes": [], "past_notes": []}
    assert 'id="notes"' not in reported(other, path, tmp_path / "out")["report.html"]
    for form in ("chrome", "perfetto"):
        neurolens("export", noted_run, "--format", form, "--redact", "--output", tmp_path / form)
        assert b"secret" not in (tmp_path / form).read_bytes()
