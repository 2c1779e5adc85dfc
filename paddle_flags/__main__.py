"""The command line: python -m paddle_flags run|list|explain|doctor|config|completion|gen|new."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import runpy
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from paddle_flags import __version__, _completion, _config, _new, errors
from paddle_flags._output import print_error, print_text
from paddle_flags._parse import Reading, print_warnings, read_flags
from paddle_flags._plugin import load_plugin
from paddle_flags._report import LISTINGS, explain, flags_table, listing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_WITH_FILES = ("-p", "--plugin", "--config")  # options whose value is a path

Action = Callable[[], Any]
Parsers = dict[str, argparse.ArgumentParser]
Commands = Any  # argparse gives the type of its subparsers no public name

PROGRAM = "python -m paddle_flags"

EPILOG = """\
The options come first, then the flags of the plugins, then all else, as in

  python -m paddle_flags list -p libalpha.so --alpha_level=9
"""

_GEN = "generate C, C++, Python and documents from the flags of a YAML file"

# "beta=libbeta.so" for a plugin in a namespace; a path has no such beginning.
_IN_NAMESPACE = re.compile(r"([A-Za-z_][\w.-]*)=(.+)")


class _Parser(argparse.ArgumentParser):
    """Prints as all of us do."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (print_text if file is sys.stdout else print_error)(message, end="")

    def error(self, message: str) -> NoReturn:
        print_error(f"{self.format_usage()}{self.prog}: error: {message}")
        sys.exit(2)


def _options_end(words: Sequence[str], parser: argparse.ArgumentParser) -> int:
    """Give how many words, from the first on, are options of the command itself."""
    takes_value = _own_options(parser)
    at = 0
    while at < len(words):
        name, equals, _ = words[at].partition("=")
        attached = bool(name[2:]) and takes_value.get(name[:2], False)
        if name not in takes_value and not attached:
            return at
        at += 2 if takes_value.get(name) and not equals else 1
    return at


def _own_options(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Give the options of a command, and whether each takes a value."""
    return {
        option: action.nargs != 0
        for action in parser._actions  # noqa: SLF001 - argparse tells it nowhere else
        for option in action.option_strings
    }


def _plugin_parts(plugin: str) -> tuple[str, str]:
    """Give namespace and path of FILE or NAMESPACE=FILE."""
    parts = None if os.path.exists(plugin) else _IN_NAMESPACE.fullmatch(plugin)
    return (parts[1], parts[2]) if parts else ("", plugin)


def _load(plugin: str) -> None:
    """Load FILE or NAMESPACE=FILE."""
    namespace, file = _plugin_parts(plugin)
    if file.endswith((".py", ".pyw")):
        message = (
            f"{file}: is a Python program, expected a shared library; '{PROGRAM} run --show {file}'"
            " runs it and shows its flags, and pf.explain(name) in it tells why one has its value"
        )
        raise errors.FlagArgumentError(message)
    load_plugin(file, namespace=namespace)


def _flags(options: argparse.Namespace, words: list[str], **how: Any) -> list[str]:
    """Read the flags of the plugins; give the other words."""
    line = [PROGRAM, *words]
    config = options.config or None
    return read_flags(
        line, Reading(env_prefix=options.env_prefix, config=config, keep_startup=True, **how)
    )


def _add_command(commands: Commands, name: str, summary: str, use: str) -> argparse.ArgumentParser:
    """Add a command that loads plugins and takes their flags."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        usage=f"{PROGRAM} {name} [-p FILE]... [--config FILE]... [--env-prefix PREFIX] {use}",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-p",
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="a shared library to load, or NAMESPACE=FILE; may be given again",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="a configuration file to read: TOML, YAML, JSON or a flagfile; may be given again",
    )
    parser.add_argument(
        "--env-prefix",
        metavar="PREFIX",
        help="take values from the environment, from the variables PREFIX<flag name>",
    )
    return parser


