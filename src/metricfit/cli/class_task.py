"""``metricfit fit`` with a target of more than two values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.cli.candidates import Candidate, FittedCandidate, TrainingRows
from metricfit.cli.class_candidates import class_candidates, class_value, shown_name
from metricfit.cli.class_decisions import ClassChoice, ClassModels
from metricfit.cli.decisions import Features
from metricfit.cli.fit_options import FitOptions
from metricfit.cli.metrics_asked import class_metric
from metricfit.cli.mistakes import UserMistakeError, listed
from metricfit.cli.parts import Parts
from metricfit.cli.tables import ClassTarget, label_text
from metricfit.cli.training import Way
from metricfit.report import ClassComparison, Method, class_metric_name
from metricfit.sklearn import Cut, MetricClassifier
from metricfit.sklearn.decisions import ClassDecision

__all__ = ["ClassTask"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassTask:
    """A metric of a target of more than two values; see `Task` for what its methods are for."""

    metric: mf.Metric
    target: ClassTarget
    options: FitOptions

    judged = "out-of-fold"
    shares = "Weights in the ensemble, mean over the classes"

    @classmethod
    def of(cls, asked: mf.Metric, target: ClassTarget, options: FitOptions) -> ClassTask:
        """Return the task, if the metric and the other options go with more than two values."""
        if options.confidence is not None:
            raise UserMistakeError(
                f"--confidence is for a target of two values, and {target.name} has {len(target.classes)}; "
                f"leave it out."
            )
        names = [label_text(label) for label in target.classes]
        return cls(class_metric(asked, target.name, names), target, options)

    @property
    def metric_name(self) -> str:
        """What the report calls the metric."""
        return class_metric_name(self.metric)

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes."""
        return tuple(label_text(label) for label in self.target.classes)

    def candidates(self, rows: TrainingRows) -> Sequence[Candidate[ClassChoice]]:
        """Return the ensemble, and networks and trees that decide for the most probable class."""
        options = self.options
        return class_candidates(
            self.metric, rows, cut=options.cut, epochs=options.epochs, device=options.device
        )

    def ways(self) -> Sequence[Way]:
        """Return training for the metric, and cross-entropy."""
        return (
            Way("ours", f"trained for {shown_name(self.metric)}", "metric", self.options.cut),
            Way("plain", "cross-entropy, argmax", "cross-entropy", "zero"),
        )

    def network_decision(self, classifier: MetricClassifier) -> ClassChoice:
        """Return the decision of a network with one output per class."""
        decision = classifier.decision_
        if not isinstance(decision, ClassDecision):
            raise TypeError("the network must be fitted to more than two classes")
        network = classifier.net_.module_.cpu().eval()
        return ClassChoice((), ClassModels("networks", (network,)), decision)

    def method(self, fitted: FittedCandidate[ClassChoice], features: Features) -> Method:
        """Return the candidate with its margins of the test rows."""
        margins = fitted.decision.margins(features)
        return Method(fitted.name, margins, [], 1, 0.0, fitted.seconds, fitted.held_out.value)

    def constant(self, parts: Parts) -> tuple[Method, Cut]:
        """Return the classifier that always predicts the most frequent class."""
        codes, weights = parts.train_codes, parts.train_weights
        largest = int(np.bincount(codes, weights).argmax())
        cut = class_value(self.metric, codes, np.full(len(codes), largest), weights)
        margins = np.tile(np.eye(len(self.classes))[largest], (len(parts.test_codes), 1))
        name = f"always {self.classes[largest]}"
        return Method(name, margins, [], 1, 0.0, 0.0, held_out=cut.value, constant=True), cut

    def score(self, codes: IntArray, predicted: IntArray, weights: FloatArray | None) -> float:
        """Return the metric of a prediction."""
        return class_value(self.metric, codes, predicted, weights).value

    def labels(self) -> dict[str, Any]:
        """Return the classes."""
        return {"positive": None, "negative": None, "classes": self.target.classes}

    def never_predicted(self, predicted: npt.NDArray[np.int64], parts: Parts) -> list[str]:
        """Return a warning that names the classes that no test row is predicted to be of."""
        never = np.setdiff1d(np.arange(len(self.classes)), predicted)
        if not len(never):
            return []
        return [
            f"Warning: the model predicts {self.target.name} = {listed(self.classes[i] for i in never)} for "
            f"none of the {len(parts.test_codes)} test rows."
        ]

    def facts(self, parts: Parts, how_held_out: str) -> dict[str, str]:
        """Return how many rows there are of each class."""
        counts = np.bincount(parts.train_codes, minlength=len(self.classes))
        rows = ", ".join(
            f"{name}: {count}" for name, count in zip(self.classes, counts.tolist(), strict=True)
        )
        few = f"{len(self.classes)}, of {counts.min()} to {counts.max()} rows"
        return {
            "training rows": f"{len(parts.train)}; {how_held_out}",
            "classes": rows if len(self.classes) <= 20 else few,
        }

    def comparison(
        self, parts: Parts, methods: tuple[Method, ...], notes: tuple[str, ...], facts: dict[str, str]
    ) -> ClassComparison:
        """Return all classifiers on the test rows."""
        return ClassComparison(
            self.target.name,
            self.metric,
            parts.test_codes,
            methods,
            notes,
            facts,
            parts.test_weights,
            classes=self.classes,
        )
