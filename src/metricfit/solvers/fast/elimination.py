r"""The Newton step of the interior point method, in time linear in the number of items.

Linearising the optimality conditions and eliminating the items' marginals leaves, with
:math:`N_i` the small matrix of item i (adversary columns only),

.. math::

    (T + A C A^\top)\,\Delta r - F\,x = d, \qquad F^\top \Delta r + S\,x = b

for the chain's probabilities :math:`r` and a short border :math:`x` (masses, prices, value,
multipliers). Here :math:`T = \mathrm{diag}(t_j / r_j)` and
:math:`C_{jk} = \sum_{i < \min(j,k)} m_i N_i^{-1}`, because the sets of the chain are nested. That is
the covariance of noisy observations :math:`a_j^\top \xi_j` of a random walk :math:`\xi` with
independent increments of covariance :math:`m_i N_i^{-1}`. A Kalman filter therefore *is* its
:math:`LDL^\top` factorisation: the innovations are :math:`L^{-1}` times the right-hand side, and the
backward pass is the solve with :math:`L^\top`. The cost is O(G c^2 + G c m) for G groups, c columns and
m border unknowns, where a dense factorisation would need O(G^3).

Border order: predictor masses (f), adversary prices (q), adversary masses (q + 2), predictor prices
(f), the two levels, the constraints' multipliers (C).
"""

import numpy as np

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
    Floats,
    Iterate,
    Problem,
    Workspace,
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
        for x2 in range(m):
            border[x, x2] = 0.0
    for b in range(q):
        out = w.adversary[OUT, b]
        low, high = (0, q) if f > 0 else (b, b + 1)  # N is diagonal without predictor columns
        for b2 in range(low, high):
            nn, ns, ss = 0.0, 0.0, 0.0
            for i in range(groups):
                value = problem.items[WEIGHT, i] * w.inverse[b, b2, i]
                nn += value
                value *= w.adversary[OUT, b2, i]
                ns += value
                ss += out[i] * value
            border[prices + b, prices + b2] = -nn
            border[prices + b, masses + b2] = ns
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
        for a2 in range(f):
            pp, po, oo, hits, hits_out = 0.0, 0.0, 0.0, 0.0, 0.0
            for i in range(groups):
                value = problem.items[WEIGHT, i] * w.inverse_p[a, a2, i]
                pp += value
                po += out[i] * value
                oo += out[i] * value * w.predictor[OUT, a2, i]
                hits += problem.items[POSITIVE, i] * value
                hits_out += problem.items[POSITIVE, i] * out[i] * value
            border[prices_p + a, prices_p + a2] = pp
            border[a, prices_p + a2] = -po
            border[a, a2] = oo
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


@lean
def lay_out(problem: Problem, it: Iterate, w: Workspace, first: int, share: Floats) -> None:
    """Write down what a few items from ``first`` on add to the filter's state, item by item."""
    predictor = it.predictor
    q, f = it.adversary.used[0], predictor.used[0]
    constraints = it.multiplier.shape[0]
    prices, masses, prices_p, multipliers = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 4
    # Places that cannot be negative spare the compiler Python's counting from the end.
    at_prices, at_masses, at_prices_p = np.uint64(prices), np.uint64(masses), np.uint64(prices_p)
    out, out_p = w.running[1], w.running[2]
    for c in range(min(share.shape[0], problem.items.shape[1] - first)):
        i = first + c
        count = problem.items[WEIGHT, i]
        if f == 0:  # N is diagonal without predictor columns
            for b in range(q):
                value = count * w.inverse[b, b, i]
                share[c, b, prices + b] = value
                share[c, b, masses + b] = -value * w.adversary[OUT, b, i]
            continue
        for b in range(q):
            out[b] = w.adversary[OUT, b, i]
        for a in range(f):
            out_p[a] = w.predictor[OUT, a, i]
        for b in range(q):
            row, inverse = share[c, b], w.inverse[b]
            for b2 in range(q):
                row[at_prices + np.uint64(b2)] = count * inverse[b2, i]
            for b2 in range(q):
                row[at_masses + np.uint64(b2)] = -row[at_prices + np.uint64(b2)] * out[b2]
            for a in range(f):
                row[at_prices_p + np.uint64(a)] = -count * (w.mixed[b, a, i] if f < q else w.mixed[a, b, i])
            for a in range(f):
                row[a] = -row[at_prices_p + np.uint64(a)] * out_p[a]
            for x in range(constraints):
                bonus = 0.0
                for a in range(f):
                    bonus -= problem.limits[GAIN, x, predictor.size_index[a]] * row[prices_p + a]
                row[multipliers + x] = problem.items[POSITIVE, i] * bonus