def _add_config(commands: Commands) -> None:
    summary = "print what a build of plugins and hosts needs"
    parser = commands.add_parser(
        "config",
        help=summary,
        description=summary[0].upper() + summary[1:] + ", on one line.",
        usage=f"{PROGRAM} config OPTION...",
        allow_abbrev=False,
    )
    for option, function in _config.OPTIONS.items():
        what = str(function.__doc__).partition("\n")[0].replace("Give", "print").replace("`", "")
        parser.add_argument(
            option,
            dest="options",
            action="append_const",
            const=option,
            help=what.rstrip("."),
        )
    parser.set_defaults(act=lambda options: _print_config(parser, options.options))


def _print_config(parser: argparse.ArgumentParser, options: list[str] | None) -> None:
    if not options:
        parser.error(f"expected one or more of {', '.join(_config.OPTIONS)}")
    print_text(" ".join(_config.OPTIONS[option]() for option in options))


def _add_completion(commands: Commands) -> None:
    summary = "print a script that lets a shell complete flags"
    parser = commands.add_parser(
        "completion",
        help=summary,
        description=summary[0].upper() + summary[1:] + ", and how to use it.",
        usage=f"{PROGRAM} completion {'|'.join(_completion.SHELLS)} [PROGRAM]...",
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=_completion.SHELLS, help="the shell")
    parser.add_argument(
        "programs",
        nargs="*",
        metavar="PROGRAM",
        default=_completion.own_programs(),
        help="a command whose program calls parse(), as in train.py or 'python train.py';"
        f" without one, {PROGRAM}",
    )
    parser.set_defaults(
        act=lambda options: print_text(_completion.script(options.shell, options.programs), end="")
    )


def _build_parsers() -> tuple[argparse.ArgumentParser, Parsers]:
    main_parser = _Parser(
        PROGRAM, description="Flags of a process and its native plugins.", allow_abbrev=False
    )
    main_parser.add_argument("--version", action="version", version=f"paddle_flags {__version__}")
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)
    run = _add_command(
        commands,
        "run",
        "load plugins and set flags, then run a script or module, or show the flags",
        "[--show] [--allow-pending] [--flag=value]... [SCRIPT | -m MODULE] [ARGUMENT]...",
    )
    run.add_argument("--show", action="store_true", help="show the flags at the end")
    run.add_argument(
        "--allow-pending",
        action="store_true",
        help="keep values for flags that the script or its plugins define later",
    )
    shown = _add_command(
        commands,
        "list",
        "show all flags with value, source and module, or in another form",
        "[--all] [--format=FORMAT] [--flag=value]...",
    )
    shown.add_argument(
        "--format",
        choices=LISTINGS,
        default="table",
        help="what to write: a %(default)s if not told, or " + ", ".join(LISTINGS[1:]),
        metavar="FORMAT",
    )
    shown.add_argument(
        "--long",
        dest="format",
        action="store_const",
        const="text",
        help="show what each flag is for, as --format=text",
    )
    shown.add_argument(
        "--all",
        action="store_true",
        help="show hidden flags too, and defaults in what is to be read back",
    )
    _add_command(
        commands,
        "explain",
        "tell what a flag is and where its value comes from",
        "[--flag=value]... NAME",
    )
    doctor = _add_command(
        commands,
        "doctor",
        "examine a process with plugins, and files; ends with 1 when something is wrong",
        "[--json] [--flag=value]... [FILE]...",
    )
    doctor.add_argument("--json", action="store_true", help="write the report as JSON")
    _add_config(commands)
    _add_completion(commands)
    commands.add_parser("gen", help=_GEN, add_help=False)  # main() gives it its words
    _new.add_parser(commands, PROGRAM)
    return main_parser, dict(commands.choices)


def _module_at(words: list[str]) -> int:
    return words.index("-m") if "-m" in words else len(words)


def _program_at(words: list[str]) -> int:
    """Give the index of the script or of -m, or of the end."""
    return _completion.argument_at(words[: _module_at(words)])


