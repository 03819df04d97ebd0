"""The right-hand sides of the Newton system, and its solution with the factors of ``elimination``."""

from .border import ldl_solve, multiply_rows, subtract_rows, subtract_rows_twice
from .coupling import factorise_alpha, fours, whole_eights
from .filtering import lay_out_chain
from .items import answer_items, fill_up
from .parts import part
from .state import (
    ALPHA,
    BETA,
    COMP_CHAIN,
    COMP_INSIDE,
    COMP_OUTSIDE,
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    GAIN,
    INSIDE,
    LANES,
    MAX_COLUMNS,
    MISSING,
    OFFSET,
    OUT,
    POSITIVE,
    PRECISION,
    PULL,
    RESIDUAL_CHAIN,
    RHS,
    SCORE,
    SEEN,
    STEP,
    STEP_CHAIN,
    WEIGHT,
    ZERO,
    Floats,
    Iterate,
    Problem,
    Workspace,
    brief,
    lean,
)


@lean
def combine(target: Floats, rows: Floats, factors: Floats, wanted: int, count: int, items: int) -> None:
    """Subtract ``factors @ rows`` from the first entries of ``target``, item by item."""
    x = 0
    while x + 1 < wanted:
        subtract_rows_twice(target[x], target[x + 1], factors[x], factors[x + 1], rows, count, ZERO, items)
        x += 2
    if x < wanted:
        subtract_rows(target[x], factors[x], rows, count, ZERO, items)


@lean
def gather_tables(problem: Problem, it: Iterate, w: Workspace, left_aside: float) -> None:
    """Look up the tables where columns in play meet the chain and each other."""
    adversary, predictor = it.adversary, it.predictor
    q = adversary.used[0]
    last = problem.adversary_sizes.shape[0] - 1
    for j in range(problem.items.shape[1] + 1):
        row = problem.chain[j]
        for b in range(q):
            w.chain_alpha[j, b] = problem.tables[ALPHA, row, adversary.size_index[b]]
            w.chain_beta[j, b] = problem.tables[BETA, row, adversary.size_index[b]]
        w.chain_beta[j, q] = problem.tables[BETA, row, 0]
        w.chain_beta[j, q + 1] = problem.tables[BETA, row, last]
    for a in range(predictor.used[0]):
        for b in range(q):
            alpha = problem.tables[ALPHA, predictor.size_index[a], adversary.size_index[b]]
            w.cross[a, b], w.cross_t[b, a] = alpha, alpha
    fill_up(adversary, w.adversary, problem.items.shape[1])
    fill_up(predictor, w.predictor, problem.items.shape[1])
    lay_out_chain(problem, it, w)
    factorise_alpha(problem, it, w, left_aside)


@brief
def pull_columns(
    t0: Floats, t1: Floats, t2: Floats, t3: Floats, mass: Floats, alpha: Floats, first: int, groups: int
) -> None:
    """Compute minus what the chain takes from every item in four columns, from the first on."""
    r0, r1, r2, r3 = 0.0, 0.0, 0.0, 0.0
    for j in range(groups, 0, -1):
        row = alpha[j]
        r0 -= mass[j] * row[first]
        r1 -= mass[j] * row[first + 1]
        r2 -= mass[j] * row[first + 2]
        r3 -= mass[j] * row[first + 3]
        t0[j - 1], t1[j - 1], t2[j - 1], t3[j - 1] = r0, r1, r2, r3


