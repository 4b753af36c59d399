"""``python -m neurolens._profile_target FOLDER PARENT PLAN``: what ``neurolens profile script.py`` starts.

PLAN is a file that only the caller can read; passes.json and the profile go to the folder, or error.json. PARENT is the process
that waits for it. A fourth argument, unprofiled or profiled, is for one run of a whole script.
"""

import ctypes
import importlib
import importlib.util
import json
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import time
import traceback
from typing import Any, Optional

from neurolens import _profile
from neurolens._cli import Error
from neurolens._passes import Passes, clock_pair, memory_now

Plan = dict[str, Any]
_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    _end_with(int(arguments[1]))
    folder = pathlib.Path(arguments[0])
    plan = json.loads(pathlib.Path(arguments[2]).read_text())
    plan["path"] = arguments[2]
    _set_threads(plan.get("threads"))
    try:
        if len(arguments) == 4:
            _run_script_once(plan, folder, arguments[3] == "profiled")
        else:
            (folder / "passes.json").write_text(json.dumps(_measured(plan, folder)))
    except Error as error:
        return _fail(folder, error.code, error.message, error.hint)
    except BaseException as error:  # of the user's code: nothing of it may be lost
        traceback.print_exc()
        return _fail(folder, "bad_input", f"{plan['target']} failed: {_what_happened(error)}", "")
    return 0


def _measured(plan: Plan, folder: pathlib.Path) -> dict[str, Any]:
    if plan["framework"] == "openvino":
        return _measured_model(plan, folder)
    path, function = _parts(plan["target"])
    if function is None:
        return _measured_script(plan, folder)
    sys.argv = [path, *plan["arguments"]]
    workload = _profile.workload_of(_load(path, function), None)
    return _measured_workload(workload, plan, folder)


def _measured_workload(workload: Any, plan: Plan, folder: pathlib.Path) -> dict[str, Any]:
    passes = Passes(workload, str(folder))
    passes.measure(plan.get("warm_up", 3), plan.get("iterations"), plan.get("seconds", 5))
    return {**_profile.passes_document(passes, _name(plan["target"])), "labels": _labels(plan["target"])}


def _measured_model(plan: Plan, folder: pathlib.Path) -> dict[str, Any]:
    openvino = _profile.integration("openvino")
    options = {"threads": plan.get("threads"), "shapes": plan["shapes"]}
    workload = openvino.workload(openvino.read_model(plan["target"]), _given_inputs(plan), **options)
    return _measured_workload(workload, plan, folder)


def _given_inputs(plan: Plan) -> Optional[dict[str, Any]]:
    if "inputs_file" not in plan:
        return None
    import numpy

    try:
        with numpy.load(plan["inputs_file"]) as arrays:
            return dict(arrays)
    except Exception as error:
        raise Error("bad_input", f"cannot read the inputs: {plan['inputs_file']}: {error}") from error


# ---- Functions


def _parts(target: str) -> tuple[str, Optional[str]]:
    """script.py, script.py:function or module:function."""
    if target.endswith(".py"):
        return target, None
    path, _, function = target.rpartition(":")
    return path, function


