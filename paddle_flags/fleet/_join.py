"""`join` and what a member of a fleet calls: the membership of this process, and its flags."""

from __future__ import annotations

import atexit
import hmac
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags import FLAGS, errors
from paddle_flags.extend import (
    ErrorList,
    check_status,
    ffi,
    fleet_hooks,
    hides_internal_frames,
    lib,
    new_error,
    pop_callback_error,
    quote_value,
    to_bytes,
)
from paddle_flags.fleet._arguments import check_count, check_seconds
from paddle_flags.fleet._check import Barrier
from paddle_flags.fleet._document import Fact, Facts, shorten_for_json
from paddle_flags.fleet._flags import Steps, Traits, Values, join_errors, text_in
from paddle_flags.fleet._membership import Membership
from paddle_flags.fleet._open import is_address, open_store
from paddle_flags.fleet._record import Record, text_of
from paddle_flags.fleet._role import AGENT, make_options
from paddle_flags.fleet._store import FleetError, ReadOnlyError, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from paddle_flags import Flag
    from paddle_flags.fleet._role import OnLate, OnLost, Options
    from paddle_flags.fleet._state import Entry

_joining = threading.RLock()  # validators and watchers run while the values of a fleet arrive
_is_joining = False
_member: Membership | None = None
_given: Values = {}  # also when a membership has ended, and in a forked child


@hides_internal_frames
def join(
    url: str | Store,
    *,
    role: str | None = None,
    rank: int | None = None,
    name: str | None = None,
    ttl: float = 10.0,
    on_lost: OnLost = "keep",
    snapshot: str | os.PathLike[str] | None = None,
    key: str | bytes | None = None,
    tick_timeout: float = 60.0,
    on_late: OnLate = "raise",
    observe: bool = False,
) -> Membership:
    """Make this process a member of a fleet, such as `join("dir:///mnt/job42", role="trainer")`.

    Call it before `parse` and before plugins are loaded. When it returns, the flags have the
    fleet's values; a flag that is defined later gets its value then. They take precedence over the
    command line, and values that the program sets at run time take precedence over them. A thread
    follows the fleet. Once `parse` has read a command line, or `tick` was called, only flags with
    the attribute `runtime` still change; for others, the member answers that it needs a restart.

    Operators choose members by `role` and `name`. By default, role and rank are what the
    launcher's variables say: TRAINING_ROLE and PADDLE_TRAINER_ID, or RANK. No two members may have
    one name; the default is made of role and rank, such as `trainer-3`, or of host and process.

    `ttl` is for how many seconds a member that has died counts as alive, up to twice that.
    `on_lost` says what happens when the engine has not answered for `ttl` seconds: "keep" the
    values, take back those of the fleet from flags that can change ("default"), or "exit" by
    SIGTERM. `snapshot` is a file for the latest values: with it, the program also starts while the
    engine does not answer.

    `key` lets `check` and `diff` compare sensitive flags, by a digest that only those who have the
    key can compute; the default is the environment variable PADDLE_FLAGS_FLEET_KEY. Without a key,
    sensitive flags are not compared. A fleet never has their values.

    `tick_timeout` is for how many seconds a step waits for the decision on a change that is to
    happen at it. After that, `tick` raises TickTimeoutError, or goes on with `on_late="keep"`.

    With `observe=True`, the process follows the fleet unseen: it writes nothing about itself, so it
    is never asked whether it would take a change, and `check` and `status` don't know it.

    Raises FleetError if this process is a member already, UnreachableError if the engine does not
    answer and there is no snapshot, and ReadOnlyError if the process may not write what it is,
    unless it observes.
    """
    file = None if snapshot is None else os.path.abspath(snapshot)
    chosen = make_options(role, rank, name, key, ttl, on_lost, on_late, tick_timeout, file, observe)
    if member := os.environ.get(AGENT):
        why = "it runs by paddle-flags join; a program of its own must be started without"
        raise FleetError(
            f"this program is the member {member} already: {why} {AGENT} in its environment"
        )
    return _start_membership(url, chosen)


