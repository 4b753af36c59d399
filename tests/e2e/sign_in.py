"""Signing in by OpenID Connect, for the tests: starts the provider of oidc_provider.mjs, and walks the way of a browser. No test itself."""

import dataclasses
import html.parser
import http.cookiejar
import http.cookies
import json
import os
import pathlib
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

import pytest

from conftest import REPOSITORY
from server import TIMEOUT, Answer, Server

BACK = "/sign-in/back"
TOKEN_COOKIE, SIGN_IN_COOKIE = "neurolens_token", "neurolens_sign_in"
GROUPS = ("perf=write:main", "leads=admin:kernels", "visitors=read:main")  # of the people of oidc_provider.mjs


def query_of(address: str) -> dict[str, str]:
    """Each name once."""
    pairs = urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query, keep_blank_values=True, strict_parsing=True)
    assert len(dict(pairs)) == len(pairs), address
    return dict(pairs)


def with_query(address: str, **more: str) -> str:
    return f"{address}{'&' if '?' in address else '?'}{urllib.parse.urlencode(more)}"


def cookies_of(answer: Answer) -> dict[str, http.cookies.Morsel[str]]:
    """What an answer sets, by name."""
    found: dict[str, http.cookies.Morsel[str]] = {}
    for line in answer.headers.get_all("Set-Cookie") or []:
        for name, morsel in http.cookies.SimpleCookie(line).items():
            assert name not in found, f"{name} is set twice"
            found[name] = morsel
    return found


def token_of(answer: Answer) -> str:
    """Empty if the answer sets none, or clears it."""
    cookie = cookies_of(answer).get(TOKEN_COOKIE)
    return cookie.value if cookie else ""


def by_cookie(token: str) -> dict[str, str]:
    return {"Cookie": f"{TOKEN_COOKIE}={token}"}


class Page(html.parser.HTMLParser):
    """Where a page leads to."""

    def __init__(self, answer: Answer, address: str):
        super().__init__()
        assert answer.headers["Content-Type"].startswith("text/html"), answer
        self.address = address
        self.links: list[str] = []
        self.refresh = ""
        self.tags: set[str] = set()
        self.feed(answer.text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        given = {name: value or "" for name, value in attributes}
        if tag == "a" and "href" in given:
            self.links.append(urllib.parse.urljoin(self.address, given["href"]))
        if tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            target = given["content"].partition(";")[2].strip().partition("=")[2].strip("'\"")
            self.refresh = urllib.parse.urljoin(self.address, target)


@dataclasses.dataclass
class Attempt:
    """A sign-in that has begun: where the server sends the browser, and the cookie it gave."""

    location: str
    cookie: str

    @property
    def asked(self) -> dict[str, str]:
        return query_of(self.location)


def begin(server: Server, to: str | None = None, headers: dict[str, str] | None = None) -> Attempt:
    path = "/sign-in" if to is None else with_query("/sign-in", to=to)
    answer = server.get(path, headers, token="")
    assert answer.status == 303, answer
    return Attempt(answer.headers["Location"], cookies_of(answer)[SIGN_IN_COOKIE].value)


class StopAtTheServer(urllib.request.HTTPRedirectHandler):
    """Goes from page to page of the provider, and no further."""

    def redirect_request(self, request: Any, file: Any, code: int, message: str, headers: Any, address: str) -> Any:
        if urllib.parse.urlsplit(address).path.endswith(BACK):
            return None
        return super().redirect_request(request, file, code, message, headers, address)


def authorize(location: str, person: str = "") -> str:
    """The address that the provider sends the browser back to."""
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), jar, StopAtTheServer())
    try:
        with opener.open(with_query(location, login_hint=person) if person else location, timeout=TIMEOUT) as page:
            raise AssertionError(f"the provider asks: {page.read()[:500]!r}")
    except urllib.error.HTTPError as error:
        assert error.code in (302, 303), (error.code, error.read())
        return str(error.headers["Location"])


def return_with(server: Server, query: dict[str, str], cookie: str | None) -> Answer:
    """The browser is back; without a cookie if that is None."""
    headers = {} if cookie is None else {"Cookie": f"{SIGN_IN_COOKIE}={cookie}"}
    return server.get(f"{BACK}?{urllib.parse.urlencode(query)}", headers, token="")


def sign_in(server: Server, person: str = "", to: str | None = None) -> Answer:
    """The last answer of a sign-in."""
    attempt = begin(server, to)
    return return_with(server, query_of(authorize(attempt.location, person)), attempt.cookie)


def session_of(server: Server, person: str = "") -> str:
    """The token of somebody who has signed in."""
    answer = sign_in(server, person)
    assert answer.status == 200 and token_of(answer), answer
    return token_of(answer)


def audited(server: Server) -> list[dict[str, Any]]:
    log = server.ledger / "audit.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def refusals(server: Server) -> list[dict[str, Any]]:
    return [one for one in audited(server) if one["event"] == "refused" and one["operation"] == "sign-in"]


def tokens(server: Server) -> list[dict[str, Any]]:
    """The oldest first."""
    return sorted(server.neurolens("token", "--json").data["tokens"], key=lambda one: one["made_at_ns"])


def outputs(server: Server, *answers: Answer) -> str:
    """All that others can read: logs, messages and these answers."""
    said = server.said.partition("\n")[2]  # the first line has the token of the start
    files = [server.ledger / "audit.jsonl", server.ledger.parent / "access.log"]
    logs = [path.read_text() for path in files if path.exists()]
    return "\n".join([said, *logs, *(f"{one.headers}{one.text}" for one in answers)])


def options(issuer: str, client: str, secret: pathlib.Path | None, *groups: str) -> list[Any]:
    named = ["--sign-in-issuer", issuer, "--sign-in-client", client, *(["--sign-in-secret-file", secret] if secret else [])]
    return [*named, *(word for group in groups for word in ("--sign-in-group", group))]


def grants_of(token: dict[str, Any]) -> dict[str, str]:
    """Role by project."""
    grants = {one["project"]: one["role"] for one in token["grants"]}
    assert len(grants) == len(token["grants"]), "a project has one role"
    return grants


class RealProvider:
    """oidc_provider.mjs in a process of its own."""

    def __init__(self, *redirect_uris: str, **settings: str):
        node, folder = shutil.which("node"), self.folder()
        if node is None or folder is None:
            pytest.skip(f"no {'node' if node is None else 'oidc-provider in .deps'}: run tools/setup with npm in the path")
        program = pathlib.Path(__file__).with_name("oidc_provider.mjs")
        given = json.dumps({"redirect_uris": redirect_uris, **settings})
        self.process = subprocess.Popen([node, program, folder, given], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the provider does not start"
        ready = json.loads(line)
        self.issuer: str = ready["issuer"]
        self.client: str = ready["client"]
        self.public_client: str = ready["public_client"]
        self.secret: str = ready["secret"]

    @staticmethod
    def folder() -> pathlib.Path | None:
        deps = pathlib.Path(os.environ.get("NEUROLENS_DEPS", REPOSITORY / ".deps"))
        return next((one for one in sorted(deps.glob("oidc-provider-*"))[::-1] if (one / "node_modules/oidc-provider").is_dir()), None)

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=TIMEOUT)
