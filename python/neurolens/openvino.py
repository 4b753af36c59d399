"""OpenVINO: a model compiled twice, as it is and with PERF_COUNT, whose times of layers become a table of the run.

Importing this module imports openvino; ``neurolens`` itself does not.
"""

import json
import os
import pathlib
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import openvino

from neurolens._cli import Error
from neurolens._generated_inputs import complete_inputs
from neurolens._workload import Workload

PROFILES_FUNCTIONS = False

_LAYERS = "openvino_layers.json"


def profile(model: Any, inputs: Any = None, **options: Any) -> Any:
    """The run of a model, by its path or as ``openvino.Model``; inputs that are not given are made up."""
    from neurolens import _profile

    return _profile.profile(read_model(model), inputs=inputs, framework="openvino", **options)


def owns(target: Any) -> bool:
    return isinstance(target, (openvino.Model, openvino.CompiledModel))


def workload(
    target: Any,
    inputs: Any = None,
    device: str = "CPU",
    threads: Optional[int] = None,
    shapes: Mapping[str, Sequence[int]] = {},
) -> Workload:
    if not owns(target):
        raise Error("bad_input", f"not a model of OpenVINO: {type(target).__name__}", "give an openvino.Model or its path")
    wanted = [(port.get_any_name(), port.get_element_type().to_dtype(), _sizes(port)) for port in target.inputs]
    values, described, notes = complete_inputs(wanted, inputs, shapes)
    measured = OpenvinoWorkload(target, values, device, threads)
    measured.inputs, measured.notes = described, notes + measured.notes
    return measured


class OpenvinoWorkload(Workload):
    """A model that was compiled by its owner cannot be compiled again: it has times of iterations alone."""

    name = "openvino"
    switches = True

    def __init__(self, model: Any, inputs: dict[str, Any], device: str, threads: Optional[int]) -> None:
        self._model, self._inputs, self._device = model, inputs, device
        self._options: dict[str, Any] = {} if threads is None else {"INFERENCE_NUM_THREADS": threads}
        self.has_profiler = isinstance(model, openvino.Model)
        self._compiled = self._compile({}) if self.has_profiler else model
        request = self._compiled.create_infer_request()
        super().__init__(lambda: request.infer(inputs))
        self._counts: dict[str, dict[str, Any]] = {}
        if not self.has_profiler:
            self.notes.append("no times of layers: the model is compiled already; give the openvino.Model or its path")

    def describe(self) -> dict[str, Any]:
        return {
            "name": "openvino",
            "version": openvino.get_version(),
            "path": os.path.dirname(openvino.__file__),
            "provider": self._device,
            "threads": int(self._compiled.get_property("INFERENCE_NUM_THREADS")) if self._device == "CPU" else 0,
            "profiler": "PERF_COUNT",
        }

    def open_profiler(self, folder: str) -> None:
        self._folder = folder
        if self.has_profiler:
            self._request = self._compile({"PERF_COUNT": True}).create_infer_request()

    def run_profiled(self) -> Any:
        return self._request.infer(self._inputs)

    def after_profiled(self, is_warm_up: bool) -> None:
        """OpenVINO keeps the times of the last inference alone."""
        if not is_warm_up:
            for layer in self._request.profiling_info:
                self._count(layer)

    def close_profiler(self) -> list[str]:
        if not self._counts:
            return []
        document = {"schema": "neurolens.run-file/1", **self._tables()}
        pathlib.Path(self._folder, _LAYERS).write_text(json.dumps(document))
        return [_LAYERS]

    def _compile(self, more: dict[str, Any]) -> Any:
        return openvino.Core().compile_model(self._model, self._device, {**self._options, **more})

    def _count(self, layer: Any) -> None:
        kept = self._counts.setdefault(layer.node_name, {"layer": layer, "times_ns": []})
        if "EXECUTED" in str(layer.status):
            microseconds = layer.real_time.days * 86_400_000_000 + layer.real_time.seconds * 1_000_000
            kept["times_ns"].append((microseconds + layer.real_time.microseconds) * 1000)

    def _tables(self) -> dict[str, Any]:
        """Layers that were optimised away have no times."""
        layers, times = [], []
        for name, kept in self._counts.items():
            status = str(kept["layer"].status).rpartition(".")[2]
            layers.append(
                {
                    "name": name,
                    "layer_type": kept["layer"].node_type,
                    "tactic": kept["layer"].exec_type,
                    "args": {"status": status},
                }
            )
            if kept["times_ns"]:
                values = kept["times_ns"]
                average, median = sum(values) / len(values), float(statistics.median(values))
                figures = {"iterations": len(values), "total_ns": sum(values), "average_ns": average, "median_ns": median}
                times.append({"name": name, **figures})
        return {"layers": layers, "layer_times": times}


def read_model(model: Any) -> Any:
    return openvino.Core().read_model(os.fspath(model)) if isinstance(model, (str, os.PathLike)) else model


def _sizes(port: Any) -> list[Any]:
    """Sizes of an input; those that are open have no names that can be relied on."""
    return [size.get_length() if size.is_static else None for size in port.get_partial_shape()]
