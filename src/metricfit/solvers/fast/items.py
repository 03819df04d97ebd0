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

where :math:`s = c + U^\top E^{-1} h`, :math:`t = V^\top D^{-1} g` and :math:`T = (I + X Y)^{-1}`. Items are
taken eight at a time, and their matrices are cut into tiles (:mod:`.tiles`). Where there are fewer than eight
items, or fewer than four columns, numbers are computed for some that are not there; nobody reads them.
"""

from typing import NamedTuple

from .coupling import whole_eights
from .parts import part
from .state import (
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    FREE,
    GAIN,
    INSIDE,
    LANES,
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
from .tiles import (
    ROW,
    TILE,
    cholesky,
    copy_tile,
    gram,
    solve_lower,
    solve_upper,
    subtract_product,
    transpose_tile,
)


@lean
def weigh(columns: Columns, side: Floats, weight: Floats, groups: int, regularisation: float) -> None:
    """Compute the diagonal of one player's marginals, and what it is made of."""
    for a in range(columns.used[0]):
        for i in range(groups):
            inside, outside = columns.marginal[INSIDE, a, i], columns.marginal[OUTSIDE, a, i]
            dual, dual_out = columns.marginal[DUAL_INSIDE, a, i], columns.marginal[DUAL_OUTSIDE, a, i]
            # One division for three: it takes as long as ten products.
            both = inside * outside
            diagonal = dual * outside + dual_out * inside + regularisation * both
            per = 1.0 / (both * diagonal)
            per_both, softness = per * diagonal, per * both * both
            out = dual_out * inside * per_both
            weighed = weight[i] * softness
            side[PER_INSIDE, a, i] = outside * per_both
            side[PER_OUTSIDE, a, i] = inside * per_both
            side[OUT, a, i] = out
            side[SOFTNESS, a, i] = softness
            side[WEIGHED, a, i] = weighed
            side[WEIGHED_OUT, a, i] = weighed * out


@lean
def fill_up(columns: Columns, side: Floats, groups: int) -> None:
    """Have items that weigh nothing complete the last vector."""
    for a in range(columns.used[0]):
        for i in range(groups, whole_eights(groups)):
            side[SOFTNESS, a, i] = 1.0
            side[OUT, a, i] = 0.0
            side[WEIGHED, a, i] = 0.0
            side[WEIGHED_OUT, a, i] = 0.0


class Reduced(NamedTuple):
    """How items answer, tile by tile; and column by column, along the items."""

    t: Floats  # (eights, r / 4, r / 4, TILE) -T
    t_t: Floats  # likewise, T'
    k: Floats  # T X
    l: Floats  # Y T
    met: Floats  # (q + f + C, r, LANES * eights) what the adversary meets if a column's price falls by one
    seen: Floats  # likewise, minus what the predictor sees


