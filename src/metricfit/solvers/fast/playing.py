"""From scores to strategies in one compiled call, for all games of a batch that have the same size.

This is the only way from Python into the interior point method, which is compiled as a part of it.
"""

from typing import Annotated, NamedTuple

import numba as nb
import numpy as np

from metricfit.game.best_response import small_adversary_values, small_predictor_values, sort_ascending
from metricfit.game.strategy import clean_in_place, inclusion_in_order, tie_averages

from .interior_point import follow_path
from .mixtures import Mixture, adversary_mixture, predictor_mixture, settle
from .pinning import pinned, reader
from .state import (
    GAIN,
    OFFSET,
    POSITIVE,
    SCORE,
    WEIGHT,
    Cube,
    Floats,
    IndexRows,
    Indices,
    Ints,
    Matrix,
    Problem,
    Room,
    Vector,
    Workspace,
    inner,
    kernel,
)

__all__ = ["Setting", "solve_games"]

Table = Annotated[Floats, nb.types.Array(nb.float64, 2, "C", readonly=True)]
"""A table of the metric, which is read-only."""

SPARE, SPARE_OF_BLOCKS = 0.01, 0.2
"""Shares of the tolerance that the smallest probabilities of the chain may take with them.

The referee of a large game takes time for every size that is left.
"""


class Setting(NamedTuple):
    """A restricted game but for its scores: what games of one size, or several tries at one game, share.

    The names are those of :class:`.state.Problem`. Sizes in numbers of items, and what scores are summed up
    by, come on top.
    """

    tables: Cube
    tables_t: Cube
    predictor_sizes: Vector
    adversary_sizes: Vector
    chain: Indices
    limits: Cube
    rows: Indices  # (K,) sizes of the predictor, in items
    columns: Indices  # (L,) sizes of the adversary, in items
    blocks: Indices  # (G + 1,) as of a strategy
    order: Indices  # (G,) in which the blocks join the chain; if empty, that of falling scores
    split: int  # as of a game
    reach: float  # scores beyond decide their items
    opening: Indices  # rows that the predictor has in play from the start
    here: int


setting_at, room_at, workspace_at = reader(Setting), reader(Room, "best"), reader(Workspace, "parts")


@inner
def canonical_order(scores: Floats, split: int) -> Ints:
    """Return the order in which scores fall, before the split and after it."""
    order = np.empty(scores.shape[0], np.int64)
    falling = np.empty(scores.shape[0])
    for i in range(scores.shape[0]):
        order[i] = i
        falling[i] = -scores[i]
    sort_ascending(falling, order[:split])
    sort_ascending(falling, order[split:])
    return order


@inner
def span(values: Floats) -> tuple[float, float]:
    """Return bounds of the values, which are infinite if one is not a number and so proves nothing.

    They are the smallest and the largest; to compile NumPy's own takes longer than to solve a game.
    """
    smallest, largest = np.inf, -np.inf
    for x in range(values.shape[0]):
        if np.isnan(values[x]):
            return -np.inf, np.inf
        smallest, largest = min(smallest, values[x]), max(largest, values[x])
    return smallest, largest


@inner
def chain_gains(limits: Floats, chain: Ints, blocks: Ints, order: Ints, split: int, unit: float) -> Floats:
    """Return the value of every constraint for the sets of the chain."""
    sets, constraints = chain.shape[0], limits.shape[1]
    gains = np.empty((constraints, sets))
    hits = 0.0
    for j in range(sets):
        for c in range(constraints):
            gains[c, j] = limits[GAIN, c, chain[j]] * hits + limits[OFFSET, c, chain[j]]
        if j < sets - 1 and blocks[order[j]] < split:
            hits += (blocks[order[j] + 1] - blocks[order[j]]) / unit
    return gains


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


@inner
def write_down(mixture: Mixture, sizes: Ints, weights: Floats, marginals: Floats) -> None:
    """Copy a mixture into arrays that are large enough."""
    for x in range(mixture.sizes.shape[0]):
        sizes[x], weights[x] = mixture.sizes[x], mixture.weights[x]
        for b in range(mixture.marginals.shape[1]):
            marginals[x, b] = mixture.marginals[x, b]


