"""A type stub of the flags that are defined now."""

from __future__ import annotations

import json
import keyword
from typing import TYPE_CHECKING, Any

from paddle_flags._core.registry import Registry, all_flags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags._core.flag import Flag

# A flag may be named like a type, so the types have other names here.
_HEAD = '''\
"""The flags of {what}. Made by `{command}`."""

import builtins as _builtins
import typing as _typing
from collections.abc import Iterator as _Iterator
from collections.abc import Mapping as _Mapping

from paddle_flags import Flag as _Flag

class _Flags:
'''
_TAIL = """
    def __contains__(self, name: _builtins.object) -> _builtins.bool: ...
    def __iter__(self) -> _Iterator[_builtins.str]: ...
    def __len__(self) -> _builtins.int: ...
    def update(
        self,
        values: _Mapping[_builtins.str, _builtins.object] | None = None,
        /,
        **named: _builtins.object,
    ) -> None: ...

FLAGS: _Flags
"""


def stub_text(what: str, command: str) -> str:
    """Return the text of a stub in which `FLAGS` has an attribute for each flag.

    `what` names the modules that define them, and `command` what makes the stub.
    """
    flags = [flag for flag in all_flags() if flag.retired is None]
    head = _HEAD.format(what=what, command=command)
    return head + "\n".join([*_attributes(flags), *_items(flags)]) + _TAIL


_SCALARS = {"bool": "bool", "double": "float", "string": "str"}


def _type_of(flag: Flag[Any]) -> str:
    if flag._type is not None:  # noqa: SLF001 - of the package
        return "_typing.Any"
    items = {"bool": "bool", "double": "float", "string": "str", None: ""}.get(flag.items, "int")
    if items:
        return f"_builtins.tuple[_builtins.{items}, ...]"
    if flag.optional:
        return f"_typing.Optional[_builtins.{_SCALARS.get(flag.type, 'int')}]"
    return f"_builtins.{type(flag.default).__name__}"


def _attributes(flags: list[Flag[Any]]) -> Iterator[str]:
    for flag in flags:
        name, kind = flag.name, _type_of(flag)
        if not name.isidentifier() or keyword.iskeyword(name) or hasattr(Registry, name):
            continue  # only FLAGS["name"] reaches it
        if flag.read_only:
            yield f"    @_builtins.property\n    def {name}(self) -> {kind}: ..."
        else:
            yield f"    {name}: {kind}"


def _items(flags: list[Flag[Any]]) -> Iterator[str]:
    by_type: dict[str, list[str]] = {}
    for flag in flags:
        by_type.setdefault(_type_of(flag), []).extend((flag.name, *flag.aliases))
    for kind, names in sorted(by_type.items()):
        if len(by_type) > 1:
            yield "    @_typing.overload"
        literal = f"_typing.Literal[{', '.join(map(json.dumps, names))}]"
        yield f"    def __getitem__(self, name: {literal}) -> _Flag[{kind}]: ..."
