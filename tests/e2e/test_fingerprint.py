"""fingerprint and similar: invariances on generated traces, search over a ledger, and the files that it keeps."""

import json
import pathlib
import random
import shutil

import pytest

from test_ledger_limits import ReadOnlyMount

BASE_US = 1_700_000_000_000_000

# op, kernel, duration on the device in us, dimensions of its inputs
GEMM, NORM = "ampere_sgemm_128x64_tn", "void vectorized_layer_norm_kernel<float>(float*)"
ADD, CONV = "void vectorized_elementwise_kernel<4, add>(int)", "implicit_convolve_sgemm"


def addmm(dur, width):
    return "aten::addmm", GEMM, dur, [[width], [512, width], [width, width]]


MODELS = {
    "wide": [addmm(80, 512), ("aten::native_layer_norm", NORM, 12, [[8, 64, 512]]),
             ("aten::add", ADD, 8, [[8, 64, 512], [8, 64, 512]])],
    "narrow": [addmm(30, 128), ("aten::native_layer_norm", NORM, 25, [[8, 64, 128]]),
               ("aten::add", ADD, 45, [[8, 64, 128], [8, 64, 128]])],
    "image": [("aten::cudnn_convolution", CONV, 120, [[4, 32, 56, 56]]),
              ("aten::add", ADD, 20, [[4, 32, 56, 56], [4, 32, 56, 56]])],
}


def step_events(model, at, number, scale, pid, tid, stream, dice):
    """The device has run dry before each launch, so that every gap has the same cause at every scale."""
    events = []
    for op, kernel, typical, dims in model:
        dur = typical * (1 + 0.02 * dice.random() if dice else 1)
        number += 1
        host = {"pid": pid, "tid": tid, "ph": "X"}
        shapes = {"Input Dims": dims, "Input type": ["float"] * len(dims), "External id": number}
        events.append({**host, "cat": "cpu_op", "name": op, "ts": at, "dur": 6, "args": shapes})
        events.append({**host, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at + 2, "dur": 2,
                       "args": {"correlation": number, "External id": number}})
        events.append({"pid": 0, "tid": stream, "ph": "X", "cat": "kernel", "name": kernel, "ts": at + 5, "dur": dur,
                       "args": {"device": 0, "stream": stream, "correlation": number, "External id": number}})
        at += 10 + dur
    for event in events:
        event["dur"] *= scale
    return events, at, number


def trace(model, steps=20, scale=1, pid=100, tid=101, stream=7, rank=None, order=None, noise=None):
    events, at, number = [], 0.0, 0
    dice = random.Random(noise) if noise is not None else None
    for _ in range(steps):
        more, at, number = step_events(MODELS[model], at, number, scale, pid, tid, stream, dice)
        events += more
    for event in events:
        event["ts"] = BASE_US + event["ts"] * scale
        event["ts"], event["dur"] = round(event["ts"], 3), round(event["dur"], 3)
    if order is not None:
        random.Random(order).shuffle(events)
    document = {"schemaVersion": 1, "traceEvents": events, "baseTimeNanoseconds": 0,
                "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85_000_000_000}]}
    if rank is not None:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    return document


@pytest.fixture
def write(tmp_path):
    def write(name, *arguments, **options):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(trace(*arguments, **options)))
        return path

    return write


def values(neurolens, path, *arguments):
    data = neurolens("fingerprint", path, "--json", *arguments).data
    return {row["id"]: row["values"] for row in data["dimensions"]}


def apart(a, b):
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


WORK = ["classes", "ops", "sizes", "op_sizes", "shapes", "widths"]


def test_what_it_shows(neurolens, write):
    data = neurolens("fingerprint", write("one", "wide"), "--json").data
    present = {row["id"] for row in data["dimensions"]}
    absent = {row["id"]: row["reason"] for row in data["absent"]}
    assert present.isdisjoint(absent) and all(absent.values())
    assert {"classes", "ops", "shapes", "time", "idle", "lat_norm"} <= present
    assert {"occ", "l2_hit", "step_p99"} <= set(absent)
    assert data["version"] == 2
    shares = {op["name"]: op["share"] for op in data["ops"]}
    assert shares == pytest.approx({"aten::addmm": 0.8, "aten::native_layer_norm": 0.12, "aten::add": 0.08})
    for op in data["ops"]:
        assert set(op["dimensions"]) | set(op["absent"]) == {"lat_norm", "ai", "size", "tail_p90", "tail_p99"}
    text = neurolens("fingerprint", write("one", "wide")).out
    assert "aten::addmm" in text and "absent" in text


