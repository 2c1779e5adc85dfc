"""Printing that survives a missing stdout, a full disk and a closed pipe."""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from typing import TextIO


def print_or_exit(text: str, end: str = "\n") -> bool:
    """Print to stdout; characters that it cannot encode are escaped.

    A reader of a pipe may stop early, which returns False. Any other failure ends the program with
    status 1.
    """
    problem = _write(sys.stdout, text + end)
    if problem and not isinstance(problem, BrokenPipeError):
        print_error(f"cannot write to stdout: {problem.strerror or problem}")
        sys.exit(1)
    return problem is None


def print_error(text: str, end: str = "\n") -> None:
    """Print to stderr, if possible; the exit status says the same."""
    _write(sys.stderr, text + end)


def _write(stream: TextIO | None, text: str) -> OSError | None:
    """Write a text; return the problem, or None."""
    if stream is None or getattr(stream, "closed", False):  # as under pythonw, or >&-
        return None
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    try:
        stream.write(text)
        stream.flush()
    except OSError as problem:
        # Python's own flush at the end must find something that takes it.
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        except (OSError, AttributeError):
            pass
        return problem
    return None
