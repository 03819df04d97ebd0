"""From scores to strategies in one compiled call, for all games of a batch that have the same size.

This is the only way from Python into the interior point method, which is compiled as a part of it.
"""

from typing import Annotated, NamedTuple

import numba as nb
import numpy as np

from metricfit.game.best_response import small_adversary_values, small_predictor_values, sort_ascending
from metricfit.game.strategy import clean_in_place, inclusion_in_order, tie_averages

from .interior_point import solve_restricted
from .mixtures import adversary_mixture, predictor_mixture, settle
from .state import (
    GAIN,
    OFFSET,
    POSITIVE,
    SCORE,
    WEIGHT,
    Cube,
    Floats,
    Indices,
    Ints,
    Matrix,
    Problem,
    Vector,
    Workspace,
    inner,
    kernel,
)

__all__ = ["Setting", "solve_games"]

Table = Annotated[Floats, nb.types.Array(nb.float64, 2, "C", readonly=True)]
"""A table of the metric, which is read-only."""

SPARE, SPARE_OF_BLOCKS = 0.05, 0.2
"""Shares of the tolerance that the smallest probabilities of the chain may take with them.

The referee of a large game takes time for every size that is left.
"""


class Setting(NamedTuple):
    """A restricted game but for its scores: what games of one size, or several tries at one game, share.

    The names are those of :class:`.state.Problem`. Sizes in numbers of items, and what scores are summed up
    by, come on top.
    """

    tables: Floats
    tables_t: Floats
    predictor_sizes: Floats
    adversary_sizes: Floats
    chain: Ints
    limits: Floats
    chain_gain: Floats
    rows: Ints  # (K,) sizes of the predictor, in items
    columns: Ints  # (L,) sizes of the adversary, in items
    blocks: Ints  # (G + 1,) as of a strategy
    order: Ints  # (G,) in which the blocks join the chain
    split: int  # as of a game
    reach: float  # scores beyond decide their items
    opening: Ints  # rows that the predictor has in play from the start


@inner
def canonical_order(scores: Floats, split: int) -> Ints:
    """Return the order in which scores fall, before the split and after it."""
    order = np.arange(scores.shape[0])
    sort_ascending(-scores, order[:split])
    sort_ascending(-scores, order[split:])
    return order


@inner
def sum_up(scores: Floats, blocks: Ints, order: Ints, split: int, reach: float) -> Floats:
    """Return weight, score and label of every group of items, in the order of the chain.

    Lengths are measured in the average length of a block, which keeps every quantity of the interior point
    method near one whatever the number of items. Scores beyond ``reach`` decide their items, so they are
    clipped there, and :func:`settle` rounds those items afterwards.
    """
    groups = order.shape[0]
    unit = scores.shape[0] / groups
    items = np.empty((3, groups))
    for g in range(groups):
        first, last = blocks[order[g]], blocks[order[g] + 1]
        total = 0.0
        for i in range(first, last):
            total += min(max(scores[i], -reach), reach)
        items[WEIGHT, g] = (last - first) / unit
        items[SCORE, g] = total / (last - first) * unit
        items[POSITIVE, g] = 1.0 if first < split else 0.0
    return items


@kernel
def solve_games(
    tables: Cube,
    tables_t: Cube,
    predictor_sizes: Vector,
    adversary_sizes: Vector,
    chain: Indices,
    limits: Cube,
    chain_gain: Matrix,
    rows: Indices,
    columns: Indices,
    blocks: Indices,
    order: Indices,
    split: int,
    reach: float,
    opening: Indices,
    scores: Matrix,
    tolerance: float,
    max_iterations: int,
    regularisation: float,
    alpha: Table,
    beta: Table,
    inclusion: Cube,
    verdict: Matrix,
    w: Workspace,
) -> tuple[float, float, int, Floats, Ints, Floats, Floats, Ints, Floats, Floats]:
    """Solve games one after the other; have the referee judge those that there is room to write down for.

    Parameters
    ----------
    tables, ..., opening
        The fields of a `Setting`.
    scores : ndarray, shape (games, n)
        As the user has them; under constraints, those of the positives first.
    tolerance, max_iterations, regularisation
        As for :func:`.interior_point.solve_restricted`.
    alpha, beta : ndarray, shape (n + 1, n + 1)
        The metric's own tables, for the referee.
    inclusion : ndarray, shape (judged, 2, n)
        Is filled with both players' inclusion probabilities in the user's order, adversary first.
    verdict : ndarray, shape (judged, 3)
        Is filled with the upper bound of the value and how far the lower one is below, both infinite if the
        method broke down, and iterations. Only games without constraints may be judged here.

    Returns
    -------
    upper, lower, iterations, multipliers
        Of the last game.
    sizes, weights, marginals, sizes, weights, marginals
        Adversary and predictor of the last game, in canonical order.
    """
    n = scores.shape[1]
    canonical = np.empty(n)
    for game in range(scores.shape[0]):
        ranking = canonical_order(scores[game], split)
        for i in range(n):
            canonical[i] = scores[game, ranking[i]]
        problem = Problem(
            tables,
            tables_t,
            predictor_sizes,
            adversary_sizes,
            sum_up(canonical, blocks, order, split, reach),
            chain,
            limits,
            chain_gain,
        )
        outcome = solve_restricted(problem, opening, tolerance, max_iterations, regularisation, w)
        adversary = settle(canonical, blocks, reach, adversary_mixture(outcome.adversary, order, columns))
        spare = (SPARE if order.shape[0] == n else SPARE_OF_BLOCKS) * tolerance
        predictor = predictor_mixture(outcome.predictor, outcome.chain_mass, order, rows, chain, spare)
        if game >= verdict.shape[0]:
            continue
        lower, upper = -np.inf, np.inf
        if clean_in_place(adversary.sizes, adversary.weights, adversary.marginals, blocks):
            marginals, merged = tie_averages(canonical, split, adversary.marginals, blocks)
            inclusion_in_order(marginals, merged, ranking, inclusion[game, 0])
            upper = small_predictor_values(
                alpha,
                beta,
                canonical,
                split,
                adversary.sizes,
                adversary.weights,
                marginals,
                merged,
                outcome.multiplier,
                limits[GAIN],
                limits[OFFSET],
            ).max()
        if clean_in_place(predictor.sizes, predictor.weights, predictor.marginals, blocks):
            marginals, merged = tie_averages(canonical, split, predictor.marginals, blocks)
            inclusion_in_order(marginals, merged, ranking, inclusion[game, 1])
            lower = small_adversary_values(
                alpha, beta, canonical, predictor.sizes, predictor.weights, marginals, merged
            ).min()
        # Rounding may put the bounds in the wrong order by a few units in the last place.
        verdict[game, 0], verdict[game, 1] = upper, max(upper - lower, 0.0)
        verdict[game, 2] = outcome.iterations
    return (
        outcome.upper,
        outcome.lower,
        outcome.iterations,
        outcome.multiplier,
        adversary.sizes,
        adversary.weights,
        adversary.marginals,
        predictor.sizes,
        predictor.weights,
        predictor.marginals,
    )
