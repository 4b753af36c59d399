"""The packages: complete, true to their tags, the same bytes for the same binary, and usable at once."""

import base64
import email
import hashlib
import json
import os
import pathlib
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
    assert archives == {"isal", "zstd", "sqlite3", "crypto", "ssl", "yaml-cpp", "re2", "cmark"}
    foreign = set(re.findall(re.escape(str(DEPS)) + r"/([\w.-]+?)/lib/", link)) - {"sysroot-x86_64"}
    assert foreign == {"duckdb-1.5.5-x86_64"}


def test_sums_are_right():
    lines = package("SHA256SUMS").read_text().splitlines()
    assert {line.split("  ")[1] for line in lines} == {p.name for p in DIST.iterdir()} - {"SHA256SUMS", "SHA256SUMS.sig"}
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((DIST / name).read_bytes()).hexdigest() == digest


def test_packages_are_written_to_the_same_bytes(release, tmp_path):
    binaries = [REPOSITORY / "build/release" / name for name in release.BINARIES.values()]
    if not all(map(os.path.exists, binaries)):
        pytest.skip("run tools/release first")
    release.write_packages("x86_64", *binaries, tmp_path)
    for path in tmp_path.iterdir():
        # Not the bytes themselves: pytest would look for the difference in 30 MB for an hour.
        assert hashlib.sha256(path.read_bytes()).digest() == hashlib.sha256((DIST / path.name).read_bytes()).digest(), path.name


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


@pytest.mark.parametrize("machine", MACHINES)
def test_wheel_holds_package_extension_header_and_licences(machine, release, tmp_path):
    with zipfile.ZipFile(package(f"neurolens-*-cp39-abi3-manylinux_2_28_{machine}.whl")) as wheel:
        wheel.extractall(tmp_path)
    sources = {p.name for p in (REPOSITORY / "python/neurolens").iterdir() if p.suffix in (".py", ".pyi", ".typed")}
    assert {p.name for p in (tmp_path / "neurolens").iterdir()} == sources | {"_markers.abi3.so", "include", "py.typed"}
    header = "include/neurolens/neurolens.h"
    assert (tmp_path / "neurolens" / header).read_bytes() == (REPOSITORY / header).read_bytes()
    needed, _ = release.check_portable(machine, tmp_path / "neurolens/_markers.abi3.so")
    assert set(needed) <= {"libc.so.6", "libdl.so.2", "ld-linux-aarch64.so.1"}
    (info,) = tmp_path.glob("*.dist-info")
    assert {p.name for p in (info / "licenses").iterdir()} == {"LICENSE", "THIRD_PARTY_NOTICES", "sbom.spdx.json"}
    assert (info / "entry_points.txt").read_text() == "[pytest11]\nneurolens = neurolens.pytest_plugin\n"


