"""The cost of a training with each recipe, relative to cross-entropy in the same run."""

from __future__ import annotations

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
    """The times of a recipe, of one core or of a GPU: medians over data sets.

    Attributes
    ----------
    times : float or None
        The median epoch, of training alone, as a multiple of cross-entropy's on the same data set; None for
        recipes without epochs.
    whole : float
        Seconds until a classifier is there, for one metric.
    sets : int
        How many data sets these are.
    """

    times: float | None
    whole: float
    sets: int


def costs(cells: Iterable[dict[str, Any]]) -> dict[str, Cost]:
    """Return the costs of the recipes in runs that say what an epoch took of one core.

    A data set counts if cross-entropy was trained on it with the same processor and version of PyTorch.

    Examples
    --------
    >>> cell = {"dataset": "a", "processor": "x", "versions": {"torch": "2"}, "seconds": 9.0}
    >>> found = costs([{**cell, "loss": "cross-entropy", "epoch_seconds": 1.0},
    ...                {**cell, "loss": "metricfit", "epoch_seconds": 2.0}])
    >>> found["metricfit"]
    Cost(times=2.0, whole=9.0, sets=1)
    """
    timed: dict[str, dict[tuple[str, ...], list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if "epoch_seconds" in cell:
            place = cell["dataset"], cell["processor"], cell["versions"]["torch"]
            timed[cell["loss"]][place].append(cell)
    plain = {place: _median(group, "epoch_seconds") for place, group in timed[PLAINEST].items()}
    found = {}
    for name, recipe in RECIPES.items():
        groups = {place: group for place, group in timed[name].items() if place in plain}
        if not groups:
            continue
        times = None
        if recipe.network:
            times = statistics.median(
                _median(group, "epoch_seconds") / plain[place] for place, group in groups.items()
            )
        whole = statistics.median(_median(group, "seconds") for group in groups.values())
        found[name] = Cost(times, whole, len({place[0] for place in groups}))
    return found


def _median(cells: list[dict[str, Any]], name: str) -> float:
    return float(statistics.median(cell[name] for cell in cells))
