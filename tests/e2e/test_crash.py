"""An import that is killed at any moment leaves nothing half-visible."""

import random
import re
import shutil
import time

import pytest

from conftest import FULL

KILLS = 50 if FULL else 20
MOST_TRIES = 3 * KILLS
LAST_SECONDS = 0.050
AFTER_RUN_JSON_SECONDS = 0.015  # the bundle is complete, but perhaps not published or recorded


def seconds_of_an_import(neurolens, path):
    start = time.monotonic()
    neurolens("import", path, "--refresh", "--quiet")
    return time.monotonic() - start


def wait_for_run_json(neurolens, process):
    """Until the import has written its run.json aside, or is over."""
    while process.poll() is None and not any(neurolens.ledger.glob("staging/*/bundle/run.json")):
        time.sleep(0.0005)


def kill_moment(dice, whole_seconds):
    """(waits for run.json, seconds to wait after that): anywhere, near the end, or when the bundle is complete."""
    kind = dice.choice(["anywhere", "anywhere", "near the end", "after run.json"])
    if kind == "after run.json":
        return True, dice.uniform(0, AFTER_RUN_JSON_SECONDS)
    if kind == "near the end":
        return False, whole_seconds - dice.uniform(0, LAST_SECONDS)
    return False, dice.uniform(0, whole_seconds)


def check_ledger(neurolens, allowed_sources):
    """What is visible is whole: the listed runs, and every folder beside them. Returns the listed ids. A run whose import was killed before
    its receipt has no name."""
    listed = neurolens.run_ids()
    assert len(listed) == len(set(listed))
    for run in neurolens.runs():
        assert run["file_names"] in allowed_sources | {""}
    folders = [path.name for path in (neurolens.ledger / "runs").iterdir()]
    assert set(listed) <= set(folders)
    for name in folders:
        assert re.fullmatch("[0-9a-f]{64}", name)
        assert neurolens("verify", neurolens.bundle(name), "--json").data["verified"]
    for run_id in listed:
        assert neurolens("verify", run_id, "--json").data["verified"]
    return listed


@pytest.mark.slow
def test_kill_at_many_moments(neurolens, make_big_trace):
    """One ledger, many kills.

    A variant of the trace is tried again until a kill comes too late and its run is listed; only then the next
    one is taken. So an import never shrinks to "is there already", and it also meets what the last kill of
    the same input has left, including a bundle that was published but not recorded.
    """
    first = make_big_trace(0)
    whole = min(seconds_of_an_import(neurolens, first) for _ in range(3))
    variant, trace = 1, make_big_trace(1)
    sources = {str(first), str(trace)}
    dice = random.Random(20)
    killed = tries = 0
    while killed < KILLS and tries < MOST_TRIES:
        tries += 1
        waits, seconds = kill_moment(dice, whole)
        process = neurolens.start("import", trace, "--quiet")
        if waits:
            wait_for_run_json(neurolens, process)
        time.sleep(max(0, seconds))
        in_time = process.poll() is None
        killed += in_time
        whole *= 1 if in_time else 0.95  # the machine has become faster than it was when we measured
        process.kill()
        process.communicate()
        listed = check_ledger(neurolens, sources)
        assert len(listed) <= variant + 1
        if len(listed) == variant + 1:
            variant += 1
            trace = make_big_trace(variant)
            sources.add(str(trace))
    assert killed == KILLS, f"only {killed} of {tries} kills met a living import"

    report = neurolens.import_file(trace)
    assert next(run for run in neurolens.runs() if run["run_id"] == report["run_id"])["file_names"] == str(trace)
    assert neurolens.run_ids().count(report["run_id"]) == 1
    check_ledger(neurolens, sources)
    neurolens("gc")
    assert neurolens.leftovers() == []
    assert len(check_ledger(neurolens, sources)) == variant + 1
    assert neurolens("gc", "--reindex", "--json").data["indexed_runs"] == variant + 1


def kill_while_staging(neurolens, trace):
    """Leaves a staging folder behind; False if the import was over before."""
    process = neurolens.start("import", trace, "--quiet")
    while process.poll() is None and not any(neurolens.ledger.glob("staging/*/bundle/*.parquet")):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    return bool(neurolens.leftovers())


@pytest.mark.slow
def test_gc_removes_what_a_killed_import_left(neurolens, make_big_trace):
    """gc names the number of left-overs, doctor sees them before."""
    assert kill_while_staging(neurolens, make_big_trace(1))
    assert any(check["check"] == "staging" for check in neurolens("doctor", "--json").data["checks"])
    assert neurolens("gc", "--json").data["stale_stagings"] == 1
    assert neurolens.leftovers() == []
    assert neurolens.runs() == []


@pytest.mark.slow
def test_gc_keeps_an_import_under_way(neurolens, make_big_trace):
    """gc beside a running import takes nothing from it."""
    process = neurolens.start("import", make_big_trace(1), "--quiet")
    while process.poll() is None and not any(neurolens.ledger.glob("staging/*/bundle/*.parquet")):
        time.sleep(0.001)
    assert neurolens("gc", "--json").data["stale_stagings"] == 0
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert len(check_ledger(neurolens, {run["file_names"] for run in neurolens.runs()})) == 1


@pytest.mark.slow
def test_interrupt_leaves_nothing(neurolens, make_big_trace):
    """Ctrl-C during an import: an error, no run, no left-over."""
    process = neurolens.start("import", make_big_trace(1))
    while process.poll() is None and not any(neurolens.ledger.glob("staging/*/bundle/*.parquet")):
        time.sleep(0.001)
    process.send_signal(2)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert neurolens.runs() == []
    assert neurolens.leftovers() == []


def test_published_but_not_recorded(neurolens, small_trace, small_run):
    """A kill between the rename and the index: the next import of the same file lists the run again."""
    aside = neurolens.ledger.parent / "aside"
    neurolens.bundle(small_run).rename(aside)
    for name in ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "state.sqlite"):
        (neurolens.ledger / name).unlink(missing_ok=True)
    assert neurolens.runs() == []
    aside.rename(neurolens.bundle(small_run))
    assert neurolens.runs() == []
    assert neurolens.import_file(small_trace)["run_id"] == small_run
    assert neurolens.run_ids() == [small_run]
    assert neurolens("verify", small_run).code == 0


@pytest.mark.slow
def test_killed_rebuild_of_derived_tables(neurolens, make_big_trace):
    """What a killed rebuild left is not taken for the derived tables, and gc removes it."""
    sql = "SELECT count(*), sum(parent_id), sum(depth), sum(op_id) FROM spans"
    run_id = neurolens.import_file(make_big_trace(1))["run_id"]
    rows = neurolens.rows(run_id, sql)
    derived = neurolens.bundle(run_id) / "derived"
    (name,) = (path.name for path in derived.iterdir())
    shutil.rmtree(derived)
    process = neurolens.start("query", run_id, sql)
    while process.poll() is None and not any(derived.glob("*/*")):
        time.sleep(0.001)
    process.kill()
    process.communicate()
    assert any(derived.iterdir()), "the rebuild was over before the kill"
    assert neurolens.rows(run_id, sql) == rows
    neurolens("gc")
    assert [path.name for path in derived.iterdir()] == [name]
