"""Small ONNX models with the habits of real ones: an MLP, a transformer block, two convolutional nets."""

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = numpy.random.default_rng(7)


class Graph:
    """Nodes and weights in the order in which they are added."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, *shape):
        values = (RANDOM.standard_normal(shape) * 0.05).astype("f4")
        return self.constant(values)

    def constant(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def add(self, kind, *inputs, **attributes):
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def linear(self, x, wide, high):
        return self.add("Add", self.add("MatMul", x, self.weight(wide, high)), self.weight(high))

    def gelu(self, x):
        half = self.add("Erf", self.add("Div", x, self.constant(numpy.float32(1.4142135))))
        product = self.add("Mul", x, self.add("Add", half, self.constant(numpy.float32(1))))
        return self.add("Mul", product, self.constant(numpy.float32(0.5)))

    def norm(self, x, wide):
        mean = self.add("ReduceMean", x, axes=[-1])
        apart = self.add("Sub", x, mean)
        square = self.add("Pow", apart, self.constant(numpy.float32(2)))
        spread = self.add("Sqrt", self.add("Add", self.add("ReduceMean", square, axes=[-1]), self.constant(numpy.float32(1e-5))))
        scaled = self.add("Mul", self.add("Div", apart, spread), self.weight(wide))
        return self.add("Add", scaled, self.weight(wide))

    def save(self, path, shape, result):
        out = self.add("Identity", result)
        graph = helper.make_graph(
            self.nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info(out, TensorProto.FLOAT, None)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return path


def mlp(path, wide=512, layers=4):
    graph, x = Graph(), "x"
    for _ in range(layers):
        x = graph.add("Relu", graph.linear(x, wide, wide))
    return graph.save(path, ["batch", wide], x)


def gelu_mlp(path, wide=384, layers=4):
    graph, x = Graph(), "x"
    for _ in range(layers):
        x = graph.add("Add", x, graph.linear(graph.gelu(graph.linear(graph.norm(x, wide), wide, 4 * wide)), 4 * wide, wide))
    return graph.save(path, ["batch", wide], x)


def transformer(path, wide=256, heads=4, layers=2):
    """Attention and MLP as exporters write them: every norm and Gelu in parts."""
    graph, x = Graph(), "x"
    split = graph.constant(numpy.array([0, 0, heads, wide // heads], dtype="i8"))
    joined = graph.constant(numpy.array([0, 0, wide], dtype="i8"))
    for _ in range(layers):
        y = graph.norm(x, wide)
        q, k, v = (graph.add("Transpose", graph.add("Reshape", graph.linear(y, wide, wide), split), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = graph.add("Mul", graph.add("MatMul", q, k), graph.constant(numpy.float32((wide // heads) ** -0.5)))
        mixed = graph.add("MatMul", graph.add("Softmax", scores, axis=-1), v)
        flat = graph.add("Reshape", graph.add("Transpose", mixed, perm=[0, 2, 1, 3]), joined)
        x = graph.add("Add", x, graph.linear(flat, wide, wide))
        x = graph.add("Add", x, graph.linear(graph.gelu(graph.linear(graph.norm(x, wide), wide, 4 * wide)), 4 * wide, wide))
    return graph.save(path, ["batch", "tokens", wide], x)


def convnet(path, wide=32, size=56, layers=4):
    graph = Graph()
    x = "x"
    for i in range(layers):
        inner = 3 if i == 0 else wide
        x = graph.add("Conv", x, graph.weight(wide, inner, 3, 3), pads=[1, 1, 1, 1])
        values = [graph.weight(wide) for _ in range(3)] + [graph.constant(numpy.ones(wide, "f4"))]
        x = graph.add("Relu", graph.add("BatchNormalization", x, *values))
    return graph.save(path, ["batch", 3, size, size], x)


def small_ops(path, wide=32, layers=30):
    """Many tiny ops: what a model that was cut too finely looks like."""
    graph, x = Graph(), "x"
    for _ in range(layers):
        x = graph.gelu(graph.linear(x, wide, wide))
    return graph.save(path, ["batch", wide], x)
