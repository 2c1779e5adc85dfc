"""One flag, as Python sees it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar, Union

from paddle_flags._native import ffi, lib
from paddle_flags._status import ErrorList, check, new_error, settle, to_bytes, to_text
from paddle_flags._values import REDACTED, Assignments, ValueType, from_c, kind_of
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags._hooks import Hook

T = TypeVar("T")

# A host of an older version tells no state: look at the flag each time.
_UNKNOWN = ffi.new("uint8_t *")


class FlagEntry(NamedTuple):
    """One value that a flag was given."""

    value: Any
    """`<redacted>` of a sensitive flag."""
    source: str
    """`"default"`, `"file"`, `"environment"`, `"argv"`, `"run time"` or `"layer"`."""
    place: str | None
    """`"main.py:12"`, `"argv[2]"`, the name of a variable, or None where unknown."""
    replaced: bool = False
    """Whether a later value of the same source came."""


def place_of(origin: Any) -> str | None:
    """Where a pd_origin says that a value came from, as in `FlagEntry.place`."""
    if not origin.place or origin.place[0] == b"\0":
        return f"argv[{origin.line}]" if origin.source == lib.PD_SOURCE_ARGV else None
    parts = [to_text(origin.place), origin.line, origin.column]
    return ":".join(str(part) for part in parts if part)


def caller(depth: int) -> tuple[str, int]:
    """Give file and line of the function that is `depth` calls above the caller."""
    frame = sys._getframe(depth + 1)  # noqa: SLF001 - the documented way
    return frame.f_code.co_filename, frame.f_lineno


class Flag(Generic[T]):
    """A named, typed value of the process, shared with native code.

    There is one object for each flag; it stays valid when the flag's plugin is
    unloaded, and raises `UndefinedFlagError` until the flag is defined again.
    All methods may be called from any thread.
    """

    __slots__ = (
        "__weakref__", "_cell", "_decode", "_handle", "_kind", "_name", "_number", "_sensitive",
        "_state",
    )  # fmt: skip

    _handle: Any
    _name: str
    _state: Any  # C's memory: the kind's state while the flag is defined, else 0
    _cell: Any  # C's memory: the value
    _kind: ValueType  # of that value
    _number: int  # the kind's state
    _decode: Callable[[Any], Any] | None  # the kind's
    _sensitive: bool

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
        from paddle_flags._registry import find  # noqa: PLC0415 - it needs this module

        return find, (self._name,)

    def __repr__(self) -> str:
        if not self.defined:
            return f"<Flag {self._name}: not defined>"
        kind = f"list of {self.items}" if self.items else self.type
        value = REDACTED if self.sensitive else self.value
        return f"<Flag {self._name}: {kind} = {value!r} ({self.source})>"

    # ---- value ----

    @property
    def value(self) -> T:
        """The current value, as native code sees it. Setting it is checked first.

        That of a list is a tuple; any sequence but text sets it.
        Raises on setting: FlagTypeError, FlagValueError, ReadOnlyFlagError,
        FrozenFlagError. The place that `history` shows is the caller's line.
        """
        # The state tells whether the memory that we know still holds the value.
        if self._state[0] != self._number:
            self._look_again()
        value = self._cell[0]
        return value if self._decode is None else self._decode(value)  # type: ignore[no-any-return]

    @value.setter
    def value(self, value: T) -> None:
        assign([(self, value)], caller(1))

    @value.deleter
    def value(self) -> None:
        """Drop the value that was set at run time, as `unittest.mock.patch` does."""
        err = new_error()
        check(lib.pd_flag_drop(self._handle, lib.PD_SOURCE_RUNTIME, err), err)

    def set_from_string(self, text: str) -> None:
        """Set the value from text, as a command line does.

        Raises FlagValueError, ReadOnlyFlagError or FrozenFlagError.
        """
        err = new_error()
        data = to_bytes(text, f"{self._name}=", sensitive=self._sensitive)
        check(lib.pd_flag_set_from_string(self._handle, data, err), err)

    @property
    def text(self) -> str:
        """The value as text that `set_from_string` reads back as the same value."""
        err = new_error()
        size = 64
        while True:
            buffer = ffi.new("char[]", size)
            length = ffi.new("size_t *")
            check(lib.pd_flag_get_text(self._handle, buffer, size, length, err), err)
            if length[0] < size:
                return to_text(buffer)
            size = length[0] + 1

    def reset(self) -> None:
        """Go back to the default: drop all other values.

        Within an `override` of the flag, its end brings back what was before it.
        Raises ReadOnlyFlagError or FrozenFlagError.
        """
        err = new_error()
        check(lib.pd_flag_reset(self._handle, err), err)

    def freeze(self) -> None:
        """Refuse every later change with FrozenFlagError, until `unfreeze`."""
        err = new_error()
        check(lib.pd_flag_freeze(self._handle, err), err)

    def unfreeze(self) -> None:
        """Undo `freeze`."""
        err = new_error()
        check(lib.pd_flag_unfreeze(self._handle, err), err)

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
        later one of the same source has replaced, at least the last 15 are there.
        """
        info = self._info()
        kind = kind_of(info)
        entry = ffi.new("pd_flag_entry *", {"size": ffi.sizeof("pd_flag_entry")})
        err = new_error()
        found: list[FlagEntry] = []
        while True:
            status = lib.pd_flag_get_entry(self._handle, len(found), entry, err)
            if status == lib.PD_ERR_ARGUMENT:
                return found
            check(status, err)
            source = to_text(lib.pd_source_name(entry.origin.source))
            value = REDACTED if info.sensitive else from_c(kind, entry.value)
            found.append(FlagEntry(value, source, place_of(entry.origin), bool(entry.replaced)))

    # ---- validators and watchers ----

    def validate(self, function: Callable[[T], bool], message: str = "") -> Hook:
        """Ask `function` before each change of the value; gives a Hook to remove it.

        As the decorator `validator`, which see, for this flag alone.
        """
        from paddle_flags._hooks import add_validator  # noqa: PLC0415 - it needs this module

        return add_validator([self], function, message)

    def watch(self, callback: Callable[[Flag[T]], object], *, weak: bool = False) -> Hook:
        """Call `callback` with this Flag after each change of its value, whoever makes it.

        It runs on the thread that made the change, which may be a native one, when all
        values of that operation hold; it may read and set flags. What it raises goes to
        `sys.unraisablehook`: the change is made by then. With `weak` the callback, a
        bound method or a function, is dropped when nobody else holds it.
        """
        from paddle_flags._hooks import add_watcher  # noqa: PLC0415 - it needs this module

        return add_watcher(self, callback, weak=weak)

    # ---- definition ----

    @property
    def defined(self) -> bool:
        """False while the plugin that defined the flag is unloaded."""
        if self._state is not _UNKNOWN:
            return bool(self._state[0] != 0)
        info = ffi.new("pd_flag_info *", {"size": ffi.sizeof("pd_flag_info")})
        return bool(lib.pd_flag_get_info(self._handle, info, ffi.NULL) == lib.PD_OK)

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
        """The value that nobody has to give."""
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
        """Its values never appear in messages, listings and representations."""
        return bool(self._info().sensitive)

    @property
    def experimental(self) -> bool:
        """May change or go."""
        return bool(self._info().experimental)

    @property
    def required(self) -> bool:
        """A command line without a value for it is an error."""
        return bool(self._info().required)

    @property
    def frozen(self) -> bool:
        """Refuses changes now."""
        return bool(self._info().frozen)

    # ---- inside ----

    @property
    def handle(self) -> Any:
        """The `pd_flag *` of cffi, valid until the process ends."""
        return self._handle

    def from_entry(self, entry: Any) -> T:
        """Give the value of a `pd_flag_entry *` of this flag."""
        if self._state[0] != self._number:
            self._look_again()
        return from_c(self._kind, entry.value)  # type: ignore[no-any-return]

    def _info(self) -> Any:
        info = ffi.new("pd_flag_info *", {"size": ffi.sizeof("pd_flag_info")})
        err = new_error()
        check(lib.pd_flag_get_info(self._handle, info, err), err)
        return info

    def _look_again(self) -> bool:
        """Find the value; a plugin may come back in another version. Tell if it is new."""
        info = self._info()
        known = (self._number, self._sensitive)
        self._kind = kind_of(info)
        self._cell = ffi.cast(self._kind.pointer, lib.pd_flag_get_address(self._handle))
        self._decode = self._kind.decode
        self._number = self._kind.state
        self._sensitive = bool(info.sensitive)
        return known != (self._number, self._sensitive)


