"""The fast solver: compact for small games, grouped for large ones."""

from __future__ import annotations

import numpy as np

from metricfit.game import Game, most_slack
from metricfit.solvers.solution import Answer

from .interior_point import solve_restricted
from .restriction import chain_order, restrict, to_strategies, whole_tables


def solve_fast(game: Game, tol: float, *, max_iter: int = 150) -> Answer:
    n = game.n
    tables, sizes = whole_tables(game.metric, n)
    blocks = sizes
    falling = False
    order = chain_order(game, blocks, 0.0, falling)
    problem = restrict(game, blocks, order, tables, sizes, sizes, sizes)
    opening = most_slack(game.gain, game.offset, game.split).sizes if game.gain.size else sizes[:0]
    outcome = solve_restricted(problem, opening, 0.9 * tol, max_iter, 1e-6)
    adversary, predictor = to_strategies(outcome, blocks, order, sizes, sizes, sizes, 0.05 * tol)
    return Answer(adversary, predictor, outcome.multiplier, outcome.iterations)
