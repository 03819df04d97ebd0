"""How sure a score is: bootstrap intervals of metrics.

Drawing rows with replacement is drawing the cells of the confusion matrix from a multinomial distribution, so
that no row needs to be drawn at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metricfit import Metric

__all__ = ["Interval", "difference_interval", "score_interval"]

DRAWS = 4000
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


def score_interval(metric: Metric, labels: npt.ArrayLike, predicted: npt.ArrayLike) -> Interval:
    """Return the interval of a score, over test sets like this one.

    Examples
    --------
    >>> import metricfit as mf
    >>> score_interval(mf.accuracy, [0, 1] * 50, [0, 1] * 50)
    Interval(low=1.0, high=1.0)
    """
    kinds = 2 * np.asarray(labels, dtype=np.int64) + np.asarray(predicted, dtype=np.int64)
    cells = _resampled(kinds, 4)
    return _middle(_values(metric, tp=cells[:, 3], fp=cells[:, 1], fn=cells[:, 2], n=len(kinds)))


def difference_interval(
    metric: Metric, labels: npt.ArrayLike, one: npt.ArrayLike, other: npt.ArrayLike
) -> Interval:
    """Return the interval of how much better the first prediction is than the second, on the same rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> difference_interval(mf.accuracy, [0, 1] * 50, [0, 1] * 50, [1, 0] * 50)
    Interval(low=1.0, high=1.0)
    """
    y, a, b = (np.asarray(values, dtype=np.int64) for values in (labels, one, other))
    cells = _resampled(4 * y + 2 * a + b, 8)
    # The index of a cell is 4 * label + 2 * first prediction + second prediction.
    first = _values(
        metric,
        tp=cells[:, 6] + cells[:, 7],
        fp=cells[:, 2] + cells[:, 3],
        fn=cells[:, 4] + cells[:, 5],
        n=len(y),
    )
    second = _values(
        metric,
        tp=cells[:, 5] + cells[:, 7],
        fp=cells[:, 1] + cells[:, 3],
        fn=cells[:, 4] + cells[:, 6],
        n=len(y),
    )
    return _middle(first - second)


def _resampled(kinds: npt.NDArray[np.int64], count: int) -> npt.NDArray[np.int64]:
    shares = np.bincount(kinds, minlength=count) / len(kinds)
    # A fixed seed: the same test set has the same interval.
    return np.random.default_rng(0).multinomial(len(kinds), shares, size=DRAWS)


def _values(
    metric: Metric,
    *,
    tp: npt.NDArray[np.int64],
    fp: npt.NDArray[np.int64],
    fn: npt.NDArray[np.int64],
    n: int,
) -> npt.NDArray[np.float64]:
    alpha, beta = metric.coefficients(tp + fp, tp + fn, n)
    return np.asarray(alpha * tp + beta)


def _middle(values: npt.NDArray[np.float64]) -> Interval:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high))
