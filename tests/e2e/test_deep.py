"""neurolens deep: the passes over a workload, with the real Nsight tools where they are installed, and with stand-ins that
leave recorded exports for what needs a GPU."""

import json
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

import pytest

from conftest import BAD_INPUT, BINARY, MISSING, TRACES, Neurolens

EXPORT = TRACES / "nsys/nsysai_mfu_2gpu_after.sqlite.gz"
COUNTERS = TRACES / "ncu/sglang_pod_flash_attn_h800.raw.base.csv.gz"
NVTX_INCLUDE = pathlib.Path("/usr/lib/x86_64-linux-gnu/nsight-systems/target-linux-x64/nvtx/include")

# Both write down how they were called, then do what the test wants.
STAND_IN_NSYS = """#!{python}
import gzip, json, os, pathlib, subprocess, sys, time
words = sys.argv[1:]
if words == ["--version"]:
    print("NVIDIA Nsight Systems version 2023.1.2.43-32377213v0")
elif words == ["profile", "--help"]:
    print("\\t--capture-range-end=\\n\\t--cuda-graph-trace=")
elif words[0] == "export":
    pathlib.Path(words[words.index("--output") + 1]).write_bytes(gzip.open("{export}").read())
else:
    pathlib.Path("{folder}/nsys.json").write_text(json.dumps(words))
    (output,) = [w.partition("=")[2] for w in words if w.startswith("--output=")]
    command = words[words.index("--output=" + output) + 1:]
    def report():
        pathlib.Path(output + ".nsys-rep").write_bytes(b"NVIDIA Tegra Profiler Report 1.\\n" + bytes(100))
    {nsys}
"""
STAND_IN_NCU = """#!{python}
import gzip, json, os, pathlib, subprocess, sys, time
words = sys.argv[1:]
if words == ["--version"]:
    print("NVIDIA (R) Nsight Compute Command Line Profiler\\nVersion 2023.1.1.0 (build 1) (public-release)")
elif words == ["--help"]:
    print("  --print-units arg (=auto)  Set scaling")
else:
    pathlib.Path("{folder}/ncu.json").write_text(json.dumps(words))
    log = pathlib.Path(words[words.index("--log-file") + 1])
    command = words[words.index("--log-file") + 2:]
    def counters():
        log.write_bytes(b"==PROF== Connected to process 1\\n" + gzip.open("{counters}").read())
    {ncu}
"""
WELL_NSYS = "code = subprocess.call(command); report(); sys.exit(code)"
WELL_NCU = "code = subprocess.call(command); counters(); sys.exit(code)"


# A stand-in for rocprofv3 that writes tables as recorded ones look, one process each.
STAND_IN_ROCPROFV3 = """#!{python}
import json, os, pathlib, subprocess, sys, time
words = sys.argv[1:]
if words == ["--version"]:
    print("             version: 1.0.0\\n        git_revision: abc\\n        rocm_version: 7.0.0")
elif words == ["--help"]:
    print("  --kernel-trace [BOOL]\\n  --rccl-trace [BOOL]\\n  {counts} [PMC ...]")
else:
    counts = "--pmc" in words
    pathlib.Path("{folder}/" + ("pmc" if counts else "rocprofv3") + ".json").write_text(json.dumps(words))
    folder = pathlib.Path(words[words.index("-d") + 1])
    command = words[words.index("--") + 1:]
    def tables(pid=77, gemms=6):
        folder.mkdir(parents=True, exist_ok=True)
        kernels = ['"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"']
        calls = ['"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"']
        names = ["void gemm<float, 4>(float*)", "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)", "softmax(float*)"]
        for n in range(3 * gemms):
            start = 1000000 + 10000 * n
            kernels.append(f'"KERNEL_DISPATCH","Agent 1","1","2","{{pid}}","{{n + 1}}","{{names[n % 3]}}","{{n + 1}}","{{start}}","{{start + 3000 + 1000 * (n % 3)}}","64","1","1","640","1","1"')
            calls.append(f'"HIP_RUNTIME_API","hipLaunchKernel","{{pid}}","{{pid}}","{{n + 1}}","{{start - 2000}}","{{start - 1000}}"')
        (folder / f"process-{{pid}}_kernel_trace.csv").write_text("\\n".join(kernels) + "\\n")
        (folder / f"process-{{pid}}_hip_api_trace.csv").write_text("\\n".join(calls) + "\\n")
        for agents in (pid, pid + 1):
            (folder / f"process-{{agents}}_agent_info.csv").write_text('"Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Name","Product_Name"\\n1,1,"GPU",304,"gfx942","AMD Instinct MI300X"\\n')
    def counters():
        (folder / "pmc_1").mkdir(parents=True, exist_ok=True)
        rows = ['"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Name","Workgroup_Size","Counter_Name","Counter_Value"']
        for n in range(12):
            name = ["void gemm<float, 4>(float*)", "softmax(float*)"][n % 2]
            rows.append(f'{{n + 1}},{{n + 1}},"Agent 1",1,88,88,640,"{{name}}",64,"SQ_WAVES",{{10 * n}}')
        (folder / "pmc_1/process-88_counter_collection.csv").write_text("\\n".join(rows) + "\\n")
    {rocprofv3}
"""
WELL_ROCPROFV3 = "code = subprocess.call(command); counters() if counts else tables(); sys.exit(code)"


class Deep(Neurolens):
    def deep(self, *options, command=("true",), **more):
        return self("deep", *options, "--json", "--", *command, **{"timeout": 300, **more})


