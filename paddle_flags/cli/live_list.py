"""The command live list: the flags of a process, or the processes that serve theirs."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from paddle_flags._report.facts import one_line
from paddle_flags._report.table import table
from paddle_flags.cli.live_common import check_names, client_of, end_text, names_of, value_of
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.remote_common import matches, plain, print_json
from paddle_flags.errors import FlagArgumentError
from paddle_flags.live._client import Client
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._find import sockets

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

_AT_ONCE = 16  # processes that are asked at a time

# What the lists of names in a document that was read from memory mean.
_REMARKS = {
    "torn": "changed while they were read, so these may be wrong or missing",
    "unread": "only the program can read these, so they may be out of date",
    "cut": "too long, so these were cut",
}


def run(options: argparse.Namespace) -> int:
    """List flags or processes; return the exit status."""
    if options.attach is not None:
        return _list_attached(options)
    if options.target is None:
        return _list_processes(options)
    client = client_of(options)
    document: dict[str, Any] = {"process": client.process(), **client.flags()}
    _print_flags(document, options)
    return 0


# ---- Flags ----


def _print_flags(document: dict[str, Any], options: argparse.Namespace) -> None:
    check_names(options.patterns, document["flags"])
    flags = [each for each in document["flags"] if _is_wanted(each, options)]
    if options.json:
        print_json({**document, "flags": flags})
        return
    program = str(document.get("process", document).get("program", ""))
    print_text(flags_table(flags, program))


def _is_wanted(flag: dict[str, Any], options: argparse.Namespace) -> bool:
    names = names_of(flag)
    if not any(matches(name, options.patterns) for name in names):
        return False
    out_of_sight = "retired" in flag or "hidden" in flag.get("marks", ())
    named = {plain(name) for name in names} & {plain(each) for each in options.patterns}
    return (
        (options.all or options.json or not out_of_sight or bool(named))
        and (not options.changed or is_changed(flag))
        and (not options.settable or flag["settable"])
        and (not options.temporary or "temporary" in flag)
    )


def is_changed(flag: dict[str, Any]) -> bool:
    """Return whether a flag has another value than that of its definition."""
    return bool(flag["source"] != "default")


def flags_table(flags: Iterable[dict[str, Any]], program: str) -> str:
    """Return the table of flags: those that were changed first, the program's own before others."""
    rows = [
        (
            one_line(flag["name"]),
            one_line(f"{flag['items']},..." if "items" in flag else flag["type"]),
            value_of(flag),
            one_line(flag["source"]),
            one_line(os.path.basename(flag.get("module", ""))),
            end_text(flag),
        )
        for flag in _grouped(flags, program)
    ]
    titles = ("flag", "type", "value", "source", "module", "left")
    has_left = any(row[-1] for row in rows)
    return table(titles, rows) if has_left else table(titles[:-1], [row[:-1] for row in rows])


def _grouped(flags: Iterable[dict[str, Any]], program: str) -> list[dict[str, Any]]:
    """Order flags by module and category, as help does."""
    places: dict[tuple[str, str], int] = {}
    modules: dict[str, int] = {}

    def key(flag: dict[str, Any]) -> tuple[bool, bool, int, bool, int]:
        module, category = flag.get("module", ""), flag.get("category", "")
        return (
            not is_changed(flag),
            os.path.basename(module) != program,
            modules.setdefault(module, len(modules)),
            bool(category),
            places.setdefault((module, category), len(places)),
        )

    return sorted(flags, key=key)


def _list_attached(options: argparse.Namespace) -> int:
    """List the flags that are in the memory of a process."""
    if options.target is not None:  # it is a pattern: there is no other target
        options.patterns = [options.target, *options.patterns]
    if not (options.attach.isascii() and options.attach.isdigit()):
        message = f"--attach: {one_line(options.attach)}: expected a PID"
        raise FlagArgumentError(message)
    from paddle_flags.live._attach import read  # noqa: PLC0415 - seldom used

    document = read(int(options.attach))
    _print_flags(document, options)
    for key, remark in _REMARKS.items():
        names = document.get(key)
        if names and not options.json:
            print_error(f"{remark}: {one_line(', '.join(names))}")
    if not document["complete"] and not options.json:
        print_error("not all flags could be read")
    return 0


# ---- Processes ----


def _list_processes(options: argparse.Namespace) -> int:
    """List the processes that serve their flags in the directories of users."""
    if options.changed or options.settable or options.temporary or options.all:
        message = "expected a TARGET, of which to list the flags"
        raise FlagArgumentError(message)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(lambda path: _ask(path, options.timeout), sockets()))
    found = [each for each in answers if isinstance(each, dict)]
    if options.json:
        print_json({"processes": found})
    elif found:
        print_text(_processes_table(found))
    else:
        print_error("no process of yours serves its flags")
    for each in answers:
        if isinstance(each, LiveError):
            print_error(f"left out: {one_line(str(each))}")
    return 0


def _ask(path: str, timeout: float) -> dict[str, Any] | LiveError | None:
    """Return what a process says about itself; None if nobody listens at its socket."""
    client = Client(path, timeout=timeout)
    try:
        process, flags = client.process(), client.flags()["flags"]
    except LiveConnectionError as error:
        gone = isinstance(error.__cause__, (ConnectionRefusedError, FileNotFoundError))
        return None if gone else error
    except LiveError as error:
        error.args = (f"{path}: {error}",)
        return error
    return {
        "pid": process["pid"],
        "program": process["program"],
        "flags": process["flags"],
        "changed": sum(is_changed(dict(flag)) for flag in flags),
        "temporary": process["temporary"],
        "user": _user_of(path),
        "socket": path,
    }


def _user_of(path: str) -> str:
    import pwd  # noqa: PLC0415 - not on every system

    try:
        owner = os.lstat(path).st_uid
    except OSError:
        return ""
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)


def _processes_table(found: list[dict[str, Any]]) -> str:
    titles = ["pid", "program", "flags", "changed", "temporary", "user", "socket"]
    if len({each["user"] for each in found}) == 1:
        titles.remove("user")
    usual = all(os.path.basename(each["socket"]) == f"{each['pid']}.sock" for each in found)
    if usual:  # the PID finds it
        titles.remove("socket")
    rows = [[one_line(str(each[title])) for title in titles] for each in found]
    return table(titles, rows)
