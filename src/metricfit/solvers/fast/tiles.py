"""Small matrices of eight items at a time, in tiles of four rows and columns.

Eight numbers fill a vector register. Entry (r, c) of item i is at ``ROW * r + LANES * c + i`` of a tile,
and a matrix is an array of tiles; the rank of alpha is filled up to a multiple of four by zeros. All that a
loop over eight items reads lie at constant distances then, so that a whole tile is one loop without ends or
branches, where loops over all items, entry by entry, are too short to be fast.

The compiler writes a loop of eight out in full if its body is small, and then not as vectors: bodies here are
large on purpose.
"""

import numpy as np

from .state import LANES, Floats, brief, lean

ROW, TILE = 4 * LANES, 16 * LANES
"""Numbers in a row of a tile, and in all of it."""

LEAST = 1e-14
"""Pivots are not smaller than this share of what they are the rest of."""


@brief
def dot(left: Floats, right: Floats, r: int, c: int, i: int) -> float:
    """Return the entry of a product of tiles, for one of its items; r and c are places."""
    value: float = left[r + i] * right[c + i] + left[r + LANES + i] * right[ROW + c + i]
    value += left[r + 2 * LANES + i] * right[2 * ROW + c + i]
    value += left[r + 3 * LANES + i] * right[3 * ROW + c + i]
    return value


@lean
def subtract_product(target: Floats, left: Floats, right: Floats, more: bool) -> None:
    """Subtract the product of two tiles from a third, or from nothing unless there is ``more``."""
    for i in range(LANES):
        for r in range(0, TILE, ROW):
            for c in range(0, ROW, LANES):
                before = target[r + c + i] if more else 0.0
                target[r + c + i] = before - dot(left, right, r, c, i)


@lean
def copy_tile(target: Floats, source: Floats, sign: float) -> None:
    """Copy a tile."""
    for x in range(TILE):
        target[x] = sign * source[x]


@lean
def transpose_tile(target: Floats, source: Floats, sign: float) -> None:
    """Copy the transpose of a tile."""
    for i in range(LANES):
        for r in range(4):
            for c in range(4):
                target[ROW * c + LANES * r + i] = sign * source[ROW * r + LANES * c + i]


@lean
def solve_lower(target: Floats, lower: Floats, per: Floats) -> None:
    """Solve with a lower triangular tile, of whose diagonal the reciprocals are given."""
    for i in range(LANES):
        for c in range(0, ROW, LANES):
            x0 = target[c + i] * per[i]
            x1 = (target[ROW + c + i] - lower[ROW + i] * x0) * per[LANES + i]
            x2 = target[2 * ROW + c + i] - lower[2 * ROW + i] * x0 - lower[2 * ROW + LANES + i] * x1
            x2 *= per[2 * LANES + i]
            x3 = target[3 * ROW + c + i] - lower[3 * ROW + i] * x0 - lower[3 * ROW + LANES + i] * x1
            x3 = (x3 - lower[3 * ROW + 2 * LANES + i] * x2) * per[3 * LANES + i]
            target[c + i] = x0
            target[ROW + c + i] = x1
            target[2 * ROW + c + i] = x2
            target[3 * ROW + c + i] = x3


@lean
def solve_upper(target: Floats, upper: Floats, per: Floats) -> None:
    """Solve with an upper triangular tile, of whose diagonal the reciprocals are given."""
    for i in range(LANES):
        for c in range(0, ROW, LANES):
            x3 = target[3 * ROW + c + i] * per[3 * LANES + i]
            x2 = (target[2 * ROW + c + i] - upper[2 * ROW + 3 * LANES + i] * x3) * per[2 * LANES + i]
            x1 = target[ROW + c + i] - upper[ROW + 2 * LANES + i] * x2 - upper[ROW + 3 * LANES + i] * x3
            x1 *= per[LANES + i]
            x0 = target[c + i] - upper[LANES + i] * x1 - upper[2 * LANES + i] * x2
            x0 = (x0 - upper[3 * LANES + i] * x3) * per[i]
            target[c + i] = x0
            target[ROW + c + i] = x1
            target[2 * ROW + c + i] = x2
            target[3 * ROW + c + i] = x3


@brief
def write_row(target: Floats, row: int, i: int, x0: float, x1: float, x2: float, x3: float) -> None:
    """Write a row of a tile, for one of its items."""
    target[row + i] = x0
    target[row + LANES + i] = x1
    target[row + 2 * LANES + i] = x2
    target[row + 3 * LANES + i] = x3


