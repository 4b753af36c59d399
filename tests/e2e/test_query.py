"""What `query` promises: formats, columns, exact values, limits, and that SQL cannot do harm."""

import csv
import io
import json
import math
import re
import shutil
import subprocess

import pyarrow.ipc
import pyarrow.parquet
import pytest

import trace_text
from conftest import BAD_INPUT, GATE_FAILED, MISSING, OK

KERNEL_COLUMNS = {
    "name", "device", "stream", "start_ns", "dur_ns", "correlation_id", "launch_span_id", "op_id",
}  # fmt: skip
SPAN_COLUMNS = {"name", "category", "start_ns", "dur_ns", "track_id", "parent_id", "depth"}
FORMATS = ("table", "csv", "json", "parquet")


def csv_rows(result):
    return list(csv.reader(io.StringIO(result.out)))


def parquet_table(result):
    return pyarrow.parquet.read_table(io.BytesIO(result.bytes))


def no_constants(name):
    raise AssertionError(f"{name} is not JSON")


# ---- Formats


def test_json_is_an_array_of_objects(neurolens, small_run):
    rows = neurolens.rows(small_run, "SELECT name, count(*) AS calls FROM kernels GROUP BY name ORDER BY name")
    assert rows == [{"name": trace_text.kernel_name(step), "calls": 2} for step in range(10)]


def test_json_of_no_rows_is_an_empty_array(neurolens, small_run):
    assert neurolens.rows(small_run, "SELECT name FROM kernels WHERE false") == []


def test_csv_has_a_header_and_quotes(neurolens, small_run):
    sql = """SELECT 'plain' AS a, 'with, comma' AS b, 'say "hi"' AS c, 'two
lines' AS "d,e" """
    rows = csv_rows(neurolens("query", small_run, sql, "--format", "csv"))
    assert rows == [["a", "b", "c", "d,e"], ["plain", "with, comma", 'say "hi"', "two\nlines"]]


def test_csv_of_no_rows_is_a_header(neurolens, small_run):
    assert neurolens("query", small_run, "SELECT name FROM ops WHERE false", "--format", "csv").out == "name\n"


def test_parquet_is_readable(neurolens, small_run):
    result = neurolens(
        "query", small_run, "SELECT name, start_ns, dur_ns FROM kernels ORDER BY kernel_id", "--format", "parquet"
    )
    table = parquet_table(result)
    assert table.column_names == ["name", "start_ns", "dur_ns"]
    assert table.num_rows == 20
    assert table["start_ns"][0].as_py() == trace_text.kernel_start_ns(0, 0)
    assert table["dur_ns"].to_pylist() == [trace_text.kernel_dur_ns(step) for step in range(10)] * 2


def test_arrow_has_the_rows_of_parquet(neurolens, small_run):
    """Many batches, NULL, text, and numbers that 64 bits do not hold."""
    sql = ("SELECT i, i / 4 AS quarter, i % 3 = 0 AS third, CASE WHEN i % 7 > 0 THEN 'row ' || i END AS name FROM "
           "(SELECT unnest(range(30000)) AS i) ORDER BY i")
    arrow = pyarrow.ipc.open_stream(neurolens("query", small_run, sql, "--format", "arrow").bytes).read_all()
    arrow.validate(full=True)
    assert arrow.to_pylist() == parquet_table(neurolens("query", small_run, sql, "--format", "parquet")).to_pylist()
    wide = neurolens("query", small_run, "SELECT 170141183460469231731687303715884105727::HUGEINT AS h", "--format", "arrow")
    assert pyarrow.ipc.open_stream(wide.bytes).read_all().to_pylist() == [{"h": "170141183460469231731687303715884105727"}]
    none = neurolens("query", small_run, "SELECT name FROM kernels WHERE false", "--format", "arrow")
    empty = pyarrow.ipc.open_stream(none.bytes).read_all()
    assert empty.num_rows == 0 and empty.column_names == ["name"]


def test_parquet_leaves_no_temporary_file(neurolens, small_run, tmp_path):
    temp = tmp_path / "temp"
    temp.mkdir()
    neurolens.environment["TMPDIR"] = str(temp)
    neurolens("query", small_run, "SELECT * FROM kernels", "--format", "parquet")
    neurolens("query", small_run, "SELECT no_such_column FROM kernels", "--format", "parquet", code=BAD_INPUT)
    assert not any(temp.iterdir())


def test_table_is_for_people(neurolens, small_run):
    result = neurolens("query", small_run, "SELECT name, dur_ns FROM kernels ORDER BY kernel_id LIMIT 3")
    lines = result.out.splitlines()
    assert lines[0].split() == ["name", "dur_ns"]
    assert lines[1].endswith("30333")
    assert lines[-1] == "3 rows"


