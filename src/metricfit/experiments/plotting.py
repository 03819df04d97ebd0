"""The paper's Figure 2: each case a point, one method on each axis."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from metricfit.experiments.metrics import METRICS, TITLES
from metricfit.experiments.statistics import Scores

__all__ = ["draw_scatter"]

MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*")


def draw_scatter(table: Scores, ours: str, theirs: str, path: Path, *, title: str) -> bool:
    """Draw the cases that both methods have; return whether there are any."""
    figure = Figure(figsize=(6.2, 6.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=1)
    colours = mpl.color_sequences["tab10"]
    lowest = 1.0
    for metric, marker, colour in zip(METRICS, MARKERS, colours, strict=False):
        pairs = [
            (found[theirs], found[ours])
            for (_, name), found in table.items()
            if name == metric and ours in found and theirs in found
        ]
        if pairs:
            lowest = min(lowest, *map(min, pairs))
            across, up = zip(*pairs, strict=True)
            axes.scatter(across, up, s=28, marker=marker, color=colour, label=TITLES[metric], zorder=2)
    if lowest == 1.0:
        return False
    limits = (max(0.0, lowest - 0.03), 1.01)
    axes.set(xlim=limits, ylim=limits, xlabel=theirs, ylabel=ours, title=title, aspect="equal")
    axes.legend(fontsize=8, loc="lower right")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    return True
