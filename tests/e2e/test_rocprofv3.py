"""Tables of rocprofv3 through the command line: the files of a process and of several, analysis, what is refused."""

import csv
import gzip
import json
import shutil

import pytest

from conftest import BAD_INPUT, REPOSITORY, TRACES

GOLDEN = REPOSITORY / "tests/golden/rocprofv3"
CORPUS = TRACES / "rocprof"
KERNELS = '"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"\n'
CALLS = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
COPIES = '"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'


def write_process(folder, stem, pid, at=1_000_000, agent=1):
    """Two kernels of one graph launch and a copy, inside of a range; correlation ids are the same in every process."""
    def kernel(n, start, end):
        return f'"KERNEL_DISPATCH","Agent {agent}","1","3","{pid}","{n}","gemm_{n}(float*)","5","{at + start}","{at + end}","64","1","1","640","1","1"\n'

    files = {
        "kernel_trace": KERNELS + kernel(1, 2000, 5000) + kernel(2, 5000, 6000),
        "hip_api_trace": CALLS + f'"HIP_RUNTIME_API","hipGraphLaunch","{pid}","{pid}","5","{at + 1000}","{at + 1500}"\n'
                                 f'"HIP_RUNTIME_API","hipMemcpyAsync","{pid}","{pid}","6","{at + 1600}","{at + 1900}"\n',
        "marker_api_trace": CALLS + f'"MARKER_CORE_API","decode","{pid}","{pid}","4","{at}","{at + 9000}"\n',
        "memory_copy_trace": COPIES + f'"MEMORY_COPY","MEMORY_COPY_DEVICE_TO_HOST","3","Agent {agent}","Agent 0","6","{at + 7000}","{at + 8000}"\n',
    }
    for name, text in files.items():
        (folder / f"{stem}_{name}.csv").write_text(text)
    return [folder / f"{stem}_{name}.csv" for name in files]


def device_times(neurolens, run, *options):
    """Parts of the window on the first device, in ns."""
    metrics = neurolens("analyze", run, *options, "--json").data["devices"][0]["metrics"]
    return {name: metrics[name].get("value") or 0 for name in ("total_time", "compute_time", "exposed_comm_time", "exposed_copy_time", "idle_time")}


def test_the_files_of_a_process_are_one_run(neurolens, tmp_path):
    files = write_process(tmp_path, "out", 77)
    data = neurolens("import", *files, "--json").data
    run = data["run_id"]
    assert data["sources"] == 4 and neurolens.run_ids() == [run]
    assert neurolens("import", *reversed(files), "--as-one", "--json").data["run_id"] == run, "and however they are given"
    assert neurolens.rows(run, "SELECT k.name, s.name AS call FROM kernels k JOIN spans s ON s.span_id = k.launch_span_id ORDER BY k.start_ns") == [
        {"name": "gemm_1(float*)", "call": "hipGraphLaunch"}, {"name": "gemm_2(float*)", "call": "hipGraphLaunch"}]
    assert neurolens.value(run, "SELECT s.name FROM copies c JOIN spans s ON s.span_id = c.launch_span_id") == "hipMemcpyAsync"
    assert neurolens.value(run, "SELECT p.name FROM spans s JOIN spans p ON p.span_id = s.parent_id WHERE s.name = 'hipGraphLaunch'") == "decode"
    assert neurolens.value(run, "SELECT count(*) FROM tracks") == 2, "one thread and one stream, whichever file names them"
    assert neurolens.value(run, "SELECT grid_x FROM kernels LIMIT 1") == 10, "blocks, not work-items"
    document = json.loads((neurolens.bundle(run) / "run.json").read_text())
    assert [c["kind"] for c in document["clocks"]] == ["relative"]
    assert [(d["device"], d["vendor"], d["active"]) for d in document["hardware"]["devices"]] == [(1, "AMD", True)]
    neurolens("verify", run)


def test_the_decomposition_closes(neurolens, tmp_path):
    run = neurolens("import", *write_process(tmp_path, "out", 77), "--json").data["run_id"]
    assert device_times(neurolens, run, "--window", "decode") == {
        "total_time": 9000, "compute_time": 4000, "exposed_comm_time": 0, "exposed_copy_time": 1000, "idle_time": 4000}


