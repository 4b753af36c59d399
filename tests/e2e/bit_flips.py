"""Flips bits in the files of a ledger or of a bundle, and looks whether an answer changes without notice.

A flip may be noticed (an error), repaired (the answers stay, a warning says what was made again) or harmless (the answers
stay). A changed answer with exit code 0 is a fault."""

import json
import pathlib
import random
import shutil
import subprocess

import trace_text

# What reads each kind of file. RUN and OTHER stand for the two runs of the ledger.
FACTS = [
    ["show", "RUN"],
    ["analyze", "RUN", "--window", "whole"],
    ["query", "RUN", "SELECT count(*), sum(hash(s)) FROM spans s"],
    ["query", "RUN", "SELECT count(*), sum(hash(k)) FROM kernels k"],
    ["compare", "RUN", "OTHER"],
    ["export", "RUN"],
]
LEDGER = [["runs"], ["show", "RUN"], ["label", "RUN"], ["tag", "RUN"], ["note", "RUN"], ["baseline"], ["state", "export"]]
MEASURES = [["trend"], ["fingerprint", "RUN"], ["similar", "RUN"]]


def make_ledger(call, folder):
    """Two runs with all that can be said of a run, and everything derived from them."""
    ids = []
    for blocks in (2, 3):
        trace = folder / f"trace{blocks}.json"
        trace.write_text(trace_text.trace_text(blocks))
        ids.append(json.loads(call("import", trace, "--json").stdout)["data"]["run_id"])
    for run in ids:
        for words in (["label", run, "model=m", "batch=8"], ["tag", run, "a"], ["note", run, "a note"]):
            call(*words)
    call("baseline", "base", ids[0])
    call("findings", ids[0])
    for words in [*FACTS, *MEASURES]:
        call(*named(words, ids))
    call("state", "backup")
    return ids


def named(words, ids):
    return [ids[0] if word == "RUN" else ids[1] if word == "OTHER" else word for word in words]


class Flipper:
    """A ledger that is damaged and put back again and again."""

    def __init__(self, binary, folder, seed):
        self.binary, self.folder, self.random = binary, pathlib.Path(folder), random.Random(seed)
        self.pristine, self.ledger = self.folder / "pristine", self.folder / "ledger"
        self.environment = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "HOME": str(folder), "XDG_CACHE_HOME": f"{folder}/cache"}
        self.ids = make_ledger(self.call, self.folder)
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        self.bundle = self.folder / "bundle"
        shutil.copytree(self.ledger / "runs" / self.ids[0], self.bundle)
        shutil.copytree(self.ledger, self.pristine)
        shutil.copytree(self.bundle, self.folder / "pristine_bundle")
        self.expected = {}

    def call(self, *words, check=True):
        command = [self.binary, *words, "--ledger", self.ledger]
        done = subprocess.run(command, capture_output=True, env=self.environment, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr.decode()}")
        return done

    def reset(self):
        for target, source in ((self.ledger, self.pristine), (self.bundle, self.folder / "pristine_bundle")):
            shutil.rmtree(target)
            shutil.copytree(source, target)
        shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def answer(self, words):
        """Exit code, the answer, and whether a warning speaks of damage."""
        streams = words[0] in ("export", "state")
        done = self.call(*words, *([] if streams else ["--json"]), check=False)
        if streams:
            return done.returncode, done.stdout, b"damaged" in done.stderr
        try:
            envelope = json.loads(done.stdout)
        except ValueError:
            return done.returncode, done.stdout, False
        return done.returncode, envelope.get("data"), "damaged" in json.dumps(envelope.get("warnings", []))

    def verbs_for(self, path):
        """Words of the calls that read such a file."""
        if self.bundle in path.parents:
            return [[str(self.bundle) if word == "RUN" else word for word in words] for words in FACTS]
        if "measures" in str(path) or "fingerprints" in str(path):
            return MEASURES
        return LEDGER if path.parent == self.ledger else FACTS

    def files(self):
        found = [p for root in (self.ledger, self.bundle) for p in sorted(root.rglob("*")) if p.is_file()]
        return [p for p in found if p.stat().st_size > 0 and not p.name.endswith((".lock", "-shm"))]

    def flip(self):
        """One bit of one file. Gives the file and what came of it: noticed, repaired, harmless, or the fault."""
        self.reset()
        path = self.random.choice(self.files())
        verbs = [named(words, self.ids) for words in self.verbs_for(path)]
        for words in verbs:
            if tuple(words) not in self.expected:
                self.expected[tuple(words)] = self.answer(words)
        data = bytearray(path.read_bytes())
        at, bit = self.random.randrange(len(data)), self.random.randrange(8)
        data[at] ^= 1 << bit
        path.write_bytes(data)
        result = "harmless"
        for words in verbs:
            code, answer, said = self.answer(words)
            if code < 0 or code > 4:
                return path, f"FAULT: {words} ended with {code}; byte {at}, bit {bit}"
            if code != 0:
                result = "noticed"
            elif answer != self.expected[tuple(words)][1]:
                return path, f"FAULT: {words} changed its answer; byte {at}, bit {bit}"
            elif said and result == "harmless":
                result = "repaired"
        return path, result
