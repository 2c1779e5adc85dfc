"""Waiting for the next record: a watch of etcd on the key that holds the number of the last one.

A watch hangs if its node hangs, or is cut off without an end of the connection. So the node is
asked now and then for the number, too; if it does not answer, the watch goes on at another one.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._etcd_pool import NotNowError, trouble

if TYPE_CHECKING:
    from paddle_flags.fleet._etcd_client import Client
    from paddle_flags.fleet._etcd_wire import Stream


class WatchEndedError(Exception):
    """The watch has ended: begin a new one."""


class Watch:
    """A stream of the numbers of the last record. One thread uses it at a time."""

    def __init__(self, client: Client, key: str, number: int, revision: int) -> None:
        """Watch a key that had a number at a revision of etcd."""
        self.number = number
        self._client = client
        self._stream: Stream = client.stream(
            "watch", {"create_request": {"key": key, "start_revision": str(revision + 1)}}
        )
        self.node = self._stream.connection.node

    def follow(self, after: int, end: float) -> bool:
        """Return True when there is a record behind `after`, False at the end of the time."""
        try:
            with trouble(is_doubtful=False):
                if self.number > after:
                    return True
                for document in self._stream.documents(end):
                    self._read(document)
                    if self.number > after:
                        return True
        except NotNowError as error:
            if isinstance(error.__cause__, TimeoutError):
                return False
            raise WatchEndedError from error
        raise WatchEndedError

    def _read(self, document: dict[str, Any]) -> None:
        if "error" in document:
            raise WatchEndedError from self._client.fault(document["error"])
        result = document.get("result", {})
        if result.get("canceled"):  # the revision was compacted, or the token is too old
            raise WatchEndedError
        for event in result.get("events", ()):
            kept = event.get("type", "PUT") == "PUT"
            self.number = int(base64.b64decode(event["kv"]["value"])) if kept else 0

    def close(self) -> None:
        """Close the connection of the watch."""
        self._client.release(self._stream)
