"""TensorFlow: functions and Keras models under ``tf.profiler``.

Its profiler writes ``*.xplane.pb``, which stays with the run; what it says of the host becomes spans of the run.
Importing this module imports tensorflow; ``neurolens`` itself does not.
"""

import json
import os
import pathlib
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Callable, Optional

import tensorflow

from neurolens._workload import Workload, call_of, described_inputs

PROFILES_FUNCTIONS = True

_HOST = "/host:CPU"
_SPANS = "tensorflow_host.json"
_XPLANE = "tensorflow.xplane.pb"


def profile(model: Any, inputs: Any = None, **options: Any) -> Any:
    """The run of a model or function; ``options`` are those of :func:`neurolens.profile`."""
    from neurolens import _profile

    return _profile.profile(model, inputs=inputs, framework="tensorflow", **options)


def owns(target: Any) -> bool:
    return isinstance(target, tensorflow.Module) or hasattr(target, "get_concrete_function")


def workload(target: Any, inputs: Any = None) -> Workload:
    profiled = TensorflowWorkload(call_of(target, inputs))
    profiled.inputs = described_inputs(inputs)
    return profiled


class TensorflowWorkload(Workload):
    """The profiler cannot be switched: the profiled iterations come behind all others, each in a range ``model_run``."""

    name = "tensorflow"
    has_profiler = True

    def __init__(self, run: Callable[[], Any]) -> None:
        super().__init__(lambda: _finished(run()))
        self._is_started = False
        self._count = 0
        self._files: list[str] = []

    def describe(self) -> dict[str, Any]:
        gpus = tensorflow.config.list_physical_devices("GPU")
        return {
            "name": "tensorflow",
            "version": tensorflow.__version__,
            "path": os.path.dirname(tensorflow.__file__),
            "provider": "GPU" if gpus else "CPU",
            "threads": tensorflow.config.threading.get_intra_op_parallelism_threads(),
            "inter_threads": tensorflow.config.threading.get_inter_op_parallelism_threads(),
            "profiler": "tf.profiler",
        }

    def open_profiler(self, folder: str) -> None:
        self._folder = pathlib.Path(folder)

    def switch(self, on: bool) -> None:
        if on and not self._is_started:
            tensorflow.profiler.experimental.start(str(self._folder / "tensorflow"))
            self._is_started = True

    def mark(self) -> AbstractContextManager[Any]:
        self._count += 1
        return tensorflow.profiler.experimental.Trace("model_run", step_num=self._count)

    def close_profiler(self) -> list[str]:
        if not self._is_started:
            return []
        tensorflow.profiler.experimental.stop()
        written = sorted((self._folder / "tensorflow").glob("**/*.xplane.pb"))
        if not written:
            self.notes.append("the profiler wrote no xplane.pb")
            return []
        shutil.move(str(written[0]), self._folder / _XPLANE)
        self._files = [_XPLANE]
        return self._host_spans()

    def kept_files(self) -> list[str]:
        return self._files

    def _host_spans(self) -> list[str]:
        """A file of NeuroLens beside TensorFlow's own."""
        space = _read_xspace(self._folder / _XPLANE)
        if space is None:
            self.notes.append("this TensorFlow cannot read its own xplane.pb: the run has times of iterations alone")
            return []
        others = [plane.name for plane in space.planes if plane.name != _HOST and len(plane.lines) > 0]
        if others:
            self.notes.append("only the host is in the tables; in the xplane.pb are also " + ", ".join(others))
        plane = next((plane for plane in space.planes if plane.name == _HOST), None)
        if plane is None or not any(len(line.events) for line in plane.lines):
            return []
        (self._folder / _SPANS).write_text(json.dumps(_run_file(plane)))
        return [_SPANS]


def _run_file(plane: Any) -> dict[str, Any]:
    lines = list(plane.lines)
    tracks = [{"kind": "thread", "thread_name": line.display_name or line.name} for line in lines]
    spans = [span for number, line in enumerate(lines) for span in _spans(plane, line, number)]
    return {"schema": "neurolens.run-file/1", "tracks": tracks, "spans": spans}


def _spans(plane: Any, line: Any, track: int) -> Iterator[dict[str, Any]]:
    """Times are picoseconds behind the start of the line. An operator is called name:type."""
    for event in line.events:
        name = plane.event_metadata[event.metadata_id].name
        node, colon, kind = name.rpartition(":")
        is_op = bool(colon) and line.name.startswith("tf_") and " " not in name and not node.endswith(":")
        span = {"track_id": track, "name": node if is_op else name, "kind": _kind(name, is_op, event)}
        span["start_ns"] = line.timestamp_ns + event.offset_ps // 1000
        if span["kind"] != "instant":
            span["dur_ns"] = event.duration_ps // 1000
        if is_op:
            span["op_type"] = kind
        yield span


def _kind(name: str, is_op: bool, event: Any) -> str:
    if is_op:
        return "op"
    if event.duration_ps == 0:
        return "instant"
    return "annotation" if name == "model_run" else "other"


def _read_xspace(path: pathlib.Path) -> Optional[Any]:
    try:
        from tensorflow.tsl.profiler.protobuf import xplane_pb2
    except ImportError:
        return None
    space = xplane_pb2.XSpace()
    space.ParseFromString(path.read_bytes())
    return space


def _finished(result: Any) -> Any:
    """With the work on the GPU that it has started: reading a result waits for it."""
    for tensor in tensorflow.nest.flatten(result):
        if tensorflow.is_tensor(tensor) and tensorflow.config.list_logical_devices("GPU"):
            tensor.numpy()
    return result
