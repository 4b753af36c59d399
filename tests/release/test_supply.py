"""What enters a release: parts by their hashes, no more libraries than listed, package lists of these days, no known weakness, and
a signature over all."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from conftest import DEPS, REPOSITORY

CHECK_SBOM = REPOSITORY / "tools/check_sbom.py"


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


@pytest.mark.parametrize("part", ["html-validate", "mcp-conformance", "oidc-provider", "speedscope"])
def test_npm_lock_has_hashes(part):
    lock = json.loads((REPOSITORY / "tools" / part / "package-lock.json").read_text())
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


# Known weaknesses


@pytest.fixture
def sbom(tmp_path):
    """A file with parts by their purls."""
    def write(*purls):
        path = tmp_path / "sbom.spdx.json"
        path.write_text(json.dumps({"packages": [{"name": p, "externalRefs": [
            {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": p}]} for p in purls]}))
        return path
    return write


OPENSSL = "pkg:deb/debian/openssl@{}?arch=source&distro=debian-12"
ADVISORIES = {
    "TEST-1": {"affected": [{"package": {"ecosystem": "Debian:12", "name": "openssl"}, "ranges": [
        {"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "3.0.22-1~deb12u1"}]}]}]},
    "TEST-2": {"affected": [{"package": {"ecosystem": "Debian:13", "name": "openssl"}, "ranges": [
        {"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}]},
    "TEST-3": {"affected": [{"ranges": [{"type": "GIT", "repo": "https://github.com/duckdb/duckdb", "events": [{"introduced": "0"}]}],
                             "versions": ["v1.5.4", "v1.5.5"]}]},
    "TEST-4": {"withdrawn": "2026-01-01T00:00:00Z", "affected": [{"package": {"ecosystem": "Debian:12", "name": "openssl"},
               "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}]}]}]},
}


@pytest.fixture(params=["folder", "zip"])
def advisories(request, tmp_path):
    folder = tmp_path / "advisories"
    folder.mkdir()
    if request.param == "folder":
        for key, advisory in ADVISORIES.items():
            (folder / f"{key}.json").write_text(json.dumps({"id": key} | advisory))
        return folder
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for key, advisory in ADVISORIES.items():
            archive.writestr(f"{key}.json", json.dumps({"id": key} | advisory))
    return folder / "all.zip"


@pytest.mark.parametrize(("purl", "findings"), [
    (OPENSSL.format("3.0.20-1~deb12u2"), ["TEST-1"]), (OPENSSL.format("3.0.22-1~deb12u2"), []),
    ("pkg:github/duckdb/duckdb@1.5.5", ["TEST-3"]), ("pkg:github/duckdb/duckdb@1.5.6", []),
    ("pkg:deb/debian/libzstd@1.5.4%2Bdfsg2-5?arch=source&distro=debian-12", [])])
def test_weaknesses_are_found_by_version(purl, findings, sbom, advisories):
    done = run(sys.executable, CHECK_SBOM, "--advisories", advisories, "--require", sbom(purl))
    assert re.findall(r"^sbom: (TEST-\d)", done.stdout, re.M) == findings
    assert done.returncode == (1 if findings else 0), done.stdout


def test_accepted_advisories_are_no_findings(sbom, advisories, tmp_path):
    accepted = tmp_path / "accepted.json"
    accepted.write_text('{"TEST-1": "we do not call it"}')
    path = sbom(OPENSSL.format("3.0.20-1~deb12u2"))
    done = run(sys.executable, CHECK_SBOM, "--advisories", advisories, "--accepted", accepted, path)
    assert done.returncode == 0 and "we do not call it" in done.stdout


def test_nothing_to_compare_with_is_said(sbom, tmp_path):
    environment = {k: v for k, v in os.environ.items() if k != "NEUROLENS_ADVISORIES"}
    path = sbom(OPENSSL.format("3.0.20-1"))
    done = run(sys.executable, CHECK_SBOM, path, env=environment)
    assert done.returncode == 0 and "no advisory data given: not checked" in done.stdout
    assert run(sys.executable, CHECK_SBOM, "--require", path, env=environment).returncode == 2
    (tmp_path / "empty").mkdir()
    assert run(sys.executable, CHECK_SBOM, "--advisories", tmp_path / "empty", path, env=environment).returncode == 2


def test_sbom_names_parts_as_advisories_do(release):
    purls = [release.purl(part) for part in release.parts("x86_64")]
    assert sum(p is None for p in purls) == 1  # declarations of ONNX Runtime
    assert any(p and p.startswith("pkg:deb/debian/openssl@3.") for p in purls)
    assert any(p and p.startswith("pkg:github/duckdb/duckdb@") for p in purls)


# Signature


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", str(path)], check=True)
    return path


@pytest.fixture
def dist(tmp_path, release):
    folder = tmp_path / "dist"
    folder.mkdir()
    (folder / "neurolens.tar.gz").write_bytes(b"package")
    release.write_sums(folder)
    return folder


def verify(dist, key):
    """The commands of docs/install.md."""
    signers = dist.parent / "allowed_signers"
    signers.write_text(f"releases@neurolens {pathlib.Path(f'{key}.pub').read_text()}")
    script = (f"ssh-keygen -Y verify -f {signers} -I releases@neurolens -n neurolens -s SHA256SUMS.sig < SHA256SUMS && "
              "sha256sum -c SHA256SUMS")
    return run("bash", "-c", script, cwd=dist).returncode == 0


def sign(dist, *arguments, key=None):
    environment = {k: v for k, v in os.environ.items() if k != "NEUROLENS_SIGNING_KEY"}
    if key:
        environment["NEUROLENS_SIGNING_KEY"] = str(key)
    return run(sys.executable, REPOSITORY / "tools/release", "--output", dist, *arguments, env=environment)


def test_signature_verifies_until_something_changes(dist, key, tmp_path):
    signed = sign(dist, "--only-sign", "--sign", key)
    assert signed.returncode == 0, signed.stdout
    assert verify(dist, key)
    assert sign(dist, "--only-sign", key=key).returncode == 0 and verify(dist, key)  # again, by the environment
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    assert not verify(dist, other)
    (dist / "neurolens.tar.gz").write_bytes(b"changed")
    assert not verify(dist, key)
    (dist / "SHA256SUMS").write_text(f"{hashlib.sha256(b'changed').hexdigest()}  neurolens.tar.gz\n")
    assert not verify(dist, key)


def test_sums_do_not_depend_on_a_signature(dist, key, release):
    before = (dist / "SHA256SUMS").read_text()
    sign(dist, "--only-sign", "--sign", key)
    release.write_sums(dist)
    assert (dist / "SHA256SUMS").read_text() == before


@pytest.mark.parametrize("arguments", [["--require-signature"], ["--only-sign"], ["--sign", "no-such-key", "--only-sign"]])
def test_no_key_is_said(dist, arguments):
    done = sign(dist, *arguments)
    assert done.returncode != 0 and "unsigned" in done.stdout
    assert not (dist / "SHA256SUMS.sig").exists()
