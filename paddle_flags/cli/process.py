"""The verbs for one process: that serves its flags, on a socket or a gateway, or serves nothing."""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

from paddle_flags._core.names import normalize_name, suggest_name
from paddle_flags.cli.batch import (
    format_value_or_none,
    is_selected,
    parse_change_batch,
    raise_together,
)
from paddle_flags.cli.flag_text import (
    changes_table,
    check_names,
    explain_parts,
    facts_lines,
    fetch_units,
    flags_table,
    format_local_timestamp,
    format_old_and_new,
    has_non_default_value,
    is_sensitive,
    list_flag_names,
)
from paddle_flags.cli.processes import resolve_process_address
from paddle_flags.cli.safe_output import Raw, Report, shorten
from paddle_flags.cli.target import Target, refusal_text
from paddle_flags.errors import FlagArgumentError
from paddle_flags.live._client import Client
from paddle_flags.live._errors import LiveConnectionError, LiveError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping
    from typing import ClassVar

    from paddle_flags.cli.target import Find
    from paddle_flags.live._errors import Problem

_OF_FLEETS = ("role", "host", "member", "wait", "force", "at_step", "all_users")
_ONLY_FLEETS = dict.fromkeys(("reset", "mirror", "join"), "it needs the URL of a fleet")


_LONGEST_TOKEN = 1 << 16


class _Readable(Target):
    """A process whose flags can be read."""

    no_options: ClassVar[tuple[str, ...]] = _OF_FLEETS

    def read(self) -> dict[str, Any]:
        """Return the process and its flags."""
        raise NotImplementedError

    def details(self, name: str) -> dict[str, Any]:
        """Return a flag with its history."""
        raise NotImplementedError

    def remarks(self, _document: Mapping[str, Any]) -> list[str]:
        """Return what is to be known about the flags that were read."""
        return []

    def completion_candidates(self) -> list[Mapping[str, Any]]:
        """Return the flags that aren't hidden."""
        return [each for each in self.read()["flags"] if "hidden" not in each.get("marks", ())]

    def do_list(self) -> Report:
        """List flags."""
        document = self.read()
        patterns = self.options.arguments
        check_names(patterns, document["flags"])
        flags = [each for each in document["flags"] if _is_wanted(each, patterns, self.options)]
        program = str(document.get("process", document).get("program", ""))
        parts = [flags_table(flags, program)]
        return Report({**document, "flags": flags}, parts, self.remarks(document))

    def do_get(self) -> Report:
        """Print values."""
        flags = self._requested_details()
        secret = [each["name"] for each in flags if is_sensitive(each)]
        if not self.options.json:
            raise_together(
                LiveError, [f"{n}: is sensitive, so its value is never shown" for n in secret]
            )
        texts = [str(each.get("text", "")) for each in flags]
        if len(flags) > 1:
            texts = [f"{each['name']}={text}" for each, text in zip(flags, texts)]
        return Report({"flags": flags}, [Raw(each) for each in texts])

    def do_explain(self) -> Report:
        """Describe flags, and where their values come from."""
        flags = self._requested_details()
        parts = [part for each in flags for part in ["", *explain_parts(each)]][1:]
        return Report({"flags": flags}, parts)

    def do_diff(self) -> Report:
        """Compare the flags with those of another target."""
        from paddle_flags.cli.diff import compare_targets

        return compare_targets(self, self.options)

    def _requested_details(self) -> list[dict[str, Any]]:
        """Return the flags that are asked for; an exception has all that is wrong."""
        found = []
        problems = []
        for name in self.options.arguments:
            try:
                found.append(self.details(name))
            except LiveConnectionError:
                raise
            except LiveError as error:
                problems.append(str(error))
        raise_together(LiveError, problems)
        return found


