"""No verb shows a figure of a damaged file as if it were true."""

import json
import shutil
import sqlite3

import pytest

import bit_flips
from conftest import BAD_INPUT, BINARY, MISSING, OK


def flipped(path, at=-1):
    """Flips one bit, in the middle unless told where."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at < 0 else at] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("seed", range(3))
def test_flipped_bits(tmp_path, seed):
    flipper = bit_flips.Flipper(BINARY, tmp_path, seed)
    results = [flipper.flip() for _ in range(12)]
    assert not [r for r in results if r[1].startswith("FAULT")]


def derived_table(neurolens, run, name):
    (path,) = (neurolens.bundle(run) / "derived").glob(f"*/{name}.parquet")
    return path


@pytest.mark.parametrize("table", ["span_tree", "kernel_links"])
def test_damaged_derived_table_is_built_again_and_said(neurolens, small_run, table):
    before = neurolens("analyze", small_run, "--json").data
    path = derived_table(neurolens, small_run, table)
    good = path.read_bytes()
    flipped(path)
    assert neurolens("verify", small_run, "--json", code=1).data["verified"] is False
    after = neurolens("analyze", small_run, "--json").envelope
    assert after["data"] == before
    assert any("damaged" in warning for warning in after["warnings"])
    assert path.read_bytes() == good
    assert neurolens("analyze", small_run, "--json").envelope["warnings"] == []


def test_edited_measures_are_computed_again(neurolens, small_run):
    before = neurolens("fingerprint", small_run, "--json").data
    (path,) = (neurolens.bundle(small_run) / "derived").glob("measures-*/measures.json")
    text = path.read_text()
    path.write_text(text.replace('"total_ns":', '"total_ns":1', 1))
    assert path.read_text() != text
    assert neurolens("verify", small_run, "--json", code=1).data["verified"] is False
    after = neurolens("fingerprint", small_run, "--json").envelope
    assert after["data"] == before
    assert any("measures" in warning for warning in after["warnings"])
    assert path.read_text() == text


@pytest.mark.parametrize("verb", [["analyze"], ["show"], ["query", "SELECT name FROM kernels"], ["export"], ["report", "--format", "json"]])
def test_damaged_facts_are_an_error(neurolens, small_run, verb):
    flipped(neurolens.bundle(small_run) / "kernels.parquet")
    result = neurolens(verb[0], small_run, *verb[1:], code=None)
    assert result.code == MISSING, result
    assert "kernels" in result.err and "verify" in result.err


def test_edited_run_document_is_an_error(neurolens, small_run, tmp_path):
    """In the ledger, and in a bundle that has no ledger."""
    shutil.copytree(neurolens.bundle(small_run), tmp_path / "bundle")
    for bundle in (neurolens.bundle(small_run), tmp_path / "bundle"):
        path = bundle / "run.json"
        path.write_text(path.read_text().replace('"seen":206', '"seen":207', 1))
        result = neurolens("show", bundle, code=BAD_INPUT)
        assert "changed after it was written" in result.err


def test_run_json_can_be_checked_with_sha256sum(neurolens, small_run):
    import subprocess

    subprocess.run(["sha256sum", "--check", "--quiet", "run.json.sha256"], cwd=neurolens.bundle(small_run), check=True)


# ---- The state


def test_damaged_state_is_repaired(neurolens, small_run):
    neurolens("label", small_run, "model=m")
    neurolens("note", small_run, "precious")
    neurolens("state", "backup")
    before = neurolens("state", "export").out
    path = neurolens.ledger / "state.sqlite"
    pages = range(0, path.stat().st_size, 4096)
    noticed = 0
    for page in pages:
        flipped(path, page + 2048)
        result = neurolens("state", "export", code=None)
        noticed += result.code != OK
        if result.code != OK:
            assert "state repair" in result.err
        neurolens("state", "repair")
        assert neurolens("state", "export").out == before
    assert noticed >= 5
    assert neurolens("show", small_run, "--json").data["notes"][0]["text"] == "precious"


def test_lost_state_comes_from_the_backup(neurolens, small_run):
    neurolens("tag", small_run, "kept")
    neurolens("state", "backup")
    (neurolens.ledger / "state.sqlite").write_bytes(b"not a database" * 1000)
    answer = neurolens("state", "repair", "--json").data
    assert answer["damaged"] and answer["from_backup"] == answer["records"] >= 2
    assert neurolens("show", "kept", "--json").data["run_id"] == small_run


def test_repair_leaves_a_good_state_alone(neurolens, small_run):
    before = (neurolens.ledger / "state.sqlite").read_bytes()
    assert neurolens("state", "repair", "--json").data["damaged"] is False
    assert (neurolens.ledger / "state.sqlite").read_bytes() == before


def test_backups_are_made_by_themselves(neurolens, small_run):
    lines = (neurolens.ledger / "state-backup.jsonl").read_text().splitlines()
    assert json.loads(lines[1])["run_id"] == small_run


def test_another_program_wrote_the_state(neurolens, small_run):
    """It has no checksums, so it is not believed; repair takes what the program left untouched."""
    neurolens("tag", small_run, "kept")
    with sqlite3.connect(neurolens.ledger / "state.sqlite") as state:
        state.execute("UPDATE tags SET name = 'edited'")
    assert "state repair" in neurolens("runs", code=MISSING).err
    neurolens("state", "repair")
    assert neurolens("runs", "--json").data["runs"][0]["tags"] == ["kept"] or neurolens.runs()[0]["tags"] == []


def test_damaged_index_is_rebuilt(neurolens, small_run):
    before = neurolens.runs()
    path = neurolens.ledger / "index.sqlite"
    for page in range(0, path.stat().st_size, 4096):
        flipped(path, page + 3000)
        if neurolens("runs", "--json", code=None).code != OK:
            neurolens("gc", "--reindex")
        assert neurolens.runs() == before
