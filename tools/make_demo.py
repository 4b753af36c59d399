#!/usr/bin/env python3
"""Writes the SIMULATED traces of `neurolens demo`. usage: make_demo.py OUT_DIR

A small model of an LLM server that decodes on one GPU: a host thread that launches, a queue, a device that works in order.
No hardware was measured; every time below is made up. Five runs before and five after a change:

  before  each step waits for its requests, then launches every small kernel by itself: the device waits for the host
  after   requests are fetched ahead, norms and activations are fused, and a step is one CUDA graph; its attention is
          a little slower, since the graph was captured for a padded batch

The same bytes each time: seeded random numbers, whole nanoseconds, no time stamp in the gzip header."""
import gzip
import json
import pathlib
import random
import sys

RUNS, STEPS, LAYERS = 5, 8, 3
PROCESS, THREAD, STREAM = 1000, 1000, 7
DEVICE = {"id": 0, "name": "SIMULATED GPU", "totalGlobalMem": 85899345920, "computeMajor": 9,
          "computeMinor": 0, "numSms": 132}
BASE_TIME_NS = 1_700_000_000_000_000_000

# What a kernel is called, how long it takes, and its grid.
KERNELS = {
    "embed": ("embedding_kernel", 2600, 32),
    "pow": ("pow_elementwise_kernel", 2300, 64),
    "mean": ("reduce_kernel", 3100, 32),
    "rsqrt": ("rsqrt_elementwise_kernel", 1800, 32),
    "mul": ("mul_elementwise_kernel", 2200, 64),
    "add": ("add_elementwise_kernel", 2300, 64),
    "silu": ("silu_elementwise_kernel", 2500, 172),
    "rope": ("rotary_embedding_kernel", 2900, 32),
    "qkv": ("gemm_bf16_qkv", 13600, 192),
    "attention": ("flash_decode_attention", 17800, 256),
    "out": ("gemm_bf16_out", 7900, 128),
    "up": ("gemm_bf16_gate_up", 21400, 344),
    "down": ("gemm_bf16_down", 11800, 128),
    "logits": ("gemm_bf16_logits", 33500, 1000),
    "argmax": ("argmax_reduce_kernel", 5200, 32),
    # Only after the change.
    "add_norm": ("fused_add_rms_norm_kernel", 3300, 32),
    "silu_mul": ("fused_silu_mul_elementwise_kernel", 2900, 172),
    "attention_padded": ("flash_decode_attention", 20600, 320),
}
OPS = {"embed": "aten::embedding", "pow": "aten::pow", "mean": "aten::mean", "rsqrt": "aten::rsqrt", "mul": "aten::mul",
       "add": "aten::add", "silu": "aten::silu", "rope": "demo::rotary_embedding", "qkv": "aten::mm", "out": "aten::mm",
       "attention": "demo::decode_attention", "up": "aten::mm", "down": "aten::mm", "logits": "aten::mm",
       "argmax": "aten::argmax"}
NORM = ["pow", "mean", "add", "rsqrt", "mul", "mul"]
EAGER_LAYER = [*NORM, "qkv", "rope", "rope", "attention", "out", "add", *NORM, "up", "silu", "mul", "down", "add"]
FUSED_LAYER = ["add_norm", "qkv", "rope", "attention_padded", "out", "add_norm", "up", "silu_mul", "down"]
EAGER_STEP = ["embed"] + EAGER_LAYER * LAYERS + NORM + ["logits", "argmax"]
FUSED_STEP = ["embed"] + FUSED_LAYER * LAYERS + ["add_norm", "logits", "argmax"]


