"""The current values, in forms that can be loaded again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, overload

from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.missing import optional_import
from paddle_flags._core.pending_values import iter_pending
from paddle_flags._core.registry import all_flags, for_each
from paddle_flags._core.status import check_bool, encode_env_prefix, quote_value, to_text
from paddle_flags._input.argv import get_last_env_prefix
from paddle_flags._input.unknown import variable_suffix_of
from paddle_flags._native import lib
from paddle_flags._report.facts import escape_controls
from paddle_flags._report.help import collect_output
from paddle_flags.errors import (
    FlagArgumentError,
    FlagConflictError,
    FlagTypeError,
    FlagValueError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paddle_flags._core.flag import Flag

Dumped = Union[str, "list[str]", "dict[str, str]"]
Table = dict[str, Any]

_LARGEST = 2**63 - 1  # TOML has no larger integers
_DEEPEST = 16  # tables in tables; a name with more dots is one key


class _Current(NamedTuple):
    """A flag with its current value."""

    name: str
    text: str
    value: Any


class _LeftOut(NamedTuple):
    """A flag whose value cannot be dumped."""

    name: str
    why: str


def _read_current_value(flag: Flag[Any], *, all: bool) -> _Current | _LeftOut | None:
    """Return the current value, or None for a default that isn't asked for."""
    if not (all or flag.source != "default"):
        return None
    why = "is retired" if flag.retired else "is sensitive" if flag.sensitive else ""
    why = why or ("is read-only" if flag.read_only else "")
    if why:
        return _LeftOut(flag.name, why)
    value = flag._native_value()
    return None if value is None else _Current(flag.name, flag.text, value)


def _pending_reasons() -> dict[str, str]:
    """Return the names of pending values, which a child or a later process would not take."""
    return {to_text(info.name): "is not defined" for info in iter_pending()}


# ---- arguments and variables ----


def _to_argv(current: Iterable[_Current], _: str) -> list[str]:
    return [f"--{flag.name}={flag.text}" for flag in current]


def _to_environment(current: Iterable[_Current], prefix: str) -> dict[str, str]:
    texts = {flag.name: flag.text for flag in current}
    owners: dict[str, str] = {}
    for flag in all_flags():
        variable = prefix + variable_suffix_of(flag.name)
        other = owners.setdefault(variable, flag.name)
        if other != flag.name and (other in texts or flag.name in texts):
            message = f"{other} and {flag.name} would both use the environment variable {variable}"
            raise FlagConflictError(message)
    dumped = {variable: texts[name] for variable, name in owners.items() if name in texts}
    # A variable in capitals serves as well: a child must not see two that differ.
    for variable, text in list(dumped.items()):
        capitals = prefix + variable[len(prefix) :].upper()
        if capitals in os.environ and capitals not in owners:
            dumped[capitals] = text
    return dumped


# ---- tables ----


def _table_keys(name: str, names: set[str]) -> list[str]:
    """Return the keys to a flag: `a.b` is `b` in the table `a`, unless `a` is a flag, too."""
    keys = name.split(".")
    tables = {".".join(keys[:end]) for end in range(1, len(keys))}
    return keys if all(keys) and len(keys) <= _DEEPEST and not tables & names else [name]


def _to_tables(current: Iterable[_Current], to_table_value: Callable[[_Current], Any]) -> Table:
    values = {flag.name: to_table_value(flag) for flag in current}
    names = set(values)
    tree: Table = {}
    for name, value in values.items():
        *tables, key = _table_keys(name, names)
        inner = tree
        for table in tables:
            inner = inner.setdefault(table, {})
        inner[key] = value
    return tree


