"""Ops of graph replays, told by the trace of their capture or by a run without graphs. The expected figures are counted here from
the files themselves."""

import gzip
import json

import pytest

from conftest import TRACES

REPLAYS = {
    "sglang": TRACES / "kineto/tracelens_sglang_qwen3-8b_decode.json.gz",
    "vllm": TRACES / "kineto/tracelens_vllm_decode_full_cudagraph.json.gz",
}
CAPTURES = {
    "sglang": TRACES / "more/kineto/tracelens_sglang_qwen3-8b_graph_capture_bs32.json.gz",
    "vllm": TRACES / "more/kineto/tracelens_vllm_decode_full_graph_capture.json.gz",
}
EAGER = TRACES / "kineto/tracelens_sglang_qwen3-8b_prefilldecode.json.gz"


def events_of(path):
    return json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]


def ns(event):
    return round(event["dur"] * 1000)


def replayed_kernels(events):
    """Of the only graph launch, in order."""
    (launch,) = [e for e in events if e["name"] == "hipGraphLaunch"]
    own = [e for e in events if e.get("cat") == "kernel" and e["args"]["correlation"] == launch["args"]["correlation"]]
    return sorted(own, key=lambda e: e["ts"])


def captured_launches(events):
    (begin,) = [e for e in events if e["name"] == "hipStreamBeginCapture"]
    (end,) = [e for e in events if e["name"] == "hipStreamEndCapture"]
    launches = [e for e in events if e.get("cat") == "cuda_runtime" and "LaunchKernel" in e["name"]]
    return sorted([e for e in launches if begin["ts"] < e["ts"] < end["ts"]], key=lambda e: e["ts"])


def innermost_ops(events, launches):
    """Name and shapes of the innermost op around each launch, by a sweep over the thread."""
    ops = [e for e in events if e.get("cat") == "cpu_op" and e["tid"] == launches[0]["tid"]]
    ops.sort(key=lambda e: (e["ts"], -e["dur"]))
    found, open_ops, i = [], [], 0
    for launch in launches:
        while i < len(ops) and ops[i]["ts"] <= launch["ts"]:
            open_ops.append(ops[i])
            i += 1
        open_ops = [op for op in open_ops if op["ts"] + op["dur"] > launch["ts"]]
        found.append((open_ops[-1]["name"], open_ops[-1]["args"].get("Input Dims")) if open_ops else None)
    return found


def analyze(neurolens, *arguments):
    return neurolens("analyze", *arguments, "--window", "whole", "--top", "10000", "--json").data


def graph_rows(data, owner):
    return [row for row in data["top_ops"] if row["owner"] == owner]


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_each_kernel_of_a_replay_gets_the_op_of_its_capture(neurolens, engine):
    replay, capture = events_of(REPLAYS[engine]), events_of(CAPTURES[engine])
    kernels, launches = replayed_kernels(replay), captured_launches(capture)
    same = [a["name"] == b["args"]["kernel"] for a, b in zip(kernels, launches, strict=True)]
    ops = innermost_ops(capture, launches)
    assert None not in ops

    data = analyze(neurolens, REPLAYS[engine], "--graph-ops", CAPTURES[engine])
    graphs = data["graph_ops"]
    assert graphs["kind"] == "capture" and graphs["chosen"] == "named"
    assert graphs["donor"] == CAPTURES[engine].name
    assert (graphs["replays"], graphs["graphs"], graphs["graphs_matched"]) == (1, 1, 1)
    assert graphs["kernels"] == len(kernels)
    assert graphs["by_name"] == sum(same) == len(kernels)
    assert graphs["by_class"] == 0 and graphs["refused"] is None
    assert graphs["matched"] == graphs["matched_time"] == graphs["by_name_time"] == 1
    assert graphs["kernel_ns"] == graphs["by_name_ns"]
    assert graphs["shapes"].startswith("verified: recorded for a batch of 32")

    expected, by_shape = {}, {}
    for kernel, (name, dims) in zip(kernels, ops, strict=True):
        expected.setdefault(name, [0, 0])
        expected[name][0] += 1
        expected[name][1] += ns(kernel)
        key = (name, json.dumps(dims) if dims is not None else None)
        by_shape[key] = by_shape.get(key, 0) + 1
    rows = {row["name"]: row for row in graph_rows(data, "graph_op")}
    assert {name: row["kernels"] for name, row in rows.items()} == {name: n for name, (n, _) in expected.items()}
    for name, (count, total) in expected.items():
        assert abs(rows[name]["device_ns"] - total) <= count  # the file has fractions of a ns
    told = {}
    for row in graphs["top"]:
        shapes = json.dumps(json.loads(row["shapes"])) if row["shapes"] is not None else None
        told[row["name"], shapes] = told.get((row["name"], shapes), 0) + row["kernels"]
    assert told == by_shape


