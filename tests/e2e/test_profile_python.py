"""Profiling from Python: neurolens.profile in a program, and scripts, functions and models by the verb profile, with the real
frameworks.

A framework is taken from the Python that runs the tests, or from those that NEUROLENS_PYTHONS names (a:b:c); without any the
test is skipped and says so.
"""

import json
import os
import pathlib
import stat
import subprocess
import sys
import textwrap
import time

import pytest

from conftest import BAD_INPUT, BINARY, MISSING, REPOSITORY, Neurolens, need, pids_of

PACKAGE = REPOSITORY / "python"


class Program:
    """Python code that uses the package, with a ledger."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.neurolens = Neurolens(self.folder / "ledger", {
            "PYTHONPATH": str(PACKAGE), "NEUROLENS_PROGRAM": str(BINARY), "NEUROLENS_LEDGER": str(self.folder / "ledger"),
            "TF_CPP_MIN_LOG_LEVEL": "3"})

    def __call__(self, python, code, code_expected=0):
        """What the code prints as JSON in its last line."""
        path = self.folder / "program.py"
        path.write_text(textwrap.dedent(code))
        done = subprocess.run([python, str(path)], env=self.neurolens.environment, cwd=self.folder, capture_output=True, timeout=300)
        assert done.returncode == code_expected, done.stderr.decode()
        lines = done.stdout.decode().splitlines()
        return json.loads(lines[-1]) if lines else None

    def write(self, name, code):
        path = self.folder / name
        path.write_text(textwrap.dedent(code))
        return path

    def profile(self, *arguments, **options):
        return self.neurolens("profile", "--json", *arguments, timeout=300, cwd=self.folder, **options)

    def iterations(self, run):
        rows = self.neurolens.rows(run, "SELECT pass, warm_up, count(*) AS n FROM iterations GROUP BY ALL ORDER BY ALL")
        return {(row["pass"], row["warm_up"]): row["n"] for row in rows}


@pytest.fixture
def program(tmp_path):
    return Program(tmp_path)


@pytest.fixture
def model(tmp_path):
    """x [batch, 64] -> project -> relu."""
    numpy = pytest.importorskip("numpy")
    onnx = pytest.importorskip("onnx")
    helper, path = onnx.helper, tmp_path / "net.onnx"
    weight = onnx.numpy_helper.from_array(numpy.random.default_rng(1).random((64, 64), "f4"), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"], name="project"), helper.make_node("Relu", ["z"], ["y"], name="relu")]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", 64]) for name in "xy"]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], [weight])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def capture_of(data_or_bundle):
    return json.loads((pathlib.Path(data_or_bundle) / "capture.json").read_text())


# ---- Without any framework


def test_a_function_without_a_framework_has_its_times(program):
    said = program(sys.executable, """
        import json, sys, warnings, neurolens
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = neurolens.profile(lambda n: sum(range(n)), inputs=20000, iterations=30, name="sum", labels={"variant": "a"})
        loaded = [name for name in ("torch", "onnxruntime", "openvino", "tensorflow", "numpy") if name in sys.modules]
        print(json.dumps([run.id, run.labels, [str(w.message) for w in caught], loaded]))
    """)
    run, labels, warned, loaded = said
    assert labels["model"] == "sum" and labels["variant"] == "a"
    assert len(warned) == 1 and "no profiler" in warned[0]
    assert loaded == [], "no framework is imported for the user"
    assert program.iterations(run) == {("unprofiled", 0): 30, ("unprofiled", 1): 3}
    capture = capture_of(program.neurolens.bundle(run) / "artifacts")
    assert capture["framework"]["versions"]["python"] == sys.version.split()[0]
    assert capture["command"].endswith("program.py") and capture["host"]["processors"]["threads"] == os.cpu_count()
    assert capture["inputs"] == [{"name": "0", "type": "int", "shape": [], "origin": "given"}]
    program.neurolens("verify", run)


def test_times_are_those_of_the_function(program):
    """A function that sleeps 5 ms takes 5 ms, and next to no processor time; its clock is that of Unix."""
    run = program(sys.executable, """
        import json, time, neurolens
        print(json.dumps([neurolens.profile(lambda: time.sleep(0.005), iterations=10, framework="none").id, time.time_ns()]))
    """)
    rows = program.neurolens.rows(run[0], "SELECT start_ns, dur_ns, cpu_ns FROM iterations WHERE warm_up = 0")
    assert all(5_000_000 <= row["dur_ns"] and row["cpu_ns"] < row["dur_ns"] for row in rows)
    assert all(0 < run[1] - row["start_ns"] < 300_000_000_000 for row in rows)


def test_an_error_of_the_function_is_its_own_and_leaves_nothing(program):
    said = program(sys.executable, """
        import json, neurolens
        def of_a_function():
            neurolens.profile(lambda: 1 / 0)
        def of_a_block():
            with neurolens.profile("block"):
                1 / 0
        said = []
        for failing in (of_a_function, of_a_block):
            try:
                failing()
            except ZeroDivisionError as error:
                said.append(str(error))
        print(json.dumps(said))
    """)
    assert said == ["division by zero"] * 2
    assert program.neurolens.runs() == [] and program.neurolens.leftovers() == []


UNPROFILED = {
    "not to be called": ("neurolens.profile(7)", "bad_input"),
    "no such framework": ("neurolens.profile(print, framework='caffe')", "bad_input"),
    "no label": ("neurolens.profile(print, labels={'': 'x'}, iterations=1)", "bad_input"),
    "a coroutine": ("neurolens.profile(asyncio.sleep, inputs=1)", "unsupported"),
}


@pytest.mark.parametrize("call, code", UNPROFILED.values(), ids=UNPROFILED)
def test_what_cannot_be_profiled_is_an_error(program, call, code):
    said = program(sys.executable, f"""
        import asyncio, json, neurolens
        try:
            {call}
        except neurolens.Error as error:
            print()
            print(json.dumps(error.code))
    """)
    assert said == code and program.neurolens.runs() == []


def test_a_block_with_steps(program):
    said = program(sys.executable, """
        import json, neurolens
        with neurolens.profile("loop", framework="none") as p:
            for _ in range(20):
                sum(range(1000))
                p.step()
        with neurolens.profile("once", framework="none") as q:
            sum(range(1000))
        print(json.dumps([p.run.id, q.run.id, q.run.labels["model"]]))
    """)
    assert program.iterations(said[0]) == {("unprofiled", 0): 17, ("unprofiled", 1): 3}
    assert program.iterations(said[1]) == {("unprofiled", 0): 1} and said[2] == "once"


# ---- ONNX Runtime


def test_a_session_of_onnx_runtime(program, model):
    said = program(need("onnxruntime"), """
        import json, numpy, onnxruntime, neurolens
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession("net.onnx", options)
        run = neurolens.profile(session, inputs={"x": numpy.ones((4, 64), "f4")}, iterations=20, name="net")
        print(json.dumps([run.id, run.metadata["iterations"]["overhead"], run.labels, session.get_session_options().enable_profiling]))
    """)
    run, overhead, labels, is_profiling = said
    assert not is_profiling, "the user's options are as they were"
    assert labels["model"] == "net" and labels["engine"] == "onnxruntime"
    assert overhead["turns"] == 20 and 0 < overhead["low"] <= overhead["ratio"] <= overhead["high"]
    assert program.iterations(run) == {("profiled", 0): 20, ("profiled", 1): 3, ("unprofiled", 0): 20, ("unprofiled", 1): 3}
    assert program.neurolens.value(run, "SELECT count(*) FROM ops WHERE op_type = 'MatMul'") == 23
    capture = capture_of(program.neurolens.bundle(run) / "artifacts")
    assert capture["framework"]["threads"] == 1 and capture["framework"]["provider"] == "CPU"
    assert [(i["name"], i["shape"], i["origin"]) for i in capture["inputs"]] == [("x", [4, 64], "given")]


def test_inputs_of_a_session_are_made_up(program, model):
    said = program(need("onnxruntime"), """
        import json, onnxruntime, warnings, neurolens
        session = onnxruntime.InferenceSession("net.onnx")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run = neurolens.profile(session, iterations=10)
        try:
            neurolens.profile(session, inputs={"z": 1})
        except neurolens.Error as error:
            print(json.dumps([[str(w.message) for w in caught], error.code]))
    """)
    assert len(said[0]) == 1 and "size batch open" in said[0][0]
    assert said[1] == "bad_input"


# ---- PyTorch

ENCODER = """
    import json, sys, torch, neurolens
    torch.manual_seed(1)
    net = torch.nn.TransformerEncoderLayer(64, 4, batch_first=True).eval()
    x = torch.randn(2, 16, 64)