@lean
def advance(
    state: Floats, gain: Floats, before: Floats, share: Floats, alpha: Floats, e: Floats, q: int, m: int
) -> None:
    """Add ``outer(gain, before) + share`` to the state, then subtract ``alpha @ state`` from ``e``.

    All in one pass, and four rows at a time: short loops are dear.
    """
    b = 0
    while b + 3 < q:
        g0, g1, g2, g3 = gain[b], gain[b + 1], gain[b + 2], gain[b + 3]
        a0, a1, a2, a3 = alpha[b], alpha[b + 1], alpha[b + 2], alpha[b + 3]
        for x in range(m):
            y = before[x]
            v0 = state[b, x] + g0 * y + share[b, x]
            v1 = state[b + 1, x] + g1 * y + share[b + 1, x]
            v2 = state[b + 2, x] + g2 * y + share[b + 2, x]
            v3 = state[b + 3, x] + g3 * y + share[b + 3, x]
            state[b, x] = v0
            state[b + 1, x] = v1
            state[b + 2, x] = v2
            state[b + 3, x] = v3
            e[x] -= a0 * v0 + a1 * v1 + a2 * v2 + a3 * v3
        b += 4
    while b < q:
        g0, a0 = gain[b], alpha[b]
        for x in range(m):
            v0 = state[b, x] + g0 * before[x] + share[b, x]
            state[b, x] = v0
            e[x] -= a0 * v0
        b += 1


@part
def filter_chain(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Eliminate the chain by a Kalman filter and complete the border's Schur complement."""
    adversary = it.adversary
    q, f = adversary.used[0], it.predictor.used[0]
    groups = problem.items.shape[1]
    last = problem.adversary_sizes.shape[0] - 1
    constraints = it.multiplier.shape[0]
    prices, masses, levels = f, f + q, 2 * f + 2 * q + 2
    first_multiplier = levels + 2
    m = first_multiplier + constraints
    # Filtered mean of the random walk for each border unknown, plus the items' own share. The columns of
    # the prices are the walk's posterior covariance: a price enters every item of its column alike.
    state = w.filtered[: q * m].reshape((q, m))
    share = w.share[: TOGETHER * q * m].reshape((TOGETHER, q, m))
    for b in range(q):
        for x in range(m):
            state[b, x] = 0.0
    for c in range(TOGETHER):
        for b in range(q):
            for x in range(m):
                share[c, b, x] = 0.0
    for j in range(groups + 1):
        row = problem.chain[j]
        e = w.innovation[j]
        for x in range(m):
            e[x] = 0.0
        for b in range(q):
            e[masses + b] = problem.tables[BETA, row, adversary.size_index[b]]
        e[masses + q] = problem.tables[BETA, row, 0]
        e[masses + q + 1] = problem.tables[BETA, row, last]
        e[levels + 1] = -1.0
        for c in range(constraints):
            e[first_multiplier + c] = problem.chain_gain[c, j]
        variance = 0.0
        if j > 0:
            if (j - 1) % TOGETHER == 0:
                lay_out(problem, it, w, j - 1, share)
            own = share[(j - 1) % TOGETHER]
            advance(state, w.kalman_gain[j - 1], w.innovation[j - 1], own, w.chain_alpha[j], e, q, m)
            for b in range(q):
                variance -= w.chain_alpha[j, b] * e[prices + b]
        precision = 1.0 / (max(variance, 0.0) + it.chain_slack[j] / it.chain_mass[j])
        w.along[PRECISION, j] = precision
        for b in range(q):
            w.kalman_gain[j, b] = -e[prices + b] * precision
    factor = w.factor
    for x in range(m):
        for j in range(groups + 1):
            factor[j] = -w.innovation[j, x] * w.along[PRECISION, j]
        subtract_rows(w.border[x], factor, w.innovation, groups + 1, x, m)


@part
def factorise(problem: Problem, it: Iterate, w: Workspace, regularisation: float) -> None:
    """Eliminate the items, then the chain, and factorise what remains."""
    q, f = it.adversary.used[0], it.predictor.used[0]
    weigh(it.adversary, w.adversary, regularisation)
    weigh(it.predictor, w.predictor, regularisation)
    invert_items(it, w)
    eliminate_items(problem, it, w)
    filter_chain(problem, it, w)
    ldl_factorise(w.border, 2 * f + 2 * q + 4 + it.multiplier.shape[0], w.border_inverse, w.factor)
