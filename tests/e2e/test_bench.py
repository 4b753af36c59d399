"""neurolens bench: claims of a bench.yaml, measured by turns on real processes and the real ONNX Runtime.

Times of this machine are noisy, so verdicts are tested where the difference is large (a workload that sleeps twice as long)
or by times that the workload prints itself; nothing here fails because something was slow."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from conftest import BAD_INPUT, BINARY, GATE_FAILED, REPOSITORY, Neurolens

UNFIT = 75

# The machine of a test is shared with other tests; which checks find it unfit is no matter here.
ALLOW = [
    word
    for check in ("governor", "turbo", "smt", "memory", "cgroup", "battery", "gpus", "others", "stolen", "throttled")
    for word in ("--allow", f"{check}=tests share this machine")
]

# Prints a time of its own: base ms with some noise that the seed and a counter beside it decide.
PRINTER = """
import os, random, sys
path, base = sys.argv[1], float(sys.argv[2])
with open(path, "a") as counter:
    counter.write(os.environ["NEUROLENS_SIDE"] + "\\n")
lines = open(path).read().split()
noise = random.Random(f"{len(lines)} {os.environ['NEUROLENS_SEED']}").gauss(0, 0.01)
open(os.path.join(os.environ["NEUROLENS_OUTPUT"], "result"), "w").write("42")
print("loading")
print(f"time_ms={base * (1 + noise):.6f}")
"""


@pytest.fixture
def lab(tmp_path):
    """A folder with a workload, and the program working in it."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "work.py").write_text(PRINTER)
    return Lab(folder, tmp_path)


