#!/usr/bin/env python3
"""Compares SBOMs of tools/release with advisories in the OSV format: which parts have a known weakness.

usage: tools/check_sbom.py [--advisories PATH] [--require] SBOM.spdx.json ...

PATH (or NEUROLENS_ADVISORIES) is a JSON file, a zip of them or a folder of both, for example the exports of an OSV database for
Debian and OSS-Fuzz; nothing is fetched. Without it nothing is checked, which is said and, with --require, an error. Parts of
Debian are compared by source package and release, others by name or repository. packaging/accepted_advisories.json names
those that do not concern us, with the reason. Exits with 1 if there is a finding, with 2 if there was nothing to compare
with."""

import argparse
import collections
import functools
import itertools
import json
import os
import pathlib
import re
import sys
import urllib.parse
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Part(NamedTuple):
    name: str
    version: str
    ecosystem: str  # "Debian:12", or empty
    repository: str  # "github.com/duckdb/duckdb", or empty


def order(character: str) -> int:
    """~ sorts before the end, letters before other characters: the rule of dpkg."""
    return -1 if character == "~" else ord(character) if character.isalpha() else ord(character) + 256


def compare_text(a: str, b: str) -> int:
    """The parts of two versions: text and numbers by turns."""
    for (text_a, digits_a), (text_b, digits_b) in itertools.zip_longest(*(re.findall(r"(\D*)(\d*)", v) for v in (a, b)),
                                                                       fillvalue=("", "")):
        for x, y in itertools.zip_longest(text_a, text_b):
            left, right = (order(c) if c else 0 for c in (x, y))
            if left != right:
                return -1 if left < right else 1
        if (number := int(digits_a or 0) - int(digits_b or 0)) != 0:
            return number
    return 0


def compare(a: str, b: str) -> int:
    """As dpkg does: epoch, upstream version, revision. It serves for versions such as 1.5.5, too."""
    def split(version: str) -> tuple[int, str, str]:
        epoch, rest = version.split(":", 1) if re.match(r"\d+:", version) else ("0", version)
        upstream, revision = rest.rsplit("-", 1) if "-" in rest else (rest, "")
        return int(epoch), upstream.removeprefix("v"), revision
    (epoch_a, upstream_a, revision_a), (epoch_b, upstream_b, revision_b) = split(a), split(b)
    return epoch_a - epoch_b or compare_text(upstream_a, upstream_b) or compare_text(revision_a, revision_b)


def parts_of(sbom: dict[str, Any]) -> Iterator[Part]:
    for package in sbom["packages"]:
        for reference in package.get("externalRefs", []):
            if reference["referenceType"] != "purl":
                continue
            kind, rest = reference["referenceLocator"].removeprefix("pkg:").split("/", 1)
            path, _, qualifiers = rest.partition("?")
            name, version = urllib.parse.unquote(path).rsplit("@", 1)
            distro = dict(urllib.parse.parse_qsl(qualifiers)).get("distro", "")
            if kind == "deb":
                yield Part(name.split("/")[-1], version, "Debian:" + distro.removeprefix("debian-"), "")
            else:
                yield Part(name.split("/")[-1], version, "", f"github.com/{name}")


def advisories(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    if path.is_dir():
        for inner in sorted(path.rglob("*")):
            if inner.suffix in (".json", ".zip"):
                yield from advisories(inner)
    elif path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            for name in sorted(archive.namelist()):
                if name.endswith(".json"):
                    yield json.loads(archive.read(name))
    else:
        yield json.loads(path.read_text())


def names_it(affected: dict[str, Any], part: Part) -> bool:
    package = affected.get("package", {})
    ecosystem = package.get("ecosystem", "")
    if part.ecosystem:
        return ecosystem == part.ecosystem and package.get("name") == part.name
    repositories = [r.get("repo", "").removesuffix(".git").removeprefix("https://").lower() for r in affected.get("ranges", [])]
    by_name = not ecosystem.startswith("Debian") and package.get("name", "").lower() == part.name.lower()
    return by_name or part.repository.lower() in repositories


def in_range(events: list[dict[str, str]], version: str) -> bool:
    """Events need not be sorted: the last one at or before the version decides."""
    inside = False
    at = functools.cmp_to_key(compare)
    for _, kind, limit in sorted((at(value), kind, value) for event in events for kind, value in event.items()):
        if kind == "introduced" and (limit == "0" or compare(version, limit) >= 0):
            inside = True
        elif (kind == "fixed" and compare(version, limit) >= 0) or (kind == "last_affected" and compare(version, limit) > 0):
            inside = False
    return inside


def concerns(affected: dict[str, Any], part: Part) -> bool:
    """A list of versions and ranges of versions are two ways to say it. Ranges of commits alone cannot be compared: they count."""
    listed = [v.removeprefix("v") for v in affected.get("versions", [])]
    ranges = [r for r in affected.get("ranges", []) if r.get("type") != "GIT"]
    if part.version in listed or any(in_range(r.get("events", []), part.version) for r in ranges):
        return True
    return not listed and not ranges


def findings(parts: list[Part], path: pathlib.Path) -> tuple[int, dict[str, list[Part]]]:
    read = 0
    found: dict[str, list[Part]] = collections.defaultdict(list)
    for advisory in advisories(path):
        read += 1
        if "withdrawn" in advisory:
            continue
        for affected, part in itertools.product(advisory.get("affected", []), parts):
            if names_it(affected, part) and concerns(affected, part) and part not in found[advisory["id"]]:
                found[advisory["id"]].append(part)
    return read, {key: value for key, value in found.items() if value}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--advisories", type=pathlib.Path, default=os.environ.get("NEUROLENS_ADVISORIES") or None)
    parser.add_argument("--accepted", type=pathlib.Path, default=ROOT / "packaging" / "accepted_advisories.json")
    parser.add_argument("--require", action="store_true", help="no advisories are an error")
    parser.add_argument("sbom", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    parts = sorted({part for sbom in arguments.sbom for part in parts_of(json.loads(sbom.read_text()))})
    if arguments.advisories is None:
        print("sbom: no advisory data given: not checked")
        return 2 if arguments.require else 0
    read, found = findings(parts, arguments.advisories)
    if not parts or not read:
        print(f"sbom: {len(parts)} parts and {read} advisories: nothing to compare, not checked")
        return 2
    accepted = json.loads(arguments.accepted.read_text())
    for key, concerned in sorted(found.items()):
        state = f"accepted: {accepted[key]}" if key in accepted else "KNOWN WEAKNESS"
        print(f"sbom: {key}: {', '.join(f'{p.name} {p.version}' for p in concerned)}: {state}")
    new = [key for key in found if key not in accepted]
    print(f"sbom: {len(parts)} parts against {read} advisories: {len(new)} findings, {len(found) - len(new)} accepted")
    return 1 if new else 0


if __name__ == "__main__":
    sys.exit(main())
