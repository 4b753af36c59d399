"""The time line of a run: every figure held against SQL over its tables, and tiles against a renderer of a few lines."""

import json
import random
import struct

import pytest

from conftest import BAD_INPUT, TRACES, Neurolens
from server import Server

RECORDED = [
    "kineto/tracelens_h100_bert-small.json.gz",
    "kineto/hta_cuda_event_sync_multistream.json.gz",
    "nsys/nsysai_h100_2gpu_1s.sqlite.gz",
    "onnxruntime/generated/transformer_t2_optall_5runs.json",
    "rocprof/jimw_gfx1151_llamacpp_decode_kernel_trace.csv",
]
TABLES = {"spans": "span_id", "kernels": "kernel_id", "copies": "copy_id", "syncs": "sync_id"}
ALL = " UNION ALL ".join(
    f"SELECT '{table}' AS t, {key}::BIGINT AS id, name, start_ns AS s, coalesce(greatest(dur_ns, 0), 0)::BIGINT AS d FROM {table}"
    for table, key in TABLES.items()
)


def rows_of(neurolens, run, sql):
    return json.loads(neurolens("query", run, sql, "--format", "json").out)


def drawn(spans, begin, width, buckets):
    """{bucket: (longest span, count, busy)} of spans that never overlap, by the definition."""
    out = {}
    for bucket in range(buckets):
        low, high = begin + bucket * width, begin + (bucket + 1) * width
        here = [one for one in spans if one[0] < high and one[0] + max(one[1], 1) > low]
        if here:
            longest = max(here, key=lambda one: (one[1], -one[0]))
            busy = sum(max(0, min(start + length, high) - max(start, low)) for start, length, *_ in here)
            out[bucket] = (longest[2:], sum(low <= one[0] for one in here), busy)
    return out


def shown(tile):
    """{row: {bucket: item}}; counts and times are of all buckets of an item."""
    items = tile["items"]
    out = {}
    for n, row in enumerate(items["row"]):
        out.setdefault(row, []).append({key: items[key][n] for key in items})
    return out


@pytest.fixture(scope="module")
def module_neurolens(tmp_path_factory):
    return Neurolens(tmp_path_factory.mktemp("ledger"))


@pytest.fixture(scope="module", params=RECORDED)
def recorded(request, module_neurolens):
    if not (TRACES / request.param).exists():
        pytest.skip(f"no recorded trace {TRACES / request.param}: set NEUROLENS_TRACES")
    return module_neurolens.import_file(TRACES / request.param)["run_id"]


def test_nothing_is_dropped(module_neurolens, recorded):
    told = module_neurolens("timeline", recorded, "--json").data
    sql = f"SELECT count(s) AS n, count(*) - count(s) AS lost, min(s) AS origin, max(s + d) AS last FROM ({ALL})"
    (counts,) = rows_of(module_neurolens, recorded, sql)
    assert sum(row["spans"] for row in told["rows"]) == told["spans"] == counts["n"]
    assert told["not_placed"] == counts["lost"] and told["origin_ns"] == counts["origin"] and told["begin_ns"] == 0
    assert 0 <= told["end_ns"] - (counts["last"] - counts["origin"]) <= 1  # an instant at the end is seen
    assert {row["track"] for row in told["rows"]} == {track["track"] for track in told["tracks"]}


def test_sums_of_areas_are_those_of_sql(module_neurolens, recorded):
    told = module_neurolens("timeline", recorded, "--json").data
    dice = random.Random(1)
    for _ in range(3):
        begin = dice.randrange(told["end_ns"])
        end = dice.randrange(begin, told["end_ns"]) + 1
        words = ["--begin-ns", str(begin), "--end-ns", str(end), "--top", "10000"]
        area = module_neurolens("timeline", recorded, "area", *words, "--json").data
        low, high = begin + told["origin_ns"], end + told["origin_ns"]
        inside = f"sum(greatest(0, least(s + d, {high}) - greatest(s, {low})))::BIGINT AS sum_ns"
        sums = f"coalesce(name, '') AS name, count(*) AS count, {inside}, min(d) AS min_ns, max(d) AS max_ns"
        sql = f"SELECT {sums} FROM ({ALL}) WHERE s < {high} AND s + greatest(d, 1) > {low} GROUP BY ALL"
        expected = {one["name"]: one for one in rows_of(module_neurolens, recorded, sql)}
        found = {one["name"]: {key: one[key] for key in ("name", "count", "sum_ns", "min_ns", "max_ns")} for one in area["by_name"]}
        assert found == expected and area["not_shown"] == 0
        assert area["count"] == sum(one["count"] for one in expected.values())
        for one in area["by_name"]:
            assert one["max_ns"] == 0 or one["union_ns"]["value"] <= one["sum_ns"]


