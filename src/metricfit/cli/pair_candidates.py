"""What is trained for a target of two values: the ensemble, tuned cross-entropy, and tuned boosted trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

import metricfit as mf
from metricfit.cli.announced import models_of
from metricfit.cli.candidates import FittedCandidate, How, TrainingRows, fit_ensemble
from metricfit.cli.decisions import Decision
from metricfit.sklearn import best_cut
from metricfit.sklearn.cut_curve import CutRule
from metricfit.sklearn.defaults import default_members

__all__ = ["PairCandidate", "pair_candidates"]


@dataclass(frozen=True, eq=False)
class PairCandidate:
    """An ensemble of members for two classes, and how its cut is chosen."""

    name: str
    metric: mf.Metric
    members: dict[str, Any]
    cut: CutRule
    confidence: float | None = None

    def fits(self, folds: int) -> list[str]:
        """Return which kinds of model are fitted, one entry per fit."""
        return folds * list(self.members)

    def fit(self, rows: TrainingRows, how: How) -> FittedCandidate[Decision]:
        """Train it; what is held out is judged at the cut that is best there."""
        ensemble, seconds, notes = fit_ensemble(
            self.name,
            self.members,
            self.metric,
            rows,
            how,
            cut=self.cut,
            confidence=self.confidence,
        )
        scored = ~np.isnan(ensemble.oof_)
        weights = None if rows.weights is None else rows.weights[scored]
        return FittedCandidate(
            self.name,
            Decision.of_ensemble(ensemble, models_of(ensemble), ensemble.cut_),
            best_cut(self.metric, ensemble.oof_[scored], rows.codes[scored], weights=weights),
            seconds,
            notes,
            dict(ensemble.weights_),
        )


def pair_candidates(
    metric: mf.Metric,
    rows: TrainingRows,
    *,
    cut: CutRule,
    confidence: float | None,
    epochs: int,
    device: str,
) -> tuple[PairCandidate, ...]:
    """Return what is trained: the ensemble first, then what it is compared with.

    Examples
    --------
    >>> rows = TrainingRows(np.zeros((100, 3), np.float32), np.repeat([0, 1], 50), None)
    >>> settings = {"cut": "expected", "confidence": None, "epochs": 9, "device": "cpu"}
    >>> ours, *others = pair_candidates(mf.f2, rows, **settings)
    >>> [candidate.name for candidate in others]
    ['cross-entropy networks with a tuned threshold', 'boosted trees with a tuned threshold']
    """
    network, trees = (pipeline[-1] for _, pipeline in default_members(metric, rows.features, rows.codes))
    network.set_params(max_epochs=min(epochs, network.max_epochs), device=device)
    trees.set_params(categorical_features=None)
    plain = clone(network).set_params(loss="cross-entropy")
    name = metric.name if len(metric.name) <= 30 else "the metric"
    ours = "network" if metric.playable else "cross-entropy network"
    tuned = "with a tuned threshold"
    return (
        PairCandidate(f"ensemble for {name}", metric, {ours: network, "trees": trees}, cut, confidence),
        PairCandidate(
            f"cross-entropy networks {tuned}", metric, {"cross-entropy network": plain}, "empirical"
        ),
        PairCandidate(f"boosted trees {tuned}", metric, {"trees": trees}, "empirical"),
    )
