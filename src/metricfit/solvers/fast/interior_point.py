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
of the whole game, and sizes that improve it join :math:`L` and :math:`F`.
"""

from typing import NamedTuple

import numpy as np

from .growth import add_adversary, add_predictor, copy_strategy, drop_columns, pool, restore, split_adversary, tidy
from .newton import Workspace, direction, evaluate, factorise, new_workspace
from .pricing import chain_value, largest, most_promising, price_adversary, price_predictor
from .state import MAX_COLUMNS, Columns, Floats, Ints, Iterate, Problem, inner, kernel, new_columns, new_iterate


class Outcome(NamedTuple):
    """Best strategies met, by columns over the groups, with the bounds they prove."""

    upper: float
    lower: float
    iterations: int
    adversary: Columns
    multiplier: Floats
    predictor: Columns
    chain_mass: Floats


@inner
def start(problem: Problem, it: Iterate, opening: Ints) -> tuple[float, float]:
    """A centred first point: a few sizes near the number of positive scores, a uniform chain."""
    groups = problem.count.shape[0]
    last = problem.adversary_sizes.shape[0] - 1
    largest = 0.0
    positive = 0.0
    total = 0.0
    for i in range(groups):
        largest = max(largest, abs(problem.score[i]))
        total += problem.count[i]
        if problem.score[i] > 0.0:
            positive += problem.count[i]
    middle = 0
    while middle < last and problem.adversary_sizes[middle] < positive:
        middle += 1
    first = max(1, min(middle - 1, last - 3))
    final = min(last - 1, max(middle + 1, 3))
    columns = final - first + 1
    steepest = 0.0
    typical = max(1, min(last - 1, middle))
    for row in range(problem.alpha.shape[0]):
        steepest = max(steepest, abs(problem.alpha[row, min(typical, last)]))
    mass = 1.0 / (columns + 2)
    mu = (min(largest, steepest) + 0.1 * steepest + 0.02 * largest + 1e-12) * mass / total
    for j in range(groups + 1):
        it.chain_mass[j] = 1.0 / (groups + 1)
    for c in range(it.multiplier.shape[0]):
        it.multiplier[c] = 0.1
        it.multiplier_slack[c] = 0.1
    adversary = it.adversary
    adversary.member[0] = True
    adversary.member[last] = True
    for l in range(first, final + 1):
        add_adversary(problem, it, l, mass, mu)
    for b in range(columns):
        scale = mass / adversary.mass[b]
        adversary.mass[b] = mass
        for i in range(groups):
            adversary.inside[b, i] *= scale
            adversary.outside[b, i] *= scale
            adversary.dual_inside[b, i] /= scale
            adversary.dual_outside[b, i] /= scale
    adversary.mass[MAX_COLUMNS] = mass
    adversary.mass[MAX_COLUMNS + 1] = mass
    for row in opening:
        if not it.predictor.member[row]:
            add_predictor(problem, it, row, 0.5 / opening.shape[0], mu)
    return largest + steepest, mu


@inner
def complementarity(problem: Problem, it: Iterate) -> tuple[float, float]:
    """Sum of all complementary products (the duality gap), and how many there are."""
    total = 0.0
    pairs = 0.0
    groups = problem.count.shape[0]
    weight = 0.0
    for i in range(groups):
        weight += problem.count[i]
    for side in range(2):
        columns = it.adversary if side == 0 else it.predictor
        for a in range(columns.used[0]):
            for i in range(groups):
                total += problem.count[i] * (
                    columns.inside[a, i] * columns.dual_inside[a, i]
                    + columns.outside[a, i] * columns.dual_outside[a, i]
                )
            total += columns.mass[a] * columns.dual_mass[a]
            pairs += 2.0 * weight + 1.0
    for b in range(2):
        total += it.adversary.mass[MAX_COLUMNS + b] * it.adversary.dual_mass[MAX_COLUMNS + b]
    for j in range(groups + 1):
        total += it.chain_mass[j] * it.chain_slack[j]
    for c in range(it.multiplier.shape[0]):
        total += it.multiplier[c] * it.multiplier_slack[c]
    return total, pairs + 2.0 + groups + 1.0 + it.multiplier.shape[0]


@inner
def aim_columns(
    columns: Columns,
    inside: Floats,
    outside: Floats,
    mass: Floats,
    step_inside: Floats,
    step: Floats,
    masses: int,
    target: float,
    correct: bool,
) -> None:
    """Complementarity right-hand sides of one player's columns (affine, or corrected)."""
    for a in range(columns.used[0]):
        dm = step[masses + a]
        for i in range(columns.inside.shape[1]):
            if not correct:
                inside[a, i] = -columns.inside[a, i] * columns.dual_inside[a, i]
                outside[a, i] = -columns.outside[a, i] * columns.dual_outside[a, i]
            else:
                dx = step_inside[a, i]
                dy = dm - dx
                dz = (inside[a, i] - columns.dual_inside[a, i] * dx) / columns.inside[a, i]
                dw = (outside[a, i] - columns.dual_outside[a, i] * dy) / columns.outside[a, i]
                inside[a, i] += target - dx * dz
                outside[a, i] += target - dy * dw
        if not correct:
            mass[a] = -columns.mass[a] * columns.dual_mass[a]
        else:
            mass[a] += target - dm * (mass[a] - columns.dual_mass[a] * dm) / columns.mass[a]