def _run(options: argparse.Namespace, words: list[str]) -> Action:
    at = _module_at(words)
    script = _flags(options, words[:at], stop_at_argument=True, allow_pending=options.allow_pending)
    if script:
        script += words[at:]  # a script's own -m
    module = words[at + 1 :] if not script else []
    _check_program(script, module, wanted=at < len(words))

    def act() -> None:
        try:
            if script:
                _run_script(script)
            elif module:
                _run_module(module)
        finally:
            if options.show or not (script or module):
                print_text(flags_table())

    return act


def _check_program(script: list[str], module: list[str], *, wanted: bool) -> None:
    if script and not os.path.exists(script[0]):
        message = f"{script[0]}: no such file"
        raise errors.FlagArgumentError(message)
    if script or not wanted:
        return
    if not module:
        message = "-m: expected the name of a module"
        raise errors.FlagArgumentError(message)
    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.util.find_spec(module[0])
    except ModuleNotFoundError:  # of a package that isn't there either
        found = None
    if found is None:
        message = f"{module[0]}: no such module"
        raise errors.FlagArgumentError(message)


def _run_module(words: list[str]) -> None:
    sys.argv = list(words)
    runpy.run_module(words[0], run_name="__main__", alter_sys=True)


def _run_script(words: list[str]) -> None:
    sys.argv = list(words)
    sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
    runpy.run_path(words[0], run_name="__main__")


def _list(options: argparse.Namespace, words: list[str]) -> Action:
    rest = _flags(options, words)
    if rest:
        message = f"{rest[0]}: expected no argument; plugins are given by -p"
        raise errors.FlagArgumentError(message)
    text = listing(options.format, all=options.all)
    return lambda: print_text(text)


def _explain(options: argparse.Namespace, words: list[str]) -> Action:
    rest = _flags(options, words)
    if len(rest) != 1:
        message = f"expected the name of one flag, not {len(rest)} arguments"
        raise errors.FlagArgumentError(message)
    text = explain(rest[0])
    return lambda: print_text(text)


def _doctor(options: argparse.Namespace, words: list[str]) -> Action:
    from paddle_flags._doctor import examine, to_lines  # noqa: PLC0415 - seldom used

    refused: list[errors.FlagError] = []
    refused_files: list[str] = []
    for plugin in options.plugin:
        try:
            _load(plugin)
        except errors.FlagError as error:
            refused.append(error)
            refused_files.append(_plugin_parts(plugin)[1])
    report = examine(_flags(options, words, allow_pending=True), refused, refused_files)

    def act() -> None:
        print_text(json.dumps(report, indent=2) if options.json else "\n".join(to_lines(report)))
        if report["problems"]:
            sys.exit(1)

    return act


_COMMANDS = {"run": _run, "list": _list, "explain": _explain, "doctor": _doctor}


def _prepare(command: str, parser: argparse.ArgumentParser, words: Sequence[str]) -> Action:
    """Load plugins and read flags: all that can go wrong because of a user."""
    end = _options_end(words, parser)
    options = parser.parse_args(words[:end])
    rest = list(words[end:])
    if command != "doctor":  # which reports what loading meets
        for plugin in options.plugin:
            _load(plugin)
    own = rest[: _program_at(rest)] if command == "run" else rest
    options_here = _own_options(parser).keys() - {"-h", "--help"}  # which flags have too
    late = [word for word in own if word.partition("=")[0] in options_here]
    if late:
        message = f"{late[0]}: options come before flags and names"
        raise errors.FlagArgumentError(message)
    return _COMMANDS[command](options, rest)


def _complete(
    main_parser: argparse.ArgumentParser,
    parsers: Parsers,
    words: list[str],
    word: str,
) -> _completion.Answer:
    """Complete a word of our own command line."""
    if not words:
        offered = _options_of if word.startswith("-") else _commands_of
        return _completion.match(offered(main_parser), word)
    parser = parsers.get(words[0])
    if parser is None:
        return _completion.NOTHING
    if words[0] == "gen":
        from paddle_flags.gen.cli import new_parser  # noqa: PLC0415 - seldom used

        parser = new_parser(PROGRAM)
    if words[0] not in _COMMANDS:
        return _complete_plain(parser, words, word)
    end = _options_end(words[1:], parser) + 1
    if end > len(words):  # the word is the value of an option
        return _completion.files(word) if words[-1] in _WITH_FILES else _completion.NOTHING
    name, equals, typed = word.partition("=")
    if equals and name in _WITH_FILES:
        return _completion.files(typed, name + equals)
    for plugin in parser.parse_args(words[1:end]).plugin:
        with suppress(errors.FlagError):
            _load(plugin)
    return _complete_line(words[0], parser, words[end:], word)


