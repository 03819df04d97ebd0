"""Comparisons of several classifiers by one metric on the same rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit import Constraint, Metric
from metricfit.report.bootstrap import Interval, difference_interval, score_interval

__all__ = ["ColumnReport", "Comparison", "Importance", "Method", "in_words"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Method:
    """One classifier, with its scores of the test rows.

    Attributes
    ----------
    name : str
        Such as "cross-entropy".
    margins : ndarray
        The scores of the test rows, less the threshold: positive is predicted above 0. With several classes
        there is one column each, and the largest is predicted.
    epochs : list of dict
        What was recorded of each epoch, ``valid_metric`` among it.
    best_epoch : int
        The epoch that was kept, counted from 1.
    threshold : float
        Where the scores were cut.
    seconds : float
        How long the training took.
    held_out : float, optional
        The metric on rows that were held out of the training, by which the classifier to use is chosen.
    probabilities : ndarray, optional
        The calibrated probabilities that the test rows are positive.
    constant : bool
        Whether it predicts the same for every row.
    """

    name: str
    margins: FloatArray
    epochs: list[dict[str, float]]
    best_epoch: int
    threshold: float
    seconds: float
    held_out: float | None = None
    probabilities: FloatArray | None = None
    constant: bool = False

    @property
    def predicted(self) -> IntArray:
        """The prediction, as 0 and 1, or as numbers of classes."""
        if self.margins.ndim == 2:
            return np.asarray(self.margins.argmax(axis=1), dtype=np.int64)
        return (self.margins > 0).astype(np.int64)


@dataclass(frozen=True)
class Importance:
    """By how much the metric falls when the values of a column are shuffled: the mean, and the spread.

    Examples
    --------
    >>> Importance("age", 0.12, 0.01).column
    'age'
    """

    column: str
    drop: float
    spread: float


@dataclass(frozen=True)
class ColumnReport:
    """How a column of the table was used.

    Examples
    --------
    >>> ColumnReport("age", "numbers", 0.1, "used").missing
    0.1
    """

    column: str
    kind: str
    missing: float
    use: str


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several classifiers on the same test rows; the first is the one that the others are compared with.

    Attributes
    ----------
    title : str
        What is predicted.
    metric : Metric
        With its constraints.
    labels : ndarray
        Of the test rows, 0 and 1.
    methods : tuple of Method
        The classifiers.
    notes : tuple of str
        Sentences to show.
    facts : dict of str to str
        Facts to show, by name.
    weights : ndarray, optional
        How much each test row counts.
    importance : tuple of Importance
        Of the columns for the first classifier.
    columns : tuple of ColumnReport
        How the columns were used.

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
    weights: FloatArray | None = None
    importance: tuple[Importance, ...] = ()
    columns: tuple[ColumnReport, ...] = ()

    @property
    def name(self) -> str:
        """What the metric is called."""
        return self.metric.name

    @property
    def rows(self) -> str:
        """How many test rows there are, and of what kind."""
        return f"{len(self.labels)}, of which {int(self.labels.sum())} positive"

    def further(self, method: Method) -> dict[str, float]:
        """Return the other scores that are always reported."""
        return {metric.name: self.score(metric, method) for metric in (mf.precision, mf.recall)}

    def beside(self, method: Method) -> dict[str, float]:
        """Return the other scores without those that a table shows as the metric or a constraint."""
        shown = {self.name, *(constraint.metric.name for constraint in self.metric.constraints)}
        return {name: value for name, value in self.further(method).items() if name not in shown}

    def value(self, method: Method) -> float:
        """Return the metric of a method on the test rows, whether it meets the constraints or not."""
        return self.score(self.metric, method)

    def score(self, metric: Metric, method: Method) -> float:
        """Return any metric of a method on the test rows, without its constraints."""
        return float(metric.objective.score(self.labels, method.predicted, sample_weight=self.weights))

    def confusion(self, method: Method) -> Any:
        """Return the confusion matrix of a method on the test rows."""
        kinds = 2 * self.labels + method.predicted
        tn, fp, fn, tp = np.bincount(kinds, self.weights, minlength=4).tolist()
        return {"tp": tp, "fp": fp, "fn": fn, "tn": tn}

    def held(self, method: Method) -> list[tuple[Constraint, float, bool]]:
        """Return, per constraint, what the method reaches on the test rows and whether that is enough."""
        found = []
        for constraint in self.metric.constraints:
            value = self.score(constraint.metric, method)
            sign = 1.0 if constraint.sense == ">=" else -1.0
            found.append((constraint, value, sign * (value - constraint.threshold) >= -1e-9))
        return found

    def rank(self, method: Method) -> tuple[bool, float]:
        """Return what to order methods by: whether all constraints are met, then the value."""
        return all(met for _, _, met in self.held(method)), self.value(method)

    @cached_property
    def intervals(self) -> list[Interval]:
        """The interval of the score of each method."""
        return [self.interval(method) for method in self.methods]

    @cached_property
    def advantages(self) -> list[Interval]:
        """By how much the first method is better than each of the others."""
        first, *others = self.methods
        return [self.advantage(first, other) for other in others]

    def interval(self, method: Method) -> Interval:
        """Return the interval of the score of a method."""
        return score_interval(self.metric, self.labels, method.predicted, self.weights)

    def advantage(self, one: Method, other: Method) -> Interval:
        """Return the interval of how much better one method is than another."""
        return difference_interval(self.metric, self.labels, one.predicted, other.predicted, self.weights)

    def kinds(self) -> dict[str, Any]:
        """Return how many test rows there are of each kind, as plain values."""
        return {"test_positives": int(self.labels.sum())}

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
                    **{name.replace(" ", "_"): value for name, value in self.further(method).items()},
                    "held_out": method.held_out,
                    "constraints": constraints,
                    "confusion": self.confusion(method),
                    "threshold": method.threshold,
                    "epochs": len(method.epochs),
                    "best_epoch": method.best_epoch,
                    "seconds": round(method.seconds, 3),
                }
            )
        for described, advantage in zip(methods[1:], self.advantages, strict=True):
            described["first_less_this"] = [advantage.low, advantage.high]
        return {
            "title": self.title,
            "metric": self.name,
            "formula": self.metric.formula,
            "subject_to": [str(constraint) for constraint in self.metric.constraints],
            "test_rows": len(self.labels),
            **self.kinds(),
            "facts": self.facts,
            "notes": list(self.notes),
            "in_words": list(in_words(self)),
            "methods": methods,
            "importance": [asdict(one) for one in self.importance],
            "columns": [asdict(one) for one in self.columns],
        }


def in_words(comparison: Comparison) -> tuple[str, ...]:
    """Return a sentence for each classifier that the first is compared with.

    Examples
    --------
    >>> import metricfit as mf
    >>> labels = np.array([1, 0] * 50)
    >>> right = Method("A", labels - 0.5, [], 1, 0.0, 0.1)
    >>> wrong = Method("B", 0.5 - labels, [], 1, 0.0, 0.1)
    >>> in_words(Comparison("toy", mf.f1, labels, (right, wrong)))
    ('A scores 1.000 higher than B (95 % interval 1.000 to 1.000).',)
    """
    first, *others = comparison.methods
    lines = []
    for other, interval in zip(others, comparison.advantages, strict=True):
        gain = comparison.value(first) - comparison.value(other)
        between = f"(95 % interval {interval.low:.3f} to {interval.high:.3f})"
        if abs(gain) < 0.0005:
            line = f"{first.name} scores the same as {other.name} {between}"
        else:
            compared = "higher" if gain > 0 else "lower"
            line = f"{first.name} scores {abs(gain):.3f} {compared} than {other.name} "
            line += between if gain > 0 else f"(95 % interval {-interval.high:.3f} to {-interval.low:.3f})"
        if interval.low <= 0.0 <= interval.high and gain:
            line += "; the test rows are too few to say which is better"
        lines.append(line + _about_constraints(comparison, first, other) + ".")
    return tuple(lines)


def _about_constraints(comparison: Comparison, first: Method, other: Method) -> str:
    met = [all(held for _, _, held in comparison.held(method)) for method in (first, other)]
    if met == [True, False]:
        return f", and {other.name} misses a constraint"
    if met == [False, True]:
        return f", but {first.name} misses a constraint on the test rows"
    return ""
