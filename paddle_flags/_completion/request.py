"""The question of a shell, and the answer in the form that its script reads."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from paddle_flags._completion.answer import Answer

VARIABLE = "_PD_FLAGS_COMPLETE"

_DESCRIPTOR = 8  # in the scripts too


class Request(NamedTuple):
    """What a shell asks."""

    shell: str
    tokens: list[str]
    """Those between the program and the cursor's."""
    token: str
    """What stands of the cursor's."""
    fixed: str
    """The part of it that bash doesn't replace."""
    quote: str
    """The quote that is open there."""

    def reply(self, answer: Answer) -> NoReturn:
        """Write the answer, and end the program."""
        lines = _RENDER[self.shell](self, answer)
        text = "".join(line + "\n" for line in lines)
        with suppress(OSError):
            os.write(_DESCRIPTOR, text.encode("utf-8", "surrogateescape"))
        sys.exit(0)


def read_request() -> Request | None:
    """Return what a shell asks, or None. An invalid question ends the program."""
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    parts = re.fullmatch(r"(bash|zsh|fish) (\d+) (\d+) (.*)", text, re.DOTALL)
    if not parts:
        sys.exit(0)
    shell, count, replaced, line = parts.groups()
    tokens, _ = _split_line(line)
    fixed, quote = _split_line(line[: len(line) - int(replaced)])
    return Request(shell, tokens[int(count) : -1], tokens[-1], fixed[-1], quote)


def _split_line(line: str) -> tuple[list[str], str]:
    """Split as a shell does; also gives the quote that is still open, or `""`.

    The last token is the one that ends at the end of the line, empty behind a blank.
    """
    for quote in ("", "'"):
        with suppress(ValueError):
            tokens = shlex.split(f"{line}.{quote}")
            return [*tokens[:-1], tokens[-1][:-1]], quote
    tokens = shlex.split(f'{line}."')
    return [*tokens[:-1], tokens[-1][:-1]], '"'


def _escape_for_quote(text: str, quote: str) -> str:
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote:
        return re.sub(r'([\\"$`])', r"\\\1", text)
    return re.sub(r"([^\w@%+=:,./^-])", r"\\\1", text)


def _render_for_bash(request: Request, answer: Answer) -> list[str]:
    if answer.files:
        return ["files"]
    texts = [answer.kept + candidate.text for candidate in answer.candidates]
    kind = "open" if any(_is_incomplete(text) for text in texts) else "words"
    fixed = len(request.fixed)
    return [kind, *(_escape_for_quote(text[fixed:], request.quote) for text in texts)]


def _is_incomplete(text: str) -> bool:
    """Return whether more is to come: no blank behind it."""
    return text.endswith("=")


def _render_for_zsh(_request: Request, answer: Answer) -> list[str]:
    if answer.files:
        return [f"files {len(answer.kept)}"]
    lines: list[list[str]] = [[], []]
    for text, about in answer.candidates:
        item = re.sub(r"([\\:])", r"\\\1", text)
        lines[_is_incomplete(text)].append(f"{item}:{about}" if about else item)
    closed, going_on = lines
    return [f"words {len(answer.kept)} {len(going_on)}", *going_on, *closed]


def _render_for_fish(_request: Request, answer: Answer) -> list[str]:
    if answer.files:
        return ["files", answer.kept, answer.typed]
    return ["words", *(f"{answer.kept}{text}\t{about}" for text, about in answer.candidates)]


_RENDER = {"bash": _render_for_bash, "zsh": _render_for_zsh, "fish": _render_for_fish}
