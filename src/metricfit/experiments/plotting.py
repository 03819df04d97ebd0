"""The figures: one method against another, gains by the number of rows, and scores by what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from metricfit.experiments.metrics import METRICS, TITLES
from metricfit.experiments.statistics import Scores

__all__ = ["draw_costs", "draw_gains", "draw_scatter"]

MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*")
DPI = 110


def draw_scatter(table: Scores, ours: str, theirs: str, path: Path, *, title: str) -> bool:
    """Draw the cases that both methods have, as in the paper's Figure 2; return whether there are any."""
    figure = Figure(figsize=(6.2, 6.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=1)
    lowest = 1.0
    for metric in METRICS:
        pairs = [
            (found[theirs], found[ours])
            for (_, name), found in table.items()
            if name == metric and ours in found and theirs in found
        ]
        if pairs:
            lowest = min(lowest, *map(min, pairs))
            _points(axes, metric, pairs)
    if lowest == 1.0:
        return False
    limits = (max(0.0, lowest - 0.03), 1.01)
    axes.set(xlim=limits, ylim=limits, xlabel=theirs, ylabel=ours, title=title, aspect="equal")
    axes.legend(fontsize=8, loc="lower right")
    _save(figure, path)
    return True


def draw_gains(
    table: Scores, ours: str, theirs: str, across: Mapping[str, float], path: Path, *, label: str, title: str
) -> None:
    """Draw the difference of two methods over a number that each data set has, on a logarithmic axis."""
    figure = Figure(figsize=(7.0, 4.4), layout="constrained")
    axes = figure.add_subplot()
    axes.axhline(0.0, color="0.6", linewidth=1, zorder=1)
    for metric in METRICS:
        pairs = [
            (across[dataset], found[ours] - found[theirs])
            for (dataset, name), found in table.items()
            if name == metric and ours in found and theirs in found
        ]
        if pairs:
            _points(axes, metric, pairs)
    axes.set(xlabel=label, ylabel=f"{ours} less {theirs}", title=title)
    _logarithmic(axes)
    axes.legend(fontsize=8, ncols=2)
    _save(figure, path)


def draw_costs(rows: Sequence[tuple[str, float, float]], path: Path, *, title: str) -> None:
    """Draw the mean score of each method over the time of a training, in seconds on a logarithmic axis.

    Parameters
    ----------
    rows : sequence of tuple
        The name, the seconds and the score of each; names that begin with Metric or SoftMetric stand out.
    """
    figure = Figure(figsize=(7.0, 4.6), layout="constrained")
    axes = figure.add_subplot()
    for name, seconds, score in rows:
        mine = name.startswith(("Metric", "SoftMetric"))
        axes.scatter([seconds], [score], s=36, color="tab:orange" if mine else "tab:blue", zorder=2)
        axes.annotate(name, (seconds, score), xytext=(5, 3), textcoords="offset points", fontsize=8)
    axes.set(xlabel="seconds of one core for a classifier", ylabel="mean score", title=title)
    _logarithmic(axes)
    axes.margins(x=0.25, y=0.1)
    _save(figure, path)


def _points(axes: Axes, metric: str, pairs: Sequence[tuple[float, float]]) -> None:
    place = list(METRICS).index(metric)
    across, up = zip(*pairs, strict=True)
    colour = mpl.color_sequences["tab10"][place]
    axes.scatter(across, up, s=28, marker=MARKERS[place], color=colour, label=TITLES[metric], zorder=2)


def _logarithmic(axes: Axes) -> None:
    """Give the axis across a logarithmic scale with plain numbers at 1, 2 and 5."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
