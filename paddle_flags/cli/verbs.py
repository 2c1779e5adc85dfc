"""The verbs for running processes and fleets: their arguments, and how they run.

`list` and `explain` are also commands for the flags of plugins: see `has_plugin_loading_option`.
"""

from __future__ import annotations

import argparse
import itertools
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._report.facts import escape_controls
from paddle_flags.cli.parser import (
    repeated_option,
    switch_option,
    value_option,
    whole_number_converter,
)
from paddle_flags.cli.resolve import resolve_target
from paddle_flags.cli.safe_output import Report, print_report, show_problems
from paddle_flags.cli.target import EXPECTED, refusal_text
from paddle_flags.errors import FlagArgumentError, FlagError, FlagFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.cli.parser import Parser

UNREACHABLE = 3
"""The exit status if a process, or the engine of a fleet, can't be reached."""
_MOST_SECONDS = 1_000_000


class Verb(NamedTuple):
    """What one of them takes."""

    summary: str
    use: str
    """What is behind it: a target, and one kind of argument, as in `TARGET NAME...`."""
    options: str

    @property
    def target_description(self) -> str:
        """What the target can be."""
        return "the URL of a fleet" if self.use.startswith("URL") else EXPECTED

    @property
    def needs_target(self) -> bool:
        """Whether there must be a target."""
        return not self.use.startswith("[")

    @property
    def argument_kind(self) -> str:
        """What the arguments behind the target are: one of `_ARGUMENTS`, or nothing."""
        return self.use.split()[1].strip("[].") if " " in self.use else ""

    @property
    def min_arguments(self) -> int:
        """How many arguments there must be."""
        return int(bool(self.argument_kind) and "[" not in self.use.split()[1])

    @property
    def max_arguments(self) -> float:
        """How many arguments there can be."""
        return float("inf") if "..." in self.use else int(bool(self.argument_kind))


_ASK = "--json --timeout --token-file"
_CHOICE = "--role --host --member"
_CHANGE = f"--for --reason --dry-run --expect --confirm {_CHOICE} --wait --force --at-step"

VERBS = {
    "list": Verb(
        "list flags, or the processes that serve them",
        "[TARGET] [PATTERN]...",
        f"--changed --settable --temporary --all --attach --all-users {_CHOICE} {_ASK}",
    ),
    "get": Verb("print the values of flags", "TARGET NAME...", f"--attach {_CHOICE} {_ASK}"),
    "explain": Verb(
        "describe flags, and where their values come from", "TARGET NAME...", f"--attach {_ASK}"
    ),
    "set": Verb(
        "change flags: all of them, or none",
        "TARGET [NAME=VALUE]...",
        f"--unset --file {_CHANGE} {_ASK}",
    ),
    "unset": Verb("drop values that were set from outside", "TARGET NAME...", f"{_CHANGE} {_ASK}"),
    "undo": Verb("undo one of your changes", "TARGET [CHANGE]", f"--reason --wait --force {_ASK}"),
    "log": Verb("list what was changed from outside", "TARGET", f"--last {_ASK}"),
    "watch": Verb(
        "print each change of a flag as it happens", "TARGET [PATTERN]...", f"--reconnect {_ASK}"
    ),
    "diff": Verb(
        "compare two targets, or files that 'list --json' wrote, or the members of a fleet",
        "TARGET [TARGET] [PATTERN]...",
        f"--attach {_ASK}",
    ),
    "status": Verb(
        "describe a process, or list the members of a fleet", "[TARGET]", f"--all-users {_ASK}"
    ),
    "open": Verb(
        "show the flags of processes, or of a fleet, in a browser",
        "[TARGET] [TARGET]",
        "--print --idle --timeout --token-file",
    ),
    "reset": Verb(
        "restore the values that a fleet had at a revision, as a new revision",
        "URL REVISION",
        "--wait --force --reason --json --timeout",
    ),
    "join": Verb(
        "run a program, in any language, as a member of a fleet",
        "URL COMMAND...",
        "--role --rank --name --check --check-timeout --ttl --on-lost --tick-timeout --no-preload"
        " --timeout",
    ),
    "mirror": Verb(
        "copy the values of a fleet to another one, until SIGTERM",
        "URL URL",
        "--once --confirm --json --timeout",
    ),
}

