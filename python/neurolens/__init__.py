"""Markers for NeuroLens: scopes, marks and counters of a program, recorded by ``neurolens record``.

Without a recording every call returns at once; without the compiled part (``neurolens._markers``) it does so always.

    with neurolens.scope("prefill"):
        ...

    @neurolens.scope("decode")          # functions, coroutines and generators
    async def decode(): ...

    neurolens.mark_event("sampled", token=42)
    neurolens.counter("batch", 8)
"""

from neurolens._cli import Error
from neurolens._decorate import decorated

try:
    from neurolens import _markers
except ImportError:
    from neurolens import _no_markers as _markers

_markers.set_decorate(decorated)

scope = _markers.scope
mark_event = _markers.mark_event
counter = _markers.counter
is_recording = _markers.is_recording

__all__ = ["Error", "counter", "is_recording", "mark_event", "scope"]
