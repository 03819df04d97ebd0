"""Every cut of some scores at once, and what a metric and its constraints are at each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metricfit import Constraint, Metric
from metricfit.sklearn.threshold import OUTSIDE, SLACK, Cut, metric_values

__all__ = ["CutCurve", "population_value"]

FloatArray = npt.NDArray[np.float64]

# Rows of the table at which a metric is taken for its limit, that of a population.
MANY = 1_000_000


@dataclass(frozen=True)
class CutCurve:
    """The possible cuts of the scores of one class, from the highest to the lowest.

    Row `i` is predicted positive at a cut where its score exceeds the threshold. Several classes are several
    curves.

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
    >>> curve = CutCurve.of([0.9, 0.6, 0.2], [1, 1, 0])
    >>> curve.hits
    array([0., 1., 2., 2.])
    >>> curve.values(mf.f1).round(2)
    array([0.  , 0.67, 1.  , 0.8 ])
    >>> curve.best(mf.f1)
    Cut(threshold=0.4, value=1.0, violation=0.0)
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
    ) -> CutCurve:
        """Make the curve of scores between 0 and 1.

        Parameters
        ----------
        scores : array_like of shape (n,)
            Such as probabilities.
        positives : array_like of shape (n,)
            The labels, as 0 and 1, or the probability that each row is positive.
        sample_weight : ndarray of shape (n,), optional
            How much each row counts. Only the ratios matter: the weights are scaled to add up to n.
        thresholds : ndarray, optional
            The cuts, in decreasing order. By default those that can be told apart by the scores.
        """
        scores, positives = np.asarray(scores, dtype=np.float64), np.asarray(positives, dtype=np.float64)
        n = len(scores)
        order = np.argsort(-scores, kind="stable")
        ranked = scores[order]
        if thresholds is None:
            thresholds = _between(ranked)
        above = np.searchsorted(-ranked, -thresholds, side="left")
        weights = np.ones(n) if sample_weight is None else sample_weight[order] * (n / sample_weight.sum())
        predicted = np.concatenate(([0.0], np.cumsum(weights)))
        predicted = _snapped(predicted, n)
        hits = np.minimum(np.concatenate(([0.0], np.cumsum(weights * positives[order]))), predicted)
        return cls(thresholds, predicted[above], hits[above], float(_snapped(hits[-1], n)), n)

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

    def ranks(self, metric: Metric) -> FloatArray:
        """Return what to compare cuts by: the value within the constraints, far less outside of them."""
        violations = self.violations(metric.constraints)
        return np.where(violations <= SLACK, self.values(metric), OUTSIDE * (1.0 + violations))

    def best(self, metric: Metric) -> Cut:
        """Return the best cut within the constraints of the metric, or the one that misses them least.

        If the metric has a size, it is the cut above which about so many rows lie.
        """
        sizes = metric.sizes(self.n)
        if sizes is not None:
            return self.at(metric, int(np.argmin(np.abs(self.predicted - sizes[0]))))
        return self.at(metric, int(np.argmax(self.ranks(metric))))

    def at(self, metric: Metric, index: int) -> Cut:
        """Return the cut of an index with the metric there."""
        return Cut(
            float(self.thresholds[index]),
            float(self.values(metric)[index]),
            float(self.violations(metric.constraints)[index]),
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
        index = np.unique(np.concatenate(kept))
        return CutCurve(self.thresholds[index], self.predicted[index], self.hits[index], self.actual, self.n)


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


def _between(ranked: FloatArray) -> FloatArray:
    """Return thresholds between different ones of decreasing scores, above all and below all.

    Equal scores fall on the same side.
    """
    last = np.flatnonzero(ranked[:-1] > ranked[1:])
    upper, lower = ranked[last], ranked[last + 1]
    middle = upper / 2 + lower / 2
    inner = np.where((lower <= middle) & (middle < upper), middle, lower)
    return np.concatenate(([(1.0 + ranked[0]) / 2], inner, [ranked[-1] / 2]))


def _snapped(counts: npt.ArrayLike, n: int) -> FloatArray:
    """Return counts with 0 and n in place of what differs from them by rounding.

    Metrics have a rule of their own where no row is positive, or all are.
    """
    counts = np.asarray(counts, dtype=np.float64)
    counts = np.where(counts < 1e-9 * n, 0.0, counts)
    return np.where(counts > (1.0 - 1e-9) * n, float(n), counts)
