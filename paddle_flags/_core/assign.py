"""Setting several flags at once, or for an override."""

from __future__ import annotations

from paddle_flags._core.frames import frame_above
from paddle_flags._core.status import ErrorList, new_error, raise_deferred, to_bytes
from paddle_flags._core.values import Assignments
from paddle_flags._fast import push as _push
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from typing import Any

    from paddle_flags._core.flag import Flag

    Assignment = tuple[Flag[Any] | FlagError, object]


def caller_place(depth: int) -> tuple[str, int]:
    """Return file and line of the code that is `depth` calls above the caller."""
    frame = frame_above(depth + 1)
    return frame.f_code.co_filename, frame.f_lineno


def assign(
    wanted: list[Assignment], where: tuple[str, int], source: int = lib.PD_SOURCE_RUNTIME
) -> None:
    """Set all flags or none.

    An error that stands in place of a flag is raised together with those of the others.
    """
    _assign_or_push(wanted, make_origin(where, source))
    raise_deferred()


def push_values(wanted: list[Assignment], where: tuple[str, int], *, scoped: bool) -> int:
    """Override all flags or none, as `assign`; return the number, which the caller owns.

    With `scoped`, open a scope. The caller has yet to call `raise_deferred`.
    """
    number = _push(wanted, *where, _raise_push_error, scoped)
    if number is not None:
        return number
    push = lib.pd_scope_push if scoped else lib.pd_override_push
    return _assign_or_push(wanted, make_origin(where), push)


def _assign_or_push(wanted: list[Assignment], at: tuple[Any, Any], push: Any = None) -> int:
    """Assign without settling; with `push`, by that function of C, whose number is returned."""
    while True:
        try:
            return _assign_once(wanted, at, push)
        except FlagError:
            # Types are known from the last time; look again before giving up.
            flags = [flag for flag, _ in wanted if not isinstance(flag, FlagError)]
            changed = [flag._refresh_definition() for flag in flags if flag.defined]
            if not any(changed):
                raise


def _raise_push_error(err: int, errors: int) -> None:
    """Raise the error that C reports for an override of plain values, by addresses."""
    error = ffi.cast("pd_error *", err)
    if error.status != lib.PD_ERR_TYPE:  # otherwise another type has come on another thread
        raise ErrorList(ffi.cast("pd_error_list *", errors)).to_exception(error)


def _accepts_none(flag: Flag[Any], source: int) -> bool:
    """Return whether the flag can have no value; if `source` is default, by its definition."""
    if flag.optional or source != lib.PD_SOURCE_DEFAULT:
        return flag.optional
    from paddle_flags._core.history import is_default_unset

    return is_default_unset(flag.handle)


def _fill_item(
    made: Assignments, index: int, flag: Flag[Any] | FlagError, value: object, source: int
) -> None:
    if isinstance(flag, FlagError):
        raise flag
    kind, sensitive = flag._kind_and_sensitive()
    optional = value is None and _accepts_none(flag, source)
    made.fill(index, flag.name, kind, value, sensitive=sensitive, optional=optional)
    made.items[index].flag = flag.handle


def make_origin(where: tuple[str, int], source: int = lib.PD_SOURCE_RUNTIME) -> tuple[Any, Any]:
    """Return a `pd_origin *`, and the text that must live as long as it."""
    file, line = where
    place = ffi.new("char[]", to_bytes(file))
    return ffi.new("pd_origin *", (source, line, place)), place


def _assign_once(wanted: list[Assignment], at: tuple[Any, Any], push: Any) -> int:
    origin, _place = at  # which the origin points at
    made = Assignments(len(wanted))
    refused: list[FlagError] = []  # C refuses the same, as they have no flag there
    for index, (flag, value) in enumerate(wanted):
        try:
            _fill_item(made, index, flag, value, origin.source)
        except FlagError as error:
            refused.append(error)
    number = ffi.new("uint64_t *")
    errors = ErrorList()
    err = new_error()
    if push:
        status = push(made.items, len(wanted), origin, errors.pointer, number, err)
    else:
        status = lib.pd_batch_set(made.items, len(wanted), origin, errors.pointer, err)
    if status != lib.PD_OK:
        raise errors.to_exception(err, ours=refused)
    return int(number[0])
