"""The list of runs and the pages over many runs, in a real browser over the real binary."""

import json
import re

import pytest

from conftest import REPOSITORY, Neurolens
from html_page import hostile_run
from server import Server, until
from test_trend import BREAK, import_run
from test_web import THEMES, Look, assert_accessible, in_full, looks, served_with_pages

RUNS = 20  # of each model


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server over two series of runs, one with a break, two runs to compare, and one with hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    neurolens = Neurolens(folder / "ledger")
    runs = {(model, number): import_run(neurolens, folder, model, number) for model in ("broken", "steady") for number in range(RUNS)}
    for name in ("kineto_small", "kineto_small_after"):
        runs[name] = neurolens.import_file(REPOSITORY / f"samples/{name}.json")["run_id"]
    path = folder / "hostile.json"
    path.write_text(json.dumps(hostile_run()))
    runs["hostile"] = neurolens.import_file(path)["run_id"]
    yield from served_with_pages(neurolens, runs)


@pytest.fixture
def look(browser, place):
    yield from looks(browser, place[0])


SQL = "SELECT kernel_id, name, dur_ns FROM kernels ORDER BY dur_ns DESC"


def address_of(name, runs):
    base, new = runs["kineto_small"], runs["kineto_small_after"]
    return {
        "runs": "/runs?where=model=broken&where=model=steady",
        "chosen": f"/runs?chosen={base[:12]},{new[:12]}",
        "compare": f"/compare?base={base}&new={new}",
        "compare nothing": "/compare",
        "trend": "/trend",
        "outliers": "/outliers",
        "similar": f"/similar?run={base}",
        "flame": f"/flame?run={base}",
        "flame of a difference": f"/flame?run={new}&base={base}",
        "flame with a search": f"/flame?run={base}&find=gemm",
        "sql": f"/sql?run={base}&chart=name%7Cdur_ns&sql={SQL}",
        "rules": "/rules",
        "rule": "/rules/host_bound",
        "system": "/system",
        "live": "/live",
    }[name]


PAGES = [
    "runs", "chosen", "compare", "compare nothing", "trend", "outliers", "similar", "flame", "flame of a difference", "flame with a search",
    "sql", "rules", "rule", "system", "live",
]  # fmt: skip


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_fine(look, place, theme, name):
    page = look(theme=theme).go(address_of(name, place[1]))
    assert_accessible(page)


@pytest.mark.parametrize("name", in_full(PAGES, ["runs", "compare"]))
def test_a_page_fits_a_narrow_window(look, place, name):
    page = look(width=820).go(address_of(name, place[1]))
    assert page.evaluate("document.documentElement.scrollWidth") <= 820


@pytest.mark.parametrize("address", ["/runs", "/flame?run={}", "/sql?run={}&sql=SELECT * FROM kernels", "/similar?run={}", "/trend"])
def test_hostile_names_stay_text(look, place, address):
    page = look().go(address.format(place[1]["hostile"]))
    assert page.evaluate("document.querySelectorAll('main img, main script, main svg[onload]').length") == 0


def at_address(page, condition):
    """Waits until the address is so; asking the page lets news of it arrive."""
    until(lambda: condition(page.evaluate("location.href")))


# ---- The list of runs


def count_of(page):
    return page.inner_text(".count").split(" runs")[0].split("\n")[0].replace("\u2009", "")


def test_values_of_a_facet_are_alternatives(look, place):
    page = look().go("/runs")
    everything = int(count_of(page))
    model = page.locator("details.facet", has_text="model").first
    model.get_by_label("broken", exact=True).check()
    until(lambda: count_of(page) == f"{RUNS} of {everything}")
    model.get_by_label("steady", exact=True).check()
    until(lambda: count_of(page) == f"{2 * RUNS} of {everything}")
    assert "model is broken or steady" in page.inner_text(".conditions")
    again = look()
    again.go(page.url.removeprefix(place[0].url))
    assert count_of(again.page) == f"{2 * RUNS} of {everything}"


def test_a_value_can_be_excluded(look):
    page = look().go("/runs")
    everything = int(count_of(page))
    page.get_by_role("button", name="Not model broken").click()
    until(lambda: count_of(page) == f"{everything - RUNS} of {everything}")
    page.get_by_role("button", name="Remove all").click()
    until(lambda: count_of(page) == str(everything))


