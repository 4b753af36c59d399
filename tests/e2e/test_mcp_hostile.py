"""Hostile messages to `neurolens mcp` and to POST /mcp: each gets the right error or silence, nothing crashes, nothing leaks,
and the next honest request is answered."""

import json
import os
import select
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import agent
from agent import LEGACY, META, MODERN, Agent, meta, post, posted, request
from conftest import BAD_INPUT, MISSING, REPOSITORY, Neurolens
from server import Server, until

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
EXEC: dict[str, Any] = {
    "bench": {},
    "deep": {"workload": ["true"]},
    "profile": {"model": "x.onnx"},
    "queue": {},
    "record": {"command": ["true"]},
}
MESSAGE_LIMIT = 4 << 20
SLOW = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b"
FINE, SILENT = "fine", "silent"

Hostile = tuple[str, bytes, Any]  # what it is, the message, what must come: the code of an error, FINE or SILENT


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Neurolens:
    neurolens = Neurolens(tmp_path_factory.mktemp("hostile") / "ledger")
    neurolens.import_file(REPOSITORY / "samples/kineto_small.json")
    return neurolens


@pytest.fixture(scope="module")
def server(ledger: Neurolens) -> Iterator[Server]:
    """One for all tests, which must survive each of them."""
    one_server = Server(ledger)
    yield one_server
    assert one_server.process.poll() is None, one_server.said
    assert one_server.stop() == 0


@pytest.fixture(scope="module")
def stdio(ledger: Neurolens) -> Iterator[Agent]:
    with Agent(ledger) as one_agent:
        yield one_agent
        assert one_agent.end() == 0
        assert one_agent.process.stderr is not None and one_agent.process.stderr.read() == b""


# ---- Messages, the same by lines and by HTTP


def one(**more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}, **more}).encode()


def call(name: Any, arguments: Any, **more: Any) -> bytes:
    return one(method="tools/call", params={"name": name, "arguments": arguments, "_meta": meta(), **more})


def named(method: str, **params: Any) -> bytes:
    return one(method=method, params={**params, "_meta": meta()})


