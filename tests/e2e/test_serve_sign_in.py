"""Sign-in by OpenID Connect, with a real provider (oidc_provider.mjs): alice is in the groups perf and leads, bob and dave are visitors,
carol is in none, and the address of dave is not verified. What goes wrong is in test_serve_sign_in_faults.py."""

import pathlib
import re
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import trace_text
from conftest import Neurolens
from lying_provider import CLIENT, LyingProvider
from server import Server, free_port, until
from sign_in import (
    BACK,
    GROUPS,
    SIGN_IN_COOKIE,
    TOKEN_COOKIE,
    Page,
    RealProvider,
    audited,
    authorize,
    begin,
    by_cookie,
    cookies_of,
    grants_of,
    options,
    outputs,
    query_of,
    refusals,
    return_with,
    session_of,
    sign_in,
    token_of,
    tokens,
    with_query,
)

HTML = {"Accept": "text/html,application/xhtml+xml"}
Place = tuple[Server, RealProvider]


@pytest.fixture
def place(serve, tmp_path) -> Iterator[Callable[..., Place]]:
    """Starts a provider and a server that signs in with it. What is said about the provider is in `settings`."""
    providers: list[RealProvider] = []

    def start(
        *more: Any, groups: tuple[str, ...] = GROUPS, base: str = "", is_public: bool = False, origin: str | None = None, **settings: str
    ) -> Place:
        port = free_port()
        origins = [origin] if origin else [f"http://127.0.0.1:{port}", f"http://localhost:{port}"]
        providers.append(RealProvider(*(f"{one}{base}{BACK}" for one in origins), **settings))
        provider = providers[-1]
        secret = tmp_path / "secret"
        secret.write_text(provider.secret + "\n")
        client = (provider.public_client, None) if is_public else (provider.client, secret)
        words = [*options(provider.issuer, *client, *groups), "--access-log", tmp_path / "access.log"]
        return serve(*words, *(["--base-path", base] if base else []), *more, port=port), provider

    yield start
    for one in providers:
        one.kill()


@pytest.fixture
def server(small_run: str, place: Callable[..., Place]) -> Server:
    """With a run in main."""
    return place()[0]


@pytest.fixture
def lying() -> Iterator[LyingProvider]:
    """Here it does not lie, but tells what it is asked."""
    one = LyingProvider()
    yield one
    one.stop()


def status_of(server: Server, token: str, project: str | None = None) -> int:
    return server.get("/api/v1/runs", {**by_cookie(token), **({"NeuroLens-Project": project} if project else {})}, token="").status


def runs_of(server: Server, token: str, project: str | None = None) -> set[str]:
    answer = server.get("/api/v1/runs", {**by_cookie(token), **({"NeuroLens-Project": project} if project else {})}, token="")
    return {one["run_id"] for one in answer.data["runs"]}


def tag_status(server: Server, token: str, project: str | None = None) -> int:
    """Of the newest run."""
    headers = {**by_cookie(token), **({"NeuroLens-Project": project} if project else {})}
    return server.post("/api/v1/tag", {"run": "@latest", "names": ["seen"]}, headers, token="").status


def run_in(neurolens: Neurolens, project: str, tmp_path: pathlib.Path, variant: int) -> str:
    """Id of a new run of a project."""
    path = tmp_path / f"of-{project}.json"
    path.write_text(trace_text.trace_text(1, variant))
    return str(Neurolens(neurolens.ledger / "projects" / project).import_file(path)["run_id"])


def sign_out(server: Server, token: str, **headers: str) -> Any:
    return server.ask("POST", "/sign-out", b"", {**by_cookie(token), **headers}, token="")


# ---- The way there


def test_a_sign_in_begins_at_the_provider(place) -> None:
    server, provider = place()
    answer = server.get("/sign-in", token="")
    assert answer.status == 303
    address = urllib.parse.urlsplit(answer.headers["Location"])
    assert f"{address.scheme}://{address.netloc}" == provider.issuer
    asked = query_of(answer.headers["Location"])
    assert {name: asked.pop(name) for name in ("state", "nonce", "code_challenge")}
    assert asked == {
        "response_type": "code", "client_id": provider.client, "redirect_uri": f"{server.url}/sign-in/back",
        "scope": "openid profile email groups", "code_challenge_method": "S256",
    }  # fmt: skip


