"""`propagate`: child processes begin with the values of this one."""

from __future__ import annotations

import json
import os
import sys
from types import NoneType
from typing import Any, NamedTuple

from paddle_flags import FLAGS
from paddle_flags.errors import FlagError, FlagWarning
from paddle_flags.extend import (
    ParseOptions,
    check_call,
    drop_pending,
    ffi,
    for_each,
    hides_internal_frames,
    iter_pending,
    lib,
    new_error,
    queue_warning,
    read_argv,
    to_bytes,
    to_text,
)

VARIABLE = "PADDLE_FLAGS_PARENT"
"""The environment variable with the values of the parent, as a JSON object of texts."""

# Of a variable with its name: Linux allows 128 KiB, Windows 32,767 characters.
_LONGEST = (32_767 if os.name == "nt" else 128 * 1024) - len(VARIABLE) - 2

_PARENT = "parent process"  # the place of its values
_KEY = "paddle_flags"  # in what multiprocessing hands to each child

Values = dict[str, "str | None"]


class _Given(NamedTuple):
    """What a child gets."""

    values: Values
    defaults: list[str]
    """Flags that have their default, or no value: a child resets them."""
    fleet: Values
    """Values of the fleet, which the fleet may change in a child that is a member, too."""


@hides_internal_frames
def propagate() -> dict[str, str]:
    """Let child processes start with the values that flags have in this process.

    Children of multiprocessing and concurrent.futures (fork, spawn, forkserver) get the
    values at the moment they start, those of sensitive flags too. Other programs that
    import paddle_flags, started by subprocess or as workers of a server, get the values
    at the moment of this call, without the sensitive ones, from the environment variable
    `PADDLE_FLAGS_PARENT`. Call `propagate` again after a change.

    In a child of multiprocessing by spawn or forkserver, a value has the source
    "run time", one of the fleet the source "fleet", and a flag that has its default here
    is reset, whatever the child's command line says. In another program, a value has the
    source "environment", so that its command line takes precedence. A default of
    `set_default` is passed on as a value.

    Values for flags that the child has not defined wait for them. If such a value does
    not suit its flag, the definition raises FlagValueError. If the flag is defined
    already, the child issues a FlagWarning and keeps its own value.

    Returns the flags that were left out of the variable, each with the reason.
    """
    import multiprocessing

    given, left_out = _collect_child_values(sensitive=False)
    os.environ[VARIABLE] = _encode_fitting_values({**given.values, **given.fleet}, left_out)
    # Each new Process copies this dictionary, and is pickled with it unless it is forked.
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    config[_KEY] = _Carrier()
    return left_out


class _Carrier:
    """Pickled as a call of `_apply_parent_values`, with the values of that moment."""

    def __reduce__(self) -> tuple[Any, ...]:
        given, _ = _collect_child_values(sensitive=True)
        return _apply_parent_values, (*given, _absl_is_bridged_and_parsed())


def _absl_is_bridged_and_parsed() -> bool:
    """Return whether absl's flags are bridged and may be read here."""
    bridges = sys.modules.get("paddle_flags._integrations.absl_flags")
    return bool(bridges and bridges.is_bridged_and_parsed())


def _apply_parent_values(
    values: Values, defaults: list[str], fleet: Values, absl_is_bridged_and_parsed: bool
) -> _Carrier:
    """Set the values in a child of multiprocessing, whose own children get them, too."""
    if absl_is_bridged_and_parsed:
        from paddle_flags._integrations import absl_flags

        absl_flags.bridge_and_mark_parsed()
    _reset_or_drop_pending(
        [*defaults, *fleet]
    )  # also what the environment gave, so that the fleet can end it
    _apply_values(fleet, lib.PD_SOURCE_FLEET, _PARENT)
    _apply_values(values, lib.PD_SOURCE_RUNTIME, _PARENT)
    return _Carrier()


def apply_parent_environment() -> None:
    """Set the values of the environment variable, at the first import in a child."""
    try:
        values = json.loads(os.environ[VARIABLE])
    except ValueError:
        values = None
    if isinstance(values, dict) and all(isinstance(t, (str, NoneType)) for t in values.values()):
        _apply_values(values, lib.PD_SOURCE_ENVIRONMENT, VARIABLE)
    else:
        message = f"environment: {VARIABLE} is not what propagate() writes, and is ignored"
        queue_warning(FlagWarning(message))


