"""The packages: complete, true to their tags, the same bytes for the same binary, and usable at once."""

import base64
import hashlib
import importlib.machinery
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile

import pytest

from conftest import DEPS, DIST, REPOSITORY, offline, package

MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@pytest.fixture(scope="session")
def release():
    """tools/release as a module."""
    loader = importlib.machinery.SourceFileLoader("release", str(REPOSITORY / "tools/release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


def unpacked(machine, folder):
    with tarfile.open(package(f"neurolens-*-linux-{machine}.tar.gz")) as tar:
        tar.extractall(folder)
    return next(folder.iterdir())


@pytest.mark.parametrize("machine", MACHINES)
def test_binary_needs_only_an_old_libc(machine, release, tmp_path):
    needed, glibc = release.check_portable(machine, unpacked(machine, tmp_path) / "bin/neurolens")
    assert "libc.so.6" in needed
    assert tuple(map(int, glibc.split("."))) <= (2, 28)


@pytest.mark.parametrize("machine", MACHINES)
def test_tarball_holds_documents_licences_and_completions(machine, tmp_path):
    folder = unpacked(machine, tmp_path)
    assert (folder / "share/bash-completion/completions/neurolens").stat().st_size > 500
    documents = folder / "share/doc/neurolens"
    notices = (documents / "THIRD_PARTY_NOTICES").read_text()
    sbom = json.loads((documents / "sbom.spdx.json").read_text())
    linked = [p for p in sbom["packages"] if p["name"] != "neurolens"]
    assert len(linked) >= 15
    for part in linked:
        assert f"{part['name']} {part['versionInfo']}" in notices
        assert part["licenseConcluded"] != "NOASSERTION"
    own = hashlib.sha256((folder / "bin/neurolens").read_bytes()).hexdigest()
    assert sbom["packages"][0]["checksums"][0]["checksumValue"] == own


def test_every_linked_archive_is_in_the_sbom():
    """A new static library cannot slip in unnamed."""
    ninja = (REPOSITORY / "build/release/build.ninja").read_text()
    link = re.search(r"build bin/neurolens: .*?\n\n", ninja, re.S)[0]
    archives = set(re.findall(r"/usr/lib/x86_64-linux-gnu/lib([\w+-]+)\.(?:a|so)\b", link))
    assert archives == {"isal", "zstd", "sqlite3", "crypto", "yaml-cpp", "re2"}
    foreign = set(re.findall(re.escape(str(DEPS)) + r"/([\w.-]+?)/lib/", link)) - {"sysroot-x86_64"}
    assert foreign == {"duckdb-1.5.5-x86_64"}


def test_sums_are_right():
    lines = package("SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1] for line in lines} == {p.name for p in DIST.iterdir()} - {"SHA256SUMS"}
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == digest


def test_packages_are_written_to_the_same_bytes(release, tmp_path):
    binary = REPOSITORY / "build/release/neurolens.stripped"
    if not binary.exists():
        pytest.skip("run tools/release first")
    release.write_packages("x86_64", binary, tmp_path)
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (DIST / path.name).read_bytes(), path.name


@pytest.mark.parametrize("machine", MACHINES)
def test_wheel_records_its_files(machine):
    with zipfile.ZipFile(package(f"neurolens-*_{machine}.whl")) as wheel:
        record = wheel.read(next(n for n in wheel.namelist() if n.endswith("/RECORD"))).decode()
        rows = [line.rsplit(",", 2) for line in record.splitlines()]
        assert {row[0] for row in rows} == set(wheel.namelist())
        for name, digest, size in rows:
            if digest:
                data = wheel.read(name)
                assert len(data) == int(size)
                assert base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() == digest[7:]


def test_wheel_and_demo_in_a_fresh_environment_offline(tmp_path):
    wheel = package("neurolens-*_x86_64.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    begin = time.monotonic()
    subprocess.run(offline([tmp_path / "venv/bin/pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel]),
                   check=True)
    shown = subprocess.run(offline([tmp_path / "venv/bin/neurolens", "demo"]), cwd=tmp_path, check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    seconds = time.monotonic() - begin
    print(f"pip install and demo: {seconds:.1f} s")
    assert "improvement" in shown and (tmp_path / "neurolens-demo/report.html").exists()
    assert seconds < 20


def test_start_is_quick(tmp_path):
    binary = unpacked("x86_64", tmp_path) / "bin/neurolens"
    times = []
    for _ in range(10):
        begin = time.monotonic()
        subprocess.run([binary, "--help"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - begin)
    print(f"--help: {min(times) * 1e3:.0f} ms, {binary.stat().st_size / 1e6:.1f} MB")
    assert min(times) < 0.1


def test_other_machine_gives_the_same_bytes(tmp_path):
    """The aarch64 binary under an emulator, the x86-64 binary beside it: the same runs, reports and verdict."""
    if not shutil.which("qemu-aarch64-static"):
        pytest.skip("no qemu-aarch64-static: run tools/setup --release")
    for machine, prefix in (("x86_64", []), ("aarch64", ["qemu-aarch64-static", "-L", DEPS / "sysroot-aarch64"])):
        (tmp_path / machine).mkdir()
        binary = unpacked(machine, tmp_path / f"unpacked-{machine}") / "bin/neurolens"
        (tmp_path / machine / "shown.txt").write_bytes(
            subprocess.run([*prefix, binary, "demo"], cwd=tmp_path / machine, check=True, stdout=subprocess.PIPE).stdout)
    files = sorted(p.relative_to(tmp_path / "x86_64") for p in (tmp_path / "x86_64").rglob("*") if p.is_file())
    facts = [f for f in files if f.suffix in (".parquet", ".html", ".txt") or f.name == "run.json"]
    assert len(facts) > 50
    differing = [f for f in facts if (tmp_path / "x86_64" / f).read_bytes() != (tmp_path / "aarch64" / f).read_bytes()]
    assert not differing
