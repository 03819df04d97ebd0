r"""One predictor-corrector step of Mehrotra: targets, step lengths, and the move itself.

With many columns in play, where factors are dear and solves are cheap, a corrector of Gondzio's follows.

Every variable :math:`x > 0` has a dual :math:`z > 0`, and the step is to bring :math:`x z` to a target. With
the right-hand side kept as :math:`c = (\text{target} - x z - \Delta x \Delta z) / x`, the dual moves by
:math:`\Delta z = c - z \Delta x / x`. Without target and correction :math:`c = -z`, so that both relative
changes follow from :math:`t = \Delta x / x`: they are :math:`t` and :math:`-1 - t`.
"""

import numpy as np

from .newton import direction
from .parts import part
from .state import (
    COMP_CHAIN,
    COMP_INSIDE,
    COMP_OUTSIDE,
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    INSIDE,
    ITEM_SHARE,
    MAX_COLUMNS,
    OUTSIDE,
    PER_INSIDE,
    PER_OUTSIDE,
    STEP,
    STEP_CHAIN,
    WEIGHT,
    Columns,
    Floats,
    Iterate,
    Problem,
    Workspace,
    lean,
)

MOST_CORRECTED = 4.5
"""Largest correction of a product, in units of the product itself.

Where the affine step would overshoot many times, its second-order term says nothing about the step that will
be taken, and would hold up all the others.
"""


MANY_COLUMNS = 9
"""From this many on a third solve with the same factors is worth its time."""

FAR = 16.0
"""A product this many times larger or smaller than its target is to come nearer."""


@lean
def aim(x: Floats, z: Floats, dx: Floats, comp: Floats, target: float, correct: bool) -> None:
    """Right-hand sides of single pairs: affine, or corrected by what the affine step ``dx`` did."""
    for j in range(x.shape[0]):
        if correct:
            t = dx[j] / x[j]
            comp[j] = target / x[j] + z[j] * (min((1.0 + t) * t, MOST_CORRECTED) - 1.0)
        else:
            comp[j] = -z[j]


@lean
def nearer(product: float, target: float) -> float:
    """Return by how much a product that is far off its target is to change."""
    if product < target / FAR:
        return target / FAR - product
    return max(min(FAR * target - product, 0.0), -FAR * target)


@lean
def centre(x: Floats, z: Floats, dx: Floats, comp: Floats, target: float, own: float, dual: float) -> None:
    """Correct right-hand sides of single pairs by what a step of these lengths would leave far off."""
    for j in range(x.shape[0]):
        after = (x[j] + own * dx[j]) * (z[j] + dual * (comp[j] - z[j] * dx[j] / x[j]))
        comp[j] += nearer(after, target) / x[j]


@lean
def reach(x: Floats, z: Floats, dx: Floats, comp: Floats) -> tuple[float, float]:
    """Largest relative decrease of single variables and of their duals."""
    own, dual = 1e-12, 1e-12
    for j in range(x.shape[0]):
        t = dx[j] / x[j]
        own = max(own, -t)
        dual = max(dual, t - comp[j] / z[j])
    return own, dual


@lean
def move(x: Floats, z: Floats, dx: Floats, comp: Floats, own: float, dual: float, commit: bool) -> float:
    """Complementarity of single pairs after a step of these lengths; takes it if ``commit``."""
    total = 0.0
    for j in range(x.shape[0]):
        after = x[j] + own * dx[j]
        dual_after = z[j] + dual * (comp[j] - z[j] * dx[j] / x[j])
        total += after * dual_after
        if commit:
            x[j] = after
            z[j] = dual_after
    return total


@lean
def aim_columns(
    columns: Columns, side: Floats, groups: int, step_mass: Floats, target: float, correct: bool
) -> None:
    """Right-hand sides of one player's marginals."""
    target *= ITEM_SHARE
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(groups):
            z, v = columns.marginal[DUAL_INSIDE, a, i], columns.marginal[DUAL_OUTSIDE, a, i]
            if correct:
                px, py = side[PER_INSIDE, a, i], side[PER_OUTSIDE, a, i]
                t, u = side[STEP, a, i] * px, (dm - side[STEP, a, i]) * py
                side[COMP_INSIDE, a, i] = target * px + z * (min((1.0 + t) * t, MOST_CORRECTED) - 1.0)
                side[COMP_OUTSIDE, a, i] = target * py + v * (min((1.0 + u) * u, MOST_CORRECTED) - 1.0)
            else:
                side[COMP_INSIDE, a, i] = -z
                side[COMP_OUTSIDE, a, i] = -v


