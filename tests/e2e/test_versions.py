"""Documents of older versions: bundles from version 1 of run.json on, and run files from version 1 on."""

import json
import shutil

import pytest

from conftest import BAD_INPUT, REPOSITORY

FIXTURES = REPOSITORY / "tests/fixtures"
BUNDLES = sorted(FIXTURES.glob("run_[0-9]*"))
BUNDLES = [path for path in BUNDLES if path.is_dir()]
RUN_FILES = sorted(FIXTURES.glob("run_file_[0-9]*.json"))


def test_version_one_is_kept():
    assert json.loads((FIXTURES / "run_1/run.json").read_text())["schema"] == "neurolens.run/1"
    assert json.loads((FIXTURES / "run_file_1.json").read_text())["schema"] == "neurolens.run-file/1"


@pytest.fixture(params=BUNDLES, ids=lambda path: path.name)
def old_bundle(request, tmp_path):
    return shutil.copytree(request.param, tmp_path / "old")


def test_old_bundle_by_its_folder(neurolens, old_bundle):
    before = (old_bundle / "run.json").read_bytes()
    assert "gemm_64x64" in neurolens("show", old_bundle).out
    assert neurolens.value(old_bundle, "SELECT sum(dur_ns)::BIGINT FROM kernels") == 342250
    assert neurolens("verify", old_bundle, "--json").data["verified"]
    assert neurolens("schema", "validate", old_bundle, "--json").data["valid"]
    exported = json.loads(neurolens("export", old_bundle).out)
    assert exported["summary"]["kernels"] == {"rows": 2, "total_ns": 342250}
    assert (old_bundle / "run.json").read_bytes() == before


def test_old_bundle_in_a_ledger(neurolens, old_bundle):
    run_id = json.loads((old_bundle / "run.json").read_text())["run_id"]
    shutil.copytree(old_bundle, neurolens.bundle(run_id))
    neurolens("gc", "--reindex")
    assert neurolens.run_ids() == [run_id]
    assert neurolens("verify", run_id, "--json").data["verified"]
    assert neurolens.value("@latest", "SELECT count(*) FROM kernels") == 2


def test_old_bundle_equals_a_new_import(neurolens, old_bundle, tmp_path):
    """Facts of the sample have not changed; what describes them differs in the version alone."""
    run_id = neurolens.import_file(REPOSITORY / "samples/kineto_small.json")["run_id"]
    old = json.loads((old_bundle / "run.json").read_text())
    new = json.loads((neurolens.bundle(run_id) / "run.json").read_text())
    assert old["run_id"] == run_id
    for document in (old, new):
        del document["schema"], document["revision"]
    assert old == new


def test_newer_bundle_asks_for_an_update(neurolens, old_bundle):
    document = json.loads((old_bundle / "run.json").read_text())
    document["schema"] = "neurolens.run/99"
    (old_bundle / "run.json").write_text(json.dumps(document))
    for words in (["show", old_bundle], ["query", old_bundle, "SELECT 1"], ["schema", "validate", old_bundle]):
        error = neurolens(*words, "--json", code=BAD_INPUT).envelope["error"]
        assert error["code"] == "unsupported" and "update" in error["hint"]


@pytest.mark.parametrize("path", RUN_FILES, ids=lambda path: path.name)
def test_old_run_file(neurolens, path, tmp_path):
    neurolens("schema", "validate", path)
    run = neurolens.import_file(path)["run_id"]
    assert neurolens.value(run, "SELECT count(*) FROM spans") == 2
    assert neurolens.value(run, "SELECT total_ns FROM layer_times") == 10
    assert neurolens("verify", run, "--json").data["verified"]


def test_newer_run_file_asks_for_an_update(neurolens, tmp_path):
    path = tmp_path / "newer.json"
    path.write_text('{"schema": "neurolens.run-file/2", "tables": {}}')
    for words in (["import", path], ["schema", "validate", path]):
        error = neurolens(*words, "--json", code=BAD_INPUT).envelope["error"]
        assert error["code"] == "unsupported" and "update" in error["hint"]