def test_the_cookie_of_a_sign_in_is_short_and_narrow(server: Server) -> None:
    cookies = cookies_of(server.get("/sign-in", token=""))
    assert list(cookies) == [SIGN_IN_COOKIE]
    cookie = cookies[SIGN_IN_COOKIE]
    assert cookie["httponly"] and cookie["samesite"] == "Lax" and cookie["max-age"] == "600"
    assert not cookie["secure"] and not cookie["domain"]


def test_the_way_back_is_by_the_name_that_was_used(server: Server) -> None:
    attempt = begin(server, headers={"Host": f"localhost:{server.port}"})
    assert attempt.asked["redirect_uri"] == f"http://localhost:{server.port}/sign-in/back"


def test_a_foreign_name_is_no_way_back(server: Server) -> None:
    for path in ("/sign-in", BACK):
        answer = server.get(path, {"Host": "evil.example"}, token="")
        assert answer.status == 421 and "Location" not in answer.headers and cookies_of(answer) == {}


def test_the_way_back_is_by_tls_behind_a_proxy(place) -> None:
    server, _ = place("--behind-proxy", "--name", "lens.example", origin="https://lens.example")
    answer = server.get("/sign-in", {"Host": "lens.example"}, token="")
    assert query_of(answer.headers["Location"])["redirect_uri"] == "https://lens.example/sign-in/back"
    assert cookies_of(answer)[SIGN_IN_COOKIE]["secure"]
    query = query_of(authorize(answer.headers["Location"], "alice"))
    cookie = {"Cookie": f"{SIGN_IN_COOKIE}={cookies_of(answer)[SIGN_IN_COOKIE].value}", "Host": "lens.example"}
    back = server.get(with_query(BACK, **query), cookie, token="")
    assert back.status == 200 and cookies_of(back)[TOKEN_COOKIE]["secure"], back


@pytest.mark.parametrize(
    ("offered", "scope"),
    [
        (None, "openid profile email groups"), (["openid", "email"], "openid email"), (["groups", "openid", "other"], "openid groups"),
        (["openid", "profile", "email", "groups", "phone"], "openid profile email groups"),
    ],
)  # fmt: skip
def test_only_scopes_that_the_provider_has_are_asked_for(serve, lying: LyingProvider, offered: list[str] | None, scope: str) -> None:
    lying.discovery["scopes_supported"] = offered
    assert begin(serve(*options(lying.issuer, CLIENT, None, "perf=read:main"))).asked["scope"] == scope


# ---- Signing in


@pytest.mark.parametrize("settings", [{}, {"alg": "ES256"}, {"secret_by": "client_secret_post"}], ids=str)
def test_people_sign_in(small_run: str, place, settings: dict[str, str]) -> None:
    server, _ = place(**settings)
    token = session_of(server, "alice")
    assert runs_of(server, token) == {small_run}
    assert refusals(server) == []


def test_people_sign_in_without_a_secret(small_run: str, place) -> None:
    server, _ = place(is_public=True)
    assert runs_of(server, session_of(server, "alice")) == {small_run}


def test_a_wrong_secret_signs_nobody_in(place, tmp_path) -> None:
    server, provider = place()
    server.kill()
    (tmp_path / "wrong").write_text("wrong_secret_of_mine")
    again = Server(server.neurolens, *options(provider.issuer, provider.client, tmp_path / "wrong", *GROUPS), port=server.port)
    try:
        answer = sign_in(again, "alice")
        assert answer.status in (401, 503) and not token_of(answer) and "wrong_secret_of_mine" not in outputs(again, answer)
        assert [one["status"] for one in refusals(again)] == [answer.status]
    finally:
        again.kill()


def test_the_cookie_of_a_session_is_strict(server: Server) -> None:
    answer = sign_in(server, "alice")
    cookie = cookies_of(answer)[TOKEN_COOKIE]
    assert cookie["httponly"] and cookie["samesite"] == "Strict" and cookie["max-age"] == str(12 * 3600)
    assert not cookie["secure"] and not cookie["domain"] and cookie["path"] == "/"


