"""Answers come in the order of the requests of a connection: one each, whatever was asked and however it ended."""

import http.client
import json
import random
import re
from collections.abc import Iterator

import pytest

from conftest import Neurolens
from server import Server

METHODS = ["GET", "POST", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"]
OPERATIONS = [
    "runs", "lint", "trend", "show", "findings", "metrics", "schema", "timeline", "query", "report", "compare", "export", "note", "nothing",
]  # fmt: skip


@pytest.fixture
def server(neurolens: Neurolens, small_run: str) -> Iterator[Server]:
    one = Server(neurolens)
    yield one
    one.kill()


def answer(connection: http.client.HTTPConnection, server: Server, method: str, path: str, body: object, headers: dict[str, str]) -> bytes:
    everything = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json", **headers}
    connection.request(method, path, body, everything, encode_chunked=not isinstance(body, (str, type(None))))  # type: ignore[arg-type]
    return connection.getresponse().read()


def named(text: bytes) -> str | None:
    found = re.search(rb'"schema":"neurolens\.(\w+)/', text[-300:])
    return found[1].decode() if found else None


def test_a_stream_that_fails_at_once_is_answered_once(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for path in ("/api/v1/report?run=@latest", "/api/v1/export?run=@latest&format=none", "/api/v1/timeline?run=none&what=tile&page=packed"):
        assert b'"error"' in answer(connection, server, "GET", path, None, {})
        assert named(answer(connection, server, "GET", "/api/v1/metrics", None, {})) == "metrics"


def test_every_answer_is_that_of_its_request(server: Server) -> None:
    dice = random.Random(1)
    connection, named_right = None, 0
    for _ in range(600):
        connection = connection or http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        method, operation = dice.choice(METHODS), dice.choice(OPERATIONS)
        accept = dice.choice(["text/plain", "text/csv", "*/*"])
        choices = {"Expect": "100-continue", "If-None-Match": "*", "Accept": accept, "Accept-Encoding": "gzip"}
        headers = {key: value for key, value in choices.items() if dice.random() < 0.2}
        parameters = dice.choice([{}, {"run": "@latest"}, {"run": "@latest", "format": dice.choice(["json", "csv", "none"])}])
        path, body = f"/api/v1/{operation}", None
        if method == "GET" and dice.random() < 0.8:
            path += "?" + "&".join(f"{key}={value}" for key, value in parameters.items())
        elif dice.random() < 0.9:
            body = json.dumps(parameters) if dice.random() < 0.9 else iter([b'{"run":', b'"@latest"}'])
        try:
            text = answer(connection, server, method, path, body, headers)
        except (http.client.HTTPException, OSError):  # the server may end a connection, but not answer another's question
            connection.close()
            connection = None
            continue
        assert named(text) in (operation, None, "request", "stream", "uploads", "http"), (method, path, headers, text[:200])
        named_right += named(text) == operation
    assert named_right > 150
