"""Euclidean projection onto the marginals of mixtures over sets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricfit.game.compiled import kernel

__all__ = ["project"]

SEARCH_STEPS = 200


@kernel
def project(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    r"""Return the nearest marginals: one row per size 1 … n, one column per item.

    .. math:: \min \tfrac12 \|p - a\|^2 \quad \text{s.t.} \quad 0 \le p_{ki} \le r_k, \;
              \textstyle\sum_i p_{ki} = k r_k, \; \sum_k r_k \le 1

    For a price :math:`\eta \ge 0` of the last constraint the rows separate, and row `k` is
    ``clip(a - t, 0, r)``. The stationarity conditions say that the convex function
    :math:`\varphi(x) = k x + \sum_i (a_i - x)_+` takes the same value `c` at `t` and at `t + r`, and that
    :math:`\eta = c - k r`. So each row is a falling, piecewise linear curve from `r` to :math:`\eta`, whose
    corners follow from sorting the row once, and the price is found on the sum of these curves. This
    replaces the numerical search of the paper's Appendix D and is exact.
    """
    n = matrix.shape[0]
    corner_r = np.zeros((n, n + 2))
    corner_price = np.zeros((n, n + 2))
    corner_t = np.zeros((n, n + 2))
    corners = np.zeros(n, dtype=np.int64)
    for row in range(n):
        corners[row] = _curve(
            np.sort(matrix[row])[::-1].copy(),
            row + 1,
            corner_r[row],
            corner_price[row],
            corner_t[row],
        )

    low, high = 0.0, 0.0
    for row in range(n):
        high = max(high, corner_price[row, 0])
    price = 0.0
    total, slope = _total(price, corner_r, corner_price, corner_t, corners)
    if total > 1.0:
        # The sum falls from above one to zero at the highest price: Newton, with bisection as safeguard.
        for _ in range(SEARCH_STEPS):
            if total > 1.0:
                low = price
            else:
                high = price
            following = price + (1.0 - total) / slope if slope < 0.0 else low
            if not low < following < high:
                following = 0.5 * (low + high)
            if following == price or not low < following < high:
                break
            price = following
            total, slope = _total(price, corner_r, corner_price, corner_t, corners)
            if abs(total - 1.0) < 1e-15:
                break

    result = np.empty_like(matrix)
    for row in range(n):
        r, _, t = _at(price, row + 1, n, corner_r[row], corner_price[row], corner_t[row], corners[row])
        for i in range(n):
            value = r if row == n - 1 else matrix[row, i] - t
            result[row, i] = min(max(value, 0.0), r)
    return result


@kernel
def _curve(
    values: NDArray[np.float64],
    k: int,
    corner_r: NDArray[np.float64],
    corner_price: NDArray[np.float64],
    corner_t: NDArray[np.float64],
) -> int:
    """Corners (r, price, t) of one row whose values are sorted in descending order; returns their number."""
    n = values.size
    level = 0.0
    for i in range(k):
        level += values[i]
    corner_r[0], corner_price[0], corner_t[0] = 0.0, level, values[k - 1]
    if k == n:
        return 1
    upper, lower = values[k - 1], values[k]
    corner_r[1], corner_price[1], corner_t[1] = upper - lower, level - k * (upper - lower), lower
    count = 2
    capped, positive = k - 1, k + 1
    while capped > 0 or positive < n:
        rise_right = (values[capped - 1] - upper) * (k - capped) if capped > 0 else np.inf
        rise_left = (lower - values[positive]) * (positive - k) if positive < n else np.inf
        rise = min(rise_right, rise_left)
        level += rise
        upper += rise / (k - capped)
        lower -= rise / (positive - k)
        if rise_right <= rise_left:
            capped -= 1
            upper = values[capped]
        else:
            lower = values[positive]
            positive += 1
        corner_r[count] = upper - lower
        corner_price[count] = level - k * (upper - lower)
        corner_t[count] = lower
        count += 1
    return count


@kernel
def _at(
    price: float,
    k: int,
    n: int,
    corner_r: NDArray[np.float64],
    corner_price: NDArray[np.float64],
    corner_t: NDArray[np.float64],
    count: int,
) -> tuple[float, float, float]:
    """Return `r` of one row at a price, its slope there, and `t`."""
    if price >= corner_price[0]:
        return 0.0, 0.0, corner_t[0]
    last = count - 1
    if price <= corner_price[last]:
        # Beyond the last corner every item is strictly between its bounds.
        more = (corner_price[last] - price) * n / k**2
        return corner_r[last] + more, -n / k**2, corner_t[last] - more * k / n
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if corner_price[middle] > price:
            low = middle
        else:
            high = middle
    fall = corner_price[low] - corner_price[high]
    share = (corner_price[low] - price) / fall
    r = corner_r[low] + share * (corner_r[high] - corner_r[low])
    t = corner_t[low] + share * (corner_t[high] - corner_t[low])
    return r, (corner_r[low] - corner_r[high]) / fall, t


@kernel
def _total(
    price: float,
    corner_r: NDArray[np.float64],
    corner_price: NDArray[np.float64],
    corner_t: NDArray[np.float64],
    corners: NDArray[np.int64],
) -> tuple[float, float]:
    """Return the sum of `r` over the rows at a price, and its slope."""
    n = corners.size
    total, slope = 0.0, 0.0
    for row in range(n):
        r, change, _ = _at(price, row + 1, n, corner_r[row], corner_price[row], corner_t[row], corners[row])
        total += r
        slope += change
    return total, slope
