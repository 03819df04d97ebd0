"""Training of ``metricfit fit`` for more than two classes: the ensemble, or with --fast one network."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import metricfit as mf
from metricfit.cli.candidates import COSTS, FittedCandidate, folds_for
from metricfit.cli.choosing import best_of, why_chosen
from metricfit.cli.class_candidates import class_ensemble, class_estimators, class_value, compared_models
from metricfit.cli.class_decisions import ClassChoice, ClassModels
from metricfit.cli.folders import RunFolder
from metricfit.cli.results import Features, FloatArray, IntArray, Result, first_of, train_ways
from metricfit.cli.terminal import Screen
from metricfit.cli.training import Trained, Way, as_method
from metricfit.report import Method
from metricfit.sklearn import Cut
from metricfit.sklearn.decisions import ClassDecision

if TYPE_CHECKING:
    from metricfit.cli.fitting import FitOptions

__all__ = ["class_ensemble_result", "class_fast_result", "majority"]


def class_ensemble_result(
    metric: mf.Metric,
    features: Features,
    codes: IntArray,
    weights: FloatArray | None,
    test_features: Features,
    options: FitOptions,
    folder: RunFolder,
    screen: Screen,
) -> Result:
    """Train the ensemble and what it is compared with; the best out-of-fold is used."""
    made = class_estimators(metric, features, codes, epochs=options.epochs, device=options.device)
    members = {key: made[key] for key in ("network", "trees")}
    plain = {
        "cross-entropy networks, argmax": "cross-entropy network",
        "boosted trees, argmax": "boosted trees",
    }
    folds, classes = folds_for(len(codes)), int(codes.max()) + 1
    fitted: list[FittedCandidate[ClassChoice]] = []
    interrupted = False
    names = [f"ensemble for {_shown(metric)}", *plain]
    with screen.progress:
        total = folds * (
            classes * sum(COSTS[key] for key in members) + sum(COSTS[key] for key in plain.values())
        )
        for name in names:
            fits = folds if name in plain else folds * classes * len(members)
            steps = screen.steps(name, fits, total)
            try:
                if name in plain:
                    key = plain[name]
                    one = compared_models(
                        name,
                        made[key],
                        key,
                        metric,
                        features,
                        codes,
                        weights,
                        seed=options.seed,
                        steps=steps,
                        checkpoints=folder.checkpoints,
                    )
                else:
                    one = class_ensemble(
                        name,
                        members,
                        metric,
                        features,
                        codes,
                        weights,
                        cut=options.cut,
                        seed=options.seed,
                        steps=steps,
                        checkpoints=folder.checkpoints,
                    )
            except KeyboardInterrupt:
                # The ensemble comes first: without it there is nothing to keep.
                if not fitted:
                    raise
                interrupted = True
                break
            fitted.append(one)
    held_out = [one.held_out for one in fitted]
    chosen = best_of(held_out)
    methods = [
        Method(one.name, one.decision.margins(test_features), [], 1, 0.0, one.seconds, one.held_out.value)
        for one in fitted
    ]
    shares = ", ".join(f"{name} {share:.0%}" for name, share in fitted[0].weights.items())
    return Result(
        fitted[chosen].decision,
        held_out[chosen],
        tuple(first_of(methods, chosen)),
        why_chosen([one.name for one in fitted], held_out, chosen, "out-of-fold"),
        (
            f"Weights in the ensemble, mean over the classes: {shares}.",
            *(note for one in fitted for note in one.notes),
        ),
        f"cross-fitted in {folds} folds",
        interrupted,
    )


def class_fast_result(
    metric: mf.Metric,
    features: Features,
    codes: IntArray,
    weights: FloatArray | None,
    test_features: Features,
    options: FitOptions,
    folder: RunFolder,
    screen: Screen,
) -> Result:
    """Train one network for the metric, and one for cross-entropy; the best on held-out rows is used."""
    ways = (
        Way("ours", f"trained for {_shown(metric)}", "metric", options.cut),
        Way("plain", "cross-entropy, argmax", "cross-entropy", "zero"),
    )
    trained = train_ways(ways, metric, features, codes, weights, options, folder, screen)
    held_out = [one.held_out for one in trained]
    chosen = best_of(held_out)
    choices = [_choice(one) for one in trained]
    methods = [
        as_method(one, choice.margins(test_features)) for one, choice in zip(trained, choices, strict=True)
    ]
    return Result(
        choices[chosen],
        held_out[chosen],
        tuple(first_of(methods, chosen)),
        why_chosen([one.name for one in methods], held_out, chosen, "on held-out rows"),
        tuple(note for one in trained for note in one.notes),
        "a fifth of them held out",
        any(one.classifier.interrupted_ for one in trained),
    )


def majority(
    metric: mf.Metric, codes: IntArray, weights: FloatArray | None, test_rows: int, classes: tuple[str, ...]
) -> tuple[Method, Cut]:
    """Return the classifier that always predicts the most frequent class, and its score on the training rows.

    Examples
    --------
    >>> method, found = majority(mf.f1.macro(), np.array([0, 1, 1, 2]), None, 2, ("a", "b", "c"))
    >>> method.name, method.predicted
    ('always b', array([1, 1]))
    """
    largest = int(np.bincount(codes, weights).argmax())
    cut = class_value(metric, codes, np.full(len(codes), largest), weights)
    margins = np.tile(np.eye(len(classes))[largest], (test_rows, 1))
    name = f"always {classes[largest]}"
    return Method(name, margins, [], 1, 0.0, 0.0, held_out=cut.value, constant=True), cut


def _choice(trained: Trained) -> ClassChoice:
    classifier = trained.classifier
    decision = classifier.decision_
    if not isinstance(decision, ClassDecision):
        raise TypeError("the network must be fitted to more than two classes")
    return ClassChoice((), ClassModels("networks", (classifier.net_.module_.cpu().eval(),)), decision)


def _shown(metric: mf.Metric) -> str:
    return f"{metric.average} {metric.name}" if len(metric.name) <= 30 else "the metric"
