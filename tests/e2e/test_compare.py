"""compare: parts that add up, changes that are named, verdicts that hold, and a gate."""

import itertools
import json
import random

import pytest

from conftest import BAD_INPUT, FULL, GATE_FAILED, OK, TRACES
from test_launch_joins import ncu_page

KERNELS = ["gemm_a", "gemm_b", "softmax", "layer_norm_kernel", "elementwise_kernel_add", "ncclDevKernel_AllReduce"]


def in_us(ns):
    return ns / 1000


def model(layers=6):
    """Ops of one step: (op, kernel, shape, ns)."""
    ops = []
    for layer in range(layers):
        for i, kernel in enumerate(KERNELS):
            ops.append((f"aten::op{i}", f"void {kernel}<{i}>(float*)", [8, 16 * (layer + 1)], 20_000 + 3_000 * i))
    return ops


def trace(ops, steps=4, factor=lambda step, i: 1.0, gap_ns=2_000, device="NVIDIA Test GPU", host=0):
    """A Kineto trace: every op launches one kernel, the device follows the host."""
    events, ids, clock = [], itertools.count(1), 1_000_000
    device_free = clock
    for step in range(steps):
        begin = clock
        for i, (op, kernel, shape, ns) in enumerate(ops):
            correlation, external = next(ids), next(ids)
            dur = int(ns * factor(step, i))
            start = max(device_free + gap_ns, clock + 4_000)
            events.append({"ph": "X", "cat": "cpu_op", "name": op, "pid": 1, "tid": 1, "ts": in_us(clock), "dur": 3.0,
                           "args": {"External id": external, "Input Dims": [shape]}})
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                           "ts": in_us(clock + 500), "dur": 2.0, "args": {"correlation": correlation}})
            events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": in_us(start), "dur": in_us(dur),
                           "args": {"device": 0, "stream": 7, "correlation": correlation, "External id": external}})
            device_free = start + dur
            clock = max(clock + 4_000 + host, device_free - 40_000)
        clock = device_free + 1_000
        events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                       "ts": begin / 1000, "dur": (clock - begin) / 1000, "args": {}})
    properties = [{"id": 0, "name": device, "totalGlobalMem": 80_000_000_000, "numSms": 100}]
    return json.dumps({"schemaVersion": 1, "deviceProperties": properties, "traceEvents": events}).encode()


@pytest.fixture
def write(tmp_path):
    count = itertools.count()

    def write_trace(*arguments, **options):
        path = tmp_path / f"t{next(count)}.json"
        path.write_bytes(trace(*arguments, **options))
        return path

    return write_trace


def check_sums(data):
    delta = data["delta_ns"]
    assert sum(part["delta_ns"] for part in data["parts"]) == delta
    assert sum(part["base_ns"] for part in data["parts"]) == data["base"]["window_ns"]
    assert sum(part["new_ns"] for part in data["parts"]) == data["new"]["window_ns"]
    assert data["new"]["window_ns"] - data["base"]["window_ns"] == delta
    work = sum(part["delta_ns"] for part in data["parts"] if part["kind"] not in ("idle", "rest"))
    assert sum(change["delta_ns"] for change in data["changes"]) + data["not_shown"]["delta_ns"] == work
    for table in ("ops", "modules"):
        if data[table]:
            assert sum(row["delta_ns"] for row in data[table]) == work
    for change in data["changes"]:
        assert change["by_calls_ns"] + change["by_duration_ns"] == change["delta_ns"]


def compare(neurolens, *arguments, code=OK):
    return neurolens("compare", *arguments, "--json", code=code).data


def test_a_run_against_itself_shows_no_change(neurolens, write):
    path = write(model())
    data = compare(neurolens, path, path)
    check_sums(data)
    assert data["delta_ns"] == 0 and data["verdict"] == "no_change"
    assert all(part["delta_ns"] == 0 for part in data["parts"])
    assert all(change["delta_ns"] == 0 and change["kind"] == "changed" for change in data["changes"])


def test_figures_are_for_one_step_whatever_the_number_of_steps(neurolens, write):
    data = compare(neurolens, write(model(), steps=3), write(model(), steps=7))
    check_sums(data)
    assert data["unit"] == "step" and (data["base"]["units"], data["new"]["units"]) == (3, 7)
    assert abs(data["ratio"] - 1) < 0.02