class Lab:
    def __init__(self, folder, tmp_path):
        self.folder = folder
        self.ledger = tmp_path / "ledger"
        self.program = Neurolens(self.ledger, {"NEUROLENS_LOCKS": str(tmp_path / "locks")})

    def write(self, text, name="bench.yaml"):
        (self.folder / name).write_text(text.replace("PYTHON", sys.executable))

    def __call__(self, *words, **options):
        return self.program("bench", *words, cwd=self.folder, code=None, **options)

    def run(self, *words):
        return self("run", *ALLOW, "--json", *words)

    def start(self, *words):
        command = self.program.command("bench", "run", *ALLOW, *words)
        return subprocess.Popen(
            command, cwd=self.folder, env=self.program.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def sides(self):
        """The sides in the order in which they ran."""
        return (self.folder / "order").read_text().split()


PAIR = """
targets:
  - name: pair
    seed: 5
    time: printed time_ms
    baseline: {command: [PYTHON, work.py, order, "100"]}
    variants:
      fast: {command: [PYTHON, work.py, order, "%s"]}
    expect: [speedup >= 1.05]
    stop: {runs: 12}
"""


def claim_of(result):
    assert result.data["targets"], result
    return result.data["targets"][0]


# ---- Verdicts


def test_a_faster_variant_is_met_with_its_interval(lab):
    lab.write(PAIR % 80)
    result = lab.run()
    claim = claim_of(result)
    assert (result.code, claim["verdict"], claim["name"]) == (0, "met", "pair")
    assert 1.05 <= claim["low"] <= claim["speedup"] <= claim["high"]
    assert abs(claim["speedup"] - 1.25) < 0.03
    assert claim["runs"] == len(claim["baseline"]["run_ids"]) + len(claim["changed"]["run_ids"])


def test_a_variant_that_is_as_fast_is_not_met(lab):
    lab.write(PAIR % 100)
    result = lab.run()
    assert (result.code, claim_of(result)["verdict"]) == (GATE_FAILED, "not_met")


def test_what_the_runs_cannot_tell_is_inconclusive_with_the_runs_that_would(lab):
    lab.write(PAIR % 95)  # 1.053 against 1.05, under 1 % of noise
    claim = claim_of(lab.run())
    assert claim["verdict"] == "inconclusive"
    assert claim["low"] < 1.05 < claim["high"]
    assert claim["more_runs"] is None or claim["more_runs"] > 0
    assert "1.05" in claim["reason"]


def test_a_real_difference_of_whole_processes(lab):
    lab.write(
        """
targets:
  - name: naps
    seed: 1
    baseline: {command: [sleep, "1"]}
    variants: {short: {command: [sleep, "0.1"]}}
    expect: [speedup >= 1.05]
    stop: {runs: 8}
"""
    )
    result = lab.run()
    assert claim_of(result)["verdict"] == "met", result  # far apart: a busy machine adds the same to both
    assert result.data["overhead_ns"] > 0


# ---- Order


def test_blocks_are_mirrored_and_drawn_by_the_seed(lab):
    lab.write(PAIR % 99)
    lab.run()
    first = lab.sides()
    counted = first[2:]  # behind the cold runs
    blocks = [counted[i : i + 4] for i in range(0, len(counted), 4)]
    assert all(block == block[::-1] and set(block) == {"baseline", "fast"} for block in blocks)
    assert len({tuple(block) for block in blocks}) == 2  # both sides begin at times
    (lab.folder / "order").unlink()
    lab.run()
    assert lab.sides()[: len(first)] == first


# ---- Right before fast


def test_wrong_results_are_refused_and_not_timed(lab):
    lab.write(
        PAIR % 50
        + """
    check: [PYTHON, -c, "import sys; sys.exit('42 is not 43')"]
"""
    )
    result = lab.run()
    claim = claim_of(result)
    assert (result.code, claim["verdict"]) == (GATE_FAILED, "refused")
    assert "42 is not 43" in claim["reason"]
    assert lab.sides() == ["baseline", "fast"]  # once each, for the check
    assert claim["runs"] == 0


def test_the_check_sees_the_outputs_of_both_sides(lab):
    lab.write(
        PAIR % 80
        + """
    check: [sh, -c, 'cmp "$1/result" "$2/result" && test "$3" = fast', sh, "{baseline}", "{variant}", "{name}"]
"""
    )
    claim = claim_of(lab.run())
    assert (claim["verdict"], claim["checked"]) == ("met", True)


def test_a_side_that_fails_is_refused_with_its_words(lab):
    lab.write((PAIR % 80).replace('fast: {command: [PYTHON, work.py, order, "80"]}', "fast: {command: [ls, nowhere]}"))
    claim = claim_of(lab.run())
    assert claim["verdict"] == "refused"
    assert "nowhere" in claim["reason"]


def test_a_time_that_is_not_printed_is_refused(lab):
    lab.write((PAIR % 80).replace("printed time_ms", "printed step_ms"))
    claim = claim_of(lab.run())
    assert claim["verdict"] == "refused"
    assert "step_ms" in claim["reason"]


# ---- Runs in the ledger


def test_each_process_run_is_a_run_of_the_ledger(lab):
    lab.write(PAIR % 80)
    claim = claim_of(lab.run())
    labels = lab.program("show", claim["changed"]["run_ids"][0], "--json").data["labels"]
    found = {label["key"]: label["value"] for label in labels}
    assert (found["suite"], found["target"], found["side"]) == ("code", "pair", "fast")
    assert lab.program("runs", "--limit", "100", "--json").data["total"] == claim["runs"]


# ---- Interrupted


def test_an_interrupted_suite_goes_on_where_it_stopped(lab):
    one = (PAIR % 80).replace("targets:\n", "")
    lab.write("targets:\n" + "".join(one.replace("name: pair", f"name: pair{i}") for i in range(4)))
    for _ in range(3):
        before = len(lab.sides()) if (lab.folder / "order").exists() else 0
        words = ["--resume"] if before else []
        process = lab.start(*words)
        deadline = time.monotonic() + 60
        while not (lab.folder / "order").exists() or len(lab.sides()) < before + 7:
            assert time.monotonic() < deadline and process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
    result = lab.run("--resume")
    assert [claim["verdict"] for claim in result.data["targets"]] == ["met"] * 4
    counted = sum(claim["runs"] for claim in result.data["targets"])
    cold = 8
    # What was under way when the program was killed is repeated, and nothing else.
    assert counted + cold <= len(lab.sides()) <= counted + cold + 3
    again = lab.run("--resume")
    assert again.code != 0 and "no unfinished session" in again.err


# ---- The machine


def test_an_unfit_machine_is_named_and_can_be_allowed(lab, tmp_path):
    lab.write("environment: {allow: {}}\n" + PAIR % 80)
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        result = lab("run", "--json")
        assert result.code == UNFIT and result.data["targets"] == []
        assert not result.data["environment"]["fit"]
        said = lab("run").out
        assert "unfit" in said and "others=REASON" in said
        assert not (lab.folder / "order").exists()
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_reasons_of_what_is_allowed_are_kept(lab):
    lab.write("environment: {allow: {others: tests run beside}}\n" + PAIR % 80)
    result = lab.run()
    checks = {check["id"]: check for check in result.data["environment"]["checks"]}
    assert {check["state"] for check in checks.values()} <= {"fit", "absent", "allowed"}
    for check in checks.values():
        assert check["what"]
        assert (check["state"] == "allowed") == bool(check["allowed_because"])


def test_one_measures_at_a_time(lab):
    lab.write((PAIR % 80).replace('"80"]', '"80"]').replace("work.py, order", "slow.py, order"))
    (lab.folder / "slow.py").write_text("import time\ntime.sleep(0.3)\n" + PRINTER)
    first = lab.start()
    deadline = time.monotonic() + 60
    while not (lab.folder / "order").exists():
        assert time.monotonic() < deadline and first.poll() is None, first.communicate()
        time.sleep(0.02)
    second = lab.run()
    first.kill()
    first.communicate()
    assert second.code == BAD_INPUT
    assert "in use" in second.err and "bench pair" in second.err and str(first.pid) in second.err


def test_a_job_of_the_queue_measures_under_the_lock_of_its_runner(lab, tmp_path):
    lab.program.environment["NEUROLENS_STATE"] = str(tmp_path / "state")
    lab.write(PAIR % 80)
    ledger = ["--env", f"NEUROLENS_LEDGER={lab.ledger}"]
    lab.program("queue", "add", *ledger, "--", str(BINARY), "bench", "run", *ALLOW, cwd=lab.folder)
    assert lab.program("queue", "run", "--until-empty", cwd=lab.folder).code == 0
    assert lab("report", "--json").data["targets"][0]["verdict"] == "met"


# ---- Files


def test_mistakes_are_named_with_their_lines(lab):
    for text, line, words in [
        ("targets:\n  - name: a\n    baselin: {command: [ls]}\n", 3, "baselin"),
        ("targets:\n  - name: a\n    stop: {runs: many}\n", 3, "runs"),
        ("targets:\n  - name: a\n    expect:\n      - speedup > 2\n", 4, "speedup > 2"),
        ("targets:\n  - name: a\n    expect: [speedup <= 2]\n", 3, "speedup >="),
        ("targets: []\n", 1, "targets"),
        ("targets:\n  - name: a\n  - name: a\n   x: 1\n", 4, ""),
    ]:
        lab.write(text)
        result = lab("list", "--json")
        assert result.code == BAD_INPUT, result
        assert f"bench.yaml:{line}:" in result.err and words in result.err, result.err


def test_check_finds_what_cannot_be_right(lab):
    lab.write(
        """
targets:
  - name: alone
    baseline: {command: [ls]}
    expect: [speedup >= 2]
  - name: orphan
    variants: {fast: {command: [ls]}}
  - name: twice
    baseline: {command: [no-such-program]}
    variants: {fast: {model: none.onnx}}
    inputs: [missing.bin]
    expect: [p99_ms <= 3]
  - name: twice
    seed: 1
    baseline: {command: [ls]}
    variants: {fast: {command: [ls]}}
"""
    )
    result = lab("check", "--json")
    assert result.code == GATE_FAILED
    found = [(fault["severity"], fault["target"], fault["what"]) for fault in result.data["faults"]]

    def has(severity, target, words):
        return any(s == severity and t == target and words in what for s, t, what in found)

    assert has("error", "alone", "without a variant")
    assert has("error", "alone", "expectation for nothing")
    assert has("error", "orphan", "without its baseline")
    assert has("error", "twice", "no such program: no-such-program")
    assert has("error", "twice", "model does not exist")
    assert has("error", "twice", "input does not exist")
    assert has("error", "twice", "two targets have this name")
    assert has("warning", "twice", "seed is not pinned")
    assert has("warning", "twice", "nothing checks")
    assert "run" not in [call.get("parameters", {}).get("action") for call in result.envelope["next"]]


def test_a_matrix_makes_a_target_of_each_combination(lab):
    lab.write(
        """
targets:
  - name: m
    seed: 1
    matrix: {batch: [1, 8], seq: [16]}
    baseline: {command: [echo, "{batch}", "{seq}", "{other}"]}
    variants: {v: {command: [echo, "{batch}"]}}
"""
    )
    names = [target["name"] for target in lab("list", "--json").data["targets"]]
    assert names == ["m[batch=1,seq=16]", "m[batch=8,seq=16]"]


def test_a_budget_cuts_the_list(lab):
    names = ", ".join(str(number) for number in range(300))
    lab.write(f"""
targets:
  - name: m
    seed: 1
    matrix: {{batch: [{names}]}}
    baseline: {{command: [echo, "{{batch}}"]}}
    variants: {{v: {{command: [echo, "{{batch}}"]}}}}
""")
    result = lab("list", "--json", "--budget", "500")
    assert len(result.bytes) <= 2000 and result.envelope["left_out"] and result.data["targets"]


def test_init_writes_a_file_that_is_in_order(lab):
    onnx = pytest.importorskip("onnx")
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Relu", ["x"], ["y"])],
        "net",
        [onnx.helper.make_tensor_value_info("x", 1, [4])],
        [onnx.helper.make_tensor_value_info("y", 1, [4])],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    for name in ("net.onnx", "net_int8.onnx", "other.onnx"):
        onnx.save(model, lab.folder / name)
    result = lab("init", "--json")
    assert (result.code, result.data["found"]) == (0, 2)
    assert {f["severity"] for f in lab("check", "--json").data["faults"]} == {"warning"}
    targets = {target["name"]: target["variants"] for target in lab("list", "--json").data["targets"]}
    assert targets == {"net": ["int8"], "other": ["two_threads"]}
    assert lab("init").code == BAD_INPUT  # what is there stays


def test_the_schema_is_one(lab):
    jsonschema = pytest.importorskip("jsonschema")
    schema = lab("schema", "--json").data["schema"]
    jsonschema.Draft7Validator.check_schema(schema)
    example = {"targets": [{"name": "a", "baseline": {"command": ["ls", 1]}, "stop": {"runs": 20}, "expect": ["speedup >= 2"]}]}
    jsonschema.validate(example, schema)
    example["targets"][0]["baseline"]["model"] = "x.onnx"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(example, schema)


def test_larger_sizes_are_proposed_and_measured_on_demand(lab):
    lab.write(
        (PAIR % "{size}")
        + """
    matrix: {size: [99]}
    grow: {size: [50, 40]}
"""
    )
    alone = lab.run()
    assert [claim["name"] for claim in alone.data["targets"]] == ["pair[size=99]"]
    assert "pair[size=50], pair[size=40]" in claim_of(alone)["proposals"][0]
    grown = lab.run("--grow")
    assert {claim["name"]: claim["verdict"] for claim in grown.data["targets"]} == {
        "pair[size=99]": "not_met",
        "pair[size=50]": "met",
        "pair[size=40]": "met",
    }


def test_the_report_is_one_page_with_the_history(lab):
    lab.write(PAIR % 80)
    sessions = [lab.run().data["session"] for _ in range(3)]
    result = lab("report", "--json", "--html", "page.html")
    assert result.data["session"] == sessions[-1]
    history = result.data["history"]["pair"]
    assert [point["session"] for point in history["points"]] == sessions
    page = (lab.folder / "page.html").read_text()
    assert "Claims of code" in page and "<svg" in page and "http" not in page.replace("http-equiv", "")
    assert lab("report", "--json", "--session", sessions[0]).data["session"] == sessions[0]
    assert lab("report", "--session", "../../etc").code == BAD_INPUT


def test_the_report_leads_to_every_run_of_each_claim(lab):
    lab.write(PAIR % 80)
    claim = claim_of(lab.run())
    lab("report", "--html", "page.html")
    assert 'href="page-pages/1-runs.html"' in (lab.folder / "page.html").read_text()
    page = (lab.folder / "page-pages/1-runs.html").read_text()
    assert 'href="../page.html"' in page and "<svg" in page and "not checked" in page
    ids = claim["baseline"]["run_ids"] + claim["changed"]["run_ids"]
    assert all(run[:16] in page for run in ids), "each run that counts is there"


# ---- Expectations that are kept


def test_expectations_are_written_with_who_when_and_what_stood_there(lab):
    lab.write((PAIR % 80) + "# the end\n")
    before = (lab.folder / "bench.yaml").read_text()
    git(lab.folder, "init", "-q", ".")
    git(lab.folder, "add", "-A")
    git(lab.folder, "commit", "-qm", "begin")
    result = lab.run("--update-expectations")
    (update,) = result.data["expectation_updates"]
    after = (lab.folder / "bench.yaml").read_text()
    bound = float(update["after"].split()[-1])
    assert 1.05 < bound < claim_of(result)["low"] and after == before.replace("speedup >= 1.05", update["after"])
    (entry,) = [json.loads(line) for line in (lab.folder / "bench.yaml.expectations.jsonl").read_text().splitlines()]
    assert (entry["before"], entry["after"], entry["session"]) == ("speedup >= 1.05", update["after"], result.data["session"])
    assert entry["by"] and entry["machine"] and entry["unix_ns"] > 0 and len(entry["checkout"]["commit"]) == 40
    assert claim_of(lab.run())["verdict"] in ("met", "inconclusive")  # the same work keeps what was written


def test_expectations_of_what_was_refused_stay(lab):
    lab.write((PAIR % 80) + '    check: ["false"]\n')
    before = (lab.folder / "bench.yaml").read_text()
    (update,) = lab.run("--update-expectations").data["expectation_updates"]
    assert "refused" in update["why_not"] and (lab.folder / "bench.yaml").read_text() == before
    assert not (lab.folder / "bench.yaml.expectations.jsonl").exists()


def test_a_file_that_is_changed_meanwhile_is_not_written(lab):
    lab.write(PAIR % 80)
    (lab.folder / "work.py").write_text(PRINTER + "open('bench.yaml', 'a').write('# mine\\n')\n")
    result = lab.run("--update-expectations")
    assert result.code == BAD_INPUT and result.envelope["error"]["code"] == "conflict"
    assert "speedup >= 1.05" in (lab.folder / "bench.yaml").read_text()


# ---- GPUs


def test_gpus_are_read_beside_each_run(lab, tmp_path):
    library = tmp_path / "libnvidia-ml-standin.so"
    standin = REPOSITORY / "tests/e2e/nvml_standin.cpp"
    subprocess.run(["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", library, standin], check=True)
    lab.program.environment["NEUROLENS_NVML"] = str(library)
    lab.write(PAIR % 80)
    result = lab.run()
    session = lab.ledger / "bench" / result.data["session"]
    samples = [json.loads(line) for line in (session / "samples.jsonl").read_text().splitlines()]
    gpus = [sample["conditions"]["gpus"] for sample in samples]
    assert all([gpu["index"] for gpu in run] == [0, 1] for run in gpus)
    assert gpus[0][0]["power_w"] == 74.01 and "power_w" not in gpus[0][1] and gpus[0][0]["sm_mhz_low"] == 1980
    run = claim_of(result)["changed"]["run_ids"][0]
    assert lab.program.rows(run, "SELECT DISTINCT name FROM counters WHERE name = 'power.draw'")


def test_names_of_a_file_are_only_text_on_the_page(lab):
    lab.write((PAIR % "{size}") + '\n    matrix: {size: ["80<img src=x onerror=alert(1)>"]}\n')
    lab.run()
    lab("report", "--html", "page.html")
    assert "<img" not in (lab.folder / "page.html").read_text()


# ---- Since when, and what can be told apart

# Prints a time of its own, with noise that the process's number decides.
NOISY = "awk -v s=$$ 'BEGIN {srand(s); printf \"time_ms=%%f\\n\", %s * (1 + (rand() - 0.5) * 0.04)}'\n"

ONE = """
targets:
  - name: w
    seed: 1
    time: printed time_ms
    baseline: {command: [sh, work.sh]}
    variants: {same: {command: [sh, work.sh]}}
"""


def git(folder, *words):
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=folder, check=True, capture_output=True)


