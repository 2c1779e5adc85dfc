"""Plots of the results, as PNG and SVG: the cost of a flag by the number of flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from pathlib import Path

    from bench.table import Results

PANELS = {
    "register": ("Define", "ns for a flag"),
    "set": ("Set by name, in random order", "ns for a flag"),
    "parse": ("Parse --name=value, in order", "ns for an argument"),
    "memory": ("Heap beyond the definition", "bytes for a flag"),
}
CASES = {
    "no-writer": "no writer",
    "writer-of-this-flag": "a thread sets the flag",
    "writer-of-the-flag-beside": "a thread sets the flag beside it",
}
# Colours that the colour-blind can tell apart, and a mark for each, for grey printers.
STYLES = {
    "ours": ("#0072b2", "o"),
    "ours, record": ("#56b4e9", "s"),
    "gflags": ("#d55e00", "^"),
    "abseil": ("#009e73", "v"),
    "LLVM": ("#cc79a7", "D"),
    "LLVM, locked": ("#8c5674", "d"),
    "c10": ("#e69f00", "P"),
    "Paddle": ("#000000", "X"),
}
SETTINGS = {
    "backend": "Agg",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


def series(results: Results, work: str, who: str, end: str = "") -> tuple[list[int], list[float]]:
    """Return the numbers of flags or threads, and the medians measured with them."""
    found = {
        int(key.split("/")[1]): of_all[who]["median"]
        for key, of_all in results["rows"].items()
        if key.startswith(f"{work}/") and key.endswith(end) and who in of_all
    }
    counts = sorted(count for count, value in found.items() if value > 0)  # logarithmic axes
    return counts, [found[count] for count in counts]


def save(figure: Any, directory: Path, name: str) -> None:  # noqa: ANN401 - matplotlib's
    """Write a figure reproducibly: the same numbers give the same files."""
    directory.mkdir(parents=True, exist_ok=True)
    figure.savefig(directory / f"{name}.png", dpi=110, metadata={"Software": None})


def by_count(results: Results, directory: Path) -> None:
    """Draw the cost of a flag by the number of flags."""
    from matplotlib import pyplot as plt

    plt.rcParams.update(cast("Any", SETTINGS))
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for axis, (work, (title, unit)) in zip(axes.flat, PANELS.items()):
        for who, (colour, mark) in STYLES.items():
            counts, costs = series(results, work, who)
            if counts:
                axis.plot(counts, costs, label=who, color=colour, marker=mark, markersize=4)
        axis.set(title=title, xlabel="flags", ylabel=unit, xscale="log", yscale="log")
    axes.flat[0].legend()
    save(figure, directory, "flags")
    plt.close(figure)


def by_threads(results: Results, directory: Path) -> None:
    """Draw how many reads threads do, with and without a writer."""
    from matplotlib import pyplot as plt

    plt.rcParams.update(cast("Any", SETTINGS))
    figure, axes = plt.subplots(1, len(CASES), figsize=(10, 4), sharey=True, layout="constrained")
    for axis, (case, title) in zip(axes, CASES.items()):
        for who, (colour, mark) in STYLES.items():
            counts, reads = series(results, "threads", who, f"/{case}")
            if counts:
                axis.plot(counts, reads, label=who, color=colour, marker=mark, markersize=4)
        axis.set(title=title, xlabel="readers", yscale="log", xticks=[1, 2, 4])
    axes[0].set(ylabel="million reads of a string in a second")
    axes[0].legend()
    save(figure, directory, "threads")
    plt.close(figure)


def drawn(results: Results) -> dict[str, str]:
    """Return the plots that have data, with their captions."""
    texts = {
        "flags": ("register/", "Cost and memory of a flag, for 1 to 1,000,000 flags"),
        "threads": ("threads/", "Reads of a string in 1, 2 and 4 threads, and beside a writer"),
    }
    return {
        name: text
        for name, (prefix, text) in texts.items()
        if any(key.startswith(prefix) for key in results["rows"])
    }


def draw(results: Results, directory: Path) -> None:
    """Draw all plots that have data."""
    draws = {"flags": by_count, "threads": by_threads}
    for name in drawn(results):
        draws[name](results, directory)
