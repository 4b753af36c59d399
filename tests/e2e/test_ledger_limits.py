"""A ledger in awkward places: read-only, without permission, without locks; and one with many runs."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time

import pytest

from conftest import BAD_INPUT, MISSING, OK, REPOSITORY, Neurolens
from sqlite_pages import edited_sqlite

INDEX_FILES = ("index.sqlite", "index.sqlite-wal", "index.sqlite-shm")
NOBODY = 65534


def error_code(result):
    return result.envelope["error"]["code"]


@pytest.fixture
def labelled_run(neurolens, small_run):
    neurolens("label", small_run, "model=llama")
    neurolens("tag", small_run, "gold")
    neurolens("baseline", "main", small_run)
    return small_run


class ReadOnlyMount:
    """The ledger of another one, mounted read-only at another place."""

    def __init__(self, source, target):
        self.target = target
        target.mkdir()
        done = subprocess.run(["mount", "--bind", source, target], capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"a mount is not permitted here: {done.stderr.strip()}")
        subprocess.run(["mount", "-o", "remount,bind,ro", target], check=True)

    def __enter__(self):
        return self.target

    def __exit__(self, *_):
        subprocess.run(["umount", self.target], check=True)


def check_reading(ledger, run, **options):
    """Everything that reads works, and says what the ledger holds."""
    (listed,) = ledger("runs", "--json", **options).data["runs"]
    assert (listed["run_id"], listed["labels"]["model"], listed["tags"]) == (run, "llama", ["gold"])
    assert ledger("runs", "--where", "model=llama", "--facets", "--json", **options).data["matching"] == 1
    assert ledger("show", "gold", "--json", **options).data["run_id"] == run
    assert ledger("show", "@baseline:main", "--json", **options).data["kernels"]["count"] == 20
    assert ledger("query", run, "SELECT count(*) AS n FROM kernels", "--format", "json", **options).code == OK
    assert ledger("query", run, "SELECT op_id FROM kernels", "--json", **options).code == OK
    assert ledger("verify", run, "--json", **options).data["verified"]
    assert ledger("label", run, "--json", **options).code == OK
    assert ledger("state", "export", **options).code == OK


def check_not_writing(ledger, run, trace, code, **options):
    for arguments in (
        ["label", run, "a=b"],
        ["tag", run, "x"],
        ["note", run, "x"],
        ["baseline", "b", run],
        ["import", trace],
        ["gc"],
        ["gc", "--reindex"],
    ):
        result = ledger(*arguments, "--json", code=MISSING, **options)
        assert error_code(result) == code, arguments
        assert "--ledger" in result.envelope["error"]["hint"]


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


# ---- Read-only


@pytest.mark.parametrize("index", ["as it was", "missing", "of another version", "behind", "damaged"])
def test_read_only_file_system(neurolens, labelled_run, make_trace, small_trace, tmp_path, index):
    path = neurolens.ledger / "index.sqlite"
    if index in ("missing", "damaged"):
        for name in INDEX_FILES:
            (neurolens.ledger / name).unlink(missing_ok=True)
    if index == "damaged":
        path.write_bytes(b"no database at all" * 1000)
    if index == "of another version":
        with edited_sqlite(path) as db:
            db.execute("PRAGMA user_version = 1")
    if index == "behind":
        with edited_sqlite(path) as db:
            db.execute("UPDATE known SET change = 0")
            db.execute("DELETE FROM postings")
    before = contents(neurolens.ledger)
    with ReadOnlyMount(neurolens.ledger, tmp_path / "mounted") as target:
        ledger = Neurolens(target)
        check_reading(ledger, labelled_run)
        check_not_writing(ledger, labelled_run, make_trace(99), "permission")
        assert ledger("show", small_trace, "--json").data["run_id"] == labelled_run, "a known profile needs no write"
        assert ledger("import", small_trace, "--json").data["created"] is False
    assert contents(neurolens.ledger) == before


def test_read_only_while_another_process_has_it_open(neurolens, labelled_run, tmp_path):
    """The same ledger is written elsewhere: its -wal file is there and holds what is not yet in the index."""
    writer = sqlite3.connect(neurolens.ledger / "index.sqlite")
    writer.execute("SELECT count(*) FROM runs").fetchone()
    neurolens("label", labelled_run, "more=x")
    assert (neurolens.ledger / "index.sqlite-wal").stat().st_size > 0
    with ReadOnlyMount(neurolens.ledger, tmp_path / "mounted") as target:
        assert Neurolens(target).runs()[0]["labels"]["more"] == "x"
        check_reading(Neurolens(target), labelled_run)
    writer.close()


def test_read_only_with_the_state_of_the_first_version(neurolens, small_run, tmp_path):
    """Tables that an old state lacks are empty; nothing is migrated."""
    with edited_sqlite(neurolens.ledger / "state.sqlite") as state:
        for table in ("labels", "past_labels", "tags", "notes", "baselines", "touched"):
            state.execute(f"DROP TABLE {table}")
        state.execute("PRAGMA user_version = 0")
    with ReadOnlyMount(neurolens.ledger, tmp_path / "mounted") as target:
        (run,) = Neurolens(target).runs()
        assert run["file_names"].endswith("small.json"), "the receipt is still there"
        assert Neurolens(target)("show", small_run).code == OK


def test_read_only_without_derived_tables(neurolens, labelled_run, tmp_path):
    shutil.rmtree(neurolens.bundle(labelled_run) / "derived")
    with ReadOnlyMount(neurolens.ledger, tmp_path / "mounted") as target:
        result = Neurolens(target)("query", labelled_run, "SELECT op_id FROM kernels", "--json", code=None)
        assert result.code == OK or error_code(result) == "permission", result


def test_folder_without_write_permission(neurolens, labelled_run, make_trace, tmp_path):
    """As another user, who may only read."""
    if os.geteuid() != 0:
        pytest.skip("needs root to become another user")
    for folder in [tmp_path, *tmp_path.parents]:
        if not folder.stat().st_mode & 0o001 and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    subprocess.run(["chmod", "-R", "a+rX", neurolens.ledger], check=True)  # a new ledger is its owner's alone
    trace = make_trace(5)
    other = {"user": NOBODY, "group": NOBODY}
    check_reading(neurolens, labelled_run, **other)
    check_not_writing(neurolens, labelled_run, trace, "permission", **other)


def test_nothing_there_and_no_permission(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root to mount")
    (tmp_path / "empty").mkdir()
    with ReadOnlyMount(tmp_path / "empty", tmp_path / "mounted") as target:
        assert error_code(Neurolens(target / "ledger")("runs", "--json", code=MISSING)) == "permission"


# ---- Without locks: a stand-in for such a file system, since the kernels at hand have none


SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>

static int fault(void) { return atoi(getenv("LOCK_FAULT")); }

static int call(const char *name, int fd, int command, void *argument) {
  int (*real)(int, int, ...) = dlsym(RTLD_NEXT, name);
  if (getenv("FCNTL_FAULT") && (command == F_SETLK || command == F_SETLKW || command == F_GETLK)) {
    errno = fault();
    return -1;
  }
  return real(fd, command, argument);
}
int fcntl(int fd, int command, ...) {
  va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list);
  return call("fcntl", fd, command, argument);
}
int fcntl64(int fd, int command, ...) {
  va_list list; va_start(list, command); void *argument = va_arg(list, void *); va_end(list);
  return call("fcntl64", fd, command, argument);
}
int flock(int fd, int operation) {
  int (*real)(int, int) = dlsym(RTLD_NEXT, "flock");
  if (getenv("FLOCK_FAULT")) { errno = fault(); return -1; }
  return real(fd, operation);
}
"""
FAULTS = {"ENOLCK": 37, "EOPNOTSUPP": 95}


