"""Long calls of `neurolens mcp` as tasks, for clients that know the extension; for others they stay calls."""

import json
import pathlib
import subprocess
from typing import Any

import pytest

from agent import WHOLE, Agent, posted, request
from conftest import MISSING, REPOSITORY, Neurolens
from server import Server, until
from test_serve_faces import differences

EXTENSION = "io.modelcontextprotocol/tasks"
KNOWS_TASKS = {"extensions": {EXTENSION: {}}}
SAMPLE = REPOSITORY / "samples/native_full.json"
OVER = ("completed", "failed", "cancelled")
METHOD_NOT_FOUND, INVALID_PARAMS, MISSING_CAPABILITY = -32601, -32602, -32021


def begun(stdio: Agent, tool: str, **arguments: Any) -> Any:
    answer = stdio.ask("tools/call", {"name": tool, "arguments": arguments}, capabilities=KNOWS_TASKS)["result"]
    assert answer["resultType"] == "task" and answer["status"] == "working", answer
    return answer["taskId"]


def state(stdio: Agent, task: str) -> Any:
    return stdio.ask("tasks/get", {"taskId": task}, capabilities=KNOWS_TASKS)["result"]


def ended(stdio: Agent, task: str) -> Any:
    return until(lambda: (now := state(stdio, task))["status"] in OVER and now, 60)


def is_running(process: int) -> bool:
    return pathlib.Path(f"/proc/{process}").exists()


def test_who_has_tasks(neurolens: Neurolens, small_run: str) -> None:
    """Over HTTP no tool is long: files are uploaded, and programs are not run."""
    with Agent(neurolens) as stdio:
        assert EXTENSION in stdio.ask("server/discover")["result"]["capabilities"]["extensions"]
    server = Server(neurolens)
    try:
        assert "extensions" not in posted(server, "server/discover")["result"]["capabilities"]
        assert posted(server, "tasks/get", {"taskId": "x"}, capabilities=KNOWS_TASKS)["error"]["code"] == METHOD_NOT_FOUND
    finally:
        server.kill()


def test_an_import_as_a_task(tmp_path: pathlib.Path) -> None:
    ours, theirs = Neurolens(tmp_path / "ours" / "ledger"), Neurolens(tmp_path / "theirs" / "ledger")
    with Agent(ours) as stdio, Agent(theirs) as other:
        task = begun(stdio, "import", paths=[str(SAMPLE)])
        over = ended(stdio, task)
        assert over["status"] == "completed" and not over["result"]["isError"], over
        plain = other.call("import", paths=[str(SAMPLE)])
        assert differences(over["result"]["structuredContent"], plain["structuredContent"]) == []
        assert state(stdio, task) == over, "it stays"
        assert stdio.end() == 0
    assert ours.run_ids() == theirs.run_ids() != []


def test_an_error_of_a_tool_completes_its_task(neurolens: Neurolens) -> None:
    with Agent(neurolens) as stdio:
        over = ended(stdio, begun(stdio, "import", paths=["/nowhere/at/all.json"]))
        assert over["status"] == "completed" and over["result"]["isError"]
        assert over["result"]["structuredContent"]["error"]["code"] == "not_found"


def test_clients_without_tasks(neurolens: Neurolens) -> None:
    with Agent(neurolens) as stdio:
        assert stdio.data("import", paths=[str(SAMPLE)])["run_id"]
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            refused = stdio.ask(method, {"taskId": "x", "inputResponses": {}})["error"]
            assert refused["code"] == MISSING_CAPABILITY
            assert EXTENSION in refused["data"]["requiredCapabilities"]["extensions"]
            unknown = stdio.ask(method, {"taskId": "x", "inputResponses": {}}, capabilities=KNOWS_TASKS)
            assert unknown["error"]["code"] == INVALID_PARAMS
        stdio.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}, modern=False)
        assert stdio.ask("tasks/get", {"taskId": "x"}, modern=False)["error"]["code"] == METHOD_NOT_FOUND


def test_quick_tools_are_no_tasks(neurolens: Neurolens, small_run: str) -> None:
    with Agent(neurolens) as stdio:
        answer = stdio.ask("tools/call", {"name": "show", "arguments": {"run": small_run, "budget": WHOLE}}, capabilities=KNOWS_TASKS)
        assert answer["result"]["resultType"] == "complete"


@pytest.fixture
def sleeper(tmp_path: pathlib.Path) -> tuple[list[str], pathlib.Path]:
    """A program that waits for long, and the file that it writes its id to."""
    note = tmp_path / "pid"
    return ["/bin/sh", "-c", f"echo $$ > {note}.new && mv {note}.new {note}; exec sleep 1000"], note


def started(note: pathlib.Path) -> int:
    until(note.exists)
    return int(note.read_text())


def test_a_recording_is_stopped(neurolens: Neurolens, sleeper: Any) -> None:
    """What was recorded until then is kept, as Ctrl+C keeps it, so the task has a result."""
    command, note = sleeper
    with Agent(neurolens, "--allow-exec") as stdio:
        task = begun(stdio, "record", command=command)
        program = started(note)
        assert state(stdio, task)["status"] == "working"
        assert stdio.data("runs")["total"] == 0, "others do not wait for it"
        acknowledged = stdio.ask("tasks/cancel", {"taskId": task}, capabilities=KNOWS_TASKS)["result"]
        assert acknowledged["resultType"] == "complete" and "taskId" not in acknowledged
        over = ended(stdio, task)
        assert over["status"] == "completed", over
        assert not is_running(program)
        assert stdio.end() == 0
    assert neurolens.leftovers() == []
    assert neurolens.run_ids() == [over["result"]["structuredContent"]["data"]["run_id"]]


def test_a_client_that_leaves_ends_its_tasks(neurolens: Neurolens, sleeper: Any) -> None:
    command, note = sleeper
    with Agent(neurolens, "--allow-exec") as stdio:
        begun(stdio, "record", command=command)
        program = started(note)
        assert stdio.end() == 0
    assert not is_running(program)


def test_a_client_that_leaves_ends_its_calls(neurolens: Neurolens, sleeper: Any) -> None:
    """Without tasks and progress nothing is written before the end, so only the output tells that nobody reads it."""
    command, note = sleeper
    process = subprocess.Popen(
        neurolens.command("mcp", "--allow-exec"),
        env=neurolens.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(request(1, "tools/call", {"name": "record", "arguments": {"command": command}})).encode() + b"\n")
        process.stdin.flush()
        program = started(note)
        process.stdin.close()
        process.stdout.close()
        assert process.wait(30) == MISSING
        assert not is_running(program)
    finally:
        process.kill()


def test_tasks_need_the_rights_of_their_tool(neurolens: Neurolens) -> None:
    with Agent(neurolens) as stdio:
        asked = {"name": "record", "arguments": {"command": ["true"]}}
        result = stdio.ask("tools/call", asked, capabilities=KNOWS_TASKS)["result"]
        assert result["isError"] and result["structuredContent"]["error"]["code"] == "permission"
