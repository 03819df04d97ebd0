"""``metricfit fit`` with a target of two values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.cli.candidates import Candidate, FittedCandidate, TrainingRows
from metricfit.cli.choosing import constant_method
from metricfit.cli.decisions import Decision, Features
from metricfit.cli.fit_options import FitOptions
from metricfit.cli.metrics_asked import refuse_average
from metricfit.cli.pair_candidates import pair_candidates
from metricfit.cli.parts import Parts
from metricfit.cli.tables import Target
from metricfit.cli.training import Way, the_ways
from metricfit.report import Comparison, Method
from metricfit.sklearn import Cut, MetricClassifier
from metricfit.sklearn.top_rows import as_share

__all__ = ["PairTask"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PairTask:
    """A metric of a target of two values; see `Task` for what its methods are for."""

    metric: mf.Metric
    target: Target
    options: FitOptions

    judged = "out-of-fold, each at its best cut"
    shares = "Weights in the ensemble"

    @classmethod
    def of(cls, asked: mf.Metric, target: Target, rows: int, options: FitOptions) -> PairTask:
        """Return the task, if the metric goes with two values."""
        return cls(as_share(refuse_average(asked, target.name), rows), target, options)

    @property
    def metric_name(self) -> str:
        """What the report calls the metric."""
        return self.metric.name

    def candidates(self, rows: TrainingRows) -> Sequence[Candidate[Decision]]:
        """Return the ensemble, and networks and trees with a tuned threshold."""
        options = self.options
        return pair_candidates(
            self.metric,
            rows,
            cut=options.cut,
            confidence=options.confidence,
            epochs=options.epochs,
            device=options.device,
        )

    def ways(self) -> Sequence[Way]:
        """Return training for the metric, and cross-entropy without and with a tuned threshold."""
        return the_ways(self.metric, self.options.cut)

    def network_decision(self, classifier: MetricClassifier) -> Decision:
        """Return the decision of a network at its threshold."""
        return Decision.of_network(classifier)

    def method(self, fitted: FittedCandidate[Decision], features: Features) -> Method:
        """Return the candidate with its probabilities of the test rows."""
        decision = fitted.decision
        return Method(
            fitted.name,
            decision.decided(self.metric, features),
            [],
            1,
            decision.cut,
            fitted.seconds,
            held_out=fitted.held_out.value,
            probabilities=decision.probabilities(features),
        )

    def constant(self, parts: Parts) -> tuple[Method, Cut]:
        """Return the better of always and never predicting the positive value."""
        return constant_method(self.metric, parts.train_codes, parts.train_weights, len(parts.test_codes))

    def score(self, codes: IntArray, predicted: IntArray, weights: FloatArray | None) -> float:
        """Return the metric of a prediction, without its constraints."""
        return float(self.metric.objective.score(codes, predicted, sample_weight=weights))

    def labels(self) -> dict[str, Any]:
        """Return the two values."""
        return {"positive": self.target.positive, "negative": self.target.negative}

    def never_predicted(self, predicted: npt.NDArray[np.int64], parts: Parts) -> list[str]:
        """Return a warning if the model says the same of every row."""
        if len(np.unique(predicted)) > 1:
            return []
        target = self.target
        said = target.positive if predicted[0] else target.negative
        positives = int(parts.train_codes.sum())
        return [
            f"Warning: the model predicts {target.name} = {said} for all of the {len(predicted)} test rows. "
            f"It was trained with {positives} rows that are {target.positive} and "
            f"{len(parts.train_codes) - positives} that are {target.negative}. Try another metric, more "
            f"rows of the rarer kind, or columns that are more closely related to {target.name}."
        ]

    def facts(self, parts: Parts, how_held_out: str) -> dict[str, str]:
        """Return how many rows there are, and which value is positive."""
        positives = int(parts.train_codes.sum())
        facts = {
            "training rows": f"{len(parts.train)}, of which {positives} positive; {how_held_out}",
            "positive": f"{self.target.name} = {self.target.positive}",
        }
        if self.options.confidence is not None:
            facts["confidence of the constraints"] = f"{self.options.confidence:g}"
        return facts

    def comparison(
        self, parts: Parts, methods: tuple[Method, ...], notes: tuple[str, ...], facts: dict[str, str]
    ) -> Comparison:
        """Return all classifiers on the test rows."""
        title = f"{self.target.name} = {self.target.positive}"
        return Comparison(title, self.metric, parts.test_codes, methods, notes, facts, parts.test_weights)
