"""Writes the generated parts of docs/explanation/performance.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import plots, rows, table

if TYPE_CHECKING:
    from pathlib import Path

    from bench.table import Results


def disassembly(results: Results) -> str:
    """Return the loops that read an int flag."""
    parts = []
    for who, text in results["disassembly"].items():
        parts.append(f"{who}:\n\n```text\n{text}\n```")
    return "\n\n".join(parts)


def unmet(results: Results) -> str:
    """Return the budgets that aren't met."""
    lines = [f"- {text}" for text in table.worst(results)]
    return "\n".join(lines) or "All budgets are met."


def shown_plots(results: Results) -> str:
    """Return the plots that have data."""
    drawn = plots.drawn(results)
    return "\n\n".join(f"![{text}](../../bench/results/{name}.png)" for name, text in drawn.items())


def sections(results: Results) -> dict[str, str]:
    """Return the text of every part."""
    tables = rows.tables(tuple(results["pythons"]))
    texts = [(each.title, table.markdown(results, each)) for each in tables]
    return {
        "machine": table.machine(results),
        "tables": "\n\n".join(f"### {title}\n\n{text}" for title, text in texts if text),
        "plots": shown_plots(results),
        "unmet": unmet(results),
        "disassembly": disassembly(results),
    }


def filled(document: str, parts: dict[str, str]) -> str:
    """Return a document with these parts replaced."""
    for name, text in parts.items():
        begin, end = f"<!-- bench {name} -->", f"<!-- end of {name} -->"
        before, begins, rest = document.partition(begin)
        _, ends, after = rest.partition(end)
        if not (begins and ends):
            raise ValueError(f"there is no part {name}")
        document = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return document


def put(path: Path, parts: dict[str, str]) -> None:
    """Update parts of a document."""
    path.write_text(filled(path.read_text("utf-8"), parts), "utf-8")


def write(path: Path, results: Results) -> None:
    """Update a document with results of the whole bench."""
    put(path, sections(results))
