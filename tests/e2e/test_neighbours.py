"""The command line asks a server (`--ledger URL`, push, pull): one of its own version, a newer one that adds to its answers, an older one
that does not know an operation or a parameter, and something that is no such server at all."""

import functools
import json
import pathlib
import re
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import trace_text
from conftest import BAD_INPUT, BINARY, GATE_FAILED, MISSING, OK, Neurolens, Result
from neighbours import LATER, Changed, Neighbour, Newer, Older, Proxy, Question, Stranger, made, without_later
from server import Answer, Server

SQL = "SELECT name, count(*) AS n, sum(dur_ns) AS ns FROM kernels GROUP BY name ORDER BY ns DESC, name"
# What no person should read: raw JSON, addresses of the API, our own exceptions.
RAW = ('{"', "/api/v1", "[json.exception", "a bug in neurolens", "map::at", "<html")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Neurolens:
    """Two runs, one of them with labels and a note."""
    folder = tmp_path_factory.mktemp("neighbours")
    neurolens = Neurolens(folder / "ledger")
    for variant in range(2):
        path = folder / f"trace-{variant}.json"
        path.write_text(trace_text.trace_text(2 + variant, variant))
        neurolens("import", path, "--set", f"model=m{variant}")
    neurolens("tag", "@latest", "new")
    neurolens("note", "@latest", "looks fine")
    return neurolens


@pytest.fixture(scope="module")
def runs(ledger: Neurolens) -> list[str]:
    """The newest first."""
    return [str(one) for one in ledger.run_ids()]


@pytest.fixture(scope="module")
def server(ledger: Neurolens) -> Iterator[Server]:
    one = Server(ledger)
    yield one
    one.kill()


class Client:
    """The command line, with a token of the server."""

    def __init__(self, server: Server, own: pathlib.Path):
        self.own = Neurolens(own, {"NEUROLENS_TOKEN": server.token or ""})

    def __call__(self, url: str, *words: str, code: int | None = OK) -> Result:
        """Asks the server; push and pull also have a ledger of their own."""
        between = {"push": ["--to", url], "pull": ["--from", url]}.get(words[0])
        command = [str(BINARY), *words, *(between or []), "--ledger", str(self.own.ledger) if between else url]
        done = subprocess.run(command, capture_output=True, env=self.own.environment, stdin=subprocess.DEVNULL, timeout=60)
        result = Result(done)
        assert code is None or result.code == code, result
        return result


@pytest.fixture
def client(server: Server, tmp_path: pathlib.Path) -> Client:
    return Client(server, tmp_path / "own")


@pytest.fixture
def through(server: Server) -> Iterator[Callable[[Neighbour], str]]:
    """The address of such a neighbour."""
    started: list[Proxy] = []

    def start(neighbour: Neighbour) -> str:
        started.append(Proxy(server, neighbour).__enter__())
        return started[-1].url

    yield start
    for one in started:
        one.__exit__(None, None, None)


def small(tmp_path: pathlib.Path, variant: int) -> str:
    path = tmp_path / f"sent-{variant}.json"
    path.write_text(trace_text.trace_text(1, variant))
    return str(path)


def label(ledger: Neurolens, run: str, key: str) -> str:
    (value,) = (one["value"] for one in ledger("label", run, "--json").data["labels"] if one["key"] == key)
    return str(value)


READS = {
    "runs": ["runs"],
    "runs of a model": ["runs", "--where", "model=m1", "--limit", "5"],
    "show": ["show", "@latest"],
    "analyze": ["analyze", "@latest"],
    "analyze, a budget": ["analyze", "@latest", "--budget", "2000"],
    "compare": ["compare", "RUN1", "RUN0"],
    "query": ["query", "@latest", SQL],
    "note": ["note", "@latest"],
    "label": ["label", "@latest"],
    "findings": ["findings", "@latest"],
    "verify": ["verify", "@latest"],
    "trend": ["trend", "--metric", "total_time"],
}


@pytest.fixture(params=READS)
def words(request: pytest.FixtureRequest, runs: list[str]) -> list[str]:
    names = {"RUN0": runs[0], "RUN1": runs[1]}
    return [names.get(word, word) for word in READS[request.param]]


def told(result: Result) -> None:
    """An error in words: no JSON, no addresses of the API, no exception."""
    assert result.err.startswith("neurolens: "), result
    assert not any(one in result.err for one in RAW), result
    assert len(result.err.splitlines()) <= 2, result


# ---- A server of the same version


