r"""One predictor-corrector step of Mehrotra: targets, step lengths, and the move itself.

Every variable :math:`x > 0` has a dual :math:`z > 0`, and the step is to bring :math:`x z` to a target. With
the right-hand side kept as :math:`c = (\text{target} - x z - \Delta x \Delta z) / x`, the dual moves by
:math:`\Delta z = c - z \Delta x / x`. Without target and correction :math:`c = -z`, so that both relative
changes follow from :math:`t = \Delta x / x`: they are :math:`t` and :math:`-1 - t`.
"""

from .newton import direction
from .state import MAX_COLUMNS, Columns, Floats, Iterate, Problem, Workspace, inner


@inner
def aim(x: Floats, z: Floats, dx: Floats, comp: Floats, target: float, correct: bool) -> None:
    """Right-hand sides of single pairs: affine, or corrected by what the affine step ``dx`` did."""
    for j in range(x.shape[0]):
        if correct:
            t = dx[j] / x[j]
            comp[j] = target / x[j] + z[j] * ((1.0 + t) * t - 1.0)
        else:
            comp[j] = -z[j]


@inner
def reach(x: Floats, z: Floats, dx: Floats, comp: Floats) -> tuple[float, float]:
    """Largest relative decrease of single variables and of their duals."""
    own, dual = 1e-12, 1e-12
    for j in range(x.shape[0]):
        t = dx[j] / x[j]
        own = max(own, -t)
        dual = max(dual, t - comp[j] / z[j])
    return own, dual


@inner
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


@inner
def aim_columns(
    columns: Columns,
    per_inside: Floats,
    per_outside: Floats,
    step_inside: Floats,
    step_mass: Floats,
    comp_inside: Floats,
    comp_outside: Floats,
    target: float,
    correct: bool,
) -> None:
    """Right-hand sides of one player's marginals."""
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(columns.inside.shape[1]):
            z, v = columns.dual_inside[a, i], columns.dual_outside[a, i]
            if correct:
                px, py = per_inside[a, i], per_outside[a, i]
                t, u = step_inside[a, i] * px, (dm - step_inside[a, i]) * py
                comp_inside[a, i] = target * px + z * ((1.0 + t) * t - 1.0)
                comp_outside[a, i] = target * py + v * ((1.0 + u) * u - 1.0)
            else:
                comp_inside[a, i] = -z
                comp_outside[a, i] = -v


@inner
def reach_columns(
    columns: Columns,
    per_inside: Floats,
    per_outside: Floats,
    step_inside: Floats,
    step_mass: Floats,
    comp_inside: Floats,
    comp_outside: Floats,
    correct: bool,
) -> tuple[float, float]:
    """Largest relative decrease of one player's marginals and of their duals."""
    own, dual = 1e-12, 1e-12
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(columns.inside.shape[1]):
            t = step_inside[a, i] * per_inside[a, i]
            u = (dm - step_inside[a, i]) * per_outside[a, i]
            own = max(own, max(-t, -u))
            if correct:
                t -= comp_inside[a, i] / columns.dual_inside[a, i]
                u -= comp_outside[a, i] / columns.dual_outside[a, i]
            else:
                t += 1.0
                u += 1.0
            dual = max(dual, max(t, u))
    return own, dual


@inner
def affine_gap(
    columns: Columns,
    weight: Floats,
    per_inside: Floats,
    per_outside: Floats,
    step_inside: Floats,
    step_mass: Floats,
    own: float,
    dual: float,
) -> float:
    """Complementarity of one player's marginals after an affine step of these lengths."""
    total = 0.0
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(columns.inside.shape[1]):
            t = step_inside[a, i] * per_inside[a, i]
            u = (dm - step_inside[a, i]) * per_outside[a, i]
            inside = columns.inside[a, i] * columns.dual_inside[a, i]
            outside = columns.outside[a, i] * columns.dual_outside[a, i]
            inside *= (1.0 + own * t) * (1.0 - dual * (1.0 + t))
            outside *= (1.0 + own * u) * (1.0 - dual * (1.0 + u))
            total += weight[i] * (inside + outside)
    return total


@inner
def move_columns(
    columns: Columns,
    per_inside: Floats,
    per_outside: Floats,
    step_inside: Floats,
    step_mass: Floats,
    comp_inside: Floats,
    comp_outside: Floats,
    own: float,
    dual: float,
) -> None:
    """Take the step."""
    for a in range(columns.used[0]):
        dm = step_mass[a]
        for i in range(columns.inside.shape[1]):
            dx = step_inside[a, i]
            dy = dm - dx
            z, v = columns.dual_inside[a, i], columns.dual_outside[a, i]
            columns.dual_inside[a, i] = z + dual * (comp_inside[a, i] - z * dx * per_inside[a, i])
            columns.dual_outside[a, i] = v + dual * (comp_outside[a, i] - v * dy * per_outside[a, i])
            columns.inside[a, i] += own * dx
            columns.outside[a, i] += own * dy


