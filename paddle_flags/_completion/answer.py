"""What a token could become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_ABOUT_MAX = 80  # letters of a description


class Candidate(NamedTuple):
    """What a token, behind the part that stays, could become."""

    text: str
    about: str = ""


class Answer(NamedTuple):
    """The candidates for a token, or that it is completed as the name of a file."""

    candidates: tuple[Candidate, ...] = ()
    files: bool = False
    kept: str = ""  # the part of the token that stays, as in --name=
    typed: str = ""  # the part behind it, of which candidates are made


NOTHING = Answer()


def offer_matches(candidates: Iterable[Candidate], token: str) -> Answer:
    """Return those that begin with the token."""
    return offer_candidates("", token, candidates)


def offer_candidates(kept: str, typed: str, candidates: Iterable[Candidate]) -> Answer:
    """Return those that continue what was typed behind the part that stays."""
    # Each is a line of the answer, so one with a newline cannot be offered.
    fit = {
        each.text: each
        for each in reversed(list(candidates))
        if each.text.startswith(typed) and each.text.isprintable()
    }
    return Answer(tuple(reversed(list(fit.values()))), kept=kept, typed=typed)


def offer_files(token: str, kept: str = "") -> Answer:
    """Let the shell offer its files."""
    return Answer(files=True, kept=kept, typed=token)


def short_description(text: str) -> str:
    """Return the first line of a help text as a description."""
    line = text.strip().partition("\n")[0]
    shown = "".join(letter if letter.isprintable() else " " for letter in line)
    return shown if len(shown) <= _ABOUT_MAX else shown[: _ABOUT_MAX - 1] + "…"
