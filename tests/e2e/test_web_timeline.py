"""The page of the time line in a real browser: keys, selection, details, links, areas, rows and the address, held against SQL."""

import json
import re
import urllib.parse

import pytest

from server import until
from test_web import THEMES, assert_accessible, in_full, look, place  # noqa: F401  fixtures

TABLES = {"s": ("spans", "span_id"), "k": ("kernels", "kernel_id"), "c": ("copies", "copy_id"), "y": ("syncs", "sync_id")}


class Line:
    """The time line of a run, open in a browser, and the same run as SQL has it."""

    def __init__(self, open_one, server_and_runs, run="recorded", query="", **options):
        self.server, runs = server_and_runs
        self.run = runs[run]
        self.opened = open_one(**options)
        self.page = self.opened.go(f"/runs/{self.run}/timeline{query}")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def sql(self, text):
        answer = self.server.call("query", run=self.run, sql=text, limit=0).data
        return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]

    def ask(self, **parameters):
        return self.server.call("timeline", run=self.run, **parameters).data

    @property
    def address(self):
        return self.page.evaluate("location.href")  # page.url is known late

    @property
    def parameters(self):
        return dict(re.findall(r"[?&]([^=&]+)=([^&]*)", self.address))

    @property
    def view(self):
        """Begin and end of what is seen, once the address has them."""
        return tuple(map(int, re.fullmatch(r"(-?\d+)-(-?\d+)", self.parameters["at"]).groups()))

    def view_after(self, *keys):
        until(lambda: "at" in self.parameters)
        before = self.view
        self.press(*keys)
        return until(lambda: self.view if self.view != before else None)

    @property
    def selected(self):
        return self.page.get_attribute(".details", "data-selected")

    def select_by(self, *keys):
        before = self.selected
        self.press(*keys)
        return until(lambda: self.selected if self.selected not in ("", before) else None)

    def row_of(self, selected):
        table, column = TABLES[selected[0]]
        return self.sql(f"SELECT * FROM {table} WHERE {column} = {selected[1:]}")[0]


@pytest.fixture
def line(look, place):  # noqa: F811
    return lambda *arguments, **options: Line(look, place, *arguments, **options)


@pytest.fixture
def kernel(place):  # noqa: F811
    """The kernel with a launch and an op that comes first, and its links."""
    server, runs = place
    is_linked = "launch_span_id IS NOT NULL AND op_id IS NOT NULL"
    sql = f"SELECT kernel_id, launch_span_id, op_id FROM kernels WHERE {is_linked} ORDER BY start_ns LIMIT 1"
    rows = server.call("query", run=runs["recorded"], sql=sql).data["rows"]
    return rows[0] if rows else pytest.skip("the run has no kernel with a launch and an op")


def test_keys_zoom_move_and_fit(line):
    one = line()
    whole = until(lambda: one.view if "at" in one.parameters else None)
    narrow = one.view_after("w")
    assert narrow[1] - narrow[0] == pytest.approx((whole[1] - whole[0]) * 0.7, rel=0.01)
    right = one.view_after("d")
    assert right[0] > narrow[0] and right[1] - right[0] == pytest.approx(narrow[1] - narrow[0], abs=2)
    assert one.view_after("a") == pytest.approx(narrow, abs=2)
    assert one.view_after("f") == whole


def test_the_wheel_zooms_at_the_cursor_and_a_drag_moves(line):
    one = line()
    until(lambda: "at" in one.parameters)
    box = one.page.locator(".stage").bounding_box()
    begin, end = one.view
    x, y = box["x"] + box["width"] * 0.25, box["y"] + 120
    one.page.mouse.move(x, y)
    one.page.mouse.wheel(0, -400)
    narrow = until(lambda: one.view if one.view != (begin, end) else None)
    under = lambda view: view[0] + (view[1] - view[0]) * 0.25  # noqa: E731
    assert under(narrow) == pytest.approx(under((begin, end)), abs=(end - begin) / 200)
    one.page.mouse.down()
    one.page.mouse.move(x - 50, y, steps=4)
    one.page.mouse.up()
    until(lambda: one.view[0] > narrow[0])
    assert one.selected == ""


def test_arrow_keys_go_from_span_to_span(line):
    one = line()
    first = one.select_by("ArrowDown")
    below = one.select_by("ArrowDown")
    before = one.select_by("ArrowLeft")
    a, b = one.row_of(before), one.row_of(below)
    assert a["track_id"] == b["track_id"] and b["start_ns"] >= a["start_ns"] + (a["dur_ns"] or 0)
    assert one.select_by("ArrowRight") == below
    assert one.select_by("ArrowUp") != below and first != below


def test_the_next_of_a_name_is_of_this_name(line):
    columns = "name, track_id, count(*) AS many, min(kernel_id) AS first"
    names = f"SELECT {columns} FROM kernels GROUP BY 1, 2 HAVING many > 1 ORDER BY many DESC LIMIT 1"
    server_side = line()
    found = server_side.sql(names)
    if not found:
        pytest.skip("no kernel runs twice")
    one = line(query=f"?sel=k{found[0]['first']}")
    until(lambda: one.selected)
    again = one.row_of(one.select_by("."))
    assert again["name"] == found[0]["name"] and again["track_id"] == found[0]["track_id"]
    assert one.select_by(",") == f"k{found[0]['first']}"


