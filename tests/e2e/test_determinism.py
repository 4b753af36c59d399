"""The same input gives the same facts, byte for byte, however and wherever it is imported."""

import gzip
import json
import shutil

import pytest

import trace_text
from conftest import Neurolens, run_id_of, sha256_of

LINK_QUERIES = {
    "span_tree": "SELECT * FROM span_tree ORDER BY span_id",
    "kernel_links": "SELECT * FROM kernel_links ORDER BY kernel_id",
    "copy_links": "SELECT * FROM copy_links ORDER BY copy_id",
    "spans": "SELECT span_id, parent_id, depth, op_id FROM spans ORDER BY span_id",
    "kernels": "SELECT kernel_id, launch_span_id, op_id FROM kernels ORDER BY kernel_id",
    "copies": "SELECT copy_id, launch_span_id, op_id FROM copies ORDER BY copy_id",
}


def imported(ledger, trace, *arguments, environment=None):
    """(run id, sha256 of the fact tables, bytes of run.json) of an import into a new ledger."""
    neurolens = Neurolens(ledger, environment)
    run_id = neurolens.import_file(trace, *arguments)["run_id"]
    return run_id, neurolens.facts(run_id), (neurolens.bundle(run_id) / "run.json").read_bytes()


def assert_same_for_all_threads(tmp_path, trace):
    seen = []
    for threads in (1, 2, 4):
        temp = tmp_path / f"temp {threads}"
        temp.mkdir()
        ledger = tmp_path / ("x" * threads) / f"ledger-{threads}"
        environment = {"TMPDIR": str(temp)}
        seen.append(imported(ledger, trace, "--threads", str(threads), environment=environment))
        assert not any(temp.iterdir()), "the import left files in TMPDIR"
    assert seen[0][1], "there are fact tables"
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


def link_rows(neurolens, run_id):
    return {name: neurolens.rows(run_id, sql) for name, sql in LINK_QUERIES.items()}


def assert_derived_tables_come_back(neurolens, run_id):
    """Built while importing or from the facts alone: the rows are the same, and the facts stay."""
    before, files = link_rows(neurolens, run_id), neurolens.facts(run_id)
    shutil.rmtree(neurolens.bundle(run_id) / "derived")
    after = link_rows(neurolens, run_id)
    for name in LINK_QUERIES:
        assert after[name] == before[name], name
    assert neurolens.facts(run_id) == files
    neurolens("verify", run_id)


def test_threads_and_folders_of_a_small_trace(tmp_path, small_trace):
    assert_same_for_all_threads(tmp_path, small_trace)


def test_threads_and_folders_of_a_middle_trace(tmp_path, make_trace):
    """Some 30 MB of text: several windows of the parser."""
    assert_same_for_all_threads(tmp_path, make_trace(blocks=1000))


@pytest.mark.slow
def test_threads_and_folders_of_a_big_trace(tmp_path, make_big_trace):
    assert_same_for_all_threads(tmp_path, make_big_trace(1))


@pytest.mark.slow
def test_threads_and_folders_of_recorded_traces(tmp_path, kineto_traces):
    for trace in kineto_traces[:12]:
        folder = tmp_path / trace.name
        folder.mkdir()
        assert_same_for_all_threads(folder, trace)


def test_run_json_lists_the_tables(neurolens, small_run):
    """run.json holds the sha256 and size of exactly the fact tables that are there."""
    bundle = neurolens.bundle(small_run)
    tables = json.loads((bundle / "run.json").read_text())["tables"]
    assert {f"{t['name']}.parquet": t["sha256"] for t in tables} == neurolens.facts(small_run)
    assert all((bundle / f"{t['name']}.parquet").stat().st_size == t["bytes"] for t in tables)


def test_run_json_names_no_file_host_or_time(tmp_path, neurolens, small_trace, small_run):
    """Another name of the same bytes is the same run with the same run.json."""
    copy = tmp_path / "elsewhere" / "other name.json"
    copy.parent.mkdir()
    shutil.copy(small_trace, copy)
    run_id, facts, run_json = imported(tmp_path / "other ledger", copy)
    assert run_id == small_run
    assert facts == neurolens.facts(small_run)
    assert run_json == (neurolens.bundle(small_run) / "run.json").read_bytes()


def test_refresh_gives_the_same_bytes(neurolens, small_trace, small_run):
    before = neurolens.facts(small_run), (neurolens.bundle(small_run) / "run.json").read_bytes()
    assert neurolens.import_file(small_trace, "--refresh")["run_id"] == small_run
    assert (neurolens.facts(small_run), (neurolens.bundle(small_run) / "run.json").read_bytes()) == before


def test_run_id_follows_from_the_bytes(neurolens, small_trace, small_run):
    assert small_run == run_id_of(small_trace.read_bytes())


def test_compression_does_not_change_facts(tmp_path):
    """Plain, gzip, gzip of several members and of other levels: other bytes, other ids, equal tables."""
    text = trace_text.trace_text(blocks=50)
    half = len(text) // 2
    inputs = {
        "plain.json": text.encode(),
        "one.json.gz": trace_text.gzip_bytes(text),
        "fast.json.gz": trace_text.gzip_bytes(text, level=1),
        "two.json.gz": trace_text.gzip_bytes(text[:half]) + trace_text.gzip_bytes(text[half:]),
        "many.json.gz": b"".join(trace_text.gzip_bytes(text[i : i + 9999]) for i in range(0, len(text), 9999)),
        "empty_member.json.gz": gzip.compress(b"", mtime=0) + trace_text.gzip_bytes(text),
        "padded.json.gz": trace_text.gzip_bytes(text) + bytes(512),
    }
    seen = {}
    for name, content in inputs.items():
        path = tmp_path / name
        path.write_bytes(content)
        run_id, facts, run_json = imported(tmp_path / f"ledger {name}", path)
        document = json.loads(run_json)
        source = document["sources"][0]
        assert source["text_bytes"] == len(text)
        assert source["compression"] == ("gzip" if name.endswith(".gz") else "none")
        assert source["sha256"] == sha256_of(path)
        seen[name] = (run_id, facts)
    assert len({run_id for run_id, _ in seen.values()}) == len(inputs)
    for name, (_, facts) in seen.items():
        assert facts == seen["plain.json"][1], name


