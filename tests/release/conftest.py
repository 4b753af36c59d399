"""What tools/release wrote (in dist/, or NEUROLENS_DIST), tried as a stranger would: in an old system, offline, with nothing
installed. Needs root for chroot, and what `tools/setup --release` installs; a test that lacks something says so."""

import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import subprocess

import pytest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
DIST = pathlib.Path(os.environ.get("NEUROLENS_DIST", REPOSITORY / "dist"))
DEPS = pathlib.Path(os.environ.get("NEUROLENS_DEPS") or REPOSITORY / ".deps").resolve()
TRACES = pathlib.Path(os.environ.get("NEUROLENS_TRACES", REPOSITORY.parent / "shared/traces")).resolve()


def package(pattern):
    """The one file of the release that matches."""
    found = sorted(DIST.glob(pattern))
    if not found:
        pytest.skip(f"{DIST}/{pattern} is not there: run tools/release")
    assert len(found) == 1, found
    return found[0]


@pytest.fixture(scope="session")
def release():
    """tools/release as a module."""
    loader = importlib.machinery.SourceFileLoader("release", str(REPOSITORY / "tools/release"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    loader.exec_module(module)
    return module


def offline(command):
    """In a network namespace of its own, which has no network, where that is allowed."""
    return ["unshare", "-n", *command] if os.geteuid() == 0 else command


class OldSystem:
    """libc (2.31), shell and file tools of Debian 11, nothing else, and NeuroLens from the Debian package."""

    def __init__(self, root):
        self.root = root

    def run(self, script, environment=None, user="root", stdin=subprocess.DEVNULL, **options):
        variables = [f"{k}={v}" for k, v in {"PATH": "/usr/bin:/bin", **(environment or {})}.items()]
        command = ["chroot", f"--userspec={user}", str(self.root), "/usr/bin/env", "-i", *variables, "/bin/sh", "-c", script]
        return subprocess.run(offline(command), stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=600, **options)


def mount(source, target, *options):
    target.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *options, str(source), str(target)], check=True)


@pytest.fixture(scope="session")
def old_system(tmp_path_factory):
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    deb = package("neurolens_*_amd64.deb")
    root = tmp_path_factory.mktemp("old") / "root"
    shutil.copytree(DEPS / "sysroot-x86_64", root, symlinks=True, ignore=shutil.ignore_patterns("include", "gcc", "doc", "*.a"))
    subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True)
    for folder in ("root", "proc", "dev", "tmp"):
        (root / folder).mkdir(exist_ok=True)
    (root / "tmp").chmod(0o1777)
    mounts = [(REPOSITORY, root / str(REPOSITORY)[1:], "--rbind", "-o", "ro"), ("proc", root / "proc", "-t", "proc"),
              ("/dev", root / "dev", "--bind")]
    if TRACES.exists():
        mounts.append((TRACES, root / str(TRACES)[1:], "--bind", "-o", "ro"))
    done = []
    try:
        for source, target, *options in mounts:
            mount(source, target, *options)
            done.append(target)
        yield OldSystem(root)
    finally:
        for target in reversed(done):
            subprocess.run(["umount", "-R", "-l", str(target)], check=True)
