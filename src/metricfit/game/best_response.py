"""Both players' best responses, and the bounds of the value that follow from them.

This is the referee of every solver. Given the size of the answer, a best response takes the items of
largest (for the predictor) or smallest (for the adversary) value, so sorting is all there is to it.
Nothing here knows how a strategy was found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from metricfit.game.compiled import kernel
from metricfit.game.definition import TABLE_LIMIT, Game
from metricfit.game.feasibility import constraint_slacks, slack_tolerances
from metricfit.game.large_game import bottom_bounds
from metricfit.game.rounding import lower_rounding, upper_rounding
from metricfit.game.strategy import Strategy

__all__ = [
    "adversary_values",
    "bounds",
    "predictor_values",
    "small_adversary_values",
    "small_predictor_values",
    "sort_ascending",
]

# Cells of a table, and of item values, that are held at a time above TABLE_LIMIT.
CHUNK_CELLS = 1 << 21

# Multiplications up to which a product of two matrices is written out.
SMALL_PRODUCT = 200_000

# Most sets of a large game are prefixes, whose marginals change once. Up to this share of places where a
# marginal changes, sums of changes are faster than a product of matrices.
FEW_CHANGES = 0.1

# Above TABLE_LIMIT a best response of the adversary is bounded from below to within this.
LARGE_GAME_PRECISION = 1e-9


def predictor_values(
    game: Game, adversary: Strategy, multipliers: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Value of the predictor's best set of each size against the adversary and its multipliers.

    Parameters
    ----------
    game : Game
    adversary : Strategy
    multipliers : ndarray, shape (C,)
        One per constraint, not negative.

    Returns
    -------
    ndarray, shape (n + 1,)
        Its maximum is an upper bound of the value of the game.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> from metricfit.game import Strategy, make_game, predictor_values
    >>> game = make_game(mf.accuracy, [0.5, -0.5])
    >>> both = Strategy(np.array([2]), np.ones(1), np.ones((1, 1)), np.array([0, 2]))
    >>> predictor_values(game, both, np.zeros(0))
    array([0. , 0.5, 1. ])
    """
    n = game.n
    if _is_small(n, adversary):
        return small_predictor_values(
            *game.metric.table(n),
            game.scores,
            game.split,
            adversary.sizes,
            adversary.weights,
            adversary.marginals,
            adversary.blocks,
            multipliers,
            game.gain,
            game.offset,
        )
    values = np.empty(n + 1)
    paid = _expected_score(game.scores, adversary.marginals, adversary.blocks)
    step = _chunk(n, adversary)
    for start in range(0, n + 1, step):
        alpha, beta = game.payoff_columns(adversary.sizes, start, min(start + step, n + 1))
        _top_sums(
            alpha @ adversary.marginals,
            adversary.blocks,
            game.split,
            start,
            multipliers,
            game.gain,
            game.offset,
            beta @ adversary.weights,
            paid,
            values,
        )
    return values


def adversary_values(game: Game, predictor: Strategy) -> NDArray[np.float64]:
    """Value of the adversary's best set of each size against the predictor.

    For more than ``TABLE_LIMIT`` items the entries are lower bounds, tight to 1e-9.

    Returns
    -------
    ndarray, shape (n + 1,)
        If the predictor meets the constraints, the minimum is a lower bound of the value of the game.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> from metricfit.game import Strategy, adversary_values, make_game
    >>> game = make_game(mf.accuracy, [0.5, -0.5])
    >>> first = Strategy(np.array([1]), np.ones(1), np.array([[1.0, 0.0]]), np.array([0, 1, 2]))
    >>> adversary_values(game, first)
    array([0.5, 0.5, 0.5])
    """
    n = game.n
    if _is_small(n, predictor):
        return small_adversary_values(
            *game.metric.table(n),
            game.scores,
            predictor.sizes,
            predictor.weights,
            predictor.marginals,
            predictor.blocks,
        )
    values = np.empty(n + 1)
    step = _chunk(n, predictor)
    running = np.concatenate((np.zeros(1), np.cumsum(game.scores))) if n > TABLE_LIMIT else values
    changes = csr_array(np.diff(predictor.marginals, axis=1, prepend=0.0).T)
    few = changes.nnz < FEW_CHANGES * predictor.marginals.size
    for start in range(0, n + 1, step):
        alpha, beta = game.payoff_rows(predictor.sizes, start, min(start + step, n + 1))
        item_values = _summed(changes, alpha) if few else alpha.T @ predictor.marginals
        constant = predictor.weights @ beta
        if n <= TABLE_LIMIT:
            _bottom_sums(item_values, predictor.blocks, game.scores, start, constant, values)
        else:
            bottom_bounds(
                item_values,
                predictor.blocks,
                game.scores,
                running,
                start,
                constant,
                LARGE_GAME_PRECISION,
                values,
            )
    return values


