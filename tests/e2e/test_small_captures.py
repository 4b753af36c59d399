"""What analyze makes of small Kineto files: the window, and rules that are silent where there is too little to judge."""

import json

import pytest

TRUST = {"little_device_work", "idle_after_last_work", "launches_missing", "unclassified_kernels", "earlier_work_running"}


def kineto_text(kernels, marks=()):
    """Kernels (start, duration) in us, each launched 5 us before; marks are instants."""
    mark = {"ph": "i", "cat": "", "name": "Record Window End", "pid": "", "tid": "", "s": "g"}
    events = [{**mark, "ts": ts} for ts in marks]
    for i, (start, duration) in enumerate(kernels):
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": start - 5, "dur": 4, "args": {"correlation": i + 1}})
        name = "void at::native::vectorized_elementwise_kernel<4>(int)"
        events.append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": start, "dur": duration,
                       "args": {"device": 0, "stream": 7, "correlation": i + 1}})
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


@pytest.fixture
def analyze(neurolens, tmp_path):
    def run(*arguments, **options):
        path = tmp_path / "small.json"
        path.write_text(kineto_text(*arguments, **options))
        return neurolens("analyze", path, "--json").data

    return run


def rules_of(data):
    return {finding["rule"] for finding in data["findings"]}


def test_a_mark_does_not_make_the_window_longer(analyze):
    """The profiler sets it when its buffers are written, long after the last kernel."""
    kernels = [(1000 + 20 * i, 15) for i in range(30)]
    data = analyze(kernels, marks=[999_000])
    (device,) = data["devices"]
    assert data["window"]["capture_ns"] == (1000 + 20 * 29 + 15 - 995) * 1000
    assert device["idle_causes"].get("end", 0) == 0
    assert "idle_after_last_work" not in rules_of(data)


def test_four_kernels_are_too_few_to_judge_performance(analyze):
    data = analyze([(1000 + 1000 * i, 2) for i in range(4)])
    assert data["findings"][0]["rule"] == "little_device_work"
    assert rules_of(data) <= TRUST


def test_the_same_shape_with_more_kernels_is_judged(analyze):
    data = analyze([(1000 + 1000 * i, 2) for i in range(40)])
    assert "little_device_work" not in rules_of(data)
    assert {"launch_bound", "many_short_kernels", "unfused_elementwise"} <= rules_of(data)


def test_one_long_gap_is_not_a_slow_host(analyze):
    """The device is kept busy but for one hole."""
    data = analyze([(1000 + 20 * i + (5000 if i >= 20 else 0), 19) for i in range(40)])
    assert data["findings"][0]["rule"] == "one_long_gap"
    assert not {"launch_bound", "host_bound"} & rules_of(data)


def test_no_more_than_the_window_is_at_stake(analyze):
    data = analyze([(1000 + 1000 * i, 2) for i in range(40)])
    assert all(finding["at_stake_ns"] <= data["window"]["total_ns"] for finding in data["findings"])
