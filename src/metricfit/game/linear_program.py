"""Linear programs through SciPy's HiGHS, at its tightest tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["MAX_ITERATIONS", "TOLERANCE", "Optimum", "minimise", "minimise_by_dual"]

TOLERANCE = 1e-10
MAX_ITERATIONS = 200_000
"""Degenerate programs may cycle; this bounds the time, to seconds for small ones."""


@dataclass(frozen=True, eq=False)
class Optimum:
    """Solution of a linear program: unknowns, value, prices of inequalities and equations, iterations."""

    unknowns: NDArray[np.float64]
    value: float
    prices: NDArray[np.float64]
    equation_prices: NDArray[np.float64]
    iterations: int


def minimise(
    cost: NDArray[np.float64],
    rows: NDArray[np.float64] | csr_array,
    at_most: NDArray[np.float64],
    equations: NDArray[np.float64] | csr_array,
    equal_to: NDArray[np.float64],
    free: slice,
) -> Optimum:
    """Minimise ``cost @ x`` with ``rows @ x <= at_most``, ``equations @ x == equal_to``, ``x >= 0``.

    Unknowns in the slice `free` may be negative. The prices are not negative: by how much the optimum
    falls per unit of `at_most`.

    Raises
    ------
    ArithmeticError
        If HiGHS finds no optimum.

    Examples
    --------
    >>> import numpy as np
    >>> cost, rows, at_most = np.array([-1.0, 0.0]), np.array([[1.0, 0.0]]), np.array([0.25])
    >>> best = minimise(cost, rows, at_most, np.ones((1, 2)), np.ones(1), slice(0))
    >>> best.unknowns, best.value, best.prices
    (array([0.25, 0.75]), -0.25, array([1.]))
    """
    # Imported here, since SciPy is slow to import and most games need no linear program.
    from scipy.optimize import linprog

    # SciPy accepts sparse matrices and arrays of bounds here; its type stubs do not say so.
    highs: Any = linprog
    lowest = np.zeros(cost.size)
    lowest[free] = -np.inf
    result = highs(
        cost,
        A_ub=rows,
        b_ub=at_most,
        A_eq=equations,
        b_eq=equal_to,
        bounds=np.column_stack((lowest, np.full(cost.size, np.inf))),
        method="highs-ds",
        options={
            "primal_feasibility_tolerance": TOLERANCE,
            "dual_feasibility_tolerance": TOLERANCE,
            "maxiter": MAX_ITERATIONS,
        },
    )
    if result.x is None or result.status != 0:
        raise ArithmeticError(f"HiGHS did not solve the linear program: {result.message}")
    return Optimum(
        result.x, float(result.fun), -result.ineqlin.marginals, -result.eqlin.marginals, int(result.nit)
    )


def minimise_by_dual(
    cost: NDArray[np.float64],
    rows: csr_array,
    at_most: NDArray[np.float64],
    equations: csr_array,
    equal_to: NDArray[np.float64],
    free: slice,
) -> Optimum:
    """Do what `minimise` does, by solving the dual program.

    The programs of games have many optimal strategies of the adversary, among which the simplex method may
    cycle for hundreds of thousands of steps; from the side of the predictor they take a few hundred.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> cost, rows, at_most = np.array([-1.0, 0.0]), csr_array([[1.0, 0.0]]), np.array([0.25])
    >>> best = minimise_by_dual(cost, rows, at_most, csr_array(np.ones((1, 2))), np.ones(1), slice(0))
    >>> best.unknowns, best.value, best.prices
    (array([0.25, 0.75]), -0.25, array([1.]))
    """
    from scipy.sparse import csr_array, vstack

    columns = csr_array(vstack([rows, equations]).T)
    unbounded = np.zeros(cost.size, np.bool_)
    unbounded[free] = True
    # For every unknown x: rows' y + equations' z >= -cost, and equality where x is free.
    best = minimise(
        np.concatenate((at_most, equal_to)),
        -columns[~unbounded],
        cost[~unbounded],
        -columns[unbounded],
        cost[unbounded],
        slice(at_most.size, at_most.size + equal_to.size),
    )
    unknowns = np.empty(cost.size)
    unknowns[~unbounded], unknowns[unbounded] = best.prices, best.equation_prices
    return Optimum(
        unknowns,
        -best.value,
        best.unknowns[: at_most.size],
        best.unknowns[at_most.size :],
        best.iterations,
    )
