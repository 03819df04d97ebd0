"""Bringing new sizes into play without leaving the interior, and taking useless ones out.

A new column gets a little mass, spread over the items as on the central path, or much of its neighbours'.
What it upsets is put right by :mod:`.restoring`.
"""

import numpy as np

from .parts import part
from .state import (
    ALPHA,
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    GAIN,
    INSIDE,
    ITEM_SHARE,
    MAX_COLUMNS,
    OUTSIDE,
    POSITIVE,
    SCORE,
    WEIGHT,
    Columns,
    Floats,
    Iterate,
    Problem,
    Workspace,
    lean,
)


@lean
def central_price(
    value: Floats, count: Floats, size: float, mass: float, mu: float, guess: float, precision: float
) -> float:
    r"""Return the price at which a column of this mass is on the central path of its items' values.

    There the share x of each item solves :math:`\mu / x - \mu / (1 - x) = \mathrm{mass} (\mathrm{value} -
    \mathrm{price})`, and the shares, as many as each counts, sum up to ``size``. With the right-hand side
    divided by :math:`\mu` as c and :math:`r = \sqrt{c^2 + 4}`,

    .. math:: 1 - 2 x = \frac{c}{2 + r}, \qquad \frac{dx}{dc} = - \frac{1}{r (2 + r)},

    so that a step of Newton's method takes one division per item. The search ends at a relative precision of
    the sum, and starts at the guess, if that is between the bounds. Those are right for sizes of one and
    more. Smaller ones, which there are where items come in blocks, get the lowest price and shares that are
    too large: with the right ones some games of 1000 items take four times as long.
    """
    sharpness = mass / mu
    low, high, total = value[0], value[0], 0.0
    for i in range(count.shape[0]):
        low, high = min(low, value[i]), max(high, value[i])
        total += count[i]
    low -= (total + 2.0) / sharpness
    high += (total + 2.0) / sharpness
    price = guess if low < guess < high else 0.5 * (low + high)
    for _ in range(100):
        tilt, slope = 0.0, 0.0
        for i in range(count.shape[0]):
            c = (value[i] - price) * sharpness
            root = np.sqrt(c * c + 4.0)
            change = count[i] / (root * (2.0 + root))
            tilt += c * root * change
            slope += change
        missing = size - 0.5 * (total - tilt)
        if abs(missing) <= precision * size:
            break
        if missing < 0.0:
            high = price
        else:
            low = price
        price += missing / (slope * sharpness + 1e-300)
        if not (low < price < high):
            price = 0.5 * (low + high)
    return float(price)


@lean
def open_column(
    columns: Columns,
    index: int,
    value: Floats,
    count: Floats,
    size: float,
    mass: float,
    mu: float,
    share: Floats,
) -> float:
    """Put a column of this mass into play; returns its central price, and fills in the items' shares."""
    a = columns.used[0]
    mu *= ITEM_SHARE
    price = central_price(value, count, size, mass, mu, np.inf, 1e-3)
    for i in range(count.shape[0]):
        c = (value[i] - price) * (mass / mu)
        # The smaller of share and 1 - share keeps its digits.
        smaller = 2.0 / (abs(c) + 2.0 + np.sqrt(c * c + 4.0))
        share[i] = smaller if c >= 0.0 else 1.0 - smaller
        columns.marginal[INSIDE, a, i] = mass * share[i]
        columns.marginal[OUTSIDE, a, i] = mass * (1.0 - share[i])
        columns.marginal[DUAL_INSIDE, a, i] = mu / columns.marginal[INSIDE, a, i]
        columns.marginal[DUAL_OUTSIDE, a, i] = mu / columns.marginal[OUTSIDE, a, i]
    columns.mass[a] = mass
    columns.dual_mass[a] = 0.0
    columns.size_index[a] = index
    columns.member[index] = True
    columns.used[0] = a + 1
    return price


@lean
def dilute(columns: Columns, factor: float, groups: int) -> None:
    """Scale a player's columns to make room for a new one."""
    for a in range(columns.used[0]):
        columns.mass[a] *= factor
        for i in range(groups):
            columns.marginal[INSIDE, a, i] *= factor
            columns.marginal[OUTSIDE, a, i] *= factor
    columns.mass[MAX_COLUMNS] *= factor
    columns.mass[MAX_COLUMNS + 1] *= factor


