"""docs/analysis/findings.md against the recorded profiles: what fires is what the page argues for."""

import re

import pytest

from conftest import REPOSITORY, TRACES

PAGE = (REPOSITORY / "docs/analysis/findings.md").read_text()
RULES = {path.stem for path in (REPOSITORY / "rules").glob("*.yaml")}


def argued():
    """{profile: rules in the order of the page}."""
    found = {}
    for part in PAGE.split("\n### ")[1:]:
        heading, body = part.split("\n", 1)
        for name in heading.strip().strip("`").split("`, `"):
            found[name] = re.findall(r"^- `(\w+)`", body.split("\n## ")[0], re.M)
    return found


def silent():
    """Rules that the page lists as never firing."""
    return set(re.findall(r"^- `(\w+)`", PAGE.split("\n## Rules that never fire")[1].split("\n## ")[0], re.M))


ARGUED = argued()


def files_of(name):
    """One file, or all files of an engine that TensorRT's tools wrote."""
    paths = [TRACES / name] if (TRACES / name).is_file() else sorted(TRACES.glob(f"{name}[._]*"))
    if not paths:
        pytest.skip(f"no recorded profile {TRACES / name}: set NEUROLENS_TRACES")
    return paths


@pytest.mark.parametrize("name", ARGUED)
def test_what_fires_is_what_the_page_argues_for(neurolens, name):
    run = neurolens("import", *files_of(name), "--json").data["run_id"]
    findings = neurolens("analyze", run, "--window", "whole", "--json").data["findings"]
    assert [finding["rule"] for finding in findings] == ARGUED[name]


def test_every_profile_is_on_the_page():
    if not TRACES.is_dir():
        pytest.skip(f"no recorded profiles in {TRACES}: set NEUROLENS_TRACES")
    for folder in ("kineto", "onnxruntime", "trtexec"):
        for path in (TRACES / folder).rglob("*.json*"):
            name = str(path.relative_to(TRACES))
            assert any(re.match(re.escape(known) + r"([._]|$)", name) for known in ARGUED), name


def test_every_rule_fires_or_has_a_reason_why_not():
    fires = {rule for rules in ARGUED.values() for rule in rules}
    assert len(fires) >= 8
    assert fires | silent() == RULES
    assert not fires & silent()
