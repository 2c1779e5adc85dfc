"""Sockets of servers: where they are, whose they are, and what is left of dead processes."""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.status import shown
from paddle_flags.errors import FlagArgumentError, FlagFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

BACKLOG = 512
_PATIENCE = 1.0  # seconds for another process that opens a socket in the same directory
_SERVERS = 100  # of one process, in the default directory


class Peer(NamedTuple):
    """Who is at the other end, as far as it is known."""

    uid: int = -1
    pid: int = -1
    command: str | None = None
    host: str | None = None
    label: str | None = None


class SocketInUseError(FlagFileError):
    """Another process listens on the socket."""


class Bound(NamedTuple):
    """A listening Unix socket."""

    socket: socket.socket
    path: str
    device: int
    inode: int
    pid: int
    """Of the process that made it, which alone removes it."""


# ---- The directory ----


def default_directory() -> str:
    """Return the directory of the sockets of this user's processes, which need not exist."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isabs(runtime):
        return os.path.join(runtime, "paddle_flags")
    return os.path.join(os.environ.get("TMPDIR") or "/tmp", f"paddle_flags-{os.geteuid()}")  # noqa: S108 - made and checked below


def open_directory(path: str, *, create: bool) -> int:
    """Return a descriptor of the default directory; raise FlagFileError if others can get at it."""
    if create:
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
            os.chmod(path, 0o700)  # whatever the umask is
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _unsafe(path, "it is not a directory") from None
        raise
    problem = _problem_of(os.fstat(descriptor))
    if problem:
        os.close(descriptor)
        raise _unsafe(path, problem)
    return descriptor


def _problem_of(state: os.stat_result) -> str:
    if state.st_uid != os.geteuid():
        return f"it belongs to uid {state.st_uid}"
    mode = stat.S_IMODE(state.st_mode)
    return "" if mode == 0o700 else f"its mode is {mode:04o}"  # noqa: PLR2004 - as mkdir makes it


def _unsafe(path: str, problem: str) -> FlagFileError:
    mine = f"a directory of uid {os.geteuid()} with mode 0700"
    return FlagFileError(f"{path}: {problem}, expected {mine}; sockets in it would not be safe")


# ---- Listening ----


def listen_default() -> Bound:
    """Listen on `<pid>.sock` in the default directory, or `<pid>-2.sock` for a second server."""
    place = default_directory()
    directory = open_directory(place, create=True)
    try:
        for name in _names():
            with suppress(_Occupied):
                return _listen_in(directory, place, name, own=True)
        message = f"{place}: this process has {_SERVERS} servers, expected fewer"
        raise FlagFileError(message)
    finally:
        os.close(directory)


def _names() -> Iterator[str]:
    yield f"{os.getpid()}.sock"
    for number in range(2, _SERVERS + 1):
        yield f"{os.getpid()}-{number}.sock"


def listen_at(path: str) -> Bound:
    """Listen on a Unix socket at a path."""
    place, name = os.path.split(os.path.abspath(path))
    if not name or path.endswith("/") or "\0" in path:
        message = f"address: {shown(path)}: expected the path of a socket"
        raise FlagArgumentError(message)
    directory = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        return _listen_in(directory, place, name)
    finally:
        os.close(directory)


class _Occupied(Exception):  # noqa: N818 - found out, not failed
    """Another server of this process listens there, or a process that has its number elsewhere."""


def _listen_in(directory: int, place: str, name: str, *, own: bool = False) -> Bound:
    path = os.path.join(place, name)
    _lock(directory)
    _remove_stale(directory, path, own=own)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(made.fileno(), 0o600)  # Linux gives the file this mode when it makes it
        made.bind(_short(directory, place, name))
        state = os.stat(name, dir_fd=directory, follow_symlinks=False)
        made.listen(BACKLOG)
        made.settimeout(0)
    except BaseException:
        made.close()
        raise
    return Bound(made, path, state.st_dev, state.st_ino, os.getpid())


def _short(directory: int, place: str, name: str) -> str:
    """Return a path that leads to the open directory, and is short enough for sun_path."""
    through = f"/proc/self/fd/{directory}"
    return f"{through}/{name}" if os.path.isdir(through) else os.path.join(place, name)


def _lock(directory: int) -> None:
    """Keep other processes from removing stale sockets, until the directory is closed.

    The lock only orders processes that start at once. Whoever may open a directory may also lock
    it for ever, so nobody waits long.
    """
    import fcntl  # noqa: PLC0415 - elsewhere than on Linux, serve() says why it doesn't work

    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.01)
        else:
            return


def _remove_stale(directory: int, path: str, *, own: bool) -> None:
    """Remove the socket of a dead process; raise FlagFileError if something else is there."""
    name = os.path.basename(path)
    try:
        state = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(state.st_mode) or state.st_uid != os.geteuid():
        what = "is no socket" if not stat.S_ISSOCK(state.st_mode) else f"is of uid {state.st_uid}"
        message = f"{path}: {what}, expected nothing or a socket of a dead process"
        raise FlagFileError(message)
    pid = _listener(_short(directory, os.path.dirname(path), name))
    if own and pid in (os.getpid(), 0):  # 0: of a container with numbers of its own
        raise _Occupied
    if pid is not None:
        who = f"process {pid}" if pid > 0 else "another process"
        message = f"{path}: {who} listens there, expected another path"
        raise SocketInUseError(message)
    os.unlink(name, dir_fd=directory)


def _listener(path: str) -> int | None:
    """Return the process that listens at the path, None if none does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PATIENCE)
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            return None
        except OSError:  # its queue is full, so somebody is there
            return -1
        return credentials(probe)[0]


def remove(bound: Bound) -> None:
    """Remove the file of the socket, unless another process made it or has put its own there."""
    if bound.pid != os.getpid():
        return
    with suppress(OSError):
        state = os.stat(bound.path, follow_symlinks=False)
        if (state.st_dev, state.st_ino) == (bound.device, bound.inode):
            os.unlink(bound.path)


# ---- Who connects ----


def credentials(connection: socket.socket) -> tuple[int, int]:
    """Return the process and the user at the other end of a Unix socket, when it was made."""
    size = struct.calcsize("iII")
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    pid, uid, _ = struct.unpack("iII", data)
    return pid, uid


def peer_of(connection: socket.socket) -> Peer:
    """Return who is at the other end."""
    if connection.family != socket.AF_UNIX:
        return Peer(host=str(connection.getpeername()[0]))
    pid, uid = credentials(connection)
    return Peer(uid, pid if pid > 0 else -1, command_of(pid))


def command_of(pid: int) -> str | None:
    """Return the name of a process, None if it is gone."""
    with suppress(OSError), open(f"/proc/{pid}/comm", "rb") as file:
        return file.read(64).rstrip(b"\n").replace(b"\0", b"").decode("utf-8", "replace")
    return None
