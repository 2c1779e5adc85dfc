"""The page of a process, or of two, in a browser."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.cli.foreign import Report, show, show_errors
from paddle_flags.errors import FlagArgumentError, FlagUnsupportedError
from paddle_flags.live._client import token_from
from paddle_flags.live._find import endpoint_of

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.process import Process
    from paddle_flags.live._client import Client
    from paddle_flags.live._proxy import Answer, Assets
    from paddle_flags.live._proxy_rules import Header

_ABOUT_FILES = (b"accept", b"if-none-match")


def open_page(one: Process, options: argparse.Namespace) -> Report:
    """Serve the page to a browser until Ctrl-C."""
    try:
        from paddle_flags.live._proxy import Proxy  # noqa: PLC0415 - needs h11
    except ImportError:
        message = "'open' needs the package h11: pip install 'paddle_flags[live]'"
        raise FlagUnsupportedError(message) from None
    clients = [one.client]
    for text in options.arguments:
        other = one.find(text)
        client: Client | None = getattr(other, "client", None)
        if client is None:
            message = f"{text} is {other.kind}: the page compares processes"
            raise FlagArgumentError(message)
        clients.append(client)
    for client in clients:  # before a browser is started
        client.process()
    ends = [endpoint_of(client.target) for client in clients]
    proxy = Proxy(
        ends[0],
        ends[1] if len(ends) > 1 else None,
        _assets(),
        token=token_from(options.token_file),
        idle=options.idle,
    )
    with suppress(KeyboardInterrupt):
        asyncio.run(proxy.run(lambda url: _show(url, print_only=options.print_only)))
    return Report()


def _assets() -> Assets:
    """Return the function that answers requests for the files of the page, which we have."""
    from paddle_flags.live._application import Application, Request  # noqa: PLC0415
    from paddle_flags.live._sockets import Peer  # noqa: PLC0415

    application = Application()

    def answer(method: str, target: str, headers: list[Header]) -> Answer:
        kept = [each for each in headers if each[0] in _ABOUT_FILES]
        made = application.answer(Request(method.encode(), target.encode(), kept, Peer(), 0))
        return made.status, made.headers, made.body

    return answer


def _show(url: str, *, print_only: bool) -> None:
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
