"""The loop of a side-car: turns that are made again and again, and what goes wrong in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from paddle_flags.errors import FlagError
from paddle_flags.fleet._store import UnreachableError

if TYPE_CHECKING:
    import threading

OnProblem = Callable[[FlagError | None], object]
"""Called with each new problem, and with None when all is well again."""

_PAUSE = 1.0  # seconds until the next try


def repeat(
    turn: Callable[[], object],
    stop: threading.Event,
    on_problem: OnProblem | None,
    pause: float,
) -> None:
    """Make turns, with a pause of some seconds behind each, until `stop` is set.

    An engine that is away is waited for. Any other error is raised before the first turn that
    succeeds: then a person is there, or a supervisor that shows it. Later ones are tried again,
    if `on_problem` takes them.
    """
    told: set[str] = set()
    has_begun = False
    while not stop.is_set():
        try:
            turn()
        except FlagError as error:
            is_away = isinstance(error, UnreachableError)
            if not is_away and (on_problem is None or not has_begun):
                raise
            if on_problem is not None and str(error) not in told:
                told.add(str(error))
                on_problem(error)
            stop.wait(_PAUSE)
            continue
        has_begun = True
        if told and on_problem is not None:
            told.clear()
            on_problem(None)
        stop.wait(pause)
