"""From a batch on the host to the loss of its games and their slopes. NumPy only."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from metricfit.game import InfeasibleConstraintsError
from metricfit.game.feasibility import constraint_rows
from metricfit.loss.ceiling import ceiling
from metricfit.loss.record import BatchSolution
from metricfit.metrics import Metric
from metricfit.solvers import Solution
from metricfit.solvers.solving import certified

__all__ = ["Outcome", "Rules", "group_count", "play"]

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rules:
    """How a batch is played.

    Attributes
    ----------
    metric : Metric
        What is trained for.
    scale : float or None
        The scores of a game are the logits times ``scale / n``; None stands for `n`, its own size.
    solver, tol : str, float
        As for `solve`.
    group_size : int or None
        Largest size of a group; None makes the whole batch one group.
    ignore_index : int or None
        Entries with this target take no part.
    skip_infeasible : bool
        Leave out games whose constraints cannot be met, rather than fail.
    """

    metric: Metric
    scale: float | None
    solver: str
    tol: float
    group_size: int | None
    ignore_index: int | None
    skip_infeasible: bool


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


def group_count(n: int, group_size: int | None) -> int:
    """Return the number of groups of at most `group_size` items.

    Item ``i`` belongs to group ``i * groups // n``, so that sizes differ by one at most.

    Examples
    --------
    >>> group_count(70, 32), group_count(70, None)
    (3, 1)
    """
    return 1 if group_size is None else (n + group_size - 1) // group_size


def play(logits: Array, targets: Array, rules: Rules) -> Outcome:
    """Play one game per group and label, all of them together.

    Parameters
    ----------
    logits, targets : ndarray, shape (n, labels)
        Targets of 0, 1 and the index that is to be ignored; both are checked here.
    rules : Rules
        How to play.

    Examples
    --------
    >>> import metricfit as mf
    >>> rules = Rules(mf.accuracy, None, "exact-lp", 1e-4, None, None, False)
    >>> outcome = play(np.array([[5.0], [-5.0]]), np.array([[1.0], [0.0]]), rules)
    >>> outcome.losses.round(6), outcome.slopes.round(6).ravel()
    (array([[0.]]), array([0., 0.]))
    """
    n, labels = logits.shape
    groups = group_count(n, rules.group_size)
    valid = None if rules.ignore_index is None else targets != rules.ignore_index
    _check(logits, targets, valid, rules.ignore_index)

    cells: list[tuple[int, int]] = []
    entries: list[tuple[slice | NDArray[np.int64], int]] = []
    scores: list[Array] = []
    truths: list[Array] = []
    infeasible = ""
    for group in range(groups):
        rows = slice(-(-group * n // groups), -(-(group + 1) * n // groups))
        for label in range(labels):
            chosen: slice | NDArray[np.int64] = rows
            if valid is not None:
                chosen = rows.start + np.flatnonzero(valid[rows, label])
            truth = targets[chosen, label]
            if truth.size == 0:
                continue
            if rules.skip_infeasible and (why := _why_infeasible(rules.metric, truth)):
                infeasible = why
                continue
            cells.append((group, label))
            entries.append((chosen, label))
            scores.append(logits[chosen, label] * _factor(rules.scale, truth.size))
            truths.append(truth)

    started = time.perf_counter()
    solutions = certified(
        rules.metric,
        scores,
        truths if rules.metric.constraints else None,
        solver=rules.solver,
        tol=rules.tol,
    )
    seconds = time.perf_counter() - started

    losses = np.zeros((groups, labels))
    slopes = np.zeros((n, labels))
    solved: list[Solution | None] = [None] * (groups * labels)
    for (group, label), entry, psi, truth, solution in zip(
        cells, entries, scores, truths, solutions, strict=True
    ):
        solved[group * labels + label] = solution
        best = ceiling(rules.metric, truth.size, int(truth.sum()))
        # The value is an upper bound of the game, which may exceed the ceiling by rounding and by the gap.
        losses[group, label] = max(best - (solution.value + float(truth @ psi)), 0.0)
        slopes[entry] = (solution.adversary - truth) * _factor(rules.scale, truth.size)
    return Outcome(losses, slopes, len(solutions), infeasible, BatchSolution(tuple(solved), seconds))


def _factor(scale: float | None, n: int) -> float:
    return 1.0 if scale is None else scale / n


def _why_infeasible(metric: Metric, truth: Array) -> str:
    try:
        constraint_rows(metric.constraints, truth.size, int(truth.sum()))
    except InfeasibleConstraintsError as error:
        return str(error)
    return ""


def _check(logits: Array, targets: Array, valid: NDArray[np.bool_] | None, ignore_index: int | None) -> None:
    # Zero for 0 and 1 only; NaN and infinity count as true.
    strange = targets * (targets - 1.0)
    unusable = ~np.isfinite(logits)
    if valid is not None:
        strange[~valid] = 0.0
        unusable &= valid
    if strange.any():
        found = targets[strange != 0.0][0]
        besides = "" if ignore_index is None else f", or ignore_index={ignore_index}"
        raise ValueError(
            f"targets must be 0 or 1{besides}, but one is {found:g}; recode them, for instance as targets > 0"
        )
    if unusable.any():
        row, label = (int(index[0]) for index in np.nonzero(unusable))
        raise ValueError(
            f"logits must be finite, but that of item {row}, label {label} is {logits[row, label]:g}; the model "
            "has diverged, or there are missing values in its input"
        )