MESSAGES: list[Hostile] = [
    # No message at all
    ("half an object", b"{", PARSE_ERROR),
    ("a word", b"nothing", PARSE_ERROR),
    ("two messages in one", one() + one(), PARSE_ERROR),
    ("invalid UTF-8", b"\xff\xfe", PARSE_ERROR),
    ("invalid UTF-8 in a text", one(method="x").replace(b'"x"', b'"\xc3\x28"'), PARSE_ERROR),
    ("half of a surrogate pair", one(method="x").replace(b'"x"', b'"\\ud800"'), PARSE_ERROR),
    ("a zero byte", b"\x00" + one(), PARSE_ERROR),
    ("a number too large for any type", one(params={}).replace(b"{}", b'{"a":1e999999}'), PARSE_ERROR),
    ("arrays, 100,000 deep", b"[" * 100_000 + b"]" * 100_000, PARSE_ERROR),
    ("arrays that never end", b"[" * 1_000_000, PARSE_ERROR),
    ("objects, 5,000 deep", b'{"a":' * 5000 + b"1" + b"}" * 5000, PARSE_ERROR),
    ("deep arguments", call("show", {}).replace(b'"arguments": {}', b'"arguments": ' + b'{"a":' * 80 + b"1" + b"}" * 80), PARSE_ERROR),
    ("null", b"null", INVALID_REQUEST),
    ("a number", b"0", INVALID_REQUEST),
    ("a text", b'""', INVALID_REQUEST),
    ("an empty object", b"{}", INVALID_REQUEST),
    # Batches, which this revision does not have
    ("an empty batch", b"[]", INVALID_REQUEST),
    ("a batch of 2", b"[" + one() + b"," + one(id=2) + b"]", INVALID_REQUEST),
    ("a batch of 40", json.dumps([json.loads(one())] * 40).encode(), INVALID_REQUEST),
    ("a batch of batches", b"[[" + one() + b"]]", INVALID_REQUEST),
    # Ids
    ("no id but null", one(id=None), INVALID_REQUEST),
    ("an id that is a fraction", one(id=1.5), INVALID_REQUEST),
    ("an id that is a list", one(id=[]), INVALID_REQUEST),
    ("an id that is an object", one(id={}), INVALID_REQUEST),
    ("an id that is true", one(id=True), INVALID_REQUEST),
    ("an id of 5,000 bytes", one(id="x" * 5000), INVALID_REQUEST),
    ("an id of 40 digits", one(id=10**40), INVALID_REQUEST),
    ("the largest id", one(id=2**64 - 1), FINE),
    ("an id that looks like a command", one(id="$(reboot)\u001b[2J"), FINE),
    # The frame
    ("another version of JSON-RPC", one(jsonrpc="1.0"), INVALID_REQUEST),
    ("a version that is a number", one(jsonrpc=2), INVALID_REQUEST),
    ("an empty method", one(method=""), INVALID_REQUEST),
    ("a method that is a number", one(method=5), INVALID_REQUEST),
    ("a method of 5,000 bytes", one(method="x" * 5000), INVALID_REQUEST),
    ("an unknown method", one(method="tools/destroy"), METHOD_NOT_FOUND),
    ("a method of JavaScript", one(method="__proto__"), METHOD_NOT_FOUND),
    ("a method of the other era", one(method="initialize"), METHOD_NOT_FOUND),
    ("a method of a server that samples", one(method="sampling/createMessage"), METHOD_NOT_FOUND),
    ("parameters that are a list", one(params=[]), INVALID_PARAMS),
    ("parameters that are a text", one(params="x"), INVALID_PARAMS),
    ("metadata that is a list", one(params={"_meta": []}), INVALID_PARAMS),
    ("an answer to a question that nobody asked", b'{"jsonrpc":"2.0","id":"x","result":{}}', SILENT),
    ("an answer and an error at once", b'{"jsonrpc":"2.0","id":"x","result":{},"error":{}}', INVALID_REQUEST),
    ("the cancelling of what was never asked",
     b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{"a":[1]}}}', SILENT),
    ("a notification that nobody knows", b'{"jsonrpc":"2.0","method":"notifications/nonsense"}', SILENT),
    # The version
    ("a version of the future", one(params={"_meta": meta(version="2031-01-01")}), UNSUPPORTED_VERSION),
    ("a version of 1,500 bytes", one(params={"_meta": meta(version="9" * 1500)}), UNSUPPORTED_VERSION),
    ("an older version in the metadata of the newest", one(params={"_meta": meta(version="2025-11-25")}), UNSUPPORTED_VERSION),
    ("capabilities that are a number", one(params={"_meta": {**meta(), f"{META}clientCapabilities": 1}}), INVALID_PARAMS),
    # Calls
    ("a cursor of nobody", one(params={"cursor": "-1", "_meta": meta()}), INVALID_PARAMS),
    ("a cursor that is an object", one(params={"cursor": {}, "_meta": meta()}), INVALID_PARAMS),
    ("an unknown tool", call("nosuchtool", {}), INVALID_PARAMS),
    ("an operation that is no tool", call("serve", {}), INVALID_PARAMS),
    ("the tool that makes tokens", call("token", {"action": "add", "name": "x", "role": "admin"}), INVALID_PARAMS),
    ("a tool named by an object", call({}, {}), INVALID_PARAMS),
    ("arguments that are a list", call("show", [1]), INVALID_PARAMS),
    ("an argument of another type", call("show", {"run": {}}), "bad_input"),
    ("an argument that nobody has", call("show", {"run": "@latest", "__proto__": 1}), "bad_input"),
    ("a run with a zero byte and a colour", call("show", {"run": "\u0000\u001b[31m"}), "bad_input not_found"),
    ("a run that is a path upwards", call("show", {"run": "../../../etc/passwd"}), "bad_input not_found permission unsupported io"),
    ("a budget below zero", call("analyze", {"run": "@latest", "budget": -1}), "bad_input"),
    ("a budget without end", call("analyze", {"run": "@latest", "budget": 2**62}), "bad_input"),
    ("SQL that writes", call("query", {"run": "@latest", "sql": "COPY kernels TO '/tmp/neurolens_hostile.csv'"}), "bad_input permission"),
    ("SQL that reads a file", call("query", {"run": "@latest", "sql": "SELECT * FROM read_text('/etc/passwd')"}), "bad_input permission"),
    ("a state that nobody sealed", call("show", {"run": "@latest"}, requestState="a.b"), INVALID_PARAMS),
    ("a state that is an object", call("show", {"run": "@latest"}, requestState={"a": 1}), INVALID_PARAMS),
    ("input that is a number", call("show", {"run": "@latest"}, inputResponses=5), INVALID_PARAMS),
    ("a resource outside", named("resources/read", uri="file:///etc/passwd"), INVALID_PARAMS),
    ("a resource upwards", named("resources/read", uri="neurolens://run/../../x"), INVALID_PARAMS),
    ("a resource with a coded zero byte", named("resources/read", uri="neurolens://run/%00"), INVALID_PARAMS),
    ("a resource that is a number", named("resources/read", uri=5), INVALID_PARAMS),
    ("a prompt with an argument of another type", named("prompts/get", name="what_changed", arguments={"base": 1}), INVALID_PARAMS),
    ("a completion of nothing", named("completion/complete", ref=5, argument={}), INVALID_PARAMS),
    *((f"the tool {name}, which runs programs", call(name, given), "permission") for name, given in EXEC.items()),
    ("a message of 5 MB", one(id="x" * (5 << 20)), INVALID_REQUEST),
]  # fmt: skip