@pytest.fixture
def stand_ins(tmp_path):
    """A ledger with stand-in tools that do what they are told."""
    if not EXPORT.exists() or not COUNTERS.exists():
        pytest.skip(f"no corpus at {TRACES} (set NEUROLENS_TRACES)")

    def make(nsys=WELL_NSYS, ncu=WELL_NCU):
        for name, text in (("nsys", STAND_IN_NSYS), ("ncu", STAND_IN_NCU)):
            path = tmp_path / f"stand-in-{name}"
            path.write_text(text.format(python=sys.executable, export=EXPORT, counters=COUNTERS, folder=tmp_path, nsys=nsys, ncu=ncu))
            path.chmod(0o755)
        return Deep(tmp_path / "ledger", {"NEUROLENS_NSYS": str(tmp_path / "stand-in-nsys"), "NEUROLENS_NCU": str(tmp_path / "stand-in-ncu")})

    return make


def said_to(tmp_path, tool):
    return json.loads((tmp_path / f"{tool}.json").read_text())


def by_pass(data):
    return {entry["pass"]: entry for entry in data["passes"]}


def behind(words, option):
    return words[words.index(option) + 1]


# ---- With stand-ins


def test_three_passes_become_one_run(stand_ins, tmp_path):
    neurolens = stand_ins()
    burn = "import sys; print('hello'); sum(range(10**6))"
    result = neurolens.deep("--top", "5", "--launches", "12", "--repeats", "2", "--set", "variant=a", command=[sys.executable, "-c", burn])
    data, passes = result.data, by_pass(result.data)

    assert [p["pass"] for p in data["passes"]] == ["unprofiled", "nsys", "ncu"]
    assert {p["status"] for p in data["passes"]} == {"done"}
    for tool in ("nsys", "ncu"):
        assert passes[tool]["wall_ratio"] == pytest.approx(passes[tool]["wall_ns"] / passes["unprofiled"]["wall_ns"])
        assert passes[tool]["cpu_ratio"] == pytest.approx(passes[tool]["cpu_ns"] / passes["unprofiled"]["cpu_ns"])
        assert passes[tool]["tool_wall_ns"] > passes[tool]["wall_ns"]
    assert passes["nsys"]["version"] == "2023.1.2.43" and passes["ncu"]["version"] == "2023.1.1.0"

    nsys = said_to(tmp_path, "nsys")
    assert nsys[:5] == ["profile", "--trace=cuda,nvtx", "--sample=none", "--cpuctxsw=none", "--cuda-graph-trace=node"]
    assert nsys[-3:] == [sys.executable, "-c", burn]
    ncu = said_to(tmp_path, "ncu")
    assert behind(ncu, "--kernel-name").startswith("regex:^(flash_fwd_kernel|elementwise_kernel|vectorized_elementwise_kernel|")
    assert "nccl" not in behind(ncu, "--kernel-name")
    assert behind(ncu, "--set") == "roofline" and behind(ncu, "--target-processes") == "all"
    assert [behind(ncu, o) for o in ("--page", "--print-units", "--launch-count")] == ["raw", "base", "12"]
    assert int(behind(ncu, "--launch-skip")) == data["replays"]["launch_skip"] > 0
    assert ncu[-3:] == [sys.executable, "-c", burn]

    assert len(data["replays"]["kernels"]) == 5
    assert [k["function"] for k in data["replays"]["left_out"]] == ["ncclDevKernel_SendRecv"]
    assert any("ncclDevKernel_SendRecv" in w for w in result.envelope["warnings"])

    run = data["run_id"]
    assert neurolens.run_ids() == [run] and neurolens.leftovers() == []
    neurolens("verify", run)
    document = json.loads((neurolens.bundle(run) / "run.json").read_text())
    assert sorted(s["format"] for s in document["sources"]) == ["ncu", "neurolens-capture", "nsys"]
    assert document["extensions"]["capture"]["passes"] == data["passes"]
    assert [row["pass"] for row in neurolens.rows(run, "SELECT pass FROM iterations ORDER BY iteration_id")] == ["unprofiled", "unprofiled", "nsys", "ncu"]
    assert neurolens.value(run, "SELECT count(*) FROM iterations WHERE dur_ns > 0 AND cpu_ns > 0") == 4
    (middle,) = neurolens.rows(run, "SELECT sum(dur_ns) // 2 AS wall_ns, sum(cpu_ns) // 2 AS cpu_ns FROM iterations WHERE pass = 'unprofiled'")
    assert middle == {key: passes["unprofiled"][key] for key in ("wall_ns", "cpu_ns")}, "the mean of the two in the middle"
    assert neurolens.value(run, "SELECT count(*) FROM kernels") > 3000
    assert neurolens.value(run, "SELECT count(*) FROM profiled_launches") > 0
    shown = neurolens("show", run, "--json").data
    assert shown["iterations"]["overhead"]["turns"] == 1
    assert {label["key"]: label["value"] for label in shown["labels"]}["variant"] == "a"


