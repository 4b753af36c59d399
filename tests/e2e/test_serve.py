"""The server: how it starts and says where it is, what it answers, jobs, how it ends. What strangers try is in
test_serve_defence.py."""

import gzip
import http.client
import io
import itertools
import json
import re
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import time
import urllib.parse
from collections.abc import Iterator

import pytest

import sql_attacks
import trace_text
from conftest import BAD_INPUT, OK, Neurolens
from server import Server, free_port, until

LONG = sql_attacks.ENDLESS["cross_join"]
ROWS = "SELECT name, start_ns, dur_ns, track_id FROM kernels ORDER BY start_ns"
# Some seconds of work of one thread, and an answer that tells that it was done to the end.
SOME_SECONDS = "SELECT count(DISTINCT md5(range::VARCHAR)) AS n FROM range(1000000)"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Neurolens:
    folder = tmp_path_factory.mktemp("serve")
    neurolens = Neurolens(folder / "ledger")
    (folder / "small.json").write_text(trace_text.trace_text())
    neurolens.import_file(folder / "small.json")
    return neurolens


@pytest.fixture(scope="module")
def run(ledger: Neurolens) -> str:
    return str(ledger.run_ids()[0])


@pytest.fixture(scope="module")
def server(ledger: Neurolens) -> Iterator[Server]:
    one = Server(ledger, "--access-log", ledger.ledger.parent / "access.log")
    yield one
    one.kill()


# ---- The beginning


def test_the_ready_line_has_an_address_that_works(server: Server) -> None:
    assert server.url == f"http://127.0.0.1:{server.port}" and server.port > 0
    assert server.token is not None and len(server.token) >= 32
    assert str(server.ledger) in server.said
    answer = server.get("/")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


def test_each_start_has_a_token_of_its_own(server: Server, serve) -> None:
    other = serve()
    assert other.token != server.token
    assert other.get("/api/v1/runs", token=server.token).status == 401


def test_the_address_is_exchanged_for_a_cookie(server: Server) -> None:
    answer = server.get(f"/?token={server.token}", token="")
    assert answer.status == 303 and answer.headers["Location"] == "/", "the address loses the token"
    cookie, *attributes = answer.headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert not any(one.lower().startswith("domain") for one in attributes)
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "no-referrer"
    assert server.get("/", {"Cookie": cookie}, token="").status == 200
    assert server.get("/api/v1/runs", {"Cookie": f"other=1; {cookie}"}, token="").status == 200
    assert server.get("/api/v1/runs", {"Cookie": cookie + "0"}, token="").status == 401


def test_the_exchange_keeps_the_rest_of_the_address(server: Server, run: str) -> None:
    answer = server.get(f"/api/v1/show?run={run}&token={server.token}", token="")
    assert answer.status == 303 and answer.headers["Location"] == f"/api/v1/show?run={run}"


def test_the_exchange_leads_to_no_other_site(server: Server) -> None:
    answer = server.get(f"//example.com/?token={server.token}", token="")
    assert not answer.headers.get("Location", "").startswith("//"), answer


@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/api/v1/openapi.json", "/api/v1/jobs/x", "/api/v1/nothing", "/nothing"])
def test_without_a_token_there_is_nothing(server: Server, path: str) -> None:
    for token in ("", "0" * 48, "nlt_000000000000_" + "0" * 64):
        answer = server.get(path, token=token)
        assert answer.status == 401 and answer.headers["WWW-Authenticate"] == "Bearer", answer
        assert answer.json["error"]["code"] == "permission"
    assert server.get(f"/?token={'0' * 48}", token="").status == 401


def test_without_tokens_it_warns(serve) -> None:
    server = serve("--no-token")
    assert server.token is None and "warning: every program and user of this machine" in server.said
    assert server.get("/api/v1/runs").status == 200


def test_its_files_are_its_owners(server: Server) -> None:
    server.call("tag", run="@latest", names=["seen"])
    for name in ("access.sqlite", "audit.jsonl"):
        assert stat.S_IMODE((server.ledger / name).stat().st_mode) & 0o077 == 0, name
    assert stat.S_IMODE((server.ledger.parent / "access.log").stat().st_mode) & 0o077 == 0


