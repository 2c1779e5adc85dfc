"""The source `configmap:///etc/flags`: a ConfigMap of Kubernetes that is mounted as a folder.

Each file is a flag, whose value is its text, for all members. The file `selectors.json` has values
for some of them: `{"role:trainer": {"check_nan_inf": true}}`. Kubernetes writes new files beside
the old ones, and then switches the link `..data`; so all files are read behind one look at it. A
plain folder works, too.

Nothing has a number in a ConfigMap. A store counts the contents that it sees: record 1 has all
values, and each later record has what changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from paddle_flags.errors import FlagError
from paddle_flags.fleet import _files
from paddle_flags.fleet._record import ALL, CHANGE, Change, Record, check_change, encode
from paddle_flags.fleet._store import (
    FleetError,
    ReadOnlyError,
    StoredMember,
    UnreachableError,
    check_size,
    wait_by_polling,
)

if TYPE_CHECKING:
    from paddle_flags.fleet._url import Url

POLL = 1.0  # seconds between two looks at the folder
SELECTORS = "selectors.json"
_DATA = "..data"
_ATTEMPTS = 100  # to read files that are replaced meanwhile

Values = dict[tuple[str, str], str]  # by selector and name


def open_url(url: Url, timeout: float) -> ConfigMapStore:
    """Name a folder, which must be there when it is read."""
    url.option({"poll": ""})
    if url.path == "/":
        message = "expected configmap:///path, with a folder"
        raise url.refuse(message)
    return ConfigMapStore(url.text, Path(url.path), timeout, url.number("poll", POLL))


class ConfigMapStore:
    """The contents of a mounted ConfigMap, as this process has seen them one after the other."""

    def __init__(self, url: str, root: Path, timeout: float, poll: float) -> None:
        """Read the folder when something is asked."""
        self.url = url
        self._root = root
        self._timeout, self._poll = timeout, poll
        self._records: list[bytes] = []
        self._values: Values = {}
        self._seen: object = None
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._closed = threading.Event()

    # -- Reading --

    def last(self) -> int:
        """See Store."""
        self._look()
        return len(self._records)

    def read(self, first: int) -> list[bytes]:
        """See Store."""
        self._look()
        return self._records[max(first, 1) - 1 :]

    def wait(self, after: int, timeout: float) -> int:
        """See Store."""
        return wait_by_polling(self.last, self._closed, self._poll, after, timeout)

    def base(self) -> tuple[int, bytes]:
        """See Store."""
        self._check()
        return 0, b""

    def close(self) -> None:
        """See Store."""
        self._closed.set()

    def _check(self) -> None:
        if self._pid != os.getpid():
            was_closed = self._closed.is_set()
            self._begin()
            if was_closed:
                self.close()
        if self._closed.is_set():
            message = f"{self.url}: the store is closed"
            raise FleetError(message)

    def _look(self) -> None:
        """Add a record, if the content has changed."""
        self._check()
        end = time.monotonic() + self._timeout
        with self._lock:
            while True:
                try:
                    seen = self._mark()
                    if seen == self._seen:
                        return
                    values = self._read_values()
                    if self._mark() == seen:  # otherwise files were replaced while they were read
                        break
                    error = None
                except FileNotFoundError as missing:  # so, too; or the folder isn't mounted
                    error = missing
                except OSError as fault:
                    raise self._unreachable(fault) from fault
                if time.monotonic() > end or not self._root.is_dir():
                    raise self._unreachable(error)
                self._closed.wait(0.01)
            self._add(values)
            self._seen = seen

    def _unreachable(self, error: OSError | None) -> UnreachableError:
        told = f"{error.strerror}: {error.filename}" if error else "it changes all the time"
        return UnreachableError(f"{self.url}: cannot read it: {told}")

    def _mark(self) -> object:
        """Return what changes with the content."""
        try:
            return os.readlink(self._root / _DATA)
        except FileNotFoundError:
            pass
        found = []
        for path in sorted(self._root.iterdir()):
            status = path.stat()
            found.append((path.name, status.st_ino, status.st_mtime_ns, status.st_size))
        return found

    def _read_values(self) -> Values:
        """Return all values, of one folder."""
        data = self._root / _DATA
        folder = data.resolve() if data.is_symlink() else self._root
        found: Values = {}
        for path in sorted(folder.iterdir()):
            if path.name.startswith(".") or path.is_dir():
                continue
            text = self._text(path)
            if path.name == SELECTORS:
                found.update(self._selected(text))
            else:
                found[(ALL, self._checked(path.name, path.name, text, ALL).name)] = text
        return found

    def _text(self, path: Path) -> str:
        try:
            text = _files.read(path.resolve()).decode()
        except UnicodeDecodeError as error:
            raise self._error(path.name, "expected UTF-8") from error
        return text.removesuffix("\n")

    def _selected(self, text: str) -> Values:
        expected = 'expected JSON such as {"role:trainer": {"name": "value"}}'
        try:
            tables = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise self._error(SELECTORS, f"{error}; {expected}") from error
        if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
            raise self._error(SELECTORS, expected)
        found: Values = {}
        for on, table in cast("dict[str, dict[str, Any]]", tables).items():
            for name, value in table.items():
                said = value if isinstance(value, str) else json.dumps(value)
                change = self._checked(SELECTORS, name, said, on)
                found[(on, change.name)] = said
        return found

    def _checked(self, file: str, name: str, value: str, on: str) -> Change:
        try:
            return check_change(Change(name, value, on))
        except FlagError as error:
            raise self._error(file, str(error)) from error

    def _error(self, file: str, what: str) -> FleetError:
        return FleetError(f"{self.url}: {file}: {what}")

    def _add(self, values: Values) -> None:
        before = self._values
        changes = [
            Change(name, values.get((on, name)), on)
            for on, name in sorted({**before, **values})
            if values.get((on, name)) != before.get((on, name))
        ]
        if not changes:
            return
        listed = [[on, name, value] for (on, name), value in sorted(values.items())]
        digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
        record = Record(
            CHANGE, tuple(changes), digest, fleet="configmap", by=self.url, time=time.time()
        )
        self._records.append(self._sized(encode(record)))
        self._values = values

    def _sized(self, record: bytes) -> bytes:
        try:
            return check_size(record)
        except FleetError as error:
            raise FleetError(f"{self.url}: {error}") from None

    # -- Writing --

    def _refuse(self) -> NoReturn:
        self._check()
        message = (
            f"{self.url}: a ConfigMap is read-only: change it by kubectl; members and their "
            "answers need a second, writable store, such as etcd:// or dir://, in which "
            f"paddle-flags mirror {self.url} URL keeps its values"
        )
        raise ReadOnlyError(message)

    def append(self, number: int, record: bytes) -> bool:  # noqa: ARG002 - refused
        """See Store."""
        self._refuse()

    def compact(self, number: int, base: bytes) -> bool:  # noqa: ARG002 - refused
        """See Store."""
        self._refuse()

    def announce(self, name: str, document: bytes, ttl: float) -> None:  # noqa: ARG002 - refused
        """See Store."""
        self._refuse()

    def keep_alive(self, name: str) -> None:  # noqa: ARG002 - refused
        """See Store."""
        self._refuse()

    def withdraw(self, name: str, document: bytes) -> None:  # noqa: ARG002 - refused
        """See Store."""
        self._refuse()

    def member(self, name: str) -> StoredMember | None:  # noqa: ARG002 - refused
        """See Store."""
        self._refuse()

    def members(self) -> dict[str, StoredMember]:
        """See Store. Nobody knows the members, which is not the same as none."""
        self._refuse()
