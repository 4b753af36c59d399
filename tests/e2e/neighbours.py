"""A server of a neighbouring version, for the tests: a proxy in front of a real one. No test itself.

Newer: what /api/v1 may add (docs/server.md, Versions) is added to each answer. Older: the proxy renames what the older server does not
know, so that the real server refuses it in its own words."""

import dataclasses
import http.client
import http.server
import json
import re
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from server import TIMEOUT, Answer, Server

API = "/api/v1/"
LATER = "of_a_later_version"
# Headers of one connection; the proxy has its own.
OF_THE_WAY = {"connection", "content-length", "host", "keep-alive", "transfer-encoding"}


@dataclasses.dataclass
class Question:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def operation(self) -> str:
        """What stands behind /api/v1/, up to the next slash; empty elsewhere."""
        path = self.target.partition("?")[0]
        return path.removeprefix(API).partition("/")[0] if path.startswith(API) else ""

    @property
    def parameters(self) -> dict[str, Any]:
        return json.loads(self.body) if self.body and self.headers.get("Content-Type") == "application/json" else {}


def made(status: int, body: Any, kind: str = "application/json", **headers: str) -> Answer:
    """An answer that no server gave."""
    message = http.client.HTTPMessage()
    message["Content-Type"] = kind
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return Answer(status, message, body if isinstance(body, bytes) else json.dumps(body).encode())


def is_json(answer: Answer) -> bool:
    return answer.headers.get_content_type() == "application/json"


class Neighbour:
    """A server that only passes on. `seen` has all questions."""

    def __init__(self) -> None:
        self.seen: list[Question] = []

    def asked(self, question: Question) -> Question | Answer:
        """What the real server is asked; or the answer, without asking it."""
        return question

    def answered(self, question: Question, answer: Answer) -> Answer:
        return answer


class Newer(Neighbour):
    """Adds members, warnings, suggestions, headers and states that we do not know."""

    def __init__(self, next_calls: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.next_calls = next_calls
        self.jobs: set[str] = set()

    def answered(self, question: Question, answer: Answer) -> Answer:
        answer.headers["NeuroLens-Later"] = "1"
        answer.headers["Deprecation"] = "@1893456000"
        if not is_json(answer):
            return answer
        body = answer.json
        if question.operation == "jobs" and question.method == "GET" and question.target not in self.jobs:
            self.jobs.add(question.target)  # at first it has not ended, and is in a state that was added
            body = {"job_id": body["job_id"], "state": LATER}
        if isinstance(body, dict) and "data" in body:
            body["warnings"].append(f"{LATER}: a warning")
            body["next"].extend(self.next_calls)
            body["version"] = "9.0.0"
        answer.body = json.dumps(grown(body)).encode()
        return answer


def grown(value: Any) -> Any:
    """Each object gets a member."""
    if isinstance(value, dict):
        return {name: grown(one) for name, one in value.items()} | {LATER: {"a": [1, None, "b"]}}
    return [grown(one) for one in value] if isinstance(value, list) else value


def without_later(value: Any) -> Any:
    """An answer as it was before the proxy added to it."""
    if isinstance(value, dict):
        return {name: without_later(one) for name, one in value.items() if name != LATER}
    if isinstance(value, list):
        return [without_later(one) for one in value if not str(one).startswith(LATER)]
    return value


class Older(Neighbour):
    """Knows neither these operations ("trend"), nor parameters ("runs/facets"), nor values of parameters ("query/format=arrow")."""

    def __init__(self, *unknown: str) -> None:
        super().__init__()
        self.unknown = unknown

    def asked(self, question: Question) -> Question:
        name = question.operation
        if name in self.unknown:
            question.target = question.target.replace(API + name, f"{API}not_{name}", 1)
        if parameters := question.parameters:
            question.body = json.dumps(dict(self.sent(name, *one) for one in parameters.items())).encode()
        return question

    def sent(self, operation: str, key: str, value: Any) -> tuple[str, Any]:
        if f"{operation}/{key}" in self.unknown:
            return f"not_{key}", value
        return key, f"not_{value}" if f"{operation}/{key}={value}" in self.unknown else value

    def answered(self, question: Question, answer: Answer) -> Answer:
        if question.target == f"{API}openapi.json":
            answer.body = json.dumps(self.document(answer.json)).encode()
        elif is_json(answer) and isinstance(body := answer.json, dict):
            if "version" in body:
                body["version"] = "0.0.9"
            text = json.dumps(body)
            for one in self.unknown:
                text = self.in_its_words(text, one)
            answer.body = text.encode()
        return answer

    @staticmethod
    def in_its_words(text: str, unknown: str) -> str:
        operation, _, rest = unknown.partition("/")
        key, _, value = rest.partition("=")
        if value:  # it lists the values that it knows
            return re.sub(rf',?\\"{value}\\"', "", text)
        return text.replace(f"not_{key}" if key else f"not_{operation}", key or operation)

    def document(self, openapi: Any) -> Any:
        for one in self.unknown:
            operation, _, rest = one.partition("/")
            key, _, value = rest.partition("=")
            path = openapi["paths"].get(API + operation, {})
            if not key:
                openapi["paths"].pop(API + operation, None)
            for schema in properties_of(path):
                if value:
                    schema[key]["enum"].remove(value)
                elif key:
                    schema.pop(key, None)
            if "get" in path and key and not value:
                path["get"]["parameters"] = [each for each in path["get"]["parameters"] if each["name"] != key]
        openapi["info"]["version"] = "0.0.9"
        return openapi


def properties_of(path: Any) -> list[dict[str, Any]]:
    if "post" not in path:
        return []
    return [path["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]]


class Stranger(Neighbour):
    """Gives the same answer to everything, but for what `known` are asked: these it passes on."""

    def __init__(self, answer: Answer, *known: str) -> None:
        super().__init__()
        self.answer, self.known = answer, known

    def asked(self, question: Question) -> Question | Answer:
        return question if question.operation in self.known else self.answer


class Changed(Neighbour):
    """Changes the JSON of some answers."""

    def __init__(self, operation: str, change: Callable[[Any], Any]) -> None:
        super().__init__()
        self.operation, self.change = operation, change

    def answered(self, question: Question, answer: Answer) -> Answer:
        if question.operation == self.operation:
            answer.body = json.dumps(self.change(answer.json)).encode()
        return answer


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Proxy"

    def pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kept = {name: value for name, value in self.headers.items() if name.lower() not in OF_THE_WAY}
        question = Question(self.command, self.path, kept, body)
        self.server.neighbour.seen.append(dataclasses.replace(question))
        asked = self.server.neighbour.asked(question)
        answer = asked if isinstance(asked, Answer) else self.server.neighbour.answered(asked, self.server.real_answer(asked))
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in OF_THE_WAY:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST = do_PUT = do_DELETE = pass_on

    def log_message(self, *_: Any) -> None:
        pass


class Proxy(http.server.ThreadingHTTPServer):
    """In front of the server, as long as the `with` goes on."""

    daemon_threads = True

    def __init__(self, real: Server, neighbour: Neighbour):
        super().__init__(("127.0.0.1", 0), Handler)
        self.real, self.neighbour = real, neighbour
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def real_answer(self, question: Question) -> Answer:
        connection = http.client.HTTPConnection(self.real.host, self.real.port, timeout=TIMEOUT)
        try:
            connection.request(question.method, question.target, question.body, question.headers)
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def __enter__(self) -> "Proxy":
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.shutdown()
        self.server_close()
