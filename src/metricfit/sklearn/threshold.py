"""Cuts: where scores are divided into negatives and positives, and how a metric judges it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metricfit import Metric

__all__ = ["Cut", "best_cut", "cut_at"]

# Constraints hold up to rounding.
SLACK = 1e-9
# Below every value that a metric in use has, so that a cut within the constraints beats any other.
OUTSIDE = -1e6

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Cut:
    """A threshold, the value of a metric there, and by how much the constraints are missed.

    Examples
    --------
    >>> Cut(0.0, 0.7, 0.0).rank > Cut(0.0, 0.9, 0.1).rank
    True
    """

    threshold: float
    value: float
    violation: float

    @property
    def rank(self) -> float:
        """The value if the constraints are met; otherwise far below, and lower the more they are missed."""
        return self.value if self.violation <= SLACK else OUTSIDE * (1.0 + self.violation)


def cut_at(metric: Metric, scores: npt.ArrayLike, labels: npt.ArrayLike, threshold: float = 0.0) -> Cut:
    """Return how a metric judges the decision ``scores > threshold``.

    Examples
    --------
    >>> import metricfit as mf
    >>> cut_at(mf.precision.subject_to(mf.recall >= 0.75), [2.0, 1.0, -1.0], [1, 0, 1])
    Cut(threshold=0.0, value=0.5, violation=0.25)
    """
    scores, labels = _checked(scores, labels)
    positive = scores > threshold
    predicted, hits = np.array([positive.sum()]), np.array([labels[positive].sum()])
    values, violations = _judged(metric, predicted, hits, int(labels.sum()), len(labels))
    return Cut(float(threshold), float(values[0]), float(violations[0]))


def best_cut(metric: Metric, scores: npt.ArrayLike, labels: npt.ArrayLike) -> Cut:
    """Return the best cut there is: the largest value within the constraints of the metric.

    Where no cut meets the constraints, it is the one that misses them least.

    Examples
    --------
    >>> import metricfit as mf
    >>> best_cut(mf.f1, [3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0])
    Cut(threshold=0.5, value=0.8, violation=0.0)
    """
    scores, labels = _checked(scores, labels)
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    # Equal scores fall on the same side, so cuts lie between different ones, and before and after all.
    predicted = np.concatenate(([0], np.flatnonzero(ranked[:-1] > ranked[1:]) + 1, [len(ranked)]))
    hits = np.concatenate(([0], np.cumsum(labels[order])))[predicted]
    values, violations = _judged(metric, predicted, hits, int(labels.sum()), len(labels))
    ranks = np.where(violations <= SLACK, values, OUTSIDE * (1.0 + violations))
    best = int(np.argmax(ranks))
    threshold = _between(ranked, int(predicted[best]))
    return Cut(threshold, float(values[best]), float(violations[best]))


def _between(ranked: FloatArray, count: int) -> float:
    """Return a threshold that the first `count` of descending scores exceed, and no other."""
    if count == 0:
        return float(ranked[0] + 1.0)
    if count == len(ranked):
        return float(ranked[-1] - 1.0)
    middle = float(ranked[count] / 2 + ranked[count - 1] / 2)
    return middle if ranked[count] <= middle < ranked[count - 1] else float(ranked[count])


def _judged(
    metric: Metric, predicted: npt.NDArray[np.int64], hits: npt.NDArray[np.int64], actual: int, n: int
) -> tuple[FloatArray, FloatArray]:
    alpha, beta = metric.coefficients(predicted, actual, n)
    violations = np.zeros(len(predicted))
    for constraint in metric.constraints:
        gain, offset = constraint.metric.coefficients(predicted, actual, n)
        excess = gain * hits + offset - constraint.threshold
        violations = np.maximum(violations, -excess if constraint.sense == ">=" else excess)
    return alpha * hits + beta, violations


def _checked(scores: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels).astype(np.int64)
    if scores.ndim != 1 or scores.shape != labels.shape or not len(scores):
        raise ValueError(
            f"a cut needs as many scores as labels, one of each at least, "
            f"got shapes {scores.shape} and {labels.shape}"
        )
    return scores, labels