@lean
def item_costs(problem: Problem, it: Iterate, column: int, cost: Floats) -> None:
    """Compute what each item costs the adversary in a set of this size, against the predictor."""
    groups = problem.items.shape[1]
    running = 0.0
    for i in range(groups - 1, -1, -1):
        running += it.chain_mass[i + 1] * problem.tables_t[ALPHA, column, problem.chain[i + 1]]
        cost[i] = running - problem.items[SCORE, i]
    for a in range(it.predictor.used[0]):
        alpha = problem.tables_t[ALPHA, column, it.predictor.size_index[a]]
        for i in range(groups):
            cost[i] += alpha * it.predictor.marginal[INSIDE, a, i]


@part
def add_adversary(problem: Problem, it: Iterate, w: Workspace, column: int, mass: float, mu: float) -> None:
    """Let the adversary play sets of this size too."""
    dilute(it.adversary, 1.0 - mass, problem.items.shape[1])
    cost = w.scratch[0]
    item_costs(problem, it, column, cost)
    size = problem.adversary_sizes[column]
    price = open_column(it.adversary, column, cost, problem.items[WEIGHT], size, mass, mu, w.scratch[1])
    it.adversary.price[it.adversary.used[0] - 1] = -price


@lean
def item_losses(problem: Problem, it: Iterate, row: int, loss: Floats) -> None:
    """Compute minus what each item earns the predictor in a set of this size, against the adversary."""
    groups = problem.items.shape[1]
    bonus = 0.0
    for c in range(it.multiplier.shape[0]):
        bonus += it.multiplier[c] * problem.limits[GAIN, c, row]
    for i in range(groups):
        loss[i] = -bonus * problem.items[POSITIVE, i]
    for b in range(it.adversary.used[0]):
        alpha = problem.tables[ALPHA, row, it.adversary.size_index[b]]
        for i in range(groups):
            loss[i] -= alpha * it.adversary.marginal[INSIDE, b, i]


@part
def split_column(
    problem: Problem, it: Iterate, w: Workspace, index: int, mu: float, least: float, of_adversary: bool
) -> bool:
    """Let a player use sets of this size too, in place of sets a little smaller and larger.

    The new column interpolates between its neighbours among the sizes in play, whose masses shrink
    accordingly: every item keeps its probability, and since the tables are smooth in the size,
    the payoffs hardly change. False if the neighbours are too rare to give ``least`` mass.
    """
    columns = it.adversary if of_adversary else it.predictor
    sizes = problem.adversary_sizes if of_adversary else problem.predictor_sizes
    used = columns.used[0]
    size = sizes[index]
    below, above = -1, -1
    for b in range(used):
        other = sizes[columns.size_index[b]]
        if other < size and (below < 0 or other > sizes[columns.size_index[below]]):
            below = b
        if other > size and (above < 0 or other < sizes[columns.size_index[above]]):
            above = b
    if below < 0 or above < 0:
        return False
    low = sizes[columns.size_index[below]]
    share = (size - low) / (sizes[columns.size_index[above]] - low)
    mass = 0.42 * min(columns.mass[below] / (1.0 - share), columns.mass[above] / share)
    if mass < least:
        return False
    from_below = mass * (1.0 - share) / columns.mass[below]
    from_above = mass * share / columns.mass[above]
    price = (1.0 - share) * columns.price[below] + share * columns.price[above]
    value = w.scratch[0]
    if of_adversary:
        item_costs(problem, it, index, value)
    else:
        item_losses(problem, it, index, value)
    for i in range(problem.items.shape[1]):
        inside = (
            from_below * columns.marginal[INSIDE, below, i] + from_above * columns.marginal[INSIDE, above, i]
        )
        outside = (
            from_below * columns.marginal[OUTSIDE, below, i]
            + from_above * columns.marginal[OUTSIDE, above, i]
        )
        columns.marginal[INSIDE, below, i] *= 1.0 - from_below
        columns.marginal[OUTSIDE, below, i] *= 1.0 - from_below
        columns.marginal[INSIDE, above, i] *= 1.0 - from_above
        columns.marginal[OUTSIDE, above, i] *= 1.0 - from_above
        slack = ITEM_SHARE * min(mu / inside, mu / outside)
        columns.marginal[INSIDE, used, i] = inside
        columns.marginal[OUTSIDE, used, i] = outside
        columns.marginal[DUAL_INSIDE, used, i] = max(value[i] + price, 0.0) + slack
        columns.marginal[DUAL_OUTSIDE, used, i] = max(-value[i] - price, 0.0) + slack
    columns.mass[below] *= 1.0 - from_below
    columns.mass[above] *= 1.0 - from_above
    columns.mass[used] = mass
    columns.dual_mass[used] = 0.0
    columns.price[used] = price
    columns.size_index[used] = index
    columns.member[index] = True
    columns.used[0] = used + 1
    return True


