"""What ``metricfit fit`` trains and compares: the ensemble, tuned cross-entropy, and tuned boosted trees."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone

import metricfit as mf
from metricfit.cli.class_decisions import ClassChoice
from metricfit.cli.decisions import Decision, scores
from metricfit.cli.kept_models import KeptModels
from metricfit.cli.mistakes import UserMistakeError, sentence
from metricfit.sklearn import Cut, MetricClassifier, MetricEnsemble, best_cut
from metricfit.sklearn.cut_curve import CutRule
from metricfit.sklearn.defaults import default_members

__all__ = [
    "Announced",
    "Candidate",
    "FittedCandidate",
    "Steps",
    "fit_candidate",
    "folds_for",
    "the_candidates",
    "total_cost",
]

FloatArray = npt.NDArray[np.float64]
D = TypeVar("D", Decision, ClassChoice)
# A third of many rows can be spared, which saves two of five fits.
FOLDS, FOLDS_OF_MANY, MANY = 5, 3, 20_000
# About how long a fit takes in relation to that of trees, for the time left.
COSTS = {"network": 12.0, "cross-entropy network": 8.0, "trees": 1.0, "boosted trees": 3.0}


class Steps(Protocol):
    """Is told which model is fitted, to show it."""

    def begin(self, name: str) -> None:
        """Show that a fit begins."""

    def end(self, name: str) -> None:
        """Show that it ended."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """Something to train: members, and how their cut is chosen."""

    name: str
    members: tuple[tuple[str, Any], ...]
    cut: CutRule
    confidence: float | None = None


@dataclass(frozen=True, eq=False)
class FittedCandidate(Generic[D]):
    """A trained candidate.

    Attributes
    ----------
    name : str
        What it is called.
    decision : Decision or ClassChoice
        What it decides.
    held_out : Cut
        The metric on rows that its models have not seen, at the best cut of those.
    seconds : float
        How long the training took.
    notes : tuple of str
        What there was to warn of.
    weights : dict of str to float
        The share of each member.
    """

    name: str
    decision: D
    held_out: Cut
    seconds: float
    notes: tuple[str, ...]
    weights: dict[str, float]


def folds_for(rows: int) -> int:
    """Return how many folds a table of so many rows is split into.

    Examples
    --------
    >>> folds_for(1000), folds_for(50_000)
    (5, 3)
    """
    return FOLDS if rows < MANY else FOLDS_OF_MANY


def the_candidates(
    metric: mf.Metric,
    features: npt.NDArray[np.float32],
    codes: npt.NDArray[np.int64],
    *,
    cut: CutRule,
    confidence: float | None,
    epochs: int,
    device: str,
) -> tuple[Candidate, ...]:
    """Return what is trained: the ensemble first, then what it is compared with.

    Examples
    --------
    >>> labels = np.repeat([0, 1], 50)
    >>> settings = {"cut": "expected", "confidence": None, "epochs": 9, "device": "cpu"}
    >>> found = the_candidates(mf.f2, np.zeros((100, 3), np.float32), labels, **settings)
    >>> [candidate.name for candidate in found]
    ['ensemble for f2', 'cross-entropy networks, tuned cut', 'boosted trees, tuned cut']
    """
    network, trees = (pipeline[-1] for _, pipeline in default_members(metric, features, codes))
    network.set_params(max_epochs=min(epochs, network.max_epochs), device=device)
    trees.set_params(categorical_features=None)
    plain = clone(network).set_params(loss="cross-entropy")
    name = metric.name if len(metric.name) <= 30 else "the metric"
    ours = "network" if metric.playable else "cross-entropy network"
    return (
        Candidate(f"ensemble for {name}", ((ours, network), ("trees", trees)), cut, confidence),
        Candidate("cross-entropy networks, tuned cut", (("cross-entropy network", plain),), "empirical"),
        Candidate("boosted trees, tuned cut", (("trees", trees),), "empirical"),
    )


def total_cost(candidates: Sequence[Candidate], folds: int) -> float:
    """Return the sum of what all fits cost, in fits of trees."""
    return folds * sum(COSTS[name] for candidate in candidates for name, _ in candidate.members)


def fit_candidate(
    candidate: Candidate,
    metric: mf.Metric,
    features: npt.NDArray[np.float32],
    codes: npt.NDArray[np.int64],
    weights: FloatArray | None,
    *,
    seed: int,
    steps: Steps,
    checkpoints: Path,
) -> FittedCandidate[Decision]:
    """Train a candidate; a setting that does not fit the data is the user's mistake.

    Models that an earlier, unfinished run has left in the folder of checkpoints are not fitted again.
    """
    kept = KeptModels(checkpoints, candidate.name)
    members = [(name, Announced(estimator, name, steps, kept)) for name, estimator in candidate.members]
    ensemble = MetricEnsemble(
        members,
        metric=metric,
        cv=folds_for(len(codes)),
        cut=candidate.cut,
        confidence=candidate.confidence,
        random_state=seed,
    )
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ensemble.fit(features, codes, sample_weight=weights)
        except ValueError as error:
            raise UserMistakeError(sentence(str(error))) from error
    ours = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    models = {name: [model.model_ for model in member.models] for name, member in ensemble.members_.items()}
    scored = ~np.isnan(ensemble.oof_)
    return FittedCandidate(
        candidate.name,
        Decision.of_ensemble(ensemble, models, ensemble.cut_),
        best_cut(
            metric, ensemble.oof_[scored], codes[scored], weights=None if weights is None else weights[scored]
        ),
        time.perf_counter() - start,
        tuple(f"{candidate.name}: {text}." for text in dict.fromkeys(ours)),
        dict(ensemble.weights_),
    )


class Announced(ClassifierMixin, BaseEstimator):
    """A classifier that says when it is fitted, keeps what was fitted, and that Ctrl-C stops.

    What the classifier alone warns of is not passed on: the ensemble decides, and has warnings of its own.

    Attributes
    ----------
    model_ : torch.nn.Module or HistGradientBoostingClassifier
        The network or the trees.
    """

    def __init__(self, estimator: Any, name: str, steps: Steps, kept: KeptModels) -> None:
        self.estimator = estimator
        self.name = name
        self.steps = steps
        self.kept = kept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Announced:
        """Fit the classifier, or take what an unfinished run has fitted."""
        self.steps.begin(self.name)
        self.classes_ = np.unique(y)
        key = self.kept.key(self.estimator, X, y, sample_weight)
        self.model_ = self.kept.take(key, X.shape[1], len(self.classes_))
        if self.model_ is None:
            self.model_ = self._fitted(X, y, sample_weight)
            self.kept.keep(key, self.model_)
        self.steps.end(self.name)
        return self

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = clone(self.estimator).fit(X, y, sample_weight=sample_weight)
        # The network catches Ctrl-C and keeps its best epoch; half of an ensemble is of no use.
        if getattr(fitted, "interrupted_", False):
            raise KeyboardInterrupt
        return fitted.net_.module_.cpu().eval() if isinstance(fitted, MetricClassifier) else fitted

    def decision_function(self, X: Any) -> Any:
        """Return the scores of the classifier."""
        return scores(self.model_, X)