def assert_fits(answer: Any, expected: Any) -> None:
    if isinstance(expected, int):
        assert answer["error"]["code"] == expected, answer
    elif expected == FINE:
        assert "result" in answer, answer
    else:
        assert "result" in answer, answer
        result = answer["result"]
        assert result["isError"] and result["structuredContent"]["error"]["code"] in expected.split(), answer


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case[1:], id=case[0]) for case in MESSAGES])
def test_by_lines(stdio: Agent, text: bytes, expected: Any) -> None:
    stdio.write(text + b"\n")
    if expected != SILENT:
        assert_fits(stdio.next(), expected)
    assert "result" in stdio.ask("server/discover")
    assert not stdio.kept and not stdio.notifications, "one answer for a message"


def headers_for(text: bytes) -> dict[str, str]:
    """As an honest client would send them, so far as the message has what they repeat."""
    try:
        message = json.loads(text)
        headers = {"MCP-Protocol-Version": MODERN} if isinstance(message, list) else agent.headers_of(message)
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return {}
    return {name: value for name, value in headers.items() if isinstance(value, str) and len(value) < 2000 and value.isascii()}


@pytest.mark.parametrize(("text", "expected"), [pytest.param(*case[1:], id=case[0]) for case in MESSAGES])
def test_by_http(server: Server, text: bytes, expected: Any) -> None:
    answer = server.ask("POST", "/mcp", text, {"Content-Type": "application/json", **headers_for(text)})
    if expected == SILENT:
        assert answer.status == 202 and answer.body == b"", answer
    elif answer.status == 413:
        assert len(text) > MESSAGE_LIMIT
    else:
        assert_fits(agent.messages_of(answer)[-1], expected)
        refused = isinstance(expected, int)
        assert answer.status in ((400, 404, 200) if refused else (200,)), answer
    assert "result" in posted(server, "server/discover")


def descriptors(process: int) -> int:
    return len(os.listdir(f"/proc/{process}/fd"))


def test_nothing_leaks(stdio: Agent, server: Server) -> None:
    """All of it again and again: what threads keep is open after the first time."""

    def send_all() -> None:
        for _, text, expected in MESSAGES:
            test_by_lines(stdio, text, expected)
            test_by_http(server, text, expected)

    send_all()
    processes = (stdio.process.pid, server.process.pid)
    before = [descriptors(process) for process in processes]
    send_all()
    until(lambda: all(descriptors(process) <= count for process, count in zip(processes, before)))


# ---- Requests that only HTTP has


def ordinary() -> dict[str, Any]:
    return request(1, "tools/call", {"name": "show", "arguments": {"run": "@latest"}})


