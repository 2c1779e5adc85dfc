"""`propagate`: child processes begin with the values of this one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from paddle_flags._core.frames import public
from paddle_flags._core.registry import all_flags
from paddle_flags._core.status import check, leave_warning, new_error, to_bytes, to_text
from paddle_flags._input.argv import read_argv
from paddle_flags._input.options import Options
from paddle_flags._native import ffi, lib
from paddle_flags._report.facts import each
from paddle_flags.errors import FlagError, FlagWarning

if TYPE_CHECKING:
    from collections.abc import Container

VARIABLE = "PADDLE_FLAGS_PARENT"
"""The environment variable with the values of the parent, as a JSON object of texts."""

_KEY = "paddle_flags"  # in what multiprocessing hands to each child

Values = dict[str, "str | None"]


@public
def propagate() -> dict[str, str]:
    """Let child processes start with the values that flags have in this process.

    Children of multiprocessing and concurrent.futures (fork, spawn, forkserver) get the
    values at the moment they start, those of sensitive flags too. Other programs that
    import paddle_flags, started by subprocess or as workers of a server, get the values
    at the moment of this call, without the sensitive ones, from the environment variable
    `PADDLE_FLAGS_PARENT`. Call `propagate` again after a change.

    In a child of multiprocessing by spawn or forkserver, a value has the source
    "run time"; in another program, "environment", so that its command line takes
    precedence. Values for flags that the child has not defined wait for them. If such a
    value does not suit its flag, the definition raises FlagValueError. If the flag is
    defined already, the child issues a FlagWarning and keeps its own value.

    Returns the flags that were left out of the variable, each with the reason.
    """
    import multiprocessing  # noqa: PLC0415 - seldom used

    values, left_out = _values(sensitive=False)
    os.environ[VARIABLE] = json.dumps(values)
    # Each new Process copies this dictionary, and is pickled with it unless it is forked.
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]  # noqa: SLF001
    config[_KEY] = _Carrier()
    return left_out


class _Carrier:
    """Turns into a call of `_receive`, with the values of the moment, when it is pickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        # A flag that has gone back to its default must not keep what the variable says.
        told = json.loads(os.environ.get(VARIABLE, "{}"))
        values, _ = _values(sensitive=True, defaults=told)
        return _receive, (values,)


def _receive(values: Values) -> _Carrier:
    """Set the values in a child of multiprocessing, whose own children get them, too."""
    _apply(values, lib.PD_SOURCE_RUNTIME, "parent process")
    return _Carrier()


def receive_environment() -> None:
    """Set the values of the environment variable, at the first import in a child."""
    try:
        values = json.loads(os.environ[VARIABLE])
    except ValueError:
        values = None
    if isinstance(values, dict) and all(map(_is_value, values.values())):
        _apply(values, lib.PD_SOURCE_ENVIRONMENT, VARIABLE)
    else:
        message = f"environment: {VARIABLE} is not what propagate() writes, and is ignored"
        leave_warning(FlagWarning(message))


def _is_value(text: object) -> bool:
    return text is None or isinstance(text, str)


# ---- the parent ----


def _values(*, sensitive: bool, defaults: Container[str] = ()) -> tuple[Values, dict[str, str]]:
    """Return values as text, and why other flags are left out.

    Defaults are not among them, except those of the flags in `defaults`.
    """
    values: Values = {}
    left_out: dict[str, str] = {}

    def look(flag: Any) -> None:
        is_default = flag.source == "default" and flag.name not in defaults
        if is_default or flag.read_only or flag.retired is not None:
            return
        if flag.sensitive and not sensitive:
            left_out[flag.name] = "is sensitive"
        else:
            values[flag.name] = flag.text

    each(all_flags(), look)
    info = ffi.new("pd_pending_info *", {"size": ffi.sizeof("pd_pending_info")})
    index = 0
    while lib.pd_pending_get(index, info, ffi.NULL) == lib.PD_OK:
        values[to_text(info.name)] = to_text(info.text) if info.text else None
        index += 1
    return values, left_out


# ---- the child ----


def _apply(values: Values, source: int, place: str) -> None:
    """Set the values; leave a warning for each that is refused.

    Raises nothing: a worker that ends before its first task is started again for ever.
    """
    kept = ffi.new("char[]", to_bytes(place))
    origin = ffi.new("pd_origin *", {"source": source, "place": kept})
    for name, text in values.items():
        try:
            _set(name, text, origin)
        except FlagError as error:
            leave_warning(FlagWarning(f"{place}: {error}"))


def _set(name: str, text: str | None, origin: Any) -> None:
    if text is None:  # --name or --noname, whose flag isn't known yet
        read_argv(["", f"--{name}"], Options(allow_pending=True, keep_startup=True))
        return
    err = new_error()
    check(lib.pd_pending_set(to_bytes(name), to_bytes(text), origin, err), err)