def _check_utf8(flag: _Current, text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{flag.name}: the value has bytes that are not UTF-8, which {what} cannot hold"
        raise FlagValueError(message) from None
    return text


def _convert_for_format(flag: _Current, what: str, can_hold: Callable[[Any], bool]) -> Any:
    """Return a value for TOML or JSON; what they cannot hold becomes text."""

    def convert(value: Any) -> Any:
        if isinstance(value, str):
            return _check_utf8(flag, value, what)
        return value if can_hold(value) else str(value)

    value = flag.value
    return [convert(item) for item in value] if isinstance(value, tuple) else convert(value)


def _to_json(current: Iterable[_Current], _: str) -> str:
    import json
    from math import isfinite

    def to_json_value(flag: _Current) -> Any:
        return _convert_for_format(
            flag, "JSON", lambda value: not isinstance(value, float) or isfinite(value)
        )

    return json.dumps(_to_tables(current, to_json_value), indent=2, ensure_ascii=False) + "\n"


def _to_toml(current: Iterable[_Current]) -> str:
    with optional_import("writing TOML", "tomli-w", "toml", FlagArgumentError):
        import tomli_w

    def to_toml_value(flag: _Current) -> Any:
        return _convert_for_format(
            flag, "TOML", lambda value: not isinstance(value, int) or value <= _LARGEST
        )

    return tomli_w.dumps(_to_tables(current, to_toml_value))


def _left_out_comments(missing: dict[str, str]) -> str:
    lines = [f"# left out: {escape_controls(name)} {why}\n" for name, why in missing.items()]
    return "".join([*lines, "\n"] if lines else [])


_WRITERS: dict[str, Callable[[Iterable[_Current], str], Dumped]] = {
    "argv": _to_argv,
    "environment": _to_environment,
    "json": _to_json,
}
FORMATS = ("flagfile", "argv", "environment", "toml", "json")


@overload
def dump(
    format: Literal["flagfile", "toml", "json"] = ...,
    *,
    all: bool = ...,
    left_out: dict[str, str] | None = ...,
) -> str: ...
@overload
def dump(
    format: Literal["argv"], *, all: bool = ..., left_out: dict[str, str] | None = ...
) -> list[str]: ...
@overload
def dump(
    format: Literal["environment"],
    *,
    all: bool = ...,
    prefix: str | None = ...,
    left_out: dict[str, str] | None = ...,
) -> dict[str, str]: ...
@overload
def dump(
    format: str,
    *,
    all: bool = ...,
    prefix: str | None = ...,
    left_out: dict[str, str] | None = ...,
) -> Dumped: ...
@hides_internal_frames
def dump(
    format: str = "flagfile",
    *,
    all: bool = False,
    prefix: str | None = None,
    left_out: dict[str, str] | None = None,
) -> Dumped:
    """Return the current values of all flags, in a form that can be loaded again.

    | format | returns | loaded by |
    |---|---|---|
    | `"flagfile"` | text | `--flagfile=FILE` |
    | `"argv"` | a list of arguments, without the program | `parse([program, *arguments])` |
    | `"environment"` | a dictionary of environment variables | `parse(env_prefix=prefix)` |
    | `"toml"`, `"json"` | text | `parse(config=FILE)` |

    Defaults are not written, unless `all=True`. Values of sensitive, read-only and
    retired flags, and pending values of undefined flags, are left out; comments in
    flagfiles and TOML name these flags. A dictionary that is passed as `left_out` gets
    the reason for each, such as `{"token": "is sensitive"}`, in every format.

    `prefix` is that of environment variables; the default is the last `env_prefix` of
    `parse`, or `FLAGS_`. If `os.environ` has a flag's variable in capitals, that one is
    returned too, so that a child process with both cannot see two different values.

    Raises FlagValueError for text that is not UTF-8 in TOML and JSON, FlagConflictError
    if two flags would need the same variable, and FlagArgumentError if TOML is asked for
    without the extra `paddle_flags[toml]`.
    """
    if format not in FORMATS:
        message = f"format {quote_value(format)}: expected one of {', '.join(FORMATS)}"
        raise FlagArgumentError(message)
    check_bool("all", all)
    if left_out is not None and not isinstance(left_out, dict):
        raise FlagTypeError(
            f"left_out: {quote_value(left_out)}: expected a dict, not {type(left_out).__name__}"
        )
    used = get_last_env_prefix() if prefix is None else prefix
    encode_env_prefix("prefix", used)
    seen = for_each(all_flags(), lambda flag: _read_current_value(flag, all=all))
    missing = {flag.name: flag.why for flag in seen if isinstance(flag, _LeftOut)}
    missing.update(_pending_reasons())
    if left_out is not None:
        left_out.update(missing)
    if format == "flagfile":  # whose comments are those of C
        return collect_output(lib.pd_report_flagfile, all)
    current = [flag for flag in seen if isinstance(flag, _Current)]
    if format == "toml":
        return _left_out_comments(missing) + _to_toml(current)
    return _WRITERS[format](current, used)
