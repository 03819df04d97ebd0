"""Exact best responses of both players to the current strategies, for every size.

They bound the value of the restricted game from both sides and say which sizes to add.
"""

import numpy as np

from .border import subtract_rows
from .parts import part
from .state import (
    ALPHA,
    BETA,
    GAIN,
    INSIDE,
    MAX_COLUMNS,
    OFFSET,
    POSITIVE,
    SCORE,
    WEIGHT,
    ZERO,
    Columns,
    Flags,
    Floats,
    Indices,
    Ints,
    Iterate,
    Marks,
    Problem,
    Vector,
    Workspace,
    lean,
)


@lean
def smallest_sum(value: Floats, count: Floats, order: Ints, size: float) -> tuple[float, int, float]:
    """Least total of ``size`` items, where group g offers ``count[g]`` items of ``value[g]``.

    ``order`` is sorted by value on return; starting from the order of the last size saves work. Returned as
    well: the place in it where ``size`` is reached, and how many items come before.
    """
    groups = count.shape[0]
    descents = 0
    for a in range(1, groups):
        if value[order[a - 1]] > value[order[a]]:
            descents += 1
    # Insertion sort is linear on what is nearly sorted; Shell's wider strides come first otherwise.
    stride = 1
    if 8 * descents > groups:
        while 3 * stride < groups:
            stride = 3 * stride + 1
    while stride > 0:
        for a in range(stride, groups):
            current = order[a]
            x = value[current]
            b = a - stride
            while b >= 0 and value[order[b]] > x:
                order[b + stride] = order[b]
                b -= stride
            order[b + stride] = current
        stride //= 3
    total, before = 0.0, 0.0
    place = 0
    while place < groups - 1 and before + count[order[place]] < size:
        total += count[order[place]] * value[order[place]]
        before += count[order[place]]
        place += 1
    return total + (size - before) * value[order[place]], place, before


@lean
def smallest_sum_bound(
    value: Floats, count: Floats, order: Ints, size: float, place: int, before: float
) -> tuple[float, int, float]:
    r"""Return a lower bound of :func:`smallest_sum`, without sorting.

    By duality the least total is

    .. math:: \max_\lambda \; \mathrm{size} \cdot \lambda
              + \sum_g \mathrm{count}_g \min(\mathrm{value}_g - \lambda, 0),

    reached where ``size`` items are below the level. An order in which values rose a few sizes ago tells a
    level that is nearly that. The place in it is looked for from that of a smaller size on.
    """
    groups = count.shape[0]
    while place < groups - 1 and before + count[order[place]] <= size:
        before += count[order[place]]
        place += 1
    level = value[order[place]]
    total: float = size * level
    for g in range(groups):
        total += count[g] * min(value[g] - level, 0.0)
    return total, place, before


@part
def price_adversary(
    whole: Problem,
    problem: Problem,
    it: Iterate,
    w: Workspace,
    blocks: Indices,
    stride: int,
    bar: float,
    value: Vector,
) -> None:
    """``value[l]``: payoff if the adversary answers the predictor with its best set of size l.

    Only every ``stride``-th size and those in play are looked at; the others are set to infinity. Of a size
    that is not in play and surely has no payoff below ``bar`` or those in play, a lower bound will do.
    """
    predictor = it.predictor
    groups = problem.items.shape[1]
    sizes = problem.adversary_sizes.shape[0]
    f = predictor.used[0]
    # The adversary may tell items apart that the predictor treats alike.
    count = whole.items[WEIGHT]
    cost, factor, order, group = w.scratch[0], w.factor[0], w.order[0], w.order[1]
    apart = groups < count.shape[0]
    own, change = w.scratch[1] if apart else cost, w.scratch[2]
    for g in range(groups):
        for i in range(blocks[g], blocks[g + 1]):
            order[i] = i
            group[i] = g
            change[i] = problem.items[SCORE, g] - whole.items[SCORE, i]
    place, before = ZERO, 0.0
    for l in range(sizes):
        if l % stride != 0 and not it.adversary.member[l]:
            value[l] = np.inf
            continue
        running = 0.0
        total = it.chain_mass[0] * problem.tables_t[BETA, l, problem.chain[0]]
        for i in range(groups - 1, -1, -1):
            mass = it.chain_mass[i + 1]
            row = problem.chain[i + 1]
            running += mass * problem.tables_t[ALPHA, l, row]
            total += mass * problem.tables_t[BETA, l, row]
            cost[i] = running - problem.items[SCORE, i]
        for a in range(f):
            row = predictor.size_index[a]
            total += predictor.mass[a] * problem.tables_t[BETA, l, row]
            factor[a] = -problem.tables_t[ALPHA, l, row]
        subtract_rows(cost, factor, predictor.marginal[INSIDE], f, ZERO, groups)
        if l == sizes - 1:
            for i in range(groups):
                total -= problem.items[WEIGHT, i] * problem.items[SCORE, i]
        elif l > 0:
            size = problem.adversary_sizes[l]
            if apart:
                for i in range(count.shape[0]):
                    own[i] = cost[group[i]] + change[i]
            least, place, before = smallest_sum_bound(own, count, order, size, place, before)
            if total + least < bar or it.adversary.member[l]:
                least, place, before = smallest_sum(own, count, order, size)
            total += least
        value[l] = total
        if it.adversary.member[l]:
            bar = min(bar, total)


