"""Both players' best responses, and the bounds of the value that follow from them.

This checks the answers of every solver. Given its size, a best response consists of the items with the
largest (for the predictor) or smallest (for the adversary) values, so sorting finds it. For most sizes a
bound shows that they cannot be the best, and nothing is sorted. Nothing here depends on how a strategy was
found.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from metricfit import _core
from metricfit.game.definition import TABLE_LIMIT, Game
from metricfit.game.feasibility import constraint_slacks, slack_tolerances
from metricfit.game.rounding import lower_rounding, upper_rounding
from metricfit.game.strategy import Strategy

__all__ = ["adversary_values", "bounds", "predictor_values"]

# Cells of a table, and of item values, that are held at a time above TABLE_LIMIT.
CHUNK_CELLS = 1 << 21


def predictor_values(
    game: Game, adversary: Strategy, multipliers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Value of the predictor's best set of each size against the adversary and its multipliers.

    For a size that is not the best, the entry may be an upper bound that is no higher than the best value.

    Parameters
    ----------
    game : Game
    adversary : Strategy
    multipliers : ndarray, shape (C,)
        One per constraint, not negative.

    Returns
    -------
    ndarray, shape (n + 1,)
        Its maximum is an upper bound of the value of the game.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> from metricfit.game import Strategy, make_game, predictor_values
    >>> game = make_game(mf.accuracy, [0.5, -0.5])
    >>> both = Strategy(np.array([2]), np.ones(1), np.ones((1, 1)), np.array([0, 2]))
    >>> predictor_values(game, both, np.zeros(0))
    array([0. , 0.5, 1. ])
    """
    values = np.empty(game.n + 1)
    paid = _core.expected_score(game.scores, adversary.marginals, adversary.blocks)
    for start, stop in _parts(game.n, adversary):
        alpha, beta = game.payoff_columns(adversary.sizes, start, stop)
        _core.predictor_values(
            alpha,
            beta,
            start,
            paid,
            game.split,
            adversary.sizes,
            adversary.weights,
            adversary.marginals,
            adversary.blocks,
            multipliers,
            game.gain,
            game.offset,
            values,
        )
    return values


def adversary_values(game: Game, predictor: Strategy) -> NDArray[np.float64]:
    """Value of the adversary's best set of each size against the predictor.

    For a size that is not the best, the entry may be a lower bound that is no lower than the best value.
    For more than ``TABLE_LIMIT`` items the entries are lower bounds, tight to 1e-9.

    Returns
    -------
    ndarray, shape (n + 1,)
        If the predictor meets the constraints, the minimum is a lower bound of the value of the game.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> from metricfit.game import Strategy, adversary_values, make_game
    >>> game = make_game(mf.accuracy, [0.5, -0.5])
    >>> first = Strategy(np.array([1]), np.ones(1), np.array([[1.0, 0.0]]), np.array([0, 1, 2]))
    >>> adversary_values(game, first)
    array([0.5, 0.5, 0.5])
    """
    values = np.empty(game.n + 1)
    running = np.concatenate((np.zeros(1), np.cumsum(game.scores))) if game.n > TABLE_LIMIT else None
    for start, stop in _parts(game.n, predictor):
        alpha, beta = game.payoff_rows(predictor.sizes, start, stop)
        _core.adversary_values(
            alpha,
            beta,
            start,
            game.scores,
            running,
            predictor.sizes,
            predictor.weights,
            predictor.marginals,
            predictor.blocks,
            values,
        )
    return values


def bounds(
    game: Game, adversary: Strategy, multipliers: NDArray[np.float64], predictor: Strategy
) -> tuple[float, float]:
    """Bounds ``lower <= value <= upper`` of the game that the two strategies prove, rounding included.

    Constraints may be missed by `slack_tolerances`: the bounds are those of the game with constraints that
    are loosened by so much. The lower bound is minus infinity if the predictor misses one by more.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> from metricfit.game import Strategy, bounds, make_game
    >>> game = make_game(mf.accuracy, [0.0, 0.0])
    >>> coin = Strategy(np.array([1]), np.ones(1), np.array([[0.5]]), np.array([0, 2]))
    >>> lower, upper = bounds(game, coin, np.zeros(0), coin)
    >>> lower < 0.5 < upper, upper - lower < 1e-13
    (True, True)
    """
    upper = float(predictor_values(game, adversary, multipliers).max())
    upper += upper_rounding(game, adversary, multipliers)
    if game.gain.shape[0] > 0:
        tolerances = slack_tolerances(game.gain, game.offset, game.split)
        upper += float(multipliers @ tolerances)
        slacks = constraint_slacks(game.gain, game.offset, game.split, predictor)
        if not np.all(slacks >= -tolerances):
            return -np.inf, upper
    lower = float(adversary_values(game, predictor).min()) - lower_rounding(game, predictor)
    return lower, upper


def _parts(n: int, strategy: Strategy) -> Iterator[tuple[int, int]]:
    """Yield ranges of sizes to treat at a time."""
    step = max(1, CHUNK_CELLS // max(strategy.sizes.size, strategy.blocks.size)) if n > TABLE_LIMIT else n + 1
    for start in range(0, n + 1, step):
        yield start, min(start + step, n + 1)
