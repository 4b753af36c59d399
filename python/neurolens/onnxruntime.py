"""ONNX Runtime: a session beside one with the profiler, made from the same model with the same options.

Importing this module imports onnxruntime; ``neurolens`` itself does not.
"""

import os
from typing import Any, Optional

import numpy
import onnxruntime

from neurolens._cli import Error
from neurolens._generated_inputs import complete_inputs
from neurolens._workload import Workload

PROFILES_FUNCTIONS = False

_TYPES = {"float": "float32", "double": "float64"}
_NUMBERS = {"bool", "float16", "float32", "float64", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}


def profile(session: Any, inputs: Any = None, **options: Any) -> Any:
    """The run of an ``InferenceSession``; inputs that are not given are made up from the shapes of the model."""
    from neurolens import _profile

    return _profile.profile(session, inputs=inputs, framework="onnxruntime", **options)


def owns(target: Any) -> bool:
    return isinstance(target, onnxruntime.InferenceSession)


def workload(target: Any, inputs: Any = None) -> Workload:
    if not owns(target):
        raise Error("bad_input", f"not a session of ONNX Runtime: {type(target).__name__}", "give the InferenceSession itself")
    wanted = [(one.name, _numpy_type(one.type), one.shape) for one in target.get_inputs()]
    values, described, notes = complete_inputs(wanted, inputs, {})
    measured = OnnxWorkload(target, values)
    measured.inputs, measured.notes = described, notes + measured.notes
    return measured


class OnnxWorkload(Workload):
    """The session as it is given, and a second one."""

    name = "onnxruntime"
    switches = True

    def __init__(self, session: Any, inputs: dict[str, Any]) -> None:
        super().__init__(lambda: session.run(None, inputs))
        self._session, self._inputs = session, inputs
        self._second: Optional[Any] = None
        self._model = getattr(session, "_model_path", None) or getattr(session, "_model_bytes", None)
        self.has_profiler = self._model is not None and session.get_session_options().enable_profiling is False
        if not self.has_profiler:
            self.notes.append("no profiler: the model of this session cannot be had again, or the session has one already")

    def describe(self) -> dict[str, Any]:
        options = self._session.get_session_options()
        return {
            "name": "onnxruntime",
            "version": onnxruntime.__version__,
            "path": os.path.dirname(onnxruntime.__file__),
            "provider": self._session.get_providers()[0].replace("ExecutionProvider", ""),
            "threads": options.intra_op_num_threads,
            "inter_threads": options.inter_op_num_threads,
            "optimize": str(options.graph_optimization_level).rpartition(".")[2],
            "profiler": "enable_profiling",
        }

    def open_profiler(self, folder: str) -> None:
        """The options are lent: they cannot be copied, as they do not tell all that was set."""
        if not self.has_profiler:
            return
        options = self._session.get_session_options()
        before = options.enable_profiling, options.profile_file_prefix
        options.enable_profiling, options.profile_file_prefix = True, os.path.join(folder, "profile")
        try:
            providers = [(name, given) for name, given in self._session.get_provider_options().items()]
            self._second = onnxruntime.InferenceSession(self._model, options, providers=providers)
        finally:
            options.enable_profiling, options.profile_file_prefix = before

    def run_profiled(self) -> Any:
        assert self._second is not None, "open_profiler() comes first"
        return self._second.run(None, self._inputs)

    def close_profiler(self) -> list[str]:
        if self._second is None:
            return []
        path, self._second = self._second.end_profiling(), None
        return [os.path.basename(path)]


def _numpy_type(text: str) -> Any:
    """tensor(float) as numpy names it; nothing for texts, sequences and what else has no such numbers."""
    word = text[text.find("(") + 1 : text.rfind(")")]
    name = _TYPES.get(word, word)
    return numpy.dtype(name) if text.startswith("tensor(") and name in _NUMBERS else None
