"""Texts that try to do something, in every field that an import can carry, in what people write on runs, in names of files and in
addresses: on every page they are only text that can be seen, and the page keeps its form."""

import itertools
import json
import re
import shlex
import urllib.parse

import pytest

from conftest import REPOSITORY, Neurolens
from html_page import HOSTILE, hostile_tables
from server import until
from test_web import Look, in_full, served_with_pages
from test_web_run import TABS

NAMES = [
    *HOSTILE,
    "javascript:alert(7)",
    '"><iframe src="javascript:alert(8)"></iframe>',
    "<a href=data:text/html,x>\u202emoc.live\u2069</a>",
    "\u200f\u061c\u05d0\u05d1\u0000\u0085\u009b31m",
    "__proto__",
    "constructor",
]
SHORT = [name for name in NAMES if 0 < len(name.strip()) <= 1000 and "\0" not in name]

# What is wrong on the page: elements and addresses that no page of ours has, texts with what cannot be seen, a page that is too wide.
WRONG = r"""() => {
    const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/;
    const made = [...document.querySelectorAll('body :is(img, iframe, object, embed, script, style, link, base, form[action*=":"])')];
    const acting = [...document.querySelectorAll('body *')].filter((one) => [...one.attributes].some(({ name, value }) =>
        name.startsWith('on') || (/^(href|src|action|formaction)$/.test(name) && /^\s*(javascript|data|vbscript):/i.test(value))));
    const texts = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (walk.currentNode.parentElement.tagName !== 'TEXTAREA') texts.push(walk.currentNode.data);
    const labels = [...document.querySelectorAll('body [aria-label]')].map((one) => one.ariaLabel);
    const wide = document.documentElement.scrollWidth - innerWidth;
    return [
        ...[...made, ...acting].map((one) => `the element ${one.outerHTML.slice(0, 120)}`),
        ...[...texts, ...labels].filter((one) => unseen.test(one)).map((one) => `unseen letters in ${JSON.stringify(one.slice(0, 120))}`),
        ...[...texts, ...labels].filter((one) => one.length > 9000).map((one) => `a text of ${one.length} letters: ${one.slice(0, 60)}`),
        ...(wide > 0 ? [`${wide} px too wide`] : []),
    ];
}"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Two runs of hostile texts alone, with labels, tags, notes and a baseline."""
    folder = tmp_path_factory.mktemp("hostile")
    neurolens = Neurolens(folder / "ledger")
    schema = json.loads((REPOSITORY / "schema/run_file.schema.json").read_text())
    runs = {}
    for name, names in {"run": NAMES, "other": [*NAMES[1:], NAMES[0]]}.items():
        path = folder / f"{SHORT[0].replace('/', '')} \u202e {name}.json"
        path.write_text(json.dumps(hostile_tables(schema, names)))
        runs[name] = neurolens.import_file(path)["run_id"]
    yield from served_with_pages(neurolens, written(neurolens, runs))


def written(neurolens, runs):
    """What people may write on a run; the ledger refuses some of it."""
    taken = 0
    for name in SHORT:
        for words in (["tag", runs["run"], name], ["label", runs["other"], f"x={name}", "--force"], ["baseline", name, runs["run"]]):
            taken += neurolens(*words[:1], *words[1:], code=None).code == 0
        neurolens("note", runs["run"], name + "\n\n[a](javascript:alert(9)) ![b](x)", "--about", f"kernel:{name}", code=None)
    assert taken > 10
    return runs


class HostileLook(Look):
    """Refused calls are fine here: addresses ask for what is not there."""

    def wrong(self, address):
        refused = [one for one in self.faults if one.startswith("Failed to load resource")]
        self.faults = [one for one in self.faults if one not in refused]
        found, self.faults = [*self.page.evaluate(WRONG), *self.faults], []
        return {address[:120]: found[:5]} if found else {}

    def visit(self, address):
        if re.search(r"[^\n\t -~\x80-\U0010ffff]", urllib.parse.unquote(address)):
            assert self.page.goto(self.server.url + address).status == 400, "the server takes no control characters in addresses"
            self.faults = []
            return {}
        self.go(address)
        until(lambda: self.page.locator("main .waiting").count() == 0)
        return self.wrong(address)


