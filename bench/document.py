"""The parts of docs/explanation/performance.md that a run writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench import plots, rows, table

if TYPE_CHECKING:
    from pathlib import Path

    from bench.table import Results


def disassembly(results: Results) -> str:
    """Give the loops that read an int flag."""
    parts = []
    for who, text in results["disassembly"].items():
        parts.append(f"{who}:\n\n```text\n{text}\n```")
    return "\n\n".join(parts)


def unmet(results: Results) -> str:
    """Give the budgets that aren't met."""
    lines = [f"- {text}" for text in table.worst(results)]
    return "\n".join(lines) or "All budgets are met."


def shown_plots(results: Results) -> str:
    """Give the plots that there are."""
    drawn = plots.drawn(results)
    return "\n\n".join(f"![{text}](../../bench/results/{name}.svg)" for name, text in drawn.items())


def sections(results: Results) -> dict[str, str]:
    """Give the text of every part."""
    tables = rows.tables(tuple(results["pythons"]))
    texts = [(each.title, table.markdown(results, each)) for each in tables]
    return {
        "machine": table.machine(results),
        "tables": "\n\n".join(f"### {title}\n\n{text}" for title, text in texts if text),
        "plots": shown_plots(results),
        "unmet": unmet(results),
        "disassembly": disassembly(results),
    }


def filled(document: str, results: Results) -> str:
    """Give a document with its parts made anew."""
    for name, text in sections(results).items():
        begin, end = f"<!-- bench {name} -->", f"<!-- end of {name} -->"
        before, begins, rest = document.partition(begin)
        _, ends, after = rest.partition(end)
        if not (begins and ends):
            raise ValueError(f"there is no part {name}")
        document = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    return document


def write(path: Path, results: Results) -> None:
    """Renew a document."""
    path.write_text(filled(path.read_text("utf-8"), results), "utf-8")
