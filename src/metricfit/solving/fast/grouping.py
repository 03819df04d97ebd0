"""Blocks of neighbouring items for games too large to treat every item on its own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricfit.game import Game

__all__ = ["first_blocks", "refined_blocks", "sizes_to_try"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def first_blocks(game: Game, target: int, reach: float) -> Ints:
    """About ``target`` blocks: equal counts, and finer where the scores change quickly.

    Items with the same score stay together, and no block crosses the split or ``reach`` in score.
    """
    n, scores = game.n, game.scores
    by_count = np.linspace(0, n, target // 2 + 1).round().astype(np.int64)
    # Equal steps of the score, clipped to where a batch is undecided.
    spread = np.quantile(np.abs(scores), 0.9) + 1e-300
    bend = np.arctan(4.0 * scores / spread)
    parts = [by_count, np.array([0, game.split, n])]
    for low, high in ((0, game.split), (game.split, n)):
        if high > low:
            part = -game.scores[low:high]
            parts.append(low + np.searchsorted(part, [-reach, reach]))
            cuts = np.linspace(bend[low], bend[high - 1], target // 2 + 1)[1:-1]
            parts.append(low + np.searchsorted(-bend[low:high], -cuts))
    return _at_ties(game, np.concatenate(parts))


def refined_blocks(game: Game, blocks: Ints, need: Floats, extra: int) -> Ints:
    """Split the blocks with the largest ``need`` in two to four pieces, ``extra`` in all."""
    lengths = np.diff(blocks)
    order = np.argsort(-np.where(lengths > 1, need, 0.0), kind="stable")
    chosen = order[: max(1, extra // 3)]
    chosen = chosen[(need[chosen] > 0.0) & (lengths[chosen] > 1)]
    cuts = [blocks[chosen] + lengths[chosen] * quarter // 4 for quarter in (1, 2, 3)]
    return _at_ties(game, np.concatenate((blocks, *cuts)))


def _at_ties(game: Game, cuts: Ints) -> Ints:
    """Move cuts that separate equal scores to the beginning of the tie."""
    inner = np.unique(cuts)
    inner = inner[(inner > 0) & (inner < game.n)]
    tied = (game.scores[inner] == game.scores[inner - 1]) & (inner != game.split)
    for x in np.flatnonzero(tied):
        low = 0 if inner[x] < game.split else game.split
        part = game.scores[low : inner[x]]
        inner[x] = low + np.searchsorted(-part, -game.scores[inner[x]])
    return np.unique(np.concatenate((np.array([0, game.n]), inner)))


def sizes_to_try(n: int, blocks: Ints, near: Ints) -> Ints:
    """Sizes to give the players in the next round: block ends, and the neighbours of good ones."""
    steps = np.unique(np.concatenate((np.arange(4), 2 ** np.arange(2, 40))))
    around = (near[:, None] + np.concatenate((-steps, steps))[None, :]).ravel()
    together = np.unique(np.concatenate((blocks, around, np.array([0, 1, n - 1, n]))))
    return together[(together >= 0) & (together <= n)]
