"""Profiles sent to the server: in pieces, resumed, as one run, within a quota, by their owner alone; and an import that a
server has promised is done, once, even if it is killed."""

import hashlib
import json
import pathlib
import socket
import struct
from typing import Any

import pytest

import trace_text
from conftest import REPOSITORY, TRACES, Neurolens
from server import Server, until

PIECE = 256 << 10  # that the server writes at once
GIGABYTE = 1 << 30


def trace(variant: int = 0, blocks: int = 1) -> bytes:
    return trace_text.trace_text(blocks, variant).encode()


@pytest.fixture
def server(serve) -> Server:
    return serve()


def run_of(job: Any) -> Any:
    assert job["state"] == "done" and job["status"] == 200, job
    return job["answer"]["data"]


# ---- The way of a file


def test_a_file_becomes_a_run(server: Server, neurolens: Neurolens, tmp_path) -> None:
    content = trace()
    begun = server.announce(("small.json", content))
    upload = begun.json["upload_id"]
    assert begun.status == 201 and begun.headers["Location"] == f"/api/v1/uploads/{upload}"
    assert begun.json["files"] == [
        {"name": "small.json", "bytes": len(content), "received": 0, "sha256": hashlib.sha256(content).hexdigest()}
    ]
    half = len(content) // 2
    assert server.put(f"/api/v1/uploads/{upload}/0?offset=0", content[:half]).json["files"][0]["received"] == half
    assert server.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"] == half
    assert server.put(f"/api/v1/uploads/{upload}/0?offset={half}", content[half:]).json["files"][0]["received"] == len(content)
    answer = server.call("import", upload=upload)
    assert answer.status == 202 and answer.json["job_id"] == upload
    assert answer.headers["Location"] == f"/api/v1/jobs/{upload}"
    run = run_of(server.ended(upload))
    path = tmp_path / "small.json"
    path.write_bytes(content)
    wanted = Neurolens(tmp_path / "other").import_file(path)
    assert run["run_id"] == wanted["run_id"] and run["created"] and run["counts"] == wanted["counts"]
    assert neurolens.run_ids() == [run["run_id"]] and neurolens("verify", run["run_id"], "--json").data["verified"]


def test_nothing_tells_where_the_server_keeps_its_files(server: Server) -> None:
    upload = server.upload(("small.json", trace()))
    job = server.import_upload(upload)
    run = run_of(job)
    assert run["path"] == "small.json"
    answers = [json.dumps(job), server.call("runs").text, server.call("show", run=run["run_id"]).text]
    answers += [server.call("verify", run=run["run_id"]).text, server.get("/").text, server.call("analyze", run=run["run_id"]).text]
    bad = server.ended(server.call("import", upload=server.upload(("bad.json", b"no profile at all"))).json["job_id"])
    assert bad["state"] == "failed" and "bad.json" in json.dumps(bad)
    for text in [*answers, json.dumps(bad)]:
        assert str(server.ledger) not in text and upload not in text.replace(f'"job_id": "{upload}"', ""), text[:3000]


def test_files_are_gone_when_the_run_is_there(server: Server) -> None:
    upload = server.upload(("small.json", trace()))
    assert len(server.uploaded_files()) == 1
    run_of(server.import_upload(upload))
    assert server.uploaded_files() == []
    assert server.delete(f"/api/v1/uploads/{upload}").status == 200
    assert not (server.ledger / "uploads" / upload).exists()


def test_files_that_are_no_profile_are_gone_too(server: Server) -> None:
    job = server.import_upload(server.upload(("x.json", b"{")))
    assert job["state"] == "failed" and job["status"] in (400, 415), job
    assert server.uploaded_files() == []


def test_an_upload_is_removed(server: Server) -> None:
    upload = server.upload(("small.json", trace()))
    assert server.delete(f"/api/v1/uploads/{upload}").json["removed"]
    assert server.get(f"/api/v1/uploads/{upload}").status == 404
    assert server.put(f"/api/v1/uploads/{upload}/0", b"x").status == 404
    assert server.call("import", upload=upload).status == 404
    assert server.uploaded_files() == []


def test_labels_are_set_with_the_import(server: Server) -> None:
    run = run_of(server.import_upload(server.upload(("small.json", trace())), set=["model=mine"]))
    assert '"mine"' in server.call("label", run=run["run_id"]).text


def test_the_same_profile_twice_is_one_run(server: Server, neurolens: Neurolens) -> None:
    first, second = (run_of(server.import_upload(server.upload((name, trace())))) for name in ("a.json", "b.json"))
    assert first["run_id"] == second["run_id"] and first["created"] and not second["created"]
    assert len(neurolens.run_ids()) == 1


