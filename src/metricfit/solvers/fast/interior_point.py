r"""A primal-dual interior point method whose linear program grows while it is being solved.

With sizes :math:`L` in play for the adversary, all chain sets and the sizes :math:`F` for the
predictor, the adversary's problem is

.. math::

    \min_{Q, s, \lambda, \rho} \; & \rho - \sum_{i, l \in L} m_i \psi_i Q_{il} \\
    \text{s.t. } & \sum_{l} \beta_{kl} s_l + \sum_l \alpha_{kl} \sum_{i \in S} m_i Q_{il}
        + \sum_c \lambda_c (g_{ck} |S \cap Y| + o_{ck}) \le \rho
        \quad \text{for } S \text{ in the chain and all } |S| = k \in F, \\
    & 0 \le Q_{il} \le s_l, \quad \sum_i m_i Q_{il} = l s_l, \quad \sum_l s_l = 1, \quad \lambda \ge 0 .

Mehrotra's predictor-corrector follows the central path. Whenever the duality gap has shrunk by a
fixed factor both players' exact best responses over *all* sizes are computed; they bound the value
of the whole game, and sizes that improve it join :math:`L` and :math:`F`. Neighbours that are decided alike
share their unknowns meanwhile (:mod:`.merging`).

How far to go before the next look, what to add and with how much mass, and the numbers of :mod:`.stepping`
and :mod:`.restoring` depend on each other. They were found together, by an evolution strategy on recorded
games other than the benchmark's; changed one by one, the old ones had seemed to be at their best.
"""

import numpy as np

from .blending import blend, mix, mix_chain
from .cleaning import pool, tidy
from .coupling import COARSE
from .elimination import factorise
from .growth import (
    add_adversary,
    add_predictor,
    drop_columns,
    split_column,
)
from .merging import on_groups, regroup
from .newton import evaluate
from .parts import part
from .pinning import pinned, reader
from .pricing import (
    largest,
    largest_outside,
    most_promising,
    price_adversary,
    price_predictor,
)
from .recentring import BACK, approach
from .restoring import restore
from .state import (
    ALPHA,
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    GAIN,
    INSIDE,
    ITEM_SHARE,
    MAX_COLUMNS,
    OFFSET,
    OUTSIDE,
    POSITIVE,
    SCORE,
    WEIGHT,
    Indices,
    Iterate,
    Problem,
    Room,
    Workspace,
    clear,
    lean,
)
from .stepping import newton_step

MANY_COLUMNS = 6
"""From this many of both players on items are grouped."""

problem_at = reader(Problem)

LATE = 17.5
"""From this many tolerances on the best responses of every size are looked at, and many sizes join."""

PATIENCE = 7
"""After so many steps between two looks, where three are the rule, steps become more exact."""

HOLD_BACK = 1.7
"""The duality gap is not closed further than this many tolerances: what is missing then are sizes."""

FIRST_WORTH = 0.15
"""What the predictor's first sizes have to improve, as a share of how far the restricted game is from solved.

With them a step takes three times as long, so that the game had better be solved further without them.
"""


@part
def start(problem: Problem, it: Iterate, w: Workspace, opening: Indices) -> tuple[float, float]:
    """Set up a centred first point: sizes near the number of positive scores, a uniform chain."""
    groups = problem.items.shape[1]
    last = problem.adversary_sizes.shape[0] - 1
    largest = 0.0
    positive = 0.0
    total = 0.0
    for i in range(groups):
        largest = max(largest, abs(problem.items[SCORE, i]))
        total += problem.items[WEIGHT, i]
        if problem.items[SCORE, i] > 0.0:
            positive += problem.items[WEIGHT, i]
    middle = 0
    while middle < last and problem.adversary_sizes[middle] < positive:
        middle += 1
    first = max(1, min(middle - 1, last - 3))
    final = min(last - 1, max(middle + 1, 3))
    # Sets of one item are in the solution of most metrics whose denominator counts positives.
    columns = final - first + (1 if first == 1 else 2)
    steepest = 0.0
    typical = max(1, min(last - 1, middle))
    for row in range(problem.tables.shape[1]):
        steepest = max(steepest, abs(problem.tables[ALPHA, row, min(typical, last)]))
    # The empty and the full set are rarely used, so that a large mass would put them far off the path.
    end = 0.0235 if columns > 0 else 0.5
    mass = (1.0 - 2.0 * end) / columns if columns > 0 else end
    mu = (min(largest, steepest) + 0.165 * steepest + 0.017 * largest + 1e-12) * mass / total
    for j in range(groups + 1):
        it.chain_mass[j] = 1.0 / (groups + 1)
    for c in range(it.multiplier.shape[0]):
        it.multiplier[c] = 0.1
        it.multiplier_slack[c] = 0.1
    adversary = it.adversary
    adversary.member[0] = True
    adversary.member[last] = True
    ones = columns - (final - first + 1)
    for x in range(columns):
        add_adversary(problem, it, w, 1 if x < ones else first + x - ones, mass, mu)
    for b in range(columns):
        scale = mass / adversary.mass[b]
        adversary.mass[b] = mass
        for i in range(groups):
            adversary.marginal[INSIDE, b, i] *= scale
            adversary.marginal[OUTSIDE, b, i] *= scale
            adversary.marginal[DUAL_INSIDE, b, i] /= scale
            adversary.marginal[DUAL_OUTSIDE, b, i] /= scale
    adversary.mass[MAX_COLUMNS] = end
    adversary.mass[MAX_COLUMNS + 1] = end
    for row in opening:
        if not it.predictor.member[row]:
            add_predictor(problem, it, w, row, 0.5 / opening.shape[0], mu)
    return largest + steepest, mu


