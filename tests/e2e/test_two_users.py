"""Two users of one machine: what one can read, change or run in the ledger of the other, and what a planted ledger can do.

Needs root, to become other users. SECURITY.md says what is expected, section Ledgers of several users.
"""

import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest

from conftest import BINARY, GATE_FAILED, MISSING, OK, Neurolens

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become other users")

ALICE, BOB, CAROL = 65533, 65532, 65531
TEAM = 65500  # alice and bob


class User(Neurolens):
    """The binary, called by somebody."""

    def __init__(self, number, home, groups=()):
        super().__init__(home / "ledger", {"HOME": str(home), "XDG_RUNTIME_DIR": "", "TMPDIR": ""})
        self.number, self.home, self.groups = number, home, list(groups)
        self.environment.pop("NEUROLENS_LEDGER", None)

    def as_user(self, umask=0o022):
        return {"user": self.number, "group": self.number, "extra_groups": self.groups, "umask": umask}

    def __call__(self, *arguments, umask=0o022, **options):
        return super().__call__(*arguments, **self.as_user(umask), **options)

    def at(self, ledger):
        other = User(self.number, self.home, self.groups)
        other.ledger = pathlib.Path(ledger)
        return other

    def shell(self, script, **options):
        return subprocess.run(["sh", "-c", script], capture_output=True, text=True, env=self.environment, **self.as_user(), **options)

    def can(self, script):
        return self.shell(script).returncode == 0


