"""Flags of C++ sources: DEFINE_<type> of gflags and of libraries that copied its macros."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags.errors import FlagFileError
from paddle_flags.gen.importers import NO_HELP, Found
from paddle_flags.gen.importers.cpp_tokens import tokenise
from paddle_flags.gen.importers.cpp_values import NoConstant, constant, text
from paddle_flags.gen.model import INTEGERS, TYPES, Flag, FlagSet, Place
from paddle_flags.gen.problems import near, one_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.gen.importers.cpp_tokens import Source, Token

# DEFINE_bool of gflags; PD_, PADDLE_, PHI_DEFINE_[EXPORTED_]bool of Paddle.
_DEFINE = re.compile(r"((?:PD|PADDLE|PHI)_)?DEFINE_(EXPORTED_|READONLY_)*(?P<type>[a-z]\w*)")
_VALIDATORS = ("DEFINE_validator", "RegisterFlagValidator")
_ARGUMENTS = "name, default, help"


def import_sources(paths: Sequence[str], name: str | None, version: str) -> Found:
    """Return the flags that sources define; raises FlagError if one can't be read."""
    stem = re.sub(r"\W", "_", os.path.basename(paths[0]).partition(".")[0])
    found = Found(FlagSet(name or stem, version, at={"": Place(paths[0], 1, 1)}))
    for path in paths:
        _Importer(tokenise(path, _read(path, found)), found).run()
    return found


def _read(path: str, found: Found) -> str:
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        message = f"{path}: {os.strerror(error.errno or 0)}"
        raise FlagFileError(message) from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        byte = f"the byte 0x{data[error.start]:02x}"
        found.lose(Place(path, line, column), "", byte, "UTF-8; texts that contain it are left out")
        return data.decode("utf-8-sig", "surrogateescape")


class _Importer:
    def __init__(self, source: Source, found: Found) -> None:
        self._source = source
        self._tokens = source.tokens
        self._found = found
        self._wrappers = {
            name
            for name, (_, body) in source.macros.items()
            if not _DEFINE.fullmatch(name) and any(map(_DEFINE.fullmatch, re.findall(r"\w+", body)))
        }

    def run(self) -> None:
        for place, what, expected in self._source.problems:
            self._found.lose(place, "", what, expected)
        for index, token in enumerate(self._tokens):
            is_call = token.kind == "name" and self._text(index + 1) == "("
            if not is_call or self._text(index - 1) == "#":
                continue
            match = _DEFINE.fullmatch(token.text)
            if token.text in _VALIDATORS:
                name = self._text(index + 2).removeprefix("FLAGS_")
                name = self._text(index + 3).removeprefix("FLAGS_") if name == "&" else name
                self._found.lose(token.place, name, "a validator", "a range or choices")
            elif token.text in self._wrappers:
                place = self._source.macros[token.text][0]
                what = f"the macro '{token.text}', which defines flags at {place}"
                self._found.leave_out(token.place, "", what, "DEFINE_<type> itself")
            elif match:
                self._define(index, match)

    def _text(self, index: int) -> str:
        return self._tokens[index].text if 0 <= index < len(self._tokens) else ""

    def _define(self, index: int, match: re.Match[str]) -> None:
        token = self._tokens[index]
        arguments = self._arguments(index + 2)
        if arguments is None:
            self._leave_out(token, token.text, "no ')'", f"({_ARGUMENTS})")
            return
        name = " ".join(each.text for each in arguments[0])
        if match["type"] not in TYPES:
            expected = one_of(TYPES) + near(match["type"], TYPES)
            self._leave_out(token, f"{name}: type", f"'{match['type']}'", expected)
        elif len(arguments) != 3:  # name, default and help
            what = f"{len(arguments)} arguments"
            self._leave_out(token, name or token.text, what, _ARGUMENTS)
        elif len(arguments[0]) != 1 or arguments[0][0].kind != "name":
            self._leave_out(token, token.text, f"'{name}'", "a name")
        elif name in self._source.macros:
            self._leave_out(token, token.text, f"the macro '{name}'", "the name itself")
        else:
            self._take(token, name, match, arguments)

    def _take(
        self, token: Token, name: str, match: re.Match[str], arguments: list[list[Token]]
    ) -> None:
        kind, place = match["type"], Place(*token.place)
        default = self._value(token, name, kind, arguments[1])
        help_text = self._help(token, name, arguments[2])
        if default is None or help_text is None:
            return
        if token.condition:
            self._found.lose(
                place, name, f"{token.condition} around it", "a flag that is always defined"
            )
        flag = Flag(name, kind, None, default, help_text, None, None, [], None, "", [], "", "")
        flag.at = {"": place}
        if match[2] == "READONLY_":
            flag.attributes = ["read_only"]
        self._found.flags.flags.append(flag)

    def _value(self, token: Token, name: str, kind: str, tokens: list[Token]) -> Any:
        """Return the default; None if it can't be computed."""
        try:
            value = text(tokens) if kind == "string" else constant(tokens)
        except NoConstant as error:
            found = error.found
            if error.token is not None and error.token.text in self._source.macros:
                where, body = self._source.macros[error.token.text]
                found = f"the macro '{error.token.text}', which is {body or 'nothing'} at {where}"
            self._leave_out(error.token or token, f"{name}: default", found, error.expected)
            return None
        if kind == "bool" and value in (0, 1) and not isinstance(value, float):
            return bool(value)
        if kind in INTEGERS and isinstance(value, bool):
            return int(value)
        return value

    def _help(self, token: Token, name: str, tokens: list[Token]) -> str | None:
        try:
            made = text(tokens).strip()
        except NoConstant as error:
            found, expected = error.found, error.expected
            self._leave_out(error.token or token, f"{name}: help", found, expected)
            return None
        if not made:
            what = f"some; '{NO_HELP}' is written"
            self._found.lose(token.place, f"{name}: help", "none", what)
        return made or NO_HELP

    def _leave_out(self, token: Token, what: str, found: str, expected: str) -> None:
        self._found.leave_out(token.place, what, found, expected)

    def _arguments(self, index: int) -> list[list[Token]] | None:
        """Return the arguments of a call, starting after its bracket."""
        arguments: list[list[Token]] = [[]]
        depth = 1
        for token in self._tokens[index:]:
            if token.kind == "sign" and token.text in "([{":
                depth += 1
            elif token.kind == "sign" and token.text in ")]}":
                depth -= 1
                if depth == 0:
                    return arguments
            if token.kind == "sign" and token.text == "," and depth == 1:
                arguments.append([])
            else:
                arguments[-1].append(token)
        return None