@pytest.fixture(scope="session")
def shim(tmp_path_factory):
    """A library that answers locks as a file system without them does."""
    folder = tmp_path_factory.mktemp("shim")
    (folder / "shim.c").write_text(SHIM)
    done = subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c", "-ldl"])
    if done.returncode != 0:
        pytest.skip("no C compiler")
    return folder / "shim.so"


def without_locks(neurolens, shim, fault, *kinds):
    """The same ledger through the stand-in."""
    names = {f"{kind}_FAULT": "1" for kind in kinds}
    return Neurolens(neurolens.ledger, {"LD_PRELOAD": str(shim), "LOCK_FAULT": str(FAULTS[fault]), **names})


@pytest.mark.parametrize("fault", FAULTS)
def test_file_system_without_locks(neurolens, labelled_run, make_trace, shim, fault):
    ledger = without_locks(neurolens, shim, fault, "FCNTL", "FLOCK")
    before = contents(neurolens.ledger)
    begin = time.monotonic()
    check_reading(ledger, labelled_run)
    check_not_writing(ledger, labelled_run, make_trace(7), "unavailable")
    assert time.monotonic() - begin < 20, "it waits for locks that never come"
    assert contents(neurolens.ledger) == before


@pytest.mark.parametrize("fault", FAULTS)
def test_new_ledger_on_a_file_system_without_locks(neurolens, small_trace, shim, fault):
    ledger = without_locks(neurolens, shim, fault, "FCNTL", "FLOCK")
    assert error_code(ledger("import", small_trace, "--json", code=MISSING)) == "unavailable"
    assert ledger.runs() == []


