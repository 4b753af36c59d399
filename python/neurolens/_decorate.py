"""Functions that run inside of a scope, of every kind that Python knows."""

import functools
import inspect


def decorated(scope, name, function, attributes=None):
    """``function`` with a scope of that name around each call; of a generator, around each step."""
    if attributes:
        scope = functools.partial(scope, **attributes)
    if inspect.isasyncgenfunction(function):
        return _async_generator(scope, name, function)
    if inspect.iscoroutinefunction(function):
        return _coroutine(scope, name, function)
    if inspect.isgeneratorfunction(function):
        return _generator(scope, name, function)

    @functools.wraps(function)
    def call(*args, **kwargs):
        with scope(name):
            return function(*args, **kwargs)

    return call


def _coroutine(scope, name, function):
    @functools.wraps(function)
    async def call(*args, **kwargs):
        with scope(name):
            return await function(*args, **kwargs)

    return call


def _generator(scope, name, function):
    """The caller's own time between two steps is not the generator's."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        steps = function(*args, **kwargs)
        resume, given = steps.send, None
        while True:
            try:
                with scope(name):
                    value = resume(given)
            except StopIteration as end:
                return end.value
            try:
                resume, given = steps.send, (yield value)
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:
                resume, given = steps.throw, error

    return call


def _async_generator(scope, name, function):
    @functools.wraps(function)
    async def call(*args, **kwargs):
        steps = function(*args, **kwargs)
        resume, given = steps.asend, None
        while True:
            try:
                with scope(name):
                    value = await resume(given)
            except StopAsyncIteration:
                return
            try:
                resume, given = steps.asend, (yield value)
            except GeneratorExit:
                await steps.aclose()
                raise
            except BaseException as error:
                resume, given = steps.athrow, error

    return call
