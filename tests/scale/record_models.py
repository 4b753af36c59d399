#!/usr/bin/env python3
"""Records profiles of twelve generated models with ONNX Runtime and PyTorch on the CPU, for the retrieval experiment.

usage: record_models.py [--set a|b] [--repeats N] [--threads 1,2] [--engines ort,torch] [--models NAME,...] FOLDER
needs: pip install torch onnxruntime onnx

Writes FOLDER/<engine>/<model>.<variant>.t<threads>.r<repeat>.json. Set b has other widths, depths and seeds than set
a, so that weights chosen on one can be judged on the other. Repeats differ in their input and in how many inferences
they hold. Variants: base; of ONNX Runtime also unfused (no graph optimisation), basic (constant folding and simple
fusions only) and reordered (another topological order of the same graph).
"""
import argparse
import copy
import os
import pathlib
import random
import shutil
import tempfile

import torch
from torch import nn
from torch.nn import functional as F

SIZES = {"a": {"wide": 1.0, "deep": 0, "seed": 1}, "b": {"wide": 1.5, "deep": 1, "seed": 7919}}


class Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x, mask=None):
        batch, length, d = x.shape
        parts = self.qkv(x).view(batch, length, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts[0], parts[1], parts[2]
        scores = q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5
        if mask is not None:
            scores = scores + mask
        mixed = F.softmax(scores, dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, d))


class EncoderLayer(nn.Module):
    def __init__(self, d, heads, hidden):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(d, heads), nn.LayerNorm(d), nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, hidden), nn.Linear(hidden, d)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class RootMeanNorm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class DecoderLayer(nn.Module):
    def __init__(self, d, heads, hidden, length):
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(d, heads), RootMeanNorm(d), RootMeanNorm(d)
        self.gate, self.up, self.down = nn.Linear(d, hidden), nn.Linear(d, hidden), nn.Linear(hidden, d)
        self.register_buffer("mask", torch.full((length, length), -1e4).triu(1))

    def forward(self, x):
        x = x + self.attention(self.norm1(x), self.mask)
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, vocabulary, d, heads, layers, length):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d)
        self.layers = nn.ModuleList(DecoderLayer(d, heads, 2 * d, length) for _ in range(layers))
        self.norm, self.head = RootMeanNorm(d), nn.Linear(d, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)
        self.conv2, self.norm2 = nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


class DepthwiseBlock(nn.Module):
    def __init__(self, channels, factor=3):
        super().__init__()
        inner = channels * factor
        self.layers = nn.Sequential(
            nn.Conv2d(channels, inner, 1), nn.BatchNorm2d(inner), nn.ReLU6(),
            nn.Conv2d(inner, inner, 3, padding=1, groups=inner), nn.BatchNorm2d(inner), nn.ReLU6(),
            nn.Conv2d(inner, channels, 1), nn.BatchNorm2d(channels))

    def forward(self, x):
        return x + self.layers(x)


class ConvNextBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x):
        y = self.depthwise(x).permute(0, 2, 3, 1)
        return x + self.down(F.gelu(self.up(self.norm(y)))).permute(0, 3, 1, 2)


class UNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        c = channels
        self.down1, self.down2 = self.pair(3, c), self.pair(c, 2 * c)
        self.middle, self.up2, self.up1 = self.pair(2 * c, 4 * c), self.pair(6 * c, 2 * c), self.pair(3 * c, c)
        self.head = nn.Conv2d(c, 2, 1)

    @staticmethod
    def pair(a, b):
        return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = F.interpolate(self.middle(F.max_pool2d(b, 2)), scale_factor=2.0)
        b = F.interpolate(self.up2(torch.cat([c, b], 1)), scale_factor=2.0)
        return self.head(self.up1(torch.cat([b, a], 1)))


class Recurrent(nn.Module):
    def __init__(self, vocabulary, d, layers):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d)
        self.lstm, self.head = nn.LSTM(d, d, layers, batch_first=True), nn.Linear(d, vocabulary)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