def bounds(
    game: Game, adversary: Strategy, multipliers: NDArray[np.float64], predictor: Strategy
) -> tuple[float, float]:
    """Bounds ``lower <= value <= upper`` of the game that the two strategies prove, rounding included.

    Constraints may be missed by `slack_tolerances`: the bounds are those of the game with constraints that
    are loosened by so much. The lower bound is minus infinity if the predictor misses one by more.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> from metricfit.game import Strategy, bounds, make_game
    >>> game = make_game(mf.accuracy, [0.0, 0.0])
    >>> coin = Strategy(np.array([1]), np.ones(1), np.array([[0.5]]), np.array([0, 2]))
    >>> lower, upper = bounds(game, coin, np.zeros(0), coin)
    >>> lower < 0.5 < upper, upper - lower < 1e-13
    (True, True)
    """
    upper = float(predictor_values(game, adversary, multipliers).max())
    upper += upper_rounding(game, adversary, multipliers)
    if game.gain.shape[0] > 0:
        tolerances = slack_tolerances(game.gain, game.offset, game.split)
        upper += float(multipliers @ tolerances)
        slacks = constraint_slacks(game.gain, game.offset, game.split, predictor)
        if not np.all(slacks >= -tolerances):
            return -np.inf, upper
    lower = float(adversary_values(game, predictor).min()) - lower_rounding(game, predictor)
    return lower, upper