def edited(ops, seed):
    """A changed version and what was done to it."""
    rng = random.Random(seed)
    ops, done = list(ops), []
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(ops))
        op, kernel, shape, ns = ops[i]
        what = rng.choice(["slower", "removed", "added", "renamed"])
        if what == "slower":
            ops[i] = (op, kernel, shape, ns * 2)
        elif what == "removed":
            del ops[i]
        elif what == "added":
            ops.insert(i, ("aten::extra", f"extra_kernel_{seed}", [4], 11_000))
        else:
            ops[i] = (op, kernel.replace("<", "_v2<"), shape, ns - 1_111)
        done.append(what)
    return ops, done


@pytest.mark.parametrize("seed", range(12))
def test_parts_add_up_for_any_edit(neurolens, write, seed):
    ops, done = edited(model(), seed)
    rng = random.Random(seed)

    def noise(step, i):
        return 1 + 0.2 * rng.random()

    base, new = write(model(), steps=2 + seed % 3, factor=noise), write(ops, steps=2 + seed % 4, factor=noise)
    for arguments in ((base, new), (new, base), (base, new, "--window", "whole"), (base, new, "--window", "step:1")):
        data = compare(neurolens, *arguments)
        check_sums(data)
    if "added" in done:
        data = compare(neurolens, base, new, "--top", "1000")
        assert any(change["kind"] == "added" and "extra" in change["name"] for change in data["changes"])


def test_names_what_changed(neurolens, write):
    ops = model()
    slower = [(op, kernel, shape, ns * 3 if "softmax" in kernel else ns) for op, kernel, shape, ns in ops]
    data = compare(neurolens, write(ops), write(slower))
    first = data["changes"][0]
    assert "softmax" in first["name"] and first["kind"] == "changed" and first["delta_ns"] > 0
    assert first["match_confidence"] > 0.9
    assert first["by_calls_ns"] == 0


def test_one_run_a_side_is_not_tested(neurolens, write):
    data = compare(neurolens, write(model()), write(model(), factor=lambda step, i: 1.2))
    assert data["verdict"] == "not_tested"
    assert data["statistics"]["within_one_run"]["base"]["n"] == 4


def repeats(write, n, seed, scale=1.0, spread=0.002):
    rng = random.Random(seed)
    paths = []
    for _ in range(n):
        level = scale * (1 + rng.gauss(0, spread))
        paths.append(write(model(), factor=lambda step, i, level=level: level * (1 + rng.gauss(0, spread))))
    return paths


def sides(base, new):
    return ["--base", *base, "--new", *new]


def test_repeats_show_a_regression_and_its_kernels(neurolens, write):
    data = compare(neurolens, *sides(repeats(write, 8, 1), repeats(write, 8, 2, scale=1.10)))
    check_sums(data)
    assert data["verdict"] == "regression"
    assert data["statistics"]["p_adjusted"] < 0.05 and data["statistics"]["ratio_interval"]["low"] > 1.01
    assert any(change.get("p_adjusted", 1) < 0.05 for change in data["changes"])


def test_repeats_show_an_improvement(neurolens, write):
    assert compare(neurolens, *sides(repeats(write, 8, 1), repeats(write, 8, 2, scale=0.9)))["verdict"] == "improvement"


def test_repeats_show_no_change(neurolens, write):
    assert compare(neurolens, *sides(repeats(write, 8, 1), repeats(write, 8, 3)))["verdict"] == "no_change"


def test_too_few_or_too_noisy_runs_are_inconclusive(neurolens, write):
    data = compare(neurolens, *sides(repeats(write, 3, 1), repeats(write, 3, 2, scale=1.05)))
    assert data["verdict"] == "inconclusive"
    assert data["statistics"]["more_runs"] >= 1


def test_gate(neurolens, write):
    base, slower = repeats(write, 7, 1), repeats(write, 7, 2, scale=1.2)
    result = neurolens("compare", *sides(base, slower), "--gate", "--json", code=GATE_FAILED)
    assert result.data["gate"]["passed"] is False
    assert compare(neurolens, *sides(base, repeats(write, 7, 4)), "--gate")["gate"]["passed"] is True
    assert compare(neurolens, *sides(slower, base), "--gate")["gate"]["passed"] is True