def test_search_finds_what_sql_finds(module_neurolens, recorded):
    for text in ("e", "GEMM", "no such name"):
        found = module_neurolens("timeline", recorded, "search", "--text", text, "--json").data
        condition = f"contains(lower(name), '{text.lower()}') AND s IS NOT NULL"
        (sql,) = rows_of(module_neurolens, recorded, f"SELECT count(*) AS n, min(s) AS first FROM ({ALL}) WHERE {condition}")
        assert found["count"] == sql["n"]
        assert (found["next"] is None) == (sql["n"] == 0) and found["previous"] is None
        if found["next"]:
            assert found["next"]["start_ns"] + found["origin_ns"] == sql["first"]


def test_tiles_are_drawn_by_the_definition(module_neurolens, recorded):
    told = module_neurolens("timeline", recorded, "--json").data
    facts = {(one["t"], one["id"]): one for one in rows_of(module_neurolens, recorded, f"SELECT * FROM ({ALL}) WHERE s IS NOT NULL")}
    dice = random.Random(2)
    rows = {}
    small = [row for row in told["rows"] if row["spans"] <= 400]
    fine = module_neurolens("timeline", recorded, "tile", "--level", "0", "--tile", "0", "--json").data
    assert fine["begin_ns"] == 0
    for _ in range(4):
        level = dice.randrange(6, max(7, told["end_ns"].bit_length() - 8))
        tile = dice.randrange(told["end_ns"]) >> (level + 9)
        chosen = dice.sample(small, min(len(small), 3))
        numbers = [str(row["row"]) for row in chosen]
        words = ["--level", str(level), "--tile", str(tile), "--rows", *numbers]
        drawing = module_neurolens("timeline", recorded, "tile", *words, "--json").data
        items = shown(drawing)
        for row in chosen:
            spans = rows.setdefault(row["row"], None)
            if spans is None:
                spans = rows[row["row"]] = all_of_row(module_neurolens, recorded, row, facts, told)
            expected = drawn(spans, drawing["begin_ns"], 1 << level, drawing["buckets"])
            compare(items.get(row["row"], []), expected)


def all_of_row(neurolens, run, row, facts, told):
    """(start, duration, table, id) of every span of a row, found by tiles that are fine enough to show each."""
    seen = {}
    stack = [(max(0, told["end_ns"].bit_length() - 9), 0)]
    while stack:
        level, tile = stack.pop()
        drawing = neurolens("timeline", run, "tile", "--level", str(level), "--tile", str(tile), "--rows", str(row["row"]), "--json").data
        for item in shown(drawing).get(row["row"], []):
            seen[item["table"], item["id"]] = (item["start_ns"], item["dur_ns"])
        if len(seen) == row["spans"]:
            break
        items = shown(drawing).get(row["row"], [])
        starting = {(item["table"], item["id"]) for item in items if drawing["begin_ns"] <= item["start_ns"] < drawing["end_ns"]}
        if len(starting) < sum(item["count"] for item in items) and level > 0:
            stack += [(level - 1, tile * 2), (level - 1, tile * 2 + 1)]
    assert len(seen) == row["spans"]
    names = list(TABLES)
    for (table, number), (start, length) in seen.items():
        fact = facts[names[table], number]
        assert (fact["s"] - told["origin_ns"], fact["d"]) == (start, length)
    return sorted((start, length, table, number) for (table, number), (start, length) in seen.items())


