"""analyze, lint, metrics and findings as a user types them. What the figures are is proven over the corpus elsewhere;
here: the contract, windows, options, errors, and that the same run gives the same bytes."""

import json

import pytest

from conftest import BAD_INPUT, GATE_FAILED, MISSING, OK, Neurolens

PARTS = ["compute_ns", "exposed_comm_ns", "exposed_copy_ns", "idle_ns"]


def event(category, name, start_us, dur_us, args=None, process=1, thread=1, phase="X"):
    return {"ph": phase, "cat": category, "name": name, "pid": process, "tid": thread, "ts": start_us, "dur": dur_us,
            "args": args or {}}


def kernel(name, start_us, dur_us, correlation, stream=7, **args):
    return event("kernel", name, start_us, dur_us,
                 {"device": 0, "stream": stream, "correlation": correlation, "context": 1, **args}, 0, stream)


def launch(start_us, dur_us, correlation, name="cudaLaunchKernel"):
    return event("cuda_runtime", name, start_us, dur_us, {"correlation": correlation, "cbid": 211})


@pytest.fixture
def write_trace(tmp_path):
    def write(events, name="trace.json", **extra):
        path = tmp_path / name
        document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA Test GPU"}],
                    "traceEvents": events, **extra}
        path.write_text(json.dumps(document))
        return path

    return write


@pytest.fixture
def steps_trace(write_trace):
    """Two steps of 1,000 us: a product from 100 us on, a message beside it and after it, a copy until 600 us."""
    events = []
    for step in range(2):
        at = step * 1000
        n = step * 10
        events += [
            event("user_annotation", f"ProfilerStep#{step + 4}", at, 1000),
            event("cpu_op", "aten::mm", at + 1, 20),
            launch(at + 5, 5, n + 1),
            kernel("ampere_sgemm_128x64_tn", at + 100, 300, n + 1),
            launch(at + 30, 5, n + 2),
            kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", at + 300, 200, n + 2, 9),
            launch(at + 40, 5, n + 3, "cudaMemcpyAsync"),
            event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 450, 150,
                  {"device": 0, "stream": 7, "correlation": n + 3, "bytes": 4096}, 0, 7),
        ]
    return write_trace(events)


def analyze(neurolens, run, *arguments):
    return neurolens("analyze", run, "--json", *arguments).data


def test_the_parts_of_a_window_are_exact(neurolens, steps_trace):
    """The first step lies where its work ran: from its product, at 100 us, to that of the second, at 1,100 us."""
    data = analyze(neurolens, steps_trace, "--window", "step:0")
    (device,) = data["devices"]
    assert device["device"] == 0
    assert data["window"]["intervals"][0][1] - data["window"]["intervals"][0][0] == device["window_ns"] == 1_000_000
    assert device["compute_ns"] == 300_000
    assert device["exposed_comm_ns"] == 100_000
    assert device["exposed_copy_ns"] == 100_000
    assert device["idle_ns"] == 500_000
    assert sum(device["idle_causes"].values()) == 500_000
    assert device["overlap_ns"] == 100_000
    assert device["metrics"]["comm_overlap"]["value"] == 0.5
    assert device["metrics"]["pageable_time"]["value"] == 150_000


def test_every_step_is_a_window_and_steps_add_up(neurolens, steps_trace):
    steady = analyze(neurolens, steps_trace)
    steps = steady["steps"]["list"]
    assert steady["steps"]["source"] == "profiler_step"
    assert [s["label"] for s in steps] == ["ProfilerStep#4", "ProfilerStep#5"]
    assert [s["dur_ns"] for s in steps] == [1_000_000, 500_000]  # the last one ends with its work
    assert [s["host_dur_ns"] for s in steps] == [1_000_000, 1_000_000]
    assert steps[0]["start_ns"] - steps[0]["host_start_ns"] == 100_000
    for part in PARTS:
        assert steady["devices"][0][part] == sum(s["devices"][0][part] for s in steps)
    named = analyze(neurolens, steps_trace, "--window", "ProfilerStep#5")  # the range of the host
    assert named["devices"][0]["window_ns"] == 1_000_000 and named["devices"][0]["idle_ns"] == 500_000


def test_the_steady_window_and_what_is_outside_add_up_to_the_capture(neurolens, steps_trace):
    window = analyze(neurolens, steps_trace)["window"]
    assert window["name"] == "steady" and window["why"] == "2 steps by profiler_step"
    assert window["capture_ns"] == 2_000_000 and window["total_ns"] == 1_500_000
    assert [(part["what"], part["dur_ns"]) for part in window["outside"]] == [("first_step", 100_000), ("tail", 400_000)]
    whole = analyze(neurolens, steps_trace, "--window", "whole")
    assert whole["window"]["total_ns"] == 2_000_000 and whole["window"]["outside"] == [] and whole["window"]["why"] is None
    assert sum(whole["devices"][0][part] for part in PARTS) == 2_000_000


