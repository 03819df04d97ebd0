r"""The Newton step of the interior point method, in time linear in the number of items.

Linearising the optimality conditions and eliminating the items' marginals leaves, with
:math:`N_i`, by which item i answers the adversary (:mod:`.items`),

.. math::

    (T + A C A^\top)\,\Delta r - F\,x = d, \qquad F^\top \Delta r + S\,x = b

for the chain's probabilities :math:`r` and a short border :math:`x` (masses, prices, value,
multipliers). Here :math:`T = \mathrm{diag}(t_j / r_j)` and
:math:`C_{jk} = \sum_{i < \min(j,k)} m_i N_i`, because the sets of the chain are nested. That is
the covariance of noisy observations :math:`a_j^\top \xi_j` of a random walk :math:`\xi` with
independent increments of covariance :math:`m_i N_i`. A Kalman filter therefore *is* its
:math:`LDL^\top` factorisation: the innovations are :math:`L^{-1}` times the right-hand side, and the
backward pass is the solve with :math:`L^\top`. The cost is O(G c^2 + G c m) for G groups, c columns and
m border unknowns, where a dense factorisation would need O(G^3).

Border order: predictor masses (f), adversary prices (q), adversary masses (q + 2), predictor prices
(f), the two levels, the constraints' multipliers (C).
"""

from .border import ldl_factorise, subtract_rows
from .items import invert_items, weigh
from .parts import part
from .state import (
    BETA,
    GAIN,
    MAX_COLUMNS,
    OFFSET,
    OUT,
    POSITIVE,
    PRECISION,
    TOGETHER,
    WEIGHT,
    ZERO,
    Floats,
    Iterate,
    Problem,
    Workspace,
    brief,
    lean,
)


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
    border = w.border
    for x in range(m):
        row = border[x, x:m]
        for y in range(row.shape[0]):
            row[y] = 0.0
    for b in range(q):
        out = w.adversary[OUT, b]
        for b2 in range(b, q if f > 0 else b + 1):  # N is diagonal without predictor columns
            nn, ns, sn, ss = 0.0, 0.0, 0.0, 0.0
            for i in range(groups):
                value = problem.items[WEIGHT, i] * w.inverse[b2, b, i]
                scaled = value * w.adversary[OUT, b2, i]
                nn += value
                ns += scaled
                sn += out[i] * value
                ss += out[i] * scaled
            border[prices + b, prices + b2] = -nn
            border[prices + b, masses + b2] = ns
            border[prices + b2, masses + b] = sn
            border[masses + b, masses + b2] = -ss
        outside = 0.0
        for i in range(groups):
            outside += problem.items[WEIGHT, i] * out[i]
        border[masses + b, masses + b] += outside + adversary.dual_mass[b] / adversary.mass[b]
        border[prices + b, masses + b] -= problem.adversary_sizes[adversary.size_index[b]]
        border[masses + b, levels] = 1.0
    for b in range(2):
        end = MAX_COLUMNS + b
        border[masses + q + b, masses + q + b] = adversary.dual_mass[end] / adversary.mass[end]
        border[masses + q + b, levels] = 1.0
    for a in range(f):
        row = predictor.size_index[a]
        out = w.predictor[OUT, a]
        for b in range(q):
            mixed = w.mixed[b, a] if f < q else w.mixed[a, b]
            np_, ns, op, os = 0.0, 0.0, 0.0, 0.0
            for i in range(groups):
                value = problem.items[WEIGHT, i] * mixed[i]
                scaled = value * w.adversary[OUT, b, i]
                np_ += value
                ns += scaled
                op += out[i] * value
                os += out[i] * scaled
            border[prices + b, prices_p + a] = np_
            border[masses + b, prices_p + a] = -ns
            border[a, prices + b] = -op
            border[a, masses + b] = os + problem.tables[BETA, row, adversary.size_index[b]]
        border[a, masses + q] = problem.tables[BETA, row, 0]
        border[a, masses + q + 1] = problem.tables[BETA, row, last]
        border[a, levels + 1] = -1.0
        for a2 in range(a, f):
            pp, po, op, oo = 0.0, 0.0, 0.0, 0.0
            for i in range(groups):
                value = problem.items[WEIGHT, i] * w.inverse_p[a2, a, i]
                scaled = value * w.predictor[OUT, a2, i]
                pp += value
                po += scaled
                op += out[i] * value
                oo += out[i] * scaled
            border[prices_p + a, prices_p + a2] = pp
            border[a, prices_p + a2] = -op
            border[a2, prices_p + a] = -po
            border[a, a2] = oo
        for a2 in range(f if constraints > 0 else 0):
            hits, hits_out = 0.0, 0.0
            block = w.inverse_p[max(a, a2), min(a, a2)]
            for i in range(groups):
                value = problem.items[WEIGHT, i] * problem.items[POSITIVE, i] * block[i]
                hits += value
                hits_out += out[i] * value
            for c in range(constraints):
                gain = problem.limits[GAIN, c, predictor.size_index[a2]]
                border[a, first_multiplier + c] += gain * hits_out
                border[prices_p + a, first_multiplier + c] -= gain * hits
                for c2 in range(constraints):
                    border[first_multiplier + c, first_multiplier + c2] += (
                        gain * problem.limits[GAIN, c2, row] * hits
                    )
        outside = 0.0
        for i in range(groups):
            outside += problem.items[WEIGHT, i] * out[i]
        border[a, a] -= outside + predictor.dual_mass[a] / predictor.mass[a]
        border[a, prices_p + a] += problem.predictor_sizes[row]
        for c in range(constraints):
            border[a, first_multiplier + c] += problem.limits[OFFSET, c, row]
            gain = problem.limits[GAIN, c, row]
            for b in range(q):
                mixed = w.mixed[b, a] if f < q else w.mixed[a, b]
                hits, hits_out = 0.0, 0.0
                for i in range(groups):
                    value = problem.items[WEIGHT, i] * problem.items[POSITIVE, i] * mixed[i]
                    hits += value
                    hits_out += value * w.adversary[OUT, b, i]
                border[prices + b, first_multiplier + c] -= gain * hits
                border[masses + b, first_multiplier + c] += gain * hits_out
    for c in range(constraints):
        x = first_multiplier + c
        border[x, x] += it.multiplier_slack[c] / it.multiplier[c]


