"""The Python package reads runs: the same names and numbers as SQL, exact, in tables of Arrow, pandas and polars, and its
report inside of a notebook."""

import json
import os
import pathlib
import subprocess
import sys

import pyarrow
import pytest

from conftest import BINARY, REPOSITORY
from html_page import HOSTILE, Page, hostile_run

sys.path.insert(0, str(REPOSITORY / "python"))
import neurolens as package


@pytest.fixture(autouse=True)
def program(monkeypatch):
    monkeypatch.setenv("NEUROLENS_PROGRAM", str(BINARY))


@pytest.fixture
def run(neurolens, small_run):
    return package.open(small_run, neurolens.ledger)


# ---- Opening


def test_a_run_has_many_names(neurolens, small_run, small_trace, tmp_path, monkeypatch):
    neurolens("tag", small_run, "first")
    for name in (small_run, small_run[:12], "@latest", "first", neurolens.bundle(small_run), str(neurolens.bundle(small_run))):
        assert package.open(name, neurolens.ledger).id == small_run
    assert package.open(small_trace, tmp_path / "another").id == small_run, "imported on the way"
    monkeypatch.setenv("NEUROLENS_LEDGER", str(neurolens.ledger))
    assert package.open("@latest").id == small_run


@pytest.mark.parametrize("name", ["no_such_run", "@latest~7", "/no/such/file"])
def test_a_name_that_is_none_is_an_error(neurolens, small_run, name):
    with pytest.raises(package.Error) as raised:
        package.open(name, neurolens.ledger)
    assert raised.value.code == "not_found" and raised.value.exit_code == 2


def test_a_run_stays_what_it_is(neurolens, small_run, make_trace, tmp_path, monkeypatch):
    """Neither a later import nor another working folder changes which run it is."""
    monkeypatch.chdir(tmp_path)
    latest = package.open("@latest", "ledger")
    bundle = package.open(f"ledger/runs/{small_run}", "nowhere")
    neurolens.import_file(make_trace(1))
    monkeypatch.chdir("/")
    for run in (latest, bundle):
        assert run.id == small_run and run.tables["kernels"] == 20


# ---- Tables


def test_tables_are_those_of_sql(neurolens, small_run, run):
    names = [table["name"] for table in neurolens("schema", "--json").data["tables"]]
    counts = {name: neurolens.value(small_run, f"SELECT count(*) AS n FROM {name}") for name in names}
    assert run.tables == {name: rows for name, rows in counts.items() if rows > 0}
    assert {"kernels", "spans", "ops", "kernel_links"} <= set(run.tables)


@pytest.mark.parametrize("name", ["tracks", "spans", "ops", "kernels", "copies", "span_tree", "kernel_links", "requests"])
def test_a_table_has_the_rows_of_sql(neurolens, small_run, run, name):
    assert run.table(name).to_pylist() == neurolens.rows(small_run, f"SELECT * FROM {name}") == run.rows(f"SELECT * FROM {name}")


def test_columns_and_rows_can_be_chosen(run):
    table = run.table("kernels", ["kernel_id", "dur_ns"], where="dur_ns > 38000 AND name LIKE '%9>%'")
    assert table.column_names == ["kernel_id", "dur_ns"]
    assert table.to_pylist() == [{"kernel_id": 9, "dur_ns": 39_333}, {"kernel_id": 19, "dur_ns": 39_333}]


def test_integers_are_exact(run):
    table = run.table("kernels", ["start_ns", "dur_ns", "graph_id"])
    assert {str(field.type) for field in table.schema} == {"int64"}
    (total,) = run.sql("SELECT sum(start_ns) AS total FROM kernels WHERE kernel_id < 5")["total"]
    assert total.type == pyarrow.int64()
    assert total.as_py() == sum(table["start_ns"].to_pylist()[:5]) > 2**53


