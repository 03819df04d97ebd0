r"""Neighbours that the adversary decides alike are one group for a while, and a step takes less time.

Take items in the order of the chain. For column l of the adversary let :math:`c_{il}` be the reduced cost of
item i, the difference of its two duals: positive if sets of this size leave the item out, negative if they
hold it. If the predictor gives neighbours the same probabilities, their reduced costs differ by their scores
only. So nobody loses by treating them alike if no score is further from the mean than the group's *margin*,
the least :math:`|c_{il}|` of any column: every column would decide each of them as it decides the group. Even
in games that need many sizes that holds for about half of the items.

Margins change along the path. Whenever best responses are computed, groups that have become too wide are
split; when columns join, which upsets the iterate anyway, groups are merged as well. The best responses
themselves tell all items apart, so that bounds hold for the game without groups.
"""

import numpy as np

from .parts import part
from .state import (
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    POSITIVE,
    SCORE,
    WEIGHT,
    Columns,
    Floats,
    Grouping,
    Ints,
    Iterate,
    Problem,
    Workspace,
    lean,
)

COSTS = 0.17
"""Share of the duality gap that groups may cost: scores nearer than that belong together, decided or not."""

SPAN = 1.55
"""How many margins the scores of a group may span when it is made; few are as far from their mean."""


@lean
def find_margins(adversary: Columns, groups: int, margin: Floats, apart: Floats) -> None:
    """Compute by how much each group is decided, and whether it is decided otherwise than the one before."""
    for g in range(groups):
        margin[g], apart[g] = np.inf, 0.0
    for b in range(adversary.used[0]):
        inside, outside = adversary.marginal[DUAL_INSIDE, b], adversary.marginal[DUAL_OUTSIDE, b]
        before = inside[0] - outside[0]
        for g in range(groups):
            cost = inside[g] - outside[g]
            margin[g] = min(margin[g], abs(cost))
            if cost * before < 0.0:
                apart[g] = 1.0
            before = cost


@lean
def choose_groups(
    whole: Problem, problem: Problem, grouping: Grouping, margin: Floats, apart: Floats, spare: float
) -> tuple[int, bool]:
    """Write down where new groups begin in ``grouping.coming``; returns how many, and if any was split."""
    scores, labels, begins = whole.items[SCORE], whole.items[POSITIVE], grouping.coming
    count, split = 0, False
    limit = -1.0  # margin of the group being made
    high, low = -np.inf, np.inf  # and what they are
    for g in range(problem.items.shape[1]):
        first, length = grouping.blocks[g], grouping.blocks[g + 1] - grouping.blocks[g]
        own_high, own_low = scores[first], scores[first]
        for i in range(first + 1, first + length):
            own_high, own_low = max(own_high, scores[i]), min(own_low, scores[i])
        own_limit = margin[g] + spare
        alike = apart[g] == 0.0 and labels[first] == labels[max(first - 1, 0)]
        if alike and max(high, own_high) - min(low, own_low) <= SPAN * min(limit, own_limit):
            limit, high, low = min(limit, own_limit), max(high, own_high), min(low, own_low)
            continue
        limit, high, low = own_limit, own_high, own_low
        mean, pieces = problem.items[SCORE, g], 1
        furthest = max(high - mean, mean - low)
        if length > 1 and furthest > limit + spare:
            pieces = int(furthest / limit) + 1 if furthest < limit * length else length
            split, limit = True, -1.0
        for x in range(pieces):
            begins[count] = first + length * x // pieces
            count += 1
    begins[count] = scores.shape[0]
    return count, split


@lean
def regroup_chain(
    whole: Problem, it: Iterate, grouping: Grouping, groups: int, count: int, wide: Floats
) -> None:
    """Have the chain's sets end with the new groups.

    A set that is no more leaves its probability to its neighbours, and a new one gets a little of theirs, in
    shares that keep every group's probability. Its slack is that of its neighbours until it is computed.
    """
    weight = whole.items[WEIGHT]
    for g in range(groups + 1):
        wide[grouping.blocks[g]] = it.chain_slack[g]
    for g in range(groups):
        first, last = grouping.blocks[g], grouping.blocks[g + 1]
        for j in range(first + 1, last):
            wide[j] = min(wide[first], wide[last])
    for g in range(count + 1):
        it.chain_slack[g] = wide[grouping.coming[g]]

    for g in range(groups + 1):
        wide[grouping.blocks[g]] = it.chain_mass[g]
    for g in range(groups):
        first, last = grouping.blocks[g], grouping.blocks[g + 1]
        mass = 0.1 * min(wide[first], wide[last]) / (last - first)
        total, done = 0.0, 0.0
        for i in range(first, last):
            total += weight[i]
        for j in range(first + 1, last):
            done += weight[j - 1]
            wide[j] = mass
            wide[first] -= mass * (1.0 - done / total)
            wide[last] -= mass * (done / total)
    it.chain_mass[0] = wide[0]
    for g in range(count):
        first, last = grouping.coming[g], grouping.coming[g + 1]
        total, done = 0.0, 0.0
        for i in range(first, last):
            total += weight[i]
        it.chain_mass[g + 1] = wide[last]
        for j in range(first + 1, last):
            done += weight[j - 1]
            it.chain_mass[g] += wide[j] * (1.0 - done / total)
            it.chain_mass[g + 1] += wide[j] * (done / total)


