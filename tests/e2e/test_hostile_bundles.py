"""Bundles from elsewhere: no crash, no hang, no more than 600 MB, nothing outside is read or written."""

import os
import shutil

import pytest

import hostile_bundles
from conftest import BINARY, Neurolens, peak_memory, sha256_of

MOST_MB = 600
SECRET = "the content of a file outside"
VERBS = [
    ["show", "BUNDLE"],
    ["analyze", "BUNDLE"],
    ["query", "BUNDLE", "SELECT count(*), max(name), sum(dur_ns) FROM kernels"],
    ["verify", "BUNDLE"],
    ["export", "BUNDLE"],
    ["fingerprint", "BUNDLE"],
    ["compare", "BUNDLE", "GOOD"],
    ["schema", "validate", "BUNDLE"],
    ["report", "BUNDLE", "--format", "json"],
]


def tree(folder):
    """Everything below a folder, with its content."""
    return {str(p.relative_to(folder)): sha256_of(p) if p.is_file() and not p.is_symlink() else "" for p in sorted(folder.rglob("*"))}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    import trace_text

    folder = tmp_path_factory.mktemp("good")
    (folder / "trace.json").write_text(trace_text.trace_text())
    neurolens = Neurolens(folder / "ledger")
    return neurolens.bundle(neurolens.import_file(folder / "trace.json")["run_id"])


@pytest.mark.parametrize("name", hostile_bundles.CASES)
def test_hostile_bundle(good, tmp_path, name):
    bundle, outside = tmp_path / "bundle", tmp_path / "outside"
    shutil.copytree(good, bundle)
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    hostile_bundles.CASES[name](bundle, outside)
    before = tree(outside), tree(bundle)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "TZ": "UTC"}
    for verb in VERBS:
        words = [str({"BUNDLE": bundle, "GOOD": good}.get(word, word)) for word in verb]
        command = [BINARY, *words, "--ledger", tmp_path / "ledger"]
        code, megabytes, said = peak_memory(command, tmp_path / "out", environment)
        assert 0 <= code <= 3, f"{verb}: exit code {code}: {said[:500]}"
        assert megabytes <= MOST_MB, verb
        assert SECRET.encode() not in (tmp_path / "out").read_bytes() and SECRET not in said, verb
    assert (tree(outside), tree(bundle)) == before, "nothing is written there"


def test_derived_data_of_a_foreign_bundle_is_not_believed(good, tmp_path):
    shutil.copytree(good, tmp_path / "bundle")
    neurolens = Neurolens(tmp_path / "ledger")
    truth = neurolens("analyze", good, "--json").data
    hostile_bundles.derived_tables_lie(tmp_path / "bundle", tmp_path)
    assert neurolens("analyze", tmp_path / "bundle", "--json").data == truth


def test_derived_data_of_a_foreign_bundle_lies_in_the_cache(good, tmp_path):
    shutil.copytree(good, tmp_path / "bundle")
    shutil.rmtree(tmp_path / "bundle/derived")
    before = tree(tmp_path / "bundle")
    neurolens = Neurolens(tmp_path / "ledger")
    neurolens("analyze", tmp_path / "bundle")
    neurolens("fingerprint", tmp_path / "bundle")
    assert tree(tmp_path / "bundle") == before
    (derived,) = (tmp_path / "ledger.cache/neurolens/derived").iterdir()
    assert sorted(p.name.split("-")[0] for p in derived.iterdir()) == ["assemble", "measures"]
    assert (tmp_path / "ledger.cache/neurolens").stat().st_mode & 0o777 == 0o700


def test_cache_of_somebody_else_is_refused(good, tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to give a folder to another user")
    cache = tmp_path / "ledger.cache/neurolens"
    cache.mkdir(parents=True)
    os.chown(cache, 65534, 65534)
    result = Neurolens(tmp_path / "ledger")("analyze", good, code=3)
    assert "XDG_CACHE_HOME" in result.err
