"""Equal faces: over HTTP an operation gives what it gives on the command line, and exactly the operations are offered
whose declaration says so."""

import json
import pathlib
import re
import shutil
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import REPOSITORY, TRACES, Neurolens
from server import Server

SAMPLES = sorted((REPOSITORY / "samples").glob("*.json"))
BASE, NEW = "kineto_small.json", "kineto_small_after.json"

# Calls of each operation: parameters over HTTP, and the words of the command line that mean the same. {base}, {new} and
# {full} stand for runs.
READS: dict[str, list[tuple[dict[str, Any], list[str]]]] = {
    "analyze": [
        ({"run": "{base}"}, ["{base}"]),
        ({"run": "{full}", "top": 3, "window": "whole"}, ["{full}", "--top", "3", "--window", "whole"]),
        ({"run": "{base}", "budget": 800}, ["{base}", "--budget", "800"]),
    ],
    "compare": [
        ({"runs": ["{base}", "{new}"]}, ["{base}", "{new}"]),
        ({"base": ["{base}"], "new": ["{new}"], "threshold": "5%", "keep_warm_up": True},
         ["--base", "{base}", "--new", "{new}", "--threshold", "5%", "--keep-warm-up"]),
    ],
    "explain": [
        ({"metric": "idle_time"}, ["--metric", "idle_time"]),
        ({"run": "{base}", "finding": "launch_bound"}, ["{base}", "--finding", "launch_bound"]),
        ({"run": "{full}", "kernel": "gemm"}, ["{full}", "--kernel", "gemm"]),
        ({"run": "{full}", "span": "kernels:0"}, ["{full}", "--span", "kernels:0"]),
    ],
    "findings": [({}, []), ({"run": "{base}"}, ["{base}"]), ({"score": True}, ["--score"])],
    "fingerprint": [({"run": "{base}"}, ["{base}"]), ({"run": "{new}", "top": 2}, ["{new}", "--top", "2"])],
    "lint": [({"run": "{base}"}, ["{base}"]), ({"run": "{full}", "top": 1}, ["{full}", "--top", "1"])],
    "metrics": [({}, []), ({"name": "total_time"}, ["total_time"])],
    "query": [
        ({"run": "{base}", "sql": "SELECT name, dur_ns FROM kernels ORDER BY ALL"},
         ["{base}", "SELECT name, dur_ns FROM kernels ORDER BY ALL"]),
        ({"run": "{full}", "sql": "SELECT range, 1.5, NULL, 'é' FROM range(10)", "limit": 3},
         ["{full}", "SELECT range, 1.5, NULL, 'é' FROM range(10)", "--limit", "3"]),
    ],
    "rules": [({}, []), ({"action": "list"}, ["list"])],
    "runs": [
        ({}, []),
        ({"limit": 2, "offset": 1, "reverse": True}, ["--limit", "2", "--offset", "1", "--reverse"]),
        ({"facets": "format"}, ["--facets", "format"]),
        ({"where": ["format=kineto"], "sort": "format"}, ["--where", "format=kineto", "--sort", "format"]),
        ({"group": "format"}, ["--group", "format"]),
    ],
    "schema": [({}, []), ({"what": "kernels"}, ["kernels"]), ({"what": "operations"}, ["operations"]),
               ({"what": "print", "target": "run"}, ["print", "run"])],
    "show": [({"run": "{base}"}, ["{base}"]), ({"run": "@latest", "top": 2}, ["@latest", "--top", "2"])],
    "similar": [({"run": "{base}"}, ["{base}"]), ({"run": "{full}", "top": 1}, ["{full}", "--top", "1"])],
    "suggest": [({"run": "{base}"}, ["{base}"]), ({"run": "{full}", "top": 1}, ["{full}", "--top", "1"])],
    "triage": [({"run": "{base}"}, ["{base}"]), ({"run": "{full}", "window": "whole"}, ["{full}", "--window", "whole"])],
    "live": [({}, [])],
    "system": [({}, [])],
    "timeline": [({"run": "{base}"}, ["{base}"]), ({"run": "{base}", "what": "area"}, ["{base}", "area"]),
                 ({"run": "{base}", "what": "tile"}, ["{base}", "tile"]),
                 ({"run": "{base}", "what": "search", "text": "E"}, ["{base}", "search", "--text", "E"])],
    "outliers": [({}, []), ({"metric": "total_time", "group_by": "format"}, ["--metric", "total_time", "--group-by", "format"])],
    "trend": [({}, []), ({"metric": "total_time", "group_by": "format"}, ["--metric", "total_time", "--group-by", "format"])],
    "verify": [({"run": "{base}"}, ["{base}"]), ({"run": "{full}"}, ["{full}"])],
}  # fmt: skip
# In this order; each face writes into a ledger of its own.
WRITES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("label", {"run": "{base}", "labels": ["model=mine", "note=two words"]}, ["{base}", "model=mine", "note=two words"]),
    ("label", {"run": "{base}"}, ["{base}"]),
    ("tag", {"run": "{base}", "names": ["good", "old"]}, ["{base}", "good", "old"]),
    ("tag", {"run": "good", "names": ["old"], "remove": True}, ["good", "old", "--remove"]),
    ("note", {"run": "{base}", "text": "a note, 'quoted' é"}, ["{base}", "a note, 'quoted' é"]),
    ("note", {"run": "{base}"}, ["{base}"]),
    ("note", {"run": "{base}", "remove": 1}, ["{base}", "--remove", "1"]),
    ("baseline", {"name": "main", "run": "{base}"}, ["main", "{base}"]),
    ("baseline", {}, []),
    ("compare", {"runs": ["@baseline:main", "{new}"]}, ["@baseline:main", "{new}"]),
    ("baseline", {"name": "main", "run": "{new}", "add": True}, ["main", "{new}", "--add"]),
    ("baseline", {"name": "main", "remove": True}, ["main", "--remove"]),
    ("slice", {"run": "{base}", "window": "whole"}, ["{base}", "--window", "whole"]),
    ("delete", {"run": "{new}", "reason": "a test"}, ["{new}", "--reason", "a test"]),
    ("runs", {}, []),
]
# Answers that are bytes.
STREAMS: list[tuple[str, dict[str, Any], list[str]]] = [
    *(("export", {"run": "{base}", "format": form}, ["{base}", "--format", form])
      for form in ("neurolens-json", "chrome", "collapsed", "otlp", "pprof", "speedscope")),
    ("report", {"run": "{base}", "format": "json"}, ["{base}", "--format", "json"]),
    ("report", {"run": "{full}", "format": "html", "top": 3}, ["{full}", "--format", "html", "--top", "3"]),
]  # fmt: skip
# Files come with an import, secrets with a token, and doctor is about the machine of whoever asks: they have tests of their own.
ALONE = {"doctor", "import", "token"}
# What must differ, as the last step of where it stands: when something was done.
TIMES = {"imported_at_ns", "deleted_at_ns", "written_at_ns", "set_at_ns"}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Neurolens:
    neurolens = Neurolens(tmp_path_factory.mktemp("faces") / "ledger")
    recorded = sorted(filter(pathlib.Path.is_file, (TRACES / "kineto").glob("*.json*")), key=lambda one: one.stat().st_size)[:3]
    for path in [*recorded, *SAMPLES]:
        neurolens.import_file(path)
    return neurolens


