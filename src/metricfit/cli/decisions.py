"""From features to a decision: networks and trees, averaged, calibrated and cut, as plain parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit, logit

from metricfit import Metric
from metricfit.sklearn import MetricClassifier, MetricEnsemble
from metricfit.sklearn.threads import threads_for
from metricfit.sklearn.top_rows import top_margins

__all__ = ["Calibration", "Decision", "Kind", "Part", "scores"]

FloatArray = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]
Kind = Literal["networks", "trees"]
# Probabilities are clipped at this distance from 0 and 1, so that their logits are finite.
MARGIN = 1e-12


@dataclass(frozen=True)
class Calibration:
    """From scores to probabilities: a sigmoid, averaged with a rising curve through points if there are any.

    Examples
    --------
    >>> Calibration(1.0, 0.0, (), ()).probabilities(np.array([0.0]))
    array([0.5])
    """

    slope: float
    intercept: float
    scores: tuple[float, ...]
    shares: tuple[float, ...]

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probability of the positive class."""
        found = expit(self.slope * scores + self.intercept)
        if self.scores:
            found = (found + np.interp(scores, self.scores, self.shares)) / 2
        return np.clip(found, MARGIN, 1.0 - MARGIN)


@dataclass(frozen=True, eq=False)
class Part:
    """Models of one kind whose mean score counts with a weight, after a line through it.

    Attributes
    ----------
    kind : {"networks", "trees"}
        What the models are.
    models : tuple
        Networks or gradient-boosted trees.
    weight, slope, intercept : float
        The part adds ``weight * (slope * mean score + intercept)``.
    """

    kind: Kind
    models: tuple[Any, ...]
    weight: float
    slope: float
    intercept: float

    def logits(self, features: Features) -> FloatArray:
        """Return what this part adds to the score of every row."""
        found = [scores(model, features) for model in self.models]
        return np.asarray(self.weight * (self.slope * np.mean(found, axis=0) + self.intercept))


@dataclass(frozen=True, eq=False)
class Decision:
    """What was trained, as parts that can be written without code.

    Attributes
    ----------
    parts : tuple of Part
        Their sum is the score of a row.
    calibration : Calibration or None
        From the score to a probability, if there is one.
    cut : float
        Where rows become positive: a probability if there is a calibration, otherwise a score.
    """

    parts: tuple[Part, ...]
    calibration: Calibration | None
    cut: float

    @classmethod
    def of_network(cls, classifier: MetricClassifier) -> Decision:
        """Return the decision of one network at its threshold."""
        network = classifier.net_.module_.cpu().eval()
        return cls((Part("networks", (network,), 1.0, 1.0, 0.0),), None, classifier.threshold_)

    @classmethod
    def of_ensemble(
        cls, ensemble: MetricEnsemble, models: Mapping[str, Sequence[Any]], cut: float
    ) -> Decision:
        """Return the decision of an ensemble.

        Parameters
        ----------
        ensemble : MetricEnsemble
            Fitted to labels 0 and 1.
        models : dict of str to sequence of classifiers
            The fitted classifiers of every member that counts, by the name of the member.
        cut : float
            The probability from which rows are positive.
        """
        parts = []
        for name, fitted in models.items():
            line = ensemble.calibrators_[name]
            parts.append(
                Part(
                    "networks" if isinstance(fitted[0], torch.nn.Module) else "trees",
                    tuple(fitted),
                    float(ensemble.weights_[name]),
                    float(line.slope),
                    float(line.intercept),
                )
            )
        mixed = ensemble.calibrator_
        curve = mixed.isotonic
        calibration = Calibration(
            float(mixed.sigmoid.slope),
            float(mixed.sigmoid.intercept),
            () if curve is None else tuple(map(float, curve.X_thresholds_)),
            () if curve is None else tuple(map(float, curve.y_thresholds_)),
        )
        return cls(tuple(parts), calibration, cut)

    def models(self, kind: Kind) -> list[Any]:
        """Return all models of a kind, in the order of the parts."""
        return [model for part in self.parts if part.kind == kind for model in part.models]

    def margins(self, features: Features) -> FloatArray:
        """Return how far rows are from the cut, above 0 where they are positive: differences of logits."""
        probabilities = self.probabilities(features)
        if probabilities is None:
            return self._scores(features) - self.cut
        return np.asarray(logit(probabilities) - logit(self.cut))

    def decided(self, metric: Metric, features: Features) -> FloatArray:
        """Return margins above 0 where rows are positive; with a metric of one size, for the highest."""
        margins = self.margins(features)
        return margins if metric.size is None else top_margins(metric, margins)

    def predicted(self, features: Features) -> npt.NDArray[np.int64]:
        """Return 1 for rows that are positive, and 0 for the others."""
        return (self.margins(features) > 0).astype(np.int64)

    def probabilities(self, features: Features) -> FloatArray | None:
        """Return the calibrated probability that rows are positive, or None if nothing was calibrated."""
        return None if self.calibration is None else self.calibration.probabilities(self._scores(features))

    def _scores(self, features: Features) -> FloatArray:
        return np.asarray(np.sum([part.logits(features) for part in self.parts], axis=0))


def scores(model: Any, features: Features) -> FloatArray:
    """Return what a network or gradient-boosted trees give to rows: one score, or one per class."""
    if not isinstance(model, torch.nn.Module):
        with threads_for(features):
            return np.asarray(model.decision_function(features), dtype=np.float64)
    with torch.no_grad():
        logits: torch.Tensor = model(torch.from_numpy(features))
    return logits.squeeze(1).double().numpy()