def test_words_search_and_conditions_are_added(look):
    page = look().go("/runs")
    page.get_by_role("searchbox").fill("broken-7")
    until(lambda: count_of(page).startswith("1 of"))
    page.get_by_role("searchbox").fill("")
    at_address(page, lambda url: "file" not in url)
    page.get_by_role("searchbox").fill("batch>=1")
    page.keyboard.press("Enter")
    until(lambda: count_of(page).startswith(f"{RUNS} of"))
    assert "batch ≥ 1" in page.inner_text(".conditions")


def test_the_order_and_the_columns_are_kept(look):
    page = look().go("/runs?where=model=broken")
    page.get_by_role("button", name="Name", exact=True).click()
    at_address(page, lambda url: "sort=file" in url)
    page.wait_for_selector(".run-list >> text=broken-0.json")
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Commit", exact=True).check()
    page.wait_for_selector(".run-list >> text=c000")
    page.goto(page.url.split("?")[0])
    page.wait_for_selector(".run-list .head >> text=Commit")


def test_a_view_is_saved_by_name(look):
    page = look().go("/runs?where=model=steady")
    page.get_by_text("Views", exact=True).click()
    page.get_by_label("Name of the view").fill("my steady ones")
    page.get_by_role("button", name="Save this view").click()
    page.goto(page.url.split("?")[0])
    page.get_by_text("Views", exact=True).click()
    page.get_by_role("button", name="my steady ones", exact=True).click()
    until(lambda: count_of(page).startswith(f"{RUNS} of"))


def test_only_rows_that_are_seen_are_drawn(look, place):
    page = look().go("/runs")
    assert int(page.get_attribute(".run-list", "aria-rowcount")) == len(place[1]) + 1
    page.focus(".run-list")
    page.keyboard.press("End")
    page.wait_for_selector(f'.run-list [aria-rowindex="{len(place[1]) + 1}"] a')
    assert page.locator('.run-list [aria-rowindex="2"]').count() == 0
    page.keyboard.press("Enter")
    at_address(page, re.compile(r"/runs/[0-9a-f]{64}$").search)


def test_two_chosen_runs_are_compared(look):
    page = look().go("/runs?where=file~kineto_small")
    page.get_by_label("Choose kineto_small.json").check()
    page.get_by_label("Choose kineto_small_after.json").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    page.wait_for_selector(".verdict strong")


def test_sets_are_compared(look, place):
    ids = [place[1]["broken", number][:12] for number in (0, 2, 4, 6, 8, 14, 16, 18)]
    page = look().go(f"/runs?chosen={','.join(ids[:5])}")
    page.get_by_role("button", name="Use as base").click()
    at_address(page, lambda url: "base=" in url)
    page.goto(page.url + f"&chosen={','.join(ids[5:])}")
    page.get_by_role("button", name="Compare with the base").click()
    page.wait_for_selector(".verdict .badge")
    assert "Slower" in page.inner_text(".verdict .badge")
    assert page.locator(".side .pin").count() == 8


def test_runs_are_tagged_and_become_a_baseline_in_place(look, place):
    run = place[1]["steady", 3]
    page = look().go(f"/runs?where=file~steady-3.json&chosen={run[:12]}")
    page.get_by_role("button", name="Tag", exact=True).click()
    page.keyboard.type("nightly")
    page.keyboard.press("Enter")
    page.wait_for_selector(".run-list .tag >> text=nightly")
    page.get_by_role("button", name="Baseline", exact=True).click()
    page.keyboard.type("good")
    page.keyboard.press("Enter")
    page.wait_for_selector(".pinned >> text=good")
    assert place[0].call("baseline").data["baselines"][0]["run_id"] == run
    page.get_by_role("button", name="Remove the baseline good; its runs stay").click()
    until(lambda: place[0].call("baseline").data["baselines"] == [])


