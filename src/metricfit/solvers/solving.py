"""From a metric and scores to a certified solution."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.game import Game, average_ties, bounds, clean, make_feasible, make_game
from metricfit.game.compiled import kernel
from metricfit.metrics import Metric
from metricfit.solvers.registry import check_options, find_solver, resolve
from metricfit.solvers.solution import Answer, ConvergenceWarning, Solution

__all__ = ["certified", "solve", "solve_many"]


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
    name, tol = _checked_request(solver, tol, options)
    solution, note = _solve_game(make_game(metric, scores, labels), name, tol, options)
    if not solution.converged:
        reason = f" ({note})" if note else ""
        warnings.warn(
            f"solver {name!r} stopped with a gap of {solution.gap:.2g}, more than tol={tol:g}{reason}; "
            f"the value lies between {solution.lower:.6g} and {solution.value:.6g}",
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
    solutions = certified(metric, scores, labels, solver=solver, tol=tol, threads=threads, **options)
    missed = [solution.gap for solution in solutions if not solution.converged]
    if missed:
        warnings.warn(
            f"solver {solutions[0].solver!r} stopped with a gap larger than tol={tol:g} in {len(missed)} of "
            f"{len(solutions)} games; the largest gap is {max(missed):.2g}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solutions


def certified(
    metric: Metric,
    scores: Sequence[ArrayLike] | NDArray[np.float64],
    labels: Sequence[ArrayLike] | NDArray[np.float64] | None = None,
    *,
    solver: str = "auto",
    tol: float = 1e-4,
    threads: int | None = None,
    **options: object,
) -> list[Solution]:
    """Solve as `solve_many` does, without its warning: for a caller that warns in its own words."""
    name, tol = _checked_request(solver, tol, options)
    if labels is not None and len(labels) != len(scores):
        raise ValueError(f"there are {len(scores)} sets of scores but {len(labels)} sets of labels")
    if threads is not None and threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    each: Sequence[ArrayLike | None] = [None] * len(scores) if labels is None else list(labels)
    games = [make_game(metric, row, truth) for row, truth in zip(scores, each, strict=True)]

    def some(part: Sequence[Game]) -> list[Solution]:
        return [_solve_game(game, name, tol, options)[0] for game in part]

    # Counting the processors, too, takes as long as preparing a small game.
    if threads is None:
        threads = 1 if sum(game.n**2 for game in games) < THREADED_WORK else os.cpu_count() or 1
    workers = min(threads, len(games))
    if workers <= 1:
        return some(games)
    # Several games to a task, for tasks are handed over under Python's lock; several tasks to a thread, for
    # some games take far longer than others.
    size = -(-len(games) // (4 * workers))
    with ThreadPoolExecutor(workers) as pool:
        parts = pool.map(some, [games[first : first + size] for first in range(0, len(games), size)])
        return [solution for part in parts for solution in part]


def _checked_request(solver: str, tol: float, options: dict[str, object]) -> tuple[str, float]:
    name = resolve(solver)
    tol = float(tol)
    if not tol > 0.0:
        raise ValueError(f"tol must be a positive number, got {tol:g}")
    if options:
        check_options(name, options)
    return name, tol


def _solve_game(game: Game, name: str, tol: float, options: dict[str, object]) -> tuple[Solution, str]:
    """Let the solver play, then certify what it found."""
    answer: Answer = find_solver(name)(game, tol, **options)
    multipliers = np.maximum(answer.multipliers, 0.0)
    adversary = average_ties(game.scores, game.split, clean(answer.adversary))
    predictor = average_ties(game.scores, game.split, clean(answer.predictor))
    predictor = make_feasible(game.gain, game.offset, game.split, predictor)
    lower, upper = bounds(game, adversary, multipliers, predictor)
    # Rounding may put the bounds in the wrong order by a few units in the last place.
    gap = max(upper - lower, 0.0)
    solution = Solution(
        value=upper,
        gap=gap,
        adversary=_inclusion(adversary.marginals, adversary.blocks, game.order),
        predictor=_inclusion(predictor.marginals, predictor.blocks, game.order),
        multipliers=multipliers,
        iterations=answer.iterations,
        solver=name,
        converged=gap <= tol,
    )
    return solution, answer.note


@kernel
def _inclusion(
    marginals: NDArray[np.float64], blocks: NDArray[np.int64], order: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Probability of each item to be in the set, in the user's order."""
    result = np.empty(order.size)
    for b in range(marginals.shape[1]):
        included = 0.0
        for j in range(marginals.shape[0]):
            included += marginals[j, b]
        for i in range(blocks[b], blocks[b + 1]):
            result[order[i]] = included
    return result