def test_pandas_rounds_nothing_and_knows_na(run):
    pandas = pytest.importorskip("pandas")
    frame = run.pandas("kernels")
    assert frame["start_ns"].dtype == frame["graph_id"].dtype == pandas.Int64Dtype()
    assert frame["start_ns"].tolist() == run.table("kernels")["start_ns"].to_pylist()
    assert frame["graph_id"].isna().all() and len(frame) == 20
    mixed = run.pandas("spans", ["span_id", "start_ns", "correlation_id"])
    assert mixed["correlation_id"].isna().any() and not mixed["correlation_id"].isna().all()


def test_polars_rounds_nothing_and_knows_null(run):
    polars = pytest.importorskip("polars")
    frame = run.polars("kernels", ["start_ns", "graph_id"])
    assert frame.schema == {"start_ns": polars.Int64, "graph_id": polars.Int64}
    assert frame["start_ns"].to_list() == run.table("kernels")["start_ns"].to_pylist()
    assert frame["graph_id"].null_count() == 20


@pytest.mark.parametrize("module, call", [
    ("pyarrow", lambda run: run.table("kernels")),
    ("pandas", lambda run: run.pandas("kernels")),
    ("polars", lambda run: run.polars("kernels")),
])
def test_what_is_not_installed_is_named(run, monkeypatch, module, call):
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(package.Error) as raised:
        call(run)
    assert raised.value.code == "unavailable"
    assert f"neurolens[{'arrow' if module == 'pyarrow' else module}]" in raised.value.hint
    assert len(run.rows("SELECT * FROM kernels")) == 20


@pytest.mark.parametrize("call", [
    lambda run: run.table("no_such_table"),
    lambda run: run.table('kernels"; DROP TABLE kernels; --'),
    lambda run: run.table("kernels", ["no_such_column"]),
    lambda run: run.table("kernels", where="no such condition"),
    lambda run: run.sql("DELETE FROM kernels"),
    lambda run: run.rows("COPY kernels TO '/tmp/x'"),
    lambda run: run.analyze(window="no_such_window"),
    lambda run: run.report(format="pdf"),
])
def test_what_cannot_be_asked_is_an_error(neurolens, small_run, run, call):
    before = neurolens.facts(small_run)
    with pytest.raises(package.Error) as raised:
        call(run)
    assert raised.value.code in ("bad_input", "not_found") and raised.value.message
    assert neurolens.facts(small_run) == before


def test_a_program_may_end_right_after_reading(neurolens, small_run):
    """Threads of Arrow that outlive the interpreter abort it; one time in four, so there are several."""
    program = f"import neurolens; neurolens.open('@latest', {str(neurolens.ledger)!r}).table('kernels').to_pylist()"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY / "python")}
    codes = [subprocess.run([sys.executable, "-c", program], env=environment).returncode for _ in range(12)]
    assert codes == [0] * 12


# ---- What a run is, its analysis and report


def test_metadata_and_labels(neurolens, small_run, run):
    assert run.metadata["format"] == "kineto" and run.metadata["counts"]["seen"] == 206
    assert "model" not in run.labels
    neurolens("label", small_run, "model=tiny")
    assert run.labels["model"] == "tiny"
    assert repr(run) == f"<neurolens.Run {small_run[:12]} (kineto)>"


def test_analysis_is_that_of_the_program(neurolens, small_run, run):
    assert run.analyze() == neurolens("analyze", small_run, "--json").data
    assert run.findings() == run.analyze()["findings"] != []


@pytest.mark.parametrize("format_name, file", [("html", "report.html"), ("md", "report.md"), ("json", "report.json")])
def test_report_is_that_of_the_program(neurolens, small_run, run, tmp_path, format_name, file):
    neurolens("report", small_run, "-o", tmp_path / "reports")
    expected = (tmp_path / "reports" / file).read_text()
    assert run.report(format=format_name) == expected
    assert run.report(tmp_path / "mine", format_name) == expected == (tmp_path / "mine").read_text()


# ---- Notebooks


