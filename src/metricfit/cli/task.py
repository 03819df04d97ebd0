"""What depends on the number of values of the target: metric, training and report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.cli.candidates import Candidate, D, FittedCandidate, TrainingRows
from metricfit.cli.decisions import Features
from metricfit.cli.parts import Parts
from metricfit.cli.training import Way
from metricfit.report import Comparison, Method
from metricfit.sklearn import Cut, MetricClassifier

__all__ = ["Task"]


class Task(Protocol[D]):
    """A target of two values (`PairTask`), or of more (`ClassTask`)."""

    @property
    def metric(self) -> mf.Metric:
        """What is trained for."""

    @property
    def metric_name(self) -> str:
        """What the report calls the metric."""

    @property
    def judged(self) -> str:
        """What candidates are compared on, as part of a sentence."""

    @property
    def shares(self) -> str:
        """What the weights of the members are called in a sentence."""

    def candidates(self, rows: TrainingRows) -> Sequence[Candidate[D]]:
        """Return what is trained on every fold and compared, the ensemble first."""

    def ways(self) -> Sequence[Way]:
        """Return how single networks are trained and compared, ours first."""

    def network_decision(self, classifier: MetricClassifier) -> D:
        """Return the decision of a single network."""

    def method(self, fitted: FittedCandidate[D], features: Features) -> Method:
        """Return what the report says of a candidate, with its decisions on the test rows."""

    def constant(self, parts: Parts) -> tuple[Method, Cut]:
        """Return the best answer that is the same for every row, and its score on the training rows."""

    def score(
        self,
        codes: npt.NDArray[np.int64],
        predicted: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float64] | None,
    ) -> float:
        """Return the metric of a prediction, without its constraints."""

    def labels(self) -> dict[str, Any]:
        """Return the values of the target, as arguments of `Model`."""

    def never_predicted(self, predicted: npt.NDArray[np.int64], parts: Parts) -> list[str]:
        """Return a warning if a value of the target is predicted for no test row."""

    def facts(self, parts: Parts, how_held_out: str) -> dict[str, str]:
        """Return what the report says of the training rows and the values of the target."""

    def comparison(
        self, parts: Parts, methods: tuple[Method, ...], notes: tuple[str, ...], facts: dict[str, str]
    ) -> Comparison:
        """Return all classifiers on the test rows."""
