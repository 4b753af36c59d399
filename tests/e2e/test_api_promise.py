"""/api/v1 only ever grows (docs/server.md, Versions): the present document of the server is held against the one of the last release,
tests/fixtures/openapi_v1.json.xz. At a release, when this test is fine, the snapshot is renewed from the root of the repository by

    build/release/bin/neurolens serve --no-token --port 8470 & sleep 2
    curl -s http://127.0.0.1:8470/api/v1/openapi.json | xz -9 > tests/fixtures/openapi_v1.json.xz; kill %1
"""

import copy
import json
import lzma
from collections.abc import Callable
from typing import Any

import pytest

import api_promise
from conftest import REPOSITORY, Neurolens
from server import Server

SNAPSHOT = REPOSITORY / "tests/fixtures/openapi_v1.json.xz"


def snapshot() -> Any:
    return json.loads(lzma.decompress(SNAPSHOT.read_bytes()))


def test_what_was_promised_is_still_there(neurolens: Neurolens, serve: Callable[..., Server]) -> None:
    now = serve().get("/api/v1/openapi.json").json
    broken = api_promise.breaks(snapshot(), now)
    told = "".join(f"\n- {one}" for one in broken)
    assert not broken, f"/api/v1 only ever grows (docs/server.md, Versions); what cannot keep this rule is /api/v2. Broken:{told}"


def test_the_snapshot_holds_the_operations() -> None:
    """Nobody renewed it from a server that offers nothing."""
    paths = snapshot()["paths"]
    assert {f"/api/v1/{name}" for name in ("runs", "show", "analyze", "compare", "query", "note", "import", "export")} <= set(paths)
    assert "limit" in paths["/api/v1/runs"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]


# ---- The comparison itself

DOCUMENT: Any = {
    "openapi": "3.1.0",
    "paths": {
        "/api/v1/show": {
            "get": {
                "operationId": "get_show",
                "parameters": [
                    {"name": "run", "in": "query", "required": True, "schema": {"type": "string"}},
                    {"name": "limit", "in": "query", "required": False, "schema": {"type": "integer", "minimum": 0, "maximum": 9}},
                ],
                "responses": {"200": {"content": {"text/plain": {"schema": {"type": "string"}}}}, "304": {}, "default": {}},
            },
            "post": {
                "operationId": "show",
                "requestBody": {
                    "required": False,
                    "content": {
                        "application/json": {
                            "schema": {
                                "type": "object",
                                "additionalProperties": False,
                                "required": ["run"],
                                "properties": {
                                    "run": {"type": "string", "maxLength": 64},
                                    "sort": {"type": "string", "enum": ["name", "time"], "default": "time"},
                                    "names": {"type": "array", "items": {"type": ["string", "integer"]}},
                                    "filter": {"type": "string", "pattern": "^a"},
                                    "free": {"type": "string"},
                                    "list": {"type": "array"},
                                },
                            }
                        }
                    },
                },
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Shown"}}}},
                    "202": {"content": {"application/json": {"schema": {"type": "object", "required": ["job_id"]}}}},
                },
            },
        },
        "/api/v1/jobs/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
            "delete": {"operationId": "cancel_job", "responses": {"200": {}}},
        },
    },
    "components": {
        "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        "schemas": {
            "Shown": {
                "type": "object",
                "additionalProperties": False,
                "required": ["rows", "state"],
                "properties": {
                    "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
                    "state": {"type": "string", "enum": ["done", "failed"]},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "either": {"anyOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"type": "array"}]},
                },
            },
            "Row": {
                "type": "object",
                "required": ["name", "ns"],
                "properties": {
                    "name": {"type": "string"},
                    "ns": {"type": ["integer", "null"]},
                    "share": {"type": "number"},
                    "below": {"type": "array", "items": {"$ref": "#/components/schemas/Row"}},
                },
            },
        },
    },
}

SHOW = "/paths/~1api~1v1~1show"
BODY = SHOW + "/post/requestBody/content/application~1json/schema"
ANSWER = "/components/schemas"
GONE = object()


def changed(pointer: str, value: Any) -> Any:
    """The document with something else at this place; a list gets it at its end for `-`."""
    document = copy.deepcopy(DOCUMENT)
    at: Any = document
    *way, last = (part.replace("~1", "/") for part in pointer.removeprefix("/").split("/"))
    for part in way:
        at = at[int(part)] if isinstance(at, list) else at[part]
    if isinstance(at, list) and last == "-":
        at.append(value)
    elif isinstance(at, list):
        del at[int(last)]
    elif value is GONE:
        del at[last]
    else:
        at[last] = value
    return document


def parameter(name: str, required: bool) -> Any:
    return {"name": name, "in": "query", "required": required, "schema": {"type": "string"}}


