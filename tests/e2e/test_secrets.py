"""Secrets that people put on command lines, into variables and into URLs are not in the ledger, in answers or in reports.

Each place gets a secret of its own, so that a failure says which one leaked. What the events of a profile say are facts and
stay; so does what the program itself prints (artifacts/stdout.txt).
"""

import base64
import json
import pathlib
import urllib.parse

from conftest import OK, Neurolens

PLAIN = "zq{:02d}Xw7LmVt9KdRb4"


class Secrets:
    """Gives out secrets and looks for them."""

    def __init__(self):
        self.places = {}

    def new(self, place, form=PLAIN):
        secret = form.format(len(self.places))
        self.places[secret] = place
        return secret

    def forms(self):
        for secret, place in self.places.items():
            yield secret.encode(), place
            yield base64.b64encode(secret.encode()).rstrip(b"="), place + ", in base64"
            yield urllib.parse.quote(secret, safe="").encode(), place + ", as in URLs"

    def found_in(self, data):
        return sorted({place for form, place in self.forms() if form in data})


def tables_of(ledger, run):
    """Parquet is compressed: the rows are asked for."""
    text = []
    bundle = ledger.bundle(run)
    for path in sorted(bundle.glob("*.parquet")):
        text.append(ledger("query", run, f"SELECT * FROM {path.stem}", "--format", "csv").bytes)
    return b"".join(text)


def everything(ledger, run, tmp_path, number):
    """(where, bytes) of all that the ledger holds and says of a run."""
    for path in sorted(ledger.ledger.rglob("*")):
        if path.is_file() and path.name not in ("stdout.txt", "stderr.txt"):
            yield str(path.relative_to(ledger.ledger)), path.read_bytes()
    yield "tables", tables_of(ledger, run)
    for arguments in (["runs"], ["show", run], ["analyze", run], ["findings", run], ["verify", run], ["label", run], ["lint", run]):
        yield " ".join(arguments[:1]), ledger(*arguments, "--json", code=None).bytes
        yield " ".join(arguments[:1]) + " as text", ledger(*arguments, code=None).bytes
    yield "state", ledger("state", "export", code=None).bytes
    exported = tmp_path / f"exported-{number}"
    ledger("export", run, "--output", exported, code=None)
    reports = tmp_path / f"report-{number}"
    for form in ("html", "markdown", "json"):
        ledger("report", run, "--format", form, "--output", reports / form, code=None)
    page = pathlib.Path(ledger("view", run, "--print", code=None).out.strip() or tmp_path / "none")
    for folder in (exported, reports, page):
        for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
            if path.is_file():
                yield path.name, path.read_bytes()


def check(ledger, run, secrets, tmp_path, number=0):
    leaks = []
    for where, data in everything(ledger, run, tmp_path, number):
        leaks += [f"{place} is in {where}" for place in secrets.found_in(data)]
    assert leaks == []


COMMAND_LINES = {
    "an option with =": lambda s: [f"--token={s}"],
    "an option and a word": lambda s: ["--api-key", s],
    "a password": lambda s: ["--password", s],
    "a password with =, and more behind": lambda s: [f"--db-password={s},x;y"],
    "-p": lambda s: ["-p", s],
    "a header": lambda s: ["-H", f"Authorization: Bearer {s}"],
    "a header of another name": lambda s: ["-H", f"X-Api-Key: {s}"],
    "a user of curl": lambda s: ["-u", f"me:{s}"],
    "a URL": lambda s: [f"https://me:{s}@host.example/model"],
    "a URL without a password": lambda s: [f"https://{s}@host.example/model"],
    "a parameter of a URL": lambda s: [f"https://host.example/model?token={s}&n=1"],
    "a signed URL": lambda s: [f"https://host.example/model?n=1&X-Amz-Signature={s}"],
    "a URL in a URL": lambda s: ["https://host.example/?to=" + urllib.parse.quote(f"https://me:{s}@other.example/", safe="")],
    "a variable": lambda s: [f"OPENAI_API_KEY={s}"],
    "words for a shell": lambda s: [f"run --secret {s} --batch 8"],
    "a variable for a shell": lambda s: [f"export HF_TOKEN={s}; true"],
    "JSON": lambda s: [json.dumps({"client_secret": s, "batch": 8})],
    "a database": lambda s: ["--store", f"redis://:{s}@host.example/0"],
}
FORMS = {
    "a key of Hugging Face": "hf_aBcDeFgHiJkLmNoPqRsTuVwX{:02d}9yZab",
    "a key of OpenAI": "sk-proj-aBcDeFgHiJkL{:02d}nOpQ",
    "a key of GitHub": "ghp_aBcDeFgHiJkLmNoPqRsTuVw{:02d}XyZ",
    "a key of AWS": "AKIAQWERTYUIOPAS{:02d}DF",
    "a key of NVIDIA": "nvapi-aBcDeFgHiJkLmNoPqRsTuVw{:02d}",
    "a JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ7{:02d}.c2lnbmF0",
}
VARIABLES = {
    "VLLM_API_KEY": "{}",
    "HF_TOKEN": "{}",
    "MY_SETTING": "{}",
    "TORCH_AUTH_HEADER": "{}",
    "PYTHONPATH": "/home/{}/lib",
    "LD_LIBRARY_PATH": "/home/{}/lib",
    "NCCL_PROXY": "https://me:{}@host.example",
    "TRANSFORMERS_CACHE": "/home/{}/cache",
    "NEUROLENS_NOTE": "token={}",
    "http_proxy": "http://me:{}@proxy.example:80",
}