def test_name_of_the_file_does_not_matter(tmp_path, small_trace):
    """Compression and format are found in the content."""
    plain = tmp_path / "profile.json.gz"
    shutil.copy(small_trace, plain)
    zipped = tmp_path / "profile"
    zipped.write_bytes(gzip.compress(small_trace.read_bytes(), mtime=0))
    assert imported(tmp_path / "a", plain)[1] == imported(tmp_path / "b", zipped)[1]


def test_derived_tables_are_rebuilt(neurolens, small_run):
    assert_derived_tables_come_back(neurolens, small_run)


def test_derived_tables_are_rebuilt_for_show_and_import(neurolens, small_trace, small_run):
    before = neurolens("show", small_run, "--json").data
    shutil.rmtree(neurolens.bundle(small_run) / "derived")
    assert neurolens.import_file(small_trace)["created"] is False
    assert neurolens("show", small_run, "--json").data == before


AWKWARD_RECORDS = [
    # Two runtime calls and two kernels share a correlation id; one kernel has no launch, one none at all.
    ("cuda_runtime", "late twin", 500, 5, {"correlation": 9}),
    ("cuda_runtime", "early twin", 100, 5, {"correlation": 9}),
    ("kernel", "first of 9", 110, 5, {"correlation": 9, "device": 0, "stream": 7}),
    ("kernel", "second of 9", 120, 5, {"correlation": 9, "device": 0, "stream": 7}),
    ("kernel", "no launch", 130, 5, {"correlation": 10, "device": 0, "stream": 7}),
    ("kernel", "correlation 0", 140, 5, {"correlation": 0, "device": 0, "stream": 7}),
    ("kernel", "no correlation", 150, 5, {"device": 0, "stream": 7}),
    ("kernel", "negative correlation", 160, 5, {"correlation": -1, "device": 0, "stream": 7}),
    ("cuda_runtime", "of 0", 101, 1, {"correlation": 0}),
    ("cuda_runtime", "of none", 102, 1, {}),
    ("cuda_runtime", "of -1", 103, 1, {"correlation": -1}),
    # Equal times, a child before its parent in the file, zero length, crossing ends.
    ("cpu_op", "inner", 90, 20, {"External id": 2}),
    ("cpu_op", "outer", 80, 60, {"External id": 1}),
    ("cpu_op", "twin a", 200, 50, {}),
    ("cpu_op", "twin b", 200, 50, {}),
    ("python_function", "twin c", 200, 50, {"Python id": 1}),
    ("cpu_op", "zero", 200, 0, {}),
    ("cpu_op", "zero at the end", 250, 0, {}),
    ("cpu_op", "touches", 250, 10, {}),
    ("cpu_op", "crosses", 255, 10, {}),
    ("user_annotation", "around", 0, 1000, {}),
    ("gpu_memcpy", "Memcpy DtoH", 300, 1, {"correlation": 9, "device": 0, "stream": 7, "bytes": 4}),
    ("gpu_memset", "Memset", 301, 1, {"correlation": 0, "device": 0, "stream": 7, "bytes": 4}),
]


def write_awkward_trace(path, turn=0):
    """Another turn starts the records at another place."""
    events = []
    for category, name, start, dur, args in AWKWARD_RECORDS[turn:] + AWKWARD_RECORDS[:turn]:
        on_device = category in ("kernel", "gpu_memcpy", "gpu_memset")
        event = {"ph": "X", "cat": category, "name": name, "ts": start, "dur": dur, "args": args}
        events.append({**event, "pid": 0 if on_device else 1, "tid": 7 if on_device else 2})
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events, "deviceProperties": []}))
    return path


@pytest.mark.parametrize("turn", range(0, len(AWKWARD_RECORDS), 4))
def test_derived_tables_of_an_awkward_trace(neurolens, tmp_path, turn):
    """Both ways of building agree on twins, missing launches, equal times and crossing spans."""
    run_id = neurolens.import_file(write_awkward_trace(tmp_path / "awkward.json", turn))["run_id"]
    assert_derived_tables_come_back(neurolens, run_id)


def test_links_of_an_awkward_trace(neurolens, tmp_path):
    """Of two launches with one id the first in the source counts; 0 and nothing mean no launch."""
    run_id = neurolens.import_file(write_awkward_trace(tmp_path / "awkward.json"))["run_id"]
    sql = "SELECT k.name AS kernel, s.name AS launch FROM kernels k LEFT JOIN spans s ON s.span_id = k.launch_span_id"
    launches = {row["kernel"]: row["launch"] for row in neurolens.rows(run_id, sql)}
    assert launches["first of 9"] == launches["second of 9"] == "late twin"
    assert launches["no launch"] is None
    assert launches["correlation 0"] is None
    assert launches["no correlation"] is None


@pytest.mark.slow
def test_derived_tables_of_recorded_traces(neurolens, kineto_traces):
    for trace in kineto_traces[:14]:
        assert_derived_tables_come_back(neurolens, neurolens.import_file(trace)["run_id"])