@kernel
def solve_games(
    setting_address: int,
    scores: Matrix,
    tolerance: float,
    max_iterations: int,
    regularisation: float,
    alpha: Table,
    beta: Table,
    inclusion: Cube,
    verdict: Matrix,
    multipliers: Vector,
    sizes: IndexRows,
    weights: Matrix,
    marginals: Cube,
    room_address: int,
    workspace_address: int,
) -> tuple[float, float, int, int, int]:
    """Solve games one after the other; have the referee judge those that there is room to write down for.

    It returns numbers only and fills arrays it is given: to return an array, Numba calls Python, and an
    interrupt that came while the games were played would be raised there, where nothing expects it.

    Parameters
    ----------
    setting_address, room_address, workspace_address : int
        Where a `Setting`, a `Room` and a `Workspace` are held.
    scores : ndarray, shape (games, n)
        As the user has them; under constraints, those of the positives first.
    tolerance, max_iterations, regularisation
        As for :func:`.interior_point.follow_path`.
    alpha, beta : ndarray, shape (n + 1, n + 1)
        The metric's own tables, for the referee.
    inclusion : ndarray, shape (judged, 2, n)
        Is filled with both players' inclusion probabilities in the user's order, adversary first.
    verdict : ndarray, shape (judged, 3)
        Is filled with the upper bound of the value and how far the lower one is below, both infinite if the
        method broke down, and iterations. Only games without constraints may be judged here.
    multipliers, sizes, weights, marginals : ndarray, shapes (C,), (2, m), (2, m) and (2, m, G)
        If m is not 0, they are filled with how the last game ended: adversary first, in canonical order.

    Returns
    -------
    upper, lower, iterations
        Of the last game.
    taken, taken_p
        How many sizes of the adversary and of the predictor there are in it.
    """
    setting, room, w = setting_at(setting_address), room_at(room_address), workspace_at(workspace_address)
    best = room.best
    chain, blocks, split = setting.chain, setting.blocks, setting.split
    n = scores.shape[1]
    canonical = np.empty(n)
    for game in range(scores.shape[0]):
        ranking = canonical_order(scores[game], split)
        for i in range(n):
            canonical[i] = scores[game, ranking[i]]
        order = setting.order if setting.order.shape[0] > 0 else canonical_order(canonical, n)
        problem = Problem(
            setting.tables,
            setting.tables_t,
            setting.predictor_sizes,
            setting.adversary_sizes,
            sum_up(canonical, blocks, order, split, setting.reach),
            chain,
            setting.limits,
            chain_gains(setting.limits, chain, blocks, order, split, n / order.shape[0]),
            0,
        )
        proved_upper, proved_lower, iterations = follow_path(
            pinned(problem), room, w, setting.opening, tolerance, max_iterations, regularisation
        )
        mixture = adversary_mixture(best.adversary, order, setting.columns)
        adversary = settle(canonical, blocks, setting.reach, mixture)
        spare = (SPARE if order.shape[0] == n else SPARE_OF_BLOCKS) * tolerance
        predictor = predictor_mixture(best.predictor, best.chain_mass, order, setting.rows, chain, spare)
        if game >= verdict.shape[0]:
            continue
        lower, upper = -np.inf, np.inf
        if clean_in_place(adversary.sizes, adversary.weights, adversary.marginals, blocks):
            averaged, merged = tie_averages(canonical, split, adversary.marginals, blocks)
            inclusion_in_order(averaged, merged, ranking, inclusion[game, 0])
            _, upper = span(
                small_predictor_values(
                    alpha,
                    beta,
                    canonical,
                    split,
                    adversary.sizes,
                    adversary.weights,
                    averaged,
                    merged,
                    best.multiplier,
                    setting.limits[GAIN],
                    setting.limits[OFFSET],
                )
            )
        if clean_in_place(predictor.sizes, predictor.weights, predictor.marginals, blocks):
            averaged, merged = tie_averages(canonical, split, predictor.marginals, blocks)
            inclusion_in_order(averaged, merged, ranking, inclusion[game, 1])
            lower, _ = span(
                small_adversary_values(
                    alpha, beta, canonical, predictor.sizes, predictor.weights, averaged, merged
                )
            )
        # As they are: who called allows for rounding, and for nothing beyond it.
        verdict[game, 0], verdict[game, 1] = upper, upper - lower
        verdict[game, 2] = iterations
    if sizes.shape[1] > 0:
        write_down(adversary, sizes[0], weights[0], marginals[0])
        write_down(predictor, sizes[1], weights[1], marginals[1])
        for c in range(multipliers.shape[0]):
            multipliers[c] = best.multiplier[c]
    taken, taken_p = adversary.sizes.shape[0], predictor.sizes.shape[0]
    return proved_upper, proved_lower, iterations, taken, taken_p
