#!/usr/bin/env python3
"""Does `neurolens similar` find the same model again? Leave-one-out over the recordings of record_models.py.

usage: retrieval.py [--bin FILE] [--ledger FOLDER] [--pairs FOLDER] RECORDINGS

For every base recording the nearest other base recording must be of the same model; once among all, once only among
those with another number of threads. Variants (unfused, basic, reordered) must be nearest to a base recording of the
same model. --pairs: a folder with traces <start>_h100_<model> and <start>_mi300_<model>, which must find each other
among all traces of that folder. Prints figures and a confusion table in Markdown; exits with 1 below 98 %.
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

LEAST = 0.98


class Ledger:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder

    def __call__(self, *arguments):
        command = [str(self.binary), *map(str, arguments), "--ledger", str(self.folder), "--json", "-q"]
        done = subprocess.run(command, capture_output=True)
        if done.returncode not in (0, 2):  # 2: some files of an import are no profiles
            sys.exit(f"{' '.join(command[:3])}: {done.stderr.decode()[:500]}")
        return json.loads(done.stdout).get("data", {})

    def runs(self, paths):
        """run_id -> path"""
        by_name = {str(path): path for path in paths}
        for at in range(0, len(paths), 100):
            self("import", *paths[at : at + 100])
        rows = self("runs", "--limit", 100000)["runs"]
        return {row["run_id"]: by_name[row["file_names"]] for row in rows if row["file_names"] in by_name}

    def neighbors(self, run_id, top):
        return [run["run_id"] for run in self("similar", run_id, "--top", top)["runs"]]


class Recording:
    def __init__(self, path):
        self.engine = path.parent.name
        self.model, self.variant, threads, _ = path.name.split(".")[:4]
        self.threads = int(threads[1:])


def nearest(ids, recordings, fits):
    return next((recordings[i] for i in ids if i in recordings and fits(recordings[i])), None)


def percent(part, whole):
    return f"{part} of {whole}, {100 * part / whole:.1f} %"


def score(title, pairs):
    right = sum(found is not None and found.model == asked.model for asked, found in pairs)
    print(f"| {title} | {percent(right, len(pairs))} |")
    return right / len(pairs)


def confusion(pairs):
    counts = collections.Counter((asked.model, found.model) for asked, found in pairs)
    models = sorted({asked.model for asked, _ in pairs})
    print("\n| model \\ nearest | " + " | ".join(models) + " |\n|---" + "|---:" * len(models) + "|")
    for asked in models:
        print(f"| {asked} | " + " | ".join(str(counts[asked, found] or "") for found in models) + " |")


def recorded(ledger, folder):
    recordings = {i: Recording(p) for i, p in ledger.runs(sorted(folder.glob("*/*.json"))).items()}
    found = {i: ledger.neighbors(i, 60) for i in recordings}

    def pairs(variant, fits):
        asked = [(i, r) for i, r in sorted(recordings.items()) if r.variant == variant]
        return [(r, nearest(found[i], recordings, lambda o, r=r: o.variant == "base" and fits(r, o))) for i, r in asked]

    print("| nearest base recording is of the same model | |\n|---|---|")
    alone = pairs("base", lambda r, o: True)
    scores = [score("leave one out", alone)]
    scores.append(score("only other numbers of threads", pairs("base", lambda r, o: o.threads != r.threads)))
    for variant in sorted({r.variant for r in recordings.values()} - {"base"}):
        scores.append(score(f"{variant}, any engine", pairs(variant, lambda r, o: True)))
        scores.append(score(f"{variant}, same engine", pairs(variant, lambda r, o: o.engine == r.engine)))
    confusion(alone)
    return scores[0]


def device_pairs(ledger, folder):
    runs = ledger.runs(sorted(folder.glob("*.json*")))
    models = collections.defaultdict(dict)
    for run_id, path in runs.items():
        for device in ("h100", "mi300"):
            if f"_{device}_" in path.name:
                models[path.name.split(f"_{device}_")[1]][device] = run_id
    right, asked = 0, 0
    for model, both in sorted(models.items()):
        if len(both) == 2:
            asked += 2
            right += sum(ledger.neighbors(both[a], 1)[0] == both[b] for a, b in (("h100", "mi300"), ("mi300", "h100")))
    print(f"\nSame model on another device, among {len(runs)} traces: {percent(right, asked)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    repository = pathlib.Path(__file__).resolve().parents[2]
    parser.add_argument("--bin", default=repository / "build/release/bin/neurolens")
    parser.add_argument("--ledger", type=pathlib.Path)
    parser.add_argument("--pairs", type=pathlib.Path)
    parser.add_argument("recordings", type=pathlib.Path)
    a = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = a.ledger or pathlib.Path(temporary)
        share = recorded(Ledger(a.bin, folder / "recordings"), a.recordings)
        if a.pairs:
            device_pairs(Ledger(a.bin, folder / "pairs"), a.pairs)
    sys.exit(0 if share >= LEAST else 1)


if __name__ == "__main__":
    main()
