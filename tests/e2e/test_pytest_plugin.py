"""The plug-in of pytest, in a real pytest of its own: it measures, keeps runs, and fails what became slower."""

import json
import os
import subprocess
import sys
import time

import pytest

from conftest import BINARY, Neurolens

BUILD = BINARY.resolve().parent.parent
needs_extension = pytest.mark.skipif(not list(BUILD.glob("python/neurolens/_markers*.so")),
                                     reason="the Python package was not built: no headers of Python")

TESTS = """
import pathlib

def work():
    return sum(range(int(pathlib.Path(__file__).with_name("size.txt").read_text())))

def test_work(profiled):
    measured = profiled(work, clock="cpu")
    assert measured.result == work()

def test_wall(profiled):
    profiled(work, calls=2, runs=3)

def test_without():
    pass
"""
# A clock that goes on with the work done, by 3 % more or less: so the verdict depends on the work, and not on the machine.
COUNTED_CLOCK = """
import random

import neurolens.pytest_plugin
import test_speed

worked, plain_work = 0, test_speed.work

def counted_work():
    global worked
    worked += int(int(test_speed.pathlib.Path(test_speed.__file__).with_name("size.txt").read_text()) * random.uniform(0.97, 1.03))
    return plain_work()

test_speed.work = counted_work
neurolens.pytest_plugin._CLOCKS["cpu"] = lambda: worked
"""
SIZE = 30_000


class Project:
    """A repository with tests, and pytest in it. Differences count from 50 % on."""

    def __init__(self, folder):
        self.folder, self.neurolens = folder, Neurolens(folder.parent / "ledger")
        folder.mkdir()
        (folder / "test_speed.py").write_text(TESTS)
        self.write(SIZE)
        self.git("init", "-q", "-b", "main")
        self.git("add", "test_speed.py", "size.txt")
        self.commit()

    def git(self, *words):
        names = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run(["git", *names, *words], cwd=self.folder, check=True)

    def commit(self):
        self.git("commit", "-q", "--allow-empty", "-am", "a change")

    def write(self, size):
        (self.folder / "size.txt").write_text(str(size))

    @property
    def environment(self):
        """Without plug-ins of other packages, which take pytest seconds to load."""
        return {**os.environ, "PYTHONPATH": str(BUILD / "python"), "NEUROLENS_PROGRAM": str(BINARY),
                "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def command(self, *words):
        return [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "neurolens.pytest_plugin",
                f"--neurolens-ledger={self.neurolens.ledger}", "--neurolens-threshold=50%", *words]

    def pytest(self, *words):
        done = subprocess.run(self.command(*words), cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path / "project")


def test_without_its_option_nothing_is_measured(project):
    code, said = project.pytest()
    assert code == 0 and "3 passed" in said and "a call" not in said
    assert not project.neurolens.ledger.exists()


def test_measured_calls_are_kept_with_test_and_commit(project):
    before = time.time_ns()
    code, said = project.pytest("--neurolens", "--junitxml=result.xml")
    assert code == 0 and "test_speed.py::test_work:" in said and " a call" in said
    assert said.count(" a call") == 2 and (project.folder / "result.xml").read_text().count(" a call") == 2
    runs = project.neurolens.runs()
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=project.folder, stdout=subprocess.PIPE, text=True).stdout.strip()
    assert {json.dumps(run["labels"], sort_keys=True) for run in runs} == {
        json.dumps({"test": f"test_speed.py::{test}", "timer": timer, "commit": commit, "dirty": "false"}, sort_keys=True)
        for test, timer in (("test_work", "cpu"), ("test_wall", "wall"))}
    (wall, *_), others = ([run for run in runs if run["labels"]["timer"] == timer] for timer in ("wall", "cpu"))
    assert len(runs) == 13 and len(others) == 10
    rows = project.neurolens.rows(wall["run_id"], "SELECT * FROM ops ORDER BY start_ns")
    assert len(rows) == 2 and {row["name"] for row in rows} == {"test_speed.py::test_wall"}
    assert before <= rows[0]["start_ns"] <= rows[0]["start_ns"] + rows[0]["dur_ns"] <= rows[1]["start_ns"] <= time.time_ns()


def test_an_unchanged_function_passes_and_a_slower_one_fails(project):
    (project.folder / "conftest.py").write_text(COUNTED_CLOCK)
    (project.folder / "left_over.txt").write_text("of no commit")
    assert project.pytest("--neurolens", "-k", "work")[0] == 0
    project.git("switch", "-q", "-c", "change")
    project.commit()
    code, said = project.pytest("--neurolens-baseline", "main", "-k", "work")
    assert code == 0 and "against main" in said, said
    project.write(SIZE * 4)
    code, said = project.pytest("--neurolens-baseline", "main", "-k", "work")
    assert code == 1 and "regression against main" in said and "10 and 10 runs" in said, said
    project.write(SIZE // 8)
    code, said = project.pytest("--neurolens-baseline", "main", "-k", "work")
    assert code == 0 and "improvement against main" in said, said


def test_changes_that_are_not_committed_are_no_baseline(project):
    project.write(SIZE + 1)
    assert project.pytest("--neurolens", "-k", "work")[0] == 0
    code, said = project.pytest("--neurolens-baseline", "HEAD", "-k", "work")
    assert code == 0 and "nothing to compare with at HEAD" in said


def test_what_is_compared_with_nothing_is_a_warning(project):
    code, said = project.pytest("--neurolens-baseline", "main", "-k", "work")
    assert code == 0 and "1 warning" in said and "nothing to compare with at main" in said
    assert project.pytest("--neurolens-baseline", "no-such-commit", "-k", "work", "-W", "error")[0] == 1


def test_a_folder_without_git(project):
    subprocess.run(["rm", "-rf", project.folder / ".git"], check=True)
    code, said = project.pytest("--neurolens", "-k", "wall")
    assert code == 0 and "a call" in said
    assert "commit" not in project.neurolens.runs()[0]["labels"]


def test_a_name_of_any_length(project):
    (project.folder / "test_speed.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('text', ['é' * 3000, 'é' * 2999 + 'x'], ids=lambda text: text)\n"
        "def test_long(profiled, text):\n    profiled(lambda: None, calls=1, runs=1)\n")
    code, said = project.pytest("--neurolens")
    assert code == 0, said
    assert len({run["labels"]["test"] for run in project.neurolens.runs()}) == 2


def test_several_workers(project):
    code, said = project.pytest("--neurolens", "-p", "xdist.plugin", "-n", "2")
    assert code == 0 and said.count(" a call") == 2
    assert len(project.neurolens.runs()) == 13


@needs_extension
def test_tests_are_scopes_of_a_recording(project):
    recorder = Neurolens(project.neurolens.ledger, project.environment)
    data = recorder("record", "--json", "--", *project.command("--neurolens", "-k", "without"), cwd=project.folder).data
    assert data["workload"]["exit_code"] == 0
    spans = recorder.rows(data["run_id"], "SELECT name FROM spans WHERE kind = 'annotation'")
    assert spans == [{"name": "test_speed.py::test_without"}]
