"""findings --score: what rules promise against what changes brought, on recorded pairs, which never change."""

import json
import pathlib
import sys

import pytest

from conftest import BAD_INPUT, REPOSITORY, TRACES, Neurolens

sys.path.insert(0, str(REPOSITORY / "tests/full"))
import gain_pairs

needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason="no traces")


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    Neurolens(folder / "ledger")("demo", "--output", folder / "demo", "--json")
    return folder / "demo"


def scored(neurolens, folder, pairs):
    path = folder / "pairs.yaml"
    path.write_text(json.dumps({"pairs": pairs}))
    return neurolens("findings", "--score", "--pairs", path, "--json").data


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, demo):
    folder = tmp_path_factory.mktemp("gains")
    data = scored(Neurolens(folder / "ledger"), folder, gain_pairs.recorded_pairs(TRACES, demo))
    return {pair["name"]: pair for pair in data["pairs"]}, data


@needs_traces
def test_more_loader_processes_gain_what_was_promised(recorded):
    pair = recorded[0]["resnet50, 0 to 4 loader processes"]
    assert (pair["unit"], pair["before_ns"], pair["after_ns"]) == ("step", 174_983_000, 128_003_000)
    (gain,) = pair["gains"]
    assert gain["rule"] == "data_loading"
    # 283.707 ms of a window of 996.477 ms in which the device waited for data, and 2.770 of 661.885 ms afterwards
    promised = 283_707 / 996_477 * 174_983_000
    assert gain["promised_ns"] == pytest.approx(promised)
    assert gain["own_ns"] == pytest.approx(promised - 2_770 / 661_885 * 128_003_000)
    assert gain["gained_ns"] == 46_980_000, "the step gained less than the loader: the host is the limit then"
    assert gain["ratio"] == pytest.approx(46_980_000 / promised) and gain["held"] and gain["covers_whole"]


@needs_traces
def test_where_nothing_was_gained_nothing_counts(recorded):
    pair = recorded[0]["2 GPUs, mfu"]
    assert pair["gained_ns"] < 0, "14 steps in the time of 16: less kernel time in sum, and slower"
    assert pair["gains"] == [] and "nothing was gained" in pair["notes"]
    assert recorded[0]["Kineto's page, a fix"]["gains"] == []


@needs_traces
def test_several_changes_at_once_are_held_against_their_own_time(recorded):
    pair = recorded[0]["demo (simulated)"]
    assert len(pair["before"]) == len(pair["after"]) == 5
    assert pair["least_ns"] < pair["gained_ns"] < pair["most_ns"]
    gains = {gain["rule"]: gain for gain in pair["gains"]}
    assert {"data_loading", "launch_bound"} <= gains.keys()
    for gain in gains.values():
        assert gain["held"] and gain["gained_ns"] <= gain["promised_ns"] * 1.000001
    assert not gains["data_loading"]["covers_whole"], "most of the gain is that of the graph"


@needs_traces
def test_all_recorded_promises_held(recorded):
    data = recorded[1]
    assert data["held"] == data["promises"] >= 7
    assert {rule["verdict"] for rule in data["rules"]} == {"held"}, "fewer than five pairs each"
    assert "exposed_communication" in data["unproved"] and "data_loading" not in data["unproved"]
    assert "little_device_work" not in data["unproved"], "it promises nothing"


def step_trace(data_loading_us, steps=6):
    """Steps of one kernel each, launched after so long in a data loader."""
    events, at = [], 0
    for i in range(steps):
        end = at + data_loading_us + 100
        events += [
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i}", "pid": 1, "tid": 1, "ts": at, "dur": end - at},
            {"ph": "X", "cat": "user_annotation", "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "pid": 1,
             "tid": 1, "ts": at, "dur": data_loading_us},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + data_loading_us, "dur": 5,
             "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + data_loading_us + 10, "dur": 90,
             "args": {"device": 0, "stream": 7, "correlation": i + 1}},
        ]  # fmt: skip
        at = end
    return json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "X"}], "traceEvents": events})


@pytest.fixture
def labelled(neurolens, tmp_path):
    runs = []
    for name, us in (("before", 400), ("after", 100)):
        path = tmp_path / f"{name}.json"
        path.write_text(step_trace(us))
        runs.append(neurolens.import_file(path)["run_id"])
    return runs


