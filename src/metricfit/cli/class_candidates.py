"""What is trained for a target of more than two values: the ensemble, and what it is compared with."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.parallel import Parallel, delayed

import metricfit as mf
from metricfit.cli.announced import Announced, models_of
from metricfit.cli.candidates import Candidate, FittedCandidate, How, TrainingRows, fit_ensemble, folds_for
from metricfit.cli.class_decisions import ClassChoice, ClassModels
from metricfit.cli.decisions import Decision, scores
from metricfit.cli.kept_models import KeptModels
from metricfit.report import class_metric_name
from metricfit.sklearn import Cut, MetricClassifier
from metricfit.sklearn.cut_curve import CutRule
from metricfit.sklearn.decisions import ClassDecision
from metricfit.sklearn.defaults import default_members
from metricfit.sklearn.targets import averaged_score
from metricfit.sklearn.threads import threads_for

__all__ = ["ClassEnsemble", "ClassModel", "class_candidates", "class_value", "shown_name"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassEnsemble:
    """An ensemble that tells each class from the rest."""

    name: str
    metric: mf.Metric
    members: dict[str, Any]
    cut: CutRule
    classes: int

    def fits(self, folds: int) -> list[str]:
        """Return which kinds of model are fitted, one entry per fit."""
        return folds * self.classes * list(self.members)

    def fit(self, rows: TrainingRows, how: How) -> FittedCandidate[ClassChoice]:
        """Train it."""
        ensemble, seconds, notes = fit_ensemble(self.name, self.members, self.metric, rows, how, cut=self.cut)
        columns = tuple(Decision.of_ensemble(one, models_of(one), 0.5) for one in ensemble.columns_)
        choice = ClassChoice.of_ensemble(ensemble, columns)
        scored = ~np.isnan(ensemble.oof_).any(axis=1)
        predicted = choice.decision.predict(np.log(ensemble.oof_[scored]))
        weights = None if rows.weights is None else rows.weights[scored]
        shares = {
            kind: float(np.mean([one.weights_[kind] for one in ensemble.columns_])) for kind in self.members
        }
        held_out = class_value(self.metric, rows.codes[scored], predicted, weights)
        return FittedCandidate(self.name, choice, held_out, seconds, notes, shares)


@dataclass(frozen=True, eq=False)
class ClassModel:
    """One estimator of all classes, fitted on every fold; the most probable class is predicted."""

    name: str
    metric: mf.Metric
    kind: str
    estimator: Any

    def fits(self, folds: int) -> list[str]:
        """Return which kinds of model are fitted, one entry per fit."""
        return [self.kind] * folds

    def fit(self, rows: TrainingRows, how: How) -> FittedCandidate[ClassChoice]:
        """Train it."""
        features, codes = rows.features, rows.codes
        start = time.perf_counter()
        folds = StratifiedKFold(folds_for(len(codes)), shuffle=True, random_state=how.seed)
        logits = np.empty((len(codes), int(codes.max()) + 1))
        kept = KeptModels(how.checkpoints, self.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes with fewer rows than folds
            splits = list(folds.split(features, codes))
        announced = [
            Announced(
                clone(self.estimator).set_params(random_state=how.seed + number), self.kind, how.steps, kept
            )
            for number in range(len(splits))
        ]
        models = Parallel(n_jobs=how.jobs)(
            delayed(_model_of)(model, rows, train)
            for model, (train, _) in zip(announced, splits, strict=True)
        )
        for model, (_, test) in zip(models, splits, strict=True):
            logits[test] = log_softmax(scores(model, features[test]), axis=1)
        networks = isinstance(self.estimator, MetricClassifier)
        whole = ClassModels("networks" if networks else "trees", tuple(models))
        decision = ClassDecision.fit(self.metric, logits, codes, rows.weights, "zero", calibrated=False)
        held_out = class_value(self.metric, codes, decision.predict(logits), rows.weights)
        seconds = time.perf_counter() - start
        choice = ClassChoice((), whole, decision)
        return FittedCandidate(self.name, choice, held_out, seconds, (), {self.kind: 1.0})


def _model_of(announced: Announced, rows: TrainingRows, train: IntArray) -> Any:
    counts = None if rows.weights is None else rows.weights[train]
    with threads_for(rows.features):
        return announced.fit(rows.features[train], rows.codes[train], counts).model_


def class_candidates(
    metric: mf.Metric, rows: TrainingRows, *, cut: CutRule, epochs: int, device: str
) -> tuple[Candidate[ClassChoice], ...]:
    """Return what is trained: the ensemble first, then what it is compared with.

    Examples
    --------
    >>> rows = TrainingRows(np.zeros((90, 2), np.float32), np.arange(90) % 3, None)
    >>> found = class_candidates(mf.f1.macro(), rows, cut="expected", epochs=9, device="cpu")
    >>> [candidate.name for candidate in found]
    ['ensemble for macro f1', 'cross-entropy networks, argmax', 'boosted trees, argmax']
    """
    counts = np.bincount(rows.codes)
    rarest = (rows.codes == counts.argmin()).astype(np.int64)
    members = dict(default_members(metric.averaged(None), rows.features, rarest))
    network, trees = members["network"][-1], members["trees"][-1]
    network.set_params(max_epochs=min(epochs, network.max_epochs), device=device)
    trees.set_params(categorical_features=None)
    plain = MetricClassifier(metric, loss="cross-entropy", cut="zero", max_epochs=epochs, device=device)
    return (
        ClassEnsemble(
            f"ensemble for {shown_name(metric)}",
            metric,
            {"network": network, "trees": trees},
            cut,
            len(counts),
        ),
        ClassModel("cross-entropy networks, argmax", metric, "cross-entropy network", plain),
        ClassModel("boosted trees, argmax", metric, "boosted trees", HistGradientBoostingClassifier()),
    )


def class_value(metric: mf.Metric, codes: IntArray, predicted: IntArray, weights: FloatArray | None) -> Cut:
    """Return the metric of a prediction of classes, in the form in which candidates are compared.

    Examples
    --------
    >>> class_value(mf.f1.macro(), np.arange(3), np.arange(3), None).value
    1.0
    """
    return Cut(0.0, averaged_score(metric, codes, predicted, weights), 0.0)


def shown_name(metric: mf.Metric) -> str:
    """Return what a metric of classes is called, or "the metric" if that is long.

    Examples
    --------
    >>> shown_name(mf.f1.macro())
    'macro f1'
    """
    return class_metric_name(metric) if len(metric.name) <= 30 else "the metric"
