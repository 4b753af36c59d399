"""What the reports of `compare` promise: the figures of the comparison and no others, the same bytes each time, names
that do nothing, valid HTML and XML that need nothing else, and tests whose outcome is that of the comparison."""

import decimal
import itertools
import json
import random
import re
import xml.etree.ElementTree as ElementTree

import pytest

import trace_text
from conftest import BAD_INPUT, GATE_FAILED, REPOSITORY, TRACES, Neurolens
from html_page import HOSTILE, Page, faults, look_at, shape

RECORDED = {
    "resnet": ("kineto/kineto_tb_resnet50_nw0_worker0.1623143089861.pt.trace.json.gz",
               "kineto/kineto_tb_resnet50_nw4_worker0.1623212756351.pt.trace.json.gz"),
    "two_gpus": ("nsys/nsysai_mfu_2gpu_before.sqlite.gz", "nsys/nsysai_mfu_2gpu_after.sqlite.gz"),
    "other_hardware": ("kineto/tracelens_h100_bert-small.json.gz", "kineto/tracelens_mi300_bert-small.json.gz"),
    "other_backend": ("onnxruntime/generated/transformer_t2_optall_5runs.json", "kineto/tracelens_h100_bert-small.json.gz"),
    "host": ("onnxruntime/generated/convnet_t2_noopt_10runs.json", "onnxruntime/generated/convnet_t1_optall_10runs.json"),
    "replays": ("ncu/mistic_higgs_a100.raw.csv.gz", "ncu/mistic_susy_a100.raw.csv.gz"),
    "layers": ("trtexec/a100_resnet_fp16.profile.json", "trtexec/a100_resnet_qat_int8.profile.json"),
}  # fmt: skip
STATES = {"regression": "failed", "improvement": "passed", "no_change": "passed"}


def noisy_trace(seed, scale):
    """The small trace with all times stretched by `scale` and up to a percent of noise."""
    noise = random.Random(seed)
    trace = json.loads(trace_text.trace_text(blocks=2, variant=seed))
    factor = scale * (1 + noise.uniform(-0.01, 0.01))
    begin = min(event["ts"] for event in trace["traceEvents"])
    for event in trace["traceEvents"]:
        event["ts"] = round(begin + (event["ts"] - begin) * factor, 3)
        if "dur" in event:
            event["dur"] = round(event["dur"] * factor * (1 + noise.uniform(-0.002, 0.002)), 3)
    return json.dumps(trace)


def write_sides(folder, base_scale, new_scale, runs):
    sides = {"base": [], "new": []}
    for i in range(runs):
        for side, scale in (("base", base_scale), ("new", new_scale)):
            path = folder / f"{side}-{i}.json"
            path.write_text(noisy_trace(2 * i + (side == "new"), scale))
            sides[side].append(path)
    return sides


