"""Fixtures shared by the end-to-end tests. Every test works in a temporary ledger of its own."""

import functools
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import server
import trace_text

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("NEUROLENS_BIN", REPOSITORY / "build/release/bin/neurolens"))
TRACES = pathlib.Path(os.environ.get("NEUROLENS_TRACES", REPOSITORY.parent / "shared/traces"))

FULL = os.environ.get("NEUROLENS_FULL") == "1"  # tests/full/e2e: all of what CI takes a part of

OK, GATE_FAILED, BAD_INPUT, MISSING = 0, 1, 2, 3


def sha256_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def write_run_document(bundle, document):
    """run.json with its hash beside it, as import writes them."""
    path = bundle / "run.json"
    path.write_text(json.dumps(document))
    (bundle / "run.json.sha256").write_text(f"{sha256_of(path)}  run.json\n")


def run_id_of(source_bytes):
    """The documented id of a run of one source without options that change facts."""
    source = hashlib.sha256(source_bytes).hexdigest()
    return hashlib.sha256(f"neurolens run 1\ntrace {source}\n{{}}".encode()).hexdigest()


@functools.cache
def python_with(module):
    """A Python that can import the module; None if there is none."""
    for python in [sys.executable, *filter(None, os.environ.get("NEUROLENS_PYTHONS", "").split(":"))]:
        found = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        if subprocess.run([python, "-c", found]).returncode == 0:
            return python
    return None


def need(module):
    python = python_with(module)
    if python is None:
        pytest.skip(f"no Python with {module}: name one in NEUROLENS_PYTHONS")
    return python


def pids_of(*words):
    """Processes whose command line holds all of the words."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if all(str(word).encode() in line for word in words):
            found.append(int(folder.name))
    return found


PEAK = """
import resource, subprocess, sys
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=open(sys.argv[1], "wb"))
try:
    code = child.wait(60)
except subprocess.TimeoutExpired:
    child.kill()
    code = child.wait()
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def peak_memory(command, output=os.devnull, environment=None):
    """Exit code, peak in MB and messages of a program, which is killed after a minute. The kernel counts the memory of the
    process that starts it as its own at first, so that a small one starts it."""
    command = [sys.executable, "-c", PEAK, output, *map(str, command)]
    done = subprocess.run(command, capture_output=True, env=environment, check=True)
    code, kilobytes = map(int, done.stdout.split())
    return code, kilobytes / 1024, done.stderr.decode("utf-8", "replace")


class Result:
    """Outcome of one call of the binary."""

    def __init__(self, done):
        self.code = done.returncode
        self.bytes = done.stdout
        self.out = done.stdout.decode("utf-8", "replace")
        self.err = done.stderr.decode("utf-8", "replace")

    @property
    def envelope(self):
        return json.loads(self.out)

    @property
    def data(self):
        return self.envelope["data"]

    def __repr__(self):
        return f"exit code {self.code}\nstdout: {self.out[:2000]}\nstderr: {self.err[:2000]}"