def _summed(changes: csr_array, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each block is worth from what changes between it and the block before."""
    values = changes @ alpha
    np.cumsum(values, axis=0, out=values)
    return np.ascontiguousarray(values.T)


def _chunk(n: int, strategy: Strategy) -> int:
    """How many sizes to treat at a time."""
    if n <= TABLE_LIMIT:
        return n + 1
    return max(1, CHUNK_CELLS // max(strategy.sizes.size, strategy.blocks.size))


def _is_small(n: int, strategy: Strategy) -> bool:
    """Whether plain loops beat the calls that a matrix product would take."""
    return n <= TABLE_LIMIT and n * strategy.marginals.size < SMALL_PRODUCT


@kernel
def small_predictor_values(
    alpha: NDArray[np.float64],
    beta: NDArray[np.float64],
    scores: NDArray[np.float64],
    split: int,
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
    marginals: NDArray[np.float64],
    blocks: NDArray[np.int64],
    multipliers: NDArray[np.float64],
    gain: NDArray[np.float64],
    offset: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Do what :func:`predictor_values` does where the metric's whole table is there, with plain arrays."""
    values = np.empty(scores.size + 1)
    item_values, constant = _expected(alpha, beta, sizes, weights, marginals, False)
    paid = _expected_score(scores, marginals, blocks)
    _top_sums(item_values, blocks, split, 0, multipliers, gain, offset, constant, paid, values)
    return values


@kernel
def small_adversary_values(
    alpha: NDArray[np.float64],
    beta: NDArray[np.float64],
    scores: NDArray[np.float64],
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
    marginals: NDArray[np.float64],
    blocks: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Do what :func:`adversary_values` does where the metric's whole table is there, with plain arrays."""
    values = np.empty(scores.size + 1)
    item_values, constant = _expected(alpha, beta, sizes, weights, marginals, True)
    _bottom_sums(item_values, blocks, scores, 0, constant, values)
    return values


@kernel
def _expected(
    alpha: NDArray[np.float64],
    beta: NDArray[np.float64],
    sizes: NDArray[np.int64],
    weights: NDArray[np.float64],
    marginals: NDArray[np.float64],
    transposed: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what each item is worth, and what each size is worth, against a strategy."""
    count, width = marginals.shape
    rows = alpha.shape[0]
    item_values = np.zeros((rows, width))
    size_values = np.zeros(rows)
    for row in range(rows):
        for j in range(count):
            size = sizes[j]
            factor = alpha[size, row] if transposed else alpha[row, size]
            size_values[row] += weights[j] * (beta[size, row] if transposed else beta[row, size])
            for b in range(width):
                item_values[row, b] += factor * marginals[j, b]
    return item_values, size_values


@kernel
def _expected_score(
    scores: NDArray[np.float64], marginals: NDArray[np.float64], blocks: NDArray[np.int64]
) -> float:
    total = 0.0
    for b in range(marginals.shape[1]):
        inside = 0.0
        for i in range(blocks[b], blocks[b + 1]):
            inside += scores[i]
        included = 0.0
        for j in range(marginals.shape[0]):
            included += marginals[j, b]
        total += inside * included
    return total


@kernel
def sort_ascending(keys: NDArray[np.float64], order: NDArray[np.int64]) -> None:
    """Sort `order` by key in place; in linear time if it is sorted but for a few neighbours.

    That is how one size leaves it to the next. Otherwise coarser passes come first (Shell's sort).
    """
    inversions = 0
    for i in range(1, order.size):
        if keys[order[i - 1]] > keys[order[i]]:
            inversions += 1
    gap = 1
    if 8 * inversions > order.size:
        while gap < order.size // 3:
            gap = 3 * gap + 1
    while gap >= 1:
        for i in range(gap, order.size):
            item = order[i]
            key = keys[item]
            j = i - gap
            while j >= 0 and keys[order[j]] > key:
                order[j + gap] = order[j]
                j -= gap
            order[j + gap] = item
        gap //= 3


@kernel
def _top_sums(
    item_values: NDArray[np.float64],
    blocks: NDArray[np.int64],
    split: int,
    start: int,
    multipliers: NDArray[np.float64],
    gain: NDArray[np.float64],
    offset: NDArray[np.float64],
    size_values: NDArray[np.float64],
    paid: float,
    values: NDArray[np.float64],
) -> None:
    """For each size `k` the sum of the `k` largest item values, and what does not depend on the items."""
    count, width = item_values.shape
    keys = np.empty(width)
    order = np.arange(width)
    for row in range(count):
        k = start + row
        shift, constant = 0.0, size_values[row] - paid
        for c in range(multipliers.size):
            shift += multipliers[c] * gain[c, k]
            constant += multipliers[c] * offset[c, k]
        for b in range(width):
            value = item_values[row, b]
            if blocks[b] < split:
                value += shift
            keys[b] = -value
        sort_ascending(keys, order)
        left = k
        total = 0.0
        for position in range(width):
            if left == 0:
                break
            b = order[position]
            taken = min(left, blocks[b + 1] - blocks[b])
            total -= taken * keys[b]
            left -= taken
        values[k] = total + constant


@kernel
def _bottom_sums(
    item_values: NDArray[np.float64],
    blocks: NDArray[np.int64],
    scores: NDArray[np.float64],
    start: int,
    constant: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """For each size `l` the sum of the `l` smallest item values less scores, and the constant."""
    count, width = item_values.shape
    keys = np.empty(scores.size)
    order = np.arange(scores.size)
    for row in range(count):
        for b in range(width):
            for i in range(blocks[b], blocks[b + 1]):
                keys[i] = item_values[row, b] - scores[i]
        sort_ascending(keys, order)
        total = 0.0
        for position in range(start + row):
            total += keys[order[position]]
        values[start + row] = total + constant[row]
