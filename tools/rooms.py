"""The rooms of src/ and which includes which, read from the sources. A room is a folder; "analyze" is the folder
itself, without the rooms inside of it."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent / "src"
INCLUDE = re.compile(r'\s*#include "([a-z0-9_/]+)/[a-z0-9_]+\.(?:h|def|cpp)"')


def sources():
    """Every source file with the room it lies in."""
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in (".h", ".cpp", ".def"):
            yield path, path.relative_to(ROOT).parent.as_posix()


def includes():
    """(room, room that it includes) -> the places where it does, as "file:line"."""
    found = collections.defaultdict(list)
    for path, room in sources():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) != room:
                found[room, match.group(1)].append(f"{path.relative_to(ROOT.parent)}:{number}")
    return found


def layer(room):
    return room.split("/")[0]
