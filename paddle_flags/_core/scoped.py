"""Values of flags in one thread or task: scopes, and contexts that hand them to others."""

from __future__ import annotations

import sys
from _thread import get_ident

from paddle_flags._core.assign import caller_place, push_values
from paddle_flags._core.context_scopes import follow_contexts
from paddle_flags._core.frames import (
    first_user_frame,
    frame_above,
    hides_internal_frames,
)
from paddle_flags._core.registry import merge_named_values, resolve_assignments
from paddle_flags._core.status import failures, queued_warnings, undo_if_deferred_raises
from paddle_flags._core.steps import (
    Driven,
    Steps,
    attach_scopes,
    capture_scopes,
    detach_scopes,
    switch_scopes,
    wrap_in_context,
)
from paddle_flags._fast import has_pending_work, scopes_context_number, scopes_end, scopes_opened
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError, FlagTaskError, FlagTypeError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType, TracebackType
    from typing import Any, NoReturn, TypeVar

    from paddle_flags._core.registry import Values

    F = TypeVar("F", bound=Callable[..., Any])
    R = TypeVar("R")

# ---- What can't be followed: tasks that leave a scope open while others run on their thread ----

_SUSPENDS = 0x80 | 0x100 | 0x200  # CO_COROUTINE, CO_ITERABLE_COROUTINE, CO_ASYNC_GENERATOR


def _is_suspendable_or_contextlib(frame: FrameType) -> bool:
    """Return whether to look closer: at a coroutine, or at contextlib, which may be part of one."""
    flags = frame.f_code.co_flags
    return bool(flags & _SUSPENDS) or frame.f_globals.get("__name__") == "contextlib"


def _skip_contextlib_frames(frame: FrameType) -> FrameType:
    """Return the code that a scope is for: ExitStack, for example, enters it for its caller."""
    while frame.f_back and frame.f_globals.get("__name__") == "contextlib":
        frame = frame.f_back
    return frame


def _check_not_in_coroutine(frame: FrameType, what: str, instead: str) -> None:
    """Raise an error in code that may be suspended while the scope is open."""
    code = _skip_contextlib_frames(first_user_frame(frame)).f_code
    if code.co_flags & _SUSPENDS:
        raise FlagTaskError(
            f"{what}: {code.co_name}() would leave its values to other tasks when it awaits: "
            f"expected {instead}"
        )


def _check_no_greenlets(what: str) -> None:
    """Raise an error where a greenlet may switch to another one while a scope is open."""
    greenlet = sys.modules["greenlet"]
    if greenlet.getcurrent().parent or "gevent" in sys.modules:
        raise FlagTaskError(
            f"{what}: greenlets of one thread share its scopes: expected a thread without "
            "greenlets, or override for a value of the process"
        )


def _attach_scope_context(context: Any) -> int:
    if "greenlet" in sys.modules:
        _check_no_greenlets("ScopeContext")
    return attach_scopes(context)


# ---- Scopes ----


