"""From a game to the restricted game of the interior point method."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from metricfit.game import Game, most_slack
from metricfit.game.feasibility import constraint_rows
from metricfit.game.payoff import AdjustedMetric, Payoff

from .pinning import Held
from .playing import Setting
from .state import ALPHA, Floats, Ints

__all__ = ["Tables", "chain_order", "opening_sizes", "restrict", "tables_at", "whole_setting", "whole_tables"]

NO_ROWS = NO_ORDER = np.empty(0, np.int64)


class Tables(NamedTuple):
    """Coefficients of the metric at some sizes of the predictor (rows) and the adversary (columns)."""

    tables: Floats  # (2, K, L) alpha and beta
    tables_t: Floats  # (2, L, K)
    reach: float  # no single item can change the metric by more than half of this


def tables_at(metric: Payoff, n: int, rows: Ints, columns: Ints) -> Tables:
    """Tables at these sizes. Against the full set, the last column, everything is in beta."""
    k, l = rows[:, None], columns[None, :]
    alpha, beta = metric.coefficients(k, l, n)
    alpha, beta = alpha.copy(), beta.copy()
    fewest, most = beta + alpha * np.maximum(k + l - n, 0), beta + alpha * np.minimum(k, l)
    reach = 2.0 * (max(fewest.max(), most.max()) - min(fewest.min(), most.min()))
    beta[:, -1] += alpha[:, -1] * rows
    alpha[:, -1] = 0.0
    tables = np.stack((alpha, beta))
    return Tables(tables, np.ascontiguousarray(tables.transpose(0, 2, 1)), float(reach))


@lru_cache(maxsize=64)
def whole_tables(metric: Payoff, n: int) -> tuple[Tables, Ints]:
    """Tables at all sizes, kept for the batch sizes in use, and the sizes themselves."""
    sizes = np.arange(n + 1)
    return tables_at(metric, n, sizes, sizes), sizes


@lru_cache(maxsize=256)
def whole_setting(metric: Payoff, n: int, split: int) -> Held[Setting]:
    """Return the setting of games of `n` items, every item and size on its own.

    Under constraints ``split`` is the number of positive labels, otherwise `n`.
    """
    tables, sizes = whole_tables(metric, n)
    numbers = sizes.astype(np.float64)
    limits, opening, order = np.empty((2, 0, n + 1)), NO_ROWS, np.arange(n)
    if metric.constraints:
        allowed = metric.allowed if isinstance(metric, AdjustedMetric) else None
        gain, offset = constraint_rows(metric.constraints, n, split, allowed)
        limits, opening, order = np.stack((gain, offset)), most_slack(gain, offset, split).sizes, NO_ORDER
    setting = Setting(
        tables.tables,
        tables.tables_t,
        numbers,
        numbers,
        sizes,
        limits,
        sizes,
        sizes,
        sizes,
        order,
        split,
        tables.reach,
        opening,
        0,
    )
    return Held(setting)


def chain_order(game: Game, blocks: Ints) -> Ints:
    """Order in which the blocks join the chain: by their middle score, high scores first."""
    if game.split == game.n:
        return np.arange(blocks.size - 1)
    middle = 0.5 * (game.scores[blocks[:-1]] + game.scores[blocks[1:] - 1])
    return np.argsort(-middle, kind="stable")


def opening_sizes(game: Game) -> Ints:
    """Sizes that let the predictor meet the constraints."""
    if game.gain.shape[0] == 0:
        return NO_ROWS
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
) -> Held[Setting]:
    """Write down the restricted game on these blocks and sizes, but for the scores.

    Sizes are measured in the average length of a block, as lengths are. ``opening`` lists the sizes that the
    predictor has in play from the start.
    """
    whole, whole_t = tables.tables, tables.tables_t
    unit = game.n / (blocks.size - 1)
    # Indexing lays several constraints out side by side, and kernels are compiled for rows.
    limits = np.ascontiguousarray(np.stack((game.gain[:, rows] * unit, game.offset[:, rows])))
    if unit != 1.0:
        whole, whole_t = whole.copy(), whole_t.copy()
        whole[ALPHA] *= unit
        whole_t[ALPHA] *= unit
    setting = Setting(
        whole,
        whole_t,
        rows / unit,
        columns / unit,
        chain,
        limits,
        rows,
        columns,
        blocks,
        order,
        game.split,
        tables.reach,
        np.searchsorted(rows, opening),
        0,
    )
    return Held(setting)