def test_envelope_has_columns_and_rows(neurolens, small_run):
    data = neurolens("query", small_run, "SELECT 1 AS a, 'x' AS b, NULL AS c", "--json").data
    assert data == {"columns": ["a", "b", "c"], "rows": [[1, "x", None]], "truncated": False, "rows_left_out": 0}


def test_all_formats_agree(neurolens, small_run):
    sql = "SELECT kernel_id, name, dur_ns, graph_id FROM kernels ORDER BY kernel_id"
    rows = neurolens.rows(small_run, sql)
    assert parquet_table(neurolens("query", small_run, sql, "--format", "parquet")).to_pylist() == rows
    texts = [["" if value is None else str(value) for value in row.values()] for row in rows]
    assert csv_rows(neurolens("query", small_run, sql, "--format", "csv"))[1:] == texts
    assert neurolens("query", small_run, sql, "--json").data["rows"] == [list(row.values()) for row in rows]


def test_many_rows_stream(neurolens, small_run):
    """More rows than are kept in memory: streams give all, the envelope says that it was cut."""
    sql = "SELECT range AS n FROM range(250000)"
    assert len(neurolens("query", small_run, sql, "--format", "csv").out.splitlines()) == 250_001
    assert [row["n"] for row in neurolens.rows(small_run, sql)] == list(range(250_000))
    assert parquet_table(neurolens("query", small_run, sql, "--format", "parquet")).num_rows == 250_000
    envelope = neurolens("query", small_run, sql, "--limit", "0", "--json").envelope
    assert envelope["data"]["truncated"] is True
    assert (len(envelope["data"]["rows"]), envelope["data"]["rows_left_out"]) == (100_000, 150_000)
    assert envelope["warnings"]


def test_rows_beyond_the_limit_are_counted(neurolens, small_run):
    """The count is exact, and what is shown and what is not add up."""
    sql = "SELECT range AS n FROM range(12345)"
    for arguments, shown in (([], 200), (["--limit", "7"], 7), (["--limit", "0"], 12_345), (["--limit", "12345"], 12_345)):
        data = neurolens("query", small_run, sql, *arguments, "--json").data
        assert data["rows"] == [[n] for n in range(shown)]
        assert data["rows_left_out"] == 12_345 - shown
        assert data["truncated"] is (shown < 12_345)
    assert neurolens("query", small_run, sql).out.splitlines()[-1] == "200 of 12,345 rows; --limit 0 shows all"
    assert neurolens("query", small_run, sql, "--limit", "0").out.splitlines()[-1] == "12,345 rows"
    beyond = neurolens("query", small_run, "SELECT * FROM range(100001)").out.splitlines()[-1]
    assert beyond == "200 of 100,001 rows; --format csv, json, parquet or arrow writes all"


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_stream_takes_no_limit(neurolens, small_run, format_name):
    """The table does; a stream would be cut without a word."""
    code = OK if format_name == "table" else BAD_INPUT
    assert neurolens("query", small_run, "SELECT 1", "--limit", "1", "--format", format_name, code=code).code == code


@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("sql", ["SELECT 1 AS x;", "SELECT DATE '2024-02-29' AS x;", "SELECT 1 AS x -- end"])
def test_semicolon_or_comment_at_the_end(neurolens, small_run, sql, format_name):
    """People end statements with a semicolon, in every format and with every type."""
    result = neurolens("query", small_run, sql, "--format", format_name)
    value = "2024-02-29" if "DATE" in sql else "1"
    if format_name == "parquet":
        assert str(parquet_table(result)["x"][0].as_py()) == value
    else:
        assert re.findall(r"2024-02-29|1", result.out.split("x", 1)[1])[0] == value


@pytest.mark.parametrize(
    "sql",
    [
        "FROM kernels",
        "WITH k AS (SELECT * FROM kernels) SELECT count(*) FROM k",
        "VALUES (1, 'a')",
        "(SELECT 1)",
        "DESCRIBE kernels",
        "SUMMARIZE kernels",
        "SHOW TABLES",
        "-- a comment\nSELECT 1",
        "/* a comment */ SELECT 1",
        "select NAME from KERNELS",
    ],
)
@pytest.mark.parametrize("format_name", FORMATS)
def test_other_ways_to_select(neurolens, small_run, sql, format_name):
    assert neurolens("query", small_run, sql, "--format", format_name).bytes


# ---- Columns


