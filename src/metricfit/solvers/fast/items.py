r"""The items' own blocks of the Newton system: reduced for all items at once, and applied.

For each item the steps of its marginals, :math:`\Delta Q` of the adversary and :math:`\Delta P` of the
predictor, answer to the right-hand sides :math:`g` and :math:`h` and to the chain's pull :math:`c` by

.. math::

    D\,\Delta Q + A^\top \Delta P = g - V c, \qquad A\,\Delta Q - E\,\Delta P = -h

with diagonal :math:`D` and :math:`E`. Alpha between the columns in play, :math:`A = U V^\top`, is the same
for all items and of low rank (:mod:`.coupling`), so that the players answer each other through few numbers:
:math:`\pi = c + U^\top \Delta P`, what the adversary meets, and :math:`y = V^\top \Delta Q`, what the
predictor and the chain see. With :math:`X = U^\top E^{-1} U` and :math:`Y = V^\top D^{-1} V`

.. math::

    \Delta Q = D^{-1} (g - V \pi), \quad \Delta P = E^{-1} (h + U y), \qquad
    \pi = T s + T X\, t, \quad y = T^\top t - Y T\, s

where :math:`s = c + U^\top E^{-1} h`, :math:`t = V^\top D^{-1} g` and :math:`T = (I + X Y)^{-1}`. Everything
runs along the items, so that a loop over them is one over neighbours in memory. Short loops are dear: sums
over the rank take four terms at a time, and its end is filled up with zeros.
"""

from typing import NamedTuple

import numpy as np

from .border import subtract_rows, subtract_rows_twice
from .parts import part
from .state import (
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    FREE,
    GAIN,
    INSIDE,
    MET,
    OUT,
    OUTSIDE,
    PER_INSIDE,
    PER_OUTSIDE,
    POSITIVE,
    PULL,
    RHS,
    SEEN,
    SOFTNESS,
    STEP,
    WEIGHED,
    WEIGHED_OUT,
    ZERO,
    Columns,
    Floats,
    Iterate,
    Problem,
    Workspace,
    brief,
    lean,
)

LEAST = 1e-14
"""Pivots are not smaller than this share of what they are the rest of."""


@lean
def weigh(columns: Columns, side: Floats, weight: Floats, groups: int, regularisation: float) -> None:
    """Compute the diagonal of one player's marginals, and what it is made of."""
    for a in range(columns.used[0]):
        for i in range(groups):
            per_inside = 1.0 / columns.marginal[INSIDE, a, i]
            per_outside = 1.0 / columns.marginal[OUTSIDE, a, i]
            out = columns.marginal[DUAL_OUTSIDE, a, i] * per_outside
            softness = 1.0 / (columns.marginal[DUAL_INSIDE, a, i] * per_inside + out + regularisation)
            weighed = weight[i] * softness
            side[PER_INSIDE, a, i] = per_inside
            side[PER_OUTSIDE, a, i] = per_outside
            side[OUT, a, i] = out
            side[SOFTNESS, a, i] = softness
            side[WEIGHED, a, i] = weighed
            side[WEIGHED_OUT, a, i] = weighed * out


@lean
def combine(target: Floats, rows: Floats, factors: Floats, wanted: int, count: int, items: int) -> None:
    """Subtract ``factors @ rows`` from the first entries of ``target``, item by item."""
    x = 0
    while x + 1 < wanted:
        subtract_rows_twice(target[x], target[x + 1], factors[x], factors[x + 1], rows, count, ZERO, items)
        x += 2
    if x < wanted:
        subtract_rows(target[x], factors[x], rows, count, ZERO, items)


