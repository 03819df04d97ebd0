"""Training for ``metricfit fit``: the ensemble and what it is compared with, or with --fast one network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.cli.candidates import FittedCandidate, fit_candidate, folds_for, the_candidates, total_cost
from metricfit.cli.choosing import best_of, why_chosen
from metricfit.cli.class_decisions import ClassChoice
from metricfit.cli.decisions import Decision
from metricfit.cli.folders import RunFolder
from metricfit.cli.terminal import Screen
from metricfit.cli.training import Trained, Way, as_method, the_ways, train
from metricfit.report import Method
from metricfit.sklearn import Cut

if TYPE_CHECKING:
    from metricfit.cli.fitting import FitOptions

__all__ = ["Result", "ensemble_result", "fast_result", "first_of", "train_ways"]

Features = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Result:
    """What was trained.

    Attributes
    ----------
    decision : Decision or ClassChoice
        That of the classifier to use.
    held_out : Cut
        Its metric on rows that its models have not seen.
    methods : tuple of Method
        All classifiers with their scores of the test rows, the one to use first.
    why : str
        Why it is used.
    notes : tuple of str
        What there was to warn of.
    how_held_out : str
        Which rows decided.
    interrupted : bool
        Whether Ctrl-C ended the training.
    """

    decision: Decision | ClassChoice
    held_out: Cut
    methods: tuple[Method, ...]
    why: str
    notes: tuple[str, ...]
    how_held_out: str
    interrupted: bool


def ensemble_result(
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
    candidates = the_candidates(
        metric,
        features,
        codes,
        cut=options.cut,
        confidence=options.confidence,
        epochs=options.epochs,
        device=options.device,
    )
    fitted: list[FittedCandidate[Decision]] = []
    interrupted = False
    folds = folds_for(len(codes))
    with screen.progress:
        total = total_cost(candidates, folds)
        for candidate in candidates:
            steps = screen.steps(candidate.name, len(candidate.members) * folds, total)
            try:
                one = fit_candidate(
                    candidate,
                    metric,
                    features,
                    codes,
                    weights,
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
    names = [one.name for one in fitted]
    if options.confidence is None:
        chosen = best_of(held_out)
        why = why_chosen(names, held_out, chosen, "out-of-fold, each at its best cut")
    else:
        chosen = 0
        why = f"The model is: {names[0]}. Only it meets the constraints with the confidence asked for."
    methods = [
        Method(
            one.name,
            one.decision.decided(metric, test_features),
            [],
            1,
            one.decision.cut,
            one.seconds,
            held_out=one.held_out.value,
            probabilities=one.decision.probabilities(test_features),
        )
        for one in fitted
    ]
    shares = ", ".join(f"{name} {share:.0%}" for name, share in fitted[0].weights.items())
    return Result(
        fitted[chosen].decision,
        held_out[chosen],
        tuple(first_of(methods, chosen)),
        why,
        (f"Weights in the ensemble: {shares}.", *(note for one in fitted for note in one.notes)),
        f"cross-fitted in {folds} folds",
        interrupted,
    )


def fast_result(
    metric: mf.Metric,
    features: Features,
    codes: IntArray,
    weights: FloatArray | None,
    test_features: Features,
    options: FitOptions,
    folder: RunFolder,
    screen: Screen,
) -> Result:
    """Train one network for the metric, and for cross-entropy; the best on held-out rows is used."""
    ways = the_ways(metric, options.cut)
    trained = train_ways(ways, metric, features, codes, weights, options, folder, screen)
    held_out = [one.held_out for one in trained]
    chosen = best_of(held_out)
    decisions = [Decision.of_network(one.classifier) for one in trained]
    methods = [
        as_method(one, decision.decided(metric, test_features))
        for one, decision in zip(trained, decisions, strict=True)
    ]
    return Result(
        decisions[chosen],
        held_out[chosen],
        tuple(first_of(methods, chosen)),
        why_chosen([one.name for one in methods], held_out, chosen, "on held-out rows"),
        tuple(note for one in trained for note in one.notes),
        "a fifth of them held out",
        any(one.classifier.interrupted_ for one in trained),
    )


def train_ways(
    ways: Sequence[Way],
    metric: mf.Metric,
    features: Features,
    codes: IntArray,
    weights: FloatArray | None,
    options: FitOptions,
    folder: RunFolder,
    screen: Screen,
) -> list[Trained]:
    """Train networks one after the other; Ctrl-C ends it with what there is."""
    trained: list[Trained] = []
    with screen.progress:
        for way in ways:
            try:
                one = train(
                    way,
                    features,
                    codes,
                    metric,
                    epochs=options.epochs,
                    seed=options.seed,
                    device=options.device,
                    watch=screen.watch,
                    checkpoint=folder.checkpoints / f"{way.key}.pt",
                    weights=weights,
                )
            except KeyboardInterrupt:
                # Ours comes first: without an epoch of it there is nothing to keep.
                if not trained:
                    raise
                trained[0].classifier.interrupted_ = True
                break
            trained.append(one)
            if one.classifier.interrupted_:
                break
    return trained


def first_of(methods: list[Method], chosen: int) -> list[Method]:
    """Return the methods with the chosen one first.

    Examples
    --------
    >>> one, other = (Method(name, np.zeros(1), [], 1, 0.0, 0.0) for name in ("one", "other"))
    >>> [method.name for method in first_of([one, other], 1)]
    ['other', 'one']
    """
    return [methods[chosen], *methods[:chosen], *methods[chosen + 1 :]]
