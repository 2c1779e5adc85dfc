"""Exceptions that no call can raise: they go to `sys.unraisablehook`."""

from __future__ import annotations

import sys
from typing import Any

from paddle_flags._core.frames import without_internal_frames


def report_unraisable(error: BaseException, message: str, source: object) -> None:
    """Report an exception that `source`, a function, has raised; keep nothing of it."""
    if not sys.flags.dev_mode:
        error.__traceback__ = without_internal_frames(error.__traceback__)
    # Read each time: programs and tests replace it.
    hook = sys.unraisablehook
    try:
        hook(_hook_arguments(error, message, source))
    except Exception as failure:  # as Python does it
        sys.__unraisablehook__(
            _hook_arguments(failure, "Exception ignored in sys.unraisablehook", hook)
        )


# The class of what the hook gets, which Python names only in its documentation.
_KIND: Any = next(each for each in tuple.__subclasses__() if each.__name__ == "UnraisableHookArgs")


def _hook_arguments(error: BaseException, message: str, source: object) -> Any:
    return _KIND((type(error), error, error.__traceback__, message, source))