@part
def evaluate(problem: Problem, it: Iterate, w: Workspace, changed: bool, left_aside: float) -> None:
    """Residuals of every linear equation; of the items' equations MISSING, which is minus the residual.

    Unless columns or groups have ``changed``, what was looked up in the tables is still valid.
    """
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.items.shape[1]
    last = problem.adversary_sizes.shape[0] - 1
    constraints = it.multiplier.shape[0]
    eta, rho = it.level[0], it.level[1]
    if changed:
        gather_tables(problem, it, w, left_aside)
    for a in range(f):
        row = predictor.size_index[a]
        bonus = 0.0
        for c in range(constraints):
            bonus += it.multiplier[c] * problem.limits[GAIN, c, row]
        price = predictor.price[a]
        for i in range(groups):
            w.predictor[MISSING, a, i] = (
                price
                - bonus * problem.items[POSITIVE, i]
                - predictor.marginal[DUAL_INSIDE, a, i]
                + predictor.marginal[DUAL_OUTSIDE, a, i]
            )
    combine(w.predictor[MISSING], adversary.marginal[INSIDE], w.cross, f, q, groups)
    running, total_beta = w.running[0], w.running[1]
    for b in range(0, q, 4):  # up to three columns that are not there as well
        pull_columns(
            w.adversary[MISSING, b],
            w.adversary[MISSING, b + 1],
            w.adversary[MISSING, b + 2],
            w.adversary[MISSING, b + 3],
            it.chain_mass,
            w.chain_alpha,
            b,
            groups,
        )
    for b in range(q + 2):
        total_beta[b] = 0.0
    for j in range(groups + 1):
        for b in range(q + 2):
            total_beta[b] += it.chain_mass[j] * w.chain_beta[j, b]
    combine(w.adversary[MISSING], predictor.marginal[INSIDE], w.cross_t, q, f, groups)

    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    total = -1.0
    for b in range(q + 2):
        base = eta - adversary.dual_mass[b if b < q else MAX_COLUMNS + b - q] + total_beta[b]
        if b < q:
            column = adversary.size_index[b]
            size = problem.adversary_sizes[column]
            outside = 0.0
            inside = 0.0
            for i in range(groups):
                w.adversary[MISSING, b, i] += (
                    problem.items[SCORE, i]
                    - adversary.price[b]
                    + adversary.marginal[DUAL_INSIDE, b, i]
                    - adversary.marginal[DUAL_OUTSIDE, b, i]
                )
                outside += problem.items[WEIGHT, i] * adversary.marginal[DUAL_OUTSIDE, b, i]
                inside += problem.items[WEIGHT, i] * adversary.marginal[INSIDE, b, i]
            for a in range(f):
                base += predictor.mass[a] * problem.tables[BETA, predictor.size_index[a], column]
            base -= size * adversary.price[b] + outside
            w.residual_border[prices + b] = inside - size * adversary.mass[b]
            total += adversary.mass[b]
        else:
            column = 0 if b == q else last
            for a in range(f):
                base += predictor.mass[a] * problem.tables[BETA, predictor.size_index[a], column]
            if b > q:
                for i in range(groups):
                    base -= problem.items[WEIGHT, i] * problem.items[SCORE, i]
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
            outside += problem.items[WEIGHT, i] * predictor.marginal[DUAL_OUTSIDE, a, i]
            inside += problem.items[WEIGHT, i] * predictor.marginal[INSIDE, a, i]
        base = outside + size * predictor.price[a] + predictor.dual_mass[a] - rho
        base += problem.tables[BETA, row, 0] * adversary.mass[MAX_COLUMNS]
        base += problem.tables[BETA, row, last] * adversary.mass[MAX_COLUMNS + 1]
        for b in range(q):
            base += problem.tables[BETA, row, adversary.size_index[b]] * adversary.mass[b]
        for c in range(constraints):
            base += it.multiplier[c] * problem.limits[OFFSET, c, row]
        w.residual_border[a] = base
        w.residual_border[prices_p + a] = size * predictor.mass[a] - inside
        total -= predictor.mass[a]
    for b in range(q):
        running[b] = 0.0
    for j in range(groups + 1):
        value = w.chain_beta[j, q] * adversary.mass[MAX_COLUMNS]
        value += w.chain_beta[j, q + 1] * adversary.mass[MAX_COLUMNS + 1]
        if j > 0:
            for b in range(q):
                running[b] += problem.items[WEIGHT, j - 1] * adversary.marginal[INSIDE, b, j - 1]
        for b in range(q):
            value += w.chain_beta[j, b] * adversary.mass[b] + w.chain_alpha[j, b] * running[b]
        for c in range(constraints):
            value += it.multiplier[c] * problem.chain_gain[c, j]
        w.along[RESIDUAL_CHAIN, j] = value - rho + it.chain_slack[j]
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
                hits += (
                    problem.items[WEIGHT, i] * problem.items[POSITIVE, i] * predictor.marginal[INSIDE, a, i]
                )
            slack += predictor.mass[a] * problem.limits[OFFSET, c, row] + problem.limits[GAIN, c, row] * hits
        w.residual_border[levels + 2 + c] = slack