def test_extension_needs_no_private_symbol_of_python(tmp_path):
    """Those below belong to the stable ABI all the same: macros of the limited API use them."""
    with zipfile.ZipFile(package("neurolens-*_x86_64.whl")) as wheel:
        wheel.extract("neurolens/_markers.abi3.so", tmp_path)
    symbols = subprocess.run(["nm", "-D", "--undefined-only", tmp_path / "neurolens/_markers.abi3.so"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout.split()
    assert "PyModule_Create2" in symbols
    stable = {"_Py_NoneStruct", "_Py_TrueStruct", "_Py_Dealloc", "_PyObject_New", "_PyArg_ParseTuple_SizeT", "_Py_BuildValue_SizeT"}
    assert {s for s in symbols if s.startswith("_Py")} <= stable


def test_clone_and_release_have_the_same_metadata(tmp_path):
    """What scikit-build-core makes of pyproject.toml for `pip install .`, beside what tools/release writes."""
    make = "import sys; from scikit_build_core.build import *; print(prepare_metadata_for_build_wheel(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", make, tmp_path], cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        pytest.skip("no scikit-build-core: run tools/setup")
    folder = tmp_path / done.stdout.splitlines()[-1]
    with zipfile.ZipFile(package("neurolens-*_x86_64.whl")) as wheel:
        ours = {name: wheel.read(f"{folder.name}/{name}").decode() for name in ("METADATA", "entry_points.txt")}
    assert ours["entry_points.txt"].split() == (folder / "entry_points.txt").read_text().split()
    released, cloned = (email.message_from_string(text) for text in (ours["METADATA"], (folder / "METADATA").read_text()))
    fields = [[item for item in message.items() if item[0] != "License-File"] for message in (released, cloned)]
    assert sorted(fields[0]) == sorted(fields[1]) and len(fields[0]) > 15
    assert released.get_payload().strip() == cloned.get_payload().strip()


def test_a_clone_without_dependencies_says_what_to_run(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-w", tmp_path / "wheel",
               f"--config-settings=build-dir={tmp_path / 'build'}", REPOSITORY]
    done = subprocess.run(command, env={**os.environ, "NEUROLENS_DEPS": str(tmp_path / "missing")}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if "No module named 'scikit_build_core'" in done.stdout:
        pytest.skip("no scikit-build-core: run tools/setup")
    assert done.returncode != 0 and "run tools/setup first" in done.stdout, done.stdout


@pytest.fixture
def fresh(tmp_path):
    """A fresh environment, with nothing in it."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    return tmp_path / "venv"


def interpreter(version):
    """An interpreter of that version, in the path or kept by pyenv."""
    kept = pathlib.Path(os.environ.get("PYENV_ROOT") or pathlib.Path.home() / ".pyenv").glob(f"versions/{version}.*/bin/python3")
    for path in [*kept, shutil.which(f"python{version}")]:
        if path and subprocess.run([path, "-c", "import venv"], stderr=subprocess.DEVNULL).returncode == 0:
            return path
    pytest.skip(f"no Python {version}")


def install(wheel, folder):
    subprocess.run(offline([folder / "bin/pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel]), check=True)


def test_quick_start_of_the_readme_as_written(fresh, tmp_path):
    install(package("neurolens-*_x86_64.whl"), fresh)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["PATH"] = f"{fresh / 'bin'}:{environment['PATH']}"
    done = subprocess.run(offline([fresh / "bin/python", REPOSITORY / "tools/run_readme.py", REPOSITORY / "README.md"]),
                          cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0 and "fine" in done.stdout, done.stdout


MARKED = """
import neurolens
assert neurolens.is_recording() and neurolens._markers.__name__ == "neurolens._markers"
with neurolens.scope("prefill"):
    neurolens.mark_event("sampled", token=42)
"""


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.11", "3.12", "3.13"])
def test_the_installed_package_records_reads_and_compiles(version, tmp_path):
    fresh = tmp_path / "venv"
    subprocess.run([interpreter(version), "-m", "venv", fresh], check=True)
    install(package("neurolens-*_x86_64.whl"), fresh)
    python, program = fresh / "bin/python", fresh / "bin/neurolens"
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "NEUROLENS_PROGRAM")}
    environment["NEUROLENS_LEDGER"] = str(tmp_path / "ledger")

    def run(*command):
        return subprocess.run(offline(command), cwd=tmp_path, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    recorded = json.loads(run(program, "record", "--json", "--", python, "-c", MARKED))["data"]
    assert recorded["markers"] == {"recorded": 3, "lost": {}}
    read = "import neurolens, json; print(json.dumps(neurolens.open('@latest').rows('SELECT name FROM spans ORDER BY span_id')))"
    assert {row["name"] for row in json.loads(run(python, "-c", read))} == {"prefill", "sampled"}
    assert run(python, "-c", "import neurolens; print(neurolens._cli.program())").strip() == str(program)
    (tmp_path / "marked.c").write_text('#include <neurolens/neurolens.h>\nint main(void) { return neurolens_recording() != 0; }\n')
    headers = run(python, "-c", "import neurolens; print(neurolens.include_dir())").strip()
    run("gcc", "-std=gnu99", f"-I{headers}", "marked.c", "-o", "marked", "-ldl")
    run("./marked")


def test_wheel_and_demo_in_a_fresh_environment_offline(fresh, tmp_path):
    begin = time.monotonic()
    install(package("neurolens-*_x86_64.whl"), fresh)
    shown = subprocess.run(offline([fresh / "bin/neurolens", "demo"]), cwd=tmp_path, check=True,
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
