"""A mirror of a fleet in another one, until Ctrl+C or SIGTERM."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.cli.fleet_text import confirmation_lines
from paddle_flags.cli.safe_output import Report, shorten, show, show_on_stderr, show_problems
from paddle_flags.fleet._mirror import Mirror, repeat
from paddle_flags.fleet._operate import UnconfirmedError
from paddle_flags.fleet._record import changes_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from paddle_flags.errors import FlagError
    from paddle_flags.fleet._record import Change


def mirror(url: str, options: argparse.Namespace) -> Report:
    """Keep the values of a fleet in another."""
    one = Mirror(url, options.arguments[0], options.timeout, options.confirm)

    def copy_and_show() -> None:
        made = one.copy_changes()
        if made is not None:
            revision, record = made
            show(_change_line(revision, changes_text(record), record.changes, options))
        elif options.once:
            show(_change_line(one.target_revision, "nothing differs", (), options))

    try:
        if options.once:
            copy_and_show()
            return Report()
        return _run_until_signal(lambda: repeat(copy_and_show, threading.Event(), _show_problem))
    except UnconfirmedError as error:
        return Report(problems=confirmation_lines(error), status=1)
    finally:
        one.close()


def _run_until_signal(work: Callable[[], object]) -> Report:
    """Work until Ctrl+C or SIGTERM, which end it in order."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        work()
    return Report()


def _change_line(
    revision: int, text: str, changes: Sequence[Change], options: argparse.Namespace
) -> str:
    if not options.json:
        return f"revision {revision}: {shorten(text, 300)}"
    return json.dumps({"revision": revision, "changes": [each._asdict() for each in changes]})


def _show_problem(problem: FlagError | None) -> None:
    if problem is None:
        show_on_stderr("all is well again")
    elif isinstance(problem, UnconfirmedError):
        show_problems(*confirmation_lines(problem))
    else:
        show_problems(str(problem))
