"""Documents of older versions: bundles from version 1 of run.json on, run files from version 1 on; and whole ledgers of older releases,
which are read as they are, written to, and taken back."""

import contextlib
import json
import pathlib
import re
import shutil
import sqlite3
import tarfile

import pytest

import trace_text
from conftest import BAD_INPUT, REPOSITORY, Neurolens
from test_ledger_limits import ReadOnlyMount, contents

FIXTURES = REPOSITORY / "tests/fixtures"
BUNDLES = sorted(FIXTURES.glob("run_[0-9]*"))
BUNDLES = [path for path in BUNDLES if path.is_dir()]
RUN_FILES = sorted(FIXTURES.glob("run_file_[0-9]*.json"))
# Of tests/fixtures/make_ledger: 0.1, and main-5 of commit 314951c, whose state is of version 5 and has checksums.
LEDGERS = sorted(FIXTURES.glob("ledger_*.tar.xz"))


def test_version_one_is_kept():
    assert json.loads((FIXTURES / "run_1/run.json").read_text())["schema"] == "neurolens.run/1"
    assert json.loads((FIXTURES / "run_file_1.json").read_text())["schema"] == "neurolens.run-file/1"


@pytest.fixture(params=BUNDLES, ids=lambda path: path.name)
def old_bundle(request, tmp_path):
    return shutil.copytree(request.param, tmp_path / "old")


def test_old_bundle_by_its_folder(neurolens, old_bundle):
    before = (old_bundle / "run.json").read_bytes()
    assert "gemm_64x64" in neurolens("show", old_bundle).out
    assert neurolens.value(old_bundle, "SELECT sum(dur_ns)::BIGINT FROM kernels") == 342250
    assert neurolens("verify", old_bundle, "--json").data["verified"]
    assert neurolens("schema", "validate", old_bundle, "--json").data["valid"]
    exported = json.loads(neurolens("export", old_bundle).out)
    assert exported["summary"]["kernels"] == {"rows": 2, "total_ns": 342250}
    assert (old_bundle / "run.json").read_bytes() == before


def test_old_bundle_in_a_ledger(neurolens, old_bundle):
    run_id = json.loads((old_bundle / "run.json").read_text())["run_id"]
    shutil.copytree(old_bundle, neurolens.bundle(run_id))
    neurolens("gc", "--reindex")
    assert neurolens.run_ids() == [run_id]
    assert neurolens("verify", run_id, "--json").data["verified"]
    assert neurolens.value("@latest", "SELECT count(*) FROM kernels") == 2


def test_old_bundle_equals_a_new_import(neurolens, old_bundle, tmp_path):
    """Facts of the sample have not changed; what describes them differs in the version alone."""
    run_id = neurolens.import_file(REPOSITORY / "samples/kineto_small.json")["run_id"]
    old = json.loads((old_bundle / "run.json").read_text())
    new = json.loads((neurolens.bundle(run_id) / "run.json").read_text())
    assert old["run_id"] == run_id
    for document in (old, new):
        del document["schema"], document["revision"]
    assert old == new


def test_newer_bundle_asks_for_an_update(neurolens, old_bundle):
    document = json.loads((old_bundle / "run.json").read_text())
    document["schema"] = "neurolens.run/99"
    (old_bundle / "run.json").write_text(json.dumps(document))
    for words in (["show", old_bundle], ["query", old_bundle, "SELECT 1"], ["schema", "validate", old_bundle]):
        error = neurolens(*words, "--json", code=BAD_INPUT).envelope["error"]
        assert error["code"] == "unsupported" and "update" in error["hint"]


@pytest.mark.parametrize("path", RUN_FILES, ids=lambda path: path.name)
def test_old_run_file(neurolens, path, tmp_path):
    neurolens("schema", "validate", path)
    run = neurolens.import_file(path)["run_id"]
    assert neurolens.value(run, "SELECT count(*) FROM spans") == 2
    assert neurolens.value(run, "SELECT total_ns FROM layer_times") == 10
    assert neurolens("verify", run, "--json").data["verified"]


def test_newer_run_file_asks_for_an_update(neurolens, tmp_path):
    path = tmp_path / "newer.json"
    path.write_text('{"schema": "neurolens.run-file/2", "tables": {}}')
    for words in (["import", path], ["schema", "validate", path]):
        error = neurolens(*words, "--json", code=BAD_INPUT).envelope["error"]
        assert error["code"] == "unsupported" and "update" in error["hint"]


# ---- Ledgers


class OldLedger:
    """The ledger of a release, unpacked, and what that release answered."""

    def __init__(self, packed, folder):
        with tarfile.open(packed) as archive:
            archive.extractall(folder, filter="data")
        self.neurolens = Neurolens(folder / "ledger")
        self.folder = folder / "ledger"
        self.state = folder / "ledger/state.sqlite"
        self.exported = records((folder / "state.jsonl").read_text())
        self.original = shutil.copy(self.state, folder / "original.sqlite")
        self.answers = {path.stem: json.loads(path.read_text())["data"] for path in sorted((folder / "answers").glob("*.json"))}
        self.runs = [run["run_id"] for run in self.answers["runs"]["runs"]]

    def of(self, what, run):
        return self.answers[f"{what}.{run[:12]}"]

    @property
    def kept(self):
        """Where the state of before lies after the first write."""
        return self.state.with_name(f"state.sqlite.v{version_of(self.original)}")


