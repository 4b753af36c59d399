#!/usr/bin/env python3
"""Traces that are valid and unkind: each is large in one direction in which a program may grow too fast.

usage: adversarial.py CASE EVENTS FILE     the same arguments give the same file
       adversarial.py --list
"""

import sys

THREAD, PROCESS = 20, 10


class Trace:
    """A Kineto trace, written record by record."""

    def __init__(self, out):
        self.out = out
        self.records = 0

    def __enter__(self):
        self.out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}], "traceEvents": [')
        return self

    def __exit__(self, *_):
        self.out.write("\n]}\n")

    def write(self, text):
        self.out.write((",\n" if self.records else "\n") + text)
        self.records += 1

    def span(self, category, name, start, dur, args="", thread=THREAD, process=PROCESS):
        self.write(
            f'{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": {process}, "tid": {thread}, "ts": {start}, "dur": {dur}, '
            f'"args": {{{args}}}}}'
        )

    def op(self, name, start, dur, thread=THREAD):
        self.span("cpu_op", name, start, dur, thread=thread)

    def frame(self, name, start, dur):
        self.span("python_function", name, start, dur)

    def kernel(self, name, start, dur, correlation, device=0, stream=7, args=""):
        args = f'"correlation": {correlation}, "device": {device}, "stream": {stream}' + (f", {args}" if args else "")
        self.span("kernel", name, start, dur, args, thread=stream, process=device)

    def launch(self, start, dur, correlation, name="cudaLaunchKernel", thread=THREAD):
        self.span("cuda_runtime", name, start, dur, f'"correlation": {correlation}', thread=thread)

    def launched(self, number, start, name="gemm_kernel", device=0, stream=7, dur=3, thread=THREAD, args=""):
        """A launch call and its kernel: two records."""
        self.launch(start, 2, number + 1, thread=thread)
        self.kernel(name, start + 3, dur, number + 1, device, stream, args)


# ---- Host


def crossing(trace, events):
    """Each span outlives the one before, so that half of them are open at a time."""
    trace.launched(0, 1)
    for i in range(events - 2):
        trace.op("aten::add", 10 + i, events // 2)


def crossing_ranges(trace, events):
    """The same with ranges of a few names, and work launched in them."""
    for i in range(events // 3):
        trace.span("user_annotation", f"range {i % 7}", 10 * i, 10 * (events // 6))
        trace.launched(i, 10 * i + 1)


def equal_times(trace, events):
    trace.launched(0, 1)
    for _ in range(events - 2):
        trace.op("aten::add", 10, 100)


def modules(trace, events):
    """Modules in modules; one kernel in each."""
    depth = events // 3
    for i in range(depth):
        trace.frame(f"nn.Module: Block{i % 5}_{i}", 10 * i, 20 * depth - 11 * i)
        trace.launched(i, 10 * i + 1)


def frames(trace, events):
    """Frames of a deep recursion, and different modules at the end of it."""
    depth = events // 2
    for i in range(depth):
        trace.frame("model.py(7): forward", i, 20 * events - 2 * i)
    for i in range(events // 6):
        trace.frame(f"nn.Module: Linear_{i}", 10 * i + depth, 9)
        trace.launched(i, 10 * i + 1 + depth)


def layers(trace, events):
    """Layers without end."""
    for i in range(events // 3):
        trace.op(f"model.layers.{i}.self_attn", 10 * i, 9)
        trace.launched(i, 10 * i + 1)


def threads(trace, events):
    """Few ops on each of many threads."""
    for i in range(events // 3):
        thread = 100 + i % (events // 10)
        trace.op("aten::add", 10 * i, 9, thread)
        trace.launched(i, 10 * i + 1, thread=thread)


def names(trace, events):
    """Every op and every kernel is called differently."""
    for i in range(events // 3):
        trace.op(f"my::op_{i}", 10 * i, 9)
        trace.launched(i, 10 * i + 1, f"void my_kernel_{i}<float, {i}>(float const*, float*, int)")


def steps(trace, events):
    for i in range(events // 3):
        trace.span("user_annotation", f"ProfilerStep#{i}", 10 * i, 9)
        trace.launched(i, 10 * i + 1)


def counters(trace, events):
    """Few values of each of many counters."""
    trace.launched(0, 1)
    for i in range(events - 2):
        trace.write(
            f'{{"ph": "C", "name": "counter {i % (events // 10)}", "pid": {PROCESS}, "ts": {10 + i}, "args": {{"value": {i % 97}}}}}'
        )


def memory(trace, events):
    """Allocations on many devices."""
    trace.launched(0, 1)
    for i in range(events - 2):
        args = f'"Device Type": 1, "Device Id": {i % 1000}, "Addr": {i}, "Bytes": {512 if i % 2 == 0 else -512}, ' \
               f'"Total Allocated": {512 * (i % 50)}, "Total Reserved": 100000'
        trace.write(
            f'{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": {PROCESS}, "tid": {THREAD}, '
            f'"ts": {10 + i}, "args": {{{args}}}}}'
        )


# ---- Devices


def devices(trace, events):
    """4,000 devices in a million records; the host launches late for each of them."""
    for i in range(events // 3):
        trace.op("aten::add", 10 * i, 9)
        trace.launched(i, 10 * i + 1, f"kernel_{i % 50}", device=i % (events // 250))


def streams(trace, events):
    """Few kernels on each of many streams."""
    for i in range(events // 2):
        trace.launched(i, 10 * i, stream=7 + i % (events // 10))


def overlapping(trace, events):
    """Kernels that all run at the same time."""
    for i in range(events // 2):
        trace.launched(i, 10 * i, f"kernel_{i % 50}", stream=7 + i % 100, dur=5 * events)


def long_kernels(trace, events):
    """Kernels that each run through all steps."""
    for i in range(events // 3):
        trace.span("user_annotation", f"ProfilerStep#{i}", 10 * i, 9)
        trace.launched(i, 10 * i + 1, f"kernel_{i % 50}", stream=7 + i % 100, dur=5 * events)


def one_op(trace, events):
    """One op, one call, and kernels of different names; all of one graph."""
    trace.op("aten::add", 0, 100)
    trace.launch(1, 50, 1, "cudaGraphLaunch")
    for i in range(events - 2):
        trace.kernel(f"fused_kernel_{i}", 60 + 10 * i, 9, 1)


def collectives(trace, events):
    """Collectives of many groups."""
    for i in range(events // 2):
        args = f'"Collective name": "allreduce", "Process Group Name": "{i % (events // 10)}", "Group size": 2, "dtype": "Float", ' \
               f'"In msg nelems": {i}, "Out msg nelems": {i}'
        trace.launched(i, 10 * i, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", args=args)


def silent_collectives(trace, events):
    """Collectives that only the ranges around their launch calls tell apart."""
    for i in range(events // 3):
        trace.span("user_annotation", f"nccl:all_reduce {i % 3}", 10 * i, 9)
        trace.launched(i, 10 * i + 1, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)")


# ---- Counters of Nsight Compute

NCU_HEAD = (
    '"ID","Process ID","Process Name","Host Name","Kernel Name","Kernel Time","Context","Stream","gpu__time_duration.sum",'
    '"launch__block_size","launch__grid_size","sm__throughput.avg.pct_of_peak_sustained_elapsed"\n'
    '"","","","","","","","","nsecond","","","%"\n'
)


def ncu_row(number, kernel):
    return (
        f'"{number}","4242","python","127.0.0.1","{kernel}","2026-Jan-01 00:00:00","1","7","{1000 + number % 977}","128","64",'
        f'"{number % 100}.50"\n'
    )


def ncu(out, events):
    """Replayed launches of different kernels."""
    out.write(NCU_HEAD)
    for i in range(events):
        out.write(ncu_row(i, f"void my_kernel_{i}<float, {i}>(float const*, float*, int)"))


def ncu_alike(out, events):
    """Replayed launches of few kernels."""
    out.write(NCU_HEAD)
    for i in range(events):
        out.write(ncu_row(i, f"void my_kernel_{i % 9}(float*)"))


# ---- All of them

TRACES = (
    crossing, crossing_ranges, equal_times, modules, frames, layers, threads, names, steps, counters, memory, devices, streams,
    overlapping, long_kernels, one_op, collectives, silent_collectives,
)
PAGES = (ncu, ncu_alike)
CASES = {case.__name__: case for case in (*TRACES, *PAGES)}


def file_name(case):
    return case + (".csv" if CASES[case] in PAGES else ".json")


def write(case, events, path):
    """Writes the case with about so many records."""
    with open(path, "w", encoding="utf-8") as out:
        if CASES[case] in PAGES:
            CASES[case](out, events)
            return
        with Trace(out) as trace:
            CASES[case](trace, events)


def main():
    if sys.argv[1:] == ["--list"]:
        for name, case in CASES.items():
            print(f"{name:<20} {(case.__doc__ or '').splitlines()[0] if case.__doc__ else ''}")
        return
    if len(sys.argv) != 4 or sys.argv[1] not in CASES:
        sys.exit(__doc__)
    write(sys.argv[1], int(sys.argv[2]), sys.argv[3])


if __name__ == "__main__":
    main()
