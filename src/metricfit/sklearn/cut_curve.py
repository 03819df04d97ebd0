"""Every cut of some scores at once, and what a metric and its constraints are at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from metricfit import Constraint, Metric

__all__ = ["SLACK", "Cut", "CutCurve", "CutRule", "metric_values", "population_value"]

FloatArray = npt.NDArray[np.float64]
CutRule = Literal["expected", "empirical", "zero"]

# Constraints hold up to rounding.
SLACK = 1e-9
# Below every value that a metric in use has, so that a cut within the constraints beats any other.
OUTSIDE = -1e6
# Rows of the table at which a metric is taken for its limit, that of a population.
MANY = 10**9


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
        return float(_ranks(np.array(self.value), np.array(self.violation)))


@dataclass(frozen=True)
class CutCurve:
    """The possible cuts of the scores of one class, from the highest to the lowest.

    Row `i` is predicted positive at a cut where its score exceeds the threshold.

    Attributes
    ----------
    thresholds : ndarray of shape (cuts,)
        Decreasing.
    predicted, hits : ndarray of shape (cuts,)
        The number of rows above the threshold, and how many of those are positive: counted, if the curve was
        made with labels; expected, if it was made with probabilities.
    actual : float
        The number of positive rows.
    n : int
        The number of rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> curve = CutCurve.of([2.0, 1.0, 0.0], [1, 1, 0])
    >>> curve.hits
    array([0., 1., 2., 2.])
    >>> curve.values(mf.f1).round(2)
    array([0.  , 0.67, 1.  , 0.8 ])
    >>> curve.best(mf.f1)
    Cut(threshold=0.5, value=1.0, violation=0.0)
    """

    thresholds: FloatArray
    predicted: FloatArray
    hits: FloatArray
    actual: float
    n: int

    @classmethod
    def of(
        cls,
        scores: npt.ArrayLike,
        positives: npt.ArrayLike,
        sample_weight: FloatArray | None = None,
        thresholds: FloatArray | None = None,
        limits: tuple[float, float] = (-np.inf, np.inf),
    ) -> CutCurve:
        """Make the curve of scores.

        Parameters
        ----------
        scores : array_like of shape (n,)
            Such as logits or probabilities.
        positives : array_like of shape (n,)
            The labels, as 0 and 1, or the probability that each row is positive.
        sample_weight : ndarray of shape (n,), optional
            How much each row counts. Only the ratios matter: the weights are scaled to add up to n.
        thresholds : ndarray, optional
            The cuts, in decreasing order. By default those that can be told apart by the scores.
        limits : (float, float)
            Between which numbers all thresholds are: 0 and 1 for probabilities.
        """
        scores, positives = np.asarray(scores, dtype=np.float64), np.asarray(positives, dtype=np.float64)
        n = len(scores)
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        if thresholds is None:
            thresholds = _between(ranked, *limits)
        above = np.searchsorted(-ranked, -thresholds, side="left")
        weights = np.ones(n) if sample_weight is None else sample_weight[order] * (n / sample_weight.sum())
        predicted = _snapped(np.concatenate(([0.0], np.cumsum(weights))), n)
        hits = _snapped(np.concatenate(([0.0], np.cumsum(weights * positives[order]))), n)
        hits = np.minimum(hits, predicted)
        return cls(thresholds, predicted[above], hits[above], float(hits[-1]), n)

    def values(self, metric: Metric) -> FloatArray:
        """Return the metric at every cut, without its constraints."""
        values = metric_values(metric, self.hits, self.predicted, self.actual, self.n)
        if not float(self.actual).is_integer():
            # Where all rows are decided alike, many metrics are undefined; with fractions of rows, rounding
            # hides it.
            alike = (self.predicted == 0.0) | (self.predicted == self.n)
            share = self.predicted[alike] / self.n
            values[alike] = population_value(metric, np.array(self.actual / self.n), share, 1.0 - share)
        return values

    def violations(self, constraints: Sequence[Constraint]) -> FloatArray:
        """Return by how much the constraint that is missed most is missed at every cut."""
        missed = np.zeros(len(self.thresholds))
        for constraint in constraints:
            excess = self.values(constraint.metric) - constraint.threshold
            missed = np.maximum(missed, -excess if constraint.sense == ">=" else excess)
        return missed

    def ranks(self, metric: Metric, also: CutCurve | None = None) -> FloatArray:
        """Return what to compare cuts by: the value within the constraints, far less outside of them.

        The constraints have to hold on another curve of the same cuts, too, if one is given.
        """
        violations = self.violations(metric.constraints)
        if also is not None:
            violations = np.maximum(violations, also.violations(metric.constraints))
        return _ranks(self.values(metric), violations)

    def best_index(self, metric: Metric, also: CutCurve | None = None) -> int:
        """Return the index of the cut with the highest rank.

        If the metric has a size, it is the cut with about that many rows above it.
        """
        sizes = metric.sizes(self.n)
        if sizes is not None:
            return int(np.argmin(np.abs(self.predicted - sizes[0])))
        return int(np.argmax(self.ranks(metric, also)))

    def best(self, metric: Metric) -> Cut:
        """Return the best cut within the constraints of the metric, or the one that misses them least."""
        return self.at(metric, self.best_index(metric))

    def at(self, metric: Metric, index: int) -> Cut:
        """Return the cut of an index with the metric there."""
        one = self._only(np.array([index]))
        return Cut(
            float(one.thresholds[0]),
            float(one.values(metric)[0]),
            float(one.violations(metric.constraints)[0]),
        )

    def some(self, most: int) -> CutCurve:
        """Return the curve with at most so many cuts, even in predicted rows and in hits.

        Examples
        --------
        >>> curve = CutCurve.of(np.linspace(0.0, 1.0, 1000), np.linspace(0.0, 1.0, 1000) > 0.9)
        >>> 100 < len(curve.some(200).thresholds) <= 200
        True
        """
        size = len(self.thresholds)
        if size <= most:
            return self
        steps = np.linspace(0.0, 1.0, most // 2)
        kept = [
            np.searchsorted(counts, steps * counts[-1], side="left").clip(0, size - 1)
            for counts in (self.predicted, self.hits)
        ]
        return self._only(np.unique(np.concatenate(kept)))

    def _only(self, index: npt.NDArray[np.int64]) -> CutCurve:
        return CutCurve(self.thresholds[index], self.predicted[index], self.hits[index], self.actual, self.n)


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


def population_value(metric: Metric, share: FloatArray, tpr: FloatArray, tnr: FloatArray) -> FloatArray:
    """Return the metric of a large population with such a share of positives and such rates.

    Examples
    --------
    >>> import metricfit as mf
    >>> population_value(mf.balanced_accuracy, np.array(0.1), np.array(0.8), np.array(0.6)).round(6)
    np.float64(0.7)
    """
    # Whole counts: within rounding of the border of its table, a metric may be undefined.
    actual = np.round(MANY * share)
    hits = np.round(actual * tpr)
    predicted = hits + np.round((MANY - actual) * (1.0 - tnr))
    return metric_values(metric, hits, predicted, actual, MANY)


def _ranks(values: FloatArray, violations: FloatArray) -> FloatArray:
    return np.where(violations <= SLACK, values, OUTSIDE * (1.0 + violations))


def _between(ranked: FloatArray, low: float, high: float) -> FloatArray:
    """Return thresholds between different ones of decreasing scores, above all and below all.

    Equal scores fall on the same side.
    """
    last = np.flatnonzero(ranked[:-1] > ranked[1:])
    upper, lower = ranked[last], ranked[last + 1]
    middle = upper / 2 + lower / 2
    inner = np.where((lower <= middle) & (middle < upper), middle, lower)
    highest, lowest = float(ranked[0]), float(ranked[-1])
    # Large scores do not change by 1.
    above = highest + 1.0 if np.isinf(high) else (high + highest) / 2
    below = min(lowest - 1.0, np.nextafter(lowest, -np.inf)) if np.isinf(low) else (low + lowest) / 2
    return np.concatenate(([above], inner, [below]))


def _snapped(counts: FloatArray, n: int) -> FloatArray:
    """Return counts with whole numbers in place of what differs from them by rounding.

    Metrics have a rule of their own where no row is positive, or all are.
    """
    nearest = np.round(counts)
    return np.where(np.abs(counts - nearest) < 1e-9 * n, nearest, counts)
