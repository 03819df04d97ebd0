"""The metric's tables at some sizes only, as the solvers use them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricfit.game.payoff import Payoff

__all__ = ["Tables", "tables_at", "whole_tables"]


class Tables(NamedTuple):
    """Coefficients of the metric at some sizes of the predictor (rows) and the adversary (columns).

    Attributes
    ----------
    alpha, beta : ndarray, shape (K, L)
        The last column is the full set: all items are hit, so that everything is in ``beta``.
    reach : float
        No single item can change the metric by more than half of this: a score beyond it decides its item.
    """

    alpha: NDArray[np.float64]
    beta: NDArray[np.float64]
    reach: float


def tables_at(metric: Payoff, n: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Tables:
    """Return the tables of games of `n` items at these sizes; the last column must be `n`.

    Examples
    --------
    >>> import metricfit as mf
    >>> tables = tables_at(mf.accuracy, 2, np.arange(3), np.arange(3))
    >>> tables.beta[:, -1], tables.reach
    (array([0. , 0.5, 1. ]), 2.0)
    """
    k, l = rows[:, None], columns[None, :]
    alpha, beta = (table.copy() for table in metric.coefficients(k, l, n))
    fewest, most = beta + alpha * np.maximum(k + l - n, 0), beta + alpha * np.minimum(k, l)
    reach = 2.0 * (max(fewest.max(), most.max()) - min(fewest.min(), most.min()))
    beta[:, -1] += alpha[:, -1] * rows
    alpha[:, -1] = 0.0
    return Tables(alpha, beta, float(reach))


@lru_cache(maxsize=64)
def whole_tables(metric: Payoff, n: int) -> Tables:
    """Return the tables at all sizes; those of the batch sizes in use are kept.

    Examples
    --------
    >>> import metricfit as mf
    >>> whole_tables(mf.accuracy, 2).alpha.shape
    (3, 3)
    """
    sizes = np.arange(n + 1)
    tables = tables_at(metric, n, sizes, sizes)
    for table in (tables.alpha, tables.beta):
        table.flags.writeable = False
    return tables
