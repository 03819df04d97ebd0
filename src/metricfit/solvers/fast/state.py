"""What the interior point method works on: the restricted game and the current iterate."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numba as nb
import numpy as np
from numpy.typing import NDArray

from metricfit.game.compiled import remember
from metricfit.game.pipeline import Apart, Forward, Within

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

# The same with their numbers of dimensions.
Vector = Annotated[Floats, nb.float64[::1]]
Matrix = Annotated[Floats, nb.float64[:, ::1]]
Cube = Annotated[Floats, nb.float64[:, :, ::1]]
Hypercube = Annotated[Floats, nb.float64[:, :, :, ::1]]
Indices = Annotated[Ints, nb.int64[::1]]
IndexRows = Annotated[Ints, nb.int64[:, ::1]]
Marks = Annotated[Flags, nb.boolean[::1]]
FixedTable = Annotated[Floats, nb.types.Array(nb.float64, 2, "C", readonly=True)]

HERE = Path(__file__).parent

MAX_COLUMNS = 64
"""Largest number of set sizes each player may have in play as full columns."""

LANES = 8
"""Items whose matrices are computed at once, and copied for the chain, which takes one at a time."""

ZERO: int = cast(int, np.int64(0))
"""To Numba a plain 0 is a type of its own, and the function that gets it is compiled once more."""

ITEM_SHARE = 0.3
"""Where the path is followed to, complementary products of items are this share of all others.

Each column has two per item. With equal products, a new column would shift the path by nearly as much as all
the rest, and it would take many steps to get back to it.
"""

# Sums may be reordered, so that LLVM vectorises them; NaN and infinity keep their meaning, because the
# loop recognises a broken step by them.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"nsz", "arcp", "contract", "reassoc"},
    "error_model": "numpy",
}
KERNEL = OPTIONS | {"no_cfunc_wrapper": True}
INNER = OPTIONS | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
LEAN = INNER | {"_nrt": False}

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a function that Python calls; it is cached on disk with all that it calls."""
    return cast(Function, remember(nb.njit(pipeline_class=Forward, **KERNEL)(function), HERE))


def inner(function: Function) -> Function:
    """Compile a function that only other compiled functions call.

    It is linked into each caller, so it needs no cache of its own, nor the wrappers that would make it
    callable from Python: those unpack dozens of arrays and take longer to compile than the function.
    """
    return cast(Function, nb.njit(pipeline_class=Within, **INNER)(function))


def lean(function: Function) -> Function:
    """Compile an inner function that allocates nothing, and whose arrays do not overlap.

    It need not count references, as its caller holds every array: a third of what Numba writes would be that.
    Nor need it look, before each loop, whether what is written is also read. Arrays that are handed over on
    their own must therefore be apart wherever the function writes to one of them.
    """
    return cast(Function, nb.njit(pipeline_class=Apart, **LEAN)(function))


def brief(function: Function) -> Function:
    """Compile a lean function that takes less time than to call it: it becomes part of each caller."""
    return cast(Function, nb.njit(pipeline_class=Apart, forceinline=True, **LEAN)(function))


# Arrays of one shape are kept together: Numba passes every array of a tuple on its own, and compiling that
# took longer than compiling the arithmetic. The names below say which of them is meant.
ALPHA, BETA = range(2)
WEIGHT, SCORE, POSITIVE = range(3)
GAIN, OFFSET = range(2)
INSIDE, OUTSIDE, DUAL_INSIDE, DUAL_OUTSIDE = range(4)
PRECISION, STEP_CHAIN, RESIDUAL_CHAIN, COMP_CHAIN = range(4)
WEIGHED, SOFTNESS, OUT, PER_INSIDE, PER_OUTSIDE, STEP, RHS, MISSING = range(8)
COMP_INSIDE, COMP_OUTSIDE, WEIGHED_OUT = range(8, 11)
PULL, SEEN, FREE, MET = range(4)