def test_the_last_page_goes_on_by_itself(server: Server) -> None:
    answer = sign_in(server, "alice", "/api/v1/runs?limit=1")
    page = Page(answer, server.url + BACK)
    assert answer.status == 200 and "Location" not in answer.headers
    assert page.refresh == f"{server.url}/api/v1/runs?limit=1" and page.refresh in page.links


def test_the_last_page_tells_nobody_where_it_came_from(server: Server) -> None:
    answer = sign_in(server, "alice")
    assert answer.headers["Cache-Control"] == "no-store" and answer.headers["Referrer-Policy"] == "no-referrer"
    assert token_of(answer) not in answer.text


ELSEWHERE = [
    "//evil.example", "https://evil.example", "http://evil.example/", "\\evil.example", "\\\\evil.example", "/\\evil.example",
    "/\\/evil.example", "evil.example", "javascript:alert(1)", "data:text/html,x", "", " //evil.example", "///evil.example",
]  # fmt: skip


@pytest.mark.parametrize("to", ELSEWHERE)
def test_a_sign_in_ends_at_no_other_site(server: Server, to: str) -> None:
    page = Page(sign_in(server, "alice", to), server.url + BACK)
    assert page.refresh == f"{server.url}/" and set(page.links) == {page.refresh}


@pytest.mark.parametrize("to", ["/\t/evil.example", "/\n/evil.example", "/\r\nSet-Cookie: a=b", "/\0"])
def test_control_characters_lead_nowhere(server: Server, to: str) -> None:
    answer = server.get(with_query("/sign-in", to=to), token="")
    assert answer.status in (303, 400) and "a" not in cookies_of(answer), answer
    if answer.status == 303:
        page = Page(sign_in(server, "alice", to), server.url + BACK)
        assert page.refresh == f"{server.url}/"


def test_a_path_with_marks_of_html_is_only_text(server: Server) -> None:
    page = Page(sign_in(server, "alice", "/\"'><script>alert(1)</script>"), server.url + BACK)
    assert "script" not in page.tags and page.refresh.startswith(f"{server.url}/"), page.refresh


def test_a_long_path_is_kept_or_left(server: Server) -> None:
    """A browser keeps no cookie of more than 4 KB."""
    for length in (100, 1000, 3000, 8000):
        to = "/" + "x" * length
        attempt = begin(server, to)
        assert len(attempt.cookie) + len(SIGN_IN_COOKIE) < 4000
        answer = return_with(server, query_of(authorize(attempt.location, "alice")), attempt.cookie)
        assert Page(answer, server.url + BACK).refresh in (server.url + to, f"{server.url}/")


# ---- Sessions


def test_a_session_is_listed_as_a_token(place) -> None:
    server, provider = place()
    before = time.time_ns()
    session_of(server, "alice")
    (token,) = tokens(server)
    assert token["name"] == "alice@example.com" and token["made_by"] == provider.issuer
    assert grants_of(token) == {"main": "write", "kernels": "admin"}
    twelve = 12 * 3600 * 10**9
    assert before + twelve - 10**9 <= token["expires_at_ns"] <= time.time_ns() + twelve


@pytest.mark.parametrize("hours", [1, 48])
def test_a_session_lasts_as_long_as_is_said(place, hours: int) -> None:
    server, _ = place("--sign-in-hours", hours)
    answer = sign_in(server, "alice")
    (token,) = tokens(server)
    assert cookies_of(answer)[TOKEN_COOKIE]["max-age"] == str(hours * 3600)
    assert abs(token["expires_at_ns"] - time.time_ns() - hours * 3600 * 10**9) < 30 * 10**9


def test_tokens_of_the_command_line_have_grants_too(server: Server) -> None:
    server.add_token("ci", "write", "main")
    (token,) = tokens(server)
    assert grants_of(token) == {"main": "write"}


def test_a_person_may_have_two_sessions(server: Server) -> None:
    first, second = session_of(server, "alice"), session_of(server, "alice")
    assert first != second and len(tokens(server)) == 2
    assert status_of(server, first) == status_of(server, second) == 200
    sign_out(server, first)
    assert (status_of(server, first), status_of(server, second)) == (401, 200)


def test_a_session_can_be_revoked(server: Server, neurolens) -> None:
    token = session_of(server, "alice")
    (listed,) = tokens(server)
    neurolens("token", "revoke", listed["id"])
    assert status_of(server, token) == 401


