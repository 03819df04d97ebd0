"""Bootstrap intervals of averages over classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metricfit import Metric
from metricfit.report.bootstrap import Interval, middle, resampled

__all__ = ["class_difference_interval", "class_score_interval"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def class_score_interval(
    metric: Metric, labels: IntArray, predicted: IntArray, weights: FloatArray | None = None
) -> Interval:
    """Return the interval of a score of several classes, over test sets like this one.

    Examples
    --------
    >>> import metricfit as mf
    >>> classes = np.arange(90) % 3
    >>> class_score_interval(mf.f1.macro(), classes, classes)
    Interval(low=1.0, high=1.0)
    """
    cells, (truth, one) = _cells(weights, labels, predicted)
    return middle(_scores(metric, cells, truth, one))


def class_difference_interval(
    metric: Metric, labels: IntArray, one: IntArray, other: IntArray, weights: FloatArray | None = None
) -> Interval:
    """Return the interval of how much better the first prediction is than the second, on the same rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> classes = np.arange(90) % 3
    >>> class_difference_interval(mf.f1.macro(), classes, classes, (classes + 1) % 3)
    Interval(low=1.0, high=1.0)
    """
    cells, (truth, first, second) = _cells(weights, labels, one, other)
    return middle(_scores(metric, cells, truth, first) - _scores(metric, cells, truth, second))


def _cells(weights: FloatArray | None, *columns: IntArray) -> tuple[FloatArray, list[IntArray]]:
    """Return resampled counts of the combinations that occur, and the combinations."""
    found, kinds = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return resampled(kinds.reshape(-1), len(found), weights), list(found.T)


def _scores(metric: Metric, cells: FloatArray, truth: IntArray, predicted: IntArray) -> FloatArray:
    """Return the average over the classes that occur in a resampling."""
    classes = np.unique(np.concatenate([truth, predicted]))
    is_class, is_predicted = (
        (column[:, None] == classes).astype(np.float64) for column in (truth, predicted)
    )
    actual, chosen, hits = cells @ is_class, cells @ is_predicted, cells @ (is_class * is_predicted)
    total = cells.sum(axis=1, keepdims=True)
    values = metric.objective.averaged(None).score_counts(
        hits, chosen - hits, actual - hits, np.maximum(total - chosen - actual + hits, 0.0)
    )
    weights = actual if metric.average == "weighted" else ((actual + chosen) > 0).astype(np.float64)
    return np.asarray((weights * values).sum(axis=1) / weights.sum(axis=1))
