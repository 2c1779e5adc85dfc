"""The report as text for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags._doctor.bridges import bridge_lines
from paddle_flags.extend import escape_controls, format_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._doctor.process import Report

    Rows = Sequence[Sequence[str]]

_ARTICLES = {"definition": "a", "import": "an"}


def _section(title: str, head: Sequence[str], rows: Rows) -> list[str]:
    if not rows:
        return []
    shown = [[escape_controls(cell) for cell in row] for row in rows]
    return [f"{title}:", *(f"  {line}" for line in format_table(head, shown).splitlines()), ""]


def _file_row(file: Report) -> tuple[str, ...]:
    number = "" if file["definitions"] is None else str(file["definitions"])
    return (file["path"], file["format"], _how_it_joins(file), number)


def _how_it_joins(file: Report) -> str:
    """Say whether a file joins the registry, and why not."""
    if file["joins"]:
        copy = ", has a copy of the registry" if file["copy"] else ""
        return f"yes{copy}{', links libpd_flags' if file['links'] else ''}"
    if file["copy"]:
        return "no, but it can host the registry"
    if file["links"]:
        return "no, because it defines no flags; it links libpd_flags"
    return "no, because it defines no flags with pd_flags.h"


def format_report_lines(report: Report) -> list[str]:
    """Return the report as text for people."""
    lines: list[str] = []
    for title, head, rows in (
        ("modules", ("path", "built with", "namespace", "flags"), _module_rows(report)),
        ("copies of the registry", ("path", "version", "role"), _copy_rows(report)),
        (
            "flags with several variables",
            ("flag", "module", "variable of", "current"),
            _cell_rows(report),
        ),
        ("sets of generated flags", ("set", "hash", "modules"), _schema_rows(report)),
        ("values for undefined flags", ("name", "source", "place"), _pending_rows(report)),
        ("files", ("path", "format", "joins the registry", "flags"), _file_rows(report)),
        (
            "other flag libraries",
            ("library", "path", "role", "flags", "bridge"),
            _library_rows(report),
        ),
    ):
        lines += _section(title, head, rows)
    bridges = [f"  {escape_controls(line)}" for line in bridge_lines(report["foreign_flags"])]
    if bridges:
        lines += ["flags of other libraries in this process:", *bridges, ""]
    lines += [f"note: {escape_controls(note)}" for note in report["notes"]]
    lines += [""] * bool(report["notes"])
    problems = [f"  {escape_controls(problem)}" for problem in report["problems"]]
    return lines + (["problems:", *problems] if problems else ["no problems"])


def _module_rows(report: Report) -> Rows:
    return [
        (
            m["path"],
            "header only" if m["joins"] == "header" else m["joins"],
            m["namespace"],
            str(m["flags"]),
        )
        for m in report["modules"]
    ]


def _copy_rows(report: Report) -> Rows:
    return [
        (copy["path"], copy["version"], "host" if copy["hosting"] else "forwards to the host")
        for copy in report["copies"]
    ]


def _cell_rows(report: Report) -> Rows:
    return [
        (
            flag["name"],
            cell["module"],
            f"{_ARTICLES[cell['kind']]} {cell['kind']}",
            "yes" if cell["in_step"] else "no",
        )
        for flag in report["shared_flags"]
        for cell in flag["cells"]
    ]


def _schema_rows(report: Report) -> Rows:
    return [(s["set"], s["hash"][:16], ", ".join(s["modules"])) for s in report["schemas"]]


def _pending_rows(report: Report) -> Rows:
    return [(p["name"], p["source"], p["place"] or "") for p in report["pending"]]


def _file_rows(report: Report) -> Rows:
    return [_file_row(file) for file in report["files"]]


def _library_rows(report: Report) -> Rows:
    roles = {"copy": "contains a copy", "user": "uses a copy in another file"}
    return [
        (o["library"], o["path"], roles[o["has"]], str(len(o["flags"]) or ""), o["bridge"])
        for o in report["other_libraries"]
    ]
