"""Truth by brute force: metrics from their definition, games by writing out every pair of sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

import metricfit as mf

Measure = Callable[[float, float, float, float], float]


def _fbeta(beta: float) -> Measure:
    return lambda tp, fp, fn, tn: (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)


def _kappa(tp: float, fp: float, fn: float, tn: float) -> float:
    n = tp + fp + fn + tn
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    return ((tp + tn) / n - chance) / (1 - chance)


DEFINITIONS: dict[str, tuple[mf.Metric, Measure]] = {
    "accuracy": (mf.accuracy, lambda tp, fp, fn, tn: (tp + tn) / (tp + fp + fn + tn)),
    "precision": (mf.precision, lambda tp, fp, fn, tn: tp / (tp + fp)),
    "recall": (mf.recall, lambda tp, fp, fn, tn: tp / (tp + fn)),
    "specificity": (mf.specificity, lambda tp, fp, fn, tn: tn / (tn + fp)),
    "npv": (mf.npv, lambda tp, fp, fn, tn: tn / (tn + fn)),
    "f1": (mf.f1, _fbeta(1)),
    "f2": (mf.f2, _fbeta(2)),
    "fhalf": (mf.fbeta(0.5), _fbeta(0.5)),
    "gm_precision_recall": (
        mf.gm_precision_recall,
        lambda tp, fp, fn, tn: tp / ((tp + fp) * (tp + fn)) ** 0.5,
    ),
    "balanced_accuracy": (
        mf.balanced_accuracy,
        lambda tp, fp, fn, tn: 0.5 * (tp / (tp + fn) + tn / (tn + fp)),
    ),
    "informedness": (mf.informedness, lambda tp, fp, fn, tn: tp / (tp + fn) + tn / (tn + fp) - 1),
    "markedness": (mf.markedness, lambda tp, fp, fn, tn: tp / (tp + fp) + tn / (tn + fn) - 1),
    "kappa": (mf.kappa, _kappa),
    "mcc": (
        mf.mcc,
        lambda tp, fp, fn, tn: (tp * tn - fp * fn) / ((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)) ** 0.5,
    ),
}
"""Every built-in metric with its definition over (tp, fp, fn, tn), written independently of the library."""


def measured(measure: Measure, truth: NDArray[np.int64], predicted: NDArray[np.int64]) -> float:
    """Value of a definition, 1 or 0 where it is undefined."""
    tp = int((truth & predicted).sum())
    fp, fn = int(predicted.sum()) - tp, int(truth.sum()) - tp
    tn = truth.size - tp - fp - fn
    try:
        return measure(tp, fp, fn, tn)
    except ZeroDivisionError:
        return float((tp == 0 and fp == 0 and fn == 0) or (tn == 0 and fp == 0 and fn == 0))


def all_sets(n: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product((0, 1), repeat=n)), dtype=np.int64)


def payoffs(measure: Measure, n: int) -> NDArray[np.float64]:
    """Metric of every predicted set (rows) against every true set (columns)."""
    sets = all_sets(n)
    return np.array([[measured(measure, truth, predicted) for truth in sets] for predicted in sets])


def slacks(constraints: tuple[mf.Constraint, ...], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much every predicted set (rows) meets every constraint on a built-in metric (columns)."""
    measures = dict(DEFINITIONS.values())
    sets = all_sets(labels.size)
    result = np.empty((len(sets), len(constraints)))
    for c, constraint in enumerate(constraints):
        sign = 1 if constraint.sense == ">=" else -1
        for s, predicted in enumerate(sets):
            reached = measured(measures[constraint.metric], labels, predicted)
            result[s, c] = sign * (reached - constraint.threshold)
    return result


def enumerated_value(
    table: NDArray[np.float64], scores: NDArray[np.float64], slack: NDArray[np.float64] | None = None
) -> float | None:
    """Value of the 2^n by 2^n game, or of some of its rows; None if no mixture meets the constraints.

    The predictor's side: the largest w that a feasible mixture over sets guarantees.
    """
    sets = all_sets(scores.size)
    game = table - sets @ scores
    count = len(table)
    rows = np.hstack((-game.T, np.ones((len(sets), 1))))
    if slack is not None:
        rows = np.vstack((rows, np.hstack((-slack.T, np.zeros((slack.shape[1], 1))))))
    result = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=rows,
        b_ub=np.zeros(len(rows)),
        A_eq=np.append(np.ones(count), 0.0)[None, :],
        b_eq=np.ones(1),
        bounds=[(0, None)] * count + [(None, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return None if result.x is None else -float(result.fun)


def table_payoffs(metric: mf.Metric, n: int) -> NDArray[np.float64]:
    """Any metric of every predicted set (rows) against every true set (columns), from its own score."""
    sets = all_sets(n)
    return np.array([[metric.objective.score(truth, predicted) for truth in sets] for predicted in sets])


def table_slacks(constraints: tuple[mf.Constraint, ...], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """By how much every predicted set (rows) meets every constraint on any metric (columns)."""
    signs = [1 if constraint.sense == ">=" else -1 for constraint in constraints]
    return np.array(
        [
            [
                sign * (constraint.metric.score(labels, predicted) - float(constraint.threshold))
                for sign, constraint in zip(signs, constraints, strict=True)
            ]
            for predicted in all_sets(labels.size)
        ]
    )


def enumerated_slack(slack: NDArray[np.float64]) -> float:
    """Return the largest smallest slack of a mixture of predictions."""
    count, constraints = slack.shape
    result = linprog(
        np.append(np.zeros(count), -1.0),
        A_ub=np.hstack((-slack.T, np.ones((constraints, 1)))),
        b_ub=np.zeros(constraints),
        A_eq=np.append(np.ones(count), 0.0)[None, :],
        b_eq=np.ones(1),
        bounds=[(0, None)] * count + [(None, None)],
        method="highs",
    )
    return -float(result.fun)