def test_search_by_keys(line):
    one = line()
    one.press("/")
    one.page.keyboard.type("gemm")
    first = one.select_by("Enter")
    count = one.ask(what="search", text="gemm")["count"]
    assert "gemm" in one.row_of(first)["name"].lower()
    until(lambda: re.sub(r"\D", "", one.page.inner_text('[role="search"] [role="status"]')) == str(count))
    if count > 1:
        assert one.select_by("n") != first
        assert one.select_by("Shift+N") == first
    until(lambda: one.parameters.get("find") == "gemm")
    one.page.get_by_label("only these").check()
    until(lambda: one.parameters.get("only") == "1")


def test_details_are_those_of_the_table(line, kernel):
    one = line(query=f"?sel=k{kernel[0]}")
    until(lambda: one.selected == f"k{kernel[0]}")
    row = one.row_of(one.selected)
    one.page.wait_for_selector(".links")
    text = one.page.inner_text(".details").replace("\u2009", "")
    assert row["name"][:60] in text and f"kernel_id {kernel[0]}" in text
    assert f"({row['dur_ns']} ns)" in text and f"{row['start_ns']} ns" in text
    assert f"correlation id\n{row['correlation_id']}" in text
    sql = one.page.get_by_role("button", name="Copy SQL", exact=True).get_attribute("title")
    assert one.sql(sql) == [row]


def test_arrows_and_links_lead_both_ways(line, kernel):
    number, launch, op = kernel
    one = line(query=f"?sel=k{number}")
    expected = [f"spans {op} > spans {launch}"] if op != launch else []
    expected.append(f"spans {launch} > kernels {number}")
    until(lambda: one.page.evaluate("JSON.parse(document.getElementById('main').dataset.arrows ?? '[]')") == expected)
    one.page.locator(".links p", has_text="Belongs to op").get_by_role("button").click()
    until(lambda: one.selected == f"s{op}")
    until(lambda: f"spans {op} > kernels {number}" in one.page.evaluate("JSON.parse(document.getElementById('main').dataset.arrows)"))
    one.page.locator(".links li").get_by_role("button").first.wait_for()
    until(lambda: one.parameters.get("sel") == f"s{op}")  # the address follows a little later
    one.page.go_back()
    until(lambda: one.selected == f"k{number}")


def by_name(one, begin, end):
    """Sums of all that touches a stretch, as the tables have it."""
    origin = one.ask()["origin_ns"]
    columns = f"name, start_ns - {origin} AS a, coalesce(dur_ns, 0) AS d"
    parts = [f"SELECT {columns} FROM {table} WHERE start_ns IS NOT NULL" for table, _ in TABLES.values()]
    return {
        row["name"]: row
        for row in one.sql(
            f"SELECT name, count(*) AS n, sum(least(a + d, {end}) - greatest(a, {begin})) AS s, min(d) AS low, max(d) AS high"
            f" FROM ({' UNION ALL '.join(parts)}) WHERE a < {end} AND a + greatest(d, 1) > {begin} GROUP BY 1"
        )
    }


def test_measuring_a_span_sums_up_its_time_as_sql_does(line, kernel):
    one = line(query=f"?sel=s{kernel[2]}")
    until(lambda: one.selected)
    one.press("m")
    area = until(lambda: one.parameters.get("area"))
    row = one.row_of(one.selected)
    begin, end = map(int, area.split("-"))
    assert end - begin == row["dur_ns"] and begin + one.ask()["origin_ns"] == row["start_ns"]
    one.page.wait_for_selector('.area table[data-ready="true"]')
    expected = by_name(one, begin, end)
    shown = one.page.evaluate(
        """[...document.querySelectorAll('.area tbody tr')].map((row) => [...row.cells].map(
             (cell) => cell.querySelector('[title]')?.title ?? (cell.title || cell.innerText)))"""
    )
    assert len(shown) == min(50, len(expected))
    for name, count, total, _, _, low, high in shown:
        digits = [int(re.sub(r"\D", "", one)) for one in (count, total, low, high)]
        assert digits == [expected[name][key] for key in ("n", "s", "low", "high")], name
    one.press("Shift+M")
    until(lambda: "area" not in one.parameters)


def test_dragging_with_shift_measures_rows_and_snaps_to_edges(line, kernel):
    one = line(query=f"?sel=k{kernel[0]}")
    until(lambda: one.selected)
    one.press("f", "p")  # the pinned row is the first line
    row = one.row_of(one.selected)
    start, end = row["start_ns"] - one.ask()["origin_ns"], row["start_ns"] - one.ask()["origin_ns"] + row["dur_ns"]
    until(lambda: "pin" in one.parameters and one.view[0] > start - row["dur_ns"] and one.view[1] < end + row["dur_ns"])
    until(lambda: one.page.get_attribute("main", "data-sharp") == "true")
    first = one.page.locator(".titles li.pinned").bounding_box()
    box, width = one.page.locator(".stage").bounding_box(), one.page.evaluate("document.querySelector('.stage').clientWidth")
    x = lambda ns: box["x"] + (ns - one.view[0]) / (one.view[1] - one.view[0]) * width  # noqa: E731
    one.page.keyboard.down("Shift")
    one.page.mouse.move(x(start) + 3, first["y"] + 9)
    one.page.mouse.down()
    one.page.mouse.move(x(end) - 3, first["y"] + 9, steps=5)
    one.page.mouse.up()
    one.page.keyboard.up("Shift")
    until(lambda: one.parameters.get("area") == f"{start}-{end}_{one.parameters['pin']}")