def test_a_session_survives_a_new_start(place) -> None:
    server, provider = place()
    token = session_of(server, "alice")
    server.stop()
    again = Server(server.neurolens, *options(provider.issuer, provider.public_client, None, *GROUPS), port=server.port)
    try:
        assert status_of(again, token) == 200
    finally:
        again.kill()


def test_the_secret_of_a_session_is_not_stored(server: Server) -> None:
    token = session_of(server, "alice")
    server.stop()
    stored = b"".join(path.read_bytes() for path in server.ledger.glob("access.sqlite*")).decode("latin-1")
    assert token not in stored and token.rsplit("_", 1)[1] not in stored and token not in outputs(server)


# ---- Rights


def test_a_person_without_a_group_is_refused(server: Server) -> None:
    answer = sign_in(server, "carol")
    assert answer.status == 403 and not token_of(answer) and tokens(server) == []
    assert [one["status"] for one in refusals(server)] == [403]


def test_a_reader_cannot_write(server: Server) -> None:
    token = session_of(server, "bob")
    assert status_of(server, token) == 200 and tag_status(server, token) == 403
    (refused,) = [one for one in audited(server) if one["event"] == "refused"]
    assert (refused["who"], refused["operation"]) == ("bob@example.com", "tag")


def test_a_writer_writes_by_name(server: Server, small_run: str) -> None:
    headers = by_cookie(session_of(server, "alice"))
    answer = server.post("/api/v1/note", {"run": small_run, "text": "a word"}, headers, token="")
    assert [one["user"] for one in answer.data["notes"]] == ["alice@example.com"]
    assert [one["who"] for one in audited(server) if one["operation"] == "note"] == ["alice@example.com"] * 2


def test_an_address_that_is_not_verified_is_no_name(server: Server) -> None:
    session_of(server, "dave")
    assert [one["name"] for one in tokens(server)] == ["dave"]


def test_a_person_has_the_roles_of_all_groups(neurolens, small_run: str, place, tmp_path) -> None:
    ours = run_in(neurolens, "kernels", tmp_path, 5)
    server, _ = place(groups=("perf=read:main", "leads=write:kernels"))
    token = session_of(server, "alice")
    assert (tag_status(server, token, "main"), tag_status(server, token, "kernels")) == (403, 200)
    assert (runs_of(server, token, "main"), runs_of(server, token, "kernels")) == ({small_run}, {ours})
    assert status_of(server, token, "other") == 403


@pytest.mark.parametrize("groups", [("perf=read:main", "leads=write:main"), ("leads=write:main", "perf=read:main")], ids=" ".join)
def test_the_highest_role_counts(small_run: str, place, groups: tuple[str, ...]) -> None:
    server, _ = place(groups=groups)
    assert tag_status(server, session_of(server, "alice")) == 200
    assert [grants_of(one) for one in tokens(server)] == [{"main": "write"}]


def test_a_group_may_have_several_projects(place) -> None:
    server, _ = place(groups=("visitors=read:main", "visitors=write:kernels"))
    session_of(server, "bob")
    assert [grants_of(one) for one in tokens(server)] == [{"main": "read", "kernels": "write"}]


def test_a_role_for_all_projects_counts_in_each(neurolens, small_run: str, place, tmp_path) -> None:
    run_in(neurolens, "kernels", tmp_path, 5)
    run_in(neurolens, "others", tmp_path, 6)
    server, _ = place(groups=("perf=read:*", "leads=write:kernels"))
    token = session_of(server, "alice")
    assert [status_of(server, token, project) for project in ("main", "kernels", "others")] == [200] * 3
    assert [tag_status(server, token, project) for project in ("main", "kernels", "others")] == [403, 200, 403]


def test_a_higher_role_for_all_projects_is_not_lowered(neurolens, small_run: str, place, tmp_path) -> None:
    run_in(neurolens, "kernels", tmp_path, 5)
    server, _ = place(groups=("perf=write:*", "leads=read:kernels"))
    token = session_of(server, "alice")
    assert [tag_status(server, token, project) for project in ("main", "kernels")] == [200] * 2


