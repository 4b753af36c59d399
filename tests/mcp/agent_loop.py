#!/usr/bin/env python3
"""The loop of docs/agents.md on a real model: a scripted agent makes a model faster by the tools of `neurolens mcp` alone. It asks
triage and suggest, makes the first suggested change that is in its hands, records both sides by turns, compares, and keeps the
change or takes it back, until the goal is reached or nothing is left to try. Prints the transcript.

usage: tests/mcp/agent_loop.py NEUROLENS [--repeats 5] [--seconds 1] [--rounds 6] [--goal 0.5] [--calls]

The model is a small transformer with weights by chance, run by ONNX Runtime on this machine; it begins without optimisation of its
graph, on one thread. Wants the Python of .deps/venv (onnx, onnxruntime). Exit code 1: a decision does not follow from the answers.
Times decide what is kept, but fail nothing."""

import argparse
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "e2e", HERE.parent / "full"):
    sys.path.insert(0, str(folder))

import tool_choice
from agent import Agent, Program

# Of one name: runs of models with different names are not compared.
FP32, INT8 = "fp32/transformer.onnx", "int8/transformer.onnx"

Data = dict[str, Any]
Setting = dict[str, Any]


class Hands:
    """What the agent can change, by the rule that asks for it. A change that was tried is not tried again."""

    def __init__(self, models: pathlib.Path):
        self.tried: set[str] = set()
        self.changes: dict[str, tuple[str, Callable[[Setting], Setting]]] = {
            "unoptimised_graph": ("optimise the graph", lambda now: {**now, "optimize": "all"}),
            "one_thread_of_several": ("use two threads", lambda now: {**now, "threads": 2}),
            "fp32_products_on_cpu": ("quantise the weights to 8 bits", lambda now: {**now, "model": str(models / INT8)}),
        }
        self.model = str(models / FP32)

    def begin(self) -> Setting:
        return {"model": self.model, "size": ["batch=1", "tokens=64"], "threads": 1, "optimize": "none"}

    def first_of(self, suggestions: list[Data]) -> Data | None:
        return next((one for one in suggestions if one["rule"] in self.changes and one["rule"] not in self.tried), None)


class Call(NamedTuple):
    tool: str
    tokens: int


@dataclasses.dataclass
class Round:
    rule: str
    verdict: str
    ratio: Data | None
    is_kept: bool
    goal_is_reached: bool


class Transcript:
    """Calls tools and prints what an agent reads first: the conclusion."""

    def __init__(self, agent: Agent, shows_calls: bool):
        self.agent, self.shows_calls, self.calls = agent, shows_calls, list[Call]()

    def say(self, text: str) -> None:
        print(text, flush=True)

    def call(self, tool: str, shown: str, **arguments: Any) -> Data:
        result = self.agent.call(tool, **arguments)
        if result["isError"]:
            raise SystemExit(f"{tool}: {result['content'][0]['text']}")
        self.calls.append(Call(tool, tool_choice.tokens(result)))
        first = result["content"][0]["text"].splitlines()[0]
        self.say(f"{tool} {shown}\n    {first}")
        if self.shows_calls:
            self.say(f"    {json.dumps(arguments)}")
        return dict(result["structuredContent"]["data"])


def record(transcript: Transcript, setting: Setting, seconds: int, labels: list[str]) -> str:
    result = transcript.agent.call("profile", **setting, seconds=seconds, set=labels)
    if result["isError"]:
        raise SystemExit(result["content"][0]["text"])
    transcript.calls.append(Call("profile", tool_choice.tokens(result)))
    return str(result["structuredContent"]["data"]["run_id"])


def recorded(transcript: Transcript, sides: list[tuple[Setting, list[str]]], repeats: int, seconds: int) -> list[list[str]]:
    """By turns, and every other time in the other order, so that a slow minute of the machine falls on both."""
    runs: list[list[str]] = [[] for _ in sides]
    for turn in range(repeats):
        for i in range(len(sides)) if turn % 2 == 0 else reversed(range(len(sides))):
            setting, labels = sides[i]
            runs[i].append(record(transcript, setting, seconds, labels))
    return runs


def expectation(folder: pathlib.Path, goal_ns: int) -> str:
    path = folder / "expect.yaml"
    path.write_text(f"window: steps\nthreshold: 2%\nlimits:\n  - window: total\n    at_most: {goal_ns / 1e6:.6f} ms\n")
    return str(path)


