"""What is measured: how one iteration runs, and the profiler of its framework. Here: Python code without one."""

import contextlib
import platform
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Callable


class Workload:
    """One iteration by itself, ``run``, and with the profiler, ``run_profiled``.

    Those of frameworks override what they know better. ``notes`` are for the user: what could not be measured, and why.
    """

    name = "python"
    has_profiler = False
    switches = False  # may its profiler go on and off as often as one likes?

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run
        self.inputs: list[dict[str, Any]] = []
        self.notes: list[str] = []

    def describe(self) -> dict[str, Any]:
        """Name, version, path and provider of what runs it; further facts as there are."""
        return {"name": "python", "version": platform.python_version(), "path": sys.executable, "provider": "CPU"}

    def open_profiler(self, folder: str) -> None:
        """Makes the profiler ready, switched off; what it writes goes into the folder."""

    def switch(self, on: bool) -> None:
        """Before a block of iterations."""

    def mark(self) -> AbstractContextManager[Any]:
        """A range of the profiler, named model_run, around an iteration; for profilers that do not mark it themselves."""
        return contextlib.nullcontext()

    def run_profiled(self) -> Any:
        with self.mark():
            return self.run()

    def after_profiled(self, is_warm_up: bool) -> None:
        """Behind each profiled iteration, outside of its time."""

    def close_profiler(self) -> list[str]:
        """Ends it, also if it was not used. Names of the files in the folder that are to be imported."""
        return []

    def kept_files(self) -> list[str]:
        """Further files in the folder, which are kept with the run."""
        return []


def call_of(function: Callable[..., Any], inputs: Any) -> Callable[[], Any]:
    """The call with its inputs: several by place or by name, one as it is, or none."""
    if inputs is None:
        return function
    if isinstance(inputs, Mapping):
        return lambda: function(**inputs)
    if isinstance(inputs, (tuple, list)):
        return lambda: function(*inputs)
    return lambda: function(inputs)


def described_inputs(inputs: Any, origin: str = "given") -> list[dict[str, Any]]:
    """Name, type and shape of each; names of those given by place are their numbers."""
    if inputs is None:
        return []
    if not isinstance(inputs, Mapping):
        inputs = dict(enumerate(inputs if isinstance(inputs, (tuple, list)) else [inputs]))
    return [described_input(str(name), value, origin) for name, value in inputs.items()]


def described_input(name: str, value: Any, origin: str) -> dict[str, Any]:
    kind = str(getattr(value, "dtype", type(value).__name__))
    shape = [int(size) for size in getattr(value, "shape", ())]
    return {"name": name, "type": kind.replace("torch.", ""), "shape": shape, "origin": origin}