class AttentionOnly(nn.Module):
    def __init__(self, d, heads, layers):
        super().__init__()
        self.layers = nn.ModuleList(Attention(d, heads) for _ in range(layers))

    def forward(self, x):
        for layer in self.layers:
            x = x + layer(x)
        return x


class Experts(nn.Module):
    """Dense mixture: every expert computes, the router's weights decide."""

    def __init__(self, d, experts, layers):
        super().__init__()
        self.routers = nn.ModuleList(nn.Linear(d, experts) for _ in range(layers))
        self.up = nn.ParameterList(nn.Parameter(torch.randn(experts, d, 2 * d) * 0.02) for _ in range(layers))
        self.down = nn.ParameterList(nn.Parameter(torch.randn(experts, 2 * d, d) * 0.02) for _ in range(layers))

    def forward(self, x):
        for router, up, down in zip(self.routers, self.up, self.down):
            values, chosen = torch.topk(F.softmax(router(x), dim=-1), 2)
            gates = torch.zeros(x.shape[0], up.shape[0]).scatter(1, chosen, values)
            hidden = F.relu(torch.matmul(x.unsqueeze(0), up))
            x = x + (torch.matmul(hidden, down) * gates.t().unsqueeze(-1)).sum(0)
        return x


class Recommender(nn.Module):
    def __init__(self, tables, rows, d):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, d) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, d), nn.ReLU())
        pairs = (tables + 1) * (tables + 1)
        self.top = nn.Sequential(nn.Linear(pairs + d, 128), nn.ReLU(), nn.Linear(128, 1), nn.Sigmoid())

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(sparse[:, i]) for i, table in enumerate(self.tables)], 1)
        products = (vectors @ vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([x, products], 1))


