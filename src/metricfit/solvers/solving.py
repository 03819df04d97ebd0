"""From a metric and scores to a certified solution."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.game import (
    Game,
    average_ties,
    bounds,
    checked_input,
    clean,
    inclusion_in_order,
    make_feasible,
    make_game,
)
from metricfit.metrics import Metric
from metricfit.solvers.registry import check_options, find_judge, find_solver, resolve
from metricfit.solvers.solution import Answer, Certified, ConvergenceWarning, Solution

__all__ = ["certify", "solve", "solve_many"]

Floats = NDArray[np.float64]


def solve(
    metric: Metric,
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    **options: object,
) -> Solution:
    r"""Solve the game between predictor and adversary for one batch of scores.

    .. math:: v(\psi) = \min_Q \max_P E[\mathrm{metric}(S, T)] - \sum_i q_i \psi_i,
              \qquad S \sim P, \; T \sim Q, \; q_i = Q(i \in T)

    with `P` limited to those that meet the metric's constraints on the labels.

    Parameters
    ----------
    metric : Metric
        The metric to be judged by, with its constraints.
    scores : array_like, shape (n,)
        The scores psi, in the units of the metric.
    labels : array_like of 0 and 1, shape (n,), optional
        The true labels; only constraints need them.
    solver : str
        One of `solvers()`.
    tol : float
        Largest certified gap that is asked for.
    **options
        Options of the solver, for instance ``rho`` and ``max_iter`` of "admm".

    Returns
    -------
    Solution
        Whatever the solver did, the bounds in it are valid.

    Warns
    -----
    ConvergenceWarning
        If the gap is larger than `tol`.

    Examples
    --------
    >>> import metricfit as mf
    >>> sol = mf.solve(mf.accuracy, [0.5, -0.5, 0.0], solver="exact-lp")
    >>> round(sol.value, 4)
    0.3333
    >>> abs(sol.adversary.round(4))
    array([1. , 0. , 0.5])
    """
    values, positive = checked_input(metric, scores, labels)
    (found,) = certify(metric, [values[None]], [positive[None]], solver, tol, options)
    (solution,), (note,) = found.solutions(), found.notes
    if not solution.converged:
        reason = f" ({note})" if note else ""
        warnings.warn(
            f"solver {solution.solver!r} stopped with a gap of {solution.gap:.2g}, more than "
            f"tol={tol:g}{reason}; the value lies between {solution.lower:.6g} and {solution.value:.6g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solution


THREADED_WORK = 6_000
"""Sum of squared numbers of items from which a batch of games is worth threads."""


def solve_many(
    metric: Metric,
    scores: Sequence[ArrayLike] | NDArray[np.float64],
    labels: Sequence[ArrayLike] | NDArray[np.float64] | None = None,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    threads: int | None = None,
    **options: object,
) -> list[Solution]:
    """Solve several games of one metric, in threads.

    Parameters
    ----------
    metric, solver, tol, **options
        As for `solve`.
    scores : sequence of array_like, or array of shape (games, n)
        One set of scores per game; they may differ in length.
    labels : sequence of array_like, or array of shape (games, n), optional
        One set of labels per game.
    threads : int, optional
        By default as many as there are processors, or one if the games are few and small.

    Warns
    -----
    ConvergenceWarning
        Once, if some gaps are larger than `tol`.

    Examples
    --------
    >>> import metricfit as mf
    >>> first, second = mf.solve_many(mf.f1, [[0.1, 0.2], [0.3, -0.1, 0.0]], solver="exact-lp")
    >>> first.adversary.shape, second.adversary.shape
    ((2,), (3,))
    """
    if labels is not None and len(labels) != len(scores):
        raise ValueError(f"there are {len(scores)} sets of scores but {len(labels)} sets of labels")
    each: Sequence[ArrayLike | None] = [None] * len(scores) if labels is None else list(labels)
    given = [checked_input(metric, row, truth) for row, truth in zip(scores, each, strict=True)]
    places: dict[int, list[int]] = {}
    for place, (row, _) in enumerate(given):
        places.setdefault(row.size, []).append(place)
    found = certify(
        metric,
        [np.stack([given[place][0] for place in chosen]) for chosen in places.values()],
        [np.stack([given[place][1] for place in chosen]) for chosen in places.values()],
        solver,
        tol,
        options,
        threads,
    )
    numbered = {
        place: solution
        for chosen, batch in zip(places.values(), found, strict=True)
        for place, solution in zip(chosen, batch.solutions(), strict=True)
    }
    solutions = [numbered[place] for place in range(len(given))]
    missed = [solution.gap for solution in solutions if not solution.converged]
    if missed:
        warnings.warn(
            f"solver {solutions[0].solver!r} stopped with a gap larger than tol={tol:g} in {len(missed)} of "
            f"{len(solutions)} games; the largest gap is {max(missed):.2g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solutions


def certify(
    metric: Metric,
    scores: Sequence[Floats],
    labels: Sequence[NDArray[np.bool_]],
    solver: str,
    tol: float,
    options: dict[str, object],
    threads: int | None = None,
) -> list[Certified]:
    """Solve batches of games; within a batch all are of one size. Nothing is warned about.

    Parameters
    ----------
    metric, solver, tol, options, threads
        As for `solve_many`.
    scores : sequence of ndarray, shape (games, n)
        C-contiguous, writeable and finite, which is not checked.
    labels : sequence of ndarray of bool, shape (games, n)
        Only looked at if there are constraints.

    Examples
    --------
    >>> import metricfit as mf
    >>> rows = np.array([[0.5, -0.5], [-0.5, 0.5]])
    >>> (found,) = certify(mf.accuracy, [rows], [rows > 0], "exact-lp", 1e-4, {})
    >>> abs(found.inclusion[:, 0].round(4))
    array([[1., 0.],
           [0., 1.]])
    """
    name, tol = _checked_request(solver, tol, options)
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    games = work = 0
    for batch in scores:
        games += len(batch)
        work += batch.size * batch.shape[1]
    # Counting the processors, too, takes as long as preparing a small game.
    if threads is None:
        threads = 1 if work < THREADED_WORK else os.cpu_count() or 1
    workers = min(threads, games)
    if workers <= 1:
        return [
            _certify_part(metric, batch, truth, name, tol, options)
            for batch, truth in zip(scores, labels, strict=True)
        ]
    # Several games to a task, for tasks are handed over under Python's lock; several tasks to a thread, for
    # some games take far longer than others.
    size = -(-games // (4 * workers))
    with ThreadPoolExecutor(workers) as pool:
        tasks = [
            [
                pool.submit(
                    _certify_part,
                    metric,
                    batch[first : first + size],
                    truth[first : first + size],
                    name,
                    tol,
                    options,
                )
                for first in range(0, len(batch), size)
            ]
            for batch, truth in zip(scores, labels, strict=True)
        ]
        return [Certified.joined([task.result() for task in parts]) for parts in tasks]


def _certify_part(
    metric: Metric,
    scores: Floats,
    labels: NDArray[np.bool_],
    name: str,
    tol: float,
    options: dict[str, object],
) -> Certified:
    """Certify games of one size: all of them the quick way, where there is one, and then those it missed."""
    games, n = scores.shape
    if judge := find_judge(name):
        inclusion, verdict, multipliers = judge(metric, scores, labels, tol, **options)
    else:
        inclusion, verdict = np.empty((games, 2, n)), np.full((games, 3), np.inf)
        multipliers = np.zeros((games, len(metric.constraints)))
    notes = [""] * games
    for game, (_, gap, _) in enumerate(verdict.tolist()):
        if not gap <= tol:
            notes[game] = _solve_game(
                make_game(metric, scores[game], labels[game]),
                name,
                tol,
                options,
                inclusion[game],
                verdict[game],
                multipliers[game],
            )
    return Certified(verdict, inclusion, multipliers, notes, name, tol)


def _checked_request(solver: str, tol: float, options: dict[str, object]) -> tuple[str, float]:
    name = resolve(solver)
    tol = float(tol)
    if not tol > 0.0:
        raise ValueError(f"tol must be a positive number, got {tol:g}")
    if options:
        check_options(name, options)
    return name, tol


def _solve_game(
    game: Game,
    name: str,
    tol: float,
    options: dict[str, object],
    inclusion: Floats,
    verdict: Floats,
    multipliers: Floats,
) -> str:
    """Let the solver play, certify what it found, write that down, and return what it has to say."""
    answer: Answer = find_solver(name)(game, tol, **options)
    multipliers[:] = np.maximum(answer.multipliers, 0.0)
    adversary = average_ties(game.scores, game.split, clean(answer.adversary))
    predictor = average_ties(game.scores, game.split, clean(answer.predictor))
    predictor = make_feasible(game.gain, game.offset, game.split, predictor)
    lower, upper = bounds(game, adversary, multipliers, predictor)
    # Rounding may put the bounds in the wrong order by a few units in the last place.
    verdict[:] = upper, max(upper - lower, 0.0), answer.iterations
    inclusion_in_order(adversary.marginals, adversary.blocks, game.order, inclusion[0])
    inclusion_in_order(predictor.marginals, predictor.blocks, game.order, inclusion[1])
    return answer.note