_ARGUMENTS = {
    "PATTERN": "names of flags; * and ? match as in a shell",
    "NAME": "a flag",
    "NAME=VALUE": "a flag and its new value, as for --NAME",
    "CHANGE": "the number of the change, as 'log' lists it; by default, your last one",
    "TARGET": "a second one, to compare with",
    "REVISION": "the number of the revision, as 'log' lists it; 0 means no values",
    "COMMAND": "the program and its arguments, after --",
    "URL": "the URL of a fleet that has members; the first fleet may have none",
}

_END = """\
A fleet is at a URL such as dir:///mnt/job42, etcd://HOST:2379/job42, tcpstore://HOST:PORT/job42,
dask://HOST:8786/job42 or ray:///job42.

exit status: 0 if all is well; 1 if the target refuses, a member hasn't applied a change, or flags
differ; 2 if the command line, or a file that it names, has an error; 3 if a process or an engine
can't be reached; 4 if a member of a fleet hasn't answered, or is slow, gone or missing; for join,
the exit status of the program
"""


# ---- Types of arguments ----


def _parse_seconds(text: str) -> float:
    """Return a positive number of seconds, up to what anybody waits."""
    with suppress(ValueError):
        found = float(text)
        if 0 < found <= _MOST_SECONDS:
            return found
    message = f"'{text}': expected a positive number of seconds, up to {_MOST_SECONDS}"
    raise argparse.ArgumentTypeError(message)


_AT_LEAST_ONE = whole_number_converter("a whole number, 1 or more", least=1)

_OPTIONS: dict[str, dict[str, Any]] = {
    "--changed": switch_option("only flags that don't have their default"),
    "--settable": switch_option("only flags that can be changed"),
    "--temporary": switch_option("only flags with a temporary value"),
    "--all": switch_option("include hidden flags, as --json does"),
    "--all-users": switch_option("ask the processes of other users, too; only for root"),
    "--attach": value_option("PID", "instead of a target: read the memory of a process"),
    "--unset": repeated_option("NAME", "drop the value that was set from outside"),
    "--file": value_option("FILE", "more values: a file of TOML, YAML or JSON, or a flagfile"),
    "--for": value_option(
        "TIME",
        "how long the change lasts, such as 90s, 10m or 1h30m; for unset, only in a fleet",
        dest="duration",
    ),
    "--reason": value_option("TEXT", "the reason; everybody who watches sees it"),
    "--dry-run": switch_option("check everything, but change nothing"),
    "--expect": repeated_option(
        "NAME=VALUE", "change nothing unless a flag has this value, or a fleet this revision"
    ),
    "--confirm": repeated_option("NAME", "an unsafe flag that you mean to change"),
    "--role": value_option("ROLE", "in a fleet: for members with this role, such as trainer"),
    "--host": value_option("HOST", "in a fleet: for members on this machine"),
    "--member": value_option("NAME", "in a fleet: for this member"),
    "--wait": value_option(
        "SECONDS",
        "in a fleet: how long to wait for the members' answers, which are printed",
        type=_parse_seconds,
    ),
    "--force": switch_option(
        "in a fleet: don't ask the members first whether they accept the change"
    ),
    "--at-step": value_option(
        "N",
        "in a fleet: let all members apply it when they begin step N, or none if one can't",
        type=whole_number_converter(),
    ),
    "--rank": value_option(
        "N", "the number of the member among those with its role", type=whole_number_converter()
    ),
    "--name": value_option("NAME", "the name of the member; by default, made of role and rank"),
    "--check": value_option(
        "N", "before the program starts, wait until N members have equal values", type=_AT_LEAST_ONE
    ),
    "--check-timeout": value_option(
        "SECONDS",
        "how long --check waits; the default is 60",
        type=_parse_seconds,
        default=60.0,
    ),
    "--ttl": value_option(
        "SECONDS",
        "how long a member that has died counts as alive, up to twice that; the default is 10",
        type=_parse_seconds,
        default=10.0,
    ),
    "--on-lost": {
        "choices": ("keep", "default", "exit"),
        "default": "keep",
        "help": "what happens when the engine hasn't answered for that long: the program keeps its"
        " values, loses them, or gets SIGTERM",
    },
    "--tick-timeout": value_option(
        "SECONDS",
        "how long a step waits for the decision on a change; the default is 60",
        type=_parse_seconds,
        default=60.0,
    ),
    "--no-preload": switch_option(
        "don't make a program serve its flags if it doesn't do so itself"
    ),
    "--last": value_option("N", "only the last N", type=_AT_LEAST_ONE),
    "--reconnect": switch_option(
        "continue when the connection is lost, for example when the process restarts"
    ),
    "--print": switch_option("print the URL, don't start a browser") | {"dest": "print_only"},
    "--idle": value_option(
        "SECONDS",
        "end when no page has been open for this long; the default is an hour",
        type=_parse_seconds,
        default=3600.0,
    ),
    "--once": switch_option("copy once, and print what has changed"),
    "--json": switch_option("write JSON"),
    "--timeout": value_option(
        "SECONDS",
        "how long to wait for an answer; the default is 10",
        type=_parse_seconds,
        default=10.0,
    ),
    "--token-file": value_option(
        "FILE",
        "a file whose first line is the token for a gateway; by default, the token is in the"
        " environment variable PADDLE_FLAGS_LIVE_TOKEN",
    ),
}


