from types import TracebackType
from typing import Any, Callable, TypeVar

from neurolens._cli import Error as Error
from neurolens._profile import Profile as Profile
from neurolens._profile import profile as profile
from neurolens._run import Run as Run
from neurolens._run import open as open

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

_F = TypeVar("_F", bound=Callable[..., Any])

class _Scope:
    """A scope that is not open; enter it once at a time, or decorate functions with it."""

    def __enter__(self) -> _Scope: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def __call__(self, function: _F, /) -> _F: ...

def scope(name: str, /, **attributes: Any) -> _Scope:
    """A scope of that name: a context manager and a decorator. Scopes of asyncio tasks nest task by task.

    Values of attributes that JSON does not know are kept as text.
    """

def mark_event(name: str, /, **attributes: Any) -> None:
    """An instant with attributes; values that JSON does not know are kept as text."""

def counter(name: str, value: float, /) -> None:
    """A sample of a time series."""

def is_recording() -> bool:
    """Whether markers are recorded. It does not change while the process runs."""

def include_dir() -> str:
    """The folder to compile C and C++ programs with that set markers by ``#include <neurolens/neurolens.h>``."""
