"""Labels, tags, notes and baselines: where a value comes from, which one counts, and what survives."""

import json
import os
import random
import sqlite3
import subprocess
import time

import pytest

from conftest import BAD_INPUT, BINARY, OK, sha256_of, write_run_document
from sqlite_pages import edited_sqlite


def error_of(result):
    return result.envelope["error"]


def labels_of(neurolens, run):
    """{key: (value that counts, [(origin, value), ...])}"""
    listed = neurolens("label", run, "--json").data["labels"]
    return {one["key"]: (one["value"], [(o["origin"], o["value"]) for o in one["origins"]]) for one in listed}


def give_source_labels(neurolens, run_id, labels):
    """Writes what a source would say into run.json, and tells the ledger, as a refresh would."""
    path = neurolens.bundle(run_id) / "run.json"
    document = json.loads(path.read_text())
    document["labels"] = labels
    write_run_document(neurolens.bundle(run_id), document)
    with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
        state.execute("UPDATE receipts SET document_sha256 = ? WHERE run_id = ?", (sha256_of(path), run_id))
    neurolens("gc", "--reindex")


# ---- Setting, replacing, removing


def test_label_and_list(neurolens, small_run):
    neurolens("label", small_run, "model=llama-3-8b", "batch=8", "note.of=größe = 1")
    labels = labels_of(neurolens, small_run)
    assert labels["model"] == ("llama-3-8b", [("user", "llama-3-8b")])
    assert labels["batch"][0] == "8"
    assert labels["note.of"][0] == "größe = 1", "only the first = divides"
    assert labels["engine"] == ("pytorch", [("source", "pytorch")])
    shown = neurolens("show", small_run, "--json").data
    assert {one["key"]: one["value"] for one in shown["labels"]}["model"] == "llama-3-8b"
    assert "model=llama-3-8b" in neurolens("show", small_run).out


def test_replaced_and_removed_values_are_history(neurolens, small_run):
    neurolens("label", small_run, "model=one")
    neurolens("label", small_run, "model=two")
    data = neurolens("label", small_run, "model=", "--json").data
    assert "model" not in {one["key"] for one in data["labels"]}
    assert [(past["key"], past["value"]) for past in data["past_labels"]] == [("model", "one"), ("model", "two")]
    for past in data["past_labels"]:
        assert past["until_ns"] > past["set_at_ns"] > 0
        assert past["user"] and past["until_user"]


def test_removing_what_is_not_there(neurolens, small_run, small_trace):
    assert error_of(neurolens("label", small_run, "model=", "--json", code=BAD_INPUT))["code"] == "not_found"
    neurolens.import_file(small_trace, "--set", "model=x")
    error = error_of(neurolens("label", small_run, "model=", "--json", code=BAD_INPUT))
    assert error["code"] == "not_found" and "import" in error["message"]


def test_all_or_nothing(neurolens, small_run):
    neurolens("label", small_run, "model=a", "engine=other", code=BAD_INPUT)
    assert "model" not in labels_of(neurolens, small_run)


@pytest.mark.parametrize(
    "label, code",
    [
        ("model", "bad_input"),
        ("=x", "bad_input"),
        ("Model=x", "bad_input"),
        ("1st=x", "bad_input"),
        ("a" * 65 + "=x", "bad_input"),
        ("format=x", "bad_input"),
        ("tag=x", "bad_input"),
        ("a b=x", "bad_input"),
        ("a=" + "x" * 1025, "limit"),
        ("a=line\nbreak", "bad_input"),
        ("a=\x1b[31m", "bad_input"),
        ("a=\udcff", "bad_input"),
    ],
)
def test_limits_of_labels(neurolens, small_run, label, code):
    error = error_of(neurolens("label", small_run, label, "--json", code=BAD_INPUT))
    assert error["code"] == code and error["hint"]


def test_longest_label(neurolens, small_run):
    key, value = "k" * 64, "ü" * 512
    neurolens("label", small_run, f"{key}={value}")
    assert labels_of(neurolens, small_run)[key][0] == value


