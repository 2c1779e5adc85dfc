"""The same flags in every process of a job, on an engine that runs already."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags.fleet._check import CheckError
    from paddle_flags.fleet._document import Difference, Holder
    from paddle_flags.fleet._flags import Answer, TickTimeoutError
    from paddle_flags.fleet._fleet import Fleet
    from paddle_flags.fleet._follow import StateLostError
    from paddle_flags.fleet._join import check, join, leave, member, tick
    from paddle_flags.fleet._membership import Membership
    from paddle_flags.fleet._mirror import mirror
    from paddle_flags.fleet._open import open_store
    from paddle_flags.fleet._operate import AbortedError, ConflictError, Outcome, UnconfirmedError
    from paddle_flags.fleet._record import Change, Record
    from paddle_flags.fleet._state import Entry, Step
    from paddle_flags.fleet._status import MemberStatus, Status
    from paddle_flags.fleet._store import (
        CompactedError,
        FleetError,
        LeaseError,
        ReadOnlyError,
        Store,
        StoredMember,
        UnreachableError,
    )

_MODULES = {
    "_check": "CheckError",
    "_document": "Difference Holder",
    "_flags": "Answer TickTimeoutError",
    "_fleet": "Fleet",
    "_follow": "StateLostError",
    "_join": "check join leave member tick",
    "_membership": "Membership",
    "_mirror": "mirror",
    "_open": "open_store",
    "_operate": "AbortedError ConflictError Outcome UnconfirmedError",
    "_record": "Change Record",
    "_state": "Entry Step",
    "_status": "MemberStatus Status",
    "_store": "CompactedError FleetError LeaseError ReadOnlyError Store StoredMember"
    " UnreachableError",
}
__all__ = [
    "AbortedError", "Answer", "Change", "CheckError", "CompactedError", "ConflictError",
    "Difference", "Entry", "Fleet", "FleetError", "Holder", "LeaseError", "MemberStatus",
    "Membership", "Outcome", "ReadOnlyError", "Record", "StateLostError", "Status", "Step",
    "Store", "StoredMember", "TickTimeoutError", "UnconfirmedError", "UnreachableError", "check",
    "join", "leave", "member", "mirror", "open_store", "tick",
]  # fmt: skip


def __getattr__(name: str) -> object:
    """Import the module of a name on first use: a member needs no operator, and the reverse."""
    from importlib import import_module

    for module, names in _MODULES.items():
        if name in names.split():
            found = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
