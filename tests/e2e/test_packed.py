"""Runs as one file: what leaves comes back the same, and nothing that comes from elsewhere is believed or does harm."""

import fcntl
import json
import os
import random
import shutil
import subprocess

import pytest

import hostile_bundles
import packed
import trace_text
from conftest import BAD_INPUT, BINARY, GATE_FAILED, MISSING, Neurolens, peak_memory

MOST_MB = 600
SECRET = "the content of a file outside"


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    """A ledger with one run that people have said something of."""
    folder = tmp_path_factory.mktemp("origin")
    (folder / "trace.json").write_text(trace_text.trace_text())
    neurolens = Neurolens(folder / "ledger")
    neurolens("import", folder / "trace.json", "--set", "model=llama: 3", "--set", "batch=8")
    neurolens("tag", "@latest", "nightly")
    neurolens("note", "@latest", 'a "quoted" note\nof two lines: äöü')
    neurolens("note", "@latest", "another one")
    neurolens.trace = folder / "trace.json"
    neurolens.run_id = neurolens("runs", "--json").data["runs"][0]["run_id"]
    return neurolens


@pytest.fixture(scope="module")
def file(origin, tmp_path_factory):
    path = tmp_path_factory.mktemp("file") / "run.nlz"
    origin("export", origin.run_id, "--format", "nlz", "--output", path)
    return path


@pytest.fixture
def other(tmp_path):
    return Neurolens(tmp_path / "other")


def state_of(neurolens, run):
    data = neurolens("show", run, "--json").data
    labels = {label["key"]: label["value"] for label in data["labels"]}
    return labels, data["tags"], [note["text"] for note in data["notes"]], data["claimed_by"]


def test_the_same_run_gives_the_same_bytes(origin, file, tmp_path):
    origin("export", origin.run_id, "--format", "nlz", "--output", tmp_path / "again.nlz")
    assert (tmp_path / "again.nlz").read_bytes() == file.read_bytes()
    data = file.read_bytes()
    assert packed.packed(packed.files_of(data), origin.run_id).startswith(data[: int(data[-86:-66])])
    bundle = packed.files_of_bundle(origin.bundle(origin.run_id))
    assert {name: content for name, content in packed.files_of(data).items() if name != "neurolens.yaml"} == bundle


def test_a_packed_run_is_read_where_it_is(origin, file, other):
    for verb in ("analyze", "fingerprint"):
        assert other(verb, file, "--json").data == origin(verb, origin.run_id, "--json").data
    sql = "SELECT name, start_ns, dur_ns FROM kernels ORDER BY ALL"
    assert other("query", file, sql).out == origin("query", origin.run_id, sql).out
    labels, tags, notes, claimed_by = state_of(other, file)
    assert (labels, tags, notes) == state_of(origin, origin.run_id)[:3]
    assert claimed_by == "run.nlz"
    assert other("runs", "--json").data["total"] == 0, "nothing gets into the ledger"
    suggested = other("show", file).err
    assert f" {origin.run_id[:12]}" not in suggested and str(file) in suggested, "the next command can be typed"
    assert other("verify", file).out.count("packed ") == len(packed.files_of(file.read_bytes()))


def test_an_import_brings_the_run_as_claimed(origin, file, other, tmp_path):
    imported = other("import", file, "--json")
    assert imported.data["run_id"] == origin.run_id and imported.data["claimed"]
    assert any("as claimed by" in warning for warning in imported.envelope["warnings"])
    assert state_of(other, origin.run_id) == (*state_of(origin, origin.run_id)[:3], "run.nlz")
    assert "as claimed by run.nlz" in other("show", origin.run_id).out
    assert other("analyze", origin.run_id, "--json").data == origin("analyze", origin.run_id, "--json").data
    other("verify", origin.run_id)
    other("export", origin.run_id, "--format", "nlz", "--output", tmp_path / "back.nlz")
    assert (tmp_path / "back.nlz").read_bytes() == file.read_bytes()
    again = other("import", file, "--json").data
    assert not again["created"] and again["claimed"]
    assert len(state_of(other, origin.run_id)[2]) == 2, "notes do not come twice"


def test_the_profile_proves_a_claim(origin, file, other):
    other("import", file)
    other("import", origin.trace)
    assert state_of(other, origin.run_id)[3] is None
    assert not other("import", file, "--json").data["claimed"], "what is proved stays proved"


def test_a_claim_that_lies_is_replaced_by_the_truth(origin, file, other, tmp_path):
    """Somebody packs other tables under the id of a true run."""
    bundle = tmp_path / "bundle"
    shutil.copytree(origin.bundle(origin.run_id), bundle)
    table = hostile_bundles.table_of(bundle)
    durations = [value * 2 for value in table["dur_ns"].to_pylist()]
    column = table.column_names.index("dur_ns")
    table = table.set_column(column, table.schema.field(column), [durations])
    hostile_bundles.write_table(bundle, table, compression="zstd", use_dictionary=["name"])
    lie = tmp_path / "lie.nlz"
    lie.write_bytes(packed.packed(packed.files_of_bundle(bundle), origin.run_id))
    total = "SELECT sum(dur_ns) FROM kernels"
    other("import", lie)
    assert other("query", origin.run_id, total).out != origin("query", origin.run_id, total).out
    assert state_of(other, origin.run_id)[3] == "lie.nlz"
    other("import", origin.trace)
    assert other("query", origin.run_id, total).out == origin("query", origin.run_id, total).out
    assert state_of(other, origin.run_id)[3] is None