@pytest.fixture(scope="module")
def server(ledger: Neurolens) -> Iterator[Server]:
    one = Server(ledger)
    yield one
    one.kill()


@pytest.fixture(scope="module")
def runs(ledger: Neurolens) -> dict[str, str]:
    by_file = {pathlib.Path(run["file_names"]).name: run["run_id"] for run in ledger.runs()}
    return {"base": by_file[BASE], "new": by_file[NEW], "full": by_file["native_full.json"]}


def filled(value: Any, runs: dict[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"\{(base|new|full)\}", lambda found: runs[found[1]], value)
    if isinstance(value, list):
        return [filled(one, runs) for one in value]
    return {key: filled(one, runs) for key, one in value.items()} if isinstance(value, dict) else value


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Field by field."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(set(one) | set(other))
        missing = [f"{where}/{key}: only in one" for key in keys if (key in one) != (key in other)]
        both = [key for key in keys if key in one and key in other and key not in TIMES]
        return missing + [found for key in both for found in differences(one[key], other[key], f"{where}/{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [found for n, pair in enumerate(zip(one, other)) for found in differences(*pair, f"{where}/{n}")]
    return [] if one == other and type(one) is type(other) else [f"{where}: {one!r:.200} and {other!r:.200}"]


def as_query(parameters: dict[str, Any]) -> str:
    def text(value: Any) -> Any:
        return json.dumps(value) if isinstance(value, bool) else value

    pairs = [(key, text(one)) for key, value in parameters.items() for one in (value if isinstance(value, list) else [value])]
    return urllib.parse.urlencode(pairs)


def offered(server: Server) -> dict[str, Any]:
    """Operations that openapi.json lists, with their methods."""
    paths = server.get("/api/v1/openapi.json").json["paths"]
    others = re.compile(r"/api/v1/(caller$|jobs|uploads|runs/)")
    return {path.removeprefix("/api/v1/"): methods for path, methods in paths.items() if not others.match(path)}


def declared() -> dict[str, bool]:
    """What each operation of the registry says about HTTP, from its source: no answer tells it."""
    found = {}
    for path in sorted((REPOSITORY / "src/ops/operations").glob("*.cpp")):
        text = path.read_text()
        name, reach = re.search(r'\.name = "(\w+)"', text), re.search(r"\.reach = \{(.*?)\}", text)
        assert name and reach, path
        found[name[1]] = ".http = true" in reach[1]
    return found


# ---- What is offered


def test_what_is_declared_is_offered(server: Server, ledger: Neurolens) -> None:
    reach = declared()
    assert set(reach) == set(ledger("schema", "operations", "--json").data["operations"])
    assert set(offered(server)) == {name for name, http in reach.items() if http}


def test_every_operation_is_compared(server: Server) -> None:
    compared = {*READS, *ALONE, *(name for name, _, _ in [*WRITES, *STREAMS])}
    assert set(offered(server)) == compared, "give each operation a line in READS or WRITES"


@pytest.mark.parametrize("name", [*sorted(name for name, http in declared().items() if not http), "serve"])
def test_what_is_not_declared_is_not_there(server: Server, name: str) -> None:
    for answer in (server.get(f"/api/v1/{name}"), server.call(name), server.ask("DELETE", f"/api/v1/{name}")):
        assert answer.status == 404 and answer.json["error"]["code"] == "not_found", answer
    later = server.post(f"/api/v1/{name}", {}, {"Prefer": "respond-async"})
    assert later.status == 404


def test_reads_are_asked_by_get(server: Server) -> None:
    for name, methods in offered(server).items():
        assert "post" in methods
        assert server.get(f"/api/v1/{name}?nothing=1").status == (400 if "get" in methods else 405), name
    assert "get" not in offered(server)["query"] and "get" in offered(server)["show"]


def test_parameters_of_get_are_those_of_post(server: Server) -> None:
    for name, methods in offered(server).items():
        if "get" in methods:
            schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
            assert {one["name"] for one in methods["get"]["parameters"]} == set(schema["properties"]), name


# ---- Equal answers

CALLS = [(name, *call) for name, calls in READS.items() for call in calls]


@pytest.mark.parametrize(("name", "parameters", "words"), CALLS, ids=[f"{name}-{as_query(given)}"[:70] for name, given, _ in CALLS])
def test_faces_are_equal(server: Server, ledger: Neurolens, runs, name: str, parameters: dict, words: list[str]) -> None:
    parameters = filled(parameters, runs)
    cli = ledger(name, *filled(words, runs), "--json", code=None).envelope
    answers = [server.call(name, **parameters)]
    if "get" in offered(server)[name]:
        answers.append(server.get(f"/api/v1/{name}?{as_query(parameters)}"))
    for answer in answers:
        assert answer.status == 200, answer
        assert differences(cli["data"], answer.json["data"]) == []
        assert set(cli) == set(answer.json) and cli["schema"] == answer.json["schema"] and cli["version"] == answer.json["version"]
        assert len(cli["warnings"]) == len(answer.json["warnings"]) and len(cli["next"]) == len(answer.json["next"])


@pytest.mark.parametrize(("name", "parameters", "words"), STREAMS, ids=[f"{name}-{given['format']}" for name, given, _ in STREAMS])
def test_streams_are_equal(server: Server, ledger: Neurolens, runs, name: str, parameters: dict, words: list[str]) -> None:
    parameters = filled(parameters, runs)
    cli = ledger(name, *filled(words, runs))
    for answer in (server.call(name, **parameters), server.get(f"/api/v1/{name}?{as_query(parameters)}")):
        assert answer.status == 200 and answer.body == cli.bytes, answer


def test_doctor_tells_little_of_the_machine(server: Server, ledger: Neurolens) -> None:
    answer = server.call("doctor")
    cli = {one["check"]: one["status"] for one in ledger("doctor", "--json", code=None).data["checks"]}
    here = {one["check"]: one["status"] for one in answer.data["checks"]}
    assert here.items() <= cli.items() and {"version", "ledger"} <= set(here)
    assert str(ledger.ledger) not in answer.text and "/usr/" not in answer.text
    asked = {one["check"]: one["status"] for one in server.get("/api/v1/doctor").data["checks"]}
    assert asked == here, "details, such as free memory, change"


def test_tokens_are_equal(serve, neurolens: Neurolens) -> None:
    server = serve()
    made = server.call("token", action="add", name="ci", role="write").data
    assert server.get("/api/v1/runs", token=made["token"]).status == 200
    assert differences(neurolens("token", "--json").data, server.call("token").data) == []
    other = neurolens("token", "add", "cli", "--role", "read", "--json").data["token"]
    assert server.get("/api/v1/runs", token=other).status == 200
    assert server.post("/api/v1/token", {}, token=made["token"]).status == 403, "only an administrator"
    (public,) = [one["id"] for one in server.call("token").data["tokens"] if one["name"] == "ci"]
    neurolens("token", "revoke", public)
    assert server.get("/api/v1/runs", token=made["token"]).status == 401
    assert made["token"] not in server.call("token").text + (server.ledger / "audit.jsonl").read_text()


def test_answers_follow_their_schemas(server: Server, runs) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    document = server.get("/api/v1/openapi.json").json
    paths = document["paths"]
    for name, parameters, _ in CALLS:
        answer = server.call(name, **filled(parameters, runs))
        schema = paths[f"/api/v1/{name}"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        schema["components"] = document["components"]  # where its references lead
        jsonschema.validate(answer.json, schema)


def test_writing_faces_are_equal(tmp_path, ledger: Neurolens, runs) -> None:
    ours, theirs = Neurolens(tmp_path / "http" / "ledger"), Neurolens(tmp_path / "line" / "ledger")
    for one in (ours, theirs):
        shutil.copytree(ledger.ledger, one.ledger)
    server = Server(ours)
    try:
        for name, parameters, words in WRITES:
            cli = theirs(name, *filled(words, runs), "--json", code=None).envelope
            answer = server.call(name, **filled(parameters, runs))
            assert answer.status == 200, f"{name} {parameters}: {answer}"
            assert differences(cli["data"], answer.json["data"]) == [], f"{name} {parameters}"
    finally:
        server.kill()
    for words in (["runs"], ["label", runs["base"]], ["tag", runs["base"]], ["note", runs["base"]], ["baseline"]):
        assert differences(ours(*words, "--json").data, theirs(*words, "--json").data) == [], words


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_imports_are_equal(tmp_path, serve, sample: pathlib.Path) -> None:
    other = Neurolens(tmp_path / "line" / "ledger")
    cli = other.import_file(sample)
    server = serve()
    job = server.import_upload(server.upload((sample.name, sample.read_bytes())))
    assert job["state"] == "done", job
    found = differences({**cli, "path": sample.name}, job["answer"]["data"])
    assert found == []
    run = cli["run_id"]
    facts = {path.name for path in (server.ledger / "runs" / run).glob("*.parquet")}
    assert facts == {path.name for path in other.bundle(run).glob("*.parquet")}
    for name in facts:
        assert (server.ledger / "runs" / run / name).read_bytes() == (other.bundle(run) / name).read_bytes(), name


ERRORS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("show", {"run": "ffffffffffff"}, ["ffffffffffff"]),
    ("show", {}, []),
    ("query", {"run": "@latest", "sql": "SELECT nothing"}, ["@latest", "SELECT nothing"]),
    ("runs", {"limit": -1}, ["--limit", "-1"]),
    ("runs", {"where": ["nonsense"]}, ["--where", "nonsense"]),
    ("metrics", {"name": "no_such_metric"}, ["no_such_metric"]),
    ("rules", {"action": "show", "targets": ["no_such_rule"]}, ["show", "no_such_rule"]),
]


@pytest.mark.parametrize(("name", "parameters", "words"), ERRORS, ids=[f"{name}-{as_query(given)}" for name, given, _ in ERRORS])
def test_faults_are_equal(server: Server, ledger: Neurolens, name: str, parameters: dict, words: list[str]) -> None:
    cli = ledger(name, *words, "--json", code=None).envelope
    answer = server.call(name, **parameters).json
    assert ("error" in cli) == ("error" in answer), answer
    if "error" in cli:
        assert cli["error"]["code"] == answer["error"]["code"], (cli, answer)
