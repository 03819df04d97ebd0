r"""The items' own blocks of the Newton system: inverted for all items at once, and applied.

For each item the steps of its marginals, :math:`\Delta Q` of the adversary and :math:`\Delta P` of the
predictor, answer to everything else by

.. math::

    D\,\Delta Q + A^\top \Delta P = g, \qquad A\,\Delta Q - E\,\Delta P = -h

with diagonal :math:`D` and :math:`E`; :math:`A`, alpha between columns in play, is the same for all. Hence

.. math::

    \Delta Q = N g - M^\top h, \quad \Delta P = M g + L h, \qquad
    N = (D + A^\top E^{-1} A)^{-1}, \; L = (E + A D^{-1} A^\top)^{-1}, \; M = E^{-1} A N = L A D^{-1} .

Only the smaller of :math:`N` and :math:`L` is inverted; the other follows from it, as the difference between
what it would be without the other player and what that player takes away. Where next to nothing is left of
it, the larger one is inverted instead. Everything runs along the items, so that a loop over them is one over
neighbours in memory.
"""

from typing import NamedTuple

from .border import subtract_rows, subtract_rows_twice
from .parts import part
from .state import (
    CURVATURE,
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    INSIDE,
    OUT,
    OUTSIDE,
    PER_INSIDE,
    PER_OUTSIDE,
    RHS,
    SOFTNESS,
    STEP,
    ZERO,
    Columns,
    Cube,
    Floats,
    Iterate,
    Matrix,
    Workspace,
    lean,
)

LOST = 1e-4
"""Share of a difference below which too many digits of it are lost."""


@lean
def weigh(columns: Columns, side: Floats, groups: int, regularisation: float) -> None:
    """Compute the diagonal of one player's marginals, and what it is made of."""
    for a in range(columns.used[0]):
        for i in range(groups):
            per_inside = 1.0 / columns.marginal[INSIDE, a, i]
            per_outside = 1.0 / columns.marginal[OUTSIDE, a, i]
            out = columns.marginal[DUAL_OUTSIDE, a, i] * per_outside
            curvature = columns.marginal[DUAL_INSIDE, a, i] * per_inside + out + regularisation
            side[PER_INSIDE, a, i] = per_inside
            side[PER_OUTSIDE, a, i] = per_outside
            side[OUT, a, i] = out
            side[CURVATURE, a, i] = curvature
            side[SOFTNESS, a, i] = 1.0 / curvature


@lean
def invert(matrix: Floats, size: int, items: int, column: Floats, scaled: Floats) -> None:
    """Invert positive definite matrices in place by the symmetric sweep operator, without pivoting.

    Entry (x, y) of all of them is ``matrix[x, y]``; only the lower triangle is read, both are written.
    """
    for k in range(size):
        pivot = matrix[k, k]
        for i in range(items):
            pivot[i] = 1.0 / pivot[i]
        for x in range(size):
            source = matrix[x, k] if x > k else matrix[k, x]
            for i in range(items):
                column[x, i] = source[i]
                scaled[x, i] = source[i] * pivot[i]
        for x in range(size):
            if x == k:
                continue
            for y in range(x + 1):
                if y != k:
                    for i in range(items):
                        matrix[x, y, i] -= column[x, i] * scaled[y, i]
            target = matrix[x, k] if x > k else matrix[k, x]
            for i in range(items):
                target[i] = scaled[x, i]
        for i in range(items):
            pivot[i] = -pivot[i]
    for x in range(size):
        for y in range(x + 1):
            for i in range(items):
                matrix[x, y, i] = -matrix[x, y, i]
            if y < x:
                for i in range(items):
                    matrix[y, x, i] = matrix[x, y, i]


@lean
def combine(target: Floats, rows: Floats, factors: Floats, wanted: int, count: int, items: int) -> None:
    """Subtract ``factors @ rows`` from the first entries of ``target``, item by item."""
    x = 0
    while x + 1 < wanted:
        subtract_rows_twice(target[x], target[x + 1], factors[x], factors[x + 1], rows, count, ZERO, items)
        x += 2
    if x < wanted:
        subtract_rows(target[x], factors[x], rows, count, ZERO, items)


class Side(NamedTuple):
    """The items' blocks as seen from the player whose own are inverted."""

    small: Cube  # (10, s, G) what there is of that player's marginals
    large: Cube  # (10, l, G) and of the other's
    alpha: Matrix  # (s, l)
    alpha_t: Matrix  # (l, s)
    own: Cube  # (s, s, G) inverses
    other: Cube  # (l, l, G) lower triangles
    s: int
    l: int
    sign: float  # +1 if the predictor's are inverted