@pytest.mark.parametrize("fault", FAULTS)
def test_file_system_without_flock_only(neurolens, small_trace, shim, fault):
    """SQLite's locks are there: imports work, and gc takes nothing whose owner it cannot know."""
    ledger = without_locks(neurolens, shim, fault, "FLOCK")
    run = ledger.import_file(small_trace)["run_id"]
    assert ledger("gc", "--json").code == OK
    assert neurolens("verify", run).code == OK


def test_write_that_was_cut_off_without_locks(neurolens, labelled_run, shim):
    """A journal beside the state says that a write was cut off; without locks it cannot be put right safely."""
    (neurolens.ledger / "state.sqlite-journal").write_bytes(b"x" * 512)
    ledger = without_locks(neurolens, shim, "ENOLCK", "FCNTL", "FLOCK")
    assert error_code(ledger("runs", "--json", code=MISSING)) == "unavailable"


# ---- Export and import of the state


def test_state_goes_to_another_ledger(neurolens, labelled_run, small_trace, tmp_path):
    neurolens("label", labelled_run, "model=other")
    neurolens("note", labelled_run, "a\nnote")
    exported = neurolens("state", "export").out
    records = [json.loads(line) for line in exported.splitlines()]
    assert {one["record"] for one in records} == {"receipt", "label", "past_label", "tag", "note", "baseline"}
    path = tmp_path / "state.jsonl"
    path.write_text(exported)
    other = Neurolens(tmp_path / "other")
    shutil.copytree(neurolens.bundle(labelled_run), other.bundle(labelled_run))
    other("gc", "--reindex")
    assert other("state", "import", path, "--json").data == {"records": len(records), "added": len(records)}
    assert other.runs() == neurolens.runs()
    assert other("state", "export").out == exported
    assert other("state", "import", path, "--json").data["added"] == 0, "again changes nothing"
    assert neurolens("state", "export", "--json").data["lines"] == records


@pytest.mark.parametrize("line", ["no json", "{}", '{"record": "spell"}', '{"record": "tag", "run_id": 7}', "[1]"])
def test_bad_state_is_not_imported(neurolens, labelled_run, tmp_path, line):
    """All or nothing, and the error names the line."""
    path = tmp_path / "state.jsonl"
    path.write_text(neurolens("state", "export").out.replace("gold", "silver") + line + "\n")
    result = neurolens("state", "import", path, "--json", code=BAD_INPUT)
    assert error_code(result) == "bad_input"
    assert f"{path}:{len(path.read_text().splitlines())}" in result.envelope["error"]["message"]
    assert neurolens("tag", labelled_run, "--json").data["tags"] == ["gold"]


# ---- Many runs


@pytest.mark.slow
def test_many_runs(tmp_path):
    """The limits of tests/scale by CPU time with 5,000 runs; NEUROLENS_SCALE_RUNS=100000 for all of them."""
    runs = os.environ.get("NEUROLENS_SCALE_RUNS", "5000")
    script = REPOSITORY / "tests/scale/bench_ledger.py"
    done = subprocess.run([sys.executable, script, "--runs", runs, "--calls", "10", "--busy"], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == OK, done.stdout + done.stderr
