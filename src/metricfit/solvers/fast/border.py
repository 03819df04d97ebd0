"""The small dense system that is left when items and chain are eliminated."""

from .state import Floats, lean


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
def ldl_factorise(matrix: Floats, m: int, inverse: Floats, factor: Floats) -> None:
    """Factorise the upper triangle as U' D^-1 U, with ``inverse`` the reciprocal of the diagonal D.

    The border is symmetric and quasi-definite (the adversary's unknowns enter with one sign, the predictor's
    with the other), so that no pivoting is needed.
    """
    for k in range(m):
        for x in range(k):
            factor[x] = matrix[x, k] * inverse[x]
        subtract_rows(matrix[k], factor, matrix, k, k, m)
        inverse[k] = 1.0 / matrix[k, k]


@lean
def ldl_solve(matrix: Floats, m: int, inverse: Floats, x: Floats) -> None:
    """Solve in place with the factors of :func:`ldl_factorise`."""
    for k in range(m):
        value = x[k] * inverse[k]
        row, rest = matrix[k, k + 1 : m], x[k + 1 : m]
        for y in range(rest.shape[0]):
            rest[y] -= value * row[y]
    for k in range(m - 1, -1, -1):
        row, rest = matrix[k, k + 1 : m], x[k + 1 : m]
        value = 0.0
        for y in range(rest.shape[0]):
            value += row[y] * rest[y]
        x[k] = (x[k] - value) * inverse[k]