@pytest.fixture
def place():
    """Everybody may look into it; the folders of pytest are root's alone."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="neurolens-two-users-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def user_at(place, name, number, groups=()):
    home = place / name
    home.mkdir()
    os.chown(home, number, number)
    home.chmod(0o755)
    probe = subprocess.run([str(BINARY), "--version"], capture_output=True, user=number, group=number, extra_groups=[])
    if probe.returncode != 0:
        pytest.skip(f"other users cannot run {BINARY}")
    return User(number, home, groups)


@pytest.fixture
def alice(place):
    return user_at(place, "alice", ALICE, [TEAM])


@pytest.fixture
def bob(place):
    return user_at(place, "bob", BOB, [TEAM])


@pytest.fixture
def carol(place):
    return user_at(place, "carol", CAROL)


@pytest.fixture
def trace(place, small_trace):
    path = place / "small.json"
    shutil.copy(small_trace, path)
    path.chmod(0o644)
    return path


@pytest.fixture
def other_trace(place, make_trace):
    path = place / "other.json"
    shutil.copy(make_trace(7), path)
    path.chmod(0o644)
    return path


def everything_in(folder):
    return [folder, *sorted(folder.rglob("*"))]


def modes(folder):
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in everything_in(folder)}


# ---- A ledger as it is made


def fill(user, trace):
    run = user.import_file(trace)["run_id"]
    user("analyze", run)
    user("label", run, "model=x")
    user("similar", run, code=None)
    recorded = user("record", "--silent", "--json", "--", "echo", "hello").data["run_id"]
    return run, recorded


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o077])
def test_a_new_ledger_is_its_owners(alice, bob, trace, umask):
    alice.umask = umask
    run = alice("import", trace, "--json", umask=umask).data["run_id"]
    alice("analyze", run, umask=umask)
    alice("record", "--silent", "--", "echo", "hello", umask=umask)
    for name, mode in modes(alice.ledger).items():
        assert mode & 0o077 == 0, f"{name} is {mode:o}"
    assert not bob.can(f"ls {alice.ledger}") and not bob.can(f"cat {alice.ledger}/state.sqlite")
    assert not bob.can(f"cat {alice.ledger}/runs/{run}/run.json") and not bob.can(f"touch {alice.ledger}/x")
    result = bob.at(alice.ledger)("runs", "--json", code=None)
    assert result.code == MISSING, result


def test_a_ledger_keeps_the_permissions_that_its_owner_gave(alice, trace):
    alice.shell(f"mkdir {alice.ledger} && chmod 755 {alice.ledger}")
    fill(alice, trace)
    artifacts = [path for path in alice.ledger.rglob("artifacts")]
    assert artifacts and all(stat.S_IMODE(path.stat().st_mode) == 0o700 for path in artifacts), "what programs say stays private"
    for path in everything_in(alice.ledger):
        if any(part in ("artifacts", "recordings") for part in path.parts):
            continue
        wanted = 0o755 if path.is_dir() else 0o644
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


# ---- A ledger that a group shares


@pytest.fixture
def shared(alice, place):
    """As SECURITY.md says how to make one."""
    ledger = place / "shared"
    ledger.mkdir()
    os.chown(ledger, ALICE, TEAM)
    ledger.chmod(0o2770)
    return ledger


def test_a_group_shares_a_ledger(alice, bob, carol, trace, other_trace, shared):
    first, recorded = fill(alice.at(shared), trace)
    ledger = bob.at(shared)
    assert {run["run_id"] for run in ledger.runs()} == {first, recorded}
    assert ledger("show", first, "--json").data["run_id"] == first
    assert ledger("verify", first, "--json").data["verified"]
    imported = ledger("import", other_trace, "--json")
    assert any("belongs to" in warning for warning in imported.envelope["warnings"]), imported
    ledger("label", first, "variant=bob")
    shutil.rmtree(shared / "runs" / first / "derived")
    os.chown(shared / "runs" / first, ALICE, TEAM)
    assert ledger("analyze", first, "--json").code == OK
    second = imported.data["run_id"]
    assert alice.at(shared)("show", second, "--json").code == OK
    assert alice.at(shared)("analyze", second, "--json").code == OK
    for path in everything_in(shared):
        if any(part in ("artifacts", "recordings") for part in path.parts):
            continue
        mode, info = stat.S_IMODE(path.stat().st_mode), path.stat()
        assert mode & 0o007 == 0 and info.st_gid == TEAM, f"{path} {mode:o}"
        assert mode & 0o060 == 0o060, f"{path} {mode:o}"
    assert carol.at(shared)("runs", "--json", code=None).code == MISSING and not carol.can(f"ls {shared}")
    assert not bob.can(f"ls {shared}/runs/{recorded}/artifacts"), "the output of a program is its recorder's"
    assert not any(
        path.suffix == ".so" or (os.access(path, os.X_OK) and path.is_file() and path.stat().st_mode & 0o111)
        for path in everything_in(shared)
    ), "no code in a ledger"
    bob.at(shared)("gc")
    assert list((shared / "staging").iterdir()) == []


def test_a_recording_of_another_user_is_left_alone(alice, bob, shared):
    alice.at(shared)("record", "--silent", "--", "true")
    left = shared / "recordings" / "1-left"
    left.mkdir()
    os.chown(left, ALICE, TEAM)
    left.chmod(0o700)
    result = bob.at(shared)("record", "--recover", "--json")
    assert result.data["runs"] == [] and left.exists()


# ---- A ledger that everybody may write to


def test_a_ledger_of_everybody_is_only_read(alice, bob, trace, other_trace):
    run, _ = fill(alice, trace)
    alice.shell(f"chmod -R o+rwX {alice.ledger}")
    for user in (alice, bob.at(alice.ledger)):
        result = user("import", other_trace, "--json", code=MISSING)
        error = result.envelope["error"]
        assert error["code"] == "permission" and "chmod o-w" in error["hint"], result
    assert bob.at(alice.ledger)("show", run, "--json").code == OK
    assert bob.at(alice.ledger)("analyze", run, "--json").code == OK


# ---- A ledger that another user planted


@pytest.fixture
def planted(bob, trace):
    """A ledger of bob's that everybody may read, with one run."""
    bob.shell(f"mkdir {bob.ledger} && chmod 755 {bob.ledger}")
    bob.run = bob.import_file(trace)["run_id"]
    bob("analyze", bob.run)
    return bob


def victims(alice):
    """Files of alice that must stay as they are."""
    folder = alice.home / "precious"
    alice.shell(f"mkdir {folder} && echo precious > {folder}/file && echo precious > {folder}/index.sqlite")
    return folder


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else b"" for p in sorted(folder.rglob("*"))}


def open_to_all(folder):
    for path in everything_in(folder):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | 0o066 | (0o011 if path.is_dir() else 0))