def test_gate_does_not_pass_what_is_not_shown(neurolens, write):
    base, new = write(model()), write(model(), factor=lambda step, i: 1.02)
    compare(neurolens, base, new, "--gate", code=GATE_FAILED)
    assert compare(neurolens, base, new, "--gate", "--allow-untested", "5%")["gate"]["passed"] is True
    compare(neurolens, base, new, "--gate", "--allow-untested", "0.5%", code=GATE_FAILED)
    few = sides(repeats(write, 3, 1), repeats(write, 3, 2, scale=1.05))
    compare(neurolens, *few, "--gate", code=GATE_FAILED)
    assert compare(neurolens, *few, "--gate", "--allow-inconclusive")["gate"]["passed"] is True


def test_expectations_are_held_by_the_gate(neurolens, write, tmp_path):
    base, new = write(model()), write(model(), factor=lambda step, i: 1.02)
    neurolens("import", base)
    run = neurolens("import", base, "--json").data["run_id"]
    neurolens("baseline", "main", run)
    file = tmp_path / "expect.yaml"
    text = ("base: '@baseline:main'\nallow_untested: 5%\nlimits:\n  - window: total\n    at_most: {}\n"
            "  - part: idle\n    at_most: 60%\n  - kernel: softmax\n    at_most: 2ms\n")
    file.write_text(text.format("20 ms"))
    data = compare(neurolens, new, "--expect", file, "--gate")
    assert data["gate"]["passed"] is True and [limit["met"] for limit in data["expectations"]] == [True] * 3
    assert data["base"]["run_id"] == run
    file.write_text(text.format("20 us"))
    data = compare(neurolens, new, "--expect", file, "--gate", code=GATE_FAILED)
    assert [limit["met"] for limit in data["expectations"]] == [False, True, True]
    file.write_text(text.format("20 ms").replace("softmax", "no_such_kernel"))
    data = compare(neurolens, new, "--expect", file, "--gate", code=GATE_FAILED)
    assert data["expectations"][2]["value_ns"] is None
    for broken in ("limits: 3", "limits:\n  - part: idle", "speed: 5", "limits:\n  - part: idle\n    at_most: soon"):
        file.write_text(broken)
        assert "expect.yaml:" in neurolens("compare", new, new, "--expect", file, code=BAD_INPUT).err


def test_a_threshold_says_what_matters(neurolens, write):
    base, new = repeats(write, 8, 1, spread=0.0005), repeats(write, 8, 2, scale=1.05, spread=0.0005)
    assert compare(neurolens, *sides(base, new), "--threshold", "3%")["verdict"] == "regression"
    assert compare(neurolens, *sides(base, new), "--threshold", "8%")["verdict"] == "no_change"


def test_other_hardware_is_a_mode_of_its_own(neurolens, write):
    data = compare(neurolens, write(model(), device="NVIDIA H100 80GB HBM3"), write(model(), device="AMD Instinct MI300X"))
    assert data["mode"] == "other_hardware" and data["verdict"] == "incomparable"
    assert data["across"]["level"] == "op" and data["across"]["rows"]
    check_sums(data)


def test_a_device_without_a_name_is_unknown_and_not_another(neurolens, write, tmp_path):
    base, new = write(model()), tmp_path / "unnamed.json"
    document = json.loads(trace(model(), factor=lambda step, i: 1.1))
    del document["deviceProperties"]
    new.write_text(json.dumps(document))
    for pair in ((base, new), (new, base)):
        data = compare(neurolens, *pair)
        assert data["mode"] == "same" and data["verdict"] == "not_tested"
        (device,) = [factor for factor in data["comparability"]["factors"] if factor["name"] == "device"]
        assert device["state"] == "unknown" and any("does not name its device" in remark for remark in data["remarks"])


def test_tags_and_baselines_are_sets_on_either_side(neurolens, write):
    base, new = repeats(write, 5, 1), repeats(write, 5, 2, scale=1.2)
    ids = {"old": [], "young": []}
    for tag, paths in (("old", base), ("young", new)):
        for path in paths:
            ids[tag].append(neurolens("import", path, "--json").data["run_id"])
            neurolens("tag", ids[tag][-1], tag)
    named = compare(neurolens, "old", "young")
    assert named["verdict"] == "regression" and sorted(named["base"]["runs"]) == sorted(ids["old"])
    assert sorted(named["new"]["runs"]) == sorted(ids["young"])
    neurolens("baseline", "main", "old")
    for name in ("@baseline:main", "main"):
        assert compare(neurolens, name, "young") == named
    assert compare(neurolens, "young", "@baseline:main")["verdict"] == "improvement"
    (listed,) = neurolens("baseline", "--json").data["baselines"]
    assert sorted(listed["run_ids"]) == sorted(ids["old"])
    shown = neurolens("show", ids["old"][0], "--json").data
    assert shown["tags"] == ["old"] and shown["baselines"] == ["main"]
    neurolens("baseline", "main", ids["old"][0])
    assert compare(neurolens, "@baseline:main", "young")["base"]["runs"] == [ids["old"][0]]
    neurolens("baseline", "main", ids["old"][1], "--add")
    assert len(compare(neurolens, "@baseline:main", "young")["base"]["runs"]) == 2
    neurolens("baseline", "main", "--remove")
    assert neurolens("show", ids["old"][1], "--json").data["baselines"] == []
    neurolens("tag", ids["young"][0], "old")  # now it is on both sides
    neurolens("compare", "old", "young", code=BAD_INPUT)