@lean
def reduced(w: Workspace, columns: int, f: int, items: int) -> Reduced:
    """Return where it is: densely packed, as ranks are small. Without the predictor's, none."""
    wide, eights = w.rank[1] if f > 0 else 0, -(-items // LANES)
    tiles = wide // 4
    blocks = w.blocks[: 4 * eights * tiles * tiles * TILE].reshape((4, eights, tiles, tiles, TILE))
    answers = w.answers[: 2 * columns * wide * eights * LANES].reshape((2, columns, wide, eights * LANES))
    return Reduced(blocks[0], blocks[1], blocks[2], blocks[3], answers[0], answers[1])


class Pieces(NamedTuple):
    """What belongs to the columns, cut into fours of factors and eights of items."""

    adversary: Floats  # (11, A, eights, LANES)
    predictor: Floats
    basis: Floats  # (A, R / 4, 4)
    cross_on: Floats


@lean
def pieces(w: Workspace) -> Pieces:
    """Cut it."""
    sides, rows, items = w.adversary.shape
    columns, factors = w.basis.shape
    in_eights, in_fours = (sides, rows, items // LANES, LANES), (columns, factors // 4, 4)
    return Pieces(
        w.adversary.reshape(in_eights),
        w.predictor.reshape(in_eights),
        w.basis.reshape(in_fours),
        w.cross_on.reshape(in_fours),
    )


@lean
def couple(w: Workspace, p: Pieces, n: Reduced, eight: int, q: int, f: int) -> None:
    """Compute T and its products for eight items, by the Cholesky factors C of Y and R of ``I + C' X C``.

    ``T = C'^-1 (R R')^-1 C'``: triangular factors lose little to rounding if softnesses differ widely.
    """
    rank, tiles = w.rank[0], w.rank[1] // 4
    size = tiles * tiles * TILE
    more = w.coupling[: 8 * size].reshape((8, tiles, tiles, TILE))
    x, y, c, c_t, r, r_t, xc, full = more[0], more[1], more[2], more[3], more[4], more[5], more[6], more[7]
    rows = w.coupling[8 * size : 8 * size + 3 * tiles * ROW].reshape((3, tiles, ROW))
    per_c, per_r, whole = rows[0], rows[1], rows[2, 0]
    gram(x, p.cross_on, p.predictor[SOFTNESS], f, eight)
    gram(y, p.basis, p.adversary[SOFTNESS], q, eight)
    for a in range(rank, 4 * tiles):  # factors that are not there; nothing comes of them
        own, at = y[a // 4, a // 4], (ROW + LANES) * (a % 4)
        for i in range(LANES):
            own[at + i] = 1.0
    cholesky(y, 0.0, c, c_t, per_c, whole)
    for a in range(tiles):
        for b in range(tiles):
            for k in range(b, tiles):
                subtract_product(xc[a, b], x[a, k], c[k, b], k > b)  # - X C
    for a in range(tiles):
        for b in range(a, tiles):
            for k in range(a, tiles):
                subtract_product(y[a, b], c_t[a, k], xc[k, b], k > a)  # C' X C
    cholesky(y, 1.0, r, r_t, per_r, whole)
    t, t_t, products_x, products_y = n.t[eight], n.t_t[eight], n.k[eight], n.l[eight]
    for b in range(tiles):  # one column after the other: - R^-1 C', - (R R')^-1 C', - T
        for a in range(tiles):
            copy_tile(full[a, b], c_t[min(a, b), b], -1.0 if a <= b else 0.0)
            for k in range(a):
                subtract_product(full[a, b], r[a, k], full[k, b], True)
            solve_lower(full[a, b], r[a, a], per_r[a])
        for a in range(tiles - 1, -1, -1):
            for k in range(a + 1, tiles):
                subtract_product(full[a, b], r_t[a, k], full[k, b], True)
            solve_upper(full[a, b], r_t[a, a], per_r[a])
        for a in range(tiles - 1, -1, -1):
            copy_tile(t[a, b], full[a, b], 1.0)
            for k in range(a + 1, tiles):
                subtract_product(t[a, b], c_t[a, k], t[k, b], True)
            solve_upper(t[a, b], c_t[a, a], per_c[a])
            transpose_tile(t_t[b, a], t[a, b], -1.0)
            for k in range(a + 1):
                subtract_product(products_y[a, b], c[a, k], full[k, b], k > 0)
    for a in range(tiles):
        for b in range(tiles):
            for k in range(tiles):
                subtract_product(products_x[a, b], t[a, k], x[k, b], k > 0)


@brief
def add_answer(
    t0: Floats, t1: Floats, t2: Floats, t3: Floats, factors: Floats, tile: Floats, soft: Floats, more: bool
) -> None:
    """Add what eight items answer to a column due to four of its factors, or begin with it."""
    for i in range(LANES):
        v0, v1, v2, v3 = (
            factors[0] * soft[i],
            factors[1] * soft[i],
            factors[2] * soft[i],
            factors[3] * soft[i],
        )
        i1, i2, i3 = LANES + i, 2 * LANES + i, 3 * LANES + i
        t0[i] = (t0[i] if more else 0.0) + (
            v0 * tile[i] + v1 * tile[ROW + i] + v2 * tile[2 * ROW + i] + v3 * tile[3 * ROW + i]
        )
        t1[i] = (t1[i] if more else 0.0) + (
            v0 * tile[i1] + v1 * tile[ROW + i1] + v2 * tile[2 * ROW + i1] + v3 * tile[3 * ROW + i1]
        )
        t2[i] = (t2[i] if more else 0.0) + (
            v0 * tile[i2] + v1 * tile[ROW + i2] + v2 * tile[2 * ROW + i2] + v3 * tile[3 * ROW + i2]
        )
        t3[i] = (t3[i] if more else 0.0) + (
            v0 * tile[i3] + v1 * tile[ROW + i3] + v2 * tile[2 * ROW + i3] + v3 * tile[3 * ROW + i3]
        )


@brief
def answer_columns(
    target: Floats, factors: Floats, matrix: Floats, softness: Floats, count: int, eight: int
) -> None:
    """Compute ``factors @ matrix`` times the columns' softness, of eight items."""
    for a in range(count):
        own = target[a]
        for x in range(matrix.shape[0]):
            for k in range(matrix.shape[0]):
                add_answer(
                    own[4 * x, eight],
                    own[4 * x + 1, eight],
                    own[4 * x + 2, eight],
                    own[4 * x + 3, eight],
                    factors[a, k],
                    matrix[k, x],
                    softness[a, eight],
                    k > 0,
                )


@part
def reduce_items(problem: Problem, it: Iterate, w: Workspace, items: int) -> None:
    """Compute how every item answers."""
    q, f, constraints = it.adversary.used[0], it.predictor.used[0], it.multiplier.shape[0]
    if f == 0:
        return
    n = reduced(w, q + f + constraints, f, items)
    wide, eights = w.rank[1], n.t.shape[0]
    of_eights = q + f + constraints, wide, eights, LANES
    met, seen = n.met.reshape(of_eights), n.seen.reshape(of_eights)
    p = pieces(w)
    basis, cross_on, soft, soft_p = p.basis, p.cross_on, p.adversary[SOFTNESS], p.predictor[SOFTNESS]
    for eight in range(eights):
        couple(w, p, n, eight, q, f)
        answer_columns(met, basis, n.k[eight], soft, q, eight)
        answer_columns(seen, basis, n.t[eight], soft, q, eight)
        answer_columns(met[q:], cross_on, n.t_t[eight], soft_p, f, eight)
        answer_columns(seen[q:], cross_on, n.l[eight], soft_p, f, eight)
    for c in range(constraints):
        own_met, own_seen = n.met[q + f + c], n.seen[q + f + c]
        for r in range(wide):
            for i in range(items):
                own_met[r, i] = 0.0
                own_seen[r, i] = 0.0
            for a in range(f):
                gain = problem.limits[GAIN, c, it.predictor.size_index[a]]
                for i in range(items):
                    own_met[r, i] -= gain * problem.items[POSITIVE, i] * n.met[q + a, r, i]
                    own_seen[r, i] -= gain * problem.items[POSITIVE, i] * n.seen[q + a, r, i]


@brief
def subtract_columns(
    target: Floats,
    f0: Floats,
    f1: Floats,
    f2: Floats,
    f3: Floats,
    s0: Floats,
    s1: Floats,
    s2: Floats,
    s3: Floats,
    g0: Floats,
    g1: Floats,
    g2: Floats,
    g3: Floats,
    more: bool,
) -> None:
    """Subtract factors (f) of four columns times softness (s) and numbers (g), for eight items."""
    for i in range(LANES):
        v0, v1, v2, v3 = s0[i] * g0[i], s1[i] * g1[i], s2[i] * g2[i], s3[i] * g3[i]
        for c in range(4):
            value = v0 * f0[c] + v1 * f1[c] + v2 * f2[c] + v3 * f3[c]
            target[LANES * c + i] = (target[LANES * c + i] if more else 0.0) - value


@brief
def subtract_sum(
    target: Floats,
    factors: Floats,
    softness: Floats,
    numbers: Floats,
    count: int,
    eight: int,
    more: bool,
) -> None:
    """Subtract the columns' factors times softness and numbers, of eight items."""
    last = count - 1
    for x in range(target.shape[0]):
        for a in range(0, count, 4):
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
            subtract_columns(
                target[x],
                factors[a, x],
                factors[a + 1, x],
                factors[a + 2, x],
                factors[a + 3, x],
                softness[a, eight],
                softness[b, eight],
                softness[c, eight],
                softness[d, eight],
                numbers[a, eight],
                numbers[b, eight],
                numbers[c, eight],
                numbers[d, eight],
                more or a > 0,
            )


@brief
def subtract_answers(
    target: Floats, row: Floats, tile: Floats, row_2: Floats, tile_2: Floats, more: bool
) -> None:
    """Subtract four numbers times a tile and another four times another, for each of eight items."""
    for i in range(LANES):
        i1, i2, i3 = LANES + i, 2 * LANES + i, 3 * LANES + i
        v0, v1, v2, v3 = row[i], row[i1], row[i2], row[i3]
        w0, w1, w2, w3 = row_2[i], row_2[i1], row_2[i2], row_2[i3]
        for c in range(0, ROW, LANES):
            at, at_1, at_2, at_3 = c + i, ROW + c + i, 2 * ROW + c + i, 3 * ROW + c + i
            value = v0 * tile[at] + v1 * tile[at_1] + v2 * tile[at_2] + v3 * tile[at_3]
            value += w0 * tile_2[at] + w1 * tile_2[at_1] + w2 * tile_2[at_2] + w3 * tile_2[at_3]
            target[at] = (target[at] if more else 0.0) - value


@brief
def subtract_both(target: Floats, left: Floats, matrix: Floats, left_2: Floats, matrix_2: Floats) -> None:
    """Compute minus a row times a matrix and another row times another, for each of eight items."""
    for x in range(target.shape[0]):
        for k in range(target.shape[0]):
            subtract_answers(target[x], left[k], matrix[k, x], left_2[k], matrix_2[k, x], k > 0)


@brief
def step_columns(
    t0: Floats,
    t1: Floats,
    t2: Floats,
    t3: Floats,
    g0: Floats,
    g1: Floats,
    g2: Floats,
    g3: Floats,
    f0: Floats,
    f1: Floats,
    f2: Floats,
    f3: Floats,
    row: Floats,
    s0: Floats,
    s1: Floats,
    s2: Floats,
    s3: Floats,
    more: bool,
) -> None:
    """Compute numbers (g) minus factors (f) times a row, times softness (s), for four columns."""
    for i in range(LANES):
        v0, v1, v2, v3 = row[i], row[LANES + i], row[2 * LANES + i], row[3 * LANES + i]
        t0[i] = (t0[i] if more else g0[i] * s0[i]) - s0[i] * (
            f0[0] * v0 + f0[1] * v1 + f0[2] * v2 + f0[3] * v3
        )
        t1[i] = (t1[i] if more else g1[i] * s1[i]) - s1[i] * (
            f1[0] * v0 + f1[1] * v1 + f1[2] * v2 + f1[3] * v3
        )
        t2[i] = (t2[i] if more else g2[i] * s2[i]) - s2[i] * (
            f2[0] * v0 + f2[1] * v1 + f2[2] * v2 + f2[3] * v3
        )
        t3[i] = (t3[i] if more else g3[i] * s3[i]) - s3[i] * (
            f3[0] * v0 + f3[1] * v1 + f3[2] * v2 + f3[3] * v3
        )


@brief
def step(side: Floats, factors: Floats, rows: Floats, count: int, eight: int) -> None:
    """STEP of a player's columns, of eight items; of up to three that are not there as well."""
    target, start, softness = side[STEP], side[RHS], side[SOFTNESS]
    for a in range(0, count, 4):
        for k in range(rows.shape[0]):
            step_columns(
                target[a, eight],
                target[a + 1, eight],
                target[a + 2, eight],
                target[a + 3, eight],
                start[a, eight],
                start[a + 1, eight],
                start[a + 2, eight],
                start[a + 3, eight],
                factors[a, k],
                factors[a + 1, k],
                factors[a + 2, k],
                factors[a + 3, k],
                rows[k],
                softness[a, eight],
                softness[a + 1, eight],
                softness[a + 2, eight],
                softness[a + 3, eight],
                k > 0,
            )


@brief
def answer_alone(step: Floats, seen: Floats, softness: Floats, rhs: Floats, pull: Floats) -> None:
    """Step up to eight items of a column that is a factor of its own."""
    for i in range(step.shape[0]):
        value = softness[i] * (rhs[i] + pull[i])
        step[i] = value
        seen[i] = -value


@part
def answer_items(w: Workspace, q: int, f: int, items: int) -> None:
    """STEP of both players' marginals from their RHS, g of the adversary and h of the predictor, and PULL.

    PULL is minus c, and SEEN, which comes out as well, minus y.
    """
    eights, tiles = -(-items // LANES), w.rank[1] // 4
    if f == 0:
        for b in range(q):
            at = LANES * (b % 4)
            for eight in range(eights):
                first, until = LANES * eight, min(LANES * eight + LANES, items)
                answer_alone(
                    w.adversary[STEP, b, first:until],
                    w.moments[SEEN, eight, b // 4, at:],
                    w.adversary[SOFTNESS, b, first:until],
                    w.adversary[RHS, b, first:until],
                    w.moments[PULL, eight, b // 4, at:],
                )
        return
    p = pieces(w)
    rhs, soft = p.adversary[RHS], p.adversary[SOFTNESS]
    rhs_p, soft_p = p.predictor[RHS], p.predictor[SOFTNESS]
    n = reduced(w, ZERO, f, items)
    for eight in range(eights):
        pull, seen = w.moments[PULL, eight, :tiles], w.moments[SEEN, eight, :tiles]
        free, met = w.moments[FREE, eight, :tiles], w.moments[MET, eight, :tiles]
        subtract_sum(free, p.basis, soft, rhs, q, eight, False)
        subtract_sum(pull, p.cross_on, soft_p, rhs_p, f, eight, True)
        subtract_both(met, pull, n.t_t[eight], free, n.k[eight])
        subtract_both(seen, free, n.t[eight], pull, n.l[eight])
        step(p.predictor, p.cross_on, seen, f, eight)
        step(p.adversary, p.basis, met, q, eight)