@inner
def blocking_columns(
    columns: Columns,
    inside: Floats,
    outside: Floats,
    mass: Floats,
    step_inside: Floats,
    step: Floats,
    masses: int,
) -> tuple[float, float]:
    """Largest relative decrease of the columns' variables and of their duals."""
    own, dual = 1e-12, 1e-12
    for a in range(columns.used[0]):
        dm = step[masses + a]
        for i in range(columns.inside.shape[1]):
            dx = step_inside[a, i]
            dy = dm - dx
            x, y = columns.inside[a, i], columns.outside[a, i]
            own = max(own, max(-dx / x, -dy / y))
            dual = max(dual, (dx - inside[a, i] / columns.dual_inside[a, i]) / x)
            dual = max(dual, (dy - outside[a, i] / columns.dual_outside[a, i]) / y)
        own = max(own, -dm / columns.mass[a])
        dual = max(dual, (dm - mass[a] / columns.dual_mass[a]) / columns.mass[a])
    return own, dual


@inner
def move_columns(
    columns: Columns,
    count: Floats,
    inside: Floats,
    outside: Floats,
    mass: Floats,
    step_inside: Floats,
    step: Floats,
    masses: int,
    own: float,
    dual: float,
    commit: bool,
) -> float:
    """Complementarity after a step of these lengths; takes it if ``commit``."""
    total = 0.0
    for a in range(columns.used[0]):
        dm = step[masses + a]
        for i in range(columns.inside.shape[1]):
            dx = step_inside[a, i]
            dy = dm - dx
            x, y = columns.inside[a, i], columns.outside[a, i]
            z, v = columns.dual_inside[a, i], columns.dual_outside[a, i]
            dz = (inside[a, i] - z * dx) / x
            dv = (outside[a, i] - v * dy) / y
            x += own * dx
            y += own * dy
            z += dual * dz
            v += dual * dv
            total += count[i] * (x * z + y * v)
            if commit:
                columns.inside[a, i] = x
                columns.outside[a, i] = y
                columns.dual_inside[a, i] = z
                columns.dual_outside[a, i] = v
        x = columns.mass[a] + own * dm
        z = columns.dual_mass[a]
        z += dual * (mass[a] - z * dm) / columns.mass[a]
        total += x * z
        if commit:
            columns.mass[a] = x
            columns.dual_mass[a] = z
    return total


@inner
def scalar_step(
    x: float, z: float, dx: float, rhs: float, own: float, dual: float
) -> tuple[float, float]:
    """One complementary pair after a step."""
    return x + own * dx, z + dual * (rhs - z * dx) / x