@brief
def remain(
    target: Floats, start: Floats, left: Floats, right: Floats, wide: int, scale: Floats, items: int
) -> None:
    """Compute ``(start - sum(left[k] * right[k])) * scale``, item by item."""
    source, k = start, 0
    while k + 4 < wide:
        l0, l1, l2, l3 = left[k], left[k + 1], left[k + 2], left[k + 3]
        r0, r1, r2, r3 = right[k], right[k + 1], right[k + 2], right[k + 3]
        for i in range(items):
            target[i] = source[i] - (l0[i] * r0[i] + l1[i] * r1[i] + l2[i] * r2[i] + l3[i] * r3[i])
        source = target
        k += 4
    l0, l1, l2, l3 = left[k], left[k + 1], left[k + 2], left[k + 3]
    r0, r1, r2, r3 = right[k], right[k + 1], right[k + 2], right[k + 3]
    for i in range(items):
        value = source[i] - (l0[i] * r0[i] + l1[i] * r1[i] + l2[i] * r2[i] + l3[i] * r3[i])
        target[i] = value * scale[i]


@brief
def fold(
    target: Floats, start: Floats, factors: Floats, rows: Floats, wide: int, scale: Floats, items: int
) -> None:
    """Compute ``(start - factors @ rows) * scale``, item by item."""
    source, k = start, 0
    while k + 4 < wide:
        w0, w1, w2, w3 = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
        r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
        for i in range(items):
            target[i] = source[i] - (w0 * r0[i] + w1 * r1[i] + w2 * r2[i] + w3 * r3[i])
        source = target
        k += 4
    w0, w1, w2, w3 = factors[k], factors[k + 1], factors[k + 2], factors[k + 3]
    r0, r1, r2, r3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
    for i in range(items):
        target[i] = (source[i] - (w0 * r0[i] + w1 * r1[i] + w2 * r2[i] + w3 * r3[i])) * scale[i]


@lean
def gram(
    target: Floats, factors_t: Floats, softness: Floats, count: int, rank: int, products: Floats, items: int
) -> None:
    """Compute the lower triangle of ``factors' diag(softness) factors``, row by row and item by item."""
    x = 0
    for r in range(rank):
        for r2 in range(r + 1):
            entry, product, one, other = target[x], products[x], factors_t[r], factors_t[r2]
            for b in range(count):
                product[b] = -one[b] * other[b]
            for i in range(items):
                entry[i] = 0.0
            x += 1
    combine(target, softness, products, x, count, items)


@lean
def cholesky(
    matrix: Floats,
    lower: Floats,
    upper: Floats,
    per: Floats,
    ones: Floats,
    rank: int,
    diagonal: bool,
    least: float,
) -> None:
    """Factorise the items' matrices, of which the lower triangles are given row by row.

    Before, ``lower`` and ``upper`` hold zeros; after, ``per`` holds 1 / the ``diagonal``, which may be left
    out of them. Rounding must not make a pivot smaller than ``least``.
    """
    wide, items = lower.shape[1:]
    row = 0
    for x in range(rank):
        for y in range(x):
            entry, mirrored = lower[x, y], upper[y, x]
            remain(mirrored, matrix[row + y], lower[x], lower[y], wide, per[y], items)
            for i in range(items):
                entry[i] = mirrored[i]
        pivot, scale = matrix[row + x], per[x]
        remain(scale, pivot, lower[x], lower[x], wide, ones, items)
        for i in range(items):
            pivot[i] = np.sqrt(max(scale[i], LEAST * pivot[i] + least))
            scale[i] = 1.0 / pivot[i]
        if diagonal:
            entry, mirrored = lower[x, x], upper[x, x]
            for i in range(items):
                entry[i] = pivot[i]
                mirrored[i] = pivot[i]
        row += x + 1


class Reduced(NamedTuple):
    """How items answer; of each array the last index is the item's, and sums run over the last but one."""

    t: Floats  # (r, r, G) -T
    t_t: Floats  # (r, r, G) T'
    k: Floats  # (r, r, G) -T X
    l: Floats  # (r, r, G) -Y T
    met: Floats  # (q + f + C, r, G) what the adversary meets if a column's price falls by one
    seen: Floats  # (q + f + C, r, G) minus what the predictor sees