@pytest.fixture
def look(browser, place):
    one = HostileLook(browser, place[0])
    one.context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield one
    one.close()


def tables_of(server):
    return [one["name"] for one in server.call("schema").data["tables"]]


def addresses(server, runs):
    run, other = runs["run"], runs["other"]
    queries = in_full(tables_of(server), ["kernels", "spans", "tracks"])
    return [
        *(f"/runs/{run}/{tab}".rstrip("/") for tab in TABS),
        *(f"/runs/{run}/{tab}".rstrip("/") + "?window=whole" for tab in in_full(TABS, [""])),
        "/runs", f"/runs?chosen={run[:12]},{other[:12]}", "/runs?columns=file,model,device,tags,label1,label4,labels",
        *(f"/compare?base={run}&new={other}&all=1&by={by}" for by in in_full(["work", "ops", "modules"], ["work"])),
        "/trend?metric=total_time&group_by=model,x", f"/similar?run={run}",
        f"/flame?run={run}", f"/flame?run={other}&base={run}", "/system", "/rules", "/live",
        *(f"/sql?run={run}&sql=SELECT * FROM {table}" for table in queries),
    ]  # fmt: skip


def test_on_every_page_it_is_only_text(look, place):
    wrong = {}
    for address in addresses(*place):
        wrong |= look.visit(address)
    assert wrong == {}


def test_names_are_there_to_read(look, place):
    _, runs = place
    look.visit(f"/runs/{runs['run']}/kernels")
    text = look.page.inner_text("main")
    for name in ("<img src=x onerror=alert(1)>", "'; DROP TABLE kernels; --", "javascript:alert(7)", "right\ufffdto\ufffdleft"):
        assert name in text


def test_spans_of_the_time_line_are_only_text(look, place):
    server, runs = place
    tables = {"k": "kernels", "s": "spans", "c": "copies", "y": "syncs"}
    wrong = look.visit(f"/runs/{runs['run']}/timeline")
    numbers = in_full(range(len(NAMES)), [10, 17])
    for letter, number in itertools.product(tables, numbers):
        address = f"/runs/{runs['run']}/timeline?sel={letter}{number}"
        wrong |= look.visit(address)
        look.page.wait_for_selector(".selected-span")
        until(lambda: look.page.locator(".details .waiting").count() == 0)
        wrong |= look.wrong(address)
    end = server.call("timeline", run=runs["run"], what="rows").data["end_ns"]
    wrong |= look.visit(f"/runs/{runs['run']}/timeline?area=0-{end}&with={runs['other']}&find=a")
    look.page.wait_for_selector(".details table")
    wrong |= look.wrong("a stretch of the time line beside another one")
    stage = look.page.locator("canvas").first.bounding_box()
    for x, y in itertools.product(range(0, int(stage["width"]), 197), range(0, int(min(stage["height"], 600)), 83)):
        look.page.mouse.move(stage["x"] + x, stage["y"] + y)
    wrong |= look.wrong("tooltips of the time line")
    assert wrong == {}


@pytest.mark.parametrize("button", ["Go to", "Perfetto", "Beside"])
def test_dialogs_of_the_time_line_are_only_text(look, place, button):
    look.visit(f"/runs/{place[1]['run']}/timeline")
    look.page.get_by_role("button", name=button, exact=True).click()
    look.page.wait_for_selector("dialog[open]")
    assert look.wrong(button) == {}


