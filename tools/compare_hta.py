#!/usr/bin/env python3
"""Figures of HolisticTraceAnalysis beside ours on the same Kineto traces, as a Markdown table.

usage: PYTHON tools/compare_hta.py TRACE...      PYTHON: a Python that has the package HolisticTraceAnalysis
The binary is build/release/bin/neurolens or $NEUROLENS_BIN. Three columns: what HTA prints; what its definition gives
when it is computed in SQL from our tables; what `neurolens analyze` says of the whole capture. The second must equal
the first, or the import lost or changed something; the third differs by definition. Times in microseconds.
"""

import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

BINARY = os.environ.get("NEUROLENS_BIN", pathlib.Path(__file__).resolve().parents[1] / "build/release/bin/neurolens")

# Times as HTA has them: microseconds in floating point, starts rounded up and ends rounded down to whole ones.
ROUNDED = """
gpu AS (SELECT true AS work, name, stream, start_ns - {base} AS s, dur_ns AS d, correlation_id FROM kernels
        UNION ALL SELECT true, name, stream, start_ns - {base}, dur_ns, correlation_id FROM copies
        UNION ALL SELECT false, name, stream, start_ns - {base}, dur_ns, correlation_id FROM syncs WHERE stream >= 0
        UNION ALL SELECT false, name, NULL, start_ns - {base}, dur_ns, NULL FROM spans WHERE args LIKE '%"stream":%'),
raw AS (SELECT *, (s // 1000)::DOUBLE + (s % 1000) / 1000 AS t, (d // 1000)::DOUBLE + (d % 1000) / 1000 AS u FROM gpu),
rounded AS (SELECT work, name, stream, correlation_id, ceil(t) AS b, floor(t + u) AS e FROM raw),
host_ns AS (SELECT span_id, name, correlation_id, start_ns - {base} AS s, dur_ns AS d FROM spans WHERE dur_ns IS NOT NULL),
host_raw AS (SELECT *, (s // 1000)::DOUBLE + (s % 1000) / 1000 AS t, (d // 1000)::DOUBLE + (d % 1000) / 1000 AS u
             FROM host_ns),
host AS (SELECT span_id, name, correlation_id, ceil(t) AS b, floor(t + u) AS e FROM host_raw),
step AS (SELECT max(b) AS last, count(DISTINCT name) AS steps FROM host WHERE name LIKE 'ProfilerStep%'),
"""

# With two steps or more, HTA leaves out the last step and everything whose launch it does not see.
FILTERED = """
events AS (SELECT r.* FROM rounded r, step WHERE steps < 2
           UNION ALL SELECT r.* FROM rounded r JOIN host h USING (correlation_id), step WHERE steps >= 2 AND h.b < last),
calls AS (SELECT h.* FROM host h, step WHERE correlation_id IS NOT NULL AND (steps < 2 OR b < last)),
"""

MERGED = """
{to}_open AS (SELECT b, e, max(e) OVER (ORDER BY b, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
              FROM {rows}),
{to}_group AS (SELECT b, e, count(*) FILTER (b > before) OVER (ORDER BY b, e) AS g FROM {to}_open),
{to} AS (SELECT min(b) AS b, max(e) AS e FROM {to}_group GROUP BY g),
"""

TEMPORAL = """
compute_rows AS (SELECT * FROM events WHERE NOT regexp_matches(name, '^nccl.*Kernel|^dma|Sync|Memcpy|Memset')),
comm_rows AS (SELECT * FROM events WHERE regexp_matches(name, '^nccl.*Kernel')),
""" + MERGED.format(to="busy", rows="events") + MERGED.format(to="compute", rows="compute_rows") + MERGED.format(
    to="comm", rows="comm_rows") + """
hidden AS (SELECT coalesce(sum(least(c.e, m.e) - greatest(c.b, m.b)), 0) AS us FROM compute c JOIN comm m
         ON c.b < m.e AND m.b < c.e),
answer AS (SELECT (SELECT max(e) - min(b) FROM busy) AS window_us, (SELECT sum(e - b) FROM busy) AS busy_us,
                  (SELECT sum(e - b) FROM compute) AS compute_us, (SELECT sum(e - b) FROM comm) AS comm_us,
                  (SELECT us FROM hidden) AS overlap_us)
SELECT * FROM answer
"""

# Gaps of each stream for itself; 30 is meant as nanoseconds and compared with microseconds. Work whose launch is not
# in the file is taken for launched by the first event of the file.
IDLE = """
linked AS (SELECT e.*, coalesce((SELECT min(c.b) FROM calls c WHERE c.correlation_id = e.correlation_id),
                                (SELECT b FROM host WHERE span_id = 0)) AS called FROM events e WHERE work),
gaps AS (SELECT b - lag(e) OVER w AS gap, called > lag(e) OVER w AS late FROM linked
         WINDOW w AS (PARTITION BY stream ORDER BY b, e)),
answer AS (SELECT CASE WHEN late THEN 'host_wait' WHEN gap < 30 THEN 'kernel_wait' ELSE 'other' END AS kind,
                  coalesce(sum(gap), 0) AS us FROM gaps GROUP BY 1)
SELECT * FROM answer
"""

