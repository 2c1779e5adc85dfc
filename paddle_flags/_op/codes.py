"""Signatures of operations: their text, and the codes of their types (`PD_CODE_MAP` in op.h)."""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from paddle_flags._core.status import quote_value
from paddle_flags.errors import FlagTypeError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable

VOID, BOOL, CHAR, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64 = range(1, 12)
FLOAT, DOUBLE, STRUCT, OBJECT = range(12, 16)
POINTER, CONST_POINTER = 32, 64
TEXT = CONST_POINTER + CHAR

C_NAMES = {
    VOID: "void",
    BOOL: "_Bool",
    CHAR: "char",
    INT8: "int8_t",
    UINT8: "uint8_t",
    INT16: "int16_t",
    UINT16: "uint16_t",
    INT32: "int32_t",
    UINT32: "uint32_t",
    INT64: "int64_t",
    UINT64: "uint64_t",
    FLOAT: "float",
    DOUBLE: "double",
    STRUCT: "void",
}
_OTHER_NAMES = {
    "bool": BOOL,
    "signed char": INT8,
    "unsigned char": UINT8,
    "short": INT16,
    "unsigned short": UINT16,
    "int": INT32,
    "unsigned": UINT32,
    "unsigned int": UINT32,
    "long long": INT64,
    "unsigned long long": UINT64,
    "ssize_t": INT64 if sys.maxsize > 2**32 else INT32,
    "size_t": UINT64 if sys.maxsize > 2**32 else UINT32,
    "object": OBJECT,
}
_CODES = {**{name: code for code, name in C_NAMES.items() if code != STRUCT}, **_OTHER_NAMES}
_OF_CLASSES: dict[Any, str] = {
    float: "double",
    int: "int64_t",
    bool: "bool",
    str: "const char *",
    None: "void",
}

_MOST = 16  # parameters


class Signature(NamedTuple):
    """What a signature says: its text, and a code and classes for the result and parameters."""

    text: str
    codes: bytes
    classes: tuple[tuple[type, ...], ...] = ()
    """Of each parameter that is an object; an empty tuple takes any."""

    @property
    def parameters(self) -> list[tuple[int, str]]:
        """The code and the text of each parameter."""
        texts = split_signature(self.text)[1]
        codes = self.codes[1:]
        return [] if codes == bytes([VOID]) else list(zip(codes, texts))


def split_signature(text: str) -> tuple[str, list[str]]:
    """Return the texts of the result and of the parameters."""
    result, _, rest = text.partition("(")
    inner = rest.rpartition(")")[0]
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(inner):  # Dict[str, int] is one
        depth += (character in "[(<") - (character in "])>")
        if character == "," and depth == 0:
            parts.append(inner[begin:at])
            begin = at + 1
    parts.append(inner[begin:])
    return result.strip(), [part.strip() for part in parts]


def _parse_type_code(text: str) -> int:
    """Return the code of a type in C, or 0."""
    words = re.sub(r"\b(struct|class)\b", "", text)
    stars, constant = words.count("*"), bool(re.search(r"\bconst\b", words))
    name = " ".join(re.sub(r"\bconst\b|\*", " ", words).split())
    code = _CODES.get(name, 0)
    if stars == 0:
        return code
    if stars > 1 or code == OBJECT or not re.fullmatch(r"[A-Za-z_][\w: ]*", name):
        return 0
    return (code or STRUCT) + (CONST_POINTER if constant else POINTER)


def parse_signature(text: str) -> Signature:
    """Read a signature such as "double (double, const char *)"."""
    if not isinstance(text, str):
        message = f"signature: {quote_value(text)}: expected str, not {type(text).__name__}"
        raise FlagTypeError(message)
    if not re.fullmatch(r"[^()]+\([^()]*\)\s*", text):
        message = f"signature: {quote_value(text)}: expected one such as 'double (double, int32_t)'"
        raise FlagTypeError(message)
    result, parameters = split_signature(text)
    parameters = ["void"] if parameters == [""] else parameters
    codes = []
    for each in (result, *parameters):
        code = _parse_type_code(each)
        is_void = code == VOID and each is not result and parameters != ["void"]
        if not code or is_void:
            raise FlagTypeError(
                f"signature: {quote_value(text)}: {quote_value(each)} is no type of an operation,"
                " expected void, bool, char, an integer such as int32_t, float, double, a pointer"
                " to one of these or to a struct, or object"
            )
        codes.append(code)
    return _check_count(Signature(f"{result} ({', '.join(parameters)})", bytes(codes)))


def _check_count(signature: Signature) -> Signature:
    count = len(signature.codes) - 1
    if count > _MOST:
        raise FlagTypeError(f"{signature.text}: {count} parameters, expected at most {_MOST}")
    return signature


# ---- From functions ----


def count_parameters(function: Callable[..., Any]) -> int | None:
    """Return how many positional arguments a function takes; None if it isn't known."""
    try:
        return len(_positional_parameters(function))
    except (ValueError, FlagTypeError):
        return None


def _positional_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    found = []
    for each in inspect.signature(function).parameters.values():
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD):
            found.append(each)
        elif each.kind != each.KEYWORD_ONLY or each.default is each.empty:
            name = getattr(function, "__qualname__", quote_value(function))
            message = f"{name}(): parameter {each}: expected one positional argument each"
            raise FlagTypeError(message)
    return found


def _classes_of_hint(hint: Any) -> tuple[type, ...]:
    """Return the classes that an annotation names; an empty tuple for any."""
    if hint in (Any, object):
        return ()
    if isinstance(hint, type) and get_origin(hint) is None:
        return (hint,)
    origin = get_origin(hint)
    if origin is Union or type(hint).__name__ == "UnionType":
        parts = [_classes_of_hint(each) for each in get_args(hint)]
        return tuple(one for part in parts for one in part) if all(parts) else ()
    return (origin,) if isinstance(origin, type) else ()


def _format_type_hint(hint: Any) -> str:
    if hint is Any:
        return "object"
    if isinstance(hint, type) and get_origin(hint) is None:
        module = "" if hint.__module__ == "builtins" else f"{hint.__module__}."
        return f"{module}{hint.__qualname__}"
    return str(hint).replace("typing.", "")


def signature_of_function(function: Callable[..., Any]) -> Signature:
    """Make a signature of a function's annotations; what has none is an object."""
    try:
        parameters = _positional_parameters(function)
        hints = get_type_hints(function)
    except (ValueError, NameError, TypeError) as error:
        if isinstance(error, FlagTypeError):
            raise
        raise FlagTypeError(f"{quote_value(function)}: {error}: expected a signature=") from error
    texts, codes, classes = [], [], []
    result = hints.get("return", Any)
    for hint in (result, *(hints.get(each.name, Any) for each in parameters)):
        known = None if hint is type(None) else hint
        plain = isinstance(known, (type, type(None))) and _OF_CLASSES.get(known)
        texts.append(plain or _format_type_hint(hint))
        codes.append(_parse_type_code(plain) if plain else OBJECT)
        classes.append(() if plain else _classes_of_hint(hint))
    if not parameters:
        texts, codes, classes = [texts[0], "void"], [codes[0], VOID], [(), ()]
    text = f"{texts[0]} ({', '.join(texts[1:])})"
    return _check_count(Signature(text, bytes(codes), tuple(classes[1:])))
