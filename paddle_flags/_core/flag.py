"""One flag, as Python sees it."""

from __future__ import annotations

import sys

from paddle_flags._core.frames import public_class
from paddle_flags._core.status import (
    ErrorList,
    check,
    failures,
    new_error,
    refuse,
    settle,
    to_bytes,
    to_text,
    warnings_left,
)
from paddle_flags._core.values import REDACTED, Assignments, from_c, kind_of
from paddle_flags._fast import FlagBase, connect
from paddle_flags._fast import make as _make
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn, TypeVar, Union

    from paddle_flags._core.history import FlagEntry
    from paddle_flags._core.hooks import Hook
    from paddle_flags._core.values import ValueType

    T = TypeVar("T")
    Assignment = tuple[Union["Flag[Any]", FlagError], object]
else:
    T = None


def caller(depth: int) -> tuple[str, int]:
    """Give file and line of the function that is `depth` calls above the caller."""
    frame = sys._getframe(depth + 1)  # noqa: SLF001 - the documented way
    return frame.f_code.co_filename, frame.f_lineno


@public_class
class Flag(FlagBase[T]):
    """A named, typed value of the process, shared with native code.

    There is one object for each flag; it stays valid when the flag's plugin is
    unloaded, and raises `UndefinedFlagError` until the flag is defined again.
    All methods may be called from any thread.
    """

    __slots__ = ()

    def __init__(self) -> None:
        message = "a Flag comes from define() or FLAGS[name]"
        raise TypeError(message)

    # A flag is easily taken for its value. What would be a silent mistake is loud.

    def __bool__(self) -> NoReturn:
        message = f"a Flag is neither true nor false: use {self._name}.value"
        raise TypeError(message)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (bool, int, float, str, tuple)):
            message = f"a Flag can't be compared with a value: use {self._name}.value"
            raise TypeError(message)
        return self is other

    __hash__ = object.__hash__

    def __copy__(self) -> Flag[T]:
        return self  # there is one object for each flag

    def __deepcopy__(self, memo: object) -> Flag[T]:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Flag[Any]], tuple[str]]:
        return find_flag, (self._name,)

    def __repr__(self) -> str:
        if not self.defined:
            return f"<Flag {self._name}: not defined>"
        kind = f"list of {self.items}" if self.items else self.type
        value = REDACTED if self.sensitive else self.value
        return f"<Flag {self._name}: {kind} = {value!r} ({self.source})>"

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        return str(REDACTED) if self.sensitive else format(self.value, spec)

    # ---- value: the property itself is that of FlagBase ----

    def set_from_string(self, text: str) -> None:
        """Set the value from text, as a command line does.

        Raises FlagValueError, ReadOnlyFlagError or FrozenFlagError.
        """
        data = ffi.new("char[]", to_bytes(text, f"{self._name}=", sensitive=self._sensitive))
        item = ffi.new("pd_assignment *", {"flag": self.handle, "text": data})
        origin, _place = _origin(caller(1))  # which points at the place
        err = new_error()
        check(lib.pd_batch_set(item, 1, origin, ffi.NULL, err), err)

    @property
    def text(self) -> str:
        """The value as text that `set_from_string` reads back as the same value."""
        err = new_error()
        size = 64
        while True:
            buffer = ffi.new("char[]", size)
            length = ffi.new("size_t *")
            check(lib.pd_flag_get_text(self.handle, buffer, size, length, err), err)
            if length[0] < size:
                return to_text(buffer)
            size = length[0] + 1

    def reset(self) -> None:
        """Go back to the default: drop all other values.

        Within an `override` of the flag, its end brings back what was before it.
        Raises ReadOnlyFlagError or FrozenFlagError.
        """
        err = new_error()
        check(lib.pd_flag_reset(self.handle, err), err)

    def freeze(self) -> None:
        """Refuse every later change with FrozenFlagError, until `unfreeze`."""
        err = new_error()
        check(lib.pd_flag_freeze(self.handle, err), err)

    def unfreeze(self) -> None:
        """Undo `freeze`."""
        err = new_error()
        check(lib.pd_flag_unfreeze(self.handle, err), err)

    # ---- where the value comes from ----

    @property
    def source(self) -> str:
        """Where the value comes from, as in `FlagEntry.source`."""
        return to_text(lib.pd_source_name(self._info().source))

    @property
    def place(self) -> str | None:
        """Where exactly, as in `FlagEntry.place`."""
        return self.history[0].place

    @property
    def history(self) -> list[FlagEntry]:
        """The values that the flag was given: the current one first, the default last.

        They are ordered by rank, the latest of a source first. Of the values that a
        later one of the same source has replaced, at least the last 15 are there; a
        line that sets the flag again and again is remembered once.
        """
        from paddle_flags._core.history import history_of  # noqa: PLC0415 - seldom used

        return history_of(self.handle, self._info())

    # ---- validators and watchers ----

    def validate(self, function: Callable[[T], bool], message: str = "") -> Hook:
        """Ask `function` before each change of the value; gives a Hook to remove it.

        As the decorator `validator`, which see, for this flag alone.
        """
        from paddle_flags._core.hooks import add_validator  # noqa: PLC0415 - seldom used

        return add_validator([self], function, message)

    def watch(self, callback: Callable[[Flag[T]], object], *, weak: bool = False) -> Hook:
        """Call `callback` with this Flag after each change of its value, whoever makes it.

        It runs on the thread that made the change, which may be a native one, when all
        values of that operation hold; it may read and set flags. What it raises goes to
        `sys.unraisablehook`: the change is made by then. With `weak` the callback, a
        bound method or a function, is dropped when nobody else holds it.
        """
        from paddle_flags._core.hooks import add_watcher  # noqa: PLC0415 - seldom used

        return add_watcher(self.handle, callback, flag_of, weak=weak)

    # ---- definition ----

    @property
    def defined(self) -> bool:
        """False while the plugin that defined the flag is unloaded."""
        if self._state is not None:
            return self._state != 0
        info = ffi.new("pd_flag_info *", {"size": ffi.sizeof("pd_flag_info")})
        return bool(lib.pd_flag_get_info(self.handle, info, ffi.NULL) == lib.PD_OK)

    @property
    def name(self) -> str:
        """The name, as it was defined."""
        return self._name

    @property
    def type(self) -> str:
        """The type as C names it: `"bool"`, `"int32"`, ..., `"string"`, which lists are too."""
        return kind_of(self._info()).name

    @property
    def items(self) -> str | None:
        """The type of a list's items, as C names it; None where the flag is no list."""
        item = kind_of(self._info()).item
        return item.name if item else None

    @property
    def unit(self) -> str | None:
        """What the number counts, `"bytes"` or `"seconds"`; None where that isn't told."""
        return to_text(self._info().unit) or None

    @property
    def default(self) -> T:
        """The value while no other is set."""
        info = self._info()
        return from_c(kind_of(info), info.default_value)  # type: ignore[no-any-return]

    @property
    def min(self) -> T | None:
        """The smallest value allowed; None where there is no limit but the type's."""
        info = self._info()
        kind = kind_of(info)
        return _bound(kind, info.min, kind.smallest)  # type: ignore[no-any-return]

    @property
    def max(self) -> T | None:
        """The largest value allowed; None where there is no limit but the type's."""
        info = self._info()
        kind = kind_of(info)
        return _bound(kind, info.max, kind.largest)  # type: ignore[no-any-return]

    @property
    def choices(self) -> tuple[str, ...] | None:
        """The only values allowed, of a list the only items; as text, or None."""
        text = to_text(self._info().choices)
        return tuple(text.split("|")) if text else None

    @property
    def help(self) -> str:
        """What the flag is for."""
        return to_text(self._info().help)

    @property
    def category(self) -> str:
        """The heading in listings, or `""`."""
        return to_text(self._info().category)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names."""
        text = to_text(self._info().aliases)
        return tuple(text.split("|")) if text else ()

    @property
    def old_names(self) -> tuple[str, ...]:
        """Other names, which warn once."""
        text = to_text(self._info().old_names)
        return tuple(text.split("|")) if text else ()

    @property
    def deprecated(self) -> str | None:
        """Why the flag should no longer be used, and what instead; None: it may be used."""
        return to_text(self._info().deprecated) or None

    @property
    def retired(self) -> str | None:
        """Why its values are ignored; None: they aren't."""
        return to_text(self._info().retired) or None

    @property
    def module(self) -> str:
        """Who defined it: the path of a library or program, or a Python module."""
        return to_text(self._info().module)

    @property
    def file(self) -> str:
        """The source file of the definition, or `""`."""
        return to_text(self._info().file)

    @property
    def line(self) -> int:
        """The line of the definition, from 1, or 0 where unknown."""
        return int(self._info().line)

    # marks: made by tools/lists.py

    @property
    def hidden(self) -> bool:
        """Left out of listings and help."""
        return bool(self._info().hidden)

    @property
    def read_only(self) -> bool:
        """Keeps its default."""
        return bool(self._info().read_only)

    @property
    def startup_only(self) -> bool:
        """Keeps its value once a command line was parsed."""
        return bool(self._info().startup_only)

    @property
    def sensitive(self) -> bool:
        """Its values never appear in messages and reports."""
        return bool(self._info().sensitive)

    @property
    def experimental(self) -> bool:
        """May change or go."""
        return bool(self._info().experimental)

    @property
    def required(self) -> bool:
        """A command line without a value for it is an error."""
        return bool(self._info().required)

    # end of marks

    @property
    def frozen(self) -> bool:
        """Refuses changes now."""
        return bool(self._info().frozen)

    # ---- inside ----

    @property
    def handle(self) -> Any:
        """The `pd_flag *` of cffi, valid until the process ends."""
        return ffi.cast("pd_flag *", self._address)

    def from_entry(self, entry: Any) -> T:
        """Give the value of a `pd_flag_entry *` of this flag."""
        if self._state != self._number:
            self._look_again()
        return from_c(self._kind, entry.value)  # type: ignore[no-any-return]

    def _info(self) -> Any:
        info = ffi.new("pd_flag_info *", {"size": ffi.sizeof("pd_flag_info")})
        err = new_error()
        check(lib.pd_flag_get_info(self.handle, info, err), err)
        return info

    def _look_again(self) -> bool:
        """Find the value; a plugin may come back in another version. Tell if it is new."""
        info = self._info()
        known = (self._number, self._sensitive)
        self._kind = kind_of(info)
        self._cell = ffi.cast(self._kind.pointer, lib.pd_flag_get_address(self.handle))
        self._number = self._kind.state
        self._sensitive = bool(info.sensitive)
        return known != (self._number, self._sensitive)

    # ---- what FlagBase leaves to Python ----

    def _read(self) -> Any:
        """Give the value of a list, or raise that there is none, or ask an older host."""
        # The state tells whether the memory that we know still holds the value.
        if self._state != self._number:
            self._look_again()
        value = self._cell[0]
        return value if self._kind.decode is None else self._kind.decode(value)

    def _assign(self, value: object) -> None:
        assign([(self, value)], caller(1))

    def _refused(self, value: object, err: int, errors: int) -> None:
        """Raise what C reports of a plain value, by addresses."""
        error = ffi.cast("pd_error *", err)
        if error.status != lib.PD_ERR_TYPE:
            raise ErrorList(ffi.cast("pd_error_list *", errors)).gather(error)
        assign([(self, value)], caller(1))  # another type has come on another thread

    def _drop(self) -> None:
        """Drop the value that was set at run time, as `unittest.mock.patch` does."""
        err = new_error()
        check(lib.pd_flag_drop(self.handle, lib.PD_SOURCE_RUNTIME, err), err)


