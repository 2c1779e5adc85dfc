"""Values of flags for the duration of a `with` block or of a function call."""

from __future__ import annotations

from paddle_flags._core.assign import push_values
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.status import (
    call_checked,
    raise_deferred,
    undo_if_deferred_raises,
)
from paddle_flags._native import lib
from paddle_flags.errors import FlagArgumentError, FlagTypeError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any, TypeVar

    from paddle_flags._core.assign import Assignment

    F = TypeVar("F", bound=Callable[..., Any])


@hides_internal_frames
class Scope:
    """What `override` and `Flag.override` return: values that hold until they end."""

    def __init__(self, assignments: list[Assignment], where: tuple[str, int]) -> None:
        self._assignments = assignments
        self._where = where
        # A stack, as one object may be entered again inside its own block.
        self._pushed: list[int] = []

    def __enter__(self) -> None:
        self._push()
        undo_if_deferred_raises(self._pop)  # then the block does not begin

    def _resolve_assignments(self) -> list[Assignment]:
        return self._assignments

    def _push(self) -> None:
        wanted = self._resolve_assignments()
        self._pushed.append(push_values(wanted, self._where, scoped=False))

    def _pop(self) -> None:
        call_checked(lib.pd_override_pop, self._pushed.pop())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._pushed:
            raise FlagArgumentError("this override has already ended, or has not begun")
        self._pop()
        raise_deferred()

    def __call__(self, function: F) -> F:
        """Decorate a function: the values hold during each of its calls."""
        if isinstance(function, type):
            raise FlagTypeError(f"override decorates functions, and {function.__name__} is a class")
        return decorate_with_scope(self, function, "override")  # type: ignore[no-any-return]


def decorate_with_scope(scope: AbstractContextManager[Any], function: Any, what: str) -> Any:
    """Return a function that enters `scope` for each call: a plain or async one, or a generator.

    Errors call the scope `what`.
    """
    # Here, as both take longer to import than this package, and few programs decorate.
    import functools
    import inspect

    @hides_internal_frames
    @functools.wraps(function)
    def call_function(*args: Any, **named: Any) -> Any:
        with scope:
            return function(*args, **named)

    @functools.wraps(function)
    def run_generator(*args: Any, **named: Any) -> Any:
        with scope:
            return (yield from function(*args, **named))

    @functools.wraps(function)
    async def await_coroutine(*args: Any, **named: Any) -> Any:
        with scope:
            return await function(*args, **named)

    if inspect.isasyncgenfunction(function):
        raise FlagTypeError(
            f"{what} cannot decorate an asynchronous generator: use 'with {what}(...)' inside it"
        )
    if inspect.iscoroutinefunction(function):
        return await_coroutine
    return run_generator if inspect.isgeneratorfunction(function) else call_function