def test_bench_says_by_profiles_of_both_sides_why(stand_ins, tmp_path):
    neurolens = stand_ins()
    (tmp_path / "bench.yaml").write_text(
        "targets:\n  - name: pair\n    seed: 1\n    time: printed time_ms\n    baseline: {command: [echo, time_ms=2]}\n"
        "    variants: {half: {command: [echo, time_ms=1]}}\n    stop: {runs: 6}\n"
    )
    checks = ("governor", "turbo", "smt", "memory", "cgroup", "others", "stolen", "throttled")
    allow = [word for check in checks for word in ("--allow", f"{check}=a test")]
    neurolens.environment["NEUROLENS_LOCKS"] = str(tmp_path / "locks")
    (claim,) = neurolens("bench", "run", "--deep", *allow, "--json", cwd=tmp_path, timeout=300).data["targets"]
    assert claim["verdict"] == "met" and claim["why"] and "not known" not in claim["why"], claim["why"]
    for run, side in zip(claim["profiled_runs"], ("baseline", "half"), strict=True):
        labels = {label["key"]: label["value"] for label in neurolens("label", run, "--json").data["labels"]}
        assert (labels["target"], labels["side"]) == ("pair", side)
        assert neurolens.rows(run, "SELECT count(*) AS n FROM kernels")[0]["n"] > 0
    neurolens("bench", "report", "--html", "page.html", cwd=tmp_path)
    assert 'href="page-pages/1-profiles.html"' in (tmp_path / "page.html").read_text()
    assert "<svg" in (tmp_path / "page-pages/1-profiles.html").read_text()



def test_artifacts(stand_ins):
    data = stand_ins().deep("--repeats", "1", command=["echo", "hello"]).data
    folder = pathlib.Path(data["artifacts"])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = {p.name for p in folder.iterdir()}
    assert names == {"capture.json", "unprofiled-1", "nsys", "ncu", "report.md", "kernels.md", "operators.md", "stakeholder_summary.md"}
    assert set(data["reports"]) == {name for name in names if name.endswith(".md")}
    assert {p.name for p in (folder / "nsys").iterdir()} == {"command_time.json", "report.nsys-rep", "nsys.sqlite", "stdout.txt", "stderr.txt"}
    assert {p.name for p in (folder / "ncu").iterdir()} == {"command_time.json", "counters.csv", "stdout.txt", "stderr.txt"}
    assert (folder / "nsys/stdout.txt").read_text() == "hello\n"
    assert "flash_fwd_kernel" in (folder / "kernels.md").read_text()
    summary = (folder / "stakeholder_summary.md").read_text()
    assert "## Passes" in summary and "| nsys |" in summary and "| ncu |" in summary


def test_light_does_without_counters(stand_ins, tmp_path):
    data = stand_ins().deep("--mode", "light", "--repeats", "1").data
    assert [p["pass"] for p in data["passes"]] == ["unprofiled", "nsys"] and data["replays"] is None
    assert not (tmp_path / "ncu.json").exists()


def test_a_workload_file(stand_ins, tmp_path):
    neurolens = stand_ins()
    (tmp_path / "work").mkdir()
    (tmp_path / "work/prompts.json").write_text("[]")
    (tmp_path / "work/workload.yaml").write_text(
        """
command: [sh, -c, 'echo "$0 $1 $OMP_NUM_THREADS $HIDDEN_TOKEN $(basename "$PWD")"', "{batch}"]
environment: {OMP_NUM_THREADS: 3, HIDDEN_TOKEN: hush}
values: {batch: 8}
labels: {model: llama-3-8b, batch: "{batch}"}
range: LLM@decode
phases: {decode: LLM@decode}
inputs: [prompts.json]
"""
    )
    data = neurolens("deep", tmp_path / "work/workload.yaml", "batch=16", "length=4", "--repeats", "1", "--json").data
    folder = pathlib.Path(data["artifacts"])
    assert (folder / "unprofiled-1/stdout.txt").read_text() == "16 length=4 3 hush work\n"
    assert (folder / "nsys/stdout.txt").read_text() == "16 length=4 3 hush work\n"
    nsys, ncu = said_to(tmp_path, "nsys"), said_to(tmp_path, "ncu")
    assert {"--capture-range=nvtx", "--nvtx-capture=decode@LLM", "--capture-range-end=stop", "--env-var=NSYS_NVTX_PROFILER_REGISTER_ONLY=0"} <= set(nsys)
    assert behind(ncu, "--nvtx-include") == "LLM@decode/"
    capture = json.loads((folder / "capture.json").read_text())
    assert "hush" not in json.dumps(capture) and capture["environment"]["variables"]["OMP_NUM_THREADS"] == "3"
    assert capture["workload"]["values"] == {"batch": "16"} and len(capture["workload"]["inputs"][0]["sha256"]) == 64
    labels = {label["key"]: label["value"] for label in neurolens("show", data["run_id"], "--json").data["labels"]}
    assert labels["model"] == "llama-3-8b" and labels["batch"] == "16"


# ---- What is recorded and counted


def test_presets_and_counters_of_ones_own(stand_ins, tmp_path):
    neurolens = stand_ins()
    neurolens.deep("--nsys", "host", "--ncu", "minimal", "--metric", "lts__t_bytes.sum", "--repeats", "1")
    assert "--trace=cuda,nvtx,osrt" in said_to(tmp_path, "nsys")
    ncu = said_to(tmp_path, "ncu")
    metrics = behind(ncu, "--metrics").split(",")
    assert metrics[0] == "gpu__time_duration.sum" and metrics[-1] == "lts__t_bytes.sum" and len(metrics) < 15
    assert "--set" not in ncu and "--section" not in ncu


