"""Work of GPUs in a recording. No GPU is here: cupti_standin.cpp replays buffers of CUPTI, with known faults, in the versions
whose headers tools/setup has; NVIDIA's own libraries are asked, too, and find no driver."""

import json
import os
import pathlib
import subprocess

import pytest

from conftest import REPOSITORY, Neurolens

DEPS = pathlib.Path(os.environ.get("NEUROLENS_DEPS") or REPOSITORY / ".deps")
NVIDIA = DEPS / "nvidia-1"
VERSIONS = ["11.8", "12.9", "13.4"]
REAL = {"12.9": "libcupti.so.12", "13.4": "libcupti.so.13"}

pytestmark = pytest.mark.skipif(not NVIDIA.exists(), reason=f"no headers of CUPTI in {NVIDIA}: run tools/setup")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The program, and a stand-in for each version."""
    folder = tmp_path_factory.mktemp("cupti")
    compile_ = ["g++", "-std=c++17", "-O1", "-Wall", "-Werror"]
    subprocess.run([*compile_, "-I", REPOSITORY / "include", "-o", folder / "program", REPOSITORY / "tests/e2e/cupti_program.cpp",
                    "-ldl"], check=True)
    for version in VERSIONS:
        subprocess.run([*compile_, "-shared", "-fPIC", "-isystem", NVIDIA / f"cupti-{version}", "-o", folder / f"standin-{version}.so",
                        REPOSITORY / "tests/e2e/cupti_standin.cpp"], check=True)
    return folder


class Recorded:
    def __init__(self, neurolens, result):
        self.neurolens = neurolens
        self.markers = result.data["markers"]
        self.warnings = result.envelope["warnings"]
        self.run = result.data["run_id"]
        self.output = result.err
        assert "done" in self.output, "the program was disturbed"
        neurolens("verify", self.run)
        self.document = json.loads((neurolens.bundle(self.run) / "run.json").read_text())
        self.health = self.document["capture"]["health"]

    def rows(self, sql):
        return self.neurolens.rows(self.run, sql)


@pytest.fixture
def record(tmp_path, built):
    def run(*arguments, version="12.9", library=None, options=(), **environment):
        library = library or built / f"standin-{version}.so"
        neurolens = Neurolens(tmp_path / "ledger", {"NEUROLENS_CUPTI": str(library), **environment})
        return Recorded(neurolens, neurolens("record", "--hz", "0", *options, "--json", "--", built / "program", *map(str, arguments)))

    return run


STEP = 2  # the scope around it all


@pytest.mark.parametrize("version", VERSIONS)
def test_every_kind_of_work(record, version):
    recorded = record("all_kinds", version=version)
    assert recorded.markers == {"recorded": 10 + STEP, "lost": {}} and recorded.warnings == []
    (kernel,) = recorded.rows("SELECT * FROM kernels")
    assert kernel["name"] == "gemm(float const*, float const*, float*, int)" and kernel["mangled_name"] == "_Z4gemmPKfS0_Pfi"
    assert (kernel["dur_ns"], kernel["device"], kernel["stream"], kernel["context_id"]) == (2000, 0, 7, 1)
    assert [kernel[f"grid_{axis}"] for axis in "xyz"] == [64, 2, 1] and kernel["block_x"] == 128
    assert kernel["registers_per_thread"] == 32 and kernel["shared_memory_bytes"] == 1536 and kernel["graph_node_id"] is None
    assert recorded.rows("SELECT name, kind, bytes, dur_ns FROM copies ORDER BY start_ns") == [
        {"name": "Memcpy HtoD (Pinned -> Device)", "kind": "memcpy", "bytes": 4096, "dur_ns": 1000},
        {"name": "Memset (Device)", "kind": "memset", "bytes": 64, "dur_ns": 100}]
    assert recorded.rows("SELECT name, device, stream, dur_ns FROM syncs") == [
        {"name": "Stream Sync", "device": 0, "stream": 7, "dur_ns": 300}]
    kinds = recorded.rows("SELECT kind, category, count(*) n FROM spans GROUP BY ALL ORDER BY category")
    assert {(row["kind"], row["category"]): row["n"] for row in kinds} == {
        ("runtime", "cuda_runtime"): 3, ("runtime", "cuda_driver"): 1, ("overhead", "cupti_overhead"): 1, ("annotation", "neurolens"): 1}
    (device,) = recorded.document["hardware"]["devices"]
    assert device["name"] == "Stand-in GPU" and device["compute_capability"] == "9.0" and device["multiprocessors"] == 132
    assert recorded.document["software"]["backend"] == "cuda"


def test_launches_are_joined_and_analyzed(record):
    recorded = record("launches", 100)
    assert recorded.markers == {"recorded": 200 + STEP, "lost": {}}
    (joined,) = recorded.rows("SELECT count(*) n, count(launch_span_id) launched FROM kernels")
    assert joined == {"n": 100, "launched": 100}
    # a call is on the thread of the program, inside of its scope
    (inside,) = recorded.rows("SELECT count(*) n FROM spans c JOIN spans p ON p.span_id = c.parent_id WHERE p.name = 'step'")
    assert inside["n"] == 100
    analysis = recorded.neurolens("analyze", recorded.run, "--json").data
    assert json.dumps(analysis).count("gemm") > 0


def test_times_are_of_the_program(record):
    with_callback = record("launches", 10)
    assert with_callback.document["extensions"]["recording"]["gpu_clock"]["method"] == "callback"
    with_pairs = record("launches", 10, STANDIN_NO_TIMESTAMP="1")
    clock = with_pairs.document["extensions"]["recording"]["gpu_clock"]
    assert clock["method"] == "pairs" and 0 < clock["bound_ns"] < 1_000_000_000
    for recorded in with_callback, with_pairs:
        (row,) = recorded.rows("SELECT min(c.start_ns - s.start_ns) AS early, max(c.start_ns - s.start_ns - s.dur_ns) AS late "
                               "FROM spans c, spans s WHERE c.kind = 'runtime' AND s.name = 'step'")
        bound = recorded.document["extensions"]["recording"]["gpu_clock"]["bound_ns"]
        assert row["early"] >= -bound and row["late"] <= bound


def test_a_forked_child_leaves_cupti_alone(record):
    recorded = record("launches", 10, "fork")
    assert recorded.markers == {"recorded": 20 + STEP, "lost": {}} and "child 0\n" in recorded.output


def test_nodes_of_a_graph(record):
    recorded = record("graph", 5)
    rows = recorded.rows("SELECT graph_id, graph_node_id, launch_span_id FROM kernels ORDER BY graph_node_id")
    assert [row["graph_node_id"] - (3 << 32) for row in rows] == [1, 2, 3, 4, 5]
    assert {row["graph_id"] for row in rows} == {3} and len({row["launch_span_id"] for row in rows}) == 1


def test_zero_is_no_time(record):
    recorded = record("zero_times")
    assert recorded.rows("SELECT start_ns, dur_ns FROM kernels") == [{"start_ns": None, "dur_ns": None}]
    assert recorded.health["device_record_without_time"] == 1


def test_times_of_another_clock(record):
    recorded = record("other_clock")
    (row,) = recorded.rows("SELECT start_ns, dur_ns, args FROM kernels")
    assert row["start_ns"] is None and row["dur_ns"] is None and "start" in json.loads(row["args"])
    assert recorded.health["time_out_of_session"] == 1


def test_an_end_before_the_start(record):
    recorded = record("end_before_start")
    (row,) = recorded.rows("SELECT start_ns, dur_ns FROM kernels")
    assert row["start_ns"] is not None and row["dur_ns"] is None
    assert recorded.health["negative_duration"] == 1


def test_kernels_of_a_stream_may_overlap(record):
    recorded = record("overlap")
    (row,) = recorded.rows("SELECT count(*) n, count(DISTINCT correlation_id) ids, sum(dur_ns) total FROM kernels")
    assert row == {"n": 2, "ids": 1, "total": 4000}
    assert "negative_duration" not in recorded.health


def test_correlation(record):
    none = record("no_correlation")
    assert none.rows("SELECT correlation_id FROM kernels") == [{"correlation_id": None}]
    assert none.health["device_record_without_call"] == 1
    reused = record("reused_correlation")
    assert reused.health["correlation_reused"] == 1


def test_a_kernel_without_a_name(record):
    assert record("no_name").rows("SELECT name FROM kernels") == [{"name": "(no name)"}]


@pytest.mark.parametrize("fault, recorded_records, lost", [
    ("dropped", 2, {"gpu_dropped": 1000}), ("unknown_kind", 2, {"unsupported": 1}), ("damaged_buffer", 2, {"gpu_buffer": 1})])
def test_losses_are_counted(record, fault, recorded_records, lost):
    recorded = record(fault)
    assert recorded.markers == {"recorded": recorded_records + STEP, "lost": lost}
    assert recorded.document["capture"]["counts"]["seen"] == recorded_records + STEP + sum(lost.values()) + 1  # and how it ran


def test_many_records_add_up(record):
    recorded = record("launches", 200_000)
    assert recorded.markers["recorded"] + sum(recorded.markers["lost"].values()) == 400_000 + STEP
    assert recorded.document["capture"]["counts"]["seen"] == 400_000 + STEP + 1


@pytest.mark.parametrize("status, words", [("39", "another tool uses CUPTI"), ("15", "no driver"), ("35", "may not profile")])
def test_cupti_that_refuses_is_said_in_one_line(record, status, words):
    recorded = record("all_kinds", STANDIN_SUBSCRIBE=status)
    assert recorded.markers == {"recorded": STEP, "lost": {}}
    (warning,) = recorded.warnings
    assert words in warning and recorded.document["extensions"]["recording"]["notices"] == [warning]


@pytest.mark.parametrize("status, words", [("999", "CUPTI finds no driver (error 999)"), ("7", "does not say its version")])
def test_cupti_that_does_not_say_its_version(record, status, words):
    """That of CUDA 13 says nothing without a driver, not even its version."""
    (warning,) = record("all_kinds", STANDIN_VERSION=status).warnings
    assert words in warning


def test_the_other_tool_is_named(record, built, tmp_path):
    (tmp_path / "libToolsInjection64.so").write_bytes((built / "standin-12.9.so").read_bytes())
    recorded = record("all_kinds", STANDIN_SUBSCRIBE="39", LD_PRELOAD=str(tmp_path / "libToolsInjection64.so"))
    assert "Nsight Systems" in recorded.warnings[0]


@pytest.mark.parametrize("version", REAL)
def test_the_library_of_nvidia_without_a_driver(record, version):
    recorded = record(library=NVIDIA / REAL[version])
    assert recorded.markers == {"recorded": STEP, "lost": {}}
    (warning,) = recorded.warnings
    assert "no GPU work is recorded: CUPTI finds no driver" in warning


def test_no_library_at_all(record):
    assert "there is no libcupti" in record(library="/none/libcupti.so").warnings[0]


def test_the_gpu_can_be_left_to_the_program(record):
    recorded = record(options=["--leave-gpu"])
    assert recorded.warnings == [] and recorded.markers["recorded"] == STEP


def test_the_tool_of_the_user_is_left_alone(record):
    recorded = record(CUDA_INJECTION64_PATH="/opt/other.so")
    assert "/opt/other.so" in recorded.warnings[0] and recorded.markers["recorded"] == STEP
