"""From a game to the restricted game of the interior point method, and back to strategies."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numba as nb
import numpy as np

from metricfit.game import Game, Strategy
from metricfit.metrics import Metric

from .interior_point import Outcome
from .state import (
    ALPHA,
    GAIN,
    INSIDE,
    MAX_COLUMNS,
    OFFSET,
    POSITIVE,
    SCORE,
    WEIGHT,
    Columns,
    Floats,
    Ints,
    Problem,
)

__all__ = ["Tables", "chain_order", "restrict", "settle", "tables_at", "to_strategies", "whole_tables"]


class Tables(NamedTuple):
    """Coefficients of the metric at some sizes of the predictor (rows) and the adversary (columns)."""

    tables: Floats  # (2, K, L) alpha and beta
    tables_t: Floats  # (2, L, K)
    reach: float  # no single item can change the metric by more than half of this


def tables_at(metric: Metric, n: int, rows: Ints, columns: Ints) -> Tables:
    """Tables at these sizes. Against the full set, the last column, everything is in beta."""
    k, l = rows[:, None], columns[None, :]
    alpha, beta = metric.coefficients(k, l, n)
    alpha, beta = alpha.copy(), beta.copy()
    fewest, most = beta + alpha * np.maximum(k + l - n, 0), beta + alpha * np.minimum(k, l)
    reach = 2.0 * (max(fewest.max(), most.max()) - min(fewest.min(), most.min()))
    beta[:, -1] += alpha[:, -1] * rows
    alpha[:, -1] = 0.0
    tables = np.stack((alpha, beta))
    return Tables(tables, np.ascontiguousarray(tables.transpose(0, 2, 1)), float(reach))


@lru_cache(maxsize=64)
def whole_tables(metric: Metric, n: int) -> tuple[Tables, Ints]:
    """Tables at all sizes, kept for the batch sizes in use, and the sizes themselves."""
    sizes = np.arange(n + 1)
    return tables_at(metric, n, sizes, sizes), sizes


def chain_order(game: Game, blocks: Ints) -> Ints:
    """Order in which the blocks join the chain: by their middle score, high scores first."""
    if game.split == game.n:
        return np.arange(blocks.size - 1)
    middle = 0.5 * (game.scores[blocks[:-1]] + game.scores[blocks[1:] - 1])
    return np.argsort(-middle, kind="stable")


def restrict(
    game: Game, blocks: Ints, order: Ints, tables: Tables, rows: Ints, columns: Ints, chain: Ints
) -> Problem:
    """Write down the restricted game on these blocks and sizes.

    Lengths are measured in the average length of a block, which keeps every quantity of the
    interior point method near one whatever the number of items. Scores beyond ``tables.reach`` decide
    their items, so they are clipped there, and :func:`settle` rounds those items afterwards.
    """
    whole, whole_t = tables.tables, tables.tables_t
    groups = blocks.size - 1
    unit = game.n / groups
    clipped = np.minimum(np.maximum(game.scores, -tables.reach), tables.reach)
    items = np.empty((3, groups))
    if groups == game.n:
        items[WEIGHT] = 1.0
        items[SCORE] = clipped[order]
    else:
        lengths = np.diff(blocks).astype(np.float64)
        items[WEIGHT] = lengths[order] / unit
        items[SCORE] = (np.add.reduceat(clipped, blocks[:-1]) / lengths)[order] * unit
    items[POSITIVE] = (blocks[:-1] < game.split)[order]
    if game.gain.shape[0] == 0:
        # One constraint-free label for all, and nothing to evaluate along the chain.
        limits, chain_gain = np.empty((2, 0, rows.size)), np.empty((0, rows.size))
    else:
        hits = np.concatenate((np.zeros(1), np.cumsum(items[POSITIVE] * items[WEIGHT])))
        # Indexing has laid several constraints out side by side, and kernels are compiled for rows.
        limits = np.ascontiguousarray(np.stack((game.gain[:, rows] * unit, game.offset[:, rows])))
        chain_gain = np.ascontiguousarray(limits[GAIN][:, chain] * hits + limits[OFFSET][:, chain])
    if unit != 1.0:
        whole, whole_t = whole.copy(), whole_t.copy()
        whole[ALPHA] *= unit
        whole_t[ALPHA] *= unit
    return Problem(
        whole,
        whole_t,
        rows / unit,
        columns / unit,
        items,
        chain,
        limits,
        chain_gain,
    )


def settle(game: Game, reach: float, strategy: Strategy) -> Strategy:
    """Give the adversary every item whose score exceeds ``reach``, and none below ``-reach``.

    The interior point method leaves such items a hair from certain, and a large score makes much of a
    hair. Sizes that cannot hold the decided items are dropped.
    """
    if game.scores.max() <= reach and game.scores.min() >= -reach:
        return strategy
    blocks = strategy.blocks
    low, high = game.scores[blocks[1:] - 1], game.scores[blocks[:-1]]
    taken, left = low > reach, high < -reach
    lengths = np.diff(blocks)
    free = ~(taken | left)
    rest = strategy.sizes - lengths[taken].sum()
    kept = (rest >= 0) & (rest <= lengths[free].sum()) & (strategy.weights > 0.0)
    if not kept.any():
        return strategy
    rest, weights = rest[kept], strategy.weights[kept] / strategy.weights[kept].sum()
    inside = strategy.marginals[kept] / strategy.weights[kept, None]
    inside[:, taken] = 1.0
    inside[:, left] = 0.0
    filled = inside[:, free] @ lengths[free]
    empty = lengths[free].sum() - filled
    for x in range(rest.size):
        if rest[x] >= filled[x]:
            inside[x, free] += (1.0 - inside[x, free]) * ((rest[x] - filled[x]) / max(empty[x], 1e-300))
        else:
            inside[x, free] *= rest[x] / filled[x]
    return Strategy(strategy.sizes[kept], weights, inside * weights[:, None], blocks)


def to_strategies(
    outcome: Outcome, blocks: Ints, order: Ints, rows: Ints, columns: Ints, chain: Ints, spare: float
) -> tuple[Strategy, Strategy]:
    """Both players' strategies in canonical order.

    Sets of the chain with the smallest probabilities, ``spare`` in total, are left out.
    """
    used = outcome.adversary.used[0]
    ranked = np.argsort(outcome.adversary.size_index[:used])
    sizes, weights, marginals = _adversary(outcome.adversary, ranked, order, columns)
    adversary = Strategy(sizes, weights, marginals, blocks)
    sizes, weights, marginals = _predictor(
        outcome.predictor,
        outcome.chain_mass,
        np.argsort(outcome.chain_mass),
        order,
        rows,
        chain,
        spare,
    )
    return adversary, Strategy(sizes, weights, marginals, blocks)


@nb.njit(cache=True, nogil=True)
def _adversary(columns: Columns, ranked: Ints, order: Ints, sizes: Ints) -> tuple[Ints, Floats, Floats]:
    used = columns.used[0]
    groups = order.shape[0]
    taken = np.empty(used + 2, np.int64)
    weights = np.empty(used + 2)
    marginals = np.empty((used + 2, groups))
    taken[0], weights[0] = sizes[0], columns.mass[MAX_COLUMNS]
    for i in range(groups):
        marginals[0, i] = 0.0
        marginals[used + 1, i] = columns.mass[MAX_COLUMNS + 1]
    for x in range(used):
        a = ranked[x]
        taken[x + 1] = sizes[columns.size_index[a]]
        weights[x + 1] = columns.mass[a]
        for i in range(groups):
            marginals[x + 1, order[i]] = columns.marginal[INSIDE, a, i]
    taken[used + 1], weights[used + 1] = sizes[-1], columns.mass[MAX_COLUMNS + 1]
    return taken, weights, marginals


@nb.njit(cache=True, nogil=True)
def _predictor(
    columns: Columns,
    chain_mass: Floats,
    ranked: Ints,
    order: Ints,
    sizes: Ints,
    chain: Ints,
    spare: float,
) -> tuple[Ints, Floats, Floats]:
    groups = order.shape[0]
    kept = chain_mass.copy()
    for j in ranked:
        spare -= chain_mass[j]
        if spare < 0.0:
            break
        kept[j] = 0.0
    slot = np.empty(sizes.shape[0], np.int64)
    for row in range(sizes.shape[0]):
        slot[row] = -1
    for j in range(groups + 1):
        if kept[j] > 0.0:
            slot[chain[j]] = 0
    for a in range(columns.used[0]):
        slot[columns.size_index[a]] = 0
    used = 0
    for row in range(sizes.shape[0]):
        if slot[row] == 0:
            slot[row] = used
            used += 1
    taken = np.empty(used, np.int64)
    weights = np.zeros(used)
    marginals = np.zeros((used, groups))
    for row in range(sizes.shape[0]):
        if slot[row] >= 0:
            taken[slot[row]] = sizes[row]
    for j in range(groups + 1):
        if kept[j] > 0.0:
            x = slot[chain[j]]
            weights[x] += kept[j]
            for i in range(j):
                marginals[x, order[i]] += kept[j]
    for a in range(columns.used[0]):
        x = slot[columns.size_index[a]]
        weights[x] += columns.mass[a]
        for i in range(groups):
            marginals[x, order[i]] += columns.marginal[INSIDE, a, i]
    return taken, weights, marginals
