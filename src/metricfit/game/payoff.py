"""Payoffs that differ from the metric: sizes that the predictor may not choose, and scores of sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.game.numbers import as_numbers
from metricfit.metrics import Constraint, Metric

__all__ = ["AdjustedMetric", "Payoff", "adjusted", "checked_size_scores", "checked_sizes", "sized"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class AdjustedMetric:
    r"""A metric with other tables: it stands in for the metric wherever a game is solved.

    Sizes that the predictor may not choose stay in the tables, with payoffs below those of any allowed set,
    whatever the adversary does. So solvers need no special case for them.

    Attributes
    ----------
    metric : Metric
    allowed : tuple of int, or None
        The sizes that the predictor may choose, ascending; None stands for all.
    size_scores : tuple of float, or None
        One number per number of actual positives, which is subtracted from the payoff.

    Examples
    --------
    >>> import metricfit as mf
    >>> alpha, beta = AdjustedMetric(mf.recall, (1,), (0.0, 0.0, 0.25)).table(2)
    >>> alpha
    array([[0. , 0. , 0. ],
           [0. , 1. , 0.5],
           [0. , 0. , 0. ]])
    >>> beta[1]
    array([ 0.  ,  0.  , -0.25])
    >>> bool(beta[0].max() < beta[1].min())
    True
    """

    metric: Metric
    allowed: tuple[int, ...] | None
    size_scores: tuple[float, ...] | None

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The metric's constraints."""
        return self.metric.constraints

    def coefficients(self, k: ArrayLike, l: ArrayLike, n: int) -> tuple[Floats, Floats]:
        """Return ``alpha`` and ``beta`` at some cells, as the metric does."""
        sizes, actual = np.asarray(k), np.asarray(l)
        alpha, beta = self.metric.coefficients(sizes, actual, n)
        if self.allowed is not None:
            forbidden = np.broadcast_to(~np.isin(sizes, self.allowed), alpha.shape)
            alpha[forbidden] = 0.0
            beta[forbidden] = _lowest(self.metric, self.allowed, n)
        if self.size_scores is not None:
            beta -= np.array(self.size_scores)[actual]
        return alpha, beta

    def table(self, n: int) -> tuple[Floats, Floats]:
        """Return ``alpha`` and ``beta`` for all sizes, read-only."""
        return _table(self, n)

    def value_range(self, n: int) -> tuple[float, float]:
        """Return the smallest and the largest payoff."""
        sizes = np.arange(n + 1)
        return _range(*self.table(n), sizes[:, None], sizes, n)


Payoff: TypeAlias = Metric | AdjustedMetric
"""What a game pays."""


def sized(metric: Metric, n: int) -> Payoff:
    """Return the metric with the payoffs of the sizes that it allows.

    Examples
    --------
    >>> import metricfit as mf
    >>> sized(mf.f1, 3) is mf.f1, sized(mf.f1.at_size(2), 3).allowed
    (True, (2,))
    """
    return adjusted(metric, checked_sizes(metric.sizes(n), n), None, n)


def adjusted(
    metric: Metric, allowed: tuple[int, ...] | None, size_scores: ArrayLike | None, n: int
) -> Payoff:
    """Return the payoff of a game of `n` items.

    Examples
    --------
    >>> import metricfit as mf
    >>> adjusted(mf.f1, None, None, 3) is mf.f1
    True
    """
    if allowed is None and size_scores is None:
        return metric
    if size_scores is None:
        return AdjustedMetric(metric, allowed, None)
    return AdjustedMetric(metric, allowed, tuple(checked_size_scores(size_scores, n).tolist()))


def checked_size_scores(size_scores: ArrayLike, n: int) -> Floats:
    """Return the scores of the sizes as an array, after checking them.

    Examples
    --------
    >>> checked_size_scores([0, 0.5], 1)
    array([0. , 0.5])
    """
    scores = as_numbers(size_scores, "size_scores")
    if scores.shape != (n + 1,):
        raise ValueError(
            f"size_scores must have one number for each of 0 to {n} actual positives, shape ({n + 1},), "
            f"got {scores.shape}"
        )
    if not np.isfinite(scores).all():
        worst = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise ValueError(f"size_scores must be finite, but size_scores[{worst}] is {scores[worst]}")
    return scores


def checked_sizes(allowed: Iterable[int] | None, n: int) -> tuple[int, ...] | None:
    """Return the sizes that the predictor may choose, ascending; None if these are all.

    Examples
    --------
    >>> checked_sizes([3, 1], 5)
    (1, 3)
    >>> checked_sizes(range(6), 5)
    """
    if allowed is None:
        return None
    sizes = sorted(set(allowed))
    wrong = [size for size in sizes if not isinstance(size, Integral) or not 0 <= size <= n]
    if wrong or not sizes:
        found = f"one is {wrong[0]}" if wrong else "there is none"
        raise ValueError(f"allowed_sizes must hold whole numbers from 0 to {n}, but {found}")
    return None if len(sizes) == n + 1 else tuple(int(size) for size in sizes)


@lru_cache(maxsize=16)
def _table(payoff: AdjustedMetric, n: int) -> tuple[Floats, Floats]:
    sizes = np.arange(n + 1)
    alpha, beta = payoff.coefficients(sizes[:, None], sizes, n)
    alpha.flags.writeable = beta.flags.writeable = False
    return alpha, beta


@lru_cache(maxsize=256)
def _lowest(metric: Metric, allowed: tuple[int, ...], n: int) -> float:
    """Return a payoff that is far below whatever a set of an allowed size can be paid."""
    rows, columns = np.array(allowed)[:, None], np.arange(n + 1)
    lowest, highest = _range(*metric.coefficients(rows, columns, n), rows, columns, n)
    return lowest - ((highest - lowest) or 1.0)


def _range(
    alpha: Floats, beta: Floats, k: NDArray[np.int64], l: NDArray[np.int64], n: int
) -> tuple[float, float]:
    fewest, most = alpha * np.maximum(k + l - n, 0) + beta, alpha * np.minimum(k, l) + beta
    return float(min(fewest.min(), most.min())), float(max(fewest.max(), most.max()))
