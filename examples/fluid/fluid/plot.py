"""The picture of the losses."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

Moment = tuple[int, str, str]  # the step, what happened, and its colour


def draw(file: Path, alone: list[float], together: list[float], moments: list[Moment]) -> None:
    """Both losses above, and their difference below; the same numbers give the same file."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams.update({"svg.hashsalt": "fluid", "font.size": 9, "grid.alpha": 0.3})
    from matplotlib import pyplot as plt

    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8, 5), sharex=True, height_ratios=(3, 1), layout="constrained"
    )
    above.plot(together, color="#56b4e9", linewidth=2.5, label="2 trainers and 2 servers")
    above.plot(alone, color="#000000", linewidth=0.6, label="one process")
    below.plot([abs(one - other) for one, other in zip(alone, together)], linewidth=0.8)
    style = {"textcoords": "offset points", "rotation": 90, "va": "top"}
    for step, text, colour in moments:
        for axis in (above, below):
            axis.axvline(step, color=colour, linestyle="--", linewidth=1)
        above.annotate(text, (step, max(together)), xytext=(3, -3), color=colour, **style)
    above.set(ylabel="loss")
    above.legend(loc="upper center")
    below.set(ylabel="difference", xlabel="step")
    for axis in (above, below):
        axis.grid(visible=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
