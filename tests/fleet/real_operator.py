"""A process that changes a fleet at random, and says what became of it: real_operator.py JSON."""

from __future__ import annotations

import builtins
import json
import os
import random
import select
import sys
import time
from typing import Any

import planted
from changing import Kind, change

from paddle_flags.errors import FlagError
from paddle_flags.fleet import AbortedError, Fleet, UnreachableError, _follow
from paddle_flags.fleet._state import COMMITTED

OPTIONS = json.loads(sys.argv[1])
KIND = Kind(highest=14, forces=0.5, steps=0.2)
PATIENCE = 3.0  # seconds for answers, at most


def say(**fields: Any) -> None:
    os.write(1, (json.dumps({"m": OPTIONS["name"], **fields}) + "\n").encode())


class Hasty(Fleet):
    """A fleet of somebody who has no time to wait as long as in the model."""

    def change(self, changes: Any, *, wait: float = 1.0, **options: Any) -> Any:
        return super().change(changes, wait=min(wait, PATIENCE), **options)


def act(fleet: Fleet, choose: random.Random) -> dict[str, Any]:
    """Make one change; return what became of it."""
    try:
        steps = [each.get("step") or 0 for each in fleet.members().values()]
        outcome = change(fleet, choose, KIND, max(steps, default=0) + 1)
    except AbortedError as error:
        return {"refused": error.outcome.revision}
    except UnreachableError:
        return {"unknown": True}
    except FlagError as error:  # a conflict, or nothing to undo
        return {"error": str(error)}
    is_made = outcome.verdict == COMMITTED and outcome.revision
    return {"acknowledged" if is_made else "refused": outcome.revision}


def main() -> None:
    _follow._MOST, _follow._KEPT = OPTIONS["most"], OPTIONS["most"] // 2
    if OPTIONS["planted"]:
        getattr(planted, OPTIONS["planted"])(builtins)  # which has setattr
    choose = random.Random(OPTIONS["seed"])
    with Hasty(OPTIONS["url"], by=OPTIONS["name"], timeout=2.0) as fleet:
        say(joined=0)
        while not select.select([sys.stdin], [], [], choose.uniform(0, 0.5))[0]:
            began = time.monotonic()
            say(**act(fleet, choose), took=time.monotonic() - began)


if __name__ == "__main__":
    main()