def test_a_run_is_deleted_only_with_a_reason(look, place, tmp_path):
    server, _ = place
    path = tmp_path / "to_delete.json"
    path.write_text((REPOSITORY / "samples/native_minimal.json").read_text())
    run = server.neurolens.import_file(path)["run_id"]
    page = look().go(f"/runs?where=file~to_delete&chosen={run[:12]}")
    page.get_by_role("button", name="Delete", exact=True).click()
    assert page.get_by_role("button", name="Delete for good").is_disabled()
    page.keyboard.type("made by a test")
    page.get_by_role("button", name="Delete for good").click()
    until(lambda: count_of(page).startswith("0 of"))
    assert run not in server.neurolens.run_ids()


def test_files_are_uploaded_and_imported(look, place, tmp_path):
    good, bad = tmp_path / "sent.json", tmp_path / "bad.json"
    good.write_text((REPOSITORY / "samples/native_full.json").read_text())
    bad.write_text("no profile")
    page = look().go("/runs")
    page.set_input_files('input[type="file"]', [bad, good])
    page.wait_for_selector(".uploads >> text=1 of 2 imported")
    assert page.locator(".uploads .failure").count() == 1 and "Try again" in page.inner_text(".uploads")
    page.get_by_role("link", name="sent.json").first.click()
    at_address(page, re.compile(r"/runs/[0-9a-f]{64}$").search)
    run = page.url.rsplit("/", 1)[1]
    page.wait_for_selector('main[data-ready="true"]')
    page.goto("about:blank")  # the page of a run that is gone would say so
    assert place[0].call("delete", run=run, reason="a test").status == 200


def test_without_runs_the_page_says_what_to_do(browser, tmp_path):
    server = Server(Neurolens(tmp_path / "ledger"))
    try:
        one = Look(browser, server)
        page = one.go("/runs")
        assert "Drop a profile here" in page.inner_text("main") and page.get_by_role("button", name="Upload profiles").is_visible()
        one.close()
    finally:
        server.kill()


# ---- Other pages


def signed(text):
    return int(re.sub(r"\D", "", text)) * (-1 if re.search("[-\N{MINUS SIGN}]", text) else 1)


def test_the_waterfall_adds_up(look, place):
    page = look().go(address_of("compare", place[1]))
    parts = page.eval_on_selector_all(".stairs tbody tr:not(.total) td:nth-child(4) span", "all => all.map((one) => one.title)")
    whole = page.get_attribute(".stairs tr.total:last-child td:nth-child(4) span", "title")
    assert sum(map(signed, parts)) == signed(whole)
    assert "not explained" not in page.inner_text(".stairs")


def test_sides_are_changed_in_place(look, place):
    runs = place[1]
    page = look().go(address_of("compare", runs))
    page.get_by_role("button", name="Swap").click()
    at_address(page, lambda url: f"base={runs['kineto_small_after']}" in url)
    page.get_by_role("button", name=f"Remove {runs['kineto_small']} from New").click()
    page.get_by_role("combobox", name="Add a run to New").fill("steady-5")
    page.get_by_role("option").filter(has_text="steady-5.json").first.click()
    at_address(page, lambda url: f"new={runs['steady', 5][:12]}" in url)
    page.wait_for_selector('main[data-ready="true"]')
    page.go_back()
    at_address(page, lambda url: "new=" not in url)


def test_a_change_leads_to_the_timeline(look, place):
    page = look().go(address_of("compare", place[1]))
    page.get_by_role("button", name=re.compile("on the timeline of the new run")).first.click()
    at_address(page, lambda url: "/timeline?" in url and place[1]["kineto_small_after"] in url)


def test_the_break_is_told_and_a_point_opens_its_run(look, place):
    page = look().go("/trend?where=model=broken")
    assert "1 change has lasted" in page.inner_text(".verdict") and "Worse" in page.inner_text(".changed")
    assert f"commit: c{BREAK - 1:03d} → c{BREAK:03d}" in page.inner_text(".changed")
    page.focus(".trend-picture [role=application]")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    at_address(page, lambda url: url.endswith(place[1]["broken", 0]))


