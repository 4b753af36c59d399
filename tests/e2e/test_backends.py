"""ONNX Runtime, trtexec and other Chrome traces through the command line: runs of several files, the view ops, links."""

import json
import shutil

import pytest

from conftest import BAD_INPUT, REPOSITORY, TRACES

GOLDEN = REPOSITORY / "tests/golden"
PARTS = {"profile": "net.profile.json", "times": "net.timing.json", "layers_as_objects": "net.layer_info.json"}


@pytest.fixture
def trtexec_files(tmp_path):
    """Profile, times and layers of one made-up engine."""
    for case, name in PARTS.items():
        shutil.copy(GOLDEN / "trtexec" / case / "input.json", tmp_path / name)
    return [tmp_path / name for name in PARTS.values()]


def test_files_of_one_model_are_one_run(neurolens, trtexec_files):
    data = neurolens("import", *trtexec_files, "--json").data
    assert data["sources"] == 3
    assert len(neurolens.run_ids()) == 1
    document = json.loads((neurolens.bundle(data["run_id"]) / "run.json").read_text())
    assert [source["role"] for source in document["sources"]] == ["layers", "profile", "times"]
    assert {source["tool"] for source in document["sources"]} == {"trtexec"}
    neurolens("verify", data["run_id"])


def test_order_of_the_files_does_not_matter(neurolens, trtexec_files, tmp_path):
    first = neurolens("import", *trtexec_files, "--json").data
    again = neurolens("import", *reversed(trtexec_files), "--json").data
    assert (again["run_id"], again["created"]) == (first["run_id"], False)
    other = type(neurolens)(tmp_path / "other")
    other("import", *reversed(trtexec_files))
    assert other.files(first["run_id"]) == neurolens.files(first["run_id"])


def test_a_file_alone_is_another_run(neurolens, trtexec_files):
    together = neurolens("import", *trtexec_files, "--json").data["run_id"]
    alone = neurolens("import", trtexec_files[0], "--json").data
    assert alone["created"] is True and alone["run_id"] != together
    assert neurolens("import", trtexec_files[0], "--json").data["created"] is False


def test_two_models_are_two_runs(neurolens, trtexec_files, tmp_path):
    other = tmp_path / "other.profile.json"
    shutil.copy(trtexec_files[0], other)
    other.write_text(other.read_text().replace("113.189", "113.188"))
    data = neurolens("import", *trtexec_files, other, "--json").data
    assert [run["sources"] for run in data["runs"]] == [3, 1]


def test_one_role_twice_is_not_one_run(neurolens, trtexec_files, tmp_path):
    twice = tmp_path / "net.times.json"  # named like net.timing.json
    twice.write_text(trtexec_files[1].read_text().replace("0.873472", "0.873473"))
    data = neurolens("import", *trtexec_files, twice, "--json").data
    assert [run["sources"] for run in data["runs"]] == [1, 1, 1, 1]


def test_files_named_alike_of_other_formats_stay_apart(neurolens, small_trace, tmp_path):
    one, two = tmp_path / "x.profile.json", tmp_path / "x.times.json"
    shutil.copy(small_trace, one)
    shutil.copy(GOLDEN / "chrome/begin_and_end/input.json", two)
    data = neurolens("import", one, two, "--json").data
    assert [run["format"] for run in data["runs"]] == ["kineto", "chrome"]


