"""Which rows make up the games of a boosting round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_games"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def draw_games(
    positive: NDArray[np.bool_], weights: Floats | None, size: int, games: int, random: np.random.Generator
) -> Ints:
    """Return the rows of random games, all with the same number of positives up to one, and at least one.

    A row is drawn in proportion to its weight, among those with its label. The games together have the
    (weighted) share of positives of the data, or one positive each if that is more.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        At least one.
    weights : ndarray, shape (n,), optional
        Numbers of 0 or more; the positives have some.
    size, games : int
    random : Generator

    Returns
    -------
    ndarray of int, shape (games, size)

    Examples
    --------
    >>> rows = draw_games(np.arange(100) < 20, None, 10, 5, np.random.default_rng(0))
    >>> (rows < 20).sum(axis=1)
    array([2, 2, 2, 2, 2])
    """
    totals = [float(mask.sum() if weights is None else weights[mask].sum()) for mask in (~positive, positive)]
    if totals[0] > 0.0:
        wanted = round(games * size * totals[1] / sum(totals))
        wanted = min(max(wanted, games), max(games * (size - 1), games))
    else:
        wanted = games * size
    ends = np.arange(games + 1) * wanted // games
    spots = np.arange(size) < np.diff(ends)[:, None]
    rows = np.empty((games, size), dtype=np.int64)
    for mask, places in ((~positive, ~spots), (positive, spots)):
        count = int(places.sum())
        if count:
            rows[places] = _drawn(np.flatnonzero(mask), weights, count, random)
    return rows


def _drawn(rows: Ints, weights: Floats | None, count: int, random: np.random.Generator) -> Ints:
    """Return `count` of the rows in random order, each as often as its weight asks for, up to one."""
    # Systematic sampling: points at equal distances along the rows, each as long as its weight.
    points = (np.arange(count) + random.random()) / count
    if weights is None:
        chosen = (points * rows.size).astype(np.int64)
    else:
        edges = np.cumsum(weights[rows])
        chosen = np.searchsorted(edges, points * edges[-1], side="right")
    drawn: Ints = rows[np.minimum(chosen, rows.size - 1)]
    return random.permutation(drawn)