def test_kernels_view(neurolens, small_run):
    """The contract of the view, with an exact row."""
    row = neurolens.rows(small_run, "SELECT * FROM kernels ORDER BY kernel_id LIMIT 1")[0]
    assert KERNEL_COLUMNS <= set(row)
    assert row["name"] == trace_text.kernel_name(0)
    assert (row["device"], row["stream"]) == (0, trace_text.STREAM)
    assert (row["start_ns"], row["dur_ns"]) == (trace_text.kernel_start_ns(0, 0), 30_333)
    assert row["correlation_id"] == 100_000_001
    assert (row["grid_x"], row["grid_y"], row["block_x"]) == (4, 2, 128)
    sql = "SELECT name, correlation_id FROM spans WHERE span_id = {}"
    assert neurolens.rows(small_run, sql.format(row["launch_span_id"])) == [
        {"name": "cudaLaunchKernel", "correlation_id": 100_000_001}
    ]
    assert neurolens.value(small_run, f"SELECT name FROM ops WHERE op_id = {row['op_id']}") == "aten::addmm"


def test_spans_view(neurolens, small_run):
    """The contract of the view; inner spans point to the spans around them."""
    rows = neurolens.rows(small_run, "SELECT * FROM spans ORDER BY span_id LIMIT 4")
    assert all(SPAN_COLUMNS <= set(row) for row in rows)
    assert [(row["name"], row["category"], row["parent_id"], row["depth"]) for row in rows] == [
        ("aten::linear", "cpu_op", None, 0),
        ("aten::addmm", "cpu_op", 0, 1),
        ("cudaLaunchKernel", "cuda_runtime", 1, 2),
        ("cudaMemcpyAsync", "cuda_runtime", 0, 1),
    ]


def test_counts_and_sums_are_exact(neurolens, make_trace):
    expected = trace_text.Expected(blocks=40)
    report = neurolens.import_file(make_trace(blocks=40))
    run_id, counts = report["run_id"], report["counts"]
    assert (counts["seen"], counts["stored"]) == (expected.records, expected.stored)
    assert counts["stored"] + sum(counts["folded"].values()) + sum(counts["dropped"].values()) == counts["seen"]
    sql = "SELECT count(*) AS n, sum(dur_ns) AS ns, count(launch_span_id) AS launches, count(op_id) AS ops FROM kernels"
    assert neurolens.rows(run_id, sql) == [
        {"n": expected.kernels, "ns": expected.kernel_ns, "launches": expected.kernels, "ops": expected.kernels}
    ]
    assert neurolens.value(run_id, "SELECT count(*) FROM ops") == expected.ops
    assert neurolens.value(run_id, "SELECT count(*) FROM spans") == expected.spans
    assert neurolens.value(run_id, "SELECT count(*) FROM copies") == expected.copies


def test_every_table_of_the_schema_can_be_selected(neurolens, small_run):
    """With the columns and types that schema lists, empty or not."""
    tables = neurolens("schema", "--json").data["tables"]
    assert {"tracks", "spans", "ops", "kernels", "copies", "flows", "counters"} <= {t["name"] for t in tables}
    for table in tables:
        described = neurolens.rows(small_run, f"DESCRIBE {table['name']}")
        types = {row["column_name"]: row["column_type"] for row in described}
        for column in table["columns"]:
            assert types.get(column["name"]) == column["type"], (table["name"], column["name"])
        names = ", ".join(column["name"] for column in table["columns"])
        neurolens("query", small_run, f"SELECT {names} FROM {table['name']}", "--format", "json")
        neurolens("query", small_run, f"SELECT * FROM {table['name']}", "--format", "parquet")


LINK_COLUMNS = [
    ("kernels", "launch_span_id"),
    ("kernels", "op_id"),
    ("copies", "launch_span_id"),
    ("copies", "op_id"),
    ("spans", "parent_id"),
    ("spans", "depth"),
    ("spans", "op_id"),
]


@pytest.mark.parametrize("table, column", LINK_COLUMNS)
def test_link_columns_however_they_are_named(neurolens, small_run, table, column):
    """Links are joined only if a query needs them; every way to need them must count."""
    expected = neurolens.value(small_run, f"SELECT count({column}) FROM {table}")
    assert expected > 0
    for sql in (
        f"SELECT count(t.{column.upper()}) FROM {table} AS t",
        f'SELECT count("{column}") FROM (FROM {table})',
        f"SELECT count(*) FROM {table} WHERE {column} IS NOT NULL",
        f"WITH t AS (SELECT * FROM {table}) SELECT count({column}) FROM t",
        f"SELECT count(t.{column}) FROM {table} t JOIN {table} u USING ({column}, start_ns)",
        f"SELECT count(c) FROM (SELECT COLUMNS('^{column}$') AS c FROM {table})",
        f"SELECT count({column}) FROM (SELECT * EXCLUDE (name) FROM {table})",
        f"SELECT count(t.{column}) FROM (SELECT {table} AS t FROM {table})",
    ):
        assert neurolens.value(small_run, sql) == expected, sql


