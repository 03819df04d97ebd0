"""The rows of a table: features, labels and weights, and which of them are held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupShuffleSplit, StratifiedGroupKFold, train_test_split
from sklearn.utils import column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from metricfit.sklearn.targets import plain_labels

__all__ = [
    "HeldOut",
    "class_index",
    "complete",
    "encoded",
    "is_positive",
    "row_weights",
    "split",
    "two_classes",
    "weights_of_both",
]

FloatArray = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
NOTHING_HELD_OUT = 'set validation_fraction=None and cut="zero"'


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows that are not trained on: features, labels of 0 and 1, and weights if there are any."""

    X: npt.NDArray[np.float32]
    labels: Rows
    weights: FloatArray | None


def two_classes(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the two classes of a target, sorted.

    Examples
    --------
    >>> two_classes(np.array(["no", "yes", "no"])).tolist()
    ['no', 'yes']
    """
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(f"two classes are needed, but the target has one class only: {classes[0]}")
    return classes


def class_index(classes: npt.NDArray[Any], pos_label: object) -> int:
    """Return which of two classes is the positive one.

    Examples
    --------
    >>> class_index(np.array(["no", "yes"]), None)
    1
    """
    if pos_label is None:
        return 1
    if pos_label not in classes:
        numbered = ""
        if isinstance(pos_label, str) and np.array_equal(classes, (0, 1)):
            # They pass numbers to the estimators within.
            numbered = (
                "; within VotingClassifier or StackingClassifier, and for the probabilities of "
                "cross_val_predict, classes are numbered in sorted order: give that number"
            )
        raise ValueError(
            f"pos_label={pos_label!r} is not in the target; it has {classes[0]} and {classes[1]}{numbered}"
        )
    return 1 if classes[1] == pos_label else 0


def is_positive(y: Any, classes: npt.NDArray[Any], positive: int) -> npt.NDArray[np.bool_]:
    """Return which labels are the positive one of two classes; there may be no others.

    Examples
    --------
    >>> is_positive(["yes", "no"], np.array(["no", "yes"]), 1)
    array([ True, False])
    >>> is_positive([0, 1], np.array(["no", "yes"]), 1)
    Traceback (most recent call last):
        ...
    ValueError: y holds 0, which is none of the classes ['no', 'yes'] that the model was fitted to
    """
    labels = plain_labels(y)
    found = [np.broadcast_to(labels == one, labels.shape) for one in classes]
    strange = labels[~(found[0] | found[1])]
    if len(strange):
        raise ValueError(
            f"y holds {strange.tolist()[0]!r}, which is none of the classes {classes.tolist()} that the "
            "model was fitted to"
        )
    return np.asarray(found[positive], dtype=bool)


def encoded(y: Any, pos_label: object) -> tuple[npt.NDArray[Any], Rows]:
    """Return the two classes, and 1 for rows of the positive class and 0 for the others.

    Examples
    --------
    >>> encoded(["no", "yes", "no"], None)
    (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0]))
    """
    labels = np.asarray(column_or_1d(y, warn=True))
    classes = two_classes(labels)
    return classes, np.asarray(labels == classes[class_index(classes, pos_label)], dtype=np.int64)


def row_weights(
    sample_weight: npt.ArrayLike | None, class_weight: Any, y: npt.NDArray[Any]
) -> FloatArray | None:
    """Return the weight of each row, that of its class included, or None if all are equal.

    Examples
    --------
    >>> row_weights([1, 2, 1], None, np.array([0, 1, 0]))
    array([1., 2., 1.])
    >>> row_weights(None, "balanced", np.array([0, 1, 0]))
    array([0.75, 1.5 , 0.75])
    """
    weights = np.ones(len(y))
    if sample_weight is not None:
        try:
            weights = np.asarray(sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"sample_weight must hold one number per row: {error}") from error
        if weights.ndim == 0:
            weights = np.full(len(y), float(weights))
        if weights.shape != (len(y),):
            raise ValueError(
                f"sample_weight must hold one number per row: its shape is {weights.shape}, "
                f"and there are {len(y)} rows"
            )
        if not np.isfinite(weights).all() or weights.min() < 0.0 or weights.sum() <= 0.0:
            raise ValueError("sample_weight must be finite, at least zero, and not zero for all rows")
    if class_weight is not None:
        weights = weights * compute_sample_weight(class_weight, y)
    return None if np.ptp(weights) == 0.0 else weights


def weights_of_both(sample_weight: npt.ArrayLike | None, labels: Rows) -> FloatArray | None:
    """Return the weight of each row, or None if all are equal; neither class may weigh nothing.

    Examples
    --------
    >>> weights_of_both([1, 2], np.array([0, 1]))
    array([1., 2.])
    """
    weights = row_weights(sample_weight, None, labels)
    if weights is not None and min(weights[labels == 1].sum(), weights[labels == 0].sum()) <= 0.0:
        raise ValueError("sample_weight is zero for all rows of a class; two classes are needed")
    return weights


def complete(X: npt.NDArray[np.float32], names: Sequence[str] | None) -> npt.NDArray[np.float32]:
    """Return features, or raise ValueError if values are missing.

    Examples
    --------
    >>> complete(np.array([[0.5], [np.nan]], dtype=np.float32), ["age"])
    Traceback (most recent call last):
        ...
    ValueError: X contains NaN in 1 of 1 columns, the first is 'age'; fill missing values first, as with \
    make_pipeline(SimpleImputer(), MetricClassifier())
    """
    gaps = np.asarray(np.isnan(X).any(axis=0))
    if gaps.any():
        first = int(np.argmax(gaps))
        name = f"number {first}" if names is None else repr(str(names[first]))
        raise ValueError(
            f"X contains NaN in {int(gaps.sum())} of {len(gaps)} columns, the first is {name}; "
            "fill missing values first, as with make_pipeline(SimpleImputer(), MetricClassifier())"
        )
    return X


def split(labels: Rows, fraction: float, groups: npt.ArrayLike | None, seed: int) -> tuple[Rows, Rows]:
    """Return the rows to train on and those to hold out, with nearly the same share of positives.

    Rows of one group stay together.

    Examples
    --------
    >>> rows, held_out = split(np.array([0, 1] * 10), 0.2, None, 0)
    >>> len(rows), len(held_out)
    (16, 4)
    """
    everything = np.arange(len(labels))
    held = int(np.ceil(fraction * len(labels)))
    if labels.ndim == 2 or labels.max() > 1:
        return _split_many(labels, held, groups, seed)
    counts = np.bincount(labels, minlength=2)
    if counts.min() < 2 or held < 2 or len(labels) - held < 2:
        raise ValueError(
            f"holding out a part of {len(labels)} samples needs two of each class at least, "
            f"got {counts[1]} positives and {counts[0]} negatives; {NOTHING_HELD_OUT}"
        )
    if groups is None:
        rows, held_out = train_test_split(everything, test_size=held, stratify=labels, random_state=seed)
        return rows, held_out
    group = np.asarray(groups)
    if group.shape != labels.shape:
        raise ValueError(
            f"groups must hold one group per row: its shape is {group.shape}, "
            f"and there are {len(labels)} rows"
        )
    parts = max(2, round(1.0 / fraction))
    if len(np.unique(group)) < parts:
        raise ValueError(
            f"holding out {fraction:g} of the rows needs {parts} groups at least, got "
            f"{len(np.unique(group))}; give a larger validation_fraction, or a validation_set"
        )
    folds = StratifiedGroupKFold(parts, shuffle=True, random_state=seed)
    rows, held_out = next(folds.split(everything, labels, group))
    if any(len(np.unique(labels[part])) < 2 for part in (rows, held_out)):
        raise ValueError(
            "one class is missing among the held-out groups or the others; give a validation_set"
        )
    return rows, held_out


def _split_many(labels: Rows, held: int, groups: npt.ArrayLike | None, seed: int) -> tuple[Rows, Rows]:
    """Hold out rows of several classes, with equal shares where that is possible, or of several labels."""
    everything = np.arange(len(labels))
    if len(labels) < 4:
        raise ValueError(f"holding out a part of {len(labels)} samples needs 4 at least; {NOTHING_HELD_OUT}")
    if groups is not None:
        splitter = GroupShuffleSplit(1, test_size=held / len(labels), random_state=seed)
        rows, held_out = next(splitter.split(everything, groups=np.asarray(groups)))
        return rows, held_out
    counts = np.bincount(labels) if labels.ndim == 1 else np.zeros(0)
    # A class of one row cannot be on both sides, and a small part has no room for every class.
    fits = labels.ndim == 1 and counts.min() >= 2 and held >= len(counts) <= len(labels) - held
    rows, held_out = train_test_split(
        everything, test_size=max(held, 2), stratify=labels if fits else None, random_state=seed
    )
    return rows, held_out
