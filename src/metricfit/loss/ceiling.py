"""Two numbers of a metric that the loss needs: the best it can be, and how large a score may usefully be."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from metricfit.game import TABLE_LIMIT, InfeasibleConstraintsError, sized
from metricfit.game.feasibility import constraint_rows, slack_tolerances
from metricfit.game.linear_program import minimise
from metricfit.metrics import Metric

__all__ = ["always_feasible", "ceiling", "score_limit"]


@lru_cache(maxsize=256)
def score_limit(metric: Metric, n: int) -> float:
    """Return the score beyond which an item is decided, whatever the other items, with a safety margin.

    An item changes the metric by its range at most. If its score is larger than that, the adversary always
    includes it, or never; how much larger makes no difference to the game but for a constant.

    Examples
    --------
    >>> import metricfit as mf
    >>> score_limit(mf.informedness, 10)
    200.0
    """
    if n > TABLE_LIMIT:
        return math.inf
    lowest, highest = metric.value_range(n)
    return 100.0 * (highest - lowest)


@lru_cache(maxsize=256)
def always_feasible(metric: Metric, n: int) -> bool:
    """Return whether the constraints can be met on `n` items, however many of them are positive.

    Examples
    --------
    >>> import metricfit as mf
    >>> always_feasible(mf.precision_at_recall(0.8), 32)
    True
    >>> always_feasible(mf.f1.subject_to(mf.recall >= 0.5, mf.precision <= 0.1), 32)
    False
    """
    try:
        for positives in range(n + 1):
            constraint_rows(metric.constraints, n, positives)
    except InfeasibleConstraintsError:
        return False
    return True


@lru_cache(maxsize=4096)
def ceiling(metric: Metric, n: int, positives: int) -> float:
    r"""Return the largest expected metric of a feasible prediction that knows the labels.

    .. math:: \max_P \; E_{S \sim P}[\mathrm{metric}(S, y)]
              \quad\text{s.t.}\quad E[\mathrm{slack}_c(S, y)] \ge 0

    It depends on the labels `y` through their number and the number of positives only. For every metric
    that is best at the truth it is ``metric(y, y)``, unless a constraint forbids the truth itself, as
    ``recall <= 0.5`` does. With it in place of ``metric(y, y)`` the loss is never negative, whatever the
    formula.

    Examples
    --------
    >>> import metricfit as mf
    >>> ceiling(mf.f1, 10, 3)
    1.0
    >>> ceiling(mf.f1.subject_to(mf.recall >= 0.8), 10, 3)
    1.0
    >>> round(ceiling(mf.recall.subject_to(mf.recall <= 0.5), 10, 4), 6)
    0.5
    """
    sizes = np.arange(n + 1)
    alpha, beta = sized(metric, n).coefficients(sizes, positives, n)
    # Given the size of the prediction, everything is affine in its true positives: the extremes suffice.
    fewest, most = np.maximum(sizes + positives - n, 0), np.minimum(sizes, positives)
    worth = np.concatenate((alpha * fewest + beta, alpha * most + beta))
    truth = n + 1 + positives
    if not metric.constraints:
        return float(worth.max())
    gain, offset = constraint_rows(metric.constraints, n, positives, metric.sizes(n))
    slack = np.hstack((gain * fewest + offset, gain * most + offset))
    tolerances = slack_tolerances(gain, offset, positives)
    if np.all(slack[:, truth] >= -tolerances) and worth[truth] >= worth.max():
        return float(worth[truth])
    best = minimise(
        -worth,
        -slack,
        tolerances,
        np.ones((1, worth.size)),
        np.ones(1),
        slice(0, 0),
    )
    return float(worth @ best.unknowns)
