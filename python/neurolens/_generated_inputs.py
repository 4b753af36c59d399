"""Inputs for a model whose caller gives none: numbers from 0 to 1, integers 1, as ``neurolens profile model.onnx`` makes them."""

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from neurolens._cli import Error
from neurolens._workload import described_input

Wanted = tuple[str, Any, Sequence[Any]]  # name, type of numpy or None, sizes; an open one is a name or None


def complete_inputs(
    wanted: Sequence[Wanted], given: Any, shapes: Mapping[str, Sequence[int]]
) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    """The inputs by name, their descriptions, and notes on sizes that were guessed."""
    named = _by_name(wanted, given)
    inputs: dict[str, Any] = {}
    described: list[dict[str, Any]] = []
    notes: list[str] = []
    for name, kind, open_shape in wanted:
        origin = "given" if name in named else "generated"
        if origin == "given":
            inputs[name] = named[name]
        else:
            shape, guessed = _shape(open_shape, shapes.get(name))
            inputs[name] = _made(name, kind, shape)
            notes += [f"the model leaves the size {size} open: 1 is used" for size in guessed]
        described.append(described_input(name, inputs[name], origin))
    return inputs, described, sorted(set(notes))


def _by_name(wanted: Sequence[Wanted], given: Any) -> dict[str, Any]:
    names = [name for name, _, _ in wanted]
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        values = given if isinstance(given, (tuple, list)) else [given]
        given = dict(zip(names, values))
    for name in given:
        if name not in names:
            raise Error("bad_input", f"the model has no input {name}", "its inputs: " + ", ".join(names))
    return dict(given)


def _shape(wanted: Sequence[Any], given: Optional[Sequence[int]]) -> tuple[list[int], list[str]]:
    """The shape, and the sizes in it that were guessed."""
    if given is not None:
        return list(given), []
    is_known = [isinstance(size, int) and size >= 0 for size in wanted]
    shape = [size if known else 1 for size, known in zip(wanted, is_known)]
    return shape, [str(size or "?") for size, known in zip(wanted, is_known) if not known]


def _made(name: str, kind: Any, shape: list[int]) -> Any:
    import numpy

    if kind is None:
        raise Error("unsupported", f"an input of its type cannot be made up: {name}", "give it with inputs=")
    if numpy.issubdtype(kind, numpy.floating):
        return numpy.random.default_rng(1).random(shape).astype(kind)
    return numpy.ones(shape, kind)