def test_escape_goes_back_one_level_at_a_time(line, kernel):
    one = line(query=f"?sel=s{kernel[2]}")
    until(lambda: one.selected)
    one.press("m")
    until(lambda: "area" in one.parameters)
    one.press("Escape")
    until(lambda: "area" not in one.parameters and "sel" in one.parameters)
    one.press("Escape")
    until(lambda: "sel" not in one.parameters)
    one.press("w", "w", "w", "w", "w")
    until(lambda: one.page.locator(".crumbs button").count() >= 1)
    one.page.wait_for_timeout(600)
    one.press("Escape")
    whole = one.ask()
    until(lambda: one.view == (whole["begin_ns"], whole["end_ns"]))


def test_an_empty_place_of_a_row_is_a_gap_with_exact_ends(line):
    one = line()
    rows = one.ask()
    streams = {track["track"] for track in rows["tracks"] if track["kind"] == "stream"}
    row = max((row for row in rows["rows"] if row["track"] in streams), key=lambda row: row["spans"], default=None)
    if row is None or row["spans"] < 2:
        pytest.skip("the run has no stream")
    own = f"WHERE track_id = {row['track']}"
    both = " UNION ALL ".join(f"SELECT start_ns AS a, start_ns + dur_ns AS b FROM {table} {own}" for table in ("kernels", "copies"))
    ends = f"SELECT max(b) OVER (ORDER BY a) AS b, lead(a) OVER (ORDER BY a) AS next FROM ({both})"
    gaps = f"SELECT b - {rows['origin_ns']} AS b, next - b AS long FROM ({ends})"
    gap = one.sql(f"{gaps} WHERE next > b ORDER BY long DESC LIMIT 1")[0]
    one = line(query=f"?sel=g{row['row']}_{gap['b'] + gap['long'] // 2}")
    until(lambda: one.selected)
    text = one.page.inner_text(".details").replace("\u2009", "")
    assert f"({gap['long']} ns)" in text and f"({gap['b']} ns) after the begin" in text
    until(lambda: "Cause" in one.page.inner_text(".details") and "not there yet" not in one.page.inner_text(".details"))


def test_rows_are_pinned_folded_and_filtered(line, kernel):
    one = line(query=f"?sel=k{kernel[0]}")
    until(lambda: one.selected)
    lines = lambda: int(one.page.get_attribute(".timeline", "data-lines"))  # noqa: E731
    before = lines()
    one.press("p")
    until(lambda: lines() == before + 1 and "pin" in one.parameters)
    assert one.page.locator(".titles li").first.get_attribute("class") == "pinned"
    one.press("p")
    until(lambda: lines() == before and "pin" not in one.parameters)
    one.page.get_by_role("button", name="Fold all").click()
    until(lambda: lines() == one.page.locator(".titles li.group").count() and "shut" in one.parameters)
    one.page.get_by_role("button", name="Open all").click()
    until(lambda: lines() == before)
    one.page.get_by_label("Filter rows").fill("stream")
    until(lambda: lines() < before and one.parameters.get("rows") == "stream")
    one.page.get_by_label("Filter rows").fill("no such row")
    one.page.wait_for_selector("text=No row has")


def test_a_link_restores_all_of_the_page(line, kernel):
    one = line(query=f"?sel=k{kernel[0]}")
    until(lambda: one.selected)
    one.press("p", "m", "w", "w")
    one.page.get_by_label("Filter rows").fill("stream")
    until(lambda: {"at", "sel", "pin", "area", "rows"} <= one.parameters.keys())
    one.page.wait_for_timeout(600)
    query = one.address.split("?")[1]
    again = line(query=f"?{query}")
    until(lambda: again.selected == one.selected)
    assert again.parameters == one.parameters
    for part in (".crumbs [role=status]", ".titles", ".area h2"):
        again.page.wait_for_selector(part)
        assert again.page.inner_text(part) == one.page.inner_text(part)


def test_going_to_a_row_and_to_a_time(line, kernel):
    one = line()
    one.press("g")
    one.page.keyboard.type(f"kernel {kernel[0]}")
    one.press("Enter")
    until(lambda: one.selected == f"k{kernel[0]}")
    one.press("g")
    one.page.keyboard.type("nonsense")
    one.press("Enter")
    one.page.wait_for_selector("dialog >> text=neither a time nor a row")
    one.page.get_by_label("Time or row").fill("10 us")
    one.press("Enter")
    until(lambda: one.page.locator("dialog").count() == 0)


def test_steps_follow_by_keys(line):
    one = line()
    steps = one.server.call("analyze", run=one.run).data["steps"]
    origin = one.ask()["origin_ns"]
    one.view_after("w")
    one.page.wait_for_timeout(500)
    if not steps or not steps["list"]:
        one.press("]")
        one.page.wait_for_selector("text=no steps are known")
        return
    last = steps["list"][-1]
    for _ in steps["list"]:
        one.press("]")
        one.page.wait_for_timeout(100)
    middle = last["start_ns"] - origin + last["dur_ns"] / 2
    until(lambda: one.view[0] <= middle <= one.view[1])


