"""The verbs for a fleet: its values, its changes and its members."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags._core.names import suggest_name
from paddle_flags.cli import fleet_text
from paddle_flags.cli.batch import (
    format_value_or_none,
    is_selected,
    parse_change_batch,
    raise_together,
)
from paddle_flags.cli.safe_output import Raw, Report, shorten
from paddle_flags.cli.target import Target
from paddle_flags.errors import FlagArgumentError
from paddle_flags.fleet._arguments import parse_seconds
from paddle_flags.fleet._fleet import Fleet
from paddle_flags.fleet._open import parse_url
from paddle_flags.fleet._operate import AbortedError, ConflictError, UnconfirmedError
from paddle_flags.fleet._record import Change, selector
from paddle_flags.fleet._status import GONE, MISSING, SLOW
from paddle_flags.fleet._store import FleetError, ReadOnlyError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import ClassVar, NoReturn

    from paddle_flags.cli.batch import Batch
    from paddle_flags.cli.target import Find
    from paddle_flags.fleet._operate import Outcome
    from paddle_flags.fleet._state import Entry, Tables

_ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
SILENT = 4
"""The exit status if a member hasn't answered, is slow, gone or missing."""


class FleetTarget(Target):
    """A fleet."""

    kind = "a fleet"
    instead: ClassVar[Mapping[str, str]] = {
        "watch": "'{command} log {target}' lists its changes, and '{command} watch PID' watches one"
        " of its processes",
    }
    no_options = ("token_file", "changed", "settable", "temporary", "all_users")

    def __init__(self, text: str, options: argparse.Namespace, find: Find) -> None:
        super().__init__(parse_url(text).text, options, find)  # without a password
        self.url = text

    def _open_fleet(self, *, create: bool = False) -> Fleet:
        """Return the fleet; a folder that has none is an error, or gets one."""
        return Fleet(self.url, timeout=self.options.timeout, create=create)

    def _selector(self) -> str:
        """Return the members that the command line chooses."""
        return selector(self.options.role, self.options.host, self.options.member)

    def do_open(self) -> Report:
        """Show the fleet in a browser."""
        from paddle_flags.cli.open import open_in_browser

        return open_in_browser(self, self.options)

    def completion_candidates(self) -> list[Mapping[str, Any]]:
        """Return the flags that the fleet sets, or that members use."""
        with self._open_fleet() as fleet:
            names = _collect_flag_names(fleet, fleet.values_by_selector())
        return [{"name": name, "settable": True} for name in sorted(names)]

    # ---- Looking ----

    def do_list(self) -> Report:
        """List the values that the fleet gives."""
        with self._open_fleet() as fleet:
            tables = self._fetch_selected_tables(fleet)
            patterns = _add_other_names(fleet, self.options.arguments)
        kept = {
            on: {name: each for name, each in values.items() if is_selected(name, patterns)}
            for on, values in tables.items()
        }
        found = fleet_text.values_table(kept)
        remarks = [] if found.rows or self.options.json else ["the fleet gives no such values"]
        parts = [found] if found.rows else []
        return Report(fleet_text.as_json(kept), parts, remarks)

    def _fetch_selected_tables(self, fleet: Fleet) -> Tables:
        """Return all values, or those for the members that the command line chooses."""
        choice = {name: getattr(self.options, name) for name in ("role", "host", "member")}
        if not any(each is not None for each in choice.values()):
            return fleet.values_by_selector()
        return {self._selector(): fleet.values(**choice)}

    def do_get(self) -> Report:
        """Print values that the fleet gives."""
        found: dict[str, Entry] = {}
        problems: list[str] = []
        on = self._selector()
        with self._open_fleet() as fleet:
            tables = self._fetch_selected_tables(fleet)
            for name in self.options.arguments:
                names = _add_other_names(fleet, [name])
                fit = {
                    where: entry
                    for where, table in tables.items()
                    for known, entry in table.items()
                    if is_selected(known, names) and entry.value is not None
                }
                if on in fit:
                    found[name] = fit[on]
                elif fit:
                    problems.append(_describe_value_elsewhere(name, fit))
                else:
                    near = suggest_name(name, _collect_flag_names(fleet, tables))
                    problems.append(f"{name}: the fleet gives it no value here{near}")
        raise_together(FleetError, problems)
        texts = [str(each.value) for each in found.values()]
        if len(found) > 1:
            texts = [f"{name}={text}" for name, text in zip(found, texts)]
        return Report({"values": fleet_text.as_json(found)}, [Raw(text) for text in texts])

    def do_explain(self) -> Report:
        """Describe which values the fleet gives a flag, and who gave them."""
        parts: list[Any] = []
        documents = []
        with self._open_fleet() as fleet:
            tables, steps, differences = fleet.values_by_selector(), fleet.log()[::-1], fleet.diff()
            for name in self.options.arguments:
                names = _add_other_names(fleet, [name])
                values = {
                    on: {n: e for n, e in table.items() if is_selected(n, names)}
                    for on, table in tables.items()
                }
                changed = [
                    step
                    for step in steps
                    if any(is_selected(each.name, names) for each in step.record.changes)
                ]
                differ = [each for each in differences if is_selected(each.name, names)]
                parts += ["", *fleet_text.explain_parts(name, values, changed, differ)]
                documents.append(fleet_text.explain_json(name, values, changed, differ))
        return Report({"flags": documents}, parts[1:])

    def do_log(self) -> Report:
        """List the changes."""
        with self._open_fleet() as fleet:
            steps = fleet.log()[::-1][: self.options.last]
        if not steps:
            return Report({"log": []}, remarks=["nobody has changed anything"])
        return Report(
            {"log": [fleet_text.step_json(each) for each in steps]}, [fleet_text.log_table(steps)]
        )

    def do_diff(self) -> Report:
        """List the flags in which members differ."""
        if any("://" in each for each in self.options.arguments):
            message = f"{self.text} is a fleet, whose members 'diff' compares if it stands alone"
            raise FlagArgumentError(message)
        with self._open_fleet() as fleet:
            patterns = _add_other_names(fleet, self.options.arguments)
            found = [each for each in fleet.diff() if is_selected(each.name, patterns)]
        return Report(
            {"different": fleet_text.as_json(found)},
            [fleet_text.differences_table(found)] if found else [],
            status=1 if found else 0,
        )

    def do_status(self) -> Report:
        """List the members and their states."""
        with self._open_fleet() as fleet:
            status = fleet.status()
        silent = any(each.state in (SLOW, GONE, MISSING) for each in status.members)
        return Report(
            fleet_text.as_json(status),
            fleet_text.status_parts(status),
            status=SILENT if silent else 0 if status.ok else 1,
        )

    # ---- Changing ----

    def do_set(self) -> Report:
        """Change flags."""
        batch = parse_change_batch(self.options, by_revision=True)
        on = self._selector()
        duration = parse_seconds(self.options.duration, "--for")
        changes = [Change(name, value, on) for name, value in batch.values.items()]
        create = any(each.value is not None for each in changes)
        with self._open_fleet(create=create) as fleet:
            return self._run_change(
                lambda: fleet.change(
                    changes,
                    wait=self.options.wait,
                    force=self.options.force,
                    at_step=self.options.at_step,
                    duration=duration,
                    reason=self.options.reason or "",
                    dry_run=self.options.dry_run,
                    expect=self._expected_revision(fleet, batch),
                    confirm=self.options.confirm,
                )
            )

    do_unset = do_set

    def _expected_revision(self, fleet: Fleet, batch: Batch) -> int | None:
        """Return the revision at which the fleet has to be; raise FleetError for other values."""
        if not batch.expect:
            return batch.revision
        revision = fleet.revision
        table = self._fetch_selected_tables(fleet).get(self._selector(), {})
        problems = []
        for name, wanted in batch.expect.items():
            names = _add_other_names(fleet, [name])
            now = next((e.value for n, e in table.items() if is_selected(n, names)), None)
            if now != wanted:
                is_now = "isn't set" if now is None else f"is {shorten(format_value_or_none(now))}"
                problems.append(
                    f"{name}: {is_now}, expected {shorten(format_value_or_none(wanted))}"
                )
        raise_together(FleetError, problems)
        return revision if batch.revision is None else batch.revision

    def do_undo(self) -> Report:
        """Undo a change, or bring back the values of a revision."""
        revision, reason = self.options.number, self.options.reason or ""
        given = {"wait": self.options.wait, "force": self.options.force, "reason": reason}
        with self._open_fleet() as fleet:
            act = fleet.undo if self.options.verb == "undo" else fleet.reset
            return self._run_change(lambda: act(revision, **given))

    do_reset = do_undo

    def _run_change(self, change: Callable[[], Outcome]) -> Report:
        for each in _ENDING:
            if signal.getsignal(each) != signal.SIG_IGN:  # as nohup does
                signal.signal(each, _handle_ending_signal)
        try:
            outcome = change()
        except AbortedError as error:
            outcome = error.outcome
        except ConflictError as error:
            return Report(problems=str(error).split("; "), status=1)
        except UnconfirmedError as error:
            return Report(problems=fleet_text.confirmation_lines(error), status=1)
        options = self.options
        parts, problems = fleet_text.outcome_parts(outcome)
        status = 0 if outcome.ok else 1
        if outcome.silent and not outcome.verdict.startswith("aborted"):
            status = SILENT
        problems = [] if options.json else problems
        return Report(fleet_text.as_json(outcome), parts, problems=problems, status=status)

    # ---- Running beside it ----

    def do_join(self) -> Report:
        """Run a program as a member."""
        from paddle_flags.cli.join import run_as_member

        return run_as_member(self.url, self.options)

    def do_mirror(self) -> Report:
        """Keep its values in another fleet."""
        from paddle_flags.cli.mirror import mirror

        return mirror(self.url, self.options)


def _add_other_names(fleet: Fleet, patterns: list[str]) -> list[str]:
    """Return patterns, and for each that is a name the other names of its flag."""
    try:
        return [*patterns, *(fleet.names(*patterns) if patterns else ())]
    except ReadOnlyError:  # a source that has no members
        return patterns


def _collect_flag_names(fleet: Fleet, tables: Tables) -> set[str]:
    """Return the names of the flags that the fleet sets, or that members use."""
    names = {name for table in tables.values() for name in table}
    with suppress(ReadOnlyError):  # a source that has no members
        for each in fleet.members().values():
            names.update(each.get("values", {}))
    return names


def _describe_value_elsewhere(name: str, others: Mapping[str, Entry]) -> str:
    """Return that there is no value for all, or for the members that were chosen."""
    some = ", ".join(sorted(others))
    kind, _, which = min(others).partition(":")
    return f"{name}: the fleet gives it a value for {some} only; add --{kind} {which}"


def _handle_ending_signal(number: int, _frame: FrameType | None) -> NoReturn:
    """Abort what members wait for; an impatient second signal doesn't leave it open."""
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt(number)
