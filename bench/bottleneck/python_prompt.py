"""Runs the lines of a file as if typed at the prompt of Python: an error is printed and the next line follows.

usage: python_prompt.py LINES
Of an error only its last line goes to standard output, which is all that one reads of it.
"""

import pathlib
import sys

scope = {"__name__": "__console__"}
for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    try:
        exec(compile(line, "<prompt>", "exec"), scope)
    except Exception as error:  # whatever the tool raises is what its user sees
        print(f"{type(error).__name__}: {error}".splitlines()[0])
