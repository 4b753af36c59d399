"""The pages of the web UI in a real browser over the real binary: no error, nothing asked elsewhere, readable by all."""

import json
import os
import re

import pytest

from conftest import REPOSITORY, TRACES, Neurolens
from html_page import hostile_run
from server import Server, until

THEMES = ["light", "dark"]
AXE = next(iter((REPOSITORY / ".deps").glob("web-*/node_modules/axe-core/axe.min.js")), None)
RECORDED = "kineto/tracelens_h100_bert-small.json.gz"


def in_full(everything, small):
    """tests/full/web looks at everything."""
    return everything if os.environ.get("NEUROLENS_WEB") == "full" else small


def assert_accessible(page):
    """By WCAG AA, as far as axe-core can tell."""
    if AXE is None:
        pytest.skip("no axe-core: run tools/setup")
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']})")
    assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]] == []


def served_with_pages(neurolens, runs):
    """A server of the ledger, with the runs as they are given."""
    server = Server(neurolens)
    if "/src/main.tsx" in server.get("/").text or 'id="app"' not in server.get("/").text:
        server.kill()
        pytest.skip("this build has no web UI: tools/setup found no npm")
    yield server, runs
    server.kill()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server, and the ids of its runs: a recorded one if it is there, two to compare, one with hostile names."""
    neurolens = Neurolens(tmp_path_factory.mktemp("ledger"))
    runs = {name: neurolens.import_file(REPOSITORY / f"samples/{name}.json")["run_id"] for name in ("kineto_small", "kineto_small_after")}
    path = tmp_path_factory.mktemp("hostile") / "run.json"
    path.write_text(json.dumps(hostile_run()))
    runs["hostile"] = neurolens.import_file(path)["run_id"]
    runs["recorded"] = neurolens.import_file(TRACES / RECORDED)["run_id"] if (TRACES / RECORDED).exists() else runs["kineto_small"]
    yield from served_with_pages(neurolens, runs)


class Look:
    """A page in the browser, and what went wrong in it."""

    def __init__(self, browser, server, theme="light", width=1280):
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
        self.page, self.server, self.faults = self.context.new_page(), server, []
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.faults.append("a dialog"), dialog.dismiss()))
        own = (server.url, "data:")
        self.page.on("request", lambda request: None if request.url.startswith(own) else self.faults.append(request.url))
        self.context.request.get(f"{server.url}/?token={server.token}")  # for the cookie

    def go(self, path):
        self.page.goto(self.server.url + path)
        self.page.wait_for_selector('main[data-ready="true"]', timeout=30_000)
        return self.page

    def close(self):
        self.context.close()
        assert self.faults == []


def looks(browser, server):
    """Opens pages, and closes them at the end."""
    opened = []

    def open_one(**options):
        opened.append(Look(browser, server, **options))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()


@pytest.fixture
def look(browser, place):
    yield from looks(browser, place[0])


def pages_of(runs):
    return {
        "runs": "/runs",
        "run": f"/runs/{runs['recorded']}",
        "timeline": f"/runs/{runs['recorded']}/timeline",
        "compare": f"/compare?base={runs['kineto_small']}&new={runs['kineto_small_after']}",
        "sql": f"/sql?run={runs['recorded']}",
        "system": "/system",
    }


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", in_full(["runs", "run", "timeline", "compare", "sql", "system"], ["run", "timeline"]))
def test_a_page_is_fine(look, place, theme, name):
    page = look(theme=theme).go(pages_of(place[1])[name])
    assert_accessible(page)


@pytest.mark.parametrize("name", ["run", "timeline"])
def test_hostile_names_stay_text(look, place, name):
    page = look().go(f"/runs/{place[1]['hostile']}" + ("/timeline" if name == "timeline" else ""))
    assert page.evaluate("document.querySelectorAll('main img, main script, main svg[onload]').length") == 0
    if name == "run":
        assert "'; DROP TABLE kernels; --" in page.inner_text("main")


def test_the_whole_way_from_the_list_to_a_span(look, place):
    page = look().go("/runs")
    page.get_by_role("link", name=re.compile("bert|kineto_small")).first.click()
    page.wait_for_selector(".verdict")
    page.get_by_role("link", name="Timeline").click()
    page.wait_for_selector('main[data-ready="true"]')
    page.keyboard.press("/")
    page.keyboard.type("gemm")
    page.keyboard.press("Enter")
    page.wait_for_selector(".details dl")
    assert "gemm" in page.inner_text(".details dl").lower()
    until(lambda: "at=" in address_of(page))


def address_of(page):
    """As it is now; page.url is that of before until something else is asked of the page."""
    return page.evaluate("location.href")


def test_a_link_restores_the_view(look, place):
    page = look().go(f"/runs/{place[1]['recorded']}/timeline?at=1000-90000")
    assert "1.000\u2009µs to 90.00\u2009µs" in page.inner_text(".timeline-bar")
    page.keyboard.press("w")
    until(lambda: "at=" in address_of(page) and "at=1000-90000" not in address_of(page))
    address = address_of(page)
    again = look()
    again.go(address.removeprefix(place[0].url))
    assert again.page.inner_text(".timeline-bar") == page.inner_text(".timeline-bar")


def test_the_files_of_the_pages_are_safe(place):
    server, _ = place
    index = server.get("/runs")
    assert "unsafe-inline" not in index.headers["content-security-policy"] and "'self'" in index.headers["content-security-policy"]
    for path in re.findall(r'(?:src|href)="\./(assets/[^"]+)"', index.text):
        assert server.get("/" + path).status == 200
    for wrong in ("/assets/../index.html", "/assets/none.js", "/runs//timeline", "/runs/x/y/z", "/rules/x/y", "/runs/<x>", "/index.html"):
        assert server.get(wrong).status == 404, wrong
    assert server.ask("GET", "/runs", token="").status == 401
