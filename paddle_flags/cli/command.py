"""One command of a program: the function behind it, its arguments and its documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from paddle_flags import errors
from paddle_flags._core.status import quote_value

Table = Mapping[str, Any]

_EXPECTED = "expected a function, a module, 'module:function', or a dict of further commands"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Command(NamedTuple):
    """A command that can be called."""

    function: Callable[..., Any]
    module: str
    about: str
    """Its docstring."""
    parameters: list[str]
    """Those that take an argument each."""
    least: int
    """How many of them must have one."""
    most: int | None
    """How many arguments there can be; None: any number."""
    usage: str
    """The arguments, as in `SOURCE [TARGET]`."""


def command_of(names: list[str], value: object) -> Command | Table:
    """Return the command behind a name, or the table; this may import a module."""
    if isinstance(value, str):
        module, _, function = value.partition(":")
        if not all(part.isidentifier() for part in [*module.split("."), function or "main"]):
            message = f"command {' '.join(names)}: {quote_value(value)}: {_EXPECTED}"
            raise errors.FlagArgumentError(message)
        value = _find_function(names, import_module(module), function or "main")
    if isinstance(value, ModuleType):
        value = _find_function(names, value, "main")
    if isinstance(value, Mapping):
        return value
    if not callable(value):
        message = f"command {' '.join(names)}: {quote_value(value)}: {_EXPECTED}"
        raise errors.FlagArgumentError(message)
    return _describe_command(names, value)


def _find_function(names: list[str], module: ModuleType, function: str) -> object:
    value = getattr(module, function, None)
    if value is None:
        what = f"the module {module.__name__} has no function {function!r}"
        raise errors.FlagArgumentError(f"command {' '.join(names)}: {what}")
    return value


def _describe_command(command: list[str], function: Callable[..., Any]) -> Command:
    module = str(getattr(function, "__module__", ""))
    about = _doc_of(function)
    try:
        every = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a built-in function
        return Command(function, module, about, [], 0, None, "[ARGUMENT ...]")
    _check_function(command, function, every)
    taken = [each for each in every if each.kind in _POSITIONAL]
    open_ended = [each for each in every if each.kind is inspect.Parameter.VAR_POSITIONAL]
    needed = [each.name for each in taken if each.default is inspect.Parameter.empty]
    shown = [
        each.name.upper() if each.name in needed else f"[{each.name.upper()}]" for each in taken
    ]
    shown += [f"[{each.name.upper()} ...]" for each in open_ended]
    most = None if open_ended else len(taken)
    names = [each.name for each in taken]
    return Command(function, module, about, names, len(needed), most, " ".join(shown))


def _check_function(
    command: list[str], function: Callable[..., Any], parameters: list[inspect.Parameter]
) -> None:
    """Raise FlagArgumentError for a function that cannot be a command."""
    about = f"command {' '.join(command)}"
    if any(map(inspect.iscoroutinefunction, (function, type(function).__call__))):
        message = f"{about}: expected a plain function, not an async one; call asyncio.run in it"
        raise errors.FlagArgumentError(message)
    for each in parameters:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is each.empty:
            raise errors.FlagArgumentError(
                f"{about}: its parameter {each.name!r} needs a default, as it is keyword-only"
                " and arguments of a command line are not"
            )


def _doc_of(function: object) -> str:
    return inspect.getdoc(function) or ""


# ---- What can be said without importing ----


def modules_of(table: Table) -> list[str]:
    """Return the modules of the commands in a table and in the tables below it."""
    found: list[str] = []
    for value in table.values():
        if isinstance(value, Mapping):
            found += modules_of(value)
        elif isinstance(value, str):
            found.append(value.partition(":")[0])
        elif isinstance(value, ModuleType):
            found.append(value.__name__)
        else:
            found.append(str(getattr(value, "__module__", "")))
    return list(dict.fromkeys(found))


def read_command_summary(value: object) -> str:
    """Return the first line about a command, for a list; nothing is imported for it."""
    if isinstance(value, Mapping):
        return ", ".join(value)
    if isinstance(value, str):
        text = _doc_in_source(*value.partition(":")[::2])
    elif isinstance(value, ModuleType):
        text = _doc_of(getattr(value, "main", None)) or _doc_of(value)
    else:
        text = _doc_of(value)
    return text.strip().partition("\n")[0]


def _doc_in_source(module: str, function: str) -> str:
    """Return the docstring of a function, or of its module, as the source file has it."""
    import ast
    import importlib.util
    import tokenize

    try:
        found = importlib.util.find_spec(module)  # which imports the packages around it
        if found is None or not found.has_location or found.origin is None:
            return ""
        with tokenize.open(found.origin) as file:
            tree = ast.parse(file.read())
    except (ImportError, OSError, SyntaxError, ValueError):
        return ""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == (function or "main"):
            return ast.get_docstring(node) or ast.get_docstring(tree) or ""
    return ast.get_docstring(tree) or ""
