"""The command open: the page of processes, or of a fleet, in a browser."""

from __future__ import annotations

import re
import sys
import threading
from typing import TYPE_CHECKING

from paddle_flags.cli.gateway import NEEDS
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.errors import FlagError, FlagUnsupportedError

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.parser import Parser

SUMMARY = "show flags in a browser"

_ABOUT = """\
Show flags in a browser: those of a process, of two side by side, or of a fleet. TARGET is a PID,
the path of a socket, the address of a fleet, or the URL of a gateway. Without one, the page lists
all processes of this machine. It is served on a port of this machine until Ctrl-C, or until nobody
has looked at it for an hour.
"""
_UNREACHABLE = 3


def add(main_parser: Parser) -> None:
    """Add the command to a command line."""
    use = "%(prog)s [TARGET] [TARGET] [--print] [--idle SECONDS]"
    parser = main_parser.add_command("open", SUMMARY, description=_ABOUT, usage=use)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="what to show")
    parser.add_argument(
        "--print", dest="print_only", action="store_true", help="print the link; start no browser"
    )
    parser.add_argument(
        "--idle",
        metavar="SECONDS",
        type=float,
        default=3600.0,
        help="end when nobody has looked for so long; by default an hour",
    )
    parser.set_defaults(act=lambda options: sys.exit(run(parser, options)))


def run(parser: Parser, options: argparse.Namespace) -> int:
    """Serve the page to a browser until Ctrl-C; return the exit status."""
    if len(options.targets) > 2:  # noqa: PLR2004 - side by side
        parser.error("expected at most two targets")
    try:
        _open(options)
    except (FlagError, OSError) as error:
        print_error(f"paddle-flags: error: {error}")
        return _UNREACHABLE if isinstance(error, OSError) else 1
    return 0


def _open(options: argparse.Namespace) -> None:
    urls = [each for each in options.targets if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", each)]
    if urls and urls[0].startswith(("http://", "https://")):
        _show(urls[0], print_only=options.print_only)
        return
    try:
        from paddle_flags.gateway import server  # noqa: PLC0415 - needs other packages
        from paddle_flags.gateway.processes import Processes, only  # noqa: PLC0415
    except ImportError:
        raise FlagUnsupportedError(NEEDS) from None
    named = [each for each in options.targets if each not in urls]
    processes = Processes(only(named)) if named or urls else Processes()

    def show(link: str) -> None:
        _show(link, print_only=options.print_only)

    server.serve_browser(processes, urls, options.idle, show)


def _show(url: str, *, print_only: bool) -> None:
    """Start a browser, or print the URL."""
    if print_only:
        print_text(url)
    else:  # on another thread, as a browser in a terminal returns when it is left
        threading.Thread(target=_start_browser, args=(url,), daemon=True).start()


def _start_browser(url: str) -> None:
    import webbrowser  # noqa: PLC0415 - seldom used

    if webbrowser.open(url):
        print_error("the page is open in a browser; Ctrl-C ends it")
    else:
        print_error("there is no browser here; open this URL, which works once:")
        print_text(url)
