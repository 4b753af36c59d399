#!/usr/bin/env python3
"""Questions about recorded profiles with known answers, put to `neurolens mcp` by a policy without a model. The policy knows the
question, the runs, the descriptions of the tools and where a kind of answer stands; it calls the tool that ranks first for the
question (tool_choice.py), and goes on with what `next` says until an answer is there. Truths come from the verdicts of
tests/advice and from the independent values beside the profiles.

usage: tests/mcp/investigations.py NEUROLENS TRACES [--verbose]

Exit code 1: fewer than 90 % are right, the median takes more than 3 calls or 4,000 tokens, or an answer exceeds its budget."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE, HERE.parent / "advice", HERE.parent / "e2e"):
    sys.path.insert(0, str(folder))

import score as advice
import tool_choice
from agent import Agent, Program

MOST_CALLS = 6
BUDGET_TOKENS = 1500
LEAST_RIGHT, MOST_MEDIAN_CALLS, MOST_MEDIAN_TOKENS = 0.90, 3, 4000

Data = dict[str, Any]
Found = Callable[[Data], Any]  # what an answer says, None if it says nothing of this kind


class Kind(NamedTuple):
    wordings: list[str]
    found: Found


class Case(NamedTuple):
    kind: str
    question: str
    files: list[list[str]]  # of each run
    is_right: Callable[[Any], bool]


class Investigation(NamedTuple):
    case: Case
    tools: list[str]
    tokens: int
    answer: Any
    is_right: bool
    over_budget: list[str]


# ---- Where a kind of answer stands


def limiter(data: Data) -> str | None:
    if data.get("limiters") or (data.get("counters") or {}).get("kernels"):
        return advice.limiter_of({"limiters": [], **data})[0]
    if "sentence" not in data or "trust" not in data:
        return None
    one = data.get("limiter")
    if one is not None:
        return advice.limiter_of({"limiters": [one]})[0]
    return "one_kernel" if any(row.get("about") for row in data.get("statements", [])) else "none"


def inside(data: Data, *path: str) -> Any:
    value: Any = data
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def device_names(data: Data) -> set[str] | None:
    rows = inside(data, "hardware", "devices")
    return {row["name"] for row in rows} if rows else None


def top_kernel(data: Data) -> tuple[str, int] | None:
    rows = data.get("top")
    return (rows[0]["name"], rows[0]["total_ns"]) if rows else None


def faster(data: Data) -> bool | None:
    return data["delta_ns"] < 0 if "delta_ns" in data else None


KINDS = {
    "limiter": Kind(
        ["What limits this run?", "What is the main bottleneck of this trace?", "Why is this model slow?", "Give me a quick diagnosis"],
        limiter,
    ),
    "kernels": Kind(
        ["What is in this run, how many kernels?", "Give me a short overview: number of kernels"],
        lambda data: inside(data, "kernels", "count"),
    ),
    "kernel_time": Kind(
        ["Overview of this run: how many kernels, and how long are all of them together?"],
        lambda data: inside(data, "kernels", "total_ns"),
    ),
    "top_kernel": Kind(["Show what is in this run and its longest kernel", "Short overview of this run with the top kernel"], top_kernel),
    "device": Kind(["On which hardware was this run recorded?", "Which device was used in this run?"], device_names),
    "faster": Kind(["Did the change help: which of the two is faster?", "Is the new run slower than the one before?"], faster),
}


# ---- Questions


def with_wordings(kind: str, cases: list[tuple[list[list[str]], Callable[[Any], bool]]]) -> Iterator[Case]:
    wordings = KINDS[kind].wordings
    for number, (files, is_right) in enumerate(cases):
        yield Case(kind, wordings[number % len(wordings)], files, is_right)


def limiter_cases() -> list[tuple[list[list[str]], Callable[[Any], bool]]]:
    """Of verdicts that name one profile and that the answer is known to reach or to miss alike."""
    cases = []
    for verdict in advice.verdicts(held=False).values():
        if isinstance(verdict["profile"], str):
            right = verdict["verdict"]["limiter"]
            cases.append(([[verdict["profile"]]], lambda answer, right=right: answer in right))
    return cases


def golden_cases(golden: Data) -> Iterator[Case]:
    traces = {
        name: values for name, values in sorted(golden.items())
        if name.startswith("kineto/") and inside(values, "kernels", "count") and (values.get("devices") or [None])[0]
    }  # fmt: skip
    names = list(traces)

    def cases(kind: str, chosen: list[str], right: Callable[[Data], Any]) -> Iterator[Case]:
        return with_wordings(kind, [([[name]], lambda answer, name=name: answer == right(traces[name])) for name in chosen])

    def first(values: Data) -> tuple[str, int]:
        top = values["kernels"]["top"][0]
        return top["name"], top["total_ns"]

    yield from cases("kernels", names[::3][:6], lambda values: values["kernels"]["count"])
    yield from cases("kernel_time", names[1::4][:4], lambda values: values["kernels"]["total_ns"])
    # A budget keeps the beginning of a long name.
    yield from with_wordings(
        "top_kernel",
        [([[name]], lambda answer, of=first(traces[name]): of[0].startswith(answer[0]) and answer[1] == of[1]) for name in names[2::3][:6]],
    )
    yield from cases("device", names[1::3][:6], lambda values: set(values["devices"]))


LOADERS = "kineto/kineto_tb_resnet50_nw{}_worker0.{}.pt.trace.json.gz"  # ResNet-50 with no process and with four that load data
WITHOUT, WITH_FOUR = LOADERS.format(0, 1623143089861), LOADERS.format(4, 1623212756351)
PAIRS = [(WITHOUT, WITH_FOUR, True), (WITH_FOUR, WITHOUT, False)]  # before, after, is it faster?


def all_cases(golden: Data, number: int) -> list[Case]:
    rest = [*golden_cases(golden), *with_wordings("faster", [([[a], [b]], lambda answer, c=c: answer == c) for a, b, c in PAIRS])]
    verdicts = limiter_cases()
    needed = number - len(rest)
    step = len(verdicts) / needed
    return [*with_wordings("limiter", [verdicts[int(i * step)] for i in range(needed)]), *rest]


# ---- The policy


def arguments_for(tool: Data, runs: list[str]) -> Data | None:
    """What can be said without knowing more than the runs; None if the tool asks for more."""
    schema = tool["inputSchema"]
    properties, required = schema["properties"], schema.get("required", [])
    if len(runs) > 1:
        return {"runs": runs} if "runs" in properties and not required else None
    return {"run": runs[0]} if required == ["run"] else None


def ranked(tools: list[Data], question: str) -> list[Data]:
    points = tool_choice.relevance(
        [tool_choice.stems(f"{tool['name']} {tool['description']}") for tool in tools], tool_choice.stems(question)
    )
    return [tools[i] for i in sorted(range(len(tools)), key=lambda i: (-points[i], tools[i]["name"]))]


def planned(tools: list[Data], case: Case, runs: list[str]) -> list[tuple[str, Data]]:
    calls = [(tool["name"], arguments_for(tool, runs)) for tool in ranked(tools, case.question) if tool["annotations"]["readOnlyHint"]]
    return [(name, arguments) for name, arguments in calls if arguments is not None]


def follow(text: str) -> tuple[str, Data]:
    name, _, arguments = text.partition(" ")
    return name, json.loads(arguments or "{}")


def investigate(agent: Agent, tools: list[Data], case: Case, runs: list[str]) -> Investigation:
    """First the tool that the question leads to, then what its answers lead to, then the next tool."""
    plan, asked, said, tokens, over = planned(tools, case, runs), [], set(), 0, []
    while plan and len(asked) < MOST_CALLS:
        name, arguments = plan.pop(0)
        key = name + json.dumps(arguments, sort_keys=True)
        if key in said or " (on the command line)" in json.dumps(arguments):
            continue
        said.add(key)
        asked.append(name)
        result = agent.call(name, **arguments)
        size = tool_choice.tokens(result)
        tokens += size
        structured = result["structuredContent"]
        if tool_choice.tokens(structured) > BUDGET_TOKENS:
            over.append(name)
        answer = KINDS[case.kind].found(structured.get("data") or {})
        if answer is not None:
            return Investigation(case, asked, tokens, answer, case.is_right(answer), over)
        plan = [follow(one) for one in structured["next"] if one.endswith("}")] + plan
    return Investigation(case, asked, tokens, None, False, over)


def run_of(binary: str, ledger: str, traces: pathlib.Path, files: list[str]) -> str:
    answer = json.loads(advice.ask(binary, ledger, ["import", "--json", "--ledger", ledger, *(str(traces / one) for one in files)]))
    data = answer["data"]
    return str(data["runs"][0]["run_id"] if "runs" in data else data["run_id"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    cases = all_cases(json.loads((given.traces / "GOLDEN.json").read_text()), given.number)
    with tempfile.TemporaryDirectory() as ledger, Agent(Program(given.binary, ledger)) as agent:
        tools = agent.ask("tools/list")["result"]["tools"]
        done = []
        for case in cases:
            runs = [run_of(given.binary, ledger, given.traces, files) for files in case.files]
            done.append(investigate(agent, tools, case, runs))
            one = done[-1]
            if given.verbose or not one.is_right:
                said = f"{'right' if one.is_right else 'WRONG'}: {one.answer!s:.80} by {', '.join(one.tools)}, {one.tokens} tokens"
                print(f"{case.question} [{' '.join(case.files[-1])}] {said}")
    right = sum(one.is_right for one in done) / len(done)
    calls, tokens = statistics.median(len(one.tools) for one in done), statistics.median(one.tokens for one in done)
    over = sum(len(one.over_budget) for one in done)
    print(f"{len(done)} questions: {right:.0%} right, median {calls:g} calls and {tokens:g} tokens, {over} answers over their budget")
    fits = calls <= MOST_MEDIAN_CALLS and tokens <= MOST_MEDIAN_TOKENS and not over
    return 0 if right >= LEAST_RIGHT and fits else 1


if __name__ == "__main__":
    sys.exit(main())
