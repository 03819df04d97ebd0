"""From a batch on the host to the loss of its games and their slopes. NumPy only."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metricfit.game import InfeasibleConstraintsError
from metricfit.game.feasibility import constraint_rows
from metricfit.loss.ceiling import ceiling, score_limit
from metricfit.loss.record import BatchSolution
from metricfit.loss.settings import Settings
from metricfit.metrics import Metric
from metricfit.solvers import Solution
from metricfit.solvers.solving import certified

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
    played : int
        The number of games that were played.
    infeasible : str
        What was wrong with the constraints of a game that was left out, or nothing.
    record : BatchSolution
        The solutions and the time they took.
    """

    losses: Array
    slopes: Array
    played: int
    infeasible: str
    record: BatchSolution


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
    metric = settings.metric
    infeasible = ""
    places, scores, truths, excesses = [], [], [], []
    for place in _places(targets, settings, _checked(logits, targets, settings.ignore_index)):
        truth = targets[place]
        if settings.infeasible == "skip" and (why := _why_infeasible(metric, truth)):
            infeasible = why
            continue
        psi = logits[place] * settings.factor(truth.size)
        # Models diverge; huge scores would drown the metric in rounding.
        limit = score_limit(metric, truth.size)
        kept = psi if psi @ psi <= limit * limit else psi.clip(-limit, limit)
        places.append(place)
        scores.append(kept)
        truths.append(truth)
        excesses.append(None if kept is psi else psi - kept)

    started = time.perf_counter()
    labels = truths if metric.constraints else None
    solutions = certified(metric, scores, labels, solver=settings.solver, tol=settings.tol)
    seconds = time.perf_counter() - started

    n, columns = targets.shape
    groups = settings.group_count(n)
    losses, slopes = np.zeros((groups, columns)), np.zeros((n, columns))
    solved: list[Solution | None] = [None] * losses.size
    for place, psi, truth, excess, solution in zip(places, scores, truths, excesses, solutions, strict=True):
        rows, column = place
        first = rows.start if isinstance(rows, slice) else int(rows[0])
        group = first * groups // n
        solved[group * columns + column] = solution
        best = ceiling(metric, truth.size, int(truth.sum()))
        # The value is an upper bound of the game, so rounding and the gap may take this below zero.
        losses[group, column] = max(best - solution.value - float(truth @ psi), 0.0)
        slope = solution.adversary - truth
        if excess is not None:
            # What was cut off belongs to items that the adversary surely includes, or surely does not.
            slope = np.where(excess == 0.0, slope, (excess > 0.0) - truth)
            losses[group, column] += slope @ excess
        slopes[place] = slope * settings.factor(truth.size)
    return Outcome(losses, slopes, len(solutions), infeasible, BatchSolution(tuple(solved), seconds))


def _places(
    targets: Array, settings: Settings, valid: NDArray[np.bool_] | None
) -> Iterator[tuple[slice | NDArray[np.int64], int]]:
    """Yield the rows and the column of every game that has any."""
    n, columns = targets.shape
    groups = settings.group_count(n)
    for group in range(groups):
        rows = slice(-(-group * n // groups), -(-(group + 1) * n // groups))
        for column in range(columns):
            if valid is None:
                yield rows, column
            elif (chosen := np.flatnonzero(valid[rows, column])).size:
                yield rows.start + chosen, column


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
