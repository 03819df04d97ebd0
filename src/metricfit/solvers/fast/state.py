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


class Problem(NamedTuple):
    """The restricted game: G groups of items, the chain, and tables over the sizes in question.

    Items of a group are treated alike; ``weight[g]`` says how many they are. The *chain* are the
    G + 1 sets made of the first 0, 1, ..., G groups; ``chain[j]`` is the row of ``alpha`` that
    belongs to the size of set j. Sizes are measured in the unit of ``weight``.
    """

    alpha: Floats  # (K, L) change of the metric per true positive, predictor size x adversary size
    beta: Floats  # (K, L) the rest; the last column also holds alpha * size, as all items are hit
    alpha_t: Floats  # (L, K) the same, transposed: pricing walks along the predictor's sizes
    beta_t: Floats  # (L, K)
    predictor_sizes: Floats  # (K,)
    adversary_sizes: Floats  # (L,) first is 0 (the empty set), last is everything
    weight: Floats  # (G,)
    score: Floats  # (G,) descending along most of the chain
    positive: Floats  # (G,) 1 where a constraint's bonus applies
    chain: Ints  # (G + 1,)
    gain: Floats  # (C, K) constraint value per true positive
    offset: Floats  # (C, K)
    chain_gain: Floats  # (C, G + 1) constraint value of the chain's sets


class Columns(NamedTuple):
    """Marginals of one player for the sizes it has in play, with their dual variables.

    Column a has probability ``mass[a]``; ``inside[a, g]`` of it holds the items of group g and
    ``outside = mass - inside`` does not.
    """

    inside: Floats  # (MAX_COLUMNS, G)
    outside: Floats  # (MAX_COLUMNS, G)
    dual_inside: Floats  # (MAX_COLUMNS, G)
    dual_outside: Floats  # (MAX_COLUMNS, G)
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
    shape = (MAX_COLUMNS, groups)
    return Columns(
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
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
    groups = problem.weight.shape[0]
    constraints = problem.gain.shape[0]
    return Iterate(
        new_columns(groups, problem.alpha.shape[1]),
        new_columns(groups, problem.alpha.shape[0]),
        np.zeros(groups + 1),
        np.zeros(groups + 1),
        np.zeros(constraints),
        np.zeros(constraints),
        np.zeros(2),
    )


class Workspace(NamedTuple):
    """Everything a Newton step needs besides the iterate; allocated once per solve."""

    item_value: Floats  # (A, G) W: what an item costs the adversary, per column
    item_gain: Floats  # (P, G) Z: what an item earns the predictor, per column
    chain_alpha: Floats  # (G + 1, A) alpha of each set of the chain against each column
    curvature: Floats  # (A, G) D
    curvature_out: Floats  # (A, G) E
    predictor_inverse: Floats  # (P, G) 1 / D of the predictor's marginals
    predictor_out: Floats  # (P, G) E of them
    per_inside: Floats  # (A, G) reciprocals of the marginals
    per_outside: Floats  # (A, G)
    per_inside_p: Floats  # (P, G)
    per_outside_p: Floats  # (P, G)
    cross: Floats  # (P, A) alpha between the columns of both players
    inverse: Floats  # (A, A, G) N_i^-1, both triangles
    mixed: Floats  # (P, A, G) E_i^-1 A N_i^-1
    scratch: Floats  # (A, G)
    kalman_gain: Floats  # (G + 1, A)
    precision: Floats  # (G + 1,) reciprocals of the variances D
    innovation: Floats  # (G + 1, m) L^-1 F
    border: Floats  # (m, m) Schur complement, then its LU factors
    pivot: Ints
    scale: Floats
    step: Floats  # (m,) right-hand side, then border part of the step
    step_inside: Floats  # (A, G)
    step_predictor: Floats  # (P, G)
    step_chain: Floats  # (G + 1,)
    rhs_item: Floats  # (A, G)
    rhs_predictor: Floats  # (P, G)
    residual_item: Floats  # (A, G)
    residual_predictor: Floats  # (P, G)
    residual_chain: Floats  # (G + 1,)
    residual_border: Floats  # (m,)
    comp_inside: Floats  # (A, G) right-hand sides of the complementarity rows, divided by the variable
    comp_outside: Floats
    comp_inside_p: Floats
    comp_outside_p: Floats
    comp_chain: Floats
    comp_mass: Floats
    comp_mass_p: Floats
    comp_multiplier: Floats


@inner
def new_workspace(groups: int, constraints: int) -> Workspace:
    """Uninitialised buffers for a problem with this many groups."""
    columns = MAX_COLUMNS
    border = 4 * columns + 4 + constraints
    wide = (columns, groups)
    return Workspace(
        np.empty(wide),
        np.empty(wide),
        np.empty((groups + 1, columns)),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty((columns, columns)),
        np.empty((columns, columns, groups)),
        np.empty((columns, columns, groups)),
        np.empty(wide),
        np.empty((groups + 1, columns)),
        np.empty(groups + 1),
        np.empty((groups + 1, border)),
        np.empty((border, border)),
        np.empty(border, np.int64),
        np.empty(border),
        np.empty(border),
        np.empty(wide),
        np.empty(wide),
        np.empty(groups + 1),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(groups + 1),
        np.empty(border),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(wide),
        np.empty(groups + 1),
        np.empty(columns + 2),
        np.empty(columns),
        np.empty(constraints),
    )
