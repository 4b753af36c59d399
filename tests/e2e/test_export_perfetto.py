"""Exports for Perfetto, held against Perfetto's own trace processor: every figure of the file is that of the run."""

import json
import pathlib

import pytest

import trace_files
from conftest import BAD_INPUT, TRACES

# One run of each format that has a time line; tests/full/exports takes all.
RECORDED = [
    "kineto/hta_cuda_event_sync_multistream.json.gz",
    "kineto/tracelens_h100_bert-small.json.gz",
    "kineto/hta_mi250_rocm6.2_minitoy_train.json.gz",
    "nsys/alpa_jax_rtx3090.sqlite.gz",
    "onnxruntime/generated/transformer_t2_optall_5runs.json",
    "rocprof/jimw_gfx1151_llamacpp_decode_kernel_trace.csv",
    "telemetry/xypp3_h100_nvidia_smi.csv",
    "more/other/ibm_aiu_sample_flex_3062_job_4.json",
]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_runs(neurolens, tmp_path, name):
    if not (TRACES / name).exists():
        pytest.skip(f"no recorded trace {TRACES / name}: set NEUROLENS_TRACES")
    run = neurolens.import_file(TRACES / name)["run_id"]
    trace_files.check_perfetto_file(neurolens, run, tmp_path / "run.pftrace")


def test_view_writes_a_trace_and_says_how_to_open_it(neurolens, small_run):
    told = neurolens("view", "--perfetto", small_run, "--window", "whole", "--json").data
    assert told["run_ids"] == [small_run] and not told["opened"]
    assert told["page"].endswith(".pftrace") and told["open_with"] == f"trace_processor --httpd {told['page']}"
    (slices,) = trace_files.ask_trace_processor(pathlib.Path(told["page"]), {"n": "SELECT count(*) AS n FROM slice"})["n"]
    assert int(slices["n"]) > 0
    refused = neurolens("view", small_run, "--window", "whole", code=BAD_INPUT)
    assert "--window goes with --perfetto alone" in refused.err


def event(name, start_us, dur_us, thread=2, category="cpu_op", process=4711, **args):
    ids = {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start_us, "dur": dur_us}
    return {**ids, "args": args} if args else ids


def kernel(name, start_us, dur_us, stream=7, **args):
    return event(name, start_us, dur_us, stream, "kernel", 0, device=0, stream=stream, **args)


@pytest.fixture
def imported(neurolens, tmp_path):
    """Imports a trace of these events; the id of the run."""

    def write(*events):
        path = tmp_path / "trace.json"
        head = {"schemaVersion": 1, "baseTimeNanoseconds": 1_700_000_000_000_000_000}
        path.write_text(json.dumps({**head, "traceEvents": events}))
        return neurolens.import_file(path)["run_id"]

    return write


@pytest.fixture
def export(neurolens, tmp_path):
    """Exports the run and asks the trace processor."""

    def ask(run, *arguments, **questions):
        path = tmp_path / "run.pftrace"
        neurolens("export", run, "--format", "perfetto", "--output", path, "--force", *arguments)
        return trace_files.ask_trace_processor(path, questions)

    return ask


NESTING = "SELECT s.name AS slice, t.name AS track, depth FROM slice s JOIN track t ON s.track_id = t.id ORDER BY s.name"


def test_slices_that_cross_get_lanes(neurolens, tmp_path, imported, export):
    run = imported(
        kernel("a", 0, 10), kernel("b", 5, 10), kernel("c", 7, 10), kernel("d", 10, 2), kernel("e", 17, 1), kernel("inside a", 1, 3)
    )
    trace_files.check_perfetto_file(neurolens, run, tmp_path / "crossing.pftrace")
    found = {row["slice"]: (row["track"], row["depth"]) for row in export(run, rows=NESTING)["rows"]}
    assert found == {
        "a": ("stream 7", 0),
        "inside a": ("stream 7", 1),
        "b": ("stream 7 (2)", 0),
        "c": ("stream 7 (3)", 0),
        "d": ("stream 7", 0),
        "e": ("stream 7", 0),
    }


def test_slices_that_begin_or_end_together(neurolens, tmp_path, imported, export):
    """Inner ones come first in the source, as in profiles that write a record when it ends."""
    run = imported(
        event("innermost", 0, 1),
        event("inner", 0, 5),
        event("outer", 0, 10),
        event("next", 10, 10),
        event("empty, where next begins", 10, 0),
        event("empty at the end", 20, 0),
        {"ph": "i", "name": "mark", "pid": 4711, "tid": 2, "ts": 3, "s": "t"},
        kernel("inner kernel", 0, 5),
        event("around kernels", 0, 6, 7, "gpu_user_annotation", 0),
    )
    trace_files.check_perfetto_file(neurolens, run, tmp_path / "together.pftrace")
    depths = {row["slice"]: row["depth"] for row in export(run, rows=NESTING)["rows"]}
    assert depths == {
        "outer": 0,
        "inner": 1,
        "innermost": 2,
        "mark": 2,
        "next": 0,
        "empty, where next begins": 1,
        "empty at the end": 0,
        "around kernels": 0,
        "inner kernel": 1,
    }


ARGS = """SELECT key, coalesce(string_value, int_value, real_value) AS value FROM args JOIN slice USING (arg_set_id)
  WHERE slice.name = 'k' ORDER BY key"""


