"""The right-hand sides of the Newton system, and its solution with the factors of ``elimination``."""

import numpy as np

from .elimination import lu_solve
from .state import MAX_COLUMNS, Iterate, Problem, Workspace, inner


@inner
def evaluate(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Item values of both players and the residuals of every linear equation."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.weight.shape[0]
    last = problem.adversary_sizes.shape[0] - 1
    constraints = it.multiplier.shape[0]
    eta, rho = it.level[0], it.level[1]
    for a in range(f):
        row = predictor.size_index[a]
        bonus = 0.0
        for c in range(constraints):
            bonus += it.multiplier[c] * problem.gain[c, row]
        for i in range(groups):
            w.item_gain[a, i] = bonus * problem.positive[i]
    for b in range(q):
        column = adversary.size_index[b]
        running = 0.0
        for i in range(groups - 1, -1, -1):
            running += it.chain_mass[i + 1] * problem.alpha[problem.chain[i + 1], column]
            w.item_value[b, i] = running
        for j in range(groups + 1):
            w.chain_alpha[j, b] = problem.alpha[problem.chain[j], column]
        for a in range(f):
            alpha = problem.alpha[predictor.size_index[a], column]
            w.cross[a, b] = alpha
            for i in range(groups):
                w.item_value[b, i] += alpha * predictor.inside[a, i]
                w.item_gain[a, i] += alpha * adversary.inside[b, i]

    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    total = -1.0
    for b in range(q + 2):
        base = eta - adversary.dual_mass[b if b < q else MAX_COLUMNS + b - q]
        if b < q:
            column = adversary.size_index[b]
            size = problem.adversary_sizes[column]
            outside = 0.0
            inside = 0.0
            for i in range(groups):
                w.residual_item[b, i] = (
                    w.item_value[b, i]
                    - problem.score[i]
                    + adversary.price[b]
                    - adversary.dual_inside[b, i]
                    + adversary.dual_outside[b, i]
                )
                outside += problem.weight[i] * adversary.dual_outside[b, i]
                inside += problem.weight[i] * adversary.inside[b, i]
            for j in range(groups + 1):
                base += it.chain_mass[j] * problem.beta[problem.chain[j], column]
            for a in range(f):
                base += predictor.mass[a] * problem.beta[predictor.size_index[a], column]
            base -= size * adversary.price[b] + outside
            w.residual_border[prices + b] = inside - size * adversary.mass[b]
            total += adversary.mass[b]
        else:
            column = 0 if b == q else last
            for j in range(groups + 1):
                base += it.chain_mass[j] * problem.beta[problem.chain[j], column]
            for a in range(f):
                base += predictor.mass[a] * problem.beta[predictor.size_index[a], column]
            if b > q:
                for i in range(groups):
                    base -= problem.weight[i] * problem.score[i]
            total += adversary.mass[MAX_COLUMNS + b - q]
        w.residual_border[masses + b] = base
    w.residual_border[levels] = total

    total = 1.0
    for a in range(f):
        row = predictor.size_index[a]
        size = problem.predictor_sizes[row]
        outside = 0.0
        inside = 0.0
        for i in range(groups):
            w.residual_predictor[a, i] = (
                w.item_gain[a, i]
                - predictor.price[a]
                + predictor.dual_inside[a, i]
                - predictor.dual_outside[a, i]
            )
            outside += problem.weight[i] * predictor.dual_outside[a, i]
            inside += problem.weight[i] * predictor.inside[a, i]
        base = outside + size * predictor.price[a] + predictor.dual_mass[a] - rho
        base += problem.beta[row, 0] * adversary.mass[MAX_COLUMNS]
        base += problem.beta[row, last] * adversary.mass[MAX_COLUMNS + 1]
        for b in range(q):
            base += problem.beta[row, adversary.size_index[b]] * adversary.mass[b]
        for c in range(constraints):
            base += it.multiplier[c] * problem.offset[c, row]
        w.residual_border[a] = base
        w.residual_border[prices_p + a] = size * predictor.mass[a] - inside
        total -= predictor.mass[a]
    running_inside = np.zeros(MAX_COLUMNS)
    for j in range(groups + 1):
        row = problem.chain[j]
        value = (
            problem.beta[row, 0] * adversary.mass[MAX_COLUMNS]
            + problem.beta[row, last] * adversary.mass[MAX_COLUMNS + 1]
        )
        for b in range(q):
            if j > 0:
                running_inside[b] += problem.weight[j - 1] * adversary.inside[b, j - 1]
            value += problem.beta[row, adversary.size_index[b]] * adversary.mass[b]
            value += w.chain_alpha[j, b] * running_inside[b]
        for c in range(constraints):
            value += it.multiplier[c] * problem.chain_gain[c, j]
        w.residual_chain[j] = value - rho + it.chain_slack[j]
        total -= it.chain_mass[j]
    w.residual_border[levels + 1] = total
    for c in range(constraints):
        slack = -it.multiplier_slack[c]
        for j in range(groups + 1):
            slack += it.chain_mass[j] * problem.chain_gain[c, j]
        for a in range(f):
            row = predictor.size_index[a]
            hits = 0.0
            for i in range(groups):
                hits += problem.weight[i] * problem.positive[i] * predictor.inside[a, i]
            slack += predictor.mass[a] * problem.offset[c, row] + problem.gain[c, row] * hits
        w.residual_border[levels + 2 + c] = slack


@inner
def direction(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Solve for the step that removes the residuals and meets the complementarity targets."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.weight.shape[0]
    constraints = it.multiplier.shape[0]
    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    first_multiplier = levels + 2
    m = first_multiplier + constraints
    step = w.step
    for x in range(m):
        step[x] = -w.residual_border[x]

    for b in range(q):
        outside = 0.0
        for i in range(groups):
            out = w.comp_outside[b, i]
            w.rhs_item[b, i] = w.comp_inside[b, i] - out - w.residual_item[b, i]
            outside += problem.weight[i] * out
        step[masses + b] += outside + w.comp_mass[b]
    for b in range(2):
        end = MAX_COLUMNS + b
        step[masses + q + b] += w.comp_mass[end]
    for a in range(f):
        row = predictor.size_index[a]
        price, mass, bonus = 0.0, 0.0, 0.0
        for i in range(groups):
            count = problem.weight[i]
            out = w.comp_outside_p[a, i]
            value = out - w.comp_inside_p[a, i] - w.residual_predictor[a, i]
            w.rhs_predictor[a, i] = value
            scaled = value * w.predictor_inverse[a, i]
            price += count * scaled
            mass += count * (w.predictor_out[a, i] * scaled - out)
            bonus += count * problem.positive[i] * scaled
        step[a] += mass - w.comp_mass_p[a]
        step[prices_p + a] -= price
        for c in range(constraints):
            step[first_multiplier + c] += problem.gain[c, row] * bonus
        for b in range(q):
            alpha = w.cross[a, b]
            for i in range(groups):
                w.rhs_item[b, i] += alpha * w.predictor_inverse[a, i] * w.rhs_predictor[a, i]
    for c in range(constraints):
        step[first_multiplier + c] += w.comp_multiplier[c]

    # What the items alone would do, times their number.
    own = w.step_inside
    for b in range(q):
        for i in range(groups):
            own[b, i] = 0.0
        low, high = (0, q) if f > 0 else (b, b + 1)
        for b2 in range(low, high):
            for i in range(groups):
                own[b, i] += w.inverse[b, b2, i] * w.rhs_item[b2, i]
        plain, out = 0.0, 0.0
        for i in range(groups):
            own[b, i] *= problem.weight[i]
            plain += own[b, i]
            out += w.curvature_out[b, i] * own[b, i]
        step[prices + b] -= plain
        step[masses + b] += out
    along = w.scratch[0]
    for a in range(f):
        for i in range(groups):
            along[i] = 0.0
        for b in range(q):
            alpha = w.cross[a, b]
            for i in range(groups):
                along[i] += alpha * own[b, i]
        plain, out, hits = 0.0, 0.0, 0.0
        for i in range(groups):
            value = along[i] * w.predictor_inverse[a, i]
            plain += value
            out += w.predictor_out[a, i] * value
            hits += problem.positive[i] * value
        step[a] -= out
        step[prices_p + a] += plain
        for c in range(constraints):
            step[first_multiplier + c] -= problem.gain[c, predictor.size_index[a]] * hits

    # Forward: filter the chain's right-hand side.
    state = np.zeros(q)
    for j in range(groups + 1):
        value = w.residual_chain[j] + w.comp_chain[j]
        if j > 0:
            for b in range(q):
                state[b] -= own[b, j - 1]
                value -= w.chain_alpha[j, b] * state[b]
            for b in range(q):
                state[b] += w.kalman_gain[j, b] * value
        value *= w.precision[j]
        w.step_chain[j] = value
        for x in range(m):
            step[x] -= value * w.innovation[j, x]

    lu_solve(w.border, m, w.pivot, w.scale, step)

    # Backward: the chain, and with its running sum what the items have to answer.
    answer = w.rhs_item
    for b in range(q):
        state[b] = 0.0
    for j in range(groups, -1, -1):
        value = 0.0
        for x in range(m):
            value += w.innovation[j, x] * step[x]
        value = w.step_chain[j] + value * w.precision[j]
        for b in range(q):
            value -= w.kalman_gain[j, b] * state[b]
        w.step_chain[j] = value
        if j > 0:
            for b in range(q):
                state[b] += w.chain_alpha[j, b] * value
                answer[b, j - 1] -= state[b]
    for b in range(q):
        price, mass = step[prices + b], step[masses + b]
        for i in range(groups):
            answer[b, i] += w.curvature_out[b, i] * mass - price
    for a in range(f):
        mass, price, bonus = step[a], step[prices_p + a], 0.0
        for c in range(constraints):
            bonus += problem.gain[c, predictor.size_index[a]] * step[first_multiplier + c]
        for i in range(groups):
            value = w.predictor_out[a, i] * mass - price + problem.positive[i] * bonus
            w.step_predictor[a, i] = value - w.rhs_predictor[a, i]
            along[i] = value * w.predictor_inverse[a, i]
        for b in range(q):
            alpha = w.cross[a, b]
            for i in range(groups):
                answer[b, i] -= alpha * along[i]
    for b in range(q):
        for i in range(groups):
            w.step_inside[b, i] = 0.0
        low, high = (0, q) if f > 0 else (b, b + 1)
        for b2 in range(low, high):
            for i in range(groups):
                w.step_inside[b, i] += w.inverse[b, b2, i] * answer[b2, i]
    for a in range(f):
        for b in range(q):
            alpha = w.cross[a, b]
            for i in range(groups):
                w.step_predictor[a, i] += alpha * w.step_inside[b, i]
        for i in range(groups):
            w.step_predictor[a, i] *= w.predictor_inverse[a, i]
