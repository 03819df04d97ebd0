"""Metrics of predictions of one size: the rows with the highest scores are the positives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from metricfit import Metric

__all__ = ["as_share", "top_margins", "top_rows"]

FloatArray = npt.NDArray[np.float64]


def top_rows(metric: Metric, scores: FloatArray) -> npt.NDArray[np.bool_]:
    """Return which rows a prediction of the metric's size chooses: those with the highest scores.

    Of equal scores the first rows are taken.

    Examples
    --------
    >>> import metricfit as mf
    >>> top_rows(mf.precision_at_k(2), np.array([0.1, 0.9, 0.5, 0.5]))
    array([False,  True,  True, False])
    """
    chosen = np.zeros(len(scores), dtype=np.bool_)
    (size,) = metric.sizes(len(scores)) or (0,)
    chosen[np.argsort(-scores, kind="stable")[:size]] = True
    return chosen


def top_margins(metric: Metric, scores: FloatArray) -> FloatArray:
    """Return scores that are above 0 for the rows of :func:`top_rows` only, in the same order.

    Examples
    --------
    >>> import metricfit as mf
    >>> top_margins(mf.precision_at_k(1), np.array([0.1, 0.9, 0.5])).round(1)
    array([-0.6,  0.2, -0.2])
    """
    chosen = top_rows(metric, scores)
    if chosen.all() or not len(scores):
        cut = scores.min(initial=0.0) - 1.0
    else:
        cut = (scores[chosen].min() + scores[~chosen].max()) / 2
    margins = scores - cut
    # Equal scores may be on both sides of the cut.
    return np.asarray(
        np.where(chosen, np.maximum(margins, np.finfo(np.float64).tiny), np.minimum(margins, 0.0))
    )


def as_share(metric: Metric, rows: int) -> Metric:
    """Return the metric with its size as a share of the rows.

    Examples
    --------
    >>> import metricfit as mf
    >>> as_share(mf.precision_at_k(10), 200).size, as_share(mf.f1, 200) is mf.f1
    (0.05, True)
    """
    if not isinstance(metric.size, int):
        return metric
    # A size of all rows is no share between 0 and 1.
    return replace(metric, size=min(metric.size, rows - 0.5) / rows)
