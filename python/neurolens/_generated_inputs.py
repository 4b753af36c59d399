"""Inputs for a model whose caller gives none: numbers from 0 to 1, integers 1, as ``neurolens profile model.onnx`` makes them."""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from neurolens._cli import Error

Wanted = Tuple[str, Any, Sequence[Any]]  # name, type of numpy, sizes; what is open is a name or nothing


def complete_inputs(
    wanted: Sequence[Wanted], given: Any, sizes: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> Tuple[Dict[str, Any], List[Dict[str, Any]], List[str]]:
    """The inputs by name, their descriptions, and notes on sizes that were guessed."""
    named = _by_name(wanted, given)
    inputs: Dict[str, Any] = {}
    described: List[Dict[str, Any]] = []
    notes: List[str] = []
    for name, kind, open_shape in wanted:
        origin = "given" if name in named else "generated"
        if origin == "given":
            inputs[name] = named[name]
        else:
            shape, guessed = _shape(open_shape, sizes, shapes.get(name))
            inputs[name] = _made(kind, shape)
            notes += [f"the model leaves the size {size} open: taken for 1" for size in guessed]
        value = inputs[name]
        kind_name = str(getattr(value, "dtype", type(value).__name__))
        shape_now = [int(size) for size in getattr(value, "shape", ())]
        described.append({"name": name, "type": kind_name, "shape": shape_now, "origin": origin})
    return inputs, described, sorted(set(notes))


def _by_name(wanted: Sequence[Wanted], given: Any) -> Dict[str, Any]:
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


def _shape(
    sizes_wanted: Sequence[Any], sizes: Mapping[str, int], given: Optional[Sequence[int]]
) -> Tuple[List[int], List[str]]:
    if given is not None:
        return list(given), []
    shape, guessed = [], []
    for size in sizes_wanted:
        if isinstance(size, int) and size >= 0:
            shape.append(size)
        else:
            shape.append(sizes.get(str(size), 1))
            guessed += [] if str(size) in sizes else [str(size or "?")]
    return shape, guessed


def _made(kind: Any, shape: List[int]) -> Any:
    import numpy

    if numpy.issubdtype(kind, numpy.floating):
        return numpy.random.default_rng(1).random(shape).astype(kind)
    return numpy.ones(shape, kind)
