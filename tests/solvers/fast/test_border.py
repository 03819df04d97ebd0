"""The factors of the border against NumPy's solution."""

import numba as nb
import numpy as np
import pytest

from metricfit.solvers.fast.border import ldl_factorise, ldl_solve
from metricfit.solvers.fast.state import LANES


@nb.njit
def solved_whole(matrix, m, side):
    reciprocal, multiples = np.empty(m), np.empty((4, m))
    ldl_factorise(matrix, m, reciprocal, multiples)
    ldl_solve(matrix, m, reciprocal, side)
    return side


def solved(matrix, side):
    """Fill up with unknowns that are 0."""
    m = len(side)
    room = -(-m // LANES) * LANES
    whole, whole_side = np.eye(room), np.zeros(room)
    whole[:m, :m], whole_side[:m] = matrix, side
    return solved_whole(whole, -(-m // 4) * 4, whole_side)[:m]


def quasi_definite(random, positive, negative, spread):
    """Return a symmetric matrix with definite blocks of both signs, and rows of very different sizes."""
    m = positive + negative
    low, high = random.normal(size=(2, m, m))
    matrix = random.normal(size=(m, m))
    matrix = matrix + matrix.T
    matrix[:positive, :positive] = (low @ low.T + np.eye(m))[:positive, :positive]
    matrix[positive:, positive:] = -(high @ high.T + np.eye(m))[positive:, positive:]
    scale = 10.0 ** random.uniform(-spread, spread, m)
    return scale[:, None] * matrix * scale


@pytest.mark.parametrize("spread", [0.0, 6.0])
@pytest.mark.parametrize("shape", [(1, 0), (0, 1), (1, 1), (2, 1), (3, 4), (10, 9), (40, 37)])
def test_solves_with_the_upper_triangle_alone(shape, spread):
    random = np.random.default_rng(sum(shape))
    matrix = quasi_definite(random, *shape, spread)
    truth = random.normal(size=sum(shape)) / np.sqrt(np.abs(np.diag(matrix)))
    side = matrix @ truth
    upper = matrix.copy()
    upper[np.tril_indices_from(upper, -1)] = np.nan
    found = solved(upper, side.copy())
    size = np.sqrt(np.abs(np.diag(matrix)))
    assert found * size == pytest.approx(truth * size, rel=1e-7, abs=1e-7)


def test_rows_may_vanish():
    matrix = np.diag([2.0, 0.0, -4.0])
    assert solved(matrix, np.array([2.0, 0.0, 4.0])) == pytest.approx([1.0, 0.0, -1.0])
