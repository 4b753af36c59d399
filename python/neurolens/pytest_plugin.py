"""The plug-in of pytest: tests that measure, keep what they measured in the ledger, and fail when it became slower.

    def test_tokenizer(profiled):
        profiled(lambda: tokenizer.encode(TEXT))

``pytest`` alone calls the function once. ``pytest --neurolens`` measures and keeps runs, labelled with the test and the
commit; ``pytest --neurolens-baseline main`` holds them against those of that commit, too. Under ``neurolens record`` with
``--neurolens`` every test is a scope.
"""

import dataclasses
import hashlib
import json
import pathlib
import platform
import statistics
import subprocess
import tempfile
import time
import warnings
from collections.abc import Generator
from typing import Any, Callable, Optional

import pytest

import neurolens
from neurolens import _cli

_PROPERTY = "neurolens"  # under which what is said of a test travels to the terminal and into JUnit XML
_MOST_BASE_RUNS = 30


@dataclasses.dataclass(frozen=True)
class Profiled:
    """What was measured: the durations of all calls, the runs that hold them, and what the last call returned."""

    result: Any
    durations_ns: list[int]
    runs: list[str]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("neurolens")
    group.addoption("--neurolens", action="store_true", help="measure what tests give to the fixture profiled, and keep it")
    group.addoption("--neurolens-baseline", metavar="REF", help="fail tests that are slower than at this commit")
    group.addoption("--neurolens-threshold", metavar="PERCENT", default="5%", help="smaller differences do not matter (5%%)")
    group.addoption("--neurolens-ledger", metavar="DIR", help="folder of the ledger")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    if not _is_on(item.config):
        yield
        return
    with neurolens.scope(item.nodeid):
        yield


@pytest.fixture
def profiled(request: pytest.FixtureRequest) -> Callable[..., Profiled]:
    """``profiled(function, calls=10, runs=10, clock="wall")`` measures a function without arguments.

    After a first call that is not counted there are ``runs`` runs of ``calls`` calls each. With ``clock="cpu"`` the
    processor time of the process is measured instead, which other programs on the machine disturb less.
    """

    def measure(function: Callable[[], Any], calls: int = 10, runs: int = 10, clock: str = "wall") -> Profiled:
        if not _is_on(request.config):
            return Profiled(function(), [], [])
        result, measured = _measure(function, calls, runs, _CLOCKS[clock])
        labels = {"test": _label(request.node.nodeid), "timer": clock, **_git_labels(request.config.rootpath)}
        ids = _keep([_run_file(times, labels, clock) for times in measured], request.config)
        durations = [end - start for times in measured for start, end in times]
        said = f"{_time(statistics.median(durations))} a call"
        if request.config.option.neurolens_baseline is not None:
            said += _judge(request, labels, ids)
        request.node.user_properties.append((_PROPERTY, said))
        return Profiled(result, durations, ids)

    return measure


def pytest_terminal_summary(terminalreporter: Any) -> None:
    lines = [
        f"{report.nodeid}: {said}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, said in report.user_properties
        if name == _PROPERTY
    ]
    if lines:
        terminalreporter.section("neurolens")
        for line in lines:
            terminalreporter.line(line)


def _is_on(config: pytest.Config) -> bool:
    return config.option.neurolens or config.option.neurolens_baseline is not None


# Measuring

_CLOCKS: dict[str, Callable[[], int]] = {"wall": time.perf_counter_ns, "cpu": time.process_time_ns}


def _measure(function: Callable[[], Any], calls: int, runs: int, clock: Callable[[], int]) -> Any:
    """What the last call returned, and for each run the begin and the end of its calls."""
    if calls < 1 or runs < 1:
        raise ValueError("there is at least one run of at least one call")
    result = function()
    measured = []
    for _ in range(runs):
        times = []
        for _ in range(calls):
            start = clock()
            result = function()
            times.append((start, clock()))
        measured.append(times)
    return result, measured


def _label(text: str) -> str:
    """A label has at most 1024 bytes; of a longer text its beginning and its hash."""
    data = text.encode("utf-8", "replace")
    if len(data) <= 1024:
        return data.decode()
    return data[:900].decode("utf-8", "ignore") + hashlib.sha256(data).hexdigest()


