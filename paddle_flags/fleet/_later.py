"""A store that is opened when it is first used: a program may start while its engine is away."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, cast

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import UnreachableError
from paddle_flags.fleet._url import split

if TYPE_CHECKING:
    from paddle_flags.fleet._store import Store


def open_now_or_later(url: str) -> Store:
    """Return the store of a URL; if its engine is away, one that tries again at each call."""
    try:
        return open_store(url)
    except UnreachableError:
        return cast("Store", _Later(url))


class _Later:
    """What is asked of it is asked of the store, once that can be opened."""

    def __init__(self, url: str) -> None:
        self.url = split(url).text
        self._given = url
        self._lock = threading.Lock()
        self._store: Store | None = None
        self._is_closed = False

    def __getattr__(self, name: str) -> Any:
        with self._lock:
            if self._is_closed:
                message = f"{self.url}: the connection was closed"
                raise UnreachableError(message)
            if self._store is None:
                self._store = open_store(self._given)
        return getattr(self._store, name)

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
            store = self._store
        if store is not None:
            store.close()
