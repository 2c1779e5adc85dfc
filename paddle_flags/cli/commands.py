"""`commands`, which runs one of a program's commands, each with its own flags and arguments."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._core.checks import check_refused_modules
from paddle_flags._core.frames import frame_above, hides_internal_frames
from paddle_flags._core.names import find_nearest
from paddle_flags._core.registry import FLAGS, all_flags, for_each
from paddle_flags._core.status import quote_value
from paddle_flags._input.options import ParseOptions
from paddle_flags._input.preview import preview_line
from paddle_flags.cli.command import Command, Table, command_of, modules_of, read_command_summary
from paddle_flags.cli.output import print_error
from paddle_flags.cli.parse import (
    check_exit,
    define_config_flag,
    define_flags_for_completion,
    get_argv_tokens,
    get_program_name,
    load_named_plugins,
    make_help_exception,
    parse_command_line,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._completion.answer import Answer
    from paddle_flags._input.config import Path
    from paddle_flags._input.named_plugins import Plugins
    from paddle_flags.cli.parse import Exit


@hides_internal_frames
def commands(
    table: Mapping[str, Any],
    argv: Sequence[str] | None = None,
    *,
    env_prefix: str | None = None,
    env_flags: str | None = None,
    env_ignore_empty: bool = False,
    env_files: bool = False,
    warn_unknown_env: bool = False,
    config: Path | Sequence[Path] | None = None,
    config_flag: str | None = None,
    plugins: Plugins | None = None,
    plugin_flag: str | None = None,
    allow_pending: bool = False,
    stop_at_argument: bool = False,
    usage: str | None = None,
    version: str | None = None,
    exit: Exit = True,
) -> Any:
    """Read a command line that names a command, and run that: `prog --flags train --flags`.

    `table` maps each name to a function, to text such as "package.module:function", to a
    module, or to a table of further commands. Of a module, and of text without a colon, the
    function is `main`. Text is imported when the command is chosen, so its module defines
    flags for this command alone. Flags may stand before and behind the name.

    The function is called with the arguments that are left, each as str, and its result is
    returned. Its parameters say how many there may be.

    `prog --help` lists the commands with the first lines of their docstrings, for which
    nothing is imported. `prog train --help`, or `prog help train`, shows that command's
    docstring, its flags, then the others. Flags of modules of other commands are left out.

    A table `[train]` in a file of `config` has values for this command alone.

    The other parameters are those of `parse`, and so is what happens if the line is invalid:
    no flag changes and no command runs. An unknown command, a missing one and a wrong number
    of arguments are such errors. A line without any token shows the help and exits with
    status 2. `usage` is what `prog --help` shows above the commands.

    Raises FlagArgumentError if the table is invalid; what the import of a command raises;
    and what the command raises.
    """
    check_exit(exit)
    options = ParseOptions(
        env_prefix=env_prefix,
        env_flags=env_flags,
        env_ignore_empty=env_ignore_empty,
        env_files=env_files,
        warn_unknown_env=warn_unknown_env,
        config=config,
        config_flag=config_flag,
        plugins=plugins,
        plugin_flag=plugin_flag,
        allow_pending=allow_pending,
        stop_at_argument=stop_at_argument,
        usage=usage,
        version=version,
    )
    options.check()
    if config_flag is not None:
        define_config_flag(config_flag)
    caller = str(frame_above(1).f_globals.get("__name__"))
    line = _Line(table, options, caller)
    if "_PD_FLAGS_COMPLETE" in os.environ:  # a shell asks what could be typed
        from paddle_flags._completion.flags import answer_shell_with

        define_flags_for_completion(options)
        answer_shell_with(line.complete)
    tokens = get_argv_tokens(argv)
    load_named_plugins(tokens, options)
    tokens = line.resolve_command(tokens)
    options.get_help_arguments = line.get_help_arguments
    options.resolve_flag_in_file = line.resolve_flag_in_file
    if exit and line.is_bare:
        _show_help(tokens, options)
        sys.exit(1 if exit == "gflags" else 2)
    name = " ".join([get_program_name(tokens), *line.names])
    check_refused_modules()
    rest = parse_command_line(tokens, options, exit, name)
    assert line.command  # otherwise the line was invalid
    return line.command.function(*rest[len(line.names) :])


def _show_help(tokens: list[str], options: ParseOptions) -> None:
    from paddle_flags._input.argv import HelpWanted

    print_error(str(make_help_exception(tokens, HelpWanted("help", ""), options)))


class _Line:
    """A command line, and the command that it names."""

    def __init__(self, table: Table, options: ParseOptions, caller: str) -> None:
        self._options = options
        self._program = ""
        self._caller = caller
        self._top = table
        self.names: list[str] = []  # of the command and the tables around it
        self.table: Table = _check_table(table)
        self.command: Command | None = None
        self.is_bare = False  # nothing stands behind the name of a table
        self.is_unknown = False  # it names a command that there isn't
        self._imported: list[str] = []  # modules that gave flags to the command

    def resolve_command(self, tokens: list[str]) -> list[str]:
        """Find the command; return what is to be parsed, and add errors to the options."""
        self._program = tokens[0] if tokens else ""
        helps = False
        while not self.command:
            at = preview_line(tokens, self._options, argument=len(self.names)).at
            if at == len(tokens):
                self.is_bare = len(tokens) <= len(self.names) + 1
                self._options.problems.append(
                    f"expected a command, {_describe_choices(self.table)}"
                )
                self._options.commands = len(self.names)
                return tokens
            name = tokens[at]
            if name == "help" and not self.names and name not in self.table:
                tokens = [*tokens[:at], *tokens[at + 1 :], "--help"]
                helps = True
            elif name in self.table:
                self._enter_command_or_table(name)
            else:
                near = find_nearest(name, self.table)
                meant = (
                    f"did you mean {near}?" if near else f"expected {_describe_choices(self.table)}"
                )
                self._options.problems.append(f"no such command {name or repr(name)}; {meant}")
                self._options.commands = len(self.names)
                self.is_unknown = True
                return tokens[:at]  # what is behind it may belong to it
        self._options.commands = len(self.names)
        if helps:
            return self._cut_at_argument(tokens)
        self._check_argument_count(tokens)
        return tokens

    def _cut_at_argument(self, tokens: list[str]) -> list[str]:
        """Return the tokens up to an argument behind the names, which is an error."""
        at = preview_line(tokens, self._options, argument=len(self.names)).at
        if at < len(tokens):
            why = f"expected no argument after help {' '.join(self.names)}"
            self._options.problems.append(f"{tokens[at]}: {why}")
        return tokens[:at]

    def _enter_command_or_table(self, name: str) -> None:
        before = set(all_flags())
        value = command_of([*self.names, name], self.table[name])
        self._imported = for_each(set(all_flags()) - before, lambda flag: flag.module)
        self.names.append(name)
        if isinstance(value, Command):
            self.command = value
        else:
            self.table = _check_table(value)

    def _check_argument_count(self, tokens: list[str]) -> None:
        """Find out whether the function takes as many arguments as there are."""
        assert self.command  # it was chosen
        least, most = self.command.least, self.command.most
        before = len(self.names)
        if most == 0:
            self._options.arguments = False
        elif most is not None and self._has_argument(tokens, before + most):
            noun = "argument" if most == 1 else "arguments"
            self._options.problems.append(f"expected at most {most} {noun}: {self.command.usage}")
        for missing in range(least):
            if not self._has_argument(tokens, before + missing):
                what = self.command.parameters[missing].upper()
                self._options.problems.append(f"expected an argument: {what}")
                break

    def _has_argument(self, tokens: list[str], argument: int) -> bool:
        return preview_line(tokens, self._options, argument=argument).at < len(tokens)

    # ---- Files ----

    def resolve_flag_in_file(self, name: str) -> str | None:
        """Return the flag that a name in a file means; None: it is for another command."""
        table: Any = self._top
        parts = name.split(".")
        used: list[str] = []
        while len(parts) > 1 and isinstance(table, Mapping) and parts[0] in table:
            table = table[parts[0]]
            used.append(parts.pop(0))
        if used != self.names[: len(used)] and name not in FLAGS:
            return None
        if len(parts) > 1 and isinstance(table, Mapping):
            self._refuse_misspelt(name, used, parts, table)
        return name if not used or name in FLAGS else ".".join(parts)

    def _refuse_misspelt(self, name: str, used: list[str], parts: list[str], table: Table) -> None:
        """Raise an error for a name in the table of a misspelt command, unless flags begin so."""
        near = find_nearest(parts[0], table)
        if not near or self._options.allow_pending:
            return
        starts = (f"{parts[0]}.", ".".join([*used, parts[0], ""]))
        if not any(f"{flag}.".startswith(starts) for flag in FLAGS):
            meant = ".".join([*used, near])
            message = f"{name}: no such flag; did you mean the table [{meant}]?"
            raise errors.UndefinedFlagError(message)

    # ---- Help and completion ----

    def _own_modules(self) -> list[str]:
        """Return the modules whose flags are for this command alone."""
        found = [self.command.module, *self._imported] if self.command else []
        return list(dict.fromkeys(each for each in found if each != self._caller))

    def _other_modules(self) -> list[str]:
        """Return the modules whose flags are for other commands alone."""
        own = {*self._own_modules(), self._caller, "__main__"}
        return [each for each in modules_of(self._top) if each not in own]

    def get_help_arguments(self) -> tuple[str, str, str]:
        """Return usage, first and without of help_text for this command."""
        from paddle_flags._report.help import program_command

        start = " ".join([program_command(self._program), *self.names])
        if self.command:
            behind = f" {self.command.usage}" if self.command.usage else ""
            about = f"\n\n{self.command.about}" if self.command.about else ""
            usage = f"usage: {start} [--flag=value ...]{behind}{about}"
        else:
            line = f"usage: {start} [--flag=value ...] COMMAND ..."
            above = line if self._options.usage is None or self.names else self._options.usage
            usage = f"{above}\n\ncommands:\n{self._list_commands()}"
        return usage, "|".join(self._own_modules()), "|".join(self._other_modules())

    def _list_commands(self) -> str:
        width = max(map(len, self.table), default=0)
        lines = [
            f"  {name:{width}}  {read_command_summary(self.table[name])}" for name in self.table
        ]
        return "\n".join(line.rstrip() for line in lines)

    def complete(self, tokens: list[str], token: str) -> Answer:
        """Return what a token can become; `tokens` are those before it, without the program."""
        from paddle_flags._completion import answer, flags

        line = self.resolve_command(["", *tokens])
        left_out = self._other_modules()
        if not self.command:
            names = [
                answer.Candidate(each, read_command_summary(self.table[each]))
                for each in self.table
            ]
            offered = answer.NOTHING if self.is_unknown else answer.offer_matches(names, token)
            return flags.complete_flags(tokens, token, arguments=offered, left_out=left_out)
        at = preview_line(line, self._options, argument=len(self.names) - 1).at
        return flags.complete_flags(
            tokens[at:],
            token,
            stop_at_argument=self._options.stop_at_argument,
            arguments=None if self._options.arguments else answer.NOTHING,
            left_out=left_out,
        )


def _describe_choices(table: Table) -> str:
    return ("one of " if len(table) > 1 else "") + ", ".join(table)


def _check_table(table: Any) -> Table:
    if not isinstance(table, Mapping) or not table:
        message = f"commands: {quote_value(table)}: expected a dict with a command for each name"
        raise errors.FlagArgumentError(message)
    for name in table:
        if isinstance(name, str) and "." in name:
            raise errors.FlagArgumentError(
                f"commands: {quote_value(name)}: expected a name without a dot, which separates the"
                " tables of a file"
            )
        if not isinstance(name, str) or not name or name.startswith("-"):
            raise errors.FlagArgumentError(
                f"commands: {quote_value(name)}: expected a name that does not begin with a dash"
            )
    return table