def test_sources_that_come_along_prove_the_run(origin, other, tmp_path):
    path = tmp_path / "proved.nlz"
    origin("export", origin.run_id, "--format", "nlz", "--sources", origin.trace, "--output", path)
    imported = other("import", path, "--json").data
    assert imported["run_id"] == origin.run_id and not imported["claimed"]
    assert state_of(other, origin.run_id)[3] is None
    wrong = tmp_path / "wrong.json"
    wrong.write_text(trace_text.trace_text() + " ")
    refused = origin("export", origin.run_id, "--format", "nlz", "--sources", wrong, "--output", tmp_path / "x", code=BAD_INPUT)
    assert "was not made from this file" in refused.err


def test_what_is_left_out_is_not_there(origin, tmp_path, other):
    path = tmp_path / "bare.nlz"
    origin("export", origin.run_id, "--format", "nlz", "--without", "labels", "--without", "notes", "--output", path)
    assert "neurolens.yaml" not in packed.files_of(path.read_bytes())
    assert "model" not in state_of(other, path)[0]
    origin("export", origin.run_id, "--format", "nlz", "--derived", "--force", "--output", path)
    derived = [name for name in packed.files_of(path.read_bytes()) if name.startswith("derived/")]
    assert len(derived) >= 3
    other("analyze", path)


def test_a_deleted_run_leaves_a_reason(origin, file, other):
    other("import", file)
    answer = other("delete", origin.run_id, "--reason", "it was an example", "--json").data
    assert answer["run_id"] == origin.run_id and answer["reason"] == "it was an example"
    gone = other("show", origin.run_id[:12], code=BAD_INPUT)
    assert "was deleted on" in gone.err and "it was an example" in gone.err
    assert not other.bundle(origin.run_id).exists()
    assert other("runs", "--json").data["total"] == 0
    other("gc", "--reindex")
    assert "it was an example" in other("state", "export").out
    assert other("import", file, "--json").data["created"], "its content may come again"
    other("delete", "no such run", "--reason", "x", code=BAD_INPUT)
    other("delete", origin.run_id, code=BAD_INPUT)
    other("delete", file, "--reason", "a file is not a run of the ledger", code=BAD_INPUT)
    assert other("runs", "--json").data["total"] == 1


def test_a_run_in_use_is_not_deleted(origin, file, other):
    other("import", file)
    descriptor = os.open(other.bundle(origin.run_id), os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    process = other.start("delete", origin.run_id, "--reason", "x")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)
    assert other.bundle(origin.run_id).exists()
    os.close(descriptor)
    assert process.wait(30) == 0


# ---- Files that wish harm

HOSTILE = {}


def changed_index(change):
    def make(good):
        files = packed.files_of(good)
        index = packed.index_of(good)
        content = b"".join(data for _, data in sorted(files.items()))
        replaced = change(index)
        return packed.sealed(content, index if replaced is None else replaced)

    return make


def first(**members):
    return changed_index(lambda index: index["files"][0].update(members))


def renamed(name):
    def change(index):
        index["files"][-1]["name"] = name
        index["files"].sort(key=lambda one: one["offset"])

    return changed_index(change)


for name, make in {
    "wrong_hash": first(sha256="0" * 64),
    "no_hash": first(sha256="x"),
    "hash_of_another_type": first(sha256=7),
    "negative_offset": first(offset=-5),
    "offset_behind_the_end": first(offset=10**15),
    "offset_beyond_64_bits": first(offset=10**30),
    "fraction": first(bytes=1.5),
    "negative_size": first(bytes=-1),
    "lying_size": first(bytes=2**62),
    "zero_size": first(bytes=0),
    "path_up": renamed("../../outside/secret"),
    "absolute_path": renamed("/tmp/neurolens-was-here"),
    "derived_path_up": renamed("derived/../../secret"),
    "source_path_up": renamed("sources/../../secret"),
    "path_with_nul": renamed("tracks.parquet\0.txt"),
    "long_name": renamed("sources/" + "x" * 100_000),
    "unknown_table": renamed("zzz.parquet"),
    "name_of_another_type": renamed(7),
    "file_twice": changed_index(lambda index: index["files"].append(index["files"][-1])),
    "cycle": changed_index(lambda index: index["files"].append({**index["files"][-1], "name": "z", "offset": 5})),
    "no_run_json": changed_index(lambda index: index.update(files=[one for one in index["files"] if one["name"] != "run.json"])),
    "no_files": changed_index(lambda index: index.update(files=[])),
    "files_of_another_type": changed_index(lambda index: index.update(files={"a": 1})),
    "many_files": changed_index(lambda index: index.update(files=[{"name": f"sources/{i}"} for i in range(100_000)])),
    "newer": changed_index(lambda index: index.update(version=99)),
    "version_of_another_type": changed_index(lambda index: index.update(version="1")),
    "other_run_id": changed_index(lambda index: index.update(run_id="f" * 64)),
    "run_id_with_a_path": changed_index(lambda index: index.update(run_id="../" * 20)),
    "index_is_a_list": changed_index(lambda index: []),
    "index_is_no_json": changed_index(lambda index: b"\xff\xfe{"),
    "deep_index": changed_index(lambda index: b"[" * 1_000_000),
    "large_index": changed_index(lambda index: b" " * 10_000_000),
    "empty": lambda good: b"",
    "only_the_start": lambda good: b"NLZ1\n",
    "only_zeros": lambda good: b"NLZ1\n" + b"\0" * 100_000,
    "no_end": lambda good: good[:-1],
    "more_behind_the_end": lambda good: good + b"\n",
    "twice": lambda good: good + good,
    "another_start": lambda good: b"NLZ2\n" + good[5:],
    "end_points_before_the_start": lambda good: good[:-86] + b"%020d" % 0 + good[-66:],
    "end_points_behind_itself": lambda good: good[:-86] + b"%020d" % (10**18) + good[-66:],
    "index_is_the_whole_file": lambda good: good[:-86] + b"%020d" % 5 + good[-66:],
}.items():
    HOSTILE[name] = make


