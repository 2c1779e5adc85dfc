"""The command gateway: the flags of all processes of this machine, as a page and as REST."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from paddle_flags.cli.parser import repeated_option, value_option, whole_number_converter
from paddle_flags.cli.safe_output import show_on_stderr, show_problems
from paddle_flags.errors import FlagError, FlagUnsupportedError
from paddle_flags.extend import optional_import

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.parser import Parser

SUMMARY = "serve the flags of this machine's processes over HTTP"

_ABOUT = """\
Serve the flags of the processes of this machine over HTTP: as a page, and as the REST API /v1/.
Clients need a token. Each line of the file with tokens is LABEL read|change TOKEN.
"""


def add_to_parser(main_parser: Parser) -> None:
    """Add the command to a command line."""
    use = "%(prog)s [TARGET]... --token-file FILE [OPTION]..."
    parser = main_parser.add_command("gateway", SUMMARY, description=_ABOUT, usage=use)
    about = "only these processes: PIDs, names of programs, or sockets"
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=about)
    parser.add_options(
        {
            "--host": {
                "default": "127.0.0.1",
                "help": "the address to listen on; by default 127.0.0.1",
            },
            "--port": {
                "type": whole_number_converter("a port, from 0 to 65535", most=65535),
                "default": 8080,
                "help": "the port to listen on; by default, 8080; 0 means any free port",
            },
            "--token-file": value_option("FILE", "the tokens of clients", required=True),
            "--allow-host": repeated_option("NAME", "a name by which clients call this server"),
            "--certfile": value_option("FILE", "the certificate of this server, for TLS"),
            "--keyfile": value_option("FILE", "its key, if that is in another file"),
            "--behind-proxy": value_option(
                "ADDRESS",
                "a TLS proxy is in front of this server; trust what it says about clients",
            ),
            "--fleet": repeated_option("URL", "show this fleet, too"),
        }
    )
    parser.set_defaults(act=lambda options: sys.exit(run(options)))


def run(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C; return the exit status."""
    try:
        _serve(options)
    except (FlagError, OSError) as error:
        show_problems(str(error))
        return 2
    return 0


def _serve(options: argparse.Namespace) -> None:
    # The command line imports this file for each of its commands.
    from paddle_flags.cli.processes import resolve_process_address
    from paddle_flags.live._client import Client

    with optional_import("'gateway'", "starlette and uvicorn", "live", FlagUnsupportedError):
        from paddle_flags.gateway import server, users
        from paddle_flags.gateway.app import Gateway
    server.check_system()
    clients = [Client(resolve_process_address(each)) for each in options.targets]
    for client in clients:
        client.process()
    paths = [client.target for client in clients]
    app = Gateway(paths or None, options.fleet).application()
    listen = server.ListenOptions(
        options.host,
        options.port,
        tuple(options.allow_host),
        options.certfile,
        options.keyfile,
        options.behind_proxy,
    )
    tokens = users.read_tokens(options.token_file)
    server.serve(app, listen, tokens, lambda url: show_on_stderr(f"serving {url}"))
