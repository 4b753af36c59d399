#!/usr/bin/env python3
"""Makes simulated traces of a data-parallel run in the form of Kineto: one file a rank, each with a clock of its own.

usage: make_ranks.py --ranks N [--events N] [--straggler RANK:PERCENT] [--offset-us N] [--skew-ppm N] [--seed N] FOLDER

In every step each rank computes, then all meet in an all-reduce: none ends it before all have begun it. The straggler
computes slower. Clocks are off by at most --offset-us and run at most --skew-ppm too fast or slow; the truth is written
to FOLDER/truth.json. The same arguments give the same bytes.
"""
import argparse
import gzip
import json
import pathlib
import random

BASE_NS = 1_700_000_000_000_000_000
KERNELS = 10  # of a step
EVENTS = 3 * KERNELS + 3
KERNEL_NS = 40_000
LAUNCH_NS = 4_000
TRANSFER_NS = 150_000
ELEMENTS = 4_194_304
WARM_UP_NS = 2_000_000_000  # so that no clock shows times before its zero


def microseconds(ns):
    return f"{ns // 1000}.{ns % 1000:03d}"


class Rank:
    """One rank: its clock, its speed and its file."""

    def __init__(self, number, arguments, dice, folder):
        slow = arguments.straggler or "-1:0"
        rank, percent = slow.split(":")
        self.number = number
        self.slowness = 1 + float(percent) / 100 * (number == int(rank))
        self.offset_ns = dice.randint(-arguments.offset_us, arguments.offset_us) * 1000 if number else 0
        self.skew = dice.uniform(-arguments.skew_ppm, arguments.skew_ppm) * 1e-6 if number else 0.0
        self.group = json.dumps(list(range(arguments.ranks)))
        self.size = arguments.ranks
        self.id = 1
        self.lines = []
        self.file = gzip.GzipFile(folder / f"rank{number}.json.gz", "wb", compresslevel=1, mtime=0)
        head = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "simulated"}],
                "distributedInfo": {"backend": "nccl", "rank": number, "world_size": arguments.ranks},
                "baseTimeNanoseconds": BASE_NS, "traceName": "simulated"}
        self.file.write(json.dumps(head)[:-1].encode() + b', "traceEvents": [\n')
        self.first = True

    def reading(self, ns):
        return int(WARM_UP_NS + self.offset_ns + ns + self.skew * ns)

    def event(self, category, name, process, thread, begin, end, arguments):
        begin, end = self.reading(begin), self.reading(end)
        self.lines.append(f'{{"ph":"X","cat":"{category}","name":"{name}","pid":{process},"tid":{thread},'
                          f'"ts":{microseconds(begin)},"dur":{microseconds(end - begin)},"args":{{{arguments}}}}}')

    def work(self, op, kernel, host, begin, end, comm=""):
        """An op, its launch and its kernel."""
        self.event("cpu_op", op, 1, 1, host, host + LAUNCH_NS + 2_000, f'"External id":{self.id}' + comm)
        self.event("cuda_runtime", "cudaLaunchKernel", 1, 1, host + 1_000, host + 1_000 + LAUNCH_NS, f'"correlation":{self.id}')
        self.event("kernel", kernel, 0, 7, begin, end, f'"device":0,"stream":7,"correlation":{self.id}' + comm)
        self.id += 1

    def flush(self):
        if not self.lines:
            return
        self.file.write((("" if self.first else ",\n") + ",\n".join(self.lines)).encode())
        self.first = False
        self.lines = []

    def close(self):
        self.flush()
        self.file.write(b"\n]}\n")
        self.file.close()


def compute(rank, dice, at):
    """The kernels of a step from `at` on; when the rank is ready for the collective."""
    host = device = at
    for _ in range(KERNELS):
        begin = max(device, host + LAUNCH_NS + 3_000)
        device = begin + int(KERNEL_NS * rank.slowness * dice.uniform(0.99, 1.01))
        rank.work("aten::mm", "gemm_kernel", host, begin, device)
        host += LAUNCH_NS + 4_000
    return host, device


def meet(ranks, dice, ready, number):
    """The all-reduce of a step; when each rank is free again."""
    starts = [max(device, host + LAUNCH_NS + 3_000) + dice.randint(0, 1_000) for host, device in ready]
    both = max(starts) + int(TRANSFER_NS * dice.uniform(1, 1.05))
    ends = [both + dice.randint(0, 2_000) for _ in ranks]
    for rank, (host, _), begin, end in zip(ranks, ready, starts, ends):
        comm = (f',"Collective name":"allreduce","In msg nelems":{ELEMENTS},"Out msg nelems":{ELEMENTS},"dtype":"Float",'
                f'"Group size":{rank.size},"Process Group Name":"0","Process Group Ranks":"{rank.group}","Seq":{number}')
        rank.work("record_param_comms", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  host, begin, end, comm)
    return ends


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--events", type=int, default=10_000, help="of a rank, at least")
    parser.add_argument("--straggler", help="RANK:PERCENT")
    parser.add_argument("--offset-us", type=int, default=1_000_000)
    parser.add_argument("--skew-ppm", type=float, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    dice = random.Random(arguments.seed)
    ranks = [Rank(number, arguments, dice, arguments.folder) for number in range(arguments.ranks)]
    free = [0] * len(ranks)
    for number in range(-(-arguments.events // EVENTS)):
        ready = [compute(rank, dice, at) for rank, at in zip(ranks, free)]
        free = meet(ranks, dice, ready, number)
        if number % 100 == 99:
            for rank in ranks:
                rank.flush()
    truth = [{"rank": r.number, "offset_ns": r.offset_ns, "skew_ppm": r.skew * 1e6} for r in ranks]
    for rank in ranks:
        rank.close()
    (arguments.folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")


if __name__ == "__main__":
    main()
