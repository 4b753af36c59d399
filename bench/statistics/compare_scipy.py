#!/usr/bin/env python3
"""Holds src/stats against SciPy on random samples and prints the largest relative difference of each figure.

usage: PYTHON bench/statistics/compare_scipy.py, by a Python that has scipy; needs a C++20 compiler
"""
import itertools
import pathlib
import subprocess
import tempfile

import numpy
import scipy.stats

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
DICE = numpy.random.default_rng(7)


def p_with_ties(a, b):
    """By all ways to divide the ranks."""
    ranks = scipy.stats.rankdata(numpy.concatenate([a, b]))
    middle = len(a) * (len(ranks) + 1) / 2
    far = abs(ranks[: len(a)].sum() - middle)
    ways = [abs(ranks[list(chosen)].sum() - middle) >= far - 1e-9 for chosen in itertools.combinations(range(len(ranks)), len(a))]
    return numpy.mean(ways)


def p_by_scipy(method):
    return lambda a, b: scipy.stats.mannwhitneyu(b, a, method=method).pvalue


def cases():
    """(name of p, its oracle, a, b)"""
    for _ in range(400):
        n1, n2 = DICE.integers(1, 21, 2)
        yield "p, exact", p_by_scipy("exact"), DICE.lognormal(0, 0.3, n1), DICE.lognormal(0.1, 0.3, n2)
    for _ in range(150):
        n1, n2 = DICE.integers(2, 7, 2)
        yield "p, ties", p_with_ties, DICE.integers(1, 7, n1).astype(float), DICE.integers(1, 8, n2).astype(float)
    for _ in range(100):
        n1, n2 = DICE.integers(21, 90, 2)
        yield "p, large", p_by_scipy("asymptotic"), DICE.integers(1, 30, n1).astype(float), DICE.integers(1, 33, n2).astype(float)


def questions():
    """(question, [(figure, expected)])"""
    for name, oracle, a, b in cases():
        ratios = numpy.divide.outer(b, a)
        differences = numpy.subtract.outer(b, a)
        expected = [(name, oracle(a, b)), ("U", scipy.stats.mannwhitneyu(b, a).statistic), ("shift", numpy.median(differences)),
                    ("ratio", numpy.median(ratios)), (None, 0), (None, 0), ("delta", numpy.sign(differences).mean())]
        yield f"samples {len(a)} {len(b)} " + " ".join(repr(float(x)) for x in [*a, *b]), expected
    for t, freedom in itertools.product((0.0, 0.1, 1.0, 2.5, 4.0, 10.0, 50.0), (1.0, 1.7, 2.0, 5.0, 20.3, 98.0, 1000.0)):
        yield f"student {t} {freedom}", [("Student", 2 * scipy.stats.t.sf(t, freedom))]
    for p in (1e-10, 0.001, 0.025, 0.8, 0.975, 0.999999):
        yield f"quantile {p}", [("normal quantile", scipy.stats.norm.ppf(p))]
    for n in (1, 2, 10, 100):
        p = DICE.uniform(0, 1, n) ** 3
        yield f"adjusted {n} " + " ".join(repr(float(x)) for x in p), [("adjusted p", x) for x in scipy.stats.false_discovery_control(p)]


def main():
    asked = list(questions())
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "answers"
        sources = [HERE / "answers.cpp", *(ROOT / "src/stats").glob("*.cpp"), ROOT / "src/base/result.cpp"]
        subprocess.run(["c++", "-std=c++20", "-O2", f"-I{ROOT / 'src'}", *sources, "-o", program], check=True)
        text = "\n".join(question for question, _ in asked)
        answers = subprocess.run([program], input=text, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(asked)
    largest = {}
    for answer, (_, expected) in zip(answers, asked):
        for value, (figure, truth) in zip(map(float, answer.split()), expected):
            difference = abs(value - truth) / max(abs(truth), 1e-12)
            largest[figure] = max(largest.get(figure, 0), difference) if figure else 0
    for figure, difference in largest.items():
        if figure:
            print(f"{figure:16} {difference:.1e}")


if __name__ == "__main__":
    main()
