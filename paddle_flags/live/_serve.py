"""`serve`: a server in this process."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from paddle_flags._core.frames import public, public_class
from paddle_flags._core.missing import importing
from paddle_flags._core.status import shown
from paddle_flags.errors import FlagArgumentError, FlagTypeError, FlagUnsupportedError, FlagWarning
from paddle_flags.live import _sockets, _tcp
from paddle_flags.live._application import Application
from paddle_flags.live._audit import make_sink
from paddle_flags.live._patterns import join_patterns
from paddle_flags.live._threads import allocate_reentrant_lock, fork_lock
from paddle_flags.live._tokens import Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Literal

    from paddle_flags.live._audit import Audit
    from paddle_flags.live._server import Listener

    Address = str | os.PathLike[str] | tuple[str, int]


class _Options(NamedTuple):
    """What a server was asked for; a forked child begins with the same."""

    address: Address | None
    tokens: Mapping[str, Token] | None
    hosts: list[str] | None
    settable: str
    audit: Callable[[bytes], object]
    reopens: bool


_servers: list[Server] = []  # that are open in this process
_lock = allocate_reentrant_lock()  # of that list


@public_class
class Server:
    """A server of the flags of this process, until `close`, the end of a `with` block, or exit."""

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._bound: _sockets.Bound | None = None
        self._listener: Listener | None = None
        self._ended = threading.Event()
        self._address = ""
        self._url: str | None = None
        with fork_lock:  # a child closes the servers that it finds listed
            self._start(options.address)
            _servers.append(self)

    def _start(self, address: Address | None) -> None:
        from paddle_flags.live._server import Listener  # noqa: PLC0415 - it needs h11

        where = _tcp.parse_address(address)
        tokens, hosts = self._options.tokens, self._options.hosts
        if isinstance(where, _tcp.Port):
            made = _tcp.listen(where, tokens, hosts)
            allowed: str | None = _tcp.hosts_text(hosts)
            self._address = _tcp.address_text(made)
            self._url = f"http://{self._address}/"
        else:
            _tcp.refuse_on_unix(tokens, hosts)
            bound = _sockets.listen_default() if where is None else _sockets.listen_at(where)
            self._bound, made, allowed = bound, bound.socket, None
            self._address = bound.path
        try:
            application = Application(
                settable=self._options.settable,
                hosts=allowed,
                tokens=dict(tokens or {}),
                audit=self._options.audit,
            )
            self._listener = Listener(made, application)
        except BaseException:
            made.close()
            self._unlink()
            raise
        util: Any = sys.modules.get("multiprocessing.util")
        if util is not None:  # its children may end without atexit
            util.register_after_fork(self, Server._close_with_process)

    def _unlink(self) -> None:
        bound, self._bound = self._bound, None  # a signal handler may close, too
        if bound is not None:
            _sockets.remove(bound)

    @property
    def address(self) -> str:
        """The path of the Unix socket, or host and port, as in `"127.0.0.1:8080"`."""
        return self._address

    @property
    def url(self) -> str | None:
        """What a browser opens; None for a Unix socket, for which there is `paddle-flags open`."""
        return self._url

    def close(self) -> None:
        """Close all connections and end the thread; temporary changes still end in time.

        Closing again does nothing.
        """
        with _lock:
            if self in _servers:
                _servers.remove(self)
            listener, self._listener = self._listener, None
        self._unlink()
        if listener is not None:  # a signal handler may come in between and close again
            listener.stop()
            self._ended.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the server is closed; return False if it isn't after `timeout` seconds."""
        return self._ended.wait(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self._listener is not None else ": closed"
        return f"<Server {self._url or self._address}{state}>"

    # ---- a forked child ----

    def _abandon(self) -> None:
        """Close what belongs to the parent."""
        listener, self._listener = self._listener, None
        self._bound = None
        self._ended = threading.Event()
        if listener is not None:
            _abandoned.append(listener)
            listener.abandon()
        if not self._options.reopens:
            self._ended.set()

    def _reopen(self) -> None:
        path = self._options.address
        self._start(None if path is None else f"{os.fspath(path)}.{os.getpid()}")  # type: ignore[arg-type]

    def _close_with_process(self) -> None:
        util: Any = sys.modules["multiprocessing.util"]
        util.Finalize(self, self.close, exitpriority=0)


@public
def serve(  # noqa: PLR0913 - a keyword for each choice
    address: Address | None = None,
    *,
    tokens: Mapping[str, Token] | None = None,
    hosts: Iterable[str] | None = None,
    settable: str | Iterable[str] = (),
    audit: Audit | None = None,
    on_fork: Literal["close", "reopen"] = "close",
) -> Server:
    """Serve the flags of this process, from a thread of its own.

    `address` is the path of a Unix socket, which has a `/`, or `"host:port"`, or `(host, port)`.
    Left out, it is a socket where `paddle-flags` finds it, by the number of the process. Only
    processes of the same user and of root may connect to a Unix socket. TCP needs `tokens`: a
    Token for each label. It listens on loopback addresses only, unless `hosts` has the names by
    which clients call this server.

    `settable` has names and patterns of flags that clients may change besides those with the
    attribute `runtime`. Each change is an event for the logger `paddle_flags.live` and for `audit`:
    the path of a file, an AuditFile, a function that takes the event as a dictionary, or a list of
    these.

    A forked child closes the server, or with `on_fork="reopen"` serves on a socket of its own.

    Raises FlagArgumentError, FlagFileError, OSError, or ImportError if h11 is missing.
    """
    if sys.platform != "linux":
        message = "serve: works on Linux only"
        raise FlagUnsupportedError(message)
    _check_h11()
    _prepare()
    if on_fork not in ("close", "reopen"):
        message = f"on_fork: {shown(on_fork)}: expected 'close' or 'reopen'"
        raise FlagArgumentError(message)
    reopens = on_fork == "reopen"
    if reopens and isinstance(_tcp.parse_address(address), _tcp.Port):
        message = "on_fork: 'reopen' needs a Unix socket: a child can't have its parent's port"
        raise FlagArgumentError(message)
    options = _Options(
        address,
        _checked(tokens),
        None if hosts is None else _tcp.check_names(hosts),
        join_patterns(settable),
        make_sink(audit),
        reopens,
    )
    return Server(options)


def _check_h11() -> None:
    with importing("serve", "h11", "live"):
        import paddle_flags.live._server  # noqa: F401, PLC0415 - h11 is an extra


def _checked(tokens: Mapping[str, Token] | None) -> Mapping[str, Token] | None:
    for label, token in (tokens or {}).items():
        if not isinstance(label, str) or not isinstance(token, Token):
            message = 'tokens: expected a Token for each label, as in {"ops": Token("...")}'
            raise FlagTypeError(message)
    return None if tokens is None else dict(tokens)


def open_servers() -> list[Server]:
    """Return the servers that are open in this process."""
    with _lock:
        return list(_servers)


# ---- Exit and fork ----

_abandoned: list[Listener] = []  # in a forked child: of its parent, whose threads it doesn't have
_prepared = False


def _prepare() -> None:
    """Register what happens at exit and at a fork, once."""
    global _prepared  # noqa: PLW0603 - once per process
    if _prepared:
        return
    _prepared = True
    atexit.register(_close_all)
    os.register_at_fork(
        before=fork_lock.acquire,
        after_in_parent=fork_lock.release,
        after_in_child=_after_fork,
    )


def _close_all() -> None:
    while _servers:
        _servers[0].close()


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - another thread may have had it
    _lock = allocate_reentrant_lock()
    fork_lock.release()
    servers = list(_servers)
    _servers.clear()
    for server in servers:
        server._abandon()  # noqa: SLF001 - of this file
    for server in servers:
        if not server._options.reopens:  # noqa: SLF001
            continue
        try:
            server._reopen()  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - the child has other things to do
            message = f"the flags of the forked process {os.getpid()} are not served: {error}"
            warnings.warn(FlagWarning(message), stacklevel=2)
            server._ended.set()  # noqa: SLF001
        else:
            _servers.append(server)