def test_a_server_answers_as_the_ledger(client: Client, ledger: Neurolens, server: Server, words: list[str]) -> None:
    assert client(server.url, *words, "--json", code=None).data == ledger(*words, "--json", code=None).data
    if "--budget" not in words:
        assert client(server.url, *words).out == ledger(*words).out


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "arrow"])
def test_rows_are_those_of_the_ledger(client: Client, ledger: Neurolens, server: Server, form: str) -> None:
    words = ["query", "@latest", SQL, "--format", form]
    assert client(server.url, *words).bytes == ledger(*words).bytes


def test_a_note_is_written_there(client: Client, ledger: Neurolens, server: Server, runs: list[str]) -> None:
    client(server.url, "note", runs[1], "from afar")
    assert ledger("note", runs[1], "--json").data["notes"][-1]["text"] == "from afar"


def test_a_run_goes_there_and_back(client: Client, ledger: Neurolens, server: Server, tmp_path: pathlib.Path) -> None:
    (sent,) = client(server.url, "push", small(tmp_path, 10), "--set", "model=sent", "--json").data["runs"]
    assert sent["created"] and label(ledger, sent["run_id"], "model") == "sent"
    pulled = client(server.url, "pull", sent["run_id"][:12], "--json").data
    assert pulled["run_id"] == sent["run_id"] and pulled["created"]
    assert client.own.facts(sent["run_id"]) == ledger.facts(sent["run_id"])
    (again,) = client(server.url, "push", sent["run_id"], "--json").data["runs"]
    assert again["run_id"] == sent["run_id"] and not again["created"]


def test_import_to_a_server_is_push(client: Client, ledger: Neurolens, server: Server, tmp_path: pathlib.Path) -> None:
    (sent,) = client.own("import", small(tmp_path, 30), "--to", server.url, "--json").data["runs"]
    assert sent["created"] and sent["run_id"] in ledger.run_ids()
    assert client.own.run_ids() == []


def test_a_gate_fails_there_as_here(client: Client, ledger: Neurolens, server: Server, runs: list[str]) -> None:
    """A CI job that asks a server must not pass because it does."""
    words = ["compare", runs[1], runs[0], "--gate", "--threshold", "1%"]
    here = ledger(*words, code=None)
    assert here.code == GATE_FAILED, here
    assert client(server.url, *words, code=None).code == here.code
    assert client(server.url, *words, "--json", code=None).code == here.code


def test_a_hint_is_a_command(client: Client, server: Server) -> None:
    result = client(server.url, "show", "nobody", code=BAD_INPUT)
    told(result)
    assert "neurolens runs" in result.err, result
    assert "/api/v1" not in client(server.url, "show", "nobody", "--json", code=BAD_INPUT).out


# ---- A newer server


def test_what_a_newer_server_adds_changes_nothing(
    client: Client, server: Server, through: Callable[[Neighbour], str], words: list[str]
) -> None:
    newer = through(Newer())
    wanted, got = (client(url, *words, "--json").envelope for url in (server.url, newer))
    assert LATER in got and LATER in got["data"] and f"{LATER}: a warning" in got["warnings"], "what is new is passed on"
    assert got["version"] == "9.0.0"
    assert without_later(got) == {**wanted, "version": "9.0.0"}
    if "--budget" not in words:
        assert client(newer, *words).out == client(server.url, *words).out


@pytest.mark.parametrize("call", [
    'POST /api/v1/forecast {"run": "@latest"}',
    'POST /api/v1/show {"run": "@latest", "depth": 3}',
    'POST /api/v1/query {"run": "@latest", "sql": "SELECT 1", "format": "xml"}',
    'POST /api/v1/show {"run": {"id": "@latest"}}',
    'POST /api/v1/show {"run": 3}',
    "POST /api/v1/show []",
    "PATCH /api/v1/runs/1 {",
    "see https://lens.example.com/help",
], ids=["operation", "parameter", "value", "type", "number", "list", "method", "no call"])  # fmt: skip
def test_suggestions_that_we_do_not_know(client: Client, through: Callable[[Neighbour], str], call: str) -> None:
    """Such a suggestion is shown as it came, or left out; the answer is there."""
    got = client(through(Newer((call,))), "show", "@latest", "--json").envelope
    assert all(isinstance(one, str) for one in got["next"]) and "neurolens verify" in " ".join(got["next"])


def test_a_newer_server_gets_and_gives_runs(
    client: Client, ledger: Neurolens, through: Callable[[Neighbour], str], tmp_path: pathlib.Path
) -> None:
    newer = Newer()
    url = through(newer)
    (sent,) = client(url, "push", small(tmp_path, 20), "--set", "model=sent", "--json").data["runs"]
    assert label(ledger, sent["run_id"], "model") == "sent"
    assert len([one for one in newer.seen if one.operation == "jobs"]) >= 2, "it waited through the state that it does not know"
    assert client(url, "pull", sent["run_id"], "--json").data["run_id"] == sent["run_id"]
    assert client.own.facts(sent["run_id"]) == ledger.facts(sent["run_id"])
    client(url, "note", sent["run_id"], "by way of a newer server")
    assert [one["text"] for one in ledger("note", sent["run_id"], "--json").data["notes"]] == ["by way of a newer server"]