def test_a_damaged_part_fails_the_run(neurolens, trtexec_files):
    text = trtexec_files[1].read_text()
    trtexec_files[1].write_text(text[: len(text) // 2])
    result = neurolens("import", *trtexec_files, "--json", code=BAD_INPUT)
    assert result.envelope["error"]["code"] == "bad_input"
    assert str(trtexec_files[1]) in result.envelope["error"]["message"]
    assert neurolens.run_ids() == [] and neurolens.leftovers() == []


def test_layers_are_ops(neurolens, trtexec_files):
    run = neurolens("import", *trtexec_files, "--json").data["run_id"]
    rows = neurolens.rows(run, "SELECT name, op_type, calls, dur_ns, start_ns, shapes FROM ops ORDER BY dur_ns DESC, name")
    assert rows[0] == {
        "name": "Conv_0 + Relu_1", "op_type": "Conv_0 + Relu_1", "calls": 11, "dur_ns": 1245080000,
        "start_ns": None, "shapes": None,
    }  # fmt: skip
    assert {row["op_type"] for row in rows} >= {"Reformat", "CaskConvolution"}
    shown = neurolens("show", run, "--json").data
    assert shown["top_of"] == "layers" and shown["top"][0]["total_ns"] == 1245080000
    assert "Top layers" in neurolens("show", run).out


def test_a_repeated_layer_name_joins_in_its_turn(neurolens, tmp_path):
    layers = [{"Name": "a", "LayerType": "First"}, {"Name": "a", "LayerType": "Second"}]
    (tmp_path / "n.layers.json").write_text(json.dumps({"Layers": layers, "Bindings": []}))
    times = [{"count": 1}] + [{"name": "a", "timeMs": t, "averageMs": t, "percentage": 50} for t in (1, 2)]
    (tmp_path / "n.profile.json").write_text(json.dumps(times))
    run = neurolens("import", tmp_path / "n.layers.json", tmp_path / "n.profile.json", "--json").data["run_id"]
    assert neurolens.rows(run, "SELECT op_type, dur_ns FROM ops ORDER BY dur_ns") == [
        {"op_type": "First", "dur_ns": 1000000}, {"op_type": "Second", "dur_ns": 2000000}]  # fmt: skip


def test_kernels_behind_a_node_belong_to_it(neurolens):
    run = neurolens.import_file(GOLDEN / "onnxruntime/cuda_kernels_follow_their_node/input.json")["run_id"]
    assert neurolens.rows(run, "SELECT k.name, o.name AS op FROM kernels k LEFT JOIN ops o USING (op_id) ORDER BY k.kernel_id") == [
        {"name": "before_any_node", "op": None},
        {"name": "BinaryElementWiseKernel", "op": "Add_1"},
        {"name": "BinaryElementWiseKernel", "op": "Add_1"},
        {"name": "ampere_sgemm_32x128_tn", "op": "MatMul_2"},
    ]


def test_an_execution_counts_once_with_fences(neurolens):
    run = neurolens.import_file(GOLDEN / "onnxruntime/fences_until_1_20/input.json")["run_id"]
    assert neurolens.rows(run, "SELECT op_type, count(*) AS n, sum(dur_ns) AS ns FROM ops GROUP BY op_type ORDER BY op_type") == [
        {"op_type": "Conv", "n": 2, "ns": 79000}, {"op_type": "FusedGemm", "n": 1, "ns": 20000}]  # fmt: skip


def test_the_end_of_a_full_recording_is_told(neurolens):
    result = neurolens("import", GOLDEN / "onnxruntime/recording_stopped_inside_a_run/input.json")
    assert "node_behind_the_last_model_run" in result.err


def test_begin_and_end_nest(neurolens):
    run = neurolens.import_file(GOLDEN / "chrome/begin_and_end/input.json")["run_id"]
    assert neurolens.rows(run, "SELECT s.name, p.name AS parent FROM spans s LEFT JOIN spans p ON p.span_id = s.parent_id "
                               "WHERE s.name IN ('inner', 'outer', 'complete') ORDER BY s.span_id") == [
        {"name": "complete", "parent": "inner"}, {"name": "inner", "parent": "outer"}, {"name": "outer", "parent": None}]  # fmt: skip


def test_every_view_answers_for_every_format(neurolens):
    tables = [table["name"] for table in neurolens("schema", "--json").data["tables"]]
    for case in ("onnxruntime/parallel_since_1_31", "trtexec/profile", "trtexec/times", "trtexec/device", "chrome/async_events"):
        run = neurolens.import_file(GOLDEN / case / "input.json")["run_id"]
        stored = {table["name"]: table["rows"] for table in neurolens("show", run, "--json").data["tables"]}
        assert stored or case == "trtexec/device", "only the device is known there"
        for table in tables:
            rows = neurolens.rows(run, f"SELECT * FROM {table}")
            assert table not in stored or len(rows) == stored[table], (case, table)
        neurolens("verify", run)


def test_real_files_given_together(neurolens):
    folder = TRACES / "trtexec"
    if not folder.is_dir():
        pytest.skip(f"no recorded files in {folder}: set NEUROLENS_TRACES")
    data = neurolens("import", *sorted(folder.iterdir()), "--json").data
    assert data["failed"] == []
    assert [run["sources"] for run in data["runs"]] == [5, 2, 2, 2, 1, 2, 1, 4]
