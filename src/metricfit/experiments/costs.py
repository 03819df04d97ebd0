"""What a training takes with each recipe, beside cross-entropy in the same run."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from metricfit.experiments.recipes import RECIPES

__all__ = ["Cost", "costs"]

PLAINEST = "cross-entropy"


@dataclass(frozen=True)
class Cost:
    """The times of a recipe: means over data sets.

    Attributes
    ----------
    epoch : float or None
        Seconds of an epoch, of training alone; None for recipes without epochs.
    times : float or None
        The same as a multiple of cross-entropy's: the geometric mean over data sets.
    whole : float
        Seconds until a classifier is there, for one metric.
    """

    epoch: float | None
    times: float | None
    whole: float


def costs(cells: Iterable[dict[str, Any]]) -> dict[str, Cost]:
    """Return the costs of the recipes in runs that say on which device they were.

    Only runs with the same version of PyTorch and the same device as those of cross-entropy are compared,
    and only data sets that cross-entropy has as well.

    Examples
    --------
    >>> cell = {"dataset": "a", "device": "cpu", "versions": {"torch": "2"}, "epochs_run": 4, "seconds": 9.0}
    >>> found = costs([{**cell, "loss": "cross-entropy", "training_seconds": 4.0},
    ...                {**cell, "loss": "metricfit", "training_seconds": 8.0}])
    >>> found["metricfit"].times, found["metricfit"].epoch
    (2.0, 2.0)
    """
    found: dict[str, dict[tuple[str, ...], list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if "device" in cell:
            place = cell["dataset"], cell["device"], cell["versions"]["torch"]
            found[cell["loss"]][place].append(cell)
    plain = {place: _epoch(group) for place, group in found[PLAINEST].items()}
    told = {}
    for name, recipe in RECIPES.items():
        groups = {place: group for place, group in found[name].items() if place in plain}
        if not groups:
            continue
        epoch = times = None
        if recipe.network:
            epochs = {place: _epoch(group) for place, group in groups.items()}
            epoch = statistics.fmean(epochs.values())
            times = math.exp(statistics.fmean(math.log(epochs[place] / plain[place]) for place in epochs))
        whole = statistics.fmean(
            statistics.fmean(cell["seconds"] for cell in group) for group in groups.values()
        )
        told[name] = Cost(epoch, times, whole)
    return told


def _epoch(cells: list[dict[str, Any]]) -> float:
    return statistics.fmean(cell["training_seconds"] / cell["epochs_run"] for cell in cells)
