"""A client of the Model Context Protocol for the tests, in raw JSON: by the lines of `neurolens mcp`, and by POST /mcp of a
server. No test itself."""

import itertools
import json
import queue
import subprocess
import threading
from typing import Any

from server import Answer, Server

MODERN = "2026-07-28"
LEGACY = ["2025-03-26", "2025-06-18", "2025-11-25"]
META = "io.modelcontextprotocol/"
TIMEOUT = 60
WHOLE = 10_000_000  # a budget that cuts nothing


def meta(version: str = MODERN, capabilities: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {f"{META}protocolVersion": version, f"{META}clientCapabilities": capabilities or {}, **more}


def request(number: Any, method: str, params: dict[str, Any] | None = None, modern: bool = True, **more: Any) -> dict[str, Any]:
    """`more` goes into the metadata."""
    around = meta(**more) if modern else more
    whole = {**(params or {}), **({"_meta": around} if around else {})}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": whole}


class Program:
    """What Agent needs of a program, for scripts that have no fixture."""

    def __init__(self, binary: Any, ledger: Any, environment: dict[str, str] | None = None):
        self.binary, self.ledger, self.environment = str(binary), str(ledger), environment

    def command(self, *words: str) -> list[str]:
        return [self.binary, *words, "--ledger", self.ledger]


class Agent:
    """A running `neurolens mcp`. Answers may come in any order; those that nobody waits for yet are kept."""

    def __init__(self, neurolens: Any, *options: Any):
        self.process = subprocess.Popen(
            neurolens.command("mcp", *options),
            env=neurolens.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        self.lines: queue.Queue[bytes | None] = queue.Queue()
        self.kept: dict[Any, Any] = {}
        self.notifications: list[Any] = []
        self.numbers = itertools.count(1)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def write(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def next(self, timeout: float = TIMEOUT) -> Any:
        """The next message; None at the end of the output."""
        line = self.lines.get(timeout=timeout)
        return None if line is None else json.loads(line)

    def answer(self, number: Any) -> Any:
        while number not in self.kept:
            message = self.next()
            assert message is not None, "the program has ended"
            if "method" in message:
                self.notifications.append(message)
            else:
                self.kept[message.get("id")] = message
        return self.kept.pop(number)

    def ask(self, method: str, params: dict[str, Any] | None = None, modern: bool = True, **more: Any) -> Any:
        number = next(self.numbers)
        self.send(request(number, method, params, modern, **more))
        return self.answer(number)

    def call(self, tool: str, **arguments: Any) -> Any:
        """The result of a tool."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answer, answer
        return answer["result"]

    def data(self, tool: str, **arguments: Any) -> Any:
        result = self.call(tool, **arguments)
        assert not result["isError"], result
        return result["structuredContent"]["data"]

    def end(self) -> int:
        """The exit code once the input has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(TIMEOUT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def headers_of(message: dict[str, Any]) -> dict[str, str]:
    """What a client of 2026-07-28 repeats in headers."""
    params = message.get("params", {})
    name = params.get("name", params.get("uri", params.get("taskId")))
    version = params.get("_meta", {}).get(f"{META}protocolVersion")
    return {
        "Accept": "application/json, text/event-stream",
        **({"MCP-Protocol-Version": version, "Mcp-Method": message["method"]} if version else {}),
        **({"Mcp-Name": name} if version and isinstance(name, str) else {}),
    }


def post(server: Server, message: Any, headers: dict[str, str] | None = None, token: str | None = None) -> Answer:
    own = headers_of(message) if isinstance(message, dict) else {}
    return server.post("/mcp", message, {**own, **(headers or {})}, token)


def messages_of(answer: Answer) -> list[Any]:
    """Of a JSON answer or of events."""
    if answer.headers["Content-Type"] == "text/event-stream":
        return [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    return [answer.json]


def posted(server: Server, method: str, params: dict[str, Any] | None = None, token: str | None = None, **more: Any) -> Any:
    """The answer to a request of 2026-07-28."""
    return messages_of(post(server, request(1, method, params, **more), token=token))[-1]
