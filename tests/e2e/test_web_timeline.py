"""The page of the time line in a real browser: keys, selection, details, links, areas, rows and the address, held against SQL."""

import re

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