def _git_labels(folder: pathlib.Path) -> dict[str, str]:
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return {}
    return {"commit": commit, "dirty": "true" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "false"}


def _git(folder: pathlib.Path, *words: str) -> Optional[str]:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


# Keeping


def _run_file(times: Any, labels: dict[str, str], clock: str) -> dict[str, Any]:
    """A document that ``neurolens import`` reads: each call is a step, and the test an op in it."""
    first = times[0][0]
    row = [{"track_id": 0, "start_ns": start - first, "dur_ns": end - start} for start, end in times]
    unix_of_first = time.time_ns() - (time.perf_counter_ns() - first)
    base = {"kind": "unix", "base_unix_ns": unix_of_first} if clock == "wall" else {"kind": "relative"}
    metadata = {
        "labels": labels,
        "tool": "neurolens.pytest_plugin",
        "hardware": {"hosts": [platform.node()] if platform.node() else []},
        "software": {"versions": {"python": platform.python_version()}},
        "clocks": [base],
    }
    spans = [{**span, "kind": "annotation", "name": "inference"} for span in row]
    spans += [{**span, "kind": "op", "name": labels["test"]} for span in row]
    return {"schema": "neurolens.run-file/1", "metadata": metadata, "tracks": [{"kind": "thread"}], "spans": spans}


def _keep(documents: list[dict[str, Any]], config: pytest.Config) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="neurolens-") as folder:
        paths = [pathlib.Path(folder, f"{number}.json") for number in range(len(documents))]
        for path, document in zip(paths, documents):
            path.write_text(json.dumps(document))
        data = _cli.call("import", *paths, ledger=config.option.neurolens_ledger)
    return [run["run_id"] for run in data.get("runs", [data])]


# Judging


def _judge(request: pytest.FixtureRequest, labels: dict[str, str], ids: list[str]) -> str:
    """What the comparison says, in a few words. A regression fails the test; what could not be decided is a warning."""
    option = request.config.option
    name = option.neurolens_baseline
    base = [run for run in _base_runs(request.config, labels) if run not in ids]
    if not base:
        warnings.warn(f"nothing of {labels['test']} was measured at {name}: it is compared with nothing", stacklevel=2)
        return f", nothing to compare with at {name}"
    words = ["--base", *base, "--new", *ids, "--threshold", option.neurolens_threshold]
    verdict = _cli.call("compare", *words, ledger=option.neurolens_ledger)
    said = f"{verdict['verdict'].replace('_', ' ')} against {name}{_figures(verdict)}"
    if verdict["verdict"] == "regression":
        pytest.fail(f"{said}\n  neurolens compare {base[0][:12]} {ids[0][:12]} shows where", pytrace=False)
    if verdict["verdict"] in ("inconclusive", "not_tested", "incomparable"):
        warnings.warn(f"{labels['test']}: {said}; {'; '.join(verdict['reasons'])}", stacklevel=2)
    return f", {said}"


def _base_runs(config: pytest.Config, labels: dict[str, str]) -> list[str]:
    """The newest runs of the test at the baseline, a commit by any name that git knows, measured by the same clock."""
    name = config.option.neurolens_baseline
    commit = _git(config.rootpath, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or name
    wanted = {"test": labels["test"], "timer": labels["timer"], "commit": commit, "dirty": "false"}
    where = [word for key, value in wanted.items() for word in ("--where", f"{key}={value}")]
    found = _cli.call("runs", *where, "--limit", _MOST_BASE_RUNS, ledger=config.option.neurolens_ledger)
    return [run["run_id"] for run in found["runs"]]


def _figures(verdict: dict[str, Any]) -> str:
    tested = verdict["statistics"]
    if not tested or not tested.get("ratio_interval"):
        return ""
    interval = tested["ratio_interval"]
    before, after = tested["base"], tested["new"]
    return (
        f": {_time(before['median'])} → {_time(after['median'])}, {tested['ratio']:.3f} times "
        f"[{interval['low']:.3f}, {interval['high']:.3f}], {before['n']} and {after['n']} runs"
    )


def _time(ns: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size:
            return f"{ns / size:.3f} {unit}"
    return f"{ns:.0f} ns"