def test_number_of_labels_is_limited(neurolens, small_run):
    neurolens("label", small_run, *[f"k{i}=x" for i in range(256)])
    assert error_of(neurolens("label", small_run, "more=x", "--json", code=BAD_INPUT))["code"] == "limit"


# ---- Precedence


def test_source_is_not_overruled_silently(neurolens, small_run):
    error = error_of(neurolens("label", small_run, "engine=vllm", "--json", code=BAD_INPUT))
    assert error["code"] == "conflict"
    assert "engine=pytorch" in error["message"] and "engine=vllm" in error["message"]
    assert "--force" in error["hint"]
    neurolens("label", small_run, "engine=vllm", "--force")
    assert labels_of(neurolens, small_run)["engine"] == ("vllm", [("user", "vllm"), ("source", "pytorch")])
    assert neurolens.runs()[0]["labels"]["engine"] == "vllm"
    assert "source says pytorch" in neurolens("show", small_run).out
    neurolens("label", small_run, "engine=")
    assert labels_of(neurolens, small_run)["engine"][0] == "pytorch"
    assert neurolens.runs()[0]["labels"]["engine"] == "pytorch"


def test_same_value_as_the_source_is_no_conflict(neurolens, small_run):
    neurolens("label", small_run, "engine=pytorch")
    value, origins = labels_of(neurolens, small_run)["engine"]
    assert value == "pytorch" and origins[0] == ("source", "pytorch")


def test_labels_of_the_source(neurolens, small_run):
    give_source_labels(neurolens, small_run, {"model": "from-source"})
    assert labels_of(neurolens, small_run)["model"] == ("from-source", [("source", "from-source")])
    assert neurolens.runs()[0]["labels"]["model"] == "from-source"
    neurolens("label", small_run, "model=mine", code=BAD_INPUT)


def test_source_wins_over_import_with_a_warning(neurolens, small_trace, small_run):
    envelope = neurolens("import", small_trace, "--set", "engine=my engine", "--json").envelope
    (warning,) = envelope["warnings"]
    assert "engine=pytorch" in warning and "--force" in warning
    assert labels_of(neurolens, small_run)["engine"] == ("pytorch", [("source", "pytorch"), ("import", "my engine")])
    command = warning[warning.index("neurolens label") :].replace("neurolens", str(BINARY), 1)
    done = subprocess.run(["bash", "-c", f'{command} --ledger "{neurolens.ledger}"'], capture_output=True)
    assert done.returncode == OK, done.stderr
    assert labels_of(neurolens, small_run)["engine"][0] == "my engine"


def test_later_act_of_a_person_wins(neurolens, small_trace, tmp_path):
    (tmp_path / "neurolens.yaml").write_text("labels: {batch: 1}")
    run = neurolens.import_file(small_trace)["run_id"]
    assert labels_of(neurolens, run)["batch"] == ("1", [("sidecar", "1")])
    neurolens.import_file(small_trace, "--set", "batch=2")
    assert labels_of(neurolens, run)["batch"][0] == "2"
    neurolens("label", run, "batch=3")
    assert labels_of(neurolens, run)["batch"][0] == "3"
    neurolens.import_file(small_trace, "--set", "batch=2")
    assert labels_of(neurolens, run)["batch"] == ("2", [("import", "2"), ("user", "3"), ("sidecar", "1")])
    neurolens.import_file(small_trace)
    assert labels_of(neurolens, run)["batch"][0] == "2", "the sidecar alone changes nothing"


# ---- import --set and the sidecar


def test_set_before_the_file(neurolens, small_trace):
    """The option takes one value, the file stays an argument."""
    run = neurolens("import", "--set", "model=a", "--set", "batch=4", small_trace, "--json").data["run_id"]
    assert {k: v[0] for k, v in labels_of(neurolens, run).items()} == {"batch": "4", "engine": "pytorch", "model": "a"}


def test_bad_set_imports_nothing(neurolens, small_trace):
    assert error_of(neurolens("import", small_trace, "--set", "Bad=x", "--json", code=BAD_INPUT))["code"] == "bad_input"
    neurolens("import", small_trace, "--set", "a=1", "--set", "a=2", code=BAD_INPUT)
    assert neurolens.runs() == []


