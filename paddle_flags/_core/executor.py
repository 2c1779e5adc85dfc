"""An executor whose threads work in the scopes of those who submit."""

from __future__ import annotations

from concurrent.futures import Executor, Future

from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.scoped import capture
from paddle_flags.errors import FlagTypeError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class WrappedExecutor(Executor):
    """What `wrap_executor` returns."""

    def __init__(self, executor: Executor) -> None:
        kind = type(executor)
        if not isinstance(executor, Executor):
            raise FlagTypeError(f"wrap_executor: expected an Executor, not {kind.__name__}")
        # By name, as their modules are not imported just to compare classes.
        if any(each.__name__ in _ELSEWHERE for each in kind.__mro__):
            raise FlagTypeError(
                f"wrap_executor: {kind.__name__} runs functions where scopes of this process "
                "don't reach: expected a ThreadPoolExecutor, or propagate() for the values of "
                "the process"
            )
        self._executor = executor

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit the function with the scopes of this thread."""
        # Captured here, on the thread that submits.
        return self._executor.submit(capture().run, fn, *args, **kwargs)

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        """Shut down the executor."""
        self._executor.shutdown(*args, **kwargs)


_ELSEWHERE = ("ProcessPoolExecutor", "InterpreterPoolExecutor", "MPIPoolExecutor")


@hides_internal_frames
def wrap_executor(executor: Executor) -> Executor:
    """Return an executor that runs what is submitted in the scopes of the submitting thread.

    It uses `executor`, whose threads it shares; shutting one down shuts down the other. Raises
    FlagTypeError for an executor of processes: those have the values of `propagate`.
    """
    return WrappedExecutor(executor)
