"""Redacted runs: what they show, what they hide, and that analysis says the same of them."""

import json

import pytest

import redaction
from conftest import BAD_INPUT, REPOSITORY, TRACES, Neurolens

SCHEMA = json.loads((REPOSITORY / "schema/run_file.schema.json").read_text())
TABLES = ["tracks", *(name for name in SCHEMA["properties"] if name not in ("metadata", "schema", "summary", "ops", "tracks"))]
RECORDED = [
    "kineto/hta_mi250_rocm6.2_minitoy_train.json.gz",
    "kineto/hta_rank_non_gpu.json.gz",
    "kineto/tracelens_vllm_decode_full_cudagraph.json.gz",
    "nsys/cutlass_gemm_cublas_rtx2080ti.sqlite.gz",
]


@pytest.fixture
def partner(tmp_path):
    """Somebody else with a ledger of their own."""
    return Neurolens(tmp_path / "partner")


def secret(number):
    """A word that no list has."""
    return "Zorblat" + "".join(chr(ord("a") + digit) for digit in (number // 26, number % 26))


def text_columns():
    for table in TABLES:
        for column, property in SCHEMA["properties"][table]["items"]["properties"].items():
            kinds = property.get("type", [])
            if (kinds == "string" or "string" in kinds) and "enum" not in property:
                yield f"{table}.{column}"


FIELDS = [*text_columns(), "run.hosts", "run.devices", "run.labels", "run.versions", "run.windows", "run.extensions", "run.tools"]
SECRETS = {field: secret(number) for number, field in enumerate(FIELDS)}


def planted_run(path):
    """A run with a word of its own in every text field."""
    document = {"schema": "neurolens.run-file/1"}
    for table in TABLES:
        properties = SCHEMA["properties"][table]["items"]["properties"]
        row = {"start_ns": 1000, "dur_ns": 50} if {"start_ns", "dur_ns"} <= properties.keys() else {}
        if "track_id" in properties:
            row["track_id"] = 0
        for column in properties:
            word = SECRETS.get(f"{table}.{column}")
            if column == "args":
                row[column] = {word: [1, {"deep": f"at \\u0041{word}"}]}
            elif word:
                row[column] = word
        document[table] = [row]
    document["spans"][0]["kind"] = "op"
    document["metadata"] = {
        "hardware": {"hosts": [SECRETS["run.hosts"]], "devices": [{"device": 0, "name": SECRETS["run.devices"]}]},
        "software": {"versions": {"torch": "2.5.1+" + SECRETS["run.versions"]}},
        "labels": {"model": SECRETS["run.labels"]},
        "windows": {"kept": [{"kind": "step", "name": SECRETS["run.windows"], "start_ns": 0, "dur_ns": 9}]},
        "extensions": {"vendor": {"user": [SECRETS["run.extensions"]]}},
        "tool": SECRETS["run.tools"],
    }
    path.write_text(json.dumps(document))
    return path


def fields_that_show(shown, word):
    """Of texts by field, as redaction.texts_of() has them."""
    return {field for field, texts in shown.items() if any(word.lower() in text.lower() for text in texts)}


def test_no_planted_word_is_shown(neurolens, tmp_path):
    run = neurolens.import_file(planted_run(tmp_path / "planted.json"))["run_id"]
    plain = tmp_path / "plain.nlz"
    neurolens("export", run, "--format", "nlz", "--output", plain)
    planted = redaction.texts_of(plain.read_bytes())
    for field, word in SECRETS.items():
        assert fields_that_show(planted, word), f"{field} was not planted"
    told = redaction.redacted(neurolens, run, tmp_path / "redacted.nlz")["redaction"]
    redacted = (tmp_path / "redacted.nlz").read_bytes()
    shown = redaction.texts_of(redacted)
    for field, word in SECRETS.items():
        assert not fields_that_show(shown, word), field
        assert field in told["hidden"], field
    assert redaction.secrets_in(redacted) == {}


def halves(fields):
    """Each bit of a field's number says whether it is in: of any two fields, each is in some half without the other."""
    for bit in range((len(fields) - 1).bit_length()):
        inside = {field for number, field in enumerate(fields) if number >> bit & 1}
        yield from (inside, {*fields} - inside)


def test_fields_that_are_kept_show_their_words_and_no_others(neurolens, tmp_path):
    run = neurolens.import_file(planted_run(tmp_path / "planted.json"))["run_id"]
    policy, copy = tmp_path / "policy.yaml", tmp_path / "copy.nlz"
    for kept in halves(FIELDS):
        policy.write_text(f"keep: [{', '.join(sorted(kept))}]\n")
        redaction.redacted(neurolens, run, copy, policy=policy)
        shown = redaction.texts_of(copy.read_bytes())
        for field, word in SECRETS.items():
            place = "run.json" if field.startswith("run.") else field
            assert fields_that_show(shown, word) == ({place} if field in kept else set()), field


@pytest.mark.parametrize("name", RECORDED)
def test_answers_are_those_of_the_original(name, neurolens, partner, tmp_path):
    path = TRACES / name
    if not path.exists():
        pytest.skip(f"no recorded trace {name}")
    run = neurolens.import_file(path)["run_id"]
    copy = tmp_path / "copy.nlz"
    redaction.redacted(neurolens, run, copy)
    again = partner.import_file(copy)["run_id"]
    assert redaction.changed_answers(neurolens, partner, redaction.QUESTIONS, [run], [again], tmp_path) == []
    assert redaction.secrets_in(copy.read_bytes()) == {}
    assert run.encode() not in copy.read_bytes()


def test_the_same_run_gives_the_same_bytes_and_another_home_gives_others(neurolens, partner, small_trace, tmp_path):
    run = neurolens.import_file(small_trace)["run_id"]
    other = partner.import_file(small_trace)["run_id"]
    copies = [tmp_path / name for name in ("one.nlz", "two.nlz", "other.nlz")]
    redaction.redacted(neurolens, run, copies[0])
    redaction.redacted(neurolens, run, copies[1])
    redaction.redacted(partner, other, copies[2])
    assert copies[0].read_bytes() == copies[1].read_bytes()
    assert copies[0].read_bytes() != copies[2].read_bytes()


def test_the_key_stays_at_home(neurolens, partner, tmp_path):
    run = neurolens.import_file(planted_run(tmp_path / "planted.json"))["run_id"]
    copy = tmp_path / "copy.nlz"
    redaction.redacted(neurolens, run, copy)
    again = partner.import_file(copy)["run_id"]
    name = partner.value(again, "SELECT name FROM kernels")
    assert neurolens("redact", "--reveal", f"look at {name}!").out == f"look at {SECRETS['kernels.name']}!\n"
    strange = partner("redact", "--reveal", name)
    assert strange.out.strip() == name.split(" {nl")[0] and "no pseudonym of this ledger" in strange.err


def test_shapes_are_dropped_or_rounded_with_a_reason(neurolens, small_trace, tmp_path):
    trace = json.loads(small_trace.read_text())
    for event in trace["traceEvents"]:
        if event.get("cat") == "cpu_op":
            event["args"]["Input Dims"] = [[1000, 3000], [3000, 50]]
            event["args"]["Input type"] = ["float", "float"]
    small_trace.write_text(json.dumps(trace))
    run = neurolens.import_file(small_trace)["run_id"]
    assert neurolens.value(run, "SELECT count(shapes) FROM spans") > 0
    policy, copy = tmp_path / "policy.yaml", tmp_path / "copy.nlz"
    for shapes, shown in (("drop", []), ("round", ["[[1024,4096],[4096,64]]"])):
        policy.write_text(f"shapes: {shapes}\n")
        told = redaction.redacted(neurolens, run, copy, policy=policy)["redaction"]
        assert told["dropped"]["spans.shapes"] > 0
        assert neurolens.value(copy, "SELECT count(shapes) FROM spans") == 0
        rows = neurolens.rows(copy, "SELECT DISTINCT args ->> 'shapes_about' AS about FROM spans WHERE args LIKE '%about%'")
        assert [row["about"].replace(" ", "") for row in rows] == shown
        notes = neurolens("analyze", copy, "--json").data["notes"]
        assert "shapes_redacted" in {note["id"] for note in notes}


@pytest.mark.parametrize("depth", [10, 100])
def test_arguments_may_be_as_deep_as_they_like(depth, neurolens, tmp_path):
    deep = "[" * depth + '"Zorblat"' + "]" * depth
    trace, policy, copy = tmp_path / "deep.json", tmp_path / "policy.yaml", tmp_path / "copy.nlz"
    args = '{"Input Dims": %s, "other": %s}' % (deep, deep)
    event = '{"ph": "X", "cat": "cpu_op", "name": "op", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": %s}' % args
    trace.write_text('{"schemaVersion": 1, "traceEvents": [%s]}' % event)
    run = neurolens.import_file(trace)["run_id"]
    for shapes in ("keep", "drop", "round"):
        policy.write_text(f"shapes: {shapes}\n")
        redaction.redacted(neurolens, run, copy, policy=policy)
        assert fields_that_show(redaction.texts_of(copy.read_bytes()), "Zorblat") == set()


@pytest.mark.parametrize(
    "text, message",
    [
        ("shapes: maybe", "shapes must be keep, round or drop"),
        ("keep: [spans.nme]", "there is no such field: spans.nme"),
        ("public: [a1]", "a word has two letters or more"),
        ("hide: all", "unknown key: hide"),
        ("[1, 2]", "a mapping is expected"),
    ],
)
def test_a_policy_that_cannot_be_read_is_refused(text, message, neurolens, small_run, tmp_path):
    policy = tmp_path / "policy.yaml"
    policy.write_text(text + "\n")
    output = tmp_path / "copy.nlz"
    refused = neurolens("export", small_run, "--format", "nlz", "--output", output, "--redact", policy, code=BAD_INPUT)
    assert f"{policy}:1: {message}" in refused.err
    assert not output.exists()


def test_words_of_the_policy_count(neurolens, tmp_path):
    run = neurolens.import_file(planted_run(tmp_path / "planted.json"))["run_id"]
    policy, copy = tmp_path / "policy.yaml", tmp_path / "copy.nlz"
    word = SECRETS["kernels.name"]
    policy.write_text(f"public: [zorblat, {word}]\nprivate: [step]\n")
    redaction.redacted(neurolens, run, copy, policy=policy)
    assert fields_that_show(redaction.texts_of(copy.read_bytes()), word) == {"kernels.name"}
    windows = json.loads(redaction.files_of(copy.read_bytes())["run.json"])["windows"]["kept"]
    assert windows[0]["kind"] != "step"


def test_redaction_goes_with_every_format(neurolens, tmp_path):
    run = neurolens.import_file(planted_run(tmp_path / "planted.json"))["run_id"]
    for format in ("neurolens-json", "chrome", "collapsed", "otlp", "perfetto", "pprof", "speedscope"):
        output = tmp_path / format
        neurolens("export", run, "--format", format, "--output", output, "--redact")
        written = output.read_bytes()
        assert all(word.encode() not in written for word in SECRETS.values()), format


def test_profiles_do_not_go_along(neurolens, small_run, small_trace, tmp_path):
    refused = neurolens("export", small_run, "--format", "nlz", "--output", tmp_path / "copy.nlz", "--sources", small_trace,
                        "--redact", code=BAD_INPUT)
    assert "profiles tell everything" in refused.err


def test_pseudonyms_survive_a_lost_state(neurolens, partner, tmp_path):
    """They are part of what `state export` keeps."""
    run = neurolens.import_file(planted_run(tmp_path / "planted.json"))["run_id"]
    copy, kept = tmp_path / "copy.nlz", tmp_path / "state.jsonl"
    redaction.redacted(neurolens, run, copy)
    name = neurolens.value(copy, "SELECT name FROM kernels")
    kept.write_bytes(neurolens("state", "export").bytes)
    partner("state", "import", kept)
    assert partner("redact", "--reveal", name).out.strip() == SECRETS["kernels.name"]
