"""What the interior point method works on: the restricted game and the current iterate."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba as nb
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

MAX_COLUMNS = 64
"""Largest number of set sizes each player may have in play as full columns."""

# Sums may be reordered, so that LLVM vectorises them; NaN and infinity keep their meaning, because the
# loop recognises a broken step by them.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"nsz", "arcp", "contract", "reassoc"},
    "error_model": "numpy",
}

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function that Python calls; it is cached on disk with all that it calls."""
    return cast(Function, nb.njit(cache=True, **OPTIONS)(function))


def inner(function: Function) -> Function:
    """Compile a function that only other compiled functions call.

    It is linked into each caller, so it needs no cache of its own, nor the wrappers that would make it
    callable from Python: those unpack dozens of arrays and take longer to compile than the function.
    """
    options = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(Function, nb.njit(**options)(function))


def inlined(function: Function) -> Function:
    """Make a function a part of the compiled function that calls it.

    Everything that a function calls is optimised anew along with it, so that a level of calls near the top
    costs seconds.
    """
    return cast(Function, nb.njit(inline="always", **OPTIONS)(function))


# Arrays of one shape are kept together: Numba passes every array of a tuple on its own, and compiling that
# took longer than compiling the arithmetic. The names below say which of them is meant.
ALPHA, BETA = range(2)
WEIGHT, SCORE, POSITIVE = range(3)
GAIN, OFFSET = range(2)
INSIDE, OUTSIDE, DUAL_INSIDE, DUAL_OUTSIDE = range(4)
PRECISION, STEP_CHAIN, RESIDUAL_CHAIN, COMP_CHAIN = range(4)
VALUE, CURVATURE, OUT, PER_INSIDE, PER_OUTSIDE, STEP, RHS, RESIDUAL, COMP_INSIDE, COMP_OUTSIDE = range(10)


class Problem(NamedTuple):
    """The restricted game: G groups of items, the chain, and tables over the sizes in question.

    Items of a group are treated alike; their ``WEIGHT`` says how many they are. The *chain* are the
    G + 1 sets made of the first 0, 1, ..., G groups; ``chain[j]`` is the row of the tables that
    belongs to the size of set j. Sizes are measured in the unit of the weights.
    """

    tables: (
        Floats  # (2, K, L) ALPHA: change of the metric per true positive, predictor size x adversary size;
    )
    # BETA: the rest, whose last column also holds alpha * size, as all items are hit
    tables_t: Floats  # (2, L, K) the same, transposed: pricing walks along the predictor's sizes
    predictor_sizes: Floats  # (K,)
    adversary_sizes: Floats  # (L,) first is 0 (the empty set), last is everything
    items: (
        Floats  # (3, G) WEIGHT; SCORE, descending along most of the chain; POSITIVE: 1 where a bonus applies
    )
    chain: Ints  # (G + 1,)
    limits: Floats  # (2, C, K) of the constraints: GAIN per true positive, and OFFSET
    chain_gain: Floats  # (C, G + 1) constraint value of the chain's sets


class Columns(NamedTuple):
    """Marginals of one player for the sizes it has in play, with their dual variables.

    Column a has probability ``mass[a]``; ``INSIDE`` is the part of it that holds the items of a group and
    ``OUTSIDE``, the rest, does not.
    """

    marginal: Floats  # (4, MAX_COLUMNS, G) INSIDE, OUTSIDE, DUAL_INSIDE, DUAL_OUTSIDE
    mass: Floats  # (MAX_COLUMNS + 2,) the adversary keeps its empty and full set in the last two
    dual_mass: Floats  # (MAX_COLUMNS + 2,)
    price: Floats  # (MAX_COLUMNS,) multiplier of sum(weight * inside) = size * mass
    size_index: Ints  # (MAX_COLUMNS,) which row or column of the tables
    used: Ints  # (1,) number of columns in play
    member: Flags  # (K,) or (L,) is this size in play


