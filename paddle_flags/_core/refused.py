"""What is said of modules that were refused past `load_plugin`: errors, and warnings."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING

from paddle_flags._core.status import take_warnings, warnings_left
from paddle_flags._core.unraisable import report
from paddle_flags._fast import in_hook
from paddle_flags.errors import RefusedModuleWarning

if TYPE_CHECKING:
    from types import FrameType

    from paddle_flags.errors import FlagError

_REMEDY = (
    "; rename one of them, or give the refused library a namespace: call"
    ' load_plugin(path, namespace="...") before it is loaded otherwise'
)


def explained(refusal: FlagError) -> FlagError:
    """Return the error with what to do about conflicts. It takes the place of the warnings."""
    _take_warnings()
    for each in refusal.errors:
        if each.status == "PD_ERR_CONFLICT":
            each.args = (f"{each}{_REMEDY}",)
    refusal.args = ("\n".join(map(str, refusal.errors)),)
    return refusal


# ---- Warnings ----


def _take_warnings() -> list[RefusedModuleWarning]:
    """Return the warnings of refused modules that nobody has issued, and forget them."""
    taken = take_warnings()
    warnings_left[:0] = [each for each in taken if not isinstance(each, RefusedModuleWarning)]
    return [each for each in taken if isinstance(each, RefusedModuleWarning)]


def warn_between_calls() -> None:
    """Issue the warnings of refused modules. Raises nothing: the code that runs is innocent.

    A warning that a filter makes an error waits for the next call of this package, which
    raises it when it has succeeded; within a hook all of them wait.
    """
    if not in_hook():
        warnings_left[:0] = [each for each in _take_warnings() if not _is_issued(each)]


def _is_issued(message: RefusedModuleWarning) -> bool:
    frame = _loading_frame()
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    file, module = frame.f_code.co_filename, str(names.get("__name__") or "<unknown>")
    try:
        warnings.warn_explicit(message, None, file, frame.f_lineno, module, registry)
    except Warning:
        return False
    except Exception as error:  # noqa: BLE001 - of a function in place of warnings.showwarning
        report(error, "Exception ignored while warning of a refused module", warnings.showwarning)
    return True


_LOADERS = ("paddle_flags.", "ctypes", "importlib.", "_frozen_importlib")


def _loading_frame() -> FrameType:
    """Return the frame that has probably loaded the module, or that just happens to run."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(_LOADERS):
        frame = frame.f_back
    return frame