def test_run_id_does_not_depend_on_labels(neurolens, small_trace, tmp_path):
    other = type(neurolens)(tmp_path / "other")
    plain = neurolens.import_file(small_trace)
    (tmp_path / "neurolens.yaml").write_text("labels: {model: x}\ntags: [t]\nnote: n\n")
    labelled = other.import_file(small_trace, "--set", "batch=1")
    assert plain["run_id"] == labelled["run_id"]
    assert neurolens.files(plain["run_id"]) == other.files(plain["run_id"])


def test_sidecars_are_named_and_can_be_left_out(neurolens, small_trace, tmp_path):
    sidecar = tmp_path / "neurolens.yaml"
    sidecar.write_text("labels: {model: x}")
    left_out = neurolens.import_file(small_trace, "--no-sidecar")
    assert "sidecars" not in left_out and "model" not in labels_of(neurolens, left_out["run_id"])
    assert neurolens.import_file(small_trace)["sidecars"] == [str(sidecar)]
    assert labels_of(neurolens, left_out["run_id"])["model"][0] == "x"
    assert f"labels of {sidecar}" in neurolens("import", small_trace).out


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give files away")
def test_a_sidecar_of_another_user_is_not_taken(neurolens, small_trace, tmp_path):
    """In a folder like /tmp anybody can lay one beside a profile; a broken one must not stop the import."""
    sidecar = tmp_path / "neurolens.yaml"
    for text in ("labels: {model: x}\ntags: [release]", "labels: ["):
        sidecar.write_text(text)
        os.chown(sidecar, 65534, 65534)
        result = neurolens("import", small_trace, "--json").envelope
        assert "sidecars" not in result["data"]
        assert any(str(sidecar) in warning and "another user" in warning for warning in result["warnings"])
    run = neurolens.run_ids()[0]
    assert "model" not in labels_of(neurolens, run)
    link = tmp_path / "small.json.neurolens.yaml"
    own = tmp_path / "own.yaml"
    own.write_text("labels: {model: x}")
    link.symlink_to(own)
    os.lchown(link, 65534, 65534)
    neurolens("import", small_trace)
    assert "model" not in labels_of(neurolens, run)


def test_sidecar_of_the_folder_and_of_the_file(neurolens, small_trace, tmp_path):
    (tmp_path / "neurolens.yaml").write_text(
        "# for all\nlabels:\n  model: llama-3-8b\n  batch: 8\n  share: 0.5\n  quoted: 'yes'\ntags: [nightly]\nnote: |\n  two\n  lines\n"
    )
    (tmp_path / "small.json.neurolens.yaml").write_text("labels: {batch: 16}\ntags: [special]\n")
    run = neurolens.import_file(small_trace)["run_id"]
    values = {key: value for key, (value, _) in labels_of(neurolens, run).items()}
    assert values == {"batch": "16", "engine": "pytorch", "model": "llama-3-8b", "quoted": "yes", "share": "0.5"}
    assert neurolens("tag", run, "--json").data["tags"] == ["nightly", "special"]
    (note,) = neurolens("note", run, "--json").data["notes"]
    assert note["text"] == "two\nlines"
    (tmp_path / "small.json.neurolens.yaml").unlink()
    (tmp_path / "neurolens.yaml").write_text("labels: {model: other}\nnote: |\n  two\n  lines\n")
    neurolens.import_file(small_trace)
    assert labels_of(neurolens, run)["model"][0] == "other"
    assert "batch" not in labels_of(neurolens, run), "the sidecar no longer says it"
    assert len(neurolens("note", run, "--json").data["notes"]) == 1, "the same note is not written twice"


def test_sidecar_is_taken_along_by_show(neurolens, small_trace, tmp_path):
    (tmp_path / "neurolens.yaml").write_text("labels: {model: x}")
    assert "model=x" in neurolens(small_trace).out


