"""neurolens demo: simulated traces, and commands that are what they say."""

import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BAD_INPUT, BINARY, OK, REPOSITORY, Neurolens

DATA = REPOSITORY / "data/demo"
MOST_BYTES = 200_000


def files_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def plain(files):
    """Without what another version of the compressor does differently."""
    return {name: gzip.decompress(data) if name.endswith(".gz") else data for name, data in files.items()}


def make(folder):
    subprocess.run([sys.executable, REPOSITORY / "tools/make_demo.py", folder], check=True)
    return files_of(folder)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """One demo in a folder whose name a shell must not read as it stands: where it was run, and what it said."""
    place = tmp_path_factory.mktemp("demo")
    neurolens = Neurolens(place / "not-used")
    folder = "it's a demo"
    said = neurolens("demo", "--output", folder, cwd=place)
    data = neurolens("demo", "--output", folder, "--json", cwd=place).data
    return place, folder, said, data


def shell(command, place):
    """As a person would type it."""
    programs = place / "programs"
    programs.mkdir(exist_ok=True)
    if not (programs / "neurolens").exists():
        (programs / "neurolens").symlink_to(BINARY)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "TZ": "UTC", "HOME": "/dev/null"}
    return subprocess.run(["bash", "-c", command], cwd=place, env=environment, capture_output=True, text=True)


def test_generator_gives_the_committed_bytes(tmp_path):
    first, second = make(tmp_path / "first"), make(tmp_path / "second")
    assert first == second
    assert plain(first) == plain(files_of(DATA))
    assert sum(map(len, files_of(DATA).values())) <= MOST_BYTES


def test_binary_carries_the_committed_bytes(demo):
    place, folder, _, _ = demo
    written = files_of(place / folder)
    committed = files_of(DATA)
    assert len(committed) == 12
    assert {name: written[name] for name in committed} == committed


def test_commands_give_what_the_demo_shows(demo):
    place, folder, said, data = demo
    shutil.copytree(place / folder, place / "kept")
    shutil.rmtree(place / folder / "ledger")
    for page in ("report.html", "compare.html"):
        (place / folder / page).unlink()
    assert [line[2:] for line in said.out.splitlines() if line.startswith("$ ")] == data["commands"]
    assert [command.split()[1] for command in data["commands"]] == ["import", "analyze", "compare", "report"]
    for command in data["commands"]:
        done = shell(command, place)
        assert done.returncode == OK, (command, done.stderr)
        if " import " not in command:
            assert len(done.stdout) > 20 and done.stdout in said.out, command
    for page in ("report.html", "compare.html"):
        assert (place / folder / page).read_bytes() == (place / "kept" / page).read_bytes(), page


def test_next_steps_are_commands(demo):
    place, _, said, _ = demo
    lines = [line.strip() for line in said.err.split("next:\n")[1].splitlines()]
    assert [line.split()[:2] for line in lines[1:]] == [["neurolens", "YOUR_TRACE.json.gz"], ["neurolens", "compare"]]
    done = shell(lines[0] + " --print", place)
    assert lines[0].startswith("neurolens view ") and done.returncode == OK, done.stderr
    assert pathlib.Path(done.stdout.strip()).name == "compare.html"


def test_verdict_is_tested_and_one_part_got_slower(demo):
    place, folder, _, data = demo
    assert (len(data["runs"]["before"]), len(data["runs"]["after"])) == (5, 5)
    neurolens = Neurolens(place / folder / "ledger")
    found = neurolens("compare", "--base", *data["runs"]["before"], "--new", *data["runs"]["after"], "--json").data
    assert (data["verdict"], data["delta_ns"]) == (found["verdict"], found["delta_ns"])
    assert found["verdict"] == "improvement"
    parts = {(part["kind"], part["name"]): part["delta_ns"] for part in found["parts"]}
    assert sum(parts.values()) == found["delta_ns"] < 0
    assert parts["compute", "attention"] > 0
    assert parts["idle", "host_data"] < 0 and parts["idle", "launch"] < 0


def test_run_before_is_bound_by_launches_and_data(demo):
    place, folder, _, data = demo
    neurolens = Neurolens(place / folder / "ledger")
    analysis = neurolens("analyze", data["runs"]["before"][0], "--json").data
    assert analysis["limiters"][0]["what"] == "host"
    assert {"launch_bound", "data_loading"} <= {finding["rule"] for finding in analysis["findings"]}
    rules = {f["rule"] for f in neurolens("analyze", data["runs"]["after"][0], "--json").data["findings"]}
    assert not {"launch_bound", "data_loading"} & rules


