"""The run file: export, import and validation of whole runs as one JSON document."""

import contextlib
import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import pyarrow.parquet
import pytest

from conftest import BAD_INPUT, MISSING, OK, REPOSITORY, TRACES, Neurolens, write_run_document

SAMPLES = REPOSITORY / "samples"
GOLDEN = REPOSITORY / "tests/golden"
DESCRIBED = ("hardware", "software", "clocks", "windows", "labels")

GOLDEN_INPUTS = sorted(
    path for path in GOLDEN.glob("*/*/input.*")
    if path.suffix != ".markers" and not (path.parent / "expected.txt").read_text().startswith("error")
)  # a recording is written as text there, and made by the tests that read it
RECORDED = sorted(TRACES.glob("kineto/**/*.json*")) + sorted(TRACES.glob("onnxruntime/**/*.json")) + sorted(
    TRACES.glob("trtexec/*.json*")
)


def write_document(path, **members):
    path.write_text(json.dumps({"schema": "neurolens.run-file/1", **members}))
    return path


def document_of(ledger, run_id):
    return json.loads((ledger.bundle(run_id) / "run.json").read_text())


def without_origin(extensions):
    return {name: value for name, value in extensions.items() if name != "neurolens-json"}


def assert_equal_facts(one, run, other, again):
    """Equal files; a large table may lack columns that its format never fills, and is then equal in content."""
    facts, others = one.facts(run), other.facts(again)
    assert facts.keys() == others.keys()
    for name in facts:
        if facts[name] == others[name]:
            continue
        left, right = (pyarrow.parquet.read_table(p / name) for p in (one.bundle(run), other.bundle(again)))
        assert left.num_rows > 61_440, name
        for column in {*left.column_names, *right.column_names}:
            if column in left.column_names and column in right.column_names:
                assert left[column].equals(right[column]), (name, column)
            else:
                has = left if column in left.column_names else right
                assert has[column].null_count == has.num_rows, (name, column)


def assert_round_trip(tmp_path, profile):
    """import -> export -> import elsewhere -> export: equal facts, equal bytes."""
    first, second = Neurolens(tmp_path / "first"), Neurolens(tmp_path / "second")
    run = first.import_file(profile)["run_id"]
    exported = tmp_path / "run.json"
    first("export", run, "--output", exported)
    again = second.import_file(exported)["run_id"]
    assert_equal_facts(first, run, second, again)
    before, after = document_of(first, run), document_of(second, again)
    for part in DESCRIBED:
        assert before.get(part) == after.get(part), part
    assert without_origin(before["extensions"]) == without_origin(after["extensions"])
    counts = after["capture"]["counts"]
    rows = {table["name"]: table["rows"] for table in before["tables"]}
    assert counts["seen"] == counts["stored"] == sum(rows.values())
    assert second("export", again).bytes == exported.read_bytes()
    assert second("schema", "validate", exported).code == OK


# ---- Round trip


def database_of(script, folder):
    """The database that the statements make."""
    path = folder / "input.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(script.read_text())
    return path


@pytest.mark.parametrize("profile", GOLDEN_INPUTS, ids=lambda path: f"{path.parent.parent.name}-{path.parent.name}")
def test_round_trip_of_golden_cases(tmp_path, profile):
    assert_round_trip(tmp_path, database_of(profile, tmp_path) if profile.suffix == ".sql" else profile)


@pytest.mark.skipif(not RECORDED, reason=f"no recorded traces in {TRACES}: set NEUROLENS_TRACES")
@pytest.mark.parametrize("profile", RECORDED, ids=lambda path: path.name)
def test_round_trip_of_recorded_traces(tmp_path, profile):
    assert_round_trip(tmp_path, profile)


def test_origin_travels(tmp_path, small_run, neurolens):
    exported = tmp_path / "run.json"
    neurolens("export", small_run, "--output", exported)
    origin = json.loads(exported.read_text())["metadata"]["origin"]
    before = document_of(neurolens, small_run)
    assert origin["run_id"] == small_run
    assert origin["sources"] == before["sources"]
    assert origin["capture"] == before["capture"]
    again = neurolens.import_file(exported)["run_id"]
    assert again != small_run
    assert document_of(neurolens, again)["extensions"]["neurolens-json"]["origin"] == origin


