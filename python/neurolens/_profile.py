"""``neurolens.profile``: code of this process measured with and without the profiler of its framework, kept as a run."""

import contextlib
import importlib
import inspect
import json
import os
import pathlib
import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from types import ModuleType, TracebackType
from typing import Any, Optional, Union

from neurolens import _cli
from neurolens._passes import Passes, memory_now, turns
from neurolens._run import Run
from neurolens._run import open as open_run
from neurolens._workload import Workload, call_of, described_inputs

FRAMEWORKS = ("torch", "onnxruntime", "openvino", "tensorflow")
Path = Union[str, "os.PathLike[str]"]


def profile(
    target: Any = None,
    *,
    name: Optional[str] = None,
    warm_up: int = 3,
    iterations: Optional[int] = None,
    seconds: float = 5,
    inputs: Any = None,
    framework: str = "auto",
    labels: Optional[Mapping[str, str]] = None,
    ledger: Optional[Path] = None,
) -> Any:
    """Measures ``target``, a function, module, model or session, and gives the run; without one, or with the name of a
    stretch of code, a context manager for ``with``.

    Iterations with and without the profiler of the framework take turns, so that the run knows what the profiler costs.
    """
    if target is None or isinstance(target, str):
        return Profile(target or name, warm_up=warm_up, framework=framework, labels=labels, ledger=ledger)
    workload = workload_of(target, inputs, framework)
    with tempfile.TemporaryDirectory(prefix="neurolens-") as folder:
        passes = Passes(workload, folder)
        passes.measure(warm_up, iterations, seconds)
        return keep(passes, name or _name_of(target), labels, ledger)


class Profile:
    """What stands in ``with``. A loop inside says :meth:`step` at the end of each iteration; without that, all of it is one.

    ``run`` is the run, once the block has ended without an exception.
    """

    def __init__(
        self,
        name: Optional[str] = None,
        *,
        warm_up: int = 3,
        framework: str = "auto",
        labels: Optional[Mapping[str, str]] = None,
        ledger: Optional[Path] = None,
    ) -> None:
        self.run: Optional[Run] = None
        self._name = name or "python"
        self._labels = labels
        self._ledger = ledger
        self._framework = framework
        self._turns = turns(warm_up)

    def __enter__(self) -> "Profile":
        self._folder = tempfile.TemporaryDirectory(prefix="neurolens-")
        self._passes = Passes(workload_of(_nothing, None, self._framework), self._folder.name)
        self._passes.add_memory("process")
        self._workload.open_profiler(self._folder.name)
        self._begin(next(self._turns))
        return self

    def step(self) -> None:
        """Ends an iteration; the next one begins with this."""
        took_ns = self._end(self._is_warm_up)
        self._begin(self._turns.send(took_ns))

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        with self._folder:
            try:
                if kind is None and not self._passes.iterations:
                    self._end(False)
                else:
                    self._mark.__exit__(kind, error, trace)
            finally:
                self._workload.switch(False)
                self._passes.profiles = self._workload.close_profiler()
            if kind is None:
                self._passes.peak_bytes = memory_now("VmHWM")
                self._say_what_is_unknown()
                self.run = keep(self._passes, self._name, self._labels, self._ledger)

    @property
    def _workload(self) -> Workload:
        return self._passes.workload

    def _begin(self, turn: tuple[bool, bool]) -> None:
        """A profiler that cannot be switched stays on."""
        is_profiled, self._is_warm_up = turn
        had, workload = getattr(self, "_is_profiled", False), self._workload
        self._is_profiled = workload.has_profiler and (is_profiled or not workload.switches)
        if self._is_profiled != had:
            workload.switch(self._is_profiled)
        self._mark = workload.mark() if self._is_profiled else contextlib.nullcontext()
        self._mark.__enter__()
        self._cpu_ns, self._start_ns = time.process_time_ns(), time.monotonic_ns()

    def _end(self, is_warm_up: bool) -> int:
        end, cpu_ns = time.monotonic_ns(), time.process_time_ns() - self._cpu_ns
        self._mark.__exit__(None, None, None)
        self._passes.add(self._is_profiled, is_warm_up, self._start_ns, end, cpu_ns)
        return end - self._start_ns

    def _say_what_is_unknown(self) -> None:
        passes = {iteration["pass"] for iteration in self._passes.iterations if not iteration["warm_up"]}
        if self._workload.has_profiler and passes != {"profiled", "unprofiled"}:
            self._workload.notes.append(
                "what the profiler costs is not known: call step() at the end of each of some iterations"
            )