@lean
def centre_columns(
    columns: Columns, side: Floats, groups: int, step_mass: Floats, target: float, own: float, dual: float
) -> None:
    """Correct right-hand sides of one player's marginals likewise."""
    target *= ITEM_SHARE
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(groups):
            dx = side[STEP, a, i]
            px, py = side[PER_INSIDE, a, i], side[PER_OUTSIDE, a, i]
            z, v = columns.marginal[DUAL_INSIDE, a, i], columns.marginal[DUAL_OUTSIDE, a, i]
            x, y = (
                columns.marginal[INSIDE, a, i] + own * dx,
                columns.marginal[OUTSIDE, a, i] + own * (dm - dx),
            )
            z += dual * (side[COMP_INSIDE, a, i] - z * dx * px)
            v += dual * (side[COMP_OUTSIDE, a, i] - v * (dm - dx) * py)
            side[COMP_INSIDE, a, i] += nearer(x * z, target) * px
            side[COMP_OUTSIDE, a, i] += nearer(y * v, target) * py


@lean
def reach_columns(
    columns: Columns, side: Floats, groups: int, step_mass: Floats, correct: bool, scratch: Floats
) -> tuple[float, float]:
    """Largest relative decrease of one player's marginals and of their duals.

    First of each group on its own: unlike that of a single maximum, such a loop is vectorised.
    """
    most, most_dual = scratch[0], scratch[1]
    for i in range(groups):
        most[i], most_dual[i] = 1e-12, 1e-12
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(groups):
            t = side[STEP, a, i] * side[PER_INSIDE, a, i]
            u = (dm - side[STEP, a, i]) * side[PER_OUTSIDE, a, i]
            least = t if t < u else u
            most[i] = -least if -least > most[i] else most[i]
            if correct:
                z, v = columns.marginal[DUAL_INSIDE, a, i], columns.marginal[DUAL_OUTSIDE, a, i]
                per = 1.0 / (z * v)  # one division for two
                t -= side[COMP_INSIDE, a, i] * v * per
                u -= side[COMP_OUTSIDE, a, i] * z * per
            else:
                t += 1.0
                u += 1.0
            largest = t if t > u else u
            most_dual[i] = largest if largest > most_dual[i] else most_dual[i]
    own, dual = 1e-12, 1e-12
    for i in range(groups):
        own, dual = max(own, most[i]), max(dual, most_dual[i])
    return own, dual


@lean
def affine_gap(
    columns: Columns, side: Floats, step_mass: Floats, weight: Floats, own: float, dual: float
) -> float:
    """Complementarity of one player's marginals after an affine step of these lengths."""
    total = 0.0
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(weight.shape[0]):
            t = side[STEP, a, i] * side[PER_INSIDE, a, i]
            u = (dm - side[STEP, a, i]) * side[PER_OUTSIDE, a, i]
            inside = columns.marginal[INSIDE, a, i] * columns.marginal[DUAL_INSIDE, a, i]
            outside = columns.marginal[OUTSIDE, a, i] * columns.marginal[DUAL_OUTSIDE, a, i]
            inside *= (1.0 + own * t) * (1.0 - dual * (1.0 + t))
            outside *= (1.0 + own * u) * (1.0 - dual * (1.0 + u))
            total += weight[i] * (inside + outside)
    return total


@lean
def move_columns(
    columns: Columns, side: Floats, groups: int, step_mass: Floats, own: float, dual: float
) -> None:
    """Take the step."""
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(groups):
            dx = side[STEP, a, i]
            dy = dm - dx
            z, v = columns.marginal[DUAL_INSIDE, a, i], columns.marginal[DUAL_OUTSIDE, a, i]
            z += dual * (side[COMP_INSIDE, a, i] - z * dx * side[PER_INSIDE, a, i])
            v += dual * (side[COMP_OUTSIDE, a, i] - v * dy * side[PER_OUTSIDE, a, i])
            columns.marginal[DUAL_INSIDE, a, i] = z
            columns.marginal[DUAL_OUTSIDE, a, i] = v
            columns.marginal[INSIDE, a, i] += own * dx
            columns.marginal[OUTSIDE, a, i] += own * dy


