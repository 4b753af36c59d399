"""What a run does not have, its pages show as not known, with the reason: never as 0, "OK" or a word of the program. What is absent is
taken from the answers of the server, for each run and tab."""

import collections
import json
import re

import pytest

from conftest import REPOSITORY, TRACES, Neurolens
from server import until
from test_web import in_full, looks, served_with_pages
from test_web_run import RECORDED, TABS

PAGES = [*TABS, "timeline"]
SMALL = ["onnxruntime", "graph", "sums", "rocprof"]
WORDS = re.compile(r"(?<![\w.'\"-])(NaN|undefined|null|Infinity|\[object Object\])(?![\w'\"-])")
ZERO = re.compile(r"(?<![\w.,\u2009/:-])0(?:\.0+)?(?:\s?(?:ns|%|B|B/s|Hz|FLOP/s))?(?![\w.,\u2009:/-])")

# Of all cells: what they show, and the reasons of those that show a dash.
CELLS = """() => [...document.querySelectorAll('main td:not([aria-hidden]), main dd')].map((cell) => ({
    text: cell.textContent.trim(), column: cell.closest('table')?.rows[0]?.cells[cell.cellIndex]?.innerText ?? '',
    isDrawn: cell.querySelector('svg, button, a, input, [role=img]') !== null, isSeen: cell.offsetParent !== null,
    reasons: [...cell.querySelectorAll('.absent')].map((one) => [one.title, one.ariaLabel])}))"""


def all_runs(neurolens):
    """Each file of the corpus that is a profile, by its name."""
    files = sorted(path for path in TRACES.rglob("*") if path.is_file()) if TRACES.exists() else []
    for some in (files[at : at + 20] for at in range(0, len(files), 20)):
        neurolens("import", *some, "--json", code=None)
    return {f"{run['file_names'].removeprefix(str(TRACES))} {run['run_id'][:8]}": run["run_id"] for run in neurolens.runs()}


def few_runs(neurolens):
    files = {name: [TRACES / one for one in RECORDED[name]] for name in SMALL}
    return {name: neurolens.import_file(*paths)["run_id"] for name, paths in files.items() if all(path.exists() for path in paths)}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    neurolens = Neurolens(tmp_path_factory.mktemp("ledger"))
    runs = {name: neurolens.import_file(REPOSITORY / f"samples/{name}.json")["run_id"] for name in ("kineto_small", "native_full")}
    runs |= in_full(all_runs, few_runs)(neurolens)
    yield from served_with_pages(neurolens, runs)


@pytest.fixture
def look(browser, place):
    yield from looks(browser, place[0])


class Known:
    """What the server says of a run."""

    def __init__(self, server, run):
        self.server, self.run = server, run
        self.analysis = server.call("analyze", run=run, top=10000).data
        self.short = server.call("analyze", run=run).data
        self.show = server.call("show", run=run).data
        self.devices = self.analysis["devices"]
        has_rows = server.call("timeline", run=run, what="rows").data["rows"] != []
        self.has_times = has_rows or self.rows("SELECT min(start_ns) < max(start_ns) FROM counters") == [[True]]
        self.texts = "\n".join(texts([self.analysis, self.show, self.rows("SELECT DISTINCT name FROM spans")]))

    def rows(self, sql):
        return self.server.call("query", run=self.run, sql=sql, limit=5000).data["rows"]


