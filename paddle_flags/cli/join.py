"""`join`: a program runs as a member of a fleet."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.cli.safe_output import Report
from paddle_flags.errors import FlagArgumentError
from paddle_flags.fleet._agent import run_program
from paddle_flags.fleet._check import CheckError
from paddle_flags.fleet._role import make_options

if TYPE_CHECKING:
    import argparse

    from paddle_flags.fleet._role import Options

_NOT_FOUND = 127  # exit statuses, as shells have them
_NOT_EXECUTABLE = 126


def run_as_member(url: str, options: argparse.Namespace) -> Report:
    """Run a program as a member of a fleet, and end as it ends."""
    command = options.arguments
    member = _make_member_options(options)
    try:
        status = run_program(
            url,
            member,
            command,
            count=options.check,
            timeout=options.check_timeout,
            preload=not options.no_preload,
            patience=options.timeout,
        )
    except CheckError as error:
        return Report(problems=[each.strip() for each in str(error).split("\n")], status=1)
    except OSError as error:
        if error.filename != command[0]:
            raise
        missing = isinstance(error, FileNotFoundError)
        problem = f"{command[0]}: {error.strerror}"
        return Report(problems=[problem], status=_NOT_FOUND if missing else _NOT_EXECUTABLE)
    if status < 0:
        with suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return Report(status=status if status >= 0 else 128 - status)


def _make_member_options(options: argparse.Namespace) -> Options:
    """Return what the member is, from the command line and from what launchers say."""
    if not options.arguments:
        raise FlagArgumentError("expected a command, behind --")
    return make_options(
        options.role,
        options.rank,
        options.name,
        None,
        options.ttl,
        options.on_lost,
        "keep",
        options.tick_timeout,
    )
