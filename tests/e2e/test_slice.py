"""Slices: a part of a run is a run, its sums close, and its figures are those of the parent in the same window."""

import pytest

from conftest import BAD_INPUT, TRACES, Neurolens

# What looks at other steps, or names rows by their number.
OF_STEPS = ("step_count", "step_median", "step_max_ratio", "first_step_ratio")

CASES = {
    "kineto/hta_nccl_data.json.gz": "step:1",
    "kineto/hta_ns_resolution_rank0.pt.trace.json.gz": "step:1",
    "kineto/hta_alexnet_train.json.gz": "steady",
    "kineto/tracelens_vllm_decode_full_cudagraph.json.gz": "steady",
    "kineto/hta_mi250_rocm6.2_minitoy_train.json.gz": "steady",
}


def figures(analysis):
    """Of the devices, without what a slice cannot have: numbers of rows, and the other steps."""
    devices = []
    for device in analysis["devices"]:
        metrics = {name: value for name, value in device["metrics"].items() if name not in OF_STEPS}
        gaps = [{k: v for k, v in gap.items() if k != "next_row"} for gap in device["longest_gaps"]]
        devices.append({**device, "metrics": metrics, "longest_gaps": gaps})
    return analysis["window"]["total_ns"], devices


def linked(neurolens, run):
    sql = "SELECT count(launch_span_id) AS launched, count(op_id) AS in_ops, count(*) AS kernels FROM kernels"
    return neurolens("query", run, sql, "--json").data["rows"][0]


@pytest.mark.parametrize("name", CASES)
def test_figures_are_those_of_the_parent(neurolens, name):
    path, window = TRACES / name, CASES[name]
    if not path.exists():
        pytest.skip("no corpus")
    parent = neurolens.import_file(path)["run_id"]
    answer = neurolens("slice", parent, "--window", window, "--json").data
    assert answer["parent"] == parent and answer["created"] and answer["rows"]["left_out"] > 0
    of_slice = neurolens("analyze", answer["run_id"], "--window", "whole", "--json").data
    assert figures(of_slice) == figures(neurolens("analyze", parent, "--window", window, "--json").data)
    launched, _, kernels = linked(neurolens, answer["run_id"])
    of_parent = linked(neurolens, parent)
    if of_parent[0] == of_parent[2]:
        assert launched == kernels, "links are kept"
    neurolens("verify", answer["run_id"])


@pytest.fixture
def parent(neurolens, small_trace):
    return neurolens.import_file(small_trace)["run_id"]


def test_a_slice_names_its_parent(neurolens, parent):
    answer = neurolens("slice", parent, "--window", "whole", "--json").data
    assert answer["run_id"] != parent
    shown = neurolens("show", answer["run_id"], "--json").data
    assert shown["slice_of"] == parent
    counts = shown["counts"]
    assert counts["seen"] == counts["stored"] + sum(counts["folded"].values()) + sum(counts["dropped"].values())
    assert f"a part of run {parent[:12]}" in neurolens("show", answer["run_id"]).out
    again = neurolens("slice", parent, "--window", "whole", "--json").data
    assert again["run_id"] == answer["run_id"] and not again["created"]


def test_the_same_slice_elsewhere_has_the_same_bytes(neurolens, parent, small_trace, tmp_path):
    other = Neurolens(tmp_path / "other")
    other.import_file(small_trace)
    run = neurolens("slice", parent, "--window", "whole", "--json").data["run_id"]
    assert other("slice", parent, "--window", "whole", "--json").data["run_id"] == run
    ours, theirs = neurolens.bundle(run), other.bundle(run)
    for path in sorted(ours.glob("*.*")):
        assert path.read_bytes() == (theirs / path.name).read_bytes(), path.name


def test_a_slice_goes_out_and_comes_back(neurolens, parent, tmp_path):
    run = neurolens("slice", parent, "--window", "whole", "--json").data["run_id"]
    neurolens("export", run, "--format", "nlz", "--output", tmp_path / "slice.nlz")
    other = Neurolens(tmp_path / "other")
    assert other("import", tmp_path / "slice.nlz", "--json").data["run_id"] == run
    for name in (run, tmp_path / "slice.nlz"):
        assert other("analyze", name, "--window", "whole", "--json").data == neurolens("analyze", run, "--window", "whole", "--json").data


def test_a_slice_of_a_claim_is_a_claim(neurolens, parent, tmp_path):
    neurolens("export", parent, "--format", "nlz", "--output", tmp_path / "run.nlz")
    other = Neurolens(tmp_path / "other")
    run = other("slice", tmp_path / "run.nlz", "--window", "whole", "--json").data["run_id"]
    assert other("show", run, "--json").data["claimed_by"] == "run.nlz"
    own = neurolens("slice", parent, "--window", "whole", "--json").data["run_id"]
    assert neurolens("show", own, "--json").data["claimed_by"] is None


def test_tracks(neurolens, parent):
    count = "SELECT count(*) FROM kernels"
    tracks = neurolens("query", parent, "SELECT DISTINCT track_id FROM kernels ORDER BY 1", "--json").data["rows"]
    run = neurolens("slice", parent, "--track", str(tracks[0][0]), "--json").data["run_id"]
    expected = neurolens("query", parent, f"{count} WHERE track_id = {tracks[0][0]}", "--json").data["rows"]
    assert neurolens("query", run, count, "--json").data["rows"] == expected
    launched, _, kernels = linked(neurolens, run)
    assert launched == kernels > 0


def test_what_cannot_be_cut_out(neurolens, parent):
    assert "--window or --track" in neurolens("slice", parent, code=BAD_INPUT).err
    neurolens("slice", parent, "--window", "no such range", code=BAD_INPUT)
    assert "nothing lies in this part" in neurolens("slice", parent, "--track", "4000000", code=BAD_INPUT).err
