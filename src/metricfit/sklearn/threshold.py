"""Cuts: where scores are divided into negatives and positives, and how a metric judges it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metricfit import Metric
from metricfit.sklearn.inputs import refuse_masked

__all__ = ["Cut", "best_cut", "cut_at", "expected_cut", "expected_value", "metric_values"]

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


def cut_at(
    metric: Metric,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    threshold: float = 0.0,
    *,
    weights: npt.ArrayLike | None = None,
) -> Cut:
    """Return how a metric judges the decision ``scores > threshold``.

    Parameters
    ----------
    metric : Metric
        With its constraints.
    scores, labels : array_like of shape (n,)
        What to decide on, and the truth as 0 and 1.
    threshold : float
        Scores above it are predicted positive.
    weights : array_like of shape (n,), optional
        How much each row counts in the confusion matrix. Only the ratios matter: the weights are scaled so
        that they add up to n.

    Examples
    --------
    >>> import metricfit as mf
    >>> cut_at(mf.precision.subject_to(mf.recall >= 0.75), [2.0, 1.0, -1.0], [1, 0, 1])
    Cut(threshold=0.0, value=0.5, violation=0.25)
    """
    scores, labels, weights = _checked(scores, labels, weights)
    return _Cuts(scores, weights).at(metric, labels, threshold)


def best_cut(
    metric: Metric,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> Cut:
    """Return the best cut there is: the largest value within the constraints of the metric.

    Where no cut meets the constraints, it is the one that misses them least. If the metric has a size, it is
    the cut above which about so many rows lie. The parameters are those of :func:`cut_at`.

    Examples
    --------
    >>> import metricfit as mf
    >>> best_cut(mf.f1, [3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0])
    Cut(threshold=0.5, value=0.8, violation=0.0)
    """
    scores, labels, weights = _checked(scores, labels, weights)
    cuts = _Cuts(scores, weights)
    values, violations = cuts.judged(metric, labels)
    best = cuts.of_size(metric, _ranks(values, violations))
    return Cut(cuts.threshold(best), float(values[best]), float(violations[best]))


def expected_cut(
    metric: Metric,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
) -> Cut:
    """Return the cut that is best for the expected confusion matrix.

    The labels are noise around the probabilities, and the best cut of few rows follows the noise. The
    expected confusion matrix counts every row above the cut as positive by its probability. The metric of it
    is what the cut maximises. Constraints have to hold for the expected and for the counted confusion
    matrix; where no cut meets both, it is the one that misses them least.

    Parameters
    ----------
    metric, scores, labels, weights
        As for :func:`cut_at`.
    probabilities : array_like of shape (n,)
        Calibrated, and rising with the scores.

    Returns
    -------
    Cut
        With the value and the violation that were counted, as :func:`cut_at` returns them.

    Examples
    --------
    >>> import metricfit as mf
    >>> scores, labels = [3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0]
    >>> expected_cut(mf.f1, scores, labels, [0.9, 0.7, 0.3, 0.1])
    Cut(threshold=1.5, value=0.5, violation=0.0)
    """
    scores, labels, weights = _checked(scores, labels, weights)
    cuts = _Cuts(scores, weights)
    values, expected = cuts.judged(metric, np.asarray(probabilities, dtype=np.float64))
    _, counted = cuts.judged(metric, labels)
    best = cuts.of_size(metric, _ranks(values, np.maximum(expected, counted)))
    return cuts.at(metric, labels, cuts.threshold(best))


def expected_value(
    metric: Metric,
    scores: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    threshold: float = 0.0,
    *,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Return the metric of the expected confusion matrix at a threshold.

    Examples
    --------
    >>> import metricfit as mf
    >>> round(expected_value(mf.precision, [2.0, 1.0, -1.0], [0.9, 0.5, 0.1]), 2)
    0.7
    """
    scores, chances, weights = _checked(scores, probabilities, weights)
    return _Cuts(scores, weights).at(metric, chances, threshold).value


def metric_values(
    metric: Metric, hits: FloatArray, predicted: FloatArray, actual: npt.ArrayLike, n: int
) -> FloatArray:
    """Return a metric, of any formula and without its constraints, at counts that need not be whole.

    Examples
    --------
    >>> import metricfit as mf
    >>> metric_values(mf.jaccard, np.array([1.0]), np.array([2.0]), 1.0, 4)
    array([0.5])
    """
    plain = metric.objective
    if not plain.playable:
        return plain.evaluate.values(hits, predicted, actual, n)
    alpha, beta = plain.coefficients(predicted, actual, n)
    return np.asarray(alpha * hits + beta)