@pytest.mark.parametrize("options, words", [
    (("--ncu", "all"), "no such preset"), (("--nsys", "all"), "no such preset"), (("--metric", "a,b"), "not the name of a counter"),
    (("--iterations", "0"), ""), (("--html", "page.html"), "only a comparison has a page")])
def test_what_there_is_not(stand_ins, options, words):
    result = stand_ins().deep(*options, code=BAD_INPUT)
    assert words in result.envelope["error"]["message"]


SETTINGS = """
command: [sh, -c, 'echo "$0 $1 $NEUROLENS_ITERATIONS $NEUROLENS_WARM_UP"', "{iterations}", "{warm_up}"]
values: {iterations: 10, warm_up: 2}
mode: deep
top: 2
nsys: ranges
ncu: memory
metrics: [lts__t_bytes.sum]
"""


def test_a_workload_file_says_what_deep_does(stand_ins, tmp_path):
    neurolens = stand_ins()
    (tmp_path / "w.yaml").write_text(SETTINGS)
    data = neurolens("deep", tmp_path / "w.yaml", "warm_up=3", "--repeats", "1", "--json").data
    assert (pathlib.Path(data["artifacts"]) / "nsys/stdout.txt").read_text() == "10 3 10 3\n"
    assert len(data["replays"]["kernels"]) == 2
    assert "--trace=nvtx" in said_to(tmp_path, "nsys")
    ncu = said_to(tmp_path, "ncu")
    assert [ncu[i + 1] for i, word in enumerate(ncu) if word == "--section"] == [
        "SpeedOfLight", "MemoryWorkloadAnalysis", "MemoryWorkloadAnalysis_Tables"]
    assert behind(ncu, "--metrics") == "lts__t_bytes.sum"


def test_options_count_before_the_file(stand_ins, tmp_path):
    neurolens = stand_ins()
    (tmp_path / "w.yaml").write_text(SETTINGS)
    data = neurolens("deep", tmp_path / "w.yaml", "--iterations", "7", "--mode", "light", "--nsys", "gpu", "--repeats", "1", "--json").data
    assert [entry["pass"] for entry in data["passes"]] == ["unprofiled", "nsys"]
    assert (pathlib.Path(data["artifacts"]) / "nsys/stdout.txt").read_text() == "7 2 7 2\n"
    assert "--trace=cuda,nvtx" in said_to(tmp_path, "nsys")


def test_turns_of_a_command(stand_ins):
    data = stand_ins().deep("--iterations", "5", "--warm-up", "0", "--mode", "light", "--repeats", "1",
                            command=["sh", "-c", "echo $NEUROLENS_ITERATIONS $NEUROLENS_WARM_UP"]).data
    assert (pathlib.Path(data["artifacts"]) / "unprofiled-1/stdout.txt").read_text() == "5 0\n"


# ---- Two workloads


def without(tree, *keys):
    """Without what only pictures need."""
    if isinstance(tree, dict):
        return {key: without(value, *keys) for key, value in tree.items() if key not in keys}
    return [without(value, *keys) for value in tree] if isinstance(tree, list) else tree


def test_two_workloads_in_one_command(stand_ins, tmp_path):
    neurolens = stand_ins()
    (tmp_path / "w.yaml").write_text("{command: [echo, '{batch}'], values: {batch: 8}, labels: {batch: '{batch}'}}")
    page = tmp_path / "page.html"
    result = neurolens("deep", "compare", tmp_path / "w.yaml", tmp_path / "w.yaml", "batch=16", "--repeats", "2", "--html", page, "--json")
    data = result.data
    for side, batch in ((data["base"], "8"), (data, "16")):
        assert [entry["status"] for entry in side["passes"]] == ["done"] * 3
        assert (pathlib.Path(side["artifacts"]) / "unprofiled-1/stdout.txt").read_text() == f"{batch}\n"
    assert data["base"]["run_id"] != data["run_id"] and sorted(neurolens.run_ids()) == sorted([data["base"]["run_id"], data["run_id"]])
    again = neurolens("compare", data["base"]["run_id"], data["run_id"], "--json").data
    pictures = ("strip", "strip_ns", "values")
    assert without(data["comparison"], *pictures) == without(again, *pictures), "what compare says of the two runs"
    assert again["base"]["runs"] == [data["base"]["run_id"]]
    assert all(run[:12] in page.read_text() for run in (data["base"]["run_id"], data["run_id"])) and data["page"] == str(page)
    assert (pathlib.Path(data["artifacts"]) / "comparison.html").read_text() == page.read_text()
    shown = neurolens("deep", "compare", tmp_path / "w.yaml", tmp_path / "w.yaml", "--mode", "light", "--repeats", "1").out
    assert "comparison.html" in shown and "batch" not in shown


@pytest.mark.parametrize("files", [1, 3])
def test_a_comparison_needs_two(stand_ins, tmp_path, files):
    (tmp_path / "w.yaml").write_text("{command: [echo]}")
    result = stand_ins()("deep", "compare", *[tmp_path / "w.yaml"] * files, "--json", code=BAD_INPUT)
    assert f"not {files}" in result.envelope["error"]["message"]


# ---- The same each time?


def checks_of(data):
    return {check["check"]: check for check in data["determinism"]}