def _start_membership(url: str | Store, options: Options) -> Membership:
    global _member, _is_joining  # one process, one membership
    with _joining:
        _check_not_joining()
        if _member is not None:
            what = f"{_member.url} already, as {_member.name}"
            raise FleetError(f"this process is a member of {what}")
        store = open_store(url) if is_address(url) else url
        made = Membership(store, options, LocalFlags(store.url))
        _is_joining = True
        try:
            made.start()
        except BaseException as error:
            store.close()
            if isinstance(error, ReadOnlyError):
                what = "expected observe=True, to follow the fleet unseen"
                raise ReadOnlyError(f"{error}; {what}") from error
            raise
        finally:
            _is_joining = False
        _member = made
        fleet_hooks[:] = [made.drop_refused_values]
    return made


@hides_internal_frames
def leave() -> None:
    """End the membership of this process, if there is one; its flags keep their values."""
    global _member
    with _joining:
        _check_not_joining()
        left, _member = _member, None
        fleet_hooks.clear()
    if left is not None:
        left.leave()


@hides_internal_frames
def member() -> Membership | None:
    """Return the membership of this process; None if it isn't a member."""
    return _member


@hides_internal_frames
def tick(step: int) -> None:
    """Begin a step of the program's loop; call it with the number of each step.

    A change with `--at-step N` takes effect in the tick that begins step N, in every member. A
    member that has accepted such a change waits there until it is decided whether it happens.
    While nothing is to happen, a tick costs less than a microsecond.

    Raises TickTimeoutError if there is no decision within `tick_timeout` of `join`.
    """
    (_member or _refuse_nonmember(tick)).tick(step)


@hides_internal_frames
def check(
    *, environment: Sequence[str] = (), expect: int | None = None, timeout: float = 60.0
) -> None:
    """Wait until all members have called this, and check that their flags have the same values.

    Call it once in each member when its flags are set and its plugins loaded, before the work
    begins. Flags with the attribute `per_process` aren't compared. A flag that the fleet gives
    other values for some role, host or member is compared among those for which it says the same.
    `environment` has patterns of variables to compare too, such as `["NCCL_*"]`.

    `expect` is how many members there must be. The default is what the launcher's variables say:
    WORLD_SIZE, or PADDLE_TRAINERS_NUM and the number of parameter servers. If they say nothing,
    only the members that have joined by then are compared.

    Raises CheckError, which names each difference with the values, their sources and members;
    and which members are missing or slow, if `timeout` seconds were not enough.
    """
    own = _member or _refuse_nonmember(check)
    check_seconds("timeout", timeout, needed=True)
    if isinstance(environment, str):
        what = "expected a list of patterns"
        raise errors.FlagArgumentError(f"environment is {quote_value(environment)}: {what}")
    check_count("expect", expect)
    Barrier(own, list(environment), own.world if expect is None else expect, timeout).wait()


def _refuse_nonmember(called: Callable[..., None]) -> NoReturn:
    message = "this process is no member of a fleet: call fleet.join first"
    raise FleetError(f"fleet.{called.__name__}: {message}")


def _check_not_joining() -> None:
    if _is_joining:  # this thread has the lock: a validator or watcher runs in `join`
        message = "this process is joining a fleet: a validator or watcher can't join or leave one"
        raise FleetError(message)


# ---- The flags of this process ----


def find_fleet_entry(*names: str) -> Entry | None:
    """Return the latest value that the fleet has given to a flag, by any of its names."""
    found = [_given[name] for name in names if name in _given]
    return max(found, key=lambda each: each.revision, default=None)