def has_older_state(packed):
    """Is the state of an older version than ours?"""
    (ours,) = re.findall(r"kStateVersion = (\d+);", (REPOSITORY / "src/store/state.cpp").read_text())
    with tarfile.open(packed) as archive:
        head = archive.extractfile("ledger/state.sqlite").read(100)
    return int.from_bytes(head[60:64], "big") < int(ours)  # user_version


def name_of(packed):
    return packed.name.removesuffix(".tar.xz")


@pytest.fixture(params=LEDGERS, ids=name_of)
def old(request, tmp_path):
    return OldLedger(request.param, tmp_path)


@pytest.fixture(params=filter(has_older_state, LEDGERS), ids=name_of)
def older(request, tmp_path):
    """Such a ledger whose state the first write changes."""
    return OldLedger(request.param, tmp_path)


def records(text):
    """Of `state export`."""
    return [json.loads(line) for line in text.splitlines()]


def lacks(neurolens, exported):
    """Records that the state has no more; members of a record may be new."""
    now = records(neurolens("state", "export").out)
    return [one for one in exported if not any(one.items() <= other.items() for other in now)]


def version_of(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as state:
        return state.execute("PRAGMA user_version").fetchone()[0]


def tables_of(path):
    """All rows of all tables, by the name of the table, with how they were declared."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as state:
        assert state.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        declared = state.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        return {name: (sql, sorted(state.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)) for name, sql in declared}


def known_part(new, old):
    """Of a new answer that which the old one has, too: members are only added."""
    if isinstance(old, dict) and isinstance(new, dict):
        return {key: known_part(new[key], value) for key, value in old.items() if key in new}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [known_part(*pair) for pair in zip(new, old)]
    return new


def all_answers(neurolens, runs):
    """What can be read of these runs, by what was asked."""
    listed = neurolens("runs", "--limit", "1000", "--json").data["runs"]
    answers = {
        "runs": [run for run in listed if run["run_id"] in runs],
        "baselines": neurolens("baseline", "--json").data,
        "findings": neurolens("findings", "--json").data,
        "compare": neurolens("compare", runs[-1], runs[-2], "--json").data,
        "trend": neurolens("trend", "--metric", "total_time", "--where", "model=toy", "--json").data,
    }
    for run in runs:
        for verb in ("show", "analyze", "note", "label", "tag", "verify", "lint", "fingerprint"):
            answers[f"{verb}.{run[:12]}"] = neurolens(verb, run, "--json").data
        answers[f"kernels.{run[:12]}"] = neurolens.rows(run, "SELECT * FROM kernels ORDER BY kernel_id")
        answers[f"export.{run[:12]}"] = json.loads(neurolens("export", run).out)
    return answers


LATER = "later"


def write_to(old):
    """A note, a label and an import; the id of what was imported."""
    old.neurolens("note", old.runs[0], LATER)
    old.neurolens("label", old.runs[0], f"{LATER}=yes")
    path = old.folder.parent / "later.json"
    path.write_text(trace_text.trace_text(1, 7))
    return old.neurolens.import_file(path, "--set", "model=later")["run_id"]


def without_later(answer):
    """An answer without that note and that label."""
    if isinstance(answer, dict):
        return {key: without_later(value) for key, value in answer.items() if key != LATER}
    if isinstance(answer, list):
        return [without_later(one) for one in answer if not (isinstance(one, dict) and LATER in (one.get("key"), one.get("text")))]
    return answer


def go_back(old):
    """As docs/server.md says."""
    for suffix in ("-wal", "-shm", "-journal"):
        pathlib.Path(f"{old.state}{suffix}").unlink(missing_ok=True)
    shutil.move(old.kept, old.state)
    assert version_of(old.state) == version_of(old.original) and tables_of(old.state) == tables_of(old.original)
    (old.folder / "index.sqlite").unlink()
    old.neurolens("gc", "--reindex")


def test_the_ledger_of_the_first_release_is_kept():
    assert FIXTURES / "ledger_0.1.tar.xz" in LEDGERS


def test_old_ledger_says_what_it_said(old):
    """Facts, labels, notes and the rest are those that the release showed."""
    neurolens = old.neurolens
    runs = neurolens("runs", "--limit", "1000", "--json").data
    assert known_part(runs, old.answers["runs"]) == old.answers["runs"]
    baselines = neurolens("baseline", "--json").data
    assert known_part(baselines, old.answers["baselines"]) == old.answers["baselines"]
    findings = neurolens("findings", "--json").data
    assert known_part(findings, old.answers["findings"]) == old.answers["findings"]
    for run in old.runs:
        for verb in ("note", "label", "tag"):
            answer = neurolens(verb, run, "--json").data
            assert known_part(answer, old.of(verb, run)) == old.of(verb, run), (verb, run)
        assert neurolens("verify", run, "--json").data["verified"] and old.of("verify", run)["verified"]
        shown, before = neurolens("show", run, "--json").data, old.of("show", run)
        for key in ("run_id", "kernels", "top_kernels", "window_ns"):
            assert key not in before or known_part(shown[key], before[key]) == before[key], (key, run)
        sql = "SELECT name, count(*) AS n, sum(dur_ns)::BIGINT AS ns FROM kernels GROUP BY name ORDER BY name"
        assert neurolens("query", run, sql, "--json").data["rows"] == old.of("kernels", run)["rows"]


def test_old_ledger_is_read_and_its_facts_stay(old):
    """Reading may raise the version of the state, makes the index anew, and derived tables, which belong to a version."""

    def facts():
        files = contents(old.folder / "runs")
        return {name: data for name, data in files.items() if "/derived/" not in f"/{name}"}

    before = facts()
    all_answers(old.neurolens, old.runs)
    old.neurolens("report", old.runs[0], "--output", old.folder.parent / "report")
    assert not lacks(old.neurolens, old.exported)
    assert facts() == before


def test_old_ledger_on_a_read_only_file_system(old):
    before = contents(old.folder)
    with ReadOnlyMount(old.folder, old.folder.parent / "mounted") as target:
        answers = all_answers(Neurolens(target), old.runs)
        assert not lacks(Neurolens(target), old.exported)
    assert contents(old.folder) == before
    writable = all_answers(old.neurolens, old.runs)
    for name in answers | writable:
        assert answers[name] == writable[name], name


def test_old_ledger_is_written_to(old):
    """Everything of before is still there, with the same answers."""
    before = all_answers(old.neurolens, old.runs)
    later = write_to(old)
    after = all_answers(old.neurolens, old.runs)
    first = old.runs[0][:12]
    assert after[f"note.{first}"]["notes"][-1]["text"] == LATER and LATER in str(after[f"label.{first}"])
    assert after.keys() == before.keys()
    for name in before:
        assert without_later(after[name]) == before[name], name
    assert not lacks(old.neurolens, old.exported)
    assert old.neurolens("verify", later, "--json").data["verified"]
    assert later in old.neurolens.run_ids() and set(old.runs) < set(old.neurolens.run_ids())


def test_the_state_of_before_is_kept(older):
    """The first write that raises the version keeps the state as it was; no later write touches that file."""
    older.neurolens("note", older.runs[0], LATER)
    assert version_of(older.state) > version_of(older.original)
    assert version_of(older.kept) == version_of(older.original)
    assert tables_of(older.kept) == tables_of(older.original)
    assert older.kept.stat().st_mode & 0o777 == 0o600, "it has keys and notes"
    kept = older.kept.read_bytes()
    write_to(older)
    older.neurolens("gc")
    older.neurolens("gc", "--reindex")
    assert older.kept.read_bytes() == kept
    assert [path.name for path in older.folder.glob("state.sqlite.*")] == [older.kept.name]


def test_a_new_ledger_keeps_nothing(neurolens, small_run):
    neurolens("note", small_run, "x")
    assert not list(neurolens.ledger.glob("state.sqlite.*"))


def test_back_to_the_state_of_before(older):
    """Put back, it is the old state; the run that was imported since is there, without what was said of it."""
    before = all_answers(older.neurolens, older.runs)
    later = write_to(older)
    go_back(older)
    assert all_answers(older.neurolens, older.runs) == before
    assert not lacks(older.neurolens, older.exported)
    (run,) = (run for run in older.neurolens.runs() if run["run_id"] == later)
    assert "model" not in run["labels"] and run["kernels"] > 0


def test_forward_again(older):
    """After going back the next write keeps the state once more."""
    write_to(older)
    go_back(older)
    older.neurolens("tag", older.runs[0], "again")
    assert version_of(older.kept) == version_of(older.original) and tables_of(older.kept) == tables_of(older.original)
    assert "again" in older.neurolens("tag", older.runs[0], "--json").data["tags"]


def test_several_write_first(older):
    """Whoever is first raises the version; the file that is kept is of before, whoever wrote it."""
    started = [older.neurolens.start("note", older.runs[0], f"writer {number}") for number in range(6)]
    for process in started:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert version_of(older.kept) == version_of(older.original) and tables_of(older.kept) == tables_of(older.original)
    assert [path.name for path in older.folder.glob("state.sqlite.*")] == [older.kept.name]
    notes = {one["text"] for one in older.neurolens("note", older.runs[0], "--json").data["notes"]}
    assert {f"writer {number}" for number in range(6)} <= notes


def test_the_newest_state_of_before_is_kept(older):
    """Whatever lies there from another time: going back twice must not bring back the first state."""
    older.kept.write_bytes(b"of another time")
    older.neurolens("note", older.runs[0], LATER)
    assert tables_of(older.kept) == tables_of(older.original)
