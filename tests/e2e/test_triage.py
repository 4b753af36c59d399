"""triage, suggest and explain: over recorded profiles of many formats their figures are those of analyze, to the nanosecond;
what a file cannot tell is never zero; the text fits a screen."""

import json
from typing import Any

import jsonschema
import pytest

from conftest import BAD_INPUT, REPOSITORY, TRACES, Neurolens

TIME_LINES = (
    "kineto/tracelens_b200_eager.json.gz",
    "kineto/tracelens_h100_qwen1.5-0.5b.json.gz",
    "kineto/kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
    "kineto/hta_mtia_inference_rank0.json.gz",
    "nsys/nsysai_mfu_2gpu_before.sqlite.gz",
    "nsys/pytorch_elementwise_v100.sqlite.gz",
    "onnxruntime/generated/transformer_t2_noopt_5runs.json",
    "onnxruntime/generated/convnet_t1_optall_10runs.json",
    "trtexec/a100_resnet_fp16.timing.json.gz",
    "rocprof/jimw_gfx1151_llamacpp_prefill_kernel_trace.csv.gz",
)
UNDECIDED = (
    "kineto/hta_simple_add_trace.json.gz",
    "more/kineto/tracelens_vllm_decode_full_graph_capture.json.gz",
    "nsys/accel_cublas_dot_titanv.gputrace.csv",
    "more/kineto/hta_negative_queue_length_rank0.json.gz",
)
# What they hold instead of a time line, and a word of the sentence that says so.
OTHERS = {
    "ncu/mistic_susy_a100.raw.csv.gz": ("replayed_launches", "counters of"),
    "ncu/speedyscan_rtx3070.details.csv.gz": ("replayed_launches", "counters of"),
    "trtexec/a100_resnet_fp16.profile.json": ("layers", "layers of the engine"),
    "trtexec/a100_resnet_fp16.graph.json": ("nothing", "without their times"),
    "nsys/alpa_jax_rtx3090.gpukernsum.csv": ("sums", "only sums"),
    "rocprof/rocprofiler_sdk_docs_hip_api_stats.csv": ("sums", "only sums"),
    "telemetry/xypp3_h100_nvidia_smi.csv": ("nothing", "no work"),
    "nsys/gpubootcamp_rdf_nvtx_gv100.sqlite.gz": ("nothing", "no device work"),
    "kineto/hta_cpu_only_rank34.pt.trace.json.gz": ("window", "cannot tell"),
}
LINES_OF_A_SCREEN = 40


@pytest.fixture(scope="module")
def neurolens(tmp_path_factory: pytest.TempPathFactory) -> Neurolens:
    return Neurolens(tmp_path_factory.mktemp("triage") / "ledger")


@pytest.fixture(scope="module")
def schemas(neurolens: Neurolens) -> dict[str, Any]:
    return {name: json.loads(neurolens("schema", "print", name).out) for name in ("triage", "suggest", "explain")}


def answer(neurolens: Neurolens, schemas: dict[str, Any], operation: str, *words: Any) -> Any:
    envelope = neurolens(operation, *words, "--json").envelope
    jsonschema.validate(envelope, schemas[operation])
    return envelope["data"]


def need(path: str) -> Any:
    if not (TRACES / path).exists():
        pytest.skip(f"no recorded profile {TRACES / path}: set NEUROLENS_TRACES")
    return TRACES / path


def assert_closes(parts: dict[str, Any]) -> None:
    assert (parts["absent"] is None) == bool(parts["rows"])
    assert (parts["whole_ns"] is None) == (not parts["rows"])
    if parts["rows"]:
        assert sum(row["time_ns"] for row in parts["rows"]) == parts["whole_ns"] > 0
        assert all(row["time_ns"] > 0 for row in parts["rows"])


# ---- triage