BAD_SIDECARS = {
    "unknown key": ("labels: {a: b}\n\nlable: {c: d}\n", ":3:", "lable"),
    "alias": ("labels:\n  a: &x 1\n  b: *x\n", ":2:", "anchor"),
    "alias bomb": ("a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", ":1:", ""),
    "label twice": ("labels:\n  a: 1\n  a: 2\n", ":3:", "a"),
    "section twice": ("tags: [a]\ntags: [b]\n", ":2:", "tags"),
    "nested label": ("labels:\n  a: {b: c}\n", ":2:", ""),
    "list as label": ("labels:\n  a: [1]\n", ":2:", ""),
    "empty label": ("labels:\n  a:\n", ":2:", "a"),
    "null label": ("labels:\n  a: ~\n", ":2:", "a"),
    "text as labels": ("labels: model\n", ":1:", "labels"),
    "bad key": ("labels:\n  Model: x\n", ":2:", "Model"),
    "bad tag": ("tags:\n  - a\n  - b c\n", ":3:", "b c"),
    "list on top": ("- a\n", ":1:", ""),
    "two documents": ("labels: {a: b}\n---\nlabels: {a: c}\n", ":2:", "second"),
    "deep": ("[" * 60_000, ":1:", ""),
    "no yaml": ("labels: {a: b\n", "", ""),
    "control character": ('labels: {a: "x\\u001by"}\n', ":1:", ""),
}


@pytest.mark.parametrize("text, line, word", BAD_SIDECARS.values(), ids=BAD_SIDECARS)
def test_bad_sidecar_is_an_error_with_its_line(neurolens, small_trace, tmp_path, text, line, word):
    (tmp_path / "neurolens.yaml").write_text(text)
    begin = time.monotonic()
    error = error_of(neurolens("import", small_trace, "--json", code=BAD_INPUT))
    assert time.monotonic() - begin < 10, "the time grows with more than the text"
    assert error["code"] == "bad_input"
    assert "neurolens.yaml" + line in error["message"] and word in error["message"]
    assert neurolens.runs() == []


def test_sidecar_too_large(neurolens, small_trace, tmp_path):
    (tmp_path / "neurolens.yaml").write_text("#" * (64 * 1024 + 1))
    assert error_of(neurolens("import", small_trace, "--json", code=BAD_INPUT))["code"] == "limit"


def test_sidecar_that_is_a_pipe(neurolens, small_trace, tmp_path):
    os.mkfifo(tmp_path / "neurolens.yaml")
    assert error_of(neurolens("import", small_trace, "--json", code=BAD_INPUT, timeout=20))["code"] == "bad_input"


# ---- Tags, notes, baselines, and names of runs


def test_tags(neurolens, small_run):
    assert neurolens("tag", small_run, "nightly", "gold", "--json").data["tags"] == ["gold", "nightly"]
    assert neurolens("tag", "gold", "--json").data["run_id"] == small_run
    assert neurolens("show", "nightly", "--json").data["run_id"] == small_run
    assert neurolens("tag", small_run, "gold", "--remove", "--json").data["tags"] == ["nightly"]
    assert error_of(neurolens("tag", small_run, "gold", "--remove", "--json", code=BAD_INPUT))["code"] == "not_found"
    assert error_of(neurolens("show", "gold", "--json", code=BAD_INPUT))["code"] == "not_found"
    assert error_of(neurolens("tag", small_run, "a/b", "--json", code=BAD_INPUT))["code"] == "bad_input"


def test_ambiguous_tag_lists_the_candidates(neurolens, make_trace):
    ids = [neurolens.import_file(make_trace(variant))["run_id"] for variant in range(3)]
    for run in ids:
        neurolens("tag", run, "nightly")
    error = error_of(neurolens("show", "nightly", "--json", code=BAD_INPUT))
    assert error["code"] == "bad_input"
    assert all(run[:12] in error["message"] for run in ids)


def test_tag_that_looks_like_an_id(neurolens, make_trace):
    """A text that is a tag of one run and the start of another id is ambiguous."""
    first, second = (neurolens.import_file(make_trace(variant))["run_id"] for variant in range(2))
    neurolens("tag", first, second[:6])
    error = error_of(neurolens("show", second[:6], "--json", code=BAD_INPUT))
    assert first[:12] in error["message"] and second[:12] in error["message"]