def _load(path: str, function: str) -> Any:
    """What stands under that name in the script or module, with dots inside of it."""
    if path.endswith(".py"):
        sys.path.insert(0, os.path.dirname(path))
        spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
        if spec is None or spec.loader is None:  # never: the name ends in .py
            raise ImportError(path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    else:
        try:
            module = importlib.import_module(path)
        except ModuleNotFoundError as error:
            raise Error("not_found", str(error), "a module is looked for in this folder and in the Python of --python") from error
    found = module
    for name in function.split("."):
        if not hasattr(found, name):
            raise Error("not_found", f"there is no {function} in {path}")
        found = getattr(found, name)
    return found


def _name(target: str) -> str:
    return os.path.basename(target)


def _labels(target: str) -> dict[str, str]:
    """The model is called as its file, without what the file is."""
    path, colon, function = _name(target).partition(":")
    return {"model": os.path.splitext(path)[0] + colon + function}


# ---- Whole scripts


def _measured_script(plan: Plan, folder: pathlib.Path) -> dict[str, Any]:
    """Each run is a process of its own, so that none finds what another has left."""
    warm_up, iterations = plan.get("warm_up", 0), plan.get("iterations", 1)
    runs = [_script_process(plan, folder, "unprofiled", True) for _ in range(warm_up)]
    for _ in range(iterations):
        runs.append(_script_process(plan, folder, "unprofiled", False))
        if runs[-1]["framework"]["has_profiler"]:
            runs.append(_script_process(plan, folder, "profiled", False))
    last = runs[-1]
    notes = last.pop("notes")
    if last["profiles"] and iterations > 1:
        notes.append(f"the trace is that of the last of {iterations} profiled runs")
    if not last["profiles"]:
        notes.append("no profiler: the script does not import torch or tensorflow")
    peak = max((run["peak_bytes"] or 0 for run in runs if run["pass"] == "unprofiled"), default=0)
    times = [{key: run[key] for key in ("pass", "warm_up", "start_ns", "dur_ns", "cpu_ns")} for run in runs]
    return {
        "framework": last["framework"],
        "target": _name(plan["target"]),
        "labels": _labels(plan["target"]),
        "profiles": last["profiles"],
        "files": last["files"],
        "notes": notes,
        "inputs": [],
        "memory": {"peak_bytes": peak or None, "stages": []},
        "clock": clock_pair(),
        "iterations": times,
    }


def _script_process(plan: Plan, folder: pathlib.Path, name: str, is_warm_up: bool) -> dict[str, Any]:
    answer = folder / "script_run.json"
    done = subprocess.run([sys.executable, "-m", __spec__.name, str(folder), str(os.getpid()), plan["path"], name])
    if (folder / "error.json").exists():
        error = json.loads((folder / "error.json").read_text())
        raise Error(error["code"], error["message"], error["hint"])
    if done.returncode != 0 or not answer.exists():
        raise Error("unavailable", f"the script ended its process with {done.returncode}")
    run = json.loads(answer.read_text())
    answer.unlink()
    return {**run, "pass": name, "warm_up": is_warm_up}


def _run_script_once(plan: Plan, folder: pathlib.Path, is_profiled: bool) -> None:
    """The profiler goes on when the script imports its framework."""
    path = plan["target"]
    sys.argv = [path, *plan["arguments"]]
    sys.path[0:1] = [os.path.dirname(path)]
    hook = _ProfilerOnImport(str(folder), is_profiled)
    sys.meta_path.insert(0, hook)
    cpu, start = time.process_time_ns(), time.monotonic_ns()
    try:
        _run_main(path)
    finally:
        times = {"start_ns": start, "dur_ns": time.monotonic_ns() - start, "cpu_ns": time.process_time_ns() - cpu}
        profiles = hook.close()
    workload = hook.workload or _profile.workload_of(_run_main, None, "none")
    document = _profile.passes_document(Passes(workload, str(folder)), _name(path))
    document["framework"]["has_profiler"] = workload.has_profiler
    run = {**times, "peak_bytes": memory_now("VmHWM"), "profiles": profiles}
    kept = {key: document[key] for key in ("framework", "files", "notes")}
    (folder / "script_run.json").write_text(json.dumps({**kept, **run}))


def _run_main(path: str) -> None:
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            raise Error("bad_input", f"the script ended with exit code {end.code}: {path}") from end


class _ProfilerOnImport:
    """Starts the profiler of the first framework that is imported, as soon as it is there."""

    def __init__(self, folder: str, is_profiled: bool) -> None:
        self.workload: Optional[Any] = None
        self._folder, self._is_profiled = folder, is_profiled

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in ("torch", "tensorflow") or self.workload is not None:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module
            loader.exec_module = lambda module: self._executed(name, execute, module)
        return spec

    def _executed(self, name: str, execute: Any, module: Any) -> None:
        execute(module)
        self.workload = _profile.integration(name).workload(_run_main)
        if self._is_profiled:
            self.workload.open_profiler(self._folder)
            self.workload.switch(True)

    def close(self) -> list[str]:
        if self.workload is None or not self._is_profiled:
            return []
        return self.workload.close_profiler()


# ---- The process


def _end_with(parent: int) -> None:
    """Nobody else ends it if the one who waits for it is killed; which may have happened by now."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if not _runs(parent):
        os._exit(1)


def _runs(process: int) -> bool:
    """A process that was killed and that nobody has asked about is still listed."""
    try:
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in ("Z", "X")


def _set_threads(threads: Optional[int]) -> None:
    """Before any library is loaded that asks for it."""
    if threads is not None:
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"):
            os.environ[name] = str(threads)


def _fail(folder: pathlib.Path, code: str, message: str, hint: str) -> int:
    (folder / "error.json").write_text(json.dumps({"code": code, "message": message, "hint": hint}))
    return 1


def _what_happened(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
