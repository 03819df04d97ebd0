"""From cells to points: the run that is best on the validation part, for each method, metric and data set."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from metricfit.experiments.judging import Decision
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.runs import run_of
from metricfit.sklearn import Cut

__all__ = ["METHODS", "Method", "Point", "equal_budgets", "label_of", "points_of"]


@dataclass(frozen=True)
class Method:
    """A recipe and a way to decide, under the name that tables use."""

    name: str
    loss: str
    tuned: bool

    def decision(self, metric: str, *, deployed: bool = False) -> Decision | None:
        """Return where this method cuts scores for a metric.

        The paper measures precision at recall on the curve, where there is nothing to tune; `deployed` asks
        for the decision that can be taken without the labels of the test part.

        Examples
        --------
        >>> METHODS["cross-entropy, tuned"].decision("f1")
        'tuned'
        >>> METHODS["cross-entropy"].decision("pr80"), METHODS["cross-entropy, tuned"].decision("pr80")
        ('curve', None)
        """
        if METRICS[metric].constraints and not deployed:
            return None if self.tuned else "curve"
        return "tuned" if self.tuned else "zero"


METHODS = {
    method.name: method
    for method in (
        Method("cross-entropy", "cross-entropy", False),
        Method("cross-entropy, tuned", "cross-entropy", True),
        Method("weighted", "weighted", False),
        Method("weighted, tuned", "weighted", True),
        Method("balanced", "balanced", False),
        Method("balanced, tuned", "balanced", True),
        Method("focal", "focal", False),
        Method("focal, tuned", "focal", True),
        Method("smp", "smp", False),
        Method("smp, tuned", "smp", True),
        Method("AUCM, tuned", "aucm", True),
        Method("AP loss, tuned", "ap-loss", True),
        Method("ap-perf", "ap-perf", False),
        Method("soft", "soft", False),
        Method("soft, tuned", "soft", True),
        Method("metricfit", "metricfit", False),
        Method("metricfit, tuned", "metricfit", True),
        Method("trees", "trees", False),
        Method("trees, tuned", "trees", True),
        Method("LightGBM", "lightgbm", False),
        Method("LightGBM, tuned", "lightgbm", True),
        Method("MetricEnsemble", "ensemble", True),
    )
}
"""By name, in the order of the tables' columns."""


@dataclass(frozen=True)
class Point:
    """What one method reaches on the test part of one data set, with the run chosen on validation data."""

    label: str
    dataset: str
    seed: int
    metric: str
    method: str
    decision: Decision
    test: float
    validation: float
    missed: float
    recall: float
    l2: float
    cell: dict[str, Any]


def label_of(cell: dict[str, Any]) -> str:
    """Return the name of the protocol, with the scale where it is not the protocol's own.

    Examples
    --------
    >>> label_of({"protocol": "recommended", "scale": 32.0})
    'recommended, scale 32'
    """
    scale = cell["scale"]
    return str(cell["protocol"]) if scale is None else f"{cell['protocol']}, scale {scale:g}"


def points_of(cells: Iterable[dict[str, Any]], *, deployed: bool = False) -> list[Point]:
    """Return the points of all methods, of which every weight of the penalty has been tried.

    Of runs that differ only in their budget the one with the largest counts. Losses that use no metric have
    no scale, so they appear with every scale of a protocol.
    """
    largest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for cell in cells:
        key = (label_of(cell), cell["dataset"], cell["seed"], cell["loss"], cell["metric"], cell["l2"])
        if key not in largest or _budget(cell) > _budget(largest[key]):
            largest[key] = cell
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for key in sorted(largest, key=str):
        groups[key[:-1]].append(largest[key])
    most: dict[tuple[str, str], int] = defaultdict(int)
    for key, group in groups.items():
        most[key[0], key[3]] = max(most[key[0], key[3]], len(group))
    labels = {key[0] for key in groups}
    return [
        point
        for key, group in groups.items()
        if len(group) == most[key[0], key[3]]
        for label in sorted(labels)
        if label == key[0] or (group[0]["loss"] != "metricfit" and label.startswith(f"{key[0]}, "))
        for point in _chosen(label, group, deployed=deployed)
    ]


def equal_budgets(cells: Iterable[dict[str, Any]], recipes: Iterable[str]) -> list[dict[str, Any]]:
    """Return the cells of these recipes with a number of epochs that all were allowed.

    It is chosen for each data set and seed: the one with the most cells, so that an unfinished sweep with
    more epochs does not count, and then the largest. Sets without a common number are left out.

    Examples
    --------
    >>> cells = [{"protocol": "paper", "dataset": "a", "seed": 0, "loss": loss, "epochs": epochs,
    ...           "metric": None, "l2": 0.0, "steps": None, "scale": None, "steps_run": 9, "epochs_run": 3}
    ...          for loss, epochs in [("cross-entropy", 5), ("cross-entropy", 100), ("metricfit", 5)]]
    >>> [(c["loss"], c["epochs"]) for c in equal_budgets(cells, ["cross-entropy", "metricfit"])]
    [('cross-entropy', 5), ('metricfit', 5)]
    """
    wanted = set(recipes)
    kept = [cell for cell in cells if cell["loss"] in wanted]
    groups: dict[tuple[Any, ...], dict[int, set[tuple[Any, ...]]]] = defaultdict(lambda: defaultdict(set))
    for cell in kept:
        groups[_parts_of(cell)][_budget(cell)].add((cell["loss"], cell["metric"], cell["l2"]))
    common = {
        parts: max(
            (budget for budget, found in budgets.items() if {loss for loss, *_ in found} == wanted),
            key=lambda budget: (len(budgets[budget]), budget),
            default=None,
        )
        for parts, budgets in groups.items()
    }
    return [cell for cell in kept if _budget(cell) == common[_parts_of(cell)]]


def _parts_of(cell: dict[str, Any]) -> tuple[Any, ...]:
    return label_of(cell), cell["dataset"], cell["seed"]


def _chosen(label: str, group: list[dict[str, Any]], *, deployed: bool) -> Iterable[Point]:
    loss = group[0]["loss"]
    for method in METHODS.values():
        for metric in METRICS if method.loss == loss else ():
            decision = method.decision(metric, deployed=deployed)
            tried = [cell for cell in group if decision in cell["results"].get(metric, {})]
            if decision is None or not tried:
                continue
            # The first of equals: the smallest penalty.
            best = max(sorted(tried, key=lambda cell: cell["l2"]), key=lambda c: _rank(c, metric, decision))
            found = best["results"][metric][decision]
            actual = best["positives"]["test"]
            yield Point(
                label,
                best["dataset"],
                best["seed"],
                metric,
                method.name,
                decision,
                found["test"],
                found["validation"],
                found["missed"],
                found["hits"] / actual if actual else math.nan,
                best["l2"],
                best,
            )


def _rank(cell: dict[str, Any], metric: str, decision: Decision) -> float:
    found = cell["results"][metric][decision]
    return Cut(0.0, found["validation"], found["missed"]).rank


def _budget(cell: dict[str, Any]) -> int:
    """Return how many epochs the run was allowed."""
    return run_of(cell).epochs_for(cell["steps_run"] // cell["epochs_run"])