def test_an_administrator_of_one_project_makes_no_tokens(place) -> None:
    server, _ = place(groups=("perf=admin:main", "leads=admin:kernels"))
    headers = by_cookie(session_of(server, "alice"))
    for project in ("main", "kernels"):
        assert server.post("/api/v1/token", {}, {**headers, "NeuroLens-Project": project}, token="").status == 403


def test_an_administrator_of_all_projects_makes_tokens(place) -> None:
    server, _ = place(groups=("perf=admin:*",))
    answer = server.post("/api/v1/token", {"action": "add", "name": "ci"}, by_cookie(session_of(server, "alice")), token="")
    assert answer.status == 200 and answer.data["token"]


def test_administrators_of_all_but_by_another_group_make_no_tokens(place) -> None:
    """admin of one project and reader of all is not administrator of all."""
    server, _ = place(groups=("perf=read:*", "leads=admin:kernels"))
    headers = {**by_cookie(session_of(server, "alice")), "NeuroLens-Project": "kernels"}
    assert server.post("/api/v1/token", {"action": "add", "name": "ci"}, headers, token="").status == 403


def test_main_is_chosen_first(small_run: str, place) -> None:
    server, _ = place(groups=("visitors=read:apples", "visitors=read:main"))
    assert runs_of(server, session_of(server, "bob")) == {small_run}


def test_without_main_the_first_project_by_name_is_chosen(neurolens, small_run: str, place, tmp_path) -> None:
    ours = run_in(neurolens, "apples", tmp_path, 5)
    run_in(neurolens, "zebras", tmp_path, 6)
    server, _ = place(groups=("visitors=read:zebras", "visitors=read:apples"))
    token = session_of(server, "bob")
    assert runs_of(server, token) == {ours}
    assert status_of(server, token, "main") == 403 and status_of(server, token, "zebras") == 200


def test_projects_of_groups_are_made_at_the_start(place) -> None:
    server, _ = place(groups=("visitors=read:new_one",))
    assert (server.ledger / "projects/new_one").is_dir() and not (server.ledger / "projects/*").exists()
    assert runs_of(server, session_of(server, "bob")) == set()


# ---- Signing out


def test_people_sign_out(server: Server) -> None:
    token = session_of(server, "alice")
    answer = sign_out(server, token, Origin=server.url)
    cookie = cookies_of(answer)[TOKEN_COOKIE]
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    assert cookie.value == "" and cookie["max-age"] == "0"
    assert status_of(server, token) == 401
    assert tag_status(server, token) == 401


def test_a_form_signs_out(server: Server) -> None:
    token = session_of(server, "alice")
    headers = {"Origin": server.url, "Content-Type": "application/x-www-form-urlencoded"}
    assert sign_out(server, token, **headers).status == 303 and status_of(server, token) == 401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
def test_a_foreign_page_signs_nobody_out(server: Server, origin: str) -> None:
    token = session_of(server, "alice")
    answer = sign_out(server, token, Origin=origin)
    assert answer.status == 403 and cookies_of(answer) == {}
    assert status_of(server, token) == 200


def test_a_link_signs_nobody_out(server: Server) -> None:
    token = session_of(server, "alice")
    answer = server.get("/sign-out", by_cookie(token), token="")
    assert answer.status in (404, 405) and cookies_of(answer) == {}, answer
    assert status_of(server, token) == 200


def test_nobody_can_sign_out(server: Server) -> None:
    token = session_of(server, "alice")
    for other in ("", "made_up"):
        assert sign_out(server, other).status in (303, 401)
    assert status_of(server, token) == 200


def test_signing_out_ends_no_other_token(server: Server) -> None:
    """Tokens of the command line are for programs: a page of somebody does not end them."""
    token = server.add_token("ci")
    server.ask("POST", "/sign-out", b"", {"Authorization": f"Bearer {token}"}, token="")
    assert server.get("/api/v1/runs", token=token).status == 200


# ---- Pages


