"""From a game to the restricted game of the interior-point method."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metricfit import _core
from metricfit.game import Game, most_slack
from metricfit.game.feasibility import constraint_rows
from metricfit.game.payoff import AdjustedMetric, Payoff
from metricfit.game.tables import Tables, whole_tables

__all__ = ["chain_order", "opening_sizes", "restrict", "whole_setting"]

Ints = NDArray[np.int64]

NONE = np.empty(0, np.int64)


@lru_cache(maxsize=256)
def whole_setting(metric: Payoff, n: int, split: int) -> _core.Setting:
    """Return the setting of games of `n` items, every item and size on its own.

    Under constraints ``split`` is the number of positive labels, otherwise `n`.
    """
    tables = whole_tables(metric, n)
    sizes = np.arange(n + 1)
    numbers = sizes.astype(np.float64)
    gain, offset = np.empty((2, 0, n + 1))
    opening, order = NONE, np.arange(n)
    if metric.constraints:
        allowed = metric.allowed if isinstance(metric, AdjustedMetric) else None
        gain, offset = constraint_rows(metric.constraints, n, split, allowed)
        opening, order = most_slack(gain, offset, split).sizes, NONE
    return _core.make_setting(
        tables.alpha,
        tables.beta,
        numbers,
        numbers,
        chain=sizes,
        gain=gain,
        offset=offset,
        rows=sizes,
        columns=sizes,
        blocks=sizes,
        order=order,
        split=split,
        reach=tables.reach,
        opening=opening,
    )


def chain_order(game: Game, blocks: Ints) -> Ints:
    """Order in which the blocks join the chain: by their middle score, high scores first."""
    if game.split == game.n:
        return np.arange(blocks.size - 1)
    middle = 0.5 * (game.scores[blocks[:-1]] + game.scores[blocks[1:] - 1])
    return np.argsort(-middle, kind="stable")


def opening_sizes(game: Game) -> Ints:
    """Sizes that let the predictor meet the constraints."""
    if game.gain.shape[0] == 0:
        return NONE
    return most_slack(game.gain, game.offset, game.split).sizes


def restrict(
    game: Game,
    blocks: Ints,
    order: Ints,
    tables: Tables,
    rows: Ints,
    columns: Ints,
    chain: Ints,
    opening: Ints,
) -> _core.Setting:
    """Return the restricted game on these blocks and sizes, but for the scores.

    Sizes are measured in the average length of a block, as lengths are. ``opening`` lists the sizes that the
    predictor has in play from the start.
    """
    unit = game.n / (blocks.size - 1)
    return _core.make_setting(
        tables.alpha * unit,
        tables.beta,
        rows / unit,
        columns / unit,
        chain=chain,
        gain=game.gain[:, rows] * unit,
        offset=game.offset[:, rows],
        rows=rows,
        columns=columns,
        blocks=blocks,
        order=order,
        split=game.split,
        reach=tables.reach,
        opening=np.searchsorted(rows, opening),
    )