def test_bisect_finds_the_revision_and_leaves_the_checkout_alone(lab):
    lab.write(ONE)
    git(lab.folder, "init", "-q", ".")
    for i in range(1, 13):
        (lab.folder / "work.sh").write_text(f"# {i}\n" + NOISY % (112 if i >= 9 else 100))
        git(lab.folder, "add", "-A")
        git(lab.folder, "commit", "-qm", f"step {i}")
    (lab.folder / "work.sh").write_text("echo not committed\n")
    result = lab("bisect", "--json", "--good", "HEAD~11", "--bad", "HEAD")
    assert [suspect["name"].split(" ", 1)[1] for suspect in result.data["suspects"]] == ["step 9"], result
    assert result.data["runs"] > 0 and result.code == 0
    assert len(result.data["profiled_runs"]) == 2 and result.data["why"], result.data["why"]
    assert (lab.folder / "work.sh").read_text() == "echo not committed\n"
    again = lab("bisect", "--json", "--good", "HEAD~3", "--bad", "HEAD")
    assert again.code == GATE_FAILED and again.data["suspects"] == []  # both ends are slow


WORKS = """
import sys, time
def inner():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        sum(range(1000))
def other():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        sum(range(1000))
inner()
other()
print(f"time_ms={1000 * (0.3 + float(sys.argv[1])):.3f}")
"""


