"""runs: filters, order, groups and facets, against the same question answered in Python."""

import itertools
import subprocess

import pytest

import trace_text
from conftest import BAD_INPUT, BINARY, OK

MODELS = ["llama", "qwen", "phi"]


@pytest.fixture
def labelled(neurolens, make_trace):
    """Twelve runs, oldest first: model, batch (1 to 128, missing for two) and a tag on every third."""
    ids = []
    for number in range(12):
        labels = [f"model={MODELS[number % 3]}"] + ([f"batch={2 ** (number % 8)}"] if number < 10 else [])
        flags = [flag for label in labels for flag in ("--set", label)]
        ids.append(neurolens.import_file(make_trace(number, blocks=1 + number % 2), *flags)["run_id"])
        if number % 3 == 0:
            neurolens("tag", ids[-1], "third")
    return ids


def found(neurolens, *arguments):
    return [run["run_id"] for run in neurolens("runs", *arguments, "--json").data["runs"]]


def where(neurolens, *conditions):
    return found(neurolens, *itertools.chain(*(("--where", one) for one in conditions)))


def expected(neurolens, condition):
    return [run["run_id"] for run in neurolens.runs() if condition(run)]


CONDITIONS = {
    "model=qwen": lambda run: run["labels"]["model"] == "qwen",
    "model!=qwen": lambda run: run["labels"]["model"] != "qwen",
    "batch!=8": lambda run: run["labels"].get("batch") != "8",
    "model~l": lambda run: "l" in run["labels"]["model"],
    "batch>=8": lambda run: int(run["labels"].get("batch", 0)) >= 8,
    "batch<=8": lambda run: int(run["labels"].get("batch", 99)) <= 8,
    "batch>=7.5": lambda run: float(run["labels"].get("batch", 0)) >= 7.5,
    "batch=8": lambda run: run["labels"].get("batch") == "8",
    "batch=08": lambda run: False,
    "engine=pytorch": lambda run: True,
    "format=kineto": lambda run: run["format"] == "kineto",
    "backend!=pytorch": lambda run: False,
    f"device={trace_text.DEVICE_NAME}": lambda run: True,
    "device~Test": lambda run: True,
    "tag=third": lambda run: "third" in run["tags"],
    "tag!=third": lambda run: "third" not in run["tags"],
    "file=trace-3.json": lambda run: run["file_names"].endswith("/trace-3.json"),
    "file~trace-1": lambda run: "trace-1" in run["file_names"],
    "kernels>=20": lambda run: run["kernels"] >= 20,
    "kernels=10": lambda run: run["kernels"] == 10,
    "kernels!=10": lambda run: run["kernels"] != 10,
    "records<=150": lambda run: run["records"] <= 150,
    "dropped=0": lambda run: True,
}


def test_conditions(neurolens, labelled):
    for text, condition in CONDITIONS.items():
        assert where(neurolens, text) == expected(neurolens, condition), text


def test_conditions_must_all_hold(neurolens, labelled):
    assert where(neurolens, "model=qwen", "batch>=4", "tag!=third") == expected(
        neurolens, lambda run: run["labels"]["model"] == "qwen" and int(run["labels"].get("batch", 0)) >= 4
    )
    assert found(neurolens, "--tag", "third", "--where", "kernels=10") == expected(
        neurolens, lambda run: "third" in run["tags"] and run["kernels"] == 10
    )


def test_counts(neurolens, labelled):
    data = neurolens("runs", "--where", "model=phi", "--limit", "2", "--json").data
    assert (data["total"], data["matching"], len(data["runs"])) == (12, 4, 2)


@pytest.mark.parametrize("quote", ["'", '"', ";", "%", "_", "\\", "' OR 1=1 --", "\u00e4"])
def test_values_are_never_sql(neurolens, small_run, quote):
    neurolens("label", small_run, f"model=a{quote}b")
    assert where(neurolens, f"model=a{quote}b") == [small_run]
    assert where(neurolens, f"model~{quote}") == [small_run]
    assert where(neurolens, f"model={quote}") == []
    assert found(neurolens, "--tag", quote) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--where", "model"],
        ["--where", "=x"],
        ["--where", "Model=x"],
        ["--where", "batch>8"],
        ["--where", "batch>=many"],
        ["--where", "kernels~1"],
        ["--where", "kernels=x"],
        ["--sort", "No Key"],
        ["--group", "kernels"],
        ["--facets", "kernels"],
        ["--facets", "model,"],
    ],
    ids=" ".join,
)
def test_bad_questions(neurolens, small_run, arguments):
    assert neurolens("runs", *arguments, "--json", code=BAD_INPUT).envelope["error"]["code"] == "bad_input"


def test_key_that_no_run_has(neurolens, small_run):
    envelope = neurolens("runs", "--where", "modle=x", "--json").envelope
    assert envelope["data"]["matching"] == 0
    assert any("modle" in warning for warning in envelope["warnings"])


