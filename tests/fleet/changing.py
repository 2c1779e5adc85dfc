"""What operators do at random: in the model's lives, and in those of processes."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from paddle_flags.fleet import Fleet
from paddle_flags.fleet._operate import Outcome


class Kind(NamedTuple):
    """What lives of one kind are full of."""

    faults: tuple[str, ...] = ("stop", "kill", "leave", "engine", "operator", "pause", "join")
    flaky: tuple[float, ...] = (0.0, 0.0, 0.01, 0.05)
    forces: float = 0.3
    """How many changes are made by force."""
    highest: int = 16
    """Values of which members reject some."""
    names: tuple[str, ...] = ("lo", "hi", "x", "y", "late")
    """Of the flags that have them."""
    steps: float = 0.1
    """How many changes are for a step."""
    ticking: float = 0.6
    """How many members count steps."""
    roughness: float = 0.0
    """How often an operator is stopped or killed where it writes."""
    lag: float = 0.2
    """Seconds that a call of an operator takes at most."""


def change(fleet: Fleet, random: Random, kind: Kind, top: int) -> Outcome:
    """Change a fleet in some way; `top` is the last step that any member has begun.

    `a` and `b` are always changed together, so whoever sees them differ has half a batch.
    """
    number = random.randrange(1, 100)
    values: dict[str, int] = {}
    if random.random() < 0.6:
        values.update(a=number, b=number)
    if random.random() < 0.4 or not values:
        name = random.choice(kind.names)
        values[name] = random.randrange(0, kind.highest)
    options: dict[str, Any] = {
        "wait": random.choice((1.0, 3.0, 6.0, 6.0, 20.0)),
        "force": random.random() < kind.forces,
        "duration": random.choice((None, None, 2.0, 6.0)),
        "dry_run": random.random() < 0.1,
    }
    if random.random() < kind.steps:
        options["force"] = False
        options["at_step"] = top + random.randrange(0, 5)
    where = random.choice(({}, {}, {"role": "trainer"}, {"member": "m0"}))
    which = random.random()
    if which < 0.1:
        return fleet.unset(*values, **where, **options)
    if which < 0.15:
        return fleet.undo(wait=options["wait"], force=options["force"])
    if which < 0.2:
        return fleet.reset(fleet.revision, force=True)
    return fleet.set(values, **where, **options)
