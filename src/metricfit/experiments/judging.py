"""How an epoch is scored: the cut of its scores, and the metric on the validation and test parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.experiments.metrics import METRICS
from metricfit.sklearn import Cut, best_cut, cut_at

__all__ = ["DECISIONS", "Decision", "Judge", "cut_on_curve", "judges_for"]

Decision: TypeAlias = Literal["zero", "tuned", "curve"]
DECISIONS: tuple[Decision, ...] = ("zero", "tuned", "curve")
"""Decide at 0; where it is best on the validation part; or, for precision at recall, at the point of each
part's own curve where the recall is first reached, which is how the paper measures it."""

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


def cut_on_curve(metric: mf.Metric, scores: FloatArray, labels: IntArray) -> Cut:
    """Return the highest cut that meets the constraints: the point of the curve where they are first met.

    Examples
    --------
    >>> import numpy as np
    >>> cut_on_curve(mf.precision_at_recall(0.6), np.array([3.0, 2.0, 1.0, 0.0]), np.array([1, 0, 1, 1]))
    Cut(threshold=1.0, value=0.66..., violation=0.0)
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    # The last of equal scores: all of them fall on the same side.
    lasts = np.append(np.flatnonzero(ranked[:-1] > ranked[1:]), len(ranked) - 1)
    predicted, hits = lasts + 1, np.cumsum(labels[order])[lasts]
    met = np.ones(len(lasts), dtype=bool)
    for constraint in metric.constraints:
        gain, offset = constraint.metric.coefficients(predicted, int(labels.sum()), len(labels))
        met &= gain * hits + offset >= constraint.threshold - 1e-9
    first = int(np.argmax(met))
    gain, offset = metric.coefficients(predicted[first], int(labels.sum()), len(labels))
    return Cut(float(ranked[lasts[first]]), float(gain * hits[first] + offset), 0.0)


@dataclass
class Judge:
    """Remembers the best epoch by one metric and one way to decide.

    Examples
    --------
    >>> import numpy as np
    >>> judge = Judge("f1", "zero", patience=None)
    >>> judge.sees(1, np.array([1.0, -1.0]), np.array([1, 0]))
    True
    >>> judge.sees(2, np.array([1.0, -1.0]), np.array([1, 0]))
    False
    """

    metric: str
    decision: Decision
    patience: int | None
    epoch: int = 0
    closed: bool = False
    cut: Cut | None = None
    found: dict[str, Any] = field(default_factory=dict)

    def sees(self, epoch: int, scores: FloatArray, labels: IntArray) -> bool:
        """Judge an epoch by its scores of the validation part; return whether it is the best so far."""
        if self.closed:
            return False
        metric = METRICS[self.metric]
        if self.decision == "curve":
            cut = cut_on_curve(metric, scores, labels)
        else:
            cut = (best_cut if self.decision == "tuned" else cut_at)(metric, scores, labels)
        if self.cut is None or cut.rank > self.cut.rank:
            self.cut, self.epoch = cut, epoch
            return True
        self.closed = self.patience is not None and epoch - self.epoch >= self.patience
        return False

    def tests(self, scores: FloatArray, labels: IntArray) -> None:
        """Record the score of the best epoch on the test part."""
        if self.cut is None:
            raise ValueError("an epoch is tested after it has been judged")
        metric = METRICS[self.metric]
        if self.decision == "curve":
            reached = cut_on_curve(metric, scores, labels)
            chosen = scores >= reached.threshold
        else:
            reached = cut_at(metric, scores, labels, self.cut.threshold)
            chosen = scores > reached.threshold
        self.found = {
            "epoch": self.epoch,
            "threshold": _short(self.cut.threshold),
            "validation": _short(self.cut.value),
            "missed": _short(self.cut.violation),
            "test": _short(reached.value),
            "predicted": int(chosen.sum()),
            "hits": int(labels[chosen].sum()),
        }


def judges_for(metrics: Iterable[str], patience: int | None) -> list[Judge]:
    """Return the judges of a training: two for each metric, and one more for each with constraints.

    Examples
    --------
    >>> [judge.decision for judge in judges_for(["pr80"], None)]
    ['zero', 'tuned', 'curve']
    """
    return [
        Judge(metric, decision, patience)
        for metric in metrics
        for decision in DECISIONS
        if decision != "curve" or METRICS[metric].constraints
    ]


def _short(value: float) -> float:
    return float(f"{value:.6g}")
