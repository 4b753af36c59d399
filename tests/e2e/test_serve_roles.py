"""Who may do what over HTTP: every operation, by every role, in the own project and in another one. Made from the registry: what
an operation declares is what is held against the answers."""

import re
import time
from typing import Any

import pytest

from conftest import REPOSITORY, Neurolens
from server import Server

OPERATIONS = REPOSITORY / "src/ops/operations"
RIGHTS = {"read": 0, "write": 1, "admin": 2}
NEEDED = {"kRead": 0, "kWrite": 1, "kManage": 2}
# Calls that are complete enough to get as far as the check of rights; {} where the parameters do not matter for it.
PARAMETERS: dict[str, dict[str, Any]] = {
    "analyze": {"run": "RUN"}, "compare": {"runs": ["RUN", "RUN"]}, "delete": {"run": "00000000", "reason": "a test"},
    "explain": {"run": "RUN", "metric": "idle_time"},
    "export": {"run": "RUN"}, "fingerprint": {"run": "RUN"}, "label": {"run": "RUN", "labels": ["a=b"]}, "lint": {"run": "RUN"},
    "note": {"run": "RUN"}, "query": {"run": "RUN", "sql": "SELECT 1"}, "report": {"run": "RUN", "format": "json"},
    "show": {"run": "RUN"}, "similar": {"run": "RUN"}, "slice": {"run": "RUN", "window": "whole"}, "tag": {"run": "RUN", "names": ["a"]},
    "suggest": {"run": "RUN"}, "triage": {"run": "RUN"},
    "timeline": {"run": "RUN"}, "outliers": {"metric": "total_time"}, "trend": {"metric": "total_time"}, "verify": {"run": "RUN"},
}


def declared() -> list[tuple[str, str]]:
    """Operations that reach HTTP, with their effects."""
    found = []
    for path in sorted(OPERATIONS.glob("*.cpp")):
        text = path.read_text()
        effect = re.search(r"\.effect = Effect::(\w+)", text)
        if re.search(r"\.reach = \{[^}]*\.http = true", text) and effect:
            found.append((path.stem, effect[1]))
    return found


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Any:
    """A server with a run in main, and tokens of each role for main and for the project other."""
    neurolens = Neurolens(tmp_path_factory.mktemp("roles") / "ledger")
    run = neurolens("import", REPOSITORY / "samples/native_full.json", "--json").data["run_id"]
    tokens = {}
    for role in RIGHTS:
        for project in ("main", "other", "*"):
            made = neurolens("token", "add", f"{role}-{project}", "--role", role, "--project", project, "--json")
            tokens[role, project] = made.data["token"]
    server = Server(neurolens)
    yield server, run, tokens
    server.stop()


def filled(name: str, run: str) -> dict[str, Any]:
    def fill(value: Any) -> Any:
        return [fill(one) for one in value] if isinstance(value, list) else run if value == "RUN" else value
    return {key: fill(value) for key, value in PARAMETERS.get(name, {}).items()}


@pytest.mark.parametrize(("name", "effect"), declared())
@pytest.mark.parametrize("role", RIGHTS)
def test_a_role_may_do_what_it_says(place, name: str, effect: str, role: str) -> None:
    server, run, tokens = place
    for project in ("main", "*"):
        parameters = filled(name, run) if name != "import" else {"upload": "0" * 32}
        status = server.post(f"/api/v1/{name}", parameters, token=tokens[role, project]).status
        manages = effect != "kManage" or project == "*"
        if RIGHTS[role] >= NEEDED[effect] and manages:
            assert status not in (401, 403), (name, role, project, status)
        elif name == "import":
            assert status in (403, 404), (name, role, project, status)  # nobody has that upload
        else:
            assert status == 403, (name, role, project, status)


@pytest.mark.parametrize(("name", "effect"), declared())
def test_nothing_of_a_project_shows_in_another(place, name: str, effect: str) -> None:
    server, run, tokens = place
    token = tokens["write", "other"]
    answer = server.post(f"/api/v1/{name}", filled(name, run) if name != "import" else {"upload": "0" * 32}, token=token)
    asked_for_run = run in str(filled(name, run))
    if effect == "kManage":
        assert answer.status == 403
    elif asked_for_run:
        assert answer.status == 404, (name, answer.text)
    assert asked_for_run or run not in answer.text, name


def test_a_run_of_another_project_is_as_unknown_as_none(place) -> None:
    """Whether a hash exists is answered within the project alone."""
    server, run, tokens = place
    token = tokens["write", "other"]
    unknown = "0" * 64
    for path in ("/api/v1/show?run={}", "/api/v1/runs/{}"):
        real, none = (server.get(path.format(one), token=token) for one in (run, unknown))
        assert real.status == none.status == 404
        assert real.text.replace(run, "X") == none.text.replace(unknown, "X")


def test_a_token_of_one_project_cannot_choose_another(place) -> None:
    server, _, tokens = place
    for project, status in (("main", 403), ("other", 200)):
        assert server.get("/api/v1/runs", token=tokens["read", "other"], headers={"NeuroLens-Project": project}).status == status
    for project, status in (("main", 200), ("other", 200), ("nosuch", 404), ("../main", 403)):
        assert server.get("/api/v1/runs", token=tokens["read", "*"], headers={"NeuroLens-Project": project}).status == status


def test_facts_that_two_projects_have_are_stored_once(place) -> None:
    server, run, tokens = place
    data = (REPOSITORY / "samples/native_full.json").read_bytes()
    token = tokens["write", "other"]
    upload = server.post("/api/v1/uploads", {"files": [{"name": "a.json", "bytes": len(data)}]}, token=token).json["upload_id"]
    assert server.put(f"/api/v1/uploads/{upload}/0", data, token=token).status == 200
    assert server.post("/api/v1/import", {"upload": upload}, token=token).status == 202
    while "status" not in (job := server.get(f"/api/v1/jobs/{upload}", token=token).json):
        time.sleep(0.05)
    assert job["answer"]["data"]["run_id"] == run
    ours, theirs = server.ledger / "runs" / run, server.ledger / "projects/other/runs" / run
    tables = [path.name for path in ours.glob("*.parquet")]
    assert tables and all((ours / name).samefile(theirs / name) for name in [*tables, "run.json"])
    deleted = server.post("/api/v1/delete", {"run": run, "reason": "a test"}, token=token)
    assert deleted.status == 200 and not theirs.exists()
    assert server.get(f"/api/v1/show?run={run}", token=tokens["read", "main"]).status == 200


def test_tokens_end(place) -> None:
    server, _, tokens = place
    admin = tokens["admin", "*"]
    made = server.post("/api/v1/token", {"action": "add", "name": "short"}, token=admin).json["data"]
    identity = made["tokens"][-1]["id"]
    assert server.get("/api/v1/runs", token=made["token"]).status == 200
    rotated = server.post("/api/v1/token", {"action": "rotate", "name": identity}, token=admin).json["data"]["token"]
    assert server.get("/api/v1/runs", token=made["token"]).status == 401
    assert server.get("/api/v1/runs", token=rotated).status == 200
    assert server.post("/api/v1/token", {"action": "revoke", "name": identity}, token=admin).status == 200
    assert server.get("/api/v1/runs", token=rotated).status == 401