def compare(items, expected):
    buckets = set()
    for item in items:
        own = range(item["bucket"], item["bucket"] + item["buckets"])
        buckets.update(own)
        assert all(expected[one][0] == (item["table"], item["id"]) for one in own)
        assert item["count"] == sum(expected[one][1] for one in own) and item["busy_ns"] == sum(expected[one][2] for one in own)
    assert buckets == expected.keys()


# ---- Bytes, errors, files


def test_packed_tile_says_the_same(neurolens, small_run):
    told = neurolens("timeline", small_run, "tile", "--json").data
    packed = neurolens("timeline", small_run, "tile", "--page", "packed").bytes
    magic, rows, items, names, level, buckets = struct.unpack_from("<6I", packed)
    assert (magic, level, buckets) == (0x32544C4E, told["level"], told["buckets"]) and items == len(told["items"]["id"])
    at = 32
    columns = []
    counts = [items] * 3 + [2 * rows] + [items] * 3 + [names] + [items] * 2
    for count, kind in zip(counts, "dddIIIIIHH"):
        columns.append(struct.unpack_from(f"<{count}{kind}", packed, at))
        at += struct.calcsize(f"<{count}{kind}")
    starts, lengths, busy, _, name, item, count, ends, bucket, width = columns
    texts = [packed[at + begin : at + end].decode() for begin, end in zip((0, *ends), ends)]
    assert texts == told["names"] and list(name) == told["items"]["name"]
    assert [one + told["begin_ns"] for one in starts] == told["items"]["start_ns"] and list(lengths) == told["items"]["dur_ns"]
    assert list(busy) == told["items"]["busy_ns"] and list(count) == told["items"]["count"]
    assert [one & 0x3FFFFFFF for one in item] == told["items"]["id"] and [one >> 30 for one in item] == told["items"]["table"]
    assert list(bucket) == told["items"]["bucket"] and list(width) == told["items"]["buckets"]


def test_errors_say_what_to_do(neurolens, small_run):
    assert "has no row 99" in neurolens("timeline", small_run, "--rows", "99", code=BAD_INPUT).err
    assert "belong together" in neurolens("timeline", small_run, "tile", "--level", "3", code=BAD_INPUT).err
    assert "a search needs a text" in neurolens("timeline", small_run, "search", code=BAD_INPUT).err
    assert "ends before it begins" in neurolens("timeline", small_run, "area", "--begin-ns", "5", "--end-ns", "4", code=BAD_INPUT).err
    assert "out of range" in neurolens("timeline", small_run, "tile", "--level", "50", "--tile", "999999", code=BAD_INPUT).err


def test_a_lost_or_damaged_file_is_made_again(neurolens, small_run):
    whole = neurolens("timeline", small_run, "--json").data
    (path,) = (neurolens.ledger / "runs" / small_run / "derived").glob("timeline-*")
    stored = path.read_bytes()
    path.unlink()
    assert neurolens("timeline", small_run, "--json").data == whole and path.read_bytes() == stored
    path.write_bytes(stored[:-9])
    again = neurolens("timeline", small_run, "--json")
    assert again.data == whole and path.read_bytes() == stored and "was damaged" in again.envelope["warnings"][0]
    neurolens("verify", small_run)


def test_a_run_without_times_has_no_rows(neurolens):
    path = TRACES / "trtexec/a100_resnet_fp16.profile.json"
    if not path.exists():
        pytest.skip(f"no recorded trace {path}: set NEUROLENS_TRACES")
    run = neurolens.import_file(path)["run_id"]
    told = neurolens("timeline", run, "--json").data
    assert told["rows"] == [] and told["spans"] == 0
    for what in (["tile"], ["area"], ["search", "--text", "x"]):
        neurolens("timeline", run, *what)


def test_a_server_sends_tiles(neurolens, small_run):
    server = Server(neurolens)
    try:
        path = f"/api/v1/timeline?run={small_run}&what=tile"
        assert server.get(path).data == neurolens("timeline", small_run, "tile", "--json").data
        packed = server.get(path + "&page=packed")
        assert packed.body == neurolens("timeline", small_run, "tile", "--page", "packed").bytes
        assert packed.headers["content-type"] == "application/octet-stream"
        again = server.get(path + "&page=packed", {"If-None-Match": packed.headers["etag"]})
        assert again.status == 304 and again.body == b""
    finally:
        server.kill()