@brief
def add_multiples(rows: Floats, factor: Floats, vector: Floats, count: int, m: int) -> None:
    """Add ``outer(factor, vector)`` to the first rows, four at a time."""
    b = 0
    while b + 3 < count:
        w0, w1, w2, w3 = factor[b], factor[b + 1], factor[b + 2], factor[b + 3]
        for x in range(m):
            value = vector[x]
            rows[b, x] += w0 * value
            rows[b + 1, x] += w1 * value
            rows[b + 2, x] += w2 * value
            rows[b + 3, x] += w3 * value
        b += 4
    while b < count:
        for x in range(m):
            rows[b, x] += factor[b] * vector[x]
        b += 1


@lean
def gather(w: Workspace, first: int, groups: int, q: int, f: int, share: Floats) -> None:
    """Copy N and M' of a few items from ``first`` on, so that an item's are next to each other."""
    for b in range(q):
        for c in range(min(share.shape[0], groups - first)):
            own, source = share[c], w.inverse[b, :q, first + c]
            for b2 in range(b + 1):
                own[b, b2] = own[b2, b] = source[b2]
            mixed = share[c, b, q:]
            source = w.mixed[b, :f, first + c] if f < q else w.mixed[:f, b, first + c]
            for a in range(f):
                mixed[a] = source[a]


@brief
def add_item(of_prices: Floats, of_masses: Floats, answers: Floats, out: Floats, count: float) -> None:
    """Add what an item answers to one player's prices and masses."""
    for x in range(answers.shape[0]):
        value = count * answers[x]
        of_prices[x] += value
        of_masses[x] -= value * out[x]


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
    # Filtered mean of the random walk for each border unknown, plus the items' own share. The columns of
    # the prices are the walk's posterior covariance: a price enters every item of its column alike.
    state = w.filtered[: q * m].reshape((q, m))
    for b in range(q):
        for x in range(m):
            state[b, x] = 0.0
    share = w.share[: TOGETHER * q * (q + f)].reshape((TOGETHER, q, q + f))
    out, out_p = w.running[1], w.running[2]
    for j in range(groups + 1):
        e = w.innovation[j]
        if j > 0:
            i = j - 1
            count = problem.items[WEIGHT, i]
            for b in range(q):
                out[b] = w.adversary[OUT, b, i]
            if f == 0:
                for b in range(q):
                    value = count * w.inverse[b, b, i]
                    state[b, prices + b] += value
                    state[b, masses + b] -= value * out[b]
            else:
                if i % TOGETHER == 0:
                    gather(w, i, groups, q, f, share)
                for a in range(f):
                    out_p[a] = w.predictor[OUT, a, i]
                for b in range(q):
                    own, mixed = share[i % TOGETHER, b, :q], share[i % TOGETHER, b, q:]
                    add_item(state[b, prices:], state[b, masses:], own, out, count)
                    add_item(state[b, prices_p:], state[b], mixed, out_p, -count)
                    for c in range(constraints):
                        bonus = 0.0
                        for a in range(f):
                            bonus += problem.limits[GAIN, c, predictor.size_index[a]] * mixed[a]
                        state[b, first_multiplier + c] += count * problem.items[POSITIVE, i] * bonus
        for x in range(m):
            e[x] = 0.0
        for b in range(q + 2):
            e[masses + b] = w.chain_beta[j, b]
        e[levels + 1] = -1.0
        for c in range(constraints):
            e[first_multiplier + c] = problem.chain_gain[c, j]
        variance = 0.0
        if j > 0:
            subtract_rows(e, w.chain_alpha[j], state, q, ZERO, m)
            for b in range(q):
                variance -= w.chain_alpha[j, b] * e[prices + b]
        precision = 1.0 / (max(variance, 0.0) + it.chain_slack[j] / it.chain_mass[j])
        w.along[PRECISION, j] = precision
        # A variance lost to rounding says that what this set observes was known before.
        known = variance <= 0.0
        for b in range(q):
            w.kalman_gain[j, b] = 0.0 if known else -e[prices + b] * precision
        if not known:
            add_multiples(state, w.kalman_gain[j], e, q, m)
    factor = w.factor
    for x in range(m):
        for j in range(groups + 1):
            factor[j] = -w.innovation[j, x] * w.along[PRECISION, j]
        subtract_rows(w.border[x], factor, w.innovation, groups + 1, x, m)


@part
def factorise(problem: Problem, it: Iterate, w: Workspace, regularisation: float) -> None:
    """Eliminate the items, then the chain, and factorise what remains."""
    q, f = it.adversary.used[0], it.predictor.used[0]
    groups = problem.items.shape[1]
    weigh(it.adversary, w.adversary, groups, regularisation)
    weigh(it.predictor, w.predictor, groups, regularisation)
    invert_items(it, w, groups)
    eliminate_items(problem, it, w)
    filter_chain(problem, it, w)
    m = 2 * f + 2 * q + 4 + it.multiplier.shape[0]
    ldl_factorise(w.border, m, w.reciprocal, w.factor)
