"""Answers of analyze against the verdicts of tests/advice: each is at least as good as it was."""

import sys

import pytest

from conftest import BINARY, REPOSITORY, TRACES

sys.path.insert(0, str(REPOSITORY / "tests/advice"))
import score

# What is known to fall short, with the reason. Nothing may be added without one.
WRONG_LIMITER = {
    "hta_alexnet_train": "the warm-up pass and the measured one are taken together: no record tells them apart",
    "hta_mi250_rocm6.2_minitoy_train": "fewer than 20 kernels: the answer says that it cannot tell",
}
MISSING = {
    ("cutlass_profiler_rtx2080ti", "registers_limit"): "registers of launches are not looked at in traces",
    ("cutlass_profiler_rtx2080ti", "reference_faster"): "kernels of one product are not compared with each other",
    ("hta_sampled_world128", "records_missing"): "ids of ops are not kept, so a thinned file is not noticed",
    ("hta_simple_add_trace", "setup_outside"): "the set-up lies inside of the window",
    ("jimw_gfx1151_llamacpp_decode_kernel_trace", "excerpt_of_trace"): "numbers of dispatches are not kept",
    ("nsysai_mfu_2gpu_after", "sync_calls"): "little idle time lies inside of the calls themselves",
    ("pytorch_elementwise_v100", "sync_calls"): "little idle time lies inside of the calls themselves",
    ("rocprofiler_sdk_docs", "different_runs"): "files of several processes are taken for one run",
}
FORBIDDEN = {
    ("dlrm_8rank", "more_workers"): "the rule looks at each rank by itself, and one waits for its loader",
    ("cutlass_profiler_rtx2080ti", "host_bound"): "gaps between the timed loops count",
    ("hta_alexnet_train", "device_idle_large"): "the warm-up pass is in the window",
    ("jimw_gfx1151_llamacpp_decode_kernel_trace", "device_idle_large"): "missing dispatches look like gaps",
    ("jimw_gfx1151_llamacpp_decode_kernel_trace", "host_bound"): "missing dispatches look like gaps",
}

VERDICTS = score.verdicts(held=False)
needs_traces = pytest.mark.skipif(not TRACES.is_dir(), reason="no traces")


@needs_traces
@pytest.mark.parametrize("name", VERDICTS)
def test_the_answer_is_as_good_as_the_verdict(name):
    text, data = score.answer_of(str(BINARY), TRACES, VERDICTS[name])
    found = score.score_one(name, VERDICTS[name], text, data, score.concepts())
    assert found.limiter_right or name in WRONG_LIMITER, found.limiter
    assert not [one for one in found.missing if (name, one) not in MISSING]
    assert not [one for one in found.forbidden if (name, one) not in FORBIDDEN]
    promises_fit(data)


def promises_fit(data):
    """Of each device, what all findings promise together is at most the window."""
    sums = {}
    for finding in data["findings"]:
        on = (finding.get("rank"), finding["device"])
        sums[on] = sums.get(on, 0) + finding["promised_ns"]
        assert finding["promised_ns"] >= 0
    assert all(promised <= data["window"]["total_ns"] for promised in sums.values()), sums


@needs_traces
def test_the_parts_outside_and_the_window_are_the_capture():
    for name in ["kineto_tb_resnet50_nw4_worker0.1623212756351", "tracelens_sglang_qwen3-8b_decode"]:
        _, data = score.answer_of(str(BINARY), TRACES, VERDICTS[name])
        window = data["window"]
        assert window["total_ns"] + sum(part["dur_ns"] for part in window["outside"]) == window["capture_ns"]


def test_every_verdict_is_whole():
    patterns = score.concepts()
    for name, verdict in (VERDICTS | score.verdicts(held=True)).items():
        said = verdict["verdict"]
        assert said["limiter"] and verdict["argument"].strip(), name
        for one in said.get("must_say", []) + said.get("must_not_say", []):
            assert one["concept"] in patterns and one["why"], (name, one)
