r"""The Newton step of the interior point method, in time linear in the number of items.

Linearising the optimality conditions and eliminating the items' marginals leaves

.. math::

    (\Theta + U W U^\top)\,\Delta r - \Phi\,x = d, \qquad \Phi^\top \Delta r + S\,x = b

for the chain's probabilities :math:`r` and a short border :math:`x` (masses, prices, value,
multipliers). Here :math:`\Theta = \mathrm{diag}(t_j / r_j)` with the chain's slacks :math:`t`, the rows
:math:`u_j` of :math:`U` are its factors of alpha (:mod:`.coupling`), and :math:`W` is what its sets have in
common. :mod:`.filtering` eliminates the chain as well, and a small dense system is left for the border.

Border order: predictor masses (f), adversary prices (q), adversary masses (q + 2), predictor prices
(f), the two levels, the constraints' multipliers (C).
"""

from .border import ldl_factorise
from .coupling import fours, whole_eights
from .filtering import filter_chain
from .items import reduce_items, reduced, weigh
from .parts import part
from .state import (
    BETA,
    GAIN,
    MAX_COLUMNS,
    OFFSET,
    OUT,
    POSITIVE,
    WEIGHED,
    WEIGHED_OUT,
    WEIGHT,
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
        sums = sum_twice(rows, wide, factors[b], factors[b2], side, b, b2, out[: fours(groups)])
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
    for x in range(fours(m)):
        row = border[x, x : whole_eights(m)]
        for y in range(row.shape[0]):
            row[y] = 0.0
    for x in range(m, fours(m)):  # unknowns that are not there
        border[x, x] = 1.0
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
            border[prices + b, x] = sums[0, b]
            border[masses + b, x] = -sums[1, b]
        if f > 0:
            border_entries(sums, wide, w.predictor, w.cross_on, n.seen[q + f + c], positive, f, groups)
        for a in range(f):
            row = predictor.size_index[a]
            gain = problem.limits[GAIN, c, row]
            hits, hits_out = 0.0, 0.0
            for i in range(groups):
                hits += positive[i] * w.predictor[WEIGHED, a, i]
                hits_out += positive[i] * w.predictor[WEIGHED_OUT, a, i]
            border[a, x] = gain * hits_out + sums[1, a] + problem.limits[OFFSET, c, row]
            border[prices_p + a, x] = -sums[0, a] - gain * hits
            for c2 in range(constraints):
                border[first_multiplier + c2, x] += problem.limits[GAIN, c2, row] * (gain * hits + sums[2, a])
        border[x, x] += it.multiplier_slack[c] / it.multiplier[c]


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
    ldl_factorise(w.border, fours(m), w.reciprocal, w.multiples)
