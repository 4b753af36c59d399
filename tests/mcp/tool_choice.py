#!/usr/bin/env python3
"""Do the descriptions of the tools lead to the right one? Ranks the tools for questions that people ask, without a model: BM25 over
words cut to their stems. Also says how many tokens (of 4 bytes) an agent pays for the list, and how that differs from what was
recorded last.

usage: tests/mcp/tool_choice.py NEUROLENS [--record] [--all]

The half of the questions that is `held` was written before the descriptions and was not read while they were tuned: it is what
counts. Exit code 1: fewer than 80 % of them find their tool first or fewer than 95 % among three, or the list is too long."""

import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
from typing import Any, NamedTuple

FOLDER = pathlib.Path(__file__).parent
LEAST_FIRST, LEAST_AMONG_THREE = 0.80, 0.95
MOST_TOKENS, MOST_TOKENS_WITH_OUTPUT = 6000, 9000

ENDINGS = "ations ation ings ing ies ied ers est ed es s er e y".split()
STOP_WORDS = set(
    "a an the of in on to is are was were it its this that i my me we our you do does did what which how why where when who with for"
    " from by and or not have has had can could would be been at as if there any all some than then so".split()
)


class Question(NamedTuple):
    half: str
    right: list[str]
    text: str


class Score(NamedTuple):
    first: float
    among_three: float
    missed: list[tuple[int, str, str, str]]  # place, the right tool, the one that came first, question


def questions() -> list[Question]:
    rows = [line.split("\t") for line in (FOLDER / "questions.tsv").read_text().splitlines() if line and line[0] != "#"]
    return [Question(half, tools.split(","), text) for half, tools, text in rows]


def stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def stems(text: str) -> list[str]:
    return [stem(word) for word in re.findall("[a-z0-9]+", text.lower()) if word not in STOP_WORDS]


def relevance(documents: list[list[str]], words: list[str], k: float = 1.4, b: float = 0.6) -> list[float]:
    """BM25 of each document."""
    mean_length = sum(map(len, documents)) / len(documents)
    holders = collections.Counter(word for document in documents for word in set(document))

    def weight(word: str, document: list[str]) -> float:
        times = document.count(word)
        rarity = math.log(1 + (len(documents) - holders[word] + 0.5) / (holders[word] + 0.5))
        return rarity * times * (k + 1) / (times + k * (1 - b + b * len(document) / mean_length))

    return [sum(weight(word, document) for word in words) for document in documents]


def score(tools: list[dict[str, Any]], asked: list[Question]) -> Score:
    names = [tool["name"] for tool in tools]
    documents = [stems(f"{tool['name']} {tool['description']}") for tool in tools]
    places, missed = [], []
    for question in asked:
        points = relevance(documents, stems(question.text))
        order = sorted(names, key=lambda name: (-points[names.index(name)], name))
        place = min(order.index(name) for name in question.right)
        places.append(place)
        if place:
            missed.append((place + 1, question.right[0], order[0], question.text))
    share = [sum(place < most for place in places) / len(places) for most in (1, 3)]
    return Score(share[0], share[1], missed)


def tokens(value: Any) -> int:
    return -(-len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()) // 4)


def sizes(tools: list[dict[str, Any]]) -> dict[str, int]:
    short = [{key: value for key, value in tool.items() if key != "outputSchema"} for tool in tools]
    return {"without_output_schemas": tokens({"tools": short}), "with_output_schemas": tokens({"tools": tools})}


def tools_of(binary: str) -> list[dict[str, Any]]:
    done = subprocess.run([binary, "mcp", "--list", "--json", "--allow-exec"], stdout=subprocess.PIPE, check=True)
    return list(json.loads(done.stdout)["data"]["tools"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--record", action="store_true", help="keep the size of the list for the next time")
    parser.add_argument("--all", action="store_true", help="also say which questions of the half `seen` miss their tool")
    given = parser.parse_args()
    tools = tools_of(given.binary)
    now, recorded = sizes(tools), FOLDER / "list_tokens.json"
    before = json.loads(recorded.read_text()) if recorded.exists() else now
    for name, most in (("without_output_schemas", MOST_TOKENS), ("with_output_schemas", MOST_TOKENS_WITH_OUTPUT)):
        print(f"tools/list {name.replace('_', ' ')}: {now[name]} tokens ({now[name] - before[name]:+d}), at most {most}")
    scores = {half: score(tools, [one for one in questions() if one.half == half]) for half in ("seen", "held")}
    for half, one in scores.items():
        print(f"{len(tools)} tools, {half}: first {one.first:.1%}, among three {one.among_three:.1%}")
    for place, right, chosen, text in scores["seen"].missed if given.all else []:
        print(f"  place {place} of {right}, first is {chosen}: {text}")
    if given.record:
        recorded.write_text(json.dumps(now) + "\n")
    fits = now["without_output_schemas"] <= MOST_TOKENS and now["with_output_schemas"] <= MOST_TOKENS_WITH_OUTPUT
    leads = scores["held"].first >= LEAST_FIRST and scores["held"].among_three >= LEAST_AMONG_THREE
    return 0 if fits and leads else 1


if __name__ == "__main__":
    sys.exit(main())
