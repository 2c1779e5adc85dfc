"""Names: reserved words of a language, and names with two meanings."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from paddle_flags.extend import normalize_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.gen.model import FlagSet, Place
    from paddle_flags.gen.problems import Problems

_C = """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while alignas alignof bool constexpr false nullptr
    static_assert thread_local true typeof typeof_unqual asm fortran
"""
_CPP = """
    and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await co_return co_yield
    compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export
    friend mutable namespace new noexcept not not_eq operator or or_eq private protected public
    reinterpret_cast requires static_cast template this throw try typeid typename using virtual
    wchar_t xor xor_eq
"""
_KEYWORDS = {
    **dict.fromkeys(_CPP.split(), "C++"),
    **dict.fromkeys(_C.split(), "C"),
    **dict.fromkeys([*keyword.kwlist, "None", "True", "False"], "Python"),
}
_MACROS = ("EOF", "NULL", "assert", "errno", "linux", "stderr", "stdin", "stdout", "unix")
_METHODS = ("get", "items", "keys", "update", "values")  # of FLAGS in Python
# These have a meaning on every command line.
_COMMON = ("help", "flagfile", "fromenv", "tryfromenv", "undefok")

Named = tuple[str, str, "Place"]  # name, what it is, where


def check_all_names(flags: FlagSet, problems: Problems) -> None:
    """Report names that aren't allowed, and names that collide."""
    _check_set_name(flags, problems)
    for name, what, place in _iter_named_items(flags):
        _check_not_reserved(name, what, place, problems)
    _check_collisions(flags, problems)
    _check_negations(flags, problems)


def _check_set_name(flags: FlagSet, problems: Problems) -> None:
    why = f"a keyword of {_KEYWORDS[flags.name]}" if flags.name in _KEYWORDS else ""
    if flags.name in ("pd", "std"):
        why = "a namespace of C++"
    if why:
        problems.add(flags.at["name"], "name", f"'{flags.name}', {why}", "another name")


def _iter_named_items(flags: FlagSet) -> Iterator[Named]:
    for flag in flags.flags:
        yield flag.name, "flag", flag.at["name"]
    for import_ in flags.imports:
        yield import_.name, "import", import_.at["name"]
    for alias in flags.aliases:
        yield alias.name, "alias", alias.at["name"]
    for renamed in flags.renamed:
        yield renamed.name, "old name", renamed.at["name"]
    for retired in flags.retired:
        yield retired.name, "retired flag", retired.at["name"]


def _check_not_reserved(name: str, what: str, place: Place, problems: Problems) -> None:
    own = what in ("flag", "import")  # other names appear on command lines only
    why = ""
    if own and name in _KEYWORDS:
        why = f"a keyword of {_KEYWORDS[name]}"
    elif own and name in _MACROS:
        why = "a macro of C"
    elif own and name in _METHODS:
        why = "a method of FLAGS in Python"
    elif name in _COMMON:
        why = "which has a meaning on every command line"
    elif own and name.startswith("__"):
        why = "which C reserves"
    if why:
        problems.add(place, what, f"'{name}', {why}", "another name")


def _check_collisions(flags: FlagSet, problems: Problems) -> None:
    first: dict[str, Named] = {}
    for name, what, place in _iter_named_items(flags):
        other = first.setdefault(normalize_name(name), (name, what, place))
        if other[2] is place:
            continue
        spelled = "" if other[0] == name else f" ('{other[0]}')"
        problems.add(
            place,
            what,
            f"'{name}' again",
            f"another name; taken by the {other[1]}{spelled} at {other[2]}",
        )


def _check_negations(flags: FlagSet, problems: Problems) -> None:
    """Report names that are a bool's --nox or --no_x."""
    bools = {flag.name for flag in flags.flags if flag.type == "bool"}
    bools |= {each.name for each in flags.retired if each.type == "bool"}
    others = [(each.name, each.flag) for each in flags.aliases]
    others += [(each.name, each.flag) for each in flags.renamed]
    names = {normalize_name(name): name for name in bools}
    names |= {normalize_name(name): name for name, flag in others if flag in bools}
    for name, what, place in _iter_named_items(flags):
        for prefix in ("no_", "no"):
            rest = normalize_name(name)[len(prefix) :]
            if normalize_name(name).startswith(prefix) and rest in names:
                found = f"'{name}', which turns the bool '{names[rest]}' off"
                problems.add(place, what, found, "another name")
                break