def workload_of(target: Any, inputs: Any, framework: str = "auto") -> Workload:
    """With the profiler of the framework that the target is of, or that this process has imported."""
    if framework not in ("auto", "none", *FRAMEWORKS):
        raise _cli.Error("bad_input", f"not a framework: {framework}", "one of: auto, none, " + ", ".join(FRAMEWORKS))
    if inspect.iscoroutinefunction(target):
        raise _cli.Error("unsupported", "a coroutine does not run when it is called", "profile lambda: asyncio.run(function())")
    module = integration(framework) if framework in FRAMEWORKS else None
    module = _imported_for(target) if framework == "auto" else module
    if module is not None:
        return module.workload(target, inputs)
    if not callable(target):
        raise _cli.Error("bad_input", f"cannot be called: {type(target).__name__}", "give a function, a module or a session")
    workload = Workload(call_of(target, inputs))
    workload.inputs = described_inputs(inputs)
    if framework == "auto":
        workload.notes.append(
            "no profiler: functions have one if this process has imported torch or tensorflow; "
            "of ONNX Runtime and OpenVINO give the session or the model itself"
        )
    return workload


def integration(framework: str) -> ModuleType:
    """The module of this package for a framework; it imports the framework."""
    try:
        return importlib.import_module("neurolens." + framework)
    except ImportError as error:
        raise _cli.Error("unavailable", f"cannot import {framework}: {error}", f"pip install {framework}") from error


def keep(passes: Passes, name: str, labels: Optional[Mapping[str, str]], ledger: Optional[Path]) -> Run:
    """Gives what was measured to the program, which adds what it ran on and imports it."""
    document = {**passes_document(passes, name), "command": shlex.join(sys.argv or ["python"])}
    pathlib.Path(passes.folder, "passes.json").write_text(json.dumps(document))
    options = [word for key, value in (labels or {}).items() for word in ("--set", f"{key}={value}")]
    data = _cli.call("profile", "--passes", passes.folder, *options, ledger=ledger)
    return open_run(data["run_id"], ledger)


def passes_document(passes: Passes, name: str) -> dict[str, Any]:
    """passes.json, as the program reads it."""
    framework = passes.workload.describe()
    framework["versions"] = {"python": sys.version.split()[0], **_versions(), **framework.get("versions", {})}
    return {**passes.document(), "framework": framework, "target": name, "labels": {"model": name}}


def _imported_for(target: Any) -> Optional[ModuleType]:
    """Of the frameworks that this process has imported the one whose object it is, else one that profiles any function."""
    modules = [integration(name) for name in FRAMEWORKS if sys.modules.get(name) is not None]
    owner = next((module for module in modules if module.owns(target)), None)
    return owner or next((module for module in modules if module.PROFILES_FUNCTIONS), None)


def _versions() -> dict[str, str]:
    found = {name: getattr(sys.modules.get(name), "__version__", None) for name in ("numpy", *FRAMEWORKS)}
    return {name: str(version) for name, version in found.items() if version is not None}


def _name_of(target: Any) -> str:
    name = getattr(target, "__qualname__", None) or type(target).__name__
    return str(name).replace("<locals>.", "").strip("<>")


def _nothing() -> None:
    """Stands for the code inside of ``with``, which runs by itself."""