@pytest.mark.parametrize(
    "options",
    [
        ["--host", "0.0.0.0"],
        ["--host", "0.0.0.0", "--behind-proxy", "--no-token"],
        ["--base-path", "lens"],
        ["--base-path", "/lens/"],
        ["--certificate", "/dev/null"],
        ["--certificate", "/nowhere/a.pem", "--certificate-key", "/nowhere/b.pem"],
        ["--certificate", "/dev/null", "--certificate-key", "/dev/null"],
        ["--port", "70000"],
        ["--rate", "0"],
    ],
    ids=" ".join,
)
def test_settings_that_cannot_be_are_refused(neurolens: Neurolens, small_run: str, options: list[str]) -> None:
    result = neurolens("serve", "--check", *options, code=None, timeout=10)
    assert result.code not in (OK, None) and result.err and "a bug" not in result.err, result


def test_settings_are_checked_without_serving(neurolens: Neurolens, small_run: str) -> None:
    result = neurolens("serve", "--check", timeout=10)
    assert "fine" in result.err and "serving" not in result.err, result


def test_a_port_that_is_taken_is_said(neurolens: Neurolens, server: Server) -> None:
    result = neurolens("serve", "--port", str(server.port), code=None, timeout=10)
    assert result.code != OK and f":{server.port}" in result.err and "--port" in result.err


def test_settings_come_from_the_environment(serve) -> None:
    port = free_port()
    server = serve(port=None, environment={"NEUROLENS_SERVE_PORT": str(port), "NEUROLENS_SERVE_BASE_PATH": "/lens"})
    assert server.url == f"http://127.0.0.1:{port}/lens" and server.get("/api/v1/runs").status == 200


def test_settings_come_from_a_file(serve, tmp_path) -> None:
    port, settings = free_port(), tmp_path / "serve.conf"
    settings.write_text(f"# of the team\nport={port}\nbase-path=/lens\nno-token=true\nname=lens.example\nname=other.example\n")
    server = serve("--config", settings, port=None)
    assert server.url == f"http://127.0.0.1:{port}/lens" and server.token is None
    for name in ("lens.example", "other.example"):  # a setting that may be repeated
        assert server.get("/api/v1/runs", {"Host": f"{name}:{port}"}).status == 200
    other = free_port()
    server.kill()
    assert serve("--config", settings, port=other).port == other, "the command line comes first"


# ---- What it says about itself


def test_health_and_figures_need_no_token(server: Server) -> None:
    assert server.get("/healthz", token="").json == {"ok": True}
    assert server.get("/readyz", token="").json == {"ok": True}
    before = server.figures()
    server.get("/api/v1/runs")
    server.get("/nobody/knows/this")
    after = server.figures()
    name = 'neurolens_requests_total{route="runs",status="200"}'
    assert after[name] == before.get(name, 0) + 1
    assert after['neurolens_request_seconds_bucket{route="runs",le="+Inf"}'] == after['neurolens_request_seconds_count{route="runs"}']
    assert not any("nobody" in one for one in after), "names that clients made up"
    assert server.busy() == 0


def test_it_is_not_ready_without_its_ledger(serve) -> None:
    server = serve()
    aside = server.ledger.with_name("aside")
    server.ledger.rename(aside)
    answer = server.get("/readyz", token="")
    assert answer.status == 503 and str(server.ledger) not in answer.text, answer
    assert server.get("/healthz", token="").status == 200
    aside.rename(server.ledger)
    assert server.get("/readyz", token="").status == 200


