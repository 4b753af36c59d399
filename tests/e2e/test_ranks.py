"""Ranks with clocks of their own: simulated files, of which the truth is known."""

import gzip
import json
import pathlib
import subprocess
import sys

import pytest

from conftest import REPOSITORY, TRACES

MAKE = REPOSITORY / "tests/scale/make_ranks.py"
WARM_UP_NS = 2_000_000_000


def make_ranks(folder, *arguments):
    subprocess.run([sys.executable, str(MAKE), *map(str, arguments), str(folder)], check=True)
    return sorted(folder.glob("rank*.json.gz")), json.loads((folder / "truth.json").read_text())


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    return make_ranks(tmp_path_factory.mktemp("eight"), "--ranks", 8, "--events", 5_000, "--straggler", "5:5")


@pytest.fixture
def run(neurolens, eight):
    return neurolens("import", *eight[0], "--as-one", "--json").data["run_id"]


def test_a_straggler_of_five_percent_is_found(neurolens, run):
    block = neurolens("analyze", run, "--json").data["collectives"]
    assert "absent" not in block
    assert block["ranks"] == list(range(8))
    assert block["unmatched_calls"] == 0 and block["different_sizes"] == 0
    straggler = block["straggler"]
    assert straggler["rank"] == straggler["most_often_last"] == 5
    assert straggler["last_share"] > 0.99
    # 5 % of 400 us in a step of some 570 us.
    assert 0.02 < straggler["window_share"] < 0.05
    waits = {row["rank"]: row["wait_ns"] for row in block["waits"]}
    assert all(waits[5] * 5 < wait for rank, wait in waits.items() if rank != 5)
    kind = block["kinds"][0]
    assert kind["kind"] == "all_reduce" and kind["bytes_p50"] == 4_194_304 * 4
    assert 150_000 <= kind["transfer_p50_ns"] <= 162_000


def test_without_a_straggler_none_is_blamed(neurolens, tmp_path):
    paths, _ = make_ranks(tmp_path / "equal", "--ranks", 4, "--events", 3_000)
    run = neurolens("import", *paths, "--as-one", "--json").data["run_id"]
    straggler = neurolens("analyze", run, "--json").data["collectives"]["straggler"]
    assert straggler["last_share"] < 0.6
    assert straggler["window_share"] < 0.01


def test_clocks_of_ranks_are_fitted_within_their_bounds(neurolens, run, eight):
    truth = {row["rank"]: row for row in eight[1]}
    fits = neurolens.rows(run, "SELECT * FROM clock_fits WHERE device IS NULL ORDER BY clock_id, segment")
    ranks = {row["clock_id"]: row["rank"] for row in neurolens.rows(run, "SELECT DISTINCT clock_id, rank FROM tracks")}
    assert sorted(ranks[fit["clock_id"]] for fit in fits) == list(range(1, 8))
    for fit in fits:
        assert fit["method"] == "collectives" and fit["applied"] == 1
        assert fit["violations_after"] == 0 and fit["corrupt_records"] == 0
        assert 0 < fit["bound_ns"] < 400_000
        true = truth[ranks[fit["clock_id"]]]
        for since in (0, 40_000_000, 80_000_000):
            reading = WARM_UP_NS + true["offset_ns"] + since + int(true["skew_ppm"] * 1e-6 * since)
            mapped = reading + fit["offset_ns"] + fit["drift_ppm"] * 1e-6 * (reading - fit["origin_ns"])
            assert abs(mapped - (WARM_UP_NS + since)) <= fit["bound_ns"] + 1


def test_no_collective_ends_before_it_has_begun_everywhere(neurolens, run):
    late = neurolens.rows(run, """
        WITH calls AS (SELECT rank, start_ns, start_ns + dur_ns AS end_ns, kernels.args ->> '$.Seq' AS seq
                       FROM kernels JOIN tracks USING (track_id) WHERE kernels.name LIKE 'nccl%'),
             all_ranks AS (SELECT seq, min(end_ns) AS first_end, max(start_ns) AS last_start FROM calls GROUP BY seq)
        SELECT count(*) AS n, count(*) FILTER (WHERE first_end < last_start) AS wrong FROM all_ranks""")
    assert late[0]["n"] > 100
    # Ranks are each fitted to the first one, not to each other: a pair may be off by both bounds.
    assert late[0]["wrong"] <= late[0]["n"] * 0.01


