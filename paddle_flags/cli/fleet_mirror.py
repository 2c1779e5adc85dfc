"""The commands fleet mirror and relay, which run until Ctrl+C or SIGTERM."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags._report.facts import one_line
from paddle_flags.cli.fleet_common import print_unconfirmed, reason_of
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.fleet._mirror import POLL, Mirror
from paddle_flags.fleet._operate import UnconfirmedError, changes_text
from paddle_flags.fleet._relay import relay
from paddle_flags.fleet._turns import repeat

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from paddle_flags.errors import FlagError
    from paddle_flags.fleet._record import Change


def run_mirror(options: argparse.Namespace) -> int:
    """Keep the values of a fleet in another; return the exit status."""
    one = Mirror(options.url, options.target, options.timeout, options.confirm)

    def turn() -> None:
        pending = one.turn()
        if pending is not None:
            changes = pending.record.changes
            print_text(_line(pending.revision, changes_text(pending.record), changes, options))
        elif options.once:
            print_text(_line(one.revision, "nothing differs", (), options))

    try:
        if options.once:
            turn()
            return 0
        return _until_signal(lambda: repeat(turn, threading.Event(), _print_problem, POLL))
    except UnconfirmedError as error:
        _print_problem(error)
        return 1
    finally:
        one.close()


def run_relay(options: argparse.Namespace) -> int:
    """Relay a fleet into a folder; return the exit status."""
    return _until_signal(
        lambda: relay(
            options.url,
            options.folder,
            ttl=options.ttl,
            on_problem=_print_problem,
            timeout=options.timeout,
        )
    )


def _until_signal(work: Callable[[], object]) -> int:
    """Work until Ctrl+C or SIGTERM, which end it in order."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        work()
    return 0


def _line(revision: int, text: str, changes: Sequence[Change], options: argparse.Namespace) -> str:
    if not options.json:
        return f"revision {revision}: {reason_of(text)}"
    return json.dumps({"revision": revision, "changes": [each._asdict() for each in changes]})


def _print_problem(problem: FlagError | None) -> None:
    if problem is None:
        print_error("all is well again")
    elif isinstance(problem, UnconfirmedError):
        print_unconfirmed(problem)
    else:
        print_error(f"{PROGRAM}: error: {one_line(str(problem))}")
