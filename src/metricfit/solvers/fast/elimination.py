r"""The Newton step of the interior point method, in time linear in the number of items.

Linearising the optimality conditions and eliminating the items' marginals leaves

.. math::

    (\Theta + U W U^\top)\,\Delta r - \Phi\,x = d, \qquad \Phi^\top \Delta r + S\,x = b

for the chain's probabilities :math:`r` and a short border :math:`x` (masses, prices, value,
multipliers). Here :math:`\Theta = \mathrm{diag}(t_j / r_j)` with the chain's slacks :math:`t`, the rows
:math:`u_j` of :math:`U` are its factors of alpha (:mod:`.coupling`), and
:math:`W_{jk} = \sum_{i < \min(j,k)} m_i Y_i T_i`, because the sets of the chain are nested;
:math:`Y_i T_i` is what the chain sees of item i if it pulls at it (:mod:`.items`). That is
the covariance of noisy observations :math:`u_j^\top \xi_j` of a random walk :math:`\xi` with
independent increments of covariance :math:`m_i Y_i T_i`. A Kalman filter therefore *is* its
:math:`LDL^\top` factorisation: the innovations are :math:`L^{-1}` times the right-hand side, and the
backward pass is the solve with :math:`L^\top`. The cost is O(G m^2) for G groups and m border unknowns, where
a dense factorisation would need O(G^3).

Border order: predictor masses (f), adversary prices (q), adversary masses (q + 2), predictor prices
(f), the two levels, the constraints' multipliers (C).
"""

from .border import ldl_factorise, subtract_rows, subtract_rows_twice
from .coupling import fours
from .items import reduce_items, reduced, weigh
from .parts import part
from .state import (
    BETA,
    GAIN,
    LANES,
    MAX_COLUMNS,
    OFFSET,
    OUT,
    POSITIVE,
    PRECISION,
    SOFTNESS,
    WEIGHED,
    WEIGHED_OUT,
    WEIGHT,
    ZERO,
    Floats,
    Iterate,
    Problem,
    Workspace,
    brief,
    lean,
)


@brief
def sum_twice(
    rows: Floats, wide: int, factor: Floats, factor_2: Floats, side: Floats, b: int, b2: int, out: Floats
) -> tuple[float, float, float, float, float, float, float, float]:
    """Sum over the items what two columns answer to another, by weight and softness.

    Of each plain, times its own OUT, times the other's ``out``, and times both.
    """
    weighed, weighed_out = side[WEIGHED, b], side[WEIGHED_OUT, b]
    weighed_2, weighed_out_2 = side[WEIGHED, b2], side[WEIGHED_OUT, b2]
    plain, own, other, both = 0.0, 0.0, 0.0, 0.0
    plain_2, own_2, other_2, both_2 = 0.0, 0.0, 0.0, 0.0
    k = 0
    while k < wide:
        r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        w0, w1, w2, w3 = factor[k], factor[k + 1], factor[k + 2], factor[k + 3]
        v0, v1, v2, v3 = factor_2[k], factor_2[k + 1], factor_2[k + 2], factor_2[k + 3]
        for i in range(out.shape[0]):
            value = w0 * r0[i] + w1 * r1[i] + w2 * r2[i] + w3 * r3[i]
            value_2 = v0 * r0[i] + v1 * r1[i] + v2 * r2[i] + v3 * r3[i]
            scaled, scaled_2 = value * out[i], value_2 * out[i]
            plain += weighed[i] * value
            own += weighed_out[i] * value
            other += weighed[i] * scaled
            both += weighed_out[i] * scaled
            plain_2 += weighed_2[i] * value_2
            own_2 += weighed_out_2[i] * value_2
            other_2 += weighed_2[i] * scaled_2
            both_2 += weighed_out_2[i] * scaled_2
        k += 4
    return plain, own, other, both, plain_2, own_2, other_2, both_2


@lean
def border_entries(
    target: Floats,
    wide: int,
    side: Floats,
    factors: Floats,
    rows: Floats,
    out: Floats,
    count: int,
    groups: int,
) -> None:
    """Fill four rows of ``target`` with the sums of a player's first columns against one column."""
    b = 0
    while b < count:
        b2 = min(b + 1, count - 1)
        sums = sum_twice(rows, wide, factors[b], factors[b2], side, b, b2, out[:groups])
        target[0, b], target[1, b], target[2, b], target[3, b] = sums[0], sums[1], sums[2], sums[3]
        target[0, b2], target[1, b2], target[2, b2], target[3, b2] = sums[4], sums[5], sums[6], sums[7]
        b += 2


