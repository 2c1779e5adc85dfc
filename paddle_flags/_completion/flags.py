"""Completion of flags and their values."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._completion.answer import (
    NOTHING,
    Answer,
    Candidate,
    offer_candidates,
    offer_files,
    offer_matches,
    short_description,
)
from paddle_flags._completion.request import read_request
from paddle_flags._core.names import name_in_token, normalize_name
from paddle_flags._core.registry import FLAGS, find_without_warning
from paddle_flags._core.status import to_text
from paddle_flags._fast import split_list
from paddle_flags._native import lib
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence


class _Values(NamedTuple):
    """What can be the value of a flag."""

    choices: tuple[Candidate, ...] = ()
    is_list: bool = False
    files: bool = False
    needs_equals: bool = False  # never in the next token


def answer_shell(*, arguments: bool, stop_at_argument: bool) -> None:
    """Answer the shell that asks for completions, if one does."""

    def complete(tokens: Sequence[str], token: str) -> Answer:
        others = None if arguments else NOTHING
        return complete_flags(tokens, token, stop_at_argument=stop_at_argument, arguments=others)

    answer_shell_with(complete)


def answer_shell_with(complete: Callable[[list[str], str], Answer]) -> None:
    """Answer the shell, if one asks, with what a function makes of the line."""
    request = read_request()
    if request:
        request.reply(complete(request.tokens, request.token))


def complete_flags(
    tokens: Sequence[str],
    token: str,
    *,
    stop_at_argument: bool = False,
    arguments: Answer | None = None,
    left_out: Collection[str] = (),
) -> Answer:
    """Complete a token of a command line that `parse` reads.

    `arguments` is the answer where a token isn't part of a flag; by default, files. Flags of
    the modules that are left out are not offered.
    """
    others = offer_files(token) if arguments is None else arguments
    if "--" in tokens or (stop_at_argument and find_argument(tokens) < len(tokens)):
        return others
    values = _find_awaited_values(tokens[-1]) if tokens else None
    name, equals, typed = token.partition("=")
    if values and not token.startswith("-"):
        return _complete_value(values, "", token)
    if not token.startswith("-"):
        return others
    if equals:
        return _complete_value(_possible_values_of_token(name), name + equals, typed)
    return _complete_name(token, left_out)


def find_argument(tokens: Sequence[str]) -> int:
    """Return the index of the first token that is part of no flag, or of the end."""
    values: _Values | None = None
    for at, each in enumerate(tokens):
        is_value = values is not None
        values = None if is_value else _find_awaited_values(each)
        if each == "--" or not (is_value or is_flag(each)):
            return at
    return len(tokens)


def is_flag(token: str) -> bool:
    """Return whether a token is written as a flag: -1 and -.5 are numbers."""
    return re.match("-[^0-9.]", token) is not None


def is_followed_by_value(token: str) -> bool:
    """Return whether the next token is the value of the flag in this one."""
    return _find_awaited_values(token) is not None


def iter_flag_tokens(
    tokens: Sequence[str], start: int = 0, *, stop_at_argument: bool = False
) -> Iterator[tuple[int, str, int | None]]:
    """Yield the index of each token of a command line that is a flag, its name, and its value's.

    That is the index of the same token for `--name=value`, and None for a flag without a value.
    Of `--noname`, the name has its `no`. The first token is `tokens[start]`.
    """
    at = start
    while at < len(tokens) and tokens[at] != "--":
        token = tokens[at]
        value_at = at + is_followed_by_value(token)
        if is_flag(token):
            has_value = "=" in token or at < value_at < len(tokens)
            yield at, name_in_token(token), value_at if has_value else None
        elif stop_at_argument:
            return
        at = value_at + 1


def is_known_option(token: str) -> bool:
    """Return whether --name or --noname is a flag, or something every command line has."""
    name = name_in_token(token)
    names = {name, name.removeprefix("no").removeprefix("_")}
    return name in _OWN or any(each in FLAGS for each in names)


def _find_awaited_values(token: str) -> _Values | None:
    """Return what the next token can be, if it is the value of the flag in this one."""
    if not is_flag(token):
        return None
    values = _possible_values_of_token(token)
    return None if "=" in token or values.needs_equals else values


def _possible_values_of_token(token: str) -> _Values:
    """Return what can be the value of --name."""
    name = token[2:] if token.startswith("--") else token[1:]
    flag = find_without_warning(name)
    if flag is not None:
        with suppress(FlagError):
            return _possible_values_of_flag(flag._read_info())
    own, _ = _OWN.get(normalize_name(name), (_NO_VALUE, ""))
    return own._replace(choices=flag_candidates()) if own is _FLAGS else own


def _possible_values_of_flag(info: Any) -> _Values:
    if info.type == lib.PD_TYPE_bool:
        return _Values(choices=(Candidate("true"), Candidate("false")), needs_equals=True)
    if info.count:
        return _Values(needs_equals=True)
    if to_text(info.category) == "implementations":
        return _Values(_impl_candidates(to_text(info.name)), is_list=True)
    text = to_text(info.choices)
    choices = tuple(Candidate(choice) for choice in text.split("|")) if text else ()
    plain = info.type == lib.PD_TYPE_string and not info.sensitive
    is_list = bool(info.list)
    text_list = info.list == lib.PD_TYPE_string
    return _Values(choices, is_list, files=plain and not choices and (text_list or not is_list))


def _impl_candidates(flag: str) -> tuple[Candidate, ...]:
    from paddle_flags._op.operation import op

    found: dict[str, str] = {}
    with suppress(FlagError):
        for signature in op(flag.removeprefix("impl.")).signatures:
            for each in signature.impls:
                found.setdefault(each.name, each.why)
    return (*map(Candidate, found, found.values()), Candidate("*", "the rest by rank"))


def _complete_value(values: _Values, kept: str, typed: str) -> Answer:
    if values.files and not (values.is_list and "," in typed):
        return offer_files(typed, kept)
    if not values.is_list:
        return offer_candidates(kept, typed, values.choices)
    given, comma, item = typed.rpartition(",")
    used = split_list(given)
    left = [each for each in values.choices if each.text not in used]
    return offer_candidates(kept + given + comma, item, left)


def _complete_name(token: str, left_out: Collection[str]) -> Answer:
    dashes = "-" if re.match("-[^-]", token) else "--"
    typed = token[len(dashes) :]
    found = [
        Candidate(dashes + text, about)
        for info in _iter_offered_flag_infos()
        if to_text(info.module) not in left_out
        for text, about in _name_candidates(info, typed)
    ]
    for name, (values, what) in _OWN.items():
        end = "" if values.needs_equals else "="
        found += [Candidate(dashes + text + end, what) for text in _match_first_name([name], typed)]
    return offer_matches(found, "" if token == "-" else token)


def _iter_offered_flag_infos() -> Iterator[Any]:
    """Return the pd_flag_info of each flag that should be used."""
    for flag in FLAGS.values():
        with suppress(FlagError):  # it may leave, on another thread
            info = flag._read_info()
            gone = to_text(info.deprecated) or to_text(info.retired)
            if not (gone or info.hidden or info.read_only):
                yield info


def flag_candidates() -> tuple[Candidate, ...]:
    """Return the flags that should be used."""
    return tuple(
        Candidate(to_text(each.name), short_description(to_text(each.help)))
        for each in _iter_offered_flag_infos()
    )


def _name_candidates(info: Any, typed: str) -> list[Candidate]:
    """Return the names of a flag that begin with what was typed: an alias if no other does."""
    names = [to_text(info.name), *filter(None, to_text(info.aliases).split("|"))]
    what = short_description(to_text(info.help))
    found = _match_first_name(names, typed)
    if info.type != lib.PD_TYPE_bool:
        return [Candidate(name if info.count else name + "=", what) for name in found]
    if typed.startswith("no"):
        found += _match_first_name([no + name for name in names for no in ("no", "no_")], typed)
    return [Candidate(name, what) for name in found]


def _match_first_name(names: Iterable[str], typed: str) -> list[str]:
    """Return the first name that begins with what was typed."""
    spelled = (_complete_name_as_typed(name, typed) for name in names)
    return [name for name in spelled if name is not None][:1]


def _complete_name_as_typed(name: str, typed: str) -> str | None:
    """Return the name as it was begun, with its dashes, or None where it begins otherwise."""
    if not normalize_name(name).startswith(normalize_name(typed)):
        return None
    rest = name[len(typed) :]
    return typed + (rest.replace("_", "-") if "-" in typed and "_" not in typed else rest)


# ---- What every command line has ----

_NO_VALUE = _Values(needs_equals=True)
_TEXT = _Values()
_FLAGS = _Values(is_list=True)

_OWN = {
    "flagfile": (_Values(files=True), "read flags from a file"),
    "fromenv": (_FLAGS, "read these flags from the environment"),
    "help": (_NO_VALUE, "show the flags"),
    "helpfull": (_NO_VALUE, "show all flags, including hidden ones"),
    "helpmatch": (_TEXT, "show the flags of source files whose path contains this"),
    "helpon": (_TEXT, "show the flags of the source file with this name"),
    "helppackage": (_NO_VALUE, "show the flags of source files in the program's directory"),
    "helpshort": (_NO_VALUE, "show the flags of the program itself"),
    "helpxml": (_NO_VALUE, "show all flags as XML"),
    "tryfromenv": (_FLAGS, "read these flags from the environment, if set there"),
    "undefok": (_TEXT, "ignore these flags if they are unknown"),
    "version": (_NO_VALUE, "show the version"),
}
