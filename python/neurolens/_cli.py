"""Calls the program ``neurolens`` and takes its answer: what the package knows of runs, it knows from there."""

import json
import os
import shutil
import subprocess
import warnings
from typing import Any, Optional, Union

Path = Union[str, "os.PathLike[str]"]

_CODES = {2: "bad_input", 3: "unavailable"}  # of an exit code, where the program said no more


class Error(Exception):
    """What the program says when it cannot do something.

    ``code`` is one of bad_input, unsupported, not_found, conflict, permission, unavailable, io, limit and internal;
    ``hint`` says what to do, or is empty.
    """

    def __init__(self, code: str, message: str, hint: str = "", exit_code: Optional[int] = None) -> None:
        super().__init__(f"{message}\n  {hint}" if hint else message)
        self.code = code
        self.message = message
        self.hint = hint
        self.exit_code = exit_code


def program() -> str:
    """The program: what NEUROLENS_PROGRAM names, else the one installed with this package, else the one in the path."""
    found = os.environ.get("NEUROLENS_PROGRAM") or _installed_program() or shutil.which("neurolens")
    if found is None:
        raise Error("unavailable", "the program neurolens is not there", "pip install neurolens, or set NEUROLENS_PROGRAM")
    return found


def call(
    verb: str, *args: Any, ledger: Optional[Path] = None, input: Union[bytes, str, None] = None
) -> dict[str, Any]:
    """The ``data`` of what ``neurolens VERB --json ARGS`` answers. A gate that failed is an answer, too."""
    done = _run([verb, "--json"], args, ledger, input)
    answer = _envelope(done.stdout)
    if answer is None:
        raise _unexplained(done)
    if "error" in answer:
        error = answer["error"]
        raise Error(error["code"], error["message"], error["hint"], done.returncode)
    for warning in answer["warnings"]:
        warnings.warn(warning, stacklevel=3)
    return answer["data"]


def read_bytes(verb: str, *args: Any, ledger: Optional[Path] = None) -> bytes:
    """What ``neurolens VERB ARGS`` writes to standard output, for answers that are no JSON."""
    done = _run([verb, "--quiet"], args, ledger, None)
    if done.returncode != 0:
        raise _unexplained(done)
    return done.stdout


def _installed_program() -> Optional[str]:
    import importlib.metadata  # takes longer than all the rest, and programs that only set markers do without

    try:
        files = importlib.metadata.files("neurolens") or []
    except importlib.metadata.PackageNotFoundError:
        return None
    scripts = (str(file.locate()) for file in files if file.name == "neurolens" and file.parent.name == "bin")
    return next((os.path.normpath(path) for path in scripts if os.access(path, os.X_OK)), None)


def _run(
    verb: list[str], args: Any, ledger: Optional[Path], given: Union[bytes, str, None]
) -> "subprocess.CompletedProcess[bytes]":
    """Our own options stand first, as behind ``--`` begin the words of another program."""
    own = verb if ledger is None else [*verb, "--ledger", os.fspath(ledger)]
    command = [program(), *own, *map(str, args)]
    given = given.encode() if isinstance(given, str) else given
    source: dict[str, Any] = {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
    try:
        return subprocess.run(command, capture_output=True, **source)
    except OSError as error:
        raise Error("unavailable", f"cannot run the program: {error}", "NEUROLENS_PROGRAM names another one") from error


def _envelope(text: bytes) -> Optional[dict[str, Any]]:
    try:
        answer = json.loads(text)
    except ValueError:
        return None
    return answer if isinstance(answer, dict) and ("data" in answer or "error" in answer) else None


def _unexplained(done: "subprocess.CompletedProcess[bytes]") -> Error:
    """Of a call that gave no envelope: a crash, a signal, or an answer in bytes."""
    said = done.stderr.decode("utf-8", "replace").strip()
    message = said[len("neurolens: ") :] if said.startswith("neurolens: ") else said
    code = _CODES.get(done.returncode, "internal")
    return Error(code, message or f"neurolens ended with {done.returncode} and said nothing", "", done.returncode)
