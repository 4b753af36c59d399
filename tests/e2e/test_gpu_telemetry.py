"""Power, clocks and the like of GPUs beside a recording. No GPU is here: nvml_standin.cpp stands for libnvidia-ml."""

import pathlib
import subprocess
import time

import pytest

from conftest import REPOSITORY, Neurolens


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("nvml") / "libnvidia-ml-standin.so"
    subprocess.run(["g++", "-std=c++17", "-O1", "-Wall", "-shared", "-fPIC", "-o", path, REPOSITORY / "tests/e2e/nvml_standin.cpp"],
                   check=True)
    return path


def record(tmp_path, library, *command, **environment):
    neurolens = Neurolens(tmp_path / "ledger", {"NEUROLENS_NVML": str(library), **environment})
    data = neurolens("record", "--json", "--", *command).data
    neurolens("verify", data["run_id"])
    return neurolens, data


def test_samples_become_counters(tmp_path, library):
    before = time.time_ns()
    neurolens, data = record(tmp_path, library, "sleep", "0.55")
    run = data["run_id"]
    assert (pathlib.Path(data["artifacts"]) / "telemetry.csv").exists()
    rows = neurolens.rows(run, "SELECT t.device, c.name, c.unit, min(c.value) AS low, max(c.value) AS high, count(*) AS n "
                               "FROM counters c JOIN tracks t USING (track_id) GROUP BY ALL ORDER BY t.device, c.name")
    values = {(row["device"], row["name"]): (row["low"], row["unit"]) for row in rows}
    assert all(row["low"] == row["high"] for row in rows)
    assert values[0, "power.draw"] == (74.01, "W") and values[1, "power.draw"][0] is None, "not supported is not 0"
    assert values[0, "clocks.current.sm"] == (1.98e9, "Hz") and values[1, "clocks.current.memory"] == (2.619e9, "Hz")
    assert values[0, "utilization.gpu"] == (98, "%") and values[0, "utilization.memory"] == (40, "%")
    assert values[0, "temperature.gpu"][0] == 33 and values[1, "temperature.gpu"][0] == 34
    assert values[0, "memory.used"] == ((1 << 30) + 1, "B") and values[0, "clocks_event_reasons.active"][0] == 4
    (times,) = neurolens.rows(run, "SELECT min(start_ns) AS first, max(start_ns) AS last FROM counters")
    assert before < times["first"] < times["last"] < time.time_ns()
    # every 100 ms, as long as the program runs; a busy machine may take fewer
    most = (times["last"] - times["first"]) / 1e8 + 2
    assert all(2 <= row["n"] <= most for row in rows)


@pytest.mark.parametrize("fault", ["no_driver", "no_gpu"])
def test_nothing_to_sample(tmp_path, library, fault):
    _, data = record(tmp_path, library, "true", STANDIN_NVML=fault)
    assert not (pathlib.Path(data["artifacts"]) / "telemetry.csv").exists()


def check(neurolens):
    (found,) = [entry for entry in neurolens("doctor", "--json").data["checks"] if entry["check"] == "gpu_telemetry"]
    return found


def test_doctor_says_whether_it_works(tmp_path, library):
    works = check(Neurolens(tmp_path / "ledger", {"NEUROLENS_NVML": str(library)}))
    assert works["status"] == "ok" and "GPUs: 2" in works["detail"]
    missing = check(Neurolens(tmp_path / "ledger", {"NEUROLENS_NVML": "/none/libnvidia-ml.so"}))
    assert missing["status"] != "ok" and "does not exist" in missing["detail"]
