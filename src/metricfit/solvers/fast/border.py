"""The small dense system that is left when items and chain are eliminated."""

from .state import Floats, brief, lean


@brief
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


@brief
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


@brief
def multiply_rows(target: Floats, rows: Floats, vector: Floats, count: int, m: int) -> None:
    """Compute ``rows[:count, :m] @ vector``, four rows at a time: one sum would wait for itself."""
    j = 0
    while j + 3 < count:
        r0, r1, r2, r3 = rows[j], rows[j + 1], rows[j + 2], rows[j + 3]
        s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
        for x in range(m):
            value = vector[x]
            s0 += value * r0[x]
            s1 += value * r1[x]
            s2 += value * r2[x]
            s3 += value * r3[x]
        target[j], target[j + 1], target[j + 2], target[j + 3] = s0, s1, s2, s3
        j += 4
    while j < count:
        r0, s0 = rows[j], 0.0
        for x in range(m):
            s0 += vector[x] * r0[x]
        target[j] = s0
        j += 1


@lean
def ldl_factorise(matrix: Floats, m: int, reciprocal: Floats) -> None:
    """Factorise a symmetric matrix, of which the upper triangle is read: as ``D L'``, and L below.

    The border is nearly quasi-definite, so that no pivot has to be looked for. Nor need rows be scaled: the
    numbers would be the same, but for their scale.
    """
    for x in range(m):
        row = matrix[x]
        for k in range(x):
            row[k] = matrix[k, x] * reciprocal[k]
        subtract_rows(row, row, matrix, x, x, m)  # reads the rows above, writes this one from x on
        if row[x] == 0.0:
            row[x] = 1e-30
        reciprocal[x] = 1.0 / row[x]


@lean
def ldl_solve(matrix: Floats, m: int, reciprocal: Floats, x: Floats) -> None:
    """Solve in place with the factors of :func:`ldl_factorise`, by rows of ``L'`` and then of L.

    Each row is subtracted from what is left; a sum along it would keep the next one waiting.
    """
    for k in range(m):
        row, rest = matrix[k, k + 1 : m], x[k + 1 : m]
        value = x[k] * reciprocal[k]
        x[k] = value
        for y in range(row.shape[0]):
            rest[y] -= value * row[y]
    for k in range(m - 1, 0, -1):
        row, value = matrix[k], x[k]
        for y in range(k):
            x[y] -= value * row[y]
