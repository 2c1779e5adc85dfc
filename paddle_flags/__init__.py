"""One registry of run-time flags for Python and all native libraries of a process.

import paddle_flags as pf

port = pf.define("port", 8080, "Port to listen on", min=1, max=65535)
pf.load_plugin("build/plugins/libalpha.so")
arguments = pf.parse()
pf.FLAGS.alpha_level = 9
"""

from os import environ as _environ

try:
    import paddle_flags._fast  # noqa: F401 - its library may be missing
    from paddle_flags._native import lib as _lib
except ImportError as error:
    from paddle_flags._core.missing import explain_import

    raise explain_import(error, __path__[0]) from None

from paddle_flags._core.define import define
from paddle_flags._core.flag import Flag
from paddle_flags._core.frames import public as _public
from paddle_flags._core.registry import FLAGS, get, override, reset
from paddle_flags._core.registry import set as set
from paddle_flags._core.status import to_text as _to_text
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
    FlagWarning,
    FrozenFlagError,
    HelpRequested,
    PluginLoadError,
    PluginValueError,
    ReadOnlyFlagError,
    UndefinedFlagError,
    UnknownVariableWarning,
)

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags._core.checks import check_modules, check_pending, check_values
    from paddle_flags._core.history import FlagEntry
    from paddle_flags._core.hooks import Hook
    from paddle_flags._core.paths import get_compat_include, get_include
    from paddle_flags._core.plugin import Plugin, load_plugin
    from paddle_flags._core.validators import (
        all_or_none,
        at_least_one,
        mutually_exclusive,
        required,
        validator,
        watch,
    )
    from paddle_flags._input.reload import FlagChange, reload
    from paddle_flags._integrations.log_levels import logging_flags
    from paddle_flags._integrations.propagate import propagate
    from paddle_flags._report.describe import describe
    from paddle_flags._report.dump import dump
    from paddle_flags._report.explain import explain
    from paddle_flags.cli.parse import parse

# Imported on first use: many programs never need these, or only after they have started.
_LATER = {
    "_core.checks": ("check_modules", "check_pending", "check_values"),
    "_core.history": ("FlagEntry",),
    "_core.hooks": ("Hook",),
    "_core.paths": ("get_compat_include", "get_include"),
    "_core.plugin": ("Plugin", "load_plugin"),
    "_core.validators": (
        "all_or_none",
        "at_least_one",
        "mutually_exclusive",
        "required",
        "validator",
        "watch",
    ),
    "_input.reload": ("FlagChange", "reload"),
    "_integrations.log_levels": ("logging_flags",),
    "_integrations.propagate": ("propagate",),
    "_report.describe": ("describe",),
    "_report.dump": ("dump",),
    "_report.explain": ("explain",),
    "cli.parse": ("parse",),
}


@_public
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

if "PADDLE_FLAGS_PARENT" in _environ:  # of propagate() in the parent process
    from paddle_flags._integrations.propagate import receive_environment as _receive

    _receive()

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
    "FlagWarning",
    "FrozenFlagError",
    "HelpRequested",
    "Hook",
    "Plugin",
    "PluginLoadError",
    "PluginValueError",
    "ReadOnlyFlagError",
    "UndefinedFlagError",
    "UnknownVariableWarning",
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
    "logging_flags",
    "mutually_exclusive",
    "override",
    "parse",
    "propagate",
    "reload",
    "required",
    "reset",
    "validator",
    "watch",
]  # not set: `from paddle_flags import *` leaves Python's own alone