class _Cuts:
    """Every way to cut some scores, from none above to all above."""

    def __init__(self, scores: FloatArray, weights: FloatArray | None) -> None:
        self.n = len(scores)
        self.scores = scores
        self.weights = np.ones(self.n) if weights is None else weights * (self.n / weights.sum())
        self.order = np.argsort(-scores, kind="stable")
        self.ranked = scores[self.order]
        # Equal scores fall on the same side, so cuts lie between different ones, and before and after all.
        changes = np.flatnonzero(self.ranked[:-1] > self.ranked[1:]) + 1
        self.above = np.concatenate(([0], changes, [self.n]))
        self.predicted = self._sums(np.ones(self.n))

    def judged(self, metric: Metric, positive: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the metric and the violation of its constraints at every cut."""
        hits = self._sums(positive)
        return _judged(metric, self.predicted, hits, hits[-1], self.n)

    def at(self, metric: Metric, positive: FloatArray, threshold: float) -> Cut:
        """Return the cut at a threshold."""
        index = int(np.searchsorted(self.above, np.count_nonzero(self.scores > threshold)))
        values, violations = self.judged(metric, positive)
        return Cut(float(threshold), float(values[index]), float(violations[index]))

    def of_size(self, metric: Metric, ranks: FloatArray) -> int:
        """Return the cut of the highest rank, or the one with as many rows above as the metric has."""
        sizes = metric.sizes(self.n)
        return int(np.argmax(ranks) if sizes is None else np.argmin(np.abs(self.above - sizes[0])))

    def threshold(self, index: int) -> float:
        """Return the threshold of a cut, in the middle between the scores that it divides."""
        count = int(self.above[index])
        if count == 0:
            return float(self.ranked[0] + 1.0)
        if count == self.n:
            # Large scores do not change by 1.
            return float(min(self.ranked[-1] - 1.0, np.nextafter(self.ranked[-1], -np.inf)))
        middle = float(self.ranked[count] / 2 + self.ranked[count - 1] / 2)
        return middle if self.ranked[count] <= middle < self.ranked[count - 1] else float(self.ranked[count])

    def _sums(self, positive: FloatArray) -> FloatArray:
        sums = np.concatenate(([0.0], np.cumsum((self.weights * positive)[self.order])))[self.above]
        # Exactly 0 and n where it is so but for rounding: metrics have rules of their own there.
        nearest = np.round(sums)
        return np.where(np.abs(sums - nearest) < 1e-9 * self.n, nearest, sums)


def _ranks(values: FloatArray, violations: FloatArray) -> FloatArray:
    return np.where(violations <= SLACK, values, OUTSIDE * (1.0 + violations))


def _judged(
    metric: Metric, predicted: FloatArray, hits: FloatArray, actual: float, n: int
) -> tuple[FloatArray, FloatArray]:
    violations = np.zeros(len(predicted))
    for constraint in metric.constraints:
        excess = metric_values(constraint.metric, hits, predicted, actual, n) - constraint.threshold
        violations = np.maximum(violations, -excess if constraint.sense == ">=" else excess)
    return metric_values(metric, hits, predicted, actual, n), violations


def _checked(
    scores: npt.ArrayLike, labels: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    refuse_masked(scores=scores, labels=labels, weights=weights)
    scores, labels = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if scores.ndim != 1 or scores.shape != labels.shape or not len(scores):
        raise ValueError(
            f"a cut needs as many scores as labels, one of each at least, "
            f"got shapes {scores.shape} and {labels.shape}"
        )
    if np.isnan(scores).any():
        raise ValueError("some scores are nan; leave those rows out of scores and labels")
    if not ((labels >= 0) & (labels <= 1)).all():
        raise ValueError("labels must be 0 and 1; give (labels == positive).astype(int)")
    if weights is None:
        return scores, labels, None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != scores.shape or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"weights must be {len(scores)} numbers of 0 or more, one per score, and not all of them 0"
        )
    return scores, labels, weights
