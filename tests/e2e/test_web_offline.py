"""Pages without a server: a folder and one file, opened as files in a real browser. They say what the operations say."""

import json
import random
import re

import pytest

from conftest import BAD_INPUT, REPOSITORY, TRACES, Neurolens
from html_page import hostile_run

RECORDED = "kineto/tracelens_h100_bert-small.json.gz"
TABS = ["", "/timeline", "/layers", "/kernels", "/roofline", "/memory", "/ranks", "/counters", "/provenance", "/notes"]
NEED_A_SERVER = {"/sql": "neurolens query", "/trend": "neurolens trend", "/similar": "neurolens similar", "/system": "neurolens system"}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A ledger, the ids of its runs, a site and a file of them."""
    folder = tmp_path_factory.mktemp("site")
    neurolens = Neurolens(tmp_path_factory.mktemp("ledger"))
    runs = {name: neurolens.import_file(REPOSITORY / f"samples/{name}.json")["run_id"] for name in ("kineto_small", "kineto_small_after")}
    path = folder / "hostile.json"
    path.write_text(json.dumps(hostile_run()))
    runs["hostile"] = neurolens.import_file(path)["run_id"]
    runs["recorded"] = neurolens.import_file(TRACES / RECORDED)["run_id"] if (TRACES / RECORDED).exists() else runs["kineto_small"]
    made = neurolens("report", "--site", folder / "site", *dict.fromkeys(runs.values()), code=None)
    if "has no pages" in made.err:
        pytest.skip("this build has no web UI: tools/setup found no npm")
    assert made.code == 0, made.err
    neurolens("view", "--file", folder / "one.html", runs["recorded"])
    return neurolens, runs, folder


class Look:
    """A page that is opened as a file, and what went wrong in it."""

    def __init__(self, browser, page):
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.page, self.path, self.faults = self.context.new_page(), page, []
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.faults.append("a dialog"), dialog.dismiss()))
        own = (f"file://{page.parent}/", "data:", "blob:")
        self.page.on("request", lambda request: None if request.url.startswith(own) else self.faults.append(request.url))

    def go(self, address=""):
        self.page.goto("about:blank")  # only what is behind the # differs, which would load nothing
        self.page.goto(f"file://{self.path}" + (f"#{address}" if address else ""))
        self.page.wait_for_selector('main[data-ready="true"]', timeout=30_000)
        return self.page


@pytest.fixture
def look(browser, place):
    opened = []

    def open_one(name="site/index.html"):
        opened.append(Look(browser, place[2] / name))
        return opened[-1]

    yield open_one
    for one in opened:
        one.context.close()
        assert one.faults == []


def asked(page, operation, parameters):
    return page.evaluate("async ([operation, parameters]) => (await neurolens.ask(operation, parameters)).data", [operation, parameters])


def test_every_page_opens(look, place):
    site, runs = look(), place[1]
    for address in ["/runs", "/flame", "/rules", *(f"/runs/{runs['recorded']}{tab}" for tab in TABS)]:
        page = site.go(address)
        assert page.locator("main .failure").count() == 0, (address, page.inner_text("main"))
    rule = site.go("/rules").get_by_role("table").get_by_role("link").first
    rule.click()
    site.page.wait_for_selector("main.rule h2")
    page = site.go(f"/compare?base={runs['kineto_small']}&new={runs['kineto_small_after']}")
    assert page.locator("section.verdict .badge").count() == 1
    page = site.go(f"/flame?run={runs['kineto_small_after']}&base={runs['kineto_small']}")
    assert page.locator("main .failure").count() == 0


@pytest.mark.parametrize("address", NEED_A_SERVER)
def test_what_needs_a_server_is_said_with_the_command(look, place, address):
    run = place[1]["recorded"]
    page = look().go(f"{address}?run={run}")
    note = page.inner_text("main [role=note]")
    assert NEED_A_SERVER[address] in note and page.locator("main .failure").count() == 0
    assert run[:12] in note or address in ("/trend", "/system")


def test_a_window_that_is_not_there_is_said_with_the_command(look, place):
    page = look().go(f"/runs/{place[1]['recorded']}?window=step:0")
    assert f"neurolens analyze {place[1]['recorded'][:12]} --window step:0" in page.inner_text("main [role=note]")


def test_counters_and_stacks_that_are_not_there_are_said_with_the_command(look, place):
    neurolens, runs, folder = place
    power = {"name": "power", "unit": "W", "start_ns": 1000, "value": 3}
    (folder / "counters.json").write_text(json.dumps({"schema": "neurolens.run-file/1", "counters": [power]}))
    run = neurolens.import_file(folder / "counters.json")["run_id"]
    neurolens("view", "--file", folder / "counters.html", run)
    page = look("counters.html").go(f"/runs/{run}/timeline")
    note = page.inner_text("main [role=note]")
    assert "no counters (1 series); the run has them" in note and f"neurolens view {run[:12]}" in note
    assert "Nothing in this run has a time" not in page.inner_text("main")
    page = look().go(f"/runs/{runs['kineto_small']}/timeline")
    assert page.locator("main [role=note]").count() == 0 and page.locator(".timeline").count() == 1


def test_a_copy_changes_nothing(look, place):
    page = look().go("/runs")
    assert page.get_by_role("button", name="Upload").count() == 0
    page.get_by_role("checkbox").first.check()
    page.wait_for_selector("section.selection")
    assert page.get_by_role("button", name="Delete").count() == 0
    page = look().go(f"/runs/{place[1]['recorded']}/notes")
    assert page.get_by_role("button", name="Add the note").count() == 0


def test_figures_are_those_of_the_command_line(look, place):
    neurolens, runs, _ = place
    page = look("one.html").go()
    run = runs["recorded"]
    for operation, parameters in [("analyze", {"run": run, "window": "steady"}), ("show", {"run": run}), ("timeline", {"run": run})]:
        options = [f"--{name}={value}" for name, value in parameters.items() if name != "run"]
        told = neurolens(operation, run, *options, "--json").data
        assert asked(page, operation, parameters) == told, operation
    share = neurolens("analyze", run, "--json").data["limiters"][0]["share"]
    assert f"{share * 100:.1f}"[:3] in page.inner_text(".verdict")


def test_the_time_line_is_that_of_the_command_line(look, place):
    neurolens, runs, _ = place
    run = runs["recorded"]
    page = look().go(f"/runs/{run}/timeline")
    rows = neurolens("timeline", run, "--json").data
    numbers = [row["row"] for row in rows["rows"]]
    last = rows["end_ns"]
    whole = neurolens("timeline", run, "tile", "--json").data["level"]
    for level in range(0, whole + 2, 3):
        for tile in sorted({0, (last // 3) >> (level + 9), last >> (level + 9)}):
            told = neurolens("timeline", run, "tile", f"--level={level}", f"--tile={tile}", "--json").data
            drawn = page.evaluate(
                """async ([run, level, tile, rows]) => {
                     const one = await neurolens.askTile(run, level, tile, rows);
                     const columns = ["start", "length", "busy", "name", "item", "count", "bucket", "buckets"];
                     return {names: one.names, ...Object.fromEntries(columns.map((name) => [name, [...one[name]]]))};
                   }""",
                [run, level, tile, numbers],
            )
            items = told["items"]
            assert drawn["names"] == told["names"]
            assert [at + told["begin_ns"] for at in drawn["start"]] == items["start_ns"]
            assert [item & 0x3FFFFFFF for item in drawn["item"]] == items["id"]
            for own, theirs in {"length": "dur_ns", "busy": "busy_ns", "name": "name", "count": "count", "buckets": "buckets"}.items():
                assert drawn[own] == items[theirs], (level, tile, own)
            assert drawn["bucket"] == items["bucket"]
    for begin, end in [(0, last), (last // 4, last // 2), (last // 2, last // 2 + 1000)]:
        told = neurolens("timeline", run, "area", f"--begin-ns={begin}", f"--end-ns={end}", "--json").data
        drawn = asked(page, "timeline", {"run": run, "what": "area", "begin_ns": begin, "end_ns": end})
        assert drawn == {key: told[key] for key in ("count", "sum_ns", "by_name", "not_shown")}
    told = neurolens("timeline", run, "search", "--text", "GEMM", f"--from-ns={last // 2}", "--json").data
    drawn = asked(page, "timeline", {"run": run, "what": "search", "text": "GEMM", "from_ns": last // 2})
    assert drawn == {key: told[key] for key in ("count", "next", "previous")}


def test_the_time_line_is_searched_and_a_span_shown(look, place):
    page = look("one.html").go(f"/runs/{place[1]['recorded']}/timeline")
    page.keyboard.press("/")
    page.keyboard.type("gemm")
    page.keyboard.press("Enter")
    page.wait_for_selector(".details dl")
    assert "gemm" in page.inner_text(".details dl").lower()
    page.wait_for_selector(".details [role=note]")
    assert "neurolens query" in page.inner_text(".details [role=note]")


@pytest.mark.parametrize("tab", ["", "/timeline", "/kernels"])
def test_hostile_names_stay_text(look, place, tab):
    page = look().go(f"/runs/{place[1]['hostile']}{tab}")
    assert page.evaluate("document.querySelectorAll('main img, main script, main svg[onload]').length") == 0
    if tab == "":
        assert "'; DROP TABLE kernels; --" in page.inner_text("main")


def test_the_same_runs_give_the_same_bytes(place, tmp_path):
    neurolens, runs, folder = place
    ids = list(dict.fromkeys(runs.values()))
    neurolens("report", "--site", tmp_path / "again", *ids)
    first = {path.relative_to(folder / "site"): path.read_bytes() for path in (folder / "site").rglob("*") if path.is_file()}
    again = {path.relative_to(tmp_path / "again"): path.read_bytes() for path in (tmp_path / "again").rglob("*") if path.is_file()}
    assert first.keys() == again.keys()
    assert [name for name in first if first[name] != again[name]] == []
    neurolens("view", "--file", tmp_path / "one.html", runs["recorded"])
    assert (tmp_path / "one.html").read_bytes() == (folder / "one.html").read_bytes()


def test_a_folder_of_something_else_is_not_touched(place, tmp_path):
    neurolens, runs, _ = place
    run = runs["kineto_small"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("x")
    refused = neurolens("report", "--site", tmp_path / "mine", run, code=BAD_INPUT)
    assert "other files" in refused.err and (tmp_path / "mine/file").read_text() == "x"
    (tmp_path / "empty").mkdir()
    for _ in range(2):  # the second time over its own
        data = neurolens("report", "--site", tmp_path / "empty", run, "--json").data
    assert {one["name"] for one in data["files"]} >= {"index.html", "app.js", "app.css", f"data/{run}.js", f"data/{run}-spans.js"}
    assert data["left_out"] == [] and sorted(path.name for path in tmp_path.iterdir()) == ["empty", "mine"]


def test_options_of_reports_do_not_go_with_a_site(place, tmp_path):
    neurolens, runs, _ = place
    neurolens("report", "--site", tmp_path / "x", runs["kineto_small"], "--output", tmp_path / "y", code=BAD_INPUT)
    neurolens("report", runs["kineto_small"], runs["hostile"], "--output", tmp_path / "y", code=BAD_INPUT)
    assert list(tmp_path.iterdir()) == []


def many_spans(count):
    """Kernels on eight streams and ops on a thread, as irregular as measured ones: what repeats itself would pack too well."""
    dice = random.Random(7)
    run = {"schema": "neurolens.run-file/1", "kernels": [], "spans": []}
    at = 0
    for _ in range(count // 2):
        at += dice.randrange(2_000, 9_000)
        work = {"name": f"gemm_{dice.randrange(97)}", "start_ns": at, "dur_ns": dice.randrange(500, 2_000)}
        run["kernels"].append({**work, "device": dice.randrange(2), "stream": dice.randrange(4)})
        run["spans"].append({"name": f"aten::op_{dice.randrange(211)}", "kind": "op", "start_ns": at, "dur_ns": dice.randrange(300, 2_000)})
    return run


def test_a_file_stays_small(place, tmp_path):
    neurolens, _, _ = place
    (tmp_path / "many.json").write_text(json.dumps(many_spans(200_000)))
    run = neurolens.import_file(tmp_path / "many.json")["run_id"]
    data = neurolens("view", "--file", tmp_path / "many.html", run, "--json").data
    assert data["left_out"] == [] and (tmp_path / "many.html").stat().st_size <= 5_000_000


def test_the_shortest_spans_are_left_out_of_a_file_that_would_be_too_large(place, browser, tmp_path):
    neurolens, _, _ = place
    (tmp_path / "more.json").write_text(json.dumps(many_spans(320_000)))
    run = neurolens.import_file(tmp_path / "more.json")["run_id"]
    result = neurolens("view", "--file", tmp_path / "more.html", run, "--json")
    (left,) = result.data["left_out"]
    assert left["run_id"] == run and left["spans"] == 20_000
    assert re.search(r"20\D?000 spans", result.envelope["warnings"][0])
    look = Look(browser, tmp_path / "more.html")
    page = look.go(f"/runs/{run}/timeline")
    assert re.search(r"20\D?000 spans are not in this file", page.inner_text("main"))
    kept = asked(page, "timeline", {"run": run, "what": "area", "top": 10_000})
    assert kept["count"] == 300_000
    told = neurolens("timeline", run, "area", "--top", "10000", "--json").data
    assert min(one["min_ns"] for one in kept["by_name"]) >= min(one["min_ns"] for one in told["by_name"])
    look.context.close()
    assert look.faults == []