def _bound(kind: ValueType, value: Any, natural: int | None) -> Any:
    if kind.python in (bool, str, tuple):
        return None
    bound = from_c(kind, value)
    infinite = kind.python is float and bound in (float("inf"), float("-inf"))
    return None if infinite or bound == natural else bound


_flags: dict[int, Flag[Any]] = {}


def flag_of(handle: Any) -> Flag[Any]:
    """Give the one Flag for a `pd_flag *`, which is valid for good."""
    key = int(ffi.cast("uintptr_t", handle))
    flag = _flags.get(key)
    if flag is None:
        made: Flag[Any] = object.__new__(Flag)
        made._handle = handle  # noqa: SLF001 - __init__ in all but name
        made._state = lib.pd_flag_get_state(handle) or _UNKNOWN  # noqa: SLF001
        made._name = to_text(made._info().name)  # noqa: SLF001
        made._number = 0  # noqa: SLF001
        made._sensitive = False  # noqa: SLF001
        made._look_again()  # noqa: SLF001
        flag = _flags.setdefault(key, made)
    return flag


Assignment = tuple[Union[Flag[Any], FlagError], object]

_places: dict[str, Any] = {}  # files that assignments stand in, for C


def assign(wanted: Sequence[Assignment], where: tuple[str, int], *, layer: bool = False) -> int:
    """Set all flags or none; with `layer` on top of their values. Gives the layer's number.

    An error in place of a flag is raised with those of the others.
    """
    while True:
        try:
            return _assign(wanted, where, layer=layer)
        except FlagError:
            # Types are known from the last time; look again before giving up.
            flags = [flag for flag, _ in wanted if isinstance(flag, Flag)]
            changed = [flag._look_again() for flag in flags if flag.defined]  # noqa: SLF001
            if not any(changed):
                raise


