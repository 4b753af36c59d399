"""A workload measured twice in one process: as it is, and with its profiler. The two take turns in short blocks, so that
a machine that gets slower meanwhile slows both. As ``neurolens profile model.onnx`` does it."""

import pathlib
import time
from collections.abc import Generator
from typing import Any, Optional

from neurolens._workload import Workload

_BLOCK_NS = 50_000_000  # at most, if one iteration is not longer
_TURNS = 20  # at least, if there are as many iterations
_PAUSE_S = 0.02  # the threads of the block before stop spinning


class Passes:
    """The iterations, what memory they took, and the clock that their times are of."""

    def __init__(self, workload: Workload, folder: str) -> None:
        self.workload = workload
        self.folder = folder
        self.iterations: list[dict[str, Any]] = []
        self.memory: list[dict[str, Any]] = []
        self.peak_bytes: Optional[int] = None
        self.profiles: list[str] = []

    def measure(self, warm_up: int, iterations: Optional[int], seconds: float) -> None:
        self.add_memory("process")
        self._block("unprofiled", max(warm_up, 1), True)
        self.add_memory("warm")
        self.peak_bytes = memory_now("VmHWM")
        if not self.workload.has_profiler:
            self._block("unprofiled", self._wanted(iterations, seconds), False)
            return
        self.workload.open_profiler(self.folder)
        try:
            self.add_memory("profiler")
            self._take_turns(warm_up, iterations, seconds)
        finally:
            self.profiles = self.workload.close_profiler()

    def iterate(self, is_profiled: bool, is_warm_up: bool) -> None:
        run = self.workload.run_profiled if is_profiled else self.workload.run
        cpu, start = time.process_time_ns(), time.monotonic_ns()
        run()
        self.add(is_profiled, is_warm_up, start, time.monotonic_ns(), time.process_time_ns() - cpu)
        if is_profiled:
            self.workload.after_profiled(is_warm_up)

    def add(self, is_profiled: bool, is_warm_up: bool, start_ns: int, end_ns: int, cpu_ns: int) -> None:
        name = "profiled" if is_profiled else "unprofiled"
        times = {"start_ns": start_ns, "dur_ns": end_ns - start_ns, "cpu_ns": cpu_ns}
        self.iterations.append({"pass": name, "warm_up": is_warm_up, **times})

    def add_memory(self, stage: str) -> None:
        self.memory.append({"stage": stage, "resident_bytes": memory_now("VmRSS")})

    def document(self) -> dict[str, Any]:
        return {
            "profiles": self.profiles,
            "files": self.workload.kept_files(),
            "notes": self.workload.notes,
            "inputs": self.workload.inputs,
            "memory": {"peak_bytes": self.peak_bytes, "stages": self.memory},
            "clock": clock_pair(),
            "iterations": self.iterations,
        }

    def _take_turns(self, warm_up: int, iterations: Optional[int], seconds: float) -> None:
        """A profiler that cannot be switched is on for all of its iterations, behind those without it."""
        wanted = self._wanted(iterations, seconds / 2)
        block = block_size(self._last_ns(), wanted) if self.workload.switches else wanted
        if self.workload.switches:
            self._block("profiled", max(warm_up, 1), True)
        for done in range(0, wanted, block):
            count = min(block, wanted - done)
            self._block("unprofiled", count, False)
            self._block("profiled", count, False)

    def _block(self, name: str, count: int, is_warm_up: bool) -> None:
        is_profiled = name == "profiled"
        time.sleep(_PAUSE_S)
        if self.workload.has_profiler:
            self.workload.switch(is_profiled)
        for _ in range(count):
            self.iterate(is_profiled, is_warm_up)
        if is_profiled:
            self.workload.switch(False)

    def _wanted(self, iterations: Optional[int], seconds: float) -> int:
        return iterations or min(max(int(seconds * 1e9 / self._last_ns()), 10), 200)

    def _last_ns(self) -> int:
        return max(self.iterations[-1]["dur_ns"], 1)


def block_size(once_ns: int, wanted: int) -> int:
    return max(min(_BLOCK_NS // max(once_ns, 1), max(wanted // _TURNS, 1)), 1)


def turns(warm_up: int) -> Generator[tuple[bool, bool], Optional[int], None]:
    """Of code whose end nobody knows: is the next iteration profiled, is it a warm-up? The caller sends how long one took.

    The very first is profiled, since it may be the only one.
    """
    once_ns = yield True, True
    for _ in range(max(warm_up - 1, 1)):
        once_ns = yield False, True
    while True:
        block = max(_BLOCK_NS // max(once_ns or 1, 1), 1)
        for is_profiled in (False, True):
            for _ in range(block):
                once_ns = yield is_profiled, False


def memory_now(line: str) -> Optional[int]:
    """A line of /proc/self/status in bytes; nothing where there is none."""
    try:
        with open("/proc/self/status") as status:
            for text in status:
                if text.startswith(line + ":"):
                    return int(text.split()[1]) * 1024
    except OSError:
        pass
    return None


def clock_pair() -> dict[str, Any]:
    """The monotonic and the Unix clock, read together; of some tries the one that took least."""
    tries = []
    for _ in range(16):
        before, unix, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append(((after - before + 1) // 2, (before + after) // 2, unix))
    bound, monotonic, unix = min(tries)
    return {"monotonic_ns": monotonic, "unix_ns": unix, "bound_ns": bound, "boot_id": _boot_id()}


def _boot_id() -> str:
    """The name of the monotonic clock; empty if it is hidden."""
    try:
        return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
