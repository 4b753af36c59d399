"""Several processes use one ledger at once."""

import collections
import json
import shutil

import pytest

INDEX_FILES = ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm")


def finish(processes):
    """Output of every process; all must succeed."""
    outputs = []
    for process in processes:
        out, error = process.communicate(timeout=120)
        assert process.returncode == 0, error.decode()
        outputs.append(out)
    return outputs


def import_at_once(neurolens, paths):
    """`data` of one import process for each path."""
    return [json.loads(out)["data"] for out in finish([neurolens.start("import", p, "--json") for p in paths])]


def delete_index(neurolens):
    for name in INDEX_FILES:
        (neurolens.ledger / name).unlink(missing_ok=True)


def assert_each_run_once(neurolens, reports):
    created = collections.Counter(report["run_id"] for report in reports if report["created"])
    ids = {report["run_id"] for report in reports}
    assert created == {run_id: 1 for run_id in ids}, "created must be true exactly once for each run"
    assert sorted(neurolens.run_ids()) == sorted(ids)
    for run_id in ids:
        neurolens("verify", run_id)
    assert neurolens.leftovers() == []


def test_ledger_made_by_many(neurolens, tmp_path):
    """Eight processes open a ledger that does not exist yet; none may be turned away."""
    for attempt in range(10):
        fresh = type(neurolens)(tmp_path / f"ledger-{attempt}")
        finish([fresh.start("runs", "--json") for _ in range(8)])


@pytest.mark.parametrize("attempt", range(5))
def test_eight_imports_of_one_file(neurolens, make_trace, attempt):
    """In a ledger that does not exist yet, so that its making is contested too."""
    trace = make_trace(attempt, blocks=20)
    assert_each_run_once(neurolens, import_at_once(neurolens, [trace] * 8))


@pytest.mark.parametrize("attempt", range(5))
def test_eight_imports_of_different_files(neurolens, make_trace, attempt):
    traces = [make_trace(variant, blocks=5) for variant in range(8)]
    assert_each_run_once(neurolens, import_at_once(neurolens, traces))


@pytest.mark.parametrize("attempt", range(3))
def test_eight_imports_of_same_and_different_files(neurolens, make_trace, attempt):
    a, b, c, d = (make_trace(variant, blocks=20) for variant in range(4))
    assert_each_run_once(neurolens, import_at_once(neurolens, [a, b, a, c, a, d, b, a]))


@pytest.mark.slow
def test_eight_imports_of_a_big_file(neurolens, make_big_trace):
    big, other = make_big_trace(1), make_big_trace(2)
    assert_each_run_once(neurolens, import_at_once(neurolens, [big, other] * 4))


@pytest.mark.parametrize("attempt", range(3))
def test_refresh_beside_readers(neurolens, small_trace, small_run, attempt):
    """While a run is replaced, every reader sees a whole one."""
    writers = [neurolens.start("import", small_trace, "--refresh", "--json") for _ in range(2)]
    sql = "SELECT count(*) AS n, count(op_id) AS linked FROM kernels"
    readers = [neurolens.start("query", small_run, sql, "--format", "json") for _ in range(4)]
    readers += [neurolens.start("verify", small_run, "--json") for _ in range(2)]
    outputs = finish(writers + readers)
    assert [json.loads(out) for out in outputs[2:6]] == [[{"n": 20, "linked": 20}]] * 4
    assert neurolens.run_ids() == [small_run]
    neurolens("verify", small_run)


def test_two_reindexes_at_once(neurolens, make_trace):
    import_at_once(neurolens, [make_trace(variant) for variant in range(6)])
    before = neurolens.runs()
    for _ in range(3):
        outputs = finish([neurolens.start("gc", "--reindex", "--json") for _ in range(2)])
        assert [json.loads(out)["data"]["indexed_runs"] for out in outputs] == [6, 6]
        assert neurolens.runs() == before


def test_reindex_beside_imports(neurolens, make_trace):
    """No run is lost when the index is rebuilt while runs come in."""
    traces = [make_trace(variant) for variant in range(8)]
    imports = [neurolens.start("import", trace, "--json") for trace in traces]
    reindexes = [neurolens.start("gc", "--reindex", "--json") for _ in range(3)]
    reports = [json.loads(out)["data"] for out in finish(imports + reindexes)[: len(imports)]]
    assert_each_run_once(neurolens, reports)