def test_rows_of_a_newer_server(client: Client, server: Server, through: Callable[[Neighbour], str]) -> None:
    words = ["query", "@latest", SQL, "--format", "csv"]
    assert client(through(Newer()), *words).out == client(server.url, *words).out


@pytest.mark.parametrize(("status", "code"), [(400, BAD_INPUT), (403, MISSING), (409, BAD_INPUT), (422, BAD_INPUT), (503, MISSING)])
def test_an_error_whose_code_is_new(client: Client, through: Callable[[Neighbour], str], status: int, code: int) -> None:
    """The status says of what kind it is; no bug of ours."""
    refused = made(status, {"schema": "neurolens.runs/1", "version": "9.0.0", "warnings": [], "next": [], "error": {
        "code": LATER, "message": "the quota of the team is used up", "hint": "ask its owner", LATER: {}}})  # fmt: skip
    for words in (["runs"], ["pull", "@latest"], ["show", "@latest", "--json"]):
        result = client(through(Stranger(refused)), *words, code=None)
        assert result.code == code and "the quota of the team is used up\n  ask its owner\n" in result.err, result


# ---- An older server

SENT = "SENT"
OLDER = {
    "runs": ["runs"],
    "show": ["show", "@latest"],
    "analyze": ["analyze", "@latest"],
    "compare": ["compare", "@latest", "@latest"],
    "query": ["query", "@latest", SQL],
    "note": ["note", "@latest", "a note"],
    "system": ["system"],
    "runs/facets": ["runs", "--facets", "model"],
    "show/top": ["show", "@latest", "--top", "3"],
    "analyze/window": ["analyze", "@latest", "--window", "whole"],
    "compare/threshold": ["compare", "@latest", "@latest", "--threshold", "2%"],
    "query/seconds": ["query", "@latest", SQL, "--seconds", "5"],
    "note/remove": ["note", "@latest", "--remove", "1"],
    "query/format=arrow": ["query", "@latest", SQL, "--format", "arrow"],
    "compare/page=junit": ["compare", "@latest", "@latest", "--page", "junit"],
    "uploads": ["push", SENT],
    "import": ["push", SENT],
    "import/set": ["push", SENT, "--set", "model=x"],
    "export": ["pull", "@latest"],
    "export/format=nlz": ["pull", "@latest"],
}


def names(unknown: str) -> list[str]:
    """Words of which the message has one: what the user typed, or what the server lacks."""
    operation, _, rest = unknown.partition("/")
    key, _, value = rest.partition("=")
    return {
        "uploads": ["push", "uploads"],
        "import": ["push", "import"],
        "export": ["pull", "export"],
        "export/format=nlz": ["pull", "nlz"],
    }.get(unknown, [value or key or operation])


@pytest.mark.parametrize("unknown", OLDER)
def test_an_older_server_does_not_know_it(
    client: Client, through: Callable[[Neighbour], str], tmp_path: pathlib.Path, unknown: str
) -> None:
    """One sentence says that the server does not know it, and names it."""
    older = Older(unknown)
    words = [small(tmp_path, 30) if word == SENT else word for word in OLDER[unknown]]
    result = client(through(older), *words, code=None)
    assert result.code == BAD_INPUT and result.out == "", result
    told(result)
    sentence = result.err.splitlines()[0]
    assert "server" in sentence and any(re.search(rf"\b{one}\b", sentence) for one in names(unknown)), result
    if words[0] not in ("push", "pull") and "--format" not in words and "--page" not in words:
        error = client(through(older), *words, "--json", code=BAD_INPUT).envelope["error"]
        assert "server" in error["message"] and "/api/v1" not in json.dumps(error), error


def test_an_older_server_does_the_rest(client: Client, server: Server, through: Callable[[Neighbour], str], words: list[str]) -> None:
    """Without the parameter that it lacks."""
    older = through(Older("system", "slice", "show/none", "query/none", "query/format=arrow"))
    got, wanted = (client(url, *words, "--json").envelope for url in (older, server.url))
    assert got == {**wanted, "version": "0.0.9"}


