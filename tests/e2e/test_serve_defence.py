"""What strangers, foreign pages and broken clients can do to a server: nothing but be told so. SQL of the attacks of
sql_attacks.py has the same verdicts as on the command line."""

import hashlib
import json
import pathlib
import re
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

import sql_attacks
import trace_text
from conftest import Neurolens
from server import Server, until

JSON = {"Content-Type": "application/json"}
MOST_HEADER, MOST_BODY = 16 << 10, 8 << 20
REQUEST_SECONDS = 20  # for a client to send its request


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Neurolens:
    folder = tmp_path_factory.mktemp("defence")
    neurolens = Neurolens(folder / "ledger")
    (folder / "small.json").write_text(trace_text.trace_text())
    neurolens.import_file(folder / "small.json")
    return neurolens


@pytest.fixture(scope="module")
def run(ledger: Neurolens) -> str:
    return str(ledger.run_ids()[0])


@pytest.fixture(scope="module")
def started() -> Iterator[list[Server]]:
    servers: list[Server] = []
    yield servers
    for one in servers:
        one.kill()


@pytest.fixture
def server(ledger: Neurolens, started: list[Server]) -> Iterator[Server]:
    """One for all tests, which must survive each of them; if it does not, the next test gets another one."""
    if not started or started[-1].process.poll() is not None:
        started.append(Server(ledger))
    yield started[-1]
    assert started[-1].process.poll() is None, f"the server has died: {started[-1].said}"


@pytest.fixture
def cookie(server: Server) -> str:
    return server.get(f"/?token={server.token}", token="").headers["Set-Cookie"].split(";")[0]


def status_of(got: bytes) -> int:
    found = re.match(rb"HTTP/1\.[01] (\d{3}) ", got)
    return int(found[1]) if found else 0


@pytest.fixture(scope="module", autouse=True)
def slow_clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, float, list[socket.socket]]]:
    """Half a header, half a body and a connection without a word: begun before the other tests, looked at behind them."""
    server = Server(Neurolens(tmp_path_factory.mktemp("slow") / "ledger"))
    half = server.head("POST", "/api/v1/runs", "Content-Type: application/json", "Content-Length: 9") + b"{"
    begin, clients = time.monotonic(), []
    for text in (b"GET /healthz HTTP/1.1\r\nHost: 127", half, b""):
        clients.append(server.connected())
        clients[-1].sendall(text)
        clients[-1].settimeout(REQUEST_SECONDS + 6)
    yield server, begin, clients
    server.kill()


# ---- Foreign names and pages


@pytest.mark.parametrize(
    "host",
    ["example.com", "example.com:{port}", "127.0.0.1.example.com:{port}", "localhost:1", "127.0.0.1:{port}.example.com", "", "[::2]"],
)
def test_a_foreign_host_is_refused(server: Server, host: str) -> None:
    """But for probes of whoever runs the server, which tell nothing."""
    for path in ("/api/v1/runs", "/metrics", "/", f"/?token={server.token}"):
        answer = server.get(path, {"Host": host.format(port=server.port)})
        assert answer.status == 421 and "Set-Cookie" not in answer.headers, answer


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "LOCALHOST:{port}"])
def test_its_own_names_are_known(server: Server, host: str) -> None:
    assert server.get("/api/v1/runs", {"Host": host.format(port=server.port)}).status == 200


def test_a_request_without_a_host_is_refused(server: Server) -> None:
    got = server.raw(f"GET /api/v1/runs HTTP/1.1\r\nAuthorization: Bearer {server.token}\r\nConnection: close\r\n\r\n".encode(), 5)
    assert status_of(got) in (400, 421)


def test_a_name_may_be_added(serve) -> None:
    server = serve("--name", "lens.example")
    assert server.get("/api/v1/runs", {"Host": "lens.example"}).status == 200
    assert server.get("/api/v1/runs", {"Host": "lens.example", "Origin": "https://lens.example"}).status == 200
    assert server.get("/api/v1/runs", {"Host": "other.example"}).status == 421


FOREIGN = [
    "https://example.com", "http://example.com:{port}", "null", "http://localhost:1", "http://127.0.0.1:{port}.example.com", "file://", "x",
]  # fmt: skip


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_foreign_page_is_refused(server: Server, run: str, cookie: str, origin: str) -> None:
    for credentials in ({"Cookie": cookie}, server.headers()):
        headers = {"Origin": origin.format(port=server.port), **credentials}
        assert server.get("/api/v1/runs", headers, token="").status == 403
        assert server.post("/api/v1/tag", {"run": run, "names": ["stolen"]}, headers, token="").status == 403
        assert server.put("/api/v1/uploads/0/0", b"x", headers, token="").status == 403
    assert "stolen" not in server.call("tag", run=run).text