# ---- Parsers ----


def add_verb(main_parser: Parser, name: str, plugins: Parser | None = None) -> None:
    """Add a verb to a command line; `plugins` is the command of this name for plugins."""
    verb = VERBS[name]
    prog = f"{main_parser.prog} {name}"
    summary = (
        verb.summary
        if plugins is None
        else f"{verb.summary}; with -p or -m, those of plugins and modules"
    )
    parser = main_parser.add_command(
        name,
        summary,
        prog=prog,
        usage=f"{prog} {verb.use} [OPTION]...",
        epilog=_END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    metavar = verb.use.split()[0].strip("[]")
    parser.add_argument("target", nargs="?", metavar=metavar, help=verb.target_description)
    if verb.argument_kind:
        about = _ARGUMENTS[verb.argument_kind]
        parser.add_argument(
            "arguments", nargs="*", default=[], metavar=verb.argument_kind, help=about
        )
    parser.add_options({option: _OPTIONS[option] for option in verb.options.split()})
    if "--attach" not in verb.options:  # refused with what can be done
        parser.add_argument("--attach", help=argparse.SUPPRESS)
    parser.set_defaults(verb=name, token_file=None)
    if name == "set":
        parser.advice = "; flags are written NAME=VALUE, without dashes"
    if plugins is not None:
        parser.advice = "; for the flags of plugins and modules, begin with -p FILE or -m MODULE"
        parser.other = plugins


_ENVIRONMENT = ("--env-prefix", "--env-ignore-empty", "--env-files", "--env-flags")
_LOADING = ("-p", "--plugin", "-m", "--config", *_ENVIRONMENT, "--format", "--long")


def has_plugin_loading_option(parser: Parser, plugins: Parser, tokens: Sequence[str]) -> bool:
    """Return whether `list` or `explain` is about the flags of plugins in this process.

    It is if one of the options is there that load plugins and values, or that write a listing
    which can be loaded.
    """
    skip = False
    for token in tokens:
        name = token.partition("=")[0]
        if token == "--":
            return False
        if not skip and name in plugins.own_options and name in _LOADING:
            return True
        if not skip and token.startswith(("-p", "-m")):  # -pFILE
            return True
        skip = not skip and token == name and parser.takes_value(name)
    return False


# ---- Running ----


def run(main_parser: Parser, tokens: list[str]) -> int:
    """Run the verb that the first token names; return the exit status."""
    parser = main_parser.commands[tokens[0]]
    options = main_parser.parse_args([tokens[0], *put_options_first(parser, tokens[1:])])
    try:
        report = _run_verb(VERBS[options.verb], options)
    except FlagArgumentError as error:
        *others, last = error.errors
        show_problems(*map(str, others))
        parser.error(escape_controls(str(last)))
    except FlagError as error:
        problems = [refusal_text(each) for each in error.errors]
        report = Report(problems=problems, status=_exit_status_of(error))
    except KeyboardInterrupt as error:
        return 128 + (error.args[0] if error.args else signal.SIGINT)
    return print_report(report, as_json=bool(getattr(options, "json", False)))


def _exit_status_of(error: FlagError) -> int:
    if isinstance(error, FlagFileError):  # one that the command line names
        return 2
    if isinstance(error, OSError):  # a LiveConnectionError
        return UNREACHABLE
    from paddle_flags.fleet import UnreachableError

    return UNREACHABLE if isinstance(error, UnreachableError) else 1


def _run_verb(verb: Verb, options: argparse.Namespace) -> Report:
    """Do what the command line says."""
    arguments: list[str] = getattr(options, "arguments", [])
    if options.attach is not None and options.target is not None:  # there is no other target
        arguments = [options.target, *arguments]
        options.target = None
    options.arguments = arguments
    if options.target is None and options.attach is None:
        if verb.needs_target:
            raise FlagArgumentError(f"expected a target: {verb.target_description}")
        return _run_without_target(options)
    target = resolve_target(options)
    if len(arguments) < verb.min_arguments:
        raise FlagArgumentError(f"expected {verb.argument_kind} after {target.text}")
    if len(arguments) > verb.max_arguments:
        raise FlagArgumentError(
            f"unexpected argument {arguments[int(verb.max_arguments)] or repr('')}"
        )
    _interpret_change_arguments(options)
    return target.run_verb(options.verb)


def _run_without_target(options: argparse.Namespace) -> Report:
    """Do what a verb means without a target: `open`, `list` or `status`."""
    if options.verb == "open":
        from paddle_flags.cli.open import open_in_browser

        return open_in_browser(None, options)
    for name in ("changed", "settable", "temporary", "all", "role", "host", "member"):
        if getattr(options, name, None):
            raise FlagArgumentError(f"--{name}: expected a target, of which to list the flags")
    from paddle_flags.cli.processes import list_processes

    return list_processes(options)


def _interpret_change_arguments(options: argparse.Namespace) -> None:
    """Give the arguments of changes their names."""
    if options.verb in ("set", "unset"):
        is_set = options.verb == "set"
        options.pairs = options.arguments if is_set else []
        options.unset = options.unset if is_set else options.arguments
        options.file = options.file if is_set else None
    if options.verb in ("undo", "reset"):
        number = whole_number_converter("the number of a change, as 'log' lists them")
        try:
            options.number = next(map(number, options.arguments), None)
        except argparse.ArgumentTypeError as error:
            raise FlagArgumentError(str(error)) from None


def put_options_first(command: Parser, tokens: Sequence[str]) -> list[str]:
    """Return options first, each with its value in one token, then the rest: any order will do.

    A value may begin with a dash, as in `--expect level=-1` or `--reason -5%`.
    """
    options: list[str] = []
    rest: list[str] = []
    left = iter(tokens)
    for token in left:
        if token == "--":
            rest += left
        elif not token.startswith("-") or token == "-" or token[1:].isdigit():
            rest.append(token)
        elif command.takes_value(token):
            options.append("=".join([token, *itertools.islice(left, 1)]))
        else:
            options.append(token)
    return [*options, "--", *rest] if rest else options
