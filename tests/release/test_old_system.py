"""First use on a node with an old image: a shell, no compiler, no git, no Python, no network, no browser."""

import shutil

import pytest

from conftest import REPOSITORY, TRACES

SAMPLE = REPOSITORY / "samples/kineto_small.json"


def test_nothing_but_a_shell_is_there(old_system):
    for program in ("git", "gcc", "python3", "curl", "less", "xdg-open"):
        assert old_system.run(f"command -v {program}").returncode != 0
    assert "2.31" in old_system.run("getconf GNU_LIBC_VERSION").stdout


def test_version_help_and_doctor(old_system):
    assert old_system.run("neurolens --version").stdout.startswith("neurolens 0.1.0")
    assert "neurolens demo" in old_system.run("neurolens --help").stdout
    assert old_system.run("neurolens doctor", {"HOME": "/root"}).returncode == 0


def test_demo(old_system):
    done = old_system.run("cd /tmp && neurolens demo", {"HOME": "/root"})
    assert done.returncode == 0, done.stderr
    assert "improvement" in done.stdout and "neurolens view" in done.stdout + done.stderr
    assert (old_system.root / "tmp/neurolens-demo/report.html").exists()


def test_view_says_how_to_fetch_the_page(old_system):
    done = old_system.run(f"neurolens view --offline {SAMPLE}",
                          {"HOME": "/root", "USER": "ada", "SSH_CONNECTION": "10.0.0.2 50000 10.0.0.9 22"})
    assert done.returncode == 0, done.stderr
    assert "scp" in done.stdout and "10.0.0.9" in done.stdout


@pytest.mark.parametrize("environment, user", [({}, "root"), ({"HOME": "/nonexistent"}, "65534"), ({"HOME": "/"}, "65534")])
def test_a_home_that_is_missing_or_read_only_is_explained(old_system, environment, user):
    """Either it works elsewhere, or one line says what to type; and that works."""
    done = old_system.run(f"cd /tmp && neurolens {SAMPLE}", environment, user)
    if done.returncode != 0:
        assert "--ledger" in done.stderr and "terminate" not in done.stderr, done.stderr
    fixed = old_system.run(f"cd /tmp && neurolens --ledger /tmp/ledger-{user} {SAMPLE}", environment, user)
    assert fixed.returncode == 0 and "run a85ba683c6e8" in fixed.stdout, fixed.stderr


def test_odd_path_small_and_dumb_terminal(old_system):
    folder = old_system.root / "tmp/Läufe von heute"
    folder.mkdir(exist_ok=True)
    shutil.copy(SAMPLE, folder / "Spur № 1.json")
    done = old_system.run("cd /tmp && neurolens analyze '/tmp/Läufe von heute/Spur № 1.json'",
                          {"HOME": "/root", "TERM": "dumb", "COLUMNS": "40", "LANG": "C"})
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "limiter" in done.stdout


def test_golden_suite(old_system):
    """The unit and golden tests, built with the release, on the old C library."""
    if not (REPOSITORY / "build/release/bin/neurolens_tests").exists():
        pytest.skip("the tests are not built")
    done = old_system.run(f"{REPOSITORY}/build/release/bin/neurolens_tests --gtest_brief=1 "
                          "--gtest_filter='*Golden*:*Corpus*:*Store*:*Stats*:*Fingerprint*'",
                          {"HOME": "/root", "NEUROLENS_TRACES": str(TRACES)})
    print(done.stdout[-200:])
    assert done.returncode == 0, done.stdout[-3000:]
