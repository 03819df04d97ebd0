"""The small dense system that is left when items and chain are eliminated."""

import numpy as np

from .state import Floats, Ints, lean


@lean
def subtract_rows(target: Floats, factor: Floats, rows: Floats, count: int, first: int, m: int) -> None:
    """Subtract ``factor @ rows[:count]`` between two places, four rows at a time: short loops are dear.

    Loops run over slices and begin at 0; from anywhere else the compiler has to allow for negative
    indices, and does not vectorise.
    """
    kept = target[first:m]
    width = kept.shape[0]
    b = 0
    while b + 3 < count:
        w0, w1, w2, w3 = factor[b], factor[b + 1], factor[b + 2], factor[b + 3]
        r0, r1, r2, r3 = rows[b, first:m], rows[b + 1, first:m], rows[b + 2, first:m], rows[b + 3, first:m]
        for x in range(width):
            kept[x] -= w0 * r0[x] + w1 * r1[x] + w2 * r2[x] + w3 * r3[x]
        b += 4
    while b < count:
        w0, r0 = factor[b], rows[b, first:m]
        for x in range(width):
            kept[x] -= w0 * r0[x]
        b += 1


@lean
def subtract_rows_twice(
    one: Floats,
    other: Floats,
    factor: Floats,
    factor_2: Floats,
    rows: Floats,
    count: int,
    first: int,
    m: int,
) -> None:
    """Do what :func:`subtract_rows` does for two targets, with rows that are read only once."""
    kept, kept_2 = one[first:m], other[first:m]
    width = kept.shape[0]
    b = 0
    while b + 3 < count:
        w0, w1, w2, w3 = factor[b], factor[b + 1], factor[b + 2], factor[b + 3]
        v0, v1, v2, v3 = factor_2[b], factor_2[b + 1], factor_2[b + 2], factor_2[b + 3]
        r0, r1, r2, r3 = rows[b, first:m], rows[b + 1, first:m], rows[b + 2, first:m], rows[b + 3, first:m]
        for x in range(width):
            kept[x] -= w0 * r0[x] + w1 * r1[x] + w2 * r2[x] + w3 * r3[x]
            kept_2[x] -= v0 * r0[x] + v1 * r1[x] + v2 * r2[x] + v3 * r3[x]
        b += 4
    while b < count:
        w0, v0, r0 = factor[b], factor_2[b], rows[b, first:m]
        for x in range(width):
            kept[x] -= w0 * r0[x]
            kept_2[x] -= v0 * r0[x]
        b += 1


@lean
def lu_factorise(matrix: Floats, m: int, pivot: Ints, scale: Floats) -> None:
    """LU with partial pivoting after symmetric equilibration.

    The border is symmetric and nearly quasi-definite, but without pivoting one game in ten thousand broke
    down: with scores of 1e-5 the masses' own part is lost to rounding.
    """
    for x in range(m):
        scale[x] = 1.0
    for _ in range(2):
        for x in range(m):
            total = 0.0
            for y in range(m):
                total += abs(matrix[x, y]) * scale[y]
            total *= scale[x]
            if total > 0.0:
                scale[x] /= np.sqrt(total)
    for x in range(m):
        for y in range(m):
            matrix[x, y] *= scale[x] * scale[y]
    for k in range(m):
        best = k
        for x in range(k + 1, m):
            if abs(matrix[x, k]) > abs(matrix[best, k]):
                best = x
        pivot[k] = best
        if best != k:
            for y in range(m):
                matrix[k, y], matrix[best, y] = matrix[best, y], matrix[k, y]
        if matrix[k, k] == 0.0:
            matrix[k, k] = 1e-30
        inverse = 1.0 / matrix[k, k]
        source = matrix[k, k + 1 : m]
        for x in range(k + 1, m):
            factor = matrix[x, k] * inverse
            matrix[x, k] = factor
            target = matrix[x, k + 1 : m]
            for y in range(source.shape[0]):
                target[y] -= factor * source[y]


@lean
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
        for y in range(k):
            value -= matrix[k, y] * x[y]
        x[k] = value
    for k in range(m - 1, -1, -1):
        row, rest = matrix[k, k + 1 : m], x[k + 1 : m]
        value = x[k]
        for y in range(rest.shape[0]):
            value -= row[y] * rest[y]
        x[k] = value / matrix[k, k]
    for k in range(m):
        x[k] *= scale[k]