def test_the_sentence_comes_first(neurolens, write):
    base, new = write(model()), write(model(), factor=lambda step, i: 1.5)
    data = compare(neurolens, base, new)
    assert " a step slower (" in data["sentence"] and data["sentence"].endswith("(one run each)")
    text = neurolens("compare", base, new).out
    assert " ".join(text.split("\n\n")[0].split()).lower() == data["sentence"].lower()
    assert base.name in text and new.name in text and data["base"]["files"] == [base.name]
    assert compare(neurolens, base, base)["sentence"] == "both sides are the same run"


def test_labels_that_say_another_workload(neurolens, write):
    base, new = write(model()), write(model(), factor=lambda step, i: 1.1)
    for path, batch in ((base, 1), (new, 8)):
        neurolens("import", path, "--set", f"batch={batch}")
    data = compare(neurolens, base, new)
    assert data["verdict"] == "incomparable" and any("batch" in reason for reason in data["reasons"])
    assert data["comparability"]["score"] < data["comparability"]["floor"]
    assert any(line.startswith("batch: 1 ") for line in data["differences"])


def test_counters_of_either_side_stand_beside_the_times(neurolens, write, tmp_path):
    base, new = write(model(2), steps=2), write(model(2), steps=2, factor=lambda step, i: 1.1)
    page = tmp_path / "counters.csv"
    launch = {"grid_x": 1, "grid_y": 1, "grid_z": 1, "block_x": 32, "block_y": 1, "block_z": 1, "dur_ns": 20_000}
    page.write_text(ncu_page([{"name": kernel.replace("(float*)", "( float * )"), **launch} for _, kernel, _, _ in model(1)]))
    counted = neurolens("import", base, page, "--as-one", "--json").data["run_id"]
    for pair, side in (((counted, new), "base"), ((new, counted), "new")):
        data = compare(neurolens, *pair)
        check_sums(data)
        assert data["verdict"] == "not_tested", data["reasons"]  # counters beside a trace are no other measurement
        metrics = {row["metric"]: row for row in data["changes"][0]["metrics"]}
        assert metrics["sm_pct"][side] == 12.5 and metrics["sm_pct"]["delta"] is None


def test_repeats_must_be_of_one_kind(neurolens, write):
    base, new = repeats(write, 4, 1), repeats(write, 4, 2)
    base[2] = write(model(), device="NVIDIA H100 80GB HBM3", factor=lambda step, i: 1.01)
    data = compare(neurolens, *sides(base, new))
    assert data["verdict"] == "incomparable" and "is not a repeat of" in data["reasons"][0]


def test_bad_questions(neurolens, write):
    path = write(model())
    assert neurolens("compare", path, code=BAD_INPUT)
    assert neurolens("compare", "--base", path, code=BAD_INPUT)
    assert neurolens("compare", "--base", path, path, "--new", path, code=BAD_INPUT)
    assert neurolens("compare", path, path, "--threshold", "many", code=BAD_INPUT)


def test_same_bytes_again(neurolens, write):
    base, new = write(model()), write(edited(model(), 5)[0])
    first, second = (neurolens("compare", base, new, "--json").out for _ in range(2))
    assert first == second


# ---- Real profiles

FOLDERS = {"kineto": "*.json*", "nsys": "*.sqlite.gz", "onnxruntime": "**/*.json*", "trtexec": "*.profile.json", "ncu": "*.raw.csv.gz"}