def test_notes(neurolens, small_run):
    neurolens("note", small_run, "first")
    notes = neurolens("note", small_run, "second", "--json").data["notes"]
    assert [(n["note"], n["text"]) for n in notes] == [(1, "first"), (2, "second")]
    assert all(n["user"] and n["written_at_ns"] > 0 for n in notes)
    assert [n["text"] for n in neurolens("note", small_run, "--remove", "1", "--json").data["notes"]] == ["second"]
    assert error_of(neurolens("note", small_run, "--remove", "7", "--json", code=BAD_INPUT))["code"] == "not_found"
    assert error_of(neurolens("note", small_run, "x" * 20_000, "--json", code=BAD_INPUT))["code"] == "limit"


def test_baselines(neurolens, make_trace):
    first, second = (neurolens.import_file(make_trace(variant))["run_id"] for variant in range(2))
    assert neurolens("baseline", "--json").data["baselines"] == []
    neurolens("baseline", "main", first)
    assert neurolens("query", "@baseline:main", "SELECT 1").code == OK
    assert neurolens("show", "@baseline:main", "--json").data["run_id"] == first
    neurolens("baseline", "main", second)
    (one,) = neurolens("baseline", "--json").data["baselines"]
    assert (one["name"], one["run_id"]) == ("main", second)
    assert neurolens("baseline", "main", "--remove", "--json").data["baselines"] == []
    assert error_of(neurolens("show", "@baseline:main", "--json", code=BAD_INPUT))["code"] == "not_found"
    assert error_of(neurolens("baseline", "main", "--remove", "--json", code=BAD_INPUT))["code"] == "not_found"


def test_baseline_of_a_run_that_is_gone(neurolens, small_run):
    neurolens("baseline", "main", small_run)
    neurolens.bundle(small_run).rename(neurolens.ledger / "gone")
    assert error_of(neurolens("show", "@baseline:main", "--json", code=BAD_INPUT))["code"] == "not_found"


def test_bundle_outside_the_ledger_cannot_be_labelled(neurolens, small_run, tmp_path):
    other = type(neurolens)(tmp_path / "other")
    error = error_of(other("label", neurolens.bundle(small_run), "a=b", "--json", code=BAD_INPUT))
    assert error["code"] == "not_found"


def test_labelled_run_is_not_dropped(neurolens, make_trace):
    """A run imported on the way that somebody labels is kept by gc."""
    neurolens(make_trace(0))
    neurolens(make_trace(1))
    kept, _ = neurolens.run_ids()
    neurolens("label", kept, "a=b")
    assert neurolens("gc", "--drop-on-the-way", "--json").data["dropped_runs"] == 1
    assert neurolens.run_ids() == [kept]


# ---- State


OLD_STATE = """CREATE TABLE receipts(
    run_id TEXT PRIMARY KEY, imported_at_ns INTEGER NOT NULL, file_names TEXT NOT NULL, command TEXT NOT NULL,
    host TEXT NOT NULL, user TEXT NOT NULL, on_the_way INTEGER NOT NULL, document_sha256 TEXT NOT NULL)"""
OLD_INDEX = """CREATE TABLE runs(
    run_id TEXT PRIMARY KEY, imported_at_ns INTEGER NOT NULL, file_names TEXT NOT NULL, format TEXT NOT NULL,
    backend TEXT NOT NULL, device TEXT NOT NULL, devices INTEGER NOT NULL, records INTEGER NOT NULL,
    dropped INTEGER NOT NULL, kernels INTEGER NOT NULL, bundle_bytes INTEGER NOT NULL, on_the_way INTEGER NOT NULL
  ) WITHOUT ROWID"""