def test_sql_is_completed_and_asked_by_keys(look, place):
    page = look().go(f"/sql?run={place[1]['kineto_small']}")
    page.get_by_label("Question in SQL").fill("")
    page.get_by_label("Question in SQL").press_sequentially("SELECT kernel_id, dur_ns FROM kern")
    page.wait_for_selector('[role="option"]')
    page.keyboard.press("Tab")
    assert page.input_value("textarea").endswith("FROM kernels")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".result .cells a, .result .cells button")
    page.get_by_role("button", name="Chart", exact=True).click()
    page.wait_for_selector(".bars rect")
    page.get_by_role("button", name="Show row 1 on the timeline").click()
    at_address(page, lambda url: "/timeline?" in url)


def test_a_flame_graph_is_zoomed_by_click_and_key(look, place):
    page = look().go(f"/flame?run={place[1]['kineto_small']}")
    page.locator(".flame .box").nth(1).click()
    at_address(page, lambda url: "at=0" in url)
    page.focus(".flame")
    page.keyboard.press("Escape")
    at_address(page, lambda url: "at=" not in url)
    page.get_by_label("Search frames").fill("gemm")
    page.wait_for_selector(".flame .found")
    assert "% of device" in page.inner_text("main")


def test_the_palette_goes_anywhere(look, place):
    page = look().go("/runs")
    page.keyboard.press("Control+k")
    page.locator("dialog[open] input").press_sequentially("tren")
    page.keyboard.press("Enter")
    at_address(page, lambda url: url.endswith("/trend"))
    page.keyboard.press("Control+k")
    page.locator("dialog[open] input").press_sequentially("steady-11")
    page.get_by_role("option").filter(has_text="steady-11.json").first.wait_for()
    page.keyboard.press("Enter")
    at_address(page, lambda url: url.endswith(place[1]["steady", 11]))


# ---- What goes wrong, and what changes meanwhile


def test_a_page_whose_part_is_gone_says_so_and_others_work(look, place):
    """As in a tab that was left open while the server got newer pages."""
    view = look()
    page = view.go("/rules")
    page.route(re.compile(r"/assets/trend-"), lambda route: route.fulfill(status=404, body=""))
    page.get_by_role("link", name="Trend").click()
    page.wait_for_selector('main[data-ready="true"] .failure')
    assert "Reload" in page.inner_text(".failure") and "updated" in page.inner_text(".failure")
    page.get_by_role("link", name="System").click()
    page.wait_for_selector("main table")
    page.unroute(re.compile(r"/assets/trend-"))
    page.go_back()
    page.get_by_role("button", name="Reload").click()
    page.wait_for_selector(".verdict")
    view.faults.clear()  # the browser tells of what could not be loaded


def test_a_server_that_is_gone_is_told_and_nothing_is_lost(look):
    view = look()
    page = view.go("/rules")
    page.route("**/api/**", lambda route: route.abort())
    page.get_by_role("link", name="Trend").click()
    page.wait_for_selector(".server-gone")
    page.unroute("**/api/**")
    page.get_by_role("button", name="Ask now").click()
    page.wait_for_selector(".verdict")
    assert page.locator(".server-gone").count() == 0 and page.locator(".failure").count() == 0
    view.faults.clear()


def import_named(server, folder, name, sample):
    path = folder / name
    path.write_text((REPOSITORY / f"samples/{sample}.json").read_text().replace("gemm_64x64", f"gemm_of_{path.stem}"))
    return server.neurolens.import_file(path)["run_id"]


def test_what_a_name_stands_for_is_asked_again(look, place, tmp_path):
    server, _ = place
    first = import_named(server, tmp_path, "first.json", "kineto_small")
    page = look().go("/sql?run=@latest&sql=SELECT name FROM kernels ORDER BY name LIMIT 1")
    assert "gemm_of_first" in page.inner_text(".result")
    page.get_by_role("link", name="Rules").click()
    page.wait_for_selector('main[data-ready="true"] table')
    second = import_named(server, tmp_path, "second.json", "kineto_small")
    page.go_back()
    page.wait_for_selector(".result >> text=gemm_of_second")
    page.goto("about:blank")
    for run in (first, second):
        assert server.call("delete", run=run, reason="a test").status == 200


