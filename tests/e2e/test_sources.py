"""Several sources in one run: ranks, additions, namespaces of ids, one time axis."""

import json

import pytest

from conftest import BAD_INPUT


def trace(rank=None, base_ns=0, name="k", correlation=7, launches=3):
    """A small Kineto trace: each launch is followed by its kernel. All ranks use the same correlation ids."""
    events = []
    for i in range(launches):
        at = 100 + 50 * i
        shared = {"correlation": correlation + i}
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": at, "dur": 5, "args": shared})
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 10,
                       "dur": 20 + i, "args": {"device": 0, "stream": 7, **shared}})
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}],
                "baseTimeNanoseconds": base_ns, "traceEvents": events}
    if rank is not None:
        document["distributedInfo"] = {"rank": rank, "world_size": 2}
    return json.dumps(document)


@pytest.fixture
def ranks(tmp_path):
    paths = []
    for rank in (0, 1):
        path = tmp_path / f"rank{rank}.json"
        path.write_text(trace(rank, base_ns=10**18 + rank * 1000, name=f"kernel_of_{rank}"))
        paths.append(path)
    return paths


def document_of(neurolens, run):
    return json.loads((neurolens.bundle(run) / "run.json").read_text())


def test_ranks_become_one_run(neurolens, ranks):
    run = neurolens("import", *ranks, "--as-one", "--json").data
    assert run["sources"] == 2
    assert len(neurolens.run_ids()) == 1
    document = document_of(neurolens, run["run_id"])
    assert [r["rank"] for r in document["hardware"]["ranks"]] == [0, 1]
    assert len(document["hardware"]["devices"]) == 1  # the same device in both
    assert len(document["clocks"]) == 2
    neurolens("verify", run["run_id"])
    rows = neurolens.rows(run["run_id"], "SELECT rank, count(*) AS n FROM kernels JOIN tracks USING (track_id) "
                                         "GROUP BY rank ORDER BY rank")
    assert rows == [{"rank": 0, "n": 3}, {"rank": 1, "n": 3}]


def test_equal_ids_of_two_ranks_are_not_joined(neurolens, ranks):
    run = neurolens("import", *ranks, "--as-one", "--json").data["run_id"]
    links = neurolens.rows(run, "SELECT k.name, t.rank AS launched_by FROM kernels k "
                                "JOIN spans s ON s.span_id = k.launch_span_id JOIN tracks t ON t.track_id = s.track_id")
    assert len(links) == 6
    assert all(row["name"] == f"kernel_of_{row['launched_by']}" for row in links)


def test_links_are_the_same_when_they_are_built_again(neurolens, ranks):
    run = neurolens("import", *ranks, "--as-one", "--json").data["run_id"]
    sql = "SELECT kernel_id, launch_span_id, op_id FROM kernels ORDER BY kernel_id"
    before = neurolens.rows(run, sql)
    for folder in (neurolens.bundle(run) / "derived").iterdir():
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    assert neurolens.rows(run, sql) == before


def test_times_are_on_one_axis(neurolens, ranks):
    run = neurolens("import", *ranks, "--as-one", "--json").data["run_id"]
    starts = neurolens.rows(run, "SELECT rank, min(start_ns) AS first FROM kernels JOIN tracks USING (track_id) "
                                 "GROUP BY rank ORDER BY rank")
    assert starts[1]["first"] - starts[0]["first"] == 1000
    assert starts[0]["first"] == 10**18 + 110_000


def test_the_order_of_the_files_does_not_matter(neurolens, ranks, tmp_path):
    first = neurolens("import", *ranks, "--as-one", "--json").data
    again = neurolens("import", *reversed(ranks), "--as-one", "--json").data
    assert (again["run_id"], again["created"]) == (first["run_id"], False)
    other = type(neurolens)(tmp_path / "other")
    other("import", *reversed(ranks), "--as-one")
    assert other.files(first["run_id"]) == neurolens.files(first["run_id"])