def test_clock_scale(neurolens, write):
    """All times three times as long: only what is held against the hardware moves."""
    one, three = (values(neurolens, write(f"s{c}", "wide", scale=c)) for c in (1, 3))
    assert set(one) == set(three)
    for name in one:
        if name != "lat_norm":
            assert apart(one[name], three[name]) < 2e-4, name
    assert three["lat_norm"][0] == pytest.approx(one["lat_norm"][0] / 3, rel=1e-2)


def test_capture_length(neurolens, write):
    one, two = (values(neurolens, write(f"n{n}", "wide", steps=n)) for n in (20, 40))
    for name in one:
        assert apart(one[name], two[name]) < (1e-4 if name in WORK else 0.01), name


def test_names_of_streams_and_processes_and_order_of_rows(neurolens, write):
    first = values(neurolens, write("a", "wide"))
    assert first == values(neurolens, write("b", "wide", pid=9, tid=77, stream=23))
    assert first == values(neurolens, write("c", "wide", order=5))


def test_ranks_may_be_swapped(neurolens, write, tmp_path):
    def both(name, models):
        paths = [write(f"{name}-{rank}", model, rank=rank) for rank, model in enumerate(models)]
        return values(neurolens, neurolens("import", *paths, "--as-one", "--json").data["run_id"])

    assert both("x", ["wide", "narrow"]) == both("y", ["narrow", "wide"])


def test_threads_change_nothing(neurolens, write, tmp_path):
    path = write("one", "wide")
    other = type(neurolens)(tmp_path / "other")
    run = neurolens.import_file(path, "--threads", "1")["run_id"]
    assert other.import_file(path, "--threads", "4")["run_id"] == run
    assert neurolens("fingerprint", run, "--json").bytes == other("fingerprint", run, "--json").bytes


def test_own_peaks_count(neurolens, write, tmp_path):
    path = write("one", "wide")
    peaks = tmp_path / "peaks.yaml"
    built_in = pathlib.Path(__file__).resolve().parents[2] / "data/hardware/peaks.yaml"
    text = built_in.read_text()
    peaks.write_text(text)
    assert values(neurolens, path, "--peaks", peaks) == values(neurolens, path)
    neurolens("fingerprint", path, "--peaks", tmp_path / "none.yaml", code=2)


@pytest.fixture
def ledger(neurolens, write):
    """Four runs of each model, a little different; model of each run."""
    runs = {}
    for model in MODELS:
        for number in range(4):
            path = write(f"{model}-{number}", model, noise=number, steps=10 + number)
            runs[neurolens.import_file(path)["run_id"]] = model
    return runs


def test_the_same_model_is_nearest(neurolens, ledger):
    for run, model in ledger.items():
        data = neurolens("similar", run, "--top", "20", "--json").data
        found = [row["run_id"] for row in data["runs"]]
        assert sorted(found) == sorted(set(ledger) - {run})
        assert [ledger[one] for one in found[:3]] == [model] * 3
        distances = [row["distance"] for row in data["runs"]]
        assert distances == sorted(distances) and distances[2] < 0.05 < distances[3] <= 1
        assert data["searched"] == len(ledger)


def test_the_distance_is_that_of_its_dimensions(neurolens, ledger):
    run = next(iter(ledger))
    weights = {row["id"]: row["weight"] for row in neurolens("fingerprint", run, "--json").data["dimensions"]}
    for row in neurolens("similar", run, "--json").data["runs"]:
        shared = row["dimensions"]
        sum_of_weights = sum(weights[one["id"]] for one in shared)
        squares = sum(one["weight"] * one["distance"] ** 2 for one in shared)
        assert row["distance"] == pytest.approx((squares / sum_of_weights) ** 0.5, abs=1e-6)
        assert {one["id"] for one in shared}.isdisjoint(one["id"] for one in row["not_compared"])