def texts(value):
    """All names of an answer: a kernel may be called null."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
        yield from texts(one)


def nulls(rows, *fields):
    return sum(row.get(field) is None for row in rows for field in fields)


def most_time(kernels):
    return sorted(kernels, key=lambda one: -one["total_ns"])[:400]


def counted(known):
    return (known.analysis["counters"] or {"kernels": []})["kernels"]


def counter_columns(kernels):
    fields = [
        "sm_pct", "memory_pct", "dram_pct", "tensor_pct", "achieved_occupancy_pct", "theoretical_occupancy_pct", "l1_hit_pct", "l2_hit_pct",
        "warp_efficiency_pct", "ipc", "registers", "dram_bytes", "sm_clock_hz",
    ]  # fmt: skip
    return [field for field in fields if any(one[field] is not None for one in kernels)]


def dashes(known, tab):
    """Tables of a tab, and how many values of each the answers do not have."""
    work = [one for one in known.devices if one["kind"] == "device"]
    waits = {one["rank"] for one in known.analysis["collectives"]["waits"]}
    files = known.show["sources"]
    kernels, ops = known.analysis["top_kernels"], work[0]["roofline"]["ops"] if work else []
    tables = {
        "kernels": {"Table of kernels": nulls(most_time(kernels), "share", "mean_ns", "exposed_share")},
        "roofline": {
            "Table of ops and their roof": nulls(ops, "intensity", "flops_per_s", "bytes_per_s", "bound", "roof_share"),
            "Table of counted kernels and their roof": nulls(
                counted(known), "dtype", "replay_ns", "intensity", "flops_per_s", "roof_bound", "roof_share"
            ),
        },
        "ranks": {"Table of ranks": 0 if must_say_why(known, tab) else 2 * sum(one["rank"] not in waits for one in known.devices)},
        "counters": {"Table of counted kernels": nulls(counted(known), "replay_ns", "share", "bound", *counter_columns(counted(known)))},
        "provenance": {"Table of files": sum(not one.get("tool") for one in files) + nulls(files, "text_bytes")},
    }
    if tab == "" and not kernels:
        return {"Table of ops": nulls(known.short["top_ops"], "calls", "share") + sum(
            one.get("own_ns", one.get("device_ns")) is None for one in known.short["top_ops"])}  # fmt: skip
    if tab == "kernels" and not kernels:
        sums = known.rows("SELECT calls, total, average, share_pct FROM summaries ORDER BY report, total DESC")
        return {"Sums of the profiler": sum(cell is None for row in sums[:400] for cell in row)}
    return tables.get(tab, {})


def must_say_why(known, tab):
    """Whether the tab has nothing to show but a reason."""
    has_work = any(one["kind"] == "device" for one in known.devices)
    collectives = known.analysis["collectives"]
    return {
        "roofline": not has_work and not counted(known),
        "memory": not known.devices,
        "ranks": len(known.devices) < 2 and collectives["calls"] == 0,
        "timeline": not known.has_times,
    }.get(tab, False)


def faults_of(page, known, tab):
    text = page.inner_text("main")
    faults = [f"the word {word}" for word in set(WORDS.findall(text)) if word not in known.texts]
    for cell in page.evaluate(CELLS):
        where = f"{cell['column']}: {cell['text'][:60]!r}"
        if cell["text"] == "OK" or (cell["text"] == "" and not cell["isDrawn"] and cell["isSeen"]):
            faults.append(f"no value and no reason in {where}")
        if "—" == cell["text"] and not cell["reasons"]:
            faults.append(f"a dash without a reason in {where}")
        if any(not title or title not in label for title, label in cell["reasons"]):
            faults.append(f"a reason that is not told in {where}")
    for label, count in dashes(known, tab).items():
        table = page.get_by_role("region", name=label, exact=True)
        if table.count() and (found := table.locator("td .absent").count()) != count:
            faults.append(f"{label}: {found} dashes for {count} values that are absent")
        if not table.count() and count:
            faults.append(f"{label} is not there")
    if must_say_why(known, tab):
        said = page.locator(".empty").all_inner_texts()
        faults += [] if said and all(one.strip().endswith(".") for one in said) else [f"no reason but {said}"]
        faults += [f"a zero: {zero}" for zero in ZERO.findall(text)] if not known.devices and tab != "timeline" else []
    return faults


def opened(view, run, tab):
    """The tab, by a click: that is quicker than a new page."""
    links = view.page.get_by_role("navigation", name="Of this run")
    if tab == "":
        view.go(f"/runs/{run}")
    else:
        links.get_by_role("link", name=tab.capitalize(), exact=True).click()
    view.page.wait_for_selector(f"a[aria-current][href$='{run}{'/' if tab else ''}{tab}']")
    view.page.wait_for_selector('main[data-ready="true"]')
    until(lambda: view.page.locator("main .waiting").count() == 0)
    return view.page


PARTS = in_full(16, 1)


@pytest.mark.parametrize("part", range(PARTS))
def test_what_a_run_does_not_have_is_told_with_its_reason(look, place, part):
    server, runs = place
    view, faults = look(), {}
    for name, run in [*runs.items()][part::PARTS]:
        known = Known(server, run)
        for tab in PAGES:
            if found := faults_of(opened(view, run, tab), known, tab):
                faults[f"{name}, {tab}"] = found
    assert faults == {}


def is_nullable(schema):
    kinds = schema.get("type", [])
    return "null" in (kinds if isinstance(kinds, list) else [kinds]) or any(is_nullable(one) for one in schema.get("anyOf", []))


def emptied(value, schema, is_optional=False):
    """The answer without any number that its schema does not promise. LEFT_OUT stands for a field that is not there."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return None if is_nullable(schema) else LEFT_OUT if is_optional else value
    if isinstance(value, list):
        return [emptied(one, schema.get("items", {})) for one in value]
    if not isinstance(value, dict):
        return value
    shape = next((one for one in schema.get("anyOf", [schema]) if set(one.get("required", [])) <= set(value)), schema)
    fields, required = shape.get("properties", {}), shape.get("required", [])
    optional = fields.keys() - required
    other = shape.get("additionalProperties") or {}
    left = {name: emptied(one, fields.get(name, other), name in optional) for name, one in value.items()}
    reasons = {"absent", "absent_reason"} & optional if LEFT_OUT in left.values() else set()
    return {name: one for name, one in left.items() if one is not LEFT_OUT} | dict.fromkeys(reasons, "left out by the test")


LEFT_OUT = object()


def zeros(page):
    return collections.Counter(ZERO.findall(page.inner_text("main")))


@pytest.mark.parametrize("name", in_full(["kineto_small", "native_full", "ranks", "ncu", "rocprof", "serving", "trtexec"], ["native_full"]))
def test_no_number_stands_for_one_that_the_schema_lets_be_absent(look, place, neurolens, name):
    server, runs = place
    if name not in runs:
        paths = [TRACES / one for one in RECORDED[name]]
        if not all(path.exists() for path in paths):
            pytest.skip(f"{paths[0]} is not there: set NEUROLENS_TRACES")
        runs[name] = server.neurolens.import_file(*paths, *(["--as-one"] if len(paths) > 1 else []))["run_id"]
    schema = json.loads(neurolens("schema", "print", "analyze").out)["properties"]["data"]

    def without(route):
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "data": emptied(answer.json()["data"], schema)})

    view = look()
    for tab in TABS:
        address = f"/runs/{runs[name]}/{tab}".rstrip("/")
        before = zeros(view.go(address))
        view.page.route("**/api/v1/analyze", without)
        page = view.go(address)
        assert WORDS.findall(page.inner_text("main")) == [], tab
        assert zeros(page) - before == collections.Counter(), tab
        assert page.locator(".failure").count() == 0, tab
        view.page.unroute("**/api/v1/analyze")
