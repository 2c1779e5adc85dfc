"""All flags of the process: the mapping FLAGS, flags by name, overrides."""

from __future__ import annotations

from _collections_abc import (
    ItemsView,
    Mapping,
    ValuesView,
)  # as collections.abc, without what that imports

from paddle_flags._core import flag_finders
from paddle_flags._core.assign import assign, caller_place
from paddle_flags._core.flag import Flag, find_flag, flag_of
from paddle_flags._core.frames import (
    frame_above,
    hides_internal_frames,
)
from paddle_flags._core.names import normalize_name
from paddle_flags._core.scope import Scope
from paddle_flags._core.status import iterate_c_handles, quote_value, to_bytes
from paddle_flags._fast import RegistryBase, attach
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError, FlagNameError, FlagTypeError, UndefinedFlagError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import FrameType
    from typing import Any, TypeVar

    from paddle_flags._core.assign import Assignment

    Value = bool | int | float | str | Sequence[bool | int | float | str]
    T = TypeVar("T")
    # By Flag or name: type checkers infer no common key of a dictionary that has both.
    Values = Mapping[Any, object]


# Flags by their own names: while such a flag is defined, the name cannot mean another one.
# Aliases are left out, as they can. So are names of attributes of FLAGS itself, because FLAGS
# looks here first.
_known: dict[str, Flag[Any]] = {}


def find(name: str) -> Flag[Any]:
    """Return the flag of this name or alias, or raise UndefinedFlagError."""
    try:
        known = _known.get(name)
    except TypeError:  # a list or another that has no hash
        known = None
    if known is not None and known.defined:
        return known
    try:
        flag = find_flag(name)
    except UndefinedFlagError:
        if not flag_finders.add_new_flags():
            raise
        flag = find_flag(name)
    if flag.name == name and not name.startswith("__") and not hasattr(Registry, name):
        _known[name] = flag
    return flag


class _Items(ItemsView[str, "Flag[Any]"]):
    """Without a second look at each name: another thread may undefine the flag meanwhile."""

    def __iter__(self) -> Iterator[tuple[str, Flag[Any]]]:
        return ((flag.name, flag) for flag in all_flags())

    def __contains__(self, item: object) -> bool:
        match item:
            case (str() as name, Flag() as flag):
                return super().__contains__((name, flag))
        return False  # a flag can't be compared with anything else


class _Values(ValuesView["Flag[Any]"]):
    """Without a second look at each name, as `_Items`."""

    def __iter__(self) -> Iterator[Flag[Any]]:
        return iter(all_flags())

    def __contains__(self, value: object) -> bool:
        return isinstance(value, Flag) and value.defined


class _Attributes(dict[str, "Any"]):
    """What `vars(FLAGS)` is: nothing, since flags aren't stored there.

    `unittest.mock.patch.object` looks here whether to set the former value again at its end, or
    to delete the one that it has set. Deleting doesn't bring back another value of the same rank.
    """

    def __missing__(self, name: str) -> Any:
        flag = find(name)
        if flag.source in _REPLACED:
            return flag.value
        raise KeyError(name)


class _Unstored:
    """An object whose attributes are flags."""

    __slots__ = ()

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return _Attributes()


_REPLACED = ("run time", "live", "override", "scope")

_SHOWN = 60  # characters of names in repr(FLAGS)


