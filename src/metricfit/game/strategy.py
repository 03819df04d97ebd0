"""A player's mixture over sets of items, written by its marginals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metricfit._core import clean_in_place, inclusion_in_order, tie_averages

__all__ = ["Strategy", "average_ties", "clean", "inclusion_in_order", "mix"]


@dataclass(frozen=True, eq=False)
class Strategy:
    """A mixture over sets of items: how often each size, and each item together with that size.

    Items are those of a game in canonical order. Consecutive items that are treated alike form a
    block, so that a strategy for many items stays small.

    Attributes
    ----------
    sizes : ndarray of int64, shape (m,)
        The set sizes in play, strictly increasing.
    weights : ndarray, shape (m,)
        Probability of each size; they sum to one.
    marginals : ndarray, shape (m, B)
        ``marginals[j, b]`` is the probability that an item of block ``b`` is in the set and the set
        has ``sizes[j]`` items. It lies in ``[0, weights[j]]``, and its sum over the items is
        ``sizes[j] * weights[j]``. By Theorem 1 of the paper every such matrix belongs to a mixture.
    blocks : ndarray of int64, shape (B + 1,)
        Block ``b`` holds the items ``blocks[b]`` to ``blocks[b + 1] - 1``; no block crosses the split
        of its game.

    Examples
    --------
    Half of the time no item, half of the time two of the three:

    >>> import numpy as np
    >>> strategy = Strategy(
    ...     sizes=np.array([0, 2]),
    ...     weights=np.array([0.5, 0.5]),
    ...     marginals=np.array([[0.0, 0.0], [0.5, 0.25]]),
    ...     blocks=np.array([0, 1, 3]),
    ... )
    >>> strategy.inclusion
    array([0.5 , 0.25, 0.25])
    """

    sizes: NDArray[np.int64]
    weights: NDArray[np.float64]
    marginals: NDArray[np.float64]
    blocks: NDArray[np.int64]

    @property
    def inclusion(self) -> NDArray[np.float64]:
        """Probability of each item to be in the set, in canonical order."""
        return np.repeat(self.marginals.sum(axis=0), np.diff(self.blocks))

    def __repr__(self) -> str:
        return (
            f"Strategy({self.sizes.size} sizes from {self.sizes[0]} to {self.sizes[-1]}, "
            f"{self.blocks.size - 1} blocks of {self.blocks[-1]} items)"
        )


def clean(strategy: Strategy) -> Strategy:
    """Return the nearest-by strategy whose marginals are exactly those of a mixture.

    Solvers work to a tolerance; a bound is only valid for a strategy that exists. Weights are clipped
    and normalised; in each column the marginals are clipped and then moved towards 0 or towards the
    weight, whichever makes their sum right.

    Raises
    ------
    ArithmeticError
        If an entry is not finite or no weight is positive.

    Examples
    --------
    >>> import numpy as np
    >>> rough = Strategy(np.array([1]), np.array([0.9]), np.array([[0.6, 0.2]]), np.array([0, 1, 2]))
    >>> clean(rough).marginals
    array([[0.7, 0.3]])
    """
    weights = strategy.weights.copy()
    marginals = strategy.marginals.copy()
    if not clean_in_place(strategy.sizes, weights, marginals, strategy.blocks):
        raise ArithmeticError("the strategy holds a value that is not finite, or no positive weight")
    return Strategy(strategy.sizes, weights, marginals, strategy.blocks)


def average_ties(scores: NDArray[np.float64], split: int, strategy: Strategy) -> Strategy:
    """Give items of equal score, on the same side of the split, the same marginals.

    The game does not change when such items are swapped, so by convexity the averaged strategy
    guarantees its player at least as much.

    Examples
    --------
    >>> import numpy as np
    >>> one = Strategy(np.array([1]), np.ones(1), np.array([[1.0, 0.0]]), np.array([0, 1, 2]))
    >>> average_ties(np.array([0.3, 0.3]), 2, one).inclusion
    array([0.5, 0.5])
    """
    marginals, blocks = tie_averages(scores, split, strategy.marginals, strategy.blocks)
    return Strategy(strategy.sizes, strategy.weights, marginals, blocks)


def mix(strategy: Strategy, other: Strategy, share: float) -> Strategy:
    """Play `other` with probability `share` and `strategy` otherwise.

    The blocks of `strategy` must refine those of `other`.

    Examples
    --------
    >>> import numpy as np
    >>> none = Strategy(np.array([0]), np.ones(1), np.zeros((1, 1)), np.array([0, 2]))
    >>> both = Strategy(np.array([2]), np.ones(1), np.ones((1, 1)), np.array([0, 2]))
    >>> mix(none, both, 0.25).inclusion
    array([0.25, 0.25])
    """
    sizes = np.union1d(strategy.sizes, other.sizes)
    weights = np.zeros(sizes.size)
    marginals = np.zeros((sizes.size, strategy.blocks.size - 1))
    coarse = np.searchsorted(other.blocks, strategy.blocks[:-1], side="right") - 1
    for part, factor, columns in (
        (strategy, 1.0 - share, strategy.marginals),
        (other, share, other.marginals[:, coarse]),
    ):
        rows = np.searchsorted(sizes, part.sizes)
        weights[rows] += factor * part.weights
        marginals[rows] += factor * columns
    return Strategy(sizes, weights, marginals, strategy.blocks)