def test_words(neurolens, ledger):
    run = next(iter(ledger))
    text = neurolens("similar", run, "--top", "5").out
    assert "agree in" in text and "differ in" in text and "here" in text
    far = neurolens("similar", run, "--top", "11", "--json").data["runs"][-1]
    assert any(not one["agrees"] and one["part"] for one in far["dimensions"])


def rows_files(neurolens):
    return sorted((neurolens.ledger / "fingerprints").rglob("*.rows"))


def test_what_is_kept(neurolens, ledger):
    run = next(iter(ledger))
    before = neurolens.facts(run)
    first = neurolens("similar", run, "--json").data
    count = len(rows_files(neurolens))
    path = max(rows_files(neurolens), key=lambda one: one.stat().st_size)
    stamp, content = path.stat().st_mtime_ns, path.read_bytes()
    assert neurolens("similar", run, "--json").data == first
    assert path.stat().st_mtime_ns == stamp, "nothing is computed twice"
    for damaged in (b"", content[:100], content[:-3], content[:200] + b"x" + content[201:], b"y" + content[1:]):
        path.write_bytes(damaged)
        assert neurolens("similar", run, "--json").data == first
        assert len(rows_files(neurolens)) == count
    shutil.move(path.parent, path.parent.with_name("v0-old"))
    assert neurolens("similar", run, "--json").data == first
    assert [p.name for p in (neurolens.ledger / "fingerprints").iterdir()] == [path.parent.name]
    shutil.rmtree(neurolens.bundle(run) / "derived")
    assert neurolens("similar", run, "--json").data == first
    assert neurolens.facts(run) == before
    assert neurolens("verify", run, "--json").code == 0
    neurolens("gc")
    assert neurolens("similar", run, "--json").data == first


def test_runs_that_come_and_go(neurolens, write, ledger):
    run = next(iter(ledger))
    first = neurolens("similar", run, "--json").data
    passing = write("passing", "wide", noise=99)
    seen = neurolens("similar", passing, "--json").data
    assert seen["searched"] == len(ledger) + 1
    more = neurolens("similar", run, "--top", "20", "--json").data
    assert seen["run_id"] in {row["run_id"] for row in more["runs"]}
    neurolens("gc", "--drop-on-the-way")
    assert neurolens("similar", run, "--json").data == first
    neurolens("import", write("wide-0", "wide", noise=0, steps=10), "--refresh")
    assert neurolens("similar", run, "--json").data == first


def test_several_processes_at_once(neurolens, ledger):
    run = next(iter(ledger))
    running = [neurolens.start("similar", run, "--json") for _ in range(4)]
    answers = [one.communicate(timeout=120) for one in running]
    assert all(one.returncode == 0 for one in running), answers
    assert len({out for out, _ in answers}) == 1
    data = json.loads(answers[0][0])["data"]
    assert neurolens("similar", run, "--json").data == data
    assert data["searched"] == len(ledger)


def test_alone_and_hostile(neurolens, write, tmp_path):
    path = write("one", "wide")
    assert neurolens("similar", path, "--json").data["runs"] == []
    assert "No other run" in neurolens("similar", path).out
    neurolens("similar", "feedfeedfeed", code=2)
    neurolens("similar", path, "--top", "0", code=2)
    run = neurolens("similar", path, "--json").data["run_id"]
    for file in (neurolens.bundle(run) / "derived").glob("measures-*/*.json"):
        whole = file.read_text()
        for text in ("", "null", "[]", whole[: len(whole) // 2], whole.replace('"devices"', '"other"')):
            file.write_text(text)
            assert neurolens("fingerprint", run, "--json", code=None).code in (0, 2)


def test_a_ledger_that_can_only_be_read(neurolens, ledger, tmp_path):
    """Nothing is kept, and the answer is the same, with rows there and without."""
    run = next(iter(ledger))
    for kept in (False, True):
        target = tmp_path / f"mounted-{kept}"
        with ReadOnlyMount(neurolens.ledger, target) as folder:
            answer = type(neurolens)(folder)("similar", run, "--json").data
        assert bool(rows_files(neurolens)) == kept
        assert neurolens("similar", run, "--json").data == answer