class Neurolens:
    """The binary with one ledger."""

    def __init__(self, ledger, environment=None):
        self.ledger = pathlib.Path(ledger)
        self.environment = {**os.environ, "TZ": "UTC", "XDG_CACHE_HOME": f"{ledger}.cache", **(environment or {})}

    def command(self, *arguments):
        """Behind -- stand the words of another program."""
        words = [*map(os.fspath, arguments)]
        end = words.index("--") if "--" in words else len(words)
        return [str(BINARY), *words[:end], "--ledger", str(self.ledger), *words[end:]]

    def start(self, *arguments):
        """Runs in the background; its output is piped."""
        return subprocess.Popen(
            self.command(*arguments), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def __call__(self, *arguments, code=OK, **options):
        """Runs to the end; `code` is the exit code that must come, None for any."""
        options = {"env": self.environment, "timeout": 120, "stdin": subprocess.DEVNULL, **options}
        if "input" in options:
            del options["stdin"]
        result = Result(subprocess.run(self.command(*arguments), capture_output=True, **options))
        assert code is None or result.code == code, result
        return result

    def import_file(self, path, *arguments):
        return self("import", path, "--json", *arguments).data

    def rows(self, run, sql):
        """Rows of a query as a list of objects."""
        return json.loads(self("query", run, sql, "--format", "json").out)

    def value(self, run, sql):
        (row,) = self.rows(run, sql)
        (value,) = row.values()
        return value

    def runs(self):
        return self("runs", "--limit", "1000", "--json").data["runs"]

    def run_ids(self):
        return [run["run_id"] for run in self.runs()]

    def bundle(self, run_id):
        return self.ledger / "runs" / run_id

    def facts(self, run_id):
        """sha256 of every fact table, by file name."""
        return {path.name: sha256_of(path) for path in sorted(self.bundle(run_id).glob("*.parquet"))}

    def files(self, run_id):
        """sha256 of every file of a bundle, derived tables included."""
        bundle = self.bundle(run_id)
        return {str(p.relative_to(bundle)): sha256_of(p) for p in sorted(bundle.rglob("*")) if p.is_file()}

    def leftovers(self):
        staging = self.ledger / "staging"
        return sorted(p.name for p in staging.iterdir()) if staging.exists() else []


@pytest.fixture(scope="session", autouse=True)
def binary():
    if not os.access(BINARY, os.X_OK):
        pytest.exit(f"no binary at {BINARY}: build it or set NEUROLENS_BIN", returncode=2)
    return BINARY


@pytest.fixture
def neurolens(tmp_path):
    """The binary with an empty ledger."""
    return Neurolens(tmp_path / "ledger")


@pytest.fixture
def small_trace(tmp_path):
    """Two blocks: 206 records."""
    path = tmp_path / "small.json"
    path.write_text(trace_text.trace_text())
    return path


@pytest.fixture
def small_run(neurolens, small_trace):
    """Id of the small trace, imported."""
    return neurolens.import_file(small_trace)["run_id"]


@pytest.fixture
def make_trace(tmp_path):
    """Writes a trace of so many blocks; another variant has another run id."""

    def make(variant=0, blocks=1, name=None):
        path = tmp_path / (name or f"trace-{variant}.json")
        path.write_text(trace_text.trace_text(blocks, variant))
        return path

    return make


@pytest.fixture(scope="session")
def big_head(tmp_path_factory):
    """A gzip member with a million records; a second member must close the JSON."""
    path = tmp_path_factory.mktemp("big") / "head.gz"
    trace_text.write_gzip_head(path, blocks=10_000)
    return path


@pytest.fixture
def make_big_trace(big_head, tmp_path):
    """A trace of a million records, .json.gz; another variant differs in its last bytes only."""

    def make(variant):
        path = tmp_path / f"big-{variant}.json.gz"
        path.write_bytes(big_head.read_bytes() + trace_text.gzip_bytes(trace_text.ending(variant)))
        return path

    return make


@pytest.fixture
def serve(neurolens):
    """Starts a server of the ledger, with these options; it ends with the test."""
    started = []

    def start(*options, **more):
        started.append(server.Server(neurolens, *options, **more))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture(scope="session")
def kineto_traces():
    """Recorded traces, smallest first."""
    folder = TRACES / "kineto"
    if not folder.is_dir():
        pytest.skip(f"no recorded traces in {folder}: set NEUROLENS_TRACES")
    return sorted(folder.glob("*.json*"), key=lambda path: (path.stat().st_size, path.name))


@pytest.fixture(scope="session")
def validator():
    deps = pathlib.Path(os.environ.get("NEUROLENS_DEPS", REPOSITORY / ".deps"))
    found = sorted(deps.glob("html-validate-*/node_modules/.bin/html-validate"))
    if not found:
        pytest.skip(f"no html-validate in {deps}: run tools/setup with npm in the path")
    return found[-1]


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="no playwright: run tools/setup")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium in the path")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