def test_several_files_are_several_runs(server: Server, neurolens: Neurolens) -> None:
    found = run_of(server.import_upload(server.upload(("a.json", trace(1)), ("b.json", trace(2)))))
    assert len({one["run_id"] for one in found["runs"]}) == 2 and found["failed"] == []
    assert len(neurolens.run_ids()) == 2


def test_several_files_are_one_run(server: Server, neurolens: Neurolens, tmp_path) -> None:
    files = {f"rank{n}.json": trace(n + 1) for n in range(2)}
    run = run_of(server.import_upload(server.upload(*files.items()), as_one=True, rank_from_name=True))
    paths = []
    for name, content in files.items():
        paths.append(tmp_path / name)
        paths[-1].write_bytes(content)
    wanted = Neurolens(tmp_path / "other")("import", *paths, "--as-one", "--rank-from-name", "--json").data
    assert run["run_id"] == wanted["run_id"] and run["counts"] == wanted["counts"]
    assert neurolens.run_ids() == [run["run_id"]]


def test_files_of_one_name_do_not_meet(server: Server) -> None:
    found = run_of(server.import_upload(server.upload(("a.json", trace(1)), ("a.json", trace(2)))))
    assert len({one["run_id"] for one in found["runs"]}) == 2


@pytest.mark.skipif(not TRACES.is_dir(), reason="no recorded traces: set NEUROLENS_TRACES")
def test_recorded_traces_become_the_runs_of_the_command_line(server: Server, kineto_traces, tmp_path) -> None:
    files = [path for path in kineto_traces if path.is_file()][:3]
    found = run_of(server.import_upload(server.upload(*((path.name, path.read_bytes()) for path in files))))
    other = Neurolens(tmp_path / "other")
    assert [one["run_id"] for one in found["runs"]] == [other.import_file(path)["run_id"] for path in files]


# ---- Broken and wrong


def test_a_broken_connection_is_resumed(server: Server) -> None:
    content = trace(blocks=60)
    sent = 3 * PIECE
    assert len(content) > sent + 1000
    upload = server.announce(("big.json", content)).json["upload_id"]
    for close in (socket.socket.close, hang_up):
        at = server.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"]
        one = server.connected()
        one.sendall(server.head("PUT", f"/api/v1/uploads/{upload}/0?offset={at}", f"Content-Length: {len(content) - at}"))
        one.sendall(content[at : max(at, sent)])
        if at == 0:
            until(lambda: server.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"] > 0)
        close(one)
    assert until(lambda: server.busy() == 0)
    received = server.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"]
    assert 0 < received <= sent
    assert server.call("import", upload=upload).status == 400, "it is not complete"
    assert server.put(f"/api/v1/uploads/{upload}/0?offset={received}", content[received:]).status == 200
    assert run_of(server.import_upload(upload))["counts"]["seen"] == 60 * trace_text.RECORDS_PER_BLOCK + trace_text.METADATA_RECORDS


def hang_up(one: socket.socket) -> None:
    """With a reset."""
    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    one.close()


def test_a_wrong_offset_is_a_conflict(server: Server) -> None:
    content = trace()
    upload = server.announce(("small.json", content)).json["upload_id"]
    server.put(f"/api/v1/uploads/{upload}/0", content[:100])
    for offset in (0, 99, 101, len(content), 1 << 62):
        answer = server.put(f"/api/v1/uploads/{upload}/0?offset={offset}", content[:10])
        assert answer.status == 409 and "100" in answer.message, answer
    for wrong in ("-1", "x", "", "1e2", "0x64", "99999999999999999999"):
        assert server.put(f"/api/v1/uploads/{upload}/0?offset={wrong}", content[:10]).status == 400, wrong
    assert server.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"] == 100


def test_no_more_bytes_come_than_were_announced(server: Server) -> None:
    upload = server.announce(("small.json", b"0123456789")).json["upload_id"]
    for body in (b"0123456789x", b"y" * (3 * PIECE)):
        assert server.put(f"/api/v1/uploads/{upload}/0", body).status == 400
    chunked = b"%x\r\n%s\r\n0\r\n\r\n" % (11, b"0123456789x")
    got = server.raw(server.head("PUT", f"/api/v1/uploads/{upload}/0", "Transfer-Encoding: chunked") + chunked, 5)
    assert b" 400 " in got.split(b"\r\n")[0]
    assert server.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"] <= 10
    assert all(path.stat().st_size <= 10 for path in server.uploaded_files())


def test_a_body_in_chunks_is_taken(server: Server) -> None:
    content = trace()
    upload = server.announce(("small.json", content)).json["upload_id"]
    chunked = b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (content[:1000], content[1000:])) + b"0\r\n\r\n"
    head = server.head("PUT", f"/api/v1/uploads/{upload}/0", "Transfer-Encoding: chunked", "Connection: close")
    assert b" 200 " in server.raw(head + chunked, 10).split(b"\r\n")[0]
    run_of(server.import_upload(upload))


