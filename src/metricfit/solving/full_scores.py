"""Games in which the score of an item depends on how many items are positive, solved exactly."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.game import Strategy, checked_size_scores, extent, make_game
from metricfit.game.strategy import clean
from metricfit.metrics import Metric
from metricfit.solving.lp import MAX_ITEMS, linear_program, players
from metricfit.solving.solution import Solution, has_converged

__all__ = ["solve_full_scores"]

Floats = NDArray[np.float64]


def solve_full_scores(metric: Metric, scores: Floats, size_scores: ArrayLike | None, tol: float) -> Solution:
    r"""Solve the game for scores of items and sizes together, as one linear program.

    .. math:: v(\psi, \varphi) = \min_Q \max_P E[\mathrm{metric}(S, T)] - \sum_{i,l} \psi_{il} Q_{il}
              - \sum_l s_l \varphi_l

    Parameters
    ----------
    metric : Metric
        Without constraints.
    scores : ndarray, shape (n, n + 1)
        The score of item `i` if it is positive and `l` items are positive in all; those of 0 never count.
    size_scores : array_like, shape (n + 1,), optional
        Scores of the sizes.
    tol : float
        The gap that is asked for.

    Examples
    --------
    >>> import metricfit as mf
    >>> additive = np.array([0.2, -0.1])
    >>> found = solve_full_scores(mf.f1, np.tile(additive[:, None], 3), None, 1e-6)
    >>> round(abs(found.value - mf.solve(mf.f1, additive, solver="exact-lp").value), 6)
    0.0
    """
    metric.check_playable()
    n = len(scores)
    if scores.shape != (n, n + 1) or not n or not np.isfinite(scores).all():
        raise ValueError(
            f"scores of items and sizes must be finite numbers of shape (n, n + 1), one row per item and one "
            f"column per number of actual positives from 0 on, got shape {scores.shape}"
        )
    if metric.constraints:
        raise ValueError("scores of items and sizes do not support constraints; leave out subject_to")
    if n > MAX_ITEMS:
        raise ValueError(f"scores of items and sizes are for up to {MAX_ITEMS} items, got {n}")
    phi = None if size_scores is None else checked_size_scores(size_scores, n)
    game = make_game(metric, np.zeros(n), size_scores=phi)
    unit = extent(game.metric, n)[2]
    inner = scores[:, 1:n].T.ravel()
    best = linear_program(game, -np.append(inner, scores[:, n].sum()) / unit, unit)
    adversary, predictor = (clean(strategy) for strategy in players(best, n))
    alpha, beta = game.metric.table(n)
    upper = _upper(adversary, alpha, beta, scores)
    lower = _lower(predictor, alpha, beta, scores)
    # The sums have fewer than 4 n² terms of this size.
    largest = max(
        float(np.abs(scores).max(initial=0.0)), float(np.abs(alpha).max()), float(np.abs(beta).max())
    )
    rounding = 4 * n * n * np.finfo(np.float64).eps * (1.0 + n * largest)
    gap = float(upper - lower + 2 * rounding)
    return Solution(
        value=float(upper + rounding),
        gap=gap,
        adversary=adversary.inclusion,
        predictor=predictor.inclusion,
        multipliers=np.zeros(0),
        iterations=best.iterations,
        solver="exact-lp",
        converged=has_converged(gap, tol),
    )


def _upper(adversary: Strategy, alpha: Floats, beta: Floats, scores: Floats) -> float:
    """Return the value of the best set of every size against the adversary's strategy."""
    marginals = adversary.marginals
    worth = -np.sort(-(alpha[:, adversary.sizes] @ marginals), axis=1).cumsum(axis=1)
    worth = np.column_stack((np.zeros(len(alpha)), worth))
    sums = worth[np.arange(len(alpha)), np.arange(len(alpha))] + beta[:, adversary.sizes] @ adversary.weights
    return float(sums.max() - (scores[:, adversary.sizes].T * marginals).sum())


def _lower(predictor: Strategy, alpha: Floats, beta: Floats, scores: Floats) -> float:
    """Return what the predictor's strategy gets against the best set of every size."""
    paid = alpha[predictor.sizes].T @ predictor.marginals - scores.T
    worth = np.column_stack((np.zeros(len(paid)), np.sort(paid, axis=1).cumsum(axis=1)))
    sizes = np.arange(len(paid))
    return float((worth[sizes, sizes] + beta[predictor.sizes].T @ predictor.weights).min())
