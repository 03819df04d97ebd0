"""From a batch on the host to the loss of its games and their gradients. NumPy only."""

from __future__ import annotations

import time
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from metricfit.game import InfeasibleConstraintsError
from metricfit.game.feasibility import constraint_rows
from metricfit.loss.arithmetic import losses_and_gradients, prepare
from metricfit.loss.ceiling import ceiling, score_limit
from metricfit.loss.entries import valid_entries
from metricfit.loss.layout import GameBatch, layout, valid_layout
from metricfit.loss.record import BatchSolution
from metricfit.loss.settings import Settings
from metricfit.metrics import Metric
from metricfit.solving import Solution
from metricfit.solving.certifying import certify
from metricfit.solving.solution import Certified

__all__ = ["Outcome", "play"]

Array: TypeAlias = NDArray[np.float64]


class Outcome(NamedTuple):
    """The games of a batch.

    Attributes
    ----------
    losses : ndarray, shape (groups, labels)
        Zero for games that were not played.
    slopes : ndarray, shape (n, labels)
        Derivative of each game's loss in its own logits.
    played : int
        How many games there are to average over.
    gap : float
        The largest certified gap; 0 if no game was played.
    infeasible : str
        Why the constraints of a game that was left out could not be met, or nothing.
    seconds : float
        The time it took to solve the games.
    games : tuple of GameBatch
        Which ones were played.
    found : list of Certified
        Their solutions.
    """

    losses: Array
    slopes: Array
    played: int
    gap: float
    infeasible: str
    seconds: float
    games: tuple[GameBatch, ...]
    found: list[Certified]

    def record(self) -> BatchSolution:
        """Return the solutions one by one."""
        solutions: list[Solution | None] = [None] * self.losses.size
        for (slots, _), solved in zip(self.games, self.found, strict=True):
            for slot, solution in zip(slots.tolist(), solved.solutions(), strict=True):
                solutions[slot] = solution
        return BatchSolution(tuple(solutions), self.seconds)


def play(logits: Array, targets: Array, settings: Settings) -> Outcome:
    """Play one game per group and label, all of them together.

    Parameters
    ----------
    logits, targets : ndarray, shape (n, labels)
        Targets of 0, 1 and the index that is to be ignored; both are checked here.
    settings : Settings
        How to play.

    Examples
    --------
    >>> import metricfit as mf
    >>> settings = Settings(mf.accuracy, solver="exact-lp")
    >>> outcome = play(np.array([[5.0], [-5.0]]), np.array([[1.0], [0.0]]), settings)
    >>> outcome.losses.round(6), outcome.slopes.round(6).ravel()
    (array([[0.]]), array([0., 0.]))
    """
    metric, (n, columns) = settings.metric, targets.shape
    groups = settings.group_count(n)
    if targets.size and settings.ignore_index is None:
        games = layout(n, columns, groups)
    else:
        games = valid_layout(valid_entries(logits, targets, settings.ignore_index), groups)
    infeasible = ""
    if settings.infeasible == "skip":
        # Before positives are counted, which needs targets of 0 and 1.
        valid_entries(logits, targets, settings.ignore_index)
        games, infeasible = _feasible(metric, targets, games)

    batch = np.ascontiguousarray(logits).ravel(), np.ascontiguousarray(targets).ravel()
    prepared, ceilings = [], []
    for _, places in games:
        size = places.shape[1]
        ready = prepare(*batch, places, settings.factor(size), score_limit(metric, size))
        if ready is None:
            valid_entries(logits, targets, settings.ignore_index)  # raises ValueError with the reason
            raise AssertionError("a batch that was refused has no usable entries")
        prepared.append(ready)
        positives, of_game = np.unique(ready.labels.sum(axis=1), return_inverse=True)
        ceilings.append(np.array([ceiling(metric, size, true) for true in positives.tolist()])[of_game])

    started = time.perf_counter()
    found = certify(
        metric,
        [ready.scores for ready in prepared],
        [ready.labels for ready in prepared],
        settings.solver,
        settings.tol,
        {},
    )
    seconds = time.perf_counter() - started

    gap = 0.0
    losses, slopes = np.zeros(groups * columns), np.zeros(n * columns)
    for (slots, places), ready, best, solved in zip(games, prepared, ceilings, found, strict=True):
        losses[slots], slopes[places], own = losses_and_gradients(
            ready, best, solved.verdict[:, 0], solved.verdict[:, 1], solved.inclusion[:, 0]
        )
        gap = max(gap, own)
    played = sum(slots.size for slots, _ in games)
    losses, slopes = losses.reshape(groups, columns), slopes.reshape(n, columns)
    return Outcome(losses, slopes, played, gap, infeasible, seconds, games, found)


def _feasible(
    metric: Metric, targets: Array, games: tuple[GameBatch, ...]
) -> tuple[tuple[GameBatch, ...], str]:
    """Leave out games whose constraints cannot be met, and return the reason for one of them."""
    infeasible = ""
    kept = []
    for slots, places in games:
        reasons = [_why_infeasible(metric, truth) for truth in targets.take(places)]
        infeasible = next(filter(None, reasons), infeasible)
        chosen = [not why for why in reasons]
        if any(chosen):
            kept.append(GameBatch(slots[chosen], places[chosen]))
    return tuple(kept), infeasible


def _why_infeasible(metric: Metric, truth: Array) -> str:
    try:
        constraint_rows(metric.constraints, truth.size, int(truth.sum()), metric.sizes(truth.size))
    except InfeasibleConstraintsError as error:
        return str(error)
    return ""
