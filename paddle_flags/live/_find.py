"""Where processes serve their flags, and which there are; none of them is trusted."""

from __future__ import annotations

import glob
import os
import re
import stat
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from paddle_flags.errors import FlagArgumentError, FlagUnsupportedError
from paddle_flags.extend import quote_value
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._rpc import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

_FOLDER = "paddle_flags"
_AT_ONCE = 32  # sockets that are asked at a time
_PATIENCE = 1.0  # seconds for all that one of them says
_LONGEST = 1 << 20  # bytes of that


def resolve_listen_address(target: int | str) -> str:
    """Return where a target listens: the path of its socket, or a URL."""
    text = str(target)
    if re.fullmatch(r"[0-9]{1,10}", text):
        return _find_socket_by_pid(int(text))
    if is_url(text):
        return _check_url(text)
    if not text or "\0" in text:
        message = f"{quote_value(text)}: expected a PID, the path of a socket, or a URL"
        raise FlagArgumentError(message)
    return os.path.abspath(text)


def is_url(text: str) -> bool:
    """Return whether a target is a URL."""
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text))


def _check_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise FlagArgumentError(f"{quote_value(text)}: {error}") from None
    if "@" in parts.netloc:
        raise FlagArgumentError(
            "a secret in a URL can be seen by everybody on this machine; use a file with the"
            " token, or $PADDLE_FLAGS_LIVE_TOKEN"
        )
    if not is_whole or not re.fullmatch(r"[A-Za-z0-9._~:\[\]/%-]*", text):
        raise FlagArgumentError(f"{quote_value(text)}: expected a URL as http://HOST:PORT")
    return text.rstrip("/")


# ---- Directories ----


def socket_folders(*, all_users: bool = False) -> list[str]:
    """Return the directories in which processes of this user put their sockets.

    With `all_users`, root gets those of all users. A directory that somebody else could write to is
    left out.
    """
    if not hasattr(os, "geteuid"):
        message = "processes are found by their sockets on Linux only; use a URL here"
        raise FlagUnsupportedError(message)
    user = os.geteuid()
    temporary = list(dict.fromkeys([tempfile.gettempdir(), "/tmp"]))  # noqa: S108 - checked below
    found = [os.path.join(root, f"{_FOLDER}-{user}") for root in temporary]
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    found[:0] = [os.path.join(root, _FOLDER) for root in (runtime, f"/run/user/{user}") if root]
    if all_users and user == 0:
        found += sorted(glob.glob(f"/run/user/*/{_FOLDER}"))
        for root in temporary:
            found += sorted(glob.glob(os.path.join(glob.escape(root), f"{_FOLDER}-*")))
    return [folder for folder in dict.fromkeys(found) if _is_owner_only_writable(folder, user)]


def _is_owner_only_writable(folder: str, user: int) -> bool:
    """Return whether only the owner can have made the files in a directory."""
    try:
        about = os.lstat(folder)
    except OSError:
        return False
    writable = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return stat.S_ISDIR(about.st_mode) and not writable and (user in (0, about.st_uid))


def find_sockets(*, all_users: bool = False) -> list[str]:
    """Return the paths of all sockets in these directories, also those of dead processes."""
    found: list[str] = []
    for folder in socket_folders(all_users=all_users):
        try:
            names = sorted(os.listdir(folder), key=lambda name: (len(name), name))
        except OSError:
            continue
        paths = (os.path.join(folder, name) for name in names if name.endswith(".sock"))
        found += filter(is_socket, paths)
    return found


def is_socket(path: str) -> bool:
    """Return whether there is a socket at a path."""
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def _find_socket_by_pid(pid: int) -> str:
    """Return the path of the socket of a process."""
    places = socket_folders(all_users=True)
    for folder in places:
        path = os.path.join(folder, f"{pid}.sock")
        if is_socket(path):
            return path
    if not os.path.exists(f"/proc/{pid}"):
        message = f"{pid}: no such process"
    else:
        message = (
            f"{pid}: the process doesn't serve its flags at the default place: there is no"
            f" {pid}.sock in {' or '.join(places) or 'a directory of yours'}; it serves them"
            " there if it calls pf.serve(), or if it is a Python program started with"
            " PADDLE_FLAGS_LIVE=1; if it serves them elsewhere, use the path of the socket or the"
            f" URL; 'paddle-flags list --attach {pid}' reads them from its memory"
        )
    raise LiveConnectionError(message)


# ---- Processes ----


class Found(NamedTuple):
    """What is behind a socket."""

    path: str
    owner: int | None
    """The user whose socket it is, if it is known."""
    process: dict[str, Any]
    """What the process says of itself, as in `hello`, without `you`. Empty after a problem."""
    problem: str


def find_processes(*, all_users: bool = False, paths: Sequence[str] | None = None) -> list[Found]:
    """Ask sockets, by default all of this user; those of dead processes are left out."""
    from concurrent.futures import ThreadPoolExecutor

    asked = find_sockets(all_users=all_users) if paths is None else paths
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(_probe_socket, asked))
    return [each for each in answers if each is not None]


def _probe_socket(path: str) -> Found | None:
    process: dict[str, Any] = {}
    problem = ""
    owner: int | None = None
    try:
        owner = os.lstat(path).st_uid
        process = Connection(path, _PATIENCE, _LONGEST).ask_once("hello", {})
        process.pop("you", None)
    except LiveError as error:
        if isinstance(error.__cause__, (ConnectionRefusedError, FileNotFoundError)):
            return None
        problem = str(error).removeprefix(f"{path}: ")
    except FileNotFoundError:
        return None
    return Found(path, owner, process, problem)