@part
def eliminate_items(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Compute the border of the Newton system without the items' marginals; upper triangle."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.items.shape[1]
    last = problem.adversary_sizes.shape[0] - 1
    constraints = it.multiplier.shape[0]
    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    first_multiplier = levels + 2
    m = first_multiplier + constraints
    border, sums, wide = w.border, w.sums, w.rank[1]
    n = reduced(w, q + f + constraints, f, groups)
    for x in range(m):
        row = border[x, x:m]
        for y in range(row.shape[0]):
            row[y] = 0.0
    for b in range(q):
        if f > 0:
            out = w.adversary[OUT, b]
            border_entries(sums, wide, w.adversary, w.basis, n.met[b], out, b + 1, groups)
            for b2 in range(b + 1):
                border[prices + b2, prices + b] = sums[0, b2]
                border[prices + b, masses + b2] = -sums[1, b2]
                border[prices + b2, masses + b] = -sums[2, b2]
                border[masses + b2, masses + b] = sums[3, b2]
        plain, outside, own, twice = 0.0, 0.0, 0.0, 0.0
        for i in range(groups):
            out = w.adversary[OUT, b, i]
            plain += w.adversary[WEIGHED, b, i]
            own += w.adversary[WEIGHED_OUT, b, i]
            twice += w.adversary[WEIGHED_OUT, b, i] * out
            outside += problem.items[WEIGHT, i] * out
        border[prices + b, prices + b] -= plain
        border[prices + b, masses + b] += own - problem.adversary_sizes[adversary.size_index[b]]
        border[masses + b, masses + b] += outside - twice + adversary.dual_mass[b] / adversary.mass[b]
        border[masses + b, levels] = 1.0
    for b in range(2):
        end = MAX_COLUMNS + b
        border[masses + q + b, masses + q + b] = adversary.dual_mass[end] / adversary.mass[end]
        border[masses + q + b, levels] = 1.0
    for a in range(f):
        row = predictor.size_index[a]
        out = w.predictor[OUT, a]
        border_entries(sums, wide, w.adversary, w.basis, n.met[q + a], out, q, groups)
        for b in range(q):
            border[prices + b, prices_p + a] = sums[0, b]
            border[masses + b, prices_p + a] = -sums[1, b]
            border[a, prices + b] = -sums[2, b]
            border[a, masses + b] = sums[3, b] + problem.tables[BETA, row, adversary.size_index[b]]
        border[a, masses + q] = problem.tables[BETA, row, 0]
        border[a, masses + q + 1] = problem.tables[BETA, row, last]
        border[a, levels + 1] = -1.0
        border_entries(sums, wide, w.predictor, w.cross_on, n.seen[q + a], out, a + 1, groups)
        for a2 in range(a + 1):
            border[prices_p + a2, prices_p + a] = -sums[0, a2]
            border[a2, prices_p + a] = sums[1, a2]
            border[a, prices_p + a2] = sums[2, a2]
            border[a2, a] = -sums[3, a2]
        plain, outside, own, twice = 0.0, 0.0, 0.0, 0.0
        for i in range(groups):
            plain += w.predictor[WEIGHED, a, i]
            own += w.predictor[WEIGHED_OUT, a, i]
            twice += w.predictor[WEIGHED_OUT, a, i] * out[i]
            outside += problem.items[WEIGHT, i] * out[i]
        border[prices_p + a, prices_p + a] += plain
        border[a, prices_p + a] += problem.predictor_sizes[row] - own
        border[a, a] += twice - outside - predictor.dual_mass[a] / predictor.mass[a]
    for c in range(constraints):
        x = first_multiplier + c
        positive = problem.items[POSITIVE]
        if f > 0:
            border_entries(sums, wide, w.adversary, w.basis, n.met[q + f + c], positive, q, groups)
        for b in range(q if f > 0 else 0):
            border[prices + b, x] = -sums[0, b]
            border[masses + b, x] = sums[1, b]
        if f > 0:
            border_entries(sums, wide, w.predictor, w.cross_on, n.seen[q + f + c], positive, f, groups)
        for a in range(f):
            row = predictor.size_index[a]
            gain = problem.limits[GAIN, c, row]
            hits, hits_out = 0.0, 0.0
            for i in range(groups):
                hits += positive[i] * w.predictor[WEIGHED, a, i]
                hits_out += positive[i] * w.predictor[WEIGHED_OUT, a, i]
            border[a, x] = gain * hits_out - sums[1, a] + problem.limits[OFFSET, c, row]
            border[prices_p + a, x] = sums[0, a] - gain * hits
            for c2 in range(constraints):
                border[first_multiplier + c2, x] += problem.limits[GAIN, c2, row] * (gain * hits - sums[2, a])
        border[x, x] += it.multiplier_slack[c] / it.multiplier[c]


@brief
def add_multiples(
    s0: Floats, s1: Floats, s2: Floats, s3: Floats, factor: Floats, first: int, vector: Floats, m: int
) -> None:
    """Add multiples of a vector to four rows, by four factors from the first on."""
    w0, w1, w2, w3 = factor[first], factor[first + 1], factor[first + 2], factor[first + 3]
    for x in range(m):
        value = vector[x]
        s0[x] += w0 * value
        s1[x] += w1 * value
        s2[x] += w2 * value
        s3[x] += w3 * value


@lean
def gather(w: Workspace, first: int, groups: int, columns: int, share: Floats) -> None:
    """Copy what the chain sees of a few items from ``first`` on, so that an item's is next to each other."""
    shown = reduced(w, columns, columns, groups).seen
    for c in range(min(share.shape[0], groups - first)):
        for r in range(share.shape[1]):
            own, source = share[c, r], shown[:, r, first + c]
            for x in range(columns):
                own[x] = source[x]


@brief
def add_item(
    p0: Floats,
    p1: Floats,
    p2: Floats,
    p3: Floats,
    m0: Floats,
    m1: Floats,
    m2: Floats,
    m3: Floats,
    a0: Floats,
    a1: Floats,
    a2: Floats,
    a3: Floats,
    out: Floats,
    count: float,
) -> None:
    """Add what an item answers (a) to one player's prices (p) and masses (m), in four rows."""
    for x in range(out.shape[0]):
        v0, v1, v2, v3 = count * a0[x], count * a1[x], count * a2[x], count * a3[x]
        p0[x] += v0
        p1[x] += v1
        p2[x] += v2
        p3[x] += v3
        m0[x] -= v0 * out[x]
        m1[x] -= v1 * out[x]
        m2[x] -= v2 * out[x]
        m3[x] -= v3 * out[x]


@brief
def covary(
    target: Floats, basis_t: Floats, of_prices: Floats, on: Floats, factored: bool, wide: int
) -> float:
    """Compute the walk's covariance with what a set observes, and return the variance of that.

    Unless columns are ``factored`` each is a factor of its own.
    """
    variance = 0.0
    q = of_prices.shape[0]
    if not factored:
        for b in range(wide):
            target[b] = -of_prices[b] if b < q else 0.0
            variance += on[b] * target[b]
        return variance
    for r in range(0, wide, 4):
        c0, c1, c2, c3 = 0.0, 0.0, 0.0, 0.0
        r0, r1, r2, r3 = basis_t[r], basis_t[r + 1], basis_t[r + 2], basis_t[r + 3]
        for b in range(q):
            value = of_prices[b]
            c0 -= value * r0[b]
            c1 -= value * r1[b]
            c2 -= value * r2[b]
            c3 -= value * r3[b]
        target[r], target[r + 1], target[r + 2], target[r + 3] = c0, c1, c2, c3
        variance += (on[r] * c0 + on[r + 1] * c1) + (on[r + 2] * c2 + on[r + 3] * c3)
    return variance


@part
def filter_chain(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Eliminate the chain by a Kalman filter and complete the border's Schur complement."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.items.shape[1]
    constraints = it.multiplier.shape[0]
    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    first_multiplier = levels + 2
    m = first_multiplier + constraints
    wide, sets = w.rank[1], fours(groups + 1)
    # Filtered mean of the random walk for each border unknown, plus the items' own share. The columns of
    # the prices are the walk's posterior covariance: a price enters every item of its column alike.
    state = w.filtered[: wide * m].reshape((wide, m))
    for r in range(wide):
        for x in range(m):
            state[r, x] = 0.0
    columns = q + f + constraints if f > 0 else 0
    share = w.share[: LANES * wide * columns].reshape((LANES, wide, columns))
    covariance, out, out_p = w.running[0], w.running[1, :q], w.running[2, :f]
    for j in range(groups + 1):
        e = w.innovation[j]
        if j > 0:
            i = j - 1
            count = problem.items[WEIGHT, i]
            for b in range(q):
                out[b] = w.adversary[OUT, b, i]
            if f == 0:
                for b in range(q):
                    value = count * w.adversary[SOFTNESS, b, i]
                    state[b, prices + b] += value
                    state[b, masses + b] -= value * out[b]
            else:
                if i % LANES == 0:
                    gather(w, i, groups, columns, share)
                for a in range(f):
                    out_p[a] = w.predictor[OUT, a, i]
                own = share[i % LANES]
                for r in range(0, wide, 4):
                    s0, s1, s2, s3 = state[r], state[r + 1], state[r + 2], state[r + 3]
                    a0, a1, a2, a3 = own[r], own[r + 1], own[r + 2], own[r + 3]
                    add_item(
                        s0[prices:],
                        s1[prices:],
                        s2[prices:],
                        s3[prices:],
                        s0[masses:],
                        s1[masses:],
                        s2[masses:],
                        s3[masses:],
                        a0,
                        a1,
                        a2,
                        a3,
                        out,
                        -count,
                    )
                    add_item(
                        s0[prices_p:],
                        s1[prices_p:],
                        s2[prices_p:],
                        s3[prices_p:],
                        s0,
                        s1,
                        s2,
                        s3,
                        a0[q:],
                        a1[q:],
                        a2[q:],
                        a3[q:],
                        out_p,
                        -count,
                    )
                for c in range(constraints):
                    for r in range(wide):
                        state[r, first_multiplier + c] += count * own[r, q + f + c]
        for x in range(m):
            e[x] = 0.0
        for b in range(q + 2):
            e[masses + b] = w.chain_beta[j, b]
        e[levels + 1] = -1.0
        for c in range(constraints):
            e[first_multiplier + c] = problem.chain_gain[c, j]
        variance = 0.0
        if j > 0:
            subtract_rows(e, w.chain_on[j], state, wide, ZERO, m)
            variance = covary(covariance, w.basis_t, e[prices : prices + q], w.chain_on[j], f > 0, wide)
        precision = 1.0 / (max(variance, 0.0) + it.chain_slack[j] / it.chain_mass[j])
        w.along[PRECISION, j] = precision
        # A variance lost to rounding says that what this set observes was known before.
        gain, known = w.kalman_gain[j], variance <= 0.0
        for r in range(wide):
            gain[r] = 0.0 if known else covariance[r] * precision
        if not known:
            for r in range(0, wide, 4):
                add_multiples(state[r], state[r + 1], state[r + 2], state[r + 3], gain, r, e, m)
    for j in range(groups + 1, sets):
        for x in range(m):
            w.innovation[j, x] = 0.0
    factor, factor_2 = w.factor[0], w.factor[1]
    for j in range(groups + 1, sets):
        factor[j] = 0.0
        factor_2[j] = 0.0
    for x in range(0, m, 2):  # two rows at once; what the second gets below the diagonal nobody reads
        x2 = min(x + 1, m - 1)
        for j in range(groups + 1):
            factor[j] = -w.innovation[j, x] * w.along[PRECISION, j]
            factor_2[j] = -w.innovation[j, x2] * w.along[PRECISION, j]
        if x2 > x:
            subtract_rows_twice(w.border[x], w.border[x2], factor, factor_2, w.innovation, sets, x, m)
        else:
            subtract_rows(w.border[x], factor, w.innovation, sets, x, m)


@part
def factorise(problem: Problem, it: Iterate, w: Workspace, regularisation: float) -> None:
    """Eliminate the items, then the chain, and factorise what remains."""
    q, f = it.adversary.used[0], it.predictor.used[0]
    groups = problem.items.shape[1]
    weight = problem.items[WEIGHT]
    weigh(it.adversary, w.adversary, weight, groups, regularisation)
    weigh(it.predictor, w.predictor, weight, groups, regularisation)
    reduce_items(problem, it, w, groups)
    eliminate_items(problem, it, w)
    filter_chain(problem, it, w)
    m = 2 * f + 2 * q + 4 + it.multiplier.shape[0]
    ldl_factorise(w.border, m, w.reciprocal)
