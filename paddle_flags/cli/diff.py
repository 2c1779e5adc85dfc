"""The flags that two processes don't have in common."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags.cli.batch import is_selected
from paddle_flags.cli.flag_text import check_names, format_flag_value, is_sensitive
from paddle_flags.cli.safe_output import Report, Table
from paddle_flags.cli.target import Target
from paddle_flags.errors import FlagArgumentError, FlagFileError
from paddle_flags.live._documents import Flags, check_document
from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping

    Flag = Mapping[str, Any] | None

_SIDES = ("a", "b")


class File(Target):
    """A file that `list --json` has written, or `-`, which is stdin."""

    kind = "a file"

    def read(self) -> dict[str, Any]:
        """Return the document in the file."""
        try:
            if self.text == "-":
                document = json.load(sys.stdin)
            else:
                with open(self.text, encoding="utf-8") as file:
                    document = json.load(file)
            return dict(check_document(document, Flags))
        except OSError as error:
            raise FlagFileError(f"{self.text}: {error.strerror}") from None
        except (ValueError, RecursionError, LiveError):
            raise FlagFileError(f"{self.text}: expected what 'list --json' writes") from None

    def do_diff(self) -> Report:
        """Compare it with another target."""
        return compare_targets(self, self.options)


def is_file_target(text: str) -> bool:
    """Return whether a target is a file."""
    try:
        return text == "-" or (stat.S_ISREG(os.stat(text).st_mode) and not text.isdigit())
    except (OSError, ValueError):
        return False


def compare_targets(one: Target, options: argparse.Namespace) -> Report:
    """Return the flags in which two differ; the status is 1 if there are any, as of diff."""
    if not options.arguments:
        raise FlagArgumentError(f"expected a second TARGET to compare with {one.text}")
    second, *patterns = options.arguments
    other = one.find(second)
    documents = [_read_target(one), _read_target(other)]
    sides = [{flag["name"]: flag for flag in document["flags"]} for document in documents]
    check_names(patterns, [*sides[0].values(), *sides[1].values()])
    names = [name for name in {**sides[0], **sides[1]} if is_selected(name, patterns)]
    pairs = {name: (sides[0].get(name), sides[1].get(name)) for name in names}
    sensitive = [
        name
        for name, both in pairs.items()
        if all(both) and any(map(is_sensitive, filter(None, both)))
    ]
    different = {
        name: both
        for name, both in pairs.items()
        if name not in sensitive and _make_comparison_key(both[0]) != _make_comparison_key(both[1])
    }
    remarks = []
    if sensitive and not options.json:
        remarks = [f"not compared, as they are sensitive: {', '.join(sensitive)}"]
    return Report(
        _differences_document(documents, different, sensitive),
        [_differences_table(different, [one.text, other.text])] if different else [],
        remarks,
        status=1 if different else 0,
    )


def _read_target(side: Target) -> dict[str, Any]:
    read: Callable[[], dict[str, Any]] | None = getattr(side, "read", None)
    if read is None:
        message = f"{side.text} is a fleet, whose members 'diff' compares if it stands alone"
        raise FlagArgumentError(message)
    return read()


def _make_comparison_key(flag: Flag) -> object:
    """Return what is compared: the exact text, or that there is none."""
    return None if flag is None else (flag.get("text"), flag.get("value") is None)


def _differences_table(different: Mapping[str, tuple[Flag, Flag]], targets: list[str]) -> Table:
    rows = []
    for name, both in different.items():
        row = [name]
        for flag in both:
            if flag is None:
                row += ["", "not defined"]
            else:
                row += [format_flag_value(flag), _format_origin(flag)]
        rows.append(row)
    a, b = targets
    return Table(("flag", a, "source", b, "source"), rows)


def _format_origin(flag: Mapping[str, Any]) -> str:
    place = f", {flag['place']}" if flag.get("place") else ""
    return str(flag["source"]) + place


def _differences_document(
    documents: list[dict[str, Any]],
    different: Mapping[str, tuple[Flag, Flag]],
    sensitive: list[str],
) -> dict[str, Any]:
    keys = ("value", "text", "source", "place")
    listed = [
        {
            "name": name,
            **{
                side: None if flag is None else {key: flag[key] for key in keys if key in flag}
                for side, flag in zip(_SIDES, both)
            },
        }
        for name, both in different.items()
    ]
    processes = {side: each.get("process") for side, each in zip(_SIDES, documents)}
    return {**processes, "different": listed, "sensitive": sensitive}