def test_a_page_of_another_port_is_a_foreign_page(server: Server, cookie: str) -> None:
    """Cookies and SameSite know no ports: another server of this machine gets the cookie sent along."""
    for origin in ("http://127.0.0.1", "http://localhost", "https://localhost"):
        assert server.post("/api/v1/tag", {"run": "@latest"}, {"Origin": origin, "Cookie": cookie}, token="").status == 403, origin


def test_its_own_page_may_ask(server: Server, run: str, cookie: str) -> None:
    headers = {"Origin": f"http://127.0.0.1:{server.port}", "Cookie": cookie}
    assert server.post("/api/v1/show", {"run": run}, headers, token="").status == 200


FORMS = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx", None]


@pytest.mark.parametrize("kind", FORMS)
def test_a_form_of_a_page_cannot_write(server: Server, run: str, cookie: str, kind: str | None) -> None:
    """What a browser sends to other sites without asking them first."""
    headers = {"Cookie": cookie, **({"Content-Type": kind} if kind else {})}
    body = json.dumps({"run": run, "names": ["by_a_form"]}).encode()
    assert server.ask("POST", "/api/v1/tag", body, headers, token="").status == 415
    announced = json.dumps({"files": [{"name": "a", "bytes": 1}]}).encode()
    assert server.ask("POST", "/api/v1/uploads", announced, headers, token="").status == 415
    assert "by_a_form" not in server.call("tag", run=run).text


def test_nothing_is_written_by_get(server: Server, run: str, tmp_path) -> None:
    for path in (f"tag?run={run}&names=x", f"note?run={run}&text=x", f"delete?run={run}&reason=x", f"label?run={run}&labels=a=b"):
        for more in ({}, {"Prefer": "respond-async"}):
            assert server.get(f"/api/v1/{path}", more).status == 405
    for more in ({}, {"Prefer": "respond-async"}):
        answer = server.get(f"/api/v1/compare?runs={run}&runs={run}&html={tmp_path}/x.html", more)
        if answer.status == 202:
            assert server.ended(answer.json["job_id"])["status"] == 403
        else:
            assert answer.status == 403
    assert not (tmp_path / "x.html").exists()


def test_no_answer_is_for_other_sites(server: Server, run: str) -> None:
    ours = {"Origin": f"http://localhost:{server.port}"}
    for answer in (server.get("/api/v1/runs", ours), server.get("/"), server.call("show", run=run)):
        assert not any(name.lower().startswith("access-control") for name in answer.headers)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


# ---- Files of the server


@pytest.fixture
def lying_profile(tmp_path) -> pathlib.Path:
    """A profile of the server's machine that nobody sent."""
    path = tmp_path / "lying.json"
    path.write_text(trace_text.trace_text(1, 77))
    return path


def refused_paths(path: pathlib.Path) -> list[tuple[str, dict[str, Any]]]:
    there = str(path)
    return [
        ("schema", {"what": "validate", "target": there}),
        ("schema", {"what": "validate", "target": "/etc/passwd"}),
        ("rules", {"action": "check", "targets": [there]}),
        ("rules", {"rules": ["/etc"]}),
        ("analyze", {"run": "@latest", "peaks": "/etc/passwd"}),
        ("analyze", {"run": "@latest", "rules": ["/etc"]}),
        ("analyze", {"run": "@latest", "model_config": "/etc/passwd"}),
        ("compare", {"runs": ["@latest", "@latest"], "html": f"{there}.html"}),
        ("compare", {"runs": ["@latest", "@latest"], "expect": "/etc/passwd"}),
        ("trend", {"svg": f"{there}.svg"}),
        ("findings", {"score": True, "pairs": "/etc/passwd"}),
        ("fingerprint", {"run": "@latest", "peaks": "/etc/passwd"}),
        ("lint", {"run": "@latest", "names": "/etc/passwd"}),
        ("import", {"paths": [there]}),
        ("import", {"paths": ["/etc/passwd"]}),
    ]


