"""Steps of a language model against what its weights demand; devices that sources do not agree about."""

import json
from pathlib import Path

import pytest

from conftest import TRACES

QWEN3_8B = {
    "model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
    "head_dim": 128, "intermediate_size": 12288, "vocab_size": 151936, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
}  # fmt: skip
BANDWIDTH = 5.3e12  # of an MI300X, bytes a second


def weights_of(config: dict) -> int:
    """Bytes that a pass reads of a dense model: all matrices but the table of embeddings."""
    heads, kv, size = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
    attention = config["hidden_size"] * size * (2 * heads + 2 * kv)
    mlp = 3 * config["hidden_size"] * config["intermediate_size"]
    return 2 * (config["num_hidden_layers"] * (attention + mlp) + config["vocab_size"] * config["hidden_size"])


def real(name: str) -> Path:
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"no trace {path}")
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN3_8B))
    return path


def test_decode_is_held_against_the_memory(neurolens, config):
    path = real("kineto/tracelens_sglang_qwen3-8b_decode.json.gz")
    roof = neurolens("analyze", path, "--model-config", config, "--json").data["model_roof"]
    (row,) = roof["rows"]
    weights_ns = weights_of(QWEN3_8B) / BANDWIDTH * 1e9
    assert roof["absent"] is None and row["phase"] == "decode_step" and row["requests"] == 32
    assert abs(row["weights_ns_low"] - weights_ns) <= 1 and row["weights_ns_low"] == row["weights_ns_high"]
    assert row["cache_ns_low"] == row["cache_ns_high"] > 0  # the range's name tells the contexts
    expected = (row["weights_ns_low"] + row["cache_ns_low"]) / row["step_ns"]
    assert row["mbu_low"] == pytest.approx(expected, abs=1e-6) and row["mbu_low"] == row["mbu_high"]
    text = neurolens("analyze", path, "--model-config", config).out
    assert "reading the weights once takes 2.856 ms" in " ".join(text.split())


def test_prefill_is_held_against_the_peak_rate(neurolens, config):
    path = real("kineto/tracelens_sglang_qwen3-8b_prefilldecode.json.gz")
    (row,) = neurolens("analyze", path, "--model-config", config, "--json").data["model_roof"]["rows"]
    assert row["phase"] == "prefill" and row["tokens"] == 15_360
    assert 0.2 < row["mfu_low"] < row["mfu_high"] < 1  # how the tokens are spread over prompts is not known


def test_the_model_is_asked_for(neurolens):
    path = real("kineto/tracelens_sglang_qwen3-8b_decode.json.gz")
    assert neurolens("analyze", path, "--json").data["model_roof"]["absent"].startswith("the model is not known")


def test_labels_describe_a_model_and_steps_that_no_engine_names(neurolens):
    path = real("nsys/cutlass_profiler_rtx2080ti.sqlite.gz")
    labels = ["parameters=10M", "precision=fp16", "phase=prefill", "batch=8", "input_length=16", "tensor_parallel=1"]
    run = neurolens.import_file(path, *(word for label in labels for word in ("--set", label)))["run_id"]
    data = neurolens("analyze", run, "--json").data
    (row,) = data["model_roof"]["rows"]
    assert row["tokens"] == 8 * 16 and row["steps"] > 0
    bandwidth = data["devices"][0]["roofline"]["peaks"]["bandwidth"]
    assert row["mbu_high"] == pytest.approx(2 * 10e6 / bandwidth / row["step_ns"] * 1e9, rel=1e-6)
    assert row["mbu_low"] == pytest.approx(0.8 * row["mbu_high"], rel=1e-6)  # embeddings may be a fifth of the parameters


def test_a_model_that_cannot_be_the_one_is_refused(neurolens, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**QWEN3_8B, "num_hidden_layers": 360}))
    trace = real("kineto/tracelens_sglang_qwen3-8b_decode.json.gz")
    roof = neurolens("analyze", trace, "--model-config", path, "--json").data["model_roof"]
    assert roof["rows"] == [] and "another model" in roof["absent"]


def test_a_damaged_config_is_told(neurolens, tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{")
    result = neurolens("analyze", real("kineto/tracelens_sglang_qwen3-8b_decode.json.gz"), "--model-config", path, code=None)
    assert result.code != 0 and "not JSON" in result.err


def test_sources_that_name_another_device_are_no_one_run(neurolens):
    trace = real("nsys/cutlass_gemm_cublas_rtx2080ti.sqlite.gz")
    counters = TRACES / "ncu/cutlass_gemm_s4_a100.raw.csv.gz"
    result = neurolens("import", "--as-one", trace, counters, code=None)
    assert result.code != 0 and "RTX 2080 Ti" in result.err and "A100" in result.err
