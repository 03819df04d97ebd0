"""Which entries of a batch make up which game."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GameBatch", "layout", "valid_layout"]

Ints = NDArray[np.int64]


class GameBatch(NamedTuple):
    """A batch of games that have the same number of items."""

    slots: Ints  # (games,) the number of each game: labels of the first group, then those of the next
    places: Ints  # (games, items) its entries in the flattened batch


@lru_cache(maxsize=64)
def layout(n: int, labels: int, groups: int) -> tuple[GameBatch, ...]:
    """Return the games of a batch of shape ``(n, labels)`` all of whose entries take part.

    Examples
    --------
    >>> (pair,) = layout(4, 1, 2)
    >>> pair.slots, pair.places
    (array([0, 1]), array([[0, 1],
           [2, 3]]))
    """
    return _sorted_by_size(np.arange(n * labels).reshape(n, labels), groups)


def valid_layout(valid: NDArray[np.bool_], groups: int) -> tuple[GameBatch, ...]:
    """Return the games of a batch if only some of its entries take part.

    Examples
    --------
    >>> [games.places.tolist() for games in valid_layout(np.array([[True, True], [False, True]]), 1)]
    [[[0]], [[1, 3]]]
    """
    return _sorted_by_size(np.where(valid, np.arange(valid.size).reshape(valid.shape), -1), groups)


def _sorted_by_size(numbers: Ints, groups: int) -> tuple[GameBatch, ...]:
    """Collect the entries of every group and label that are not negative; games without any are left out."""
    n, labels = numbers.shape
    found: dict[int, tuple[list[int], list[Ints]]] = {}
    for group in range(groups):
        rows = numbers[-(-group * n // groups) : -(-(group + 1) * n // groups)]
        for label in range(labels):
            chosen = rows[rows[:, label] >= 0, label]
            if chosen.size:
                slots, places = found.setdefault(chosen.size, ([], []))
                slots.append(group * labels + label)
                places.append(chosen)
    return tuple(GameBatch(np.array(slots), np.stack(places)) for slots, places in found.values())