def test_what_the_host_did_before_the_first_step_is_said(neurolens, write_trace):
    """The host is in the first step, and loads images before it launches anything."""
    events = [event("user_annotation", "ProfilerStep#1", 0, 1000), event("cpu_op", "load images", 0, 790),
              launch(800, 5, 1), kernel("ampere_sgemm_128x64_tn", 810, 190, 1)]
    (part,) = analyze(neurolens, write_trace(events))["window"]["outside"]
    assert (part["what"], part["dur_ns"], part["host_span"]) == ("first_step", 810_000, "load images")
    lines = neurolens("analyze", write_trace(events)).out.splitlines()
    assert "outside 810.000 us" in lines[1] and "host in load images" in lines[1]


def test_the_contract(neurolens, steps_trace):
    data = analyze(neurolens, steps_trace)
    assert {"devices", "top_kernels", "top_ops", "findings", "coverage"} <= data.keys()
    assert data["top_kernels"][0]["total_ns"] == 600_000
    assert data["top_kernels"][0]["class"] == "gemm"
    for finding in data["findings"]:
        assert finding["rule"] and finding["confidence"] in ("low", "medium", "high")
        assert len(finding["evidence"]) >= 2 and len(finding["suggestions"]) >= 2
    for metric in data["devices"][0]["metrics"].values():
        assert ("value" in metric) != ("absent" in metric)
        assert metric["definition"] and metric["unit"]


def test_the_same_run_gives_the_same_bytes(neurolens, steps_trace):
    first = neurolens("analyze", steps_trace, "--json").bytes
    assert neurolens("analyze", steps_trace, "--json").bytes == first


def test_the_first_lines_name_the_limiter(neurolens, steps_trace):
    lines = neurolens("analyze", steps_trace).out.splitlines()[:10]
    assert [line.split()[0] for line in lines[1:4]] == ["outside", "outside", "limiter"] and "%" in lines[3]


@pytest.mark.parametrize("window", ["step:2", "step:x", "nothing", "prefill", ""])
def test_an_unknown_window_says_what_there_is(neurolens, steps_trace, window):
    result = neurolens("analyze", steps_trace, "--window", window, "--json", code=BAD_INPUT)
    assert result.envelope["error"]["code"] == "not_found"
    assert result.envelope["error"]["hint"]


def test_phases_have_names_of_ones_own(neurolens, write_trace):
    events = [event("user_annotation", "my prefill", 0, 500), launch(10, 5, 1), kernel("gemm", 100, 300, 1),
              event("user_annotation", "LLM@decode_step", 500, 100), launch(510, 5, 2), kernel("gemm", 520, 50, 2)]
    path = write_trace(events)
    data = analyze(neurolens, path, "--phase", "prefill=my prefill")
    phases = {p["phase"]: p for p in data["phases"]}
    assert phases["prefill"]["device_ns"] == 300_000
    assert phases["decode_step"]["kernels"] == 1
    assert [step["phase"] for step in data["steps"]["list"]] == ["prefill", "decode_step"]
    decode = analyze(neurolens, path, "--window", "decode_step")
    assert decode["devices"][0]["window_ns"] == 50_000  # where its kernel ran; the range of the host takes 100 us
    neurolens("analyze", path, "--phase", "nonsense", code=BAD_INPUT)


def test_steps_of_an_engine_say_what_their_kernels_do(neurolens, write_trace):
    """A kernel that runs on into the next step counts for each with its part; together they are the kernels of the window."""
    events = [event("user_annotation", "step[EXTEND bs=2 toks=512]", 0, 90), launch(5, 5, 1), launch(12, 5, 2),
              kernel("ampere_sgemm_128x64_tn", 20, 60, 1), kernel("flash_fwd_kernel", 80, 40, 2),
              event("user_annotation", "step[DECODE bs=2]", 90, 50), launch(95, 2, 3), kernel("flash_fwd_kernel", 120, 30, 3),
              event("user_annotation", "step[DECODE bs=2]", 150, 50), launch(152, 2, 4), kernel("ampere_sgemm_128x64_tn", 160, 10, 4)]
    path = write_trace(events)
    rows = {row["phase"]: row for row in analyze(neurolens, path, "--window", "whole")["serving"]}
    assert rows["prefill"]["classes"] == {"gemm": 60_000, "attention": 40_000}
    assert rows["decode_step"]["classes"] == {"gemm": 10_000, "attention": 30_000}
    text = neurolens("analyze", path, "--window", "whole").out
    assert "gemm 60.0 %, attention 40.0 %" in text and "attention 75.0 %, gemm 25.0 %" in text