def planted(secrets):
    words = []
    for place, make in COMMAND_LINES.items():
        words += make(secrets.new("on the command line: " + place))
    for place, form in FORMS.items():
        words.append(secrets.new("on the command line: " + place, form))
    return words


def environment(secrets):
    return {name: form.format(secrets.new("variable " + name)) for name, form in VARIABLES.items()}


def test_recorded_programs(tmp_path):
    secrets = Secrets()
    ledger = Neurolens(tmp_path / "ledger", environment(secrets))
    result = ledger("record", "--silent", "--json", "--", "true", *planted(secrets))
    assert "[removed]" in result.out and secrets.found_in(result.bytes) == []
    assert len(secrets.places) >= 30
    document = (ledger.bundle(result.data["run_id"]) / "run.json").read_text()
    assert "--batch 8" in document, "the other words stay"
    check(ledger, result.data["run_id"], secrets, tmp_path)


def test_the_receipt_of_an_import(tmp_path, small_trace):
    """The words behind -- are those of another program; ours may hold some as well."""
    secrets = Secrets()
    ledger = Neurolens(tmp_path / "ledger", environment(secrets))
    named = tmp_path / f"trace token={secrets.new('the name of a file')} x.json"
    named.write_bytes(small_trace.read_bytes())
    run = ledger.import_file(named)["run_id"]
    check(ledger, run, secrets, tmp_path)


def test_what_a_trace_says_around_its_events(tmp_path):
    secrets = Secrets()
    new = secrets.new
    trace = {
        "schemaVersion": 1,
        "traceName": f"https://me:{new('the name of a trace')}@store.example/trace.json?sig={new('a signed name')}",
        "trace_id": "A1",
        "distributedInfo": {
            "backend": "nccl",
            "rank": 0,
            "world_size": 1,
            "environment": {"HF_TOKEN": new("variables in distributedInfo")},
            "master": f"tcp://u:{new('a URL in distributedInfo')}@host.example",
            "pg_config": [{"pg_name": "0", "api_key": new("a key in a list")}],
        },
        "argv": ["--token", new("a command line in a trace")],
        "env": {"A": new("variables of a trace")},
        "deviceProperties": [{"id": 0, "name": "GPU", "computeMajor": 8, "computeMinor": 0, "numSms": 100, "totalGlobalMem": 1 << 30}],
        "cuda_driver_version": f"12 {new('a key among versions', 'hf_aBcDeFgHiJkLmNoPqRsTuVwX{:02d}9yZab')}",
        "traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 5, "args": {"External id": 1}},
            {
                "ph": "X",
                "cat": "kernel",
                "name": "gemm",
                "pid": 0,
                "tid": 7,
                "ts": 20,
                "dur": 9,
                "args": {"device": 0, "stream": 7, "correlation": 1, "External id": 1},
            },
        ],
    }
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(trace))
    ledger = Neurolens(tmp_path / "ledger")
    run = ledger.import_file(path)["run_id"]
    assert ledger("show", run).code == OK
    check(ledger, run, secrets, tmp_path)


def test_a_capture_that_an_older_version_wrote(tmp_path):
    """capture.json of another machine is a source like any other: it is cleaned again."""
    secrets = Secrets()
    new = secrets.new
    document = {
        "schema": "neurolens.capture/1",
        "tool_version": "0.1",
        "command": f"neurolens record -- serve --api-key {new('its command')}",
        "workload": {"command": ["serve", "--token", new("its workload")]},
        "arguments": ["trtexec", "--password=" + new("arguments of trtexec")],
        "environment": {"variables": {"HF_TOKEN": new("its variables"), "PROXY": f"http://u:{new('its proxy')}@h.example"}},
        "checkout": {"remote": f"https://me:{new('a remote of git')}@git.example/r.git"},
        "framework": {"name": "torch", "version": f"2 https://{new('a version')}@index.example/simple"},
        "clock": {"monotonic_ns": 1, "unix_ns": 2, "bound_ns": 0, "boot_id": ""},
        "iterations": [{"pass": "unprofiled", "warm_up": False, "start_ns": 1, "dur_ns": 5, "cpu_ns": 5}],
    }
    path = tmp_path / "capture.json"
    path.write_text(json.dumps(document))
    ledger = Neurolens(tmp_path / "ledger")
    run = ledger.import_file(path)["run_id"]
    assert ledger.value(run, "SELECT count(*) FROM iterations WHERE pass = 'unprofiled'") == 1
    check(ledger, run, secrets, tmp_path)


def test_labels_and_notes_that_people_give_stay(tmp_path, small_trace):
    ledger = Neurolens(tmp_path / "ledger")
    run = ledger.import_file(small_trace)["run_id"]
    ledger("label", run, "ticket=token=abc")
    ledger("note", run, "the key is under the mat: password=abc")
    assert "token=abc" in ledger("label", run).out and "password=abc" in ledger("note", run).out