def _complete_line(
    command: str, parser: argparse.ArgumentParser, rest: list[str], word: str
) -> _completion.Answer:
    """Complete a word behind the options, where flags and arguments stand."""
    if command == "run" and "-m" in rest:
        return _completion.files(word) if rest[-1] != "-m" else _completion.NOTHING
    arguments = {
        "list": _completion.NOTHING,
        "explain": _completion.match(_completion.flag_names(), word),
    }
    answer = _completion.complete_flags(
        rest, word, stop_at_argument=command == "run", arguments=arguments.get(command)
    )
    if rest or not word.startswith("-") or "=" in word:
        return answer
    return _completion.match([*_options_of(parser), *answer.candidates], word)


def _complete_plain(
    parser: argparse.ArgumentParser, words: list[str], word: str
) -> _completion.Answer:
    """Complete a command that has no flags: config, completion or new."""
    if word.startswith("-"):
        return _completion.match(_options_of(parser), word)
    if words[-1] in ("--lang", "--dir"):
        return _new.complete(words[-1], word)
    if words == ["completion"]:
        return _completion.match(map(_completion.Candidate, _completion.SHELLS), word)
    with_files = words[0] in ("completion", "gen")
    return _completion.files(word) if with_files else _completion.NOTHING


def _options_of(parser: argparse.ArgumentParser) -> list[_completion.Candidate]:
    return [
        _completion.Candidate(option, _completion.describe(action.help or ""))
        for action in parser._actions  # noqa: SLF001 - as in _own_options
        for option in action.option_strings
    ]


def _commands_of(parser: argparse.ArgumentParser) -> list[_completion.Candidate]:
    return [
        _completion.Candidate(command.dest, _completion.describe(command.help or ""))
        for action in parser._actions  # noqa: SLF001 - as in _own_options
        for command in getattr(action, "_choices_actions", ())
    ]


def _near(word: str, known: Collection[str]) -> str:
    from paddle_flags.gen.problems import near  # noqa: PLC0415 - seldom used

    return near(word, known)


def _act_plain(
    main_parser: argparse.ArgumentParser, parsers: Parsers, words: Sequence[str]
) -> None:
    """Do a command that has no flags: config, completion or new."""
    first = words[0] if words else "-"
    if not first.startswith("-") and first not in parsers:
        expected = f"expected one of {', '.join(parsers)}"
        main_parser.error(f"{first}: no such command, {expected}{_near(first, parsers)}")
    options, unknown = main_parser.parse_known_args(words)
    if unknown:
        parser = parsers.get(first, main_parser)
        near = _near(unknown[0].partition("=")[0], _own_options(parser))
        parser.error(f"{unknown[0]}: no such option or argument{near}")
    options.act(options)


def main(words: Sequence[str]) -> int:
    """Run one command; gives the exit status."""
    main_parser, parsers = _build_parsers()
    request = _completion.read_request()
    if request:
        request.reply(_complete(main_parser, parsers, request.words, request.word))
    if words[:1] == ["gen"]:
        from paddle_flags.gen.cli import run  # noqa: PLC0415 - seldom used

        return run(words[1:], PROGRAM)
    if not words or words[0] not in _COMMANDS:
        _act_plain(main_parser, parsers, words)
        return 0
    try:
        action = _prepare(words[0], parsers[words[0]], words[1:])
    except errors.HelpRequested as help_:
        print_text(str(help_))
        return 0
    except errors.FlagError as error:
        for each in error.errors:
            print_error(f"{PROGRAM}: error: {each}")
        return 2
    print_warnings(PROGRAM)
    action()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
