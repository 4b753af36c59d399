"""From the JSON of llvm-cov: lines and branches by room of src/, and the error paths that nothing reached.
usage: python3 tools/write_coverage.py coverage.json"""

import collections
import itertools
import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src"
ERROR = re.compile(r"return (Error\{|errno_error\(|\w*_error\()|Error\{ErrorCode::")


def uncovered_lines(file):
    """Lines whose code never ran. A segment is [line, column, count, has_count, is_entry, is_gap]."""
    lines: set[int] = set()
    for begin, end in itertools.pairwise(file["segments"]):
        if begin[3] and begin[2] == 0 and not begin[5]:
            lines.update(range(begin[0], end[0] + (end[1] > 1)))
    return lines


def name_in_source(filename):
    """Builds name files from the top of the clone, wherever that is; llvm-cov puts its own folder in front."""
    _, found, behind = filename.rpartition("/src/")
    return pathlib.Path(behind if found else "")


def unreached_errors(path, file):
    text = path.read_text().splitlines()
    return [(n, text[n - 1].strip()) for n in sorted(uncovered_lines(file)) if n <= len(text) and ERROR.search(text[n - 1])]


def main():
    files = json.loads(pathlib.Path(sys.argv[1]).read_text())["data"][0]["files"]
    rooms: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    errors = {}
    for file in files:
        name = name_in_source(file["filename"])
        path = SOURCE / name
        if not name.parts or not path.is_file():
            continue
        for kind in ("lines", "branches"):
            rooms[name.parts[0]][kind] += file["summary"][kind]["count"]
            rooms[name.parts[0]][kind + "_covered"] += file["summary"][kind]["covered"]
        if found := unreached_errors(path, file):
            errors[str(name)] = found
    print(f"{'room':<14}{'lines':>8}{'covered':>9}{'branches':>10}{'covered':>9}")
    total: collections.Counter[str] = sum(rooms.values(), collections.Counter())
    for room, c in [*sorted(rooms.items()), ("all", total)]:
        print(f"{room:<14}{c['lines']:>8}{c['lines_covered'] / max(c['lines'], 1):>9.1%}"
              f"{c['branches']:>10}{c['branches_covered'] / max(c['branches'], 1):>9.1%}")
    print(f"\nError paths that no test reaches: {sum(map(len, errors.values()))}")
    for file_name, found in sorted(errors.items()):
        for line, text in found:
            print(f"  {file_name}:{line}: {text[:110]}")


if __name__ == "__main__":
    main()
