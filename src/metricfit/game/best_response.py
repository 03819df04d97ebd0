"""Both players' best responses, and the bounds of the value that follow from them.

This is the referee of every solver. Given the size of the answer, a best response takes the items of
largest (for the predictor) or smallest (for the adversary) value, so sorting is all there is to it.
Nothing here knows how a strategy was found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricfit.game.compiled import kernel
from metricfit.game.definition import TABLE_LIMIT, Game
from metricfit.game.feasibility import SLACK_TOLERANCE, constraint_slacks
from metricfit.game.strategy import Strategy

__all__ = ["adversary_values", "bounds", "predictor_values"]

# Cells of a table, and of item values, that are held at a time above TABLE_LIMIT.
CHUNK_CELLS = 1 << 21

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
    values = np.empty(n + 1)
    shift = multipliers @ game.gain
    constant = multipliers @ game.offset
    constant -= _expected_score(game.scores, adversary.marginals, adversary.blocks)
    step = _chunk(n, adversary)
    for start in range(0, n + 1, step):
        stop = min(start + step, n + 1)
        alpha, beta = game.payoff_columns(adversary.sizes, start, stop)
        _top_sums(
            alpha @ adversary.marginals,
            adversary.blocks,
            game.split,
            start,
            shift,
            beta @ adversary.weights,
            constant,
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
    values = np.empty(n + 1)
    step = _chunk(n, predictor)
    running = np.concatenate((np.zeros(1), np.cumsum(game.scores))) if n > TABLE_LIMIT else values
    for start in range(0, n + 1, step):
        stop = min(start + step, n + 1)
        alpha, beta = game.payoff_rows(predictor.sizes, start, stop)
        item_values = alpha.T @ predictor.marginals
        constant = predictor.weights @ beta
        if n <= TABLE_LIMIT:
            _bottom_sums(item_values, predictor.blocks, game.scores, start, constant, values)
        else:
            _bottom_bounds(
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
    """Bounds ``lower <= value <= upper`` of the game that the two strategies prove.

    The lower bound is minus infinity if the predictor misses a constraint.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> from metricfit.game import Strategy, bounds, make_game
    >>> game = make_game(mf.accuracy, [0.0, 0.0])
    >>> coin = Strategy(np.array([1]), np.ones(1), np.array([[0.5]]), np.array([0, 2]))
    >>> bounds(game, coin, np.zeros(0), coin)
    (0.5, 0.5)
    """
    upper = float(predictor_values(game, adversary, multipliers).max())
    if game.gain.shape[0] > 0:
        slacks = constraint_slacks(game.gain, game.offset, game.split, predictor)
        if slacks.min() < -SLACK_TOLERANCE:
            return -np.inf, upper
    return float(adversary_values(game, predictor).min()), upper


def _chunk(n: int, strategy: Strategy) -> int:
    """How many sizes to treat at a time."""
    if n <= TABLE_LIMIT:
        return n + 1
    return max(1, CHUNK_CELLS // max(strategy.sizes.size, strategy.blocks.size))


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
def _sort_ascending(keys: NDArray[np.float64], order: NDArray[np.int64]) -> None:
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
    shift: NDArray[np.float64],
    size_values: NDArray[np.float64],
    constant: NDArray[np.float64],
    values: NDArray[np.float64],
) -> None:
    """For each size `k` the sum of the `k` largest item values, and what does not depend on the items."""
    count, width = item_values.shape
    keys = np.empty(width)
    order = np.arange(width)
    for row in range(count):
        k = start + row
        for b in range(width):
            value = item_values[row, b]
            if blocks[b] < split:
                value += shift[k]
            keys[b] = -value
        _sort_ascending(keys, order)
        left = k
        total = 0.0
        for position in range(width):
            if left == 0:
                break
            b = order[position]
            taken = min(left, blocks[b + 1] - blocks[b])
            total -= taken * keys[b]
            left -= taken
        values[k] = total + size_values[row] + constant[k]


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
        _sort_ascending(keys, order)
        total = 0.0
        for position in range(start + row):
            total += keys[order[position]]
        values[start + row] = total + constant[row]


@kernel
def _below(
    level: float,
    row: int,
    item_values: NDArray[np.float64],
    blocks: NDArray[np.int64],
    scores: NDArray[np.float64],
    running: NDArray[np.float64],
) -> tuple[int, float]:
    """Return number and sum of the item values less scores that are smaller than `level`."""
    number = 0
    total = 0.0
    for b in range(blocks.size - 1):
        first, last = blocks[b], blocks[b + 1]
        value = item_values[row, b]
        floor = value - level
        if scores[first] <= floor:
            continue
        # Scores descend within a block, so those above the floor come first; most blocks are not cut.
        stop = last
        if scores[last - 1] <= floor:
            low, stop = first, last - 1
            while stop - low > 1:
                middle = (low + stop) // 2
                if scores[middle] > floor:
                    low = middle
                else:
                    stop = middle
        number += stop - first
        total += (stop - first) * value - (running[stop] - running[first])
    return number, total


@kernel
def _bottom_bounds(
    item_values: NDArray[np.float64],
    blocks: NDArray[np.int64],
    scores: NDArray[np.float64],
    running: NDArray[np.float64],
    start: int,
    constant: NDArray[np.float64],
    precision: float,
    values: NDArray[np.float64],
) -> None:
    """Lower bounds of the sums of `_bottom_sums`, without sorting all items for every size.

    For every level t the sum of the l smallest of g is at least ``l t - sum_i max(t - g_i, 0)``,
    a concave function of t whose slope is l less the number of items below t. Its maximum is exact.
    It is bracketed, starting from the level of the size before, and cut by tangents.
    """
    n = scores.size
    level = -np.inf
    for b in range(blocks.size - 1):
        level = max(level, item_values[0, b] - scores[blocks[b + 1] - 1])
    stride = 1.0
    for row in range(item_values.shape[0]):
        size = start + row
        if size == 0 or size == n:
            total = 0.0
            if size == n:
                for b in range(blocks.size - 1):
                    total += item_values[row, b] * (blocks[b + 1] - blocks[b])
                total -= running[n]
            values[size] = total + constant[row]
            continue
        number, total = _below(level, row, item_values, blocks, scores, running)
        best = (size - number) * level + total
        begin = level
        left_level = right_level = level
        left_slope = right_slope = float(size - number)
        left_value = right_value = best
        reach = stride
        while left_slope < 0.0:
            right_level, right_slope, right_value = left_level, left_slope, left_value
            left_level -= reach
            reach *= 2.0
            number, total = _below(left_level, row, item_values, blocks, scores, running)
            left_slope = float(size - number)
            left_value = (size - number) * left_level + total
        while right_slope > 0.0:
            left_level, left_slope, left_value = right_level, right_slope, right_value
            right_level += reach
            reach *= 2.0
            number, total = _below(right_level, row, item_values, blocks, scores, running)
            right_slope = float(size - number)
            right_value = (size - number) * right_level + total
        best = max(left_value, right_value)
        level = left_level if left_value >= right_value else right_level
        for attempt in range(100):
            if left_slope <= 0.0 or right_slope >= 0.0:
                break
            crossing = (right_value - left_value + left_slope * left_level - right_slope * right_level) / (
                left_slope - right_slope
            )
            if left_value + left_slope * (crossing - left_level) - best <= precision:
                break
            middle = crossing if attempt % 2 == 0 else 0.5 * (left_level + right_level)
            if not left_level < middle < right_level:
                break
            number, total = _below(middle, row, item_values, blocks, scores, running)
            value = (size - number) * middle + total
            if value > best:
                best = value
                level = middle
            if size >= number:
                left_level, left_slope, left_value = middle, float(size - number), value
            else:
                right_level, right_slope, right_value = middle, float(size - number), value
        stride = max(2.0 * abs(level - begin), 1e-9)
        values[size] = best + constant[row]
