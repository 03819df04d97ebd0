"""What there is to report: several ways of training, judged by one metric on the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from metricfit import Constraint, Metric
from metricfit.report.bootstrap import Interval, difference_interval, score_interval

__all__ = ["Comparison", "Method"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Method:
    """One way of training, with what it gave.

    Attributes
    ----------
    name : str
        Such as "cross-entropy".
    margins : ndarray
        The scores of the test rows, less the threshold: positive is predicted above 0.
    epochs : list of dict
        What was recorded of each epoch, ``valid_metric`` among it.
    best_epoch : int
        The epoch that was kept, counted from 1.
    threshold : float
        Where the scores were cut.
    seconds : float
        How long the training took.
    """

    name: str
    margins: FloatArray
    epochs: list[dict[str, float]]
    best_epoch: int
    threshold: float
    seconds: float

    @property
    def predicted(self) -> IntArray:
        """The prediction, as 0 and 1."""
        return (self.margins > 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several methods on the same test rows; the first is the one that was trained for the metric.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> method = Method("ours", np.array([1.0, -1.0]), [], 1, 0.0, 0.1)
    >>> Comparison("toy", mf.f1, np.array([1, 0]), (method,)).summary()["methods"][0]["value"]
    1.0
    """

    title: str
    metric: Metric
    labels: IntArray
    methods: tuple[Method, ...]
    notes: tuple[str, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)

    def value(self, method: Method) -> float:
        """Return the metric of a method on the test rows, whether it meets the constraints or not."""
        return float(self.metric.objective.score(self.labels, method.predicted))

    def confusion(self, method: Method) -> dict[str, int]:
        """Return the confusion matrix of a method on the test rows."""
        truth, predicted = self.labels == 1, method.predicted == 1
        return {
            "tp": int((truth & predicted).sum()),
            "fp": int((~truth & predicted).sum()),
            "fn": int((truth & ~predicted).sum()),
            "tn": int((~truth & ~predicted).sum()),
        }

    def held(self, method: Method) -> list[tuple[Constraint, float, bool]]:
        """Return, per constraint, what the method reaches on the test rows and whether that is enough."""
        found = []
        for constraint in self.metric.constraints:
            value = constraint.metric.score(self.labels, method.predicted)
            sign = 1.0 if constraint.sense == ">=" else -1.0
            found.append((constraint, value, sign * (value - constraint.threshold) >= -1e-9))
        return found

    def rank(self, method: Method) -> tuple[bool, float]:
        """Return what to order methods by: whether all constraints are met, then the value."""
        return all(met for _, _, met in self.held(method)), self.value(method)

    @cached_property
    def intervals(self) -> list[Interval]:
        """The interval of the score of each method."""
        return [score_interval(self.metric, self.labels, method.predicted) for method in self.methods]

    @cached_property
    def advantages(self) -> list[Interval]:
        """By how much the first method is better than each of the others."""
        first, *others = self.methods
        return [
            difference_interval(self.metric, self.labels, first.predicted, other.predicted)
            for other in others
        ]

    def summary(self) -> dict[str, Any]:
        """Return everything but the scores, as plain values."""
        methods = []
        for method, interval in zip(self.methods, self.intervals, strict=True):
            constraints = [
                {"constraint": str(constraint), "value": value, "met": met}
                for constraint, value, met in self.held(method)
            ]
            methods.append(
                {
                    "name": method.name,
                    "value": self.value(method),
                    "interval": [interval.low, interval.high],
                    "constraints": constraints,
                    "confusion": self.confusion(method),
                    "threshold": method.threshold,
                    "epochs": len(method.epochs),
                    "best_epoch": method.best_epoch,
                    "seconds": round(method.seconds, 3),
                }
            )
        for described, advantage in zip(methods[1:], self.advantages, strict=True):
            described["ours_less_this"] = [advantage.low, advantage.high]
        return {
            "title": self.title,
            "metric": self.metric.name,
            "formula": self.metric.formula,
            "subject_to": [str(constraint) for constraint in self.metric.constraints],
            "test_rows": len(self.labels),
            "test_positives": int(self.labels.sum()),
            "facts": self.facts,
            "notes": list(self.notes),
            "methods": methods,
        }