def test_a_window_for_perfetto_is_saved_or_typed(line):
    one = line()
    one.press("e")
    link = one.page.locator("dialog a")
    assert one.server.get("/" + link.get_attribute("href")).status == 200
    command = one.page.inner_text("dialog code")
    assert command.startswith(f"neurolens export {one.run[:12]} --format perfetto --window ")
    one.press("Escape")
    until(lambda: one.page.locator("dialog").count() == 0)


def test_two_runs_begin_their_step_together(line, place):  # noqa: F811
    other = place[1]["kineto_small_after"]
    one = line(run="kineto_small", query=f"?with={other}")
    one.page.wait_for_selector(".beside")
    until(lambda: one.page.locator(".titles li.group", has_text="(beside)").count() > 0)
    first, second = (one.server.call("analyze", run=run).data["steps"] for run in (one.run, other))
    text = one.page.inner_text(".beside")
    if first and second and first["list"] and second["list"]:
        assert "aligned by step" in text and "Length of the step" in text
    else:
        assert "begin together" in text
    one.page.get_by_role("button", name="Remove it").click()
    until(lambda: "with" not in one.parameters and one.page.locator(".beside").count() == 0)


def beside(line, place, query=""):  # noqa: F811
    other = place[1]["kineto_small_after"]
    one = line(run="kineto_small", query=f"?with={other}{query}")
    until(lambda: one.page.locator(".titles li.group", has_text="(beside)").count() > 0)
    return one, other


def gap_text(server, run):
    """The longest gap of a stream, as the address names it, and its length."""
    rows = server.call("timeline", run=run).data
    streams = {track["track"] for track in rows["tracks"] if track["kind"] == "stream"}
    row = max((row for row in rows["rows"] if row["track"] in streams), key=lambda row: row["spans"])
    ends = f"SELECT start_ns + dur_ns AS b, lead(start_ns) OVER (ORDER BY start_ns) AS next FROM kernels WHERE track_id = {row['track']}"
    sql = f"SELECT b - {rows['origin_ns']}, next - b AS long FROM ({ends}) WHERE next > b ORDER BY long DESC LIMIT 1"
    begin, length = server.call("query", run=run, sql=sql).data["rows"][0]
    return f"g{row['row']}_{begin + length // 2}", length


def test_a_gap_of_the_run_beside_goes_with_it(line, place):  # noqa: F811
    server, runs = place
    gap, length = gap_text(server, runs["kineto_small_after"])
    one, _ = beside(line, place, f"&sel=2{gap}")
    until(lambda: one.selected == f"2{gap}")
    assert f"({length} ns)" in one.page.inner_text(".details").replace("\u2009", "")
    one.page.get_by_role("button", name="Remove it").click()
    until(lambda: one.selected == "" and "sel" not in one.parameters and "with" not in one.parameters)
    one.page.go_back()
    until(lambda: one.selected == f"2{gap}")
    again = line(run="kineto_small", query=f"?sel=2{gap}")  # of a run that is not there
    until(lambda: "at" in again.parameters and "sel" not in again.parameters)


def test_the_steps_of_two_runs_are_compared_on_the_picture(line, place):  # noqa: F811
    one, other = beside(line, place)
    own, theirs = (one.server.call("analyze", run=run).data["steps"]["list"] for run in (one.run, other))
    if not own or not theirs:
        pytest.skip("the runs have no steps")
    until(lambda: one.page.get_attribute("main", "data-differences") == str(min(len(own), len(theirs))))
    begin, end = one.view
    middle = own[0]["start_ns"] - one.ask()["origin_ns"] + own[0]["dur_ns"] / 2
    stage, band = one.page.locator(".stage").bounding_box(), one.page.locator(".titles .band").bounding_box()
    width = one.page.evaluate("document.querySelector('.stage').clientWidth")
    one.page.mouse.move(stage["x"] + (middle - begin) / (end - begin) * width, band["y"] + 8)
    text = until(lambda: one.page.locator(".hover").inner_text()).replace("\u2009", "")
    more = theirs[0]["dur_ns"] - own[0]["dur_ns"]
    assert text.startswith("Step 0") and f"{abs(more)} ns)" in text
    assert more == 0 or ("slower" if more > 0 else "faster") in text
    assert_accessible(one.page)


def test_a_run_beside_is_found_by_its_name(line, place):  # noqa: F811
    one = line(run="kineto_small")
    one.page.get_by_role("button", name="Beside", exact=True).click()
    one.page.get_by_role("combobox", name="Run to put beside").fill("kineto_small_after")
    one.page.get_by_role("option").filter(has_text="kineto_small_after").first.click()
    until(lambda: one.parameters.get("with") == place[1]["kineto_small_after"])
    one.page.get_by_role("button", name="Beside", exact=True).click()
    one.page.get_by_role("combobox", name="Run to put beside").fill(one.run)
    one.press("Enter")
    one.page.wait_for_selector("dialog >> text=This is the run itself")