"""


def test_a_module_of_torch(program):
    said = program(need("torch"), ENCODER + """
    run = neurolens.profile(net, inputs=x, iterations=20)
    print(json.dumps([run.id, run.metadata["iterations"]["overhead"], run.labels]))
    """)
    run, overhead, labels = said
    assert labels == {"engine": "pytorch", "model": "TransformerEncoderLayer"}
    assert overhead["turns"] == 20 and overhead["low"] is not None
    assert program.iterations(run) == {("profiled", 0): 20, ("profiled", 1): 3, ("unprofiled", 0): 20, ("unprofiled", 1): 3}
    outside = program.neurolens.rows(run, "SELECT dur_ns FROM iterations WHERE pass = 'profiled' ORDER BY iteration_id")
    inside = program.neurolens.rows(run, "SELECT dur_ns FROM spans WHERE name = 'model_run' ORDER BY start_ns")
    assert len(inside) == 23 and all(a["dur_ns"] >= b["dur_ns"] - 1000 for a, b in zip(outside, inside))
    beside = """SELECT count(*) FROM spans s WHERE kind = 'op' AND NOT EXISTS (SELECT 1 FROM spans r WHERE r.name = 'model_run'
                AND s.start_ns BETWEEN r.start_ns AND r.start_ns + r.dur_ns)"""
    assert program.neurolens.value(run, beside) == 0, "nothing of the unprofiled iterations is in the trace"
    assert program.neurolens.value(run, "SELECT count(*) FROM ops WHERE name = 'aten::addmm' AND shapes IS NOT NULL") >= 23
    assert "23 steps by model_run" in program.neurolens("analyze", run, "--window", "model_run").out


def test_a_loop_of_torch_takes_turns(program):
    said = program(need("torch"), ENCODER + """
    with torch.inference_mode(), neurolens.profile("loop") as p:
        for _ in range(200):
            net(x)
            p.step()
    with neurolens.profile("once") as q:
        net(x)
    print(json.dumps([p.run.id, p.run.metadata["iterations"]["overhead"], q.run.id, torch.autograd.profiler._is_profiler_enabled]))
    """)
    run, overhead, once, still_on = said
    counts = program.iterations(run)
    assert sum(counts.values()) == 200 and counts[("profiled", 1)] == 1 and counts[("unprofiled", 1)] == 2
    assert counts[("profiled", 0)] > 0 and overhead["turns"] >= 1
    assert program.iterations(once) == {("profiled", 0): 1} and not still_on
    assert program.neurolens.value(once, "SELECT count(*) FROM ops WHERE name = 'aten::linear'") > 0


def test_modules_of_torch_have_scopes(program):
    """They end if a module fails, too."""
    said = program(need("torch"), ENCODER + """
    import neurolens.torch
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise ValueError("no")
    with neurolens.torch.annotate(net):
        run = neurolens.profile(net, inputs=x, iterations=2)
    failing = torch.nn.Sequential(torch.nn.Identity(), Fails())
    annotation = neurolens.torch.annotate(failing)
    try:
        failing(x)
    except ValueError:
        pass
    print(json.dumps([run.id, len(annotation._stack), len(net._forward_hooks)]))
    """)
    names = {row["name"] for row in program.neurolens.rows(said[0], "SELECT DISTINCT name FROM spans WHERE kind = 'annotation'")}
    assert {"TransformerEncoderLayer", "model_run"} <= names
    assert said[1:] == [0, 0]


# ---- TensorFlow


def test_a_function_of_tensorflow(program):
    said = program(need("tensorflow"), """
        import json, tensorflow as tf, neurolens
        w = tf.random.normal((64, 64))
        @tf.function
        def step(x):
            return tf.nn.relu(x @ w)
        run = neurolens.profile(step, inputs=tf.ones((8, 64)), iterations=10, name="step")
        print(json.dumps([run.id, run.labels]))
    """)
    run, labels = said
    assert labels["engine"] == "tensorflow"
    assert program.iterations(run) == {("profiled", 0): 10, ("unprofiled", 0): 10, ("unprofiled", 1): 3}
    assert program.neurolens.value(run, "SELECT count(*) FROM spans WHERE name = 'model_run' AND kind = 'annotation'") == 10
    assert program.neurolens.value(run, "SELECT count(*) FROM ops WHERE op_type LIKE '%MatMul'") == 10
    assert (program.neurolens.bundle(run) / "artifacts/tensorflow.xplane.pb").stat().st_size > 0


# ---- OpenVINO


def test_a_model_of_openvino(program, model):
    said = program(need("openvino"), """
        import json, neurolens.openvino
        run = neurolens.openvino.profile("net.onnx", iterations=20, name="net")
        print(json.dumps([run.id, run.metadata["iterations"]["overhead"]["turns"], run.labels["engine"]]))
    """)
    assert said[1:] == [20, "openvino"]
    layers = {row["name"]: row for row in program.neurolens.rows(said[0], "SELECT * FROM layer_times")}
    assert layers["project"]["iterations"] == 20 and layers["project"]["total_ns"] > 0
    assert program.neurolens.value(said[0], "SELECT count(*) FROM layers WHERE layer_type = 'FullyConnected'") == 1


def test_openvino_by_the_verb(program, model):
    python = need("openvino")
    arguments = ["--backend", "openvino", "--python", python, "--shape", "x=4x64", "--threads", "1", "--iterations", "10"]
    data = program.profile(model, *arguments).data
    assert data["library"]["name"] == "openvino" and data["inputs"][0]["shape"] == [4, 64]
    assert data["nodes"]["runs"] == 10 and data["nodes"]["run_ns"] is None and data["nodes"]["node_ns"] > 0
    assert len(capture_of(data["artifacts"])["model"]["sha256"]) == 64


# ---- Scripts and functions by the verb


def test_a_function_of_a_script(program):
    program.write("work.py", """
        import sys
        class Net:
            @staticmethod
            def run():
                return sum(range(int(sys.argv[1])))
    """)
    for target in ("work.py:Net.run", "work:Net.run"):
        data = program.profile(target, "--python", sys.executable, "--iterations", "10", "--warm-up", "2", "--", "500").data
        passes = {p["pass"]: p for p in data["times"]["passes"]}
        assert passes["unprofiled"]["iterations"] == 10 and passes["unprofiled"]["warm_up"] == 2
        assert data["library"]["name"] == "python" and data["memory"]["peak_bytes"] > 1_000_000
    labels = program.neurolens("show", data["run_id"], "--json").data["labels"]
    assert {"model": "work:Net.run"}.items() <= {label["key"]: label["value"] for label in labels}.items()


def test_a_whole_script_without_a_framework(program):
    program.write("whole.py", """
        import pathlib, sys
        if __name__ == "__main__":
            with open("runs.txt", "a") as out:
                out.write(" ".join(sys.argv[1:]) + "\\n")
            sys.exit(0)
    """)
    result = program.profile("whole.py", "--python", sys.executable, "--iterations", "2", "--", "a", "--b")
    assert (program.folder / "runs.txt").read_text() == "a --b\n" * 2
    assert [(p["pass"], p["iterations"]) for p in result.data["times"]["passes"]] == [("unprofiled", 2)]
    assert any("no profiler" in warning for warning in result.envelope["warnings"])


def test_a_whole_script_of_torch(program):
    program.write("infer.py", """
        import torch
        net = torch.nn.Linear(32, 32)
        for _ in range(5):
            net(torch.ones(4, 32))
    """)
    data = program.profile("infer.py", "--python", need("torch")).data
    assert [(p["pass"], p["iterations"]) for p in data["times"]["passes"]] == [("profiled", 1), ("unprofiled", 1)]
    assert data["times"]["overhead"]["turns"] == 1 and data["times"]["overhead"]["low"] is None
    assert program.neurolens.value(data["run_id"], "SELECT count(*) FROM ops WHERE name = 'aten::linear'") == 5


FAULTS = {
    "no such script": ("none.py", BAD_INPUT, "no such file"),
    "no such function": ("bad.py:none", BAD_INPUT, "there is no none"),
    "no such module": ("no_such_module:f", BAD_INPUT, "No module named"),
    "it raises": ("bad.py:raises", BAD_INPUT, "ValueError: of mine (bad.py, line 3)"),
    "it ends its process": ("bad.py:leaves", MISSING, "exit code 7"),
    "a script that fails": ("fails.py", BAD_INPUT, "exit code 3"),
}


@pytest.mark.parametrize("target, code, words", FAULTS.values(), ids=FAULTS)
def test_faults_are_said_and_leave_nothing(program, target, code, words):
    program.write("bad.py", "import os\ndef raises():\n    raise ValueError('of mine')\ndef leaves():\n    os._exit(7)\n")
    program.write("fails.py", "import sys\nsys.exit(3)\n")
    error = program.profile(target, "--python", sys.executable, code=code).envelope["error"]
    assert words in error["message"]
    assert program.neurolens.runs() == [] and program.neurolens.leftovers() == []


@pytest.mark.parametrize("target", ["slow.py:main", "slow.py"])
def test_the_code_ends_with_a_killed_neurolens(program, target):
    script = program.write("slow.py", "import time\ndef main():\n    time.sleep(600)\nif __name__ == '__main__':\n    main()\n")
    running = program.neurolens.start("profile", script.parent / target, "--python", sys.executable)
    wanted = 1 if ":" in target else 2  # a whole script has a process of its own
    deadline = time.monotonic() + 60
    while len(pids_of("neurolens._profile_target", program.neurolens.ledger)) < wanted:
        assert time.monotonic() < deadline and running.poll() is None, "it was not started"
        time.sleep(0.05)
    running.kill()
    running.communicate(timeout=30)
    while pids_of("neurolens._profile_target", program.neurolens.ledger):
        assert time.monotonic() < deadline, "it still runs"
        time.sleep(0.05)
    assert program.neurolens.runs() == []


def test_a_python_without_the_package(program, tmp_path):
    program.neurolens.environment.pop("PYTHONPATH")
    error = program.profile("json:dumps", "--python", sys.executable, code=MISSING).envelope["error"]
    assert "package neurolens is not installed" in error["message"] and "pip install" in error["hint"]
    error = program.profile("json:dumps", "--python", tmp_path / "none", code=MISSING).envelope["error"]
    assert "this Python does not exist" in error["message"]


# ---- trtexec: a stand-in for the program, as there is no GPU

TRTEXEC = """#!{python}
import json, pathlib, sys
words = dict(word.partition("=")[::2] for word in sys.argv[1:])
print("&&&& RUNNING TensorRT.trtexec [TensorRT v{version}] # trtexec", *sys.argv[1:])
if "--help" in words:
    print("  --exportTimes=<file>\\n  --exportProfile=<file>\\n  --exportLayerInfo=<file>")
    print("  --separateProfileRun\\n  --profilingVerbosity=mode")
    sys.exit(0)
