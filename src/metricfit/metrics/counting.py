"""Counting confusion matrices: of two classes, per label, and one class against the rest."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from metricfit.metrics.digits import Count
from metricfit.metrics.evaluation import FloatArray

__all__ = ["Counts", "Weights", "checked_weights", "class_counts", "counts", "label_counts", "row_counts"]

Counts: TypeAlias = tuple[Count, Count, Count, Count]
"""True positives, predicted positives, actual positives and samples."""
Weights: TypeAlias = npt.NDArray[np.int64] | FloatArray
BoolArray = npt.NDArray[np.bool_]


def counts(
    y_true: npt.ArrayLike, y_pred: npt.ArrayLike, pos_label: object = None, weights: Weights | None = None
) -> Counts:
    """Count true positives, predicted positives, actual positives and samples.

    Examples
    --------
    >>> counts([1, 1, 0], [1, 0, 1])
    (1, 2, 2, 3)
    """
    truth, predicted = _column(y_true, "y_true"), _column(y_pred, "y_pred")
    _refuse_other_shape(truth, predicted)
    actual, chosen = _positives(truth, "y_true", pos_label), _positives(predicted, "y_pred", pos_label)
    # Labels that are all the same may be the negative one; of two, one has to be positive.
    if pos_label is not None and not (actual.any() or chosen.any()) and (truth != truth[:1]).any():
        one, other = truth[:1].tolist()[0], truth[truth != truth[0]].tolist()[0]
        raise ValueError(f"pos_label={pos_label!r} is none of the labels, such as {one!r} and {other!r}")
    return _counted(actual, chosen, weights)


def label_counts(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, weights: Weights | None) -> list[Counts]:
    """Count for each of several labels, the columns of arrays of 0 and 1.

    Examples
    --------
    >>> label_counts([[1, 0], [0, 0]], [[1, 1], [1, 0]], None)
    [(1, 2, 1, 2), (0, 1, 0, 2)]
    """
    truth, predicted = _indicators(y_true, y_pred)
    return [_counted(truth[:, k], predicted[:, k], weights) for k in range(truth.shape[1])]


def row_counts(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Count within each row of arrays of 0 and 1.

    Examples
    --------
    >>> row_counts([[1, 0], [0, 0]], [[1, 1], [1, 0]])
    array([[1, 2, 1, 2],
           [0, 1, 0, 2]])
    """
    truth, predicted = _indicators(y_true, y_pred)
    columns = [(truth & predicted).sum(1), predicted.sum(1), truth.sum(1)]
    return np.column_stack([*columns, np.full(len(truth), truth.shape[1])])


def class_counts(y_true: npt.ArrayLike, y_pred: npt.ArrayLike, weights: Weights | None) -> list[Counts]:
    """Count for each class that occurs against all others.

    Examples
    --------
    >>> class_counts(["a", "b", "c"], ["a", "b", "b"], None)
    [(1, 1, 1, 3), (1, 2, 1, 3), (0, 0, 1, 3)]
    """
    truth, predicted = _classes(y_true, "y_true"), _classes(y_pred, "y_pred")
    _refuse_other_shape(truth, predicted)
    if (truth.dtype.kind in "biuf") != (predicted.dtype.kind in "biuf"):
        raise ValueError(
            f"y_true holds {truth.dtype} and y_pred {predicted.dtype}; give both as numbers or both as "
            "strings"
        )
    classes = np.unique(np.concatenate([truth, predicted]))
    return [_counted(truth == one, predicted == one, weights) for one in classes]


