"""Rules and findings: what is listed, how faults are shown, how predictions are kept and scored."""

import json
import sqlite3

import pytest

from conftest import BAD_INPUT, REPOSITORY
from sqlite_pages import edited_sqlite

RULES = REPOSITORY / "rules"
CASES = REPOSITORY / "tests/rules"

RULE = """\
id: mine
version: 2
title: My own
condition: idle_time / total_time > 0.2
confidence: low
evidence:
  - metric: idle_time
    text: One.
  - metric: busy_time
    text: Two.
at_stake: idle_time
suggestions:
  - text: Do this.
    gain: 0.5 * idle_time
  - text: Or that.
references: [https://example.org]
"""


@pytest.fixture
def rule_file(tmp_path):
    def write(text=RULE, name="mine.yaml"):
        folder = tmp_path / "rules"
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(text)
        return path

    return write


def error_of(result):
    return result.envelope["error"]


# ---- list, show


def test_list_has_every_file(neurolens):
    data = neurolens("rules", "list", "--json").data
    ids = [rule["id"] for rule in data["rules"]]
    assert ids == sorted(path.stem for path in RULES.glob("*.yaml"))
    assert len(ids) >= 22
    assert data["replaced"] == []
    assert neurolens("rules", "--json").data == data, "list is the default"
    text = neurolens("rules").out
    assert all(rule["id"] in text and rule["title"] in text for rule in data["rules"])


def test_show(neurolens):
    rule = neurolens("rules", "show", "launch_bound", "--json").data["rule"]
    assert len(rule["evidence"]) >= 2 and len(rule["suggestions"]) >= 2 and rule["references"]
    text = neurolens("rules", "show", "launch_bound").out
    for piece in (rule["condition"], rule["at_stake"], rule["evidence"][0]["text"], rule["references"][0]):
        assert piece in text


