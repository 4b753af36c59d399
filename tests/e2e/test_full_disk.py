"""Verbs that read answer when nothing can be written: the disk of the ledger is full."""

import contextlib
import os
import shutil
import sqlite3
import subprocess

import pytest

from conftest import MISSING, OK, Neurolens

INDEX = ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm")

READING = (
    ["runs"],
    ["runs", "--facets"],
    ["show", "RUN"],
    ["analyze", "RUN"],
    ["findings", "RUN"],
    ["verify", "RUN"],
    ["lint", "RUN"],
    ["label", "RUN"],
    ["note", "RUN"],
    ["tag", "RUN"],
    ["baseline"],
    ["metrics"],
    ["rules"],
    ["doctor"],
    ["similar", "RUN"],
    ["fingerprint", "RUN"],
    ["compare", "RUN", "OTHER"],
    ["trend", "duration"],
    ["query", "RUN", "SELECT count(*) AS n FROM kernels"],
    ["query", "RUN", "SELECT op_id, count(*) AS n FROM kernels GROUP BY ALL ORDER BY ALL"],
    ["state", "export"],
)


@pytest.fixture
def full(tmp_path, small_trace, make_trace):
    """A ledger of two runs on a disk of its own; fill() takes the rest of it."""
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", disk], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"a mount is not permitted here: {done.stderr.strip()}")
    ledger = Neurolens(disk / "ledger")
    ledger.run, ledger.other = (ledger.import_file(path)["run_id"] for path in (small_trace, make_trace(3)))
    ledger("label", ledger.run, "model=x")

    def fill():
        with open(disk / "filler", "wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    ledger.fill = fill
    yield ledger
    subprocess.run(["umount", disk], check=True)


def words_of(ledger, arguments):
    return [word.replace("RUN", ledger.run).replace("OTHER", ledger.other) for word in arguments]


def answers(ledger):
    out = {}
    for arguments in READING:
        result = (
            ledger(*words_of(ledger, arguments), "--json", code=None)
            if arguments[:2] != ["state", "export"]
            else ledger(*arguments, code=None)
        )
        out[" ".join(arguments)] = result
    return out


STATES = ("as it is", "nothing derived", "no index", "an index that is behind", "a damaged index", "no measures")


@pytest.mark.parametrize("state", STATES)
def test_reading_from_a_full_disk(full, state):
    before = {name: result.code for name, result in answers(full).items()}
    shutil.rmtree(full.ledger / "fingerprints", ignore_errors=True)
    if state == "nothing derived":
        for path in full.ledger.glob("runs/*/derived"):
            shutil.rmtree(path)
    if state == "no measures":
        for path in full.ledger.glob("runs/*/derived/measures*"):
            shutil.rmtree(path)
    if state in ("no index", "a damaged index"):
        for name in INDEX:
            (full.ledger / name).unlink(missing_ok=True)
    if state == "a damaged index":
        (full.ledger / INDEX[0]).write_bytes(b"no database" * 1000)
    if state == "an index that is behind":
        with contextlib.closing(sqlite3.connect(full.ledger / INDEX[0])) as index:
            index.execute("UPDATE known SET change = 0")
            index.commit()
    full.fill()
    failed = {}
    for name, result in answers(full).items():
        if result.code == before[name]:
            continue
        # Derived tables that cannot be written are said to be missing, with what to do.
        plain = state == "nothing derived" and result.code == MISSING and "the disk is full" in result.out + result.err
        if not plain:
            failed[name] = result
    assert failed == {}
    report = full("report", full.run, "--format", "html", code=None)
    assert report.code == OK or (state == "nothing derived" and "the disk is full" in report.err), report


def test_writing_to_a_full_disk_says_so(full, make_trace):
    full.fill()
    for arguments in (
        ["import", make_trace(9)],
        ["label", full.run, "a=b"],
        ["tag", full.run, "x"],
        ["note", full.run, "x" * 5000],
        ["record", "--silent", "--", "true"],
    ):
        result = full(*arguments, code=None)
        assert result.code == MISSING and "disk" in result.err, (arguments, result)
    assert full.leftovers() == []
    (full.ledger.parent / "filler").unlink()
    assert full("label", full.run, "a=b").code == OK
    assert full("verify", full.run, "--json").data["verified"]


def test_a_run_that_cannot_be_deleted_stays_whole(full):
    """Its files go aside first: they must come back when the state cannot be written."""
    full.fill()
    full("delete", full.run, "--reason", "a test", code=MISSING)
    full("verify", full.run, code=OK)
    (full.ledger.parent / "filler").unlink()
    full("delete", full.run, "--reason", "a test", code=OK)
    assert full.run_ids() == [full.other]


def test_a_deletion_that_was_killed_half_way_is_undone(neurolens, small_run):
    """The files are aside, the state still knows the run: the next clearing up brings them back."""
    aside = neurolens.ledger / "staging" / "killed"
    aside.mkdir(parents=True)
    aside.with_name("killed.lock").touch()
    (neurolens.ledger / "runs" / small_run).rename(aside / "dropped")
    neurolens("gc")
    neurolens("verify", small_run, code=OK)
    assert not aside.exists()


def listed(ledger):
    return sorted(run["run_id"] for run in ledger("runs", "--json").data["runs"])


@pytest.mark.parametrize("left_kb", [*range(0, 160, 8), *range(160, 1200, 80)])
def test_an_import_that_fails_leaves_no_run_that_no_list_shows(full, make_trace, left_kb):
    full.fill()
    filler = full.ledger.parent / "filler"
    os.truncate(filler, filler.stat().st_size - (left_kb << 10))
    code = full("import", make_trace(4), code=None).code
    filler.unlink()
    before = listed(full)
    assert code != OK or len(before) == 3
    full("gc", "--reindex")
    assert listed(full) == before


def test_gc_lists_a_run_whose_import_was_killed_before_its_receipt(full, tmp_path, make_trace):
    other = Neurolens(tmp_path / "other")
    run = other.import_file(make_trace(5))["run_id"]
    shutil.copytree(other.ledger / "runs" / run, full.ledger / "runs" / run)
    assert run not in listed(full)
    full("gc")
    assert run in listed(full)


def killed_before_its_receipt(ledger, elsewhere, trace):
    """What an import leaves that is killed between the files of its run and the receipt; the run's id."""
    run = elsewhere.import_file(trace)["run_id"]
    aside = ledger.ledger / "staging" / "killed"
    (aside / "temp").mkdir(parents=True)
    aside.with_name("killed.lock").touch()
    shutil.copytree(elsewhere.ledger / "runs" / run, ledger.ledger / "runs" / run)
    return run


def test_whoever_comes_next_lists_a_run_whose_import_was_killed_before_its_receipt(neurolens, tmp_path, make_trace):
    run = killed_before_its_receipt(neurolens, Neurolens(tmp_path / "other"), make_trace(5))
    assert run in listed(neurolens)
    assert neurolens.leftovers() == []
    assert neurolens("doctor", "--json").code == OK


def test_that_run_is_listed_later_if_the_disk_was_full(full, tmp_path, make_trace):
    run = killed_before_its_receipt(full, Neurolens(tmp_path / "other"), make_trace(5))
    full.fill()
    full("gc", code=None)
    assert full.leftovers() != []
    (full.ledger.parent / "filler").unlink()
    assert run in listed(full)
    assert full.leftovers() == []
