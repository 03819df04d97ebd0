"""From a game to the restricted game of the interior point method, and back to strategies."""

from __future__ import annotations

from functools import lru_cache

import numba as nb
import numpy as np

from metricfit.game import Game, Strategy
from metricfit.metrics import Metric

from .interior_point import Outcome
from .state import MAX_COLUMNS, Columns, Floats, Ints, Problem

__all__ = ["Tables", "chain_order", "restrict", "tables_at", "to_strategies", "whole_tables"]

Tables = tuple[Floats, Floats, Floats, Floats]
"""alpha and beta, rows for the predictor's sizes, then both transposed."""


def tables_at(metric: Metric, n: int, rows: Ints, columns: Ints) -> Tables:
    """Tables of the metric at these sizes; against the full set (the last column) all is in beta."""
    alpha, beta = metric.coefficients(rows[:, None], columns[None, :], n)
    alpha, beta = alpha.copy(), beta.copy()
    beta[:, -1] += alpha[:, -1] * rows
    alpha[:, -1] = 0.0
    return alpha, beta, np.ascontiguousarray(alpha.T), np.ascontiguousarray(beta.T)


@lru_cache(maxsize=64)
def whole_tables(metric: Metric, n: int) -> tuple[Tables, Ints]:
    """Tables at all sizes, kept for the batch sizes in use, and the sizes themselves."""
    sizes = np.arange(n + 1)
    return tables_at(metric, n, sizes, sizes), sizes


def chain_order(game: Game, blocks: Ints, bonus: float, falling: bool) -> Ints:
    """Order in which the blocks join the chain: by score, with a bonus for positives.

    With a rising metric (alpha above zero) the predictor's best sets take high scores first.
    """
    first = blocks[:-1]
    last = blocks[1:] - 1
    key = 0.5 * (game.scores[first] + game.scores[last])
    key = np.where(first < game.split, key + bonus, key) if game.split < game.n else key
    return np.argsort(key if falling else -key, kind="stable")


def restrict(
    game: Game, blocks: Ints, order: Ints, tables: Tables, rows: Ints, columns: Ints, chain: Ints
) -> Problem:
    """The restricted game on these blocks and sizes.

    Lengths are measured in the average length of a block, which keeps every quantity of the
    interior point method near one whatever the number of items.
    """
    alpha, beta, alpha_t, beta_t = tables
    lengths = np.diff(blocks).astype(np.float64)
    unit = game.n / lengths.size
    count = lengths[order] / unit
    running = np.concatenate((np.zeros(1), np.cumsum(game.scores)))
    score = ((running[blocks[1:]] - running[blocks[:-1]]) / lengths)[order] * unit
    positive = (blocks[:-1] < game.split).astype(np.float64)[order]
    gain = np.ascontiguousarray(game.gain[:, rows]) * unit
    offset = np.ascontiguousarray(game.offset[:, rows])
    hits = np.concatenate((np.zeros(1), np.cumsum(positive * count)))
    if unit != 1.0:
        alpha, alpha_t = alpha * unit, alpha_t * unit
    return Problem(
        alpha,
        beta,
        alpha_t,
        beta_t,
        rows / unit,
        columns / unit,
        count,
        score,
        positive,
        chain,
        gain,
        offset,
        np.ascontiguousarray(gain[:, chain] * hits + offset[:, chain]),
    )


def to_strategies(
    outcome: Outcome, blocks: Ints, order: Ints, rows: Ints, columns: Ints, chain: Ints, spare: float
) -> tuple[Strategy, Strategy]:
    """Both players' strategies in canonical order.

    Sets of the chain with the smallest probabilities, ``spare`` in total, are left out.
    """
    used = outcome.adversary.used[0]
    ranked = np.argsort(outcome.adversary.index[:used])
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
        taken[x + 1] = sizes[columns.index[a]]
        weights[x + 1] = columns.mass[a]
        for i in range(groups):
            marginals[x + 1, order[i]] = columns.inside[a, i]
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
        slot[columns.index[a]] = 0
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
        x = slot[columns.index[a]]
        weights[x] += columns.mass[a]
        for i in range(groups):
            marginals[x, order[i]] += columns.inside[a, i]
    return taken, weights, marginals
