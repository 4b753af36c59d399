"""The pages of one run in a real browser, over runs of several formats: each tab is there, readable by all, and honest."""

import re

import pytest

from conftest import REPOSITORY, TRACES, Neurolens
from server import until
from test_web import THEMES, assert_accessible, in_full, looks, served_with_pages

TABS = ["", "layers", "kernels", "roofline", "memory", "ranks", "counters", "provenance", "notes"]
RECORDED = {
    "modules": ["kineto/tracelens_h100_bert-small.json.gz"],
    "steps": ["kineto/hta_alexnet_train.json.gz"],
    "ranks": [f"more/multirank/dlrm_8rank/dlrm_kineto_rank{rank}.pt.trace.json.gz" for rank in range(8)],
    "serving": ["kineto/tracelens_sglang_qwen3-8b_decode.json.gz"],
    "onnxruntime": ["onnxruntime/generated/transformer_t2_optall_5runs.json"],
    "trtexec": ["trtexec/a100_resnet_qat_int8.profile.json"],
    "graph": ["trtexec/a100_resnet_fp16.graph.json"],
    "sums": ["nsys/volta_sgemm_v100.gpukernsum.csv"],
    "nsys": ["nsys/pytorch_elementwise_v100.sqlite.gz"],
    "rocprof": ["rocprof/jimw_gfx1151_llamacpp_decode_stall_counter_collection.csv"],
    "ncu": ["ncu/mistic_full_a100.raw.csv.gz"],
}
RUNS = in_full(["sample", "native", *RECORDED], ["sample", "native", "onnxruntime", "nsys"])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A server, and the ids of its runs; of those that were recorded only if they are there."""
    neurolens = Neurolens(tmp_path_factory.mktemp("ledger"))
    runs = {
        "sample": neurolens.import_file(REPOSITORY / "samples/kineto_small.json")["run_id"],
        "native": neurolens.import_file(REPOSITORY / "samples/native_full.json")["run_id"],
    }
    for name, files in RECORDED.items():
        if all((TRACES / file).exists() for file in files):
            runs[name] = neurolens.import_file(TRACES / files[0], *(TRACES / file for file in files[1:]), "--as-one")["run_id"]
    yield from served_with_pages(neurolens, runs)


@pytest.fixture
def look(browser, place):
    yield from looks(browser, place[0])


@pytest.fixture
def run_of(place):
    def find(name):
        if name not in place[1]:
            pytest.skip(f"{RECORDED[name][0]} is not there: set NEUROLENS_TRACES")
        return place[1][name]

    return find


def analysis(server, run, **more):
    return server.call("analyze", run=run, **more).data


@pytest.mark.parametrize("name", RUNS)
def test_each_tab_is_fine(look, run_of, name):
    run = run_of(name)
    theme = THEMES[RUNS.index(name) % 2]
    view = look(theme=theme)
    for tab in TABS:
        page = view.go(f"/runs/{run}/{tab}".rstrip("/"))
        assert page.get_by_role("navigation", name="Of this run").locator("a[aria-current]").count() == 1
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab
        assert_accessible(page)


@pytest.mark.parametrize("name", in_full(["sample", "ranks"], ["sample"]))
def test_narrow_pages_do_not_scroll_sideways(look, run_of, name):
    run = run_of(name)
    view = look(width=820)
    for tab in TABS:
        page = view.go(f"/runs/{run}/{tab}".rstrip("/"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab


@pytest.mark.parametrize("name", ["native", "ranks", "onnxruntime", "nsys"])
def test_a_figure_that_is_absent_is_a_dash_with_its_reason(look, place, run_of, name):
    run = run_of(name)
    page = look().go(f"/runs/{run}/memory")
    metrics = analysis(place[0], run)["devices"][0]["metrics"]
    rows = page.locator("section[aria-label='Figures of the window'] tbody tr")
    reasons = [one.get_attribute("title") for one in rows.locator(".absent").all()]
    assert reasons, "no figure of this run is absent: the test needs another one"
    assert set(reasons) <= {one["absent"] for one in metrics.values() if "absent" in one}
    for row in rows.all():
        cells = row.locator("td").all_inner_texts()
        assert cells[1] == "—" or not any(one.get("absent") == cells[2] for one in metrics.values())


@pytest.mark.parametrize("name", ["graph", "sums", "ncu"])
def test_a_run_without_times_shows_no_zero_times(look, run_of, name):
    run = run_of(name)
    view = look()
    for tab in TABS:
        page = view.go(f"/runs/{run}/{tab}".rstrip("/"))
        assert not re.search(r"(?<![\d.,])0\s(ns|µs|ms|s)\b", page.inner_text("main")), tab


def test_counters_that_the_profiler_did_not_count_are_no_zeros(look, place, run_of):
    run = run_of("rocprof")
    page = look().go(f"/runs/{run}/counters")
    kernel = analysis(place[0], run, top=100)["counters"]["kernels"][0]
    assert kernel["bound"] is None and kernel["sm_pct"] is None
    assert page.locator("table tbody tr").first.locator(f".absent[title='{kernel['absent']['bound']}']").count() == 1
    assert "Compute throughput" not in page.inner_text("table") and "Compute throughput" in page.inner_text("main")


@pytest.mark.parametrize("tab", ["layers", "kernels", "roofline", "memory", "ranks", "counters"])
def test_a_tab_without_data_says_why(look, run_of, tab):
    page = look().go(f"/runs/{run_of('graph')}/{tab}")
    page.wait_for_selector(".empty")
    why, record = page.locator(".empty p").all_inner_texts()[:2]
    assert why.endswith(".") and record.endswith(".")


@pytest.mark.parametrize("name", ["sample", "modules"])
def test_the_tree_is_walked_by_keyboard(look, run_of, name):
    view = look()
    page = view.go(f"/runs/{run_of(name)}/layers")
    tree = page.get_by_role("treegrid")
    rows = tree.locator("tbody tr")
    assert tree.locator("tbody tr[tabindex='0']").count() == 1
    rows.first.focus()
    while rows.first.get_attribute("aria-expanded") == "true" and rows.count() > 1:
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Home")
    closed = rows.count()
    page.keyboard.press("ArrowRight")
    until(lambda: rows.count() > closed)
    page.keyboard.press("ArrowRight")
    until(lambda: page.evaluate("document.activeElement.getAttribute('aria-level')") == "2")
    while page.evaluate("document.activeElement.getAttribute('aria-level')") == "2":
        page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "1"
    page.keyboard.press("End")
    until(lambda: "node=" in page.url)
    chosen = page.locator("tr[aria-selected='true'] td").first.get_attribute("title")
    again = look().go(page.url.removeprefix(view.server.url))
    assert again.locator("tr[aria-selected='true'] td").first.get_attribute("title") == chosen


def test_the_tree_closes(place, run_of):
    found = analysis(place[0], run_of("modules"), top=10000)
    assert sum(one["device_ns"] for one in found["top_modules"]) == found["devices"][0]["busy_ns"]


def test_kernels_are_searched_and_a_link_restores_it(look, place, run_of):
    run = run_of("modules")
    view = look()
    page = view.go(f"/runs/{run}/kernels")
    kernels = analysis(place[0], run, top=10000)["top_kernels"]
    rows = page.locator("table tbody tr")
    assert rows.count() == len(kernels)
    page.get_by_label("Search kernels by name").fill("FLASH")
    until(lambda: rows.count() == sum("flash" in one["name"].lower() for one in kernels))
    page.get_by_label("Search kernels by name").fill("")
    page.get_by_label("Class").select_option("gemm")
    page.get_by_role("button", name="Calls").click()
    until(lambda: rows.count() == sum(one["class"] == "gemm" for one in kernels) and "sort=calls" in page.url)
    texts = rows.all_inner_texts()
    again = look().go(page.url.removeprefix(view.server.url))
    assert again.locator("table tbody tr").all_inner_texts() == texts
    most = max((one for one in kernels if one["class"] == "gemm"), key=lambda one: one["calls"])
    assert rows.first.locator(".mono").get_attribute("title") == most["name"]


@pytest.mark.parametrize("name", ["modules", "ranks"])
def test_the_longest_call_is_in_sight(look, place, run_of, name):
    run = run_of(name)
    page = look().go(f"/runs/{run}/kernels")
    kernel = max(analysis(place[0], run, top=10000)["top_kernels"], key=lambda one: one["total_ns"])
    page.get_by_role("button", name="Longest call").first.click()
    page.wait_for_url("**/timeline?at=*")
    begin, end = map(int, re.search(r"at=(-?\d+)-(\d+)", page.url).groups())
    page.wait_for_selector('main[data-ready="true"]')
    area = place[0].call("timeline", run=run, what="area", begin_ns=begin, end_ns=end, top=10000).data
    longest = {one["name"]: one["max_ns"] for one in area["by_name"]}
    assert longest.get(kernel["name"]) == kernel["longest_ns"]
    until(lambda: page.get_attribute(".details", "data-selected") == f"{'c' if kernel['is_copy'] else 'k'}{kernel['longest_row']}")


def test_a_step_and_a_gap_lead_to_the_time_line(look, run_of):
    view = look()
    page = view.go(f"/runs/{run_of('sample')}")
    page.get_by_role("region", name="Table of gaps").get_by_role("link", name="Show it").first.click()
    page.wait_for_url("**/timeline?*")
    page.go_back()
    page.wait_for_selector(".verdict")


def test_the_window_is_kept_from_tab_to_tab(look, run_of):
    page = look().go(f"/runs/{run_of('steps')}")
    page.get_by_label("Window").select_option("whole")
    until(lambda: "window=whole" in page.url)
    page.wait_for_selector('main[data-ready="true"]')
    page.get_by_role("navigation", name="Of this run").get_by_role("link", name="Kernels").click()
    page.wait_for_url("**/kernels?window=whole")
    page.wait_for_selector("table")


def test_the_late_rank_is_named(look, place, run_of):
    run = run_of("ranks")
    page = look().go(f"/runs/{run}/ranks")
    straggler = analysis(place[0], run)["collectives"]["straggler"]
    assert f"Rank {straggler['rank']} is waited for" in page.inner_text(".verdict")
    assert page.locator("section[aria-label='Ranks'] tbody tr").count() == 8


def test_records_add_up(look, place, run_of):
    run = run_of("sample")
    page = look().go(f"/runs/{run}/provenance")
    counts = place[0].call("show", run=run).data["counts"]
    shown = [int(re.sub(r"\D", "", text)) for text in page.locator("section[aria-label='Records'] td").all_inner_texts()]
    assert sum(shown[:-1]) == shown[-1] == counts["seen"]


def test_notes_are_written_changed_and_removed_as_text(look, run_of):
    hostile = "<img src=x onerror=alert(1)>\n[a](javascript:alert(1)) **b**"
    page = look().go(f"/runs/{run_of('sample')}/notes")
    page.get_by_label("A new note").fill(hostile)
    page.get_by_role("button", name="Add the note").click()
    page.wait_for_selector("article")
    assert page.locator(".note-text").inner_text() == hostile
    assert page.locator("article img, article a").count() == 0
    page.get_by_role("button", name="Change").click()
    page.get_by_label(re.compile("New text")).fill("better")
    page.get_by_role("button", name="Keep").click()
    until(lambda: page.locator(".note-text").all_inner_texts() == ["better"])
    page.get_by_label("Also what notes said before").check()
    page.wait_for_selector("article.past")
    page.get_by_role("button", name="Remove").click()
    page.wait_for_selector("text=No one has written a note")


def test_a_figure_tells_its_definition(look, run_of):
    page = look().go(f"/runs/{run_of('sample')}")
    figure = page.locator("table.parts .figure[data-define='compute_time']")
    page.keyboard.press("Tab")
    figure.focus()
    told = page.get_by_role("tooltip").inner_text()
    assert "union C of the kernels" in told and "compute_time, in ns" in told and figure.get_attribute("title") in told
    page.keyboard.press("Escape")
    assert page.get_by_role("tooltip").count() == 0
    page.get_by_role("region", name="Table of kernels").locator("tbody td.number").nth(2).hover()
    page.get_by_role("tooltip").wait_for()
    assert "sum of the times of all kernels" in page.get_by_role("tooltip").inner_text()


def test_the_head_says_when_the_run_was_recorded(look, run_of):
    page = look().go(f"/runs/{run_of('sample')}")
    assert "recorded" in page.inner_text(".run-head") and "2023" in page.inner_text(".run-head")


def test_a_finding_leads_to_what_it_rests_on(look, place, run_of):
    run, rule = run_of("nsys"), "copy_kernels"
    row = next(one["row"] for one in place[0].call("explain", run=run, finding=rule).data["rows"] if "row" in one)
    title = next(one["title"] for one in analysis(place[0], run)["findings"] if one["rule"] == rule)
    page = look().go(f"/runs/{run}")
    page.locator(".advice > li", has_text=title).get_by_role("button", name="Show it on the time line").click()
    page.wait_for_url("**/timeline?*")
    until(lambda: page.get_attribute(".details", "data-selected") == row.replace("kernels:", "k"))


def test_a_finding_on_the_whole_window_says_so(look, run_of):
    page = look().go(f"/runs/{run_of('sample')}")
    page.locator(".advice > li").first.get_by_role("button", name="Show it on the time line").click()
    page.wait_for_selector(".advice [role=alert] >> text=not on single rows")


def test_a_step_becomes_the_window(look, place, run_of):
    run = run_of("steps" if "steps" in place[1] and analysis(place[0], place[1]["steps"])["steps"]["count"] > 1 else "sample")
    page = look().go(f"/runs/{run}")
    page.get_by_label("Steps", exact=True).get_by_role("button", name="Its figures").first.click()
    step = analysis(place[0], run)["steps"]["list"][0]["window"]
    until(lambda: f"window={step.replace(':', '%3A')}" in page.url or f"window={step}" in page.url)
    page.wait_for_selector(f"select:has(option[value='{step}']:checked)")


def test_steps_of_several_ranks_are_of_the_chosen_one(look, place, run_of):
    run = run_of("ranks")
    data = analysis(place[0], run)
    device = data["devices"][3]
    step = data["steps"]["list"][0]
    idle = next(one for one in step["devices"] if (one["rank"], one["device"]) == (device["rank"], device["device"]))
    page = look().go(f"/runs/{run}?device={device['rank']}/{device['device']}")
    steps = page.get_by_label("Steps", exact=True)
    assert f"of rank {device['rank']}, device {device['device']}" in steps.locator("h2").inner_text()
    share = float(steps.locator("tbody tr").first.locator("td").nth(2).locator(".figure").get_attribute("title"))
    assert share == pytest.approx(idle["idle_ns"] / idle["window_ns"])