@lean
def complementarity(problem: Problem, it: Iterate) -> tuple[float, float]:
    """Sum of all complementary products (the duality gap), and how many there are; items count for less."""
    total = 0.0
    pairs = 0.0
    groups = problem.items.shape[1]
    weight = 0.0
    for i in range(groups):
        weight += problem.items[WEIGHT, i]
    for side in range(2):
        columns = it.adversary if side == 0 else it.predictor
        for a in range(columns.used[0]):
            for i in range(groups):
                total += problem.items[WEIGHT, i] * (
                    columns.marginal[INSIDE, a, i] * columns.marginal[DUAL_INSIDE, a, i]
                    + columns.marginal[OUTSIDE, a, i] * columns.marginal[DUAL_OUTSIDE, a, i]
                )
            total += columns.mass[a] * columns.dual_mass[a]
            pairs += 2.0 * ITEM_SHARE * weight + 1.0
    for b in range(2):
        total += it.adversary.mass[MAX_COLUMNS + b] * it.adversary.dual_mass[MAX_COLUMNS + b]
    for j in range(groups + 1):
        total += it.chain_mass[j] * it.chain_slack[j]
    for c in range(it.multiplier.shape[0]):
        total += it.multiplier[c] * it.multiplier_slack[c]
    return total, pairs + 2.0 + groups + 1.0 + it.multiplier.shape[0]


@lean
def constraint_slack(problem: Problem, it: Iterate, c: int) -> float:
    """Compute by how much the predictor's mixture satisfies constraint c."""
    slack = 0.0
    for j in range(problem.items.shape[1] + 1):
        slack += it.chain_mass[j] * problem.chain_gain[c, j]
    predictor = it.predictor
    for a in range(predictor.used[0]):
        row = predictor.size_index[a]
        hits = 0.0
        for i in range(problem.items.shape[1]):
            hits += problem.items[WEIGHT, i] * problem.items[POSITIVE, i] * predictor.marginal[INSIDE, a, i]
        slack += predictor.mass[a] * problem.limits[OFFSET, c, row] + problem.limits[GAIN, c, row] * hits
    return slack