def test_curl_asks_before_it_sends(server: Server) -> None:
    content = trace()
    upload = server.announce(("small.json", content)).json["upload_id"]
    with server.connected() as one:
        head = server.head("PUT", f"/api/v1/uploads/{upload}/0", f"Content-Length: {len(content)}", "Expect: 100-continue")
        one.sendall(head)
        assert one.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        one.sendall(content)
        assert b" 200 " in one.recv(65536).split(b"\r\n")[0]


def test_a_wrong_hash_is_told(server: Server, neurolens: Neurolens) -> None:
    content = trace()
    files = [{"name": "small.json", "bytes": len(content), "sha256": "0" * 64}]
    upload = server.post("/api/v1/uploads", {"files": files}).json["upload_id"]
    assert server.put(f"/api/v1/uploads/{upload}/0", content).status == 200
    answer = server.call("import", upload=upload)
    assert answer.status == 400 and "sha256" in answer.message and str(server.ledger) not in answer.text
    assert neurolens.run_ids() == []
    assert server.delete(f"/api/v1/uploads/{upload}").status == 200


@pytest.mark.parametrize(
    "files",
    [
        None, [], {}, "x", [1], [{}], [{"name": "a"}], [{"bytes": 1}], [{"name": 1, "bytes": 1}], [{"name": "a", "bytes": -1}],
        [{"name": "a", "bytes": "1"}], [{"name": "a", "bytes": 1.5}], [{"name": "a", "bytes": 1, "sha256": "x"}],
        [{"name": "a", "bytes": 1, "sha256": 7}], [{"name": "a", "bytes": 1}] * 2000, [{"name": "a", "bytes": 2**64}],
        [{"name": "a", "bytes": 1, "sha256": "g" * 64}],
    ],
    ids=str,
)  # fmt: skip
def test_wrong_announcements_are_refused(server: Server, files: Any) -> None:
    answer = server.post("/api/v1/uploads", {"files": files})
    assert answer.status in (400, 422), answer
    assert server.get("/healthz").status == 200


def test_an_announcement_must_be_json(server: Server) -> None:
    for body in (b"", b"{", b"[]", b"7", b'"x"', b"[" * 100_000):
        assert server.ask("POST", "/api/v1/uploads", body, {"Content-Type": "application/json"}).status == 400, body[:10]


@pytest.mark.parametrize("path", ["x/0", "../0", "%2e%2e/0", "{0}/1", "{0}/-1", "{0}/x", "{0}/", "{0}", "{0}/0/0", "{0}/99999999999999999"])
def test_only_files_of_the_upload_are_written(server: Server, path: str) -> None:
    upload = server.announce(("small.json", b"0123456789")).json["upload_id"]
    assert server.put(f"/api/v1/uploads/{path.format(upload)}", b"0123").status in (400, 404, 405)
    assert server.uploaded_files() == [] or server.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"] == 0


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd", "/etc/passwd", "..", ".", "", "a/../../b", "..\\..\\b", "C:\\b.json", ".bashrc", "-rf", "a\x00b", "a\nb",
        "x" * 5000, "é\u202e.json", "$(touch x)", "upload.json", "import.json", "answer.json", "con", "a;b|c", "../0", "neurolens.yaml",
    ],
)  # fmt: skip
def test_names_are_harmless(server: Server, name: str) -> None:
    before = {path for path in server.ledger.parent.rglob("*") if "uploads" not in path.parts}
    content = trace()
    begun = server.announce((name, content))
    if begun.status == 400:
        return
    upload = begun.json["upload_id"]
    assert server.put(f"/api/v1/uploads/{upload}/0", content).status == 200
    (written,) = (server.ledger / "uploads" / upload / "0").rglob("*")
    assert written.is_file() and written.read_bytes() == content and not written.is_symlink()
    assert {path for path in server.ledger.parent.rglob("*") if "uploads" not in path.parts} == before
    assert server.import_upload(upload)["state"] in ("done", "failed")
    assert server.uploaded_files() == []