def test_a_link_to_where_only_the_run_beside_has_something(line, place):  # noqa: F811
    server, runs = place
    short, long = sorted((runs["kineto_small"], runs["recorded"]), key=lambda run: server.call("timeline", run=run).data["end_ns"])
    own, end = (server.call("timeline", run=run).data["end_ns"] for run in (short, long))
    if end < 5 * own:
        pytest.skip("the runs are alike")
    view = f"at={end // 2}-{end // 2 + own}"
    page = line(run="kineto_small").opened.go(f"/runs/{short}/timeline?with={long}&{view}")
    until(lambda: page.locator(".titles li.group", has_text="(beside)").count() > 0)
    page.wait_for_timeout(600)
    assert view in page.evaluate("location.href")


# ---- What is not there yet, or fails


def test_tiles_that_fail_are_asked_for_once_until_someone_tries_again(line):
    one = line()
    sharp(one)
    asked = []
    refuse = lambda route: (asked.append(route.request.url), route.abort())  # noqa: E731
    one.page.route("**/api/v1/timeline?*", refuse)
    one.press(*"wwwwwwww")
    one.page.wait_for_selector("text=The server does not answer")
    one.page.wait_for_timeout(500)
    many = len(asked)
    one.page.wait_for_timeout(500)
    assert many == len(asked) and len(asked) == len(set(asked))
    one.page.unroute("**/api/v1/timeline?*", refuse)
    one.page.locator(".failure", has_text="The server does not answer").get_by_role("button", name="Try again").click()
    sharp(one)
    until(lambda: one.page.locator(".failure").count() == 0)
    one.opened.faults.clear()  # the browser tells each request that was refused


def test_an_analysis_that_is_late_or_fails_is_not_told_as_a_fact(line, place):  # noqa: F811
    server, runs = place
    gap, _ = gap_text(server, runs["kineto_small"])
    one = line(run="hostile")
    held = []
    hold = lambda route: held.append(route)  # noqa: E731, PLW0108
    one.page.route("**/api/v1/analyze", hold)
    one.opened.go(f"/runs/{runs['kineto_small']}/timeline?sel={gap}")
    until(lambda: one.selected == gap and held)
    one.press("]")
    one.page.wait_for_selector("text=the steps are not read yet")
    assert "The analysis is not there yet" in one.page.inner_text(".details")
    for route in held:
        route.fulfill(status=500, json={"error": {"code": "internal", "message": "it broke", "hint": ""}})
    group = one.page.get_by_role("group", name="Steps and causes of gaps")
    group.get_by_text("it broke").wait_for()
    assert "the analysis failed" in one.page.inner_text(".details")
    one.press("]")
    one.page.wait_for_selector("text=the steps could not be read")
    one.page.unroute("**/api/v1/analyze")
    group.get_by_role("button", name="Try again").click()
    until(lambda: group.count() == 0 and "the analysis failed" not in one.page.inner_text(".details"))
    one.opened.faults.clear()


# ---- Pointers


def test_a_press_that_began_elsewhere_selects_nothing(line, kernel):
    one = line(query=f"?sel=k{kernel[0]}")
    until(lambda: one.selected)
    sharp(one)
    head, stage = one.page.locator("h1").bounding_box(), one.page.locator(".stage").bounding_box()
    one.page.mouse.move(head["x"] + 3, head["y"] + 3)
    one.page.mouse.down()
    one.page.mouse.move(stage["x"] + 5, stage["y"] + stage["height"] - 5, steps=3)
    one.page.mouse.up()
    one.page.wait_for_timeout(500)
    assert one.selected == f"k{kernel[0]}"


def test_the_keys_zoom_where_the_pointer_is(line):
    one = line()
    begin, end = until(lambda: one.view if "at" in one.parameters else None)
    box = one.page.locator(".stage").bounding_box()
    one.page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 120)
    under = lambda view: view[0] + (view[1] - view[0]) * 0.25  # noqa: E731
    assert under(one.view_after("w")) == pytest.approx(under((begin, end)), abs=(end - begin) / 200)


def test_space_on_a_button_presses_it_where_space_is_a_key_of_the_page(look, place):  # noqa: F811
    opened = look()
    page = opened.go("/live/none")
    page.get_by_role("button", name="Use the dark colours").focus()
    page.keyboard.press(" ")
    until(lambda: page.evaluate("document.documentElement.dataset.theme") == "dark")
    opened.faults.clear()  # there is no such recording


def test_two_fingers_zoom(line):
    one = line()
    begin, end = until(lambda: one.view if "at" in one.parameters else None)
    box = one.page.locator(".stage").bounding_box()
    at = lambda *shares: [{"x": box["x"] + box["width"] * share, "y": box["y"] + 120, "id": n} for n, share in enumerate(shares)]  # noqa: E731
    touch = one.page.context.new_cdp_session(one.page)
    for kind, fingers in (("Start", at(0.4)), ("Start", at(0.4, 0.6)), ("Move", at(0.3, 0.7)), ("Move", at(0.2, 0.8)), ("End", [])):
        touch.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": fingers})
    narrow = until(lambda: one.view if one.view != (begin, end) else None)
    assert narrow[1] - narrow[0] == pytest.approx((end - begin) / 3, rel=0.02)
    assert sum(narrow) / 2 == pytest.approx((begin + end) / 2, abs=(end - begin) / 100)
    assert one.selected == ""


