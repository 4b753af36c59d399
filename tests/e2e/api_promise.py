"""What /api/v1 promises (docs/server.md, Versions): it only ever grows. Compares two OpenAPI documents of `neurolens serve`. No test
itself.

Requests: whoever asked rightly before still does. No path, method, parameter, type or value of a parameter is gone, and nothing new is
required. Answers: whoever understood them before still does. No status, content type or field is gone, no field that was always there may
be absent, and no field has a type that it could not have before."""

import json
import re
from collections.abc import Iterator
from typing import Any

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# Keywords of schemas: what is compared, and what changes no meaning.
COMPARED = {
    "$ref", "additionalProperties", "anyOf", "default", "enum", "format", "items", "maxItems", "maxLength", "maxProperties",
    "maximum", "minItems", "minLength", "minProperties", "minimum", "oneOf", "pattern", "properties", "required", "type",
}  # fmt: skip
WORDS = {"description", "title", "summary", "examples", "example", "deprecated"}
EVERY_TYPE = {"null", "boolean", "object", "array", "number", "string", "integer"}


def breaks(old: Any, new: Any) -> list[str]:
    """A sentence for each promise of the old document that the new one breaks."""
    return list(dict.fromkeys(Comparison(old, new).of_documents()))


def shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def types_of(schema: Any) -> set[str]:
    named = schema.get("type", sorted(EVERY_TYPE))
    types = set([named] if isinstance(named, str) else named)
    return types | {"integer"} if "number" in types else types


def named(types: set[str]) -> str:
    if types >= EVERY_TYPE:
        return "anything"
    return " or ".join(sorted(types - {"integer"} if "number" in types else types))


def required_of(schema: Any) -> set[str]:
    return set(schema.get("required", []))


def without_names(path: str) -> str:
    """A placeholder may change its name: nobody sends it."""
    return re.sub(r"\{[^}]*\}", "{}", path)