BREAKS = {
    "path": ("/paths/~1api~1v1~1show", GONE, "/api/v1/show: the path is gone"),
    "method": (f"{SHOW}/get", GONE, "GET /api/v1/show: the method is gone"),
    "method of a job": ("/paths/~1api~1v1~1jobs~1{id}/delete", GONE, "DELETE /api/v1/jobs/{id}: the method is gone"),
    "operation id": (f"{SHOW}/post/operationId", "view", 'POST /api/v1/show: operationId was "show", is "view": clients are made from it'),
    "sign in": ("/components/securitySchemes", {}, 'the way to sign in "token" is gone'),
    "status": (f"{SHOW}/get/responses/304", GONE, "GET /api/v1/show: status 304 is gone"),
    "content type": (f"{SHOW}/get/responses/200/content", {}, "GET /api/v1/show: answer 200: type text/plain is gone"),
    # What is sent
    "parameter": (f"{SHOW}/get/parameters/1", GONE, "GET /api/v1/show: parameter limit is gone"),
    "parameter becomes required": (
        f"{SHOW}/get/parameters/1/required", True, "GET /api/v1/show: parameter limit was optional, is required"),
    "new required parameter": (
        f"{SHOW}/get/parameters/-", parameter("how", True), "GET /api/v1/show: parameter how is new and required"),
    "type of a parameter": (
        f"{SHOW}/get/parameters/1/schema/type", "string", "GET /api/v1/show: parameter limit: was integer, is string"),
    "minimum": (f"{SHOW}/get/parameters/1/schema/minimum", 1, "GET /api/v1/show: parameter limit: minimum was 0, is 1"),
    "maximum": (f"{SHOW}/get/parameters/1/schema/maximum", 5, "GET /api/v1/show: parameter limit: maximum was 9, is 5"),
    "parameter in a path": (
        "/paths/~1api~1v1~1jobs~1{id}/parameters/0/schema/type", "integer",
        "DELETE /api/v1/jobs/{id}: parameter id: was string, is integer"),
    "body": (f"{SHOW}/post/requestBody", GONE, "POST /api/v1/show: body is gone"),
    "body becomes required": (f"{SHOW}/post/requestBody/required", True, "POST /api/v1/show: body was optional, is required"),
    "new required body": (
        f"{SHOW}/get/requestBody", {"required": True, "content": {}}, "GET /api/v1/show: body is new and required"),
    "member": (f"{BODY}/properties/names", GONE, "POST /api/v1/show: body: parameter names is gone"),
    "member becomes required": (f"{BODY}/required", ["run", "sort"], "POST /api/v1/show: body: parameter sort was optional, is required"),
    "new required member": (f"{BODY}/required", ["run", "how"], "POST /api/v1/show: body: parameter how is new and required"),
    "type of a member": (f"{BODY}/properties/run/type", "integer", "POST /api/v1/show: body/run: was string, is integer"),
    "type of an item": (
        f"{BODY}/properties/names/items/type", "string", "POST /api/v1/show: body/names[]: was integer or string, is string"),
    "items get a type": (
        f"{BODY}/properties/list/items", {"type": "string"}, "POST /api/v1/show: body/list[]: was anything, is string"),
    "value of a parameter": (f"{BODY}/properties/sort/enum", ["name"], 'POST /api/v1/show: body/sort: the value "time" is gone'),
    "values are listed": (f"{BODY}/properties/free/enum", ["a"], 'POST /api/v1/show: body/free: took any value, takes ["a"]'),
    "default": (f"{BODY}/properties/sort/default", "name", 'POST /api/v1/show: body/sort: the default was "time", is "name"'),
    "pattern": (f"{BODY}/properties/filter/pattern", "^b", 'POST /api/v1/show: body/filter: pattern was "^a", is "^b"'),
    "new format": (f"{BODY}/properties/free/format", "uri", 'POST /api/v1/show: body/free: format was null, is "uri"'),
    "length": (f"{BODY}/properties/run/maxLength", 8, "POST /api/v1/show: body/run: maxLength was 64, is 8"),
    # What comes back
    "field": (f"{ANSWER}/Row/properties/share", GONE, "POST /api/v1/show: answer 200/rows[]: field share is gone"),
    "required field": (f"{ANSWER}/Row/properties/name", GONE, "POST /api/v1/show: answer 200/rows[]: field name is gone"),
    "field may be absent": (
        f"{ANSWER}/Row/required", ["name"], "POST /api/v1/show: answer 200/rows[]: field ns was always there, may be absent"),
    "field without a schema may be absent": (
        f"{SHOW}/post/responses/202/content/application~1json/schema/required", [],
        "POST /api/v1/show: answer 202: field job_id was always there, may be absent"),
    "field may be null": (
        f"{ANSWER}/Row/properties/name/type", ["string", "null"],
        "POST /api/v1/show: answer 200/rows[]/name: was string, is null or string"),
    "field of another type": (
        f"{ANSWER}/Row/properties/share/type", "string", "POST /api/v1/show: answer 200/rows[]/share: was number, is string"),
    "whole numbers become fractions": (
        f"{ANSWER}/Row/properties/ns/type", ["number", "null"],
        "POST /api/v1/show: answer 200/rows[]/ns: was integer or null, is null or number"),
    "field of any type": (f"{ANSWER}/Row/properties/name", {}, "POST /api/v1/show: answer 200/rows[]/name: was string, is anything"),
    "value of a field": (
        f"{ANSWER}/Shown/properties/state/enum", ["done"], 'POST /api/v1/show: answer 200/state: the value "failed" is gone'),
    "values are no longer listed": (
        f"{ANSWER}/Shown/properties/state/enum", GONE, 'POST /api/v1/show: answer 200/state: had one of ["done", "failed"], has any value'),
    "type in a map": (
        f"{ANSWER}/Shown/properties/labels/additionalProperties/type", "integer",
        "POST /api/v1/show: answer 200/labels/*: was string, is integer"),
    "map": (
        f"{ANSWER}/Shown/properties/labels/additionalProperties", False,
        "POST /api/v1/show: answer 200/labels: had members of any name, has none"),
    "alternative": (
        f"{ANSWER}/Shown/properties/either/anyOf/1", GONE, "POST /api/v1/show: answer 200/either: was array, is object"),
    "further alternative": (
        f"{ANSWER}/Shown/properties/either/anyOf/-", {"type": "string"}, "POST /api/v1/show: answer 200/either: had 2 forms, has 3"),
    "field in an alternative": (
        f"{ANSWER}/Shown/properties/either/anyOf/0/properties/a/type", "null",
        "POST /api/v1/show: answer 200/either/a: was string, is null"),
    "a keyword that nobody knows": (
        f"{ANSWER}/Row/allOf", [], "POST /api/v1/show: answer 200/rows[]: nobody compares allOf: teach tests/e2e/api_promise.py"),
}  # fmt: skip


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_promise_is_told(name: str) -> None:
    pointer, value, told = BREAKS[name]
    assert api_promise.breaks(DOCUMENT, changed(pointer, value)) == [told]