def test_openapi_describes_what_there_is(server: Server) -> None:
    document = server.get("/api/v1/openapi.json").json
    assert document["openapi"].startswith("3.1") and document["servers"] == [{"url": "/"}]
    assert {"/api/v1/runs", "/api/v1/query", "/api/v1/import", "/api/v1/uploads", "/api/v1/jobs/{id}"} <= set(document["paths"])
    assert "get" not in document["paths"]["/api/v1/query"]
    assert not any(part in json.dumps(document) for part in ("x-host-path", "x-run", "x-upload", "x-prose"))
    ids = [one["operationId"] for path in document["paths"].values() for name, one in path.items() if name != "parameters"]
    assert len(ids) == len(set(ids))


def test_openapi_names_no_parameter_that_is_a_file_of_the_server(server: Server) -> None:
    paths = server.get("/api/v1/openapi.json").json["paths"]
    for name, path in paths.items():
        schema = path.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        assert not {"paths", "peaks", "rules", "output", "html", "svg", "case", "model_config"} & set(schema.get("properties", {})), name


# ---- Answers


def test_an_answer_has_a_tag(server: Server, run: str) -> None:
    path = f"/api/v1/show?run={run}"
    first = server.get(path)
    tag = first.headers["ETag"]
    assert first.status == 200 and first.headers["Cache-Control"] == "private, no-cache"
    again = server.get(path, {"If-None-Match": tag})
    assert again.status == 304 and again.body == b"" and again.headers["ETag"] == tag
    assert server.get(path, {"If-None-Match": '"other"'}).body == first.body
    assert server.get("/api/v1/runs?limit=1").headers["ETag"] != tag
    assert "ETag" not in server.call("show", run=run).headers


@pytest.mark.parametrize("form", ["W/{}", '"other", {}', "*"])
def test_tags_are_compared_as_http_says(server: Server, run: str, form: str) -> None:
    """RFC 9110, 13.1.2: a list, weakly compared; proxies that compress make tags weak."""
    path = f"/api/v1/show?run={run}"
    tag = server.get(path).headers["ETag"]
    assert server.get(path, {"If-None-Match": form.format(tag)}).status == 304


def test_the_tag_changes_with_the_answer(serve, small_run: str) -> None:
    server = serve()
    tag = server.get(f"/api/v1/show?run={small_run}").headers["ETag"]
    assert server.call("tag", run=small_run, names=["new"]).status == 200
    assert server.get(f"/api/v1/show?run={small_run}", {"If-None-Match": tag}).status == 200


@pytest.mark.parametrize("path", ["/api/v1/runs", "/healthz", "/api/v1/openapi.json", "/api/v1/nothing", "/"])
def test_head_is_get_without_the_body(server: Server, path: str) -> None:
    get, head = server.get(path), server.ask("HEAD", path)
    assert head.status == get.status and head.body == b""
    for name in ("Content-Type", "Content-Length", "ETag", "Vary", "Cache-Control"):
        assert head.headers[name] == get.headers[name], name


def test_a_connection_takes_many_requests(server: Server) -> None:
    connection = server.connection()
    for method, path in itertools.product(("HEAD", "GET"), ("/api/v1/runs", "/api/v1/nothing", "/healthz")):
        connection.request(method, path, headers=server.headers())
        response = connection.getresponse()
        response.read()
        assert response.status == (404 if path.endswith("nothing") else 200)
    connection.close()


def decoded(encoding: str, body: bytes) -> bytes:
    if encoding == "gzip":
        return gzip.decompress(body)
    if shutil.which("zstd") is None:
        pytest.skip("no zstd in the path")
    return subprocess.run(["zstd", "-d", "-c"], input=body, capture_output=True, check=True, timeout=10).stdout


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_compressed_answers_have_the_same_bytes(server: Server, run: str, encoding: str) -> None:
    plain = server.get("/api/v1/openapi.json")
    packed = server.get("/api/v1/openapi.json", {"Accept-Encoding": encoding})
    assert packed.headers["Content-Encoding"] == encoding and packed.headers["Vary"] == "Accept-Encoding"
    assert len(packed.body) < len(plain.body) and decoded(encoding, packed.body) == plain.body
    question = {"run": run, "sql": ROWS, "format": "csv"}
    stream = server.post("/api/v1/query", question, {"Accept-Encoding": encoding})
    assert stream.headers["Content-Encoding"] == encoding
    assert decoded(encoding, stream.body) == server.post("/api/v1/query", question).body


