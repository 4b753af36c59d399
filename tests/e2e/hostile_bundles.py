"""Bundle folders as somebody who wishes harm could make them.

Each case changes a copy of a good bundle. Unless it is about the hashes, they fit: whoever makes a bundle can compute them."""

import hashlib
import json
import os
import random
import shutil

import pyarrow
import pyarrow.parquet

from conftest import FULL

CASES = {}


def case(name=None):
    def add(function):
        CASES[name or function.__name__] = function
        return function

    return add


def read(bundle):
    return json.loads((bundle / "run.json").read_text())


def write(bundle, document):
    write_text(bundle, json.dumps(document))


def write_text(bundle, text):
    data = text if isinstance(text, bytes) else text.encode()
    (bundle / "run.json").write_bytes(data)
    (bundle / "run.json.sha256").write_text(f"{hashlib.sha256(data).hexdigest()}  run.json\n")


def replace_table(bundle, data, name="kernels", **claims):
    """Other bytes for a table, with the size and hash that fit, and perhaps other rows."""
    path = bundle / f"{name}.parquet"
    path.write_bytes(data)
    document = read(bundle)
    for table in document["tables"]:
        if table["name"] == name:
            table.update({"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest(), **claims})
    write(bundle, document)


def write_table(bundle, table, name="kernels", **options):
    path = bundle / "made.parquet"
    pyarrow.parquet.write_table(table, path, **options)
    data = path.read_bytes()
    path.unlink()
    replace_table(bundle, data, name, rows=table.num_rows)


def table_of(bundle, name="kernels"):
    return pyarrow.parquet.read_table(bundle / f"{name}.parquet")


# ---- Things that are no files


def other_thing(make):
    def change(target):
        def apply(bundle, outside):
            path = bundle / target
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            make(path, outside)

        return apply

    return change


THINGS = {
    "fifo": other_thing(lambda path, outside: os.mkfifo(path)),
    "folder": other_thing(lambda path, outside: path.mkdir()),
    "dev_zero": other_thing(lambda path, outside: path.symlink_to("/dev/zero")),
    "link_outside": other_thing(lambda path, outside: path.symlink_to(outside / "secret")),
    "dangling_link": other_thing(lambda path, outside: path.symlink_to("/nowhere/at/all")),
    "link_to_itself": other_thing(lambda path, outside: path.symlink_to(path.name)),
    "empty": other_thing(lambda path, outside: path.write_bytes(b"")),
}
for thing, change in THINGS.items():
    for target in ("run.json", "run.json.sha256", "kernels.parquet", "spans.parquet", "tracks.parquet"):
        CASES[f"{thing}_as_{target}"] = change(target)


@case()
def derived_is_a_link(bundle, outside):
    shutil.rmtree(bundle / "derived")
    (bundle / "derived").symlink_to(outside)


@case()
def derived_is_a_file(bundle, outside):
    shutil.rmtree(bundle / "derived")
    (bundle / "derived").write_text("not a folder")


@case()
def folder_in_derived_is_a_link(bundle, outside):
    (folder,) = (bundle / "derived").glob("assemble-*")
    shutil.rmtree(folder)
    folder.symlink_to(outside)


@case()
def derived_tables_lie(bundle, outside):
    """With a mark that fits: who makes a bundle can compute it."""
    (folder,) = (bundle / "derived").glob("assemble-*")
    links = pyarrow.parquet.read_table(folder / "kernel_links.parquet")
    links = links.set_column(links.column_names.index("op_id"), "op_id", pyarrow.array([0] * links.num_rows, pyarrow.int64()))
    pyarrow.parquet.write_table(links, folder / "kernel_links.parquet")
    lines = ""
    for path in sorted(folder.glob("*.parquet")):
        lines += f"{path.name} {path.stat().st_size} {hashlib.sha256(path.read_bytes()).hexdigest()}\n"
    (folder / "complete").write_text(f"{lines}sha256 of the lines above {hashlib.sha256(lines.encode()).hexdigest()}\n")


# ---- run.json


def document_case(name, change):
    @case(f"document_{name}")
    def apply(bundle, outside):
        document = read(bundle)
        write(bundle, change(document) or document)


MEMBERS = [
    *("schema", "run_id", "revision", "sources", "options", "hardware"),
    *("software", "clocks", "capture", "windows", "tables", "extensions"),
]
for member in MEMBERS:
    document_case(f"without_{member}", lambda d, member=member: d.pop(member) and None)
    document_case(f"other_type_of_{member}", lambda d, member=member: d.update({member: 7}))


def nested(depth, opening="[", closing="]"):
    return opening * depth + closing * depth


def with_text(name, change):
    @case(f"document_{name}")
    def apply(bundle, outside):
        write_text(bundle, change((bundle / "run.json").read_text()))


with_text("deep_arrays", lambda text: text.replace('"extensions":{', f'"extensions":{{"x":{nested(300_000)},', 1))
DEEP_OBJECT = nested(300_000, '{"a":', "}").replace(":}", ":1}", 1)
with_text("deep_objects", lambda text: text.replace('"extensions":{', f'"extensions":{{"x":{DEEP_OBJECT},', 1))
with_text("of_blanks", lambda text: text + " " * 70_000_000)
with_text("of_nuls", lambda text: "\0" * 1000 + text)
with_text("cut", lambda text: text[: len(text) // 2])
with_text("not_utf8", lambda text: text.encode().replace(b'"kineto"', b'"\xff\xfe"'))
with_text("huge_number", lambda text: text.replace('"seen":', '"seen":1e999,"other":', 1))
def each_table(**claims):
    return lambda document: [table.update(claims) for table in document["tables"]] and None


def of_hardware(**claims):
    return lambda document: document["hardware"].update(claims)


def many(count, **one):
    return [{key: i if value is None else value for key, value in one.items()} for i in range(count)]


document_case("negative_rows", each_table(rows=-5))
document_case("lying_rows", each_table(rows=10**15))
document_case("lying_bytes", each_table(bytes=10**15))
document_case("wrong_hash", each_table(sha256="0" * 64))
document_case("table_with_a_path", lambda d: d["tables"][0].update(name="../../outside/secret"))
document_case("table_twice", lambda d: d["tables"].append(d["tables"][0]))
document_case("unknown_table", lambda d: d["tables"].append({**d["tables"][0], "name": "shadows"}))
document_case("run_id_with_a_path", lambda d: d.update(run_id="../../outside"))
document_case("other_run_id", lambda d: d.update(run_id="f" * 64))
document_case("long_device_name", of_hardware(devices=[{"device": 0, "active": True, "name": "x" * 1_000_000}]))
document_case("many_devices", of_hardware(devices=many(50_000, device=None, active=True)))
document_case("many_windows", lambda d: d["windows"].update(kept=many(100_000, kind="step", name="s", start_ns=None, dur_ns=1)))
document_case("many_clocks", lambda d: d.update(clocks=many(20_000, clock_id=None, kind="unix", base_unix_ns=None, resolution_ns=1)))
document_case("clock_at_the_end_of_time", lambda d: [c.update(base_unix_ns=2**63 - 1) for c in d["clocks"]] and None)


# ---- Tables


@case()
def table_of_another_name(bundle, outside):
    replace_table(bundle, (bundle / "spans.parquet").read_bytes())


@case()
def table_with_many_columns(bundle, outside):
    table = table_of(bundle)
    for i in range(2000):
        table = table.append_column(f"c{i}", table.column(0))
    write_table(bundle, table)


@case()
def table_of_millions_of_rows(bundle, outside):
    """Some kilobytes for each million, since every row is the same."""
    group, groups = 1_000_000, 100 if FULL else 10
    first = table_of(bundle).slice(0, 1)
    columns = [
        pyarrow.repeat(first.column(field.name)[0], group) if field.name.endswith("_ns") else pyarrow.nulls(group, field.type)
        for field in first.schema
    ]
    path = bundle / "made.parquet"
    with pyarrow.parquet.ParquetWriter(path, first.schema, compression="zstd") as writer:
        for _ in range(groups):
            writer.write_table(pyarrow.table(columns, schema=first.schema), row_group_size=group)
    data = path.read_bytes()
    path.unlink()
    replace_table(bundle, data, rows=group * groups)


@case()
def table_with_long_names(bundle, outside):
    table = table_of(bundle)
    many = pyarrow.concat_tables([table] * 200)
    names = pyarrow.array([chr(97 + i % 26) * 1_000_000 for i in range(26)]).dictionary_encode()
    column = pyarrow.DictionaryArray.from_arrays(pyarrow.array([i % 26 for i in range(many.num_rows)], pyarrow.int32()), names.dictionary)
    at = many.column_names.index("name")
    write_table(bundle, many.set_column(at, "name", column), compression="zstd", use_dictionary=True)


for codec in ("brotli", "gzip", "lz4", "none"):

    @case(f"table_packed_with_{codec}")
    def packed(bundle, outside, codec=codec):
        write_table(bundle, table_of(bundle), compression=codec)


@case()
def table_with_lists(bundle, outside):
    table = table_of(bundle)
    at = table.column_names.index("name")
    write_table(bundle, table.set_column(at, "name", pyarrow.array([["a", "b"]] * table.num_rows)))


@case()
def table_with_texts_for_times(bundle, outside):
    table = table_of(bundle)
    at = table.column_names.index("start_ns")
    write_table(bundle, table.set_column(at, "start_ns", pyarrow.array(["soon"] * table.num_rows)))


@case()
def table_with_times_at_the_ends(bundle, outside):
    table = table_of(bundle)
    for name, value in (("start_ns", -(2**63)), ("dur_ns", 2**63 - 1)):
        at = table.column_names.index(name)
        table = table.set_column(at, name, pyarrow.array([value] * table.num_rows, pyarrow.int64()))
    write_table(bundle, table)


for cut in range(8):

    @case(f"table_cut_{cut}")
    def cut_table(bundle, outside, cut=cut):
        data = (bundle / "kernels.parquet").read_bytes()
        replace_table(bundle, data[: len(data) * cut // 8])


for seed in range(24):

    @case(f"table_with_wrong_bytes_{seed}")
    def wrong_bytes(bundle, outside, seed=seed):
        """More at the end, where the footer is."""
        chance = random.Random(seed)
        data = bytearray((bundle / "kernels.parquet").read_bytes())
        for _ in range(1 + seed % 4):
            at = chance.randrange(len(data)) if seed % 2 else len(data) - 9 - chance.randrange(min(len(data) - 9, 1500))
            data[at] = chance.randrange(256)
        replace_table(bundle, bytes(data))