@lean
def factorise_tile(
    tile: Floats, whole: Floats, shift: float, lower: Floats, upper: Floats, per: Floats
) -> None:
    """Factorise a tile plus ``shift`` times the identity; ``per`` is to hold 1 / the diagonal.

    Pivots are no smaller than the shift, nor than a share of the diagonal as a ``whole``.
    """
    for i in range(LANES):
        pivot = max(tile[i] + shift, LEAST * whole[i] + shift)
        per_0 = 1.0 / np.sqrt(pivot)
        u00 = pivot * per_0
        u01, u02, u03 = tile[LANES + i] * per_0, tile[2 * LANES + i] * per_0, tile[3 * LANES + i] * per_0
        rest = tile[ROW + LANES + i] - u01 * u01
        pivot = max(rest + shift, LEAST * whole[LANES + i] + shift)
        per_1 = 1.0 / np.sqrt(pivot)
        u11 = pivot * per_1
        u12 = (tile[ROW + 2 * LANES + i] - u01 * u02) * per_1
        u13 = (tile[ROW + 3 * LANES + i] - u01 * u03) * per_1
        rest = tile[2 * ROW + 2 * LANES + i] - (u02 * u02 + u12 * u12)
        pivot = max(rest + shift, LEAST * whole[2 * LANES + i] + shift)
        per_2 = 1.0 / np.sqrt(pivot)
        u22 = pivot * per_2
        u23 = (tile[2 * ROW + 3 * LANES + i] - (u02 * u03 + u12 * u13)) * per_2
        rest = tile[3 * ROW + 3 * LANES + i] - (u03 * u03 + u13 * u13 + u23 * u23)
        pivot = max(rest + shift, LEAST * whole[3 * LANES + i] + shift)
        per_3 = 1.0 / np.sqrt(pivot)
        u33 = pivot * per_3
        write_row(upper, 0, i, u00, u01, u02, u03)
        write_row(upper, ROW, i, 0.0, u11, u12, u13)
        write_row(upper, 2 * ROW, i, 0.0, 0.0, u22, u23)
        write_row(upper, 3 * ROW, i, 0.0, 0.0, 0.0, u33)
        write_row(lower, 0, i, u00, 0.0, 0.0, 0.0)
        write_row(lower, ROW, i, u01, u11, 0.0, 0.0)
        write_row(lower, 2 * ROW, i, u02, u12, u22, 0.0)
        write_row(lower, 3 * ROW, i, u03, u13, u23, u33)
        write_row(per, 0, i, per_0, per_1, per_2, per_3)


@lean
def cholesky(matrix: Floats, shift: float, lower: Floats, upper: Floats, per: Floats, whole: Floats) -> None:
    """Factorise eight items' matrices plus ``shift`` times the identity.

    Of the matrices the upper triangles are read, and overwritten; of the factors nothing is written beyond
    the diagonal tiles.
    """
    tiles = matrix.shape[0]
    for x in range(tiles):
        for i in range(LANES):
            for r in range(4):
                whole[LANES * r + i] = matrix[x, x, ROW * r + LANES * r + i]
        for y in range(x, tiles):
            for k in range(x):
                subtract_product(matrix[x, y], lower[x, k], upper[k, y], True)
        factorise_tile(matrix[x, x], whole, shift, lower[x, x], upper[x, x], per[x])
        for y in range(x + 1, tiles):
            copy_tile(upper[x, y], matrix[x, y], 1.0)
            solve_lower(upper[x, y], lower[x, x], per[x])
            transpose_tile(lower[y, x], upper[x, y], 1.0)


@brief
def add_columns(
    target: Floats,
    f0: Floats,
    f1: Floats,
    f2: Floats,
    f3: Floats,
    g0: Floats,
    g1: Floats,
    g2: Floats,
    g3: Floats,
    s0: Floats,
    s1: Floats,
    s2: Floats,
    s3: Floats,
) -> None:
    """Add the products of factors (f) and (g) of four columns, times softness (s), to a tile."""
    for i in range(LANES):
        for r in range(4):
            v0, v1, v2, v3 = f0[r] * s0[i], f1[r] * s1[i], f2[r] * s2[i], f3[r] * s3[i]
            for c in range(4):
                target[ROW * r + LANES * c + i] += v0 * g0[c] + v1 * g1[c] + v2 * g2[c] + v3 * g3[c]


@brief
def gram(target: Floats, factors: Floats, softness: Floats, count: int, eight: int) -> None:
    """Compute ``factors' diag(softness) factors`` of eight items."""
    last = count - 1
    for x in range(target.shape[0]):
        for y in range(target.shape[0]):
            own = target[x, y]
            for z in range(TILE):
                own[z] = 0.0
            for a in range(0, count, 4):
                add_columns(
                    own,
                    factors[a, x],
                    factors[a + 1, x],
                    factors[a + 2, x],
                    factors[a + 3, x],
                    factors[a, y],
                    factors[a + 1, y],
                    factors[a + 2, y],
                    factors[a + 3, y],
                    softness[a, eight],
                    softness[min(a + 1, last), eight],
                    softness[min(a + 2, last), eight],
                    softness[min(a + 3, last), eight],
                )
