"""Contexts of C, and functions that run in them, as a whole or step by step."""

from __future__ import annotations

from paddle_flags._core.context_scopes import follow_contexts
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.status import call_checked
from paddle_flags._fast import scopes_ended, scopes_opened
from paddle_flags._native import ffi, lib

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator
    from typing import Any, Self

# ---- Contexts as C has them; each pointer is owned by whoever has it ----


def capture_scopes() -> Any:
    """Return the scopes of this thread, which the caller then owns."""
    found = ffi.new("pd_scope_context **")
    call_checked(lib.pd_scope_capture, found)
    return found[0]


def switch_scopes(context: Any) -> Any:
    """Give this thread `context`, which is given away; return the one it had."""
    former = ffi.new("pd_scope_context **")
    call_checked(lib.pd_scope_switch, context, former)
    return former[0]


def attach_scopes(context: Any) -> int:
    """Make a copy of the reference the context of this thread.

    Return the number for `detach_scopes`.
    """
    number = ffi.new("pd_scope *")
    follow_contexts()
    call_checked(lib.pd_scope_attach, context, number)
    scopes_opened()
    return int(number[0])


def detach_scopes(number: int) -> None:
    """Put back the context that the thread had before."""
    call_checked(lib.pd_scope_detach, number)
    scopes_ended()


class Steps:
    """Runs a generator or coroutine step by step, each in a context of its own.

    What a step leaves open stays open in the next one, and is closed in between. The context is
    released at the end of a `with` block.
    """

    def __init__(self, make_context: Callable[[], Any]) -> None:
        """`make_context` returns the context for the first step, which is then owned here."""
        self._context = make_context()

    def __enter__(self) -> Self:
        return self

    def drive(self, steps: Any) -> Generator[Any, Any, Any]:
        """Yield what `steps` yields, send and throw to it what comes, return what it returns."""
        do, argument = steps.send, None
        while True:
            try:
                # Between two steps, the thread has the scopes of whoever waits for this one.
                waits_for = self._run_step(do, argument)
            except StopIteration as end:
                return end.value
            try:
                do, argument = steps.send, (yield waits_for)
            except GeneratorExit:
                # The `finally` of the generator reads flags in its own context, too.
                self._run_step(lambda _: steps.close(), None)
                raise
            except BaseException as error:  # it is handed on
                do, argument = steps.throw, error

    def _run_step(self, do: Callable[[Any], Any], argument: Any) -> Any:
        follow_contexts()
        # Before anything can raise: `finally` below needs both contexts.
        outer = switch_scopes(self._context)
        scopes_opened()
        try:
            return do(argument)
        finally:
            self._context = switch_scopes(outer)
            scopes_ended()

    def __exit__(self, *_: object) -> None:
        # NULL first, so that ending twice releases once.
        context, self._context = self._context, ffi.NULL
        lib.pd_scope_release(context)


class Driven:
    """An awaitable that runs a coroutine by steps."""

    def __init__(self, steps: Steps, coroutine: Any) -> None:
        self._steps = steps
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._steps.drive(self._coroutine.__await__())


def _wrap_async_generator(make_context: Callable[[], Any], function: Any) -> Any:
    """Return an asynchronous generator that runs that of `function` in a context."""

    async def run_async_generator(*args: Any, **named: Any) -> AsyncGenerator[Any, Any]:
        with Steps(make_context) as steps:
            made = function(*args, **named)
            do, argument = made.asend, None
            while True:
                try:
                    value = await Driven(steps, do(argument))
                except StopAsyncIteration:
                    return
                try:
                    do, argument = made.asend, (yield value)
                except GeneratorExit:
                    await Driven(steps, made.aclose())
                    raise
                except BaseException as error:  # it is handed on
                    do, argument = made.athrow, error

    return run_async_generator


def wrap_in_context(make_context: Callable[[], Any], run: Callable[..., Any], function: Any) -> Any:
    """Return a function of the same kind as `function` that runs it in a context.

    `run` calls a plain function with its arguments; `make_context` returns the context for the
    steps of the other kinds.
    """
    import functools
    import inspect

    def call_function(*args: Any, **named: Any) -> Any:
        return run(function, *args, **named)

    def run_generator(*args: Any, **named: Any) -> Any:
        with Steps(make_context) as steps:
            return (yield from steps.drive(function(*args, **named)))

    async def await_coroutine(*args: Any, **named: Any) -> Any:
        with Steps(make_context) as steps:
            return await Driven(steps, function(*args, **named))

    made: Any = hides_internal_frames(functools.wraps(function)(call_function))
    if inspect.isasyncgenfunction(function):
        made = functools.wraps(function)(_wrap_async_generator(make_context, function))
    elif inspect.iscoroutinefunction(function):
        made = functools.wraps(function)(await_coroutine)
    elif inspect.isgeneratorfunction(function):
        made = functools.wraps(function)(run_generator)
    return made