@inner
def newton_step(problem: Problem, it: Iterate, w: Workspace, mu: float, pairs: float) -> bool:
    """Mehrotra's predictor-corrector step from fresh residuals and factors; False if it broke down."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    masses, levels = f + q, 2 * f + 2 * q + 2
    step = w.step
    step_mass, step_end, step_mass_p = step[masses : masses + q], step[masses + q : masses + q + 2], step[:f]
    step_multiplier = step[levels + 2 : levels + 2 + it.multiplier.shape[0]]
    mass, dual_mass, comp_mass = adversary.mass[:q], adversary.dual_mass[:q], w.comp_mass[:q]
    mass_p, dual_mass_p, comp_mass_p = predictor.mass[:f], predictor.dual_mass[:f], w.comp_mass_p[:f]
    end, dual_end, comp_end = (
        adversary.mass[MAX_COLUMNS:],
        adversary.dual_mass[MAX_COLUMNS:],
        w.comp_mass[MAX_COLUMNS:],
    )
    target = 0.0
    for phase in range(2):
        correct = phase == 1
        aim_columns(
            adversary,
            w.per_inside,
            w.per_outside,
            w.step_inside,
            step_mass,
            w.comp_inside,
            w.comp_outside,
            target,
            correct,
        )
        aim_columns(
            predictor,
            w.per_inside_p,
            w.per_outside_p,
            w.step_predictor,
            step_mass_p,
            w.comp_inside_p,
            w.comp_outside_p,
            target,
            correct,
        )
        aim(mass, dual_mass, step_mass, comp_mass, target, correct)
        aim(mass_p, dual_mass_p, step_mass_p, comp_mass_p, target, correct)
        aim(end, dual_end, step_end, comp_end, target, correct)
        aim(it.chain_mass, it.chain_slack, w.step_chain, w.comp_chain, target, correct)
        aim(it.multiplier, it.multiplier_slack, step_multiplier, w.comp_multiplier, target, correct)
        direction(problem, it, w)

        # The adversary's variables and the predictor's slacks share one step length, and vice versa.
        own, dual = reach_columns(
            adversary,
            w.per_inside,
            w.per_outside,
            w.step_inside,
            step_mass,
            w.comp_inside,
            w.comp_outside,
            correct,
        )
        dual_2, own_2 = reach_columns(
            predictor,
            w.per_inside_p,
            w.per_outside_p,
            w.step_predictor,
            step_mass_p,
            w.comp_inside_p,
            w.comp_outside_p,
            correct,
        )
        own, dual = max(own, own_2), max(dual, dual_2)
        own_2, dual_2 = reach(mass, dual_mass, step_mass, comp_mass)
        own, dual = max(own, own_2), max(dual, dual_2)
        dual_2, own_2 = reach(mass_p, dual_mass_p, step_mass_p, comp_mass_p)
        own, dual = max(own, own_2), max(dual, dual_2)
        own_2, dual_2 = reach(end, dual_end, step_end, comp_end)
        own, dual = max(own, own_2), max(dual, dual_2)
        dual_2, own_2 = reach(it.chain_mass, it.chain_slack, w.step_chain, w.comp_chain)
        own, dual = max(own, own_2), max(dual, dual_2)
        own_2, dual_2 = reach(it.multiplier, it.multiplier_slack, step_multiplier, w.comp_multiplier)
        own, dual = max(own, own_2), max(dual, dual_2)
        if not (own < 1e12 and dual < 1e12):
            return False
        fraction = 0.95 if correct else 1.0
        own, dual = min(1.0, fraction / own), min(1.0, fraction / dual)

        after = move(mass, dual_mass, step_mass, comp_mass, own, dual, correct)
        after += move(mass_p, dual_mass_p, step_mass_p, comp_mass_p, dual, own, correct)
        after += move(end, dual_end, step_end, comp_end, own, dual, correct)
        after += move(it.chain_mass, it.chain_slack, w.step_chain, w.comp_chain, dual, own, correct)
        after += move(
            it.multiplier, it.multiplier_slack, step_multiplier, w.comp_multiplier, own, dual, correct
        )
        if not correct:
            after += affine_gap(
                adversary,
                problem.weight,
                w.per_inside,
                w.per_outside,
                w.step_inside,
                step_mass,
                own,
                dual,
            )
            after += affine_gap(
                predictor,
                problem.weight,
                w.per_inside_p,
                w.per_outside_p,
                w.step_predictor,
                step_mass_p,
                dual,
                own,
            )
            ratio = after / (mu * pairs)
            target = mu * min(1.0, max(1e-8, ratio**3))
            continue
        move_columns(
            adversary,
            w.per_inside,
            w.per_outside,
            w.step_inside,
            step_mass,
            w.comp_inside,
            w.comp_outside,
            own,
            dual,
        )
        move_columns(
            predictor,
            w.per_inside_p,
            w.per_outside_p,
            w.step_predictor,
            step_mass_p,
            w.comp_inside_p,
            w.comp_outside_p,
            dual,
            own,
        )
        prices, prices_p = f, f + 2 * q + 2
        for b in range(q):
            adversary.price[b] += dual * step[prices + b]
        for a in range(f):
            predictor.price[a] += own * step[prices_p + a]
        it.level[0] += dual * step[levels]
        it.level[1] += own * step[levels + 1]
    return True
