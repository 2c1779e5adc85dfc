# What csrc/python holds: the plain cases, fast.

from types import FrameType
from typing import Any, Callable, Generic, TypeVar

_T = TypeVar("_T")

class FlagBase(Generic[_T]):
    @property
    def value(self) -> _T:
        """The current value, as native code sees it. Setting it is checked first.

        That of a list is a tuple; any sequence but text sets it.
        Raises on setting: FlagTypeError, FlagValueError, ReadOnlyFlagError,
        FrozenFlagError. The place that `history` shows is the caller's line.
        Deleting it drops the value that was set at run time.
        """  # noqa: PYI021 - of a C property, shown by editors
    @value.setter
    def value(self, value: _T) -> None: ...
    @value.deleter
    def value(self) -> None: ...
    @property
    def _address(self) -> int: ...
    @property
    def _state(self) -> int | None: ...
    @property
    def _name(self) -> str: ...
    _kind: Any
    _cell: Any
    _number: int
    _sensitive: bool

class RegistryBase:
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def __delattr__(self, name: str) -> None: ...

def connect(
    flag: type[FlagBase[Any]],
    failures: dict[int, BaseException],
    warnings: list[Warning],
    settle: Callable[[], None],
    refuse: Callable[[int], None],
    /,
) -> None: ...
def is_main() -> bool: ...
def attach(
    registry: RegistryBase,
    known: dict[str, Any],
    get: Callable[[str], Any],
    set: Callable[[str, object], None],
    drop: Callable[[str], None],
    /,
) -> None: ...
def make(address: int, name: str, /) -> Any: ...
def define(flags: dict[int, Any], frame: FrameType, /, *arguments: object) -> Any: ...
def parse_argv(tokens: list[str], options: int, err: int, /) -> list[str] | int | None: ...
