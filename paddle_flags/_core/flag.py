"""The class Flag."""

from __future__ import annotations

from itertools import count

from paddle_flags._core.assign import assign, caller_place, make_origin
from paddle_flags._core.flag_definition import FlagDefinition
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.scope import Scope
from paddle_flags._core.status import (
    ErrorList,
    address_of,
    call_and_raise_deferred,
    call_checked,
    failures,
    get_info,
    queued_warnings,
    quote_value,
    raise_deferred,
    raise_error_at,
    to_bytes,
    to_text,
)
from paddle_flags._core.values import (
    REDACTED,
    FormerDefinitionError,
    decode_list,
    find_python_type,
    read_native_value,
    retry_if_redefined,
)
from paddle_flags._fast import connect
from paddle_flags._fast import make as _make
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagValueError, UndefinedFlagError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    from paddle_flags._core.history import FlagEntry
    from paddle_flags._core.hooks import Hook
    from paddle_flags._core.types import Type
    from paddle_flags._core.values import ValueType

    T = TypeVar("T")
else:
    T = None


@hides_internal_frames
class Flag(FlagDefinition[T]):
    """A named, typed value that Python and native code of the process share.

    A Flag comes from `define` or `FLAGS[name]`; each flag has one object. The object
    stays valid if the plugin that defined the flag is unloaded, or if the flag is
    undefined: until the flag is defined again, its methods and properties raise
    UndefinedFlagError, except `name`, `defined` and `repr`. Any thread may use it.

    In text, as `f"{flag}"` or `str(flag)`, a flag is its value, or `<redacted>` if it
    is sensitive.
    """

    __slots__ = ()
    __match_args__ = ("name", "value")

    def __init__(self) -> None:
        raise TypeError("cannot create a Flag: use define() or FLAGS[name]")

    # It is easy to take a flag for its value: such mistakes raise an error.

    def __bool__(self) -> NoReturn:
        raise TypeError(f"flag {self._name!r} itself is neither true nor false: use its .value")

    def __eq__(self, other: object) -> bool:
        return self is other if isinstance(other, Flag) else self._refuse_comparison(other)

    def _refuse_comparison(self, other: object) -> NoReturn:
        message = f"flag {self._name!r} itself has no value to compare: use its .value"
        if isinstance(other, Flag):
            message = "flags have no order: compare their .value or .name"
        raise TypeError(message)

    if not TYPE_CHECKING:  # type checkers report these uses if there is no method
        __lt__ = __le__ = __gt__ = __ge__ = _refuse_comparison

        def __contains__(self, item: object) -> NoReturn:
            self._refuse_comparison(None)

    __hash__ = object.__hash__

    def __copy__(self) -> Flag[T]:
        return self  # there is one object for each flag

    def __deepcopy__(self, memo: object) -> Flag[T]:
        return self

    def __reduce__(self) -> tuple[Callable[[str, str], Flag[Any]], tuple[str, str]]:
        return _unpickle, (self._name, _advise_how_to_define(self))

    def __repr__(self) -> str:
        try:
            kind = f"list of {self.items}" if self.items else self.type
            value = REDACTED if self.sensitive else self.value
            return f"<Flag {self._name}: {kind} = {quote_value(value)} ({self.source})>"
        except UndefinedFlagError:
            return f"<Flag {self._name}: not defined>"

    def __str__(self) -> str:
        return format(self)

    def __format__(self, spec: str) -> str:
        return str(REDACTED) if self.sensitive else format(self.value, spec)

    # ---- value: the property itself, and `source`, are those of FlagBase ----

    @property
    def process_value(self) -> T:
        """The value without the scopes of this thread, which `value` is in their absence."""
        return self.from_entry(self._entry_without_scopes())

    def set_from_string(self, text: str) -> None:
        """Set the value from text, written as on a command line.

        Raises FlagValueError, ReadOnlyFlagError or FrozenFlagError; the value is then
        unchanged.
        """
        data = ffi.new("char[]", to_bytes(text, f"{self._name}=", sensitive=self.sensitive))
        item = ffi.new("pd_assignment *", {"flag": self.handle, "text": data})
        origin, _place = make_origin(caller_place(1))  # which points at the place
        call_and_raise_deferred(lib.pd_batch_set, item, 1, origin, ffi.NULL)

    @property
    def text(self) -> str:
        """The value as text; `set_from_string` turns it into the same value again.

        None has no text: then this is "".
        """
        if self.value is None:
            return ""
        size = 64
        while True:
            buffer = ffi.new("char[]", size)
            length = ffi.new("size_t *")
            call_checked(lib.pd_flag_get_text, self.handle, buffer, size, length)
            if length[0] < size:
                return to_text(buffer)
            size = length[0] + 1

    def reset(self) -> None:
        """Drop all values but the default.

        Inside an `override` of this flag, the end of the override brings back the values
        from before it. Raises ReadOnlyFlagError or FrozenFlagError.
        """
        call_and_raise_deferred(lib.pd_flag_reset, self.handle)

    def set_default(self, value: T) -> None:
        """Give the flag another default, which it keeps while any module defines it.

        A value from any other source, such as the command line, takes precedence, whether
        it is set before or after. `reset` returns to this default. None gives a flag that is
        defined without a value that default again. Raises the same errors as an assignment
        to `value`; the default is then unchanged.
        """
        assign([(self, value)], caller_place(1), source=lib.PD_SOURCE_DEFAULT)

    def override(self, value: T) -> Scope:
        """Set the flag for the duration of a `with` block or of a function call.

            with level.override(1): ...

            @level.override(1)
            def function(): ...

        It is `override` of this package for one flag, and raises the same errors.
        """
        return Scope([(self, value)], caller_place(1))

    def freeze(self) -> None:
        """Make every change raise FrozenFlagError until `unfreeze`, for native code too."""
        call_and_raise_deferred(lib.pd_flag_freeze, self.handle)

    def unfreeze(self) -> None:
        """Allow changes again after `freeze`."""
        call_and_raise_deferred(lib.pd_flag_unfreeze, self.handle)

    # ---- where the value comes from ----

    @property
    def place(self) -> str | None:
        """Where the value was set, such as `"main.py:12"`; see `FlagEntry.place`."""
        return self.history[0].place

    @property
    def history(self) -> list[FlagEntry]:
        """The values the flag was given: the current one first, the default last.

        Values are ordered by the rank of their source, and within a rank the latest is
        first. Of the values that a later one from the same source has replaced, at least
        the last 15 are kept; repeated changes from one line count once.
        """
        from paddle_flags._core.history import read_flag_history

        return read_flag_history(self.handle)

    # ---- validators and watchers ----

    def validate(self, function: Callable[[T], bool], message: str = "") -> Hook:
        """Call `function` with each new value before it takes effect; return a Hook.

        It works as the decorator `validator`, for this flag alone. `Hook.remove` removes
        the function.
        """
        from paddle_flags._core.hooks import add_validator

        return add_validator([self], function, message)

    def watch(self, callback: Callable[[Flag[T]], object], *, weak: bool = False) -> Hook:
        """Call `callback` with this Flag after each change of its value; return a Hook.

        The callback runs on the thread that made the change, which may be a native one,
        after all values of that operation have changed. It may read and set flags. An
        exception in it cannot undo the change; it goes to `sys.unraisablehook`, except
        KeyboardInterrupt and SystemExit, which the call that made the change raises,
        unless that was a call by native code.

        With `weak=True` only a weak reference to the callback, a function or a bound
        method, is kept: the hook is removed when the callback is garbage collected.

        Raises FlagTypeError for an `async def`, which nothing would await.
        """
        from paddle_flags._core.hooks import add_watcher

        return add_watcher(self.handle, callback, flag_of, weak=weak)

    # ---- inside ----

    def from_entry(self, entry: Any) -> T:
        """Return the value of a `pd_flag_entry *` of this flag."""
        value, type_ = read_native_value(entry), find_python_type(entry)
        if value is None or type_ is None:
            return value  # type: ignore[no-any-return]
        return self._read_by_type(type_, value, sensitive=entry.sensitive)  # type: ignore[no-any-return]

    def _entry(self, index: int = 0) -> Any:
        """Return a value of the history, with all that it takes to read it: a `pd_flag_entry *`."""
        return get_info("pd_flag_entry", lib.pd_flag_get_entry, self.handle, index)

    def _entry_without_scopes(self) -> Any:
        """Return the value without the scopes of this thread."""
        entries = map(self._entry, count())
        return next(each for each in entries if each.origin.source != lib.PD_SOURCE_SCOPE)

    def _kind_and_sensitive(self) -> tuple[ValueType, bool]:
        """Return the type of the current definition, and whether it is sensitive."""
        return self._known or self._load_definition()[:2]

    def _refresh_definition(self) -> bool:
        """Look up the definition: it may be another one. Returns whether it is."""
        return self._load_definition()[2]

    def _load_definition(self) -> tuple[ValueType, bool, bool]:
        info, kind = self._info_and_type()
        scoped = info.scoped and not info.optional
        changed = self._know(info.generation, kind, kind.via, info.sensitive, scoped)
        return kind, bool(info.sensitive), changed

    # ---- what FlagBase leaves to Python ----

    def _read(self) -> Any:
        """Return the value if C's part can't: it may be undefined, or another type by now."""
        return retry_if_redefined(self._read_once)

    def _read_once(self) -> Any:
        from paddle_flags._core.retained_values import can_have_unchecked_value

        entry = self._entry()  # raises if the flag is undefined
        try:
            return self.from_entry(entry)
        except FlagValueError:  # C has the value from before this definition
            if can_have_unchecked_value(self):
                return self.default  # which replaces it
            now = self._entry()
            if (now.context, read_native_value(now)) != (entry.context, read_native_value(entry)):
                raise FormerDefinitionError from None
            raise

    def _native_value(self) -> Any:
        """Return the value as C holds it; None if the flag has none."""
        return retry_if_redefined(lambda: read_native_value(self._entry()))

    def _decode(self, state: int, value: Any, type_: Type[Any] | None) -> Any:
        """Return the value that the Type makes of one in C, or the tuple of a list's text.

        Returns NotImplemented for a value that the Type doesn't take.
        """
        if type_ is None:
            return decode_list(state, value)
        try:
            return type_.read(value)
        except Exception as error:
            if not self._sensitive and not isinstance(error, ValueError):
                raise
            return NotImplemented

    def _read_by_type(self, type_: Type[Any], value: Any, *, sensitive: bool) -> Any:
        try:
            return type_.read(value)
        except Exception as error:
            if not sensitive and not isinstance(error, ValueError):
                raise
            reason = f"expected {type_.expected}" if sensitive else error
        seen = REDACTED if sensitive else quote_value(value)
        raise FlagValueError(f"{self._name}={seen}: {reason}")

    def _source(self) -> str:
        return to_text(lib.pd_source_name(self._read_info().source))

    def _assign(self, value: object) -> None:
        assign([(self, value)], caller_place(1))

    def _raise_or_assign_again(self, value: object, err: int, errors: int) -> None:
        """Raise the error that C reports for a plain value, by addresses."""
        error = ffi.cast("pd_error *", err)
        if error.status != lib.PD_ERR_TYPE:
            raise ErrorList(ffi.cast("pd_error_list *", errors)).to_exception(error)
        assign([(self, value)], caller_place(1))  # another type has come on another thread

    def _drop_runtime_value(self) -> None:
        """Drop the value set at run time, as `unittest.mock.patch` does at its end.

        A value that an override covers isn't the one that the caller sees.
        """
        if self._read_info().source in (lib.PD_SOURCE_OVERRIDE, lib.PD_SOURCE_SCOPE):
            return
        call_and_raise_deferred(lib.pd_flag_drop, self.handle, lib.PD_SOURCE_RUNTIME)