@pytest.mark.parametrize("path", ["/", "/api/v1/report?run=abc&format=html", "/a/b/c"])
@pytest.mark.parametrize("base", ["", "/lens"])
def test_the_page_for_strangers_leads_to_the_sign_in_and_back(place, base: str, path: str) -> None:
    server, _ = place(base=base)
    answer = server.get(path, HTML, token="")
    assert answer.status == 401
    (link,) = [one for one in Page(answer, server.url + path).links if "/sign-in" in one]
    assert link.startswith(f"{server.url}/sign-in?to=")
    begun = server.get(link.removeprefix(server.url), token="")
    query = query_of(authorize(begun.headers["Location"], "alice"))
    last = return_with(server, query, cookies_of(begun)[SIGN_IN_COOKIE].value)
    assert Page(last, server.url + BACK).refresh == server.url + path


def test_the_page_for_strangers_holds_no_token_and_no_script(server: Server) -> None:
    answer = server.get("/%3Cscript%3E?token=wrong_token_of_mine&a=%3Cscript%3E", HTML, token="")
    assert answer.status == 401 and "script" not in Page(answer, server.url).tags
    assert "wrong_token_of_mine" not in answer.text


def test_programs_get_no_page(server: Server) -> None:
    answer = server.get("/api/v1/runs", {"Accept": "application/json"}, token="")
    assert answer.status == 401 and answer.json["error"]["code"] == "permission"


def test_a_path_before_ours_is_kept(place) -> None:
    server, _ = place(base="/lens")
    attempt = begin(server)
    assert attempt.asked["redirect_uri"] == f"{server.url}/sign-in/back" and server.url.endswith("/lens")
    answer = sign_in(server, "alice")
    assert cookies_of(answer)[TOKEN_COOKIE]["path"] == "/lens/" and Page(answer, server.url + BACK).refresh == f"{server.url}/"
    token = token_of(answer)
    assert status_of(server, token) == 200
    assert sign_out(server, token).headers["Location"] == "/lens/" and status_of(server, token) == 401


def test_people_sign_in_by_a_browser(small_run: str, place, browser) -> None:
    """The server is localhost and the provider 127.0.0.1: two sites, so that cookies which are strict do not come along by themselves."""
    server, _ = place()
    page = browser.new_context().new_page()
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    home = f"http://localhost:{server.port}/"
    assert page.goto(home).status == 401
    page.locator("a[href*='sign-in']").click()
    page.get_by_role("link", name="alice").click()
    page.locator(f"a[href*='/runs/{small_run}']").first.wait_for()
    assert page.url == home + "runs" and page.evaluate("document.cookie") == ""
    (cookie,) = page.context.cookies(home)
    assert (cookie["name"], cookie["sameSite"], cookie["httpOnly"]) == (TOKEN_COOKIE, "Strict", True)
    page.locator("form[action$='sign-out'] button, form[action$='sign-out'] input[type=submit]").click()
    page.locator("a[href*='sign-in']").wait_for()
    assert page.context.cookies(home) == [] and page.goto(home).status == 401
    assert status_of(server, cookie["value"]) == 401
    assert not [one for one in messages if not one.startswith("Failed to load resource")], messages
    page.context.close()


def test_who_is_denied_in_a_browser_reads_why(place, browser) -> None:
    server, _ = place()
    page = browser.new_context().new_page()
    page.goto(f"http://localhost:{server.port}/sign-in")
    page.get_by_role("link", name="nobody").click()
    page.wait_for_url(re.compile(r"/sign-in/back\?"))
    assert len(page.inner_text("body")) > 20 and page.context.cookies(f"http://localhost:{server.port}/api") == []
    page.context.close()


# ---- Settings


def test_without_an_issuer_there_is_no_sign_in(serve) -> None:
    server = serve()
    for path in ("/sign-in", BACK, "/sign-out"):
        assert server.get(path).status == 404 and server.get(path, token="").status == 401, path
        assert server.ask("POST", path).status in (404, 405) and server.ask("POST", path, token="").status == 401, path
    assert "sign-in" not in server.get("/", HTML, token="").text


def test_tokens_are_good_as_ever(server: Server) -> None:
    for token in (server.token, server.add_token("ci")):
        assert server.get("/api/v1/runs", token=token).status == 200
    assert server.get("/api/v1/runs", token="").status == 401


GOOD = ["--sign-in-issuer", "ISSUER", "--sign-in-client", "neurolens", "--sign-in-group", "perf=read:main"]


def without(name: str) -> list[str]:
    at = GOOD.index(name)
    return GOOD[:at] + GOOD[at + 2 :]


