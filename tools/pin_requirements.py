#!/usr/bin/env python3
"""Writes NAME.txt beside each NAME.in: all that pip would install for it, with versions and sha256, for
`pip install --require-hashes`. Run it with the Python that tools/setup uses (Debian 12: 3.11), on x86-64.

usage: tools/pin_requirements.py [--upgrade] [NAME.in ...]     default: all in tools; versions stay unless --upgrade"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parent


def pinned(path: pathlib.Path) -> list[str]:
    """name==version of a file that may have hashes."""
    return re.findall(r"^[\w.-]+==[^\s;]+", path.read_text(), re.M) if path.exists() else []


def resolve(source: pathlib.Path, kept: list[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        constraints, report = pathlib.Path(folder) / "kept.txt", pathlib.Path(folder) / "report.json"
        constraints.write_text("\n".join(kept))
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--dry-run", "--ignore-installed",
                        "--only-binary=:all:", "--report", report, "-c", constraints, "-r", source], check=True)
        installed = json.loads(report.read_text())["install"]
    lines = []
    for part in installed:
        name, version = part["metadata"]["name"], part["metadata"]["version"]
        lines.append(f"{name}=={version} --hash=sha256:{part['download_info']['archive_info']['hashes']['sha256']}")
    return sorted(lines, key=str.lower)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions of what is not named")
    parser.add_argument("source", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    for source in arguments.source or sorted(TOOLS.glob("*requirements.in")):
        target = source.with_suffix(".txt")
        lines = resolve(source, [] if arguments.upgrade else pinned(target))
        target.write_text(f"# Written by tools/pin_requirements.py from {source.name}.\n" + "\n".join(lines) + "\n")
        print(f"{target.name}: {len(lines)} packages")


if __name__ == "__main__":
    main()