GROWTH: dict[str, tuple[str, Any]] = {
    "nothing": ("/openapi", "3.1.1"),
    "path": ("/paths/~1api~1v1~1more", DOCUMENT["paths"]["/api/v1/show"]),
    "method": (f"{SHOW}/put", DOCUMENT["paths"]["/api/v1/show"]["post"]),
    "name of a placeholder": ("/paths/~1api~1v1~1jobs~1{id}/parameters/0/name", "job"),
    "optional parameter": (f"{SHOW}/get/parameters/-", parameter("how", False)),
    "parameter becomes optional": (f"{SHOW}/get/parameters/0/required", False),
    "wider type": (f"{SHOW}/get/parameters/1/schema/type", "number"),
    "wider limits": (f"{SHOW}/get/parameters/1/schema/maximum", 99),
    "no limit": (f"{SHOW}/get/parameters/1/schema/minimum", GONE),
    "optional member": (f"{BODY}/properties/how", {"type": "string"}),
    "member becomes optional": (f"{BODY}/required", []),
    "value of a parameter": (f"{BODY}/properties/sort/enum", ["name", "size", "time"]),
    "any value": (f"{BODY}/properties/sort/enum", GONE),
    "no pattern": (f"{BODY}/properties/filter/pattern", GONE),
    "new default": (f"{BODY}/properties/free/default", "x"),
    "status": (f"{SHOW}/get/responses/429", {}),
    "field": (f"{ANSWER}/Row/properties/more", {"type": "string"}),
    "field is always there": (f"{ANSWER}/Row/required", ["name", "ns", "share"]),
    "field is never null": (f"{ANSWER}/Row/properties/ns/type", "integer"),
    "value of a field": (f"{ANSWER}/Shown/properties/state/enum", ["done", "failed", "paused"]),
    "description": (f"{ANSWER}/Row/description", "a row"),
    "other members": (f"{ANSWER}/Shown/additionalProperties", GONE),
}


@pytest.mark.parametrize("name", GROWTH)
def test_growth_breaks_nothing(name: str) -> None:
    assert api_promise.breaks(DOCUMENT, changed(*GROWTH[name])) == []


def test_what_is_taken_out_of_the_snapshot_is_missed() -> None:
    """The comparison sees into the real document: each operation, and each of its parameters and fields."""
    whole = snapshot()

    def one(path: str) -> Any:
        return {**whole, "paths": {path: copy.deepcopy(whole["paths"][path])}}

    for path in whole["paths"]:
        assert api_promise.breaks(one(path), {**whole, "paths": {}}) == [f"{path}: the path is gone"]
        post = whole["paths"][path].get("post", {})
        for name in post.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {}).get("properties", {}):
            now = one(path)
            del now["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"][name]
            assert f"POST {path}: body: parameter {name} is gone" in api_promise.breaks(one(path), now)
    now = one("/api/v1/analyze")
    data = now["paths"]["/api/v1/analyze"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["data"]
    for name in list(data["properties"]):
        del data["properties"][name]
        assert f"POST /api/v1/analyze: answer 200/data: field {name} is gone" in api_promise.breaks(one("/api/v1/analyze"), now)
