"""A gateway for this process alone, mounted in its own ASGI application."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any

from paddle_flags.errors import FlagTypeError
from paddle_flags.extend import hides_internal_frames, quote_value
from paddle_flags.gateway.app import Gateway
from paddle_flags.gateway.security import Clients, Guard
from paddle_flags.gateway.users import User
from paddle_flags.live._serve import list_open_servers, serve

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import Literal

    from starlette.requests import Request
    from starlette.types import ASGIApp

    Answer = None | Literal["read", "change"] | User

_lock = threading.Lock()


class MountedClients(Clients):
    """Users of the program that the gateway is mounted in."""

    unknown = (403, "forbidden", "you may not see these flags")

    def __init__(self, authorize: Callable[[Request], Any]) -> None:
        self._authorize = authorize

    async def authenticate_request(self, request: Request) -> User | None:
        """Return who sends a request."""
        answer = self._authorize(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer is None or isinstance(answer, User):
            return answer
        if answer in ("read", "change"):
            return User("", answer)
        raise FlagTypeError(
            f"authorize returned {quote_value(answer)}, expected None, 'read', 'change' or a User"
        )


@hides_internal_frames
def asgi(
    *,
    authorize: Callable[[Request], Answer | Awaitable[Answer]],
    settable: str | Iterable[str] = (),
    hosts: Iterable[str] | None = None,
    fleets: Iterable[str] = (),
    polls: bool = False,
) -> ASGIApp:
    """Return an ASGI application with the page and the API of this process, to be mounted.

    `authorize` is called with the Starlette Request, and may be async. It returns what the client
    may do: `"read"`, `"change"`, a User, or None, which refuses the request. `hosts` has the names
    by which clients call this server; left out, the framework checks them. `fleets` has addresses
    of fleets to show.

    If this process doesn't serve its flags yet, it does so from the first request on, as `serve`
    with `settable` does. It shows the process that answers: behind several workers, each request
    may reach another. With `polls`, streams of events end soon, and clients come back: for servers
    that answer one request at a time.
    """
    if not callable(authorize):
        message = f"authorize: {quote_value(authorize)}: expected a function of the request"
        raise FlagTypeError(message)
    patterns = [settable] if isinstance(settable, str) else list(settable)
    gateway = Gateway(lambda: _ensure_own_socket(patterns), list(fleets), polls=polls)
    return Guard(gateway.application(), MountedClients(authorize), hosts)


def _ensure_own_socket(settable: str | Iterable[str]) -> list[str]:
    """Return the socket of this process, which serves its flags from now on."""
    with _lock:
        return [each.address for each in list_open_servers()][:1] or [
            serve(settable=settable).address
        ]
