"""What `report` promises: exact figures that a query gives again, the same bytes each time, names that do nothing,
valid HTML that needs nothing but itself, and a check that finds every changed digit."""

import itertools
import json
import os
import pathlib
import re

import pytest

import trace_text
from conftest import BAD_INPUT, GATE_FAILED, MISSING, TRACES, Neurolens
from html_page import HOSTILE, Page, faults, hostile_run, look_at, shape

FILES = {"report.json", "report.html", "report.md", "kernels.md", "operators.md", "stakeholder_summary.md"}
RECORDED = [
    "kineto/tracelens_h100_qwen1.5-0.5b.json.gz",
    "kineto/kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
    "kineto/hta_nccl_data.json.gz",
    "kineto/tracelens_vllm_decode_full_cudagraph.json.gz",
    "kineto/tracelens_vllm_prefilldecode_piecewise.json.gz",
    "kineto/hta_mtia_inference_rank0.json.gz",
    "kineto/hta_rank_non_gpu.json.gz",
    "kineto/tracelens_mi300_bert-small.json.gz",
    "onnxruntime/generated/transformer_t2_optall_5runs.json",
    "trtexec/a100_resnet_fp16.timing.json.gz",
    "trtexec/a100_resnet_fp16.profile.json",
]


def make(neurolens, run, folder, *arguments):
    neurolens("report", run, "-o", folder, *arguments)
    return {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}


def page_of(files):
    return Page(files["report.html"].decode())


def report_of(files):
    return json.loads(files["report.json"])


def grouped(value):
    return f"{value:,}"