# ---- the parent ----


def _collect_child_values(*, sensitive: bool) -> tuple[_Given, dict[str, str]]:
    """Return what a child gets, and why other flags are left out."""
    given = _Given({}, [], {})
    left_out: dict[str, str] = {}

    def collect_flag(flag: Any) -> None:
        if flag.read_only or flag.retired is not None:
            return
        if flag.source == "default" and not _has_new_default(flag):
            given.defaults.append(flag.name)
        elif flag.sensitive and not sensitive:
            left_out[flag.name] = "is sensitive"
        else:
            kept = given.fleet if flag.source == "fleet" else given.values
            kept[flag.name] = flag.text

    for_each(FLAGS.values(), collect_flag)
    for name, value in _pending_values().items():
        if value.sensitive and not sensitive:
            left_out[name] = "is sensitive"
        else:
            kept = given.fleet if value.source == lib.PD_SOURCE_FLEET else given.values
            kept[name] = value.text
    return given, left_out


def _encode_fitting_values(values: Values, left_out: dict[str, str]) -> str:
    """Return the text of the variable, without the longest values if it were too long."""
    lengths = {name: len(json.dumps({name: text})) for name, text in values.items()}
    room = _LONGEST
    for name in sorted(lengths, key=lengths.__getitem__):
        room -= lengths[name]  # with two braces, which are more than a comma and a blank
        if room < 0:
            left_out[name] = "is too long for an environment variable"
    return json.dumps({name: text for name, text in values.items() if name not in left_out})


def _has_new_default(flag: Any) -> bool:
    """Return whether `set_default` gave a flag, which has its default, that default."""
    entry = ffi.new("pd_flag_entry *", {"size": ffi.sizeof("pd_flag_entry")})
    older = lib.pd_flag_get_entry(flag.handle, 1, entry, ffi.NULL) == lib.PD_OK
    return older and not flag.optional


class _Waiting(NamedTuple):
    """A value that waits for its flag."""

    text: str | None
    sensitive: bool
    source: int


def _pending_values() -> dict[str, _Waiting]:
    """Return the values that flags will have when they are defined."""
    values: dict[str, _Waiting] = {}
    for info in iter_pending():
        name, text = to_text(info.name), to_text(info.text) if info.text else None
        sensitive = bool(info.sensitive) or (name in values and values[name].sensitive)
        source = info.origin.source
        rank = lib.pd_source_rank(source)
        if name not in values or rank >= lib.pd_source_rank(values[name].source):
            values[name] = _Waiting(text, sensitive, source)
    return values


# ---- the child ----


def _reset_or_drop_pending(names: list[str]) -> None:
    """Let flags have their defaults; values that wait for one of them are dropped."""
    known = _pending_values()
    for name in names:
        try:
            if name in FLAGS:
                if FLAGS[name].source != "default":
                    FLAGS[name].reset()
            elif name in known:
                drop_pending(name)
        except FlagError as error:
            queue_warning(FlagWarning(f"{_PARENT}: {error}"))


def _apply_values(values: Values, source: int, place: str) -> None:
    """Set the values; leave a warning for each that is refused.

    Raises nothing: a worker that ends before its first task is started again for ever.
    """
    kept = ffi.new("char[]", to_bytes(place))
    origin = ffi.new("pd_origin *", {"source": source, "place": kept})
    for name, text in values.items():
        try:
            _set_flag_or_pending(name, text, origin)
        except FlagError as error:
            queue_warning(FlagWarning(f"{place}: {error}"))


def _set_flag_or_pending(name: str, text: str | None, origin: Any) -> None:
    if text is None:  # --name or --noname, whose flag isn't known yet
        read_argv(["", f"--{name}"], ParseOptions(allow_pending=True, keep_startup=True))
        return
    err = new_error()
    check_call(lib.pd_pending_set(to_bytes(name), to_bytes(text), origin, err), err)
