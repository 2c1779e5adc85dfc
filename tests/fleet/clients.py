"""A process that uses a store at random and writes what it did.

    clients.py URL NAME SEED SECONDS FILE [FAULT]


The file has a line for each invocation, written before it, and one for each response. So it tells
the truth whenever the process is killed: an operation without a response may have happened.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from histories import COMPACTED, GAP, NEVER, UNKNOWN, Operation

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import CompactedError, FleetError, Store, UnreachableError

TIMEOUT = 1.0  # seconds for the engine to answer
WEIGHTS = {
    "append": 40,
    "last": 15,
    "read": 20,
    "wait": 8,
    "base": 3,
    "compact": 2,
}


class Recorder:
    """Calls of a store, written down as they happen."""

    def __init__(self, store: Store, file: Path) -> None:
        self._store = store
        self._file = file.open("a", encoding="ascii", buffering=1)
        self._count = itertools.count()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method; return its result, or UNKNOWN, GAP or COMPACTED."""
        index = next(self._count)
        self._write(index, [name, [_text(a) for a in arguments], time.monotonic_ns()])
        result: Any
        try:
            result = getattr(self._store, name)(*arguments)
        except UnreachableError:
            result = UNKNOWN
        except CompactedError:
            result = COMPACTED
        except FleetError as error:
            if name not in ("append", "compact"):
                self._write(index, [f"error: {error}"])
                raise
            result = GAP
        # An operation without an answer has no end: it may happen later.
        end = None if result == UNKNOWN else time.monotonic_ns()
        self._write(index, [_text(result), end])
        return result

    def close(self) -> None:
        self._file.close()
        self._store.close()

    def _write(self, index: int, words: list[Any]) -> None:
        self._file.write(json.dumps([index, *words]) + "\n")


def _text(value: Any) -> Any:
    """Return a value that JSON can hold."""
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin-1")}
    if isinstance(value, (list, tuple)):
        return [_text(item) for item in value]
    return value


def _value(text: Any) -> Any:
    """Return what `_text` was made of, with tuples for lists."""
    if isinstance(text, dict):
        return text["bytes"].encode("latin-1")
    if isinstance(text, list):
        return tuple(_value(item) for item in text)
    return text


def history(file: Path) -> list[Operation]:
    """Return what a process did, in the order of its invocations."""
    asked: dict[int, list[Any]] = {}
    answered: dict[int, list[Any]] = {}
    for line in file.read_text("ascii").splitlines():
        try:
            index, *words = json.loads(line)
        except ValueError:  # the process was killed while it wrote
            continue
        (answered if index in asked else asked)[index] = words
    operations = []
    for index, (name, arguments, start) in asked.items():
        result, end = answered.get(index, [UNKNOWN, None])
        assert not str(result).startswith("error"), f"{file.name}: {name}{arguments}: {result}"
        operations.append(
            Operation(
                file.stem,
                name,
                _value(arguments),
                _value(result),
                start,
                NEVER if end is None else end,
            )
        )
    return operations


class Client:
    """Random operations, mostly near the end of the log."""

    def __init__(self, call: Recorder, name: str, seed: str) -> None:
        self._do, self._name = call.call, name
        self._random = random.Random(f"{seed} {name}")
        self._tail = 0  # the last record that this client has heard of

    def step(self, index: int) -> None:
        """Do one operation."""
        (name,) = self._random.choices(list(WEIGHTS), list(WEIGHTS.values()))
        result = self._do(name, *getattr(self, f"_{name}")(index))
        if name in ("last", "wait") and result != UNKNOWN:
            self._tail = max(self._tail, result)
        elif name == "append" and result is True:
            self._tail += 1
        elif name == "append":
            self._look()

    def _look(self) -> None:
        """Learn where the log ends, as whoever lost a race does."""
        result = self._do("last")
        if result != UNKNOWN:
            self._tail = result

    def _append(self, index: int) -> tuple[int, bytes]:
        number = self._tail + self._random.choices((1, 0, 2), (20, 1, 1))[0]
        size = self._random.choices((0, 200, 30_000), (20, 4, 1))[0]
        return max(1, number), f"{self._name} {index}".encode() + b" " * size

    def _last(self, _index: int) -> tuple[()]:
        return ()

    def _base(self, _index: int) -> tuple[()]:
        return ()

    def _read(self, _index: int) -> tuple[int]:
        back = self._random.choice((-1, 0, 0, 0, 1, 3, 10, 1000))
        return (max(1, self._tail - back),)

    def _wait(self, _index: int) -> tuple[int, float]:
        return self._tail, self._random.choice((0.0, 0.05, 0.3))

    def _compact(self, index: int) -> tuple[int, bytes]:
        return max(1, self._tail - self._random.choice((5, 20))), f"{self._name} {index}".encode()

    def pauses(self) -> Iterator[float]:
        """Some operations follow at once, some later."""
        while True:
            yield self._random.choice((0, 0, 0.002, 0.01, 0.03))


def plant(store: Any, fault: str) -> None:
    """Break a store, to see that the judge finds it."""
    last, append, read = store.last, store.append, store.read
    calls = itertools.count()
    seen = [0]

    def stale() -> int:
        if next(calls) % 5 == 0:
            seen[0] = last()
        return seen[0]

    def careless(number: int, record: bytes) -> bool:
        done: bool = append(number, record)
        return done or next(calls) % 5 == 0

    def late(first: int) -> list[bytes]:
        found: list[bytes] = read(first)
        return found if next(calls) % 5 else []

    faults = {
        "last is stale": ("last", stale),
        "append has two winners": ("append", careless),
        "read loses records": ("read", late),
    }
    name, function = faults[fault]
    setattr(store, name, function)


def main() -> None:
    url, name, seed, seconds, file, *fault = sys.argv[1:]
    store = open_store(url, timeout=TIMEOUT)
    if fault:
        plant(store, fault[0])
    recorder = Recorder(store, Path(file))
    client = Client(recorder, name, seed)
    end = time.monotonic() + float(seconds)
    print("ready", flush=True)
    for index, pause in enumerate(client.pauses()):
        if time.monotonic() > end:
            break
        client.step(index)
        time.sleep(pause)
    recorder.close()


if __name__ == "__main__":
    main()