@lean
def side_of(w: Workspace, q: int, f: int) -> Side:
    """Return what belongs to whom."""
    if w.by_predictor[0]:
        return Side(w.predictor, w.adversary, w.cross, w.cross_t, w.inverse_p, w.inverse, f, q, 1.0)
    return Side(w.adversary, w.predictor, w.cross_t, w.cross, w.inverse, w.inverse_p, q, f, -1.0)


@lean
def invert_side(w: Workspace, q: int, f: int, items: int) -> bool:
    """Invert one player's blocks, and derive the other's and ``w.mixed``, which has the other's index first.

    False if the other's are lost to rounding.
    """
    small, large, alpha, alpha_t, own, other, s, l, _ = side_of(w, q, f)
    kept = True
    soft, rows = large[SOFTNESS], w.pivots[0]
    for x in range(s):
        for z in range(l):
            for i in range(items):
                rows[z, i] = -alpha[x, z] * soft[z, i]
        for y in range(x + 1):
            for i in range(items):
                own[x, y, i] = small[CURVATURE, x, i] if x == y else 0.0
        combine(own[x], rows, alpha, x + 1, l, items)
    invert(own, s, items, w.pivots[0], w.pivots[1])
    rows = w.pivots[0]
    for x in range(s):
        for z in range(l):
            for i in range(items):
                rows[z, i] = 0.0
        combine(rows, own[x], alpha_t, l, s, items)
        for z in range(l):
            for i in range(items):
                w.mixed[z, x, i] = -rows[z, i] * soft[z, i]
    for z in range(l):
        for z2 in range(z + 1):
            for i in range(items):
                other[z, z2, i] = 1.0 if z == z2 else 0.0
        combine(other[z], w.mixed[z], alpha_t, z + 1, s, items)
        for i in range(items):
            kept = kept and other[z, z, i] > LOST
        for z2 in range(z + 1):
            for i in range(items):
                other[z, z2, i] *= soft[z2, i]
    return kept


@lean
def transpose(matrix: Floats, size: int, items: int) -> None:
    """Exchange the entries of all items' matrices across the diagonal."""
    for x in range(size):
        for y in range(x):
            one, other = matrix[x, y], matrix[y, x]
            for i in range(items):
                one[i], other[i] = other[i], one[i]


@part
def invert_items(it: Iterate, w: Workspace, items: int) -> None:
    """Compute N, L and M of every item."""
    q, f = it.adversary.used[0], it.predictor.used[0]
    if f == 0:
        for b in range(q):
            for i in range(items):
                w.inverse[b, b, i] = w.adversary[SOFTNESS, b, i]
        return
    smaller = f < q
    for attempt in range(2):
        w.by_predictor[0] = smaller == (attempt == 0)
        if invert_side(w, q, f, items):
            break
    if w.by_predictor[0] != smaller:
        transpose(w.mixed, max(q, f), items)


@part
def answer_items(w: Workspace, q: int, f: int, items: int) -> None:
    """STEP of both players' marginals from their RHS, g of the adversary and h of the predictor.

    By elimination, which reads one block of each item, where M and the other player's would make three.
    """
    if f == 0:
        for b in range(q):
            for i in range(items):
                w.adversary[STEP, b, i] = w.inverse[b, b, i] * w.adversary[RHS, b, i]
        return
    small, large, alpha, alpha_t, own, _, s, l, sign = side_of(w, q, f)
    given, rest = w.pivots[0], w.pivots[1]
    for z in range(l):
        for i in range(items):
            large[STEP, z, i] = -sign * large[SOFTNESS, z, i] * large[RHS, z, i]
    for x in range(s):
        for i in range(items):
            given[x, i] = small[RHS, x, i]
    combine(given, large[STEP], alpha, s, l, items)
    for x in range(s):
        step = small[STEP, x]
        for i in range(items):
            step[i] = own[x, 0, i] * given[0, i]
        y = 1
        while y + 1 < s:
            block, block_2, given_1, given_2 = own[x, y], own[x, y + 1], given[y], given[y + 1]
            for i in range(items):
                step[i] += block[i] * given_1[i] + block_2[i] * given_2[i]
            y += 2
        if y < s:
            block, given_1 = own[x, y], given[y]
            for i in range(items):
                step[i] += block[i] * given_1[i]
    for z in range(l):
        for i in range(items):
            rest[z, i] = sign * large[RHS, z, i]
    combine(rest, small[STEP], alpha_t, l, s, items)
    for z in range(l):
        for i in range(items):
            large[STEP, z, i] = sign * large[SOFTNESS, z, i] * rest[z, i]
