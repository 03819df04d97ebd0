"""Comparisons of classifiers of more than two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit import Metric
from metricfit.report.bootstrap import Interval
from metricfit.report.class_bootstrap import class_difference_interval, class_score_interval
from metricfit.report.comparison import Comparison, Method

__all__ = ["ClassComparison"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassComparison(Comparison):
    """Several classifiers on the same test rows, of more than two classes.

    Labels are the numbers of classes, and the metric has an average.

    Attributes
    ----------
    classes : tuple of str
        Their names.

    Examples
    --------
    >>> method = Method("ours", np.eye(3), [], 1, 0.0, 0.1)
    >>> found = ClassComparison("toy", mf.f1.macro(), np.arange(3), (method,), classes=("a", "b", "c"))
    >>> found.name, found.value(method)
    ('macro f1', 1.0)
    """

    classes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the metric is called."""
        return f"{self.metric.average} {self.metric.name}"

    @property
    def rows(self) -> str:
        """How many test rows there are, and of how many classes."""
        return f"{len(self.labels)}, of {len(np.unique(self.labels))} classes"

    def further(self, method: Method) -> dict[str, float]:
        """Return the other scores that are always shown."""
        right = float(np.average(self.labels == method.predicted, weights=self.weights))
        return {"accuracy": right, "macro recall": self.score(mf.recall.macro(), method)}

    def confusion(self, method: Method) -> FloatArray:
        """Return how many rows of each class, one per line, were predicted to be of each class."""
        size = len(self.classes)
        cells = np.bincount(size * self.labels + method.predicted, self.weights, minlength=size * size)
        return cells.astype(np.float64).reshape(size, size)

    def of_classes(self, metric: Metric, method: Method) -> FloatArray:
        """Return a metric of each class against the rest."""
        cells = self.confusion(method)
        hits, actual, chosen = np.diag(cells), cells.sum(axis=1), cells.sum(axis=0)
        others = np.maximum(cells.sum() - actual - chosen + hits, 0.0)
        return metric.averaged(None).score_counts(hits, chosen - hits, actual - hits, others)

    def interval(self, method: Method) -> Interval:
        """Return the interval of the score of a method."""
        return class_score_interval(self.metric, self.labels, method.predicted, self.weights)

    def advantage(self, one: Method, other: Method) -> Interval:
        """Return the interval of how much better one method is than another."""
        predicted = one.predicted, other.predicted
        return class_difference_interval(self.metric, self.labels, *predicted, self.weights)

    def kinds(self) -> dict[str, Any]:
        """Return how many test rows there are of each class, as plain values."""
        counts = np.bincount(self.labels, minlength=len(self.classes))
        return {"classes": dict(zip(self.classes, counts.tolist(), strict=True))}

    def summary(self) -> dict[str, Any]:
        """Return everything but the scores, as plain values; confusion matrices are lists of lines."""
        found = super().summary()
        for described, method in zip(found["methods"], self.methods, strict=True):
            described["confusion"] = described["confusion"].tolist()
            described["per_class"] = {
                metric.name: self.of_classes(metric, method).tolist()
                for metric in (mf.precision, mf.recall, self.metric)
            }
        return found
