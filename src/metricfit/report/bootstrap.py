"""Bootstrap intervals of metrics.

Drawing rows with replacement is drawing the cells of the confusion matrix from a multinomial distribution, so
that rows are drawn only if they have weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metricfit import Metric

__all__ = ["Interval", "difference_interval", "middle", "resampled", "score_interval"]

FloatArray = npt.NDArray[np.float64]
DRAWS, WEIGHTED_DRAWS = 4000, 500
LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """The middle 95% of what a resampled test set gives.

    Examples
    --------
    >>> str(Interval(0.25, 0.5))
    '0.250 to 0.500'
    """

    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.low:.3f} to {self.high:.3f}"


def score_interval(
    metric: Metric, labels: npt.ArrayLike, predicted: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> Interval:
    """Return the interval of a score, over test sets like this one.

    Examples
    --------
    >>> import metricfit as mf
    >>> score_interval(mf.accuracy, [0, 1] * 50, [0, 1] * 50)
    Interval(low=1.0, high=1.0)
    """
    kinds = 2 * np.asarray(labels, dtype=np.int64) + np.asarray(predicted, dtype=np.int64)
    tn, fp, fn, tp = resampled(kinds, 4, weights).T
    return middle(metric.objective.score_counts(tp, fp, fn, tn))


def difference_interval(
    metric: Metric,
    labels: npt.ArrayLike,
    one: npt.ArrayLike,
    other: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
) -> Interval:
    """Return the interval of how much better the first prediction is than the second, on the same rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> difference_interval(mf.accuracy, [0, 1] * 50, [0, 1] * 50, [1, 0] * 50)
    Interval(low=1.0, high=1.0)
    """
    y, a, b = (np.asarray(values, dtype=np.int64) for values in (labels, one, other))
    # The index of a cell is 4 * label + 2 * first prediction + second prediction.
    cells = resampled(4 * y + 2 * a + b, 8, weights).reshape(-1, 2, 2, 2)
    return middle(_scores(metric, cells.sum(axis=3)) - _scores(metric, cells.sum(axis=2)))


def _scores(metric: Metric, cells: FloatArray) -> FloatArray:
    """Return the metric of confusion matrices, indexed by label and prediction."""
    return metric.objective.score_counts(cells[:, 1, 1], cells[:, 0, 1], cells[:, 1, 0], cells[:, 0, 0])


def resampled(kinds: npt.NDArray[np.int64], count: int, weights: npt.ArrayLike | None) -> FloatArray:
    """Return how often each kind of row occurs in resampled test sets, one set per line.

    Examples
    --------
    >>> resampled(np.array([0, 0, 1, 1]), 2, None).sum(axis=1)[:3]
    array([4., 4., 4.])
    """
    # A fixed seed, so that the same test set has the same interval.
    random = np.random.default_rng(0)
    if weights is None:
        shares = np.bincount(kinds, minlength=count) / len(kinds)
        return random.multinomial(len(kinds), shares, size=DRAWS).astype(np.float64)
    given = np.asarray(weights, dtype=np.float64)
    cells = np.empty((WEIGHTED_DRAWS, count))
    for draw in cells:
        rows = random.integers(0, len(kinds), len(kinds))
        draw[:] = np.bincount(kinds[rows], given[rows], minlength=count)
    return cells


def middle(values: FloatArray) -> Interval:
    """Return the interval of the middle values.

    Examples
    --------
    >>> str(middle(np.arange(101.0)))
    '2.500 to 97.500'
    """
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