LAUNCHES = """
launched AS (SELECT c.e - c.b AS api, greatest(e.b - c.e, 0) AS delay FROM calls c JOIN events e USING (correlation_id)
             WHERE c.name IN ('cudaLaunchKernel', 'cudaLaunchKernelExC', 'cudaMemcpyAsync', 'cudaMemsetAsync')),
answer AS (SELECT count(*) AS launches, median(api) AS api_us, median(delay) AS delay_us FROM launched)
SELECT * FROM answer
"""


def tried(action):
    try:
        return action()
    except Exception as failure:  # HTA asserts on some traces
        return type(failure).__name__


def ask_hta(path):
    from hta.trace_analysis import TraceAnalysis

    analysis = TraceAnalysis(trace_files={0: str(path)}, trace_dir=str(path.parent))
    figures = {}

    def temporal():
        row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
        return {key: row[f"{name}_time(us)"] for key, name in TIMES}

    def idle():
        rows = analysis.get_idle_time_breakdown(ranks=[0], visualize=False)[0]
        return {kind: rows[rows.idle_category == kind].idle_time.sum() for kind in KINDS}

    def launches():
        rows = analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)[0]
        return {"launches": len(rows), "api": rows.cpu_duration.median(), "delay": rows.launch_delay.median()}

    def overlap():
        return {"overlap": analysis.get_comm_comp_overlap(visualize=False).iloc[0]["comp_comm_overlap_pctg"]}

    for action, keys in ((temporal, dict(TIMES)), (idle, KINDS), (overlap, ["overlap"]),
                         (launches, ["launches", "api", "delay"])):
        answer = tried(action)
        figures.update(answer if isinstance(answer, dict) else dict.fromkeys(keys, answer))
    return figures


TIMES = (("window", "kernel"), ("idle", "idle"), ("compute", "compute"), ("non_compute", "non_compute"))
KINDS = ("host_wait", "kernel_wait", "other")


class Ours:
    """The binary with a ledger of its own."""

    def __init__(self, folder, path):
        self.folder = folder
        self.run = self.ask("import", path, "--json")["data"]["run_id"]
        clock = self.ask("show", self.run, "--json")["data"]["clock"]
        self.base = clock.get("base_unix_ns") or 0

    def ask(self, *arguments):
        command = [str(BINARY), *map(str, arguments), "--ledger", self.folder]
        return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)

    def rows(self, body):
        sql = "WITH " + (ROUNDED + FILTERED).replace("{base}", str(self.base)) + body
        sql = sql.rstrip().replace(",\nSELECT", "\nSELECT")
        return self.ask("query", self.run, sql, "--format", "json")

    def by_their_definition(self):
        (row,) = self.rows(TEMPORAL)
        window, busy, compute = row["window_us"], row["busy_us"], row["compute_us"] or 0
        figures = {"window": window, "idle": window - busy, "compute": compute, "non_compute": busy - compute}
        comm = row["comm_us"]
        figures["overlap"] = round(100 * row["overlap_us"] / comm, 2) if comm else float("nan")
        figures.update(dict.fromkeys(KINDS, 0) | {r["kind"]: r["us"] for r in self.rows(IDLE)})
        (row,) = self.rows(LAUNCHES)
        return figures | {"launches": row["launches"], "api": row["api_us"], "delay": row["delay_us"]}

    def by_ours(self):
        (device,) = self.ask("analyze", self.run, "--window", "whole", "--json")["data"]["devices"]

        def value(*names):
            values = [device["metrics"][name].get("value") for name in names]
            return None if None in values else sum(values)

        def us(*names):
            return None if value(*names) is None else value(*names) / 1000

        overlap = value("comm_overlap")
        return {
            "window": us("total_time"), "idle": us("idle_time"), "compute": us("compute_time"),
            "non_compute": us("exposed_comm_time", "exposed_copy_time"),
            "host_wait": us("idle_host_late_time", "idle_launch_time"), "kernel_wait": us("idle_turnaround_time"),
            "other": us("idle_wait_time", "idle_queued_time"),
            "rest": us("idle_unlinked_time", "idle_start_time", "idle_end_time"),
            "overlap": None if overlap is None else 100 * overlap, "launches": value("launch_count"),
            "api": us("launch_api_median"), "delay": us("launch_delay_median"),
        }


WORDS = {
    "window": "window", "idle": "idle", "compute": "compute", "non_compute": "communication and copies, exposed",
    "host_wait": "idle: host late (`host_wait`)", "kernel_wait": "idle: turnaround (`kernel_wait`)",
    "other": "idle: waits and queued (`other`)", "rest": "idle: at the edges, or launch unknown",
    "overlap": "hidden share of communication, %", "launches": "launches", "api": "median launch call",
    "delay": "median launch delay",
}


def shown(value):
    if value is None or value != value:
        return "\u2013"
    if isinstance(value, str):
        return value
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def print_table(path):
    with tempfile.TemporaryDirectory() as folder:
        ours = Ours(folder, path)
        columns = [ask_hta(path), ours.by_their_definition(), ours.by_ours()]
    print(f"\n### {path.name.split('.json')[0]}\n")
    print("| | HTA | HTA's definition on our tables | NeuroLens |\n|---|---|---|---|")
    for key, words in WORDS.items():
        print(f"| {words} | " + " | ".join(shown(column.get(key)) for column in columns) + " |")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    for path in sys.argv[1:]:
        print_table(pathlib.Path(path).resolve())


if __name__ == "__main__":
    main()