@pytest.mark.skipif(not TRACES.is_dir(), reason=f"no traces in {TRACES}")
@pytest.mark.parametrize("folder", FOLDERS)
def test_parts_add_up_on_real_pairs(neurolens, folder):
    ids = []
    for path in sorted((TRACES / folder).glob(FOLDERS[folder])):
        result = neurolens("import", path, "--json", code=None)
        if result.code == OK:
            ids.append(result.data["run_id"])
    ids = sorted(set(ids))
    assert len(ids) > 3
    pairs = [*itertools.pairwise(ids), *(zip(ids, ids[7:]) if FULL else ())]
    closed = 0
    for base, new in pairs:
        result = neurolens("compare", base, new, "--json", code=None)
        assert result.code in (OK, BAD_INPUT), result
        if result.code == OK:
            check_sums(result.data)
            closed += 1
    assert closed >= len(pairs) * 0.8
    for run in ids[:6]:
        data = compare(neurolens, run, run)
        assert data["delta_ns"] == 0 and data["verdict"] == "no_change"
        assert all(part["delta_ns"] == 0 for part in data["parts"])


def real(name):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"no trace {path}")
    return path


def test_the_work_of_two_captures_on_two_gpus(neurolens):
    data = compare(neurolens, real("nsys/nsysai_mfu_2gpu_before.sqlite.gz"), real("nsys/nsysai_mfu_2gpu_after.sqlite.gz"),
                   "--window", "whole")
    check_sums(data)
    assert data["totals"]["base"]["kernel_ns"] == 535_200_650
    assert data["totals"]["new"]["kernel_ns"] == 488_835_406
    first = data["changes"][0]
    assert "flash_fwd_kernel" in first["name"] and (first["base"]["calls"], first["new"]["calls"]) == (34, 30)
    assert abs(first["by_duration_ns"]) < abs(first["by_calls_ns"]) / 10


def test_a_fused_model_compares_with_the_plain_one(neurolens):
    folder = TRACES / "onnxruntime" / "generated"
    plain, fused = folder / "convnet_t2_noopt_10runs.json", folder / "convnet_t1_optall_10runs.json"
    if not plain.exists():
        pytest.skip("the recorded profiles are not here")
    data = compare(neurolens, plain, fused)
    assert data["verdict"] == "not_tested" and any("compare the times, not single ops" in remark for remark in data["remarks"])
    assert "a step faster" in data["sentence"]
    assert compare(neurolens, plain, folder / "transformer_t2_optall_5runs.json")["verdict"] == "incomparable"


def test_the_input_bound_difference_is_found(neurolens):
    data = compare(neurolens, real("kineto/kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz"),
                   real("kineto/kineto_tb_resnet50_nw4_worker0.1623212756351.pt.trace.json.gz"))
    check_sums(data)
    first = data["parts"][0]
    assert (first["kind"], first["name"]) == ("idle", "host_data")
    # Idle while the host was in the loader, and the windows of the steps, by tests/e2e/test_limiters.py from the files alone.
    # The first step of nw4 is warm-up: 139.665 ms from its first work to that of the next step, 124 to 127 ms later on.
    assert (data["base"]["units"], data["new"]["units"]) == (6, 5)
    assert first["delta_ns"] == pytest.approx(2_770_000 / 5 - 283_707_000 / 6, abs=1)
    assert data["delta_ns"] == pytest.approx((801_550_000 - 139_665_000) / 5 - 996_477_000 / 6, abs=1)


@pytest.mark.parametrize("model_name", ["bert-small", "falconsai_vit", "qwen1.5-0.5b"])
def test_one_model_on_two_makers_devices(neurolens, model_name):
    data = compare(neurolens, real(f"kineto/tracelens_h100_{model_name}.json.gz"), real(f"kineto/tracelens_mi300_{model_name}.json.gz"))
    check_sums(data)
    across = data["across"]
    least_covered = 0.65 if "qwen" in model_name else 0.9  # a third of Qwen's launches is not in the capture
    assert across["level"] == "op" and min(across["covered"].values()) > least_covered
    assert [side["device"] for side in across["sides"]] == ["NVIDIA H100 80GB HBM3", "AMD Instinct MI300X VF"]
    modelled = [row for row in across["rows"] if row["hardware_ratio"] is not None]
    assert modelled and all(0.3 < row["hardware_ratio"] < 1.5 for row in modelled)


def test_replayed_launches_are_not_held_against_a_trace(neurolens):
    data = compare(neurolens, real("ncu/mistic_susy_a100.raw.csv.gz"), real("kineto/tracelens_h100_bert-small.json.gz"))
    assert data["verdict"] == "incomparable" and data["comparability"]["score"] == 0
    assert "measured" in data["reasons"][0]
