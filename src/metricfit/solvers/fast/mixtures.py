"""From the columns of the interior point method back to mixtures over sets."""

from typing import NamedTuple

import numpy as np

from metricfit.game.best_response import sort_ascending

from .state import INSIDE, MAX_COLUMNS, Columns, Floats, Ints, inner

__all__ = ["Mixture", "adversary_mixture", "predictor_mixture", "settle"]


class Mixture(NamedTuple):
    """The arrays of a :class:`metricfit.game.Strategy`, whose blocks are those of the restricted game."""

    sizes: Ints
    weights: Floats
    marginals: Floats


@inner
def ranked(keys: Floats) -> Ints:
    """Return the order in which the keys rise."""
    order = np.empty(keys.shape[0], np.int64)
    for x in range(keys.shape[0]):
        order[x] = x
    sort_ascending(keys, order)
    return order


@inner
def adversary_mixture(columns: Columns, order: Ints, sizes: Ints) -> Mixture:
    """Return the adversary's mixture in canonical order."""
    used = columns.used[0]
    groups = order.shape[0]
    taken = np.empty(used + 2, np.int64)
    weights = np.empty(used + 2)
    marginals = np.empty((used + 2, groups))
    taken[0], weights[0] = sizes[0], columns.mass[MAX_COLUMNS]
    for i in range(groups):
        marginals[0, i] = 0.0
        marginals[used + 1, i] = columns.mass[MAX_COLUMNS + 1]
    by_size = ranked(columns.size_index[:used].astype(np.float64))
    for x in range(used):
        a = by_size[x]
        taken[x + 1] = sizes[columns.size_index[a]]
        weights[x + 1] = columns.mass[a]
        for i in range(groups):
            marginals[x + 1, order[i]] = columns.marginal[INSIDE, a, i]
    taken[used + 1], weights[used + 1] = sizes[sizes.shape[0] - 1], columns.mass[MAX_COLUMNS + 1]
    return Mixture(taken, weights, marginals)


@inner
def predictor_mixture(
    columns: Columns, chain_mass: Floats, order: Ints, sizes: Ints, chain: Ints, spare: float
) -> Mixture:
    """Return the predictor's mixture in canonical order.

    Sets of the chain with the smallest probabilities, ``spare`` in total, are left out.
    """
    groups = order.shape[0]
    kept = chain_mass.copy()
    for j in ranked(chain_mass):
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
    return Mixture(taken, weights, marginals)


@inner
def settle(scores: Floats, blocks: Ints, reach: float, mixture: Mixture) -> Mixture:
    """Give the adversary every item whose score exceeds ``reach``, and none below ``-reach``.

    The interior point method leaves such items a hair from certain, and a large score makes much of a
    hair. Sizes that cannot hold the decided items are dropped.
    """
    width = blocks.shape[0] - 1
    sizes, weights, marginals = mixture
    decided = np.zeros(width, np.int64)  # 1 for blocks that are taken, -1 for those that are left
    taken, free = 0, blocks[width]
    for b in range(width):
        if scores[blocks[b + 1] - 1] > reach:
            decided[b] = 1
            taken += blocks[b + 1] - blocks[b]
        elif scores[blocks[b]] < -reach:
            decided[b] = -1
        if decided[b] != 0:
            free -= blocks[b + 1] - blocks[b]
    kept, total = 0, 0.0
    for j in range(sizes.shape[0]):
        if 0 <= sizes[j] - taken <= free and weights[j] > 0.0:
            kept += 1
            total += weights[j]
    if free == blocks[width] or kept == 0:
        return mixture
    result = Mixture(np.empty(kept, np.int64), np.empty(kept), np.empty((kept, width)))
    x = 0
    for j in range(sizes.shape[0]):
        rest = sizes[j] - taken
        if not (0 <= rest <= free and weights[j] > 0.0):
            continue
        filled = 0.0
        for b in range(width):
            if decided[b] == 0:
                filled += marginals[j, b] / weights[j] * (blocks[b + 1] - blocks[b])
        weight = weights[j] / total
        for b in range(width):
            inside = marginals[j, b] / weights[j]
            if decided[b] != 0:
                inside = 1.0 if decided[b] > 0 else 0.0
            elif rest >= filled:
                inside += (1.0 - inside) * ((rest - filled) / max(free - filled, 1e-300))
            else:
                inside *= rest / filled
            result.marginals[x, b] = inside * weight
        result.sizes[x], result.weights[x] = sizes[j], weight
        x += 1
    return result
