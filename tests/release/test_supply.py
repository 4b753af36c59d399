"""What enters a release: parts by their hashes, no more libraries than listed, package lists of these days."""

import hashlib
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import DEPS, REPOSITORY


def run(*command, **options):
    return subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


# Hashes


def test_every_pip_install_wants_hashes():
    """pip and npm in scripts and workflows; what pages tell users to install is theirs to choose."""
    scripts = [p for folder in ("tools", ".ci", ".github", "fuzz", "bench") for p in (REPOSITORY / folder).rglob("*")
               if p.is_file() and p.suffix in ("", ".sh", ".yml")]
    found = 0
    for script in scripts:
        text = script.read_text(errors="replace").replace("\\\n", " ")
        for line in text.splitlines():
            if re.search(r"\bpip\"? (install|download)\b", line) and not line.lstrip().startswith("#"):
                found += 1
                assert "--require-hashes" in line and "--only-binary=:all:" in line, f"{script}: {line}"
            assert not re.search(r"\bnpm (install|i) ", line), f"{script}: {line}"
    assert found >= 4


@pytest.mark.parametrize("name", sorted(p.name for p in (REPOSITORY / "tools").glob("*requirements.txt")))
def test_requirements_have_versions_and_hashes(name):
    lines = [line for line in (REPOSITORY / "tools" / name).read_text().splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        assert re.fullmatch(r"[\w.-]+==\S+( --hash=sha256:[0-9a-f]{64})+", line), line
    source = REPOSITORY / "tools" / name.replace(".txt", ".in")
    if source.exists():
        wanted = {line.lower() for line in source.read_text().splitlines() if line and not line.startswith("#")}
        assert wanted <= {line.split()[0].lower().replace("_", "-") for line in lines}


def test_npm_lock_has_hashes():
    lock = json.loads((REPOSITORY / "tools/html-validate/package-lock.json").read_text())
    packages = {name: package for name, package in lock["packages"].items() if name}
    assert packages
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())


def test_setup_places_only_what_is_listed(tmp_path):
    """check_and_place of tools/setup, with a listed file, with one more, and with another content."""
    text = (REPOSITORY / "tools/setup").read_text()
    function = re.search(r"^check_and_place\(\) \{\n.*?^\}\n", text, re.S | re.M)[0]
    sums = tmp_path / "sums"
    sums.write_text(f"{hashlib.sha256(b'good').hexdigest()}  part-1/lib/libgood.a\n")

    def place(files):
        stage = tmp_path / "stage"
        shutil.rmtree(stage, ignore_errors=True)
        for name, data in files.items():
            (stage / name).parent.mkdir(parents=True, exist_ok=True)
            (stage / name).write_bytes(data)
        script = f"set -euo pipefail\nsums={sums}\ndeps={tmp_path}/deps\nmkdir -p $deps\n{function}\ncheck_and_place part-1 {stage}"
        return run("bash", "-c", script).returncode

    assert place({"lib/libgood.a": b"good"}) == 0
    assert place({"lib/libgood.a": b"good", "lib/libextra.a": b"more"}) != 0
    assert place({"lib/libgood.a": b"evil"}) != 0
    assert place({}) != 0


# Libraries


@pytest.fixture
def deps_copy(tmp_path):
    """.deps by links, but for DuckDB, whose folder is one of our own."""
    folder = tmp_path / "deps"
    folder.mkdir()
    for part in DEPS.iterdir():
        if not part.name.startswith("duckdb"):
            (folder / part.name).symlink_to(part)
    duckdb = next(DEPS.glob("duckdb-*-x86_64"))
    shutil.copytree(duckdb, folder / duckdb.name)
    return folder


def configure(deps, folder):
    return run("cmake", "--preset", "release", "-B", folder, cwd=REPOSITORY, env=os.environ | {"NEUROLENS_DEPS": str(deps)})


def test_a_library_that_is_not_listed_is_not_linked(deps_copy, tmp_path):
    lib = next(deps_copy.glob("duckdb-*")) / "lib"
    (lib / "libstranger.a").write_bytes(b"!<arch>\n")
    made = configure(deps_copy, tmp_path / "build")
    assert made.returncode == 0, made.stdout
    ninja = (tmp_path / "build/build.ninja").read_text()
    assert "libduckdb_static.a" in ninja and "libstranger" not in ninja


def test_a_library_with_other_bytes_is_refused(deps_copy, tmp_path):
    library = next(deps_copy.glob("duckdb-*")) / "lib/libduckdb_zstd.a"
    library.write_bytes(library.read_bytes() + b"\n")
    made = configure(deps_copy, tmp_path / "build")
    assert made.returncode != 0 and "libduckdb_zstd.a" in made.stdout


# Package lists


@pytest.mark.parametrize(("days", "age", "fine"), [("14", 3, True), ("14", 20, False), ("any", 900, True)])
def test_sysroot_refuses_old_lists(days, age, fine, tmp_path):
    """check_lists of tools/sysroot on lists of a given age."""
    text = (REPOSITORY / "tools/sysroot").read_text()
    function = re.search(r"^check_lists\(\) \{\n.*?^\}\n", text, re.S | re.M)[0]
    lists = tmp_path / "apt-bookworm/lists"
    lists.mkdir(parents=True)
    date = run("date", "-u", "-R", "-d", f"{age} days ago").stdout
    (lists / "mirror_bookworm-security_InRelease").write_text(f"Codename: bookworm-security\nDate: {date}")
    (lists / "mirror_bookworm_InRelease").write_text("Codename: bookworm\nDate: Sat, 11 Jul 2020 10:00:00 UTC\n")
    done = run("bash", "-c", f"set -euo pipefail\ntmp={tmp_path}\nsecurity=mirror\n{function}\ncheck_lists bookworm {days}")
    assert (done.returncode == 0) == fine, done.stdout
    assert fine or f"{age} days old" in done.stdout


def test_sysroot_wants_security_updates(tmp_path):
    text = (REPOSITORY / "tools/sysroot").read_text()
    function = re.search(r"^check_lists\(\) \{\n.*?^\}\n", text, re.S | re.M)[0]
    (tmp_path / "apt-bookworm/lists").mkdir(parents=True)
    (tmp_path / "apt-bookworm/lists/m_InRelease").write_text("Codename: bookworm\nDate: Sat, 11 Jul 2026 10:00:00 UTC\n")
    done = run("bash", "-c", f"set -euo pipefail\ntmp={tmp_path}\nsecurity=mirror\n{function}\ncheck_lists bookworm any")
    assert done.returncode != 0 and "bookworm-security" in done.stdout