pathlib.Path({arguments!r}).write_text(json.dumps(sys.argv[1:]))
if "--loadEngine" in words and "broken" in words["--loadEngine"]:
    print("[E] Error: cannot deserialize the engine", file=sys.stderr)
    sys.exit(1)
count = int(words.get("--iterations", 10))
times = [dict(startEnqMs=i, endEnqMs=i + 0.01, startH2dMs=i, endH2dMs=i, startComputeMs=i, endComputeMs=i + 0.5, startD2hMs=i + 0.5,
              endD2hMs=i + 0.5, h2dMs=0, computeMs=0.5, d2hMs=0, latencyMs=0.5) for i in range(count)]
layers = ["Conv_0 + Relu_1", "MatMul_2"]
profile = [dict(count=count)] + [dict(name=name, timeMs=0.25 * count, averageMs=0.25, medianMs=0.25, percentage=50) for name in layers]
info = dict(Layers=[dict(Name=name, LayerType="Cask") for name in layers], Bindings=["x", "y"])
for option, value in (("--exportTimes", times), ("--exportProfile", profile), ("--exportLayerInfo", info)):
    pathlib.Path(words[option]).write_text(json.dumps(value))
"""


@pytest.fixture
def trtexec(program, tmp_path):
    """The stand-in; what it was called with last is in the file that it returns."""
    arguments = tmp_path / "arguments.json"
    path = tmp_path / "trtexec"
    path.write_text(TRTEXEC.format(python=sys.executable, version=8601, arguments=str(arguments)))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    program.neurolens.environment["NEUROLENS_TRTEXEC"] = str(path)
    return arguments


def test_an_engine_by_trtexec(program, trtexec, tmp_path):
    engine = tmp_path / "net.engine"
    engine.write_bytes(b"engine")
    data = program.profile(engine, "--iterations", "20").data
    words = json.loads(trtexec.read_text())
    assert words[:3] == [f"--loadEngine={engine}", "--iterations=20", "--duration=0"]
    assert {"--separateProfileRun", "--dumpProfile", "--profilingVerbosity=detailed"} <= set(words)
    assert data["library"]["name"] == "tensorrt" and data["library"]["version"] == "8.6.1" and data["times"] is None
    assert data["nodes"] == {"runs": 20, "run_ns": None, "node_ns": 10_000_000, "nodes": 40}
    assert program.neurolens.value(data["run_id"], "SELECT count(*) FROM spans WHERE name = 'inference'") == 20
    assert program.neurolens.value(data["run_id"], "SELECT count(*) FROM layers") == 2
    assert capture_of(data["artifacts"])["model"]["path"] == str(engine)
    program.neurolens("verify", data["run_id"])
    assert "TensorRT 8.6.1" in program.neurolens("profile", engine, "--iterations", "20").out


def test_an_onnx_model_by_trtexec(program, trtexec, model):
    program.profile(model, "--backend", "trtexec", "--shape", "x=8x64", "--seconds", "2")
    words = json.loads(trtexec.read_text())
    assert words[:3] == [f"--onnx={model}", "--duration=2", "--shapes=x:8x64"]


def test_faults_of_trtexec(program, trtexec, tmp_path):
    broken = tmp_path / "broken.plan"
    broken.write_bytes(b"")
    error = program.profile(broken, code=MISSING).envelope["error"]
    assert "cannot deserialize" in error["message"]
    program.neurolens.environment["NEUROLENS_TRTEXEC"] = str(tmp_path / "none")
    error = program.profile(broken, code=MISSING).envelope["error"]
    assert "not installed" in error["message"] and "NEUROLENS_TRTEXEC" in error["hint"]
    assert program.neurolens.runs() == [] and program.neurolens.leftovers() == []


@pytest.mark.parametrize("target, option", [("net.plan", "--threads=1"), ("net.xml", "--size=batch=1"), ("work:run", "--shape=x=1"),
                                            ("net.onnx", "--python=python3")])
def test_options_that_mean_nothing_are_refused(program, target, option):
    error = program.profile(target, option, code=BAD_INPUT).envelope["error"]
    assert "does not take this parameter" in error["message"] and option.split("=")[0].strip("-") in error["message"]


# ---- The folder that the package hands over


def test_a_folder_of_passes_is_not_believed(program, tmp_path):
    (tmp_path / "passes").mkdir()
    assert program.profile("--passes", tmp_path / "passes", code=BAD_INPUT).envelope["error"]["code"] == "not_found"
    (tmp_path / "passes/passes.json").write_text("[" * 100_000)
    assert program.profile("--passes", tmp_path / "passes", code=BAD_INPUT).envelope["error"]["code"] == "bad_input"
    assert program.profile(code=BAD_INPUT).envelope["error"]["code"] == "bad_input"
    assert program.neurolens.leftovers() == []
