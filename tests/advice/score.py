#!/usr/bin/env python3
"""Holds the answers of `neurolens analyze` against the verdicts of this folder and prints what differs.

usage: score.py NEUROLENS TRACES_FOLDER [--held] [NAME ...]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent

# What the product calls a limiter, in the words of the verdicts.
LIMITERS = {
    "compute": "compute",
    "exposed_comm": "communication",
    "exposed_copy": "copies",
    "host": "host",
    "host_data": "data_loading",
    "host_sync": "sync",
    "host_alloc": "alloc",
    "wait": "stream_wait",
}


@dataclass
class Score:
    """One answer against its verdict."""

    name: str
    limiter: str = ""
    limiter_right: bool = False
    said: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)


def concepts() -> dict[str, re.Pattern[str]]:
    """The pattern of each concept; any of its alternatives counts."""
    found = {}
    for file in sorted(HERE.glob("concepts_*.yaml")):
        for name, concept in yaml.safe_load(file.read_text()).items():
            found[name] = re.compile("|".join(f"(?:{one})" for one in concept["says"]), re.IGNORECASE)
    return found


def verdicts(held: bool) -> dict[str, dict]:
    folder = HERE / "held" if held else HERE
    files = [file for file in sorted(folder.glob("*.yaml")) if not file.name.startswith("concepts_")]
    return {file.stem: yaml.safe_load(file.read_text()) for file in files}


def ask(binary: str, ledger: str, arguments: list[str]) -> str:
    env = os.environ | {"NEUROLENS_HOME": ledger, "NO_COLOR": "1"}
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, env=env, timeout=300)
    return done.stdout if done.returncode == 0 else done.stdout + done.stderr


def import_of(binary: str, ledger: str, files: list[str]) -> str:
    """What analyze is asked about: the file itself, or the run that several files are."""
    if len(files) == 1:
        return files[0]
    several = json.loads(ask(binary, ledger, ["import", "--json", "--ledger", ledger, *files]))["data"]
    if len(several.get("runs", [])) > 1:
        several = json.loads(ask(binary, ledger, ["import", "--as-one", "--json", "--ledger", ledger, *files]))["data"]
    return several["runs"][0]["run_id"] if "runs" in several else several["run_id"]


def limiter_of(data: dict) -> tuple[str, float]:
    """The first limiter of an answer and its share, in the words of the verdicts."""
    if data["limiters"]:
        first = data["limiters"][0]
        on_host = first.get("device_kind") == "host" or first.get("device") == "cpu"
        name = LIMITERS.get(first["what"], first["what"])
        return ("cpu_ops" if name == "compute" and on_host else name), first["share"]
    if data.get("counters") and data["counters"].get("kernels"):
        kernels = data["counters"]["kernels"]
        times = [kernel.get("replay_ns") or 0 for kernel in kernels]
        return "one_kernel", max(times) / max(1, data["counters"]["replay_ns"])
    return "none", 0.0


def score_one(name: str, verdict: dict, text: str, data: dict, patterns: dict[str, re.Pattern[str]]) -> Score:
    said = verdict["verdict"]
    score = Score(name)
    limiter, share = limiter_of(data)
    low, high = said.get("share", [0, 1])
    score.limiter = f"{limiter} {share:.3f}"
    named = limiter in said["limiter"]
    score.limiter_right = named and (limiter == "none" or low <= share <= high)
    cannot_tell = limiter == "none" or "cannot tell" in text
    if cannot_tell and said["limiter"] != ["one_kernel"]:
        score.limiter_right = "none" in said["limiter"]
    flat = re.sub(r"\s+", " ", text)
    for want in said.get("must_say", []):
        (score.said if patterns[want["concept"]].search(flat) else score.missing).append(want["concept"])
    score.forbidden = [one["concept"] for one in said.get("must_not_say", []) if patterns[one["concept"]].search(flat)]
    return score


def answer_of(binary: str, traces: Path, verdict: dict) -> tuple[str, dict]:
    """What analyze says of the profile of a verdict: text and data."""
    profile = verdict["profile"]
    files = [str(traces / file) for file in (profile if isinstance(profile, list) else [profile])]
    with tempfile.TemporaryDirectory() as ledger:
        run = import_of(binary, ledger, files)
        where = ["--ledger", ledger]
        text = ask(binary, ledger, ["analyze", run, *where])
        return text, json.loads(ask(binary, ledger, ["analyze", run, "--json", *where]))["data"]


def scores(binary: str, traces: Path, held: bool, only: list[str]) -> list[Score]:
    patterns = concepts()
    found = []
    for name, verdict in verdicts(held).items():
        if not only or name in only:
            found.append(score_one(name, verdict, *answer_of(binary, traces, verdict), patterns))
    return found


def summary(found: list[Score]) -> str:
    said, missing = sum(len(one.said) for one in found), sum(len(one.missing) for one in found)
    right = sum(one.limiter_right for one in found)
    return (
        f"{len(found)} profiles: limiter right {right} ({100 * right / max(1, len(found)):.1f} %), "
        f"must say {said} of {said + missing} ({100 * said / max(1, said + missing):.1f} %), "
        f"forbidden statements {sum(len(one.forbidden) for one in found)}"
    )


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if argument != "--held"]
    if len(arguments) < 2:
        sys.exit(__doc__)
    found = scores(arguments[0], Path(arguments[1]), "--held" in sys.argv, arguments[2:])
    for one in found:
        print(
            f"{'ok ' if one.limiter_right else 'BAD'} {one.name}: {one.limiter}"
            f"{'; missing ' + ', '.join(one.missing) if one.missing else ''}"
            f"{'; FORBIDDEN ' + ', '.join(one.forbidden) if one.forbidden else ''}"
        )
    print(summary(found))


if __name__ == "__main__":
    main()