def test_arguments(imported, export):
    run = imported(
        kernel("k", 0, 10, correlation=5, grid=[4, 2, 1], odd={"list": [1, "two", 2.5, True, None], "empty": {}}),
        {"ph": "C", "name": "power", "pid": 4711, "tid": 2, "ts": 1, "args": {"gpu": 250.5}},
    )
    answers = export(
        run,
        args=ARGS,
        counters="SELECT t.name, ts, value FROM counter c JOIN counter_track t ON c.track_id = t.id",
    )
    assert {row["key"].removeprefix("debug."): row["value"] for row in answers["args"]} == {
        "correlation": 5,
        "device": 0,
        "stream": 7,
        "grid": "[4, 2, 1]",
        "odd.list[0]": 1,
        "odd.list[1]": "two",
        "odd.list[2]": 2.5,
        "odd.list[3]": 1,
        "odd.list[4]": "null",
        "odd.empty": "{}",
    }
    assert answers["counters"] == [{"name": "power gpu", "ts": "1700000000000001000", "value": 250.5}]


def test_processes_and_threads_are_named(small_run, export):
    answers = export(
        small_run,
        threads="SELECT t.name, tid, p.name AS process, pid FROM thread t JOIN process p USING (upid) WHERE tid = 4712",
        streams="SELECT t.name, p.name AS parent FROM track t JOIN track p ON t.parent_id = p.id WHERE t.name LIKE 'stream%'",
        flows="""SELECT count(*) AS rows FROM flow f JOIN slice a ON f.slice_out = a.id JOIN slice b ON f.slice_in = b.id
                 WHERE a.name = 'cudaLaunchKernel' AND b.category = 'kernel' AND extract_arg(a.arg_set_id, 'debug.correlation')
                   = extract_arg(b.arg_set_id, 'debug.correlation')""",
    )
    assert answers["threads"] == [{"name": "thread 4712 (python)", "tid": 4712, "process": "python", "pid": 4711}]
    assert answers["streams"] == [{"name": "stream 7", "parent": "GPU 0"}]
    assert answers["flows"] == [{"rows": 20}]


CSV = b""""Kind","Agent_Id","Queue_Id","Thread_Id","Dispatch_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH","Agent 1",1,5,1,"k \xff\xfe \xc3\xa4",1,1000,2000
"""


def test_names_of_any_bytes(neurolens, tmp_path, export):
    path = tmp_path / "bytes_kernel_trace.csv"
    path.write_bytes(CSV)
    run = neurolens.import_file(path)["run_id"]
    assert export(run, names="SELECT name FROM slice")["names"] == [{"name": "k \ufffd\ufffd \u00e4"}]


RUN_FILE = {
    "schema": "neurolens.run-file/1",
    "metadata": {},
    "tracks": [{"kind": "thread", "process_id": 10, "thread_id": 11}, {"kind": "stream", "device": 0, "stream": 7}],
    "spans": [
        {"track_id": 0, "name": "op", "kind": "op", "start_ns": 5, "dur_ns": 10},
        {"track_id": 0, "name": "never ends", "kind": "op", "start_ns": 6},
    ],
    "kernels": [{"track_id": 1, "name": "k", "start_ns": 7, "dur_ns": 1}, {"track_id": 1, "name": "unknown"}],
    "collectives": [{"track_id": 0, "name": "allreduce", "start_ns": 20, "dur_ns": 4, "bytes": 8}],
    "iterations": [{"track_id": 0, "pass": "profiled", "start_ns": 200, "dur_ns": 100}],
    "requests": [
        {"name": "r0", "start_ns": 0, "dur_ns": 10, "input_tokens": 3},
        {"name": "r1", "start_ns": 5, "dur_ns": 10},
        {"name": "r2", "start_ns": 12, "dur_ns": 10},
    ],
    "counters": [
        {"track_id": 1, "name": "power", "unit": "W", "start_ns": 1, "value": 0.5},
        {"track_id": 1, "name": "power", "unit": "W", "start_ns": 2},
    ],
    "samples": [{"track_id": 0, "start_ns": 1, "stack": "a;b"}],
    "layers": [{"name": "l"}],
}


@pytest.fixture
def all_tables(neurolens, tmp_path):
    path = tmp_path / "tables.json"
    path.write_text(json.dumps(RUN_FILE))
    return neurolens.import_file(path)["run_id"]


def test_every_table_is_written_or_counted(neurolens, tmp_path, all_tables, export):
    report = trace_files.check_perfetto_file(neurolens, all_tables, tmp_path / "all.pftrace")
    assert report["written"] == {
        "tracks": 2, "spans": 1, "kernels": 1, "collectives": 1, "iterations": 1, "requests": 3, "counters": 1,
    }  # fmt: skip
    assert report["lost"] == {
        "spans without a duration": 1,
        "kernels without a time": 1,
        "counters without a time or a value": 1,
        "samples of stacks": 1,
        "layers of engines": 1,
    }
    tracks = {row["slice"]: row["track"] for row in export(all_tables, rows=NESTING)["rows"]}
    assert (tracks["r0"], tracks["r1"], tracks["r2"]) == ("requests", "requests (2)", "requests")


def test_a_window_takes_what_touches_it(neurolens, imported, export):
    run = imported(
        event("before", 0, 10),
        event("reaches in", 5, 10, 3),
        event("part", 10, 20, 4, "user_annotation"),
        event("inside", 12, 2),
        event("behind", 30, 5),
        event("launch", 11, 1, 5, "cuda_runtime", correlation=9),
        kernel("far off", 50, 5, correlation=9),
    )
    answers = export(run, "--window", "part", names="SELECT name FROM slice ORDER BY name", flows="SELECT * FROM flow")
    assert [row["name"] for row in answers["names"]] == ["inside", "launch", "part", "reaches in"]
    assert answers["flows"] == []