@lean
def nearby(problem: Problem, it: Iterate, row: int, share: Floats) -> tuple[int, int]:
    """Fill in how much of the chain's sets near this size makes sets of this size on average.

    It is half of their probability on one side, and on the other as much as balances it. Returns the first
    and the last of them.
    """
    groups = problem.items.shape[1]
    size = problem.predictor_sizes[row]
    place = 0
    while place < groups and problem.predictor_sizes[problem.chain[place]] < size:
        place += 1
    wide = max(2, groups // 8)
    first, last = max(1, place - wide), min(groups - 1, place + wide)
    below, above = 0.0, 0.0
    for j in range(first, last + 1):
        distance = problem.predictor_sizes[problem.chain[j]] - size
        share[j] = distance
        if distance < 0.0:
            below -= it.chain_mass[j] * distance
        else:
            above += it.chain_mass[j] * distance
    low = min(1.0, above / below) if below > 0.0 else 0.0
    high = min(1.0, below / above) if above > 0.0 else 0.0
    for j in range(first, last + 1):
        factor = low if share[j] < 0.0 else high if share[j] > 0.0 else 1.0
        share[j] = 0.5 * factor * it.chain_mass[j]
    return first, last


@part
def add_predictor(problem: Problem, it: Iterate, w: Workspace, row: int, mass: float, mu: float) -> None:
    """Let the predictor play all sets of this size, not only the chain's.

    The new column gets a little of everything, spread as on the central path, and most of its mass from the
    chain's sets of about its size: what items are worth to the adversary hardly changes by that.
    """
    predictor = it.predictor
    groups = problem.items.shape[1]
    loss, share, moved = w.scratch[0], w.scratch[1], w.factor[0]
    mass *= 0.39
    dilute(predictor, 1.0 - mass, groups)
    for j in range(groups + 1):
        it.chain_mass[j] *= 1.0 - mass
    first, last = nearby(problem, it, row, moved)
    taken = 0.0
    for j in range(first, last + 1):
        taken += moved[j]
    item_losses(problem, it, row, loss)
    size, total = problem.predictor_sizes[row], mass + taken
    price = open_column(predictor, row, loss, problem.items[WEIGHT], size, total, mu, share)
    a = predictor.used[0] - 1
    predictor.price[a] = -price
    inside, outside = predictor.marginal[INSIDE, a], predictor.marginal[OUTSIDE, a]
    for j in range(first, last + 1):
        it.chain_mass[j] -= moved[j]
    running = 0.0
    for i in range(groups - 1, -1, -1):
        if first <= i + 1 <= last:
            running += moved[i + 1]
        inside[i] = mass * share[i] + running
        outside[i] = mass * (1.0 - share[i]) + max(taken - running, 0.0)
        excess = loss[i] - price
        slack = ITEM_SHARE * min(mu / inside[i], mu / outside[i])
        predictor.marginal[DUAL_INSIDE, a, i] = max(excess, 0.0) + slack
        predictor.marginal[DUAL_OUTSIDE, a, i] = max(-excess, 0.0) + slack


@lean
def drop_columns(columns: Columns, gain: Floats, level: float, gap: float, groups: int) -> bool:
    """Take sizes out of play that no near-optimal strategy uses; whether there were any.

    A column whose best set gains less than ``level`` by some amount has at most mass ``gap`` over that amount
    in any solution. Its mass is missing until the next step, so that only little may go. A size that had to
    join again stays: there are games that would drop and miss the same sizes in turn for ever.
    """
    used = columns.used[0]
    kept = 0
    for a in range(used):
        size = columns.size_index[a]
        useless = level - gain[size] > 15.0 * gap and columns.mass[a] < min(0.0125, gap)
        if useless and not columns.dropped[size]:
            columns.member[size], columns.dropped[size] = False, True
            continue
        if kept < a:
            for i in range(groups):
                columns.marginal[INSIDE, kept, i] = columns.marginal[INSIDE, a, i]
                columns.marginal[OUTSIDE, kept, i] = columns.marginal[OUTSIDE, a, i]
                columns.marginal[DUAL_INSIDE, kept, i] = columns.marginal[DUAL_INSIDE, a, i]
                columns.marginal[DUAL_OUTSIDE, kept, i] = columns.marginal[DUAL_OUTSIDE, a, i]
            columns.mass[kept] = columns.mass[a]
            columns.dual_mass[kept] = columns.dual_mass[a]
            columns.price[kept] = columns.price[a]
            columns.size_index[kept] = columns.size_index[a]
        kept += 1
    columns.used[0] = kept
    return bool(kept < used)