def test_bisect_says_which_function_made_it_slower(lab):
    (lab.folder / "work.py").write_text(WORKS)
    lab.write(ONE.replace("[sh, work.sh]", f"[PYTHON, {lab.folder}/work.py, '{{}}']", 1))
    result = lab("bisect", "--json", "--points", "0.2", "0.21", "0.6", "0.61", timeout=300)
    assert [suspect["name"] for suspect in result.data["suspects"]] == ["0.6"], result
    if "no samples" in result.data["why"]:
        pytest.skip("the kernel refuses samples")
    assert "inner" in result.data["why"] and "other" not in result.data["why"], result.data["why"]


def test_bisect_over_a_list_of_configurations(lab):
    (lab.folder / "bench.yaml").write_text(ONE.replace("work.sh]", "work.sh, '{}']", 1))
    script = lab.folder / "work.sh"
    script.write_text("base=100\ncase $1 in v4|v5) base=120;; esac\n" + NOISY % "'$base'")
    lab.write((lab.folder / "bench.yaml").read_text().replace("work.sh, ", f"{script}, "))
    result = lab("bisect", "--json", "--points", "v1", "v2", "v3", "v4", "v5")
    assert [suspect["name"] for suspect in result.data["suspects"]] == ["v4"], result


def test_audit_says_what_this_machine_can_tell_apart(lab):
    lab.write(ONE)
    (lab.folder / "work.sh").write_text(NOISY % 100)
    result = lab("audit", "--json", "--pairs", "16")
    noise = result.data["noise"]
    assert noise["pairs"] == 16 and 0.001 < noise["spread"] < 0.05
    floors = [row["floor"] for row in noise["by_runs"]]
    assert floors == sorted(floors, reverse=True) and all(floor > 0 for floor in floors)
    assert lab("audit", "--json", "--pairs", "3").code == BAD_INPUT