def microseconds(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


class Server:
    """One run. Times in ns since the start."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.speed = self.random.uniform(0.985, 1.015)  # runs differ a little from each other, as real ones do
        self.host = self.device_free = 0
        self.correlation = 100
        self.events = []

    def about(self, ns, spread):
        return round(ns * self.speed * self.random.uniform(1 - spread, 1 + spread))

    def event(self, category, name, start, end, process=PROCESS, thread=THREAD, **args):
        text = json.dumps(args, separators=(",", ":"))
        self.events.append(f'{{"ph":"X","cat":"{category}","name":"{name}","pid":{process},"tid":{thread},'
                           f'"ts":{microseconds(start)},"dur":{microseconds(end - start)},"args":{text}}}')

    def call(self, name, ns, **args):
        """A call of the runtime by the host; its start."""
        start, self.host = self.host, self.host + self.about(ns, 0.06)
        self.correlation += 1
        self.event("cuda_runtime", name, start, self.host, correlation=self.correlation, **args)
        return start

    def work(self, kind, earliest, gap, **args):
        """A kernel: when it may start and the device is free."""
        name, ns, grid = KERNELS[kind]
        start = (max(earliest, self.device_free + gap) + 31) // 32 * 32
        self.device_free = start + (self.about(ns, 0.02) + 31) // 32 * 32
        self.event("kernel", name, start, self.device_free, 0, STREAM, device=0, stream=STREAM,
                   correlation=self.correlation, grid=[grid, 1, 1], block=[256, 1, 1], **args)

    def launch_one(self, kind):
        """An op with a kernel of its own."""
        begin = self.host
        self.host += self.about(4300, 0.15)
        external = self.correlation + 1
        self.call("cudaLaunchKernel", 4700, **{"External id": external})
        self.work(kind, self.host + 900, 900)
        self.host += self.about(1700, 0.15)
        self.event("cpu_op", OPS[kind], begin, self.host, **{"External id": external})

    def launch_graph(self, kinds):
        self.call("cudaGraphLaunch", 28000)
        for node, kind in enumerate(kinds):
            self.work(kind, self.host + 1500, 500, **{"graph id": 3, "graph node id": 3 << 32 | node})

    def fetch_requests(self, ns):
        begin, self.host = self.host, self.host + self.about(ns, 0.12)
        self.event("user_annotation", "enumerate(DataLoader)#RequestQueue.__next__", begin, self.host)

    def read_token(self):
        """The chosen token goes to the host, which waits for it."""
        self.call("cudaMemcpyAsync", 3900)
        start = (max(self.host, self.device_free + 800) + 31) // 32 * 32
        self.device_free = start + 1536
        self.event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", start, self.device_free, 0, STREAM, device=0,
                   stream=STREAM, correlation=self.correlation, bytes=256)
        self.call("cudaStreamSynchronize", max(self.device_free + 2000 - self.host, 2000))
        self.host = max(self.host, self.device_free + 1000)

    def step(self, number, after):
        begin = self.host
        self.fetch_requests(14000 if after else 190000)
        decode = self.host
        if after:
            self.launch_graph(FUSED_STEP)
        else:
            for kind in EAGER_STEP:
                self.launch_one(kind)
        self.read_token()
        self.event("user_annotation", "LLM@decode_step", decode, self.host)
        self.host += self.about(9000, 0.1)
        self.event("user_annotation", f"ProfilerStep#{number}", begin, self.host)
        self.host += 500

    def trace(self, name):
        head = {"schemaVersion": 1, "deviceProperties": [DEVICE], "host_name": "simulated",
                "baseTimeNanoseconds": BASE_TIME_NS, "traceName": name}
        return json.dumps(head)[:-1] + ',"traceEvents":[\n' + ",\n".join(self.events) + "\n]}\n"


SIDECAR = """# SIMULATED by tools/make_demo.py: labels that an import takes along for the traces in this folder.
labels: {{model: SIMULATED-llm, variant: SIMULATED {side}, precision: bf16, batch: 32}}
"""


def traces():
    """Name and text of each."""
    for side in ("before", "after"):
        for number in range(1, RUNS + 1):
            server = Server(f"{side} {number}")
            for step in range(STEPS):
                server.step(step, side == "after")
            name = f"simulated-{side}-{number}.json"
            yield f"{side}/{name}", server.trace(name)


def main():
    out = pathlib.Path(sys.argv[1])
    for side in ("before", "after"):
        (out / side).mkdir(parents=True, exist_ok=True)
        (out / side / "neurolens.yaml").write_text(SIDECAR.format(side=side))
    for name, text in traces():
        (out / (name + ".gz")).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