def changed(name: str, value: str) -> list[str]:
    return [*without(name), name, value]


ISSUERS = [
    "http://idp.example", "http://192.0.2.1", "http://127.0.0.1.evil.example", "http://localhost.evil.example", "ftp://127.0.0.1",
    "127.0.0.1:9", "https://", "", "https://idp.example/?a=b", "https://idp.example/#a", "https://user:word@idp.example", "http://127.0.0.1@evil.example",
    "https://idp.example:0x50", "https://idp .example", "file:///etc/passwd",
]  # fmt: skip
BAD_GROUPS = [
    "perf", "perf=", "perf=read", "perf=read:", "perf=:main", "=read:main", "perf=owner:main", "perf=READ:main", "perf=read:../x",
    "perf=read:a b", "perf=read:a/b", "perf=read:**", "read:main", "", f"perf=read:{'x' * 65}",
]  # fmt: skip
REFUSED: list[list[str]] = [
    *(changed("--sign-in-issuer", one) for one in ISSUERS),
    *(changed("--sign-in-group", one) for one in BAD_GROUPS),
    *(without(one) for one in ("--sign-in-issuer", "--sign-in-client", "--sign-in-group")),
    changed("--sign-in-client", ""),
    [*GOOD, "--sign-in-secret-file", "/nowhere/secret"],
    [*GOOD, "--sign-in-secret-file", "/dev/null"],
    *([*GOOD, "--sign-in-hours", hours] for hours in ("0", "-1", "x", "1e9")),
    ["--sign-in-secret-file", "/etc/hostname"],
]


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_settings_that_cannot_be_are_refused(neurolens, small_run: str, lying: LyingProvider, words: list[str]) -> None:
    """Before a provider is asked."""
    given = [lying.issuer if word == "ISSUER" else word for word in words]
    result = neurolens("serve", "--port", "0", *given, code=None, timeout=5)
    assert result.code != 0 and result.err and "a bug" not in result.err and "serving" not in result.err, result
    assert lying.paths == []


def test_settings_that_can_be_start(serve, lying: LyingProvider) -> None:
    """So that each of those above is refused for its own reason."""
    assert serve(*(lying.issuer if word == "ISSUER" else word for word in GOOD)).get("/api/v1/runs").status == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_an_issuer_of_this_machine_needs_no_tls(neurolens, small_run: str, host: str) -> None:
    """Nobody listens there, which is all that is said."""
    words = changed("--sign-in-issuer", f"http://{host}:{free_port()}")
    result = neurolens("serve", "--check", *words, code=None, timeout=40)
    assert result.code != 0 and "https" not in result.err, result


def test_the_check_asks_the_provider(neurolens, small_run: str, lying: LyingProvider) -> None:
    words = options(lying.issuer, CLIENT, None, "perf=read:main")
    assert "fine" in neurolens("serve", "--check", *words, timeout=40).err
    lying.stop()
    result = neurolens("serve", "--check", *words, code=None, timeout=40)
    assert result.code != 0 and "provider" in result.err, result


def test_settings_come_from_a_file(serve, lying: LyingProvider, tmp_path) -> None:
    settings = tmp_path / "serve.conf"
    lines = [f"sign-in-issuer={lying.issuer}", f"sign-in-client={CLIENT}", "sign-in-group=perf=read:main", "sign-in-hours=3"]
    settings.write_text("\n".join(lines) + "\n")
    server = serve("--config", settings)
    assert begin(server).location.startswith(lying.issuer)


def test_a_server_waits_for_no_provider(serve, tmp_path) -> None:
    """A provider that is down keeps nobody from using tokens, and is asked again when it is up."""
    provider = LyingProvider()
    (tmp_path / "secret").write_text(provider.secret)
    words = options(provider.issuer, CLIENT, tmp_path / "secret", "perf=read:main")
    document = "/.well-known/openid-configuration"
    provider.closes.add(document)
    try:
        server = serve(*words)
        assert server.get("/api/v1/runs").status == 200
        answer = server.get("/sign-in", token="")
        assert answer.status == 503 and cookies_of(answer) == {}, answer
        provider.closes.clear()
        assert until(lambda: server.get("/sign-in", token="").status == 303, 30, 1)
    finally:
        provider.stop()