class Comparison:
    def __init__(self, old: Any, new: Any, seen: set[tuple[str, str, bool]] | None = None):
        self.old, self.new = old, new
        self.seen = seen or set()  # pairs of references: some lead back to themselves

    def of_documents(self) -> Iterator[str]:
        paths = {without_names(path): one for path, one in self.new["paths"].items()}
        for path, old in self.old["paths"].items():
            if without_names(path) not in paths:
                yield f"{path}: the path is gone"
                continue
            yield from self.of_paths(path, old, paths[without_names(path)])
        schemes = [one.get("components", {}).get("securitySchemes", {}) for one in (self.old, self.new)]
        for name in schemes[0]:
            if name not in schemes[1]:
                yield f"the way to sign in {shown(name)} is gone"

    def of_paths(self, path: str, old: Any, new: Any) -> Iterator[str]:
        for method in METHODS:
            if method not in old:
                continue
            where = f"{method.upper()} {path}"
            if method not in new:
                yield f"{where}: the method is gone"
                continue
            yield from self.of_operations(where, old[method], new[method])
            yield from self.of_parameters(where, self.parameters(self.old, old, method), self.parameters(self.new, new, method))

    def of_operations(self, where: str, old: Any, new: Any) -> Iterator[str]:
        if old.get("operationId") != new.get("operationId"):
            yield f"{where}: operationId was {shown(old.get('operationId'))}, is {shown(new.get('operationId'))}: clients are made from it"
        yield from self.of_bodies(where, old.get("requestBody"), new.get("requestBody"))
        for status, answer in old["responses"].items():
            if status not in new["responses"]:
                yield f"{where}: status {status} is gone"
                continue
            yield from self.of_content(f"{where}: answer {status}", answer, new["responses"][status], is_answer=True)

    # ---- What is sent

    def parameters(self, document: Any, path: Any, method: str) -> dict[tuple[str, str], Any]:
        listed = [self.target(document, one) for one in [*path.get("parameters", []), *path[method].get("parameters", [])]]
        in_path = [one for one in listed if one["in"] == "path"]
        names = {(one["in"], one["name"]): one for one in listed if one["in"] != "path"}
        return names | {("path", str(number)): one for number, one in enumerate(in_path)}

    def of_parameters(self, where: str, old: dict[tuple[str, str], Any], new: dict[tuple[str, str], Any]) -> Iterator[str]:
        for key, one in old.items():
            at = f"{where}: parameter {one['name']}"
            if key not in new:
                yield f"{at} is gone"
                continue
            if new[key].get("required") and not one.get("required"):
                yield f"{at} was optional, is required"
            yield from self.of_schemas(at, one.get("schema", {}), new[key].get("schema", {}), is_answer=False)
        for key, one in new.items():
            if key not in old and one.get("required"):
                yield f"{where}: parameter {one['name']} is new and required"

    def of_bodies(self, where: str, old: Any, new: Any) -> Iterator[str]:
        at = f"{where}: body"
        if old is None:
            if new is not None and new.get("required"):
                yield f"{at} is new and required"
            return
        if new is None:
            yield f"{at} is gone"
            return
        if new.get("required") and not old.get("required"):
            yield f"{at} was optional, is required"
        yield from self.of_content(at, old, new, is_answer=False)

    def of_content(self, at: str, old: Any, new: Any, is_answer: bool) -> Iterator[str]:
        old, new = self.target(self.old, old), self.target(self.new, new)
        for kind, one in old.get("content", {}).items():
            if kind not in new.get("content", {}):
                yield f"{at}: type {kind} is gone"
                continue
            yield from self.of_schemas(at, one.get("schema", {}), new["content"][kind].get("schema", {}), is_answer)

    # ---- Schemas

    @staticmethod
    def target(document: Any, one: Any) -> Any:
        """What it refers to."""
        while isinstance(one, dict) and "$ref" in one:
            found = document
            for part in one["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            one = found
        return one

    def of_schemas(self, at: str, old: Any, new: Any, is_answer: bool) -> Iterator[str]:
        if isinstance(old, dict) and isinstance(new, dict) and "$ref" in old and "$ref" in new:
            pair = (old["$ref"], new["$ref"], is_answer)
            if pair in self.seen:
                return
            self.seen.add(pair)
        old, new = self.target(self.old, old), self.target(self.new, new)
        old, new = ({} if one is True else one for one in (old, new))
        unknown = (set(old) | set(new)) - COMPARED - WORDS
        if unknown:
            yield f"{at}: nobody compares {', '.join(sorted(unknown))}: teach tests/e2e/api_promise.py"
        if any(key in one for key in ("anyOf", "oneOf") for one in (old, new)):
            yield from self.of_alternatives(at, old, new, is_answer)
            return
        yield from self.of_types(at, old, new, is_answer)
        yield from self.of_values(at, old, new, is_answer)
        if not is_answer:
            yield from self.of_limits(at, old, new)
        yield from self.of_members(at, old, new, is_answer)
        if "items" in old:
            yield from self.of_schemas(f"{at}[]", old["items"], new.get("items", {}), is_answer)
        elif "items" in new and not is_answer:
            yield from self.of_schemas(f"{at}[]", {}, new["items"], is_answer)

    def of_alternatives(self, at: str, old: Any, new: Any, is_answer: bool) -> Iterator[str]:
        """Each old alternative is still there; an answer has no further one."""
        before, after = ([*one.get("anyOf", []), *one.get("oneOf", [])] or [one] for one in (old, new))
        for one in before:
            tries = [Comparison(self.old, self.new, self.seen.copy()) for _ in after]
            found = [list(each.of_schemas(at, one, other, is_answer)) for each, other in zip(tries, after)]
            yield from min(found, key=len)
        if is_answer and len(after) > len(before):
            yield f"{at}: had {len(before)} forms, has {len(after)}"

    def of_types(self, at: str, old: Any, new: Any, is_answer: bool) -> Iterator[str]:
        before, after = types_of(old), types_of(new)
        if not (after <= before if is_answer else before <= after):
            yield f"{at}: was {named(before)}, is {named(after)}"

    def of_values(self, at: str, old: Any, new: Any, is_answer: bool) -> Iterator[str]:
        """Values of a list are only added. Without a list any value is possible: more in a request, less said of an answer."""
        before, after = old.get("enum"), new.get("enum")
        if before is not None and after is not None:
            for value in before:
                if value not in after:
                    yield f"{at}: the value {shown(value)} is gone"
        elif before is None and after is not None and not is_answer:
            yield f"{at}: took any value, takes {shown(after)}"
        elif before is not None and after is None and is_answer:
            yield f"{at}: had one of {shown(before)}, has any value"
        if "default" in old and old["default"] != new.get("default"):
            yield f"{at}: the default was {shown(old['default'])}, is {shown(new.get('default'))}"
        for key in ("pattern", "format"):
            was, now = old.get(key), new.get(key)
            if was != now and (was if is_answer else now) is not None:
                yield f"{at}: {key} was {shown(was)}, is {shown(now)}"

    def of_limits(self, at: str, old: Any, new: Any) -> Iterator[str]:
        """A request that was within the limits still is."""
        for key in ("Length", "Items", "Properties", "imum"):
            low, high = (old.get(f"min{key}"), new.get(f"min{key}")), (old.get(f"max{key}"), new.get(f"max{key}"))
            if low[1] is not None and (low[0] is None or low[1] > low[0]):
                yield f"{at}: min{key} was {shown(low[0])}, is {shown(low[1])}"
            if high[1] is not None and (high[0] is None or high[1] < high[0]):
                yield f"{at}: max{key} was {shown(high[0])}, is {shown(high[1])}"

    def of_members(self, at: str, old: Any, new: Any, is_answer: bool) -> Iterator[str]:
        what = "field" if is_answer else "parameter"
        before, after = old.get("properties", {}), new.get("properties", {})
        for name, one in before.items():
            if name not in after:
                yield f"{at}: {what} {name} is gone"
                continue
            yield from self.of_schemas(f"{at}/{name}", one, after[name], is_answer)
        if is_answer:
            for name in sorted(required_of(old) - required_of(new) - (set(before) - set(after))):
                yield f"{at}: field {name} was always there, may be absent"
        for name in sorted(required_of(new) - required_of(old)) if not is_answer else ():
            yield f"{at}: parameter {name} " + ("was optional, is required" if name in before else "is new and required")
        others = old.get("additionalProperties", True), new.get("additionalProperties", True)
        if others[0] is not False and others[1] is False and not is_answer:
            yield f"{at}: took members of any name, takes none"
        if isinstance(others[0], dict) and others[1] is False and is_answer:
            yield f"{at}: had members of any name, has none"
        if isinstance(others[0], dict) and others[1] is not False:
            yield from self.of_schemas(f"{at}/*", others[0], others[1], is_answer)