HEADERS: list[tuple[str, dict[str, str], int, int | None]] = [
    ("a page of somebody else", {"Origin": "http://evil.example.com"}, 403, None),
    ("a page without an address", {"Origin": "null"}, 403, None),
    ("a page on another port of this machine", {"Origin": "http://127.0.0.1:1"}, 403, None),
    ("another host", {"Host": "evil.example.com"}, 421, None),
    ("no JSON", {"Content-Type": "text/plain"}, 415, None),
    ("a form", {"Content-Type": "application/x-www-form-urlencoded"}, 415, None),
    ("an empty type", {"Content-Type": ""}, 415, None),
    ("only pictures", {"Accept": "image/png"}, 406, None),
    ("a wrong token", {"Authorization": "Bearer nlt_x_y"}, 401, None),
    ("a name and a password", {"Authorization": "Basic YTpi"}, 401, None),
    ("an older version in the header", {"MCP-Protocol-Version": "2025-11-25"}, 400, HEADER_MISMATCH),
    ("an empty version", {"MCP-Protocol-Version": ""}, 400, HEADER_MISMATCH),
    ("another method", {"Mcp-Method": "tools/list"}, 400, HEADER_MISMATCH),
    ("the method in capitals", {"Mcp-Method": "TOOLS/CALL"}, 400, HEADER_MISMATCH),
    ("another tool", {"Mcp-Name": "record"}, 400, HEADER_MISMATCH),
    ("no tool", {"Mcp-Name": ""}, 400, HEADER_MISMATCH),
    ("a tool in base64 without its end", {"Mcp-Name": "=?base64?c2hvd"}, 400, HEADER_MISMATCH),
    ("a tool in wrong base64", {"Mcp-Name": "=?base64?c2hv*w==?="}, 400, HEADER_MISMATCH),
    ("another tool in base64", {"Mcp-Name": "=?base64?cmVjb3Jk?="}, 400, HEADER_MISMATCH),
    ("a session that nobody gave", {"Mcp-Session-Id": "../../x"}, 200, None),
    ("events that nobody sent", {"Last-Event-ID": "9" * 1000}, 200, None),
]


@pytest.mark.parametrize(("headers", "status", "code"), [pytest.param(*case[1:], id=case[0]) for case in HEADERS])
def test_headers(server: Server, headers: dict[str, str], status: int, code: int | None) -> None:
    answer = post(server, ordinary(), headers)
    assert answer.status == status, answer
    assert code is None or answer.json["error"]["code"] == code, answer
    assert post(server, ordinary()).status == 200


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD"])
def test_methods(server: Server, method: str) -> None:
    assert server.ask(method, "/mcp", headers={"Accept": "text/event-stream"}).status in (404, 405, 501)


def raw_head(server: Server, *lines: str) -> bytes:
    names = {"Content-Type": "application/json", **agent.headers_of(ordinary())}
    return server.head("POST", "/mcp", *(f"{name}: {value}" for name, value in names.items()), *lines)


def test_half_requests(server: Server) -> None:
    """Cut off at many bytes, each with its connection closed."""
    body = json.dumps(ordinary()).encode()
    whole = raw_head(server, f"Content-Length: {len(body)}") + body
    for length in range(0, len(whole), 37):
        with server.connected() as connection:
            connection.sendall(whole[:length])
    until(lambda: server.busy() == 0)
    assert post(server, ordinary()).status == 200


def test_lengths_that_lie(server: Server) -> None:
    body = json.dumps(ordinary()).encode()
    for lines in (["Content-Length: -1"], ["Content-Length: 99999999999999999999"], ["Content-Length: 5", "Content-Length: 6"],
                  ["Content-Length: 5", "Transfer-Encoding: chunked"], ["Transfer-Encoding: nonsense"]):  # fmt: skip
        got = server.raw(raw_head(server, *lines) + body)
        assert got.startswith(b"HTTP/1.1 4") or got.startswith(b"HTTP/1.1 5"), (lines, got[:200])
    assert post(server, ordinary()).status == 200


