"""The figures: one method against another, gains by the number of rows, and scores with what they cost.

They are drawn to be read at a width of 400 pixels, in colours that the colour-blind can tell apart.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from metricfit.experiments.metrics import METRICS, TITLES
from metricfit.experiments.statistics import Scores

__all__ = ["draw_costs", "draw_differences", "draw_gains", "draw_scatter"]

MARKERS = ("o", "s", "^", "v", "D", "P", "X", "*")
# The palette of Okabe and Ito, less its yellow, with a grey.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#888888")
OWN, OTHER = "#D55E00", "#0072B2"
WIDTH, DPI = 5.0, 160
TEXT, SMALL = 11.0, 10.0


def draw_scatter(
    table: Scores, ours: str, theirs: str, path: Path, *, title: str, labels: tuple[str, str] | None = None
) -> bool:
    """Draw the cases that both methods have, as in the paper's Figure 2; return whether there are any."""
    figure, axes = _axes(WIDTH)
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
    upwards, across = labels or (ours, theirs)
    axes.set(xlim=limits, ylim=limits, aspect="equal")
    axes.set_xlabel(across, size=TEXT)
    axes.set_ylabel(upwards, size=TEXT)
    axes.set_title(title, size=TEXT)
    axes.legend(fontsize=SMALL, loc="lower right", handletextpad=0.2, borderpad=0.3)
    _save(figure, path)
    return True


def draw_gains(
    table: Scores, ours: str, theirs: str, across: Mapping[str, float], path: Path, *, label: str, gain: str
) -> None:
    """Draw the difference of two methods over a number that each data set has, on a logarithmic axis."""
    figure, axes = _axes(4.2)
    axes.axhline(0.0, color="0.6", linewidth=1, zorder=1)
    for metric in METRICS:
        pairs = [
            (across[dataset], found[ours] - found[theirs])
            for (dataset, name), found in table.items()
            if name == metric and ours in found and theirs in found
        ]
        if pairs:
            _points(axes, metric, pairs)
    axes.set_xlabel(label, size=TEXT)
    axes.set_ylabel(gain, size=TEXT)
    _logarithmic(axes)
    axes.legend(fontsize=SMALL, ncols=3, handletextpad=0.2, borderpad=0.3, columnspacing=0.8)
    _save(figure, path)


def draw_differences(rows: Mapping[str, Mapping[tuple[str, str], float]], path: Path, *, label: str) -> None:
    """Draw the differences to each of some methods, a point for each data set and metric, and their mean."""
    figure, axes = _axes(0.9 + 0.75 * len(rows))
    axes.axvline(0.0, color="0.6", linewidth=1, zorder=1)
    spread = np.random.default_rng(0)
    for place, differences in enumerate(list(rows.values())[::-1]):
        values = list(differences.values())
        heights = place + spread.uniform(-0.25, 0.25, len(values))
        axes.scatter(values, heights, s=22, color=OTHER, alpha=0.6, linewidths=0, zorder=2)
        mean = statistics.fmean(values)
        axes.vlines(mean, place - 0.38, place + 0.38, color=OWN, linewidth=2.5, zorder=3)
        axes.annotate(
            f"{mean:+z.3f}", (mean, place + 0.4), size=SMALL, color=OWN, ha="center", va="bottom", zorder=3
        )
    axes.set(yticks=range(len(rows)), ylim=(-0.5, len(rows) - 0.25))
    axes.set_yticklabels(list(rows)[::-1], size=TEXT)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlabel(label, size=TEXT)
    _save(figure, path)


def draw_costs(rows: Sequence[tuple[str, float, float]], path: Path, *, label: str) -> None:
    """Draw the mean score of each method, the best on top, with the seconds that a classifier takes.

    Parameters
    ----------
    rows : sequence of tuple
        The name, the seconds and the score of each; names that begin with Metric or SoftMetric stand out.
    """
    ordered = sorted(rows, key=lambda row: row[2])
    names, times, values = zip(*ordered, strict=True)
    colours = [OWN if name.startswith(("Metric", "SoftMetric")) else OTHER for name in names]
    figure, axes = _axes(0.8 + 0.3 * len(ordered))
    places = range(len(ordered))
    spread = max(values) - min(values)
    lowest = min(values) - 0.1 * spread
    axes.hlines(places, lowest, values, color="0.8", linewidth=1, zorder=1)
    axes.scatter(values, places, s=40, color=colours, zorder=2)
    for place, (seconds, value) in enumerate(zip(times, values, strict=True)):
        axes.annotate(
            f"{seconds:.0f} s",
            (value, place),
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            size=SMALL,
        )
    axes.set_yticks(places, names, size=SMALL)
    axes.set_xlabel(label, size=TEXT, loc="right")
    axes.set_xlim(lowest, max(values) + 0.2 * spread)  # with room for the seconds of the best
    axes.margins(y=0.04)
    _save(figure, path)


def _axes(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    axes = figure.add_subplot()
    axes.tick_params(labelsize=SMALL)
    return figure, axes


def _points(axes: Axes, metric: str, pairs: Sequence[tuple[float, float]]) -> None:
    place = list(METRICS).index(metric)
    across, up = zip(*pairs, strict=True)
    axes.scatter(
        across, up, s=30, marker=MARKERS[place], color=COLOURS[place], label=TITLES[metric], zorder=2
    )


def _logarithmic(axes: Axes) -> None:
    """Give the axis across a logarithmic scale with plain numbers at 1, 2 and 5."""
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=DPI)
