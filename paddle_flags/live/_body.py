"""Bodies of requests: JSON text as the flat list of values that the library takes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Union

from paddle_flags._core.status import shown
from paddle_flags._native import lib

if TYPE_CHECKING:
    from collections.abc import Iterator

DEEPEST = 16  # objects and arrays within each other
MOST = 10_000  # values of one body; a change has at most 1000 flags

# A string, whole or up to the end of the text, or what opens or closes a container.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)


class BodyError(ValueError):
    """The text isn't JSON, or isn't JSON that this API takes; `str(error)` says why."""


class Field(NamedTuple):
    """What stands at one place of a body."""

    path: str
    """A JSON pointer (RFC 6901): `""` for the whole body."""

    kind: int
    """`PD_LIVE_TEXT` and so on."""

    text: str | None


class _Number(str):
    """A number as the body writes it."""

    __slots__ = ()


_Value = Union[None, bool, _Number, str, "dict[str, _Value]", "list[_Value]"]


def read_body(data: bytes) -> list[Field]:
    """Return the values of a JSON text, in their order, each container before what is in it.

    Raises BodyError.
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"expected UTF-8, found other bytes at {error.start}"
        raise BodyError(message) from None
    _check_depth(text)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        message = f"expected JSON: {error}"
        raise BodyError(message) from None
    fields: list[Field] = []
    for field in _walk("", value):
        if len(fields) == MOST:
            message = f"expected at most {MOST} values"
            raise BodyError(message)
        fields.append(field)
    return fields


def _check_depth(text: str) -> None:
    """Raise BodyError if containers are too deep, before the decoder recurses into them."""
    depth = 0
    for token in _TOKEN.finditer(text):
        first = token[0][0]
        depth += (first in "[{") - (first in "]}")
        if depth > DEEPEST:
            message = f"expected at most {DEEPEST} objects and arrays within each other"
            raise BodyError(message)


def _make_object(pairs: list[tuple[str, _Value]]) -> dict[str, _Value]:
    made: dict[str, _Value] = {}
    for key, value in pairs:
        if key in made:
            message = f"the key {shown(key)} is there twice"
            raise BodyError(message)
        made[key] = value
    return made


def _refuse_constant(text: str) -> NoReturn:
    message = f"{text} is not JSON"
    raise BodyError(message)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_make_object,
    parse_int=_Number,
    parse_float=_Number,
    parse_constant=_refuse_constant,
)


def _walk(path: str, value: _Value) -> Iterator[Field]:
    if value is None:
        yield Field(path, lib.PD_LIVE_NULL, None)
    elif isinstance(value, bool):
        yield Field(path, lib.PD_LIVE_BOOL, "true" if value else "false")
    elif isinstance(value, str):
        kind = lib.PD_LIVE_NUMBER if isinstance(value, _Number) else lib.PD_LIVE_TEXT
        yield Field(path, kind, _checked(value, path))
    elif isinstance(value, dict):
        yield Field(path, lib.PD_LIVE_OBJECT, None)
        for key, item in value.items():
            yield from _walk(f"{path}/{_escape(_checked(key, path))}", item)
    else:
        yield Field(path, lib.PD_LIVE_ARRAY, None)
        for index, item in enumerate(value):
            yield from _walk(f"{path}/{index}", item)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _checked(text: str, path: str) -> str:
    """Return the text, which C can take."""
    if "\0" in text:
        message = f"{shown(path)}: contains a NUL character, expected text without it"
        raise BodyError(message)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        message = f"{shown(path)}: contains a lone surrogate, expected valid text"
        raise BodyError(message) from None
    return text
