"""One predictor-corrector step of Mehrotra: targets, step lengths, and the move itself."""

from .newton import direction
from .state import MAX_COLUMNS, Columns, Floats, Iterate, Problem, Workspace, inner


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
def scalar_step(x: float, z: float, dx: float, rhs: float, own: float, dual: float) -> tuple[float, float]:
    """One complementary pair after a step."""
    return x + own * dx, z + dual * (rhs - z * dx) / x


@inner
def newton_step(problem: Problem, it: Iterate, w: Workspace, mu: float, pairs: float) -> bool:
    """Mehrotra's predictor-corrector step from fresh residuals and factors; False if it broke down."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.weight.shape[0]
    constraints = it.multiplier.shape[0]
    masses, levels = f + q, 2 * f + 2 * q + 2
    step = w.step
    target = 0.0
    own, dual = 0.0, 0.0
    for phase in range(2):
        correct = phase == 1
        aim_columns(
            adversary,
            w.comp_inside,
            w.comp_outside,
            w.comp_mass,
            w.step_inside,
            step,
            masses,
            target,
            correct,
        )
        aim_columns(
            predictor,
            w.comp_inside_p,
            w.comp_outside_p,
            w.comp_mass_p,
            w.step_predictor,
            step,
            0,
            target,
            correct,
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
            problem.weight,
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
            problem.weight,
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
                it.multiplier[c],
                it.multiplier_slack[c],
                step[levels + 2 + c],
                w.comp_multiplier[c],
                own,
                dual,
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