def test_what_was_deleted_is_no_longer_chosen_when_a_later_one_fails(look, place, tmp_path):
    server, _ = place
    runs = [import_named(server, tmp_path, f"deleted_{n}.json", "kineto_small")[:12] for n in range(2)]
    view = look()
    page = view.go(f"/runs?chosen={runs[0]},ffffffffffff,{runs[1]}")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.keyboard.type("made by a test")
    page.get_by_role("button", name="Delete for good").click()
    page.wait_for_selector(".selection .failure")
    at_address(page, lambda url: url.endswith(f"chosen=ffffffffffff%2C{runs[1]}"))
    view.faults.clear()  # one of them is not found
    page.goto("about:blank")
    assert server.call("delete", run=runs[1], reason="a test").status == 200


def test_enter_takes_an_offer_of_the_text_that_is_there(look, place):
    page = look().go("/compare")
    picker = page.get_by_role("combobox", name="Add a run to New")
    picker.click()
    page.get_by_role("option").first.wait_for()
    picker.fill("steady-7.json")
    page.keyboard.press("Enter")
    at_address(page, lambda url: f"new={place[1]['steady', 7][:12]}" in url)


def test_back_brings_the_question_with_its_answer(look, place):
    page = look().go(f"/sql?run={place[1]['kineto_small']}&sql=SELECT 1 AS one")
    page.get_by_label("Question in SQL").fill("SELECT 2 AS two")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".result >> text=two")
    page.go_back()
    page.wait_for_selector(".result >> text=one")
    assert page.input_value("textarea") == "SELECT 1 AS one"


def test_the_form_of_the_trend_keeps_all_conditions(look):
    page = look().go("/trend?where=model=broken&where=batch%3E%3D1&class=gemm")
    page.get_by_role("button", name="Show", exact=True).click()
    at_address(page, lambda url: url.count("where=") == 2 and "class=gemm" in url and "limit=" in url)


def focus_of(page):
    return page.evaluate("document.activeElement.textContent || document.activeElement.className || document.activeElement.tagName")


def test_the_focus_comes_back_when_its_place_is_gone(look, place):
    page = look().go(f"/runs?where=model=broken&where=batch%3E%3D1&chosen={place[1]['broken', 3][:12]}")
    page.get_by_role("button", name="Tag", exact=True).click()
    page.get_by_role("button", name="Cancel").click()
    until(lambda: focus_of(page) == "Tag")
    page.get_by_role("button", name="Remove: batch ≥ 1").click()
    at_address(page, lambda url: "batch" not in url)
    until(lambda: page.evaluate("document.activeElement.ariaLabel") == "Remove: model is broken")
    page.goto(page.url.split("/runs")[0] + address_of("compare", place[1]))
    page.get_by_role("button", name=re.compile("Remove .* from New")).click()
    until(lambda: page.evaluate("document.activeElement.ariaLabel") == "Add a run to New")


def test_a_copy_that_the_browser_refuses_is_told(look):
    page = look().go("/rules")
    page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no')); document.execCommand = () => false")
    page.get_by_role("button", name="Copy command").click()
    page.get_by_role("button", name="The browser refused").wait_for()


def test_the_newest_runs_are_a_line_whose_points_are_links(look, place):
    page = look().go("/runs?where=model=broken")
    line = page.locator(".sparkline")
    line.first.wait_for()
    assert line.first.get_attribute("href").endswith(place[1]["broken", RUNS - 1])
    line.first.focus()
    page.keyboard.press("ArrowLeft")
    until(lambda: line.first.get_attribute("href").endswith(place[1]["broken", RUNS - 2]))
    page.get_by_label("Lately").select_option("none")
    at_address(page, lambda url: "line=none" in url)
    until(lambda: line.count() == 0)


def test_both_time_lines_are_a_click_from_a_comparison(look, place):
    page = look().go(address_of("compare", place[1]))
    page.get_by_role("link", name="Both time lines, aligned by step").click()
    page.wait_for_selector(".beside >> text=aligned by step")
    assert f"with={place[1]['kineto_small']}" in page.url


def test_a_call_for_an_agent_can_be_copied(look, place):
    page = look().go("/trend?where=model=broken")
    call = json.loads(page.get_by_role("button", name="Copy MCP call").get_attribute("title"))
    assert call["name"] == "trend" and call["arguments"]["where"] == ["model=broken"]
    assert place[0].call(call["name"], **call["arguments"]).status == 200
