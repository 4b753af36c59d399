#!/usr/bin/env python3
"""Makes a ledger of many small runs: valid run.json files without tables, receipts, labels and tags.

usage: make_ledger.py --runs N FOLDER

One real run is imported first by the product; its run.json is the pattern for the others, and its state.sqlite
gets their receipts and labels. The same N gives the same ledger. The index is left to `neurolens gc --reindex`.
"""
import argparse
import hashlib
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))

import sqlite_pages  # noqa: E402

BINARY = pathlib.Path(os.environ.get("NEUROLENS_BIN", REPOSITORY / "build/release/bin/neurolens"))
SAMPLE = REPOSITORY / "samples/kineto_small.json"
FIRST_NS = 1_700_000_000_000_000_000

MODELS = [f"{family}-{size}" for family in ("llama-3", "qwen-3", "mistral", "gemma-3", "phi-4") for size in ("1b", "8b", "70b")]
PRECISIONS = ["fp32", "bf16", "fp16", "fp8", "int8", "int4"]
ENGINES = ["vllm", "sglang", "tensorrt-llm", "onnxruntime"]
DEVICES = ["NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "AMD Instinct MI300X", "NVIDIA L40S"]


def run_id_of(source):
    return hashlib.sha256(f"neurolens run 1\ntrace {source}\n{{}}".encode()).hexdigest()


def labels_of(dice, number):
    """Eight labels: a few with few values, one with thousands."""
    return {
        "model": dice.choice(MODELS),
        "variant": dice.choice(["base", "instruct", "chat"]),
        "precision": dice.choice(PRECISIONS),
        "batch": str(2 ** dice.randrange(8)),
        "input_length": str(128 * 2 ** dice.randrange(6)),
        "output_length": str(32 * 2 ** dice.randrange(5)),
        "engine.name": dice.choice(ENGINES),
        "commit": hashlib.sha1(str(number // 50).encode()).hexdigest()[:12],
    }


def document_of(pattern, dice, number):
    """The pattern with another source, device and counts, and without tables."""
    document = dict(pattern)
    source = hashlib.sha256(f"source {number}".encode()).hexdigest()
    records = dice.randrange(1_000, 1_000_000)
    document["run_id"] = run_id_of(source)
    document["sources"] = [{**pattern["sources"][0], "sha256": source, "bytes": 10_000_000 + number}]
    document["hardware"] = {**pattern["hardware"], "devices": [{"device": 0, "active": True, "name": dice.choice(DEVICES)}]}
    document["capture"] = {**pattern["capture"], "counts": {"seen": records, "stored": records, "folded": {}, "dropped": {}}}
    document["tables"] = []
    return document


def write_run(folder, document):
    path = folder / "runs" / document["run_id"]
    path.mkdir()
    text = json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n"
    (path / "run.json").write_text(text)
    return hashlib.sha256(text.encode()).hexdigest()


def make(folder, runs, seed=1):
    """Returns the id of the one real run."""
    folder = pathlib.Path(folder)
    done = subprocess.run([BINARY, "import", SAMPLE, "--ledger", folder, "--json"], check=True, capture_output=True)
    real = json.loads(done.stdout)["data"]["run_id"]
    pattern = json.loads((folder / "runs" / real / "run.json").read_text())
    dice = random.Random(seed)
    state = sqlite3.connect(folder / "state.sqlite", isolation_level=None)
    state.execute("PRAGMA synchronous = OFF")
    state.execute("BEGIN")
    change = state.execute("SELECT max(change) FROM touched").fetchone()[0]
    for number in range(runs):
        document = document_of(pattern, dice, number)
        run_id = document["run_id"]
        at = FIRST_NS + number * 60_000_000_000
        sha256 = write_run(folder, document)
        state.execute(
            "INSERT INTO receipts VALUES (?,?,?,?,?,?,?,?)",
            (run_id, at, f"/data/nightly/{number // 100}/trace-{number}.json.gz", "neurolens import", "host", "ci", 0, sha256),
        )
        labels = labels_of(dice, number).items()
        state.executemany("INSERT INTO labels VALUES (?,?,'import',?,0,?,'ci')", [(run_id, k, v, at) for k, v in labels])
        if number % 10 == 0:
            state.execute("INSERT INTO tags VALUES (?,?,?,'ci')", (run_id, "nightly", at))
        state.execute("INSERT INTO touched VALUES (?,?)", (run_id, change + number + 1))
    state.execute("COMMIT")
    state.close()
    sqlite_pages.seal_pages(folder / "state.sqlite")
    return real


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    print(make(arguments.folder, arguments.runs))
