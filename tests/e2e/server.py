"""A server of the ledger for the tests: starts `neurolens serve` on a free port, asks it, and ends it. No test itself."""

import dataclasses
import hashlib
import http.client
import json
import pathlib
import re
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

TIMEOUT = 30
READY = re.compile(r"serving (?P<ledger>.+) (?:at (?P<url>https?://\S+?)/(?:\?token=(?P<token>\w+))?|on (?P<file>\S+))\n")


@dataclasses.dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def data(self) -> Any:
        assert self.status == 200, self
        return self.json["data"]

    @property
    def message(self) -> str:
        return self.json["error"]["message"]

    def __repr__(self) -> str:
        return f"status {self.status}\n{self.headers}\n{self.body[:2000]!r}"


@dataclasses.dataclass
class Event:
    id: int
    name: str
    data: Any


class FileConnection(http.client.HTTPConnection):
    """HTTP over a socket in the file system."""

    def __init__(self, path: str):
        super().__init__("localhost", timeout=TIMEOUT)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(TIMEOUT)
        self.sock.connect(self.path)


def until(what: Callable[[], Any], seconds: float = 20, pause: float = 0.02) -> Any:
    """What it gives at last; fails if that stays false."""
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(pause)
    return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Server:
    """A running server. What it says is in `said`; unless another one is named, the token of its start is sent."""

    def __init__(self, neurolens: Any, *options: Any, port: int | None = 0, environment: dict[str, str] | None = None):
        self.neurolens = neurolens
        self.ledger = pathlib.Path(neurolens.ledger)
        self.messages = self.ledger.parent / f"{self.ledger.name}.{secrets.token_hex(4)}.messages"
        words = ["serve", *([] if port is None else ["--port", str(port)]), *map(str, options)]
        self.messages.parent.mkdir(parents=True, exist_ok=True)
        with self.messages.open("wb") as out:
            self.process = subprocess.Popen(
                neurolens.command(*words),
                env={**neurolens.environment, **(environment or {})},
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=out,
            )  # fmt: skip
        ready = self.wait_until_ready()
        self.token: str | None = ready["token"]
        self.file: str | None = ready["file"]
        self.url: str = ready["url"] or ""
        found = re.fullmatch(r"https?://(.+):(\d+)(/.*)?", self.url)
        self.host, self.port, self.base = (found[1], int(found[2]), found[3] or "") if found else ("", 0, "")

    @property
    def said(self) -> str:
        return self.messages.read_text()

    def wait_until_ready(self) -> re.Match[str]:
        def ready() -> re.Match[str] | None:
            assert self.process.poll() is None, self.said
            return READY.search(self.said)

        try:
            return until(ready)
        except AssertionError:
            self.kill()
            raise

    # ---- Asking

    def connection(self, timeout: float = TIMEOUT) -> http.client.HTTPConnection:
        return FileConnection(self.file) if self.file else http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self, more: dict[str, str] | None = None, token: str | None = None) -> dict[str, str]:
        """An empty token sends none."""
        token = self.token if token is None else token
        return {**({"Authorization": f"Bearer {token}"} if token else {}), **(more or {})}

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None, token: str | None = None
    ) -> Answer:
        connection = self.connection()
        try:
            connection.request(method, self.base + path, body, self.headers(headers, token))
            response = connection.getresponse()
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def get(self, path: str, headers: dict[str, str] | None = None, token: str | None = None) -> Answer:
        return self.ask("GET", path, None, headers, token)

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None, token: str | None = None) -> Answer:
        return self.ask("POST", path, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})}, token)

    def put(self, path: str, body: bytes, headers: dict[str, str] | None = None, token: str | None = None) -> Answer:
        return self.ask("PUT", path, body, headers, token)

    def delete(self, path: str, token: str | None = None) -> Answer:
        return self.ask("DELETE", path, None, None, token)

    def call(self, operation: str, **parameters: Any) -> Answer:
        return self.post(f"/api/v1/{operation}", parameters)

    def connected(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=TIMEOUT)

    def raw(self, text: bytes, seconds: float = TIMEOUT) -> bytes:
        """What comes back for these bytes, until the server closes the connection or is silent for so long."""
        with self.connected() as one:
            one.settimeout(seconds)
            got = b""
            try:
                one.sendall(text)
                while piece := one.recv(65536):
                    got += piece
            except OSError:
                pass
            return got

    def head(self, method: str, path: str, *lines: str) -> bytes:
        """The beginning of a request, for raw()."""
        first = [f"{method} {self.base}{path} HTTP/1.1", f"Host: {self.host}:{self.port}", f"Authorization: Bearer {self.token}"]
        return "\r\n".join([*first, *lines, "", ""]).encode()

    # ---- Jobs and uploads

    def start(self, operation: str, **parameters: Any) -> str:
        """A job; its id."""
        answer = self.post(f"/api/v1/{operation}", parameters, {"Prefer": "respond-async"})
        assert answer.status == 202, answer
        return str(answer.json["job_id"])

    def job(self, job: str) -> Any:
        answer = self.get(f"/api/v1/jobs/{job}")
        assert answer.status == 200, answer
        return answer.json

    def ended(self, job: str, seconds: float = 30) -> Any:
        return until(lambda: (now := self.job(job))["state"] not in ("queued", "running") and now, seconds, 0.05)

    def events(self, job: str) -> Iterator[Event]:
        """Server-sent events until the server ends them; whoever stops before hangs up."""
        connection = self.connection()
        try:
            connection.request("GET", f"{self.base}/api/v1/jobs/{job}/events", headers=self.headers())
            response = connection.getresponse()
            assert response.status == 200 and response.headers["Content-Type"] == "text/event-stream", response.read()
            fields: dict[str, str] = {}
            while line := response.readline().decode():
                name, _, value = line.rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                elif fields:
                    yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))
                    fields = {}
        finally:
            connection.close()

    def announce(self, *files: tuple[str, bytes], hashed: bool = True, token: str | None = None) -> Answer:
        listed: list[dict[str, Any]] = [{"name": name, "bytes": len(content)} for name, content in files]
        for one, (_, content) in zip(listed, files) if hashed else ():
            one["sha256"] = hashlib.sha256(content).hexdigest()
        return self.post("/api/v1/uploads", {"files": listed}, token=token)

    def upload(self, *files: tuple[str, bytes], hashed: bool = True, token: str | None = None) -> str:
        """The id of an upload that is complete."""
        begun = self.announce(*files, hashed=hashed, token=token)
        assert begun.status == 201, begun
        for number, (_, content) in enumerate(files):
            sent = self.put(f"/api/v1/uploads/{begun.json['upload_id']}/{number}", content, token=token)
            assert sent.status == 200, sent
        return str(begun.json["upload_id"])

    def import_upload(self, upload: str, **parameters: Any) -> Any:
        """The job at its end."""
        answer = self.call("import", upload=upload, **parameters)
        assert answer.status == 202 and answer.json["job_id"] == upload, answer
        return self.ended(upload)

    def uploaded_files(self) -> list[pathlib.Path]:
        """Of the ledger: uploads/ID/NUMBER/NAME; the server's own notes lie beside the numbers."""
        return [path for path in (self.ledger / "uploads").glob("*/*/*") if path.is_file()]

    def add_token(self, name: str, role: str = "write", project: str = "main") -> str:
        """A token of somebody."""
        return str(self.neurolens("token", "add", name, "--role", role, "--project", project, "--json").data["token"])

    # ---- Figures and the end

    def figures(self) -> dict[str, float]:
        lines = self.get("/metrics", token="").text.splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))}

    def busy(self) -> int:
        """Requests that are being answered, without the one that asks."""
        return int(self.figures()["neurolens_requests_running"]) - 1

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT)
