"""Tracebacks that end in the user's line: frames of this package are dropped.

What users call is decorated with `hides_internal_frames`. `python -X dev` keeps all frames.
"""

from __future__ import annotations

import sys

from paddle_flags._fast import hide_frames as _hide_frames
from paddle_flags._fast import set_traceback_pruner

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any, TypeVar

    T = TypeVar("T")

_FUNCTION: Any = type(lambda: None)


def hides_internal_frames(target: T) -> T:
    """Decorate a function, or a class for its methods and properties.

    What they raise has no frames of this package: a traceback ends in the user's line.
    """
    if sys.flags.dev_mode:
        return target
    hiding: Any = _hide_in_class(target) if isinstance(target, type) else _hide_frames(target)
    return hiding  # type: ignore[no-any-return]


def _hide_in_class(kind: Any) -> Any:
    for name, member in list(vars(kind).items()):
        if name.startswith("_") and not name.endswith("__"):
            continue
        if isinstance(member, _FUNCTION):
            setattr(kind, name, _hide_frames(member))
        elif isinstance(member, property):
            setattr(kind, name, property(_hide_frames(member.fget)))
    return kind


def is_ours(frame: FrameType) -> bool:
    """Return whether the frame runs code of this package."""
    name = str(frame.f_globals.get("__name__"))
    return name == "paddle_flags" or name.startswith("paddle_flags.")


def first_user_frame(frame: FrameType, *between: str) -> FrameType:
    """Return the innermost frame, from this one on, that is not of this package.

    Modules whose names start with one of `between` are skipped, too.
    """
    each: FrameType | None = frame
    while each and (is_ours(each) or str(each.f_globals.get("__name__")).startswith(between)):
        each = each.f_back
    return each or make_native_frame()


_NATIVE = "<native code>"


def make_native_frame() -> FrameType:
    """Return a frame that stands for native code that has called us, as atexit does."""
    code = (lambda get: get()).__code__.replace(co_filename=_NATIVE, co_firstlineno=1)
    frame: FrameType = _FUNCTION(code, {"__name__": _NATIVE})(sys._getframe)
    return frame


def frame_above(depth: int) -> FrameType:
    """Return the frame that is `depth` calls above the caller."""
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return make_native_frame()


def without_internal_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without our frames."""
    kept: list[TracebackType] = []
    each = traceback
    while each is not None:
        if not is_ours(each.tb_frame):
            kept.append(each)
        each = each.tb_next
    made: TracebackType | None = None
    for each in reversed(kept):
        made = type(each)(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made


def _prune_traceback(error: BaseException, traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without our frames; also prune that of the cause."""
    # The cause has a traceback of its own, which Python prints as well.
    cause = error.__cause__
    if cause is not None:
        cause.__traceback__ = without_internal_frames(cause.__traceback__)
    return without_internal_frames(traceback)


if not sys.flags.dev_mode:
    set_traceback_pruner(_prune_traceback)
