"""The commands fleet set, unset and reset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._input import files
from paddle_flags._input.reading import Reading
from paddle_flags._report.facts import one_line
from paddle_flags._report.table import table
from paddle_flags.cli.fleet_common import line_of, open_fleet, print_unconfirmed, reason_of
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.remote_common import pair, print_json
from paddle_flags.fleet._apply import GOOD, WAITS
from paddle_flags.fleet._operate import AbortedError, ConflictError, UnconfirmedError
from paddle_flags.fleet._record import Change, selector

if TYPE_CHECKING:
    import argparse

    from paddle_flags.fleet._outcome import Outcome

_SILENT = 4


def run_set(options: argparse.Namespace) -> int:
    """Set flags; return the exit status."""
    on = selector(options.role, options.host, options.member)
    changes = [] if options.file is None else [Change(*each, on) for each in _load(options.file)]
    changes += [Change(name, value, on) for name, value in map(pair, options.pairs)]
    if not changes:
        message = "expected NAME=VALUE, or --file FILE"
        raise errors.FlagArgumentError(message)
    return _change(options, changes)


def run_unset(options: argparse.Namespace) -> int:
    """Drop values; return the exit status."""
    on = selector(options.role, options.host, options.member)
    return _change(options, [Change(name, None, on) for name in options.names])


def run_reset(options: argparse.Namespace) -> int:
    """Bring back the values of a revision; return the exit status."""
    fleet = open_fleet(options)
    outcome = fleet.reset(options.revision, wait=options.wait, reason=options.reason)
    return _print(outcome, options)


def _change(options: argparse.Namespace, changes: list[Change]) -> int:
    fleet = open_fleet(options, create=any(each.value is not None for each in changes))
    try:
        outcome = fleet.change(
            changes,
            wait=options.wait,
            all_or_none=options.all_or_none,
            at_step=options.at_step,
            duration=options.duration,
            reason=options.reason,
            dry_run=options.dry_run,
            expect=options.expect,
            confirm=options.confirm,
        )
    except AbortedError as error:
        return _print(error.outcome, options)
    except ConflictError as error:
        for line in str(error).split("; "):
            print_error(f"{PROGRAM}: error: {one_line(line)}")
        return 1
    except UnconfirmedError as error:
        print_unconfirmed(error)
        return 1
    return _print(outcome, options)


def _load(path: str) -> list[tuple[str, str]]:
    """Return names and values of a file."""
    if files.suffix_of(path) in files.FLAGFILES:
        return _load_flagfile(path)
    reading = files.read(path, Reading(path))
    if reading.problems:
        error = errors.FlagFileError(reading.problems[0])
        error._errors = tuple(errors.FlagFileError(each) for each in reading.problems)  # noqa: SLF001
        raise error
    return [(value.name, value.text) for value in reading.values]


def _load_flagfile(path: str) -> list[tuple[str, str]]:
    """Return the lines --NAME=VALUE of a flagfile; others are errors."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: {getattr(error, 'strerror', None) or error}"
        raise errors.FlagFileError(message) from None
    found = []
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        name, equals, value = line.lstrip("-").partition("=")
        if not (line.startswith("-") and name and equals):
            message = f"{path}:{number}: {one_line(line)}: expected --NAME=VALUE"
            raise errors.FlagFileError(message)
        found.append((name, value))
    return found


# ---- What became of it ----


def _print(outcome: Outcome, options: argparse.Namespace) -> int:
    if options.json:
        print_json(_json(outcome))
    else:
        _print_text(outcome, asked=_asks(options))
    aborted = outcome.verdict.startswith("aborted")
    if outcome.silent and not aborted:
        return _SILENT
    return 0 if outcome.ok else 1


def _json(outcome: Outcome) -> dict[str, Any]:
    answers = {name: each._asdict() for name, each in outcome.answers.items()}
    return {**outcome._asdict(), "answers": answers, "ok": outcome.ok}


def _asks(options: argparse.Namespace) -> bool:
    """Return whether members are waited for."""
    changing = vars(options)
    proposes = changing.get("at_step") is not None or changing.get("all_or_none")
    return bool(options.wait is not None or proposes or changing.get("dry_run"))


def _print_text(outcome: Outcome, *, asked: bool) -> None:
    rows = [(line_of(n), a.state, reason_of(a.why)) for n, a in sorted(outcome.answers.items())]
    rows += [(line_of(n), "no answer", reason_of(why)) for n, why in sorted(outcome.silent.items())]
    if rows:
        print_text(table(("member", "answer", ""), rows))
    elif asked:
        print_text("no member that is here is concerned")
    text = f"revision {outcome.revision}: {one_line(outcome.verdict)}"
    if outcome.verdict.startswith("aborted"):
        print_error(f"{PROGRAM}: error: {text}")
        return
    others = sum(each.state not in (*GOOD, WAITS) for each in outcome.answers.values())
    if others:
        text += f", and {others} of {len(rows)} members did not take it"
    print_text(text)
    if outcome.unknown:
        print_error(f"{PROGRAM}: error: no member has such a flag yet")