@part
def follow_path(
    problem: Problem,
    room: Room,
    w: Workspace,
    opening: Indices,
    tolerance: float,
    max_iterations: int,
    regularisation: float,
) -> tuple[float, float, int]:
    """Solve the game on these groups and sizes until its bounds differ by ``tolerance``.

    The central path is followed while the linear program grows. ``opening`` lists rows of the tables that the
    predictor has in play from the start; under constraints they must make a feasible mixture possible.

    Returns
    -------
    upper, lower, iterations
        Bounds that the strategies in ``room.best`` prove, which is where they are found.
    """
    groups = problem.items.shape[1]
    it, earlier, best, pooled = room.iterate, room.earlier, room.best, room.pooled
    value_k, value_p, kept_k = room.payoffs_p[0], room.payoffs_p[1], room.payoffs_p[2]
    value_l, kept_l = room.payoffs_a[0], room.payoffs_a[1]
    clear(it)
    clear(best)
    whole, place, blocks = problem, problem.here, room.grouping.blocks
    for g in range(groups + 1):
        blocks[g] = g
    adversary, predictor = it.adversary, it.predictor
    constraints = problem.limits.shape[1]
    rows, columns = problem.tables.shape[1:]
    for row in range(rows):
        if problem.predictor_sizes[row] <= 0.0 or row == problem.chain[groups]:
            predictor.member[row] = True
    magnitude, mu = start(problem, it, w, opening)
    changed, unbalanced, fresh = True, True, False
    priced = False
    centred = False  # is there an earlier iterate with the same columns
    broken = False  # a step that is not taken is the last one
    upper, lower = np.inf, -np.inf
    aim = 0.13
    first_gap = np.inf
    iterations = 0
    coarse = max(1, columns // 22)
    left_aside, since = COARSE, 0
    while True:
        problem = problem_at(place)
        evaluate(problem, it, w, changed, left_aside)
        changed = False
        if unbalanced:
            restore(problem, it, w, mu)
            unbalanced = False
            fresh = True
            continue
        gap, pairs = complementarity(problem, it)
        if not (0.0 <= gap < 1e15):
            break
        if fresh:
            fresh = False
            first_gap = gap
            if gap < LATE * tolerance:
                aim = max(aim, HOLD_BACK * tolerance)
        done = broken or iterations >= max_iterations
        if (gap < aim or done) and not priced:
            tidy(problem, it)
            stride = 1 if done or gap < LATE * tolerance else coarse
            inner_k, score = price_predictor(
                problem, adversary, w, it.multiplier, predictor.member, stride, np.inf, value_k
            )
            inner_l = np.inf
            price_adversary(whole, problem, it, w, blocks, stride, inner_k, value_l)
            for row in range(rows):
                if predictor.member[row]:
                    inner_k = max(inner_k, value_k[row])
            for l in range(columns):
                if adversary.member[l]:
                    inner_l = min(inner_l, value_l[l])
            if inner_k - inner_l > 2.0 * gap:
                # At a feasible point they would differ by no more than the gap: steps left too much aside.
                left_aside *= 0.2
                changed = True
            chosen, earned = adversary, value_k
            row = largest(value_k)
            best_k = value_k[row]
            unsolved = max(inner_k - inner_l, 0.0)
            worth = 0.02 * unsolved + 0.08 * tolerance
            needed_k, needed_l = inner_k + worth, -inner_l + worth
            if predictor.used[0] == 0:
                needed_k += FIRST_WORTH * unsolved
            if best_k > inner_k + 0.1 * tolerance:
                pool(problem, adversary, w, row, pooled)
                # The means of items' gains have no larger sums: what was proved holds but for the scores.
                for row in range(rows):
                    value_p[row] = value_k[row]
                price_predictor(problem, pooled, w, it.multiplier, predictor.member, stride, score, value_p)
                row = largest(value_p)
                if value_p[row] < best_k:
                    chosen, earned = pooled, value_p
                    best_k = value_p[row]
                    if best_k <= needed_k:
                        value_k, value_p = value_p, value_k
            for l in range(columns):
                value_l[l] = -value_l[l]
            if stride == 1:
                known = upper < np.inf
                share = blend(best.adversary, chosen, w, kept_k, earned, 0.0, known, blocks, groups)
                mix(best.multiplier, it.multiplier, share, 0.0)
                upper = kept_k[largest(kept_k)]
                shift = 0.0
                for c in range(constraints):
                    slack = constraint_slack(problem, it, c)
                    shift -= min(0.0, slack) * (1.0 + 2.0 * it.multiplier[c])
                share = blend(best.predictor, predictor, w, kept_l, value_l, shift, known, blocks, groups)
                mix_chain(best.chain_mass, it.chain_mass, share, blocks, groups)
                lower = -kept_l[largest(kept_l)]
                if upper - lower <= tolerance or done:
                    break
            missing = (
                largest_outside(value_l, adversary.member) > needed_l
                or largest_outside(value_k, predictor.member) > needed_k
            )
            if missing and centred:
                approach(it, w, earlier, groups, BACK)
                gap, pairs = complementarity(problem, it)
            outer = best_k + value_l[largest(value_l)]
            mass = min(0.175, 1.6 * gap / magnitude)
            mu = gap / pairs
            added = 0
            dropped = drop_columns(adversary, value_l, -inner_l, gap, groups)
            dropped |= drop_columns(predictor, value_k, inner_k, gap, groups)
            late = gap < LATE * tolerance
            radius = max(1, columns // (29 if late else 11))
            radius_p = max(1, columns // (29 if late else 20))
            for _ in range(10 if late else 2):
                l = most_promising(value_l, adversary.member, needed_l, radius)
                if l < 0 or adversary.used[0] == MAX_COLUMNS:
                    break
                if not split_column(problem, it, w, l, mu, 0.24 * mass, True):
                    add_adversary(problem, it, w, l, mass, mu)
                added += 1
            for _ in range(6 if late else 4):
                k = most_promising(value_k, predictor.member, needed_k, radius_p)
                if k < 0 or predictor.used[0] == MAX_COLUMNS:
                    break
                if not split_column(problem, it, w, k, mu, 0.2 * mass, False):
                    add_predictor(problem, it, w, k, mass, mu)
                added += 1
            aim = max(HOLD_BACK * tolerance, 0.25 * gap)
            unbalanced = added > 0
            if unbalanced:
                # Solved much further, the restricted game would be fitted to the sizes it has.
                aim = max(aim, 0.26 * outer)
            if groups < whole.items.shape[1] or adversary.used[0] + predictor.used[0] >= MANY_COLUMNS:
                count = regroup(whole, problem, it, w, room.grouping, gap, unbalanced)
                if count > 0:
                    groups, unbalanced = count, True
                    place = pinned(on_groups(whole, room.grouping, groups)).here
            centred = centred and not (dropped or unbalanced)
            changed = changed or dropped or unbalanced
            priced = True
            since = 0
            continue
        priced = False
        if not centred and gap < 0.52 * first_gap:
            approach(earlier, w, it, groups, 1.0)
            centred = True
        iterations += 1
        since += 1
        if since == PATIENCE:
            left_aside, since, changed = 0.1 * left_aside, 0, True
        factorise(problem, it, w, regularisation)
        broken = not newton_step(problem, it, w, gap / pairs, pairs)
    return upper, lower, iterations
