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

from typing import NamedTuple

import numba as nb
import numpy as np

from .state import FASTMATH, MAX_COLUMNS, Floats, Ints, Iterate, Problem


class Workspace(NamedTuple):
    """Everything a Newton step needs besides the iterate; allocated once per solve."""

    item_value: Floats  # (A, G) W: what an item costs the adversary, per column
    item_gain: Floats  # (P, G) Z: what an item earns the predictor, per column
    chain_alpha: Floats  # (G + 1, A) alpha of each set of the chain against each column
    curvature: Floats  # (A, G) D
    curvature_out: Floats  # (A, G) E
    predictor_inverse: Floats  # (P, G) 1 / D of the predictor's marginals
    predictor_out: Floats  # (P, G) E of them
    cross: Floats  # (P, A) alpha between the columns of both players
    inverse: Floats  # (G * q * q,) N_i^-1, packed
    kalman_gain: Floats  # (G + 1, A)
    variance: Floats  # (G + 1,)
    innovation: Floats  # ((G + 1) * m,) L^-1 F, packed
    border: Floats  # (m, m) Schur complement, then its LU factors
    pivot: Ints
    scale: Floats
    step: Floats  # (m,) right-hand side, then border part of the step
    step_inside: Floats  # (A, G)
    step_predictor: Floats  # (P, G)
    step_chain: Floats  # (G + 1,)
    rhs_item: Floats  # (A, G)
    rhs_predictor: Floats  # (P, G)
    residual_item: Floats  # (A, G)
    residual_predictor: Floats  # (P, G)
    residual_chain: Floats  # (G + 1,)
    residual_border: Floats  # (m,)
    comp_inside: Floats  # (A, G) right-hand sides of the complementarity rows
    comp_outside: Floats
    comp_inside_p: Floats
    comp_outside_p: Floats
    comp_chain: Floats
    comp_mass: Floats
    comp_mass_p: Floats
    comp_multiplier: Floats


@nb.njit(cache=True, nogil=True)
def new_workspace(groups: int, constraints: int) -> Workspace:
    """Uninitialised buffers for a problem with this many groups."""
    columns = MAX_COLUMNS
    border = 4 * columns + 4 + constraints
    wide = (columns, groups)
    return Workspace(
        np.empty(wide),
        np.empty(wide),
        np.empty((groups + 1, columns)),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty((columns, columns)),
        np.empty(groups * columns * columns),
        np.empty((groups + 1, columns)),
        np.empty(groups + 1),
        np.empty((groups + 1) * border),
        np.empty((border, border)),
        np.empty(border, np.int64),
        np.empty(border),
        np.empty(border),
        np.empty(wide),
        np.empty(wide),
        np.empty(groups + 1),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(groups + 1),
        np.empty(border),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(groups + 1),
        np.empty(columns + 2),
        np.empty(columns),
        np.empty(constraints),
    )


