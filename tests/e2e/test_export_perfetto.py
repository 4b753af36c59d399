"""Exports for Perfetto, held against Perfetto's own trace processor: every figure of the file is that of the run."""

import json

import pytest

import trace_files
from conftest import TRACES

# One run of each format that has a time line; tests/full/exports takes all.
RECORDED = [
    "kineto/hta_cuda_event_sync_multistream.json.gz",
    "kineto/tracelens_h100_bert-small.json.gz",
    "kineto/hta_mi250_rocm6.2_minitoy_train.json.gz",
    "nsys/alpa_jax_rtx3090.sqlite.gz",
    "onnxruntime/generated/transformer_t2_optall_5runs.json",
    "rocprof/jimw_gfx1151_llamacpp_decode_kernel_trace.csv",
    "telemetry/xypp3_h100_nvidia_smi.csv",
]


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_runs(neurolens, tmp_path, name):
    if not (TRACES / name).exists():
        pytest.skip(f"no recorded trace {TRACES / name}: set NEUROLENS_TRACES")
    run = neurolens.import_file(TRACES / name)["run_id"]
    trace_files.check_perfetto_file(neurolens, run, tmp_path / "run.pftrace")