def duration(ns):
    """As the documentation of the reports says it."""
    for limit, divisor, unit in ((1_000_000, 1e3, "us"), (1_000_000_000, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if abs(ns) < 1000:
            return f"{ns} ns"
        if abs(ns) < limit:
            return f"{ns / divisor:.3f} {unit}"


def printed(value):
    return "NULL" if value is None else grouped(value) if isinstance(value, int) else value


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A ledger of its own for all recorded traces, and the reports of each."""
    made = {}

    def get(name):
        if not (TRACES / name).exists():
            pytest.skip(f"no recorded trace {TRACES / name}: set NEUROLENS_TRACES")
        if name not in made:
            folder = tmp_path_factory.mktemp("recorded")
            neurolens = Neurolens(folder / "ledger")
            run = neurolens.import_file(TRACES / name)["run_id"]
            made[name] = (neurolens, run, make(neurolens, run, folder / "reports"), folder / "reports")
        return made[name]

    return get


@pytest.fixture(params=RECORDED, ids=lambda name: pathlib.Path(name).name.split(".")[0])
def recorded_report(recorded, request):
    return recorded(request.param)


@pytest.fixture
def import_run(neurolens, tmp_path):
    def do(run, name="hostile.json"):
        path = tmp_path / name
        path.write_text(json.dumps(run))
        return neurolens.import_file(path)["run_id"]

    return do


# ---- Files


def test_writes_all_formats(neurolens, small_run, tmp_path):
    data = neurolens("report", small_run, "--output", tmp_path / "a/b/c", "--json").data
    files = {path.name: path.stat().st_size for path in (tmp_path / "a/b/c").iterdir()}
    assert set(files) == FILES
    assert {file["name"]: file["bytes"] for file in data["files"]} == files
    assert data["run_id"] == small_run


@pytest.mark.parametrize("formats, files", [
    ("json", {"report.json"}),
    ("html", {"report.html"}),
    ("md", FILES - {"report.json", "report.html"}),
    ("json,html", {"report.json", "report.html"}),
])  # fmt: skip
def test_writes_only_what_is_asked_for(neurolens, small_run, tmp_path, formats, files):
    assert set(make(neurolens, small_run, tmp_path / "out", "--format", formats)) == files


@pytest.mark.parametrize("arguments", [
    ("--format", "pdf"),
    ("--format", ""),
    ("--format", "md,"),
    ("--window", "step:99"),
    ("--window", "nowhere"),
    ("--top", "0"),
])  # fmt: skip
def test_bad_arguments_write_nothing(neurolens, small_run, tmp_path, arguments):
    neurolens("report", small_run, "-o", tmp_path / "out", *arguments, code=BAD_INPUT)
    assert not (tmp_path / "out").exists()


def test_needs_a_run_and_a_folder(neurolens, small_run, tmp_path):
    neurolens("report", small_run, code=BAD_INPUT)
    neurolens("report", "-o", tmp_path / "out", code=BAD_INPUT)
    neurolens("report", "nothing-of-that-name", "-o", tmp_path / "out", code=BAD_INPUT)
    neurolens("report", small_run, "--verify", "report.json", code=BAD_INPUT)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_made(neurolens, small_run, tmp_path):
    (tmp_path / "file").write_text("")
    neurolens("report", small_run, "-o", tmp_path / "file/below", code=BAD_INPUT)


def test_replaces_files_and_leaves_nothing_aside(neurolens, small_run, tmp_path):
    first = make(neurolens, small_run, tmp_path / "out")
    (tmp_path / "out/report.html").write_text("old")
    assert make(neurolens, small_run, tmp_path / "out") == first


def test_the_same_run_gives_the_same_bytes(neurolens, small_run, small_trace, tmp_path):
    first = make(neurolens, small_run, tmp_path / "one")
    other = Neurolens(tmp_path / "other-ledger", {"TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
    run = other.import_file(small_trace)["run_id"]
    assert make(other, run, tmp_path / "two") == first


def test_windows_of_their_own(neurolens, small_run, tmp_path):
    whole = report_of(make(neurolens, small_run, tmp_path / "whole"))
    op = report_of(make(neurolens, small_run, tmp_path / "op", "--window", "aten::linear", "--top", "3"))
    assert op["analysis"]["window"]["name"] == "aten::linear"
    assert op["analysis"]["window"]["pieces"] == 20
    assert op["analysis"]["window"]["total_ns"] == 20 * 90_125 < whole["analysis"]["window"]["total_ns"]
    assert_queries_agree(neurolens, small_run, op)


def test_a_window_of_very_many_pieces_has_no_queries(neurolens, make_trace, tmp_path):
    run = neurolens.import_file(make_trace(blocks=51))["run_id"]
    report = report_of(make(neurolens, run, tmp_path / "out", "--window", "aten::linear"))
    assert report["analysis"]["window"]["pieces"] == len(report["analysis"]["window"]["intervals"]) == 510
    assert [figure["sql"] for figure in report["figures"] if figure["id"].startswith("decomposition")] == [None]
    assert all(figure["sql"] or figure["no_query"] for figure in report["figures"])


def test_a_run_without_any_length(import_run, neurolens, tmp_path):
    run = import_run({"schema": "neurolens.run-file/1", "spans": [{"name": "a", "kind": "op", "start_ns": 5, "dur_ns": 0}]})
    files = make(neurolens, run, tmp_path / "out")
    assert set(files) == FILES
    page_of(files)
    neurolens("report", "--verify", tmp_path / "out/report.json")


def test_rows_without_times(import_run, neurolens, tmp_path):
    run = import_run({"schema": "neurolens.run-file/1", "kernels": [{"name": "a"}, {"name": "b", "device": 1}]})
    files = make(neurolens, run, tmp_path / "out")
    analysis = report_of(files)["analysis"]
    assert analysis["window"]["total_ns"] == 0 and analysis["findings"] == []
    assert all(row["share"] is None for row in analysis["top_kernels"])
    assert "NaN" not in files["report.json"].decode() and not re.search(r"\bnan\b", page_of(files).text)
    neurolens("report", "--verify", tmp_path / "out/report.json")


# ---- Documents


def test_kernels_document_has_all_kernels_by_total(neurolens, small_run, tmp_path):
    files = make(neurolens, small_run, tmp_path / "out", "--top", "2")
    rows = [line for line in files["kernels.md"].decode().splitlines() if line.startswith("| `")]
    wanted = neurolens.rows(small_run, """
        SELECT name, sum(dur_ns) AS ns, count(*) AS calls FROM (SELECT name, dur_ns FROM kernels UNION ALL
        SELECT name, dur_ns FROM copies) GROUP BY name ORDER BY ns DESC, name""")  # fmt: skip
    assert len(rows) == len(wanted) == 11
    for row, kernel in zip(rows, wanted):
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert cells[0] == f"`{kernel['name']}`"
        assert cells[3] == f"{kernel['ns'] // 1_000_000}.{kernel['ns'] % 1_000_000:06d}"
        assert cells[4] == str(kernel["calls"])


def test_summary_has_its_sections_and_evidence(neurolens, small_run, tmp_path):
    files = make(neurolens, small_run, tmp_path / "out")
    summary, report = files["stakeholder_summary.md"].decode(), files["report.md"].decode()
    titles = ["Executive summary", "Environment", "Aggregates", "Per-Stage Timings", "MFU", "Top Operators", "Top Kernels"]
    assert re.findall(r"^## (.*)$", summary, re.M) == titles
    assert trace_text.DEVICE_NAME in summary
    executive = summary.split("## Executive summary")[1].split("## Environment")[0].strip().splitlines()
    anchors = set(re.findall(r'<a id="([^"]+)"></a>', report))
    assert len(executive) >= 5
    for sentence in executive:
        (target,) = re.findall(r"\(\[evidence\]\(report\.md#([a-z0-9-]+)\)\)$", sentence)
        assert target in anchors


def test_html_anchors_are_there_and_ids_are_unique(recorded_report):
    page = page_of(recorded_report[2])
    ids = [names["id"] for _, names in page.elements if "id" in names]
    assert len(ids) == len(set(ids))
    links = [names["href"] for tag, names in page.elements if tag == "a"]
    assert {link[1:] for link in links if link.startswith("#")} <= set(ids)
    assert all(link.startswith(("#", "https://")) for link in links)


# ---- Figures and their queries


def assert_queries_agree(neurolens, run, report):
    checked = 0
    for figure in report["figures"]:
        if figure["sql"] is None:
            assert figure["no_query"]
            continue
        rows = neurolens.rows(run, figure["sql"])
        assert all(list(row) == figure["columns"] for row in rows), figure["id"]
        assert [list(row.values()) for row in rows] == figure["rows"], figure["id"]
        checked += 1
    return checked


def test_queries_give_the_figures_again(recorded_report):
    neurolens, run, files, _ = recorded_report
    report = report_of(files)
    least = 5 if report["analysis"]["devices"] else 1
    assert assert_queries_agree(neurolens, run, report) >= least


def test_printed_figures_are_those_of_the_queries(recorded_report):
    """From the query that the page prints to the digits that the page prints."""
    neurolens, run, files, _ = recorded_report
    queries = 0
    for name, figure in page_of(files).figures.items():
        if figure["sql"] is None:
            continue
        queries += 1
        rows = neurolens.rows(run, figure["sql"])
        shown = figure["rows"][1:]
        assert figure["rows"][0] == list(rows[0])
        assert len(shown) == min(20, len(rows))
        for row, cells in zip(rows, shown):
            for value, cell in zip(row.values(), cells):
                if not isinstance(value, str):
                    assert cell == printed(value), name
        if name.startswith(("decomposition", "coverage")):
            for value in rows[0].values():
                assert duration(value) in figure["text"], (name, value)
        if name.startswith("idle"):
            assert f"The causes add up to the idle time, {duration(rows[0]['idle_ns'])}." in figure["text"]
        if name.startswith("kernels"):
            for row in rows:
                ns = row["total_ns"]
                assert f"{ns // 1_000_000:,}.{ns % 1_000_000:06d}" in figure["text"]
    assert queries >= (5 if report_of(files)["analysis"]["devices"] else 1)


def test_findings_and_absent_metrics_are_printed(recorded_report):
    _, _, files, _ = recorded_report
    report, text = report_of(files), page_of(files).text
    for finding in report["analysis"]["findings"]:
        assert finding["title"] in text
        for suggestion in finding["suggestions"]:
            assert suggestion["text"] in text
    for device in report["analysis"]["devices"]:
        for metric, value in device["metrics"].items():
            if "absent" in value:
                assert value["absent"] in text and metric in text
    for source in report["run"]["sources"]:
        assert source["sha256"] in text
    assert report["run"]["run_id"] in text and report["tool"]["version"] in text


# ---- Verification


def test_verify_accepts_what_was_written(recorded_report):
    neurolens, _, _, folder = recorded_report
    assert neurolens("report", "--verify", folder / "report.json", "--json").data["verified"] is True


@pytest.mark.parametrize("pointer", [
    "/analysis/devices/0/compute_ns",
    "/analysis/devices/0/metrics/kernel_count/value",
    "/analysis/devices/0/strip/7/0",
    "/analysis/top_kernels/0/total_ns",
    "/analysis/top_kernels/9/share",
    "/analysis/window/total_ns",
    "/figures/2/rows/0/1",
    "/run/sources/0/bytes",
])  # fmt: skip
def test_verify_names_a_changed_digit(neurolens, small_run, tmp_path, pointer):
    report = report_of(make(neurolens, small_run, tmp_path / "out"))
    *path, last = [int(part) if part.isdigit() else part for part in pointer.split("/")[1:]]
    place = report
    for part in path:
        place = place[part]
    place[last] = place[last] + 1 if isinstance(place[last], int) else place[last] + 1e-12
    (tmp_path / "edited.json").write_text(json.dumps(report))
    result = neurolens("report", "--verify", tmp_path / "edited.json", "--json", code=GATE_FAILED)
    assert result.data["verified"] is False
    (difference,) = result.data["differences"]
    assert difference.startswith(pointer + ": ")
    assert pointer in neurolens("report", "--verify", tmp_path / "edited.json", code=GATE_FAILED).out


def test_verify_names_what_was_added_and_removed(neurolens, small_run, tmp_path):
    report = report_of(make(neurolens, small_run, tmp_path / "out"))
    del report["analysis"]["coverage"]
    report["analysis"]["more"] = 1
    report["summary"].pop()
    (tmp_path / "edited.json").write_text(json.dumps(report))
    data = neurolens("report", "--verify", tmp_path / "edited.json", "--json", code=GATE_FAILED).data
    assert {line.split(":")[0] for line in data["differences"]} == {"/analysis/coverage", "/analysis/more", "/summary"}


# ---- Labels


def labelled(neurolens, trace, *labels):
    return neurolens.import_file(trace, *[word for label in labels for word in ("--set", label)])["run_id"]


def test_labels_stand_in_every_document(neurolens, small_trace, tmp_path):
    run = labelled(neurolens, small_trace, "model=llama-3", "note=<b>`|*x*")
    files = make(neurolens, run, tmp_path / "out")
    assert report_of(files)["labels"] == {
        "engine": {"value": "pytorch", "origin": "source"},
        "model": {"value": "llama-3", "origin": "import"},
        "note": {"value": "<b>`|*x*", "origin": "import"},
    }
    for name in FILES - {"report.json"}:
        text = files[name].decode()
        assert re.search(r"model (`|<strong>)llama-3(`|</strong>) \(import\)", text), name
        assert "<b>" not in text and "engine" not in text.split("(import)")[0], name
    assert "<strong>&lt;b&gt;`|*x*</strong>" in files["report.html"].decode()


def test_engine_that_is_not_the_backend_stands_at_the_head(neurolens, small_run, tmp_path):
    assert b"Labels:" not in make(neurolens, small_run, tmp_path / "plain", "--format", "md")["report.md"]
    neurolens("label", small_run, "engine=vllm", "--force")
    text = make(neurolens, small_run, tmp_path / "out", "--format", "md")["report.md"].decode()
    assert "\nLabels: engine `vllm` (user).\n" in text


def test_labels_that_change_are_no_wrong_figures(neurolens, small_trace, tmp_path):
    run = labelled(neurolens, small_trace, "model=llama-3", "batch=8")
    make(neurolens, run, tmp_path / "out")
    report = tmp_path / "out/report.json"
    same = neurolens("report", "--verify", report, "--json")
    assert same.data["other_labels"] == [] and same.envelope["warnings"] == []
    neurolens("label", run, "batch=16", "commit=abc")
    now = neurolens("report", "--verify", report, "--json")
    assert now.data["verified"] and now.data["other_labels"] == ["batch", "commit"]
    assert len(now.envelope["warnings"]) == 1


def test_label_that_only_the_report_has(neurolens, small_run, tmp_path):
    report = report_of(make(neurolens, small_run, tmp_path / "out"))
    report["labels"]["model\u202e"] = {"value": "better", "origin": "source"}
    del report["labels"]["engine"]
    (tmp_path / "edited.json").write_text(json.dumps(report))
    data = neurolens("report", "--verify", tmp_path / "edited.json", "--json").data
    assert data["other_labels"] == ["engine", "model⟨U+202E⟩"]


def test_verify_of_a_report_without_labels(neurolens, small_run, tmp_path):
    report = report_of(make(neurolens, small_run, tmp_path / "out"))
    del report["labels"]
    (tmp_path / "older.json").write_text(json.dumps(report))
    assert neurolens("report", "--verify", tmp_path / "older.json", "--json").data["verified"]
    report["labels"] = [1]
    (tmp_path / "bad.json").write_text(json.dumps(report))
    neurolens("report", "--verify", tmp_path / "bad.json", code=BAD_INPUT)


def test_verify_needs_the_run(neurolens, small_run, tmp_path):
    make(neurolens, small_run, tmp_path / "out")
    empty = Neurolens(tmp_path / "empty")
    result = empty("report", "--verify", tmp_path / "out/report.json", "--json", code=MISSING)
    assert result.envelope["error"]["code"] == "unavailable"
    assert small_run in result.envelope["error"]["message"]


def test_verify_knows_other_versions_of_metrics(neurolens, small_run, tmp_path):
    report = report_of(make(neurolens, small_run, tmp_path / "out"))
    report["metrics"]["idle_time"]["version"] += 1
    (tmp_path / "other.json").write_text(json.dumps(report))
    result = neurolens("report", "--verify", tmp_path / "other.json", "--json", code=BAD_INPUT)
    assert result.envelope["error"]["code"] == "unsupported"
    assert "idle_time" in result.envelope["error"]["message"]


def test_verify_of_another_version_of_the_tool(neurolens, small_run, tmp_path):
    """Its words may differ, its figures may not."""
    report = report_of(make(neurolens, small_run, tmp_path / "out"))
    report["tool"]["version"] = "0.0.1"
    report["figures"][0]["sql"] = "SELECT 1"
    del report["analysis"]["coverage"]
    (tmp_path / "older.json").write_text(json.dumps(report))
    neurolens("report", "--verify", tmp_path / "older.json")
    report["analysis"]["devices"][0]["idle_ns"] += 1
    (tmp_path / "older.json").write_text(json.dumps(report))
    data = neurolens("report", "--verify", tmp_path / "older.json", "--json", code=GATE_FAILED).data
    assert [line.split(":")[0] for line in data["differences"]] == ["/analysis/devices/0/idle_ns"]


@pytest.mark.parametrize("change", [
    lambda report: report.update(schema="neurolens.report/2"),
    lambda report: report.pop("run"),
    lambda report: report["run"].update(run_id="../../etc"),
    lambda report: report["run"].update(run_id=7),
    lambda report: report.update(options=[]),
    lambda report: report.update(metrics=None),
    lambda report: report["options"].update(top="many"),
    lambda report: report["options"].update(top=-1),
    lambda report: report["options"].update(window=3),
    lambda report: report["options"].update(rules=[1]),
])  # fmt: skip
def test_verify_refuses_what_is_no_report(neurolens, small_run, tmp_path, change):
    report = report_of(make(neurolens, small_run, tmp_path / "out"))
    change(report)
    (tmp_path / "bad.json").write_text(json.dumps(report))
    neurolens("report", "--verify", tmp_path / "bad.json", code=BAD_INPUT)


def test_verify_of_deep_nesting(neurolens, small_run, tmp_path):
    text = make(neurolens, small_run, tmp_path / "out")["report.json"].decode()
    depth = 200_000
    (tmp_path / "deep.json").write_text(text.replace('"coverage":', '"coverage": ' + "[" * depth + "]" * depth + ', "other":', 1))
    neurolens("report", "--verify", tmp_path / "deep.json", code=GATE_FAILED)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"schema": "neurolens.report/1"}', '{"schema": '])
def test_verify_refuses_other_json(neurolens, tmp_path, text):
    (tmp_path / "bad.json").write_text(text)
    neurolens("report", "--verify", tmp_path / "bad.json", code=BAD_INPUT)


def test_verify_keeps_options(neurolens, small_run, tmp_path):
    make(neurolens, small_run, tmp_path / "out", "--window", "aten::linear", "--top", "3")
    neurolens("report", "--verify", tmp_path / "out/report.json")


# ---- Hostile names


@pytest.fixture
def hostile_files(neurolens, import_run, tmp_path):
    run = import_run(hostile_run())
    return run, make(neurolens, run, tmp_path / "hostile", "--top", "100")


def test_names_become_no_markup(hostile_files, import_run, neurolens, tmp_path):
    """Elements, attributes and comments are those of the same run with harmless names."""
    names = ["ncclAllReduce" if name.startswith("nccl") else f"name{i}" for i, name in enumerate(HOSTILE)]
    harmless = import_run(hostile_run(names), "harmless.json")
    wanted = page_of(make(neurolens, harmless, tmp_path / "harmless", "--top", "100"))
    page = page_of(hostile_files[1])
    assert shape(page) <= shape(wanted) | {("span", "class", "full"), ("span", None, None)}
    assert not page.comments
    assert not {tag for tag, _ in page.elements} & {"script", "img", "iframe", "object", "b", "base", "form"}
    assert not [key for _, names in page.elements for key in names if key.startswith("on")]


def test_names_are_shown(hostile_files):
    page = page_of(hostile_files[1])
    for name in ("<img src=x onerror=alert(1)>", "](javascript:alert(4))", "'; DROP TABLE kernels; --", "&lt;script&gt; &amp; &#60;"):
        assert name in page.text
    assert "right⟨U+202E⟩to⟨U+2066⟩left⟨U+200B⟩⟨U+FEFF⟩" in page.text
    assert "tab⟨U+0009⟩bell⟨U+0007⟩escape⟨U+001B⟩[31m" in page.text
    assert "(100,000 bytes)" in page.text


@pytest.mark.parametrize("name", sorted(FILES - {"report.json"}))
def test_no_text_holds_what_cannot_be_seen(hostile_files, name):
    text = hostile_files[1][name].decode("utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", text)
    assert max(map(len, text.splitlines())) < 60_000


@pytest.mark.parametrize("name", sorted(FILES - {"report.json", "report.html"}))
def test_names_break_no_markdown(hostile_files, name):
    """Rows of a table have as many cells as its head, and outside of code nothing of a name is markup."""
    text = hostile_files[1][name].decode()
    text = re.sub(r"(?ms)^(```+)sql\n.*?^\1$", "", text)
    lines = text.splitlines()
    for before, line in itertools.pairwise(lines):
        if line.startswith("|") and before.startswith("|"):
            assert line.count("|") == before.count("|"), line[:200]
    plain = re.sub(r"`[^`\n]*`", "", text)
    markup = set(re.findall(r"<[^>]*>", plain))
    assert all(re.fullmatch(r'<a id="[a-z0-9-]+">|</a>|</?details>|</?summary>|<https://[^\s<>]+>', tag) for tag in markup)
    targets = re.findall(r"\]\(([^)]*)\)", plain)
    assert all(re.fullmatch(r"(report\.md)?#[a-z0-9-]+", target) for target in targets)


def test_queries_with_hostile_names(hostile_files, neurolens):
    run, files = hostile_files
    report = report_of(files)
    assert report["analysis"]["devices"][0]["work"]["communication_names"] == ["nccl<b>AllReduce</b>\u202e"]
    assert_queries_agree(neurolens, run, report)


def test_verify_with_hostile_names(hostile_files, neurolens, tmp_path):
    neurolens("report", "--verify", tmp_path / "hostile/report.json")


def test_bytes_that_are_no_utf8(neurolens, tmp_path):
    """Whether such a profile is taken or refused, no report holds such bytes."""
    path = tmp_path / "bytes.json"
    path.write_bytes(b'{"schema": "neurolens.run-file/1", "kernels": [{"name": "a\xff\xc0\xaf", "start_ns": 0, "dur_ns": 5}]}')
    result = neurolens("report", path, "-o", tmp_path / "out", code=None)
    if result.code == 0:
        for file in (tmp_path / "out").iterdir():
            file.read_bytes().decode("utf-8")
    else:
        assert result.code == BAD_INPUT


# ---- HTML


def test_html_needs_nothing_else(recorded_report):
    page = page_of(recorded_report[2])
    assert not {tag for tag, _ in page.elements} & {"script", "link", "img", "iframe", "object", "embed", "audio", "video"}
    assert not [names for _, names in page.elements if "src" in names or "style" in names]
    style = recorded_report[2]["report.html"].decode().split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style
    assert "prefers-color-scheme: dark" in style and "@media print" in style


def test_html_is_valid(recorded_report, validator, tmp_path):
    assert faults(validator, recorded_report[3] / "report.html", tmp_path) == []


def test_html_of_hostile_names_is_valid(hostile_files, validator, tmp_path):
    assert faults(validator, tmp_path / "hostile/report.html", tmp_path) == []


def test_the_validator_finds_faults(hostile_files, validator, tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text((tmp_path / "hostile/report.html").read_text().replace("</table>", "", 1))
    assert faults(validator, broken, tmp_path)


# ---- In a browser


@pytest.mark.parametrize("width", [1440, 390])
def test_pages_fit_the_screen(recorded_report, browser, width):
    _, _, files, folder = recorded_report
    seen, requests, messages = look_at(browser, folder / "report.html", width)
    assert seen["width"] <= seen["inner"] == width
    assert requests == [(folder / "report.html").as_uri()]
    assert messages == []
    assert {figure["id"] for figure in report_of(files)["figures"]} <= set(seen["figures"])
    assert seen["flat"] == 0


def test_hostile_page_does_nothing(hostile_files, browser, tmp_path):
    for width in (1440, 390):
        seen, requests, messages = look_at(browser, tmp_path / "hostile/report.html", width)
        assert seen["width"] <= seen["inner"]
        assert len(requests) == 1 and messages == []


def test_pages_are_light_and_dark(hostile_files, browser, tmp_path):
    path = tmp_path / "hostile/report.html"
    colours = {scheme: look_at(browser, path, 1440, scheme)[0]["background"] for scheme in ("light", "dark")}
    assert colours["light"] != colours["dark"]


def test_a_million_records_take_little_more_than_an_analysis(neurolens, make_big_trace, tmp_path):
    """No part of a report looks at every record again for each of many others; of the gaps it has the longest."""

    def cpu_of(*arguments):
        before = os.times()
        neurolens(*arguments)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    run = neurolens.import_file(make_big_trace(1))["run_id"]
    analysis = cpu_of("analyze", run)
    report = cpu_of("report", run, "-o", tmp_path / "report")
    device = json.loads((tmp_path / "report" / "report.json").read_text())["analysis"]["devices"][0]
    assert len(device["longest_gaps"]) == 100
    assert report < 4 * analysis + 1, f"{report:.1f} s against {analysis:.1f} s"