flags_made: dict[int, Flag[Any]] = {}
connect(Flag, failures, queued_warnings, raise_deferred, raise_error_at)


def flag_of(handle: Any) -> Flag[Any]:
    """Return the one Flag of a `pd_flag *`."""
    key = address_of(handle)
    flag = flags_made.get(key)
    if flag is None:
        name = lib.pd_flag_get_name(handle)  # NULL: the host is older than this function
        name = name or get_info("pd_flag_info", lib.pd_flag_get_info, handle).name
        made: Flag[Any] = _make(key, to_text(name))
        made._refresh_definition()
        flag = flags_made.setdefault(key, made)
    return flag


def find_flag(name: str) -> Flag[Any]:
    """Return the flag of this name or alias, or raise UndefinedFlagError."""
    handle = ffi.new("pd_flag **")
    call_checked(lib.pd_flag_find, to_bytes(name, "name: "), handle)
    flag = flag_of(handle[0])
    raise_deferred(flag)
    return flag


def _unpickle(name: str, remedy: str) -> Flag[Any]:
    try:
        return find_flag(name)
    except UndefinedFlagError as error:
        message = f"cannot unpickle the flag {name!r}, which is not defined here"
        raise UndefinedFlagError(message + remedy) from error


def _advise_how_to_define(flag: Flag[Any]) -> str:
    """Return how another process gets the flag; "" if that isn't known."""
    if not flag.defined:
        return ""
    module, file = flag.module, flag.file
    if module in (file, "__mp_main__"):  # the program
        return f": define it at the top level of {file}, not under if __name__ == '__main__'"
    if "/" in module or "\\" in module:
        return f": call load_plugin({module!r}) first"
    return f": import {module} first"