def test_pins_are_remembered_for_the_next_run_of_the_kind(line, kernel):
    one = line(query=f"?sel=k{kernel[0]}")
    until(lambda: one.selected)
    one.press("p")
    pinned = one.page.locator(".titles li.pinned > span")
    title = until(lambda: pinned.inner_text() if "pin" in one.parameters else None)
    one.opened.go(f"/runs/{one.run}/timeline")
    until(lambda: pinned.count() == 1 and pinned.inner_text() == title)
    one.opened.go(f"/runs/{one.run}/timeline?at=0-1000000")  # a link without pins
    one.page.wait_for_timeout(400)
    assert pinned.count() == 0


def test_hostile_names_stay_text_in_the_details(line):
    one = line(run="hostile")
    selected = one.select_by("ArrowDown")
    assert one.row_of(selected)
    one.press("m")
    one.page.wait_for_selector(".area table")
    assert one.page.evaluate("document.querySelectorAll('main img, main script, main svg[onload]').length") == 0


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", in_full([1280, 1920, 820], [1280]))
def test_the_page_with_all_of_its_parts_is_fine(line, kernel, theme, width):
    one = line(query=f"?sel=k{kernel[0]}", theme=theme, width=width)
    until(lambda: one.selected)
    one.press("m", "p")
    one.page.wait_for_selector(".area table")
    one.page.wait_for_selector(".links")
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert float(one.page.get_attribute("main", "data-frame-ms")) >= 0
    assert_accessible(one.page)


# ---- Notes on spans


def note_of(one, text):
    return one.page.locator(".span-notes .note", has_text=text)


def marks(one):
    return one.page.evaluate("JSON.parse(document.getElementById('main').dataset.notes ?? '[]')")


def test_a_note_is_written_beside_its_span_and_marked(line, kernel):
    one = line(query=f"?sel=s{kernel[2]}")
    until(lambda: one.selected)
    one.page.get_by_label("A note on this span").wait_for()
    one.press("t")
    one.page.keyboard.type("slow <b>here</b>")
    one.press("Control+Enter")
    note_of(one, "slow <b>here</b>").wait_for()
    until(lambda: marks(one) == [f"span:{kernel[2]}"])
    notes = one.server.call("note", run=one.run).data["notes"]
    assert [(note["about"], note["text"]) for note in notes] == [(f"span:{kernel[2]}", "slow <b>here</b>")]
    one.press("Escape")  # out of the field: the keys are those of the picture again
    until(lambda: one.page.evaluate("document.activeElement.classList.contains('stage')"))
    other = line(query=f"?sel=k{kernel[0]}")
    other.page.get_by_label("A note on all kernels of this name").wait_for()
    assert other.page.locator(".span-notes .note").count() == 0
    note_of(one, "slow").get_by_role("button", name="Remove").click()
    until(lambda: marks(one) == [])


def test_a_note_of_the_run_page_leads_to_its_span(line, kernel, look, place):  # noqa: F811
    server, runs = place
    number = server.call("note", run=runs["recorded"], text="look here", about=f"span:{kernel[1]}").data["notes"][-1]["note"]
    page = look().go(f"/runs/{runs['recorded']}/notes")
    page.get_by_role("link", name=f"span:{kernel[1]}").click()
    page.wait_for_selector(f'.details[data-selected="s{kernel[1]}"]')
    page.locator(".span-notes .note", has_text="look here").wait_for()
    until(lambda: f"sel=s{kernel[1]}" in page.evaluate("location.href") and "show=" not in page.evaluate("location.href"))
    whole = server.call("timeline", run=runs["recorded"]).data
    begin, end = map(int, re.search(r"at=(-?\d+)-(-?\d+)", page.evaluate("location.href")).groups())
    assert end - begin < whole["end_ns"] - whole["begin_ns"], "the view goes to the span"
    server.call("note", run=runs["recorded"], remove=number)


def test_who_may_only_read_writes_no_notes(browser, place, kernel):  # noqa: F811
    server, runs = place
    reader = server.add_token("reader", "read")
    context = browser.new_context()
    context.request.get(f"{server.url}/?token={reader}")
    page = context.new_page()
    page.goto(f"{server.url}/runs/{runs['recorded']}/timeline?sel=s{kernel[2]}")
    page.wait_for_selector(".details .links")
    assert page.locator(".span-notes").count() == 0
    context.close()


# ---- Counters and sampled stacks

ORIGIN = 1_760_000_000_000_000_000