def _fill(made: Assignments, index: int, flag: Flag[Any] | FlagError, value: object) -> None:
    if not isinstance(flag, Flag):
        raise flag
    if flag._state[0] not in (0, flag._number):  # noqa: SLF001 - a text became a list
        flag._look_again()  # noqa: SLF001
    made.fill(index, flag._name, flag._kind, value, sensitive=flag._sensitive)  # noqa: SLF001
    made.items[index].flag = flag._handle  # noqa: SLF001


def _assign(wanted: Sequence[Assignment], where: tuple[str, int], *, layer: bool) -> int:
    file, line = where
    if file not in _places:
        _places[file] = ffi.new("char[]", to_bytes(file))
    origin = ffi.new("pd_origin *", (lib.PD_SOURCE_RUNTIME, line, _places[file]))
    made = Assignments(len(wanted))
    refused: list[FlagError] = []  # C refuses the same, as they have no flag there
    for index, (flag, value) in enumerate(wanted):
        try:
            _fill(made, index, flag, value)
        except FlagError as error:
            refused.append(error)
    number = ffi.new("pd_layer *")
    errors = ErrorList()
    err = new_error()
    if layer:
        status = lib.pd_layer_push(made.items, len(wanted), origin, errors.pointer, number, err)
    else:
        status = lib.pd_batch_set(made.items, len(wanted), origin, errors.pointer, err)
    if status != lib.PD_OK:
        raise errors.gather(err, ours=refused)
    settle()
    return int(number[0])
