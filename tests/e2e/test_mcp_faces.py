"""Equal faces: a tool gives what its operation gives on the command line, by lines and by HTTP, in the same bytes each time."""

import json
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

import agent
from agent import WHOLE, Agent, post, request
from conftest import REPOSITORY, Neurolens
from server import Server
from test_serve_faces import BASE, ERRORS, NEW, READS, WRITES, differences, filled

# Tools with tests of their own: about the machine, with files, and with programs that are started.
ALONE = {"bench", "doctor", "import", "deep", "profile", "queue", "record"}
NO_TOOLS = {"fingerprint", "live", "metrics"}  # agents read definitions by their addresses, and need the rest not
SAMPLE = REPOSITORY / "samples/native_minimal.json"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Neurolens:
    neurolens = Neurolens(tmp_path_factory.mktemp("mcp_faces") / "ledger")
    for name in (BASE, NEW, "native_full.json"):
        neurolens.import_file(REPOSITORY / "samples" / name)
    return neurolens


@pytest.fixture(scope="module")
def runs(ledger: Neurolens) -> dict[str, str]:
    by_file = {pathlib.Path(run["file_names"]).name: run["run_id"] for run in ledger.runs()}
    return {"base": by_file[BASE], "new": by_file[NEW], "full": by_file["native_full.json"]}


@pytest.fixture(scope="module")
def server(ledger: Neurolens) -> Iterator[Server]:
    one = Server(ledger)
    yield one
    one.kill()


@pytest.fixture(scope="module")
def stdio(ledger: Neurolens) -> Iterator[Agent]:
    with Agent(ledger) as one:
        yield one
        assert one.end() == 0


@pytest.fixture(scope="module")
def tools(stdio: Agent) -> dict[str, Any]:
    return {tool["name"]: tool for tool in stdio.ask("tools/list")["result"]["tools"]}


def bytes_by_lines(stdio: Agent, tool: str, arguments: dict[str, Any]) -> bytes:
    """The answer as it comes, always under the same id."""
    stdio.send(request("face", "tools/call", {"name": tool, "arguments": arguments}))
    return stdio.lines.get(timeout=agent.TIMEOUT) or b""


def bytes_by_http(server: Server, tool: str, arguments: dict[str, Any]) -> bytes:
    return post(server, request("face", "tools/call", {"name": tool, "arguments": arguments})).body


def result_of(text: bytes) -> Any:
    return json.loads(text)["result"]


def declared() -> dict[str, bool]:
    """What each operation of the registry says about agents, from its source: no answer tells it."""
    found = {}
    for path in sorted((REPOSITORY / "src/ops/operations").glob("*.cpp")):
        text = path.read_text()
        name, reach = re.search(r'\.name = "(\w+)"', text), re.search(r"\.reach = \{(.*?)\}", text)
        assert name and reach, path
        found[name[1]] = ".mcp = true" in reach[1] and "Stream::kBytes" not in text and name[1] not in NO_TOOLS
    return found


def test_what_is_declared_is_offered(ledger: Neurolens) -> None:
    listed = ledger("mcp", "--list", "--allow-exec", "--json").data["tools"]
    assert {tool["name"] for tool in listed} == {name for name, is_tool in declared().items() if is_tool}


def test_every_tool_is_compared(tools: dict[str, Any]) -> None:
    compared = {*READS, *(name for name, _, _ in WRITES), *ALONE}
    assert set(tools) <= compared, "give each operation a line in READS or WRITES of test_serve_faces.py"


CALLS = [
    (name, number)
    for name, calls in READS.items()
    for number in range(len(calls))
    if name not in NO_TOOLS and "budget" not in calls[number][0]
]


