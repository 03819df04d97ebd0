"""The fast solver: every item on its own in small games, blocks of items in large ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from metricfit import _core
from metricfit.game import Game, Strategy, adversary_values, make_feasible, predictor_values
from metricfit.game.payoff import Payoff
from metricfit.game.tables import tables_at
from metricfit.solving.certificate import better_of, certificate, plain_answer
from metricfit.solving.solution import Answer, has_converged

from .grouping import first_blocks, refined_blocks, sizes_to_try
from .restriction import chain_order, opening_sizes, restrict, whole_setting

__all__ = ["judge_fast", "solve_fast"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SINGLE_ITEMS = 400
"""Up to this many items each is treated on its own; above, in blocks."""

FIRST_BLOCKS = 120
MOST_BLOCKS = 4000

ATTEMPTS = ((1e-6, 1), (1e-8, 4), (1e-4, 4))
"""What is added to the curvature in the Newton step, and how many times ``max_iter`` steps are allowed."""

BROKE_DOWN = "the interior point method broke down"
STALLED = "the interior point method stalled and was run again with more steps and another regularisation"

FIRST_TARGET, SECOND_TARGET = 0.99, 0.1
"""Shares of the tolerance that are aimed at: cleaning takes a little, meeting constraints may take much."""


def solve_fast(game: Game, tol: float, *, max_iter: int = 150) -> Answer:
    r"""Solve a game by an interior point method on a linear program that grows as needed.

    The method is compiled: ``cpp/core/solver.hpp`` states the problem and has the loop, and
    ``cpp/core/elimination.hpp`` says why a step takes time linear in the number of items.

    Parameters
    ----------
    game : Game
    tol : float
        Gap to reach. The solver aims at slightly less, because making the strategies valid takes a part of
        it.
    max_iter : int
        Newton steps of the first attempt. If it misses, others follow with more steps and another
        regularisation; the note of the answer says so.
    """
    if game.n <= SINGLE_ITEMS:
        return _solve_items(game, tol, max_iter)
    return _solve_blocks(game, tol, max_iter)


def judge_fast(
    metric: Payoff, scores: Floats, labels: NDArray[np.bool_], tol: float, *, max_iter: int = 150
) -> tuple[Floats, Floats, Floats]:
    """Make a first attempt at every game of a batch, referee included, in one compiled call.

    It is made at games of up to ``SINGLE_ITEMS`` items; of others nothing is proved.
    :func:`solve_fast` is there for all whose bounds are further apart than ``tol``.

    Parameters
    ----------
    metric : Metric
        Without constraints.
    scores : ndarray, shape (games, n)
        Finite numbers.
    labels : ndarray of bool, shape (games, n)
        Not looked at.
    tol, max_iter
        As for :func:`solve_fast`.

    Returns
    -------
    inclusion : ndarray, shape (games, 2, n)
        The adversary's and the predictor's inclusion probabilities.
    verdict : ndarray, shape (games, 3)
        What they prove: an upper bound of the value, and how far below a lower one is; both infinite if
        there is nothing. Then the iterations.
    multipliers : ndarray, shape (games, 0)

    Examples
    --------
    >>> import metricfit as mf
    >>> rows = np.array([[0.5, -0.5], [2.0, 0.5]])
    >>> inclusion, verdict, _ = judge_fast(mf.accuracy, rows, rows > 0, 1e-4)
    >>> verdict[:, 0].round(2), bool(verdict[:, 1].max() <= 1e-4)
    (array([ 0.5, -1.5]), True)
    """
    games, n = scores.shape
    inclusion, verdict, multipliers = np.empty((games, 2, n)), np.empty((games, 3)), np.zeros((games, 0))
    if n > SINGLE_ITEMS:
        verdict[:] = np.inf, np.inf, 0.0
        return inclusion, verdict, multipliers
    _core.judge(
        whole_setting(metric, n, n),
        scores,
        FIRST_TARGET * tol,
        max_iter,
        ATTEMPTS[0][0],
        *metric.table(n),
        inclusion,
        verdict,
    )
    return inclusion, verdict, multipliers


def _solve_items(game: Game, tol: float, max_iter: int) -> Answer:
    """Keep the best strategy of each player, until they prove a gap of ``tol`` together."""
    setting, blocks = whole_setting(game.metric, game.n, game.split), np.arange(game.n + 1)
    best, iterations, note = None, 0, ""
    for target in (FIRST_TARGET * tol, SECOND_TARGET * tol):
        for regularisation, patience in ATTEMPTS:
            gap, answer = _attempt(game, setting, blocks, target, patience * max_iter, regularisation)
            iterations += answer.iterations
            if np.isfinite(gap):
                found = certificate(game, answer)
                best = found if best is None else better_of(best, found)
                if has_converged(best.gap, tol):
                    return Answer(best.adversary, best.predictor, best.multipliers, iterations, note)
            # Solved, but cleaning the strategies and meeting the constraints took too much.
            if gap <= target:
                break
            note = STALLED
    if best is None:
        return plain_answer(game, iterations, BROKE_DOWN)
    return Answer(best.adversary, best.predictor, best.multipliers, iterations, note)


def _attempt(
    game: Game, setting: _core.Setting, blocks: Ints, target: float, steps: int, regularisation: float
) -> tuple[float, Answer]:
    """Run the interior point method once; return the gap in the restricted game and what has it."""
    gap, iterations, multipliers, adversary, predictor = _core.attempt(
        setting, game.scores, target, steps, regularisation
    )
    return gap, Answer(Strategy(*adversary, blocks), Strategy(*predictor, blocks), multipliers, iterations)


def _attempts(
    game: Game, setting: _core.Setting, blocks: Ints, tol: float, max_iter: int
) -> tuple[float, Answer]:
    """Aim at half the tolerance, with one regularisation after the other; return the best attempt."""
    least, best, iterations, note = np.inf, None, 0, ""
    for regularisation, patience in ATTEMPTS:
        gap, answer = _attempt(game, setting, blocks, 0.5 * tol, patience * max_iter, regularisation)
        iterations += answer.iterations
        if best is None or gap < least:
            least, best = gap, answer
        if gap <= 0.8 * tol:
            break
        note = STALLED
    assert best is not None
    return least, replace(best, iterations=iterations, note=note)


def _solve_blocks(game: Game, tol: float, max_iter: int) -> Answer:
    """Solve on blocks, compute the bounds, refine the blocks that matter, repeat."""
    n = game.n
    reach = tables_at(game.metric, n, *2 * (np.array([0, 1, n // 4, n // 2, n - 1, n]),)).reach
    blocks = first_blocks(game, FIRST_BLOCKS, reach)
    opening = opening_sizes(game)
    near = np.array([np.count_nonzero(game.scores > 0.0)])
    upper, lower, iterations = np.inf, -np.inf, 0
    answer = None
    while True:
        order = chain_order(game, blocks)
        ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.diff(blocks)[order])))
        rows = np.union1d(ends, opening)
        columns = sizes_to_try(n, blocks, near)
        tables = tables_at(game.metric, n, rows, columns)
        chain = np.searchsorted(rows, ends)
        setting = restrict(game, blocks, order, tables, rows, columns, chain, opening)
        # More attempts with blocks that may be refined later would take longer than the refinement.
        gap, found = _attempts(game, setting, blocks, tol, max_iter)
        iterations += found.iterations
        found = replace(found, iterations=iterations)
        if not np.isfinite(gap):
            return answer or plain_answer(game, iterations, BROKE_DOWN)
        adversary = found.adversary
        predictor = make_feasible(game.gain, game.offset, game.split, found.predictor)
        reached = float(predictor_values(game, adversary, found.multipliers).max())
        answers = adversary_values(game, predictor)
        if answer is None:
            answer = replace(found, predictor=predictor)
        if reached < upper:
            upper = reached
            answer = replace(found, predictor=answer.predictor)
        if answers.min() > lower:
            lower = float(answers.min())
            answer = replace(answer, predictor=predictor, iterations=iterations, note=found.note)
        if upper - lower <= tol:
            return answer
        near = np.union1d(near, [*adversary.sizes[adversary.weights > 0.0], answers.argmin()])
        finer = refined_blocks(game, blocks, _indecision(game, blocks, adversary), blocks.size)
        if finer.size > MOST_BLOCKS or finer.size == blocks.size:
            return answer
        blocks = finer


def _indecision(game: Game, blocks: Ints, adversary: Strategy) -> Floats:
    """How much a common marginal for a block may cost: undecided items times their spread of scores."""
    inside, weights = adversary.marginals, adversary.weights[:, None]
    undecided: Floats = np.minimum(inside, weights - inside).sum(axis=0)
    spread: Floats = game.scores[blocks[:-1]] - game.scores[blocks[1:] - 1]
    return undecided * spread * np.diff(blocks)