@lean
def reduced(w: Workspace, columns: int, items: int) -> Reduced:
    """Return where it is: densely packed, as ranks are small."""
    rank, wide = w.rank[0], w.rank[1]
    blocks = w.blocks[: 4 * rank * wide * items].reshape((4, rank, wide, items))
    answers = w.answers[: 2 * columns * wide * items].reshape((2, columns, wide, items))
    return Reduced(blocks[1], blocks[0], blocks[2], blocks[3], answers[0], answers[1])


@lean
def couple(w: Workspace, n: Reduced, q: int, f: int, items: int) -> None:
    """Compute T and its products, by the Cholesky factors C of Y and R of ``I + C' X C``.

    ``T = C'^-1 (R R')^-1 C'``: triangular factors lose little to rounding if softnesses differ widely.
    """
    rank, wide = w.rank[0], w.rank[1]
    block = rank * wide * items
    memory = w.blocks[: 11 * block]
    for x in range(memory.shape[0]):
        memory[x] = 0.0
    more = w.blocks[4 * block : 11 * block].reshape((7, rank, wide, items))
    c, c_t, r, r_t, x, half, full = more[0], more[1], more[2], more[3], more[4], more[5], more[6]
    per_c, per_r, zeros, ones = w.moments[0], w.moments[1], w.moments[2, 0], w.moments[2, 1]
    packed, products = w.packed, w.products
    for i in range(items):
        zeros[i] = 0.0
        ones[i] = 1.0
    gram(packed, w.cross_on_t, w.predictor[SOFTNESS], f, rank, products, items)
    row = 0
    for a in range(rank):
        for b in range(a + 1):
            source, entry, mirrored = packed[row + b], x[a, b], x[b, a]
            for i in range(items):
                entry[i] = source[i]
                mirrored[i] = source[i]
        row += a + 1
    gram(packed, w.basis_t, w.adversary[SOFTNESS], q, rank, products, items)
    cholesky(packed, c, c_t, per_c, ones, rank, True, 0.0)
    for b in range(rank):
        for a in range(rank):
            remain(n.t[b, a], zeros, x[a], c_t[b], wide, ones, items)  # - X C, for the time being
    row = 0
    for a in range(rank):
        for b in range(a + 1):
            remain(packed[row + b], ones if a == b else zeros, c_t[a], n.t[b], wide, ones, items)
        row += a + 1
    cholesky(packed, r, r_t, per_r, ones, rank, False, 1.0)
    for b in range(rank):  # one column after the other: R^-1 C', (R R')^-1 C', T
        one, two, three = half[b], full[b], n.t_t[b]
        for a in range(rank):
            remain(one[a], c_t[a, b], r[a], one, wide, per_r[a], items)
        for a in range(rank - 1, -1, -1):
            remain(two[a], one[a], r_t[a], two, wide, per_r[a], items)
        for a in range(b + 1):
            entry, mirrored = n.l[b, a], n.l[a, b]
            remain(mirrored, zeros, c[a], two, wide, ones, items)
            for i in range(items):
                entry[i] = mirrored[i]
        for a in range(rank - 1, -1, -1):
            entry, mirrored = three[a], n.t[a, b]
            remain(mirrored, two[a], c_t[a], three, wide, per_c[a], items)
            for i in range(items):
                entry[i] = mirrored[i]
                mirrored[i] = -entry[i]
    for i in range(items):
        ones[i] = -1.0
    for a in range(rank):
        for b in range(a + 1):
            entry, mirrored = n.k[a, b], n.k[b, a]
            remain(mirrored, zeros, n.t[a], x[b], wide, ones, items)
            for i in range(items):
                entry[i] = mirrored[i]


