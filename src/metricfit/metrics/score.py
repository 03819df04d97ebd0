"""Counting a confusion matrix, and scikit-learn scorers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["counts", "make_scorer"]


def counts(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, pos_label: object = None
) -> tuple[int, int, int, int]:
    """Count true positives, predicted positives, actual positives and samples.

    Examples
    --------
    >>> counts([1, 1, 0], [1, 0, 1])
    (1, 2, 2, 3)
    """
    truth = _positives(y_true, "y_true", pos_label)
    predicted = _positives(y_pred, "y_pred", pos_label)
    if truth.shape != predicted.shape:
        raise ValueError(
            f"y_true has {truth.size} samples and y_pred {predicted.size}; give as many predictions as labels"
        )
    if truth.size == 0:
        raise ValueError("a metric of no samples is undefined; give at least one sample")
    return int((truth & predicted).sum()), int(predicted.sum()), int(truth.sum()), int(truth.size)


def _positives(labels: npt.ArrayLike, name: str, pos_label: object) -> npt.NDArray[np.bool_]:
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, or be a column; its shape is {array.shape}")
    if pos_label is not None:
        return np.asarray(array == pos_label, dtype=bool)
    if array.dtype == bool:
        return array
    if array.size and not (np.issubdtype(array.dtype, np.number) or array.dtype == object):
        raise ValueError(f"{name} must hold 0 and 1, not {array.dtype}; name the positive label by pos_label")
    positive = np.asarray(array == 1, dtype=bool)
    strange = array[~(positive | (array == 0))]
    if strange.size:
        raise ValueError(
            f"{name} must hold 0 and 1, but holds {strange[0]}; cut scores first (logits at 0), or name the "
            "positive label by pos_label"
        )
    return positive


def make_scorer(score: Callable[..., float], pos_label: object) -> Any:
    """Wrap a score for scikit-learn, which is asked for only here."""
    try:
        from sklearn import metrics
    except ImportError as error:
        raise ImportError("a scorer needs scikit-learn; install metricfit[sklearn]") from error
    return metrics.make_scorer(score, pos_label=pos_label)
