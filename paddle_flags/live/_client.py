"""A client of processes that serve their flags, over a Unix socket or through a gateway."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags.extend import format_argument, hides_internal_frames, quote_value
from paddle_flags.live._documents import Event
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._find import is_url, resolve_listen_address
from paddle_flags.live._rpc import Connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from paddle_flags.live._documents import Change, ChangeResult, FlagDetails, Flags, Process
    from paddle_flags.live._rest import RestLink

    NewValue = bool | int | float | str | list[Any] | tuple[Any, ...] | None

ALIVE = 45.0
"""Seconds without a sign of life after which a stream counts as lost; one comes every 15."""

_SLOWEST = 5.0  # seconds between attempts to reconnect
_LONGEST_WAIT = 3600.0
_SHARE = 0.9  # of the timeout: the process says for what a change waits, before the client gives up


@hides_internal_frames
class Client:
    """The flags of another process.

    `target` is a PID, the path of a Unix socket, or the URL of a gateway, such as
    `http://127.0.0.1:8080/4711`, which may need a token. `timeout` is in seconds, for a whole
    request. All methods raise LiveConnectionError if the process can't be reached, and LiveError
    if it refuses. Any thread may call them.
    """

    def __init__(
        self, target: int | str, *, token: str | None = None, timeout: float = 10.0
    ) -> None:
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            raise errors.FlagArgumentError("token: expected printable ASCII without blanks")
        self._target = resolve_listen_address(target)
        self._timeout = timeout
        self._rest: RestLink | None = None
        if is_url(self._target):
            from paddle_flags.live import _rest

            self._rest = _rest.RestLink(self._target, token, timeout)

    def __repr__(self) -> str:
        """Return the target, in what makes such a client."""
        return f"Client({self._target!r})"

    @property
    def target(self) -> str:
        """The path of the socket, or the URL."""
        return self._target

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        if self._rest is not None:
            return self._rest.ask(method, params)
        return Connection(self._target, self._timeout).ask_once(method, params)

    def _events(self, since: str | None, alive: float) -> Iterator[Event]:
        if self._rest is not None:
            return self._rest.events(since, alive)
        return Connection(self._target, self._timeout).events(since, alive)

    def process(self) -> Process:
        """Return what the process is."""
        answer: Process = self._ask("hello", {})
        return answer

    def flags(self, since: str | None = None) -> Flags:
        """Return all flags, or those that changed after `since`, which is `EPOCH-REVISION`."""
        answer: Flags = self._ask("flags.list", {} if since is None else {"since": since})
        return answer

    def flag(self, name: str) -> FlagDetails:
        """Return a flag with its history."""
        flag: FlagDetails = self._ask("flags.get", {"name": name})["flag"]
        return flag

    def change(
        self,
        values: Mapping[str, NewValue],
        *,
        expect: Mapping[str, NewValue] | None = None,
        reason: str | None = None,
        duration: float | str | None = None,
        dry_run: bool = False,
        confirm: Iterable[str] = (),
    ) -> ChangeResult:
        """Change flags: all of them, or none.

        None as a value takes back what clients have set. `expect` has values that the flags must
        have now. With a `duration`, in seconds or as `"10m"`, the change expires. `confirm`
        names the unsafe flags that are meant.
        """
        if isinstance(confirm, str):
            message = f"confirm: {quote_value(confirm)}: expected a list of names, not a text"
            raise errors.FlagTypeError(message)
        params = {
            "set": _format_all_arguments(values),
            "expect": None if expect is None else _format_all_arguments(expect),
            "reason": reason,
            "for": duration,
            "dry_run": dry_run or None,
            "confirm": list(confirm) or None,
        }
        return self._change("flags.set", params)

    def undo(
        self, change: int | None = None, *, reason: str | None = None, dry_run: bool = False
    ) -> ChangeResult:
        """Take back a change of this user; without a number, the last one that isn't undone."""
        params = {"change": change, "reason": reason, "dry_run": dry_run or None}
        return self._change("changes.undo", params)

    def _change(self, method: str, params: dict[str, Any]) -> ChangeResult:
        given = {name: value for name, value in params.items() if value is not None}
        given["timeout"] = min(_SHARE * self._timeout, _LONGEST_WAIT)
        answer: ChangeResult = self._ask(method, given)
        return answer

    def changes(self) -> list[Change]:
        """Return what clients have changed, the latest first."""
        changes: list[Change] = self._ask("changes.list", {})["changes"]
        return changes

    def events(
        self, since: str | None = None, *, reconnect: bool = False, timeout: float = ALIVE
    ) -> Iterator[Event]:
        """Yield what happens from now on, or after `since`, which is `EPOCH-REVISION`.

        When the connection is lost, as when the process ends, it raises LiveConnectionError. With
        `reconnect`, it yields an event `lost` instead, and connects again, for as long as it takes.
        After `timeout` seconds without a sign of life, the connection counts as lost.
        """
        wait = 0.0
        while True:
            try:
                for event in self._events(since, timeout):
                    since, wait = event.id or since, 0.0
                    if event.kind != "alive":
                        yield event
            except LiveError as error:
                if not (reconnect and _is_worth_retrying(error)):
                    raise
                yield Event("lost", since or "", {"detail": str(error)})
            wait = min(max(2 * wait, 0.1), _SLOWEST)
            time.sleep(wait)


def _is_worth_retrying(error: LiveError) -> bool:
    """Return whether trying again makes sense."""
    busy = error.problem is not None and error.problem.status in (404, 502, 503)
    return busy or isinstance(error, LiveConnectionError)


def _format_all_arguments(values: Mapping[str, NewValue]) -> dict[str, str | None]:
    """Return the values as a command line has them."""
    return {name: _format_checked_argument(name, value) for name, value in values.items()}


def _format_checked_argument(name: str, value: NewValue) -> str | None:
    if value is None:
        return None
    if isinstance(value, (bool, int, float, str, list, tuple)):
        return format_argument(tuple(value) if isinstance(value, list) else value)
    message = f"{name}: {quote_value(value)}: expected a bool, a number, a text, a list or None"
    raise errors.FlagTypeError(message)
