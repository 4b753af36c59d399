"""Answers for programs: --budget and --brief, over recorded runs. Every operation is tried in tests/door/budget_test.cpp."""

import json
import pathlib

import jsonschema
import pytest

from conftest import BAD_INPUT, FULL, TRACES, Neurolens

BRIEF_BYTES = 6_000
BUDGETS = (200, 500, 1_000, 1_500, 2_500, 5_000)
RUNS = (
    "kineto/tracelens_vllm_prefilldecode_piecewise.json.gz",
    "kineto/kineto_tb_resnet50_nw4_worker0.1623212756351.pt.trace.json.gz",
    "onnxruntime/generated/transformer_t2_optall_5runs.json",
    "trtexec/mobilenet_qat_a.profile.json",
)
CALLS = (
    ("analyze",),
    ("show",),
    ("findings",),
    ("triage",),
    ("suggest",),
    ("similar",),
    ("query", "SELECT * FROM spans ORDER BY ALL", "--limit", "0"),
)
FOLDERS = ("kineto", "more", "ncu", "nsys", "onnxruntime", "openvino", "other", "proton", "rocprof", "serving",
           "telemetry", "trtexec", "xplane")


def count_at(data, where, sections=False):
    """Rows or entries at a place, bytes of texts, or sections, which count as one; * stands for every row."""
    if not where and isinstance(data, str):
        return len(data.encode())
    if not where:
        return int(isinstance(data, dict)) if sections else len(data or ())
    step, _, rest = where[1:].partition("/")
    rest = "/" + rest if rest else ""
    if step == "*":
        return sum(count_at(row, rest, sections) for row in data)
    return count_at(data[step], rest, sections) if data is not None and step in data else 0


def holds(large, small):
    """Does a value show all that another one shows? Rows stay in their order."""
    if small is None or large == small:
        return True
    if isinstance(small, str):
        return isinstance(large, str) and large.startswith(small)
    if isinstance(small, dict):
        return isinstance(large, dict) and all(key in large and holds(large[key], small[key]) for key in small)
    if not isinstance(small, list) or not isinstance(large, list):
        return False
    rows = iter(large)
    return all(any(holds(row, wanted) for row in rows) for wanted in small)


def assert_adds_up(whole, cut):
    assert "left_out" not in whole
    assert ("left_out" in cut) == (cut["data"] != whole["data"])
    for entry in cut.get("left_out", []):
        where, rows, of = entry["where"], entry["rows"], entry["of"]
        assert 0 < rows <= of
        counts = [[count_at(answer["data"], where, sections) for answer in (whole, cut)] for sections in (False, True)]
        assert [of, of - rows] in counts, entry


def assert_verdict_stays(whole, cut):
    assert cut["data"]["limiters"][:1] == whole["data"]["limiters"][:1]
    assert cut["data"]["undecided"] == whole["data"]["undecided"]
    assert cut["data"]["window"]["total_ns"] == whole["data"]["window"]["total_ns"]


def findings_of(data):
    return [(finding["rule"], finding["title"]) for finding in data["findings"]]