@part
def newton_step(problem: Problem, it: Iterate, w: Workspace, mu: float, pairs: float) -> bool:
    """Take a predictor-corrector step from fresh residuals and factors; False if it broke down."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    masses, levels = f + q, 2 * f + 2 * q + 2
    groups = problem.items.shape[1]
    step, weight = w.step, problem.items[WEIGHT]
    step_mass, step_end, step_mass_p = step[masses : masses + q], step[masses + q : masses + q + 2], step[:f]
    step_multiplier = step[levels + 2 : levels + 2 + it.multiplier.shape[0]]
    sets = groups + 1
    chain_mass, chain_slack = it.chain_mass[:sets], it.chain_slack[:sets]
    step_chain, comp_chain = w.along[STEP_CHAIN][:sets], w.along[COMP_CHAIN][:sets]
    mass, dual_mass, comp_mass = adversary.mass[:q], adversary.dual_mass[:q], w.comp_mass[:q]
    mass_p, dual_mass_p, comp_mass_p = predictor.mass[:f], predictor.dual_mass[:f], w.comp_mass_p[:f]
    end, dual_end = adversary.mass[MAX_COLUMNS:], adversary.dual_mass[MAX_COLUMNS:]
    comp_end = w.comp_mass[MAX_COLUMNS:]
    target, own, dual, reached = 0.0, 0.0, 0.0, 0.0
    phase, last = 0, 1 if q + f < MANY_COLUMNS else 2
    while True:
        correct = phase > 0
        if phase < 2:
            aim_columns(adversary, w.adversary, groups, step_mass, target, correct)
            aim_columns(predictor, w.predictor, groups, step_mass_p, target, correct)
            aim(mass, dual_mass, step_mass, comp_mass, target, correct)
            aim(mass_p, dual_mass_p, step_mass_p, comp_mass_p, target, correct)
            aim(end, dual_end, step_end, comp_end, target, correct)
            aim(chain_mass, chain_slack, step_chain, comp_chain, target, correct)
            aim(it.multiplier, it.multiplier_slack, step_multiplier, w.comp_multiplier, target, correct)
        else:
            own, dual = min(1.0, 1.65 * own + 0.25), min(1.0, 1.65 * dual + 0.25)
            centre_columns(adversary, w.adversary, groups, step_mass, target, own, dual)
            centre_columns(predictor, w.predictor, groups, step_mass_p, target, dual, own)
            centre(mass, dual_mass, step_mass, comp_mass, target, own, dual)
            centre(mass_p, dual_mass_p, step_mass_p, comp_mass_p, target, dual, own)
            centre(end, dual_end, step_end, comp_end, target, own, dual)
            centre(chain_mass, chain_slack, step_chain, comp_chain, target, dual, own)
            centre(it.multiplier, it.multiplier_slack, step_multiplier, w.comp_multiplier, target, own, dual)
        direction(problem, it, w)

        # The adversary's variables and the predictor's slacks share one step length, and vice versa.
        own, dual = reach_columns(adversary, w.adversary, groups, step_mass, correct, w.scratch)
        dual_2, own_2 = reach_columns(predictor, w.predictor, groups, step_mass_p, correct, w.scratch)
        own, dual = max(own, own_2), max(dual, dual_2)
        own_2, dual_2 = reach(mass, dual_mass, step_mass, comp_mass)
        own, dual = max(own, own_2), max(dual, dual_2)
        dual_2, own_2 = reach(mass_p, dual_mass_p, step_mass_p, comp_mass_p)
        own, dual = max(own, own_2), max(dual, dual_2)
        own_2, dual_2 = reach(end, dual_end, step_end, comp_end)
        own, dual = max(own, own_2), max(dual, dual_2)
        dual_2, own_2 = reach(chain_mass, chain_slack, step_chain, comp_chain)
        own, dual = max(own, own_2), max(dual, dual_2)
        own_2, dual_2 = reach(it.multiplier, it.multiplier_slack, step_multiplier, w.comp_multiplier)
        own, dual = max(own, own_2), max(dual, dual_2)
        # Unknowns that are not numbers do not show in a maximum, but in a sum.
        total = 0.0
        for x in range(levels + 2):
            total += step[x]
        broken = not (own < 1e12 and dual < 1e12 and abs(total) < np.inf)
        if broken and phase < 2:
            return False
        fraction = 0.9935 if correct else 1.0
        own, dual = min(1.0, fraction / own), min(1.0, fraction / dual)
        if phase == 2 and (broken or own + dual < 0.5 * reached):
            phase, last, target = 0, 1, 0.0  # all over again without it
            continue
        if phase == 1 and last == 2 and 0.05 < min(own, dual) < 0.9:
            phase, reached = 2, own + dual
            continue

        after = move(mass, dual_mass, step_mass, comp_mass, own, dual, correct)
        after += move(mass_p, dual_mass_p, step_mass_p, comp_mass_p, dual, own, correct)
        after += move(end, dual_end, step_end, comp_end, own, dual, correct)
        after += move(chain_mass, chain_slack, step_chain, comp_chain, dual, own, correct)
        after += move(
            it.multiplier, it.multiplier_slack, step_multiplier, w.comp_multiplier, own, dual, correct
        )
        if not correct:
            after += affine_gap(adversary, w.adversary, step_mass, weight, own, dual)
            after += affine_gap(predictor, w.predictor, step_mass_p, weight, dual, own)
            ratio = after / (mu * pairs)
            target = mu * min(1.0, max(1e-8, 0.26 * ratio))
            phase = 1
            continue
        move_columns(adversary, w.adversary, groups, step_mass, own, dual)
        move_columns(predictor, w.predictor, groups, step_mass_p, dual, own)
        prices, prices_p = f, f + 2 * q + 2
        for b in range(q):
            adversary.price[b] += dual * step[prices + b]
        for a in range(f):
            predictor.price[a] += own * step[prices_p + a]
        it.level[0] += dual * step[levels]
        it.level[1] += own * step[levels + 1]
        return True
