"""The source `configmap:///etc/flags`: a ConfigMap of Kubernetes that is mounted as a folder.

Each file is a flag, whose value is its text, for all members. The file `selectors.json` has values
for some of them: `{"role:trainer": {"check_nan_inf": true}}`. Kubernetes writes new files beside
the old ones, and then switches the link `..data`. A plain folder works, too. A store counts the
contents that it sees: record 1 has all values, and each later record has what changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from paddle_flags.errors import FlagError
from paddle_flags.fleet._files import path_in_url, read_with_status
from paddle_flags.fleet._memory import MemoryStore
from paddle_flags.fleet._record import ALL, CHANGE, Change, Record, check_change, encode
from paddle_flags.fleet._store import ReadOnlyError

if TYPE_CHECKING:
    from pathlib import Path

    from paddle_flags.fleet._open import Url

POLL = 1.0  # seconds between two looks at the folder
SELECTORS = "selectors.json"
_DATA = "..data"

Values = dict[tuple[str, str], str]  # by selector and name


class ConfigMapStore(MemoryStore):
    """The contents of a mounted ConfigMap, as this process has seen them one after the other."""

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url.text)
        self._root = path_in_url(url.path)
        self._timeout, self._poll = timeout, url.poll_seconds(POLL)
        self._values: Values = {}
        self._seen: object = None
        self._reset_process_state()

    def _reset_process_state(self) -> None:
        self._lock = threading.Lock()

    def _run_method(self, method: str, *args: Any) -> Any:
        if method in ("last", "read", "wait", "base"):
            self._refresh_from_folder()
            return super()._run_method(method, *args)
        message = (
            "a ConfigMap is read-only: change it by kubectl; members and their "
            "answers need a second, writable store, such as etcd:// or dir://, in which "
            f"paddle-flags mirror {self.url} URL keeps its values"
        )
        raise self.error(message, ReadOnlyError)

    def _refresh_from_folder(self) -> None:
        end = time.monotonic() + self._timeout
        with self._lock:
            while True:
                told: OSError = TimeoutError("it changes all the time")
                try:
                    seen = self._content_stamp()
                    if seen == self._seen:
                        return
                    values = self._read_values()
                    if self._content_stamp() == seen:
                        break
                except FileNotFoundError as error:  # files were replaced; or it isn't mounted
                    if not self._root.is_dir():
                        raise
                    told = error
                if time.monotonic() > end:
                    raise told
                self.closed.wait(0.01)
            self._append_change_record(values)
            self._seen = seen

    def _content_stamp(self) -> object:
        with contextlib.suppress(FileNotFoundError):
            return os.readlink(self._root / _DATA)
        found = [(path.name, path.stat()) for path in sorted(self._root.iterdir())]
        return [(name, s.st_ino, s.st_mtime_ns, s.st_size) for name, s in found]

    def _read_values(self) -> Values:
        data = self._root / _DATA
        folder = data.resolve() if data.is_symlink() else self._root
        found: Values = {}
        for path in sorted(folder.iterdir()):
            if not path.name.startswith(".") and not path.is_dir():
                try:
                    found.update(_read_values_of(path))
                except FlagError as error:
                    raise self.error(f"{path.name}: {error}") from error
        return found

    def _append_change_record(self, values: Values) -> None:
        changes = changes_between(self._values, values)
        if not changes:
            return
        listed = [[on, name, value] for (on, name), value in sorted(values.items())]
        digest = hashlib.sha256(json.dumps(listed).encode()).hexdigest()[:16]
        record = Record(CHANGE, changes, digest, fleet="configmap", by=self.url, time=time.time())
        self._log.append(self._check_size(encode(record)))
        self._values = values


def changes_between(before: Values, after: Values) -> tuple[Change, ...]:
    """Return what turns some values, by selector and name, into others."""
    keys = sorted(key for key in {**before, **after} if before.get(key) != after.get(key))
    return tuple(Change(name, after.get((on, name)), on) for on, name in keys)


def _read_values_of(path: Path) -> Values:
    found: Values = {}
    try:
        text = read_with_status(path.resolve())[0].decode().removesuffix("\n")
        tables = {ALL: {path.name: text}} if path.name != SELECTORS else json.loads(text)
        for on, table in tables.items():
            for name, value in table.items():
                is_text = isinstance(value, str)
                change = check_change(Change(name, value if is_text else json.dumps(value), on))
                found[(on, change.name)] = str(change.value)
    except UnicodeDecodeError as error:
        raise FlagError("expected UTF-8") from error
    except (AttributeError, ValueError, RecursionError) as error:
        told = "" if isinstance(error, AttributeError) else f"{error}; "
        expected = 'expected JSON such as {"role:trainer": {"name": "value"}}'
        raise FlagError(f"{told}{expected}") from error
    return found
