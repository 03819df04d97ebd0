r"""Making every linear equation hold again after new columns have joined.

A column of size :math:`k` has a price :math:`p` and for each item two duals with :math:`z_i - w_i = v_i - p`,
where :math:`v_i` is what the item is worth; its own dual is what is left of the player's level after
:math:`k p + \sum_i w_i`. When the other player's columns change, so do the :math:`v_i`. The column then takes
the price that is central for the new values, and of the items' duals only their differences are kept: what
both have above zero is as on the central path. Last, the level is lifted until the duals of all columns and
of all sets of the chain are positive, and that lift is what the duality gap grows by.
"""

import numpy as np

from .growth import central_price
from .parts import part
from .state import (
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    INSIDE,
    ITEM_SHARE,
    MAX_COLUMNS,
    MISSING,
    OUTSIDE,
    RESIDUAL_CHAIN,
    WEIGHT,
    Columns,
    Floats,
    Iterate,
    Problem,
    Workspace,
    lean,
)

ROOM = 7.4
"""How many times its share of the duality gap a column may lift the level by.

On the central path the duals of rare columns are large, their items' taken together larger than the gap.
One such column would lift the level, and the products of all others, by a multiple of it.
"""


@lean
def balance(
    columns: Columns, a: int, change: Floats, count: Floats, size: float, mu: float, scratch: Floats
) -> float:
    """Adapt a column's price and its items' duals to new values; returns how much its own dual grows."""
    items = count.shape[0]
    inside, outside = columns.marginal[INSIDE, a], columns.marginal[OUTSIDE, a]
    dual_inside, dual_outside = columns.marginal[DUAL_INSIDE, a], columns.marginal[DUAL_OUTSIDE, a]
    value, per_larger = scratch[0], scratch[1]
    total, slack = 0.0, 0.0
    for i in range(items):
        value[i] = dual_inside[i] - dual_outside[i] + change[i]
        per_larger[i] = 1.0 / max(inside[i], outside[i])
        total += count[i]
        slack += count[i] * per_larger[i]
    share = ITEM_SHARE * mu
    price = central_price(value, count, size, columns.mass[a], share, 0.0, 0.01)
    columns.price[a] -= price
    room = ROOM * mu * (1.0 + 2.0 * ITEM_SHARE * total)
    share = min(share, room / slack)
    growth = size * price
    for i in range(items):
        above = share * per_larger[i]
        before = dual_outside[i]
        dual_inside[i] = max(value[i] - price, 0.0) + above
        dual_outside[i] = max(price - value[i], 0.0) + above
        growth -= count[i] * (dual_outside[i] - before)
    return growth


@lean
def spread(columns: Columns, a: int, total: float, mu: float, groups: int) -> None:
    """Give what a column's dual has above the central path to its items."""
    excess = (columns.dual_mass[a] - mu / columns.mass[a]) / (total + 1.0)
    if excess > 0.0:
        columns.dual_mass[a] -= excess * total
        for i in range(groups):
            columns.marginal[DUAL_INSIDE, a, i] += excess
            columns.marginal[DUAL_OUTSIDE, a, i] += excess


@part
def restore(problem: Problem, it: Iterate, w: Workspace, mu: float) -> None:
    """Adapt prices and duals until every linear equation holds; ``w`` holds fresh residuals."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.items.shape[1]
    count = problem.items[WEIGHT]
    total = 0.0
    for i in range(groups):
        total += count[i]

    lift = -np.inf
    for b in range(q + 2):
        slot = b if b < q else MAX_COLUMNS + b - q
        slack = w.residual_border[f + q + b] + adversary.dual_mass[slot]
        if b < q:
            change = w.adversary[MISSING, b]
            for i in range(groups):
                change[i] = -change[i]
            size = problem.adversary_sizes[adversary.size_index[b]]
            slack += balance(adversary, b, change, count, size, mu, w.scratch)
        floor = adversary.dual_mass[slot] if adversary.dual_mass[slot] > 0.0 else mu / adversary.mass[slot]
        lift = max(lift, 0.115 * floor - slack)
        adversary.dual_mass[slot] = slack
    it.level[0] += lift
    for b in range(q):
        adversary.dual_mass[b] += lift
        spread(adversary, b, total, mu, groups)
    adversary.dual_mass[MAX_COLUMNS] += lift
    adversary.dual_mass[MAX_COLUMNS + 1] += lift

    lift = -np.inf
    for j in range(groups + 1):
        slack = it.chain_slack[j] - w.along[RESIDUAL_CHAIN, j]
        floor = it.chain_slack[j] if it.chain_slack[j] > 0.0 else mu / it.chain_mass[j]
        lift = max(lift, 0.115 * floor - slack)
        it.chain_slack[j] = slack
    for a in range(f):
        size = problem.predictor_sizes[predictor.size_index[a]]
        slack = predictor.dual_mass[a] - w.residual_border[a]
        slack += balance(predictor, a, w.predictor[MISSING, a], count, size, mu, w.scratch)
        floor = predictor.dual_mass[a] if predictor.dual_mass[a] > 0.0 else mu / predictor.mass[a]
        lift = max(lift, 0.115 * floor - slack)
        predictor.dual_mass[a] = slack
    it.level[1] += lift
    for j in range(groups + 1):
        it.chain_slack[j] += lift
    for a in range(f):
        predictor.dual_mass[a] += lift
        spread(predictor, a, total, mu, groups)