def test_labels_travel(tmp_path, neurolens, small_trace):
    """Those that count, whoever gave them; what the source says of its software is elsewhere in the document."""
    run = neurolens.import_file(small_trace, "--set", "model=llama", "--set", "batch=8")["run_id"]
    neurolens("label", run, "batch=16", "engine=other", "--force")
    exported = tmp_path / "run.json"
    neurolens("export", run, "--output", exported)
    given = {"model": "llama", "batch": "16", "engine": "other"}
    assert json.loads(exported.read_text())["metadata"]["labels"] == given
    elsewhere = Neurolens(tmp_path / "elsewhere")
    again = elsewhere.import_file(exported)["run_id"]
    assert document_of(elsewhere, again)["labels"] == given
    assert elsewhere("export", again).bytes == exported.read_bytes(), "and once more"


def test_bundle_elsewhere_has_the_labels_of_its_source(tmp_path, neurolens, small_run):
    neurolens("label", small_run, "model=llama")
    copy = tmp_path / "copy"
    shutil.copytree(neurolens.bundle(small_run), copy)
    assert "labels" not in json.loads(neurolens("export", copy).out)["metadata"]


# ---- Export


def test_export_has_one_row_a_line(neurolens, small_run):
    lines = neurolens("export", small_run).out.splitlines()
    rows = [json.loads(line.rstrip(",")) for line in lines if line.startswith('{"')]
    tables = document_of(neurolens, small_run)["tables"]
    assert len(rows) == sum(table["rows"] for table in tables)


def test_export_is_what_the_file_holds(neurolens, small_run, tmp_path):
    path = tmp_path / "out.json"
    neurolens("export", small_run, "--output", path)
    assert neurolens("export", small_run, "--format", "neurolens-json").bytes == path.read_bytes()
    summary = json.loads(path.read_text())["summary"]
    assert summary["kernels"]["total_ns"] == neurolens.value(small_run, "SELECT sum(dur_ns)::BIGINT FROM kernels")


def test_export_overwrites_only_by_force(neurolens, small_run, tmp_path):
    path = tmp_path / "out.json"
    path.write_text("mine")
    neurolens("export", small_run, "--output", path, code=BAD_INPUT)
    assert path.read_text() == "mine"
    neurolens("export", small_run, "--output", path, "--force")
    assert json.loads(path.read_text())["schema"] == "neurolens.run-file/1"
    assert sorted(p.name for p in tmp_path.glob("out*")) == ["out.json"]


def test_export_of_a_damaged_bundle(neurolens, small_run, tmp_path):
    os.unlink(neurolens.bundle(small_run) / "kernels.parquet")
    neurolens("export", small_run, "--output", tmp_path / "x.json", code=MISSING)
    assert not list(tmp_path.glob("x.json*"))


def test_export_in_an_envelope_needs_a_file(neurolens, small_run, tmp_path):
    assert neurolens("export", small_run, "--json", code=BAD_INPUT).envelope["error"]["code"] == "bad_input"
    data = neurolens("export", small_run, "--json", "--output", tmp_path / "x.json").data
    assert data["bytes"] == (tmp_path / "x.json").stat().st_size


def peak_kb(*command):
    code = "import resource,subprocess,sys;subprocess.run(sys.argv[1:],check=True,stdout=subprocess.DEVNULL);" \
           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    return int(subprocess.run([sys.executable, "-c", code, *command], check=True, capture_output=True).stdout)


def test_memory_does_not_grow_with_the_run(neurolens, make_big_trace, tmp_path):
    """600,000 rows: export, validation and import stay far below the size of the document."""
    run = neurolens.import_file(make_big_trace(1))["run_id"]
    path = tmp_path / "big-run.json"
    exporting = peak_kb(*neurolens.command("export", run, "--output", path))
    validating = peak_kb(*neurolens.command("schema", "validate", path))
    elsewhere = Neurolens(tmp_path / "elsewhere")
    importing = peak_kb(*elsewhere.command("import", path))
    assert path.stat().st_size > 130_000_000
    assert exporting < 80_000 and validating < 60_000 and importing < 250_000
    (again,) = elsewhere.run_ids()
    assert_equal_facts(neurolens, run, elsewhere, again)


# ---- Samples and the page for script writers


@pytest.mark.parametrize("name", ["native_minimal.json", "native_full.json"])
def test_samples(neurolens, name):
    neurolens("schema", "validate", SAMPLES / name)
    shown = neurolens("show", SAMPLES / name)
    assert "kernel" in shown.out


def test_values_of_the_full_sample(neurolens):
    run = neurolens.import_file(SAMPLES / "native_full.json")["run_id"]
    assert neurolens.value(run, "SELECT min(start_ns) FROM kernels") == 1760000000000020000
    rows = neurolens.rows(run, "SELECT k.name, o.name AS op, m.value FROM kernels k JOIN ops o USING (op_id) "
                               "JOIN kernel_metrics m ON m.launch_id = k.kernel_id "
                               "WHERE m.metric = 'dram__bytes.sum' ORDER BY k.kernel_id")
    assert [(row["name"], row["op"], row["value"]) for row in rows] == [
        ("flash_decode_fp16", "layers.0.attention", 134217728), ("gemm_fp16_128x64", "layers.0.mlp", 67108864)]
    assert document_of(neurolens, run)["labels"]["batch"] == "8"