def _bound(kind: ValueType, value: Any, natural: int | None) -> Any:
    if kind.python in (bool, str, tuple):
        return None
    bound = from_c(kind, value)
    infinite = kind.python is float and bound in (float("inf"), float("-inf"))
    return None if infinite or bound == natural else bound


flags_made: dict[int, Flag[Any]] = {}
connect(Flag, failures, warnings_left, settle, refuse)


def flag_of(handle: Any) -> Flag[Any]:
    """Give the one Flag for a `pd_flag *`, which is valid for good."""
    key = int(ffi.cast("uintptr_t", handle))
    flag = flags_made.get(key)
    if flag is None:
        made: Flag[Any] = _make(key, _name_of(handle))
        made._look_again()  # noqa: SLF001 - made here
        flag = flags_made.setdefault(key, made)
    return flag


def find_flag(name: str) -> Flag[Any]:
    """Give the flag of this name or alias, or raise UndefinedFlagError."""
    handle = ffi.new("pd_flag **")
    err = new_error()
    check(lib.pd_flag_find(to_bytes(name, "name: "), handle, err), err)
    return flag_of(handle[0])


def _name_of(handle: Any) -> str:
    info = ffi.new("pd_flag_info *", {"size": ffi.sizeof("pd_flag_info")})
    err = new_error()
    check(lib.pd_flag_get_info(handle, info, err), err)
    return to_text(info.name)