@pytest.mark.parametrize(
    "arguments, code",
    [
        (["show"], "bad_input"),
        (["show", "a", "b"], "bad_input"),
        (["show", "no_such_rule"], "not_found"),
        (["list", "x"], "bad_input"),
        (["check"], "bad_input"),
        (["check", "no/such/file.yaml"], "not_found"),
        (["list", "--case", "x"], "bad_input"),
        (["list", "--rules", "no/such/folder"], "not_found"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_bad_usage(neurolens, arguments, code):
    assert error_of(neurolens("rules", *arguments, "--json", code=BAD_INPUT))["code"] == code


# ---- Rules of one's own


def test_own_rule_is_added(neurolens, rule_file):
    folder = rule_file().parent
    rules = {rule["id"]: rule for rule in neurolens("rules", "--rules", folder, "--json").data["rules"]}
    assert rules["mine"]["origin"] == str(folder / "mine.yaml")
    assert rules["launch_bound"]["origin"] == "built-in"


def test_own_rule_replaces_a_built_in_one(neurolens, rule_file):
    path = rule_file(RULE.replace("id: mine", "id: launch_bound"))
    data = neurolens("rules", "--rules", path.parent, "--json").data
    assert data["replaced"] == [{"id": "launch_bound", "origin": str(path), "replaces": "built-in"}]
    assert neurolens("rules", "show", "launch_bound", "--rules", path.parent, "--json").data["rule"]["title"] == "My own"
    assert "takes the place" in neurolens("rules", "--rules", path.parent).out


def test_later_folder_counts(neurolens, rule_file, tmp_path):
    first = rule_file().parent
    second = tmp_path / "second"
    second.mkdir()
    (second / "x.yaml").write_text(RULE.replace("My own", "Later"))
    rule = neurolens("rules", "show", "mine", "--rules", first, "--rules", second, "--json").data["rule"]
    assert rule["title"] == "Later"


def test_bad_rule_in_a_folder_names_file_and_line(neurolens, rule_file):
    path = rule_file(RULE.replace("total_time >", "totl_time >"))
    error = error_of(neurolens("rules", "--rules", path.parent, "--json", code=BAD_INPUT))
    assert error["code"] == "bad_input"
    assert error["message"].startswith(f"{path}:4:24: ")


# ---- check


def test_check_of_all_built_in_rules(neurolens):
    files = neurolens("rules", "check", *sorted(RULES.glob("*.yaml")), "--json").data["files"]
    assert files and all(one["valid"] and not one["faults"] for one in files)


@pytest.mark.parametrize("case, outcome", [("positive", "fires"), ("negative", "silent")])
def test_check_with_a_case(neurolens, case, outcome):
    for rule in sorted(RULES.glob("*.yaml")):
        (one,) = neurolens("rules", "check", rule, "--case", CASES / rule.stem / f"{case}.yaml", "--json").data["files"]
        assert one["case"] == outcome, rule.stem


def test_check_shows_the_line_and_a_caret(neurolens, rule_file):
    path = rule_file(RULE.replace("0.5 * idle_time", "idle_time + h2d_bytes"))
    out = neurolens("rules", "check", path, code=BAD_INPUT).out.splitlines()
    assert out[0].startswith(f"{path}:14:21: ")
    assert out[1].endswith("gain: idle_time + h2d_bytes")
    assert out[2].index("^") == out[1].index("+")


def test_check_names_all_faults_of_all_files(neurolens, rule_file):
    first = rule_file(RULE.replace("version: 2", "version: x").replace("confidence: low", "confidence: sure"), "a.yaml")
    second = rule_file(RULE, "b.yaml")
    files = neurolens("rules", "check", first, second, "--json", code=BAD_INPUT).data["files"]
    assert [fault["line"] for fault in files[0]["faults"]] == [2, 5]
    assert files[1]["valid"]


def test_check_with_a_case_tells_why_a_rule_abstains(neurolens, rule_file, tmp_path):
    case = tmp_path / "case.yaml"
    case.write_text("metrics: {idle_time: 5, busy_time: 5}\nabsent: {total_time: no records}\n")
    (one,) = neurolens("rules", "check", rule_file(), "--case", case, "--json").data["files"]
    assert one["case"] == "abstains"
    assert one["evaluation"]["abstentions"] == [
        {"rule": "mine", "rule_version": 2, "metric": "total_time", "reason": "no records"}
    ]
    case.write_text("metrics: {idle_time: 5, busy_time: 5, total_time: 10}\n")
    (one,) = neurolens("rules", "check", rule_file(), "--case", case, "--json").data["files"]
    (finding,) = one["evaluation"]["findings"]
    assert finding["at_stake_ns"] == 5
    assert finding["suggestions"][0]["gain_ns"] == 3, "2.5 is rounded away from zero"
    assert finding["suggestions"][1]["gain_ns"] is None and finding["suggestions"][1]["absent_reason"]


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 30000 + "1" + ")" * 30000,
        "1" + "+1" * 30000,
        "idle_time > 1; DROP TABLE x",
        "(SELECT count(*) FROM read_text('/etc/hostname')) > 0",
        "read_text(idle_time) > 0",
        "idle_time > 1 -- x",
        "idle_time::INT > 1",
        "CASE WHEN idle_time > 1 THEN 1 END",
        "$1 > 0",
    ],
    ids=lambda text: text[:20],
)
def test_hostile_conditions_are_faults(neurolens, rule_file, expression):
    path = rule_file(RULE.replace("idle_time / total_time > 0.2", json.dumps(expression)))
    result = neurolens("rules", "check", path, "--json", code=BAD_INPUT)
    if "error" in result.envelope:
        assert error_of(result)["code"] == "limit"
    else:
        assert [fault["line"] for fault in result.data["files"][0]["faults"]] == [4]


def test_a_rule_cannot_disturb_the_terminal(neurolens, rule_file):
    path = rule_file(RULE + '"x\\e[31m": 1\n')
    assert "\x1b" not in neurolens("rules", "check", path, code=BAD_INPUT).out
    path = rule_file(RULE.replace("title: My own", 'title: "a\\e[31m"'))
    assert "\x1b" not in neurolens("rules", "check", path, code=BAD_INPUT).out


# ---- Findings


@pytest.fixture
def predict(neurolens):
    """Writes a prediction as an analysis would."""

    def write(run_id, rule="launch_bound", suggestion=1, gain=200, window="no such window", at_most=1):
        neurolens("runs")
        with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
            state.execute(
                "INSERT INTO predictions VALUES (?,?,1,?,?,'0',500,?,?,1000,7,'me')",
                (run_id, rule, suggestion, window, gain, at_most),
            )

    return write


def test_no_predictions(neurolens, small_run):
    assert neurolens("findings", "--json").data == {"runs": []}
    assert "no predictions" in neurolens("findings").out


def test_findings_of_a_run_are_kept(neurolens, small_run):
    found = neurolens("analyze", small_run, "--json").data["findings"]
    (run,) = neurolens("findings", small_run, "--json").data["runs"]
    assert {p["rule"] for p in run["predictions"]} == {f["rule"] for f in found}
    assert neurolens("findings", "--json").data["runs"] == [run]


def test_predictions_are_listed(neurolens, small_run, predict):
    predict(small_run)
    predict(small_run, suggestion=2, gain=None, at_most=0)
    (run,) = neurolens("findings", "--json").data["runs"]
    assert run["run_id"] == small_run
    assert [(p["rule"], p["suggestion"], p["gain_ns"], p["at_most"]) for p in run["predictions"]] == [
        ("launch_bound", 1, 200, True),
        ("launch_bound", 2, None, False),
    ]
    text = neurolens("findings", small_run).out
    assert "launch_bound:1" in text and "unknown" in text


def test_predictions_are_part_of_the_state(neurolens, small_run, predict, tmp_path):
    predict(small_run)
    predict(small_run, suggestion=2, gain=None)
    lines = neurolens("state", "export").out.splitlines()
    assert sum(json.loads(line)["record"] == "prediction" for line in lines) == 2
    other = type(neurolens)(tmp_path / "other")
    saved = tmp_path / "state.jsonl"
    saved.write_text("\n".join(lines) + "\n")
    other("state", "import", saved)
    assert other("findings", "--json").data == neurolens("findings", "--json").data
    assert other("state", "import", saved, "--json").data["added"] == 0


@pytest.fixture
def two_runs(neurolens, make_trace):
    return [neurolens.import_file(make_trace(variant))["run_id"] for variant in (0, 1)]


def test_score_needs_labels(neurolens, two_runs, predict):
    before, after = two_runs
    predict(before)

    def score():
        return error_of(neurolens("findings", "--score", after, "--json", code=BAD_INPUT))

    assert neurolens("findings", "--score", "--json").data["pairs"] == [], "no run says what it follows"
    assert score()["code"] == "not_found" and "follows" in score()["message"]
    neurolens("label", after, f"follows={before[:12]}")
    assert score()["code"] == "not_found" and "applied" in score()["message"]
    neurolens("label", after, "applied=launch_bound:0")
    assert score()["code"] == "bad_input"
    neurolens("label", after, "applied=no_such_rule")
    assert score()["code"] == "not_found"
    neurolens("label", after, f"follows={after}", "applied=launch_bound")
    assert score()["code"] == "bad_input", "a run does not follow itself"


def test_score_that_cannot_be_told(neurolens, two_runs, predict):
    """Without metrics of the window there is no score, and a reason."""
    before, after = two_runs
    predict(before)
    predict(before, suggestion=2)
    predict(before, rule="other")
    neurolens("label", after, f"follows={before[:12]}", "applied=launch_bound:2")
    data = neurolens("findings", "--score", after, "--json").data
    assert (data["run_id"], data["follows"]) == (after, before)
    (score,) = data["scores"]
    assert score["prediction"]["suggestion"] == 2
    assert score["ratio"] is None and score["not_resolvable"]
    assert "not resolvable" in neurolens("findings", after, "--score").out
    neurolens("label", after, "applied=launch_bound,other")
    envelope = neurolens("findings", "--score", after, "--json").envelope
    assert len(envelope["data"]["scores"]) == 3
    assert envelope["warnings"], "several suggestions at once"


def test_state_of_version_1_gets_predictions(neurolens, small_run):
    """A ledger from before predictions: it gets the table, and nothing is lost."""
    neurolens("label", small_run, "model=x")
    path = neurolens.ledger / "state.sqlite"
    with edited_sqlite(path) as state:
        for table in ("predictions", "claims", "tombstones", "redaction_key", "pseudonyms", "note_subjects", "past_notes"):
            state.execute(f"DROP TABLE {table}")
        state.execute("PRAGMA user_version = 1")
    assert neurolens("findings", small_run, "--json").data["runs"][0]["run_id"] == small_run
    with sqlite3.connect(path) as state:
        assert state.execute("PRAGMA user_version").fetchone() == (6,)
        assert state.execute("SELECT value FROM labels WHERE key = 'model'").fetchone() == ("x",)