class Problem(NamedTuple):
    """The restricted game: G groups of items, the chain, and tables over the sizes in question.

    Items of a group are treated alike; their ``WEIGHT`` says how many they are. The *chain* are the
    G + 1 sets made of the first 0, 1, ..., G groups; ``chain[j]`` is the row of the tables that
    belongs to the size of set j. Sizes are measured in the unit of the weights.
    """

    tables: Cube  # (2, K, L) ALPHA: change of the metric per true positive, predictor size x adversary size;
    # BETA: the rest, whose last column also holds alpha * size, as all items are hit
    tables_t: Cube  # (2, L, K) the same, transposed: pricing walks along the predictor's sizes
    predictor_sizes: Vector  # (K,)
    adversary_sizes: Vector  # (L,) first is 0 (the empty set), last is everything
    items: Matrix  # (3, G) WEIGHT; SCORE, descending along most of the chain; POSITIVE, 1 if a bonus applies
    chain: Indices  # (G + 1,)
    limits: Cube  # (2, C, K) of the constraints: GAIN per true positive, and OFFSET
    chain_gain: Matrix  # (C, G + 1) constraint value of the chain's sets
    here: int  # its address when pinned, see parts; likewise below


class Columns(NamedTuple):
    """Marginals of one player for the sizes it has in play, with their dual variables.

    Column a has probability ``mass[a]``; ``INSIDE`` is the part of it that holds the items of a group and
    ``OUTSIDE``, the rest, does not.
    """

    marginal: Cube  # (4, MAX_COLUMNS, G) INSIDE, OUTSIDE, DUAL_INSIDE, DUAL_OUTSIDE
    mass: Vector  # (MAX_COLUMNS + 2,) the adversary keeps its empty and full set in the last two
    dual_mass: Vector  # (MAX_COLUMNS + 2,)
    price: Vector  # (MAX_COLUMNS,) multiplier of sum(weight * inside) = size * mass
    size_index: Indices  # (MAX_COLUMNS,) which row or column of the tables
    used: Indices  # (1,) number of columns in play
    member: Marks  # (K,) or (L,) is this size in play
    dropped: Marks  # (K,) or (L,) was it taken out of play
    here: int


class Iterate(NamedTuple):
    """A strictly positive primal-dual point."""

    adversary: Columns
    predictor: Columns
    chain_mass: Vector  # (G + 1,) probability of each set of the chain
    chain_slack: Vector  # (G + 1,) how far each falls short of the value
    multiplier: Vector  # (C,) of the constraints
    multiplier_slack: Vector  # (C,)
    level: Vector  # (2,) multiplier of sum of adversary masses = 1, and the value of the game
    here: int


class Grouping(NamedTuple):
    """Items that are treated alike for the time being, and the problem on them; see :mod:`.merging`."""

    blocks: Indices  # (G + 1,) where each group begins in the order of the chain
    coming: Indices  # (G + 1,) the same of groups to come
    items: Vector  # (3 * G,) as of the problem; likewise the others
    chain: Indices  # (G + 1,)
    gain: Vector  # (C * (G + 1),)
    here: int


class Room(NamedTuple):
    """What a solve works on and what it leaves behind."""

    iterate: Iterate
    earlier: Iterate  # one of the same columns, near the path
    best: Iterate  # the best strategies met; of their duals, the multipliers only
    pooled: Columns  # of the adversary, where ties are broken evenly
    grouping: Grouping
    payoffs_p: Matrix  # (3, K) of the predictor's sizes against several adversaries
    payoffs_a: Matrix  # (2, L) of the adversary's
    here: int


@lean
def clear_columns(columns: Columns) -> None:
    """Take all columns of a player out of play."""
    columns.used[0] = 0
    for a in range(columns.mass.shape[0]):
        columns.mass[a] = 0.0
        columns.dual_mass[a] = 0.0
    for a in range(columns.price.shape[0]):
        columns.price[a] = 0.0
    for size in range(columns.member.shape[0]):
        columns.member[size] = False
        columns.dropped[size] = False


@lean
def clear(it: Iterate) -> None:
    """Take everything out of play."""
    clear_columns(it.adversary)
    clear_columns(it.predictor)
    for j in range(it.chain_mass.shape[0]):
        it.chain_mass[j] = 0.0
        it.chain_slack[j] = 0.0
    for c in range(it.multiplier.shape[0]):
        it.multiplier[c] = 0.0
        it.multiplier_slack[c] = 0.0
    for x in range(it.level.shape[0]):
        it.level[x] = 0.0


