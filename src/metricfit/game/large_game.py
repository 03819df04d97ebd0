"""The adversary's best responses when there are too many items to sort for every size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricfit.game.compiled import kernel

__all__ = ["bottom_bounds"]


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
def bottom_bounds(
    item_values: NDArray[np.float64],
    blocks: NDArray[np.int64],
    scores: NDArray[np.float64],
    running: NDArray[np.float64],
    start: int,
    constant: NDArray[np.float64],
    precision: float,
    values: NDArray[np.float64],
) -> None:
    """Lower bounds of the sums of the referee, without sorting all items for every size.

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
