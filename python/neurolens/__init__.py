"""NeuroLens in Python: reading runs of the ledger, and markers inside of a program.

    run = neurolens.open("@latest")
    run.table("kernels", ["name", "dur_ns"], where="dur_ns > 1000000")
    run.sql("SELECT name, sum(dur_ns) AS total_ns FROM kernels GROUP BY 1")

Profiling code of this process, with and without the profiler of its framework, as a run:

    run = neurolens.profile(model, inputs=x)

Markers are scopes, marks and counters, recorded by ``neurolens record``. Scopes and marks are ranges and marks of NVTX
and roctx, too, for tools that listen. If nobody does, every call returns at once; without the compiled part
(``neurolens._markers``) it does so always.

    with neurolens.scope("prefill", batch=8):
        ...

    @neurolens.scope("decode")          # functions, coroutines and generators
    async def decode(): ...

    neurolens.mark_event("sampled", token=42)
    neurolens.counter("batch", 8)
"""

import os

from neurolens._cli import Error
from neurolens._decorate import decorated
from neurolens._profile import Profile, profile
from neurolens._run import Run, open

try:
    from neurolens import _markers
except ImportError:
    from neurolens import _no_markers as _markers

_markers.set_decorate(decorated)

scope = _markers.scope
mark_event = _markers.mark_event
counter = _markers.counter
is_recording = _markers.is_recording


if os.environ.get("NEUROLENS_PROCESS_REPORT"):
    from neurolens import _process_report

    _process_report.write_at_the_end(os.environ["NEUROLENS_PROCESS_REPORT"])


def include_dir():
    """The folder to compile C and C++ programs with that set markers by ``#include <neurolens/neurolens.h>``."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


__all__ = [
    "Error",
    "Profile",
    "Run",
    "counter",
    "include_dir",
    "is_recording",
    "mark_event",
    "open",
    "profile",
    "scope",
]
