"""The package without a recording, with and without its compiled part; what is recorded is tested in tests/e2e."""

import asyncio
import contextlib
import importlib
import pathlib
import sys

import pytest

import neurolens
from neurolens import _no_markers
from neurolens._decorate import decorated

FACES = [neurolens, _no_markers]


@pytest.mark.parametrize("face", FACES)
def test_nothing_happens_without_a_recording(face):
    assert not face.is_recording()
    with face.scope("prefill") as entered:
        assert entered is not None
    assert face.mark_event("sampled", token=42, other=object()) is None
    assert face.counter("batch", 8) is None


@pytest.mark.parametrize("face", FACES)
def test_a_function_that_is_not_recorded_stays_itself(face):
    def function():
        return 5

    assert face.scope("f")(function) is function


@pytest.mark.parametrize("face", FACES)
def test_an_exception_passes(face):
    with pytest.raises(KeyError), face.scope("prefill"):
        raise KeyError(1)


def test_the_fallback_has_all_that_the_package_offers():
    for name in ("counter", "is_recording", "mark_event", "scope"):
        assert name in neurolens.__all__ and callable(getattr(_no_markers, name))


class Scopes:
    """Stands for ``neurolens.scope`` and remembers what is open."""

    def __init__(self):
        self.open, self.seen = [], []

    def __call__(self, name):
        self.seen.append(name)
        scopes = self

        class Scope:
            def __enter__(self):
                scopes.open.append(name)

            def __exit__(self, *_):
                scopes.open.remove(name)

        return Scope()


def test_functions_run_inside_of_their_scope():
    scopes = Scopes()

    def add(a, b=1):
        """Adds."""
        assert scopes.open == ["add"]
        return a + b

    wrapped = decorated(scopes, "add", add)
    assert wrapped(1, b=2) == 3
    assert wrapped.__name__ == "add" and wrapped.__doc__ == "Adds."
    assert scopes.seen == ["add"] and not scopes.open


def test_coroutines_run_inside_of_their_scope():
    scopes = Scopes()

    async def work():
        await asyncio.sleep(0)
        assert scopes.open == ["work"]
        return 7

    wrapped = decorated(scopes, "work", work)
    assert asyncio.iscoroutinefunction(wrapped)
    assert asyncio.run(wrapped()) == 7
    assert not scopes.open


def test_generators_are_open_only_while_they_work():
    scopes, heard = Scopes(), []

    def steps():
        for i in range(3):
            assert scopes.open == ["steps"]
            try:
                heard.append((yield i))
            except ValueError as error:
                heard.append(error)
        return "end"

    generator = decorated(scopes, "steps", steps)()
    assert next(generator) == 0 and not scopes.open
    assert generator.send("a") == 1
    error = ValueError()
    assert generator.throw(error) == 2
    with pytest.raises(StopIteration) as end:
        generator.send("b")
    assert end.value.value == "end" and heard == ["a", error, "b"] and not scopes.open
    assert list(decorated(scopes, "steps", steps)()) == [0, 1, 2]


def test_a_closed_generator_cleans_up():
    closed = []

    def steps():
        try:
            yield 1
        finally:
            closed.append(True)

    generator = decorated(Scopes(), "steps", steps)()
    next(generator)
    generator.close()
    assert closed


def test_async_generators_are_open_only_while_they_work():
    scopes = Scopes()

    async def steps():
        for i in range(3):
            await asyncio.sleep(0)
            assert scopes.open == ["steps"]
            yield i

    async def run():
        seen = []
        async for i in decorated(scopes, "steps", steps)():
            assert not scopes.open
            seen.append(i)
        return seen

    assert asyncio.run(run()) == [0, 1, 2]


def test_the_package_works_without_its_compiled_part(monkeypatch):
    monkeypatch.setitem(sys.modules, "neurolens._markers", None)
    monkeypatch.delitem(sys.modules, "neurolens")
    package = importlib.import_module("neurolens")
    assert package.scope is _no_markers.scope or package.scope.__module__ == "neurolens._no_markers"
    with package.scope("x"):
        pass


def test_types_are_shipped():
    folder = pathlib.Path(neurolens.__file__).parent
    assert (folder / "py.typed").exists() and (folder / "__init__.pyi").exists()


@pytest.mark.parametrize("face", FACES)
def test_scopes_take_attributes(face):
    with face.scope("prefill", batch=8, name="n", odd=object()):
        pass
    with pytest.raises(TypeError):
        face.scope("prefill", "more")
    with pytest.raises(TypeError):
        face.scope(name="prefill")


@pytest.mark.parametrize("face", FACES)
def test_a_scope_can_be_entered_by_a_stack(face):
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(face.scope("prefill")) is not None


def test_a_decorated_function_gives_its_attributes_each_time():
    seen = []

    def scope(name, /, **attributes):
        seen.append((name, attributes))
        return contextlib.nullcontext()

    wrapped = decorated(scope, "add", lambda: 5, {"name": 1})
    assert wrapped() == 5 and wrapped() == 5
    assert seen == [("add", {"name": 1})] * 2
