"""SQL that tries to leave its run, to learn about the machine, or to take its time and memory.

`{bundle}` is the folder of the run, `{state}` another file of the ledger, `{outside}` a file that must not appear.
Each attack has a name. READS must be refused. COSTS may be answered or refused, but within their limits.
"""

FILES = ("/etc/passwd", "{state}", "{bundle}/run.json", "{bundle}/kernels.parquet", "/proc/self/environ")
FILE_FUNCTIONS = (
    "read_parquet", "parquet_scan", "parquet_metadata", "parquet_schema", "parquet_file_metadata", "parquet_kv_metadata",
    "parquet_full_metadata", "read_csv", "read_csv_auto", "read_text", "read_blob", "read_json", "read_json_auto",
    "read_json_objects", "read_ndjson", "read_ndjson_auto", "read_duckdb", "glob", "sniff_csv",
)  # fmt: skip
# A NUL cut the path that was checked, and not the one that was opened.
NUL_PATHS = (
    "'/proc/self/fd/9' || chr(0) || '/../../..{bundle}/kernels.parquet'",
    "'{bundle}/kernels.parquet' || chr(0) || '.csv'",
    "'/etc/passwd' || chr(0) || '{bundle}/kernels.parquet'",
    "concat('/proc/self/fd/', 3, chr(0), '{bundle}/spans.parquet')",
)
CATALOG_TABLES = (
    "duckdb_settings", "duckdb_views", "duckdb_tables", "duckdb_databases", "duckdb_logs", "duckdb_secrets", "duckdb_memory",
    "duckdb_temporary_files", "duckdb_external_file_cache", "duckdb_extensions", "duckdb_variables", "duckdb_prepared_statements",
    "duckdb_dependencies", "duckdb_schemas", "duckdb_indexes", "duckdb_constraints", "duckdb_sequences", "duckdb_optimizers",
    "duckdb_log_contexts", "pragma_database_list", "sqlite_master", "sqlite_schema", "sqlite_temp_master", "pg_settings",
    "pg_views", "pg_tables", "pg_class", "pg_catalog.pg_views", "pg_catalog.pg_settings", "information_schema.views",
    "system.information_schema.views", "system.main.duckdb_views", "temp.main.duckdb_views",
)  # fmt: skip
CATALOG_FUNCTIONS = (
    "duckdb_settings()", "duckdb_views()", "duckdb_tables()", "duckdb_databases()", "duckdb_logs()", "duckdb_secrets()",
    "duckdb_temporary_files()", "duckdb_external_file_cache()", "duckdb_variables()", "duckdb_prepared_statements()",
    "duckdb_extensions()", "pragma_database_size()", "pragma_storage_info('kernels')", "pragma_metadata_info()",
    "pragma_show('kernels')", "pragma_platform()", "pragma_user_agent()", "sql_auto_complete('SEL')", "query('SELECT 1')",
    "query_table(['kernels'])", "which_secret('s3://x', 's3')", "enable_logging()", "truncate_duckdb_logs()", "checkpoint()",
    "force_checkpoint()", "enable_profiling()", "test_all_types()", "seq_scan('kernels')", "arrow_scan(1, 2, 3)",
    "json_execute_serialized_sql('{{}}')", "duckdb_logs_parsed('x')", "duckdb_table_sample('kernels')",
)  # fmt: skip
SCALARS = (
    "current_setting('allowed_paths')", "current_setting('temp_directory')", "current_setting('home_directory')",
    "current_setting('secret_directory')", "main.current_setting('allowed_paths')", "system.main.current_setting('allowed_paths')",
    "'allowed_paths'.current_setting()", "getenv('HOME')", "getvariable('x')", "pg_get_viewdef(1)", "write_log('x')",
    "nextval('x')", "currval('x')", "setseed(0.5)", "sleep_ms(1)", "pg_sleep(1)", "json_serialize_sql('SELECT 1')",
    "json_serialize_plan('SELECT 1')", "json_deserialize_sql('{{}}')", "current_query()", "current_schemas(true)",
    "txid_current()", "stats(1)", "vector_type(1)", "in_search_path('a', 'b')", "create_sort_key(1, 'ASC')",
    "parse_duckdb_log_message('a', 'b')", "list_transform(['allowed_paths'], x -> current_setting(x))",
    "coalesce(NULL, current_setting('allowed_paths'))", "count(current_setting('allowed_paths')) OVER ()",
    "CASE WHEN true THEN current_setting('allowed_paths') END", "[current_setting(x) FOR x IN ['allowed_paths']]",
    "max(current_setting('allowed_paths')) FILTER (WHERE true)", "(SELECT current_setting('allowed_paths'))",
)  # fmt: skip
TRICKS = {
    "name_of_a_query_out_of_scope": "FROM duckdb_views WHERE EXISTS (WITH duckdb_views AS (SELECT 1) FROM duckdb_views)",
    "name_of_a_query_beside": "SELECT * FROM (WITH pg_settings AS (SELECT 1) FROM pg_settings), pg_settings",
    "path_as_name_of_a_query": "WITH \"/etc/passwd\" AS (SELECT 1) SELECT (SELECT count(*) FROM '/etc/passwd') FROM read_text('x')",
    "recursive_name": "WITH RECURSIVE sqlite_master AS (SELECT 1 UNION ALL SELECT 1 FROM sqlite_master) FROM sqlite_master",
    "lateral": "SELECT * FROM kernels k, LATERAL (SELECT * FROM read_text(k.name))",
    "order_by": "SELECT 1 ORDER BY current_setting('allowed_paths')",
    "group_by": "SELECT count(*) FROM kernels GROUP BY current_setting('allowed_paths')",
    "having": "SELECT count(*) FROM kernels HAVING current_setting('allowed_paths') > ''",
    "qualify": "SELECT name FROM kernels QUALIFY row_number() OVER (ORDER BY current_setting('allowed_paths')) = 1",
    "limit": "SELECT 1 LIMIT length(current_setting('allowed_paths'))",
    "join": "SELECT 1 FROM kernels JOIN spans ON current_setting('allowed_paths') = ''",
    "values": "VALUES (current_setting('allowed_paths'))",
    "in_list": "SELECT 1 WHERE '' IN (current_setting('allowed_paths'))",
    "union": "SELECT 1 UNION SELECT length(current_setting('allowed_paths'))",
    "intersect": "SELECT 1 INTERSECT SELECT length(current_setting('allowed_paths'))",
    "argument_of_a_table_function": "FROM range(length(current_setting('allowed_paths')))",
    "unnest": "SELECT unnest([current_setting('allowed_paths')])",
    "pivot": "FROM (PIVOT duckdb_settings() ON name IN ('allowed_paths') USING first(value))",
    "unpivot": "FROM (UNPIVOT duckdb_settings() ON COLUMNS(*))",
    "sample": "FROM duckdb_settings() USING SAMPLE 5 ROWS",
    "describe": "DESCRIBE duckdb_views",
    "summarize": "SUMMARIZE duckdb_settings",
    "show_databases": "SHOW DATABASES",
    "show_all_tables": "SHOW ALL TABLES",
    "from_show": "FROM (SHOW ALL TABLES)",
    "positional_join": "FROM kernels POSITIONAL JOIN duckdb_settings()",
    "asof": "FROM kernels ASOF JOIN (SELECT 1 AS t, * FROM duckdb_settings()) s ON kernels.start_ns >= s.t",
    "default_macro": "SELECT histogram_values('kernels', 'name')",
    "table_macro": "FROM histogram(kernels, name), duckdb_profiling_settings()",
    "quoted": 'SELECT "current_setting"(\'allowed_paths\')',
    "upper_case": "SELECT CURRENT_SETTING('allowed_paths')",
    "unicode_blank": "SELECT\u00a0current_setting('allowed_paths')",
    "explain": "EXPLAIN SELECT * FROM kernels",
    "explain_analyze": "EXPLAIN ANALYZE SELECT * FROM kernels",
    "file_prefix": "FROM 'file:///etc/passwd'",
    "hive": "FROM '{bundle}/*.parquet'",
    "http": "FROM 'https://localhost:9/x.parquet'",
    "s3": "FROM 's3://bucket/x.parquet'",
    "data_url": "FROM 'data:text/csv,a'",
    "dot_path": "FROM '../../state.sqlite'",
    "stdin": "FROM '/dev/stdin'",
    "descriptor": "FROM '/proc/self/fd/0'",
    "copy": "COPY (SELECT 1) TO '{outside}'",
    "copy_in_brackets": "SELECT 1) TO '{outside}' (FORMAT csv) --",
    "export": "EXPORT DATABASE '{outside}'",
    "attach": "ATTACH '{outside}' AS other",
    "attach_state": "ATTACH '{state}' AS other (READ_ONLY)",
    "install": "INSTALL httpfs",
    "load": "LOAD '{bundle}/kernels.parquet'",
    "set": "SET enable_external_access = true",
    "reset": "RESET lock_configuration",
    "pragma": "PRAGMA database_list",
    "call": "CALL enable_logging()",
    "create": "CREATE TABLE t AS SELECT 1",
    "create_macro": "CREATE MACRO f() AS current_setting('allowed_paths')",
    "create_secret": "CREATE SECRET s (TYPE s3)",
    "variable": "SET VARIABLE x = 1",
    "prepare": "PREPARE p AS SELECT 1",
    "execute": "EXECUTE p",
    "two": "SELECT 1; SELECT 2",
    "two_with_comment": "SELECT 1 /* ; */; -- \nSELECT 2",
    "begin": "BEGIN TRANSACTION",
    "use": "USE system",
    "vacuum": "VACUUM",
    "checkpoint": "CHECKPOINT",
    "parameter": "SELECT $1",
    "insert_in_a_query": "WITH t AS (INSERT INTO kernels VALUES (1) RETURNING *) FROM t",
    "update_extensions": "UPDATE EXTENSIONS",
    "merge": "MERGE INTO kernels USING spans ON true WHEN MATCHED THEN DELETE",
    "comment_on": "COMMENT ON VIEW kernels IS 'x'",
}
READS = {
    **{f"{name}-{n}": f"SELECT * FROM {name}('{path}')" for name in FILE_FUNCTIONS for n, path in enumerate(FILES)},
    **{f"nul-{n}": f"SELECT * FROM read_parquet({path})" for n, path in enumerate(NUL_PATHS)},
    **{f"nul-text-{n}": f"SELECT * FROM read_text({path})" for n, path in enumerate(NUL_PATHS)},
    **{f"table-{name}": f"SELECT * FROM {name}" for name in CATALOG_TABLES},
    **{f"function-{call}": f"SELECT * FROM {call}" for call in CATALOG_FUNCTIONS},
    **{f"scalar-{n}": f"SELECT {call}" for n, call in enumerate(SCALARS)},
    **{f"path-{n}": f"SELECT * FROM '{path}'" for n, path in enumerate(FILES)},
    **TRICKS,
}