@inner
def newton_step(problem: Problem, it: Iterate, w: Workspace, mu: float, pairs: float) -> bool:
    """Mehrotra's predictor-corrector step from fresh residuals and factors; False if it broke down."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.count.shape[0]
    constraints = it.multiplier.shape[0]
    masses, levels = f + q, 2 * f + 2 * q + 2
    step = w.step
    target = 0.0
    own, dual = 0.0, 0.0
    for phase in range(2):
        correct = phase == 1
        aim_columns(
            adversary, w.comp_inside, w.comp_outside, w.comp_mass, w.step_inside, step, masses, target, correct
        )
        aim_columns(
            predictor, w.comp_inside_p, w.comp_outside_p, w.comp_mass_p, w.step_predictor, step, 0, target, correct
        )
        for b in range(2):
            end = MAX_COLUMNS + b
            x, z = adversary.mass[end], adversary.dual_mass[end]
            if correct:
                dx = step[masses + q + b]
                w.comp_mass[end] += target - dx * (w.comp_mass[end] - z * dx) / x
            else:
                w.comp_mass[end] = -x * z
        for j in range(groups + 1):
            x, z = it.chain_mass[j], it.chain_slack[j]
            if correct:
                dx = w.step_chain[j]
                w.comp_chain[j] += target - dx * (w.comp_chain[j] - z * dx) / x
            else:
                w.comp_chain[j] = -x * z
        for c in range(constraints):
            x, z = it.multiplier[c], it.multiplier_slack[c]
            if correct:
                dx = step[levels + 2 + c]
                w.comp_multiplier[c] += target - dx * (w.comp_multiplier[c] - z * dx) / x
            else:
                w.comp_multiplier[c] = -x * z
        direction(problem, it, w)

        # The adversary's variables and the predictor's slacks share one step length, and vice versa.
        own, dual = blocking_columns(
            adversary, w.comp_inside, w.comp_outside, w.comp_mass, w.step_inside, step, masses
        )
        own_p, dual_p = blocking_columns(
            predictor, w.comp_inside_p, w.comp_outside_p, w.comp_mass_p, w.step_predictor, step, 0
        )
        own, dual = max(own, dual_p), max(dual, own_p)
        for b in range(2):
            end = MAX_COLUMNS + b
            x, dx = adversary.mass[end], step[masses + q + b]
            own = max(own, -dx / x)
            dual = max(dual, (dx - w.comp_mass[end] / adversary.dual_mass[end]) / x)
        for j in range(groups + 1):
            x, dx = it.chain_mass[j], w.step_chain[j]
            dual = max(dual, -dx / x)
            own = max(own, (dx - w.comp_chain[j] / it.chain_slack[j]) / x)
        for c in range(constraints):
            x, dx = it.multiplier[c], step[levels + 2 + c]
            own = max(own, -dx / x)
            dual = max(dual, (dx - w.comp_multiplier[c] / it.multiplier_slack[c]) / x)
        if not (own < 1e12 and dual < 1e12):
            return False
        fraction = 0.95 if correct else 1.0
        own, dual = min(1.0, fraction / own), min(1.0, fraction / dual)

        after = move_columns(
            adversary,
            problem.count,
            w.comp_inside,
            w.comp_outside,
            w.comp_mass,
            w.step_inside,
            step,
            masses,
            own,
            dual,
            correct,
        )
        after += move_columns(
            predictor,
            problem.count,
            w.comp_inside_p,
            w.comp_outside_p,
            w.comp_mass_p,
            w.step_predictor,
            step,
            0,
            dual,
            own,
            correct,
        )
        for b in range(2):
            end = MAX_COLUMNS + b
            x, z = scalar_step(
                adversary.mass[end],
                adversary.dual_mass[end],
                step[masses + q + b],
                w.comp_mass[end],
                own,
                dual,
            )
            after += x * z
            if correct:
                adversary.mass[end], adversary.dual_mass[end] = x, z
        for j in range(groups + 1):
            x, z = scalar_step(
                it.chain_mass[j], it.chain_slack[j], w.step_chain[j], w.comp_chain[j], dual, own
            )
            after += x * z
            if correct:
                it.chain_mass[j], it.chain_slack[j] = x, z
        for c in range(constraints):
            x, z = scalar_step(
                it.multiplier[c], it.multiplier_slack[c], step[levels + 2 + c], w.comp_multiplier[c], own, dual
            )
            after += x * z
            if correct:
                it.multiplier[c], it.multiplier_slack[c] = x, z
        if not correct:
            ratio = after / (mu * pairs)
            target = mu * min(1.0, max(1e-8, ratio**3))
    prices, prices_p = f, f + 2 * q + 2
    for b in range(q):
        adversary.price[b] += dual * step[prices + b]
    for a in range(f):
        predictor.price[a] += own * step[prices_p + a]
    it.level[0] += dual * step[levels]
    it.level[1] += own * step[levels + 1]
    return True


@kernel
def solve_restricted(
    problem: Problem, opening: Ints, tolerance: float, max_iterations: int, regularisation: float
) -> Outcome:
    """Solve the game on these groups and sizes until its bounds differ by ``tolerance``.

    ``opening`` lists rows of the tables that the predictor has in play from the start; under
    constraints they must make a feasible mixture possible.
    """
    groups = problem.count.shape[0]
    w = new_workspace(groups, problem.gain.shape[0])
    it = new_iterate(problem)
    best = new_iterate(problem)
    adversary, predictor = it.adversary, it.predictor
    constraints = problem.gain.shape[0]
    rows, columns = problem.alpha.shape
    for row in range(rows):
        if problem.predictor_sizes[row] <= 0.0 or row == problem.chain[groups]:
            predictor.member[row] = True
    magnitude, mu = start(problem, it, opening)
    unbalanced = True
    priced = False
    value_k = np.empty(rows)
    value_p = np.empty(rows)
    pooled = new_columns(groups, 1)
    value_l = np.empty(columns)
    upper, lower = np.inf, -np.inf
    aim = 0.5
    iterations = 0
    add_limit = 2 if groups <= 50 else 3
    radius = max(1, columns // 24)
    coarse = max(1, columns // 40)
    while True:
        evaluate(problem, it, w)
        if unbalanced:
            restore(problem, it, w, mu)
            unbalanced = False
            continue
        gap, pairs = complementarity(problem, it)
        if not (0.0 <= gap < 1e15):
            break
        done = iterations >= max_iterations
        if (gap < aim or done) and not priced:
            tidy(problem, it)
            stride = 1 if done or gap < 20.0 * tolerance else coarse
            price_predictor(problem, adversary, it.multiplier, predictor.member, stride, value_k)
            price_adversary(problem, it, stride, value_l)
            inner_k, inner_l = chain_value(problem, adversary, it.multiplier), np.inf
            for row in range(rows):
                if predictor.member[row]:
                    inner_k = max(inner_k, value_k[row])
            for l in range(columns):
                if adversary.member[l]:
                    inner_l = min(inner_l, value_l[l])
            chosen = adversary
            row = largest(value_k)
            best_k = value_k[row]
            needed_k = inner_k + 0.4 * max(inner_k - inner_l, 0.0) + 0.1 * tolerance
            if best_k > inner_k + 0.1 * tolerance:
                pool(problem, adversary, row, pooled)
                price_predictor(problem, pooled, it.multiplier, predictor.member, stride, value_p)
                row = largest(value_p)
                if value_p[row] < best_k:
                    chosen = pooled
                    best_k = value_p[row]
                    if best_k <= needed_k:
                        value_k, value_p = value_p, value_k
            if stride == 1:
                if best_k < upper:
                    upper = best_k
                    copy_strategy(chosen, best.adversary)
                    for c in range(constraints):
                        best.multiplier[c] = it.multiplier[c]
                best_l = np.inf
                for l in range(columns):
                    best_l = min(best_l, value_l[l])
                for c in range(constraints):
                    slack = constraint_slack(problem, it, c)
                    best_l += min(0.0, slack) * (1.0 + 2.0 * it.multiplier[c])
                if best_l > lower:
                    lower = best_l
                    copy_strategy(predictor, best.predictor)
                    for j in range(groups + 1):
                        best.chain_mass[j] = it.chain_mass[j]
                if upper - lower <= tolerance or done:
                    break
            inner = max(inner_k - inner_l, 0.0)
            mass = min(0.1, 3.0 * gap / magnitude)
            mu = gap / pairs
            added = 0
            drop_columns(adversary, gap)
            drop_columns(predictor, gap)
            for l in range(columns):
                value_l[l] = -value_l[l]
            for _ in range(4):
                l = most_promising(value_l, adversary.member, -(inner_l - 0.05 * inner - 0.1 * tolerance), radius)
                if l < 0 or adversary.used[0] == MAX_COLUMNS:
                    break
                if not split_adversary(problem, it, l, mu, 0.05 * mass):
                    add_adversary(problem, it, l, mass, mu)
                added += 1
            for _ in range(6):
                k = most_promising(value_k, predictor.member, needed_k, radius)
                if k < 0 or predictor.used[0] == MAX_COLUMNS:
                    break
                add_predictor(problem, it, k, mass, mu)
                added += 1
            aim = max(0.4 * tolerance, 0.7 * gap)
            unbalanced = added > 0
            priced = True
            continue
        priced = False
        iterations += 1
        factorise(problem, it, w, regularisation)
        if not newton_step(problem, it, w, gap / pairs, pairs):
            break
    return Outcome(
        upper, lower, iterations, best.adversary, best.multiplier, best.predictor, best.chain_mass
    )


@inner
def constraint_slack(problem: Problem, it: Iterate, c: int) -> float:
    """By how much the predictor's mixture satisfies constraint c."""
    slack = 0.0
    for j in range(it.chain_mass.shape[0]):
        slack += it.chain_mass[j] * problem.chain_gain[c, j]
    predictor = it.predictor
    for a in range(predictor.used[0]):
        row = predictor.index[a]
        hits = 0.0
        for i in range(problem.count.shape[0]):
            hits += problem.count[i] * problem.positive[i] * predictor.inside[a, i]
        slack += predictor.mass[a] * problem.offset[c, row] + problem.gain[c, row] * hits
    return slack
