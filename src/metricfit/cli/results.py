"""Training for ``metricfit fit``: the ensemble and what it is compared with, or with --fast one network."""

from __future__ import annotations

from dataclasses import dataclass

from metricfit.cli.candidates import (
    D,
    FittedCandidate,
    How,
    TrainingRows,
    cost_of,
    folds_for,
    jobs_for,
)
from metricfit.cli.choosing import best_of, why_chosen
from metricfit.cli.class_decisions import ClassChoice
from metricfit.cli.decisions import Decision, Features
from metricfit.cli.fit_options import FitOptions
from metricfit.cli.folders import RunFolder
from metricfit.cli.task import Task
from metricfit.cli.terminal import Screen
from metricfit.cli.training import Trained, as_method, train
from metricfit.report import Method
from metricfit.sklearn import Cut

__all__ = ["Result", "ensemble_result", "fast_result"]


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
    task: Task[D],
    rows: TrainingRows,
    test_features: Features,
    options: FitOptions,
    folder: RunFolder,
    screen: Screen,
) -> Result:
    """Train the ensemble and what it is compared with; the best out-of-fold is used."""
    folds = folds_for(len(rows.codes))
    fitted, interrupted = _fit_candidates(task, rows, folds, options, folder, screen)
    held_out = [one.held_out for one in fitted]
    names = [one.name for one in fitted]
    if options.confidence is None:
        chosen = best_of(held_out)
        why = why_chosen(names, held_out, chosen, task.judged)
    else:
        chosen = 0
        why = f"The model is: {names[0]}. Only it meets the constraints with the confidence asked for."
    methods = [task.method(one, test_features) for one in fitted]
    shares = ", ".join(f"{name} {share:.0%}" for name, share in fitted[0].weights.items())
    return Result(
        fitted[chosen].decision,
        held_out[chosen],
        _first_of(methods, chosen),
        why,
        (f"{task.shares}: {shares}.", *(note for one in fitted for note in one.notes)),
        f"cross-fitted in {folds} folds",
        interrupted,
    )


def fast_result(
    task: Task[D],
    rows: TrainingRows,
    test_features: Features,
    options: FitOptions,
    folder: RunFolder,
    screen: Screen,
) -> Result:
    """Train one network for the metric, and for cross-entropy; the best on held-out rows is used."""
    trained = _train_ways(task, rows, options, folder, screen)
    held_out = [one.held_out for one in trained]
    chosen = best_of(held_out)
    decisions = [task.network_decision(one.classifier) for one in trained]
    methods = [
        as_method(one, decision.decided(task.metric, test_features))
        for one, decision in zip(trained, decisions, strict=True)
    ]
    return Result(
        decisions[chosen],
        held_out[chosen],
        _first_of(methods, chosen),
        why_chosen([one.name for one in methods], held_out, chosen, "on held-out rows"),
        tuple(note for one in trained for note in one.notes),
        "a fifth of them held out",
        any(one.classifier.interrupted_ for one in trained),
    )


def _fit_candidates(
    task: Task[D], rows: TrainingRows, folds: int, options: FitOptions, folder: RunFolder, screen: Screen
) -> tuple[list[FittedCandidate[D]], bool]:
    """Train all candidates one after the other; after Ctrl-C the finished ones are returned."""
    candidates = task.candidates(rows)
    jobs = options.jobs or jobs_for(rows, options.device)
    fitted: list[FittedCandidate[D]] = []
    with screen.progress:
        total = sum(cost_of(candidate.fits(folds)) for candidate in candidates)
        for candidate in candidates:
            try:
                with screen.steps(candidate.name, len(candidate.fits(folds)), total) as steps:
                    how = How(options.seed, steps, folder.checkpoints, jobs)
                    one = candidate.fit(rows, how)
            except KeyboardInterrupt:
                # The ensemble comes first; without it there is no result.
                if not fitted:
                    raise
                return fitted, True
            fitted.append(one)
    return fitted, False


def _train_ways(
    task: Task[D], rows: TrainingRows, options: FitOptions, folder: RunFolder, screen: Screen
) -> list[Trained]:
    """Train networks one after the other; after Ctrl-C the finished ones are returned."""
    trained: list[Trained] = []
    with screen.progress:
        for way in task.ways():
            try:
                one = train(
                    way,
                    rows.features,
                    rows.codes,
                    task.metric,
                    epochs=options.epochs,
                    seed=options.seed,
                    device=options.device,
                    watch=screen.watch,
                    checkpoint=folder.checkpoints / f"{way.key}.pt",
                    weights=rows.weights,
                )
            except KeyboardInterrupt:
                # Training for the metric comes first; without an epoch of it there is no result.
                if not trained:
                    raise
                trained[0].classifier.interrupted_ = True
                break
            trained.append(one)
            if one.classifier.interrupted_:
                break
    return trained


def _first_of(methods: list[Method], chosen: int) -> tuple[Method, ...]:
    """Return the methods with the chosen one first.

    Examples
    --------
    >>> import numpy as np
    >>> one, other = (Method(name, np.zeros(1), [], 1, 0.0, 0.0) for name in ("one", "other"))
    >>> [method.name for method in _first_of([one, other], 1)]
    ['other', 'one']
    """
    return (methods[chosen], *methods[:chosen], *methods[chosen + 1 :])