def models(size):
    """name -> (module, function that makes its inputs)"""
    wide, deep = size["wide"], size["deep"]

    def w(n, multiple=16):
        return max(multiple, int(n * wide) // multiple * multiple)

    def image(batch, side):
        return lambda: (torch.randn(batch, 3, side, side),)

    def tokens(batch, length):
        return lambda: (torch.randint(0, 1000, (batch, length)),)

    def vectors(*shape):
        return lambda: (torch.randn(*shape),)

    def stack(first, block, count, channels, *head):
        return nn.Sequential(first, *(block(channels) for _ in range(count)), *head)

    pool = [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    mlp = [m for _ in range(4 + deep) for m in (nn.Linear(w(256), w(256)), nn.ReLU())]
    cnn_widths = [3] + [w(16) * 2**i for i in range(3 + deep)]
    cnn = [m for a, b in zip(cnn_widths, cnn_widths[1:])
           for m in (nn.Conv2d(a, b, 3, stride=2, padding=1), nn.BatchNorm2d(b), nn.ReLU())]
    return {
        "mlp": (nn.Sequential(*mlp, nn.Linear(w(256), 10)), vectors(32, w(256))),
        "cnn": (nn.Sequential(*cnn, *pool, nn.Linear(cnn_widths[-1], 10)), image(2, 64)),
        "resnet": (stack(nn.Conv2d(3, w(32), 7, 2, 3), ResidualBlock, 3 + deep, w(32), *pool, nn.Linear(w(32), 10)),
                   image(1, 64)),
        "encoder": (nn.Sequential(*(EncoderLayer(w(128), 4, 4 * w(128)) for _ in range(2 + deep))),
                    vectors(2, 64, w(128))),
        "decoder": (Decoder(1000, w(96), 4, 2 + deep, 48), tokens(2, 48)),
        "lstm": (Recurrent(1000, w(96), 1 + deep), tokens(2, 32)),
        "depthwise": (stack(nn.Conv2d(3, w(24, 8), 3, 2, 1), DepthwiseBlock, 4 + deep, w(24, 8), *pool,
                            nn.Linear(w(24, 8), 10)), image(1, 64)),
        "unet": (UNet(w(16)), image(1, 48)),
        "attention_only": (AttentionOnly(w(96), 4, 3 + deep), vectors(2, 96, w(96))),
        "moe": (Experts(w(96), 8, 2 + deep), vectors(32, w(96))),
        "recommender": (Recommender(8 + 4 * deep, 1000, 32),
                        lambda: (torch.randn(64, 13), torch.randint(0, 1000, (64, 8 + 4 * deep)))),
        "convnext": (stack(nn.Conv2d(3, w(32), 4, 4), ConvNextBlock, 3 + deep, w(32), *pool, nn.Linear(w(32), 10)),
                     image(1, 96)),
    }


def to_onnx(module, inputs):
    import onnx

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        torch.onnx.export(module, inputs, path, opset_version=17, dynamo=False)
        return onnx.load(path)


def reordered(model):
    """The same graph in another topological order: of all nodes that are ready, the last one comes first."""
    graph = model.graph
    known = {i.name for i in graph.input} | {i.name for i in graph.initializer} | {""}
    left, order = list(graph.node), []
    while left:
        at = max(i for i, node in enumerate(left) if all(name in known for name in node.input))
        node = left.pop(at)
        known.update(node.output)
        order.append(node)
    other = copy.deepcopy(model)
    del other.graph.node[:]
    other.graph.node.extend(order)
    return other


def ort_session(model, threads, level, folder):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = os.path.join(folder, "profile")
    options.intra_op_num_threads = threads
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


VARIANTS = {
    "base": "ORT_ENABLE_ALL",
    "unfused": "ORT_DISABLE_ALL",
    "basic": "ORT_ENABLE_BASIC",
    "reordered": "ORT_ENABLE_ALL",
}


def record_ort(model, make_inputs, threads, variant, inferences, path):
    graph = reordered(model) if variant == "reordered" else model
    names = [i.name for i in graph.graph.input]
    with tempfile.TemporaryDirectory() as folder:
        session = ort_session(graph, threads, VARIANTS[variant], folder)
        for _ in range(inferences):
            session.run(None, {name: x.numpy() for name, x in zip(names, make_inputs())})
        shutil.move(session.end_profiling(), path)


def record_torch(module, make_inputs, threads, inferences, path):
    torch.set_num_threads(threads)
    inputs = [make_inputs() for _ in range(inferences)]
    with torch.no_grad():
        module(*make_inputs())
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profile:
            for one in inputs:
                module(*one)
    profile.export_chrome_trace(str(path))


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=sorted(SIZES), default="a")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--engines", default="ort,torch")
    parser.add_argument("--models", default="")
    parser.add_argument("folder", type=pathlib.Path)
    return parser.parse_args()


def main():
    arguments = parsed()
    size = SIZES[arguments.set]
    torch.manual_seed(size["seed"])
    dice = random.Random(size["seed"])
    engines = arguments.engines.split(",")
    for engine in engines:
        (arguments.folder / engine).mkdir(parents=True, exist_ok=True)
    for name, (module, make_inputs) in models(size).items():
        if arguments.models and name not in arguments.models.split(","):
            continue
        module.eval()
        graph = to_onnx(module, make_inputs()) if "ort" in engines else None
        for threads in map(int, arguments.threads.split(",")):
            for repeat in range(arguments.repeats):
                if "ort" in engines:
                    for variant in VARIANTS if repeat == 0 else ["base"]:
                        path = arguments.folder / "ort" / f"{name}.{variant}.t{threads}.r{repeat}.json"
                        record_ort(graph, make_inputs, threads, variant, dice.randint(4, 12), path)
                if "torch" in engines:
                    path = arguments.folder / "torch" / f"{name}.base.t{threads}.r{repeat}.json"
                    record_torch(module, make_inputs, threads, dice.randint(4, 12), path)
        print(name, flush=True)


if __name__ == "__main__":
    main()