def sidecar(text):
    def make(good):
        files = {**packed.files_of(good), "neurolens.yaml": text}
        return packed.packed(files, packed.index_of(good)["run_id"])

    return make


HOSTILE["sidecar_of_anchors"] = sidecar(b"a: &a [x, x]\nb: [*a, *a]\n")
HOSTILE["sidecar_is_large"] = sidecar(b"#" * 10_000_000)
HOSTILE["sidecar_of_a_wrong_type"] = sidecar(b'{"labels": [1, 2]}')
HOSTILE["sidecar_is_deep"] = sidecar(b"[" * 60_000)


def survives(path, folder, *verbs):
    """None of the verbs ends badly, takes much memory or gives a right answer."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "TZ": "UTC"}
    for verb in verbs:
        command = [BINARY, verb, path, "--ledger", folder / "ledger"]
        code, megabytes, text = peak_memory(command, folder / "out", environment)
        assert code in (GATE_FAILED, BAD_INPUT, MISSING), f"{verb}: exit code {code}: {text[:500]}"
        assert megabytes <= MOST_MB, verb
        assert SECRET.encode() not in (folder / "out").read_bytes() and SECRET not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_file(file, tmp_path, name):
    path, outside = tmp_path / "hostile.nlz", tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    path.write_bytes(HOSTILE[name](file.read_bytes()))
    survives(path, tmp_path, "show", "import")
    assert [p.name for p in outside.iterdir()] == ["secret"]
    assert not list((tmp_path / "ledger/runs").glob("*")), "nothing gets into the ledger"


def in_a_file(name, good, folder):
    """A hostile bundle, packed; None if it cannot be."""
    bundle, outside = folder / "bundle", folder / "outside"
    shutil.copytree(good, bundle)
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    hostile_bundles.CASES[name](bundle, outside)
    document = json.loads((good / "run.json").read_text())
    data = packed.packed(packed.files_of_bundle(bundle), document["run_id"])
    path = folder / "hostile.nlz"
    path.write_bytes(data)
    return path


# Cases about links and about what is derived are none here: such things cannot be packed.
BUNDLES = [name for name in hostile_bundles.CASES if "_as_" not in name and "derived" not in name]


@pytest.mark.parametrize("name", BUNDLES)
def test_hostile_bundle_in_a_file(origin, tmp_path, name):
    path = in_a_file(name, origin.bundle(origin.run_id), tmp_path)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TZ": "UTC"}
    for verb in ("show", "import"):
        code, megabytes, said = peak_memory([BINARY, verb, path, "--ledger", tmp_path / "ledger"], tmp_path / "out", environment)
        assert 0 <= code <= 3, f"{verb}: exit code {code}: {said[:500]}"
        assert megabytes <= MOST_MB, verb
        assert SECRET.encode() not in (tmp_path / "out").read_bytes() and SECRET not in said


def test_a_cut_file_is_refused_at_every_kilobyte(file, tmp_path):
    data = file.read_bytes()
    ends = [*range(0, len(data), 1024), len(data) - 1]
    path = tmp_path / "cut.nlz"
    for end in ends:
        path.write_bytes(data[:end])
        survives(path, tmp_path, "show")


def test_flipped_bits_are_noticed(file, tmp_path):
    data, dice = file.read_bytes(), random.Random(1)
    other, path = Neurolens(tmp_path / "ledger"), tmp_path / "flipped.nlz"
    for _ in range(40):
        changed = bytearray(data)
        changed[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
        path.write_bytes(changed)
        assert other("import", path, code=None).code != 0
        assert other("verify", path, code=None).code != 0
    assert not list((tmp_path / "ledger/runs").glob("*"))