def assign(wanted: Sequence[Assignment], where: tuple[str, int], *, push: bool = False) -> int:
    """Set all flags or none; with `push` as an override on top of their values.

    Gives the number of the override. An error in place of a flag is raised with those of
    the others.
    """
    while True:
        try:
            return _assign(wanted, where, push=push)
        except FlagError:
            # Types are known from the last time; look again before giving up.
            flags = [flag for flag, _ in wanted if isinstance(flag, Flag)]
            changed = [flag._look_again() for flag in flags if flag.defined]  # noqa: SLF001
            if not any(changed):
                raise


def _fill(made: Assignments, index: int, flag: Flag[Any] | FlagError, value: object) -> None:
    if not isinstance(flag, Flag):
        raise flag
    if flag._number == 0 or flag._state not in (0, None, flag._number):  # noqa: SLF001
        flag._look_again()  # noqa: SLF001
    made.fill(index, flag._name, flag._kind, value, sensitive=flag._sensitive)  # noqa: SLF001
    made.items[index].flag = flag.handle


def _origin(where: tuple[str, int]) -> tuple[Any, Any]:
    """Give a `pd_origin *` at run time, and the text that must live as long as it."""
    file, line = where
    place = ffi.new("char[]", to_bytes(file))
    return ffi.new("pd_origin *", (lib.PD_SOURCE_RUNTIME, line, place)), place


def _assign(wanted: Sequence[Assignment], where: tuple[str, int], *, push: bool) -> int:
    origin, _place = _origin(where)
    made = Assignments(len(wanted))
    refused: list[FlagError] = []  # C refuses the same, as they have no flag there
    for index, (flag, value) in enumerate(wanted):
        try:
            _fill(made, index, flag, value)
        except FlagError as error:
            refused.append(error)
    number = ffi.new("pd_override *")
    errors = ErrorList()
    err = new_error()
    if push:
        status = lib.pd_override_push(made.items, len(wanted), origin, errors.pointer, number, err)
    else:
        status = lib.pd_batch_set(made.items, len(wanted), origin, errors.pointer, err)
    if status != lib.PD_OK:
        raise errors.gather(err, ours=refused)
    settle()
    return int(number[0])