def test_labels_make_a_pair(neurolens, labelled):
    before, after = labelled
    neurolens("label", after, f"follows={before[:12]}", "applied=data_loading")
    data = neurolens("findings", "--score", "--json").data
    (pair,) = data["pairs"]
    assert (pair["before"], pair["after"], pair["unit"]) == ([before], [after], "step")
    assert pair["gained_ns"] == 300_000
    (gain,) = pair["gains"]
    assert gain["held"] and 0.7 < gain["ratio"] < 0.8, "of 400 us a step 300 were gained"
    (rule,) = data["rules"]
    assert (rule["rule"], rule["pairs"], rule["held"], rule["verdict"]) == ("data_loading", 1, 1, "held")
    text = neurolens("findings", "--score").out
    assert "data_loading" in text and "too few pairs for a proof" in text and "1 of 1 promises held" in text


def test_a_label_that_names_no_run_spoils_no_other_pair(neurolens, labelled):
    before, after = labelled
    neurolens("label", after, "follows=no_such_run", "applied=data_loading")
    neurolens("label", before, f"follows={after[:12]}", "applied=data_loading")
    data = neurolens("findings", "--score", "--json").data
    assert len(data["pairs"]) == 2
    assert sum(bool(pair["before"]) for pair in data["pairs"]) == 1


@pytest.mark.parametrize("text", ["pairs: 1", "pairs: [{before: [a]}]", "pairs: [{before: [a], after: [b], x: 1}]",
                                  "pairs: [{before: a, after: [b]}]", "pairs: [{before: [a], after: [b], applied: ['r:0']}]"])  # fmt: skip
def test_faults_of_a_file(neurolens, tmp_path, text):
    path = tmp_path / "pairs.yaml"
    path.write_text(text)
    neurolens("findings", "--score", "--pairs", path, code=BAD_INPUT)


def test_findings_and_rules_carry_their_proof(neurolens, labelled):
    rules = {rule["id"]: rule["proof"] for rule in neurolens("rules", "--json").data["rules"]}
    assert rules["late_ranks"] == "unproved" and rules["little_device_work"] == "promises no gain"
    assert rules["data_loading"].startswith("held in ")
    for finding in neurolens("analyze", labelled[0], "--json").data["findings"]:
        assert finding["proof"] == rules[finding["rule"]]


@pytest.fixture(scope="module")
def sessions(tmp_path_factory):
    """A model with and without optimisation, at batch 1 and 4, on one thread; what takes how long is not asked."""
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    import gain_models
    folder = tmp_path_factory.mktemp("sessions")
    library = next(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    neurolens = Neurolens(folder / "ledger", {"NEUROLENS_ONNXRUNTIME": str(library)})
    model = gain_models.gelu_mlp(str(folder / "model.onnx"), wide=64, layers=2)

    def profile(batch, optimize):
        return neurolens("profile", model, "--size", f"batch={batch}", "--threads", "1", "--optimize", optimize,
                         "--iterations", "5", "--json").data["run_id"]  # fmt: skip

    runs = {key: profile(*key) for key in ((1, "none"), (1, "all"), (4, "all"))}
    return neurolens, runs, folder


def metrics_of(neurolens, run):
    (device,) = neurolens("analyze", run, "--json").data["devices"]
    return {name: metric.get("value") for name, metric in device["metrics"].items()}


def test_metrics_of_a_session(sessions):
    neurolens, runs, _ = sessions
    plain, optimised, batched = (metrics_of(neurolens, run) for run in runs.values())
    assert plain["unfused_op_time"] > 0 and optimised["unfused_op_time"] == 0
    assert plain["one_thread"] == 1 and plain["host_processors"] >= 1
    assert 0 < plain["one_row_matrix_time"] == plain["host_fp32_matrix_time"] <= plain["host_op_time"]
    assert batched["one_row_matrix_time"] == 0 < batched["host_fp32_matrix_time"]
    sums = neurolens.rows(
        runs[1, "none"], "SELECT count(*) AS n FROM ops WHERE op_type IN ('Sqrt', 'Erf', 'Pow', 'Sub', 'Div')")
    assert sums[0]["n"] > 0, "the parts of layer norm and Gelu are there"


def test_units_of_sessions(sessions):
    neurolens, runs, folder = sessions
    data = scored(neurolens, folder, [
        gain_pairs.pair("optimised", [runs[1, "none"]], [runs[1, "all"]], ["unoptimised_graph"]),
        gain_pairs.pair("batch", [runs[1, "all"]], [runs[4, "all"]], ["products_of_one_row"]),
    ])  # fmt: skip
    optimised, batch = data["pairs"]
    assert optimised["unit"] == "iteration", "of the pass without the profiler"
    assert [gain["rule"] for gain in optimised["gains"]] == ["unoptimised_graph"]
    assert batch["unit"] == "item", "a run of four inputs is four items"