def test_an_older_server_gets_and_gives_runs(
    client: Client, ledger: Neurolens, through: Callable[[Neighbour], str], tmp_path: pathlib.Path
) -> None:
    """Its jobs and uploads say only what they must."""
    kept = {"jobs": {"job_id", "state", "status", "answer"}, "uploads": {"upload_id", "files"}}

    class Terse(Older):
        def answered(self, question: Question, answer: Answer) -> Answer:
            answer = super().answered(question, answer)
            if (fields := kept.get(question.operation)) and answer.status < 400:
                answer.body = json.dumps({name: value for name, value in answer.json.items() if name in fields}).encode()
            return answer

    url = through(Terse("system"))
    (sent,) = client(url, "push", small(tmp_path, 31), "--json").data["runs"]
    assert client(url, "pull", sent["run_id"], "--json").data["run_id"] == sent["run_id"]
    assert client.own.facts(sent["run_id"]) == ledger.facts(sent["run_id"])


# ---- No NeuroLens at all, or one that breaks its promise

LOGIN = b"<html><body><form>please sign in</form></body></html>"
STRANGERS: dict[str, Answer] = {
    "a page to sign in": made(200, LOGIN, "text/html"),
    "a way to such a page": made(302, b"", "text/html", Location="https://login.example.com/"),
    "a proxy without a server": made(502, b"<html>Bad Gateway</html>", "text/html"),
    "a page that is not there": made(404, b"<html>Not Found</html>", "text/html"),
    "nothing": made(200, b"", "text/plain"),
    "no content": made(204, b""),
    "an empty object": made(200, {}),
    "a list": made(200, []),
    "cut JSON": made(200, b'{"data": {'),
    "an error without words": made(400, {"error": {"code": 7, "message": None}}),
    "an error as a text": made(400, {"error": "no"}),
    "later": made(202, {"job_id": "j", "state": "queued"}),
}


@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
@pytest.mark.parametrize("name", STRANGERS)
@pytest.mark.parametrize("verb", ["show", "push", "pull"])
def test_no_such_server(
    client: Client, through: Callable[[Neighbour], str], tmp_path: pathlib.Path, verb: str, name: str, as_json: bool
) -> None:
    """What it sends is never taken for an answer."""
    words = ["push", small(tmp_path, 40)] if verb == "push" else [verb, "@latest"]
    result = client(through(Stranger(STRANGERS[name])), *words, *(["--json"] if as_json else []), code=None)
    assert result.code in (BAD_INPUT, MISSING), result
    told(result)
    assert "server" in result.err and "sign in" not in result.out, result
    if as_json:
        assert set(result.envelope["error"]) == {"code", "message", "hint"}
    else:
        assert result.out == ""


def put(*path: str | int, value: Any) -> Callable[[Any], Any]:
    """Something else at this place of a document."""

    def change(document: Any) -> Any:
        at = functools.reduce(lambda one, key: one[key], path[:-1], document)
        at[path[-1]] = value
        return document

    return change


BROKEN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "warnings are objects": ("show", put("warnings", value=[{"code": "x"}])),
    "warnings are null": ("show", put("warnings", value=None)),
    "next are objects": ("show", put("next", value=[{"run": "x"}])),
    "no data": ("show", lambda one: {"schema": one["schema"], "version": one["version"]}),
    "an upload without an id": ("uploads", put("upload_id", value=None)),
    "an upload without files": ("uploads", lambda one: {"upload_id": one["upload_id"]}),
    "an upload of fewer files": ("uploads", put("files", value=[])),
    "received is a text": ("uploads", put("files", value=[{"name": "a", "bytes": 1, "received": "1"}])),
    "more received than sent": ("uploads", put("files", value=[{"name": "a", "bytes": 1, "received": 1 << 40}])),
    "an import that is no job": ("import", lambda one: {"data": {}}),
    "a job whose status is a text": ("jobs", lambda one: {**one, "status": "fine"}),
    "a job whose progress is a number": ("jobs", lambda one: {"job_id": one["job_id"], "state": "running", "progress": 3}),
    "a job whose answer is null": ("jobs", lambda one: {**one, "status": 200, "answer": None}),
    "a job without data": ("jobs", lambda one: {**one, "status": 200, "answer": {"data": None}}),
    "a run without an id": ("jobs", lambda one: {**one, "status": 200, "answer": {"data": {"run_id": 3, "created": "yes"}}}),
    "warnings of a job are objects": (
        "jobs", lambda one: {**one, "status": 200, "answer": {"data": {"run_id": "a" * 64}, "warnings": [{}]}}),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_server_that_breaks_its_promise(client: Client, through: Callable[[Neighbour], str], tmp_path: pathlib.Path, name: str) -> None:
    """An error or an answer, but no bug and no crash."""
    operation, change = BROKEN[name]
    words = ["show", "@latest"] if operation == "show" else ["push", small(tmp_path, 41)]
    result = client(through(Changed(operation, change)), *words, "--json", code=None)
    assert result.code in (OK, BAD_INPUT, MISSING), result
    if result.code == OK:
        assert result.envelope["data"] is not None
    else:
        told(result)
