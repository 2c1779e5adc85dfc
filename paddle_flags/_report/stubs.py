"""A type stub of the flags that are defined now."""

from __future__ import annotations

import json
import keyword
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._core.containers import SetType, TupleType
from paddle_flags._core.registry import Registry, all_flags

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags._core.flag import Flag
    from paddle_flags._core.types import Type

# A flag may be named like a type, so the types have other names here.
_HEAD = '''\
"""The flags of {what}. Made by `{command}`."""

{imports}
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


def render_stub(what: str, command: str) -> str:
    """Return the text of a stub in which `FLAGS` has an attribute for each flag.

    `what` names the modules that define them, and `command` what makes the stub.
    """
    flags = [flag for flag in all_flags() if flag.retired is None]
    modules = {"builtins", "typing"}.union(
        *(_collect_imported_modules(flag._type) for flag in flags)
    )
    imports = "\n".join(f"import {name} as {_import_alias(name)}" for name in sorted(modules))
    head = _HEAD.format(what=what, command=command, imports=imports)
    return head + "\n".join([*_attribute_lines(flags), *_getitem_lines(flags)]) + _TAIL


_SCALARS = {"bool": "bool", "double": "float", "string": "str"}
_ANY = "_typing.Any"


def _import_alias(module: str) -> str:
    return "_" + module.replace(".", "_")


def _importable_module_of(python: Any) -> str | None:
    """Return the module from which a class can be imported by its name."""
    if not isinstance(python, type) or python is object or getattr(python, "__parameters__", None):
        return None
    full = python.__module__
    for module in (full.partition("._")[0], full):  # Path may be of pathlib._local
        found: Any = sys.modules.get(module) if module != "__main__" else None
        for part in python.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is python:
            return module
    return None


def _list_item_types(type_: Type[Any]) -> list[Type[Any]]:
    """Return the types of what a dict, a tuple, a set or a list has, or the type itself."""
    if isinstance(type_, TupleType):
        return list(type_.items)
    if type_.takes_tables:
        return [type_.key, type_.value]  # type: ignore[attr-defined]
    return [type_.item or type_]


def _collect_imported_modules(type_: Type[Any] | None) -> set[str]:
    if type_ is None:
        return set()
    return {
        home for part in _list_item_types(type_) if (home := _importable_module_of(part.python))
    }


def _format_type_annotation(type_: Type[Any]) -> str:
    names: list[str] = []
    for part in _list_item_types(type_):
        home = _importable_module_of(part.python)
        names.append(f"{_import_alias(home)}.{part.python.__qualname__}" if home else _ANY)
    if type_.takes_tables:
        return f"_builtins.dict[{', '.join(names)}]"
    if isinstance(type_, TupleType):
        return f"_builtins.tuple[{', '.join(names)}]"
    if isinstance(type_, SetType):
        return f"_builtins.frozenset[{names[0]}]"
    return f"_builtins.tuple[{names[0]}, ...]" if type_.item else names[0]


def _format_flag_annotation(flag: Flag[Any]) -> str:
    scalar = f"_builtins.{_SCALARS.get(flag.items or flag.type, 'int')}"
    if flag._type is not None:
        kind = _format_type_annotation(flag._type)
    else:
        kind = f"_builtins.tuple[{scalar}, ...]" if flag.items else scalar
    return f"_typing.Optional[{kind}]" if flag.optional and kind != _ANY else kind


def _attribute_lines(flags: list[Flag[Any]]) -> Iterator[str]:
    for flag in flags:
        name, kind = flag.name, _format_flag_annotation(flag)
        if not name.isidentifier() or keyword.iskeyword(name) or hasattr(Registry, name):
            continue  # only FLAGS["name"] reaches it
        why = "  # a type that cannot be imported" if _ANY in kind else ""
        if flag.read_only:
            yield f"    @_builtins.property\n    def {name}(self) -> {kind}: ...{why}"
        else:
            yield f"    {name}: {kind}{why}"


def _getitem_lines(flags: list[Flag[Any]]) -> Iterator[str]:
    by_type: dict[str, list[str]] = {}
    for flag in flags:
        by_type.setdefault(_format_flag_annotation(flag), []).extend((flag.name, *flag.aliases))
    for kind, names in sorted(by_type.items()):
        if len(by_type) > 1:
            yield "    @_typing.overload"
        literal = f"_typing.Literal[{', '.join(map(json.dumps, names))}]"
        yield f"    def __getitem__(self, name: {literal}) -> _Flag[{kind}]: ..."