def test_encodings_are_chosen(server: Server) -> None:
    def chosen(accepted: str) -> str | None:
        return server.get("/api/v1/openapi.json", {"Accept-Encoding": accepted}).headers["Content-Encoding"]

    assert chosen("gzip, deflate, br, zstd") == "zstd" and chosen("GZIP") == "gzip"
    assert chosen("br") is None and chosen("identity") is None and chosen("gzip;q=0") is None
    assert chosen("zstd;q=0, gzip;q=0.5") == "gzip"


@pytest.mark.parametrize(
    ("form", "kind"), [("csv", "text/csv; charset=utf-8"), ("json", "application/json"), ("parquet", "application/vnd.apache.parquet")]
)
def test_rows_are_those_of_the_command_line(server: Server, ledger: Neurolens, run: str, form: str, kind: str) -> None:
    wanted = ledger("query", run, ROWS, "--format", form).bytes
    answer = server.call("query", run=run, sql=ROWS, format=form)
    assert answer.status == 200 and answer.headers["Content-Type"] == kind and answer.headers["Transfer-Encoding"] == "chunked"
    if form == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        assert parquet.read_table(io.BytesIO(answer.body)).equals(parquet.read_table(io.BytesIO(wanted)))
    else:
        assert answer.body == wanted
    if form != "json":
        asked = server.post("/api/v1/query", {"run": run, "sql": ROWS}, {"Accept": kind.split(";", maxsplit=1)[0]})
        assert asked.headers["Content-Type"] == kind and len(asked.body) == len(wanted)


def test_a_long_stream_comes_whole(server: Server, run: str) -> None:
    answer = server.call("query", run=run, sql="SELECT range AS n FROM range(300000)", format="csv")
    lines = answer.text.splitlines()
    assert lines[0] == "n" and [*map(int, lines[1:])] == [*range(300000)]


def test_a_stream_that_cannot_begin_is_an_error(server: Server, run: str) -> None:
    answer = server.call("query", run=run, sql="SELECT nothing", format="csv")
    assert answer.status == 400 and answer.json["error"]["code"] == "bad_input", answer


def test_a_stream_to_an_old_client_has_no_chunks(server: Server, run: str) -> None:
    """HTTP/1.0, which some proxies speak, knows none: the end of the connection is the end of the answer."""
    body = json.dumps({"run": run, "sql": "SELECT 7 AS n", "format": "csv"}).encode()
    head = server.head("POST", "/api/v1/query", "Content-Type: application/json", f"Content-Length: {len(body)}")
    got = server.raw(head.replace(b"HTTP/1.1", b"HTTP/1.0") + body)
    assert b" 200 " in got.split(b"\r\n")[0] and got.endswith(b"\r\n\r\nn\n7\n"), got


def test_a_page_is_a_page(server: Server, ledger: Neurolens, run: str) -> None:
    for page, kind in (("html", "text/html"), ("markdown", "text/plain"), ("junit", "application/xml")):
        answer = server.get(f"/api/v1/compare?runs={run}&runs={run}&page={page}")
        assert answer.status == 200 and answer.headers["Content-Type"].startswith(kind), answer
        assert answer.body == ledger("compare", run, run, "--page", page).bytes
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


def test_a_page_of_ours_runs_no_script_of_others(server: Server, run: str) -> None:
    """What a profile says is shown on the same origin as the cookie."""
    answer = server.get(f"/api/v1/compare?runs={run}&runs={run}&page=html")
    (policy,) = re.findall(r'"Content-Security-Policy" content="(.*?)"', answer.text)
    assert "default-src 'none'" in policy and "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0], policy


def test_text_is_that_for_people(server: Server, ledger: Neurolens, run: str) -> None:
    answer = server.get(f"/api/v1/show?run={run}", {"Accept": "text/plain"})
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.text.splitlines()[0] == ledger("show", run).out.splitlines()[0]
    assert server.post("/api/v1/query", {"run": run, "sql": "SELECT 42 AS n"}, {"Accept": "text/plain"}).text.count("42") == 1


