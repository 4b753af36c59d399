"""explain: rows that it names are there, and its figures hold for runs of several ranks and for work without kernels."""

import json

import pytest

from conftest import BAD_INPUT


def event(category, name, start_us, dur_us, process=1, thread=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": process, "tid": thread, "ts": start_us, "dur": dur_us, "args": args}


def launched(name, start_us, dur_us, correlation):
    """A launch call 10 us before a kernel of device 0."""
    return [event("cuda_runtime", "cudaLaunchKernel", start_us - 10, 2, correlation=correlation, cbid=211),
            event("kernel", name, start_us, dur_us, 0, 7, device=0, stream=7, context=1, correlation=correlation)]


@pytest.fixture
def write_trace(tmp_path):
    def write(events, name="trace.json", **extra):
        path = tmp_path / name
        path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Test GPU"}],
                                    "traceEvents": events, **extra}))
        return path

    return write


@pytest.fixture
def inferences(tmp_path):
    """Times as trtexec writes them: the device's work is a span, not a kernel."""
    path = tmp_path / "times.json"
    path.write_text(json.dumps([
        {"startEnqMs": at, "endEnqMs": at + 0.1, "startH2dMs": at, "endH2dMs": at + 0.5, "startComputeMs": at + 0.5,
         "endComputeMs": at + 0.5 + length, "startD2hMs": at + 0.5 + length, "endD2hMs": at + 1 + length, "h2dMs": 0.5,
         "computeMs": length, "d2hMs": 0.5, "latencyMs": 1 + length}
        for at, length in ((0, 1), (10, 3), (20, 2))
    ]))
    return path


def explain(neurolens, *words):
    return neurolens("explain", *words, "--json").envelope


def figures_of(envelope):
    return {figure["name"]: figure["value"] for figure in envelope["data"]["figures"]}


def test_work_without_kernels_leads_to_its_spans(neurolens, inferences):
    top = neurolens("analyze", inferences, "--window", "whole", "--json").data["top_kernels"]
    assert {one["name"]: one["longest_table"] for one in top}["compute"] == "spans"
    figures = figures_of(explain(neurolens, inferences, "--kernel", "compute", "--window", "whole"))
    assert (figures["min_ns"], figures["max_ns"]) == (1_000_000, 3_000_000)
    rows = explain(neurolens, inferences, "--metric", "kernel_sum_time", "--window", "whole")["data"]["rows"]
    (place,) = [row["row"] for row in rows]
    longest = explain(neurolens, inferences, "--span", place)
    assert longest["data"]["rows"][0]["name"] == "compute" and "span" in longest["data"]["meaning"]
    # Its copy to the device ends as it begins.
    assert figures_of(longest) == {"dur_ns": 3_000_000, "gap_before_ns": 0}


def test_a_gap_is_of_the_device_of_one_rank(neurolens, write_trace):
    kernels = ([*launched("a", 100, 10, 1), *launched("b", 200, 10, 2)], [*launched("c", 150, 45, 1)])
    paths = [write_trace(events, f"rank{rank}.json", distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2})
             for rank, events in enumerate(kernels)]
    run = neurolens("import", *paths, "--as-one", "--json").data["run_id"]
    places = {row["name"]: f"kernels:{row['kernel_id']}" for row in neurolens.rows(run, "SELECT name, kernel_id FROM kernels")}
    assert figures_of(explain(neurolens, run, "--span", places["b"]))["gap_before_ns"] == 90_000
    assert figures_of(explain(neurolens, run, "--span", places["c"]))["gap_before_ns"] is None


def test_nobody_asks_which_call_launched_a_wait(neurolens, write_trace):
    kernels = [*launched("a", 100, 10, 1), *launched("b", 200, 10, 2)]
    wait = event("cuda_sync", "Stream Synchronize", 150, 20, 0, 7, device=0, stream=7, correlation=9)
    run = neurolens("import", write_trace([*kernels, wait]), "--json").data["run_id"]
    assert neurolens.value(run, "SELECT count(*) AS n FROM syncs") == 1
    assert explain(neurolens, run, "--span", "syncs:0")["data"]["limits"] == []


def test_a_kernel_outside_of_the_window(neurolens, write_trace):
    steps = [event("user_annotation", f"ProfilerStep#{step}", step * 1000, 1000) for step in range(4)]
    work = [one for step in range(4) for one in launched("warming" if step == 0 else "ignore the user", step * 1000 + 100, 500, step)]
    run = neurolens("import", write_trace([*steps, *work]), "--json").data["run_id"]
    refused = neurolens("explain", run, "--kernel", "WARM", "--window", "step:2", "--json", code=BAD_INPUT).envelope["error"]
    assert '"step:2"' in refused["message"] and '"ignore the user"' in refused["message"]
    assert "whole" in json.dumps(refused["hint"])
    assert explain(neurolens, run, "--kernel", "WARM", "--window", "whole")["data"]["name"] == "warming"


def test_calls_that_go_on_keep_the_window(neurolens, inferences):
    following = explain(neurolens, inferences, "--metric", "kernel_sum_time", "--window", "whole")["next"]
    assert [call.split()[1] for call in following] == ["explain", "analyze"]
    assert all("--window whole" in call for call in following)


def test_plain_numbers_are_no_shares(neurolens, write_trace):
    run = neurolens("import", write_trace(launched("sm90_xmma_gemm_f16", 100, 10, 1)), "--json").data["run_id"]
    assert "compute_capability is 9" in neurolens("explain", run, "--metric", "compute_capability").out
    assert "900" not in neurolens("explain", run, "--metric", "compute_capability").out