# ---- Room


def test_a_quota_holds(serve) -> None:
    server = serve("--upload-gb", "1")

    def announced(size: int):
        return server.post("/api/v1/uploads", {"files": [{"name": "a", "bytes": size}]})

    answer = announced(GIGABYTE + 1)
    assert answer.status == 422 and answer.json["error"]["code"] == "limit", answer
    assert announced(2**63 - 1).status == 422
    half = announced(GIGABYTE // 2).json["upload_id"]
    assert announced(GIGABYTE // 2 + 1).status == 422, "what is announced counts"
    assert announced(GIGABYTE // 2).status == 201 and announced(1).status == 422
    assert server.delete(f"/api/v1/uploads/{half}").status == 200 and announced(1).status == 201


def test_what_is_imported_makes_room(serve) -> None:
    server = serve("--upload-gb", "1")
    run_of(server.import_upload(server.upload(("small.json", trace()))))
    assert server.post("/api/v1/uploads", {"files": [{"name": "a", "bytes": GIGABYTE}]}).status == 201


# ---- Whose it is


def test_nobody_else_sees_an_upload(server: Server, neurolens: Neurolens) -> None:
    alice, bob = (server.add_token(name) for name in ("alice", "bob"))
    content = trace()
    upload = server.announce(("small.json", content), token=alice).json["upload_id"]
    assert server.get(f"/api/v1/uploads/{upload}", token=alice).status == 200
    for token in (bob, None):  # None: whoever started the server
        assert server.get(f"/api/v1/uploads/{upload}", token=token).status == 404
        assert server.put(f"/api/v1/uploads/{upload}/0", content, token=token).status == 404
        assert server.delete(f"/api/v1/uploads/{upload}", token=token).status == 404
    assert server.put(f"/api/v1/uploads/{upload}/0", content, token=alice).status == 200
    assert server.post("/api/v1/import", {"upload": upload}, token=bob).status == 404
    assert server.post("/api/v1/import", {"upload": upload}, token=alice).status == 202
    until(neurolens.run_ids)
    for path in (f"/api/v1/jobs/{upload}", f"/api/v1/jobs/{upload}/events"):
        assert server.get(path, token=bob).status == 404 and server.get(path, token=alice).status == 200
    assert server.delete(f"/api/v1/jobs/{upload}", token=bob).status == 404


def test_another_project_is_another_place(server: Server) -> None:
    upload = server.announce(("small.json", trace())).json["upload_id"]
    assert server.get(f"/api/v1/uploads/{upload}", {"NeuroLens-Project": "other"}).status == 404
    assert server.get(f"/api/v1/uploads/{upload}", {"NeuroLens-Project": "main"}).status == 200


def test_who_may_read_may_not_send(server: Server) -> None:
    reader = server.add_token("reader", "read")
    upload = server.upload(("small.json", trace()))
    assert server.announce(("small.json", b"x"), token=reader).status == 403
    assert server.put(f"/api/v1/uploads/{upload}/0", b"x", token=reader).status == 403
    assert server.post("/api/v1/import", {"upload": upload}, token=reader).status in (403, 404)
    assert server.get("/api/v1/runs", token=reader).status == 200


def test_an_import_takes_no_files_of_the_server(server: Server, neurolens: Neurolens, small_trace) -> None:
    assert server.call("import", paths=[str(small_trace)]).status in (400, 403)
    upload = server.upload(("a.json", trace(5)))
    done = server.call("import", upload=upload, paths=[str(small_trace)])
    if done.status == 202:
        server.ended(upload)
    assert small_trace.name not in server.call("runs").text and len(neurolens.run_ids()) <= 1


def test_an_import_adds_to_no_file_of_the_server(server: Server, neurolens: Neurolens, small_trace) -> None:
    """`add_to` names a run; on the command line that may be a path, here never."""
    native = (REPOSITORY / "samples/native_minimal.json").read_bytes()
    upload = server.upload(("a.json", native))
    answer = server.call("import", upload=upload, add_to=str(small_trace))
    if answer.status == 202:
        job = server.ended(upload)
        assert job["state"] == "failed" and job["status"] in (400, 403, 404), job
    assert neurolens.run_ids() == []


# ---- Promises


def test_an_upload_is_imported_once(server: Server) -> None:
    upload = server.upload(("small.json", trace()))
    first, second = (server.call("import", upload=upload) for _ in range(2))
    assert first.status == 202 and second.status == 409
    run_of(server.ended(upload))
    assert server.put(f"/api/v1/uploads/{upload}/0", b"x").status in (404, 409)


def test_a_killed_server_keeps_its_promise(serve, neurolens: Neurolens, make_big_trace) -> None:
    """kill -9 between the 202 and the end of the import."""
    server = serve()
    upload = server.upload(("big.json.gz", make_big_trace(1).read_bytes()))
    answer = server.call("import", upload=upload)
    server.kill()
    assert answer.status == 202 and neurolens.runs() == []
    again = serve()
    run = run_of(again.ended(upload, 60))
    assert neurolens.run_ids() == [run["run_id"]]
    assert again.uploaded_files() == [] and run["path"] == "big.json.gz"
    assert [*again.events(upload)][-1].name == "end"
    again.kill()
    third = serve()
    assert third.job(upload)["state"] == "done" and third.job(upload)["answer"]["data"]["run_id"] == run["run_id"]
    (event,) = third.events(upload)
    assert event.name == "end" and len(neurolens.run_ids()) == 1


@pytest.mark.parametrize("after", ["*/bundle/*.parquet", "*/bundle/run.json"])
def test_a_server_killed_in_the_middle_keeps_its_promise(serve, neurolens: Neurolens, make_big_trace, after: str) -> None:
    server = serve()
    upload = server.upload(("big.json.gz", make_big_trace(1).read_bytes()))
    assert server.call("import", upload=upload).status == 202
    until(lambda: any((neurolens.ledger / "staging").glob(after)) or server.job(upload)["state"] == "done", 30, 0.001)
    server.kill()
    again = serve()
    run = run_of(again.ended(upload, 60))
    assert neurolens.run_ids() == [run["run_id"]] and neurolens("verify", run["run_id"], "--json").data["verified"]


def test_a_server_that_ends_keeps_its_promise(serve, neurolens: Neurolens, make_big_trace) -> None:
    server = serve()
    upload = server.upload(("big.json.gz", make_big_trace(1).read_bytes()))
    assert server.call("import", upload=upload).status == 202
    until(lambda: server.job(upload)["state"] == "running")
    assert server.stop() == 0
    again = serve()
    run = run_of(again.ended(upload, 60))
    assert neurolens.run_ids() == [run["run_id"]]


def test_an_unfinished_upload_outlives_the_server(serve) -> None:
    content = trace()
    server = serve()
    upload = server.announce(("small.json", content)).json["upload_id"]
    server.put(f"/api/v1/uploads/{upload}/0", content[:500])
    server.kill()
    again = serve()
    assert again.get(f"/api/v1/uploads/{upload}").json["files"][0]["received"] == 500
    again.put(f"/api/v1/uploads/{upload}/0?offset=500", content[500:])
    run_of(again.import_upload(upload))


def test_a_cancelled_import_can_be_asked_again(serve, neurolens: Neurolens, make_big_trace) -> None:
    server = serve()
    upload = server.upload(("big.json.gz", make_big_trace(1).read_bytes()))
    server.call("import", upload=upload)
    until(lambda: server.job(upload)["state"] == "running")
    server.delete(f"/api/v1/jobs/{upload}")
    assert server.ended(upload)["state"] == "cancelled" and neurolens.runs() == [] and neurolens.leftovers() == []
    run_of(server.import_upload(upload))


def test_an_import_cancelled_while_it_waits_is_forgotten(serve, neurolens: Neurolens, make_big_trace) -> None:
    server = serve("--jobs", "1")
    first, second = server.upload(("big.json.gz", make_big_trace(1).read_bytes())), server.upload(("small.json", trace()))
    server.call("import", upload=first)
    server.call("import", upload=second)
    assert server.delete(f"/api/v1/jobs/{second}").json["state"] == "cancelled"
    removed = server.delete(f"/api/v1/uploads/{second}")
    server.kill()
    again = serve()
    run_of(again.ended(first, 60))
    until(lambda: again.figures()['neurolens_jobs{state="waiting"}'] == again.figures()['neurolens_jobs{state="running"}'] == 0)
    assert len(neurolens.run_ids()) == 1, "a cancelled import is not done after a restart"
    assert removed.status == 200, removed


def test_uploads_lie_where_only_the_owner_looks(server: Server) -> None:
    server.upload(("small.json", trace()))
    folder = server.ledger / "uploads"
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    assert len(folders) > 2
    for path in folders:
        assert path.stat().st_mode & 0o077 == 0, path
    assert all(isinstance(path, pathlib.Path) for path in server.uploaded_files())
