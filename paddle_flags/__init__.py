"""One registry of run-time flags for Python and every native library of a process.

import paddle_flags as pf

port = pf.define("port", 8080, "Port to listen on", min=1, max=65535)
pf.load_plugin("build/plugins/libalpha.so")
arguments = pf.parse()
pf.FLAGS.alpha_level = 9
"""

from paddle_flags._define import define
from paddle_flags._flag import Flag
from paddle_flags._native import lib as _lib
from paddle_flags._parse import check_modules, check_pending, parse
from paddle_flags._registry import FLAGS, get, override, reset
from paddle_flags._registry import set as set
from paddle_flags._status import to_text as _to_text
from paddle_flags.errors import (
    DeprecatedFlagWarning,
    FlagArgumentError,
    FlagConflictError,
    FlagDepthError,
    FlagError,
    FlagFileError,
    FlagMemoryError,
    FlagNameError,
    FlagParseError,
    FlagTypeError,
    FlagUnsupportedError,
    FlagValueError,
    FrozenFlagError,
    HelpRequested,
    PluginLoadError,
    PluginValueError,
    ReadOnlyFlagError,
    UndefinedFlagError,
)

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags._config import get_compat_include, get_include
    from paddle_flags._describe import describe
    from paddle_flags._dump import dump
    from paddle_flags._entry import FlagEntry
    from paddle_flags._hooks import (
        Hook,
        all_or_none,
        at_least_one,
        check_values,
        mutually_exclusive,
        required,
        validator,
        watch,
    )
    from paddle_flags._plugin import Plugin, load_plugin
    from paddle_flags._report import explain
    from paddle_flags._settings import FlagChange, reload

# What many programs never use is imported when it is asked for.
_LATER = {
    "_config": ("get_compat_include", "get_include"),
    "_describe": ("describe",),
    "_dump": ("dump",),
    "_entry": ("FlagEntry",),
    "_hooks": (
        "Hook",
        "all_or_none",
        "at_least_one",
        "check_values",
        "mutually_exclusive",
        "required",
        "validator",
        "watch",
    ),
    "_plugin": ("Plugin", "load_plugin"),
    "_report": ("explain",),
    "_settings": ("FlagChange", "reload"),
}


def __getattr__(name: str) -> object:
    for module, names in _LATER.items():
        if name in names:
            from importlib import import_module  # noqa: PLC0415 - seldom used

            found: object = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__: str = _to_text(_lib.PD_VERSION)

__all__ = [
    "FLAGS",
    "DeprecatedFlagWarning",
    "Flag",
    "FlagArgumentError",
    "FlagChange",
    "FlagConflictError",
    "FlagDepthError",
    "FlagEntry",
    "FlagError",
    "FlagFileError",
    "FlagMemoryError",
    "FlagNameError",
    "FlagParseError",
    "FlagTypeError",
    "FlagUnsupportedError",
    "FlagValueError",
    "FrozenFlagError",
    "HelpRequested",
    "Hook",
    "Plugin",
    "PluginLoadError",
    "PluginValueError",
    "ReadOnlyFlagError",
    "UndefinedFlagError",
    "__version__",
    "all_or_none",
    "at_least_one",
    "check_modules",
    "check_pending",
    "check_values",
    "define",
    "describe",
    "dump",
    "explain",
    "get",
    "get_compat_include",
    "get_include",
    "load_plugin",
    "mutually_exclusive",
    "override",
    "parse",
    "reload",
    "required",
    "reset",
    "validator",
    "watch",
]  # not set: `from paddle_flags import *` leaves Python's own alone
