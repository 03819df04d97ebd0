"""The small dense system that is left when items and chain are eliminated."""

import numpy as np

from .state import Floats, Ints, lean


@lean
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
