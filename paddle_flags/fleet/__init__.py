"""The same flags in every process of a job, on an engine that runs already."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags.fleet._check import CheckError
    from paddle_flags.fleet._difference import Difference, Holder
    from paddle_flags.fleet._flags import Answer
    from paddle_flags.fleet._fleet import Fleet
    from paddle_flags.fleet._follow import StateLostError
    from paddle_flags.fleet._history import Step
    from paddle_flags.fleet._join import check, join, leave, member, tick
    from paddle_flags.fleet._membership import Membership
    from paddle_flags.fleet._mirror import mirror
    from paddle_flags.fleet._open import open_store
    from paddle_flags.fleet._operate import AbortedError, ConflictError, UnconfirmedError
    from paddle_flags.fleet._outcome import Outcome
    from paddle_flags.fleet._record import Change, Record
    from paddle_flags.fleet._state import Entry
    from paddle_flags.fleet._status import MemberStatus, Status
    from paddle_flags.fleet._steps import TickTimeoutError
    from paddle_flags.fleet._store import (
        CompactedError,
        FleetError,
        LeaseError,
        ReadOnlyError,
        Store,
        StoredMember,
        UnreachableError,
    )


def __getattr__(name: str) -> object:  # noqa: C901, PLR0912 - a branch for each module
    """Import the module of a name on first use: a member needs no operator, and the reverse."""
    # ruff: noqa: PLC0415
    module: object = None
    if name in ("check", "join", "leave", "member", "tick"):
        from paddle_flags.fleet import _join as module
    elif name == "Membership":
        from paddle_flags.fleet import _membership as module
    elif name == "Fleet":
        from paddle_flags.fleet import _fleet as module
    elif name in ("AbortedError", "ConflictError", "UnconfirmedError"):
        from paddle_flags.fleet import _operate as module
    elif name == "Outcome":
        from paddle_flags.fleet import _outcome as module
    elif name in ("MemberStatus", "Status"):
        from paddle_flags.fleet import _status as module
    elif name == "open_store":
        from paddle_flags.fleet import _open as module
    elif name == "Answer":
        from paddle_flags.fleet import _flags as module
    elif name == "Entry":
        from paddle_flags.fleet import _state as module
    elif name == "Step":
        from paddle_flags.fleet import _history as module
    elif name in ("Change", "Record"):
        from paddle_flags.fleet import _record as module
    elif name == "mirror":
        from paddle_flags.fleet import _mirror as module
    elif name == "CheckError":
        from paddle_flags.fleet import _check as module
    elif name in ("Difference", "Holder"):
        from paddle_flags.fleet import _difference as module
    elif name == "StateLostError":
        from paddle_flags.fleet import _follow as module
    elif name == "TickTimeoutError":
        from paddle_flags.fleet import _steps as module
    elif name in _STORE:
        from paddle_flags.fleet import _store as module
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found: object = getattr(module, name)
    globals()[name] = found
    return found


_STORE = (
    "CompactedError",
    "FleetError",
    "LeaseError",
    "ReadOnlyError",
    "Store",
    "StoredMember",
    "UnreachableError",
)

__all__ = [
    "AbortedError",
    "Answer",
    "Change",
    "CheckError",
    "CompactedError",
    "ConflictError",
    "Difference",
    "Entry",
    "Fleet",
    "FleetError",
    "Holder",
    "LeaseError",
    "MemberStatus",
    "Membership",
    "Outcome",
    "ReadOnlyError",
    "Record",
    "StateLostError",
    "Status",
    "Step",
    "Store",
    "StoredMember",
    "TickTimeoutError",
    "UnconfirmedError",
    "UnreachableError",
    "check",
    "join",
    "leave",
    "member",
    "mirror",
    "open_store",
    "tick",
]
