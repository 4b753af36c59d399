#!/usr/bin/env python3
"""Runs the ```sh blocks of a page, one shell for all of them, from the repository root. usage: run_readme.py FILE"""
import pathlib
import re
import subprocess
import sys

text = pathlib.Path(sys.argv[1]).read_text()
blocks = re.findall(r"^```sh\n(.*?)^```", text, re.S | re.M)
result = subprocess.run(["bash", "-euo", "pipefail", "-c", "\n".join(blocks)], stdin=subprocess.DEVNULL)
print(f"{len(blocks)} blocks of {sys.argv[1]}:", "fine" if result.returncode == 0 else "FAILED")
sys.exit(result.returncode if blocks else 1)
