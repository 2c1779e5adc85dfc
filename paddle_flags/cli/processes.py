"""The processes that serve their flags: which there are, and which one a name means."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from paddle_flags._core.names import suggest_name
from paddle_flags._core.status import quote_value
from paddle_flags.cli.safe_output import Report, Table
from paddle_flags.cli.target import EXPECTED
from paddle_flags.errors import FlagArgumentError
from paddle_flags.live._errors import LiveConnectionError
from paddle_flags.live._find import find_processes, is_socket

if TYPE_CHECKING:
    import argparse

    from paddle_flags.live._find import Found


def resolve_process_address(text: str) -> str:
    """Return a PID, or the path of a socket, which a program's name stands for."""
    if not text:
        raise FlagArgumentError(f"expected {EXPECTED}, not an empty argument")
    is_path = "/" in text or text.endswith(".sock") or is_socket(text)
    if text.isdigit() or (is_path and not os.path.isfile(text)):
        return text
    found = [] if is_path else find_by_name(text)
    if len(found) == 1:
        return found[0].path
    if found:
        pids = ", ".join(str(each.process["pid"]) for each in found)
        message = f"{text}: {len(found)} processes have this name: {pids}; name one by its PID"
        raise FlagArgumentError(message)
    if os.path.isfile(text):
        message = f"{text}: is a file, expected {EXPECTED}; to load a plugin, use -p {text}"
        if not is_path:
            message += "; no process of yours with this name serves its flags"
        raise FlagArgumentError(message)
    near = suggest_name(text, _names_of_processes())
    message = f"{quote_value(text)}: no process of yours with this name serves its flags{near}"
    raise LiveConnectionError(message)


def _names_of_processes() -> set[str]:
    """Return the names of all programs, with and without their suffixes."""
    programs = [each.process["program"] for each in find_processes() if each.process]
    return {name for each in programs for name in (each, os.path.splitext(each)[0])}


def find_by_name(name: str) -> list[Found]:
    """Return the processes whose program has a name, with or without its suffix."""
    serving = [each for each in find_processes() if each.process]
    exact = [each for each in serving if each.process["program"] == name]
    return exact or [e for e in serving if os.path.splitext(e.process["program"])[0] == name]


# ---- Without a target ----


def list_processes(options: argparse.Namespace) -> Report:
    """Return the processes that serve their flags in the directories of users."""
    if options.all_users and getattr(os, "geteuid", lambda: 1)() != 0:
        raise FlagArgumentError("--all-users: only root may ask the processes of others")
    found = find_processes(all_users=options.all_users)
    rows = [
        {**each.process, "user": _user_name(each.owner), "socket": each.path}
        for each in found
        if each.process
    ]
    parts = [_processes_table(rows)] if rows else []
    remarks = [] if rows or options.json else ["no process of yours serves its flags"]
    remarks += [f"left out: {each.path}: {each.problem}" for each in found if each.problem]
    return Report({"processes": rows}, parts, remarks)


def _user_name(uid: int | None) -> str:
    import pwd

    try:
        return "" if uid is None else pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _processes_table(rows: list[dict[str, Any]]) -> Table:
    titles = ["pid", "program", "flags", "temporary", "user", "socket"]
    if len({each["user"] for each in rows}) == 1:
        titles.remove("user")
    usual = all(os.path.basename(each["socket"]) == f"{each['pid']}.sock" for each in rows)
    if usual:  # the PID finds it
        titles.remove("socket")
    return Table(titles, [[str(each[title]) for title in titles] for each in rows])
