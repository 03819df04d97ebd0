"""What kind a target is: two classes, more classes, or several labels per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from metricfit import Metric, accuracy, recall
from metricfit.sklearn.inputs import is_missing

__all__ = [
    "Target",
    "averaged_metric",
    "averaged_score",
    "check_counts",
    "check_labels",
    "has_many",
    "plain_labels",
    "target_of",
]


@dataclass(frozen=True, eq=False)
class Target:
    """A target of more than two classes, or of several labels.

    Attributes
    ----------
    kind : {"classes", "labels"}
    classes : ndarray
        The classes, sorted, or the numbers of the labels.
    codes : ndarray of int
        The index of each row's class, or 0 and 1 in one column per label.
    """

    kind: Literal["classes", "labels"]
    classes: npt.NDArray[Any]
    codes: npt.NDArray[np.int64]

    @property
    def columns(self) -> npt.NDArray[np.int64]:
        """0 and 1 in one column per class or label.

        Examples
        --------
        >>> target_of(["b", "a", "c"]).columns[0].tolist()
        [0, 1, 0]
        """
        if self.kind == "labels":
            return self.codes
        return np.asarray(self.codes[:, None] == np.arange(len(self.classes)), dtype=np.int64)


def check_counts(target: Target) -> None:
    """Raise ValueError for a class or label that is too rare, or too frequent, to be cross-fitted.

    Examples
    --------
    >>> check_counts(target_of(["a", "a", "b", "b", "c"]))
    Traceback (most recent call last):
        ...
    ValueError: class 'c' has 1 of 5 rows; cross-fitting needs two with it and two without it at least, so \
    leave it out, or take MetricClassifier
    """
    rows = len(target.codes)
    for name, positives in zip(target.classes.tolist(), target.columns.sum(axis=0).tolist(), strict=True):
        if not 2 <= positives <= rows - 2:
            what = "class" if target.kind == "classes" else "label number"
            raise ValueError(
                f"{what} {name!r} has {positives} of {rows} rows; cross-fitting needs two with it and two "
                "without it at least, so leave it out, or take MetricClassifier"
            )


def has_many(y: Any) -> bool:
    """Whether a target has more than two classes or several labels per row.

    Examples
    --------
    >>> has_many([0, 1, 1]), has_many([0, 1, 2]), has_many([[0, 1], [1, 1]])
    (False, True, True)
    """
    check_labels(y)
    kind = type_of_target(y)
    several = kind.startswith("multilabel")
    if kind == "multiclass-multioutput" or (several and not np.isin(plain_labels(y), (0, 1)).all()):
        raise ValueError("columns of several labels must hold 0 and 1; fit one model per column otherwise")
    if several:
        return True
    return len(np.unique(np.asarray(y))) > 2


def check_labels(y: Any) -> None:
    """Raise ValueError for what no target can be.

    Examples
    --------
    >>> check_labels(["a", None])
    Traceback (most recent call last):
        ...
    ValueError: the target is missing in 1 of 2 rows; leave these rows out
    """
    try:
        values = plain_labels(y)
    except ValueError as error:
        raise ValueError(
            "y holds lists of different lengths; for several labels per row give one column of 0 and 1 per "
            "label, as sklearn.preprocessing.MultiLabelBinarizer makes them"
        ) from error
    if values.dtype.kind in "Of" and values.ndim and len(values):
        rows = values.reshape(len(values), -1)
        gaps = np.isnan(rows) if values.dtype.kind == "f" else np.frompyfunc(is_missing, 1, 1)(rows)
        missing = int(gaps.astype(bool).any(axis=1).sum())
        if missing:
            raise ValueError(
                f"the target is missing in {missing} of {len(values)} rows; leave these rows out"
            )
    _refuse_mixed(values)
    check_classification_targets(y)


def _refuse_mixed(labels: npt.NDArray[Any]) -> None:
    """Raise TypeError for texts beside numbers, which have no order."""
    kinds = {isinstance(label, str) for label in labels.ravel()} if labels.dtype == object else ()
    if len(kinds) > 1:
        raise TypeError("the target holds texts and other values; give all labels as one type, such as text")


def target_of(y: Any) -> Target:
    """Return a target of more than two classes or of several labels.

    Examples
    --------
    >>> target_of([[0, 1], [1, 1]]).kind
    'labels'
    """
    if type_of_target(y).startswith("multilabel"):
        codes = plain_labels(y).astype(np.int64)
        return Target("labels", np.arange(codes.shape[1]), codes)
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    return Target("classes", classes, codes.reshape(-1).astype(np.int64))


def plain_labels(y: Any) -> npt.NDArray[Any]:
    """Return a target as an array, also if it is sparse.

    Examples
    --------
    >>> plain_labels([0, 1])
    array([0, 1])
    """
    dense: Any = y
    return np.asarray(dense.toarray() if issparse(y) else y)


def averaged_metric(metric: Metric, pos_label: object, kind: str) -> Metric:
    """Return the metric of several classes or labels: the mean over them, unless it says otherwise.

    Accuracy of classes stays as it is, and stands for the share of correct rows. Its mean over the classes
    rises and falls with that share, but is larger, since most rows are true negatives for most classes.

    Examples
    --------
    >>> import metricfit as mf
    >>> averaged_metric(mf.f1, None, "classes")
    Metric(macro f1 = 2*tp/(ap + pp))
    >>> averaged_metric(mf.accuracy, None, "classes") == mf.accuracy
    True
    """
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes, and the target has more; leave it out, or make "
            "the target y == pos_label"
        )
    if metric.constraints:
        raise ValueError("constraints are for two classes, and the target has more; fit one model per class")
    if metric.size is not None:
        raise ValueError(
            "a size is for two classes, and the target has more; fit one model per class, for the target "
            "y == class"
        )
    if metric.average in ("micro", "samples"):
        raise ValueError(
            f'the average "{metric.average}" cannot be trained for here; take "macro" or "weighted", as in '
            "mf.f1.macro()"
        )
    if metric.average or (kind == "classes" and metric == accuracy):
        return metric
    return metric.macro()


def averaged_score(metric: Metric, y: Any, predicted: npt.NDArray[Any], weights: Any) -> float:
    """Return the score of predicted classes or labels by a metric that `averaged_metric` returned.

    Examples
    --------
    >>> averaged_score(accuracy, ["a", "b", "c", "c"], np.array(["a", "c", "c", "c"]), None)
    0.75
    """
    # Recall, weighted by the rows of each class, is the share of correct rows.
    asked = recall.averaged("weighted") if metric == accuracy else metric
    return float(asked.score(plain_labels(y), predicted, sample_weight=weights))