def one_round(transcript: Transcript, hands: Hands, now: Setting, run: str, options: argparse.Namespace, expect: str,
              ) -> tuple[Round, Setting, str] | None:  # fmt: skip
    triage = transcript.call("triage", "RUN", run=run)
    if triage["trust"]["level"] == "poor":
        transcript.say("The record cannot be trusted; it has to be recorded again.")
        return None
    chosen = hands.first_of(transcript.call("suggest", "RUN", run=run, top=10)["suggestions"])
    if chosen is None:
        transcript.say("No suggestion is left that is in the agent's hands.")
        return None
    rule = chosen["rule"]
    hands.tried.add(rule)
    what, change = hands.changes[rule]
    changed = change(now)
    transcript.say(f"change: {what} ({rule}, at most {chosen['alone_ns'] / 1e6:.1f} ms of the window)")
    applied = [f"follows={run}", f"applied={rule}:{chosen['suggestion']}"]
    before, after = recorded(transcript, [(now, []), (changed, applied)], options.repeats, options.seconds)
    transcript.say(f"profile: {options.repeats} runs before and {options.repeats} after, by turns")
    answer = transcript.call("compare", "base=[…] new=[…] expect=expect.yaml gate=true", base=before, new=after, expect=expect, gate=True)
    is_kept = answer["verdict"] == "improvement"
    reached = is_kept and all(limit["met"] for limit in answer["expectations"])
    done = Round(rule, answer["verdict"], answer.get("statistics"), is_kept, reached)
    transcript.say(f"decision: {'keep' if is_kept else 'take back'}{'; the goal is reached' if reached else ''}\n")
    return (done, changed, after[-1]) if is_kept else (done, now, before[-1])


def make_models(folder: pathlib.Path) -> None:
    import logging

    import gain_models
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logging.getLogger().setLevel(logging.ERROR)
    for name in (FP32, INT8):
        (folder / name).parent.mkdir()
    gain_models.transformer(str(folder / FP32))
    quantize_dynamic(str(folder / FP32), str(folder / INT8), weight_type=QuantType.QInt8)


def with_onnxruntime() -> dict[str, str]:
    import onnxruntime

    library = next(pathlib.Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    return {**os.environ, "NEUROLENS_ONNXRUNTIME": str(library)}


def loop(transcript: Transcript, folder: pathlib.Path, options: argparse.Namespace) -> list[Round]:
    hands = Hands(folder)
    now = hands.begin()
    (first,) = recorded(transcript, [(now, [])], 1, options.seconds)[0]
    step = transcript.call("analyze", "RUN", run=first, window="steady")["window"]
    rounds: list[Round] = []
    steps = transcript.agent.data("query", run=first, sql="SELECT median(dur_ns)::BIGINT AS ns FROM spans WHERE name = 'model_run'")
    goal_ns = int(steps["rows"][0][0] * options.goal)
    transcript.say(f"goal: a step of at most {goal_ns / 1e6:.3f} ms, {options.goal:.0%} of the first run ({step['name']})\n")
    run = first
    while len(rounds) < options.rounds:
        done = one_round(transcript, hands, now, run, options, expectation(folder, goal_ns))
        if done is None:
            break
        rounds.append(done[0])
        now, run = done[1:]
        if done[0].goal_is_reached:
            break
    if any(one.is_kept for one in rounds):
        transcript.call("findings", "score=true", score=True)
    return rounds


def faults_of(rounds: list[Round]) -> list[str]:
    """What must hold whatever the machine measures."""
    faults = [f"{one.rule}: kept after {one.verdict}" for one in rounds if one.is_kept and one.verdict != "improvement"]
    if not rounds:
        faults.append("an unoptimised graph on one thread gave nothing to try")
    if len({one.rule for one in rounds}) != len(rounds):
        faults.append("a change was tried twice")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6, help="at most")
    parser.add_argument("--goal", type=float, default=0.5, help="share of the time of the first run")
    parser.add_argument("--calls", action="store_true", help="print the arguments of the calls, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_models(folder)
        with Agent(Program(options.binary, folder / "ledger", with_onnxruntime()), "--allow-exec") as agent:
            transcript = Transcript(agent, options.calls)
            rounds = loop(transcript, folder, options)
            code = agent.end()
    asked = [call for call in transcript.calls if call.tool != "profile"]
    transcript.say(f"{len(rounds)} rounds, {len(asked)} questions of {sum(call.tokens for call in asked)} tokens, "
                   f"{len(transcript.calls) - len(asked)} recordings; the program ended with code {code}")  # fmt: skip
    faults = faults_of(rounds)
    for fault in faults:
        print(f"FAULT: {fault}")
    return 1 if faults or code else 0


if __name__ == "__main__":
    sys.exit(main())
