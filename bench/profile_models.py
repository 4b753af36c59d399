#!/usr/bin/env python3
"""What ONNX Runtime's profiler costs: generated models, versions of the library, numbers of threads.

usage: bench/profile_models.py [--seconds S] VERSION=LIBRARY...      e.g. 1.31.1=/path/libonnxruntime.so.1.31.1
Needs numpy and onnx. Prints a Markdown table: the median of an iteration without the profiler, the ratio with it and its
95 % interval, nodes of a run, what the profiler adds for each node, and the share of a profiled run that its nodes add up to."""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

BINARY = pathlib.Path(os.environ.get("NEUROLENS_BIN", pathlib.Path(__file__).resolve().parents[1] / "build/release/bin/neurolens"))


class Model:
    def __init__(self):
        self.nodes, self.weights, self.random = [], [], numpy.random.default_rng(1)

    def weight(self, *shape):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(self.random.standard_normal(shape, "f4") * 0.05, name))
        return name

    def add(self, kind, *inputs, **attributes):
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [output], name=f"{kind}_{len(self.nodes)}", **attributes))
        return output

    def save(self, path, inputs, output):
        graph = helper.make_graph(self.nodes, path.stem, [helper.make_tensor_value_info("x", TensorProto.FLOAT, inputs)],
                                  [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path


def transformer(path, layers=4, width=256, heads=4, length=128):
    model, x = Model(), "x"
    shape = numpy_helper.from_array(numpy.array([1, length, heads, width // heads]), "split")
    joined = numpy_helper.from_array(numpy.array([1, length, width]), "join")
    model.weights += [shape, joined]

    def normal(value):
        return model.add("LayerNormalization", value, model.weight(width), model.weight(width))

    def heads_of(value, order):
        return model.add("Transpose", model.add("Reshape", model.add("MatMul", value, model.weight(width, width)), "split"), perm=order)

    for _ in range(layers):
        y = normal(x)
        q, k, v = heads_of(y, [0, 2, 1, 3]), heads_of(y, [0, 2, 3, 1]), heads_of(y, [0, 2, 1, 3])
        attention = model.add("MatMul", model.add("Softmax", model.add("MatMul", q, k), axis=-1), v)
        attention = model.add("Reshape", model.add("Transpose", attention, perm=[0, 2, 1, 3]), "join")
        x = model.add("Add", x, model.add("MatMul", attention, model.weight(width, width)))
        hidden = model.add("Relu", model.add("MatMul", normal(x), model.weight(width, 4 * width)))
        x = model.add("Add", x, model.add("MatMul", hidden, model.weight(4 * width, width)))
    return model.save(path, [1, length, width], x)


def convnet(path, layers=8, channels=32, size=64):
    model = Model()
    x = model.add("Conv", "x", model.weight(channels, 3, 3, 3), pads=[1] * 4)
    for _ in range(layers):
        y = model.add("Relu", model.add("Conv", x, model.weight(channels, channels, 3, 3), pads=[1] * 4))
        x = model.add("Add", x, model.add("Conv", y, model.weight(channels, channels, 3, 3), pads=[1] * 4))
    return model.save(path, [1, 3, size, size], model.add("GlobalAveragePool", x))


def profile(model, library, threads, seconds, folder):
    command = [BINARY, "profile", model, "--library", library, "--threads", str(threads), "--seconds", str(seconds),
               "--ledger", folder / "ledger", "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["data"]


def row(version, model, threads, data):
    passes = {p["pass"]: p for p in data["times"]["passes"]}
    overhead, nodes = data["times"]["overhead"], data["nodes"]
    plain, profiled, count = passes["unprofiled"]["median_ns"], passes["profiled"]["median_ns"], nodes["nodes"] / nodes["runs"]
    return (f"| {version} | {model.stem} | {threads} | {plain / 1e6:.2f} ms | {overhead['ratio']:.3f} "
            f"({overhead['low']:.3f} to {overhead['high']:.3f}) | {count:.0f} | {(profiled - plain) / count / 1e3:.1f} us | "
            f"{nodes['node_ns'] / nodes['run_ns']:.1%} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("libraries", nargs="+", metavar="VERSION=LIBRARY")
    options = parser.parse_args()
    print("| version | model | threads | unprofiled | with the profiler | nodes | a node | nodes / run |\n|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = [transformer(folder / "transformer.onnx"), convnet(folder / "convnet.onnx")]
        for library in options.libraries:
            version, _, path = library.partition("=")
            for model in models:
                for threads in (1, 2, 4):
                    print(row(version, model, threads, profile(model, path, threads, options.seconds, folder)), flush=True)
