"""Wins, ties, losses, signed ranks and mean ranks over data sets."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import rankdata, wilcoxon

from metricfit.experiments.selection import Point

__all__ = ["TIE", "Comparison", "Scores", "compare", "mean_ranks", "paired", "scores"]

TIE = 0.001
"""Scores that differ by no more count as equal."""

# With fewer pairs no difference reaches five per cent.
FEWEST = 6

Scores = Mapping[tuple[str, str], Mapping[str, float]]


@dataclass(frozen=True)
class Comparison:
    """One method against another, over the cases that both have.

    Attributes
    ----------
    difference : float
        The mean difference of the scores.
    p : float or None
        Of Wilcoxon's signed-rank test, two-sided; None where there are too few pairs.
    """

    wins: int
    ties: int
    losses: int
    difference: float
    p: float | None

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return self.wins + self.ties + self.losses


def scores(points: Iterable[Point]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the mean test score by data set and metric, and then by method.

    The mean is over the seeds that all methods of the case have, so that differences are paired.
    """
    found: dict[tuple[str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for point in points:
        found[point.dataset, point.metric][point.method][point.seed] = point.test
    table = {}
    for case, methods in found.items():
        common = set.intersection(*(set(seeds) for seeds in methods.values()))
        table[case] = {
            method: statistics.fmean(seeds[seed] for seed in sorted(common))
            for method, seeds in methods.items()
            if common
        }
    return table


def paired(points: Iterable[Point], ours: str, theirs: str) -> dict[tuple[str, str], dict[str, float]]:
    """Return the scores of two methods, over the seeds that both have."""
    return scores(point for point in points if point.method in (ours, theirs))


def compare(table: Scores, ours: str, theirs: str, metrics: Sequence[str], tie: float = TIE) -> Comparison:
    """Return the comparison of two methods by some metrics.

    Examples
    --------
    >>> table = {("a", "f1"): {"x": 0.5, "y": 0.4}, ("b", "f1"): {"x": 0.6, "y": 0.6}}
    >>> compare(table, "x", "y", ["f1"])
    Comparison(wins=1, ties=1, losses=0, difference=0.0499..., p=None)
    """
    differences = [
        methods[ours] - methods[theirs]
        for (_, metric), methods in table.items()
        if metric in metrics and ours in methods and theirs in methods
    ]
    wins = sum(difference > tie for difference in differences)
    losses = sum(difference < -tie for difference in differences)
    p = None
    if len(differences) >= FEWEST and any(differences):
        p = float(wilcoxon(differences).pvalue)
    mean = statistics.fmean(differences) if differences else 0.0
    return Comparison(wins, len(differences) - wins - losses, losses, mean, p)


def mean_ranks(table: Scores, methods: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """Return the mean rank of each method over the cases that all have; 1 is best.

    Examples
    --------
    >>> table = {("a", "f1"): {"x": 0.5, "y": 0.4}, ("b", "f1"): {"x": 0.6, "y": 0.6}}
    >>> mean_ranks(table, ["x", "y"], ["f1"])
    {'x': 1.25, 'y': 1.75}
    """
    rows = [
        rankdata([-found[method] for method in methods])
        for (_, metric), found in table.items()
        if metric in metrics and all(method in found for method in methods)
    ]
    if not rows:
        return {}
    return {method: statistics.fmean(float(row[i]) for row in rows) for i, method in enumerate(methods)}
