"""The exact answer for small games: the linear program of the paper's Theorem 4, through HiGHS."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from metricfit.game import Game, Strategy, extent, slack_tolerances
from metricfit.game.linear_program import TOLERANCE, Optimum, minimise_by_dual
from metricfit.solving.solution import Answer

__all__ = ["MAX_ITEMS", "linear_program", "players", "solve_exact_lp"]

MAX_ITEMS = 100
"""The program has 2 n² unknowns and n³ entries; beyond this it does not end in reasonable time."""


def solve_exact_lp(game: Game, tol: float) -> Answer:
    r"""Solve the game as one linear program over the adversary's marginals.

    Against marginals `Q` with sizes `s` the predictor's best set of size `k` is worth the sum of the
    `k` largest item values, and that sum is itself a minimum: of :math:`k t_k + \sum_i u_{ik}` over
    all :math:`u \ge 0` and :math:`t_k` with :math:`t_k + u_{ik}` at least the value of item `i`.
    So the value of the game is

    .. math::

        \min\; w - \sum_{i,l} \psi_i Q_{il} \quad \text{s.t.}\quad
        & k t_k + \textstyle\sum_i u_{ik} + \sum_l \beta_{kl} s_l + \sum_c \lambda_c h_{ck} \le w \\
        & \textstyle\sum_l \alpha_{kl} Q_{il} + \sum_c \lambda_c g_{ck} [i < \text{split}]
          \le t_k + u_{ik} \\
        & 0 \le Q_{il} \le s_l, \; \textstyle\sum_i Q_{il} = l s_l, \; \sum_l s_l = 1,
          \; u, \lambda \ge 0

    with gains `g` and offsets `h` of the constraints (Theorem 6). The multipliers of the first two
    kinds of rows are the predictor's sizes and marginals. Sets of size 0 and n need no marginals, on
    either side.

    Parameters
    ----------
    game : Game
        25 items take some 30 ms, 50 about a second, 100 about a minute.
    tol : float
        Not used: the answer is exact up to rounding.

    Raises
    ------
    ValueError
        If the game has more than ``MAX_ITEMS`` items.
    ArithmeticError
        If HiGHS finds no optimum.
    """
    n = game.n
    if n > MAX_ITEMS:
        raise ValueError(
            f"exact-lp is meant for up to {MAX_ITEMS} items, got {n}; use solver='fast', "
            "whose answer is certified as well"
        )
    # HiGHS is made for numbers near one.
    unit = extent(game.metric, n)[2]
    cost = -np.append(np.tile(game.scores, n - 1), game.scores.sum()) / unit
    best = linear_program(game, cost, unit)
    adversary, predictor = players(best, n)
    constraints = game.gain.shape[0]
    return Answer(
        adversary=adversary,
        predictor=predictor,
        multipliers=unit * best.unknowns[best.unknowns.size - constraints :],
        iterations=best.iterations,
    )


def linear_program(game: Game, item_cost: NDArray[np.float64], unit: float) -> Optimum:
    """Solve the program of a game for any cost of the adversary's marginals.

    Parameters
    ----------
    game : Game
        Its scores are not used.
    item_cost : ndarray, shape ((n - 1) * n + 1,)
        The cost of the marginals by size 1 … n - 1 and item, and that of choosing all items.
    unit : float
        What payoffs and costs are measured in.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.game import make_game
    >>> best = linear_program(make_game(mf.accuracy, [0.0]), np.zeros(1), 1.0)
    >>> round(best.value, 6)
    0.5
    """
    n, inner = game.n, game.n - 1
    rows, equations = _rows(game, unit), _equations(game)
    unknowns = rows.shape[1]
    bound = inner * n + n + 1
    cost = np.zeros(unknowns)
    cost[: inner * n] = item_cost[:-1]
    cost[bound - 1] = item_cost[-1]
    cost[bound] = 1.0
    # Loosening the constraints a little keeps the multipliers finite where only certain sets meet them.
    constraints = game.gain.shape[0]
    if constraints:
        cost[unknowns - constraints :] = 0.5 * slack_tolerances(game.gain, game.offset, game.split)
    return minimise_by_dual(
        cost,
        rows,
        np.zeros(rows.shape[0]),
        equations,
        np.append(np.zeros(inner), 1.0),
        slice(bound, bound + 1 + inner),
    )


def players(best: Optimum, n: int) -> tuple[Strategy, Strategy]:
    """Return the strategies of the adversary and of the predictor in the optimum of a program.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.game import make_game
    >>> best = linear_program(make_game(mf.accuracy, [0.0]), np.zeros(1), 1.0)
    >>> [strategy.inclusion.round(6).tolist() for strategy in players(best, 1)]
    [[0.5], [0.5]]
    """
    inner = n - 1
    marginals, sizes = slice(inner * n), slice(inner * n, inner * n + n + 1)
    # Item rows and size rows come first, in the order of the predictor's marginals and sizes.
    return (
        _strategy(best.unknowns[sizes], best.unknowns[marginals]),
        _strategy(best.prices[sizes], best.prices[marginals]),
    )


def _rows(game: Game, unit: float) -> sp.csr_array:
    """Inequalities ``rows @ unknowns <= 0``: item values, predictor's sizes, marginals below sizes.

    Payoffs are measured in `unit`. The unknowns are, in this order: marginals by size 1 … n - 1 and item,
    sizes 0 … n, the bound w, t by size, u by size and item, the constraints' multipliers.
    """
    n, inner, constraints = game.n, game.n - 1, game.gain.shape[0]
    alpha, beta = (table / unit for table in game.metric.table(n))
    counts = np.arange(n + 1)
    # A whole set is certain to hold any item, so its true positives are known from the sizes alone.
    worth = beta.copy()
    worth[:, n] += counts * alpha[:, n]
    worth[n, :n] += counts[:n] * alpha[n, :n]
    offset = game.offset.T.copy()
    offset[n] += game.gain[:, n] * game.split
    before = (np.arange(n) < game.split).astype(np.float64)[:, None]
    item = np.ones((n, 1))
    inside = sp.csr_array(np.eye(n + 1)[:, 1:n])

    item_rows = [
        sp.kron(alpha[1:n, 1:n], sp.eye_array(n)),
        sp.csr_array((inner * n, n + 2)),
        -sp.kron(sp.eye_array(inner), item),
        -sp.eye_array(inner * n),
        sp.csr_array(np.kron(game.gain[:, 1:n].T, before)),
    ]
    size_rows = [
        sp.csr_array((n + 1, inner * n)),
        sp.csr_array(worth),
        sp.csr_array(-np.ones((n + 1, 1))),
        inside.multiply(counts[1:n]),
        sp.kron(inside, item.T),
        sp.csr_array(offset),
    ]
    box_rows = [
        sp.eye_array(inner * n),
        -sp.kron(inside.T, item),
        sp.csr_array((inner * n, 1 + inner + inner * n + constraints)),
    ]
    return sp.csr_array(sp.vstack([sp.hstack(item_rows), sp.hstack(size_rows), sp.hstack(box_rows)]))


def _equations(game: Game) -> sp.csr_array:
    """Equations of the adversary's marginals, one per size 1 … n - 1, and of its sizes."""
    n, inner = game.n, game.n - 1
    inside = np.eye(n + 1)[1:n]
    rest = 1 + inner + inner * n + game.gain.shape[0]
    sums = [
        sp.kron(sp.eye_array(inner), np.ones((1, n))),
        sp.csr_array(-np.arange(1, n)[:, None] * inside),
        sp.csr_array((inner, rest)),
    ]
    total = np.concatenate((np.zeros(inner * n), np.ones(n + 1), np.zeros(rest)))
    return sp.csr_array(sp.vstack([sp.hstack(sums), sp.csr_array(total[None, :])]))


def _strategy(weights: NDArray[np.float64], marginals: NDArray[np.float64]) -> Strategy:
    """Assemble a strategy from all its sizes and the marginals of those that are not trivial."""
    n = weights.size - 1
    used = np.flatnonzero(weights > TOLERANCE)
    full = np.zeros((n + 1, n))
    full[1:n] = marginals.reshape(n - 1, n)
    full[n] = weights[n]
    return Strategy(used, weights[used], full[used], np.arange(n + 1))
