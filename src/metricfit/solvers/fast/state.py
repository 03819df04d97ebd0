"""What the interior point method works on: the restricted game and the current iterate."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba as nb
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

#: Largest number of set sizes each player may have in play as full columns.
MAX_COLUMNS = 32

#: ``reassoc`` and friends let LLVM vectorise the sums; ``nnan`` and ``ninf`` stay off because the
#: loop recognises a broken step by its NaN.
FASTMATH = {"nsz", "arcp", "contract", "reassoc"}


Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function that Python calls."""
    compiled = nb.njit(cache=True, nogil=True, fastmath=FASTMATH, error_model="numpy")(function)
    return cast(Function, compiled)


def inner(function: Function) -> Function:
    """Compile a function that only other compiled functions call.

    It is linked into each caller and kept in that one's cache on disk, so it needs no cache of its own, nor
    the wrappers that would make it callable from Python: those unpack dozens of arrays and take longer to
    compile than the function itself.
    """
    compiled = nb.njit(
        nogil=True, fastmath=FASTMATH, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)
    return cast(Function, compiled)


class Problem(NamedTuple):
    """The restricted game: G groups of items, the chain, and tables over the sizes in question.

    Items of a group are treated alike; ``count[g]`` says how many they are. The *chain* are the
    G + 1 sets made of the first 0, 1, ..., G groups; ``chain[j]`` is the row of ``alpha`` that
    belongs to the size of set j. Sizes are measured in the unit of ``count``.
    """

    alpha: Floats  # (K, L) change of the metric per true positive, predictor size x adversary size
    beta: Floats  # (K, L) the rest; the last column also holds alpha * size, as all items are hit
    alpha_t: Floats  # (L, K) the same, transposed: pricing walks along the predictor's sizes
    beta_t: Floats  # (L, K)
    predictor_sizes: Floats  # (K,)
    adversary_sizes: Floats  # (L,) first is 0 (the empty set), last is everything
    count: Floats  # (G,)
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
    price: Floats  # (MAX_COLUMNS,) multiplier of sum(count * inside) = size * mass
    index: Ints  # (MAX_COLUMNS,) which row or column of the tables
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
    """Empty columns for one player."""
    shape = (MAX_COLUMNS, groups)
    return Columns(
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(shape),
        np.zeros(MAX_COLUMNS + 2),
        np.zeros(MAX_COLUMNS + 2),
        np.zeros(MAX_COLUMNS),
        np.zeros(MAX_COLUMNS, np.int64),
        np.zeros(1, np.int64),
        np.zeros(sizes, np.bool_),
    )


@inner
def new_iterate(problem: Problem) -> Iterate:
    """An iterate with nothing in play."""
    groups = problem.count.shape[0]
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