def test_link_columns_of_a_whole_row_by_its_alias(neurolens, small_run):
    table = parquet_table(neurolens("query", small_run, "SELECT k FROM kernels k", "--format", "parquet"))
    assert KERNEL_COLUMNS <= {field.name for field in table.schema.field("k").type}


def test_link_columns_in_the_catalog(neurolens, small_run):
    """Tools that ask the catalog see the columns that SELECT * gives."""
    sql = "SELECT column_name AS c FROM information_schema.columns WHERE table_name = 'kernels'"
    assert KERNEL_COLUMNS <= {row["c"] for row in neurolens.rows(small_run, sql)}


# ---- Values


def test_null_is_null(neurolens, small_run):
    """Unknown is never zero or a text."""
    sql = "SELECT graph_id, NULL::VARCHAR AS text, NULL::DOUBLE AS number, NULL::INTEGER[] AS list FROM kernels LIMIT 1"
    nulls = {"graph_id": None, "text": None, "number": None, "list": None}
    assert neurolens.rows(small_run, sql) == [nulls]
    assert parquet_table(neurolens("query", small_run, sql, "--format", "parquet")).to_pylist() == [nulls]
    assert csv_rows(neurolens("query", small_run, sql, "--format", "csv"))[1] == [""] * 4
    assert neurolens("query", small_run, sql).out.splitlines()[1].split() == ["NULL"] * 4


def test_sums_stay_exact_in_parquet(neurolens, small_run):
    """A sum has 128 bits inside of the engine. What 64 bits cannot hold is an error, not a rounded number."""
    largest = 2**63 - 1
    sql = f"SELECT sum(n) AS total, -sum(n) AS \"a \"\"b\"\"\" FROM (VALUES ({largest - 1}), (1)) t(n)"
    table = parquet_table(neurolens("query", small_run, sql, "--format", "parquet"))
    assert [str(field.type) for field in table.schema] == ["int64", "int64"]
    assert table.to_pylist() == [{"total": largest, 'a "b"': -largest}]
    beyond = f"SELECT sum(n) AS total FROM (VALUES ({largest}), (1)) t(n)"
    neurolens("query", small_run, beyond, "--format", "parquet", code=BAD_INPUT)
    assert neurolens.value(small_run, beyond) == largest + 1


def test_csv_tells_null_from_empty_text(neurolens, small_run):
    null = neurolens("query", small_run, "SELECT NULL::VARCHAR AS a, 1 AS b", "--format", "csv").out
    empty = neurolens("query", small_run, "SELECT '' AS a, 1 AS b", "--format", "csv").out
    assert null == "a,b\n,1\n"
    assert empty != null


HUGE = 170141183460469231731687303715884105727
EXACT_SQL = f"SELECT {HUGE}::HUGEINT AS huge, 9223372036854775807::BIGINT AS big, 0.10::DECIMAL(38, 20) AS dec"


def test_exact_numbers_in_streams(neurolens, small_run):
    text = neurolens("query", small_run, EXACT_SQL, "--format", "json").out
    row = json.loads(text, parse_float=str)[0]
    assert row == {"huge": HUGE, "big": 2**63 - 1, "dec": "0.10000000000000000000"}
    rows = csv_rows(neurolens("query", small_run, EXACT_SQL, "--format", "csv"))
    assert rows[1] == [str(HUGE), str(2**63 - 1), "0.10000000000000000000"]


def test_exact_numbers_in_the_envelope(neurolens, small_run):
    """Sums are HUGEINT: they must not pass through a double, as a number or as text."""
    text = neurolens("query", small_run, EXACT_SQL, "--json").out
    huge, big, decimal = json.loads(text, parse_float=str)["data"]["rows"][0]
    assert (int(huge), big) == (HUGE, 2**63 - 1)
    assert decimal.startswith("0.10")


def test_exact_numbers_in_the_table(neurolens, small_run):
    cells = neurolens("query", small_run, EXACT_SQL).out.splitlines()[1].split()
    assert cells == [str(HUGE), str(2**63 - 1), "0.10000000000000000000"]


def test_doubles_read_back_as_the_same_number(neurolens, small_run):
    sql = "SELECT 0.1::DOUBLE + 0.2::DOUBLE AS a, 1e300::DOUBLE AS b, -0.0::DOUBLE AS c, 5e-324::DOUBLE AS d"
    expected = [0.1 + 0.2, 1e300, -0.0, 5e-324]
    row = list(neurolens.rows(small_run, sql)[0].values())
    assert [math.copysign(1, x) * abs(x) for x in map(float, row)] == expected
    assert [float(x) for x in csv_rows(neurolens("query", small_run, sql, "--format", "csv"))[1]] == expected


