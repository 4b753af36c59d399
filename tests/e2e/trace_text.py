"""A small deterministic generator of Kineto-like traces.

One block is ten steps of ten records: ops, runtime calls, a kernel, a copy and the arrows between them. The
text of a block holds a mark where its number goes, so that a million records are one `str.replace` a block.
"""

import dataclasses
import gzip

BASE_NS = 1_700_000_000_000_000_000
DEVICE_NAME = "NVIDIA Test GPU"
STEPS_PER_BLOCK = 10
RECORDS_PER_BLOCK = 10 * STEPS_PER_BLOCK
METADATA_RECORDS = 6
FIRST_BLOCK = 100_000  # six digits: neither ids nor times ever start with a zero
HOST_PROCESS = 4711
HOST_THREAD = 4712
STREAM = 7
_MARK = "@"


def kernel_dur_ns(step):
    return 30_333 + 1_000 * step


def kernel_start_ns(block, step):
    """On the common clock, as the kernels view gives it."""
    return BASE_NS + (FIRST_BLOCK + block) * 1_000_000 + step * 100_000 + 20_007


def kernel_name(step):
    return f"void gemm_tile<float, {step}>(float const*, float*)"


def _us(ns):
    """Offset in a block as text; its three whole digits follow the number of the block."""
    return f"{_MARK}{ns // 1000:03d}.{ns % 1000:03d}"


def _dur(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


def _span(category, name, start_ns, dur_ns, args, process=HOST_PROCESS, thread=HOST_THREAD):
    return (
        f'{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, "tid": {thread}, '
        f'"ts": {_us(start_ns)}, "dur": {_dur(dur_ns)}, "args": {{{args}}}}}'
    )


def _arrow(phase, correlation, start_ns, process, thread):
    end = ', "bp": "e"' if phase == "f" else ""
    return (
        f'{{"ph": "{phase}", "id": {correlation}, "pid": {process}, "tid": {thread}, "ts": {_us(start_ns)}, '
        f'"cat": "ac2g", "name": "ac2g"{end}}}'
    )


def _step_records(step):
    at = step * 100_000
    external = f"{_MARK}{step * 4:03d}"
    launch = f"{_MARK}{step * 4 + 1:03d}"
    copy = f"{_MARK}{step * 4 + 2:03d}"
    op = f'"External id": {external}, "Input Dims": [[8, {step + 1}], []], "Input type": ["float", ""]'
    kernel = (
        f'"External id": {external}, "queued": 0, "device": 0, "context": 1, "stream": {STREAM}, '
        f'"correlation": {launch}, "registers per thread": 32, "shared memory": 1024, "blocks per SM": 0.5, '
        f'"warps per SM": 4.25, "grid": [4, 2, 1], "block": [128, 1, 1], "est. achieved occupancy %": 6'
    )
    memcpy = (
        f'"External id": {external}, "device": 0, "context": 1, "stream": {STREAM}, "correlation": {copy}, '
        f'"bytes": {4096 * (step + 1)}, "memory bandwidth (GB/s)": 1.25'
    )
    return [
        _span("cpu_op", "aten::linear", at, 90_125, op),
        _span("cpu_op", "aten::addmm", at + 5_000, 60_500, op),
        _span("cuda_runtime", "cudaLaunchKernel", at + 10_250, 4_001, f'"cbid": 211, "correlation": {launch}'),
        _arrow("s", launch, at + 10_250, HOST_PROCESS, HOST_THREAD),
        _span("kernel", kernel_name(step), at + 20_007, kernel_dur_ns(step), kernel, 0, STREAM),
        _arrow("f", launch, at + 20_007, 0, STREAM),
        _span("cuda_runtime", "cudaMemcpyAsync", at + 70_100, 5_000, f'"cbid": 41, "correlation": {copy}'),
        _arrow("s", copy, at + 70_100, HOST_PROCESS, HOST_THREAD),
        _span("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 80_000, 2_500, memcpy, 0, STREAM),
        _arrow("f", copy, at + 80_000, 0, STREAM),
    ]


def _metadata(name, process, thread, value):
    return (
        f'{{"name": "{name}", "ph": "M", "ts": {_MARK}000.000, "pid": {process}, "tid": {thread}, '
        f'"args": {{{value}}}}}'
    )


_BLOCK = ",\n".join(record for step in range(STEPS_PER_BLOCK) for record in _step_records(step))
_METADATA = ",\n".join(
    [
        _metadata("process_name", HOST_PROCESS, 0, '"name": "python"'),
        _metadata("process_labels", HOST_PROCESS, 0, '"labels": "CPU"'),
        _metadata("thread_name", HOST_PROCESS, HOST_THREAD, f'"name": "thread {HOST_THREAD} (python)"'),
        _metadata("process_name", 0, 0, '"name": "python"'),
        _metadata("process_labels", 0, 0, '"labels": "GPU 0"'),
        _metadata("thread_name", 0, STREAM, f'"name": "stream {STREAM}"'),
    ]
)
_HEAD = f"""{{
"schemaVersion": 1,
"deviceProperties": [{{"id": 0, "name": "{DEVICE_NAME}", "totalGlobalMem": 42949672960, "computeMajor": 8,
  "computeMinor": 0, "numSms": 108}}],
"cuda_runtime_version": 12040,
"baseTimeNanoseconds": {BASE_NS},
"displayTimeUnit": "ms",
"traceEvents": [
"""


def pieces(blocks):
    """The text up to the last record, in pieces."""
    yield _HEAD + _METADATA.replace(_MARK, str(FIRST_BLOCK))
    for block in range(blocks):
        yield ",\n" + _BLOCK.replace(_MARK, str(FIRST_BLOCK + block))


def ending(variant):
    """The text behind the last record. Another variant makes another file with the same records."""
    return f'\n],\n"traceName": "variant-{variant}.json"\n}}\n'


def trace_text(blocks=2, variant=0):
    return "".join(pieces(blocks)) + ending(variant)


@dataclasses.dataclass(frozen=True)
class Expected:
    """What a trace of so many blocks must give, in whole numbers."""

    blocks: int

    @property
    def kernels(self):
        return STEPS_PER_BLOCK * self.blocks

    copies = kernels

    @property
    def ops(self):
        return 2 * STEPS_PER_BLOCK * self.blocks

    runtime_calls = ops

    @property
    def spans(self):
        return self.ops + self.runtime_calls

    @property
    def stored(self):
        return self.spans + self.kernels + self.copies

    @property
    def records(self):
        return RECORDS_PER_BLOCK * self.blocks + METADATA_RECORDS

    @property
    def kernel_ns(self):
        return self.blocks * sum(kernel_dur_ns(step) for step in range(STEPS_PER_BLOCK))


def write_gzip_head(path, blocks):
    """The records of a big trace as one gzip member, quickly."""
    with gzip.GzipFile(path, "wb", compresslevel=1, mtime=0) as out:
        for piece in pieces(blocks):
            out.write(piece.encode())


def gzip_bytes(text, level=6):
    return gzip.compress(text.encode(), compresslevel=level, mtime=0)
