"""What is kept and for how long: runs of a ledger by policy, the cache by size."""

import os
import time

import packed
from conftest import Neurolens
from sqlite_pages import edited_sqlite

DAY_NS = 86_400_000_000_000


def ids(neurolens):
    return {run["run_id"] for run in neurolens("runs", "--json").data["runs"]}


def older(neurolens, days):
    """As if all runs had been imported so many days ago."""
    with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
        state.execute(f"UPDATE receipts SET imported_at_ns = imported_at_ns - {days * DAY_NS}")
    neurolens("gc", "--reindex")


def test_old_runs_that_nobody_cares_for_go(neurolens, make_trace):
    runs = [neurolens.import_file(make_trace(i))["run_id"] for i in range(5)]
    neurolens("tag", runs[0], "nightly")
    neurolens("note", runs[1], "why it was slow")
    neurolens("baseline", "main", runs[2])
    older(neurolens, 100)
    said = neurolens("gc", "--retain-days", "90", "--dry-run", "--json").data
    assert set(said["retired"]) == set(runs[3:]) and said["dry_run"]
    assert ids(neurolens) == set(runs), "a dry run deletes nothing"
    assert neurolens("gc", "--retain-days", "365", "--json").data["retired"] == []
    assert set(neurolens("gc", "--retain-days", "90", "--json").data["retired"]) == set(runs[3:])
    assert ids(neurolens) == set(runs[:3])
    assert "older than 90 days" in neurolens("show", runs[3], code=2).err


def test_the_cache_is_limited(neurolens, small_run, tmp_path):
    """Copies of one run with different notes: each is unpacked on its own."""
    neurolens("export", small_run, "--format", "nlz", "--output", tmp_path / "run.nlz")
    files = packed.files_of((tmp_path / "run.nlz").read_bytes())
    paths = []
    for i in range(4):
        paths.append(tmp_path / f"{i}.nlz")
        paths[-1].write_bytes(packed.packed({**files, "neurolens.yaml": b'{"note": "%d"}' % i}, small_run))
    limited = Neurolens(tmp_path / "other", {"NEUROLENS_CACHE_MB": "0"})
    cache = tmp_path / "other.cache/neurolens/packed"
    for path in paths:
        limited("show", path)
    assert len(list(cache.iterdir())) == 4, "what was asked for in the last hour stays"
    hour_ago = time.time() - 3700
    for folder in list(cache.iterdir())[:3]:
        os.utime(folder, (hour_ago, hour_ago))
    assert limited("gc", "--json").data["cached_runs"] == 3
    assert len(list(cache.iterdir())) == 1
    limited("show", paths[0])