@pytest.mark.parametrize("engine", ["sglang", "vllm"])
def test_the_row_of_the_graph_launch_is_split_and_the_sum_stays(neurolens, engine):
    before = analyze(neurolens, REPLAYS[engine])
    after = analyze(neurolens, REPLAYS[engine], "--graph-ops", CAPTURES[engine])
    assert before["graph_ops"] is None
    (graph,) = graph_rows(before, "graph_launch")
    rest = sum(row["device_ns"] for row in graph_rows(after, "graph_launch"))
    assert sum(row["device_ns"] for row in graph_rows(after, "graph_op")) + rest == graph["device_ns"]
    assert rest == 0
    for table in ("top_ops", "top_kernels"):
        times = [sum(row.get("device_ns", row.get("total_ns")) for row in data[table]) for data in (before, after)]
        assert times[0] == times[1]
    assert abs(sum(row["share"] for row in after["top_ops"]) - 1) < 1e-9
    modules = {row["path"] for row in after["top_modules"]}
    assert any(path and ("Qwen3DecoderLayer" in path or "GptOssForCausalLM" in path) for path in modules)


@pytest.mark.parametrize(("engine", "other"), [("sglang", "vllm"), ("vllm", "sglang")])
def test_the_capture_of_another_model_is_refused(neurolens, engine, other):
    data = analyze(neurolens, REPLAYS[engine], "--graph-ops", CAPTURES[other])
    graphs = data["graph_ops"]
    assert graphs["by_name"] == graphs["by_class"] == graphs["graphs_matched"] == 0
    assert "kernels of the replay match in order" in graphs["refused"]
    assert not graph_rows(data, "graph_op")
    assert len(graph_rows(data, "graph_launch")) == 1
    text = neurolens("analyze", REPLAYS[engine], "--graph-ops", CAPTURES[other]).out
    assert "no ops for graph replays" in text


def test_a_prefill_without_graphs_tells_ops_but_no_shapes(neurolens):
    """Products have other tiles there, and attention is another op: its kernels stay unknown."""
    data = analyze(neurolens, REPLAYS["sglang"], "--graph-ops", EAGER)
    graphs = data["graph_ops"]
    names = {e["name"] for e in events_of(EAGER) if e.get("cat") == "kernel"}
    kernels = replayed_kernels(events_of(REPLAYS["sglang"]))
    assert graphs["kind"] == "eager"
    assert 0 < graphs["by_name"] <= sum(kernel["name"] in names for kernel in kernels)
    assert graphs["by_class"] > 0 and 0.8 <= graphs["matched"] < 1
    assert graphs["shapes"].startswith("not used")
    assert all(row["shapes"] is None for row in graphs["top"])
    attention = sum(ns(kernel) for kernel in kernels if "paged_attention" in kernel["name"])
    (rest,) = graph_rows(data, "graph_launch")
    assert rest["device_ns"] >= attention * 0.999
    assert not any("attention" in row["name"] for row in graph_rows(data, "graph_op"))


def test_a_run_of_the_ledger_with_the_same_model_is_found(neurolens):
    donor = neurolens.import_file(CAPTURES["sglang"], "--set", "model=qwen3-8b")["run_id"]
    neurolens.import_file(CAPTURES["vllm"], "--set", "model=qwen3-8b")  # a wrong label lends nothing
    run = neurolens.import_file(REPLAYS["sglang"], "--set", "model=qwen3-8b")["run_id"]
    graphs = analyze(neurolens, run)["graph_ops"]
    assert graphs["donor_run_id"] == donor
    assert "same model label: qwen3-8b" in graphs["chosen"]
    assert graphs["matched"] == 1


def test_without_names_of_kernels_the_kinds_of_ops_decide(neurolens, tmp_path):
    """As NVIDIA's profiler writes launch calls: the kernel is not named."""
    trace = json.loads(gzip.decompress(CAPTURES["sglang"].read_bytes()))
    for event in trace["traceEvents"]:
        event.get("args", {}).pop("kernel", None)
    path = tmp_path / "nameless.json"
    path.write_text(json.dumps(trace))
    graphs = analyze(neurolens, REPLAYS["sglang"], "--graph-ops", path)["graph_ops"]
    named = analyze(neurolens, REPLAYS["sglang"], "--graph-ops", CAPTURES["sglang"])["graph_ops"]
    assert graphs["by_name"] == 0 and graphs["refused"] is None
    assert 0.99 < graphs["matched"] < 1  # a cast is a copy in PyTorch and an elementwise kernel on the device

    def kernels_of(answer):
        return {(row["name"], row["shapes"], row["module"]): row["kernels"] for row in answer["top"]}

    right = kernels_of(named)
    assert all(count <= right[op] for op, count in kernels_of(graphs).items())
    vllm = analyze(neurolens, REPLAYS["vllm"], "--graph-ops", path)["graph_ops"]
    assert vllm["refused"].startswith("the other run does not name its kernels, and it has 544 launches")


def test_a_run_without_graphs_says_so(neurolens, small_trace):
    graphs = analyze(neurolens, small_trace, "--graph-ops", CAPTURES["sglang"])["graph_ops"]
    assert graphs["refused"] == "the run replays no graphs"
