#!/usr/bin/env python3
"""Holds the search for similar runs against faiss on the same vectors: time of a query, and the same ten runs.

usage: fingerprint_search.py [--rows N] [--workloads N] [--queries N] [--threads N] [--program FILE] FOLDER
needs: pip install faiss-cpu numpy; ninja -C build/release fingerprint_search

The vectors are made up: WORKLOADS kinds of runs, some far more frequent than others, each run a little different.
--workloads 0 makes every run one of its own. Times are the least of three rounds, one query after the other.
"""
import argparse
import json
import pathlib
import subprocess
import time

import faiss
import numpy as np

HEADER, KEY = 64, 48  # bytes, see src/fingerprint/row_block.h


def vectors(path, columns):
    """Run ids and packed columns, in memory of their own as faiss would hold them."""
    raw = np.memmap(path, np.uint8, "r")[HEADER:].reshape(-1, KEY + 4 * columns)
    ids = np.ascontiguousarray(raw[:, :8]).view(np.uint64).ravel()
    return ids, np.ascontiguousarray(raw[:, KEY:]).view(np.float32)


def least(rounds, work):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return min(times), result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--workloads", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    repository = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--program", default=repository / "build/release/bin/fingerprint_search")
    parser.add_argument("folder", type=pathlib.Path)
    a = parser.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    command = [a.program, a.folder, a.rows, a.workloads, a.queries, a.threads]
    ours = json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout)
    columns = ours["columns"]
    ids, rows = vectors(a.folder / "fingerprints.rows", columns)
    queries = np.fromfile(a.folder / "queries.f32", np.float32).reshape(-1, columns)
    found = np.fromfile(a.folder / "found.bin", np.uint64).reshape(len(queries), -1, 4)[:, :, 0]
    faiss.omp_set_num_threads(a.threads)
    index = faiss.IndexFlatL2(columns)
    index.add(rows)
    seconds, answers = least(3, lambda: [index.search(query[None, :], 10)[1][0] for query in queries])
    theirs = ids[np.array(answers)]
    same = sum(len(set(x) & set(y)) for x, y in zip(theirs.tolist(), found.tolist()))
    ours["faiss_flat_ms"] = round(1000 * seconds / len(queries), 3)
    ours["flat_over_faiss"] = round(ours["flat_ms"] / ours["faiss_flat_ms"], 3)
    ours["same_as_faiss"] = round(same / theirs.size, 4)
    print(json.dumps(ours))


if __name__ == "__main__":
    main()