@brief
def advance(state: Floats, steps: Floats, on: Floats, count: float, item: int, wide: int) -> float:
    """Let the chain's random walk take one step, and return what a set observes of it."""
    observed, r = 0.0, 0
    while r < wide:
        four = steps[r // 4]
        s0, s1 = state[r] + count * four[item], state[r + 1] + count * four[LANES + item]
        s2, s3 = state[r + 2] + count * four[2 * LANES + item], state[r + 3] + count * four[3 * LANES + item]
        state[r], state[r + 1], state[r + 2], state[r + 3] = s0, s1, s2, s3
        observed += (on[r] * s0 + on[r + 1] * s1) + (on[r + 2] * s2 + on[r + 3] * s3)
        r += 4
    return observed


@brief
def product(left: Floats, right: Floats, wide: int) -> float:
    """Compute the sum of products of numbers in fours."""
    total, r = 0.0, 0
    while r < wide:
        total += (left[r] * right[r] + left[r + 1] * right[r + 1]) + (
            left[r + 2] * right[r + 2] + left[r + 3] * right[r + 3]
        )
        r += 4
    return total


@brief
def add_multiple(target: Floats, row: Floats, factor: float, wide: int) -> None:
    """Add a multiple of numbers in fours."""
    r = 0
    while r < wide:
        target[r] += factor * row[r]
        target[r + 1] += factor * row[r + 1]
        target[r + 2] += factor * row[r + 2]
        target[r + 3] += factor * row[r + 3]
        r += 4


@part
def direction(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Solve for the step that removes the residuals and meets the complementarity targets."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.items.shape[1]
    constraints = it.multiplier.shape[0]
    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    first_multiplier = levels + 2
    m = first_multiplier + constraints
    step, rows = w.step, fours(m)
    for x in range(m):
        step[x] = -w.residual_border[x]
    for x in range(m, whole_eights(m)):
        step[x] = 0.0

    for b in range(q):
        outside = 0.0
        for i in range(groups):
            out = w.adversary[COMP_OUTSIDE, b, i]
            w.adversary[RHS, b, i] = w.adversary[COMP_INSIDE, b, i] - out + w.adversary[MISSING, b, i]
            outside += problem.items[WEIGHT, i] * out
        step[masses + b] += outside + w.comp_mass[b]
    for b in range(2):
        end = MAX_COLUMNS + b
        step[masses + q + b] += w.comp_mass[end]
    for a in range(f):
        outside = 0.0
        for i in range(groups):
            out = w.predictor[COMP_OUTSIDE, a, i]
            w.predictor[RHS, a, i] = w.predictor[COMP_INSIDE, a, i] - out - w.predictor[MISSING, a, i]
            outside += problem.items[WEIGHT, i] * out
        step[a] -= outside + w.comp_mass_p[a]
    for c in range(constraints):
        step[first_multiplier + c] += w.comp_multiplier[c]

    # What the items alone would do, times their number.
    wide, sets = w.rank[1], fours(groups + 1)
    pull, seen, own = w.moments[PULL], w.moments[SEEN], w.adversary[STEP]
    for eight in range(-(-groups // LANES)):
        for r in range(wide // 4):
            for x in range(4 * LANES):
                pull[eight, r, x] = 0.0
    answer_items(w, q, f, groups)
    for b in range(q):
        plain, out = 0.0, 0.0
        for i in range(groups):
            value = problem.items[WEIGHT, i] * own[b, i]
            plain += value
            out += w.adversary[OUT, b, i] * value
        step[prices + b] -= plain
        step[masses + b] += out
    for a in range(f):
        plain, out, hits = 0.0, 0.0, 0.0
        for i in range(groups):
            value = problem.items[WEIGHT, i] * w.predictor[STEP, a, i]
            plain += value
            out += w.predictor[OUT, a, i] * value
            hits += problem.items[POSITIVE, i] * value
        step[a] -= out
        step[prices_p + a] += plain
        for c in range(constraints):
            step[first_multiplier + c] -= problem.limits[GAIN, c, predictor.size_index[a]] * hits

    # Forward: filter the chain's right-hand side.
    state = w.running[0]
    scaled, innovated = w.factor[0], w.factor[1]
    for j in range(groups + 1, sets):
        scaled[j] = 0.0
    for r in range(wide):
        state[r] = 0.0
    for j in range(groups + 1):
        value = w.along[RESIDUAL_CHAIN, j] + w.along[COMP_CHAIN, j]
        if j > 0:
            i = j - 1
            value -= advance(
                state, seen[i // LANES], w.chain_on[j], problem.items[WEIGHT, i], i % LANES, wide
            )
            add_multiple(state, w.kalman_gain[j], value, wide)
        scaled[j] = value * w.along[PRECISION, j]
    subtract_rows(step, scaled, w.innovation, sets, ZERO, rows)

    ldl_solve(w.border, rows, w.reciprocal, step)

    # Backward: the chain, and with its running sum what the items have to answer.
    answer = w.adversary[RHS]
    multiply_rows(innovated, w.innovation, step, sets, rows)
    for r in range(wide):
        state[r] = 0.0
    for j in range(groups, -1, -1):
        value = scaled[j] + innovated[j] * w.along[PRECISION, j] - product(w.kalman_gain[j], state, wide)
        w.along[STEP_CHAIN, j] = value
        if j > 0:
            add_multiple(state, w.chain_on[j], value, wide)
            own, place = pull[(j - 1) // LANES], (j - 1) % LANES
            for r in range(wide):
                own[r // 4, LANES * (r % 4) + place] = -state[r]
    for b in range(q):
        price, mass = step[prices + b], step[masses + b]
        for i in range(groups):
            answer[b, i] += w.adversary[OUT, b, i] * mass - price
    for a in range(f):
        mass, price, bonus = step[a], step[prices_p + a], 0.0
        for c in range(constraints):
            bonus += problem.limits[GAIN, c, predictor.size_index[a]] * step[first_multiplier + c]
        for i in range(groups):
            w.predictor[RHS, a, i] += (
                w.predictor[OUT, a, i] * mass - price + problem.items[POSITIVE, i] * bonus
            )
    answer_items(w, q, f, groups)