def test_a_workload_that_differs_each_time(stand_ins, tmp_path):
    neurolens = stand_ins()
    (tmp_path / "w.yaml").write_text("command: [sh, -c, 'date +%N; echo $$']")
    checks = checks_of(neurolens("deep", tmp_path / "w.yaml", "--mode", "light", "--repeats", "3", "--json").data)
    assert (checks["output"]["status"], checks["output"]["value"]) == ("open", 3)
    assert {checks[name]["status"] for name in ("python_hash_seed", "seeds", "torch_algorithms", "clocks")} == {"absent"}
    assert all(check["reason"] for check in checks.values())
    (tmp_path / "w.yaml").write_text("{command: [sh, -c, 'date +%N; echo $$'], allow: {output: it prints times}}")
    result = neurolens("deep", tmp_path / "w.yaml", "--mode", "light", "--repeats", "2", "--json")
    output = checks_of(result.data)["output"]
    assert (output["status"], output["reason"]) == ("allowed", "it prints times")
    capture = json.loads((pathlib.Path(result.data["artifacts"]) / "capture.json").read_text())
    assert capture["determinism"] == result.data["determinism"], "kept in the run"


def test_one_run_shows_no_difference(stand_ins):
    data = stand_ins().deep("--mode", "light", "--repeats", "1").data
    assert checks_of(data)["output"]["status"] == "absent" and "--repeats" in checks_of(data)["output"]["reason"]


@pytest.mark.parametrize("allow, words", [("{speed: x}", "no such check"), ("{output: ''}", "needs a reason")])
def test_only_checks_with_a_reason_are_allowed(stand_ins, tmp_path, allow, words):
    (tmp_path / "w.yaml").write_text(f"command: [echo]\nallow: {allow}")
    assert words in stand_ins()("deep", tmp_path / "w.yaml", "--json", code=BAD_INPUT).envelope["error"]["message"]


# Stands for PyTorch: what the package asks of it.
TORCH = """
import os, types
__version__ = "2.9.0"
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(deterministic=True, benchmark=False))
def initial_seed(): return int(os.environ.get("SEED") or os.getpid())
def are_deterministic_algorithms_enabled(): return True
"""


def test_what_python_says_of_itself(stand_ins, tmp_path):
    neurolens = stand_ins()
    (tmp_path / "torch.py").write_text(TORCH)
    python = f"command: [{sys.executable}, -c, 'import neurolens, torch']\n"
    path = f"PYTHONPATH: '{tmp_path}:{BINARY.resolve().parent.parent / 'python'}'"
    (tmp_path / "w.yaml").write_text(python + f"environment: {{{path}, PYTHONHASHSEED: 0, SEED: 42}}")
    checks = checks_of(neurolens("deep", tmp_path / "w.yaml", "--mode", "light", "--repeats", "2", "--json").data)
    assert {name: checks[name]["status"] for name in ("output", "python_hash_seed", "seeds", "torch_algorithms")} == {
        "output": "fixed", "python_hash_seed": "fixed", "seeds": "fixed", "torch_algorithms": "fixed"}
    assert checks["seeds"]["value"] == [42] and checks["python_hash_seed"]["value"] == "0"
    (tmp_path / "w.yaml").write_text(python + f"environment: {{{path}}}")
    checks = checks_of(neurolens("deep", tmp_path / "w.yaml", "--mode", "light", "--repeats", "2", "--json").data)
    assert checks["seeds"]["status"] == "open" and checks["python_hash_seed"]["status"] == "open"


def test_a_report_that_is_none_says_nothing(stand_ins):
    script = 'echo "[[[" > "$NEUROLENS_PROCESS_REPORT/process-1.json"; echo \'{"torch": 5}\' > "$NEUROLENS_PROCESS_REPORT/process-2.json"'
    data = stand_ins().deep("--mode", "light", "--repeats", "2", command=["sh", "-c", script]).data
    assert checks_of(data)["seeds"]["status"] == "absent"


HANGS = "report(); subprocess.Popen(['sleep', '300']); print('going on', flush=True); time.sleep(300)"


@pytest.mark.parametrize("limit, seconds, words", [
    ("--silence-limit", "8", "nothing was written for 8 s"), ("--time-limit", "15", "it did not end within 15 s")])
def test_a_hang_is_ended_and_what_there_is_is_kept(stand_ins, tmp_path, limit, seconds, words):
    neurolens = stand_ins(nsys=HANGS)
    result = neurolens.deep("--mode", "light", limit, seconds, "--repeats", "1")
    nsys = by_pass(result.data)["nsys"]
    assert nsys["status"] == "cut_short" and words in nsys["reason"] and "wall_ratio" not in nsys
    assert nsys["tool_wall_ns"] < 120e9
    assert neurolens.value(result.data["run_id"], "SELECT count(*) FROM kernels") > 3000
    assert not processes_of(tmp_path)


def test_a_replay_that_hangs_costs_the_counters_only(stand_ins, tmp_path):
    neurolens = stand_ins(ncu="log.write_text('==PROF== Profiling'); time.sleep(300)")
    result = neurolens.deep("--silence-limit", "8", "--repeats", "1")
    assert [p["status"] for p in result.data["passes"]] == ["done", "done", "cut_short"]
    assert neurolens.value(result.data["run_id"], "SELECT count(*) FROM profiled_launches") == 0
    assert not processes_of(tmp_path)


def processes_of(folder):
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if str(folder).encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


