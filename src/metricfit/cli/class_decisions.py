"""From features to one class out of several, as plain parts that can be written without code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax

from metricfit import Metric
from metricfit.cli.decisions import Decision, Features, Kind, scores
from metricfit.sklearn import MetricEnsemble
from metricfit.sklearn.decisions import ClassDecision

__all__ = ["ClassChoice", "ClassModels"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassModels:
    """Models that tell all classes apart, and whose log-probabilities are averaged.

    Attributes
    ----------
    kind : {"networks", "trees"}
        What the models are.
    models : tuple
        Networks with one output per class, or gradient-boosted trees.
    """

    kind: Kind
    models: tuple[Any, ...]

    def scores(self, features: Features) -> FloatArray:
        """Return the mean log-probability of every class."""
        found = [log_softmax(scores(model, features), axis=1) for model in self.models]
        return np.asarray(np.mean(found, axis=0))


@dataclass(frozen=True, eq=False)
class ClassChoice:
    """What was trained for more than two classes.

    Attributes
    ----------
    columns : tuple of Decision
        One per class, against the rest, with probabilities; or none.
    whole : ClassModels or None
        Models that tell all classes apart, if there are no columns.
    decision : ClassDecision
        From the log-probabilities to a class.
    """

    columns: tuple[Decision, ...]
    whole: ClassModels | None
    decision: ClassDecision

    @classmethod
    def of_ensemble(cls, ensemble: MetricEnsemble, columns: tuple[Decision, ...]) -> ClassChoice:
        """Return the choice of an ensemble whose columns are given."""
        decision = ensemble.decision_
        if not isinstance(decision, ClassDecision):
            raise TypeError("the ensemble must be fitted to more than two classes")
        return cls(columns, None, decision)

    def models(self, kind: Kind) -> list[Any]:
        """Return all models of a kind, in the order in which they are written."""
        if self.whole is not None:
            return list(self.whole.models) if self.whole.kind == kind else []
        return [model for column in self.columns for model in column.models(kind)]

    def margins(self, features: Features) -> FloatArray:
        """Return one column per class; the largest one is predicted."""
        return self.decision.scores(self._scores(features))

    def decided(self, metric: Metric, features: Features) -> FloatArray:
        """Return the margins, whatever the metric; of two classes some metrics need more than these."""
        return self.margins(features)

    def predicted(self, features: Features) -> IntArray:
        """Return the numbers of the predicted classes."""
        return self.decision.predict(self._scores(features))

    def probabilities(self, features: Features) -> FloatArray:
        """Return the probability of every class."""
        return self.decision.probabilities(self._scores(features))

    def _scores(self, features: Features) -> FloatArray:
        if self.whole is not None:
            return self.whole.scores(features)
        chances = np.column_stack([_chances(column, features) for column in self.columns])
        return np.asarray(np.log(chances / chances.sum(axis=1, keepdims=True)))


def _chances(column: Decision, features: Features) -> FloatArray:
    found = column.probabilities(features)
    if found is None:
        raise TypeError("the decision of each class must have a calibration")
    return found
