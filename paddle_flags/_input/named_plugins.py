"""The plugins of a command line: those of the program and those that the user names."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._core.plugin import load_plugin_with_remedy, split_plugin_argument
from paddle_flags._core.status import quote_value
from paddle_flags._input.named_files import (
    find_config_files,
    find_or_define_naming_flag,
    preview_flag_texts,
)
from paddle_flags._native import ffi

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._core.flag import Flag
    from paddle_flags._input.options import ParseOptions

    Plugin = str | os.PathLike[str]
    Plugins = Plugin | Sequence[Plugin]

_HELP = "Load these plugins first: libraries, NAMESPACE=FILE for one in a namespace, or modules"
_LIBRARIES = ("so", "dylib", "dll", "pyd")


def find_or_define_plugin_flag(options: ParseOptions) -> Flag[Any]:
    """Return the flag that names plugins; define it if the program has not."""
    return find_or_define_naming_flag("plugin_flag", options.plugin_flag or "", _HELP)


def load_plugins(tokens: list[str], options: ParseOptions) -> None:
    """Load the plugins of a line that is to be parsed; add errors of the user to the options.

    Raises the errors of the program's own plugins, and what the import of a module raises.
    """
    options.check()
    for plugin in _list_plugins(options.plugins):
        _load_plugin(plugin, 'plugins=["{namespace}={path}"]')
    if options.plugin_flag is None:
        return
    flag = find_or_define_plugin_flag(options)
    files = find_config_files(tokens, options)
    config = files.load_config() if files else ffi.NULL
    for name in preview_flag_texts(flag, tokens, options, config):
        try:
            _load_plugin(name, f"--{flag.name}={{namespace}}={{path}}")
        except errors.FlagError as error:
            options.problems += [f"--{flag.name}: {each}" for each in error.errors]


def _list_plugins(plugins: Plugins | None) -> list[Plugin]:
    if plugins is None:
        return []
    every = [plugins] if isinstance(plugins, (str, os.PathLike)) else plugins
    try:
        return list(every)
    except TypeError:
        expected = "expected a library or a module, or a list of them"
        raise errors.FlagTypeError(f"plugins is {quote_value(plugins)}: {expected}") from None


def _load_plugin(plugin: Plugin, remedy: str) -> None:
    if isinstance(plugin, str) and _is_module_name(plugin):
        _import_plugin(plugin)
    elif isinstance(plugin, str):
        namespace, file = split_plugin_argument(plugin)
        load_plugin_with_remedy(file, namespace, remedy)
    else:
        load_plugin_with_remedy(plugin, "", remedy)


def _is_module_name(name: str) -> bool:
    """Return whether text is the name of a module, not the path of a library."""
    parts = name.split(".")
    return all(map(str.isidentifier, parts)) and parts[-1].lower() not in _LIBRARIES


def _import_plugin(module: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # of another module, which it imports
        end = ".dll" if os.name == "nt" else ".so"
        message = f"{module}: no such module; the path of a library has a {os.sep} or ends in {end}"
        raise errors.FlagArgumentError(message) from None
