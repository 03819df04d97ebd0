r"""Bounds of the rounding errors in the bounds of a game.

A sum of `m` products, in whatever order, is off by at most ``m * eps`` times the sum of their absolute
values. What a best response adds up is known: coefficients times probabilities, scores and, for the
predictor, multipliers times slacks. Strategies themselves are mixtures up to rounding, which is the same
relative error once more; the factor of two allows for it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metricfit.game.definition import TABLE_LIMIT, Game
from metricfit.game.feasibility import constraint_rows, slack_tolerances
from metricfit.game.payoff import Payoff
from metricfit.game.strategy import Strategy
from metricfit.metrics import Metric

__all__ = ["batch_rounding", "constraint_rounding", "extent", "lower_rounding", "upper_rounding"]

EPS = float(np.finfo(np.float64).eps)

# Operations per bound that do not depend on the size of the game.
FEW = 16

# Cells of a table that are held at a time above TABLE_LIMIT.
CHUNK_CELLS = 1 << 21


def upper_rounding(game: Game, adversary: Strategy, multipliers: NDArray[np.float64]) -> float:
    """By how much rounding may lower the upper bound that the adversary proves.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.game import make_game
    >>> game = make_game(mf.accuracy, [0.5, -0.5])
    >>> both = Strategy(np.array([2]), np.ones(1), np.ones((1, 1)), np.array([0, 2]))
    >>> 0.0 < upper_rounding(game, both, np.zeros(0)) < 1e-13
    True
    """
    n = game.n
    if n <= TABLE_LIMIT:
        terms = extent(game.metric, n)[2]
    else:
        terms = max(
            float(_terms(*game.payoff_columns(adversary.sizes, *part), np.arange(*part), adversary).max())
            for part in _parts(n, adversary)
        )
    if multipliers.size:
        most = np.minimum(np.arange(n + 1), game.split)
        terms += float(multipliers @ (np.abs(game.gain) * most + np.abs(game.offset) + 1.0).max(axis=1))
    return _unit(n, adversary, multipliers.size) * (terms + float(np.abs(game.scores).sum()))


def lower_rounding(game: Game, predictor: Strategy) -> float:
    """By how much rounding may raise the lower bound that the predictor proves.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.game import make_game
    >>> game = make_game(mf.accuracy, [0.5, -0.5])
    >>> both = Strategy(np.array([2]), np.ones(1), np.ones((1, 1)), np.array([0, 2]))
    >>> 0.0 < lower_rounding(game, both) < 1e-13
    True
    """
    n = game.n
    paid = float(np.abs(game.scores).sum())
    if n <= TABLE_LIMIT:
        return _unit(n, predictor, 0) * (extent(game.metric, n)[2] + paid)
    terms = steepest = 0.0
    for part in _parts(n, predictor):
        alpha, beta = game.payoff_rows(predictor.sizes, *part)
        terms = max(terms, float(_terms(alpha, beta, np.arange(*part), predictor).max()))
        steepest = max(steepest, float((np.abs(alpha) @ predictor.weights).max()))
    # The bounds of large games add up levels, each as large as the worth of an item at most.
    levels = n * (steepest + float(np.abs(game.scores).max()))
    return _unit(n, predictor, 0) * (terms + paid) + 2.0 * EPS * predictor.blocks.size * levels


def batch_rounding(payoff: Payoff, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bound the rounding error of both bounds of each game of a batch, for any strategies.

    Parameters
    ----------
    payoff : Metric or AdjustedMetric
    scores : ndarray, shape (games, n)
        Of up to ``TABLE_LIMIT`` items and without constraints.

    Examples
    --------
    >>> import metricfit as mf
    >>> batch_rounding(mf.accuracy, np.array([[0.5, -0.5], [1e6, 0.0]])) < [1e-13, 1e-7]
    array([ True,  True])
    """
    n = scores.shape[1]
    unit = 2.0 * EPS * (3 * n + 1 + FEW)
    rounding: NDArray[np.float64] = unit * (extent(payoff, n)[2] + np.abs(scores).sum(axis=1))
    return rounding


def constraint_rounding(metric: Metric, n: int, positives: int, multipliers: NDArray[np.float64]) -> float:
    """By how much constraints may make the upper bound of a game larger, beside `batch_rounding`.

    That is rounding, and what the predictor gains where constraints are loosened by `slack_tolerances`.

    Examples
    --------
    >>> import metricfit as mf
    >>> constrained = mf.precision.subject_to(mf.recall >= 0.5)
    >>> 1e-9 < constraint_rounding(constrained, 3, 2, np.ones(1)) < 2e-9
    True
    """
    gain, offset = constraint_rows(metric.constraints, n, positives)
    most = np.minimum(np.arange(n + 1), positives)
    terms = (np.abs(gain) * most + np.abs(offset) + 1.0).max(axis=1)
    unit = 2.0 * EPS * (3 * n + 1 + FEW + multipliers.size)
    return float(multipliers @ (unit * terms + slack_tolerances(gain, offset, positives)))


@lru_cache(maxsize=256)
def extent(payoff: Payoff, n: int) -> tuple[float, float, float]:
    """Return the lowest and the highest payoff, and the largest sum of absolute values that one is made of.

    Examples
    --------
    >>> import metricfit as mf
    >>> extent(mf.accuracy, 4)
    (0.0, 1.0, 3.0)
    """
    alpha, beta = payoff.table(n)
    k, l = np.ogrid[0 : n + 1, 0 : n + 1]
    most = np.abs(alpha) * np.minimum(k, l) + np.abs(beta)
    return *payoff.value_range(n), float(most.max())


def _terms(
    alpha: NDArray[np.float64], beta: NDArray[np.float64], answers: NDArray[np.int64], strategy: Strategy
) -> NDArray[np.float64]:
    """Bound the absolute values that are added up for each size of an answer to the strategy."""
    common = np.minimum(answers[:, None], strategy.sizes)
    terms: NDArray[np.float64] = (np.abs(alpha) * common + np.abs(beta)) @ strategy.weights
    return terms


def _unit(n: int, strategy: Strategy, constraints: int) -> float:
    return 2.0 * EPS * (strategy.sizes.size + strategy.blocks.size + n + constraints + FEW)


def _parts(n: int, strategy: Strategy) -> list[tuple[int, int]]:
    step = max(1, CHUNK_CELLS // strategy.sizes.size)
    return [(start, min(start + step, n + 1)) for start in range(0, n + 1, step)]
