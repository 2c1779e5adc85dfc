"""The flags of a process that serves nothing, read from its memory; Linux only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags.live._attach_flags import Pass
from paddle_flags.live._attach_index import find_index
from paddle_flags.live._attach_memory import AttachError, Exhausted, Unreadable, open_memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags.live._attach_memory import Memory

_PASSES = 3


def read(pid: int, *, history: bool = False) -> dict[str, Any]:
    """Read the flags of a process, as we see its pid, and without stopping it.

    It needs no help of the process, only the right to read its memory: that of the same user, if
    Yama and the container allow it, or of root. AttachError says what is missing.

    The document is that of `flags.list` in docs/reference/live-protocol.md, without revisions and
    with these fields more:

    - `attached`: true.
    - `pid`, `program`: of the process; `version`: of the library in it.
    - `torn`: the names of flags that changed while they were read. What is listed of them may
      never have been together, and flags that could not be read at all are missing. All others were
      read twice and were the same, so they had these values at one time.
    - `unread`: the names of flags whose variable only code of the program can read, such as a
      `std::string`. Their values are those that the registry knows.
    - `cut`: the names of flags with a text of more than 64 KiB, which was cut.
    - `complete`: false if flags are missing whose names could not be read, or if there was more
      than a sound process has.

    With `history`, each flag also has `history`, as `flags.get` has it. No flag is
    `settable`. A sensitive flag has no values here either.
    """
    program = _program_name(pid)
    document = read_stable_flags(lambda: open_memory(pid), history=history)
    return {"attached": True, "pid": pid, "program": program, **document}


def read_stable_flags(look_again: Callable[[], Memory], *, history: bool = False) -> dict[str, Any]:
    """Read the flags in a memory until two passes agree, or a few times."""
    passes: list[Pass] = []
    changed: set[str] = set()
    problem = AttachError()
    for _ in range(_PASSES):
        try:
            memory = look_again()
            passes.append(Pass(memory, find_index(memory), history=history))
        except Unreadable:
            problem = AttachError("the registry in the process is damaged, or it just changed")
            continue
        except Exhausted:
            problem = AttachError("the process has more ELF files and notes than a sound one")
            continue
        if len(passes) > 1:
            changed = _changed_names(*passes[-2:])
            if not changed:
                break
    if len(passes) < 2:  # one alone doesn't show what is torn
        raise problem
    found = passes[-1]
    return {
        "version": found.version,
        "epoch": "",
        "revision": 0,
        "complete": found.complete,
        "flags": list(found.flags.values()),
        "removed": [],
        "torn": sorted(changed | found.torn),
        "unread": sorted(found.unread),
        "cut": sorted(found.cut),
    }


def _changed_names(last: Pass, now: Pass) -> set[str]:
    names = {*last.flags, *now.flags}
    return {name for name in names if last.flags.get(name) != now.flags.get(name)}


def _program_name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return file.read(64).rstrip("\n")
    except OSError:
        return ""