def test_dates_and_times(neurolens, small_run):
    sql = "SELECT DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 12:30:00.25' AS t, INTERVAL 90 SECOND AS i"
    row = neurolens.rows(small_run, sql)[0]
    assert (row["d"], row["t"], row["i"]) == ("2024-02-29", "2024-02-29 12:30:00.25", "00:01:30")
    assert csv_rows(neurolens("query", small_run, sql, "--format", "csv"))[1] == list(row.values())


def test_lists_and_structs(neurolens, small_run):
    """As JSON or as the engine's text, but with all their values."""
    row = neurolens.rows(small_run, "SELECT [3, 1, 2] AS list, {'a': 1} AS struct, MAP {'k': 5} AS map")[0]
    assert row["list"] in ([3, 1, 2], "[3, 1, 2]")
    assert row["struct"] in ({"a": 1}, "{'a': 1}")
    assert row["map"] in ({"k": 5}, "{k=5}")


def test_order_survives_types_without_a_text_of_their_own(neurolens, small_run):
    sql = "SELECT [kernel_id] AS l, kernel_id FROM kernels ORDER BY kernel_id DESC"
    assert [row["kernel_id"] for row in neurolens.rows(small_run, sql)] == list(range(19, -1, -1))


def test_nan_and_infinity(neurolens, small_run):
    """JSON knows neither; both become null, and the text stays valid JSON."""
    sql = "SELECT 'nan'::DOUBLE AS a, 'inf'::DOUBLE AS b, '-inf'::FLOAT AS c, 1.5 AS d, ['nan'::DOUBLE] AS e"
    text = neurolens("query", small_run, sql, "--format", "json").out
    row = json.loads(text, parse_constant=no_constants)[0]
    assert (row["a"], row["b"], row["c"], row["d"]) == (None, None, None, 1.5)
    json.loads(neurolens("query", small_run, sql, "--json").out, parse_constant=no_constants)
    table = parquet_table(neurolens("query", small_run, sql, "--format", "parquet"))
    assert math.isnan(table["a"][0].as_py())
    assert table["b"][0].as_py() == math.inf


def test_texts_with_all_sorts_of_characters(neurolens, small_run):
    sql = "SELECT 'tab\tquote\" back\\slash' AS a, 'é 漢 😀' AS b, chr(1) AS c"
    expected = {"a": 'tab\tquote" back\\slash', "b": "é 漢 😀", "c": "\x01"}
    assert neurolens.rows(small_run, sql) == [expected]
    assert neurolens("query", small_run, sql, "--json").data["rows"] == [list(expected.values())]
    assert "\x01" not in neurolens("query", small_run, sql).out, "no control characters on a terminal"


def test_column_names_that_occur_twice(neurolens, small_run):
    """No value may vanish behind a key that occurs twice."""
    sql = "SELECT s.name, k.name FROM kernels k JOIN spans s ON s.span_id = k.launch_span_id LIMIT 1"
    rows = json.loads(
        neurolens("query", small_run, sql, "--format", "json").out, object_pairs_hook=lambda pairs: pairs
    )
    keys = [key for key, _ in rows[0]]
    assert len(keys) == len(set(keys)) == 2


# ---- Limits

ENDLESS = {
    "cross_join": "SELECT count(*) FROM range(100000000) a, range(100000000) b",
    "endless_rows": "SELECT * FROM range(1000000000000)",
    "recursion": "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x FROM t) SELECT count(*) FROM t",
    "cast_rows": "SELECT [range] AS l FROM range(1000000000000)",
    "constant_folded_while_planning": "SELECT levenshtein(repeat('a', 150000), repeat('b', 150000))",
    "inner_connection": (
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql("
        "'SELECT count(*) FROM range(100000000) a, range(100000000) b'))"
    ),
}


@pytest.mark.parametrize("format_name", ["csv", "parquet"])
@pytest.mark.parametrize("sql", ENDLESS.values(), ids=ENDLESS)
def test_endless_query_is_stopped(neurolens, small_run, sql, format_name):
    command = neurolens.command("query", small_run, sql, "--seconds", "1", "--format", format_name)
    try:
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=8)
    except subprocess.TimeoutExpired:
        pytest.fail("still running 8 seconds after a limit of 1")
    assert done.returncode == BAD_INPUT, done.stderr


def test_endless_query_has_the_code_limit(neurolens, small_run):
    result = neurolens("query", small_run, ENDLESS["cross_join"], "--seconds", "1", "--json", code=BAD_INPUT)
    assert result.envelope["error"]["code"] == "limit"


@pytest.mark.parametrize("seconds", ["0", "-1", "x", "", "1.5"])
def test_seconds_must_be_a_positive_number(neurolens, small_run, seconds):
    neurolens("query", small_run, "SELECT 1", "--seconds", seconds, code=BAD_INPUT)


