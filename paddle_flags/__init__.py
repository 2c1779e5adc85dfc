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
    FlagTaskError,
    FlagTypeError,
    FlagUnsupportedError,
    FlagValueError,
    FlagWarning,
    FrozenFlagError,
    HelpRequested,
    PluginLoadError,
    PluginValueError,
    ReadOnlyFlagError,
    RefusedModuleWarning,
    ScopeHidesWarning,
    UndefinedFlagError,
    UnknownVariableWarning,
)

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags import fleet as fleet
    from paddle_flags import live as live
    from paddle_flags import testing as testing
    from paddle_flags._core.checks import check_modules, check_pending, check_values
    from paddle_flags._core.executor import wrap_executor
    from paddle_flags._core.history import FlagEntry
    from paddle_flags._core.hooks import Hook
    from paddle_flags._core.paths import get_compat_include, get_include
    from paddle_flags._core.plugin import Plugin, load_plugin
    from paddle_flags._core.redefine import undefine
    from paddle_flags._core.scoped import ScopeContext, capture, scoped
    from paddle_flags._core.types import Type
    from paddle_flags._core.validators import (
        all_or_none,
        at_least_one,
        mutually_exclusive,
        required,
        validator,
        watch,
    )
    from paddle_flags._input.reload import FlagChange, reload
    from paddle_flags._integrations.bridges import add_to, adopt, bridge_absl, click_options
    from paddle_flags._integrations.foreign import bridge, sync
    from paddle_flags._integrations.log_levels import logging_flags
    from paddle_flags._integrations.propagate import propagate
    from paddle_flags._ops.brought import impl
    from paddle_flags._ops.operation import Implementation, Op, OpSignature, op, ops
    from paddle_flags._report.describe import describe
    from paddle_flags._report.dump import dump
    from paddle_flags._report.explain import explain
    from paddle_flags.cli.commands import commands
    from paddle_flags.cli.parse import parse
    from paddle_flags.live._serve import serve


def _module_of(name: str) -> object:  # noqa: C901, PLR0912 - a branch for each module
    """Import the module of a name on first use: many programs never need these.

    Import statements, not import_module(), lead PyInstaller and other tools to the modules.
    """
    if name in ("check_modules", "check_pending", "check_values"):
        from paddle_flags._core import checks

        return checks
    if name == "FlagEntry":
        from paddle_flags._core import history

        return history
    if name == "Type":
        from paddle_flags._core import types

        return types
    if name == "Hook":
        from paddle_flags._core import hooks

        return hooks
    if name in ("get_compat_include", "get_include"):
        from paddle_flags._core import paths

        return paths
    if name in ("Plugin", "load_plugin"):
        from paddle_flags._core import plugin

        return plugin
    if name == "undefine":
        from paddle_flags._core import redefine

        return redefine
    if name == "wrap_executor":
        from paddle_flags._core import executor

        return executor
    if name == "impl":
        from paddle_flags._ops import brought

        return brought
    if name in ("Implementation", "Op", "OpSignature", "op", "ops"):
        from paddle_flags._ops import operation

        return operation
    if name in ("ScopeContext", "capture", "scoped"):
        from paddle_flags._core import scoped

        return scoped
    if name in (
        "all_or_none",
        "at_least_one",
        "mutually_exclusive",
        "required",
        "validator",
        "watch",
    ):
        from paddle_flags._core import validators

        return validators
    if name in ("FlagChange", "reload"):
        from paddle_flags._input import reload

        return reload
    if name in ("add_to", "adopt", "bridge_absl", "click_options"):
        from paddle_flags._integrations import bridges

        return bridges
    if name in ("bridge", "sync"):
        from paddle_flags._integrations import foreign

        return foreign
    if name == "logging_flags":
        from paddle_flags._integrations import log_levels

        return log_levels
    if name == "propagate":
        from paddle_flags._integrations import propagate

        return propagate
    if name in ("describe", "dump", "explain"):
        return _report_of(name)
    if name == "parse":
        from paddle_flags.cli import parse

        return parse
    if name == "serve":
        from paddle_flags.live import _serve

        return _serve
    if name == "commands":
        from paddle_flags.cli import commands

        return commands
    return None


def _report_of(name: str) -> object:
    if name == "describe":
        from paddle_flags._report import describe

        return describe
    if name == "dump":
        from paddle_flags._report import dump

        return dump
    from paddle_flags._report import explain

    return explain


@_public
def __getattr__(name: str) -> object:
    if name == "testing":
        import paddle_flags.testing as found_testing  # not `from`, which would ask here again

        return found_testing
    if name == "live":
        import paddle_flags.live as found_live

        return found_live
    if name == "fleet":
        import paddle_flags.fleet as found_fleet

        return found_fleet
    module = _module_of(name)
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found: object = getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__version__: str = _to_text(_lib.PD_VERSION)

if "PADDLE_FLAGS_PARENT" in _environ:  # of propagate() in the parent process
    from paddle_flags._integrations.propagate import receive_environment as _receive

    _receive()

if "PADDLE_FLAGS_LIVE" in _environ:
    from paddle_flags.live._environment import serve_as_told as _serve_as_told

    _serve_as_told()

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
    "FlagTaskError",
    "FlagTypeError",
    "FlagUnsupportedError",
    "FlagValueError",
    "FlagWarning",
    "FrozenFlagError",
    "HelpRequested",
    "Hook",
    "Implementation",
    "Op",
    "OpSignature",
    "Plugin",
    "PluginLoadError",
    "PluginValueError",
    "ReadOnlyFlagError",
    "RefusedModuleWarning",
    "ScopeContext",
    "ScopeHidesWarning",
    "Type",
    "UndefinedFlagError",
    "UnknownVariableWarning",
    "__version__",
    "add_to",
    "adopt",
    "all_or_none",
    "at_least_one",
    "bridge",
    "bridge_absl",
    "capture",
    "check_modules",
    "check_pending",
    "check_values",
    "click_options",
    "commands",
    "define",
    "describe",
    "dump",
    "explain",
    "fleet",
    "get",
    "get_compat_include",
    "get_include",
    "impl",
    "live",
    "load_plugin",
    "logging_flags",
    "mutually_exclusive",
    "op",
    "ops",
    "override",
    "parse",
    "propagate",
    "reload",
    "required",
    "reset",
    "scoped",
    "serve",
    "sync",
    "undefine",
    "validator",
    "watch",
    "wrap_executor",
]  # not set: `from paddle_flags import *` leaves Python's own alone
