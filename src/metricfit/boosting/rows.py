"""What a boosting library hands to its objective, checked."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "checked_rows"]


class Rows(NamedTuple):
    """The rows of a training set.

    Attributes
    ----------
    positive : ndarray of bool, shape (n,)
    scores : ndarray, shape (n,)
    weights : ndarray, shape (n,), or None
    """

    positive: NDArray[np.bool_]
    scores: NDArray[np.float64]
    weights: NDArray[np.float64] | None


def checked_rows(labels: Any, scores: Any, weights: Any = None) -> Rows:
    """Return the rows, or raise ValueError with the reason why they cannot be used.

    Examples
    --------
    >>> checked_rows([0, 2], [0.5, 0.1])
    Traceback (most recent call last):
        ...
    ValueError: labels must be 0 and 1, got 2; give (y == "yes").astype(int), with your own positive class
    """
    if labels is None:
        raise ValueError("the data set has no labels; give it label=")
    truth = np.asarray(labels)
    given = np.asarray(scores, dtype=np.float64)
    if truth.ndim != 1 or not truth.size or given.shape != truth.shape:
        raise ValueError(
            f"the objective takes one label and one score per row, got labels of shape {truth.shape} and "
            f"scores of shape {given.shape}; it is for two classes, with one tree per round"
        )
    positive = truth == 1
    others = truth[~(positive | (truth == 0))]
    if others.size:
        raise ValueError(
            f'labels must be 0 and 1, got {others[0]}; give (y == "yes").astype(int), with your own positive '
            "class"
        )
    if not np.isfinite(given).all():
        raise ValueError("some scores are not finite; give a smaller learning rate or a larger curvature")
    each = None
    if weights is not None and np.size(weights):
        each = np.asarray(weights, dtype=np.float64)
        if each.shape != truth.shape or not np.isfinite(each).all() or each.min() < 0.0:
            raise ValueError("weights must be one finite number per row, none of them negative")
    if not (positive if each is None else each[positive]).any():
        raise ValueError("no row with a weight above 0 has the label 1; give rows of both classes")
    return Rows(positive, np.ascontiguousarray(given), each)