@pytest.mark.parametrize("seconds", ["2147483648", "4294967296", "9223372036854775807"])
def test_seconds_may_be_huge(neurolens, small_run, seconds):
    """Refused or obeyed, but never cut down to something small."""
    result = neurolens("query", small_run, "SELECT count(*) FROM range(3000000)", "--seconds", seconds, code=None)
    assert result.code == 0 or "seconds" in result.err


# ---- Confinement

# {bundle}: folder of the run; {outside}: a file that must not appear; {state}: another file of the ledger.
FORBIDDEN = {
    "copy_to_bundle_file": "COPY (SELECT 1 AS a) TO '{bundle}/kernels.parquet' (FORMAT parquet, USE_TMP_FILE false)",
    "copy_to_new_file": "COPY kernels TO '{outside}'",
    "copy_from": "COPY kernels FROM '{bundle}/kernels.parquet'",
    "explain_analyze_copy": (
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{bundle}/kernels.parquet' (FORMAT parquet, USE_TMP_FILE false)"
    ),
    "explain_analyze": "EXPLAIN ANALYZE SELECT 1",
    "export_database": "EXPORT DATABASE '{outside}'",
    "import_database": "IMPORT DATABASE '{bundle}'",
    "attach": "ATTACH '{outside}' AS other",
    "attach_read_only": "ATTACH '{state}' AS other (READ_ONLY)",
    "detach": "DETACH memory",
    "use": "USE memory",
    "pragma": "PRAGMA database_list",
    "pragma_set": "PRAGMA memory_limit='100GB'",
    "set": "SET enable_external_access = true",
    "set_allowed_paths": "SET allowed_paths = ['/']",
    "reset": "RESET enable_external_access",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "call": "CALL enable_logging()",
    "create_table": "CREATE TABLE t AS SELECT 1",
    "create_view": "CREATE OR REPLACE VIEW kernels AS SELECT 1",
    "create_macro": "CREATE MACRO f() AS 1",
    "create_secret": "CREATE PERSISTENT SECRET s (TYPE s3)",
    "drop_view": "DROP VIEW kernels",
    "alter": "ALTER VIEW kernels RENAME TO k",
    "insert": "INSERT INTO kernels VALUES (1)",
    "update": "UPDATE kernels SET name = ''",
    "delete": "DELETE FROM kernels",
    "insert_in_cte": "WITH t AS (INSERT INTO kernels VALUES (1) RETURNING *) SELECT * FROM t",
    "vacuum": "VACUUM",
    "checkpoint": "CHECKPOINT",
    "begin": "BEGIN",
    "prepare": "PREPARE p AS SELECT 1",
    "execute_parameter": "SELECT $1",
    "two_selects": "SELECT 1; SELECT 2",
    "select_then_copy": "SELECT 1; COPY kernels TO '{outside}'",
    "select_then_set": "SELECT 1; SET enable_external_access = true",
    "empty": "",
    "blank": "  \n ",
    "only_semicolon": ";",
    "only_comment": "-- SELECT 1",
    "line_comment_then_copy": "-- SELECT\nCOPY kernels TO '{outside}'",
    "block_comment_then_copy": "/* SELECT */ COPY kernels TO '{outside}'",
    "nested_comment_then_copy": "/* SELECT /* SELECT */ */ COPY kernels TO '{outside}'",
    "parenthesis_then_copy": "(COPY kernels TO '{outside}')",
    "close_and_copy": "SELECT 1) TO '{outside}' (FORMAT csv) --",
    "close_and_copy_semicolon": "SELECT 1) TO '{outside}' (FORMAT csv); --",
    "close_and_reopen": "SELECT 1) TO '{outside}' (FORMAT csv); SELECT * FROM (SELECT 1",
    "close_cast_and_reopen": "SELECT DATE '2020-01-01') UNION ALL SELECT * FROM read_text('/etc/passwd') --",
    "read_csv": "SELECT * FROM read_csv('/etc/passwd')",
    "read_text": "SELECT * FROM read_text('/etc/passwd')",
    "read_blob": "SELECT * FROM read_blob('{state}')",
    "read_json": "SELECT * FROM read_json('{bundle}/run.json')",
    "read_parquet_of_another_folder": "SELECT * FROM read_parquet('{bundle}/../*/kernels.parquet')",
    "replacement_scan": "SELECT * FROM '/etc/passwd'",
    "replacement_scan_csv": "SELECT * FROM '/etc/services.csv'",
    "quoted_replacement_scan": 'SELECT * FROM "/etc/services.csv"',
    "glob": "SELECT * FROM glob('/etc/*')",
    "glob_of_the_bundle": "SELECT * FROM glob('{bundle}/*')",
    "sniff_csv": "SELECT * FROM sniff_csv('/etc/passwd')",
    "parquet_metadata": "SELECT * FROM parquet_metadata('{state}')",
    "query_function": "SELECT * FROM query('COPY kernels TO ''{outside}''')",
    "serialized_read": (
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''/etc/passwd'')'))"
    ),
    "http": "SELECT * FROM 'https://localhost:9/x.parquet'",
    "http_read": "SELECT * FROM read_csv('http://localhost:9/x.csv')",
    "s3": "SELECT * FROM read_parquet('s3://bucket/x.parquet')",
    "sqlite": "SELECT * FROM sqlite_scan('{state}', 'receipts')",
    "getenv": "SELECT getenv('HOME')",
    "current_setting_write": "SELECT set_config('enable_external_access', 'true', false)",
    "logging_to_file": (
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT count(*) FROM enable_logging("
        "level := ''trace'', storage := ''file'', storage_config := {{''path'': ''{outside}''}})')) UNION ALL "
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT length(write_log(''x''))'))"
    ),
    "logging_to_standard_output": (
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT count(*) FROM enable_logging("
        "level := ''trace'', storage := ''stdout'')')) UNION ALL "
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT length(write_log(''x''))'))"
    ),
    "logging_to_file_unbuffered": (
        "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT count(*) FROM enable_logging("
        "level := ''trace'', storage := ''file'', storage_config := {{''path'': ''{outside}'', ''buffer_size'': 1}})'))"
        " UNION ALL SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT length(write_log(''x''))'))"
    ),
    "enable_profiling": "SELECT * FROM enable_profiling(format := 'json', save_location := '{outside}.json')",
}


@pytest.mark.parametrize("sql", FORBIDDEN.values(), ids=FORBIDDEN)
def test_forbidden_sql_changes_nothing(neurolens, small_run, tmp_path, sql):
    """Refused in the streaming and in the Parquet way; every file of the bundle keeps its bytes."""
    outside = tmp_path / "outside"
    statement = sql.format(
        bundle=neurolens.bundle(small_run), outside=outside, state=neurolens.ledger / "state.sqlite"
    )
    before = neurolens.files(small_run)
    results = [neurolens("query", small_run, statement, "--format", f, code=None) for f in ("json", "parquet")]
    assert neurolens.files(small_run) == before
    assert not outside.exists()
    assert neurolens("verify", small_run, "--json").data["verified"]
    for result in results:
        assert result.code == BAD_INPUT, result
        assert result.out == ""


def test_forbidden_sql_is_refused_before_a_profile_is_read(neurolens, small_trace):
    """The run may be a path; a bad query still fails with exit code 2."""
    neurolens("query", small_trace, "DROP VIEW kernels", code=BAD_INPUT)
    neurolens("query", small_trace, "SELECT no_such_column FROM kernels", code=BAD_INPUT)


@pytest.mark.parametrize("format_name", FORMATS)
def test_error_says_what_is_wrong(neurolens, small_run, format_name):
    sql = "SELECT nmae FROM kernels"
    result = neurolens("query", small_run, sql, "--format", format_name, code=BAD_INPUT)
    assert "nmae" in result.err
    assert result.out == ""


# ---- Verification


def flip_byte(path, offset):
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("table", ["tracks", "spans", "kernels", "copies"])
@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 1.0])
def test_changed_byte_in_a_table_is_found(neurolens, small_run, table, place):
    path = neurolens.bundle(small_run) / f"{table}.parquet"
    flip_byte(path, int(place * (path.stat().st_size - 1)))
    result = neurolens("verify", small_run, "--json", code=GATE_FAILED)
    assert result.data["verified"] is False
    assert [check["check"] for check in result.data["checks"] if not check["ok"]] == [table]