def test_sorting(neurolens, labelled):
    runs = {run["run_id"]: run for run in neurolens.runs()}
    newest = list(runs)

    def by(key, reverse=False):
        """Those with a value, then the others; the newest first among equals."""
        having = [run for run in newest if key(runs[run]) is not None]
        return sorted(having, key=lambda run: key(runs[run]), reverse=reverse) + [r for r in newest if r not in having]

    def batch(run):
        return int(run["labels"]["batch"]) if "batch" in run["labels"] else None

    assert found(neurolens) == newest == labelled[::-1]
    assert found(neurolens, "--sort", "imported") == newest
    assert found(neurolens, "--sort", "imported", "--reverse") == labelled
    assert found(neurolens, "--sort=-imported") == labelled
    assert found(neurolens, "--sort", "batch") == by(batch)
    assert found(neurolens, "--sort=-batch") == by(batch, True) == found(neurolens, "--sort", "batch", "--reverse")
    assert found(neurolens, "--sort", "model") == by(lambda run: run["labels"]["model"])
    assert found(neurolens, "--sort", "kernels") == by(lambda run: run["kernels"])
    assert found(neurolens, "--sort", "batch", "--limit", "3", "--offset", "2") == by(batch)[2:5]
    assert found(neurolens, "--sort", "nobody-has-it") == newest


def test_groups(neurolens, labelled):
    data = neurolens("runs", "--group", "model", "--json").data
    runs = neurolens.runs()
    for group in data["groups"]:
        members = [run for run in runs if run["labels"]["model"] == group["value"]]
        assert group["runs"] == len(members) == 4
        assert group["kernels"] == sum(run["kernels"] for run in members)
        assert group["records"] == sum(run["records"] for run in members)
        assert group["newest_run_id"] == members[0]["run_id"]
        assert group["newest_imported_at_ns"] == members[0]["imported_at_ns"]
    assert [group["value"] for group in data["groups"]] == ["llama", "phi", "qwen"]
    groups = neurolens("runs", "--group", "batch", "--where", "model=llama", "--json").data["groups"]
    assert sum(group["runs"] for group in groups) == 4
    data = neurolens("runs", "--group", "batch", "--json").data
    assert data["groups"][-1]["value"] is None and data["groups"][-1]["runs"] == 2
    assert data["groups_total"] == 9
    assert len(neurolens("runs", "--group", "batch", "--limit", "2", "--json").data["groups"]) == 2


def test_facets(neurolens, labelled):
    data = neurolens("runs", "--facets", "model,batch,tag", "--where", "batch>=1", "--json").data
    runs = [run for run in neurolens.runs() if "batch" in run["labels"]]
    facets = {facet["key"]: facet for facet in data["facets"]}
    assert list(facets) == ["model", "batch", "tag"]
    for key in ("model", "batch"):
        counts = {value["value"]: value["runs"] for value in facets[key]["values"]}
        values = [run["labels"][key] for run in runs]
        assert counts == {value: values.count(value) for value in values}
        assert facets[key]["without"] == 0
    tagged = sum("third" in run["tags"] for run in runs)
    assert facets["tag"]["values"] == [{"value": "third", "runs": tagged}]
    assert facets["tag"]["without"] == len(runs) - tagged
    counts = [value["runs"] for value in facets["model"]["values"]]
    assert counts == sorted(counts, reverse=True)


def test_facets_without_keys(neurolens, labelled):
    data = neurolens("runs", "--facets", "--json").data
    assert [facet["key"] for facet in data["facets"]] == ["batch", "engine", "model", "format", "device", "tag"]
    assert len(data["runs"]) == 12, "JSON carries both"


def test_changes_reach_the_index(neurolens, labelled):
    run = labelled[0]
    neurolens("label", run, "model=new")
    assert where(neurolens, "model=new") == [run]
    assert run not in where(neurolens, "model=llama")
    neurolens("tag", run, "third", "--remove")
    assert run not in found(neurolens, "--tag", "third")
    neurolens("gc", "--reindex")
    assert where(neurolens, "model=new") == [run]


def test_text_fits_the_screen(neurolens, labelled):
    neurolens("label", labelled[-1], "model=" + "very-long-" * 20, "variant=x", "precision=fp16")
    for arguments in ([], ["--facets"], ["--group", "model"], ["--where", "model=qwen"]):
        result = neurolens("runs", *arguments)
        assert max(map(len, result.out.splitlines())) <= 100, result.out
        assert "neurolens show" in result.err or "--facets" in arguments
    assert "None of 12 runs match" in neurolens("runs", "--where", "model=none").out


def test_next_command_works(neurolens, labelled):
    for arguments in ([], ["--where", "model=none"], ["--group", "model"], ["--facets"]):
        for suggestion in neurolens("runs", *arguments, "--json").envelope["next"]:
            command = suggestion.replace("neurolens", str(BINARY), 1) + f' --ledger "{neurolens.ledger}"'
            assert subprocess.run(["bash", "-c", command], capture_output=True).returncode == OK, suggestion