def test_the_same_file_twice_is_an_error(neurolens, ranks, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_text(ranks[0].read_text())
    result = neurolens("import", ranks[0], copy, "--as-one", code=BAD_INPUT)
    assert "the same file twice" in result.err


def test_without_as_one_they_are_two_runs(neurolens, ranks):
    assert len(neurolens("import", *ranks, "--json").data["runs"]) == 2


def test_a_source_added_later_makes_a_new_run_with_its_parent(neurolens, ranks):
    first = neurolens("import", ranks[0], "--json").data["run_id"]
    both = neurolens("import", ranks[1], "--add-to", first, "--json").data
    assert both["sources"] == 2 and both["created"] is True
    document = document_of(neurolens, both["run_id"])
    assert document["parents"] == [first]
    assert document["capture"]["counts"]["seen"] == 2 * document_of(neurolens, first)["capture"]["counts"]["seen"]
    assert {first, both["run_id"]} == set(neurolens.run_ids())
    neurolens("verify", both["run_id"])
    again = neurolens("import", ranks[1], "--add-to", first[:12], "--json").data
    assert (again["run_id"], again["created"]) == (both["run_id"], False)


def test_an_added_run_has_the_rows_of_both(neurolens, ranks):
    together = neurolens("import", *ranks, "--as-one", "--json").data["run_id"]
    first = neurolens("import", ranks[0], "--json").data["run_id"]
    added = neurolens("import", ranks[1], "--add-to", first, "--json").data["run_id"]
    assert added != together
    sql = ("SELECT k.name, k.start_ns, k.dur_ns, t.rank, l.name AS launch, l.start_ns AS called FROM kernels k "
           "JOIN tracks t USING (track_id) JOIN spans l ON l.span_id = k.launch_span_id ORDER BY ALL")
    assert neurolens.rows(added, sql) == neurolens.rows(together, sql)


def test_adding_to_nothing_is_an_error(neurolens, ranks):
    neurolens("import", ranks[0], "--add-to", "0123456789", code=BAD_INPUT)


def test_ranks_of_names_where_the_files_say_nothing(neurolens, tmp_path):
    paths = [tmp_path / f"decode_rank-{rank}.json" for rank in (0, 3)]
    for i, path in enumerate(paths):
        path.write_text(trace(None, base_ns=10**18 + i))
    unnamed = neurolens("import", *paths, "--as-one", "--json").data["run_id"]
    named = neurolens("import", *paths, "--as-one", "--rank-from-name", "--json").data["run_id"]
    assert named != unnamed  # it changes facts
    ranks = "SELECT DISTINCT rank FROM tracks ORDER BY rank"
    assert neurolens.rows(unnamed, ranks) == [{"rank": None}]
    assert neurolens.rows(named, ranks) == [{"rank": 0}, {"rank": 3}]
    neurolens("verify", named)


def test_ranks_with_other_devices_keep_both(neurolens, ranks):
    ranks[1].write_text(ranks[1].read_text().replace("H100", "A100"))
    run = neurolens("import", *ranks, "--as-one", "--json").data["run_id"]
    devices = document_of(neurolens, run)["hardware"]["devices"]
    assert {device["name"] for device in devices} == {"NVIDIA H100", "NVIDIA A100"}
    analysis = neurolens("analyze", run, "--json").data
    names = {(device["rank"], device["name"]) for device in analysis["devices"]}
    assert names == {(0, "NVIDIA H100"), (1, "NVIDIA A100")}


def test_a_merged_run_survives_export_and_import(neurolens, ranks, tmp_path):
    run = neurolens("import", *ranks, "--as-one", "--json").data["run_id"]
    out = tmp_path / "run.json"
    neurolens("export", run, "--output", out)
    again = neurolens("import", out, "--json").data["run_id"]
    sql = "SELECT name, start_ns, dur_ns, rank, launch_span_id FROM kernels JOIN tracks USING (track_id) ORDER BY ALL"
    assert neurolens.rows(again, sql) == neurolens.rows(run, sql)
