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

__all__ = ["ClassComparison", "class_metric_name"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClassComparison(Comparison):
    """Several classifiers on the same test rows, of more than two classes.

    Labels are the numbers of classes. The metric has an average, or is accuracy: the share of correct rows.

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
        return class_metric_name(self.metric)

    @property
    def class_metrics(self) -> tuple[Metric, ...]:
        """What is shown of each class; its accuracy against the rest mostly counts the rows of the rest."""
        shown = (mf.precision, mf.recall)
        return shown if self.metric.averaged(None) in (*shown, mf.accuracy) else (*shown, self.metric)

    def score(self, metric: Metric, method: Method) -> float:
        """Return any metric of a method on the test rows."""
        return super().score(_scored_as(metric), method)

    @property
    def rows(self) -> str:
        """How many test rows there are, and of how many classes."""
        return f"{len(self.labels)}, of {len(np.unique(self.labels))} classes"

    def further(self, method: Method) -> dict[str, float]:
        """Return the other scores that are always shown."""
        return {metric: self.score(mf.get_metric(metric), method) for metric in ("accuracy", "macro recall")}

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
        return class_score_interval(_scored_as(self.metric), self.labels, method.predicted, self.weights)

    def advantage(self, one: Method, other: Method) -> Interval:
        """Return the interval of how much better one method is than another."""
        predicted = one.predicted, other.predicted
        return class_difference_interval(_scored_as(self.metric), self.labels, *predicted, self.weights)

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
                metric.name: self.of_classes(metric, method).tolist() for metric in self.class_metrics
            }
        return found


def class_metric_name(metric: Metric) -> str:
    """Return what a metric of several classes is called.

    Examples
    --------
    >>> class_metric_name(mf.f1.macro()), class_metric_name(mf.accuracy)
    ('macro f1', 'accuracy')
    """
    return metric.name if metric.average is None else f"{metric.average} {metric.name}"


def _scored_as(metric: Metric) -> Metric:
    # Recall, weighted by the rows of each class, is the share of correct rows.
    return mf.recall.averaged("weighted") if metric == mf.accuracy else metric
