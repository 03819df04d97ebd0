"""A metric at every threshold, and how uncertain the best threshold is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from metricfit import Metric

__all__ = ["ThresholdCurve", "threshold_curve"]

FloatArray = npt.NDArray[np.float64]
DRAWS, POINTS = 400, 120
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """A metric at several thresholds, with intervals from resampled test rows.

    Attributes
    ----------
    thresholds, values : ndarray
        Rising thresholds, and the metric of predicting positive above them.
    low, high : ndarray
        The middle 95 % of the metric over resamplings.
    best : (float, float)
        The middle 95 % of the best threshold over resamplings.
    """

    thresholds: FloatArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    best: tuple[float, float]


def threshold_curve(
    metric: Metric,
    labels: npt.NDArray[np.int64],
    margins: FloatArray,
    weights: FloatArray | None = None,
) -> ThresholdCurve:
    """Return a metric at thresholds between the scores, 0 among them.

    Rows are resampled by Poisson counts, one per row and draw. With constraints, the best threshold of a
    resampled test set is the best of those that meet the constraints on it.

    Examples
    --------
    >>> import metricfit as mf
    >>> labels = np.repeat([0, 1], 50)
    >>> curve = threshold_curve(mf.f1, labels, labels * 2.0 - 1.0)
    >>> float(curve.values.max())
    1.0
    """
    thresholds = _thresholds(margins, labels)
    counts = np.ones(len(labels)) if weights is None else weights
    cells = _cells(np.searchsorted(thresholds, margins, side="left"), labels, len(thresholds) + 1)
    values = metric.objective.score_counts(*_matrices(*cells(counts)))
    random = np.random.default_rng(0)
    draws, best = np.empty((DRAWS, len(thresholds))), np.empty(DRAWS)
    for index in range(DRAWS):
        matrices = _matrices(*cells(counts * random.poisson(1.0, len(labels))))
        draws[index] = metric.objective.score_counts(*matrices)
        ranks = metric.score_counts(*matrices) if metric.constraints else draws[index]
        best[index] = thresholds[np.argmax(ranks)]
    low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    first, last = np.quantile(best, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return ThresholdCurve(thresholds, values, low, high, (float(first), float(last)))


def _thresholds(margins: FloatArray, labels: npt.NDArray[np.int64]) -> FloatArray:
    """Return thresholds at quantiles of both classes, so that rare positives have enough of them."""
    shares = np.linspace(0.0, 1.0, POINTS // 2)
    parts = [np.quantile(margins[labels == label], shares) for label in (0, 1) if (labels == label).any()]
    found = np.unique(np.concatenate([*parts, [0.0]]))
    return found if len(found) > 1 else np.array([found[0] - 1.0, found[0]])


def _cells(
    place: npt.NDArray[np.int64], labels: npt.NDArray[np.int64], size: int
) -> Callable[[FloatArray], tuple[FloatArray, FloatArray]]:
    """Return a function from weights of rows to their sums by class and by number of thresholds below."""
    kinds = place * 2 + labels

    def sums(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        found = np.bincount(kinds, weights, minlength=2 * size).astype(np.float64).reshape(size, 2)
        return found[:, 0], found[:, 1]

    return sums


def _matrices(
    negatives: FloatArray, positives: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return tp, fp, fn and tn at every threshold; rows with k thresholds below are positive at those."""
    fn, tn = np.cumsum(positives)[:-1], np.cumsum(negatives)[:-1]
    tp = np.maximum(positives.sum() - fn, 0.0)
    fp = np.maximum(negatives.sum() - tn, 0.0)
    return tp, fp, fn, tn
