"""The page of processes and fleets in a browser."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from paddle_flags.cli.safe_output import Report, show, show_on_stderr
from paddle_flags.errors import FlagArgumentError, FlagUnsupportedError
from paddle_flags.extend import optional_import

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from paddle_flags.cli.target import Target
    from paddle_flags.live._client import Client


def open_in_browser(one: Target | None, options: argparse.Namespace) -> Report:
    """Show a process in a browser, two side by side, or a fleet, which may be that of a process.

    Without a process, the page has all of this machine.
    """
    targets = [] if one is None else [one, *map(one.find, options.arguments)]
    fleets: list[str] = [url for each in targets if (url := getattr(each, "url", None))]
    found = (getattr(each, "client", None) for each in targets)
    clients: list[Client] = [client for client in found if client]
    places = [client.target for client in clients]
    if any("://" in place for place in places):
        if len(targets) > 1:
            message = "a gateway has a page of its own; open its URL alone, and choose there"
            raise FlagArgumentError(message)
        return _show_gateway(places[0], options)
    pids = [client.process()["pid"] for client in clients]  # before a browser is started
    if len(pids) > 1:
        home = f"?pid={pids[0]}&with={pids[1]}#compare"
    else:
        home = "?fleet=1" if fleets and not pids else ""
    return _serve(places if clients else None, fleets, home, options)


def _serve(
    paths: Sequence[str] | None, fleets: Sequence[str], home: str, options: argparse.Namespace
) -> Report:
    """Serve the page to a browser until Ctrl-C."""
    with optional_import("'open'", "starlette and uvicorn", "live", FlagUnsupportedError):
        from paddle_flags.gateway.app import Gateway
        from paddle_flags.gateway.server import serve_browser
    app = Gateway(paths, fleets).application()
    serve_browser(app, home, options.idle, lambda url: _show_page(url, options))
    return Report()


def _show_gateway(target: str, options: argparse.Namespace) -> Report:
    """Show the page that a gateway has, which asks for a token itself."""
    import webbrowser

    from paddle_flags.live._rest import make_gateway_page_url

    url = make_gateway_page_url(target)
    if options.print_only or not webbrowser.open(url):
        show(url)
    return Report()


def _show_page(url: str, options: argparse.Namespace) -> None:
    """Start a browser, or print the URL."""
    if options.print_only:
        show(url)
    else:  # on another thread, as a browser in a terminal returns when it is left
        threading.Thread(target=_start_browser, args=(url,), daemon=True).start()


def _start_browser(url: str) -> None:
    import webbrowser

    if webbrowser.open(url):
        show_on_stderr("the page is open in a browser; Ctrl-C ends it")
    else:
        show_on_stderr("there is no browser here; open this URL, which works once:")
        show(url)