@pytest.mark.parametrize("path", TIME_LINES)
def test_figures_are_those_of_analyze(neurolens, schemas, path):
    file = need(path)
    data = answer(neurolens, schemas, "triage", file)
    whole = neurolens("analyze", file, "--json").data
    assert_closes(data["parts"])
    assert data["run_id"] == whole["run_id"] and data["devices"] == len(whole["devices"])
    assert data["window"]["wall_ns"] == whole["window"]["total_ns"] == data["parts"]["whole_ns"]
    assert data["limiter"] == whole["limiters"][0]
    rows = [(row["what"], row["time_ns"], row["device"]) for row in data["parts"]["rows"]]
    assert rows == [(one["what"], one["time_ns"], one["device"]) for one in whole["limiters"]]
    assert data["limiter"]["what"] in data["sentence"]


@pytest.mark.parametrize("path", TIME_LINES)
def test_actions_are_findings(neurolens, schemas, path):
    file = need(path)
    data = answer(neurolens, schemas, "triage", file)
    found = {(one["rule"], one["device"], one["rank"]): one for one in neurolens("analyze", file, "--json").data["findings"]}
    rules = {rule for (rule, *_), one in found.items() if one["suggestions"]}
    assert len(data["actions"]) == min(3, len(rules))
    assert len(data["actions"]) + data["more_actions"] == len(rules)
    for action in data["actions"]:
        finding = found[action["rule"], action["device"], action["rank"]]
        (suggestion,) = [one for one in finding["suggestions"] if one["suggestion"] == action["suggestion"]]
        assert action["do"] == suggestion["text"] and action["title"] == finding["title"]
        assert action["alone_ns"] == suggestion["gain_ns"]
        if suggestion["gain_ns"] is None or (suggestion["gain_ns"] > finding["promised_ns"] == 0 and not finding["shared_with"]):
            assert action["gain_ns"] is None and action["share"] is None and action["absent_reason"]
        else:
            assert action["gain_ns"] == min(finding["promised_ns"], suggestion["gain_ns"])
        assert action["because"]


@pytest.mark.parametrize("path", UNDECIDED)
def test_a_capture_that_cannot_tell_has_no_limiter(neurolens, schemas, path):
    data = answer(neurolens, schemas, "triage", need(path))
    assert data["limiter"] is None and data["undecided"]
    assert data["sentence"].startswith("cannot tell what limits the run: ")
    assert data["trust"]["level"] == ("limited" if data["undecided"]["id"] == "unknown_idle" else "poor")
    assert_closes(data["parts"])
    assert bool(data["parts"]["rows"]) == (data["undecided"]["id"] == "unknown_idle")


@pytest.mark.parametrize("path", OTHERS)
def test_a_file_without_a_time_line_says_what_it_holds(neurolens, schemas, path):
    of, words = OTHERS[path]
    data = answer(neurolens, schemas, "triage", need(path))
    assert data["parts"]["of"] == of and words in data["sentence"]
    assert data["limiter"] is None and data["trust"]["level"] != "good" and data["trust"]["reasons"]
    assert_closes(data["parts"])
    if of != "window":
        assert data["silent_rules"]["count"] is None and data["silent_rules"]["reason"]
    if data["devices"] == 0 and of != "nothing":
        assert data["window"]["wall_ns"] is None


def test_a_counter_profile_adds_up_to_what_was_replayed(neurolens, schemas):
    file = need("ncu/mistic_154launches_a100.raw.csv.gz")
    data = answer(neurolens, schemas, "triage", file)
    assert data["parts"]["whole_ns"] == neurolens("analyze", file, "--json").data["counters"]["replay_ns"]
    assert data["statements"] and data["actions"] == []


def test_a_serving_benchmark(neurolens, schemas, tmp_path):
    requests = [{"name": f"r{i}", "start_ns": i * 1000, "dur_ns": 1_000_000 + i, "first_token_ns": 200_000, "output_tokens": 10}
                for i in range(120)]
    file = tmp_path / "served.json"
    file.write_text(json.dumps({"schema": "neurolens.run-file/1", "requests": requests}))
    data = answer(neurolens, schemas, "triage", file)
    assert "a serving benchmark of 120 requests" in data["sentence"] and "cannot tell" in data["sentence"]
    times = data["requests"]
    assert times["count"] == 120 and times["first_token_p50_ns"] == 200_000 and times["output_tokens"] == 1200
    assert times["p99_ns"] in (1_000_118, 1_000_119) and data["parts"]["rows"] == []


