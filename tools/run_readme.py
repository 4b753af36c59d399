#!/usr/bin/env python3
"""Runs the commands of pages, as a reader would type them. usage: run_readme.py [--fix] PAGE.md...

The ```sh blocks of a page run in order in one shell, in a folder of their own that holds a copy of samples/, with a
home of their own. A block that begins with ```text title="prints" directly behind a ```sh block is what the last
command of that block prints on standard output, X"""
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r'^```sh\n(?P<commands>.*?)^```\n(?:\s*^```text title="prints"\n(?P<output>.*?)^```$)?', re.S | re.M)


def is_whole(commands):
    """Whether bash could run this by itself: no open quote, loop or here-document."""
    done = subprocess.run(["bash", "-n", "-c", commands], stdin=subprocess.DEVNULL, capture_output=True)
    return done.returncode == 0 and not done.stderr and not commands.endswith("\\")


def split_last(commands):
    """The lines before the last command, and the last command."""
    lines = commands.rstrip("\n").split("\n")
    for at in range(len(lines) - 1, 0, -1):
        first, last = "\n".join(lines[:at]), "\n".join(lines[at:])
        if is_whole(first) and is_whole(last):
            return first, last
    return "", "\n".join(lines)


def script_of(blocks, out):
    """One script for all blocks. What the last command of block N prints goes to the file N, and then to the log."""
    parts = []
    for number, block in enumerate(blocks):
        first, last = split_last(block["commands"])
        parts += [f"echo {number} >{out}/reached", first, f"exec 3>&1 >{out}/{number}", last,
                  f"exec >&3; cat {out}/{number}"]
    return "\n".join(parts) + "\n"


def agrees(expected, printed):
    if not expected.replace("...\n", ""):
        return False  # would agree with anything
    pieces = [re.escape(piece) for piece in re.split(r"^\.\.\.\n", expected, flags=re.M)]
    return re.fullmatch("(?:.*\n)*?".join(pieces), printed) is not None


def differences(blocks, out):
    """Blocks whose output is another than the page says, with what was printed."""
    for number, block in enumerate(blocks):
        if block["output"] is not None:
            printed = (out / str(number)).read_text()
            if not agrees(block["output"], printed):
                yield block, printed


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def complaint(page, text, block, printed):
    place = f"{page}:{line_of(text, block.start('output'))}"
    expected = block["output"].splitlines()
    return "\n".join(difflib.unified_diff(expected, printed.splitlines(), place, "printed", lineterm=""))


def shortened(expected, printed):
    """What was printed, with the middle or the end left out where the page leaves it out."""
    pieces, lines = expected.split("...\n"), printed.splitlines(keepends=True)
    head, tail = len(pieces[0].splitlines()), len(pieces[-1].splitlines())
    if len(pieces) != 2 or not head or head + tail >= len(lines):
        return printed
    return "".join(lines[:head]) + "...\n" + "".join(lines[len(lines) - tail:])


def fix(page, text, found):
    for block, printed in reversed(found):
        text = text[:block.start("output")] + shortened(block["output"], printed) + text[block.end("output"):]
    pathlib.Path(page).write_text(text)


def run(blocks, folder):
    """Runs the blocks in a new folder; the outcome, with standard output and error together."""
    work, out = folder / "work", folder / "out"
    out.mkdir()
    shutil.copytree(ROOT / "samples", work / "samples")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("NEUROLENS_", "XDG_"))}
    env |= {"HOME": str(folder / "home"), "TMPDIR": str(folder), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
    return subprocess.run(["bash", "-euo", "pipefail", "-c", script_of(blocks, out)], cwd=work, env=env, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def failure(page, text, blocks, done, out):
    """What to say of a command that failed."""
    reached = int((out / "reached").read_text())
    printed = out / str(reached)
    return (f"{page}:{line_of(text, blocks[reached].start())}: exit code {done.returncode}\n{done.stdout}"
            f"{printed.read_text() if printed.exists() else ''}")


def faults_of(page, text, blocks, fixing):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out"
        done = run(blocks, pathlib.Path(folder))
        if done.returncode != 0:
            return [failure(page, text, blocks, done, out)]
        found = list(differences(blocks, out))
    if fixing and found:
        fix(page, text, found)
    return [] if fixing else [complaint(page, text, *difference) for difference in found]


def check(page, fixing):
    """Whether the commands of a page succeed and print what it says."""
    text = pathlib.Path(page).read_text()
    blocks = list(BLOCK.finditer(text))
    faults = faults_of(page, text, blocks, fixing)
    compared = sum(block["output"] is not None for block in blocks)
    if compared != text.count('```text title="prints"'):
        faults.append(f"{page}: a block of output does not stand directly behind its ```sh block")
    print(f"{page}: {len(blocks)} blocks run, {compared} outputs compared:", "FAILED" if faults else "fine")
    print(*faults, sep="\n", end="\n" if faults else "")
    return not faults


def has_commands(page):
    return BLOCK.search(pathlib.Path(page).read_text()) is not None


if __name__ == "__main__":
    fixing = "--fix" in sys.argv
    pages = [argument for argument in sys.argv[1:] if argument != "--fix"]
    if not any(map(has_commands, pages)):
        sys.exit("no page with ```sh blocks was given")
    sys.exit(0 if all([check(page, fixing) for page in pages if has_commands(page)]) else 1)
