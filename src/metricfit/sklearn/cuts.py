"""Cuts: where scores are divided into negatives and positives, and how a metric judges it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metricfit import Metric, get_metric
from metricfit.sklearn.cut_curve import Cut, CutCurve, CutRule
from metricfit.sklearn.inputs import refuse_masked

__all__ = ["best_cut", "checked_rows", "cut_at", "cut_by", "expected_cut", "expected_value"]

FloatArray = npt.NDArray[np.float64]
NOT_LABELS = "labels must be 0 and 1; give (labels == positive).astype(int)"


def cut_at(
    metric: Metric | str,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    threshold: float = 0.0,
    *,
    weights: npt.ArrayLike | None = None,
) -> Cut:
    """Return how a metric judges the decision ``scores > threshold``.

    Parameters
    ----------
    metric : Metric or str
        With its constraints, or its name or formula.
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
    scores, labels, weights = checked_rows(scores, labels, weights)
    return CutCurve.of(scores, labels, weights, np.array([threshold], dtype=np.float64)).at(
        get_metric(metric), 0
    )


def best_cut(
    metric: Metric | str,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Cut:
    """Return the best cut there is: the largest value within the constraints of the metric.

    Where no cut meets the constraints, it is the one that misses them least. If the metric has a size, it is
    the cut with about that many rows above it.

    Parameters
    ----------
    metric, scores, labels, weights
        As for :func:`cut_at`.
    limits : (float, float)
        Between which numbers the threshold is, also if all rows are above it, or none. For probabilities,
        give ``(0, 1)``.

    Examples
    --------
    >>> import metricfit as mf
    >>> best_cut(mf.f1, [3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0])
    Cut(threshold=0.5, value=0.8, violation=0.0)
    """
    scores, labels, weights = checked_rows(scores, labels, weights)
    return CutCurve.of(scores, labels, weights, limits=limits).best(get_metric(metric))


def expected_cut(
    metric: Metric | str,
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    probabilities: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Cut:
    """Return the cut that is best for the expected confusion matrix.

    The labels are noise around the probabilities, and the best cut of few rows follows the noise. The
    expected confusion matrix counts every row above the cut as positive by its probability. The metric of it
    is what the cut maximises. Constraints have to hold for the expected and for the counted confusion
    matrix; where no cut meets both, it is the one that misses them least.

    Parameters
    ----------
    metric, scores, labels, weights, limits
        As for :func:`best_cut`.
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
    metric = get_metric(metric)
    scores, labels, weights = checked_rows(scores, labels, weights)
    chances = np.asarray(probabilities, dtype=np.float64)
    if chances.shape != scores.shape or not ((chances >= 0) & (chances <= 1)).all():
        raise ValueError(
            f"probabilities must be {len(scores)} numbers from 0 to 1, those of the positive class, as "
            "predict_proba(X)[:, 1]"
        )
    expected = CutCurve.of(scores, chances, weights, limits=limits)
    counted = CutCurve.of(scores, labels, weights, limits=limits)
    return counted.at(metric, expected.best_index(metric, counted))


def cut_by(
    rule: CutRule,
    metric: Metric,
    scores: FloatArray,
    labels: npt.ArrayLike,
    probabilities: FloatArray,
    *,
    neutral: float = 0.0,
    weights: FloatArray | None = None,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Cut:
    """Return the cut of a rule: the expected one, the best for the labels, or `neutral` for "zero".

    A metric with a size decides by the size, whatever the rule.

    Examples
    --------
    >>> import metricfit as mf
    >>> chances = np.array([0.9, 0.7, 0.3, 0.1])
    >>> rules = ("expected", "empirical", "zero")
    >>> [cut_by(rule, mf.f1, chances, [1, 0, 1, 0], chances, neutral=0.5).threshold for rule in rules]
    [0.5, 0.2, 0.5]
    """
    if rule == "expected":
        return expected_cut(metric, scores, labels, probabilities, weights=weights, limits=limits)
    if rule == "empirical" or metric.size is not None:
        return best_cut(metric, scores, labels, weights=weights, limits=limits)
    return cut_at(metric, scores, labels, neutral, weights=weights)


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
    scores, chances, weights = checked_rows(scores, probabilities, weights)
    return CutCurve.of(scores, chances, weights, np.array([threshold], dtype=np.float64)).at(metric, 0).value


def checked_rows(
    scores: npt.ArrayLike, labels: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Return scores, labels and weights as arrays, or raise an error that says what is wrong with them.

    Examples
    --------
    >>> checked_rows([2.0, 1.0], [True, False], None)
    (array([2., 1.]), array([1., 0.]), None)
    """
    refuse_masked(scores=scores, labels=labels, weights=weights)
    labels = np.asarray(labels)
    if labels.dtype.kind not in "biuf" and not np.isin(labels, (0, 1)).all():
        raise ValueError(NOT_LABELS)
    scores, labels = np.asarray(scores, dtype=np.float64), labels.astype(np.float64)
    if scores.ndim != 1 or scores.shape != labels.shape or not len(scores):
        raise ValueError(
            f"a cut needs as many scores as labels, one of each at least, "
            f"got shapes {scores.shape} and {labels.shape}"
        )
    if np.isnan(scores).any():
        raise ValueError("some scores are nan; leave those rows out of scores and labels")
    if not ((labels >= 0) & (labels <= 1)).all():
        raise ValueError(NOT_LABELS)
    if weights is None:
        return scores, labels, None
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != scores.shape or not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise ValueError(
            f"weights must be {len(scores)} numbers of 0 or more, one per score, and not all of them 0"
        )
    return scores, labels, weights