def executed(cells, tmp_path, ledger):
    """The outputs of the cells of a notebook that a real kernel has run."""
    nbclient = pytest.importorskip("nbclient", reason="no nbclient: run tools/setup")
    import nbformat

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    kernel = tmp_path / "share/jupyter/kernels/here"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps({
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "here",
        "language": "python", "env": {"PYTHONPATH": str(REPOSITORY / "python"), "NEUROLENS_LEDGER": str(ledger)}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(tmp_path / "share/jupyter"))
        patch.setenv("HOME", str(tmp_path))
        nbclient.NotebookClient(notebook, kernel_name="here", timeout=120).execute()
    return [cell["outputs"] for cell in notebook.cells]


@pytest.fixture
def hostile_page(neurolens, tmp_path):
    """A notebook that shows a run whose names try to do something, as a page."""
    (tmp_path / "hostile.json").write_text(json.dumps(hostile_run()))
    neurolens.import_file(tmp_path / "hostile.json")
    _, (shown,) = executed(["import neurolens", "neurolens.open('@latest')"], tmp_path, neurolens.ledger)
    assert shown["data"]["text/plain"].startswith("<neurolens.Run ")
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><title>notebook</title><body>{shown['data']['text/html']}</body>")
    return path


def test_a_notebook_shows_the_report(hostile_page):
    page = Page(hostile_page.read_text())
    assert [tag for tag, _ in page.elements if tag not in ("title", "body")] == ["iframe"]
    (frame,) = [names for tag, names in page.elements if tag == "iframe"]
    assert frame["sandbox"] == "" and set(frame) == {"sandbox", "srcdoc", "style"}
    assert Page(frame["srcdoc"]).figures


def test_a_browser_shows_it_and_names_do_nothing(hostile_page, browser, tmp_path):
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    requests, messages = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("dialog", lambda dialog: (messages.append(dialog.message), dialog.dismiss()))
    page.goto(hostile_page.as_uri())
    frame = page.frames[1]
    shown = frame.locator("body").inner_text()
    page.screenshot(path=tmp_path / "notebook.png")
    assert HOSTILE[9] in shown and HOSTILE[12] in shown
    assert frame.locator("figure").count() > 3
    assert requests == [hostile_page.as_uri()] and not messages
    page.close()


def test_a_notebook_shows_the_time_line(neurolens, small_run, browser, tmp_path):
    _, (shown,) = executed(["import neurolens", "neurolens.open('@latest').timeline(height='30em')"], tmp_path, neurolens.ledger)
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><title>notebook</title><body>{shown['data']['text/html']}</body>")
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    requests, messages = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: messages.append(message.text))
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.goto(path.as_uri())
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    frame = page.frames[1]
    frame.wait_for_selector('main.timeline-page[data-ready="true"]')
    rows = neurolens("timeline", small_run, "--json").data["rows"]
    assert int(frame.get_attribute(".timeline", "data-lines")) >= len(rows) > 0
    frame.get_by_role("link", name="Kernels").first.click()
    frame.wait_for_selector('main[data-ready="true"] table')
    assert "gemm" in frame.inner_text("main")
    page.screenshot(path=tmp_path / "notebook.png")
    assert [one for one in requests if not one.startswith(("data:", "blob:"))] == [path.as_uri()] and not messages
    page.close()


def test_pages_for_a_notebook_are_a_file_too(neurolens, small_run, run, tmp_path):
    pages = run.timeline()
    pages.save(tmp_path / "mine.html")
    neurolens("view", "--file", tmp_path / "its.html", "--page", "timeline", small_run)
    assert (tmp_path / "mine.html").read_bytes() == (tmp_path / "its.html").read_bytes()
    assert "neurolens.Page" in repr(pages)


def test_sources_and_stubs_name_the_same():
    stub = (pathlib.Path(package.__file__).parent / "__init__.pyi").read_text()
    for name in package.__all__:
        assert f" {name}(" in stub or f" as {name}\n" in stub, name
