"""The small dense system that is left when items and chain are eliminated."""

from .coupling import whole_eights
from .state import LANES, ZERO, Floats, brief, lean


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


@brief
def reciprocal_of(pivot: float) -> float:
    """Return its reciprocal; that of nothing is large."""
    return 1.0 / (pivot if pivot != 0.0 else 1e-30)


@brief
def eliminate_four(
    r0: Floats,
    r1: Floats,
    r2: Floats,
    r3: Floats,
    l1: float,
    l2: float,
    l3: float,
    m2: float,
    m3: float,
    n3: float,
    first: int,
    until: int,
) -> None:
    """Subtract multiples of each of four rows from those below, between two places."""
    t0, t1, t2, t3 = r0[first:until], r1[first:until], r2[first:until], r3[first:until]
    for x in range(t0.shape[0]):
        v0 = t0[x]
        v1 = t1[x] - l1 * v0
        v2 = t2[x] - l2 * v0 - m2 * v1
        t1[x] = v1
        t2[x] = v2
        t3[x] = t3[x] - l3 * v0 - m3 * v1 - n3 * v2


@lean
def ldl_factorise(matrix: Floats, m: int, reciprocal: Floats, factors: Floats) -> None:
    """Factorise a symmetric matrix, of which the upper triangle is read: as ``D L'``, and L below.

    It has a multiple of four rows, and beyond them zeros up to whole vectors. The border is nearly
    quasi-definite, so that no pivot has to be looked for. Nor need rows be scaled: the numbers would be the
    same, but for their scale. Four rows are taken at a time, first by all rows above, then among themselves.
    """
    until = whole_eights(m)
    f0, f1, f2, f3 = factors[0], factors[1], factors[2], factors[3]
    for x in range(0, m, 4):
        r0, r1, r2, r3 = matrix[x], matrix[x + 1], matrix[x + 2], matrix[x + 3]
        for k in range(x):
            row, per = matrix[k], reciprocal[k]
            f0[k] = row[x] * per
            f1[k] = row[x + 1] * per
            f2[k] = row[x + 2] * per
            f3[k] = row[x + 3] * per
        first = x // LANES * LANES
        subtract_rows_twice(r0, r1, f0, f1, matrix, x, first, until)
        subtract_rows_twice(r2, r3, f2, f3, matrix, x, first, until)
        p0 = reciprocal_of(r0[x])
        l1, l2, l3 = r0[x + 1] * p0, r0[x + 2] * p0, r0[x + 3] * p0
        p1 = reciprocal_of(r1[x + 1] - l1 * r0[x + 1])
        row_2, row_3 = r1[x + 2] - l1 * r0[x + 2], r1[x + 3] - l1 * r0[x + 3]
        m2, m3 = row_2 * p1, row_3 * p1
        p2 = reciprocal_of(r2[x + 2] - l2 * r0[x + 2] - m2 * row_2)
        n3 = (r2[x + 3] - l2 * r0[x + 3] - m2 * row_3) * p2
        eliminate_four(r0, r1, r2, r3, l1, l2, l3, m2, m3, n3, first, until)
        reciprocal[x], reciprocal[x + 1], reciprocal[x + 2] = p0, p1, p2
        reciprocal[x + 3] = reciprocal_of(r3[x + 3])
        f1[x], f2[x], f2[x + 1], f3[x], f3[x + 1], f3[x + 2] = l1, l2, m2, l3, m3, n3
        for k in range(x):
            r0[k] = f0[k]
        for k in range(x + 1):
            r1[k] = f1[k]
        for k in range(x + 2):
            r2[k] = f2[k]
        for k in range(x + 3):
            r3[k] = f3[k]


@lean
def ldl_solve(matrix: Floats, m: int, reciprocal: Floats, x: Floats) -> None:
    """Solve in place with the factors of :func:`ldl_factorise`, by rows of ``L'`` and then of L.

    Four rows at a time are subtracted from what is left; a sum along them would keep the next ones waiting.
    """
    until = whole_eights(m)
    for k in range(0, m, 4):
        r0, r1, r2, per = matrix[k], matrix[k + 1], matrix[k + 2], reciprocal[k:]
        x0 = x[k] * per[0]
        x1 = (x[k + 1] - x0 * r0[k + 1]) * per[1]
        x2 = (x[k + 2] - x0 * r0[k + 2] - x1 * r1[k + 2]) * per[2]
        x3 = (x[k + 3] - x0 * r0[k + 3] - x1 * r1[k + 3] - x2 * r2[k + 3]) * per[3]
        x[k], x[k + 1], x[k + 2], x[k + 3] = x0, x1, x2, x3
        subtract_rows(x, x[k:], matrix[k:], 4, k + 4, until)
    for k in range(m - 4, -1, -4):
        r1, r2, r3 = matrix[k + 1], matrix[k + 2], matrix[k + 3]
        x3 = x[k + 3]
        x2 = x[k + 2] - x3 * r3[k + 2]
        x1 = x[k + 1] - x3 * r3[k + 1] - x2 * r2[k + 1]
        x[k], x[k + 1], x[k + 2] = x[k] - x3 * r3[k] - x2 * r2[k] - x1 * r1[k], x1, x2
        subtract_rows(x, x[k:], matrix[k:], 4, ZERO, k)