@part
def reduce_items(problem: Problem, it: Iterate, w: Workspace, items: int) -> None:
    """Compute how every item answers."""
    q, f, constraints = it.adversary.used[0], it.predictor.used[0], it.multiplier.shape[0]
    if f == 0:
        return
    rank, wide = w.rank[0], w.rank[1]
    n = reduced(w, q + f + constraints, items)
    couple(w, n, q, f, items)
    zeros = w.moments[2, 0]
    for b in range(q):
        for r in range(rank):
            fold(n.met[b, r], zeros, w.basis[b], n.k[r], wide, w.adversary[SOFTNESS, b], items)
            fold(n.seen[b, r], zeros, w.basis[b], n.t_t[r], wide, w.adversary[SOFTNESS, b], items)
    for a in range(f):
        for r in range(rank):
            fold(n.met[q + a, r], zeros, w.cross_on[a], n.t[r], wide, w.predictor[SOFTNESS, a], items)
            fold(n.seen[q + a, r], zeros, w.cross_on[a], n.l[r], wide, w.predictor[SOFTNESS, a], items)
    for x in range(q + f):
        for r in range(rank, wide):
            for i in range(items):
                n.met[x, r, i] = 0.0
                n.seen[x, r, i] = 0.0
    for c in range(constraints):
        met, seen = n.met[q + f + c], n.seen[q + f + c]
        for r in range(wide):
            for i in range(items):
                met[r, i] = 0.0
                seen[r, i] = 0.0
            for a in range(f):
                gain = problem.limits[GAIN, c, it.predictor.size_index[a]]
                for i in range(items):
                    met[r, i] += gain * problem.items[POSITIVE, i] * n.met[q + a, r, i]
                    seen[r, i] += gain * problem.items[POSITIVE, i] * n.seen[q + a, r, i]


@brief
def add_products(target: Floats, left: Floats, right: Floats, wide: int, items: int) -> None:
    """Add ``sum(left[k] * right[k])``, item by item."""
    k = 0
    while k < wide:
        l0, l1, l2, l3 = left[k], left[k + 1], left[k + 2], left[k + 3]
        r0, r1, r2, r3 = right[k], right[k + 1], right[k + 2], right[k + 3]
        for i in range(items):
            target[i] += l0[i] * r0[i] + l1[i] * r1[i] + l2[i] * r2[i] + l3[i] * r3[i]
        k += 4


@part
def answer_items(w: Workspace, q: int, f: int, items: int) -> None:
    """STEP of both players' marginals from their RHS, g of the adversary and h of the predictor, and PULL.

    PULL is minus c, and SEEN, which comes out as well, minus y.
    """
    rank, wide = w.rank[0], w.rank[1]
    pull, seen, free, met = w.moments[PULL], w.moments[SEEN], w.moments[FREE], w.moments[MET]
    rhs, step, soft = w.adversary[RHS], w.adversary[STEP], w.adversary[SOFTNESS]
    rhs_p, step_p, soft_p = w.predictor[RHS], w.predictor[STEP], w.predictor[SOFTNESS]
    if f == 0:
        for b in range(q):
            for i in range(items):
                value = soft[b, i] * (rhs[b, i] + pull[b, i])
                step[b, i] = value
                seen[b, i] = -value
        return
    for b in range(q):
        for i in range(items):
            step[b, i] = soft[b, i] * rhs[b, i]
    for a in range(f):
        for i in range(items):
            step_p[a, i] = soft_p[a, i] * rhs_p[a, i]
    for r in range(wide):
        for i in range(items):
            met[r, i] = 0.0
            seen[r, i] = 0.0
            free[r, i] = 0.0
    combine(free, step, w.basis_t, rank, q, items)
    combine(pull, step_p, w.cross_on_t, rank, f, items)
    n = reduced(w, ZERO, items)
    for r in range(rank):
        add_products(met[r], n.t[r], pull, wide, items)
        add_products(met[r], n.k[r], free, wide, items)
        add_products(seen[r], n.t_t[r], free, wide, items)
        add_products(seen[r], n.l[r], pull, wide, items)
    for a in range(f):
        fold(step_p[a], rhs_p[a], w.cross_on[a], seen, wide, soft_p[a], items)
    for b in range(q):
        fold(step[b], rhs[b], w.basis[b], met, wide, soft[b], items)
