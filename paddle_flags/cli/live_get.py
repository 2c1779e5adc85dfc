"""The command live get: values of flags, and where they come from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._report.facts import one_line
from paddle_flags._report.table import table
from paddle_flags.cli.live_common import (
    change_text,
    client_of,
    end_text,
    is_sensitive,
    time_text,
    value_of,
    who_text,
)
from paddle_flags.cli.output import print_text
from paddle_flags.cli.remote_common import cut, print_json
from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    import argparse


def run(options: argparse.Namespace) -> int:
    """Print values; return the exit status."""
    client = client_of(options)
    flags = [dict(client.flag(name)) for name in options.names]
    if options.json:
        print_json({"flags": flags})
    elif options.explain:
        print_text("\n\n".join([_explained(each) for each in flags]))
    elif len(flags) == 1:
        print_text(_raw(flags[0]))
    else:
        print_text("\n".join(f"{one_line(str(each['name']))}={_raw(each)}" for each in flags))
    return 0


def _raw(flag: dict[str, Any]) -> str:
    """Return the text that sets the flag to its value again."""
    if is_sensitive(flag):
        message = f"{one_line(flag['name'])}: is sensitive, so its value is never shown"
        raise LiveError(message)
    text = str(flag.get("text", ""))
    return one_line(text) if sys.stdout is not None and sys.stdout.isatty() else text


def _explained(flag: dict[str, Any]) -> str:
    """Return the description of a flag, in the form of `paddle-flags explain`."""
    lines = [f"{one_line(flag['name'])} = {value_of(flag, wide=True)}", ""]
    known = {title: fact for title, fact in _facts(flag).items() if fact}
    lines += [f"  {title + ':':<11} {one_line(str(fact))}" for title, fact in known.items()]
    history = flag.get("history", [])
    if history:
        marks = {"marks": flag.get("marks", []), "unit": flag.get("unit")}
        rows = [
            (
                "  " + value_of({**entry, **marks}),
                _fate(entry, history[0]),
                one_line(entry["source"]),
                one_line(entry.get("place", "")),
            )
            for entry in history
        ]
        lines += ["", "values, the one that holds first:"]
        lines.append(table(("  value", "state", "source", "place"), rows))
    if flag.get("log"):
        titles = ("  at", "change", "who", "reason")
        lines += ["", "changes, the latest first:", table(titles, _log_rows(flag["log"]))]
    return "\n".join(lines)


def _facts(flag: dict[str, Any]) -> dict[str, Any]:
    choices = flag.get("choices")
    kind = f"list of {flag['items']}" if "items" in flag else flag["type"]
    file = flag.get("file", "")
    return {
        "type": f"{kind}, {flag['unit']}" if "unit" in flag else kind,
        "help": flag.get("help", ""),
        "allowed": ", ".join(choices) if choices else _limits(flag),
        "aliases": ", ".join(flag.get("aliases", ())),
        "old names": ", ".join(flag.get("old_names", ())),
        "category": flag.get("category", ""),
        "module": flag.get("module", ""),
        "defined at": f"{file}:{flag['line']}" if flag.get("line") else file,
        "attributes": ", ".join([*flag.get("marks", ()), *["frozen"] * ("frozen" in flag)]),
        "deprecated": flag.get("deprecated", ""),
        "retired": flag.get("retired", ""),
        "settable": "yes" if flag["settable"] else f"no: {flag.get('refusal', '')}",
        "temporary": end_text(flag),
    }


def _limits(flag: dict[str, Any]) -> str:
    low, high = (
        value_of({"text": "", "value": flag[key], "unit": flag.get("unit")}) if key in flag else ""
        for key in ("min", "max")
    )
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else ""


def _fate(entry: dict[str, Any], holding: dict[str, Any]) -> str:
    """Return why a value of the history holds, or does not."""
    if entry is holding:
        return "holds"
    if entry.get("replaced"):
        return "replaced by a later one"
    if entry["source"] == "override":
        return "hidden by an override above"
    above = {"override": "an override", "file": "a file"}.get(holding["source"], holding["source"])
    return f"hidden by {one_line(str(above))}"


def _log_rows(log: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    return [
        (
            "  " + time_text(event["at"]),
            cut(change_text(event)) or one_line(event["kind"]),
            who_text(event.get("who")) or one_line(event.get("source", "")),
            one_line(event.get("reason") or ""),
        )
        for event in log
    ]
