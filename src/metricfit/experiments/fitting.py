"""One fit of a recipe that is an estimator: boosted trees with a tuned threshold, or the ensemble."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_score

from metricfit.experiments.cells import cell_of
from metricfit.experiments.clock import now
from metricfit.experiments.judging import Judge, judges_for
from metricfit.experiments.loading import Prepared, derived_seed
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.runs import Run
from metricfit.sklearn import Cut, MetricEnsemble
from metricfit.sklearn.threads import threads_for

__all__ = ["fit"]

# The default of TunedThresholdClassifierCV.
FOLDS = 5


def fit(run: Run, data: Prepared) -> dict[str, Any]:
    """Fit on the training and validation parts together, test, and return the cell.

    These recipes choose by cross-validation what a network chooses on the validation part.
    """
    features = np.concatenate([data.train.features.numpy(), data.validation.features.numpy()])
    labels = np.concatenate([data.train.labels.numpy(), data.validation.labels.numpy()])
    seed = derived_seed(run.dataset, run.seed, "fitting")
    started = now("cpu")
    with warnings.catch_warnings(record=True) as raised, threads_for(features):
        warnings.simplefilter("always")
        fitted = _ensemble if run.loss == "ensemble" else _trees
        judges = fitted(run, features, labels, data, seed)
    return cell_of(
        run,
        data,
        judges,
        device="cpu",
        epochs_run=1,
        steps_run=1,
        diverged=False,
        seconds=round(now("cpu") - started, 2),
        epoch_seconds=None,
        mean_gap=None,
        warnings=len(raised),
    )


def _ensemble(
    run: Run, features: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], data: Prepared, seed: int
) -> list[Judge]:
    (name,) = run.metrics
    model = MetricEnsemble(metric=METRICS[name], random_state=seed).fit(features, labels)
    judge = Judge(name, "tuned", None, epoch=1, cut=model.cuts_[1])
    judge.tests(model.predict_proba(data.test.features.numpy())[:, 1], data.test.labels.numpy())
    return [judge]


def _trees(
    run: Run, features: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], data: Prepared, seed: int
) -> list[Judge]:
    """Cut at one half and where TunedThresholdClassifierCV does, with the same fits for each metric."""
    trees = _Remembered(_booster(run.loss, seed), {})
    judges = judges_for(run.metrics, None)
    for judge in judges:
        scoring = METRICS[judge.metric].scorer()
        if judge.decision == "zero":
            value = float(np.mean(cross_val_score(trees, features, labels, scoring=scoring, cv=FOLDS)))
            fitted, cut = trees.fit(features, labels), Cut(0.5, value, 0.0)
        else:
            fitted = TunedThresholdClassifierCV(
                trees, scoring=scoring, response_method="predict_proba", cv=FOLDS
            ).fit(features, labels)
            # It decides for positive at the threshold, a cut only above it.
            cut = Cut(float(np.nextafter(fitted.best_threshold_, -np.inf)), float(fitted.best_score_), 0.0)
        judge.epoch, judge.cut = 1, cut
        judge.tests(fitted.predict_proba(data.test.features.numpy())[:, 1], data.test.labels.numpy())
    return judges


def _booster(recipe: str, seed: int) -> Any:
    if recipe == "trees":
        return HistGradientBoostingClassifier(random_state=seed)
    # An extra, which the other recipes do not need.
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


class _Remembered(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once for the same rows, however many thresholds are tuned on its scores."""

    def __init__(self, classifier: Any, memory: dict[str, Any]) -> None:
        self.classifier = classifier
        self.memory = memory

    def __sklearn_clone__(self) -> _Remembered:
        return _Remembered(self.classifier, self.memory)

    def fit(self, X: npt.NDArray[np.float32], y: npt.NDArray[np.int64]) -> _Remembered:
        key = hashlib.sha256(np.ascontiguousarray(X).tobytes() + y.tobytes()).hexdigest()
        if key not in self.memory:
            self.memory[key] = clone(self.classifier).fit(X, y)
        self.model_ = self.memory[key]
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: npt.NDArray[np.float32]) -> Any:
        return self.model_.predict_proba(X)

    def predict(self, X: npt.NDArray[np.float32]) -> Any:
        return self.model_.predict(X)