@pytest.mark.parametrize(("name", "number"), CALLS)
def test_data_is_that_of_the_command_line(ledger, stdio, server, runs, tools, name, number) -> None:
    """With a budget that cuts nothing. One with a smaller budget differs: suggestions have other words, so other rows fit."""
    parameters, words = READS[name][number]
    arguments = filled(parameters, runs)
    if "budget" in tools[name]["inputSchema"]["properties"]:
        arguments["budget"] = WHOLE
    cli = ledger(name, *filled(words, runs), "--json", code=None).envelope
    texts = [ask(place, name, arguments) for ask, place in ((bytes_by_lines, stdio), (bytes_by_http, server)) for _ in range(2)]
    assert texts[0] == texts[1] and texts[2] == texts[3], "the same call gives the same bytes"
    for text in (texts[0], texts[2]):
        result = result_of(text)
        answer = result["structuredContent"]
        assert not result["isError"], result
        assert differences(answer["data"], cli["data"]) == []
        assert answer["schema"] == cli["schema"] and answer["version"] == cli["version"] and answer["warnings"] == cli["warnings"]
        jsonschema.validate(answer, tools[name]["outputSchema"])


@pytest.mark.parametrize(("name", "number"), CALLS)
def test_shorter_answers_keep_to_the_schema(stdio, runs, tools, name, number) -> None:
    answer = result_of(bytes_by_lines(stdio, name, filled(READS[name][number][0], runs)))["structuredContent"]
    jsonschema.validate(answer, tools[name]["outputSchema"])


OF_TOOLS = [one for one in ERRORS if one[0] not in NO_TOOLS]


@pytest.mark.parametrize(("name", "parameters", "words"), OF_TOOLS, ids=[f"{name}-{sorted(given)}" for name, given, _ in OF_TOOLS])
def test_errors_are_equal(ledger, stdio, server, name, parameters, words) -> None:
    cli = ledger(name, *words, "--json", code=None).envelope
    for text in (bytes_by_lines(stdio, name, parameters), bytes_by_http(server, name, parameters)):
        answer = result_of(text)["structuredContent"]
        assert ("error" in cli) == ("error" in answer), answer
        if "error" in cli:
            assert cli["error"]["code"] == answer["error"]["code"], (cli, answer)


@pytest.mark.parametrize("transport", ["lines", "http"])
def test_writes_are_equal(tmp_path, ledger, runs, tools, transport) -> None:
    """Each face writes into a copy of its own, in the same order."""
    ours, theirs = Neurolens(tmp_path / "mcp" / "ledger"), Neurolens(tmp_path / "line" / "ledger")
    for one in (ours, theirs):
        shutil.copytree(ledger.ledger, one.ledger)
    server = Server(ours) if transport == "http" else None
    with Agent(ours) as stdio:
        for name, parameters, words in WRITES:
            if name not in tools:
                continue
            cli = theirs(name, *filled(words, runs), "--json", code=None).envelope
            arguments = filled(parameters, runs)
            if "budget" in tools[name]["inputSchema"]["properties"]:
                arguments["budget"] = WHOLE
            result = result_of(bytes_by_http(server, name, arguments) if server else bytes_by_lines(stdio, name, arguments))
            assert not result["isError"], result
            assert differences(result["structuredContent"]["data"], cli["data"]) == [], f"{name} {parameters}"
    if server:
        server.kill()
    for words in (["runs"], ["label", runs["base"]], ["tag", runs["base"]], ["note", runs["base"]], ["baseline"]):
        assert differences(ours(*words, "--json").data, theirs(*words, "--json").data) == [], words


def test_imports_are_equal(tmp_path) -> None:
    """The same answer, and the same bytes in the ledger."""
    ours, theirs = Neurolens(tmp_path / "mcp" / "ledger"), Neurolens(tmp_path / "line" / "ledger")
    cli = theirs.import_file(SAMPLE)
    with Agent(ours) as stdio:
        assert differences(stdio.data("import", paths=[str(SAMPLE)]), cli) == []
    assert ours.facts(cli["run_id"]) == theirs.facts(cli["run_id"])


def test_doctor_checks_the_same(ledger, stdio) -> None:
    cli = {one["check"]: one["status"] for one in ledger("doctor", "--json", code=None).data["checks"]}
    here = {one["check"]: one["status"] for one in stdio.data("doctor", budget=WHOLE)["checks"]}
    assert here == cli, "details, such as free memory, change"