def statements_of(data):
    """Of a counter profile, which has no limiter, they are the verdict."""
    return [one["text"] for one in (data["counters"] or {}).get("diagnosis", [])]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A ledger with some recorded runs, imported once."""
    if not TRACES.is_dir():
        pytest.skip(f"no recorded profiles in {TRACES}: set NEUROLENS_TRACES")
    ledger = Neurolens(tmp_path_factory.mktemp("budget") / "ledger")
    ledger.ids = {name: ledger.import_file(TRACES / name)["run_id"] for name in RUNS if (TRACES / name).is_file()}
    assert len(ledger.ids) >= 3, "the recorded profiles have other names"
    return ledger


@pytest.fixture(scope="module")
def schema_of(recorded):
    schemas = {}

    def get(verb):
        if verb not in schemas:
            schemas[verb] = recorded("schema", "print", verb, "--json").data["answer_schema"]
        return schemas[verb]

    return get


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0])
@pytest.mark.parametrize("name", RUNS)
def test_answers_keep_their_budget(recorded, schema_of, name, call):
    if name not in recorded.ids:
        pytest.skip(f"no recorded profile {TRACES / name}: set NEUROLENS_TRACES")
    verb, *rest = call
    words = (verb, recorded.ids[name], *rest, "--json")
    whole, smaller = recorded(*words).envelope, None
    for tokens in BUDGETS:
        most, result = tokens, recorded(*words, "--budget", str(tokens), code=None)
        if result.code == BAD_INPUT:
            most = int(result.envelope["error"]["hint"].split()[-1])
            assert most > tokens, "a budget that works was refused"
            result = recorded(*words, "--budget", str(most))
        assert len(result.bytes) <= 4 * most
        cut = result.envelope
        jsonschema.validate(cut, schema_of(verb))
        assert_adds_up(whole, cut)
        if verb == "analyze":
            assert_verdict_stays(whole, cut)
        assert smaller is None or holds(cut["data"], smaller), "a smaller budget showed more"
        smaller = cut["data"]


def test_the_same_answer_every_time(recorded):
    run = next(iter(recorded.ids.values()))
    answers = {recorded("analyze", run, "--json", "--brief").bytes for _ in range(3)}
    assert len(answers) == 1
    assert answers == {recorded("analyze", run, "--json", "--budget", "1500").bytes}


def test_comparisons_keep_their_budget(recorded, schema_of):
    first, second, *_ = recorded.ids.values()
    whole = recorded("compare", first, second, "--json").envelope
    for tokens in (800, 1_500, 4_000):
        cut = recorded("compare", first, second, "--json", "--budget", str(tokens)).envelope
        jsonschema.validate(cut, schema_of("compare"))
        assert_adds_up(whole, cut)
        assert (cut["data"]["verdict"], cut["data"]["delta_ns"]) == (whole["data"]["verdict"], whole["data"]["delta_ns"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_brief_analyses_of_the_corpus(tmp_path, folder):
    """Whatever a file holds, the short answer is short and says what limits the run. Of every third file, unless in full."""
    if not TRACES.is_dir():
        pytest.skip(f"no recorded profiles in {TRACES}: set NEUROLENS_TRACES")
    neurolens = Neurolens(tmp_path / "ledger")
    files = sorted(filter(pathlib.Path.is_file, (TRACES / folder).rglob("*")))
    for path in files if FULL else files[::3]:
        brief = neurolens("analyze", path, "--brief", "--json", code=None)
        if "error" in brief.envelope:
            assert brief.envelope["error"]["code"] != "limit", (path, brief)
            continue
        assert len(brief.bytes) <= BRIEF_BYTES, path
        whole = neurolens("analyze", brief.data["run_id"], "--json").envelope
        assert_verdict_stays(whole, brief.envelope)
        assert_adds_up(whole, brief.envelope)
        for of in (findings_of, statements_of):
            assert of(brief.data)[:1] == of(whole["data"])[:1], path


# ---- On the command line


def test_a_budget_is_for_json(neurolens, small_run):
    assert "--json" in neurolens("analyze", small_run, "--budget", "1500", code=BAD_INPUT).err
    neurolens("analyze", small_run, "--json", "--budget", "99", code=BAD_INPUT)


def test_a_file_alone_may_be_brief(neurolens, small_trace):
    assert len(neurolens(small_trace, "--brief", "--json").bytes) <= BRIEF_BYTES


def test_a_brief_text_has_the_conclusions(neurolens, small_run):
    whole, brief = neurolens("analyze", small_run).out, neurolens("analyze", small_run, "--brief").out
    assert "limiter" in brief and "Findings" in brief
    assert "Kernels and copies" in whole and "Kernels and copies" not in brief
    assert set(brief.splitlines()) <= set(whole.splitlines())


def test_verbs_that_write_take_no_budget(neurolens, small_run):
    for option in ("--brief", "--budget=500"):
        neurolens("tag", small_run, "x", option, code=BAD_INPUT)


def test_findings_print_their_text(neurolens, small_run):
    said = neurolens("findings", small_run).out
    analysis = neurolens("analyze", small_run, "--json").data
    (window,) = {analysis["window"]["total_ns"]}
    shown = [finding for finding in analysis["findings"] if finding["at_stake_ns"] >= window / 100]
    assert shown
    flat = " ".join(said.split())
    for finding in shown:
        assert finding["title"] in flat
        assert finding["evidence"][0]["text"].rstrip(".") in flat
        assert finding["suggestions"][0]["text"] in flat
    assert neurolens("findings", small_run, "--json").data["findings"] == analysis["findings"]


def test_the_schema_of_an_answer_is_printed(neurolens, small_run):
    schema = json.loads(neurolens("schema", "print", "analyze").out)
    for option in ([], ["--brief"]):
        jsonschema.validate(neurolens("analyze", small_run, "--json", *option).envelope, schema)
    assert "limiters" in schema["properties"]["data"]["required"]
    assert "left_out" in schema["properties"]
