"""The page of processes, or of a fleet, in a browser."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from paddle_flags.cli.foreign import Report, show, show_errors
from paddle_flags.cli.gateway import NEEDS
from paddle_flags.errors import FlagUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence


def open_page(sockets: Sequence[str], fleets: Sequence[str], *, idle: float, print_only: bool) -> Report:
    """Serve the page of processes and fleets to a browser until Ctrl-C."""
    try:
        from paddle_flags.gateway import server  # noqa: PLC0415 - needs other packages
        from paddle_flags.gateway.processes import Processes, only  # noqa: PLC0415
    except ImportError:
        raise FlagUnsupportedError(NEEDS) from None
    processes = Processes(only(sockets)) if sockets or fleets else Processes()
    server.serve_browser(
        processes, list(fleets), idle, lambda link: show_link(link, print_only=print_only)
    )
    return Report()


def show_link(url: str, *, print_only: bool) -> None:
    """Start a browser, or print the URL."""
    if print_only:
        show(url)
    else:  # on another thread, as a browser in a terminal returns when it is left
        threading.Thread(target=_start_browser, args=(url,), daemon=True).start()


def _start_browser(url: str) -> None:
    import webbrowser  # noqa: PLC0415 - seldom used

    if webbrowser.open(url):
        show_errors("the page is open in a browser; Ctrl-C ends it")
    else:
        show_errors("there is no browser here; open this URL, which works once:")
        show(url)