class LocalFlags:
    """The flags of this process. It implements `Flags`."""

    def __init__(self, url: str) -> None:
        self.is_ticking = False
        self.steps = Steps()
        self._url = url
        self._place = ffi.new("char[]", to_bytes(url))

    @property
    def fleet_values(self) -> Values:
        return _given

    @property
    def pid(self) -> int:
        return os.getpid()

    def terminate_program(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    def collect_public_facts(self, key: bytes | None) -> Facts:
        found = Facts({}, [], [], {})
        for flag in FLAGS.values():
            with suppress(errors.UndefinedFlagError):  # its plugin may leave, on another thread
                _add_facts(found, flag, key)
        return found.with_defaults_digest()

    def read_flag_traits(self, names: Iterable[str]) -> dict[str, Traits]:
        runs = self.is_ticking or bool(lib.pd_startup_over())
        found = {}
        for name in names:
            with suppress(errors.UndefinedFlagError):
                flag = FLAGS[name]
                info = flag._read_info()
                closed = bool(info.frozen or (runs and not info.runtime))
                definition = (info.generation, info.validators)
                found[name] = Traits(flag.source, bool(info.sensitive), closed, definition)
        return found

    def explain_undefined_flag(self, name: str) -> str:
        try:
            FLAGS[name]
        except errors.FlagError as error:
            return str(error)
        return f"{name}: was defined just now"

    def check(self, values: Values) -> str | None:
        return self._call_with_fleet_config(values, lib.pd_config_check)

    def replace(
        self,
        values: Values,
        about: Record | None,
        trail: Sequence[Values],
    ) -> str | None:
        global _given
        problem = self._call_with_fleet_config(values, lib.pd_config_apply)
        if problem is None:
            before, _given = _given, dict(values)
            self._add_changes_to_audits(before, about)
        return problem

    def count_dropped_values(self) -> int:
        return int(lib.pd_config_count_dropped(lib.PD_SOURCE_FLEET))

    def _call_with_fleet_config(self, values: Values, function: Callable[..., int]) -> str | None:
        err = new_error()
        made = ffi.new("pd_config **")
        check_status(lib.pd_config_new(lib.PD_SOURCE_FLEET, made, err), err)
        config = ffi.gc(made[0], lib.pd_config_free)
        origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_FLEET, "place": self._place})
        for name, entry in sorted(values.items(), key=lambda each: each[1].revision):
            origin.line = entry.revision & 0xFFFFFFFF
            lib.pd_config_add(config, to_bytes(name), to_bytes(entry.value), 0, origin, err)
        found = ErrorList()
        done = function(config, True, found.pointer, err) == lib.PD_OK
        failure = pop_callback_error()
        is_main = threading.current_thread() is threading.main_thread()
        if failure is not None and not isinstance(failure, Exception) and is_main:
            raise failure  # Ctrl+C, while the program joins or ticks
        return None if done else join_errors(found.to_exception(err, errors.FlagParseError).errors)

    def _add_changes_to_audits(self, before: Values, last: Record | None) -> None:
        """Add what was changed to the audits of the servers of this process."""
        live: Any = sys.modules.get("paddle_flags.live._serve")
        if live is None or not live.list_open_servers():
            return
        news: dict[int, list[tuple[str, str | None, str | None]]] = {}
        for name in sorted({*before, *_given}):
            old, new = text_in(before, name), text_in(_given, name)
            if old != new:
                entry = _given.get(name) or before[name]
                news.setdefault(entry.revision, []).append((name, old, new))
        for changes in news.values():
            about = _given.get(changes[0][0]) or last
            live.report_fleet_change(
                changes,
                fleet=self._url,
                by=about.by if about else "",
                reason=about.reason if about else "",
                until=about.time + about.duration if about and about.duration else 0.0,
            )


def _add_facts(facts: Facts, flag: Flag[Any], key: bytes | None) -> None:
    info = flag._read_info()
    others = [*flag.aliases, *flag.old_names]
    facts.add_names(flag.name, others, sensitive=bool(info.sensitive), unsafe=bool(info.unsafe))
    if info.per_process or (info.sensitive and key is None):
        return
    text, source, place, default = flag.text, flag.source, None, ""
    if info.sensitive:
        data = f"{flag.name}={text}".encode("utf-8", "surrogateescape")
        text = f"hmac:{hmac.new(key or b'', data, 'sha256').hexdigest()[:32]}"
    elif source == "default":
        default = text
    else:
        place, value = flag.history[0].place, flag.history[-1].value
        default = "" if value is None else text_of(flag.name, value)
    facts.values[flag.name] = Fact(*map(shorten_for_json, (text, source, place or "", default)))


def _forget_in_child() -> None:
    """Let a forked child be no member: the thread isn't in it, and the lock may be held."""
    global _member, _joining, _is_joining  # one process, one membership
    _joining = threading.RLock()
    _is_joining = False
    if _member is not None:
        _member.forget_in_child()
    _member = None
    fleet_hooks.clear()


atexit.register(leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