FAULTS = {
    "nsys fails": (dict(nsys="print('Error: no space', file=sys.stderr); sys.exit(1)"), "nsys", "failed", "exit code 1: Error: no space"),
    "nsys records nothing": (dict(nsys="sys.exit(subprocess.call(command))"), "nsys", "nothing_profiled", "wrote no report"),
    "nsys writes garbage": (dict(nsys="open(output + '.nsys-rep', 'w').write('garbage')"), "nsys", "failed", "is not a report"),
    "ncu fails": (dict(ncu="sys.exit(255)"), "ncu", "failed", "exit code 255"),
    "ncu sees no kernels": (dict(ncu="log.write_text('==WARNING== No kernels were profiled.\\\\n')"), "ncu", "nothing_profiled", "saw none of the chosen kernels"),
    "ncu is forbidden": (dict(ncu="log.write_text('==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\\\\n'); sys.exit(1)"), "ncu", "forbidden", "ERR_NVGPUCTRPERM"),
    "ncu writes half": (dict(ncu="counters(); log.write_bytes(log.read_bytes()[:300])"), "ncu", "failed", ""),
}


@pytest.mark.parametrize("tools, which, status, words", FAULTS.values(), ids=FAULTS)
def test_a_tool_that_fails_costs_only_its_part(stand_ins, tools, which, status, words):
    neurolens = stand_ins(**tools)
    result = neurolens.deep("--repeats", "1")
    entry = by_pass(result.data)[which]
    assert entry["status"] == status and words in entry["reason"], entry
    assert any(w.startswith(which) for w in result.envelope["warnings"])
    run = result.data["run_id"]
    neurolens("verify", run)
    assert neurolens.value(run, "SELECT count(*) FROM iterations WHERE pass = 'unprofiled'") == 1
    assert (neurolens.value(run, "SELECT count(*) FROM kernels") > 0) == (which == "ncu")
    if which == "nsys":
        assert by_pass(result.data)["ncu"]["status"] == "not_run"
    if status == "forbidden":
        assert "NVreg_RestrictProfilingToAdminUsers" in entry["hint"]


def test_collectives_are_not_replayed_even_if_named(stand_ins, tmp_path):
    result = stand_ins().deep("--repeats", "1", "--kernel", "ncclDevKernel_SendRecv")
    assert by_pass(result.data)["ncu"]["status"] == "not_run"
    assert not (tmp_path / "ncu.json").exists()


USAGE = {
    "no such program": (["--", "/no/such/program"], BAD_INPUT, "cannot start /no/such/program"),
    "a workload that fails": (["--", "sh", "-c", "echo broken >&2; exit 3"], BAD_INPUT, "fails without any tool: exit code 3: broken"),
    "a workload that hangs": (["--time-limit", "1", "--", "sleep", "60"], MISSING, "did not end within 1 s"),
    "no such file": (["/no/such/workload.yaml"], BAD_INPUT, "workload.yaml"),
    "no range": (["--range", "A@", "--", "true"], BAD_INPUT, "not a range"),
}


@pytest.mark.parametrize("arguments, code, words", USAGE.values(), ids=USAGE)
def test_faults_leave_nothing(stand_ins, arguments, code, words):
    neurolens = stand_ins()
    result = neurolens("deep", "--json", *arguments, code=code)
    assert words in result.envelope["error"]["message"]
    assert neurolens.runs() == [] and neurolens.leftovers() == []


def test_tools_are_looked_for_first(stand_ins, tmp_path):
    neurolens = stand_ins()
    mark = tmp_path / "mark"
    for variable, hint in (("NEUROLENS_NSYS", "NEUROLENS_NSYS"), ("NEUROLENS_NCU", "--mode light")):
        without = Deep(neurolens.ledger, {**neurolens.environment, variable: "/absent"})
        error = without.deep(command=["touch", str(mark)], code=MISSING).envelope["error"]
        assert "is not installed here" in error["message"] and hint in error["hint"]
    mute = tmp_path / "mute"
    mute.write_text("#!/bin/sh\nexit 1\n")
    mute.chmod(0o755)
    error = Deep(neurolens.ledger, {**neurolens.environment, "NEUROLENS_NSYS": str(mute)}).deep(code=MISSING).envelope["error"]
    assert "does not say its version" in error["message"]
    assert not mark.exists() and neurolens.runs() == []


