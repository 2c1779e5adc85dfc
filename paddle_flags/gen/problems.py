"""Problems of the files: collected by every stage, reported together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags.errors import FlagError, FlagUnsupportedError
from paddle_flags.extend import optional_import, suggest_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from contextlib import AbstractContextManager

    from paddle_flags.gen.model import Place

MOST = 100  # errors that are reported; one more says how many there are
_LONGEST = 60  # characters of what was found


class AmbiguousText(str):
    """Text without quotes that some readers of YAML don't read as text: no type takes it."""

    __slots__ = ()


class GenerateError(FlagError, ValueError):
    """The files have errors; `errors` lists all of them."""

    found: tuple[tuple[Place | None, str], ...] = ()
    """The same with places."""


def importing_for_gen(what: str, package: str) -> AbstractContextManager[None]:
    """Surround the import of a package that the generator needs."""
    return optional_import(what, package, "gen", FlagUnsupportedError)


class Problems:
    """The errors so far."""

    def __init__(self) -> None:
        self._found: list[tuple[Place | None, str]] = []

    def __len__(self) -> int:  # how many there are
        return len(self._found)

    def add(self, place: Place | None, what: str, found: object, expected: str) -> None:
        """Add one: `what` was found to be `found`."""
        start = f"{what}: " if what else ""
        self._found.append((place, f"{start}found {found}, expected {expected}"))

    def add_errors_of(self, error: GenerateError) -> None:
        """Add those of an error."""
        self._found += error.found or [(None, str(error))]

    def raise_if_any(self) -> None:
        """Raise all of them, if there are any."""
        if not self._found:
            return
        in_order = sorted(self._found, key=lambda each: (each[0] is None, each[0] or ()))
        lines = [f"{place}: {text}" if place else text for place, text in in_order]
        if len(lines) > MOST:
            lines[MOST:] = [f"{len(lines) - MOST} more errors"]
        error = GenerateError("\n".join(lines))
        error.found = tuple(in_order)
        error._errors = tuple(map(GenerateError, lines))
        raise error


def quote_for_message(value: Any) -> str:
    """Return a value as a message quotes it."""
    text = f"'{value}'" if type(value) is str else _plain_text(value)
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= _LONGEST else text[: _LONGEST - 4] + "..." + text[-1]


def _plain_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(quote_for_message, value))}]"
    if isinstance(value, AmbiguousText):
        return f"{value} without quotes" if value else "nothing"
    return "nothing" if value is None else str(value)


_FEW = 200  # names that difflib compares fast enough

# The last large set of names, indexed by each name without one of its letters.
_index: tuple[object, dict[str, str]] = (None, {})


def _iter_deletion_variants(name: str) -> Iterator[str]:
    yield name
    yield from (name[:at] + name[at + 1 :] for at in range(len(name)))


def _find_name_one_edit_off(name: str, known: Collection[str]) -> str | None:
    """Return a name that differs in one letter, or in two adjacent letters that are swapped."""
    global _index
    if _index[0] is not known:
        _index = (known, {part: each for each in known for part in _iter_deletion_variants(each)})
    return next(
        (_index[1][part] for part in _iter_deletion_variants(name) if part in _index[1]), None
    )


def suggest(name: str, known: Collection[str]) -> str:
    """Return "; did you mean 'x'?" if a known name is near, else ""."""
    if len(known) <= _FEW:
        return suggest_name(name, known)
    found = _find_name_one_edit_off(name, known)
    return f"; did you mean '{found}'?" if found else ""


def format_alternatives(words: Collection[str]) -> str:
    """Return "one of a, b, c"."""
    return words if isinstance(words, str) else "one of " + ", ".join(words)
