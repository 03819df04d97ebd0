"""Scores of predictions: averages over labels, and lower scores for predictions that violate a constraint."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, overload

import numpy as np
import numpy.typing as npt

from metricfit.metrics.counting import Counts, checked_weights, class_counts, counts, label_counts, row_counts
from metricfit.metrics.evaluation import Evaluation, FloatArray

if TYPE_CHECKING:
    from typing import Self

    from metricfit.metrics.constraint import Constraint

__all__ = ["Average", "Scored", "attainable_range"]

Average: TypeAlias = Literal["macro", "weighted", "micro", "samples"]

# Constraints hold up to rounding.
SLACK = 1e-9
# A metric of counts takes its extreme values on small tables already, unless they grow with n, as lift's do.
_SMALL_TABLES = range(1, 13)
_LARGER_TABLES = (24, 48)
_GRID = 33


class Scored:
    """The part of a metric that scores predictions."""

    evaluate: Any
    constraints: tuple[Constraint, ...]
    average: Average | None

    @overload
    def score(
        self,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        average: None = ...,
        pos_label: object = ...,
    ) -> Any: ...
    @overload
    def score(
        self,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = ...,
        average: Average,
        pos_label: object = ...,
    ) -> float: ...
    def score(
        self,
        y_true: npt.ArrayLike,
        y_pred: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        average: Average | None = None,
        pos_label: object = None,
    ) -> Any:
        """Measure predictions by this metric.

        With constraints, the score of predictions that meet them is that of the metric alone. If they violate
        one, it is the lowest value of the metric minus the largest violation, so every prediction that meets
        the constraints scores higher. Precision with ``recall >= 0.8`` is -0.1 at a recall of 0.7. If the
        metric has no lowest value, the worst value on these labels is used. :attr:`objective` is the metric
        without its constraints.

        Parameters
        ----------
        y_true, y_pred : array_like of shape (n,) or (n, labels)
            The truth and the prediction, as 0 and 1 (bool, int or float), one column per label. With an
            average, those of shape (n,) may be classes of any kind.
        sample_weight : array_like of shape (n,), optional
            How much each sample counts. Whole numbers are the same as repeated rows.
        average : {"macro", "weighted", "micro", "samples"}, optional
            How several labels, or several classes, each against the rest, make one number: the mean of their
            scores, the mean weighted by the actual positives, the score of the added counts, or the mean of
            the scores of the rows. By default the metric's own, see :meth:`averaged`.
        pos_label : object, optional
            Take this label as 1 and every other as 0, for labels that are not 0 and 1.

        Returns
        -------
        float or ndarray of shape (labels,)
            An array only for several labels without an average.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.accuracy.score([0, 1, 1, 0], [0, 1, 0, 0])
        0.75
        >>> mf.recall.score(["sick", "well"], ["sick", "sick"], pos_label="sick")
        1.0
        >>> mf.recall.score(["a", "b", "c", "c"], ["a", "b", "c", "b"], average="macro")
        0.8333333333333334
        >>> mf.recall.score([[1, 0], [1, 1]], [[1, 0], [0, 1]])
        array([0.5, 1. ])
        >>> limited = mf.precision.subject_to(mf.recall >= 0.8)
        >>> limited.score([1, 1, 0], [1, 0, 0]), limited.objective.score([1, 1, 0], [1, 0, 0])
        (-0.30000000000000004, 1.0)
        """
        average = self.average if average is None else _checked_average(average)
        if pos_label is not None and (average or (np.ndim(y_true) == 2 and np.shape(y_true)[1] != 1)):
            raise ValueError("pos_label has no meaning for several labels or classes; leave it out")
        shape = np.shape(y_true)
        weights = checked_weights(sample_weight, shape[0] if shape else 0)
        if len(shape) != 2 or (shape[1] == 1 and average is None):
            if average is None:
                return float(self._ranked([counts(y_true, y_pred, pos_label, weights)])[0])
            if average == "samples":
                raise ValueError('average="samples" needs several labels, in arrays of shape (n, labels)')
            found = class_counts(y_true, y_pred, weights)
        elif average == "samples":
            rows = self._ranked_fast(*row_counts(y_true, y_pred).T)
            return float(np.average(rows, weights=weights))
        else:
            found = label_counts(y_true, y_pred, weights)
        return self._averaged_score(found, average)

    def score_counts(
        self, tp: npt.ArrayLike, fp: npt.ArrayLike, fn: npt.ArrayLike, tn: npt.ArrayLike
    ) -> FloatArray:
        """Return the score of many confusion matrices at once, constraints as in :meth:`score`.

        Parameters
        ----------
        tp, fp, fn, tn : array_like
            The counts, 0 or more; they are broadcast, and need not be whole.

        Returns
        -------
        ndarray of float64
            Of the broadcast shape.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.jaccard.score_counts([1, 2], [1, 0], 0, 3)
        array([0.5, 1. ])
        """
        given = (np.asarray(count, dtype=np.float64) for count in (tp, fp, fn, tn))
        cells = np.stack(np.broadcast_arrays(*given))
        # What is below 0 by rounding, as in a difference of sums of weights, is no mistake.
        if not (np.isfinite(cells) & (cells >= -1e-9 * cells.sum(axis=0))).all():
            raise ValueError("counts must be finite numbers of 0 or more")
        tp, fp, fn, tn = cells.reshape(4, -1)
        scores = self._ranked_fast(tp, tp + fp, tp + fn, tp + fp + fn + tn)
        return scores.reshape(cells.shape[1:])

    def scorer(self, *, pos_label: object = None) -> Any:
        """Return a scikit-learn scorer, for ``GridSearchCV(scoring=...)`` and the like.

        It returns what :meth:`score` does. So a search prefers models that meet the constraints.

        Examples
        --------
        >>> import metricfit as mf
        >>> from sklearn.dummy import DummyClassifier
        >>> model = DummyClassifier().fit([[0], [0], [0]], [1, 1, 0])
        >>> mf.recall.scorer()(model, [[0], [0]], [0, 1])
        1.0
        """
        try:
            from sklearn import metrics
        except ImportError as error:
            raise ImportError("a scorer needs scikit-learn; install metricfit[sklearn]") from error
        return metrics.make_scorer(self.score, pos_label=pos_label)

    def averaged(self, average: Average | None) -> Self:
        """Return this metric with another default of ``average`` in :meth:`score`.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.f1.averaged("micro")
        Metric(micro f1 = 2*tp/(ap + pp))
        >>> mf.f1.averaged("micro").averaged(None) == mf.f1
        True
        """
        changed: Any = replace(self, average=None if average is None else _checked_average(average))  # type: ignore[type-var]
        return changed  # type: ignore[no-any-return]

    def macro(self) -> Self:
        """Return the mean of this metric over labels or classes: ``averaged("macro")``.

        Examples
        --------
        >>> import metricfit as mf
        >>> mf.f1.macro() == mf.get_metric("macro f1")
        True
        >>> mf.f1.macro().score([[1, 0], [1, 1]], [[1, 0], [0, 1]])
        0.8333333333333333
        """
        return self.averaged("macro")

    def _averaged_score(self, found: list[Counts], average: Average | None) -> Any:
        if average == "micro":
            tp, k, l, n = (sum(parts) for parts in zip(*found, strict=True))
            return float(self._ranked([(tp, k, l, n)])[0])
        scores = self._ranked(found)
        if average is None:
            return scores
        support = np.array([float(l) for _, _, l, _ in found])
        weighted = average == "weighted" and support.any()
        return float(np.average(scores, weights=support if weighted else None))

    def _ranked(self, found: list[Counts]) -> FloatArray:
        l, n = (np.array([float(one[part]) for one in found]) for part in (2, 3))
        return self._with_constraints(
            lambda evaluate: np.array([evaluate.value(*one) for one in found]), l, n
        )

    def _ranked_fast(self, tp: FloatArray, k: FloatArray, l: FloatArray, n: FloatArray) -> FloatArray:
        return self._with_constraints(lambda evaluate: evaluate.values(tp, k, l, n), l, n)

    def _with_constraints(
        self, valued: Callable[[Evaluation], FloatArray], l: FloatArray, n: FloatArray
    ) -> FloatArray:
        values = valued(self.evaluate)
        if not self.constraints:
            return values
        excess = [
            (valued(one.metric.evaluate) - one.threshold) * (1 if one.sense == ">=" else -1)
            for one in self.constraints
        ]
        violation = -np.minimum.reduce(excess)
        broken = violation > SLACK
        if broken.any():
            actual, total = (np.broadcast_to(count, values.shape)[broken] for count in (l, n))
            lowest = [_lowest(self.evaluate, *pair) for pair in zip(actual, total, strict=True)]
            values = values.copy()
            values[broken] = np.array(lowest) - violation[broken]
        return values


@lru_cache(maxsize=256)
def attainable_range(evaluate: Any) -> tuple[float, float]:
    """Return the range of a formula over confusion matrices of any size, infinite where it grows with them.

    Examples
    --------
    >>> import metricfit as mf
    >>> attainable_range(mf.f1.evaluate), attainable_range(mf.get_metric("-fp").evaluate)
    ((0.0, 1.0), (-inf, 0.0))
    """
    small = [evaluate.value_range(n) for n in _SMALL_TABLES]
    larger = [evaluate.value_range(n) for n in _LARGER_TABLES]
    lowest, highest = min(low for low, _ in small), max(high for _, high in small)
    if min(low for low, _ in larger) < lowest - 1e-9:
        lowest = -math.inf
    if max(high for _, high in larger) > highest + 1e-9:
        highest = math.inf
    return lowest, highest


@lru_cache(maxsize=4096)
def _lowest(evaluate: Evaluation, l: float, n: float) -> float:
    """Return a lower bound of the scores of all predictions for ``l`` positives among ``n``."""
    lowest, _ = attainable_range(evaluate)
    if math.isfinite(lowest):
        return lowest
    tp, fp = np.meshgrid(np.linspace(0, l, _GRID), np.linspace(0, n - l, _GRID))
    return float(evaluate.finite_values(tp.ravel(), (tp + fp).ravel(), l, n).min())


def _checked_average(average: object) -> Average:
    if average not in get_args(Average):
        raise ValueError(f'average must be "macro", "weighted", "micro", "samples" or None, got {average!r}')
    return average  # type: ignore[return-value]
