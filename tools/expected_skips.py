#!/usr/bin/env python3
"""Which tests may be skipped: tests/expected_skips.txt has one regular expression a line, matched against the reason.
As a program it reads logs of `pytest -rs` and fails if one has a skip that is not expected.

usage: tools/expected_skips.py LOG…"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WITHOUT_SHARED = "no shared: "


def patterns():
    has_shared = (ROOT.parent / "shared" / "traces").is_dir()
    for line in (ROOT / "tests" / "expected_skips.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#") or (has_shared and line.startswith(WITHOUT_SHARED)):
            continue
        yield re.compile(line.removeprefix(WITHOUT_SHARED))


def unexpected(reasons):
    known = list(patterns())
    return [reason for reason in reasons if not any(pattern.search(reason) for pattern in known)]


def reasons_in(log):
    """pytest writes: SKIPPED [2] tests/e2e/test_x.py:12: the reason"""
    return re.findall(r"^SKIPPED \[\d+\] [^:]+(?::\d+)?: (.*)$", log, re.MULTILINE)


def main():
    faults = unexpected(reason for path in sys.argv[1:] for reason in reasons_in(pathlib.Path(path).read_text(errors="replace")))
    for reason in faults:
        print(f"unexpected skip: {reason}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