@nb.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def evaluate(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Item values of both players and the residuals of every linear equation."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.count.shape[0]
    last = problem.adversary_sizes.shape[0] - 1
    constraints = it.multiplier.shape[0]
    eta, rho = it.level[0], it.level[1]
    for a in range(f):
        row = predictor.index[a]
        bonus = 0.0
        for c in range(constraints):
            bonus += it.multiplier[c] * problem.gain[c, row]
        for i in range(groups):
            w.item_gain[a, i] = bonus * problem.positive[i]
    for b in range(q):
        column = adversary.index[b]
        running = 0.0
        for i in range(groups - 1, -1, -1):
            running += it.chain_mass[i + 1] * problem.alpha[problem.chain[i + 1], column]
            w.item_value[b, i] = running
        for j in range(groups + 1):
            w.chain_alpha[j, b] = problem.alpha[problem.chain[j], column]
        for a in range(f):
            alpha = problem.alpha[predictor.index[a], column]
            w.cross[a, b] = alpha
            for i in range(groups):
                w.item_value[b, i] += alpha * predictor.inside[a, i]
                w.item_gain[a, i] += alpha * adversary.inside[b, i]

    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    total = -1.0
    for b in range(q + 2):
        base = eta - adversary.dual_mass[b if b < q else MAX_COLUMNS + b - q]
        if b < q:
            column = adversary.index[b]
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
                outside += problem.count[i] * adversary.dual_outside[b, i]
                inside += problem.count[i] * adversary.inside[b, i]
            for j in range(groups + 1):
                base += it.chain_mass[j] * problem.beta[problem.chain[j], column]
            for a in range(f):
                base += predictor.mass[a] * problem.beta[predictor.index[a], column]
            base -= size * adversary.price[b] + outside
            w.residual_border[prices + b] = inside - size * adversary.mass[b]
            total += adversary.mass[b]
        else:
            column = 0 if b == q else last
            for j in range(groups + 1):
                base += it.chain_mass[j] * problem.beta[problem.chain[j], column]
            for a in range(f):
                base += predictor.mass[a] * problem.beta[predictor.index[a], column]
            if b > q:
                for i in range(groups):
                    base -= problem.count[i] * problem.score[i]
            total += adversary.mass[MAX_COLUMNS + b - q]
        w.residual_border[masses + b] = base
    w.residual_border[levels] = total

    total = 1.0
    for a in range(f):
        row = predictor.index[a]
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
            outside += problem.count[i] * predictor.dual_outside[a, i]
            inside += problem.count[i] * predictor.inside[a, i]
        base = outside + size * predictor.price[a] + predictor.dual_mass[a] - rho
        base += problem.beta[row, 0] * adversary.mass[MAX_COLUMNS]
        base += problem.beta[row, last] * adversary.mass[MAX_COLUMNS + 1]
        for b in range(q):
            base += problem.beta[row, adversary.index[b]] * adversary.mass[b]
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
                running_inside[b] += problem.count[j - 1] * adversary.inside[b, j - 1]
            value += problem.beta[row, adversary.index[b]] * adversary.mass[b]
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
            row = predictor.index[a]
            hits = 0.0
            for i in range(groups):
                hits += problem.count[i] * problem.positive[i] * predictor.inside[a, i]
            slack += predictor.mass[a] * problem.offset[c, row] + problem.gain[c, row] * hits
        w.residual_border[levels + 2 + c] = slack


@nb.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def invert_item(
    w: Workspace, i: int, q: int, f: int, inverse: Floats, mixed: Floats, core: Floats
) -> None:
    """Invert the block of item i, with D and E the diagonals of its two sets of marginals.

    ``inverse`` is N^-1 for N = D + A' E^-1 A, ``mixed`` is E^-1 A N^-1 and ``core`` is
    E^-1 A N^-1 A' E^-1. Near the solution D and E both get tiny; everything is therefore derived
    from the one computed N^-1, so that elimination and back-substitution agree to rounding.
    """
    for b in range(q):
        for b2 in range(q):
            inverse[b, b2] = 0.0
        inverse[b, b] = w.curvature[b, i]
    for a in range(f):
        own = w.predictor_inverse[a, i]
        for b in range(q):
            scaled = own * w.cross[a, b]
            for b2 in range(q):
                inverse[b, b2] += scaled * w.cross[a, b2]
    if f == 0:
        for b in range(q):
            inverse[b, b] = 1.0 / inverse[b, b]
    else:
        # Gauss-Jordan without pivoting: N is symmetric positive definite.
        for k in range(q):
            pivot = 1.0 / inverse[k, k]
            inverse[k, k] = 1.0
            for b2 in range(q):
                inverse[k, b2] *= pivot
            for b in range(q):
                if b != k:
                    factor = inverse[b, k]
                    inverse[b, k] = 0.0
                    for b2 in range(q):
                        inverse[b, b2] -= factor * inverse[k, b2]
    for a in range(f):
        own = w.predictor_inverse[a, i]
        for b in range(q):
            mixed[a, b] = 0.0
        for b2 in range(q):
            scaled = own * w.cross[a, b2]
            for b in range(q):
                mixed[a, b] += scaled * inverse[b2, b]
        for a2 in range(f):
            value = 0.0
            for b in range(q):
                value += mixed[a, b] * w.cross[a2, b]
            core[a, a2] = value * w.predictor_inverse[a2, i]
    start = i * q * q
    for b in range(q):
        for b2 in range(q):
            w.inverse[start + b * q + b2] = inverse[b, b2]


@nb.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def factorise(problem: Problem, it: Iterate, w: Workspace, regularisation: float) -> None:
    """Eliminate items, then the chain (Kalman filter), and factorise the border."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.count.shape[0]
    last = problem.adversary_sizes.shape[0] - 1
    constraints = it.multiplier.shape[0]
    prices, masses, prices_p, levels = f, f + q, f + 2 * q + 2, 2 * f + 2 * q + 2
    first_multiplier = levels + 2
    m = first_multiplier + constraints
    border = w.border
    for b in range(m):
        for b2 in range(m):
            border[b, b2] = 0.0

    for b in range(q):
        outside = 0.0
        for i in range(groups):
            out = adversary.dual_outside[b, i] / adversary.outside[b, i]
            w.curvature_out[b, i] = out
            w.curvature[b, i] = (
                adversary.dual_inside[b, i] / adversary.inside[b, i] + out + regularisation
            )
            outside += problem.count[i] * out
        border[masses + b, masses + b] = outside + adversary.dual_mass[b] / adversary.mass[b]
        border[prices + b, masses + b] = -problem.adversary_sizes[adversary.index[b]]
        border[masses + b, levels] = 1.0
    for b in range(2):
        end = MAX_COLUMNS + b
        border[masses + q + b, masses + q + b] = adversary.dual_mass[end] / adversary.mass[end]
        border[masses + q + b, levels] = 1.0
    for a in range(f):
        row = predictor.index[a]
        mass_mass, mass_price, price_price = 0.0, 0.0, 0.0
        mass_bonus, price_bonus = 0.0, 0.0
        for i in range(groups):
            count = problem.count[i]
            out = predictor.dual_outside[a, i] / predictor.outside[a, i]
            own = 1.0 / (predictor.dual_inside[a, i] / predictor.inside[a, i] + out + regularisation)
            w.predictor_out[a, i] = out
            w.predictor_inverse[a, i] = own
            mass_mass += count * (out - out * out * own)
            mass_price += count * out * own
            price_price += count * own
            mass_bonus += count * problem.positive[i] * out * own
            price_bonus += count * problem.positive[i] * own
        border[a, a] = -mass_mass - predictor.dual_mass[a] / predictor.mass[a]
        border[a, prices_p + a] = problem.predictor_sizes[row] - mass_price
        border[prices_p + a, prices_p + a] = price_price
        for b in range(q):
            border[a, masses + b] = problem.beta[row, adversary.index[b]]
        border[a, masses + q] = problem.beta[row, 0]
        border[a, masses + q + 1] = problem.beta[row, last]
        border[a, levels + 1] = -1.0
        for c in range(constraints):
            gain = problem.gain[c, row]
            border[a, first_multiplier + c] = problem.offset[c, row] + gain * mass_bonus
            border[prices_p + a, first_multiplier + c] = -gain * price_bonus
            for c2 in range(c, constraints):
                border[first_multiplier + c, first_multiplier + c2] += (
                    gain * problem.gain[c2, row] * price_bonus
                )
    for c in range(constraints):
        border[first_multiplier + c, first_multiplier + c] += (
            it.multiplier_slack[c] / it.multiplier[c]
        )

    inverse = np.empty((q, q))
    mixed = np.empty((f, q))
    core = np.empty((f, f))
    cov = np.zeros((q, q))  # posterior covariance of the random walk
    state = np.zeros((q, m))  # its filtered mean for each border unknown, plus the items' own share
    for j in range(groups + 1):
        if j > 0:
            i = j - 1
            count = problem.count[i]
            invert_item(w, i, q, f, inverse, mixed, core)
            for b in range(q):
                out = w.curvature_out[b, i]
                low, high = (0, q) if f > 0 else (b, b + 1)  # diagonal without predictor columns
                for b2 in range(low, high):
                    value = count * inverse[b, b2]
                    scaled = value * w.curvature_out[b2, i]
                    cov[b, b2] += value
                    state[b, prices + b2] += value
                    state[b, masses + b2] -= scaled
                    border[prices + b, prices + b2] -= value
                    border[prices + b, masses + b2] += scaled
                    border[masses + b, masses + b2] -= out * scaled
            for a in range(f):
                out = w.predictor_out[a, i]
                for b in range(q):
                    value = count * mixed[a, b]
                    scaled = value * w.curvature_out[b, i]
                    state[b, a] += out * value
                    state[b, prices_p + a] -= value
                    border[a, prices + b] -= out * value
                    border[a, masses + b] += out * scaled
                    border[prices + b, prices_p + a] += value
                    border[masses + b, prices_p + a] -= scaled
                for a2 in range(f):
                    value = count * core[a, a2]
                    scaled = value * w.predictor_out[a2, i]
                    border[a, a2] -= out * scaled
                    border[a, prices_p + a2] += out * value
                    border[prices_p + a, prices_p + a2] -= value
            if problem.positive[i] != 0.0:
                for c in range(constraints):
                    x = first_multiplier + c
                    for a in range(f):
                        gain = count * problem.gain[c, predictor.index[a]]
                        for b in range(q):
                            value = gain * mixed[a, b]
                            state[b, x] += value
                            border[prices + b, x] -= value
                            border[masses + b, x] += value * w.curvature_out[b, i]
                        for a2 in range(f):
                            value = gain * core[a, a2]
                            border[a2, x] -= value * w.predictor_out[a2, i]
                            border[prices_p + a2, x] += value
                            for c2 in range(c, constraints):
                                border[x, first_multiplier + c2] -= (
                                    value * problem.gain[c2, predictor.index[a2]]
                                )

        row = problem.chain[j]
        start = j * m
        e = w.innovation[start : start + m]
        for x in range(m):
            e[x] = 0.0
        for b in range(q):
            e[masses + b] = problem.beta[row, adversary.index[b]]
        e[masses + q] = problem.beta[row, 0]
        e[masses + q + 1] = problem.beta[row, last]
        e[levels + 1] = -1.0
        for c in range(constraints):
            e[first_multiplier + c] = problem.chain_gain[c, j]
        noise = it.chain_slack[j] / it.chain_mass[j]
        variance = 0.0
        if j > 0:
            for b in range(q):
                alpha = w.chain_alpha[j, b]
                for x in range(m):
                    e[x] -= alpha * state[b, x]
                value = 0.0
                for b2 in range(q):
                    value += cov[b, b2] * w.chain_alpha[j, b2]
                w.kalman_gain[j, b] = value
                variance += alpha * value
        variance = max(variance, 0.0) + noise
        w.variance[j] = variance
        precision = 1.0 / variance
        if j > 0:
            for b in range(q):
                gain = w.kalman_gain[j, b] * precision
                for b2 in range(q):
                    cov[b, b2] -= gain * w.kalman_gain[j, b2]
                for x in range(m):
                    state[b, x] += gain * e[x]
            for b in range(q):
                w.kalman_gain[j, b] *= precision
        for x in range(m):
            scaled = e[x] * precision
            for x2 in range(x, m):
                border[x, x2] += scaled * e[x2]
    for x in range(m):
        for x2 in range(x):
            border[x, x2] = border[x2, x]
    lu_factorise(border, m, w.pivot, w.scale)


@nb.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def lu_factorise(matrix: Floats, m: int, pivot: Ints, scale: Floats) -> None:
    """LU with partial pivoting after symmetric equilibration; the border is indefinite."""
    for x in range(m):
        scale[x] = 1.0
    for _ in range(2):
        for x in range(m):
            largest = 0.0
            for x2 in range(m):
                largest = max(largest, abs(matrix[x, x2]) * scale[x2])
            largest *= scale[x]
            if largest > 0.0:
                scale[x] /= np.sqrt(largest)
    for x in range(m):
        for x2 in range(m):
            matrix[x, x2] *= scale[x] * scale[x2]
    for k in range(m):
        best = k
        for x in range(k + 1, m):
            if abs(matrix[x, k]) > abs(matrix[best, k]):
                best = x
        pivot[k] = best
        if best != k:
            for x2 in range(m):
                matrix[k, x2], matrix[best, x2] = matrix[best, x2], matrix[k, x2]
        if matrix[k, k] == 0.0:
            matrix[k, k] = 1e-30
        inverse = 1.0 / matrix[k, k]
        for x in range(k + 1, m):
            factor = matrix[x, k] * inverse
            matrix[x, k] = factor
            if factor != 0.0:
                for x2 in range(k + 1, m):
                    matrix[x, x2] -= factor * matrix[k, x2]


@nb.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def lu_solve(matrix: Floats, m: int, pivot: Ints, scale: Floats, x: Floats) -> None:
    """Solve in place with the factors of :func:`lu_factorise`."""
    for k in range(m):
        x[k] *= scale[k]
    for k in range(m):
        best = pivot[k]
        if best != k:
            x[k], x[best] = x[best], x[k]
    for k in range(m):
        value = x[k]
        for k2 in range(k):
            value -= matrix[k, k2] * x[k2]
        x[k] = value
    for k in range(m - 1, -1, -1):
        value = x[k]
        for k2 in range(k + 1, m):
            value -= matrix[k, k2] * x[k2]
        x[k] = value / matrix[k, k]
    for k in range(m):
        x[k] *= scale[k]


@nb.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")
def direction(problem: Problem, it: Iterate, w: Workspace) -> None:
    """Solve for the step that removes the residuals and meets the complementarity targets."""
    adversary, predictor = it.adversary, it.predictor
    q, f = adversary.used[0], predictor.used[0]
    groups = problem.count.shape[0]
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
            out = w.comp_outside[b, i] / adversary.outside[b, i]
            w.rhs_item[b, i] = (
                w.comp_inside[b, i] / adversary.inside[b, i] - out - w.residual_item[b, i]
            )
            outside += problem.count[i] * out
        step[masses + b] += outside + w.comp_mass[b] / adversary.mass[b]
    for b in range(2):
        end = MAX_COLUMNS + b
        step[masses + q + b] += w.comp_mass[end] / adversary.mass[end]
    for a in range(f):
        row = predictor.index[a]
        price, mass, bonus = 0.0, 0.0, 0.0
        for i in range(groups):
            count = problem.count[i]
            out = w.comp_outside_p[a, i] / predictor.outside[a, i]
            value = out - w.comp_inside_p[a, i] / predictor.inside[a, i] - w.residual_predictor[a, i]
            w.rhs_predictor[a, i] = value
            scaled = value * w.predictor_inverse[a, i]
            price += count * scaled
            mass += count * (w.predictor_out[a, i] * scaled - out)
            bonus += count * problem.positive[i] * scaled
        step[a] += mass - w.comp_mass_p[a] / predictor.mass[a]
        step[prices_p + a] -= price
        for c in range(constraints):
            step[first_multiplier + c] += problem.gain[c, row] * bonus
        for b in range(q):
            alpha = w.cross[a, b]
            for i in range(groups):
                w.rhs_item[b, i] += alpha * w.predictor_inverse[a, i] * w.rhs_predictor[a, i]
    for c in range(constraints):
        step[first_multiplier + c] += w.comp_multiplier[c] / it.multiplier[c]

    # Forward: filter the chain's right-hand side, collecting the border's as we go.
    state = np.zeros(q)
    y = np.empty(q)
    for j in range(groups + 1):
        if j > 0:
            i = j - 1
            count = problem.count[i]
            start = i * q * q
            for b in range(q):
                value = 0.0
                for b2 in range(q):
                    value += w.inverse[start + b * q + b2] * w.rhs_item[b2, i]
                y[b] = count * value
                state[b] -= y[b]
                step[prices + b] -= y[b]
                step[masses + b] += w.curvature_out[b, i] * y[b]
            for a in range(f):
                value = 0.0
                for b in range(q):
                    value += w.cross[a, b] * y[b]
                value *= w.predictor_inverse[a, i]
                step[a] -= w.predictor_out[a, i] * value
                step[prices_p + a] += value
                for c in range(constraints):
                    step[first_multiplier + c] -= (
                        problem.gain[c, predictor.index[a]] * problem.positive[i] * value
                    )
        value = w.residual_chain[j] + w.comp_chain[j] / it.chain_mass[j]
        if j > 0:
            for b in range(q):
                value -= w.chain_alpha[j, b] * state[b]
            for b in range(q):
                state[b] += w.kalman_gain[j, b] * value
        value /= w.variance[j]
        w.step_chain[j] = value
        start = j * m
        for x in range(m):
            step[x] -= w.innovation[start + x] * value

    lu_solve(w.border, m, w.pivot, w.scale, step)

    # Backward: the chain, and with its running sum the items.
    for b in range(q):
        state[b] = 0.0
    for j in range(groups, -1, -1):
        start = j * m
        value = 0.0
        for x in range(m):
            value += w.innovation[start + x] * step[x]
        value = w.step_chain[j] + value / w.variance[j]
        if j > 0:
            for b in range(q):
                value -= w.kalman_gain[j, b] * state[b]
            for b in range(q):
                state[b] += w.chain_alpha[j, b] * value
        w.step_chain[j] = value
        if j > 0:
            i = j - 1
            for b in range(q):
                y[b] = (
                    w.rhs_item[b, i]
                    - state[b]
                    - step[prices + b]
                    + w.curvature_out[b, i] * step[masses + b]
                )
            for a in range(f):
                value = w.predictor_out[a, i] * step[a] - step[prices_p + a]
                for c in range(constraints):
                    value += (
                        problem.gain[c, predictor.index[a]]
                        * problem.positive[i]
                        * step[first_multiplier + c]
                    )
                w.step_predictor[a, i] = value - w.rhs_predictor[a, i]
                value *= w.predictor_inverse[a, i]
                for b in range(q):
                    y[b] -= w.cross[a, b] * value
            start = i * q * q
            for b in range(q):
                value = 0.0
                for b2 in range(q):
                    value += w.inverse[start + b * q + b2] * y[b2]
                w.step_inside[b, i] = value
            for a in range(f):
                value = w.step_predictor[a, i]
                for b in range(q):
                    value += w.cross[a, b] * w.step_inside[b, i]
                w.step_predictor[a, i] = value * w.predictor_inverse[a, i]