def _is_wanted(flag: Mapping[str, Any], patterns: list[str], options: argparse.Namespace) -> bool:
    names = list_flag_names(flag)
    if not any(is_selected(name, patterns) for name in names):
        return False
    out_of_sight = "retired" in flag or "hidden" in flag.get("marks", ())
    named = {normalize_name(name) for name in names} & {normalize_name(each) for each in patterns}
    return (
        (options.all or options.json or not out_of_sight or bool(named))
        and (not options.changed or has_non_default_value(flag))
        and (not options.settable or flag["settable"])
        and (not options.temporary or "temporary" in flag)
    )


# ---- A process that serves its flags ----


class Process(_Readable):
    """A process that serves its flags."""

    kind = "a process"
    instead: ClassVar[Mapping[str, str]] = {
        **_ONLY_FLEETS,
        "reset": "'{command} undo {target}' takes a change back",
    }

    @cached_property
    def client(self) -> Client:
        """The client of the process, which is looked for only when it is used."""
        token = _token_from(self.options.token_file)
        return Client(resolve_process_address(self.text), token=token, timeout=self.options.timeout)

    def read(self) -> dict[str, Any]:
        """Return the process and its flags."""
        return {"process": self.client.process(), **self.client.flags()}

    def details(self, name: str) -> dict[str, Any]:
        """Return a flag with its history."""
        return dict(self.client.flag(name))

    def do_set(self) -> Report:
        """Change flags."""
        batch = parse_change_batch(self.options)
        expect: Mapping[str, Any] | None = batch.expect or None
        try:
            result = self.client.change(
                batch.values,
                expect=expect,
                reason=self.options.reason,
                duration=_convert_plain_seconds(self.options.duration),
                dry_run=self.options.dry_run,
                confirm=self.options.confirm,
            )
        except LiveError as error:
            return self._refusal_report(error, batch.expect)
        return self._result_report(dict(result))

    do_unset = do_set

    def do_undo(self) -> Report:
        """Undo a change."""
        try:
            result = self.client.undo(self.options.number, reason=self.options.reason)
        except LiveError as error:
            return self._refusal_report(error, {})
        return self._result_report(dict(result))

    def do_log(self) -> Report:
        """List what was changed from outside."""
        changes = self.client.changes()[: self.options.last]
        if not changes:
            return Report({"changes": []}, remarks=["no client has changed anything"])
        return Report({"changes": changes}, [changes_table(changes, self._units)])

    def do_status(self) -> Report:
        """Return what the process is."""
        process = dict(self.client.process())
        names = ("program", "pid", "host", "version", "flags", "temporary", "revision")
        return Report(
            {"process": process},
            facts_lines({name: str(process.get(name, "")) for name in names}),
        )

    def do_watch(self) -> Report:
        """Print changes as they happen."""
        from paddle_flags.cli.watch import watch

        return watch(self.client, self.options)

    def do_open(self) -> Report:
        """Show the page in a browser."""
        from paddle_flags.cli.open import open_in_browser

        return open_in_browser(self, self.options)

    @cached_property
    def _units(self) -> dict[str, str]:
        return {} if self.options.json else fetch_units(self.client)

    def _result_report(self, result: dict[str, Any]) -> Report:
        start = "would set " if result["dry_run"] else ""
        lines = [
            f"{start}{each['name']}: {format_old_and_new(each, self._units)}"
            + (", hidden by an override" if each.get("hidden") else "")
            for each in result["flags"]
        ]
        if result["change"] is not None:
            end = f", until {format_local_timestamp(result['until'])}" if result["until"] else ""
            lines.append(f"change {result['change']}{end}")
        return Report(result, lines)

    # ---- Refusals ----

    def _refusal_report(self, error: LiveError, expected: Mapping[str, str]) -> Report:
        """Return what is wrong, each problem on a line."""
        problem = error.problem
        if problem is None:
            raise error
        rows = problem.errors or ({},)
        lines = [
            self._problem_line(part, str(row.get("kind", problem.type)), problem, expected)
            for part, row in zip(error.errors, rows)
            if isinstance(part, LiveError)
        ]
        document = {**problem._asdict(), "errors": list(problem.errors)}
        if problem.current is None:
            del document["current"]
        return Report(document, problems=list(dict.fromkeys(lines)), status=1)

    def _problem_line(
        self, part: LiveError, kind: str, problem: Problem, expected: Mapping[str, str]
    ) -> str:
        """Return what is wrong with one flag, or the request, in the words of the command line."""
        text = re.sub(r"^(?:/|params: )(for|reason|expect|confirm|change)\b", r"--\1", str(part))
        name = part.name
        if name is None:
            return refusal_text(part) if kind == "token" else text
        if kind == "confirm":
            return f"{name}: is unsafe to change; add --confirm {name}"
        current = (problem.current or {}).get(name)
        if current is not None and kind == "conflict":
            wanted = [
                e for each, e in expected.items() if normalize_name(each) == normalize_name(name)
            ]
            texts = [shorten(format_value_or_none(each)) for each in (current, *wanted)]
            return f"{name}: is " + ", expected ".join(texts)
        if part.status == "PD_ERR_UNDEFINED" and "did you mean" not in text:
            return text + suggest_name(normalize_name(name), self._known_names)
        return text

    @cached_property
    def _known_names(self) -> list[str]:
        try:
            return [name for flag in self.client.flags()["flags"] for name in list_flag_names(flag)]
        except LiveError:
            return []