def run_with_extras():
    """A thread with spans, a device, counters with a peak, and stacks of two threads of which one has no spans."""
    thread = {"kind": "thread", "process_id": 42, "process_name": "python", "clock_id": 0}
    at = [ORIGIN + n * 1_000_000 for n in range(100)]
    cache, power = {"track_id": 0, "name": "cache", "unit": "B"}, {"track_id": 2, "name": "power", "unit": "W"}
    watts = [700.5 if n == 7777 else 300 + n % 7 for n in range(10_000)]
    span, work = {"track_id": 0, "kind": "annotation", "dur_ns": 900_000}, {"track_id": 1, "device": 0, "stream": 7, "dur_ns": 700_000}
    stack, weight = "main;forward", 1_000_000
    return {
        "schema": "neurolens.run-file/1",
        "metadata": {"clocks": [{"kind": "unix", "base_unix_ns": 0}]},
        "tracks": [
            {**thread, "thread_id": 42, "thread_name": "main"}, {"kind": "stream", "device": 0, "stream": 7, "clock_id": 0},
            {"kind": "other", "device": 0, "clock_id": 0}, {**thread, "thread_id": 43, "thread_name": "loader"},
        ],
        "spans": [{**span, "name": f"step {n}", "start_ns": one} for n, one in enumerate(at)],
        "kernels": [{**work, "name": "gemm", "start_ns": one + 100_000} for one in at],
        "counters": [
            *({**power, "start_ns": ORIGIN + n * 10_000, "value": value} for n, value in enumerate(watts)),
            *({**cache, "series": f"way {k}", "start_ns": one, "value": k + n} for n, one in enumerate(at) for k in range(14)),
        ],
        "samples": [
            *({"track_id": 0, "start_ns": one, "stack": stack if n < 50 else f"{stack};mm", "weight": weight} for n, one in enumerate(at)),
            *({"track_id": 3, "start_ns": one, "stack": "loader;<img src=x onerror=alert(1)>", "weight": weight} for one in at),
        ],
    }


@pytest.fixture(scope="module")
def extra_runs(place, tmp_path_factory):  # noqa: F811
    """Beside the runs of the place: one with all of it, and one that has counters alone."""
    server, runs = place
    alone = [{"name": "power", "unit": "W", "start_ns": 1000 + 2000 * n, "value": 3 + n} for n in range(2)]
    files = {"extras": run_with_extras(), "counters_alone": {"schema": "neurolens.run-file/1", "counters": alone}}
    for name, run in files.items():
        path = tmp_path_factory.mktemp(name) / "run.json"
        path.write_text(json.dumps(run))
        runs[name] = server.neurolens.import_file(path)["run_id"]
    return runs


def range_of(one, title):
    return one.page.locator(f'.titles [data-range="{title}"]').inner_text().replace("\u2009", " ")


def sharp(one):
    until(lambda: one.page.get_attribute("main", "data-sharp") == "true")


def test_counters_are_rows_with_what_they_range_over_in_the_view(line, extra_runs):
    one = line(run="extras")
    until(lambda: range_of(one, "power") == "300 to 700.5 W")
    counters = one.sql("SELECT count(DISTINCT (name, series)) AS n FROM counters")[0]["n"]
    rows = len(one.ask()["rows"]) + 2  # strips of two threads
    lines = lambda: int(one.page.get_attribute(".timeline", "data-lines"))  # noqa: E731
    assert lines() == rows + 12 + len(["GPU 0", "python", "Counters", "More counters"]), "the rest is folded"
    one.page.get_by_role("button", name="Fold all").click()
    one.page.get_by_role("button", name="More counters").press("Enter")
    until(lambda: lines() == 4 + counters - 12)
    one = line(run="extras", query="?at=10000000-10040000&rows=power")
    begin, end = ORIGIN + 10_000_000, ORIGIN + 10_040_000
    held = f"SELECT min(value) AS low, max(value) AS high FROM counters WHERE name = 'power' AND start_ns BETWEEN {begin} AND {end}"
    low, high = one.sql(held)[0].values()
    until(lambda: range_of(one, "power") == f"{low:.0f} to {high:.0f} W")
    one.press("g")
    one.page.keyboard.type("10.022 ms")
    one.press("Enter")
    before = f"name = 'power' AND start_ns <= {ORIGIN + 10_022_000}"
    value = one.sql(f"SELECT arg_max(value, start_ns) AS value FROM counters WHERE {before}")[0]["value"]
    until(lambda: range_of(one, "power").endswith(f"; {value:.0f} W at the mark"))


def test_the_cursor_says_the_value_of_a_counter_and_the_stack_of_a_sample(line, extra_runs):
    one = line(run="extras")
    until(lambda: range_of(one, "power") != "")
    sharp(one)
    stage, top = one.page.locator(".stage").bounding_box(), lambda title: one.page.locator(f'.titles [data-extra="{title}"]').bounding_box()
    one.page.mouse.move(stage["x"] + stage["width"] / 4, top("power")["y"] + 8)
    text = until(lambda: one.page.locator(".hover").inner_text())
    assert text.startswith("power\n") and "W" in text
    one.page.mouse.move(stage["x"] + stage["width"] * 0.75, top("main, sampled")["y"] + 8)
    until(lambda: one.page.locator(".hover").inner_text().startswith("mm\n100.0"))
    assert one.page.locator(".hover").inner_text().endswith("main\nforward\nmm")
    one.page.mouse.move(stage["x"] + stage["width"] * 0.75, top("loader, sampled")["y"] + 8)
    until(lambda: "<img src=x" in one.page.locator(".hover").inner_text())