class Parts(NamedTuple):
    """Addresses of the functions that are compiled on their own, see :mod:`.parts`.

    They are in the order of the time it takes to compile them: the last ones are compiled first, so that
    nobody waits for a long one at the end.
    """

    approach: int
    start: int
    pool: int
    add_adversary: int
    split_column: int
    blend: int
    factorise: int
    add_predictor: int
    price_adversary: int
    restore: int
    price_predictor: int
    regroup: int
    eliminate_items: int
    answer_items: int
    filter_chain: int
    direction: int
    newton_step: int
    evaluate: int
    reduce_items: int
    follow_path: int


class Workspace(NamedTuple):
    """Everything a Newton step needs besides the iterate.

    What belongs to the marginals of a player is in ``adversary`` and ``predictor``: SOFTNESS, the
    reciprocal of the diagonal D or E; OUT, the part of that from OUTSIDE; WEIGHED and WEIGHED_OUT, what they
    amount to times the items' number; PER_INSIDE and PER_OUTSIDE, reciprocals;
    STEP of INSIDE; RHS; MISSING, by how much the items' equations fall short; COMP_INSIDE and COMP_OUTSIDE,
    the right-hand sides of the complementarity rows divided by the variable.
    """

    sides: Hypercube  # (2, 11, max(A, P) + 1, G) both players', where one column is room between arrays only
    adversary: Cube  # its halves
    predictor: Cube
    along: Matrix  # (4, G + 1) PRECISION, reciprocals of D; STEP_CHAIN; RESIDUAL_CHAIN; COMP_CHAIN
    chain_alpha: Matrix  # (G + 1, A) alpha of each set of the chain against each column
    chain_beta: Matrix  # (G + 1, A + 2) beta likewise, then against the empty and the full set
    chain_row: Matrix  # (G + 1, 2 * (A + P + C) + 4) the chain's rows of the border, see filtering.Order
    cross: Matrix  # (P, A) alpha between the columns of both players
    cross_t: Matrix  # (A, P) its transpose
    sums: Matrix  # (4, max(A, P)) sums over items
    rest: Vector  # (A * (G + 1 + P),) of alpha, while it is factorised
    rank: Indices  # (2,) number of factors, and the multiple of four they are filled up to
    basis: Matrix  # (A, R) alpha's factors of the adversary's columns
    basis_t: Matrix  # (R, A)
    chain_on: Matrix  # (G + 1, R) of the chain
    cross_on: Matrix  # (P, R) and of the predictor's columns
    blocks: Vector  # what is kept of the items' blocks, see items.Reduced
    answers: Vector
    coupling: Vector  # the matrices of eight items, while they are factorised
    moments: Hypercube  # (4, G / 8, A / 4, 32) minus PULL, the chain's; minus SEEN, what it sees; MET; FREE
    scratch: Matrix  # (A, G)
    factor: Matrix  # (2, max(A, G + 4)) scratch as well
    order: IndexRows  # (2, G + 1) scratch as well
    running: Matrix  # (3, A + 2) sums along the chain, and what is read often on the way
    filtered: Vector  # (R * m,) mean of the chain's random walk
    share: Vector  # (LANES * (R + 1) * (A + P + C),) what the chain sees of a few items, item by item
    observed: Vector  # (2 * (A + P + C) + 4,) and what a set observes
    kalman_gain: Matrix  # (G + 1, R)
    innovation: Matrix  # (G + 4, m) L^-1 F, filled up with zeros to a multiple of four sets
    border: Matrix  # (m, m) upper triangle of the Schur complement, then its LDL factors
    reciprocal: Vector  # (m,) of its pivots
    multiples: Matrix  # (4, m) of its rows, while they are subtracted
    step: Vector  # (m,) right-hand side, then border part of the step
    residual_border: Vector  # (m,)
    comp_mass: Vector
    comp_mass_p: Vector
    comp_multiplier: Vector
    parts: Parts
    here: int