def test_ctrl_c_ends_all_of_it(stand_ins, tmp_path):
    neurolens = stand_ins(nsys=HANGS)
    with neurolens.start("deep", "--repeats", "1", "--", "true") as running:
        deadline = time.monotonic() + 60
        while not (tmp_path / "nsys.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == 130
    assert neurolens.runs() == [] and neurolens.leftovers() == [] and not processes_of(tmp_path)


# ---- With a stand-in for rocprofv3


@pytest.fixture
def rocprofv3(tmp_path):
    def make(does=WELL_ROCPROFV3, counts="--pmc", **environment):
        path = tmp_path / "stand-in-rocprofv3"
        path.write_text(STAND_IN_ROCPROFV3.format(python=sys.executable, folder=tmp_path, rocprofv3=does, counts=counts))
        path.chmod(0o755)
        return Deep(tmp_path / "ledger", {"NEUROLENS_ROCPROFV3": str(path), "NEUROLENS_NSYS": "/absent", **environment})

    return make


def test_rocprofv3_traces_and_counts(rocprofv3, tmp_path):
    neurolens = rocprofv3()
    result = neurolens.deep("--repeats", "2", "--top", "2", command=["echo", "hello"])
    data, passes = result.data, by_pass(result.data)
    assert [(p["pass"], p["status"]) for p in data["passes"]] == [("unprofiled", "done"), ("rocprofv3", "done"), ("pmc", "done")]
    assert passes["rocprofv3"]["version"] == "1.0.0" and passes["pmc"]["wall_ratio"] > 0

    trace, pmc = said_to(tmp_path, "rocprofv3"), said_to(tmp_path, "pmc")
    assert trace[:5] == ["--kernel-trace", "--hip-runtime-trace", "--memory-copy-trace", "--marker-trace", "--rccl-trace"]
    assert trace[5:8] == ["--output-format", "csv", "-d"] and trace[9:12] == ["-o", "process-%pid%", "--"]
    assert pmc[:4] == ["--pmc", "SQ_WAVES", "GRBM_GUI_ACTIVE", "FETCH_SIZE"]
    assert behind(pmc, "--kernel-include-regex") == "(^|[ :])(softmax|gemm)([<( .]|$)"
    assert "cclDevKernel" in behind(pmc, "--kernel-exclude-regex")
    assert trace[-2:] == pmc[-2:] == ["echo", "hello"]

    assert [k["function"] for k in data["replays"]["kernels"]] == ["softmax", "gemm"]
    assert [k["function"] for k in data["replays"]["left_out"]] == ["ncclDevKernel_Generic_1"]
    assert (data["replays"]["launch_skip"], data["replays"]["launch_count"]) == (0, 12), "all launches"

    run = data["run_id"]
    neurolens("verify", run)
    assert neurolens.run_ids() == [run] and neurolens.leftovers() == []
    document = json.loads((neurolens.bundle(run) / "run.json").read_text())
    assert sorted(s["role"] for s in document["sources"] if s["format"] == "rocprofv3") == ["agent_info", "counter_collection", "hip_api_trace", "kernel_trace"]
    assert [d["name"] for d in document["hardware"]["devices"]] == ["AMD Instinct MI300X"]
    assert [row["pass"] for row in neurolens.rows(run, "SELECT pass FROM iterations ORDER BY iteration_id")] == ["unprofiled", "unprofiled", "rocprofv3", "pmc"]
    assert neurolens.value(run, "SELECT count(launch_span_id) FROM kernels") == 18
    assert neurolens.value(run, "SELECT count(kernel_id) FROM launch_matches") == 12
    folder = pathlib.Path(data["artifacts"])
    assert {p.name for p in folder.iterdir()} >= {"rocprofv3", "pmc", "kernels.md", "stakeholder_summary.md"}


def test_rocprofv3_of_several_processes(rocprofv3):
    neurolens = rocprofv3("code = subprocess.call(command); counters() if counts else [tables(77), tables(90, gemms=5)]; sys.exit(code)")
    run = neurolens.deep("--repeats", "1").data["run_id"]
    pairs = neurolens.rows(run, "SELECT t.process_id, count(*) AS n FROM kernels k JOIN spans s ON s.span_id = k.launch_span_id JOIN tracks t ON t.track_id = s.track_id GROUP BY 1 ORDER BY 1")
    assert pairs == [{"process_id": 77, "n": 18}, {"process_id": 90, "n": 15}]


def test_rocprofv3_counts_what_it_is_told(rocprofv3, tmp_path):
    data = rocprofv3().deep("--repeats", "1", "--counter", "L2CacheHit", "--kernel", "softmax").data
    pmc = said_to(tmp_path, "pmc")
    assert pmc[:3] == ["--pmc", "L2CacheHit", "--kernel-include-regex"] and "(softmax)" in behind(pmc, "--kernel-include-regex")
    assert data["replays"]["launch_count"] is None


ROCPROFV3_FAULTS = {
    "fails": ("sys.stderr.write('Fatal error: no HSA\\n'); sys.exit(1)", "rocprofv3", "failed", "exit code 1: Fatal error: no HSA"),
    "records nothing": ("sys.exit(subprocess.call(command))", "rocprofv3", "nothing_profiled", "wrote no trace"),
    "writes garbage": ("folder.mkdir(parents=True, exist_ok=True); (folder / 'process-1_kernel_trace.csv').write_text('garbage')", "rocprofv3", "failed", "process-1_kernel_trace.csv"),
    "cannot count": ("code = subprocess.call(command); sys.exit(3) if counts else tables(); sys.exit(code)", "pmc", "failed", "exit code 3"),
    "counts nothing": ("code = subprocess.call(command); None if counts else tables(); sys.exit(code)", "pmc", "nothing_profiled", "wrote no counters"),
}


@pytest.mark.parametrize("does, which, status, words", ROCPROFV3_FAULTS.values(), ids=ROCPROFV3_FAULTS)
def test_rocprofv3_that_fails_costs_only_its_part(rocprofv3, does, which, status, words):
    neurolens = rocprofv3(does)
    result = neurolens.deep("--repeats", "1")
    entry = by_pass(result.data)[which]
    assert entry["status"] == status and words in entry["reason"], entry
    neurolens("verify", result.data["run_id"])
    if which == "rocprofv3":
        assert "rocprofv3 saw none" in by_pass(result.data)["pmc"]["reason"]
    else:
        assert "--counter" in entry["hint"]


def test_which_tool_is_taken(rocprofv3, stand_ins, tmp_path):
    nsight = stand_ins().environment
    both = rocprofv3(**nsight)
    assert [p["pass"] for p in both.deep("--mode", "light", "--repeats", "1").data["passes"]] == ["unprofiled", "nsys"]
    assert [p["pass"] for p in both.deep("--mode", "light", "--repeats", "1", "--tool", "rocprofv3").data["passes"]] == ["unprofiled", "rocprofv3"]
    without = rocprofv3(NEUROLENS_ROCPROFV3="/absent")
    error = without.deep("--tool", "rocprofv3", code=MISSING).envelope["error"]
    assert "rocprofv3" in error["message"] and "NEUROLENS_ROCPROFV3" in error["hint"]
    old = rocprofv3(counts="--input")
    error = old.deep(code=MISSING).envelope["error"]
    assert "--pmc" in error["message"] and "--mode light" in error["hint"]
    error = rocprofv3().deep("--range", "LLM@decode", code=BAD_INPUT).envelope["error"]
    assert error["code"] == "unsupported"


# ---- The real tools, which see no GPU here

PROGRAM = """
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>
int main(void) {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("lab");
  nvtxEventAttributes_t range = {0};
  range.version = NVTX_VERSION;
  range.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  range.messageType = NVTX_MESSAGE_TYPE_ASCII;
  range.message.ascii = "decode";
  nvtxRangePushA("load");
  usleep(20000);
  nvtxRangePop();
  for (int step = 0; step < 3; step++) {
    nvtxDomainRangePushEx(domain, &range);
    usleep(30000);
    nvtxDomainRangePop(domain);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    for tool in ("nsys", "ncu"):
        if not (os.environ.get(f"NEUROLENS_{tool.upper()}") or shutil.which(tool)):
            pytest.skip(f"{tool} is not installed")
    if not compiler or not NVTX_INCLUDE.is_dir():
        pytest.skip("no C compiler, or no NVTX headers of nsys")
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.c").write_text(PROGRAM)
    subprocess.run([compiler, "program.c", "-I", NVTX_INCLUDE, "-ldl", "-o", "program"], cwd=folder, check=True)
    return folder / "program"


@pytest.fixture
def real(tmp_path, program):
    return Deep(tmp_path / "ledger")


def ranges(neurolens, run):
    return [row["name"] for row in neurolens.rows(run, "SELECT name FROM spans WHERE kind = 'annotation' ORDER BY start_ns")]


def recorded(real, *options, command):
    """A run whose nsys started; on a busy machine it does not always find its own daemon."""
    for _ in range(3):
        result = real.deep(*options, "--repeats", "1", command=command, timeout=600)
        entry = by_pass(result.data)["nsys"]
        if entry["status"] != "failed":
            return result
    pytest.skip(f"nsys records nothing here: {entry['reason']}")


def test_real_tools_without_a_gpu(real, program):
    result = recorded(real, "--kernel", "gemm", command=[str(program)])
    passes = by_pass(result.data)
    assert passes["nsys"]["status"] == "done" and passes["nsys"]["wall_ratio"] > 0
    assert passes["ncu"]["status"] == "nothing_profiled" and "nothing was profiled" in passes["ncu"]["reason"]
    run = result.data["run_id"]
    assert ranges(real, run) == ["load", "decode", "decode", "decode"]
    (iteration,) = real.rows(run, "SELECT start_ns, dur_ns FROM iterations WHERE pass = 'nsys'")
    first, last = (real.value(run, f"SELECT {time} FROM spans WHERE kind = 'annotation'") for time in ("min(start_ns)", "max(start_ns + dur_ns)"))
    assert iteration["start_ns"] <= first < last <= iteration["start_ns"] + iteration["dur_ns"], "by the clocks of both"


def test_real_tools_find_no_kernels_to_replay(real, program):
    passes = by_pass(recorded(real, command=[str(program)]).data)
    assert passes["ncu"]["status"] == "not_run" and "nsys saw none" in passes["ncu"]["reason"]


@pytest.mark.parametrize("preset", ["roofline", "minimal", "memory", "occupancy", "full"])
def test_the_real_ncu_knows_the_presets(real, program, preset):
    """It refuses a set or a section that it does not know, even where there are no kernels."""
    result = recorded(real, "--kernel", "gemm", "--ncu", preset, command=[str(program)])
    ncu = by_pass(result.data)["ncu"]
    assert (ncu["status"], ncu["exit_code"]) == ("nothing_profiled", 0)


def test_a_real_range_is_captured_alone(real, program):
    result = recorded(real, "--mode", "light", "--range", "lab@decode", command=[str(program)])
    assert by_pass(result.data)["nsys"]["status"] == "done"
    assert set(ranges(real, result.data["run_id"])) == {"decode"}
    nothing = recorded(real, "--mode", "light", "--range", "decode@lab", command=[str(program)])
    entry = by_pass(nothing.data)["nsys"]
    assert entry["status"] == "nothing_profiled" and "DOMAIN@RANGE" in entry["hint"]


def test_a_real_pass_that_takes_too_long_keeps_its_report(real, program, tmp_path):
    """Fast by itself, it hangs as soon as a profiler is there."""
    script = f'{program}; [ -z "$LD_PRELOAD$NVTX_INJECTION64_PATH$CUDA_INJECTION64_PATH" ] || exec sleep 300'
    result = recorded(real, "--mode", "light", "--time-limit", "20", command=["sh", "-c", script])
    entry = by_pass(result.data)["nsys"]
    if entry["status"] == "done":
        pytest.skip("this nsys sets none of the variables that the program looks for")
    assert entry["status"] == "cut_short" and "it did not end within 20 s" in entry["reason"]
    assert ranges(real, result.data["run_id"]) == ["load", "decode", "decode", "decode"]
    assert not processes_of(tmp_path)