def test_parameters_name_no_files_of_the_server(server: Server, ledger: Neurolens, lying_profile) -> None:
    before = sorted(lying_profile.parent.iterdir())
    for name, parameters in refused_paths(lying_profile):
        for more in ({}, {"Prefer": "respond-async"}):
            answer = server.post(f"/api/v1/{name}", parameters, more)
            if answer.status == 202:
                job = server.ended(answer.json["job_id"])
                assert job["status"] in (400, 403), f"{name} {parameters}: {job}"
            else:
                assert answer.status in (400, 403), f"{name} {parameters}: {answer}"
            assert "root:" not in answer.text
    assert sorted(lying_profile.parent.iterdir()) == before and len(ledger.run_ids()) == 1


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("show", {"run": "{}"}), ("analyze", {"run": "{}"}), ("query", {"run": "{}", "sql": "SELECT 1"}), ("verify", {"run": "{}"}),
        ("compare", {"runs": ["{}", "{}"]}), ("compare", {"runs": ["@latest", "{}"]}), ("compare", {"base": ["{}"], "new": ["@latest"]}),
        ("similar", {"run": "{}"}), ("lint", {"run": "{}"}), ("fingerprint", {"run": "{}"}), ("findings", {"run": "{}"}),
        ("slice", {"run": "{}"}), ("tag", {"run": "{}", "names": ["x"]}), ("label", {"run": "{}", "labels": ["a=b"]}),
        ("note", {"run": "{}", "text": "x"}), ("baseline", {"name": "x", "run": "{}"}), ("delete", {"run": "{}", "reason": "x"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_run_is_no_path(server: Server, ledger: Neurolens, run: str, lying_profile, name: str, parameters: dict) -> None:
    """Neither read nor imported; a path that is there is answered like one that is not."""
    for path in ("/etc/passwd", str(lying_profile), str(ledger.bundle(run)), f"{ledger.bundle(run)}/run.json", f"file://{lying_profile}"):
        given = json.loads(json.dumps(parameters).replace("{}", path))
        absent = json.loads(json.dumps(parameters).replace("{}", path + "-is-not-there"))
        answer = server.call(name, **given)
        assert answer.status in (400, 403, 404) and "root:" not in answer.text, f"{path}: {answer}"
        assert server.call(name, **absent).status == answer.status, "it tells which files there are"
    assert ledger.run_ids() == [run]


def test_nothing_is_served_from_the_disk(server: Server) -> None:
    outside = ("/etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd")
    for path in (*outside, "/api/v1/../../audit.jsonl", "/audit.jsonl", "/state.sqlite"):
        answer = server.get(path)
        assert answer.status in (400, 404) and b"root:" not in answer.body


@pytest.mark.parametrize("project", ["../x", "a/b", "..", ".", "", "x" * 65, "a b", "/etc", "*", "é"])
def test_a_project_is_no_path(server: Server, project: str) -> None:
    answer = server.ask("GET", "/api/v1/runs", None, {"NeuroLens-Project": project.encode().decode("latin-1")})
    assert answer.status == (200 if project == "" else 403), answer
    assert not (server.ledger.parent / "x").exists()


def test_a_token_of_a_project_is_good_there_alone(server: Server) -> None:
    token = server.add_token("carol", "write", "theirs")
    assert server.get("/api/v1/runs", token=token).data["runs"] == []
    for project in ("main", "other"):
        assert server.get("/api/v1/runs", {"NeuroLens-Project": project}, token=token).status == 403


def test_roles_hold(server: Server, run: str) -> None:
    reader, writer = server.add_token("rita", "read"), server.add_token("will", "write")
    assert server.post("/api/v1/show", {"run": run}, token=reader).status == 200
    for name, more in (("tag", {"names": ["x"]}), ("note", {"text": "x"}), ("delete", {"reason": "x"}), ("label", {"labels": ["a=b"]})):
        answer = server.post(f"/api/v1/{name}", {"run": run, **more}, token=reader)
        assert answer.status == 403, f"{name}: {answer}"
        later = server.post(f"/api/v1/{name}", {"run": run, **more}, {"Prefer": "respond-async"}, token=reader)
        assert later.status in (202, 403)
    assert server.post("/api/v1/tag", {"run": run, "names": ["by_will"]}, token=writer).status == 200
    assert server.call("show", run=run).status == 200, "it was not deleted"


# ---- Broken and hostile clients


def test_a_header_that_is_too_large_is_refused(server: Server) -> None:
    assert status_of(server.raw(server.head("GET", "/api/v1/runs", "X-Large: " + "x" * MOST_HEADER), 5)) == 431
    assert status_of(server.raw(server.head("GET", "/" + "x" * MOST_HEADER), 5)) == 431
    assert status_of(server.raw(server.head("GET", "/healthz", *(f"X-{n}: {n}" for n in range(5000))), 5)) == 431
    assert server.get("/healthz").status == 200


def test_a_body_that_is_too_large_is_refused(server: Server) -> None:
    announced = server.head("POST", "/api/v1/runs", "Content-Type: application/json", f"Content-Length: {MOST_BODY + 1}")
    assert status_of(server.raw(announced, 5)) == 413, "before it is sent"
    chunk = b"100000\r\n" + b" " * (1 << 20) + b"\r\n"
    sent = server.head("POST", "/api/v1/runs", "Content-Type: application/json", "Transfer-Encoding: chunked") + chunk * 9
    assert status_of(server.raw(sent, 5)) == 413
    assert server.get("/healthz").status == 200


def test_the_refusal_of_a_large_body_arrives(server: Server) -> None:
    """Also at a client that sends all of it before it reads."""
    head = server.head("POST", "/api/v1/runs", "Content-Type: application/json", f"Content-Length: {4 * MOST_BODY}")
    got = [status_of(server.raw(head + b" " * (4 * MOST_BODY), 5)) for _ in range(5)]
    assert got == [413] * 5


GARBAGE = {
    "bytes": bytes(range(256)) * 4,
    "zeros": b"\0" * 1000,
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,
    "http2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "smtp": b"EHLO example.com\r\n\r\n",
    "no_version": b"GET /\r\n\r\n",
    "http9": b"GET / HTTP/9.9\r\n\r\n",
    "blank_in_name": b"GET / HTTP/1.1\r\nHo st: x\r\n\r\n",
    "no_colon": b"GET / HTTP/1.1\r\nHost\r\n\r\n",
    "bad_length": b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    "lengths": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "both": b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "folded": b"GET / HTTP/1.1\r\nA: b\r\n\tc: d\0\r\n\r\n",
    "no_slash": b"GET runs HTTP/1.1\r\nHost: x\r\n\r\n",
    "star": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "nul": b"GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("name", GARBAGE)
def test_garbage_is_no_request(server: Server, name: str) -> None:
    got = server.raw(GARBAGE[name], 5)
    assert status_of(got) == 400, got[:300]
    assert server.get("/healthz").status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/%", "/%1", "/%zz", "/%00", "/%0d", "/%0a", "/a%0d%0aSet-Cookie:%20a=b", "/%7f", "/api/v1/runs?limit=%", "/api/v1/runs?a=%00",
        "/%1b[31m",
    ],
)
def test_wrong_escapes_and_control_characters_are_refused(server: Server, path: str) -> None:
    got = server.raw(server.head("GET", path, "Connection: close"), 5)
    assert status_of(got) == 400, got[:300]
    token = f"{path}{'&' if '?' in path else '?'}token={server.token}"
    got = server.raw(server.head("GET", token, "Connection: close"), 5)
    assert status_of(got) == 400 and b"Set-Cookie" not in got, got[:500]


TWICE = ["Host: 127.0.0.1", "Authorization: Bearer x", "Origin: http://a\r\nOrigin: http://b", "Content-Type: a\r\nContent-Type: b"]


@pytest.mark.parametrize("line", TWICE)
def test_a_header_that_comes_twice_is_refused(server: Server, line: str) -> None:
    assert status_of(server.raw(server.head("GET", "/api/v1/runs", line, "Connection: close"), 5)) == 400


def test_two_cookies_of_the_name_open_nothing_new(server: Server, cookie: str) -> None:
    assert server.get("/api/v1/runs", {"Cookie": f"neurolens_token=x; {cookie}"}, token="").status in (200, 401)
    assert server.get("/api/v1/runs", {"Cookie": "neurolens_token="}, token="").status == 401


def test_deep_and_strange_json_is_refused(server: Server) -> None:
    deep = (b"[" * 500_000, b'{"a":' * 100_000, b"{" * 1000)
    for body in (*deep, b'{"run": "\xff"}', b'{"limit": 1e999}', b'{"limit": 1, "limit": 2', b"nul"):
        answer = server.ask("POST", "/api/v1/runs", body, JSON)
        assert answer.status == 400, answer
    assert server.get("/healthz").status == 200


def test_a_message_shows_no_control_characters(server: Server) -> None:
    answer = server.call("show", run="x\u001b[31m\u202e<script>")
    assert answer.status in (400, 404) and b"\x1b" not in answer.body


@pytest.mark.parametrize("kind", ["in a header", "in a body", "before the answer", "instead of the body"])
def test_clients_that_hang_up_leave_nothing_running(serve, kind: str) -> None:
    server = serve()
    body = b'{"limit": 1}'
    whole = server.head("POST", "/api/v1/runs", "Content-Type: application/json", f"Content-Length: {len(body)}") + body
    asking = server.head("POST", "/api/v1/runs", "Content-Type: application/json", "Content-Length: 12", "Expect: 100-continue")
    texts = {"in a header": whole[:20], "in a body": whole[:-3], "before the answer": whole, "instead of the body": asking}
    for text in [texts[kind]] * 20:
        one = server.connected()
        one.sendall(text)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        one.close()
    assert until(lambda: server.busy() == 0, 5)
    assert server.get("/api/v1/runs").status == 200


def test_unfinished_connections_keep_nobody_out(server: Server, run: str) -> None:
    clients = [server.connected() for _ in range(200)]
    for one in clients:
        one.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: ")
    begin = time.monotonic()
    for _ in range(10):
        assert server.get("/api/v1/runs").status == 200
    assert server.call("show", run=run).status == 200
    assert time.monotonic() - begin < 10
    for one in clients:
        one.close()


# ---- Logs


def chain(path: pathlib.Path) -> list[Any]:
    """The lines of an audit log, each of which holds the hash of the one before."""
    before, entries = b"", []
    for line in path.read_bytes().splitlines():
        entries.append(json.loads(line))
        assert entries[-1]["before"] == hashlib.sha256(before).hexdigest(), line
        before = line
    return entries


def test_writes_and_refusals_are_in_the_audit_log(serve, small_run: str) -> None:
    server = serve()
    log = server.ledger / "audit.jsonl"
    assert server.call("tag", run=small_run, names=["seen"]).status == 200
    assert server.get("/api/v1/runs", token="").status == 401
    assert server.call("schema", what="validate", target="/etc/passwd").status == 403
    assert server.get("/api/v1/runs", {"Origin": "https://example.com"}).status == 403
    reader = server.add_token("rita", "read")
    assert server.post("/api/v1/tag", {"run": small_run, "names": ["x"]}, token=reader).status == 403
    entries = chain(log)
    asked = [one for one in entries if one["event"] == "asked" and one["operation"] == "tag"]
    assert asked[0]["parameters"] == {"run": small_run, "names": ["seen"]} and asked[0]["who"] and asked[0]["address"] == "127.0.0.1"
    assert any(one["event"] == "answered" and one["operation"] == "tag" and one["status"] == 200 for one in entries)
    refused = [(one["operation"], one["status"], one["who"]) for one in entries if one["event"] == "refused"]
    assert [(name, status) for name, status, _ in refused] == [("runs", 401), ("schema", 403), ("runs", 403), ("tag", 403)]
    assert refused[-1][2] == "rita"
    count = len(entries)
    server.get("/api/v1/runs")
    assert len(chain(log)) == count, "reading is no event"


def test_uploads_are_in_the_audit_log(serve) -> None:
    server = serve()
    log = server.ledger / "audit.jsonl"
    reader = server.add_token("rita", "read")
    assert server.put("/api/v1/uploads/0/0", b"x", token="").status == 401
    assert server.announce(("a", b"x"), token=reader).status == 403
    events = [(one["event"], one["operation"], one["status"]) for one in chain(log)] if log.exists() else []
    assert events == [("refused", "uploads", 401), ("refused", "uploads", 403)]
    upload = server.upload(("small.json", trace_text.trace_text().encode()))
    server.import_upload(upload)
    assert any(one["operation"] == "import" and one["event"] == "asked" and one["parameters"] == {"upload": upload} for one in chain(log))


def test_the_chain_holds_across_starts_and_a_cut_line(serve, small_run: str) -> None:
    first = serve()
    first.call("tag", run=small_run, names=["one"])
    first.kill()
    log = first.ledger / "audit.jsonl"
    second = serve()
    second.call("tag", run=small_run, names=["two"])
    assert len(chain(log)) == 4
    second.kill()
    with log.open("a") as half:
        half.write('{"at_ns": 1, "even')
    third = serve()
    third.call("tag", run=small_run, names=["three"])
    lines = log.read_text().splitlines()
    assert len(lines) == 7 and all(json.loads(line)["event"] for line in lines[5:])
    assert json.loads(lines[5])["before"] == hashlib.sha256(lines[3].encode()).hexdigest(), "it follows the last whole line"
    assert json.loads(lines[6])["before"] == hashlib.sha256(lines[5].encode()).hexdigest()


def test_a_ledger_has_one_server(serve, neurolens: Neurolens) -> None:
    serve()
    result = neurolens("serve", "--port", "0", code=None, timeout=10)
    assert result.code != 0 and "another server" in result.err


def test_secrets_are_in_no_log_and_in_no_error(serve, neurolens: Neurolens, small_run: str, tmp_path) -> None:
    server = serve("--access-log", tmp_path / "access.log")
    writer = server.add_token("will")
    texts = []
    for token in (server.token, writer, "wrong_secret_of_mine"):
        for path in (f"/?token={token}", f"/api/v1/nothing?token={token}", f"/api/v1/{token}", f"/{token}"):
            cookie = {"Cookie": f"neurolens_token={token}"}
            texts += [one.text for one in (server.get(path), server.get(path, token=""), server.get(path, cookie, token=""))]
        texts.append(server.post("/api/v1/tag", {"run": small_run, "names": [f"Bearer {token}"]}, token=token).text[:0])
        server.get("/api/v1/runs", {"Host": "example.com"}, token=token)
        server.get("/api/v1/runs", {"Origin": "https://example.com"}, token=token)
    server.stop()
    texts += [(tmp_path / "access.log").read_text(), server.said.split("\n", 1)[1]]
    audit = (server.ledger / "audit.jsonl").read_text()
    for secret in (server.token, writer, "wrong_secret_of_mine"):
        assert secret is not None and not any(secret in text for text in texts)
    assert writer not in audit and server.token not in audit
    assert writer not in (server.ledger / "access.sqlite").read_bytes().decode("latin-1")
    assert writer.rsplit("_", 1)[1] not in (server.ledger / "access.sqlite").read_bytes().decode("latin-1")


def test_sql_is_in_no_log(serve, small_run: str, tmp_path) -> None:
    server = serve("--access-log", tmp_path / "access.log")
    for sql in ("SELECT 'a_word_of_mine'", "SELECT a_word_of_mine", "COPY a_word_of_mine TO 'x'"):
        server.call("query", run=small_run, sql=sql)
    server.stop()
    assert "a_word_of_mine" not in (tmp_path / "access.log").read_text() + server.said
    log = server.ledger / "audit.jsonl"
    assert not log.exists() or "a_word_of_mine" not in log.read_text()


# ---- SQL


def test_sql_reads_nothing_but_the_run(server: Server, ledger: Neurolens, run: str, tmp_path) -> None:
    """As on the command line: refused, with a message that tells no path. In turns as a stream and as an answer."""
    places = {"bundle": ledger.bundle(run), "state": ledger.ledger / "state.sqlite", "outside": tmp_path / "outside"}
    before = ledger.files(run)
    found = {}
    for number, (name, sql) in enumerate(sql_attacks.READS.items()):
        answer = server.call("query", run=run, sql=sql.format(**places), seconds=20, format=("csv", "table")[number % 2])
        if answer.status != 400 or "root:" in answer.text:
            found[name] = (answer.status, answer.text[:300])
    assert found == {}
    assert ledger.files(run) == before and not places["outside"].exists()


@pytest.mark.parametrize("kind", ["DEEP_JSON", "DEEP_SQL"])
def test_deep_nesting_ends_no_more_than_the_query(server: Server, run: str, kind: str) -> None:
    """Each second one: test_sql_attacks.py has them all."""
    for name, sql in [*getattr(sql_attacks, kind).items()][::2]:
        answer = server.call("query", run=run, sql=sql, format="csv", seconds=2)
        assert answer.status in (200, 400, 422), f"{name}: {answer}"
    assert server.get("/healthz").status == 200


def test_a_statement_that_does_not_listen_is_ended(server: Server, run: str) -> None:
    begin = time.monotonic()
    answer = server.call("query", run=run, sql=sql_attacks.ENDLESS["levenshtein"], seconds=1)
    assert answer.status in (400, 422) and "longer than 1 s" in answer.message, answer
    assert time.monotonic() - begin < 20
    assert server.call("query", run=run, sql="SELECT 1").status == 200


# ---- At last


def test_a_slow_client_is_closed(slow_clients) -> None:
    server, begin, clients = slow_clients
    for one in clients:
        got = one.recv(1000)
        assert status_of(got) in (0, 408), got
        one.close()
    assert time.monotonic() - begin > REQUEST_SECONDS - 2
    assert server.get("/healthz").status == 200
    assert until(lambda: server.busy() == 0, 5)