class Iterate(NamedTuple):
    """A strictly positive primal-dual point."""

    adversary: Columns
    predictor: Columns
    chain_mass: Floats  # (G + 1,) probability of each set of the chain
    chain_slack: Floats  # (G + 1,) how far each falls short of the value
    multiplier: Floats  # (C,) of the constraints
    multiplier_slack: Floats  # (C,)
    level: Floats  # (2,) multiplier of sum of adversary masses = 1, and the value of the game


@inner
def new_columns(groups: int, sizes: int) -> Columns:
    """Allocate the columns of one player, none in play."""
    return Columns(
        np.empty((4, MAX_COLUMNS, groups)),
        np.zeros(MAX_COLUMNS + 2),
        np.zeros(MAX_COLUMNS + 2),
        np.zeros(MAX_COLUMNS),
        np.zeros(MAX_COLUMNS, np.int64),
        np.zeros(1, np.int64),
        np.zeros(sizes, np.bool_),
    )


@inner
def new_iterate(problem: Problem) -> Iterate:
    """Allocate an iterate with nothing in play."""
    groups = problem.items.shape[1]
    constraints = problem.limits.shape[1]
    return Iterate(
        new_columns(groups, problem.tables.shape[2]),
        new_columns(groups, problem.tables.shape[1]),
        np.zeros(groups + 1),
        np.zeros(groups + 1),
        np.zeros(constraints),
        np.zeros(constraints),
        np.zeros(2),
    )


class Workspace(NamedTuple):
    """Everything a Newton step needs besides the iterate; allocated once per solve.

    What belongs to the marginals of a player is in ``adversary`` and ``predictor``: VALUE, what an item costs
    the adversary or earns the predictor; CURVATURE, the diagonal D (of the predictor 1 / E); OUT, its part
    from OUTSIDE; PER_INSIDE and PER_OUTSIDE, reciprocals; STEP of INSIDE; RHS; RESIDUAL; COMP_INSIDE and
    COMP_OUTSIDE, the right-hand sides of the complementarity rows divided by the variable.
    """

    adversary: Floats  # (10, A, G)
    predictor: Floats  # (10, P, G)
    along: Floats  # (4, G + 1) PRECISION, reciprocals of D; STEP_CHAIN; RESIDUAL_CHAIN; COMP_CHAIN
    chain_alpha: Floats  # (G + 1, A) alpha of each set of the chain against each column
    cross: Floats  # (P, A) alpha between the columns of both players
    inverse: Floats  # (A, A, G) N_i^-1, both triangles
    mixed: Floats  # (P, A, G) E_i^-1 A N_i^-1
    scratch: Floats  # (A, G)
    kalman_gain: Floats  # (G + 1, A)
    innovation: Floats  # (G + 1, m) L^-1 F
    border: Floats  # (m, m) Schur complement, then its LU factors
    pivot: Ints
    scale: Floats
    step: Floats  # (m,) right-hand side, then border part of the step
    residual_border: Floats  # (m,)
    comp_mass: Floats
    comp_mass_p: Floats
    comp_multiplier: Floats


@inner
def new_workspace(groups: int, constraints: int) -> Workspace:
    """Uninitialised buffers for a problem with this many groups."""
    columns = MAX_COLUMNS
    border = 4 * columns + 4 + constraints
    return Workspace(
        np.empty((10, columns, groups)),
        np.empty((10, columns, groups)),
        np.empty((4, groups + 1)),
        np.empty((groups + 1, columns)),
        np.empty((columns, columns)),
        np.empty((columns, columns, groups)),
        np.empty((columns, columns, groups)),
        np.empty((columns, groups)),
        np.empty((groups + 1, columns)),
        np.empty((groups + 1, border)),
        np.empty((border, border)),
        np.empty(border, np.int64),
        np.empty(border),
        np.empty(border),
        np.empty(border),
        np.empty(columns + 2),
        np.empty(columns),
        np.empty(constraints),
    )