def test_ledger_of_the_first_version_opens(neurolens, small_run):
    """The state of version 0 had receipts only, the index no version: both are brought up to date, nothing is lost."""
    before = neurolens.runs()
    with sqlite3.connect(neurolens.ledger / "state.sqlite") as state:
        receipts = state.execute("SELECT * FROM receipts").fetchall()
    for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "state.sqlite"):
        (neurolens.ledger / name).unlink(missing_ok=True)
    with sqlite3.connect(neurolens.ledger / "state.sqlite") as state:
        state.execute(OLD_STATE)
        state.executemany("INSERT INTO receipts VALUES (?,?,?,?,?,?,?,?)", receipts)
    with sqlite3.connect(neurolens.ledger / "index.sqlite") as index:
        index.execute(OLD_INDEX)
    assert neurolens.runs() == before
    neurolens("verify", small_run)
    neurolens("label", small_run, "a=b")
    with sqlite3.connect(neurolens.ledger / "state.sqlite") as state:
        assert state.execute("SELECT * FROM receipts").fetchall() == receipts
        assert state.execute("PRAGMA user_version").fetchone() == (6,)
        assert state.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_state_of_a_newer_version_is_refused(neurolens, small_run):
    with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
        state.execute("PRAGMA user_version = 99")
    before = (neurolens.ledger / "state.sqlite").read_bytes()
    assert error_of(neurolens("runs", "--json", code=BAD_INPUT))["code"] == "unsupported"
    assert (neurolens.ledger / "state.sqlite").read_bytes() == before


def test_reindex_keeps_labels_and_does_not_touch_state(neurolens, small_run):
    neurolens("label", small_run, "model=x")
    neurolens("tag", small_run, "t")
    before = neurolens.runs(), (neurolens.ledger / "state.sqlite").read_bytes()
    neurolens("gc", "--reindex")
    assert (neurolens.runs(), (neurolens.ledger / "state.sqlite").read_bytes()) == before
    assert before[0][0]["labels"]["model"] == "x" and before[0][0]["tags"] == ["t"]


def test_index_that_is_behind_catches_up(neurolens, small_run):
    """Killed between state and index: the next command brings the index up to date."""
    with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
        state.execute("INSERT INTO labels VALUES (?, 'model', 'user', 'late', 0, 1, 'me')", (small_run,))
        state.execute("UPDATE touched SET change = change + 1")
    assert neurolens.runs()[0]["labels"]["model"] == "late"


def test_two_processes_label_at_once(neurolens, small_run):
    """Nothing is lost, neither of the labels nor of the index."""
    processes = [neurolens.start("label", small_run, f"key{i}={i}", "--quiet") for i in range(16)]
    for process in processes:
        _, error = process.communicate(timeout=60)
        assert process.returncode == OK, error
    labels = neurolens.runs()[0]["labels"]
    assert {key: value for key, value in labels.items() if key != "engine"} == {f"key{i}": str(i) for i in range(16)}


def test_same_key_at_once_keeps_every_value(neurolens, small_run):
    processes = [neurolens.start("label", small_run, f"model={i}", "--quiet") for i in range(12)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == OK
    data = neurolens("label", small_run, "--json").data
    now = [one["value"] for one in data["labels"] if one["key"] == "model"]
    assert sorted(now + [past["value"] for past in data["past_labels"]], key=int) == [str(i) for i in range(12)]
    assert neurolens.runs()[0]["labels"]["model"] == now[0]


@pytest.mark.slow
def test_kill_while_labelling(neurolens, small_run):
    """Whatever the moment: the ledger opens, a label that was confirmed is there, and the index agrees."""
    dice = random.Random(7)
    confirmed, killed = {}, 0
    for i in range(60):
        process = neurolens.start("label", small_run, f"key{i}={i}", "--quiet")
        time.sleep(dice.uniform(0, 0.02))
        process.kill()
        killed += process.wait() != OK
        process.communicate()
        if process.returncode == OK:
            confirmed[f"key{i}"] = str(i)
    assert killed > 5, "no kill met a living process"
    kept = {one["key"]: one["value"] for one in neurolens("label", small_run, "--json").data["labels"]}
    assert confirmed.items() <= kept.items()
    assert neurolens.runs()[0]["labels"] == kept
    before = neurolens.runs()
    neurolens("gc", "--reindex")
    assert neurolens.runs() == before