def nested(brackets, depth):
    opening, closing = brackets
    return f"repeat('{opening}', {depth}) || '1' || repeat('{closing}', {depth})"


DEEP_LIST, DEEP_OBJECT = nested("[]", 100_000), "repeat('{\"a\":', 100000) || '1' || repeat('}', 100000)"
DEEP_JSON = {
    f"{name}_{kind}": f"SELECT length({call.format(text=text)}::VARCHAR)"
    for kind, text in (("list", DEEP_LIST), ("object", DEEP_OBJECT))
    for name, call in {
        "json": "json({text})", "structure": "json_structure({text})", "transform": "json_transform({text}, '\"JSON\"')",
        "merge_patch": "json_merge_patch({text}, {text})", "contains": "json_contains({text}, '7')", "pretty": "json_pretty({text})",
        "variant": "({text})::JSON::VARIANT", "keys": "json_keys({text})", "extract": "json_extract({text}, '$[0][0]')",
        "group": "json_group_structure({text})",
    }.items()
}  # fmt: skip
ENDLESS = {
    "levenshtein": "SELECT levenshtein(repeat('a', 3000000), repeat('b', 3000000))",
    "damerau": "SELECT damerau_levenshtein(repeat('a', 30000), repeat('b', 30000))",
    "jaro": "SELECT jaro_similarity(repeat('ab', 1000000), repeat('ba', 1000000))",
    "jaccard": "SELECT sum(jaccard(repeat('ab', 10000), repeat('ba', 10000))) FROM range(100000000)",
    "regular_expression": "SELECT regexp_replace(repeat('a', 10000000), '(a|aa|aaa)*$', '', 'g') FROM range(1000)",
    "cross_join": "SELECT count(*) FROM range(100000000) a, range(100000000) b",
    "recursion": "WITH RECURSIVE t AS (SELECT 1 AS x UNION ALL SELECT x FROM t) SELECT count(*) FROM t",
    "hash": "SELECT md5(repeat('a', 100000000)) FROM range(100000)",
    "sort": "SELECT count(*) FROM (SELECT random() r FROM range(1000000000) ORDER BY r)",
    "factorial": "SELECT sum(factorial(33)) FROM range(100000000000)",
    "list_sort": "SELECT len(list_sort(range(100000000)))",
    "printf": "SELECT length(printf('%1000000000s', 'x'))",
}
LARGE = {
    "repeat_rows": "SELECT repeat('a', 200000) FROM range(100000)",
    "repeat": "SELECT repeat('a', 2000000000)",
    "repeat_of_repeat": "SELECT length(repeat(repeat('a', 1000000), 1000000))",
    "damerau": "SELECT damerau_levenshtein(repeat('a', 100000), repeat('b', 100000))",
    "range": "SELECT range(2000000000)",
    "list": "SELECT list(range) FROM range(2000000000)",
    "string_agg": "SELECT length(string_agg(repeat('a', 100000))) FROM range(1000000)",
    "lpad": "SELECT length(lpad('a', 2000000000, 'b'))",
    "histogram": "SELECT len(histogram(range)) FROM range(300000000)",
    "distinct": "SELECT count(DISTINCT range::VARCHAR) FROM range(1000000000)",
    "group": "SELECT count(*) FROM (SELECT range FROM range(2000000000) GROUP BY 1)",
    "window": "SELECT max(s) FROM (SELECT list(range) OVER (ORDER BY range) s FROM range(100000))",
    "map": "SELECT len(map(range(100000000), range(100000000)))",
    "columns": "SELECT " + ", ".join(f"repeat('a', 1000000) AS c{n}" for n in range(500)) + " FROM range(100)",
    "wide_row": "SELECT " + ", ".join(f"repeat('a', 100000000) AS c{n}" for n in range(30)),
}
DEEP_SQL = {
    "brackets": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "sums": "SELECT " + "1 + " * 20000 + "1",
    "negation": "SELECT " + "- " * 20000 + "1",
    "queries": "SELECT * FROM " + "(SELECT * FROM " * 800 + "kernels" + ")" * 800,
    "unions": " UNION ALL ".join(["SELECT 1"] * 5000),
    "queries_with_names": "WITH t0 AS (SELECT * FROM kernels), "
    + ", ".join(f"t{n} AS (SELECT * FROM t{n - 1})" for n in range(1, 500)) + " FROM t499",
    "lists": "SELECT " + "[" * 2000 + "1" + "]" * 2000,
    "structs": "SELECT " + "{'a': " * 1000 + "1" + "}" * 1000,
    "cases": "SELECT " + "CASE WHEN true THEN " * 1000 + "1" + " END" * 1000,
    "long_text": "SELECT length('" + "x" * 100_000 + "')",
    "many_columns": "SELECT " + ", ".join(["1"] * 20000),
    "many_joins": "SELECT count(*) FROM " + ", ".join(f"(SELECT 1) t{n}" for n in range(300)),
}  # fmt: skip