def test_two_processes_stay_apart(neurolens, tmp_path):
    """Their correlation ids are equal; which files belong together is told by their names and part of the run."""
    one, two = write_process(tmp_path, "11", 11), write_process(tmp_path, "22", 22, at=1_000_500, agent=2)
    data = neurolens("import", *one, *two, "--as-one", "--json").data
    run = data["run_id"]
    pairs = neurolens.rows(run, "SELECT DISTINCT k.device, t.process_id FROM kernels k JOIN spans s ON s.span_id = k.launch_span_id JOIN tracks t ON t.track_id = s.track_id ORDER BY ALL")
    assert pairs == [{"device": 1, "process_id": 11}, {"device": 2, "process_id": 22}]
    assert neurolens.value(run, "SELECT count(*) FROM kernels WHERE launch_span_id IS NULL") == 0
    assert neurolens("import", *two, *reversed(one), "--as-one", "--json").data["run_id"] == run
    renamed = [shutil.copy(path, tmp_path / f"x{i}_{'_'.join(path.name.split('_')[1:])}") for i, path in enumerate(one + two)]
    other = neurolens("import", *renamed, "--as-one", "--json").data["run_id"]
    assert other != run, "names that tell nothing give other links"
    assert neurolens.value(other, "SELECT count(launch_span_id) FROM kernels") == 0
    assert [r["sources"] for r in neurolens("import", *one, *two, "--json").data["runs"]] == [4, 4]


def test_agents_name_the_devices(neurolens, tmp_path):
    files = write_process(tmp_path, "out", 77)
    agents = tmp_path / "out_agent_info.csv"
    shutil.copy(GOLDEN / "agents/input.csv", agents)
    run = neurolens("import", *files, agents, "--json").data["run_id"]
    devices = json.loads((neurolens.bundle(run) / "run.json").read_text())["hardware"]["devices"]
    assert [(d["device"], d["name"], d["active"]) for d in devices] == [(1, "AMD Instinct MI300X", True), (2, "AMD Instinct MI300X", False)]
    assert devices[0]["multiprocessors"] == 304


def test_counters_meet_their_launches(neurolens, tmp_path):
    """They are of another execution: matched as sequences, not by dispatch ids."""
    trace = tmp_path / "trace_kernel_trace.csv"
    trace.write_text(KERNELS + "".join(
        f'"KERNEL_DISPATCH","Agent 1","1","3","9","{n + 40}","k{n % 3}(int)","{n}","{1000 * n}","{1000 * n + 500}","64","1","1","6400","1","1"\n' for n in range(1, 9)))
    counters = tmp_path / "pmc_counter_collection.csv"
    counters.write_text('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Name","Workgroup_Size","Counter_Name","Counter_Value"\n' + "".join(
        f'{n},{n},"Agent 1",1,10,10,6400,"k{n % 3}(int)",64,"{name}",{n * 10}\n' for n in range(1, 9) for name in ("SQ_WAVES", "FETCH_SIZE")))
    run = neurolens("import", trace, counters, "--as-one", "--json").data["run_id"]
    assert neurolens.value(run, "SELECT count(*) FROM profiled_launches") == 8
    assert neurolens.value(run, "SELECT count(*) FROM launch_matches m JOIN profiled_launches l USING (launch_id) JOIN kernels k USING (kernel_id) WHERE k.name = l.kernel_name") == 8
    assert neurolens.value(run, "SELECT sum(value) FROM kernel_metrics WHERE metric = 'SQ_WAVES'") == 360


@pytest.mark.parametrize("stem", ["jimw_gfx1151_llamacpp_decode", "jimw_gfx1151_llamacpp_prefill"])
def test_recorded_processes(neurolens, stem):
    files = sorted(p for p in CORPUS.glob(f"{stem}_*") if p.name.removeprefix(stem).split(".")[0] in ("_kernel_trace", "_hip_api_trace"))
    if not files:
        pytest.skip(f"no corpus at {TRACES} (set NEUROLENS_TRACES)")
    run = neurolens("import", *files, "--json").data["run_id"]
    with (gzip.open(files[1], "rt") if files[1].suffix == ".gz" else files[1].open()) as text:
        rows = list(csv.DictReader(text))
    total = sum(int(r["End_Timestamp"]) - int(r["Start_Timestamp"]) for r in rows)
    assert neurolens.value(run, "SELECT sum(dur_ns)::BIGINT FROM kernels") == total
    times = device_times(neurolens, run)
    assert times.pop("total_time") == sum(times.values()) > 0
    neurolens("verify", run)


@pytest.mark.parametrize("case, code", [("error_allocations", "unsupported"), ("error_several_processes", "unsupported"), ("error_open_quote", "bad_input")])
def test_what_cannot_be_read_is_said(neurolens, case, code):
    error = neurolens("import", GOLDEN / case / "input.csv", "--json", code=BAD_INPUT).envelope["error"]
    assert error["code"] == code
    assert neurolens.run_ids() == [] and neurolens.leftovers() == []
