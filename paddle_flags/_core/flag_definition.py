"""What a flag is defined as: the base class of Flag."""

from __future__ import annotations

from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.status import get_info, new_struct, to_text
from paddle_flags._core.values import (
    decode_native_value,
    get_native_kind,
    get_typed_kind,
    retry_if_redefined,
)
from paddle_flags._fast import FlagBase
from paddle_flags._native import ffi, lib

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from paddle_flags._core.values import ValueType

    T = TypeVar("T")
else:
    T = None


@hides_internal_frames
class FlagDefinition(FlagBase[T]):
    """The attributes of a definition, read from C each time: it may be another one by now."""

    __slots__ = ()

    @property
    def defined(self) -> bool:
        """False while the plugin that defined the flag is unloaded, and after `undefine`."""
        if self._state is not None:
            return self._state != 0
        # The size says which fields this build knows; an older host fills fewer.
        info = new_struct("pd_flag_info")
        return bool(lib.pd_flag_get_info(self.handle, info, ffi.NULL) == lib.PD_OK)

    @property
    def name(self) -> str:
        """The name as defined. It is known even while the flag is undefined."""
        return self._name

    @property
    def type(self) -> str:
        """The type in C: `"bool"`, `"int32"`, ..., or `"string"`, which is also that of lists."""
        return get_native_kind(self._read_info()).name

    @property
    def items(self) -> str | None:
        """The type in C of a list's items; None if the flag is not a list."""
        item = get_native_kind(self._read_info()).item
        return item.name if item else None

    @property
    def unit(self) -> str | None:
        """The unit of the number, `"bytes"` or `"seconds"`, or None."""
        return to_text(self._read_info().unit) or None

    @property
    def default(self) -> T:
        """The value that the flag has if no other is set."""
        info, kind = self._info_and_type()
        return None if info.optional else decode_native_value(kind, info.default_value)  # type: ignore[return-value]

    @property
    def min(self) -> T | None:
        """The smallest value allowed; None if only the type limits it."""
        info, kind = self._info_and_type()
        return read_bound(kind, info.min, kind.smallest)  # type: ignore[no-any-return]

    @property
    def max(self) -> T | None:
        """The largest value allowed; None if only the type limits it."""
        info, kind = self._info_and_type()
        return read_bound(kind, info.max, kind.largest)  # type: ignore[no-any-return]

    @property
    def choices(self) -> tuple[str, ...] | None:
        """The only values allowed, as text; of a list, the only items. None: any value."""
        return split_bar_separated(self._read_info().choices) or None

    @property
    def help(self) -> str:
        """What the flag is for."""
        return to_text(self._read_info().help)

    @property
    def category(self) -> str:
        """The heading of the flag in help and reports, or `""`."""
        return to_text(self._read_info().category)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names, without the old ones."""
        return split_bar_separated(self._read_info().aliases)

    @property
    def old_names(self) -> tuple[str, ...]:
        """Other names that are deprecated: using one warns, once."""
        return split_bar_separated(self._read_info().old_names)

    @property
    def deprecated(self) -> str | None:
        """Why the flag should no longer be used and what to use instead, or None."""
        return to_text(self._read_info().deprecated) or None

    @property
    def retired(self) -> str | None:
        """Why values for the flag are now ignored, or None."""
        return to_text(self._read_info().retired) or None

    @property
    def module(self) -> str:
        """What defined the flag: the path of a library or program, or a Python module."""
        return to_text(self._read_info().module)

    @property
    def file(self) -> str:
        """The source file of the definition, or `""`."""
        return to_text(self._read_info().file)

    @property
    def line(self) -> int:
        """The line of the definition, counted from 1; 0 if unknown."""
        return int(self._read_info().line)

    @property
    def metavar(self) -> str | None:
        """What help shows in place of a value, or None: a word for the type."""
        return to_text(self._read_info().metavar) or None

    # marks: made by tools/lists.py

    @property
    def hidden(self) -> bool:
        """Left out of listings and help."""
        return bool(self._read_info().hidden)

    @property
    def read_only(self) -> bool:
        """Keeps its default."""
        return bool(self._read_info().read_only)

    @property
    def startup_only(self) -> bool:
        """Keeps its value once a command line was parsed."""
        return bool(self._read_info().startup_only)

    @property
    def sensitive(self) -> bool:
        """Its values never appear in messages and reports."""
        return bool(self._read_info().sensitive)

    @property
    def experimental(self) -> bool:
        """May change or go."""
        return bool(self._read_info().experimental)

    @property
    def required(self) -> bool:
        """A command line without a value for it is an error."""
        return bool(self._read_info().required)

    @property
    def optional(self) -> bool:
        """Its default stands for no value."""
        return bool(self._read_info().optional)

    @property
    def multi(self) -> bool:
        """A list to which each use on a command line adds."""
        return bool(self._read_info().multi)

    @property
    def scoped(self) -> bool:
        """May have a value of its own in a thread or task."""
        return bool(self._read_info().scoped)

    @property
    def runtime(self) -> bool:
        """May be changed in the running process from outside."""
        return bool(self._read_info().runtime)

    @property
    def unsafe(self) -> bool:
        """A change from outside needs a confirmation."""
        return bool(self._read_info().unsafe)

    @property
    def per_process(self) -> bool:
        """Each process has its own value, never compared."""
        return bool(self._read_info().per_process)

    @property
    def count(self) -> bool:
        """An integer to which each use without a value adds one."""
        return bool(self._read_info().count)

    @property
    def merge(self) -> bool:
        """A list that adds to what files and variables give."""
        return bool(self._read_info().merge)

    # end of marks

    @property
    def frozen(self) -> bool:
        """Whether changes raise FrozenFlagError now."""
        return bool(self._read_info().frozen)

    # ---- inside ----

    @property
    def handle(self) -> Any:
        """The `pd_flag *`, as a pointer of cffi. It is valid until the process ends."""
        return ffi.cast("pd_flag *", self._address)

    def _read_info(self) -> Any:
        return get_info("pd_flag_info", lib.pd_flag_get_info, self.handle)

    def _info_and_type(self) -> tuple[Any, ValueType]:
        def read_info() -> tuple[Any, ValueType]:
            info = self._read_info()
            return info, get_typed_kind(info)

        return retry_if_redefined(read_info)


_INFINITY = float("inf")


def split_bar_separated(pointer: Any) -> tuple[str, ...]:
    """Return the names or choices of a definition, which | separates."""
    text = to_text(pointer)
    return tuple(text.split("|")) if text else ()


def read_bound(kind: ValueType, value: Any, type_limit: int | None) -> Any:
    """Return a bound of a definition; None if it is `type_limit`, that of the type."""
    if kind.python in (bool, str, tuple):
        return None
    if kind.via is not None:
        limit = getattr(value, kind.member)
        if limit in (type_limit, _INFINITY, -_INFINITY):
            return None
    limit = decode_native_value(kind, value)
    infinite = kind.python is float and limit in (_INFINITY, -_INFINITY)
    return None if infinite or limit == type_limit else limit
