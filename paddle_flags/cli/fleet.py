"""The command fleet: see and change the flags of all processes of a job."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from paddle_flags.cli import remote
from paddle_flags.cli.suggestions import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags.cli.parser import Parser
    from paddle_flags.errors import FlagError

    Act = Callable[[argparse.Namespace], int]

SUMMARY = "see and change the flags of all processes of a job"

_ABOUT = """\
See and change the flags of the processes that have joined a fleet, its members. Without a command,
list the members.
"""

_URL = """\
URL says where the fleet is: dir:///mnt/job42, etcd://HOST:2379/job42, tcpstore://HOST:PORT/job42,
dask://HOST:8786/job42 or ray:///job42.

exit status: 0 if all is well, 1 if a member has not taken a change, members differ, or the change
was not made, 2 if the command line is wrong, 3 if the engine can't be reached, 4 if a member has
not answered, is slow, gone or missing
"""

_LONGEST = 366 * 86400.0  # seconds that a value holds
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def add(main_parser: Parser) -> None:
    """Add the command to a command line; it reads its own tokens."""
    main_parser.add_command("fleet", SUMMARY, add_help=False)


def new_parser(program: str) -> Parser:
    """Return the parser of the command, whose commands are its own."""
    adders = (_status, _get, _set, _unset, _diff, _log, _reset, _mirror, _relay)
    use = "URL [COMMAND] [ARGUMENT]..."
    return remote.new_parser(f"{program} fleet", use, _ABOUT, _URL, adders)


def _new(parser: Parser, name: str, summary: str, use: str, act: Act) -> Parser:
    """Add a command, with the options that all have."""
    added = remote.add_command(parser, name, summary, use, after="URL ")
    added.set_defaults(act=act)
    remote.add_json(added)
    remote.add_timeout(added, "the engine", 5)
    return added


def _duration(text: str) -> float:
    """Return the seconds of 90, 90s, 10m or 1h30m."""
    seconds = remote.number(text)
    if re.fullmatch(r"(\d{1,9}(\.\d{1,3})?(d|h|ms|m|s))+", text, re.ASCII):
        parts = re.findall(r"([\d.]+)(d|h|ms|m|s)", text)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if 0 < seconds <= _LONGEST:
        return seconds
    message = f"'{text}': expected a time such as 90s, 10m or 1h30m, at most 366d"
    raise argparse.ArgumentTypeError(message)


def _at_least_one(text: str) -> int:
    number = remote.whole(text)
    if number:
        return number
    message = f"'{text}': expected a whole number, 1 or more"
    raise argparse.ArgumentTypeError(message)


def _add_choice(command: Parser) -> None:
    """Add the options that choose members."""
    command.add_argument("--role", metavar="ROLE", help="for members of a role, such as trainer")
    command.add_argument("--host", metavar="HOST", help="for members on a machine")
    command.add_argument("--member", metavar="NAME", help="for one member")


def _add_waiting(command: Parser) -> None:
    command.add_argument(
        "--wait",
        metavar="SECONDS",
        type=remote.seconds,
        help="wait at most so long for the answers of the members, and print them",
    )
    command.add_argument("--reason", metavar="TEXT", default="", help="why; the log shows it")


def _add_changing(command: Parser) -> None:
    """Add the options of commands that change flags."""
    _add_choice(command)
    _add_waiting(command)
    command.add_argument(
        "--all-or-none",
        action="store_true",
        help="ask all members first; change nothing if one of them rejects it or doesn't answer",
    )
    command.add_argument(
        "--at-step",
        metavar="N",
        type=remote.whole,
        help="let all members take it when they begin step N; change nothing if one can't",
    )
    command.add_argument(
        "--for",
        dest="duration",
        metavar="TIME",
        type=_duration,
        help="let the values end after a time, such as 90s, 10m or 1h30m",
    )
    command.add_argument(
        "--dry-run", action="store_true", help="ask all members, and change nothing"
    )
    command.add_argument(
        "--expect",
        metavar="REVISION",
        type=remote.whole,
        help="change nothing unless this is the last revision",
    )
    remote.add_confirm(command)


# ---- The commands; what they do is imported when they run ----


def _status(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_show  # noqa: PLC0415

        return fleet_show.run_status(options)

    _new(parser, "status", "list the members and their states", "", act)


def _get(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_show  # noqa: PLC0415

        return fleet_show.run_get(options)

    added = _new(parser, "get", "list the values that the fleet gives", "[PATTERN]...", act)
    remote.add_patterns(added)
    _add_choice(added)


def _set(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_change  # noqa: PLC0415

        return fleet_change.run_set(options)

    use = "[NAME=VALUE]... [OPTION]..."
    added = _new(parser, "set", "change flags; each member takes all values, or none", use, act)
    remote.add_pairs(added)
    added.add_argument(
        "--file", metavar="FILE", help="more values: a file of TOML, YAML or JSON, or a flagfile"
    )
    _add_changing(added)


def _unset(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_change  # noqa: PLC0415

        return fleet_change.run_unset(options)

    added = _new(parser, "unset", "take back values that were set", "NAME... [OPTION]...", act)
    added.add_argument("names", nargs="+", metavar="NAME", help="a flag")
    _add_changing(added)


def _diff(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_show  # noqa: PLC0415

        return fleet_show.run_diff(options)

    added = _new(parser, "diff", "list flags that differ between members", "[PATTERN]...", act)
    remote.add_patterns(added)


def _log(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_show  # noqa: PLC0415

        return fleet_show.run_log(options)

    added = _new(parser, "log", "list the changes, the latest first", "[--last N]", act)
    added.add_argument("--last", metavar="N", type=_at_least_one, help="only the last N")


def _reset(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_change  # noqa: PLC0415

        return fleet_change.run_reset(options)

    use = "REVISION [OPTION]..."
    added = _new(parser, "reset", "bring back the values of a revision, as a new one", use, act)
    added.add_argument(
        "revision", metavar="REVISION", type=remote.whole, help="as 'log' lists them; 0: no values"
    )
    _add_waiting(added)


def _mirror(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_mirror  # noqa: PLC0415

        return fleet_mirror.run_mirror(options)

    summary = "keep the values of the fleet in another one, until SIGTERM"
    added = _new(parser, "mirror", summary, "TARGET [OPTION]...", act)
    added.add_argument(
        "target", metavar="TARGET", help="the URL of a fleet that has members; URL may have none"
    )
    added.add_argument("--once", action="store_true", help="do it once, and print what changed")
    remote.add_confirm(added)


def _relay(parser: Parser) -> None:
    def act(options: argparse.Namespace) -> int:
        from paddle_flags.cli import fleet_mirror  # noqa: PLC0415

        return fleet_mirror.run_relay(options)

    summary = "let the members of a folder take part, until SIGTERM"
    added = remote.add_command(parser, "relay", summary, "FOLDER [--ttl SECONDS]", after="URL ")
    added.set_defaults(act=act)
    remote.add_timeout(added, "the engine", 5)
    added.add_argument(
        "folder", metavar="FOLDER", help="dir:///path, which C programs with the module join"
    )
    added.add_argument(
        "--ttl",
        metavar="SECONDS",
        type=remote.seconds,
        default=10.0,
        help="how long a member that has died counts as alive, up to twice that; the default is 10",
    )


# ---- Running ----


def run(tokens: Sequence[str], program: str) -> int:
    """Run the command; return the exit status."""
    parser = new_parser(program)
    tokens = list(tokens)
    if not tokens or tokens[0].startswith("-"):
        parser.parse_args(tokens or ["--help"])
        parser.error("expected the URL of a fleet first, such as dir:///mnt/job42")
    url, rest = _url_of(parser, tokens)
    parser.set_defaults(url=url)
    return remote.run(parser, rest, program, _is_unreachable)


def _url_of(parser: Parser, tokens: list[str]) -> tuple[str, list[str]]:
    """Return the URL and the tokens of the command, which is `status` if there is none."""
    url, *rest = tokens
    if "://" not in url:
        near = f"{url}: expected the URL of a fleet first, such as dir:///mnt/job42"
        parser.error(near if url not in parser.commands else f"{near}, then {url}")
    if not rest or rest[0].startswith("-"):
        if {"-h", "--help"} & {*rest}:
            parser.parse_args(["--help"])
        return url, ["status", *rest]
    if rest[0] not in parser.commands:
        near = nearest(rest[0], parser.commands)
        parser.error(f"no such command {rest[0]}" + (f"; did you mean {near}?" if near else ""))
    return url, rest


def _is_unreachable(error: FlagError) -> bool:
    from paddle_flags.fleet import UnreachableError  # noqa: PLC0415

    return isinstance(error, UnreachableError)