@lean
def chosen_score(problem: Problem, adversary: Columns) -> float:
    """Compute the expected sum of the scores that the adversary chooses."""
    total = 0.0
    for i in range(problem.items.shape[1]):
        chosen = adversary.mass[MAX_COLUMNS + 1]
        for b in range(adversary.used[0]):
            chosen += adversary.marginal[INSIDE, b, i]
        total += problem.items[WEIGHT, i] * problem.items[SCORE, i] * chosen
    return total


@lean
def chain_value(problem: Problem, adversary: Columns, w: Workspace, multiplier: Floats) -> float:
    """Find the best payoff among the sets of the chain but for the scores, against the current adversary."""
    q = adversary.used[0]
    last = problem.adversary_sizes.shape[0] - 1
    groups = problem.items.shape[1]
    running = w.running[0]
    for b in range(q):
        running[b] = 0.0
    best = -np.inf
    for j in range(groups + 1):
        row = problem.chain[j]
        value = problem.tables[BETA, row, 0] * adversary.mass[MAX_COLUMNS]
        value += problem.tables[BETA, row, last] * adversary.mass[MAX_COLUMNS + 1]
        for b in range(q):
            column = adversary.size_index[b]
            if j > 0:
                running[b] += problem.items[WEIGHT, j - 1] * adversary.marginal[INSIDE, b, j - 1]
            value += problem.tables[BETA, row, column] * adversary.mass[b]
            value += problem.tables[ALPHA, row, column] * running[b]
        for c in range(multiplier.shape[0]):
            value += multiplier[c] * problem.chain_gain[c, j]
        best = max(best, value)
    return best


@part
def price_predictor(
    problem: Problem,
    adversary: Columns,
    w: Workspace,
    multiplier: Vector,
    member: Marks,
    stride: int,
    known: float,
    value: Vector,
) -> tuple[float, float]:
    """``value[k]``: payoff if the predictor answers the adversary with its best set of size k.

    Only every ``stride``-th size and those in play are looked at; the others are set to -infinity. Of a size
    that surely has no payoff above those of the chain or in play, an upper bound will do.
    If ``known`` is finite, ``value`` holds bounds already, but for scores whose sum was ``known``.

    Returns
    -------
    best, score
        The best payoff among the sets of the chain, and the expected sum of the scores that are chosen.
    """
    groups = problem.items.shape[1]
    q = adversary.used[0]
    last = problem.adversary_sizes.shape[0] - 1
    score = chosen_score(problem, adversary)
    best = chain_value(problem, adversary, w, multiplier) - score
    bar = best
    loss, factor, count, order = w.scratch[0], w.factor[0], problem.items[WEIGHT], w.order[0]
    for i in range(groups):
        order[i] = i
    place, before = ZERO, 0.0
    for row in range(problem.tables.shape[1]):
        if row % stride != 0 and not member[row]:
            value[row] = -np.inf
            continue
        value[row] = value[row] + known - score if known < np.inf else np.inf
        if value[row] <= bar and not member[row]:
            continue
        total = -score
        total += problem.tables[BETA, row, 0] * adversary.mass[MAX_COLUMNS]
        total += problem.tables[BETA, row, last] * adversary.mass[MAX_COLUMNS + 1]
        bonus = 0.0
        for c in range(multiplier.shape[0]):
            bonus += multiplier[c] * problem.limits[GAIN, c, row]
            total += multiplier[c] * problem.limits[OFFSET, c, row]
        for i in range(groups):
            loss[i] = -bonus * problem.items[POSITIVE, i]
        for b in range(q):
            column = adversary.size_index[b]
            total += problem.tables[BETA, row, column] * adversary.mass[b]
            factor[b] = problem.tables[ALPHA, row, column]
        subtract_rows(loss, factor, adversary.marginal[INSIDE], q, ZERO, groups)
        size = problem.predictor_sizes[row]
        if size > 0.0:
            least, place, before = smallest_sum_bound(loss, count, order, size, place, before)
            if total - least > bar:
                least, place, before = smallest_sum(loss, count, order, size)
            total -= least
        value[row] = total
        if member[row]:
            bar = max(bar, total)
    return best, score


@lean
def largest(value: Floats) -> int:
    """Index of the largest entry."""
    best = 0
    for x in range(1, value.shape[0]):
        if value[x] > value[best]:
            best = x
    return best


@lean
def largest_outside(value: Floats, member: Flags) -> float:
    """Largest value of a size that is not in play."""
    best = -np.inf
    for x in range(value.shape[0]):
        if not member[x]:
            best = max(best, value[x])
    return best


@lean
def most_promising(value: Floats, member: Flags, threshold: float, radius: int) -> int:
    """Index of the largest value above the threshold among sizes not in play, or -1.

    Its neighbourhood in ``value`` is struck out, so that the next call looks elsewhere: adjacent
    sizes improve the game by nearly the same amount, and one of them is enough for now.
    """
    best = -1
    for x in range(value.shape[0]):
        if not member[x] and value[x] > threshold:
            threshold = value[x]
            best = x
    if best >= 0:
        for x in range(max(0, best - radius), min(value.shape[0], best + radius + 1)):
            value[x] = -np.inf
    return best
