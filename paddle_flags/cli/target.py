"""What the verbs act on: a process, a gateway, a fleet, or a process that serves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags.cli.batch import raise_together
from paddle_flags.cli.options import PROGRAM
from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from typing import ClassVar

    from paddle_flags.cli.safe_output import Report

    Find = Callable[[str], "Target"]

EXPECTED = "a PID, a program's name, a socket, or the URL of a gateway or a fleet"
NEEDS_TOKEN = "expected a token that the gateway knows: see --token-file"


def refusal_text(error: Exception) -> str:
    """Return what is wrong in the words of the command line."""
    problem = getattr(error, "problem", None)
    return NEEDS_TOKEN if problem is not None and problem.type == "token" else str(error)


class Target:
    """What a command line names. A verb that it can do is a method `do_VERB`."""

    kind: ClassVar[str] = ""
    """As in "4711 is a process"."""
    instead: ClassVar[Mapping[str, str]] = {}
    """For each verb that it can't do, what is to be done."""
    no_options: ClassVar[tuple[str, ...]] = ()
    """Options that make no sense here."""

    def __init__(self, text: str, options: argparse.Namespace, find: Find) -> None:
        self.text = text
        self.options = options
        self.find = find
        """Returns another target that the command line names."""

    def run_verb(self, verb: str) -> Report:
        """Do what a verb means."""
        method: Callable[[], Report] | None = getattr(self, f"do_{verb}", None)
        if method is None:
            instead = self.instead[verb].format(command=PROGRAM, target=self.text)
            raise FlagArgumentError(f"{self.text} is {self.kind}, which has no '{verb}'; {instead}")
        given = {key for key, each in vars(self.options).items() if not _is_unset(each)}
        problems = [
            f"--{each.replace('_', '-')} doesn't go with {self.text}, which is {self.kind}"
            for each in self.no_options
            if each in given
        ]
        raise_together(FlagArgumentError, problems)
        return method()

    def completion_candidates(self) -> list[Mapping[str, Any]]:
        """Return the flags that a shell offers, as documents with a name."""
        raise NotImplementedError


def _is_unset(value: object) -> bool:
    """Return whether an option isn't on the command line; 0 may be."""
    return value is None or value is False