@hides_internal_frames
class scoped:
    """Give flags values in this thread or task, for a `with` block or a function call.

        with scoped(alpha_level=1): ...

        @scoped({"beta.port": 80, level: 5}, alpha_level=1)
        def function(): ...  # or async def, or a generator, also an asynchronous one

    The flags must be scoped: PD_DEFINE_SCOPED_<type> in C, `define(..., scoped=True)` in
    Python; otherwise FlagTypeError. All values are checked before the first takes effect, as by
    `override`. Native code that this thread calls sees them, other threads don't: hand them on
    by `capture` or `wrap_executor`. They hide all other values of the flag, also those of
    overrides. Setting a flag inside the block is for the process; if the scope hides the new
    value, there is a ScopeHidesWarning.

    From CPython 3.14 on, scopes follow tasks: `with` in a coroutine is for its task, and child
    tasks and `asyncio.to_thread` begin with the scopes of their parent. So do threads that get the
    context of their creator, as they do in a free-threaded CPython. Before that, and in other
    interpreters than the main one, `with` raises FlagTaskError in a coroutine or an asynchronous
    generator, as it would leave the values to other tasks at each `await`: use the decorator, or
    await `capture().run_async(...)` in the block of a plain function. A `with` in a generator
    stays open for the code that uses it; the decorator's values are seen by the generator alone.
    """

    def __init__(self, values: Values | None = None, /, **named: object) -> None:
        self._values = merge_named_values(values, named)
        self._where = caller_place(1)
        self._open: list[tuple[int, int]] = []  # number, and the place where it was opened

    def __enter__(self) -> None:
        frame = frame_above(1)
        if _is_suspendable_or_contextlib(frame) and not follow_contexts():
            _check_not_in_coroutine(frame, "scoped", "the decorator @scoped(...)")
        self._enter()

    def _enter(self) -> None:
        if "greenlet" in sys.modules:
            _check_no_greenlets("scoped")
        follow_contexts()
        number = self._push()
        self._open.append((number, scopes_opened()))
        if failures or queued_warnings or has_pending_work():
            undo_if_deferred_raises(self._leave)  # then the block does not begin

    def _push(self) -> int:
        return push_values(resolve_assignments(self._values), self._where, scoped=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._open:
            raise FlagArgumentError("this scope has already ended, or has not begun")
        self._leave()

    def _leave(self) -> None:
        """End the latest scope that was opened here; if there is none, the latest one."""
        opened = self._open
        scopes_end(*(opened.pop() if len(opened) == 1 else self._pop_open_scope()))

    def _pop_open_scope(self) -> tuple[int, int]:
        here = scopes_context_number()
        own = [each for each in self._open if each[1] == here]
        taken = own[-1] if own else self._open[-1]
        self._open.remove(taken)
        return taken

    def __call__(self, function: F) -> F:
        """Decorate a function: the values hold during each of its calls."""
        if isinstance(function, type):
            raise FlagTypeError(f"scoped decorates functions, and {function.__name__} is a class")
        return wrap_in_context(self._make_context, self._run, function)  # type: ignore[no-any-return]

    def _run(self, function: Callable[..., R], /, *args: Any, **named: Any) -> R:
        """Call the function in a scope of this call alone, as calls may overlap."""
        scope = scoped(self._values)
        scope._where = self._where
        scope._enter()
        try:
            return function(*args, **named)
        finally:
            scope._leave()

    def _make_context(self) -> Any:
        """Return the context of this thread with the values."""
        if "greenlet" in sys.modules:
            _check_no_greenlets("scoped")
        outer = switch_scopes(capture_scopes())
        try:
            self._push()
        except BaseException:
            lib.pd_scope_release(switch_scopes(outer))
            raise
        return switch_scopes(outer)


@hides_internal_frames
class ScopeContext:
    """What `capture` returns: the scopes of a thread, for other threads and tasks.

    It keeps the values also when the scopes have ended. Any number of threads may use it, at once
    and again.
    """

    def __init__(self, pointer: Any) -> None:
        self._context = ffi.gc(pointer, lib.pd_scope_release) if pointer else ffi.NULL
        self._attached: list[tuple[int, int]] = []  # thread and number

    def run(self, function: Callable[..., R], /, *args: Any, **named: Any) -> R:
        """Call the function in these scopes, and return what it returns."""
        return self._run(function, *args, **named)

    def _run(self, function: Callable[..., R], /, *args: Any, **named: Any) -> R:
        number = _attach_scope_context(self._context)
        try:
            return function(*args, **named)
        finally:
            detach_scopes(number)

    async def run_async(self, coroutine: Coroutine[Any, Any, R]) -> R:
        """Await the coroutine: each of its steps runs in these scopes."""
        with Steps(self._acquire_context_reference) as steps:
            return await Driven(steps, coroutine)  # type: ignore[no-any-return]

    def wrap(self, function: F) -> F:
        """Return the function, of whichever kind, so that each call runs in these scopes."""
        return wrap_in_context(self._acquire_context_reference, self._run, function)  # type: ignore[no-any-return]

    def __enter__(self) -> None:
        _check_not_in_coroutine(frame_above(1), "ScopeContext", "await context.run_async(...)")
        self._attached.append((get_ident(), _attach_scope_context(self._context)))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        here = get_ident()
        at = max(i for i, (thread, _) in enumerate(self._attached) if thread == here)
        detach_scopes(self._attached.pop(at)[1])

    def __reduce__(self) -> NoReturn:
        message = "a ScopeContext belongs to its process: expected threads, or propagate()"
        raise FlagTypeError(message)

    def _acquire_context_reference(self) -> Any:
        """Return one more reference to the context, which the caller then owns."""
        return self.run(capture_scopes)


@hides_internal_frames
def capture() -> ScopeContext:
    """Return the scopes of this thread, to run functions and coroutines in them elsewhere."""
    return ScopeContext(capture_scopes())