@pytest.mark.slow
def test_gc_beside_imports(neurolens, make_trace):
    """gc never takes the folder of an import that has just begun."""
    for round_number in range(10):
        traces = [make_trace(100 * round_number + variant) for variant in range(4)]
        processes = []
        for trace in traces:
            processes += [neurolens.start("import", trace, "--json"), neurolens.start("gc", "--json")]
            processes += [neurolens.start("gc", "--json")]
        finish(processes)
    assert len(neurolens.run_ids()) == 40


def test_lost_index_is_rebuilt(neurolens, make_trace):
    """The index is a cache: without it, gc --reindex lists the same runs in the same order."""
    for variant in range(5):
        neurolens.import_file(make_trace(variant))
    before = neurolens.runs()
    delete_index(neurolens)
    assert neurolens("gc", "--reindex", "--json").data["indexed_runs"] == 5
    assert neurolens.runs() == before


DAMAGED_INDEXES = {
    "empty": b"",
    "text": b"this is no database",
    "bad_header": b"SQLite format 3\0" + b"\xff" * 5000,
}


@pytest.mark.parametrize("content", DAMAGED_INDEXES.values(), ids=DAMAGED_INDEXES)
def test_damaged_index_is_rebuilt(neurolens, make_trace, content):
    """A cache that cannot be read is as good as lost."""
    neurolens.import_file(make_trace(0))
    before = neurolens.runs()
    delete_index(neurolens)
    (neurolens.ledger / "index.sqlite").write_bytes(content)
    neurolens("gc", "--reindex")
    assert neurolens.runs() == before


def test_reindex_does_not_touch_state(neurolens, make_trace):
    """state.sqlite is precious: its bytes stay, with or without an index."""
    for variant in range(3):
        neurolens.import_file(make_trace(variant))
    state = neurolens.ledger / "state.sqlite"
    before = state.read_bytes()
    neurolens("gc", "--reindex")
    assert state.read_bytes() == before
    delete_index(neurolens)
    neurolens("gc", "--reindex")
    assert state.read_bytes() == before
    assert not list(neurolens.ledger.glob("state.sqlite-*"))


def test_reindex_without_receipts_lists_copied_bundles(neurolens, small_run, tmp_path):
    """A bundle copied from another ledger is a run like any other."""
    other = type(neurolens)(tmp_path / "other")
    assert other.runs() == []
    shutil.copytree(neurolens.bundle(small_run), other.bundle(small_run))
    assert other("gc", "--reindex", "--json").data["indexed_runs"] == 1
    assert other.run_ids() == [small_run]
    other("verify", small_run)


def test_reindex_leaves_out_what_is_no_bundle(neurolens, small_run):
    """Strangers and damaged bundles are named, not listed."""
    (neurolens.ledger / "runs" / "notes").mkdir()
    broken = neurolens.ledger / "runs" / ("0" * 64)
    shutil.copytree(neurolens.bundle(small_run), broken)
    (broken / "run.json").write_text("{}")
    report = neurolens("gc", "--reindex", "--json").data
    assert report["indexed_runs"] == 1
    assert sorted(report["unreadable"]) == ["0" * 64, "notes"]
    assert neurolens.run_ids() == [small_run]


def test_reindex_leaves_out_a_bundle_under_a_wrong_id(neurolens, small_run):
    """The folder of a bundle is its id; a renamed copy is not a second run."""
    shutil.copytree(neurolens.bundle(small_run), neurolens.ledger / "runs" / ("0" * 64))
    neurolens("gc", "--reindex")
    assert neurolens.run_ids() == [small_run]


@pytest.mark.parametrize("attempt", range(4))
def test_derived_tables_rebuilt_by_many(neurolens, small_run, attempt):
    """Eight queries that all find the derived tables missing agree."""
    sql = "SELECT sum(parent_id) AS parents, sum(op_id) AS ops FROM spans"
    expected = neurolens.rows(small_run, sql)
    derived = neurolens.bundle(small_run) / "derived"
    (name,) = (path.name for path in derived.iterdir())
    shutil.rmtree(derived)
    outputs = finish([neurolens.start("query", small_run, sql, "--format", "json") for _ in range(8)])
    assert [json.loads(out) for out in outputs] == [expected] * 8
    assert [path.name for path in derived.iterdir()] == [name]


@pytest.mark.slow
def test_eight_imports_of_recorded_traces(neurolens, kineto_traces):
    """The four smallest recorded traces, each by two processes."""
    assert_each_run_once(neurolens, import_at_once(neurolens, kineto_traces[:4] * 2))