def test_menus_and_the_palette_are_only_text(look, place):
    _, runs = place
    look.visit("/runs")
    views = {name: "?" + urllib.parse.urlencode({"where": name}) for name in SHORT}
    look.page.evaluate("(views) => localStorage.setItem('runs.views', JSON.stringify(views))", views)
    wrong = look.visit(f"/runs?chosen={runs['run'][:12]}")
    for number in range(look.page.locator("main details > summary, main [aria-haspopup], main button[aria-expanded]").count()):
        opened = look.page.locator("main details > summary, main [aria-haspopup], main button[aria-expanded]").nth(number)
        if opened.is_visible():
            opened.click()
            wrong |= look.wrong(f"menu {number} of the list")
            look.page.keyboard.press("Escape")
    for text in ["", "javascript", "<"]:
        look.page.keyboard.press("Control+k")
        look.page.locator("dialog[open] input").fill(text)  # waits for it: keys would go to the page before
        look.page.wait_for_selector("dialog[open] [role=option]")
        wrong |= look.wrong(f"the palette, {text!r}")
        look.page.keyboard.press("Escape")
        look.page.wait_for_selector("dialog[open]", state="detached")
    assert wrong == {}


def test_what_is_copied_is_the_text_itself(look, place):
    _, runs = place
    look.visit(f"/runs/{runs['run']}/kernels?q=onerror")
    for button in look.page.locator("main .copy-as button, main .copy-name").all():
        button.click()
        assert look.page.evaluate("navigator.clipboard.readText()") != ""
    assert look.page.evaluate("navigator.clipboard.readText()") == "<img src=x onerror=alert(1)>"
    assert look.wrong("copied") == {}


def test_names_of_sent_files_are_only_text(look, place):
    server, _ = place
    look.visit("/runs")
    names = [re.sub(r"[/\0\r\n]", "", name)[:200] + ".json" for name in in_full(SHORT, SHORT[:4] + SHORT[10:12])]
    files = [{"name": name, "mimeType": "application/json", "buffer": f"no profile {i}".encode()} for i, name in enumerate(names)]
    files.append({"name": names[0], "mimeType": "application/json", "buffer": (REPOSITORY / "samples/native_minimal.json").read_bytes()})
    look.page.set_input_files('input[type="file"]', files)
    look.page.wait_for_selector(f".uploads >> text=1 of {len(files)} imported", timeout=60_000)
    assert look.wrong("uploads") == {}
    (sent,) = [run for run in server.neurolens.run_ids() if run not in place[1].values()]
    assert server.call("delete", run=sent, reason="a test").status == 200


def parameters():
    """All that pages read from their address."""
    sources = [path.read_text() for path in (REPOSITORY / "web/src").rglob("*.ts*")]
    return sorted({name for text in sources for name in re.findall(r'(?:search\.get|search\.getAll|useWord)\("(\w+)"', text)})


def commands_of(page):
    return page.evaluate("[...document.querySelectorAll('.copy-as button')].map((one) => one.title)")


def is_quoted(text, command):
    """In a command for a shell it is a part of one word."""
    if not command.startswith("neurolens ") or text not in command.replace("'\\''", "'"):
        return True
    try:
        return any(text in word for word in shlex.split(command))
    except ValueError:
        return False


def test_addresses_are_only_text(look, place):
    _, runs = place
    routes = [f"/runs/{runs['run']}/{tab}".rstrip("/") for tab in [*TABS, "timeline"]]
    routes += ["/runs", "/compare", "/trend", "/outliers", "/similar", "/flame", "/sql", "/rules", "/system", "/rules/host_bound"]
    routes += ["/live", "/live/0-nothing"]
    names, texts, wrong = parameters(), itertools.cycle(SHORT), {}
    assert len(names) > 25
    for route in routes:
        for text in in_full(SHORT, [next(texts)]):
            words = dict.fromkeys(names, text)
            known = [{}, {"run": runs["run"]}] if route in ("/similar", "/flame", "/sql") else [{}]
            for address in [f"{route}?{urllib.parse.urlencode(words | some)}" for some in known]:
                wrong |= look.visit(address)
                wrong |= {command: "is not quoted" for command in commands_of(look.page) if not is_quoted(text, command)}
    assert wrong == {}
