"""From a batch on the host to the loss of its games and their slopes. NumPy only."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metricfit.game import InfeasibleConstraintsError
from metricfit.game.feasibility import constraint_rows
from metricfit.loss.ceiling import ceiling, score_limit
from metricfit.loss.layout import SameSize, layout, valid_layout
from metricfit.loss.record import BatchSolution
from metricfit.loss.settings import Settings
from metricfit.metrics import Metric
from metricfit.solvers import Solution
from metricfit.solvers.solution import Certified
from metricfit.solvers.solving import certify

__all__ = ["Outcome", "play"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The games of a batch.

    Attributes
    ----------
    losses : ndarray, shape (groups, labels)
        Zero for games that were not played.
    slopes : ndarray, shape (n, labels)
        Derivative of each game's loss in its own logits.
    infeasible : str
        What was wrong with the constraints of a game that was left out, or nothing.
    seconds : float
        The time it took to solve the games.
    games : tuple of SameSize
        Which ones were played.
    found : tuple of Certified
        Their solutions.
    """

    losses: Array
    slopes: Array
    infeasible: str
    seconds: float
    games: tuple[SameSize, ...]
    found: tuple[Certified, ...]

    @property
    def played(self) -> int:
        """The number of games that were played."""
        return sum(len(slots) for slots, _ in self.games)

    @property
    def gap(self) -> float:
        """The largest certified gap; 0 if no game was played."""
        return max((float(solved.gap.max()) for solved in self.found), default=0.0)

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
    valid = _checked(logits, targets, settings.ignore_index)
    groups = settings.group_count(n)
    games = layout(n, columns, groups) if valid is None else valid_layout(valid, groups)
    infeasible = ""
    if settings.infeasible == "skip":
        games, infeasible = _feasible(metric, targets, games)

    truths = [targets.take(places) for _, places in games]
    factors = [settings.factor(places.shape[1]) for _, places in games]
    scores, excesses = [], []
    for (_, places), factor in zip(games, factors, strict=True):
        psi = logits.take(places) * factor
        # Models diverge; huge scores would drown the metric in rounding.
        limit = score_limit(metric, places.shape[1])
        kept = psi if np.vdot(psi, psi) <= limit * limit else psi.clip(-limit, limit)
        scores.append(kept)
        excesses.append(None if kept is psi else psi - kept)

    started = time.perf_counter()
    labels = [truth == 1.0 for truth in truths]
    found = certify(metric, scores, labels, settings.solver, settings.tol, {})
    seconds = time.perf_counter() - started

    losses, slopes = np.zeros((groups, columns)), np.zeros((n, columns))
    for (slots, places), psi, truth, excess, factor, solved in zip(
        games, scores, truths, excesses, factors, found, strict=True
    ):
        positives = truth.sum(axis=1).tolist()
        best = [ceiling(metric, places.shape[1], int(count)) for count in positives]
        # The value is an upper bound of the game, so rounding and the gap may take this below zero.
        loss = np.maximum(best - solved.value - (truth * psi).sum(axis=1), 0.0)
        slope = solved.adversary - truth
        if excess is not None:
            # What was cut off belongs to items that the adversary surely includes, or surely does not.
            slope = np.where(excess == 0.0, slope, (excess > 0.0) - truth)
            loss += (slope * excess).sum(axis=1)
        losses.put(slots, loss)
        slopes.put(places, slope * factor)
    return Outcome(losses, slopes, infeasible, seconds, games, tuple(found))


def _feasible(
    metric: Metric, targets: Array, games: tuple[SameSize, ...]
) -> tuple[tuple[SameSize, ...], str]:
    """Leave out games whose constraints cannot be met, and say what was wrong with one of them."""
    infeasible = ""
    kept = []
    for slots, places in games:
        reasons = [_why_infeasible(metric, truth) for truth in targets.take(places)]
        infeasible = next(filter(None, reasons), infeasible)
        chosen = [not why for why in reasons]
        if any(chosen):
            kept.append(SameSize(slots[chosen], places[chosen]))
    return tuple(kept), infeasible


def _why_infeasible(metric: Metric, truth: Array) -> str:
    try:
        constraint_rows(metric.constraints, truth.size, int(truth.sum()))
    except InfeasibleConstraintsError as error:
        return str(error)
    return ""


def _checked(logits: Array, targets: Array, ignore_index: int | None) -> NDArray[np.bool_] | None:
    """Say which entries take part, None standing for all, after checking those."""
    if targets.size == 0:
        n, columns = targets.shape
        raise ValueError(
            f"a batch of {n} items and {columns} labels has no loss; leave empty batches out, or use "
            "drop_last=True in the DataLoader"
        )
    # Zero for 0 and 1 only; NaN and infinity count as true.
    strange = targets * (targets - 1.0)
    if ignore_index is None and math.isfinite(np.vdot(logits, logits)) and not strange.any():
        return None
    unusable = ~np.isfinite(logits)
    valid = None
    if ignore_index is not None:
        valid = targets != ignore_index
        strange[~valid] = 0.0
        unusable &= valid
    if strange.any():
        found = targets[strange != 0.0][0]
        besides = "" if ignore_index is None else f", or ignore_index={ignore_index}"
        raise ValueError(
            f"targets must be 0 or 1{besides}, but one is {found:g}; recode them, for instance as targets > 0"
        )
    if unusable.any():
        row, column = (int(index[0]) for index in np.nonzero(unusable))
        raise ValueError(
            f"logits must be finite, but that of item {row}, label {column} is {logits[row, column]:g}; "
            "the model has diverged, or there are missing values in its input"
        )
    return valid