def test_kernels_of_a_graph_belong_to_its_launch(neurolens, write_trace):
    events = [event("user_annotation", "execute_4_context_0(sq0)_generation_4(sq4)", 0, 100), launch(10, 20, 1, "cudaGraphLaunch")]
    events += [kernel(f"void gemm_{i % 3}()", 40 + i, 0.9, 1) for i in range(50)]
    data = analyze(neurolens, write_trace(events))
    (row,) = data["top_ops"]
    assert row["owner"] == "graph_launch" and row["kernels"] == 50 and row["calls"] == 1
    assert data["phases"][0]["graph_kernels"] == 50
    assert data["coverage"][0]["with_launch"] == 1.0
    assert data["coverage"][0]["in_graphs"] == 1.0


def test_kernels_without_timing_are_in_no_sum(neurolens, write_trace):
    events = [launch(0, 5, 1), kernel("gemm", 10, 20, 1), kernel("gemm", 0, 0, 2)]
    device = analyze(neurolens, write_trace(events))["devices"][0]
    assert device["untimed"] == 1
    assert device["compute_ns"] == 20_000


def test_a_run_without_any_time_has_an_empty_window(neurolens, write_trace):
    data = analyze(neurolens, write_trace([{"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "x"}}]))
    assert data["devices"] == [] and data["limiters"] == [] and data["window"]["total_ns"] == 0


def test_peaks_of_ones_own(neurolens, write_trace, tmp_path):
    op = event("cpu_op", "aten::mm", 0, 50, {"Input Dims": [[1024, 1024], [1024, 1024]],
                                             "Input type": ["c10::Half", "c10::Half"]})
    path = write_trace([op, launch(5, 5, 1), kernel("ampere_h16816gemm_128x128_tn", 100, 100, 1)])
    metrics = analyze(neurolens, path)["devices"][0]["metrics"]
    assert metrics["model_flops"]["value"] == 2 * 1024**3
    assert "absent" in metrics["mfu"]
    peaks = tmp_path / "peaks.yaml"
    peaks.write_text("nonsense: 1\n")
    result = neurolens("analyze", path, "--peaks", peaks, "--json", code=BAD_INPUT)
    assert "peaks.yaml:1" in result.envelope["error"]["message"]


def test_rules_of_ones_own(neurolens, steps_trace, tmp_path):
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "mine.yaml").write_text(
        "id: mine\nversion: 1\ntitle: Mine\ncondition: idle_time / total_time > 0.1\nconfidence: low\nevidence:\n"
        "  - metric: idle_time\n    text: One.\n  - metric: busy_time\n    text: Two.\nat_stake: idle_time\n"
        "suggestions:\n  - text: Do this.\n    gain: 0.5 * idle_time\n  - text: Or that.\nreferences: [A title]\n")
    data = analyze(neurolens, steps_trace, "--rules", folder)
    assert "mine" in [f["rule"] for f in data["findings"]]


def test_a_promise_is_kept_and_scored(neurolens, write_trace):
    def run_of(gap_us, name):
        events, at = [], 0
        for step in range(6):
            events.append(event("user_annotation", f"ProfilerStep#{step}", at, 400 + gap_us))
            events += [event("cpu_op", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at, gap_us - 20),
                       launch(at + gap_us - 10, 5, step + 1), kernel("gemm", at + gap_us, 400, step + 1)]
            at += 400 + gap_us
        return neurolens.import_file(write_trace(events, name))["run_id"]

    before, after = run_of(400, "before.json"), run_of(100, "after.json")
    said = neurolens("findings", before, "--json").data["runs"][0]["predictions"]
    promised = [p for p in said if p["rule"] == "data_loading" and p["gain_ns"]]
    assert promised
    assert neurolens("findings", before, "--json").data["runs"][0]["predictions"] == said
    neurolens("label", after, f"follows={before}", f"applied=data_loading:{promised[0]['suggestion']}")
    (score,) = neurolens("findings", "--score", after, "--json").data["scores"]
    assert score["basis"] == "step_median"
    assert score["measured_ns"] == 300_000
    assert score["ratio"] == pytest.approx(300_000 / score["predicted_ns"])


def test_a_ledger_that_cannot_be_written_is_analysed(neurolens, steps_trace, tmp_path):
    run = neurolens.import_file(steps_trace)["run_id"]
    bundle = neurolens.bundle(run)
    data = Neurolens(tmp_path / "other")("analyze", bundle, "--json").data
    assert data["run_id"] == run


def test_damaged_tables_are_an_error(neurolens, steps_trace):
    run = neurolens.import_file(steps_trace)["run_id"]
    (neurolens.bundle(run) / "kernels.parquet").write_bytes(b"PAR1 no more")
    result = neurolens("analyze", run, "--json", code=MISSING)
    assert "kernels" in result.envelope["error"]["message"]


# ---- lint


def test_sound_ranges_pass(neurolens, steps_trace):
    data = neurolens("lint", steps_trace, "--json", code=OK).data
    assert data["faults"] == [] and data["ranges"] == 2 and data["coverage"]["share"] == 1.0


def test_faults_of_ranges_are_found(neurolens, write_trace):
    def half(phase, name, at):
        return {"ph": phase, "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": at}

    events = [event("user_annotation", "outer", 0, 100), event("user_annotation", "cutting", 50, 100),
              event("user_annotation", "", 200, 10), event("user_annotation", "LLM@prefill", 300, 10)]
    data = neurolens("lint", write_trace(events), "--json", code=GATE_FAILED).data
    assert {f["fault"]: f["count"] for f in data["faults"]} == {"unnamed": 1, "crossing": 1}
    assert [n["name"] for n in data["unknown_names"]] == ["cutting", "outer"]
    chrome = {"traceEvents": [half("B", "open", 0), half("E", "x", 5), half("E", "y", 6), half("B", "never", 7)]}
    path = write_trace([], "chrome.json")
    path.write_text(json.dumps(chrome))
    data = neurolens("lint", path, "--json", code=None).data
    assert data["ends_without_begin"] == 1


def test_a_list_of_names_makes_others_faults(neurolens, write_trace, tmp_path):
    path = write_trace([event("user_annotation", "mine", 0, 100), event("user_annotation", "other", 200, 100)])
    names = tmp_path / "names.yaml"
    names.write_text("names: [mi.e]\n")
    data = neurolens("lint", path, "--names", names, "--json", code=GATE_FAILED).data
    assert data["faults"][0]["fault"] == "name_not_in_list" and data["faults"][0]["count"] == 1
    names.write_text("names: ['(']\n")
    neurolens("lint", path, "--names", names, code=BAD_INPUT)


# ---- metrics


def test_metrics_are_listed(neurolens):
    data = neurolens("metrics", "--json").data
    ids = [m["id"] for m in data["metrics"]]
    assert len(ids) == len(set(ids)) and "total_time" in ids and "mfu" in ids
    assert all(m["of"] for m in data["metrics"] if m["unit"] == "ratio")
    assert [m["id"] for m in neurolens("metrics", "h2d_t", "--json").data["metrics"]] == ["h2d_time"]
    neurolens("metrics", "nonsense", code=BAD_INPUT)


# ---- the longest gap


def gap_trace(write_trace, name, thread=1):
    """9 ms of 10 pass in one call before the second launch and those behind it."""
    return write_trace([
        launch(0, 5, 1), kernel("ampere_sgemm_128x64_tn", 10, 90, 1),
        event("python_function", name, 120, 9_000, thread=thread),
        event("python_function", "input.py(5): one of many", 120, 1_000, thread=thread),
        *(launch(9_200 + i * 0.2, 0.1, 2 + i) for i in range(20)),
        *(kernel("ampere_sgemm_128x64_tn", 9_210 + i * 39.5, 39.5, 2 + i) for i in range(20)),
    ])


def gap_line(neurolens, trace):
    lines = neurolens("analyze", trace, "--quiet").out.splitlines()
    return next((line for line in lines if line.startswith("  longest gap:")), None)


def test_a_long_gap_names_what_the_host_did(neurolens, write_trace):
    trace = gap_trace(write_trace, "input.py(3): decode")
    assert gap_line(neurolens, trace) == "  longest gap: 91.1 %, host in input.py(3): decode"
    (gap,) = [g for g in analyze(neurolens, trace)["devices"][0]["longest_gaps"] if g["dur_ns"] == 9_100_000]
    assert gap["host_span"] == "input.py(3): decode"


def test_folders_of_a_python_file_give_way_to_its_name(neurolens, write_trace):
    folders = "/".join(["a_long_folder_of_a_package"] * 6)
    trace = gap_trace(write_trace, f"{folders}/input.py(3): decode\x1b[31m")
    line = gap_line(neurolens, trace)
    assert "host in …/input.py(3): decode" in line and "\x1b" not in line


def test_another_threads_spans_do_not_explain_a_gap(neurolens, write_trace):
    assert gap_line(neurolens, gap_trace(write_trace, "input.py(3): decode", thread=2)) is None


def test_short_gaps_get_no_line(neurolens, steps_trace):
    data = analyze(neurolens, steps_trace)
    assert all("host_span" in gap for gap in data["devices"][0]["longest_gaps"])
    assert gap_line(neurolens, steps_trace) is None
