#!/usr/bin/env python3
"""Measures `neurolens trend` over a ledger of many small runs whose measures are kept.

usage: bench_trend.py [--runs N] [--calls N] [--keep FOLDER]

The measures of the one real run of make_ledger.py are the pattern for the others: its times grow by 10 % in the second half of
the history of every model. Each command is called N times; the smallest wall and CPU time are printed, and how many change
points were found.
"""
import argparse
import json
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_ledger

BINARY = make_ledger.BINARY
QUESTIONS = {
    "trend --metric total_time": ["--metric", "total_time"],
    "trend --metric total_time --group-by model": ["--metric", "total_time", "--group-by", "model"],
    "trend --metric total_time --where model=… --group-by device": ["--metric", "total_time", "--where", "model=llama-3-8b", "--group-by", "device"],
    "trend --kernel gemm": ["--kernel", "gemm"],
}


def trend(ledger, *arguments):
    done = subprocess.run([BINARY, "trend", "--ledger", ledger, "--json", "--quiet", *arguments], check=True, capture_output=True)
    return json.loads(done.stdout)["data"]


def write_measures(ledger, real, runs):
    """Kept measures for every run, from those of the real one."""
    subprocess.run([BINARY, "trend", "--kernel", "a", "--where", f"file~{make_ledger.SAMPLE.name}", "--ledger", ledger], check=True, capture_output=True)
    (folder,) = (ledger / "runs" / real / "derived").glob("measures-*")
    patterns = {path.name: json.loads(path.read_text()) for path in folder.iterdir()}
    dice = random.Random(2)
    for number, row in enumerate(sorted(runs, key=lambda run: run["imported_at_ns"])):
        factor = dice.gauss(1, 0.01) * (1.1 if 2 * number >= len(runs) else 1)
        target = ledger / "runs" / row["run_id"] / "derived" / folder.name
        target.mkdir(parents=True)
        for name, pattern in patterns.items():
            document = {**pattern, "run_id": row["run_id"]}
            for device in document.get("devices", []):
                device["metrics"]["total_time"] = 1_000_000 * factor
            (target / name).write_text(json.dumps(document))


def make(ledger, count):
    real = make_ledger.make(ledger, count)
    subprocess.run([BINARY, "gc", "--reindex", "--ledger", ledger, "--quiet"], check=True, capture_output=True)
    listed = subprocess.run([BINARY, "runs", "--limit", "100000", "--json", "--ledger", ledger], check=True, capture_output=True)
    runs = [run for run in json.loads(listed.stdout)["data"]["runs"] if run["run_id"] != real]
    write_measures(ledger, real, runs)


def measure(ledger, name, arguments, calls):
    wall, cpu = [], []
    for _ in range(calls):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        data = trend(ledger, *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall.append(time.perf_counter() - begin)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    points = sum(len(group["points"]) for group in data["groups"])
    print(f"{name:62}  wall {min(wall):6.2f} s  CPU {min(cpu):6.2f} s  {len(data['groups'])} groups, {points} points, {data['alerts']} alerts", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=3)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        ledger = options.keep or pathlib.Path(temporary) / "ledger"
        if not ledger.exists():
            make(ledger, options.runs)
        for name, arguments in QUESTIONS.items():
            measure(ledger, name, arguments, options.calls)