def test_statements_of_http_are_suggested(server: Server, run: str) -> None:
    suggested = [*server.get(f"/api/v1/show?run={run}").json["next"], *server.call("analyze", run=run).json["next"]]
    assert suggested and all(json.dumps(one).find("POST /api/v1/") >= 0 for one in suggested), suggested


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/v1/query", "POST"),
        ("GET", "/api/v1/tag", "POST"),
        ("DELETE", "/api/v1/runs", "GET, POST"),
        ("PATCH", "/api/v1/runs", "GET, POST"),
        ("OPTIONS", "/api/v1/runs", "GET, POST"),
        ("POST", "/healthz", "GET, HEAD"),
        ("DELETE", "/", "GET, HEAD"),
        ("POST", "/api/v1/openapi.json", "GET, HEAD"),
        ("GET", "/api/v1/uploads", "POST"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(server: Server, method: str, path: str, allowed: str) -> None:
    answer = server.ask(method, path)
    assert answer.status == 405, answer
    assert {*map(str.strip, answer.headers["Allow"].split(","))} - {"HEAD"} == {*allowed.split(", ")} - {"HEAD"}


@pytest.mark.parametrize("path", ["/nothing", "/api/v1/", "/api/v1/nothing", "/api/v2/runs", "/api/v1/runs/", "/api/v1/jobs/x", "/api"])
def test_what_is_not_there_is_not_found(server: Server, path: str) -> None:
    answer = server.get(path)
    assert answer.status == 404 and answer.json["error"]["code"] == "not_found" and answer.json["error"]["hint"]


def test_a_run_that_is_not_there_is_not_found(server: Server) -> None:
    assert server.get("/api/v1/show?run=ffffffffffff").status == 404


@pytest.mark.parametrize(
    "body", [{"limit": "many"}, {"limit": 1.5}, {"nothing": 1}, {"limit": None}, {"where": "x=1"}, [], "text", 7, None]
)
def test_wrong_parameters_are_bad_input(server: Server, body) -> None:
    answer = server.post("/api/v1/runs", body)
    assert answer.status == 400 and answer.json["error"]["code"] == "bad_input", answer


def test_every_wrong_type_is_answered(serve, small_run: str) -> None:
    """Nothing looks at a parameter before its type is checked."""
    server = serve()
    wrong: list[dict] = [{"format": one} for one in (5, ["csv"], None, "xml")] + [{"run": 1}, {"sql": {}}, {"upload": 1}, {"page": 1}]
    unanswered = []
    for operation, body in itertools.product(["query", "compare", "import", "runs"], wrong):
        parameters: dict = {"run": small_run, "sql": "SELECT 1", **body} if operation == "query" else body
        try:
            status = server.call(operation, **parameters).status
        except (OSError, http.client.HTTPException) as fault:
            status = repr(fault)
        if status != 400:
            unanswered.append((operation, body, status))
    assert unanswered == []
    assert until(lambda: server.busy() == 0, 3)


@pytest.mark.parametrize("query", ["limit=x", "limit=1&limit=2", "limit=", "reverse=maybe", "nothing=1", "limit=99999999999999999999"])
def test_wrong_parameters_of_an_address_are_bad_input(server: Server, query: str) -> None:
    assert server.get(f"/api/v1/runs?{query}").status == 400


def test_errors_have_the_form_that_openapi_says(server: Server) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    document = server.get("/api/v1/openapi.json").json
    schema = document["components"]["schemas"]["Failure"]
    for answer in (server.get("/nothing"), server.get("/api/v1/runs", token=""), server.call("show"), server.get("/api/v1/query")):
        assert answer.status >= 400
        jsonschema.validate(answer.json, schema)


# ---- Where it is


def test_a_base_path_stands_before_everything(serve, small_run: str) -> None:
    server = serve("--base-path", "/lens")
    assert server.url.endswith("/lens") and server.get("/").status == 200
    assert server.get("/api/v1/openapi.json").json["servers"] == [{"url": "/lens"}]
    answer = server.get(f"/?token={server.token}", token="")
    assert answer.headers["Location"] == "/lens/" and "; Path=/lens/;" in answer.headers["Set-Cookie"]
    job = server.post("/api/v1/show", {"run": small_run}, {"Prefer": "respond-async"})
    assert job.headers["Location"] == f"/lens/api/v1/jobs/{job.json['job_id']}"
    begun = server.announce(("a.json", b"{}"))
    assert begun.headers["Location"] == f"/lens/api/v1/uploads/{begun.json['upload_id']}"
    server.base = ""
    assert server.get("/lens").status == 200 and server.get("/lensing").status == 404
    assert server.get("/healthz", token="").status == 200, "a proxy may take the path away"


def test_a_socket_file_is_its_owners(serve, tmp_path) -> None:
    path = tmp_path / "socket"
    server = serve("--unix-socket", path)
    assert server.file == str(path) and server.token is None and "token" not in server.said
    info = path.stat()
    assert stat.S_ISSOCK(info.st_mode) and stat.S_IMODE(info.st_mode) == 0o600
    assert server.get("/api/v1/runs").status == 200 and server.get("/healthz").status == 200
    assert server.stop() == 0 and not path.exists()


def test_a_socket_file_that_was_left_is_replaced_but_no_other_file(serve, neurolens: Neurolens, tmp_path) -> None:
    path = tmp_path / "socket"
    serve("--unix-socket", path).kill()
    assert path.exists()
    assert serve("--unix-socket", path).get("/healthz").status == 200
    other = tmp_path / "other"
    other.write_text("mine")
    assert neurolens("serve", "--unix-socket", other, code=None, timeout=10).code != OK
    assert other.read_text() == "mine"


def test_tls(serve, tmp_path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl in the path")
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(["openssl", *words.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True, timeout=20)
    server = serve("--certificate", certificate, "--certificate-key", key)
    assert server.url.startswith("https://")
    trusted = ssl.create_default_context(cafile=str(certificate))
    with server.connected() as plain, trusted.wrap_socket(plain, server_hostname=server.host) as one:
        assert one.version() in ("TLSv1.2", "TLSv1.3")
        one.sendall(server.head("GET", f"/?token={server.token}", "Connection: close"))
        got = b"".join(iter(lambda: one.recv(65536), b""))
    assert b" 303 " in got and b"; Secure" in got, got
    assert b" 200 " not in server.raw(server.head("GET", "/healthz", "Connection: close"), 5)


# ---- Jobs


def test_a_job_gives_the_answer_of_the_call(server: Server, run: str) -> None:
    answer = server.post("/api/v1/analyze", {"run": run}, {"Prefer": "respond-async"})
    job = answer.json["job_id"]
    assert answer.status == 202 and answer.headers["Location"] == f"/api/v1/jobs/{job}" and answer.json["state"] == "queued"
    done = server.ended(job)
    assert done["state"] == "done" and done["status"] == 200 and done["operation"] == "analyze"
    assert done["progress"]["fraction"] == 1
    assert done["answer"]["data"] == server.call("analyze", run=run).data


def test_a_job_that_fails_says_why(server: Server) -> None:
    done = server.ended(server.start("show", run="ffffffffffff"))
    assert done["state"] == "failed" and done["status"] == 404 and done["answer"]["error"]["code"] == "not_found"


def test_events_end_with_the_job(server: Server, run: str) -> None:
    events = [*server.events(server.start("analyze", run=run))]
    assert [one.name for one in events][-1] == "end" and {one.name for one in events[:-1]} <= {"progress"}
    assert events[-1].data["state"] == "done" and events[-1].data["answer"]["data"]
    assert [one.id for one in events] == sorted({one.id for one in events})


def test_an_import_tells_its_progress_and_can_be_followed_again(serve, make_big_trace) -> None:
    server = serve()
    upload = server.upload(("big.json.gz", make_big_trace(1).read_bytes()))
    assert server.call("import", upload=upload).status == 202
    first = next(one for one in server.events(upload) if one.data["state"] == "running")
    assert first.name == "progress", "the connection ends here, the job does not"
    events = [*server.events(upload)]
    assert events[-1].name == "end" and events[-1].data["state"] == "done", events[-1]
    fractions = [one.data["progress"]["fraction"] for one in events]
    assert len(fractions) > 2 and fractions[-1] == 1 and all(0 <= one <= 1 for one in fractions)
    (again,) = server.events(upload)
    assert again.name == "end" and again.data == events[-1].data == server.job(upload)


def test_a_job_is_cancelled(server: Server, run: str) -> None:
    job = server.start("query", run=run, sql=LONG)
    until(lambda: server.job(job)["state"] == "running")
    assert server.figures()['neurolens_jobs{state="running"}'] == 1
    assert server.delete(f"/api/v1/jobs/{job}").status == 200
    done = server.ended(job, 10)
    assert done["state"] == "cancelled" and done["status"] == 499 and "error" in done["answer"]
    assert until(lambda: server.figures()['neurolens_jobs{state="running"}'] == 0)


def test_a_job_that_waits_is_cancelled_at_once(serve, small_run: str) -> None:
    server = serve("--jobs", "1")
    long, short = server.start("query", run=small_run, sql=LONG), server.start("show", run=small_run)
    until(lambda: server.job(long)["state"] == "running")
    assert server.job(short)["state"] == "queued" and server.figures()['neurolens_jobs{state="waiting"}'] == 1
    assert server.delete(f"/api/v1/jobs/{short}").json["state"] == "cancelled"
    assert [*server.events(short)][-1].data["state"] == "cancelled"
    server.delete(f"/api/v1/jobs/{long}")
    assert server.ended(long, 10)["state"] == "cancelled"
    assert server.job(short)["state"] == "cancelled", "it does not begin after all"


def test_a_job_that_has_ended_stays_as_it_is(server: Server, run: str) -> None:
    job = server.start("show", run=run)
    done = server.ended(job)
    assert server.delete(f"/api/v1/jobs/{job}").json == done == server.job(job)
    assert server.ask("POST", f"/api/v1/jobs/{job}").status == 405


# ---- Clients that leave, and the end


def begin_long_query(server: Server, run: str, **more) -> socket.socket:
    body = json.dumps({"run": run, "sql": LONG, **more}).encode()
    one = server.connected()
    one.sendall(server.head("POST", "/api/v1/query", "Content-Type: application/json", f"Content-Length: {len(body)}") + body)
    until(lambda: server.busy() == 1)
    return one


@pytest.mark.parametrize("form", ["table", "csv"])
def test_a_client_that_leaves_ends_its_query(server: Server, run: str, form: str) -> None:
    assert until(lambda: server.busy() == 0)
    one = begin_long_query(server, run, format=form)
    time.sleep(0.3)
    assert server.busy() == 1
    one.close()
    assert until(lambda: server.busy() == 0, 10)


def test_a_client_that_leaves_a_stream_ends_it(server: Server, run: str) -> None:
    assert until(lambda: server.busy() == 0)
    connection = server.connection()
    body = json.dumps({"run": run, "sql": "SELECT * FROM range(100000000000)", "format": "csv"})
    connection.request("POST", "/api/v1/query", body, server.headers({"Content-Type": "application/json"}))
    assert connection.getresponse().read(100_000).startswith(b"range\n")
    assert server.busy() == 1
    connection.close()
    assert until(lambda: server.busy() == 0, 10)


def test_light_calls_do_not_wait_behind_heavy_ones(serve, small_run: str) -> None:
    server = serve("--workers", "1")
    connections = [begin_long_query(server, small_run)]
    begin = time.monotonic()
    assert server.get("/healthz", token="").status == 200 and server.get("/api/v1/runs").status == 200
    assert time.monotonic() - begin < 5
    for one in connections:
        one.close()


def test_the_signal_lets_a_request_finish(serve, small_run: str) -> None:
    server = serve()
    connection = server.connection()
    body = json.dumps({"run": small_run, "sql": SOME_SECONDS})
    connection.request("POST", "/api/v1/query", body, server.headers({"Content-Type": "application/json"}))
    until(lambda: server.busy() == 1)
    server.process.send_signal(signal.SIGTERM)
    response = connection.getresponse()
    assert response.status == 200 and json.loads(response.read())["data"]["rows"] == [[1000000]]
    assert server.process.wait(10) == 0
    with pytest.raises(OSError):
        server.connected()


def test_the_signal_ends_a_server_whose_client_does_not_read(serve, small_run: str) -> None:
    server = serve()
    connection = server.connection()
    body = json.dumps({"run": small_run, "sql": "SELECT * FROM range(100000000000)", "format": "csv"})
    connection.request("POST", "/api/v1/query", body, server.headers({"Content-Type": "application/json"}))
    until(lambda: server.busy() == 1)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0  # it waits some seconds for what runs


def test_the_signal_ends_an_idle_server_at_once(serve) -> None:
    server = serve()
    idle = server.connection()
    idle.request("GET", "/healthz")
    idle.getresponse().read()
    begin = time.monotonic()
    assert server.stop() == 0 and time.monotonic() - begin < 3


def test_the_signal_does_not_wait_for_those_who_follow_a_job(serve, small_run: str) -> None:
    server = serve()
    events = server.events(server.start("query", run=small_run, sql=LONG))
    next(events)
    begin = time.monotonic()
    assert server.stop() == 0 and time.monotonic() - begin < 8


def test_no_process_is_left(serve, small_run: str) -> None:
    server = serve()
    server.call("query", run=small_run, sql="SELECT 1")
    one = begin_long_query(server, small_run)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(server.process.pid)], capture_output=True, text=True).stdout.split()
    assert children
    server.kill()
    one.close()
    alive = ["ps", "-o", "stat=", "-p", ",".join(children)]
    until(lambda: not [s for s in subprocess.run(alive, capture_output=True, text=True).stdout.split() if not s.startswith("Z")], 10)


# ---- The log


def test_the_access_log_has_neither_tokens_nor_sql(server: Server, run: str) -> None:
    log = server.ledger.parent / "access.log"
    mark = "SELECT 'a_word_of_mine'"
    server.call("query", run=run, sql=mark)
    server.get(f"/?token={server.token}", token="")
    server.get(f"/{urllib.parse.quote(mark)}?sql={urllib.parse.quote(mark)}")
    server.get("/api/v1/runs", token="a_word_of_mine")
    until(lambda: '"route":"query"' in log.read_text())
    text = log.read_text()
    assert server.token is not None and server.token not in text and "a_word_of_mine" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    assert all({"at_ns", "address", "who", "method", "route", "status", "us"} == set(line) for line in lines)
    (asked,) = [line for line in lines if line["route"] == "query" and line["status"] == 200][-1:]
    assert asked["method"] == "POST" and asked["address"] == "127.0.0.1" and asked["who"]


def test_the_log_may_go_to_standard_error(serve) -> None:
    server = serve("--access-log", "-")
    server.get("/healthz")
    assert until(lambda: '"route":"/healthz"' in server.said)


def test_a_caller_may_be_too_fast(serve) -> None:
    server = serve("--rate", "5")
    answers = [server.get("/api/v1/metrics?name=total_time") for _ in range(30)]
    slowed = [one for one in answers if one.status == 429]
    assert slowed and slowed[0].headers["Retry-After"] == "1" and any(one.status == 200 for one in answers)
    time.sleep(1.1)
    assert server.get("/api/v1/runs").status == 200


def test_help_names_the_settings(neurolens: Neurolens) -> None:
    text = neurolens("serve", "--help").out
    assert "NEUROLENS_SERVE_PORT" in text and "--unix-socket" in text
    assert neurolens("serve", "--nothing", code=None).code == BAD_INPUT