@hides_internal_frames
class Registry(RegistryBase, _Unstored, Mapping[str, "Flag[Any]"]):
    """All flags of the process: a live mapping of names to Flags.

    `FLAGS.level` reads and sets the value of the flag `level`; `FLAGS["level"]` is the
    Flag itself, also if its name is not a Python identifier. Both also take aliases, and
    `-` in place of `_`. Iteration yields names in the order of definition, including
    those of hidden flags. Any thread may use it.
    """

    __slots__ = ()

    def __init__(self) -> None:
        attach(self, _known, flag_finders.flag_finders)

    if TYPE_CHECKING:  # that of RegistryBase

        def __getitem__(self, name: str) -> Flag[Any]: ...

    def __iter__(self) -> Iterator[str]:
        return iter([flag.name for flag in all_flags()])

    def __len__(self) -> int:
        return len(all_flags())

    def items(self) -> ItemsView[str, Flag[Any]]:
        """Return the names with their Flags, of all flags that are defined at each iteration."""
        return _Items(self)

    def values(self) -> ValuesView[Flag[Any]]:
        """Return the Flags, of all flags that are defined at each iteration."""
        return _Values(self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the Flag of this name or alias, or `default` if there is none."""
        if isinstance(name, str) and "\0" in name:
            return default
        return super().get(name, default)

    def __setitem__(self, name: str, value: object) -> None:
        flag = self.get(name)
        seen = "..." if flag is not None and flag.sensitive else quote_value(value)
        item = f"FLAGS[{quote_value(name)}]"
        raise FlagTypeError(f"{item} cannot be replaced: write {item}.value = {seen}")

    def __delitem__(self, name: str) -> None:
        item = f"FLAGS[{quote_value(name)}]"
        raise FlagTypeError(
            f"{item} cannot be deleted: write del {item}.value to drop the value set at run"
            f" time, or {item}.reset() to drop all values"
        )

    def __copy__(self) -> Registry:
        return self

    def __deepcopy__(self, memo: object) -> Registry:
        return self

    def __reduce__(self) -> str:
        return "FLAGS"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        names = list(self)
        shown = ""
        for index, name in enumerate(names):
            if len(shown) + len(name) > _SHOWN:
                shown += "... "
                break
            shown += name + (", " if index + 1 < len(names) else " ")
        count = f"({len(names)} flag{'s' * (len(names) != 1)})"
        return f"<FLAGS: {shown}{count}>"

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names, for Tab after `FLAGS["` in IPython and in notebooks."""
        return list(self)

    def _repr_html_(self) -> str:
        """Return a table of the flags, for notebooks."""
        from paddle_flags._core.html import html_table

        return html_table(all_flags())

    def update(self, values: Values | None = None, /, **named: object) -> None:
        """Set several flags: all of them, or none if a value is refused.

        Keys of `values` are names, or Flags.

        Raises the exception of the first value that is refused; its `errors` has all.
        """
        assign_values(merge_named_values(values, named), caller_place(1))

    # ---- what RegistryBase leaves to Python ----

    def _find_flag(self, name: str) -> Flag[Any]:
        return find(name)

    def _get_value(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by copy, inspect and others
            raise AttributeError(name)
        if name == "copy":
            _check_not_patch_dict(frame_above(1))
        return find(name).value

    def _set_value(self, name: str, value: object) -> None:
        if hasattr(Registry, name):
            raise FlagNameError(f"FLAGS.{name} is not a flag: write FLAGS[{name!r}].value = ...")
        assign([(find(name), value)], caller_place(1))

    def _drop_value(self, name: str) -> None:
        del find(name).value

    def _contains_name(self, name: object) -> bool:
        if isinstance(name, Flag):
            return name.defined
        handle = ffi.new("pd_flag **")
        if not isinstance(name, str) or "\0" in name:
            return False
        text = to_bytes(name)
        if lib.pd_flag_find(text, handle, ffi.NULL) == lib.PD_OK:
            return True
        return flag_finders.add_new_flags() and bool(
            lib.pd_flag_find(text, handle, ffi.NULL) == lib.PD_OK
        )


def _check_not_patch_dict(caller: FrameType) -> None:
    """Raise FlagTypeError if `unittest.mock.patch.dict` asks, before it changes anything.

    At its end it deletes all items, and flags can't be deleted.
    """
    if caller.f_code.co_name == "_patch_dict":
        raise FlagTypeError(
            "mock.patch.dict can't patch FLAGS, as flags can't be deleted and inserted again: use "
            'paddle_flags.override(name=value), or mock.patch.object(FLAGS, "name", value)'
        )


def merge_named_values(values: Values | None, named: dict[str, object]) -> Values:
    if values is None:
        return named
    if isinstance(values, Mapping):
        return {**values, **named}
    what = type(values).__name__
    raise FlagTypeError(f"values: expected a mapping of names to values, not {what}")


def assign_values(
    values: Values, where: tuple[str, int], source: int = lib.PD_SOURCE_RUNTIME
) -> None:
    """Set several flags as `FLAGS.update` does, for code at another place: its file and line.

    `source` is the ``PD_SOURCE_...`` that the values have.
    """
    assign(resolve_assignments(values), where, source)


def resolve_assignments(values: Values) -> list[Assignment]:
    return [(_find_or_error(key), value) for key, value in values.items()]


def _find_or_error(key: Flag[Any] | str) -> Flag[Any] | FlagError:
    if isinstance(key, Flag):
        return key
    try:
        return FLAGS[key]
    except FlagError as error:
        return error


def all_flags() -> list[Flag[Any]]:
    """Return the flags that are defined now, in the order of definition."""
    flags: list[Flag[Any]] = []
    flag_finders.add_new_flags()
    for handle in iterate_c_handles(lib.pd_flag_next):
        try:
            flags.append(flag_of(handle))
        except UndefinedFlagError:  # its plugin may leave, on another thread
            pass
    return flags


def for_each(flags: Iterable[Flag[Any]], report: Callable[[Flag[Any]], T]) -> list[T]:
    """Return `report(flag)` for each flag; one that another thread undefines is left out."""
    found: list[T] = []
    for flag in flags:
        try:
            found.append(report(flag))
        except UndefinedFlagError:
            pass
    return found


def find_without_warning(name: str) -> Flag[Any] | None:
    """Return the flag that a command line means by a name, without a warning about the name."""
    wanted = normalize_name(name)
    known = _known.get(wanted)
    if known is not None and known.defined:
        return known

    def match_wanted_name(flag: Flag[Any]) -> Flag[Any] | None:
        names = (flag.name, *flag.aliases, *flag.old_names)
        return flag if wanted in map(normalize_name, names) else None

    return next(
        (flag for flag in for_each(all_flags(), match_wanted_name) if flag is not None), None
    )


FLAGS = Registry()


def _flag_named(name: Flag[Any] | str) -> Flag[Any]:
    return name if isinstance(name, Flag) else find(name)


@hides_internal_frames
def get(name: Flag[Any] | str) -> Any:
    """Return the value of a flag, as `FLAGS.<name>` does; raise UndefinedFlagError."""
    return _flag_named(name).value


@hides_internal_frames
def set(name: Flag[Any] | str, value: Value) -> None:
    """Set a flag, as `FLAGS.<name> = value` does, and raise the same errors."""
    assign([(_flag_named(name), value)], caller_place(1))


@hides_internal_frames
def reset(name: Flag[Any] | str) -> None:
    """Drop all values of a flag but the default, as `Flag.reset` does."""
    _flag_named(name).reset()


@hides_internal_frames
class override(Scope):
    """Set flags for the duration of a `with` block or of a function call.

        with override(alpha_level=1): ...

        @override({"beta.port": 80, level: 5}, alpha_level=1)
        def function(): ...  # or async def, or a generator

    All values are checked before the first takes effect; if one is refused, its exception
    is raised and its `errors` has all of them. Overrides lie on top of the other values of
    a flag, for all threads and for native code, and may end in any order, on any thread:
    the latest one that has not ended counts. Setting a flag inside the block changes the
    latest override only, so the end of the block undoes it.
    """

    def __init__(self, values: Values | None = None, /, **named: object) -> None:
        self._values = merge_named_values(values, named)
        super().__init__([], caller_place(1))

    def _resolve_assignments(self) -> list[Assignment]:
        return resolve_assignments(self._values)