def test_a_hundred_megabytes_by_http(server: Server) -> None:
    """Refused by its head, before it is sent."""
    got = server.raw(raw_head(server, "Content-Length: 100000000") + b"x" * 100_000)
    assert got.startswith(b"HTTP/1.1 413"), got[:200]
    assert post(server, ordinary()).status == 200


def test_files_of_the_server(server: Server, tmp_path: Any) -> None:
    """Over HTTP no argument names a file of the machine."""
    path = tmp_path / "trace.json"
    path.write_text("{}")
    for tool, arguments in (
        ("import", {"paths": [str(path)]}),
        ("analyze", {"run": "@latest", "peaks": str(path)}),
        ("compare", {"runs": ["@latest", "@latest"], "html": str(tmp_path / "page.html")}),
        ("show", {"run": str(path)}),
        ("rules", {"action": "check", "targets": [str(path)]}),
        ("schema", {"what": "validate", "target": "run", "file": str(path)}),
    ):
        result = posted(server, "tools/call", {"name": tool, "arguments": arguments})["result"]
        assert result["isError"], (tool, result)
    assert [one.name for one in tmp_path.iterdir()] == ["trace.json"]


def test_the_server_runs_no_programs(ledger: Neurolens, server: Server) -> None:
    """It has no option for it, does not list them, and refuses them to whoever manages it."""
    assert ledger("serve", "--allow-exec", "--check", code=BAD_INPUT)
    assert "allow-exec" not in ledger("serve", "--help").out
    listed = posted(server, "tools/list")["result"]["tools"]
    assert not {tool["name"] for tool in listed} & set(EXEC)
    assert not any(tool["annotations"].get("destructiveHint", False) for tool in listed)
    for version in LEGACY:
        message = request(1, "tools/call", {"name": "record", "arguments": {"command": ["true"]}}, modern=False)
        result = post(server, message, {"MCP-Protocol-Version": version}).json["result"]
        assert result["structuredContent"]["error"]["code"] == "permission"


def test_batches_of_the_one_revision_that_has_them(server: Server) -> None:
    def batch(count: int) -> Any:
        return [request(number, "ping", modern=False) for number in range(count)]

    header = {"MCP-Protocol-Version": "2025-03-26"}
    assert [one["id"] for one in post(server, batch(32), header).json] == list(range(32))
    assert post(server, batch(33), header).json["error"]["code"] == INVALID_REQUEST
    mixed = [request(1, "ping", modern=False), 5, {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    answers = post(server, mixed, header).json
    assert [one.get("error", {}).get("code") for one in answers] == [None, INVALID_REQUEST]
    assert post(server, batch(2), {"MCP-Protocol-Version": "2025-06-18"}).status == 400


# ---- Requests that only lines have


def test_a_hundred_megabytes_by_lines(ledger: Neurolens) -> None:
    """Neither kept nor taken for several messages."""
    with Agent(ledger) as one_agent:
        assert "result" in one_agent.ask("server/discover")
        before = peak_bytes(one_agent.process.pid)
        piece = b"x" * (1 << 20)
        for _ in range(100):
            one_agent.write(piece)
        one_agent.write(b"\n")
        assert_fits(one_agent.next(), INVALID_REQUEST)
        assert "result" in one_agent.ask("server/discover")
        assert peak_bytes(one_agent.process.pid) - before < 32 << 20
        assert one_agent.end() == 0 and one_agent.next() is None


def peak_bytes(process: int) -> int:
    with open(f"/proc/{process}/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def test_a_line_in_pieces(ledger: Neurolens) -> None:
    with Agent(ledger) as one_agent:
        for byte in json.dumps(request(1, "server/discover")).encode() + b"\r\n":
            one_agent.write(bytes([byte]))
        assert "result" in one_agent.answer(1)
        one_agent.write(b"\n \t\r\n\n")  # nothing to say about it
        one_agent.write(json.dumps(request(2, "server/discover")).encode())  # the last line needs no end
        assert one_agent.end() == 0
        assert "result" in one_agent.answer(2) and one_agent.next() is None


def test_half_a_line_at_the_end(ledger: Neurolens) -> None:
    with Agent(ledger) as one_agent:
        one_agent.write(json.dumps(request(1, "server/discover")).encode()[:-1])
        assert one_agent.end() == 0
        assert_fits(one_agent.next(), PARSE_ERROR)
        assert one_agent.next() is None


def test_the_same_id_twice_at_once(ledger: Neurolens) -> None:
    """The second one is refused, and the first one can still be cancelled."""
    with Agent(ledger) as one_agent:
        slow = request("same", "tools/call", {"name": "query", "arguments": {"run": "@latest", "sql": SLOW}})
        one_agent.send(slow)
        one_agent.send(slow)
        assert_fits(one_agent.answer("same"), INVALID_REQUEST)
        one_agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "same"}})
        assert one_agent.end() == 0 and one_agent.next() is None