def test_everything_says_that_it_is_simulated(demo):
    place, folder, said, data = demo
    assert data["simulated"] is True
    assert said.out.startswith("SIMULATED data")
    for side in ("before", "after"):
        assert len(data["traces"][side]) == 5
        for path in data["traces"][side]:
            assert pathlib.Path(path).name.startswith("simulated-")
            assert b"SIMULATED GPU" in gzip.decompress((place / path).read_bytes())
    for path in data["pages"]:
        title = re.search("<title>(.*)</title>", (place / path).read_text()).group(1)
        assert "SIMULATED" in title, title
    neurolens = Neurolens(place / folder / "ledger")
    for run in data["runs"]["before"] + data["runs"]["after"]:
        labels = {label["key"]: label["value"] for label in neurolens("label", run, "--json").data["labels"]}
        assert labels["model"].startswith("SIMULATED") and labels["variant"].startswith("SIMULATED")


def test_again_into_its_own_folder_says_the_same(demo):
    place, folder, said, _ = demo
    (place / folder / "mine.txt").write_text("kept")
    assert Neurolens(place / "not-used")("demo", "-o", folder + "/", cwd=place).out == said.out
    assert (place / folder / "mine.txt").read_text() == "kept"


def test_ledger_of_the_user_stays_alone(demo):
    place, *_ = demo
    assert not (place / "not-used").exists()


@pytest.mark.parametrize("what", ["folder", "file", "dangling link", "mark of somebody else"])
def test_what_is_not_its_own_stays(neurolens, tmp_path, what):
    target = tmp_path / "neurolens-demo"
    if what == "file":
        target.write_text("precious")
    elif what == "dangling link":
        target.symlink_to(tmp_path / "nowhere")
    else:
        target.mkdir()
        (target / ("SIMULATED.txt" if what.startswith("mark") else "notes.txt")).write_text("precious")
    before = files_of(tmp_path)
    result = neurolens("demo", code=BAD_INPUT, cwd=tmp_path)
    assert "neurolens-demo" in result.err and "--output" in result.err
    assert neurolens("demo", "--json", code=BAD_INPUT, cwd=tmp_path).envelope["error"]["code"] == "conflict"
    assert files_of(tmp_path) == before


def test_empty_folder_is_taken(neurolens, tmp_path):
    (tmp_path / "empty").mkdir()
    neurolens("demo", "-o", "empty", cwd=tmp_path)
    assert (tmp_path / "empty/report.html").exists()


def test_name_like_an_option(neurolens, tmp_path):
    data = neurolens("demo", "--output=-x", "--json", cwd=tmp_path).data
    assert data["folder"] == "./-x" and (tmp_path / "-x/report.html").exists()


def test_empty_name_is_bad_input(neurolens, tmp_path):
    neurolens("demo", "--output", "", code=BAD_INPUT, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_made(neurolens):
    result = neurolens("demo", "--output", "/dev/null/demo", code=BAD_INPUT)
    assert "/dev/null/demo" in result.err and "--output" in result.err


@pytest.mark.parametrize("home", [None, "/dev/null", "/proc/self"])
def test_without_a_home(tmp_path, home):
    environment = {"PATH": os.environ["PATH"], **({"HOME": home} if home else {})}
    done = subprocess.run([BINARY, "demo", "--quiet"], cwd=tmp_path, env=environment, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (OK, b""), done.stderr
    assert b"verdict   improvement" in done.stdout and b"\x1b" not in done.stdout


def test_colours_only_where_wanted(neurolens, tmp_path):
    assert "\x1b[" in neurolens("demo", "--color", "always", cwd=tmp_path).out
    assert "\x1b[" not in neurolens("demo", cwd=tmp_path).out


def test_bare_word_points_to_demo_while_there_is_no_run(neurolens, make_trace):
    empty = neurolens().out
    assert "The ledger is empty" in empty and "neurolens demo" in empty and "neurolens FILE" in empty
    assert not neurolens.ledger.exists()
    neurolens.import_file(make_trace())
    assert "The ledger is empty" not in neurolens().out
