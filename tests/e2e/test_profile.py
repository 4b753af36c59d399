"""neurolens profile: a model on the real ONNX Runtime, with and without its profiler."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from conftest import BAD_INPUT, MISSING, Neurolens, pids_of

numpy = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

LIBRARY = next(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))


def save_model(path, nodes, inputs, outputs, weights):
    graph = onnx.helper.make_graph(nodes, "net", inputs, outputs, weights)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def tensor_info(name, shape, kind=onnx.TensorProto.FLOAT):
    return onnx.helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape):
    values = numpy.random.default_rng(1).random(shape, "f4")
    return onnx.numpy_helper.from_array(values, name)


@pytest.fixture(scope="module")
def mlp(tmp_path_factory):
    """ids [batch, 8] -> embedding -> two layers; `scale` is a second input."""
    nodes = [
        onnx.helper.make_node("Gather", ["table", "ids"], ["e"], name="embed"),
        onnx.helper.make_node("MatMul", ["e", "w1"], ["h"], name="fc1"),
        onnx.helper.make_node("Relu", ["h"], ["r"], name="act"),
        onnx.helper.make_node("MatMul", ["r", "w2"], ["y0"], name="fc2"),
        onnx.helper.make_node("Mul", ["y0", "scale"], ["y"], name="scaled"),
    ]
    inputs = [tensor_info("ids", ["batch", 8], onnx.TensorProto.INT64), tensor_info("scale", [1])]
    weights = [weight("table", 50, 64), weight("w1", 64, 256), weight("w2", 256, 64)]
    return save_model(tmp_path_factory.mktemp("model") / "mlp.onnx", nodes, inputs, [tensor_info("y", ["batch", 8, 64])], weights)


@pytest.fixture(scope="module")
def convnet(tmp_path_factory):
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        onnx.helper.make_node("Relu", ["c"], ["y"], name="relu"),
    ]
    return save_model(tmp_path_factory.mktemp("model") / "net é.onnx", nodes, [tensor_info("x", [1, 3, 32, 32])],
                      [tensor_info("y", [1, 8, 32, 32])], [weight("w", 8, 3, 3, 3)])


def labels_of(neurolens, run):
    return {label["key"]: label["value"] for label in neurolens("show", run, "--json").data["labels"]}


@pytest.fixture
def profiler(tmp_path):
    return Neurolens(tmp_path / "ledger", {"NEUROLENS_ONNXRUNTIME": str(LIBRARY)})


def test_a_model_becomes_a_run(profiler, mlp):
    result = profiler("profile", mlp, "--size", "batch=4", "--threads", "1", "--iterations", "20", "--json")
    data = result.data
    assert result.envelope["warnings"] == []
    assert data["library"]["version"] == onnxruntime.__version__
    assert [(i["name"], i["shape"], i["origin"]) for i in data["inputs"]] == [("ids", [4, 8], "generated"), ("scale", [1], "generated")]
    passes = {p["pass"]: p for p in data["times"]["passes"]}
    for figures in passes.values():
        assert figures["iterations"] == 20 and figures["warm_up"] == 3
        assert 0 < figures["min_ns"] <= figures["low_ns"] <= figures["median_ns"] <= figures["high_ns"] <= figures["max_ns"]
        assert figures["p99_ns"] is None, "twenty values say nothing about it"
    overhead = data["times"]["overhead"]
    assert 0 < overhead["low"] <= overhead["ratio"] <= overhead["high"]
    assert data["nodes"]["runs"] == 23 and data["nodes"]["nodes"] >= 23 * 4
    assert 0 < data["nodes"]["node_ns"] <= data["nodes"]["run_ns"]
    assert data["memory"]["peak_bytes"] > 10_000_000

    run = data["run_id"]
    profiler("verify", run)
    shown = profiler("show", run, "--json").data
    assert labels_of(profiler, run) == {
        "model": "mlp", "engine": "onnxruntime", "threads": "1", "batch": "4", "provider": "CPU", "optimize": "all"}
    assert shown["iterations"] == data["times"]
    assert shown["format"] == "onnxruntime"
    counted = profiler.rows(run, "SELECT pass, warm_up, count(*) AS n FROM iterations GROUP BY ALL ORDER BY ALL")
    assert [row["n"] for row in counted] == [20, 3, 20, 3]
    assert profiler.value(run, "SELECT count(*) FROM ops WHERE op_type = 'Gather'") == 23


def test_the_window_is_the_measured_iterations(profiler, mlp):
    """What the pass without the profiler did meanwhile limits nothing, and the overhead is one figure."""
    result = profiler("profile", mlp, "--size", "batch=4", "--iterations", "30", "--json").data
    assert set(result["times"]["overhead"]) == {"turns", "ratio", "low", "high"}
    data = profiler("analyze", result["run_id"], "--json").data
    runs = [row["dur_ns"] for row in profiler.rows(result["run_id"], "SELECT dur_ns FROM spans WHERE name = 'model_run' ORDER BY start_ns")]
    assert data["window"]["total_ns"] == sum(runs[3:]) and data["window"]["why"] == "30 measured iterations"
    assert data["window"]["total_ns"] + sum(part["dur_ns"] for part in data["window"]["outside"]) == data["window"]["capture_ns"]
    assert "between_runs" not in [limiter["what"] for limiter in data["limiters"]]
    assert sum(part["what"] == "between_iterations" for part in data["window"]["outside"]) == 1
    text = profiler("show", result["run_id"]).out
    assert text.count("times as long") == 1 and "profiled: median" not in text.replace("unprofiled: median", "")
    assert "mlp, " in text


def test_its_own_times_agree_with_the_profilers(profiler, mlp):
    """Each iteration of the profiled pass encloses one run of the profiler; that clock counts microseconds."""
    run = profiler("profile", mlp, "--iterations", "30", "--size", "batch=64", "--json").data["run_id"]
    outside = [row["dur_ns"] for row in profiler.rows(run, "SELECT dur_ns FROM iterations WHERE pass = 'profiled' ORDER BY iteration_id")]
    inside = [row["dur_ns"] for row in profiler.rows(run, "SELECT dur_ns FROM spans WHERE name = 'model_run' ORDER BY start_ns")]
    assert len(outside) == len(inside) == 33
    assert all(a >= b - 1000 for a, b in zip(outside, inside)), "the profiler's runs are inside"


def test_artifacts_say_what_ran_and_on_what(tmp_path, convnet):
    secret = Neurolens(tmp_path / "ledger", {"NEUROLENS_ONNXRUNTIME": str(LIBRARY), "OMP_NUM_THREADS": "3", "VLLM_API_KEY": "hush"})
    data = secret("profile", convnet, "--iterations", "5", "--set", "variant=é", "--json").data
    folder = pathlib.Path(data["artifacts"])
    assert sorted(p.name for p in folder.iterdir()) == ["capture.json", "profile.json", "stderr.txt", "stdout.txt"]
    capture = json.loads((folder / "capture.json").read_text())
    assert capture["environment"]["variables"]["OMP_NUM_THREADS"] == "3" and capture["environment"]["withheld"] >= 1
    assert "hush" not in (folder / "capture.json").read_text()
    assert capture["host"]["processors"]["threads"] == os.cpu_count()
    assert capture["model"]["path"] == str(convnet) and len(capture["model"]["sha256"]) == 64
    assert {c["name"] for c in capture["capabilities"]} >= {"cpu_sampling", "hardware_counters", "nvidia_driver", "onnxruntime"}
    assert labels_of(secret, data["run_id"])["variant"] == "é"


def test_given_inputs(profiler, mlp, tmp_path):
    numpy.savez_compressed(tmp_path / "in.npz", ids=numpy.zeros((2, 8), "i8"))
    data = profiler("profile", mlp, "--inputs", tmp_path / "in.npz", "--seconds", "1", "--json").data
    assert [(i["shape"], i["origin"]) for i in data["inputs"]] == [([2, 8], "given"), ([1], "generated")]


FAULTS = {
    "no model": (["{tmp}/none.onnx"], BAD_INPUT, "no such file"),
    "not a model": (["{tmp}/text.onnx"], BAD_INPUT, "cannot load"),
    "wrong shape": (["{mlp}", "--shape", "ids=2x9"], BAD_INPUT, "?x8 in the model, not 2x9"),
    "no number": (["{mlp}", "--size", "batch=x"], BAD_INPUT, "not a size: x"),
    "no such input": (["{mlp}", "--inputs", "{tmp}/other.npz"], BAD_INPUT, "no input other"),
    "index out of range": (["{mlp}", "--inputs", "{tmp}/far.npz"], BAD_INPUT, "the model failed"),
    "not an npz": (["{mlp}", "--inputs", "{tmp}/text.onnx"], BAD_INPUT, ".npz file is damaged"),
    "no such provider": (["{mlp}", "--provider", "CUDA"], BAD_INPUT, "CUDA"),
    "no library": (["{mlp}", "--library", "{tmp}/none.so"], MISSING, "no such library"),
    "another library": (["{mlp}", "--library", "{tmp}/text.onnx"], MISSING, "cannot load ONNX Runtime"),
}


@pytest.mark.parametrize("arguments, code, words", FAULTS.values(), ids=FAULTS)
def test_faults_are_said_and_leave_nothing(profiler, mlp, tmp_path, arguments, code, words):
    (tmp_path / "text.onnx").write_text("no model")
    numpy.savez(tmp_path / "other.npz", other=numpy.zeros(3))
    numpy.savez(tmp_path / "far.npz", ids=numpy.full((1, 8), 1000, "i8"))
    result = profiler("profile", *(a.format(tmp=tmp_path, mlp=mlp) for a in arguments), "--json", code=code)
    assert words in result.envelope["error"]["message"]
    assert profiler.runs() == [] and profiler.leftovers() == []


def test_time_limit(profiler, mlp):
    begin = time.monotonic()
    result = profiler("profile", mlp, "--iterations", "10000", "--size", "batch=512", "--time-limit", "1", "--json", code=MISSING)
    error = result.envelope["error"]
    assert "did not end within 1 s" in error["message"] and "--time-limit" in error["hint"]
    assert time.monotonic() - begin < 30 and profiler.leftovers() == []


def model_process(profiler):
    """The process that runs the model, once it does."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        for pid in pids_of("--measure-model", profiler.ledger):
            return pid
        time.sleep(0.02)
    raise AssertionError("no model was started")


def test_ctrl_c_ends_the_model_too(profiler, mlp):
    running = subprocess.Popen(profiler.command("profile", mlp, "--iterations", "10000", "--size", "batch=512"),
                               env=profiler.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    model = model_process(profiler)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode == 130
    assert not pathlib.Path(f"/proc/{model}").exists()
    assert profiler.runs() == [] and profiler.leftovers() == []


def test_the_library_of_python_is_found(tmp_path, mlp):
    found = Neurolens(tmp_path / "ledger", {"PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}"})
    found.environment.pop("NEUROLENS_ONNXRUNTIME", None)
    assert found("profile", mlp, "--iterations", "5", "--json").data["library"]["path"] == str(LIBRARY)


def test_the_model_ends_with_a_killed_neurolens(profiler, mlp):
    running = subprocess.Popen(profiler.command("profile", mlp, "--iterations", "10000", "--size", "batch=512"),
                               env=profiler.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    model = model_process(profiler)
    running.kill()
    running.communicate(timeout=30)
    deadline = time.monotonic() + 30
    while pathlib.Path(f"/proc/{model}/exe").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not pathlib.Path(f"/proc/{model}/exe").exists()
    assert profiler.runs() == []
