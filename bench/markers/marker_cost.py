"""CPU time of a scope in ns, one JSON line a round: marker_cost.py ROUNDS [PAIRS]. See marker_cost.cpp."""

import json
import sys
import time

from neurolens import scope


def with_scope(pairs):
    for _ in range(pairs):
        with scope("prefill"):
            pass


def empty_loop(pairs):
    for _ in range(pairs):
        pass


@scope("prefill")
def decorated():
    pass


def calls(pairs):
    for _ in range(pairs):
        decorated()


def ns_each(work, pairs):
    start = time.thread_time_ns()
    work(pairs)
    each = (time.thread_time_ns() - start) / pairs
    time.sleep(0.02)
    return each


rounds, pairs = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
for _ in range(rounds):
    print(json.dumps({name: round(ns_each(work, pairs), 2)
                      for name, work in (("with", with_scope), ("decorator", calls), ("empty loop", empty_loop))}), flush=True)