def test_an_area_tells_its_functions_and_counters_as_sql_does(line, extra_runs):
    one = line(run="extras", query="?area=40000000-70000000")
    one.page.wait_for_selector('.functions[data-ready="true"]')
    rows = one.page.locator(".functions tbody tr").all_inner_texts()
    shown = {name: int(count) for name, count, _ in (row.split("\t") for row in rows)}
    inside = f"start_ns >= {ORIGIN + 40_000_000} AND start_ns < {ORIGIN + 70_000_000}"
    counted = one.sql(f"SELECT string_split(stack, ';')[-1] AS leaf, count(*) AS n FROM samples WHERE {inside} GROUP BY 1")
    assert shown == {row["leaf"]: row["n"] for row in counted}
    one.page.wait_for_selector('.counters-of-area[data-ready="true"]')
    power = one.page.locator(".counters-of-area tr", has_text="power").locator("td")
    figures = "min(value) AS low, avg(value) AS mean, max(value) AS high"
    low, mean, high = one.sql(f"SELECT {figures} FROM counters WHERE name = 'power' AND {inside}")[0].values()
    exact = [float(power.nth(n).locator("[title]").get_attribute("title").split()[0]) for n in (2, 3, 4)]
    assert exact == pytest.approx([low, mean, high])
    sql = one.page.locator(".functions caption").get_by_role("button", name="Copy SQL").get_attribute("title")
    assert len(one.sql(sql)) == len(shown)


def test_an_area_of_a_strip_counts_its_thread_alone(line, extra_runs):
    one = line(run="extras")
    until(lambda: one.page.locator('.titles [data-extra="main, sampled"]').count() == 1)
    sharp(one)
    strip, stage = one.page.locator('.titles [data-extra="main, sampled"]').bounding_box(), one.page.locator(".stage").bounding_box()
    y = strip["y"] + strip["height"] / 2
    one.page.keyboard.down("Shift")
    one.page.mouse.move(stage["x"] + 10, y)
    one.page.mouse.down()
    one.page.mouse.move(stage["x"] + stage["width"] / 3, y, steps=5)
    one.page.mouse.up()
    one.page.keyboard.up("Shift")
    one.page.wait_for_selector('.functions[data-ready="true"]')
    assert [row.split("\t")[0] for row in one.page.locator(".functions tbody tr").all_inner_texts()] == ["forward"]
    assert one.page.locator(".area .scroll").count() == 0, "no row of spans was chosen"


def test_a_counter_is_pinned_and_filtered_as_rows_are(line, extra_runs):
    one = line(run="extras", query="?rows=power")
    until(lambda: range_of(one, "power") != "")
    assert one.page.locator(".titles li").count() == 2
    one.page.locator(".titles .series .pin").focus()
    one.press("Enter")
    until(lambda: "pin" in one.parameters and one.page.locator(".titles li").first.get_attribute("class") == "pinned series")
    again = line(run="extras", query=f"?{one.address.split('?')[1]}")
    until(lambda: again.page.locator(".titles .pinned.series").count() == 1)


def test_a_run_of_counters_alone_has_a_time_line(line, extra_runs):
    one = line(run="counters_alone")
    until(lambda: range_of(one, "power") == "3 to 4 W")
    assert one.page.locator(".titles .series").count() == 1


def test_a_run_without_counters_asks_for_none(line):
    one = line()
    sharp(one)
    assert one.page.locator(".titles .series, .titles .stacks").count() == 0
    assert one.page.locator(".titles li.group", has_text="Counters").count() == 0


# ---- A step as a window


def test_an_area_is_analysed_and_exported(line):
    one = line()
    steps = one.server.call("analyze", run=one.run).data["steps"]
    if not steps or not steps["list"]:
        pytest.skip("the run has no steps")
    step, origin = steps["list"][0], one.ask()["origin_ns"]
    begin = step["start_ns"] - origin
    one = line(query=f"?area={begin + 1}-{begin + step['dur_ns'] - 1}")
    link = one.page.locator(".area-window a", has_text="Perfetto")
    assert one.server.get("/" + link.get_attribute("href")).status == 200
    one.page.get_by_role("link", name="Analyze this stretch").click()
    stretch = f"ns:{step['start_ns'] + 1}..{step['start_ns'] + step['dur_ns'] - 1}"
    until(lambda: f"window={urllib.parse.quote(stretch, safe='')}" in one.address)
    one.page.wait_for_selector(".verdict")
    assert one.server.call("analyze", run=one.run, window=stretch).data["window"]["total_ns"] == step["dur_ns"] - 2
    again = line(query=f"?area={begin + 1}-{begin + step['dur_ns'] - 1}")
    again.page.get_by_role("link", name="all of").click()
    until(lambda: f"window={step['window'].replace(':', '%3A')}" in again.address)
    beyond = line(query=f"?area={begin - 1}-{begin + 1}")
    beyond.page.wait_for_selector(".area-window")
    assert beyond.page.get_by_role("link", name="all of").count() == 0


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", in_full([1280, 820], [820]))
def test_extra_rows_are_fine(line, extra_runs, theme, width):
    one = line(run="extras", query="?sel=s3&area=40000000-70000000", theme=theme, width=width)
    until(lambda: one.selected)
    one.page.wait_for_selector(".counters-of-area")
    one.page.wait_for_selector(".functions")
    one.page.wait_for_selector(".note-form")
    assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert one.page.evaluate("document.querySelectorAll('main img, main script').length") == 0
    assert_accessible(one.page)


def test_new_keys_are_in_the_list(line):
    one = line()
    one.press("?")
    one.page.wait_for_selector("dialog >> text=write a note on the selected span")
