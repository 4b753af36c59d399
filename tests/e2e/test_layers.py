"""The layer view. Recorded traces are summed up here a second time, from their JSON alone; generated ones show what counts
as a layer, what the text and the report say, and that a fingerprint has layers only where the file names them."""

import collections
import decimal
import gzip
import json

import pytest

from conftest import TRACES

OUTSIDE = None


def recorded(name):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"no recorded trace {path}: set NEUROLENS_TRACES")
    return path


def analysis(neurolens, path, *arguments):
    return neurolens("analyze", path, "--window", "whole", "--json", "--top", "10000", *arguments).data


def layers_of(neurolens, path, *arguments):
    return analysis(neurolens, path, *arguments)["model_layers"]


def closes(device):
    rows = device["layers"]
    assert sum(row["device_ns"] for row in rows) + device["not_shown"]["total_ns"] == device["in_layers_ns"]
    assert device["in_layers_ns"] + device["outside_ns"] == device["total_ns"]
    assert sum(device["classes"].values()) == device["in_layers_ns"]
    assert sum(stack["device_ns"] for stack in device["stacks"]) == device["in_layers_ns"]
    assert all(0 <= row["self_ns"] <= row["device_ns"] for row in rows)


def nanoseconds(microseconds):
    return int((decimal.Decimal(microseconds) * 1000).to_integral_value())


class KinetoSums:
    """Device time by the frames of modules around the launch, from the JSON of a trace."""

    def __init__(self, path, layer_class):
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        events = [e for e in json.loads(text, parse_float=decimal.Decimal)["traceEvents"] if e.get("ph") == "X"]
        launches = {e["args"].get("correlation"): e for e in events if e.get("cat") in ("cuda_runtime", "cuda_driver")}
        self.frames = collections.defaultdict(list)
        for e in events:
            if str(e["name"]).startswith("nn.Module: "):
                self.frames[e["tid"]].append((e["ts"], e["ts"] + e["dur"], e["name"].removeprefix("nn.Module: ")))
        self.total, self.own, self.kernels = (collections.Counter() for _ in range(3))
        for e in events:
            if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
                self.add(launches.get(e["args"].get("correlation")), nanoseconds(e["dur"]), layer_class)

    def add(self, launch, ns, layer_class):
        around = []
        if launch is not None:
            around = [f for f in self.frames[launch["tid"]] if f[0] <= launch["ts"] < f[1]]
        layer = next((name for _, _, name in around if name.rpartition("_")[0] == layer_class), OUTSIDE)
        innermost = min(around, key=lambda f: f[1] - f[0])[2] if around else OUTSIDE
        key = OUTSIDE if layer is OUTSIDE else int(layer.rpartition("_")[2])
        self.total[key] += ns
        self.kernels[key] += 1
        self.own[key] += ns if innermost == layer else 0


@pytest.mark.parametrize("file, layer_class, count", [
    ("tracelens_h100_bert-small.json.gz", "BertLayer", 4),
    ("tracelens_h100_falconsai_vit.json.gz", "ViTLayer", 12),
    ("tracelens_h100_qwen1.5-0.5b.json.gz", "Qwen2DecoderLayer", 24)])
def test_layers_of_a_recorded_trace(neurolens, tmp_path, file, layer_class, count):
    path = recorded(f"kineto/{file}")
    sums = KinetoSums(path, layer_class)
    data = analysis(neurolens, path)
    (device,) = data["model_layers"]["devices"]
    closes(device)
    assert data["model_layers"]["absent"] is None and device["source"] == "modules"
    assert [(row["stack"], row["index"]) for row in device["layers"]] == [(layer_class, i) for i in range(count)]
    assert {row["index"]: row["device_ns"] for row in device["layers"]} == {i: sums.total[i] for i in range(count)}
    assert {row["index"]: row["self_ns"] for row in device["layers"]} == {i: sums.own[i] for i in range(count)}
    assert {row["index"]: row["kernels"] for row in device["layers"]} == {i: sums.kernels[i] for i in range(count)}
    assert (device["outside_ns"], device["outside_kernels"]) == (sums.total[OUTSIDE], sums.kernels[OUTSIDE])
    assert device["total_ns"] == sum(row["device_ns"] for row in data["top_modules"]), "as the table of modules"
    text = neurolens("analyze", path, "--window", "whole").out
    assert f"{count} layers of {layer_class}: " in text
    neurolens("report", path, "--window", "whole", "--output", tmp_path / "out", "--format", "md")
    page = (tmp_path / "out/report.md").read_text()
    assert "Layers of the model" in page and "(in no layer)" in page