def test_cancelled_in_flight_again_and_again(ledger: Neurolens) -> None:
    """More than there are workers: those that wait are cancelled, too."""
    with Agent(ledger) as one_agent:
        for number in range(40):
            one_agent.send(request(f"slow {number}", "tools/call", {"name": "query", "arguments": {"run": "@latest", "sql": SLOW}}))
        for number in range(40):
            one_agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": f"slow {number}"}})
        assert one_agent.data("show", run="@latest")
        assert one_agent.end() == 0 and one_agent.next() is None


def test_too_many_at_once(ledger: Neurolens) -> None:
    """Those that are too many are refused at once; the others are still there."""
    with Agent(ledger) as one_agent:
        for number in range(300):
            one_agent.send(request(number, "tools/call", {"name": "query", "arguments": {"run": "@latest", "sql": SLOW}}))
        refused = [one_agent.next() for _ in range(300 - 256)]
        assert {one["error"]["code"] for one in refused} == {-32000}
        for number in range(300):
            one_agent.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
        assert one_agent.end() == 0 and one_agent.next() is None


def test_an_id_may_be_used_again(ledger: Neurolens) -> None:
    """Once its answer was read."""
    with Agent(ledger) as one_agent:
        for _ in range(300):
            one_agent.send(request("same", "prompts/list"))
            assert "result" in one_agent.answer("same")
        assert one_agent.end() == 0


def test_a_client_that_does_not_read(ledger: Neurolens) -> None:
    """Its pipe breaks: the program ends by itself, with an error of its own."""
    process = subprocess.Popen(
        ledger.command("mcp"), env=ledger.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write(json.dumps(request(1, "server/discover")).encode() + b"\n")
    process.stdin.flush()
    assert process.wait(agent.TIMEOUT) == MISSING
    assert b"does not read" in process.stderr.read()


def test_a_client_that_stops_reading(ledger: Neurolens) -> None:
    """While its pipe is full, one SIGTERM is enough."""
    process = subprocess.Popen(
        ledger.command("mcp"), env=ledger.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdin and process.stdout
        process.stdin.write(b"".join(json.dumps(request(number, "tools/list")).encode() + b"\n" for number in range(20)))
        process.stdin.flush()
        select.select([process.stdout], [], [], agent.TIMEOUT)
        time.sleep(0.5)  # until the pipe is full
        process.terminate()
        process.wait(10)
    finally:
        process.kill()


# ---- Many clients


def test_sixteen_clients_get_equal_bytes(ledger: Neurolens, server: Server) -> None:
    """Half of them by lines, half by HTTP, on one ledger."""
    calls = [("show", {"run": "@latest"}), ("analyze", {"run": "@latest"}), ("runs", {}), ("rules", {})]
    told: list[list[str]] = []

    def text_of(answer: Any) -> str:
        return json.dumps({**answer["result"], "_meta": None}, sort_keys=False)

    def by_lines() -> None:
        with Agent(ledger) as one_agent:
            told.append([text_of(one_agent.ask("tools/call", {"name": name, "arguments": given})) for name, given in calls])

    def by_http() -> None:
        told.append([text_of(posted(server, "tools/call", {"name": name, "arguments": given})) for name, given in calls])

    clients = [threading.Thread(target=work) for work in [by_lines, by_http] * 8]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert len(told) == 16 and all(one == told[0] for one in told)
