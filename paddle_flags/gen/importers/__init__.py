"""Writing flags.yaml for existing plugins, programs and parsers.

An importer returns a normal form in which everything knows where it was found, and reports
what the files can't express. `render_without_refused` runs it through the stages that a file goes
through, with those places in all messages, and leaves out what is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.check import check_consistency
from paddle_flags.gen.emit import to_trees, to_yaml
from paddle_flags.gen.normal import normalize
from paddle_flags.gen.problems import GenerateError, Problems
from paddle_flags.gen.read import Source, import_fields_module
from paddle_flags.gen.tree import Scalar, Sequence

if TYPE_CHECKING:
    from paddle_flags.gen.model import FlagSet, Place
    from paddle_flags.gen.tree import Node

NO_HELP = "No help."  # the help of a flag that has none
UNKNOWN_VERSION = "0.0.0"
_NO_TEXT = re.compile("[\ud800-\udfff]")
_PARTS = ("flags", "imports", "aliases", "renamed", "retired", "deprecated")
_OF_FLAGS = ("aliases", "renamed", "deprecated")  # by their field `flag`


@dataclass
class Found:
    """The result of an importer: flags, and what flags.yaml can't express about them."""

    flags: FlagSet
    losses: Problems = field(default_factory=Problems)
    notes: list[str] = field(default_factory=list)
    """About what isn't in flags.yaml, and needn't be."""

    def report_loss(self, place: Place, what: str, found: object, expected: str) -> None:
        """Report what flags.yaml can't express; the flag itself is kept."""
        self.losses.add(place, what, found, expected)

    def report_left_out(self, place: Place, what: str, found: object, expected: str) -> None:
        """Report why a flag is left out."""
        self.losses.add(place, what, found, f"{expected}; it is left out")


def render_without_refused(found: Found) -> dict[str, str]:
    """Return the texts of the files; what the stages refuse is reported and left out.

    Raises GenerateError when the set itself is refused, as for its name.
    """
    while True:
        trees = to_trees(found.flags)
        try:
            _check_trees(trees)
        except GenerateError as error:
            _drop_refused(found, error)
        else:
            return {name: to_yaml(tree) for name, tree in trees.items()}


def _check_trees(trees: dict[str, Any]) -> None:
    problems = Problems()
    for tree in trees.values():
        _check_text(tree, problems)
    problems.raise_if_any()
    reads: Any = {
        name: import_fields_module().read_file_record(name, tree, problems)
        for name, tree in trees.items()
    }
    problems.raise_if_any()
    source = Source(reads["flags"], reads.get("flags_compat"))
    check_consistency(normalize(source, problems), problems)
    problems.raise_if_any()


def _check_text(node: Node, problems: Problems) -> None:
    """Report bytes that aren't text; Python holds them as surrogates."""
    if isinstance(node, Scalar):
        if not node.isascii() and _NO_TEXT.search(node):
            problems.add(node.place, "", "bytes that aren't UTF-8", "text")
        return
    for each in node if isinstance(node, Sequence) else node.values():
        _check_text(each, problems)


def _drop_refused(found: Found, error: GenerateError) -> None:
    """Leave out what the problems are about; each knows the place of its record."""
    records = {id(each.at[""]): each for part in _PARTS for each in getattr(found.flags, part)}
    bad = {id(place): text for place, text in error.found if id(place) in records}
    if not bad:
        raise error
    for place, text in error.found:
        if place is not None and id(place) in bad:
            what, _, said = text.partition(": found ")
            thing, _, expected = said.rpartition(", expected ")
            found.report_left_out(place, what, thing, expected)
    gone = {records[each].name for each in bad if hasattr(records[each], "type")}
    for part in _PARTS:
        kept = [
            each
            for each in getattr(found.flags, part)
            if id(each.at[""]) not in bad and not (part in _OF_FLAGS and each.flag in gone)
        ]
        setattr(found.flags, part, kept)
