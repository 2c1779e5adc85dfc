"""Programs of a fleet whose flags are a few lines of Python: the model of those in a registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from paddle_flags.fleet._document import Facts
from paddle_flags.fleet._flags import Steps, Traits, Values
from paddle_flags.fleet._record import Record

Rule = Callable[[dict[str, int]], bool]

DEFAULTS = {"a": 0, "b": 0, "lo": 1, "hi": 10, "x": 0, "y": 0, "late": 0}


def narrow(values: dict[str, int]) -> bool:
    """The rules of a program that rejects some values."""
    return values["lo"] <= values["hi"] and values["x"] <= 9 and values["late"] <= 5


def wide(values: dict[str, int]) -> bool:
    """The rules of a program that takes more."""
    return values["lo"] <= values["hi"] and values["x"] <= 99


class Program:
    """Flags with numbers, and one rule for all. It implements `Flags`."""

    def __init__(self, rule: Rule, defined: Iterable[str] = DEFAULTS) -> None:
        self.fleet_values: Values = {}
        self.is_ticking = False
        self.steps = Steps()
        self.pid = 0
        self.rule = rule
        self.defined = set(defined)
        self._dropped = 0

    def numbers(self, texts: Mapping[str, str] | None = None) -> dict[str, int]:
        """Return the values that the flags have, or would have."""
        given = _texts(self.fleet_values) if texts is None else texts
        have = {name: int(text) for name, text in given.items() if name in self.defined}
        return {**DEFAULTS, **have}

    def define(self, name: str) -> None:
        """Define a flag; values that it doesn't take are dropped with their batch."""
        self.defined.add(name)
        if not self.rule(self.numbers()):
            gone = self.fleet_values[name].revision
            self.fleet_values = {n: e for n, e in self.fleet_values.items() if e.revision != gone}
            self._dropped += 1

    def collect_public_facts(self, key: bytes | None) -> Facts:
        return Facts({}, [], [], {})

    def read_flag_traits(self, names: Iterable[str]) -> dict[str, Traits]:
        return {
            name: Traits(
                "fleet" if name in self.fleet_values else "default",
                sensitive=False,
                closed=False,
                definition=frozenset(self.defined),
            )
            for name in names
            if name in self.defined
        }

    def explain_undefined_flag(self, name: str) -> str:
        return f"{name}: no such flag"

    def check(self, values: Values) -> str | None:
        fits = self.rule(self.numbers(_texts(values)))
        return None if fits else "rejected by the rule of the program"

    def replace(
        self,
        values: Values,
        about: Record | None,
        trail: Sequence[Values],
    ) -> str | None:
        why = self.check(values)
        if why is None:
            self.fleet_values = dict(values)
        return why

    def terminate_program(self) -> None:
        raise NotImplementedError

    def count_dropped_values(self) -> int:
        return self._dropped


def _texts(values: Values) -> dict[str, str]:
    return {name: entry.value for name, entry in values.items()}
