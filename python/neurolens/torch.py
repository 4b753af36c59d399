"""PyTorch: modules and functions under ``torch.profiler``, and scopes for each module.

Importing this module imports torch; ``neurolens`` itself does not.
"""

import contextlib
import os
import threading
from contextlib import AbstractContextManager
from typing import Any, Callable, Optional

import torch

from neurolens._generate import GenerateAnnotation
from neurolens._workload import Workload, call_of, described_inputs

PROFILES_FUNCTIONS = True

_TRACE = "torch_trace.json"


def profile(module: Any, inputs: Any = None, **options: Any) -> Any:
    """The run of a module or function; ``options`` are those of :func:`neurolens.profile`."""
    from neurolens import _profile

    return _profile.profile(module, inputs=inputs, framework="torch", **options)


def owns(target: Any) -> bool:
    return isinstance(target, (torch.nn.Module, torch.jit.ScriptFunction))


def workload(target: Any, inputs: Any = None) -> Workload:
    """A module that does not train runs without gradients."""
    call = call_of(target, inputs)
    if isinstance(target, torch.nn.Module) and not target.training:
        call = torch.inference_mode()(call)
    profiled = TorchWorkload(call)
    profiled.inputs = described_inputs(inputs)
    return profiled


class TorchWorkload(Workload):
    """One trace for all profiled iterations, each in a range ``model_run``. Between them PyTorch's hooks around operators are
    off, which leaves an operator as fast as without a profiler. What records a GPU stays on once it is: there the profiled
    iterations come behind all others."""

    name = "torch"

    def __init__(self, run: Callable[[], Any]) -> None:
        super().__init__(_finished(run))
        self.has_profiler = not getattr(torch.autograd.profiler, "_is_profiler_enabled", False)
        if not self.has_profiler:
            self.notes.append("no profiler: one of PyTorch is running already, and there can be one at a time")
        self.switches = not torch.cuda.is_available() and hasattr(torch.autograd, "_enable_record_function")
        self._profiler: Optional[torch.profiler.profile] = None
        self._is_started = False

    def describe(self) -> dict[str, Any]:
        is_cuda = torch.cuda.is_available()
        provider = torch.cuda.get_device_name() if is_cuda else "CPU"
        versions = {"cuda": str(torch.version.cuda)} if is_cuda else {}
        return {
            "name": "torch",
            "version": torch.__version__,
            "path": os.path.dirname(torch.__file__),
            "provider": provider,
            "threads": torch.get_num_threads(),
            "inter_threads": torch.get_num_interop_threads(),
            "profiler": "torch.profiler",
            "versions": versions,
        }

    def open_profiler(self, folder: str) -> None:
        if not self.has_profiler:
            return
        self._path = os.path.join(folder, _TRACE)
        self._profiler = torch.profiler.profile(activities=_activities(), record_shapes=True)
        if self.switches:
            self._start(self._profiler)
            self.switch(False)

    def switch(self, on: bool) -> None:
        if self._profiler is None:
            return
        if self.switches:
            torch.autograd._enable_record_function(on)
        elif on and not self._is_started:
            self._start(self._profiler)

    def mark(self) -> AbstractContextManager[Any]:
        return torch.profiler.record_function("model_run")

    def close_profiler(self) -> list[str]:
        if self._profiler is None or not self._is_started:
            return []
        if self.switches:
            torch.autograd._enable_record_function(True)
        self._profiler.stop()
        self._profiler.export_chrome_trace(self._path)
        self._profiler = None
        return [_TRACE]

    def _start(self, profiler: torch.profiler.profile) -> None:
        profiler.start()
        self._is_started = True


def annotate_generate(model: torch.nn.Module) -> GenerateAnnotation:
    """A scope around each call of a language model while it generates; until ``remove()``, or as a context manager.

    Calls that read the prompt are ``LLM@prefill``, the others ``LLM@decode_step``, with the attributes ``batch``, ``tokens``
    and ``step``. A model has ``generate`` as those of Hugging Face do, or is called in a loop with ``past_key_values``. The
    scopes are markers of NeuroLens and ranges of PyTorch's profiler, and last as long as the call: what happens between two
    calls, such as sampling, is in neither.
    """
    return GenerateAnnotation(model, _open_scope)


def _open_scope(name: str, attributes: dict[str, Any]) -> Callable[[], None]:
    from neurolens import scope

    scopes = contextlib.ExitStack()
    scopes.enter_context(scope(name, **attributes))
    scopes.enter_context(torch.profiler.record_function(name))
    return scopes.close


def annotate(module: torch.nn.Module, prefix: str = "") -> "Annotation":
    """A scope around each call of the module and of those inside of it, by their names; until ``remove()``.

    The scopes are markers of NeuroLens and ranges of PyTorch's profiler.
    """
    return Annotation(module, prefix)


class Annotation:
    """Hooks of the modules. Scopes nest thread by thread, and end with an exception, too."""

    def __init__(self, module: torch.nn.Module, prefix: str = "") -> None:
        self._open = threading.local()
        self._hooks: list[Any] = []
        for name, part in module.named_modules(prefix=prefix or type(module).__name__):
            self._hooks.append(part.register_forward_pre_hook(lambda *_, name=name: self._begin(name)))
            self._hooks.append(part.register_forward_hook(lambda *_: self._end(), always_call=True))

    def remove(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def __enter__(self) -> "Annotation":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()

    def _begin(self, name: str) -> None:
        self._stack.append(_open_scope(name, {}))

    def _end(self) -> None:
        if self._stack:
            self._stack.pop()()

    @property
    def _stack(self) -> list[Callable[[], None]]:
        if not hasattr(self._open, "stack"):
            self._open.stack = []
        return self._open.stack


def _activities() -> list[Any]:
    kinds = torch.profiler.ProfilerActivity
    return [kinds.CPU, kinds.CUDA] if torch.cuda.is_available() else [kinds.CPU]


def _finished(run: Callable[[], Any]) -> Callable[[], Any]:
    """With the work on the GPU that it has started."""
    if not torch.cuda.is_available():
        return run

    def finished() -> Any:
        result = run()
        torch.cuda.synchronize()
        return result

    return finished
