"""SIGTERM: every verb ends soon, with the documented exit code, and leaves nothing behind. Two containers share a ledger."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from conftest import BINARY, Neurolens

INTERRUPTED = 130
PATIENCE_SECONDS = 20  # on a machine that others use, too; the measured maximum is printed
TRIES = 4


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Two large runs."""
    import trace_text

    folder = tmp_path_factory.mktemp("ending")
    ledger = Neurolens(folder / "ledger", {"PYTHONPATH": str(BINARY.resolve().parent.parent / "python")})
    ledger.traces = []
    for variant in (1, 2, 3):
        path = folder / f"trace-{variant}.json"
        path.write_text(trace_text.trace_text(1500, variant))
        ledger.traces.append(path)
    ledger.runs_there = [ledger.import_file(path)["run_id"] for path in ledger.traces[:2]]
    return ledger


def verbs(ledger, folder):
    one, other = ledger.runs_there
    slow_sql = "SELECT count(*) AS n FROM spans a, spans b WHERE a.dur_ns + b.dur_ns < 0"
    return {
        "import": ["import", ledger.traces[2]],
        "refresh": ["import", "--refresh", ledger.traces[0]],
        "show": ["show", one],
        "analyze": ["analyze", one],
        "findings": ["findings", one],
        "compare": ["compare", one, other],
        "query": ["query", one, slow_sql],
        "rows as CSV": ["query", one, "SELECT * FROM spans", "--format", "csv"],
        "report": ["report", one, "--format", "html", "--output", folder / "report"],
        "export": ["export", one, "--output", folder / "run.json", "--force"],
        "verify": ["verify", one],
        "lint": ["lint", one],
        "gc": ["gc", "--reindex"],
        "similar": ["similar", one],
        "fingerprint": ["fingerprint", one],
        "record": ["record", "--silent", "--", "sleep", "600"],
        "profile": ["profile", "--python", sys.executable, folder / "script.py"],
        "demo": ["demo", "--output", folder / "demo"],
        "runs": ["runs"],
        "doctor": ["doctor"],
    }


NAMES = list(verbs(type("Any", (), {"runs_there": ("a", "b"), "traces": ["", "", ""]})(), __import__("pathlib").Path("x")))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_first_sigterm_ends_it(filled, tmp_path, name):
    (tmp_path / "script.py").write_text("import time\ntime.sleep(600)\n")
    words = verbs(filled, tmp_path)[name]
    dice = random.Random(name)
    whole, longest, ended = None, 0.0, []
    for attempt in range(TRIES):
        if name == "import":  # other bytes are another run
            filled.traces[2].write_text(filled.traces[2].read_text() + " ")
        if name not in ("record", "deep", "profile", "query"):
            for derived in filled.ledger.glob("runs/*/derived"):
                shutil.rmtree(derived)
            shutil.rmtree(filled.ledger / "fingerprints", ignore_errors=True)
        process = filled.start(*words, "--quiet") if "--" not in words else filled.start(words[0], "--quiet", *words[1:])
        begin = time.monotonic()
        wait = 1.5 if whole is None else dice.uniform(0.1, max(0.1, min(whole, 1.5)))  # before main begins nobody listens
        try:
            process.communicate(timeout=wait if attempt else 0.4)
            whole = time.monotonic() - begin
            ended.append(process.returncode)
            continue
        except subprocess.TimeoutExpired:
            pass
        process.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        _, err = process.communicate(timeout=PATIENCE_SECONDS)
        longest = max(longest, time.monotonic() - begin)
        ended.append(process.returncode)
        # One that was done by then is done; a recorded program that was ended is a run, and says so by 1.
        assert process.returncode in (0, 1, INTERRUPTED), (process.returncode, err)
        assert process.returncode >= 0
        assert filled.leftovers() == [], (attempt, err)
    print(f"{name}: ended at most {longest:.2f} s after SIGTERM, exit codes {ended}")
    assert longest < PATIENCE_SECONDS and not set(ended) & {2, 3}, "it did not run at all"
    assert filled("verify", filled.runs_there[0], "--json").data["verified"]


# ---- Two containers


def contained(ledger, *words):
    return ["unshare", "--pid", "--fork", "--mount-proc", str(BINARY), *map(str, words), "--ledger", str(ledger.ledger)]


def test_two_containers_share_a_ledger(neurolens, make_trace):
    """The first processes of both have the same number, and begin at the same time."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], capture_output=True).returncode != 0:
        pytest.skip("needs root and namespaces of process numbers")
    for round_ in range(3):
        traces = [make_trace(10 * round_ + i, blocks=20) for i in range(4)]
        running = [
            subprocess.Popen(
                contained(neurolens, "import", trace, "--quiet"), env=neurolens.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            for trace in traces
        ]
        recorded = subprocess.Popen(
            contained(neurolens, "gc", "--quiet"), env=neurolens.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for process in [*running, recorded]:
            _, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
        assert len(neurolens.run_ids()) == 4 * (round_ + 1)
    for run in neurolens.run_ids():
        neurolens("verify", run)
    assert neurolens.leftovers() == []