def test_devices_are_held_against_their_hosts(neurolens, run):
    rows = neurolens.rows(run, "SELECT * FROM clock_fits WHERE device IS NOT NULL")
    assert len(rows) == 8
    for row in rows:
        assert row["method"] == "causality" and row["applied"] == 0
        assert row["violations_before"] == row["violations_after"] == 0
        assert row["anchors"] > 1_000


def test_a_device_ahead_of_its_host_is_corrected(neurolens, tmp_path):
    events = []
    for i in range(200):
        shared = {"correlation": i + 1}
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": 1_000 + 100 * i, "dur": 5, "args": shared})
        events.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1_000 + 100 * i + 8 - 50,
                       "dur": 20, "args": {"device": 0, "stream": 7, **shared}})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 1, "tid": 1,
                       "ts": 1_000 + 100 * i + 10, "dur": 25, "args": {"correlation": 1_000 + i}})
    path = tmp_path / "early.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "simulated"}],
                                "baseTimeNanoseconds": 0, "traceEvents": events}))
    run = neurolens.import_file(path)["run_id"]
    fit = neurolens.rows(run, "SELECT * FROM clock_fits")[0]
    assert fit["violations_before"] == 200 and fit["violations_after"] == 0 and fit["applied"] == 1
    assert abs(fit["offset_ns"] - 50_000) <= fit["bound_ns"] <= 10_000
    early = neurolens.rows(run, "SELECT count(*) AS n FROM kernels k JOIN spans s ON s.span_id = k.launch_span_id "
                                "WHERE k.start_ns < s.start_ns - 1")
    assert early[0]["n"] == 0


def test_one_rank_has_totals_only(neurolens):
    path = TRACES / "kineto/hta_nccl_data.json.gz"
    if not pathlib.Path(path).exists():
        pytest.skip(f"no traces: {path} is missing")
    run = neurolens.import_file(path)["run_id"]
    block = neurolens("analyze", run, "--json").data["collectives"]
    assert "one rank" in block["absent"] and block["straggler"] is None
    assert {row["kind"]: row["calls"] for row in block["kinds"]} == {"all_reduce": 15, "broadcast": 6}
    assert all(row["group"] == "0 [0, 1]" and row["group_size"] == 2 for row in block["kinds"])
    assert all(row["busbw_bytes_per_s"] is None for row in block["kinds"])
    assert "Collectives" in neurolens("analyze", run).out


def test_older_files_say_it_with_the_op(neurolens, eight, tmp_path):
    """Kernels without arguments of the collective: those of the op that launched them count."""
    paths = []
    for rank, path in enumerate(eight[0][:2]):
        document = json.loads(gzip.decompress(path.read_bytes()))
        for event in document["traceEvents"]:
            if event["cat"] == "kernel":
                event["args"] = {key: event["args"][key] for key in ("device", "stream", "correlation")}
        paths.append(tmp_path / f"rank{rank}.json")
        paths[-1].write_text(json.dumps(document))
    run = neurolens("import", *paths, "--as-one", "--json").data["run_id"]
    block = neurolens("analyze", run, "--json").data["collectives"]
    assert block["matched"] == len(json.loads(paths[0].read_text())["traceEvents"]) // 33
    assert block["kinds"][0]["bytes_p50"] == 4_194_304 * 4
    assert block["clocks"]["compared"] == block["matched"]


def test_a_real_job_of_eight_ranks(neurolens):
    """All-to-all kernels are called SendRecv; the range around their launch says what they are. GOLDEN.json has the waits."""
    folder = TRACES / "more/multirank/dlrm_8rank"
    if not folder.is_dir():
        pytest.skip(f"no traces at {folder}")
    run = neurolens("import", *sorted(folder.glob("dlrm_kineto_rank*.gz")), "--as-one", "--json").data["run_id"]
    data = neurolens("analyze", run, "--window", "whole", "--json").data
    golden = json.loads((TRACES / "more/GOLDEN.json").read_text())["multirank/dlrm_8rank/_cross_rank"]
    found = data["collectives"]
    assert found["matched"] == golden["instances"] == 8
    assert {row["kind"]: row["calls"] for row in found["kinds"]} == {"all_to_all": 40, "all_reduce": 24}
    assert {str(row["rank"]): row["wait_ns"] for row in found["waits"]} == golden["wait_ns_per_rank"]
    assert found["straggler"]["rank"] == 7
    assert found["straggler"]["last_share"] == golden["rank_last_to_start_count"]["7"] / 8
    # Eight anchors within 20 ms tell no drift of clocks.
    assert all(fit["drift_ppm"] is None for fit in data["clocks"]["fits"])