class Reports:
    """One comparison with all its reports."""

    def __init__(self, neurolens, folder, arguments, code=0):
        folder.mkdir(parents=True, exist_ok=True)
        self.paths = {"html": folder / "c.html", "markdown": folder / "c.md", "junit": folder / "c.xml"}
        files = [word for key, path in self.paths.items() for word in (f"--{key}", path)]
        self.data = neurolens("compare", *arguments, *files, "--json", code=code).data
        self.bytes = {key: path.read_bytes() for key, path in self.paths.items()}
        self.html, self.markdown = self.bytes["html"].decode(), self.bytes["markdown"].decode()
        self.page = Page(self.html)
        self.suite = ElementTree.fromstring(self.bytes["junit"]).find("testsuite")

    def state(self, case):
        return "failed" if case.find("failure") is not None else "skipped" if case.find("skipped") is not None else "passed"

    def cases(self, group):
        return [case for case in self.suite.iter("testcase") if case.get("classname") == f"neurolens.{group}"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    made = {}

    def get(name):
        for file in RECORDED[name]:
            if not (TRACES / file).exists():
                pytest.skip(f"no recorded trace {TRACES / file}: set NEUROLENS_TRACES")
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            made[name] = Reports(Neurolens(folder / "ledger"), folder, [TRACES / file for file in RECORDED[name]])
        return made[name]

    return get


@pytest.fixture(params=sorted(RECORDED))
def reports(recorded, request):
    return recorded(request.param)


@pytest.fixture(scope="module")
def slower(tmp_path_factory):
    """Six runs a side, the new one a tenth slower, with a gate."""
    folder = tmp_path_factory.mktemp("slower")
    sides = write_sides(folder, 1, 1.1, 6)
    arguments = ["--base", *sides["base"], "--new", *sides["new"], "--gate", "--top", "30"]
    return Reports(Neurolens(folder / "ledger"), folder, arguments, code=GATE_FAILED)


def milliseconds(ns):
    sign, size = "-" if ns < 0 else "", abs(ns)
    return f"{sign}{size // 1_000_000:,}.{size % 1_000_000:06d}"


def duration(ns):
    for limit, divisor, unit in ((1_000_000, 1e3, "us"), (1_000_000_000, 1e6, "ms"), (float("inf"), 1e9, "s")):
        if abs(ns) < 1000:
            return f"{ns} ns"
        if abs(ns) < limit:
            return f"{ns / divisor:.3f} {unit}"


def signed(text, ns):
    return ("+" if ns > 0 else "") + text(ns)


# ---- Files


def test_names_the_files_that_it_wrote(slower):
    written = {file["format"]: file for file in slower.data["files"]}
    assert set(written) == set(slower.paths)
    for key, path in slower.paths.items():
        assert written[key]["name"] == str(path) and written[key]["bytes"] == path.stat().st_size


def test_writes_only_what_is_asked_for(neurolens, make_trace, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    result = neurolens("compare", make_trace(0), make_trace(1), "--markdown", out / "c.md")
    assert [path.name for path in out.iterdir()] == ["c.md"]
    assert str(out / "c.md") in result.out
    assert "files" not in neurolens("compare", make_trace(0), make_trace(1), "--json").data


def test_replaces_a_file_and_leaves_nothing_aside(neurolens, make_trace, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "c.xml").write_text("old")
    neurolens("compare", make_trace(0), make_trace(1), "--junit", out / "c.xml")
    assert [path.name for path in out.iterdir()] == ["c.xml"]
    ElementTree.parse(out / "c.xml")


@pytest.mark.parametrize("option", ["--html", "--markdown", "--junit"])
def test_a_file_that_cannot_be_written(neurolens, make_trace, tmp_path, option):
    neurolens("compare", make_trace(0), make_trace(1), option, tmp_path / "nowhere/c", code=BAD_INPUT)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("page", ["html", "markdown", "junit"])
def test_a_page_on_standard_output_is_that_of_the_file(neurolens, make_trace, tmp_path, page):
    runs = ["compare", make_trace(0), make_trace(1)]
    neurolens(*runs, f"--{page}", tmp_path / "page")
    shown = neurolens(*runs, "--page", page)
    assert shown.out.encode() == (tmp_path / "page").read_bytes() and shown.err == ""


def test_a_page_cannot_stand_in_json(neurolens, make_trace):
    refused = neurolens("compare", make_trace(0), make_trace(1), "--page", "html", "--json", code=BAD_INPUT)
    assert "--html FILE" in refused.envelope["error"]["hint"]


def test_the_same_runs_give_the_same_bytes(slower, tmp_path):
    sides = write_sides(tmp_path, 1, 1.1, 6)
    other = Neurolens(tmp_path / "ledger", {"TZ": "Asia/Tokyo", "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"})
    arguments = ["--base", *sides["base"], "--new", *sides["new"], "--gate", "--top", "30"]
    assert Reports(other, tmp_path / "again", arguments, code=GATE_FAILED).bytes == slower.bytes


def test_pictures_cost_nothing_without_a_page(neurolens, make_trace, tmp_path):
    plain = neurolens("compare", make_trace(0), make_trace(1), "--json").data
    assert "strip" not in plain["base"] and not [row for row in plain["changes"] + plain["parts"] if "values" in row]
    data = neurolens("compare", make_trace(0), make_trace(1), "--json", "--html", tmp_path / "c.html").data
    for side in ("base", "new"):
        assert sum(map(sum, data[side]["strip"])) == data[side]["total_ns"]


# ---- HTML


def test_every_figure_is_on_the_page(reports):
    data, text = reports.data, reports.page.text
    parts, changes = reports.page.figures.get("waterfall"), reports.page.figures.get("changes")
    for row in data["parts"]:
        assert milliseconds(row["base_ns"]) in parts["text"] and milliseconds(row["new_ns"]) in parts["text"]
        assert signed(milliseconds, row["delta_ns"]) in parts["text"]
    for row in data["changes"]:
        for side in ("base", "new"):
            assert row[side] is None or duration(row[side]["time_ns"]) in changes["text"]
        for key in ("delta_ns", "by_calls_ns", "by_duration_ns"):
            assert signed(duration, row[key]) in changes["text"]
        assert row["kind"] in changes["text"] and row["class"] in changes["text"]
    for factor in data["comparability"]["factors"]:
        assert factor["name"] in reports.page.figures["factors"]["text"]
    for reason in data["reasons"]:
        assert reason[1:] in text
    for line in data["differences"]:
        assert line in reports.page.figures["differences"]["text"]
    for run in data["base"]["runs"] + data["new"]["runs"]:
        assert run in reports.page.figures["runs"]["text"]
    for row in data["devices"]:
        for side in ("base", "new"):
            for ns in row.get(side, {}).values():
                assert duration(ns) in reports.page.figures["all-devices"]["text"]


def test_the_printed_parts_add_up(reports):
    """From the digits on the page alone."""
    table = reports.html.split('<figure id="waterfall">')[1].split("<tbody>")[1].split("</tbody>")[0]
    rows = [re.findall(r'<td class="n">([-+\d.,]+)', row) for row in table.split("</tr>") if "<td" in row]
    numbers = [[decimal.Decimal(cell.replace(",", "")) for cell in row[:3]] for row in rows]
    *parts, total = numbers
    assert [sum(column) for column in zip(*parts)] == total
    assert total[1] - total[0] == total[2]


def test_counters_stand_beside_the_changes(recorded):
    reports = recorded("replays")
    text = reports.page.figures["counters"]["text"]
    values = [metric for row in reports.data["changes"] for metric in row["metrics"]]
    assert values
    for metric in values:
        if metric["metric"].endswith("_pct") and metric["base"] is not None:
            assert f"{metric['base']:.1f} %" in text


def test_across_hardware(recorded):
    reports = recorded("other_hardware")
    across, figures = reports.data["across"], reports.page.figures
    for side in across["sides"]:
        assert side["device"] in figures["across-devices"]["text"]
        assert side["peaks_source"] in figures["across-devices"]["text"]
    for row in across["rows"]:
        text = figures["across-rows"]["text"]
        assert row["name"] in text and duration(row["new"]["time_ns"]) in text
        for key in ("time_ratio", "call_time_ratio", "hardware_ratio"):
            assert row[key] is None or f"{row[key]:.2f}" in text
        if row["lost_ns"] is not None:
            assert duration(row["new"]["time_ns"] - row["lost_ns"]) in text
        assert row["lost_ns"] is None or signed(duration, row["lost_ns"]) in text
    assert "no verdict" in figures["across-limits"]["text"]
    assert "Compared with the peaks" in reports.markdown


def test_each_run_is_a_dot(slower):
    judged = [row for row in slower.data["parts"] + slower.data["changes"] if "values" in row]
    assert len(judged) > 5
    dots = [names["class"] for tag, names in slower.page.elements if tag == "circle"]
    pictures = len(judged) + 2  # the window is drawn twice: wide and narrow
    assert dots.count("base") == dots.count("new") == 6 * pictures


def test_the_page_says_a_regression(slower):
    assert slower.data["verdict"] == "regression"
    assert ("strong", {"class": "regression"}) in slower.page.elements
    assert "Gate failed" in slower.page.text
    interval = slower.data["statistics"]["ratio_interval"]
    assert f"[{interval['low']:.4f}, {interval['high']:.4f}]" in slower.page.text


def test_the_command_gives_the_comparison_again(neurolens, make_trace, tmp_path):
    base, new = make_trace(0), make_trace(1)
    reports = Reports(neurolens, tmp_path / "out", [base, new, "--window", "aten::linear", "--top", "4"])
    command = reports.page.figures["runs"]["sql"]
    assert command.startswith("neurolens compare --base ") and "--window aten::linear --top 4" in command
    again = neurolens(*command.split()[1:], "--html", tmp_path / "again.html", "--json").data
    assert (tmp_path / "again.html").read_bytes() == reports.bytes["html"]
    assert again["changes"] == reports.data["changes"]


def test_html_needs_nothing_else(reports):
    page = reports.page
    assert not {tag for tag, _ in page.elements} & {"script", "link", "img", "iframe", "object", "embed", "audio", "video"}
    assert not [names for _, names in page.elements if "src" in names or "style" in names]
    ids = [names["id"] for _, names in page.elements if "id" in names]
    assert len(ids) == len(set(ids))
    links = [names["href"] for tag, names in page.elements if tag == "a"]
    assert links and {link[1:] for link in links} <= set(ids)


def test_html_is_valid(reports, validator, tmp_path):
    assert faults(validator, reports.paths["html"], tmp_path) == []


def test_html_with_repeats_is_valid(slower, validator, tmp_path):
    assert faults(validator, slower.paths["html"], tmp_path) == []


@pytest.mark.parametrize("width", [1440, 390])
def test_pages_fit_the_screen(reports, slower, browser, width):
    for one in (reports, slower):
        seen, requests, messages = look_at(browser, one.paths["html"], width)
        assert seen["width"] <= seen["inner"] == width
        assert requests == [one.paths["html"].as_uri()] and messages == []
        assert set(seen["figures"]) == set(one.page.figures)
        assert seen["flat"] == 0


def test_pages_are_light_and_dark(slower, browser):
    path = slower.paths["html"]
    colours = {scheme: look_at(browser, path, 1440, scheme)[0]["background"] for scheme in ("light", "dark")}
    assert colours["light"] != colours["dark"]


# ---- Markdown


def assert_fine_markdown(text):
    lines = text.splitlines()
    assert len(lines) <= 40
    assert text.count("<details>") == text.count("</details>")
    for before, line in itertools.pairwise(lines):
        if line.startswith("|") and before.startswith("|"):
            assert line.count("|") == before.count("|"), line[:200]
    plain = re.sub(r"`[^`\n]*`", "", text)
    markup = set(re.findall(r"<[^>]*>", plain))
    assert markup <= {"<details>", "</details>", "<summary>", "</summary>", "<!-- neurolens compare -->"}
    assert "](" not in plain


def test_comment_is_short_and_begins_with_the_sentence(reports):
    assert_fine_markdown(reports.markdown)
    lines = reports.markdown.splitlines()
    assert lines[0].startswith("**") and lines[0].endswith(".**")
    assert lines[0][2:12].lower() == reports.data["sentence"][:10].lower()
    first = lines[1]
    assert first.startswith("**" + reports.data["verdict"].replace("_", " ").capitalize() + ":")
    assert duration(reports.data["base"]["window_ns"]) in first and duration(reports.data["new"]["window_ns"]) in first
    for part in reports.data["parts"][:5]:
        if part["delta_ns"] != 0:
            assert f"| {signed(duration, part['delta_ns'])} |" in reports.markdown


def test_comment_of_a_regression(slower):
    assert_fine_markdown(slower.markdown)
    assert "longer (" in slower.markdown.splitlines()[0]
    first = slower.markdown.splitlines()[1]
    assert first.startswith("**Regression: ") and "6 and 6 runs" in first and "**Gate failed**" in first


# ---- JUnit


def test_tests_are_those_of_the_comparison(reports):
    data, suite = reports.data, reports.suite
    cases = list(suite.iter("testcase"))
    states = [reports.state(case) for case in cases]
    assert int(suite.get("tests")) == len(cases)
    assert int(suite.get("failures")) == states.count("failed") and int(suite.get("skipped")) == states.count("skipped")
    (window,) = reports.cases("window")
    assert reports.state(window) == STATES.get(data["verdict"], "skipped")
    assert len(reports.cases("part")) == sum("statistics" in row for row in data["parts"])
    assert len(reports.cases("change")) == sum("statistics" in row for row in data["changes"])
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(names) == len(set(names))


def test_kernels_of_one_short_name_keep_their_full_ones(slower):
    """A CI system knows a test by its name, which must not depend on what changed most."""
    kernels = {trace_text.kernel_name(step) for step in range(trace_text.STEPS_PER_BLOCK)}
    names = {case.get("name") for case in slower.cases("change")}
    assert kernels <= names
    assert sum(f"`{kernel}`" in slower.markdown for kernel in kernels) >= 5


def test_a_regression_fails(slower):
    (window,) = slower.cases("window")
    assert slower.state(window) == "failed" and window.find("failure").get("type") == "regression"
    judged = {"part": [row for row in slower.data["parts"] if "statistics" in row],
              "change": [row for row in slower.data["changes"] if "statistics" in row]}
    for group, rows in judged.items():
        assert rows
        for row, case in zip(rows, slower.cases(group), strict=True):
            told = row["statistics"]["verdict"] in STATES
            assert slower.state(case) == ("passed" if told else "skipped"), "it informs, and decides nothing"
            figures = {one.get("name"): one.get("value") for one in case.iter("property")}
            assert int(figures["delta_ns"]) == row["delta_ns"]
            assert figures["verdict"] == row["statistics"]["verdict"]
            if "p_adjusted" in row["statistics"]:
                assert float(figures["p_adjusted"]) == row["statistics"]["p_adjusted"]
    assert int(slower.suite.get("failures")) == len(slower.data["gate"]["failed_on"]) == 1
    seconds = decimal.Decimal(window.get("time"))
    assert seconds * 10**9 == slower.data["new"]["window_ns"]


@pytest.mark.parametrize("arguments, code, state", [
    ([], 0, "skipped"),
    (["--gate"], GATE_FAILED, "failed"),
    (["--gate", "--allow-untested", "5%"], 0, "passed"),
])  # fmt: skip
def test_the_gate_decides_over_what_is_not_tested(neurolens, make_trace, tmp_path, arguments, code, state):
    reports = Reports(neurolens, tmp_path / "out", [make_trace(0), make_trace(1), *arguments], code=code)
    assert reports.data["verdict"] == "not_tested"
    (window,) = reports.cases("window")
    assert reports.state(window) == state
    if state == "failed":
        assert window.find("failure").get("type") == "gate"
    assert {reports.state(case) for case in reports.cases("part")} == {"skipped"}


# ---- Expectations


def test_limits_are_in_every_report(neurolens, make_trace, tmp_path):
    (tmp_path / "expect.yaml").write_text("""
limits:
  - window: total
    at_most: 1 s
  - part: copy
    at_most: 1 us
  - kernel: "]]><b>"
    at_most: 5%
""")
    arguments = [make_trace(0), make_trace(1), "--expect", tmp_path / "expect.yaml", "--gate", "--allow-untested", "5%"]
    reports = Reports(neurolens, tmp_path / "out", arguments, code=GATE_FAILED)
    assert [limit["met"] for limit in reports.data["expectations"]] == [True, False, False]
    assert [reports.state(case) for case in reports.cases("limit")] == ["passed", "failed", "failed"]
    assert {case.find("failure").get("type") for case in reports.cases("limit")[1:]} == {"limit"}
    assert "at most 1 us" in reports.cases("limit")[1].get("name")
    assert "1 of 3 limits are kept" in reports.markdown and "]]><b>" not in reports.markdown
    text = reports.page.figures["limits"]["text"]
    assert "]]><b>" in text and text.count("not kept") == 2
    assert_fine_markdown(reports.markdown)


# ---- Hostile names


def named_run(names, stretch):
    """Each name as kernel and op, one after the other in time."""
    run = {"schema": "neurolens.run-file/1", "kernels": [], "spans": []}
    for i, name in enumerate(names):
        at = 100_000 * i
        run["spans"] += [
            {"name": name, "kind": "op", "start_ns": at, "dur_ns": 90_000},
            {"name": "step", "kind": "annotation", "start_ns": at, "dur_ns": 95_000},
        ]
        run["kernels"].append({"name": name, "start_ns": at + 10_000, "dur_ns": (40_000 + i) * stretch, "device": 0})
    return run


def compare_named(neurolens, folder, names):
    folder.mkdir()
    for side, stretch in (("base", 1), ("new", 2)):
        (folder / f"{side}.json").write_text(json.dumps(named_run(names, stretch)))
    return Reports(neurolens, folder / "out", [folder / "base.json", folder / "new.json", "--top", "100"])


HOSTILE_XML = [*HOSTILE, "]]>", "<![CDATA[", "<?xml?>", "&undefined;", "\ud7ff\ue000\ufffd", "a\u0085b\u2028c"]


@pytest.fixture
def hostile(neurolens, tmp_path):
    return compare_named(neurolens, tmp_path / "hostile", HOSTILE_XML)


def test_names_become_no_markup(hostile, neurolens, tmp_path):
    names = ["ncclAllReduce" if name.startswith("nccl") else f"name{i}" for i, name in enumerate(HOSTILE_XML)]
    wanted = compare_named(neurolens, tmp_path / "harmless", names)
    assert shape(hostile.page) <= shape(wanted.page) | {("span", "class", "full"), ("span", None, None)}
    assert not hostile.page.comments
    for name in ("<img src=x onerror=alert(1)>", "](javascript:alert(4))", "]]>", "&lt;script&gt; &amp; &#60;"):
        assert name in hostile.page.text


@pytest.mark.parametrize("key", ["html", "markdown", "junit"])
def test_no_report_holds_what_cannot_be_seen(hostile, key):
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", hostile.bytes[key].decode())


def test_hostile_names_in_a_comment_and_in_tests(hostile):
    assert_fine_markdown(hostile.markdown)
    names = [case.get("name") for case in hostile.cases("change")]
    for name in ("]]>", "<![CDATA[", "&undefined;", "right⟨U+202E⟩to⟨U+2066⟩left⟨U+200B⟩⟨U+FEFF⟩"):
        assert name in names


def test_hostile_page_is_valid_and_does_nothing(hostile, validator, browser, tmp_path):
    assert faults(validator, hostile.paths["html"], tmp_path) == []
    for width in (1440, 390):
        seen, requests, messages = look_at(browser, hostile.paths["html"], width)
        assert seen["width"] <= seen["inner"]
        assert len(requests) == 1 and messages == []


# ---- Examples


@pytest.mark.parametrize("name", ["github-actions.yml", "gitlab-ci.yml"])
def test_examples_use_options_that_exist(neurolens, name):
    text = (REPOSITORY / "examples/ci" / name).read_text()
    (command,) = re.findall(r"neurolens compare (--[a-z](?:.*\\\n)*.*)", text)
    help_text = neurolens("compare", "--help").out
    options = set(re.findall(r"--[a-z-]+", command))
    assert {"--base", "--new", "--gate", "--markdown", "--junit"} <= options
    assert all(re.search(re.escape(option) + r"\b", help_text) for option in options)


def test_a_pipeline_finds_its_comment_again(slower):
    workflow = (REPOSITORY / "examples/ci/github-actions.yml").read_text()
    (mark,) = re.findall(r"mark='(.*)'", workflow)
    assert slower.markdown.endswith(mark + "\n")
