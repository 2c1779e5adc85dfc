"""The command live: see and change the flags of other processes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paddle_flags.cli import remote
from paddle_flags.cli.suggestions import nearest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from paddle_flags.cli.parser import Parser
    from paddle_flags.errors import FlagError

    Act = Callable[[argparse.Namespace], int]

SUMMARY = "see and change the flags of a running process"

_ABOUT = """\
See and change the flags of a running process. Without a command, list the flags of TARGET;
without a target, list the processes that serve their flags.
"""

_TARGET = """\
TARGET is the PID of a process that serves its flags, the path of its socket, or a URL such as
http://127.0.0.1:8080. A URL needs a token: see --token-file.

exit status: 0 if all is well, 1 if the process refuses (diff: if flags differ), 2 if the command
line is wrong, 3 if a process can't be reached
"""


def add(main_parser: Parser) -> None:
    """Add the command to a command line; it reads its own tokens."""
    main_parser.add_command("live", SUMMARY, add_help=False)


def new_parser(program: str) -> Parser:
    """Return the parser of the command, whose commands are its own."""
    adders = (_list, _get, _set, _watch, _diff, _undo, _changes, _open)
    use = "[COMMAND] [TARGET] [ARGUMENT]..."
    return remote.new_parser(f"{program} live", use, _ABOUT, _TARGET, adders)


def _new(parser: Parser, name: str, summary: str, use: str, act: Act) -> Parser:
    """Add a command, with the options that all have."""
    added = remote.add_command(parser, name, summary, use)
    added.set_defaults(act=act)
    if name != "open":
        remote.add_json(added)
    added.add_argument(
        "--token-file",
        metavar="FILE",
        help="the token for a URL is the first line of this file; by default, that in the"
        " environment variable PADDLE_FLAGS_LIVE_TOKEN",
    )
    remote.add_timeout(added, "an answer", 10)
    return added


def _add_target(command: Parser) -> None:
    command.add_argument("target", metavar="TARGET", help="the process")


def _add_reason(command: Parser) -> None:
    text = "why; everybody who watches sees it"
    command.add_argument("--reason", metavar="TEXT", help=text)


# ---- The commands; what they do is imported when they run ----


def _list(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_list  # noqa: PLC0415

        return live_list.run(options)

    use = "[TARGET] [PATTERN]... [OPTION]..."
    added = _new(parser, "list", "list flags, or the processes that serve them", use, act)
    added.add_argument("target", nargs="?", metavar="TARGET", help="the process")
    remote.add_patterns(added)
    added.add_argument("--changed", action="store_true", help="only flags that aren't default")
    added.add_argument("--settable", action="store_true", help="only flags that can be changed")
    added.add_argument("--temporary", action="store_true", help="only temporary values")
    added.add_argument("--all", action="store_true", help="include hidden flags, as --json does")
    added.add_argument(
        "--attach",
        metavar="PID",
        help="read the memory of a process that doesn't serve its flags",
    )


def _get(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_get  # noqa: PLC0415

        return live_get.run(options)

    added = _new(parser, "get", "print values of flags", "TARGET NAME... [--explain]", act)
    _add_target(added)
    added.add_argument(
        "names", nargs="+", metavar="NAME", help="a flag; with a single one, only the value"
    )
    added.add_argument(
        "--explain", action="store_true", help="describe the flag, and where its value comes from"
    )


def _set(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_set  # noqa: PLC0415

        return live_set.run_set(options)

    use = "TARGET [NAME=VALUE]... [OPTION]..."
    added = _new(parser, "set", "change flags: all of them, or none", use, act)
    _add_target(added)
    remote.add_pairs(added)
    remote.add_list(added, "--unset", "NAME", "take back what clients have set")
    added.add_argument(
        "--for",
        dest="duration",
        metavar="TIME",
        help="how long, such as 90s, 10m or 1h30m: then the values end by themselves",
    )
    _add_reason(added)
    added.add_argument("--dry-run", action="store_true", help="check everything, change nothing")
    remote.add_list(added, "--expect", "NAME=VALUE", "change nothing unless a flag has this value")
    remote.add_confirm(added)


def _watch(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_watch  # noqa: PLC0415

        return live_watch.run(options)

    use = "TARGET [PATTERN]... [--reconnect]"
    added = _new(parser, "watch", "print each change of a flag as it happens", use, act)
    _add_target(added)
    remote.add_patterns(added)
    added.add_argument(
        "--reconnect",
        action="store_true",
        help="go on when the connection is lost, such as when the process is started again",
    )


def _diff(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_diff  # noqa: PLC0415

        return live_diff.run(options)

    about = "compare the flags of two processes"
    added = _new(parser, "diff", about, "TARGET TARGET [PATTERN]...", act)
    text = "a process, or a file that 'list --json' has written"
    added.add_argument("target", metavar="TARGET", help=text)
    added.add_argument("other", metavar="TARGET", help=text)
    remote.add_patterns(added)


def _undo(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_set  # noqa: PLC0415

        return live_set.run_undo(options)

    use = "TARGET [CHANGE] [--reason TEXT]"
    added = _new(parser, "undo", "undo a change of yours", use, act)
    _add_target(added)
    text = "its number; by default your last"
    added.add_argument("change", nargs="?", type=_number, metavar="CHANGE", help=text)
    _add_reason(added)


def _number(text: str) -> int:
    return remote.whole(text, "the number of a change, as 'live changes' lists them")


def _changes(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_set  # noqa: PLC0415

        return live_set.run_changes(options)

    added = _new(parser, "changes", "list what was changed from outside", "TARGET", act)
    _add_target(added)


def _open(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import live_open  # noqa: PLC0415

        return live_open.run(options)

    use = "TARGET [TARGET] [--print] [--idle SECONDS]"
    added = _new(parser, "open", "show the flags in a browser", use, act)
    _add_target(added)
    added.add_argument("other", nargs="?", metavar="TARGET", help="a second one, to compare with")
    added.add_argument(
        "--print", dest="print_only", action="store_true", help="print the URL, start no browser"
    )
    added.add_argument(
        "--idle",
        metavar="SECONDS",
        type=remote.seconds,
        default=3600.0,
        help="end when no page was open for so long; the default is an hour",
    )


# ---- Running ----


def run(tokens: Sequence[str], program: str) -> int:
    """Run the command; return the exit status."""
    parser = new_parser(program)
    tokens = list(tokens)
    if not tokens or (tokens[0] not in parser.commands and tokens[0] not in ("-h", "--help")):
        _check_target(parser, tokens)
        tokens.insert(0, "list")
    return remote.run(parser, tokens, program, _is_unreachable)


def _is_unreachable(error: FlagError) -> bool:
    return isinstance(error, OSError)


def _check_target(parser: Parser, tokens: list[str]) -> None:
    """End the program if the first token is rather a misspelt command."""
    first = tokens[0] if tokens else ""
    near = nearest(first, parser.commands) if first.isalpha() else ""
    if near and not os.path.exists(first):
        parser.error(f"no such command {first}; did you mean {near}?")