READING = (
    ["runs"],
    ["show", "@latest"],
    ["analyze", "@latest"],
    ["findings", "@latest"],
    ["verify", "@latest"],
    ["similar", "@latest"],
    ["gc"],
    ["label", "@latest", "a=b"],
    ["record", "--silent", "--", "true"],
    ["record", "--recover"],
)

LINKS = ("state.sqlite", "index.sqlite", "staging", "runs", "recordings", "fingerprints", "runs/RUN", "runs/RUN/derived")


@pytest.mark.parametrize("is_open", [False, True], ids=["to read", "to write"])
@pytest.mark.parametrize("link", LINKS)
def test_links_in_a_planted_ledger_lead_nowhere(alice, planted, other_trace, link, is_open):
    precious = victims(alice)
    before = contents(precious)
    path = planted.ledger / link.replace("RUN", planted.run)
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    target = precious / "file" if link.endswith(".sqlite") else precious
    assert planted.can(f"ln -s {target} {path}")
    if is_open:
        open_to_all(planted.ledger)
    for arguments in (*READING, ["import", str(other_trace)]):
        result = (
            alice.at(planted.ledger)(*arguments, "--json", code=None)
            if "--" not in arguments
            else alice.at(planted.ledger)(*arguments, code=None)
        )
        assert result.code in (0, 1, 2, 3), result
    assert contents(precious) == before


def test_a_planted_ledger_is_read_as_data(alice, planted):
    """Derived tables are missing, and the run is open to all: nothing is written into a folder of bob's. What needs those tables
    says so."""
    shutil.rmtree(planted.ledger / "runs" / planted.run / "derived")
    before = contents(planted.ledger)
    open_to_all(planted.ledger)
    reader = alice.at(planted.ledger)
    assert reader("runs", "--json").data["runs"][0]["run_id"] == planted.run
    for arguments in (["show", planted.run], ["analyze", planted.run], ["verify", planted.run], ["similar", planted.run]):
        result = reader(*arguments, "--json", code=None)
        assert result.code in (OK, GATE_FAILED) or result.envelope["error"]["code"] == "permission", result
    assert contents(planted.ledger) == before


def test_no_code_of_a_planted_ledger_runs(alice, planted, place):
    """Every name that was ever loaded from a ledger is there, and says so when it is."""
    ledger = planted.ledger
    loaded = place / "loaded"
    source = place / "evil.c"
    source.write_text(
        "#include <stdio.h>\n__attribute__((constructor)) static void go(void) "
        f'{{ FILE* f = fopen("{loaded}", "w"); if (f) fclose(f); }}\nvoid* neurolens_collect(int v) {{ return 0; }}\n'
    )
    built = subprocess.run(["cc", "-shared", "-fPIC", "-o", place / "evil.so", source], capture_output=True)
    if built.returncode != 0:
        pytest.skip("no C compiler")
    for folder in (ledger, ledger / "recordings", ledger / "recordings/live", ledger / "staging"):
        folder.mkdir(exist_ok=True)
        shutil.copy(place / "evil.so", folder / "libneurolens_collect.so")
    os.chown(ledger, BOB, TEAM)
    for path in everything_in(ledger):
        os.chown(path, BOB, TEAM)
        path.chmod(0o2770 if path.is_dir() else 0o660)
    result = alice.at(ledger)(
        "record", "--silent", "--json", "--", "sh", "-c", "env | grep -E 'NEUROLENS_COLLECT|INJECTION' >&2; env", code=None
    )
    assert result.code == OK, result
    artifacts = pathlib.Path(result.data["artifacts"])
    variables = dict(line.split("=", 1) for line in (artifacts / "stdout.txt").read_text().splitlines() if "=" in line)
    for name in ("NEUROLENS_COLLECT", "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"):
        assert not variables[name].startswith(str(ledger)), name
    assert not loaded.exists()


def test_root_reads_the_ledgers_of_others(alice, trace, other_trace):
    """Its owner could lead root anywhere while it writes."""
    run = alice.import_file(trace)["run_id"]
    root = Neurolens(alice.ledger)
    assert root("show", run, "--json").data["run_id"] == run
    assert root("import", other_trace, "--json", code=MISSING).envelope["error"]["code"] == "permission"