# ---- Models


def test_models_are_timed_inside_their_process(lab):
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    numpy = pytest.importorskip("numpy")
    library = next(p for p in os.scandir(os.path.join(os.path.dirname(onnxruntime.__file__), "capi")) if "libonnxruntime.so" in p.name)
    for name, size in (("big", 1024), ("small", 64)):
        weights = onnx.numpy_helper.from_array(numpy.ones((size, size), "f4"), "w")
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
            "net",
            [onnx.helper.make_tensor_value_info("x", 1, [64, size])],
            [onnx.helper.make_tensor_value_info("y", 1, [64, size])],
            [weights],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, lab.folder / f"{name}.onnx")
    lab.write(
        f"""
targets:
  - name: matmul
    seed: 1
    iterations: 20
    profile: light
    baseline: {{model: big.onnx, threads: 1, library: "{library.path}"}}
    variants: {{small: {{model: small.onnx, threads: 1, library: "{library.path}"}}}}
    expect: [speedup >= 2, first_ms <= 60000, memory_mb <= 16000, p90_ms <= 60000]
    stop: {{runs: 8}}
"""
    )
    result = lab.run()
    claim = claim_of(result)
    assert claim["verdict"] == "met", claim
    assert [e["verdict"] for e in claim["expectations"]] == ["met"] * 4
    assert len(claim["profiled_runs"]) == 2 and claim["why"], claim
    for side in (claim["baseline"], claim["changed"]):
        assert side["per_second"] > 0 and side["first_ns"] > side["median_ns"] and side["peak_memory_bytes"] > 0