def checked_weights(sample_weight: npt.ArrayLike | None, samples: int) -> Weights | None:
    """Return one weight per sample; whole numbers as integers, so that sums are exact.

    Examples
    --------
    >>> checked_weights([1.0, 3.0], 2)
    array([1, 3])
    """
    if sample_weight is None:
        return None
    weights = _array(sample_weight, "sample_weight")
    if weights.shape != (samples,):
        raise ValueError(
            f"sample_weight has the shape {weights.shape}; give one weight for each of {samples} samples"
        )
    if weights.dtype.kind not in "biuf":
        raise ValueError(f"sample_weight must hold numbers, not {weights.dtype}")
    weights = weights.astype(np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise ValueError("sample_weight must be finite and not negative")
    if not weights.any():
        raise ValueError("all weights in sample_weight are 0; a metric of no samples is undefined")
    if weights.max() > np.finfo(np.float64).max / samples:
        raise ValueError("the sum of sample_weight is infinite; divide the weights by their mean")
    whole = (weights == np.floor(weights)).all() and weights.sum() < 2**53
    return weights.astype(np.int64) if whole else weights


def _counted(truth: BoolArray, predicted: BoolArray, weights: Weights | None) -> Counts:
    tp, fp, fn, tn = (
        _total(cell, weights)
        for cell in (truth & predicted, ~truth & predicted, truth & ~predicted, ~(truth | predicted))
    )
    return tp, tp + fp, tp + fn, tp + fp + fn + tn


def _total(cell: BoolArray, weights: Weights | None) -> Count:
    if weights is None:
        return int(np.count_nonzero(cell))
    if weights.dtype.kind == "i":
        return int(weights[cell].sum())
    # Each total is rounded once and added exactly, so that a correct prediction has tp = ap = pp.
    return Fraction(float(weights[cell].sum()))


def _column(labels: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    array = _array(labels, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must have one dimension, or one column per label; its shape is {array.shape}"
        )
    if array.size == 0:
        raise ValueError("a metric of no samples is undefined; give at least one sample")
    return array


def _indicators(y_true: npt.ArrayLike, y_pred: npt.ArrayLike) -> tuple[BoolArray, BoolArray]:
    truth, predicted = _array(y_true, "y_true"), _array(y_pred, "y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(
            f"y_true has the shape {truth.shape} and y_pred {predicted.shape}; give one prediction per label"
        )
    if truth.size == 0:
        raise ValueError("a metric of no samples is undefined; give at least one sample")
    return _positives(truth, "y_true", None), _positives(predicted, "y_pred", None)


def _classes(labels: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    array = _column(labels, name)
    if array.dtype == object:
        kinds = {type(label) for label in array}
        if len(kinds) > 1:
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"{name} holds labels of several types: {names}; give all as one type")
        array = np.array(array.tolist())
    if array.dtype.kind == "f" and not (array == np.floor(array)).all():
        strange = array[~(array == np.floor(array))][0]
        raise ValueError(
            f"{name} must hold classes, but holds {strange}; decide first, for instance by argmax"
        )
    return array


def _positives(array: npt.NDArray[Any], name: str, pos_label: object) -> BoolArray:
    if pos_label is not None:
        return np.asarray(array == pos_label, dtype=bool)
    if array.dtype == bool:
        return array
    if not (np.issubdtype(array.dtype, np.number) or array.dtype == object):
        raise ValueError(
            f"{name} must hold 0 and 1, not {array.dtype}; name the positive label by pos_label, or give "
            'average="macro" for several classes'
        )
    positive = np.asarray(array == 1, dtype=bool)
    strange = array[~(positive | (array == 0))]
    if strange.size:
        raise ValueError(
            f"{name} must hold 0 and 1, but holds {strange[0]}; cut scores first (logits at 0), name the "
            'positive label by pos_label, or give average="macro" for several classes'
        )
    return positive


def _array(given: Any, name: str) -> npt.NDArray[Any]:
    if np.ma.isMaskedArray(given):
        raise ValueError(
            f"{name} is a masked array, whose mask would be ignored; leave the masked samples out of both "
            "arrays, for instance with y[~mask]"
        )
    if hasattr(given, "toarray") and not hasattr(given, "__array__"):
        raise ValueError(f"{name} is a sparse matrix; give {name}.toarray()")
    try:
        return np.asarray(given)
    except RuntimeError as error:
        # PyTorch does not convert tensors that require a gradient.
        reason = str(error).rstrip(".")
        raise ValueError(f"{name} is no array: {reason}; a score has no gradient") from error


def _refuse_other_shape(truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> None:
    if truth.shape != predicted.shape:
        raise ValueError(
            f"y_true has {truth.size} samples and y_pred {predicted.size}; give as many predictions as labels"
        )