@pytest.mark.parametrize("path", [*TIME_LINES, *UNDECIDED, *OTHERS])
def test_texts_fit_a_screen(neurolens, path):
    file = need(path)
    for operation in ("triage", "suggest"):
        text = neurolens(operation, file).out
        assert len(text.splitlines()) <= LINES_OF_A_SCREEN, text
        assert "None" not in text and "nan" not in text


@pytest.mark.parametrize("path", [*TIME_LINES, *UNDECIDED, *OTHERS])
def test_a_budget_keeps_the_verdict(neurolens, path):
    file = need(path)
    whole = neurolens("triage", file, "--json").data
    done = neurolens("triage", file, "--json", "--budget", "1500")
    assert len(done.out.encode()) <= 6000
    for key in ("sentence", "limiter", "undecided", "run_id"):
        assert done.data[key] == whole[key]
    assert done.data["trust"]["level"] == whole["trust"]["level"]
    assert done.data["actions"][:1] == whole["actions"][:1]


def test_trust_names_what_was_lost(neurolens, schemas, tmp_path):
    """Records that cannot be stored make the level poor once they are many."""
    events = [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5, "args": {"device": 0, "stream": 7}}
              for i in range(50)]
    events += [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": "no time", "dur": 5} for _ in range(10)]
    file = tmp_path / "lossy.json"
    file.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    data = answer(neurolens, schemas, "triage", file)
    dropped = neurolens("show", data["run_id"], "--json").data["counts"]["dropped"]
    ids = {one["id"]: one for one in data["trust"]["reasons"]}
    assert dropped and "dropped" in ids and data["trust"]["level"] == "poor"
    assert str(sum(dropped.values())) in ids["dropped"]["text"]


def test_next_goes_on(neurolens, tmp_path):
    ledger = Neurolens(tmp_path / "ledger")
    base = ledger.import_file(REPOSITORY / "samples/kineto_small.json")["run_id"]
    new = ledger.import_file(REPOSITORY / "samples/kineto_small_after.json")["run_id"]
    ledger("baseline", "good", base)
    calls = ledger("triage", new, "--json").envelope["next"]
    assert any(call.startswith("neurolens analyze") for call in calls)
    assert any("compare @baseline:good" in call for call in calls)
    assert not any("compare" in call for call in ledger("triage", base, "--json").envelope["next"])
    for call in calls:
        ledger(*call.split()[1:], code=None)


def test_next_keeps_the_window(neurolens):
    file = REPOSITORY / "samples/kineto_small.json"
    for operation in ("triage", "suggest"):
        assert not any("--window" in call for call in neurolens(operation, file, "--json").envelope["next"])
        calls = neurolens(operation, file, "--window", "whole", "--json").envelope["next"]
        assert len(calls) >= 2 and all("--window whole" in call for call in calls), calls
        for call in calls:
            neurolens(*call.split()[1:])


# Kernels in fp32 on a device of which nobody says whether it has matrix units: no suggestion of the rule fits it.
FP32_ALONE = {"schema": "neurolens.run-file/1",
              "kernels": [{"name": "maxwell_sgemm_128x64_nn", "start_ns": i * 100_000, "dur_ns": 100_000} for i in range(40)]}  # fmt: skip


def test_a_rule_without_advice_is_no_action(neurolens, schemas, tmp_path):
    file = tmp_path / "fp32.json"
    file.write_text(json.dumps(FP32_ALONE))
    silent = [one["rule"] for one in neurolens("analyze", file, "--json").data["findings"] if not one["suggestions"]]
    assert silent == ["fp32_matrix_work"]
    data = answer(neurolens, schemas, "suggest", file)
    assert data["suggestions"] == [] and "none of their suggestions fits" in data["none_because"]
    assert answer(neurolens, schemas, "triage", file)["actions"] == []
    assert "do first" not in neurolens("triage", file, "--brief").out


# ---- suggest


@pytest.mark.parametrize("path", TIME_LINES)
def test_no_time_is_promised_twice(neurolens, schemas, path):
    file = need(path)
    data = answer(neurolens, schemas, "suggest", file, "--top", "100")
    sums: dict[Any, int] = {}
    for row in data["suggestions"]:
        place = (row["device"], row["rank"])
        sums[place] = sums.get(place, 0) + (row["gain_ns"] or 0)
        assert row["verify"]["text"] and f"applied={row['rule']}:{row['suggestion']}" in row["verify"]["text"]
        assert [call["operation"] for call in row["verify"]["calls"]] == ["findings", "import", "compare", "findings"]
        assert row["verify"]["calls"][1]["parameters"]["set"][1] == f"applied={row['rule']}:{row['suggestion']}"
        assert row["verify"]["calls"][2]["parameters"]["runs"][1] == "NEW_RUN"
    assert all(total <= data["wall_ns"] for total in sums.values())
    gains = [row["gain_ns"] for row in data["suggestions"] if row["gain_ns"]]
    assert gains == sorted(gains, reverse=True)
    assert (data["none_because"] is None) == bool(data["suggestions"])


def test_the_way_to_verify_works(tmp_path):
    """The calls of a suggestion, with a second recording in the place of the new one."""
    ledger = Neurolens(tmp_path / "ledger")
    base = ledger.import_file(REPOSITORY / "samples/kineto_small.json")["run_id"]
    row = ledger("suggest", base, "--json").data["suggestions"][0]
    keep, again, compare, score = (call["parameters"] for call in row["verify"]["calls"])
    ledger("findings", keep["run"])
    labels = [word for label in again["set"] for word in ("--set", label)]
    new = ledger("import", REPOSITORY / "samples/kineto_small_after.json", *labels, "--json").data["run_id"]
    assert ledger("compare", compare["runs"][0], new, "--json", code=None).data
    (scored,) = ledger("findings", new, "--score", "--json").data["scores"]
    assert scored["prediction"]["rule"] == row["rule"] and score["score"] is True


@pytest.mark.parametrize(("window", "compared"), [("whole", "whole"), ("ns:1700000000000010000..1700000000000910000", None)])
def test_a_promise_of_another_window_is_not_kept(neurolens, schemas, window, compared):
    data = answer(neurolens, schemas, "suggest", REPOSITORY / "samples/kineto_small.json", "--window", window)
    assert data["suggestions"] and data["window"] == window
    for row in data["suggestions"]:
        assert "promise" not in row["verify"]["text"] and "findings" not in row["verify"]["text"]
        assert [call["operation"] for call in row["verify"]["calls"]] == ["import", "compare"]
        assert row["verify"]["calls"][1]["parameters"].get("window") == compared


@pytest.mark.parametrize("path", OTHERS)
def test_silence_has_a_reason(neurolens, schemas, path):
    data = answer(neurolens, schemas, "suggest", need(path))
    assert data["suggestions"] or data["none_because"]


# ---- explain


def test_the_meaning_needs_no_run(neurolens, schemas):
    for words, begin in ((("--metric", "idle_time"), "Idle (idle_time): "), (("--finding", "launch_bound"), "The host cannot launch")):
        data = answer(neurolens, schemas, "explain", *words)
        assert data["meaning"].startswith(begin) and data["here"] is None and data["run_id"] is None


@pytest.mark.parametrize("words", [(), ("--metric", "idle_time", "--finding", "launch_bound"), ("--kernel", "gemm"), ("--span", "0")])
def test_one_thing_is_explained(neurolens, words):
    neurolens("explain", *words, code=BAD_INPUT)


@pytest.mark.parametrize("words", [("--metric", "nosuch"), ("--finding", "nosuch"), ("--kernel", "nosuch"), ("--span", "kernels:999999999"),
                                   ("--span", "tracks:1"), ("--span", "kernels:-1")])
def test_what_is_not_there(neurolens, words):
    neurolens("explain", REPOSITORY / "samples/kineto_small.json", *words, code=BAD_INPUT)


@pytest.mark.parametrize("path", [TIME_LINES[0], TIME_LINES[4], TIME_LINES[6], *OTHERS])
def test_metrics_are_those_of_analyze(neurolens, schemas, path):
    file = need(path)
    devices = neurolens("analyze", file, "--json").data["devices"]
    for metric in ("idle_time", "mfu", "memory_slack", "gemm_kernel_time"):
        data = answer(neurolens, schemas, "explain", file, "--metric", metric)
        values = [figure["value"] for figure in data["figures"]]
        assert values == [device["metrics"][metric].get("value") for device in devices] or (not devices and values == [None])
        assert data["here"] and (any(value is not None for value in values) or "absent" in data["here"])


@pytest.mark.parametrize("path", TIME_LINES[:7])
def test_findings_show_their_evidence(neurolens, schemas, path):
    file = need(path)
    for finding in neurolens("analyze", file, "--json").data["findings"]:
        data = answer(neurolens, schemas, "explain", file, "--finding", finding["rule"])
        assert "fires" in data["here"] and data["suggestions"]
        if data["figures"][0]["device"] == finding["device"]:
            assert [one["value"] for one in data["figures"]][: len(finding["evidence"])] == [one["value"] for one in finding["evidence"]]
    silent = answer(neurolens, schemas, "explain", file, "--finding", "late_ranks")
    assert "could not be asked" in silent["here"] or "does not fire" in silent["here"]


def test_a_kernel(neurolens, schemas):
    file = need(TIME_LINES[0])
    top = neurolens("analyze", file, "--json").data["top_kernels"][0]
    data = answer(neurolens, schemas, "explain", file, "--kernel", top["name"])
    figures = {figure["name"]: figure["value"] for figure in data["figures"]}
    assert data["name"] == top["name"]
    assert figures["total_ns"] == top["total_ns"] and figures["calls"] == top["calls"] and figures["longest_ns"] == top["longest_ns"]
    run = data["run_id"]
    quoted = top["name"].replace("'", "''")
    (row,) = neurolens.rows(run, f"SELECT min(dur_ns) AS least, max(dur_ns) AS most FROM kernels WHERE name = '{quoted}'")
    assert (figures["min_ns"], figures["max_ns"]) == (row["least"], row["most"])
    assert any(one["kind"] == "op" for one in data["rows"]) and any(one["kind"] == "neighbour" for one in data["rows"])
    part = answer(neurolens, schemas, "explain", file, "--kernel", "elementwise")
    assert "elementwise" in part["name"] and any("match" in text for text in part["limits"])


def test_a_kernel_of_a_counter_profile(neurolens, schemas):
    data = answer(neurolens, schemas, "explain", need("ncu/mistic_susy_a100.raw.csv.gz"), "--kernel", "nodeByPoint5")
    assert "replayed" in data["meaning"] and data["rows"][0]["kind"] == "counters" and data["wall_ns"] is None


def test_rows_of_the_time_line(neurolens, schemas):
    file = need(TIME_LINES[0])
    run = neurolens("triage", file, "--json").data["run_id"]
    columns = "kernel_id, name, start_ns, dur_ns, launch_span_id"
    (kernel,) = neurolens.rows(run, f"SELECT {columns} FROM kernels WHERE launch_span_id IS NOT NULL ORDER BY kernel_id LIMIT 1")
    data = answer(neurolens, schemas, "explain", run, "--span", f"kernels:{kernel['kernel_id']}")
    itself, call, *around = data["rows"]
    assert (itself["name"], itself["time_ns"], itself["start_ns"]) == (kernel["name"], kernel["dur_ns"], kernel["start_ns"])
    assert call["kind"] == "call" and call["row"] == f"spans:{kernel['launch_span_id']}"
    span = answer(neurolens, schemas, "explain", run, "--span", str(kernel["launch_span_id"]))
    assert [row["row"] for row in span["rows"] if row["kind"] == "parent"] == [row["row"] for row in around]
    assert any(row["kind"] == "kernel" and row["name"] == kernel["name"] for row in span["rows"])
    for words in (["--span", f"kernels:{kernel['kernel_id']}"], ["--metric", "idle_time"], ["--kernel", "norm"]):
        assert len(neurolens("explain", run, *words).out.splitlines()) <= LINES_OF_A_SCREEN
