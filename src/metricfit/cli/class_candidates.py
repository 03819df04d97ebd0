"""What ``metricfit fit`` trains for more than two classes: the ensemble, and what it is compared with."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold

import metricfit as mf
from metricfit.cli.candidates import Announced, FittedCandidate, Steps, folds_for
from metricfit.cli.class_decisions import ClassChoice, ClassModels
from metricfit.cli.decisions import Decision, scores
from metricfit.cli.kept_models import KeptModels
from metricfit.cli.mistakes import UserMistakeError, sentence
from metricfit.sklearn import Cut, MetricClassifier, MetricEnsemble
from metricfit.sklearn.cut_curve import CutRule
from metricfit.sklearn.decisions import ClassDecision
from metricfit.sklearn.defaults import default_members

__all__ = ["class_ensemble", "class_estimators", "class_value", "compared_models"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Features = npt.NDArray[np.float32]


def class_estimators(
    metric: mf.Metric, features: Features, codes: IntArray, *, epochs: int, device: str
) -> dict[str, Any]:
    """Return the estimators by what they are called, not yet fitted.

    "network" and "trees" tell one class from the rest, the others all classes.

    Examples
    --------
    >>> codes = np.arange(90) % 3
    >>> list(class_estimators(mf.f1.macro(), np.zeros((90, 2), np.float32), codes, epochs=9, device="cpu"))
    ['network', 'trees', 'cross-entropy network', 'boosted trees']
    """
    rarest = int(np.bincount(codes).argmin())
    single = metric.averaged(None)
    members = dict(default_members(single, features, (codes == rarest).astype(np.int64)))
    network, trees = members["network"][-1], members["trees"][-1]
    network.set_params(max_epochs=min(epochs, network.max_epochs), device=device)
    trees.set_params(categorical_features=None)
    plain = MetricClassifier(metric, loss="cross-entropy", cut="zero", max_epochs=epochs, device=device)
    return {
        "network": network,
        "trees": trees,
        "cross-entropy network": plain,
        "boosted trees": HistGradientBoostingClassifier(),
    }


def class_ensemble(
    name: str,
    members: dict[str, Any],
    metric: mf.Metric,
    features: Features,
    codes: IntArray,
    weights: FloatArray | None,
    *,
    cut: CutRule,
    seed: int,
    steps: Steps,
    checkpoints: Path,
) -> FittedCandidate[ClassChoice]:
    """Train the ensemble for several classes; a setting that does not fit is the user's mistake."""
    kept = KeptModels(checkpoints, name)
    announced = [(key, Announced(estimator, key, steps, kept)) for key, estimator in members.items()]
    ensemble = MetricEnsemble(announced, metric=metric, cv=folds_for(len(codes)), cut=cut, random_state=seed)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            ensemble.fit(features, codes, sample_weight=weights)
        except ValueError as error:
            raise UserMistakeError(sentence(str(error))) from error
    ours = [str(warning.message) for warning in caught if _is_ours(warning)]
    columns = tuple(
        Decision.of_ensemble(
            one,
            {key: [model.model_ for model in member.models] for key, member in one.members_.items()},
            0.5,
        )
        for one in ensemble.columns_
    )
    choice = ClassChoice.of_ensemble(ensemble, columns)
    scored = ~np.isnan(ensemble.oof_).any(axis=1)
    predicted = choice.decision.predict(np.log(ensemble.oof_[scored]))
    counts = None if weights is None else weights[scored]
    shares = {key: float(np.mean([one.weights_[key] for one in ensemble.columns_])) for key in members}
    return FittedCandidate(
        name,
        choice,
        class_value(metric, codes[scored], predicted, counts),
        time.perf_counter() - start,
        tuple(f"{name}: {text}." for text in dict.fromkeys(ours)),
        shares,
    )


def compared_models(
    name: str,
    estimator: Any,
    key: str,
    metric: mf.Metric,
    features: Features,
    codes: IntArray,
    weights: FloatArray | None,
    *,
    seed: int,
    steps: Steps,
    checkpoints: Path,
) -> FittedCandidate[ClassChoice]:
    """Train an estimator of all classes on every fold, and decide for the most probable class."""
    start = time.perf_counter()
    folds = StratifiedKFold(folds_for(len(codes)), shuffle=True, random_state=seed)
    logits = np.empty((len(codes), int(codes.max()) + 1))
    models = []
    kept = KeptModels(checkpoints, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer rows than folds
        for number, (train, test) in enumerate(folds.split(features, codes)):
            model = Announced(clone(estimator).set_params(random_state=seed + number), key, steps, kept)
            model.fit(features[train], codes[train], None if weights is None else weights[train])
            logits[test] = log_softmax(scores(model.model_, features[test]), axis=1)
            models.append(model.model_)
    whole = ClassModels("networks" if isinstance(estimator, MetricClassifier) else "trees", tuple(models))
    decision = ClassDecision.fit(metric, logits, codes, weights, "zero", calibrated=False)
    value = class_value(metric, codes, decision.predict(logits), weights)
    return FittedCandidate(
        name, ClassChoice((), whole, decision), value, time.perf_counter() - start, (), {key: 1.0}
    )


def class_value(metric: mf.Metric, codes: IntArray, predicted: IntArray, weights: FloatArray | None) -> Cut:
    """Return the metric of a prediction of classes, in the form in which candidates are compared.

    Examples
    --------
    >>> class_value(mf.f1.macro(), np.arange(3), np.arange(3), None).value
    1.0
    """
    return Cut(0.0, float(metric.score(codes, predicted, sample_weight=weights)), 0.0)


def _is_ours(warning: warnings.WarningMessage) -> bool:
    # scikit-learn warns of classes with fewer rows than folds, which is no reason to do anything.
    return issubclass(warning.category, UserWarning) and "least populated class" not in str(warning.message)