def test_nodes_of_onnx_runtime_tell_layers(neurolens):
    path = recorded("onnxruntime/generated/transformer_t1_optall_5runs.json")
    expected, nodes = collections.Counter(), 0
    for event in json.loads(path.read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            layer = event["name"].split("/")[1] if event["name"].startswith("/layers.") else OUTSIDE
            expected[layer] += event["dur"] * 1000
            nodes += 1
    (device,) = layers_of(neurolens, path)["devices"]
    closes(device)
    assert device["source"] == "names" and device["device"] == "cpu"
    assert {f"layers.{row['index']}": row["device_ns"] for row in device["layers"]} == \
        {name: ns for name, ns in expected.items() if name is not OUTSIDE}
    assert device["outside_ns"] == expected[OUTSIDE]
    assert sum(row["kernels"] for row in device["layers"]) + device["outside_kernels"] == nodes
    assert {row["calls"] for row in device["layers"]} == {5}


def test_layers_of_an_engine_tell_those_of_the_model(neurolens):
    path = recorded("trtexec/mobilenet_qat_a.profile.json")
    (device,) = layers_of(neurolens, path)["devices"]
    closes(device)
    assert device["source"] == "engine" and device["stacks"][0]["name"] == "features"
    data = analysis(neurolens, recorded("trtexec/a100_resnet_fp16.profile.json"))
    assert data["model_layers"]["devices"] == [], "Conv_15 is no layer of a model"
    assert data["model_layers"]["absent"]


def kineto(path, layers, name="Block", slow=None):
    """Two steps of a model with so many layers; without a name, no frames."""
    events, at, number = [], 1000, 0

    def frame(what, start, end):
        if name:
            events.append({"ph": "X", "cat": "python_function", "name": f"nn.Module: {what}", "pid": 1, "tid": 1,
                           "ts": start, "dur": end - start, "args": {}})

    for _ in range(2):
        begin = at
        for layer in range(layers):
            dur = 300 if layer == slow else 100
            number += 1
            frame(f"{name}_{layer}", at, at + dur + 10)
            frame(f"Linear_{layer}", at + 1, at + 9)
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                           "ts": at + 2, "dur": 3, "args": {"correlation": number}})
            events.append({"ph": "X", "cat": "kernel", "name": "ampere_sgemm_128x64_tn", "pid": 0, "tid": 7,
                           "ts": at + 6, "dur": dur, "args": {"device": 0, "stream": 7, "correlation": number}})
            at += dur + 20
        frame("Net_0", begin - 1, at)
    events.sort(key=lambda e: (e["ts"], -e["dur"]))
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events, "deviceProperties":
                                [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_000_000_000}]}))
    return path


def test_uneven_layers_are_told(neurolens, tmp_path):
    even = neurolens("analyze", kineto(tmp_path / "even.json", 6), "--window", "whole").out
    assert "6 layers of Block: 100.0 % of the device time, 100.000 us a call." in even and "uneven" not in even
    path = kineto(tmp_path / "slow.json", 6, slow=4)
    text = " ".join(neurolens("analyze", path, "--window", "whole").out.split())
    assert "the slowest is layer 4" in text and "layer 4 takes 3.0 times the median" in text
    (device,) = layers_of(neurolens, path)["devices"]
    closes(device)
    assert device["stacks"][0]["uneven"] == [4] and device["layers"][4]["calls"] == 2


def test_a_file_without_names_has_a_reason_and_no_text(neurolens, tmp_path):
    path = kineto(tmp_path / "bare.json", 6, name="")
    assert layers_of(neurolens, path)["devices"] == [] and layers_of(neurolens, path)["absent"]
    assert "Layers" not in neurolens("analyze", path).out


LAYER_DIMENSIONS = {"layer_share", "layer_count", "layer_even", "layer_self", "layer_classes"}


def test_fingerprints_hold_layers_against_each_other_only_where_both_name_them(neurolens, tmp_path):
    paths = {what: kineto(tmp_path / f"{what}.json", count, name)
             for what, count, name in [("named", 6, "Block"), ("deeper", 24, "Block"), ("bare", 6, "")]}
    prints = {what: neurolens("fingerprint", path, "--json").data for what, path in paths.items()}
    present = {what: {row["id"] for row in data["dimensions"]} for what, data in prints.items()}
    assert LAYER_DIMENSIONS <= present["named"] and LAYER_DIMENSIONS.isdisjoint(present["bare"])
    assert LAYER_DIMENSIONS <= {row["id"] for row in prints["bare"]["absent"]}
    near = {run["run_id"]: run for run in neurolens("similar", paths["named"], "--json").data["runs"]}
    assert len(near) == 2
    for what in ("deeper", "bare"):
        run = near[neurolens.import_file(paths[what])["run_id"]]
        assert LAYER_DIMENSIONS.isdisjoint({row["id"] for row in run["dimensions"]}) == (what == "bare")