def test_the_python_example_of_the_docs(neurolens, tmp_path):
    page = (REPOSITORY / "docs/formats.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    subprocess.run([sys.executable, "-c", example], cwd=tmp_path, check=True)
    (path,) = tmp_path.glob("*.json")
    neurolens("schema", "validate", path)
    run = neurolens.import_file(path)["run_id"]
    assert neurolens.value(run, "SELECT count(*) FROM ops") > 0


# ---- Validation


def test_validation_names_every_fault(neurolens, tmp_path):
    path = write_document(
        tmp_path / "bad.json",
        metadata={"tool": 5, "modell": "x", "clock": []},
        ops=[{"start_ns": 0}, {"start_ns": 1.5, "nme": "x"}],
        kernels=[{"dur_ns": -1}],
    )
    data = neurolens("schema", "validate", path, "--json", code=BAD_INPUT).data
    assert {error["pointer"] for error in data["errors"]} == {
        "/ops/1/start_ns", "/ops/1/nme", "/kernels/0/dur_ns", "/metadata/tool", "/metadata/modell", "/metadata/clock"}
    assert not data["valid"]
    text = neurolens("schema", "validate", path, code=BAD_INPUT).out
    assert "/kernels/0/dur_ns: expected an integer from 0" in text


def test_validation_stops_at_twenty(neurolens, tmp_path):
    path = write_document(tmp_path / "bad.json", ops=[{"x": 1}] * 50)
    assert len(neurolens("schema", "validate", path, "--json", code=BAD_INPUT).data["errors"]) == 20


def test_validation_reads_gzip(neurolens, tmp_path):
    path = tmp_path / "run.json.gz"
    path.write_bytes(gzip.compress((SAMPLES / "native_full.json").read_bytes()))
    assert neurolens("schema", "validate", path, "--json").data["kind"] == "run-file"
    path.write_bytes(gzip.compress((SAMPLES / "native_full.json").read_bytes()[:-20]))
    assert not neurolens("schema", "validate", path, "--json", code=BAD_INPUT).data["valid"]


def test_validation_of_a_bundle(neurolens, small_run):
    bundle = neurolens.bundle(small_run)
    assert neurolens("schema", "validate", bundle, "--json").data["kind"] == "bundle"
    assert neurolens("schema", "validate", bundle / "run.json", "--json").data["kind"] == "run"
    document = json.loads((bundle / "run.json").read_text())
    document["clocks"][0]["kind"] = "gps"
    document["surprise"] = 1
    write_run_document(bundle, document)
    for path in (bundle, bundle / "run.json"):
        data = neurolens("schema", "validate", path, "--json", code=BAD_INPUT).data
        assert {error["pointer"] for error in data["errors"]} == {"/clocks/0/kind", "/surprise"}


def test_validation_of_a_table_with_other_columns(neurolens, small_run):
    bundle = neurolens.bundle(small_run)
    os.replace(bundle / "spans.parquet", bundle / "kernels.parquet")
    errors = neurolens("schema", "validate", bundle, "--json", code=BAD_INPUT).data["errors"]
    assert any("no such column" in error["message"] for error in errors)
    assert any("spans.parquet" in error["message"] for error in errors)


def test_edited_document_is_noticed(neurolens, tmp_path):
    text = (SAMPLES / "native_full.json").read_text()
    path = tmp_path / "edited.json"
    path.write_text(text.replace('"dur_ns": 96000', '"dur_ns": 86000'))
    error = neurolens("import", path, "--json", code=BAD_INPUT).envelope["error"]
    assert "/summary/kernels/total_ns" in error["message"]
    assert neurolens.run_ids() == []


@pytest.mark.parametrize("target", ["run", "run-file"])
def test_printed_schemas_are_those_of_the_folder(neurolens, target):
    name = {"run": "run.schema.json", "run-file": "run_file.schema.json"}[target]
    printed = json.loads(neurolens("schema", "print", target).out)
    assert printed == json.loads((REPOSITORY / "schema" / name).read_text())
    assert printed["additionalProperties"] is False


@pytest.mark.parametrize("arguments", [["validate"], ["print", "x"], ["kernels", "x"], ["validate", "/no/such/file"]])
def test_bad_usage_of_schema(neurolens, arguments):
    neurolens("schema", *arguments, code=BAD_INPUT)