@lean
def find_origins(grouping: Grouping, count: int, origin: Ints) -> None:
    """Find the first old group that each new one has items of; last, how many old groups there are.

    A new group is part of an old one, or made of whole ones.
    """
    old = 0
    for g in range(count):
        while grouping.blocks[old + 1] <= grouping.coming[g]:
            old += 1
        origin[g] = old
    while grouping.blocks[old] < grouping.coming[count]:
        old += 1
    origin[count] = old


@lean
def regroup_columns(columns: Columns, weight: Floats, count: int, origin: Ints, old: Floats) -> None:
    """Give parts of an old group its marginals and their duals, and groups made of several the means."""
    for a in range(columns.used[0]):
        for kind in range(columns.marginal.shape[0]):
            row = columns.marginal[kind, a]
            for g in range(weight.shape[0]):
                old[g] = row[g]
            for g in range(count):
                first = origin[g]
                row[g] = old[first]
                if origin[g + 1] > first + 1:
                    total, items = 0.0, 0.0
                    for h in range(first, origin[g + 1]):
                        total += weight[h] * old[h]
                        items += weight[h]
                    row[g] = total / items


@lean
def write_problem(whole: Problem, grouping: Grouping, count: int) -> None:
    """Write down items and chain of the new groups."""
    constraints = whole.limits.shape[1]
    items = grouping.items[: 3 * count].reshape((3, count))
    for g in range(count + 1):
        first = grouping.coming[g]
        grouping.blocks[g] = first
        grouping.chain[g] = whole.chain[first]
        for c in range(constraints):
            grouping.gain[c * (count + 1) + g] = whole.chain_gain[c, first]
    for g in range(count):
        total, score = 0.0, 0.0
        for i in range(grouping.blocks[g], grouping.blocks[g + 1]):
            total += whole.items[WEIGHT, i]
            score += whole.items[WEIGHT, i] * whole.items[SCORE, i]
        items[WEIGHT, g], items[SCORE, g] = total, score / total
        items[POSITIVE, g] = whole.items[POSITIVE, grouping.blocks[g]]


@part
def regroup(
    whole: Problem, problem: Problem, it: Iterate, w: Workspace, grouping: Grouping, gap: float, merge: bool
) -> int:
    """Choose groups anew, and adapt the iterate, of which residuals and slacks are to be restored.

    Parameters
    ----------
    whole, problem : Problem
        Without groups, and as it is grouped now.
    grouping : Grouping
        The groups of ``problem``; is filled with the new ones.
    gap : float
        Duality gap.
    merge : bool
        If not, nothing is done unless a group has to be split.

    Returns
    -------
    int
        How many groups there are, or 0 if nothing was done.
    """
    groups = problem.items.shape[1]
    weight = whole.items[WEIGHT]
    margin, apart, wide = w.scratch[0], w.scratch[1], w.factor[0]
    total = 0.0
    for i in range(weight.shape[0]):
        total += weight[i]
    find_margins(it.adversary, groups, margin, apart)
    count, split = choose_groups(whole, problem, grouping, margin, apart, COSTS * gap / total)
    if not (split or (merge and count < groups)):
        return 0
    regroup_chain(whole, it, grouping, groups, count, wide)
    origin = w.order[0]
    find_origins(grouping, count, origin)
    regroup_columns(it.adversary, problem.items[WEIGHT], count, origin, wide)
    regroup_columns(it.predictor, problem.items[WEIGHT], count, origin, wide)
    write_problem(whole, grouping, count)
    return count


@lean
def on_groups(whole: Problem, grouping: Grouping, count: int) -> Problem:
    """Return the problem on the first ``count`` groups that were written down."""
    constraints = whole.limits.shape[1]
    return Problem(
        whole.tables,
        whole.tables_t,
        whole.predictor_sizes,
        whole.adversary_sizes,
        grouping.items[: 3 * count].reshape((3, count)),
        grouping.chain[: count + 1],
        whole.limits,
        grouping.gain[: constraints * (count + 1)].reshape((constraints, count + 1)),
        0,
    )