def _token_from(file: str | None) -> str | None:
    """Return the token in a file, or in the environment; None if there is none."""
    if file is None:
        return os.environ.get("PADDLE_FLAGS_LIVE_TOKEN") or None
    try:
        with open(file, encoding="ascii") as source:
            token = source.readline(_LONGEST_TOKEN).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "expected ASCII"
        raise FlagArgumentError(f"{file}: {why}") from None
    if len(token.split()) == 1:
        return token
    raise FlagArgumentError(f"{file}: expected a token alone on the first line")


class Gateway(Process):
    """A process behind a URL, which needs a token."""

    kind = "a gateway"


def _convert_plain_seconds(text: str | None) -> float | str | None:
    """Return a plain number of seconds as a number; the process reads all else."""
    if text is not None and re.fullmatch(r"\d{1,15}(\.\d{1,9})?", text, re.ASCII):
        return float(text)
    return text


# ---- A process that serves nothing ----

# What the lists of names in a document that was read from memory mean.
_REMARKS = {
    "torn": "changed while they were read, so these may be wrong or missing",
    "unread": "only the program can read these, so they may be out of date",
    "cut": "too long, so these were cut",
}
_SERVE = "list, get, explain and diff read it; if it serves its flags, use '{command} %s {target}'"


class Attached(_Readable):
    """A process whose memory is read; it needn't serve anything."""

    kind = "a process that --attach only reads"
    instead: ClassVar[Mapping[str, str]] = {
        **_ONLY_FLEETS,
        **{
            verb: _SERVE % verb
            for verb in ("set", "unset", "watch", "log", "undo", "status", "open")
        },
    }
    no_options = (*_OF_FLEETS, "token_file")

    def __init__(self, text: str, options: argparse.Namespace, find: Find) -> None:
        super().__init__(text, options, find)
        if not (text.isascii() and text.isdigit()):
            raise FlagArgumentError(f"--attach: {text or repr(text)}: expected a PID")

    def read(self, *, history: bool = False) -> dict[str, Any]:
        """Return the flags in the memory of the process."""
        from paddle_flags.live._attach import read

        return read(int(self.text), history=history)

    def details(self, name: str) -> dict[str, Any]:
        """Return a flag with its history."""
        flags = self.read(history=True)["flags"]
        check_names([name], flags)
        return next(
            dict(each)
            for each in flags
            if normalize_name(name) in map(normalize_name, list_flag_names(each))
        )

    def remarks(self, _document: Mapping[str, Any]) -> list[str]:
        """Return what could not be read."""
        found = [
            f"{remark}: {', '.join(_document[key])}"
            for key, remark in _REMARKS.items()
            if _document.get(key)
        ]
        return found if _document["complete"] else [*found, "not all flags could be read"]