def test_missing_and_cut_tables_are_found(neurolens, small_run):
    bundle = neurolens.bundle(small_run)
    content = (bundle / "kernels.parquet").read_bytes()
    (bundle / "kernels.parquet").write_bytes(content[:-1])
    neurolens("verify", small_run, code=GATE_FAILED)
    (bundle / "kernels.parquet").unlink()
    neurolens("verify", small_run, code=GATE_FAILED)
    (bundle / "kernels.parquet").write_bytes(content)
    neurolens("verify", small_run)


def replaced(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


RUN_JSON_CHANGES = {
    "source_hash": lambda text, document: replaced(text, document["sources"][0]["sha256"], "0" * 64),
    "run_id": lambda text, document: replaced(text, document["run_id"], "0" * 64),
    "seen": lambda text, document: replaced(text, '"seen":206', '"seen":207'),
    "table_rows": lambda text, document: replaced(text, '"rows":20', '"rows":21'),
    "no_json": lambda text, document: replaced(text, "{", "["),
    "cut": lambda text, document: text[:-10],
    "empty": lambda text, document: "",
    "unknown_key": lambda text, document: replaced(text, "{", '{"surprise":1,'),
    "device_name": lambda text, document: replaced(text, trace_text.DEVICE_NAME, "NVIDIA Best GPU"),
    "clock_base": lambda text, document: replaced(text, str(trace_text.BASE_NS), str(trace_text.BASE_NS + 1)),
    "source_bytes": lambda text, document: replaced(
        text, f'"bytes":{document["sources"][0]["bytes"]}', f'"bytes":{document["sources"][0]["bytes"] + 1}'
    ),
    "folded_reasons": lambda text, document: replaced(text, '"metadata":6', '"metabata":6'),
    "space": lambda text, document: replaced(text, ":", ": "),
    "table_left_out": lambda text, document: json.dumps(
        {**document, "tables": [t for t in document["tables"] if t["name"] != "copies"]}
    ),
}


@pytest.mark.parametrize("change", RUN_JSON_CHANGES.values(), ids=RUN_JSON_CHANGES)
def test_changed_run_json_is_found(neurolens, small_run, change):
    """Every figure rests on run.json: times on its clock, names on its devices. No change may pass."""
    path = neurolens.bundle(small_run) / "run.json"
    text = path.read_text()
    path.write_text(change(text, json.loads(text)))
    neurolens("verify", small_run, code=GATE_FAILED)


def test_changed_run_json_is_found_by_bundle_folder(neurolens, small_run):
    path = neurolens.bundle(small_run) / "run.json"
    path.write_text(path.read_text()[:-10])
    neurolens("verify", neurolens.bundle(small_run), code=GATE_FAILED)


def test_missing_table_is_not_zero_rows(neurolens, small_run):
    """run.json says that there are 20 kernels; without their file there is no answer, above all not 0."""
    (neurolens.bundle(small_run) / "kernels.parquet").unlink()
    result = neurolens("query", small_run, "SELECT count(*) FROM kernels", "--format", "csv", code=None)
    assert result.code in (BAD_INPUT, MISSING), result
    assert "verify" in result.err
    result = neurolens("show", small_run, code=None)
    assert result.code in (BAD_INPUT, MISSING), result


def test_damaged_table_is_no_bug_of_ours(neurolens, small_run):
    """A disk fault is said as such, with the way to find out more."""
    path = neurolens.bundle(small_run) / "kernels.parquet"
    path.write_bytes(path.read_bytes()[:1000])
    result = neurolens("query", small_run, "SELECT count(*) FROM kernels", code=None)
    assert result.code in (BAD_INPUT, MISSING), result
    assert "verify" in result.err


def test_table_that_run_json_does_not_list_is_found(neurolens, small_run):
    """A file put into the bundle is no part of the run: verify says so or queries do not see it."""
    bundle = neurolens.bundle(small_run)
    shutil.copy(bundle / "kernels.parquet", bundle / "syncs.parquet")
    rows = neurolens.value(small_run, "SELECT count(*) FROM syncs")
    assert rows == 0 or neurolens("verify", small_run, code=None).code == GATE_FAILED


DAMAGES = {"gone": lambda path: path.unlink(), "cut": lambda path: path.write_bytes(b"PAR1")}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
@pytest.mark.parametrize("table", ["span_tree", "kernel_links", "copy_links"])
def test_damaged_derived_table_is_rebuilt(neurolens, small_run, table, damage):
    """Derived tables can always be built again, so damage to them is never an error nor a wrong answer."""
    sql = (
        "SELECT (SELECT count(op_id) FROM kernels) AS k, (SELECT count(op_id) FROM copies) AS c, "
        "(SELECT count(parent_id) FROM spans) AS s"
    )
    before = neurolens.rows(small_run, sql)
    (path,) = (neurolens.bundle(small_run) / "derived").glob(f"*/{table}.parquet")
    damage(path)
    assert neurolens.rows(small_run, sql) == before


def test_refresh_repairs_a_damaged_run(neurolens, small_trace, small_run):
    """As verify suggests."""
    flip_byte(neurolens.bundle(small_run) / "kernels.parquet", 10)
    result = neurolens("verify", small_run, code=GATE_FAILED)
    assert "--refresh" in result.err
    neurolens("import", "--refresh", small_trace)
    neurolens("verify", small_run)


def test_query_by_path_imports_on_the_way(neurolens, small_trace):
    assert neurolens.value(small_trace, "SELECT count(*) FROM kernels") == 20
    assert [run["on_the_way"] for run in neurolens.runs()] == [True]
    assert neurolens("gc", "--drop-on-the-way", "--json").data["dropped_runs"] == 1
    assert neurolens.runs() == []
