"""Whether the constraints can be met on the labels at hand, and by which prediction best.

Given the number of predicted positives `k`, every constraint is affine in the number `m` of true
positives, and a mixture reaches every `m` between the extremes. So only `k` and `m` matter: a single
constraint is at its best at an extreme of `m`, and several are a linear program with two columns per `k`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metricfit import _core
from metricfit.game.errors import InfeasibleConstraintsError
from metricfit.game.linear_program import minimise
from metricfit.game.strategy import Strategy, mix
from metricfit.metrics import Constraint

__all__ = [
    "SLACK_TOLERANCE",
    "constraint_rows",
    "constraint_slacks",
    "make_feasible",
    "most_slack",
    "slack_tolerances",
]

SLACK_TOLERANCE = 1e-9
"""A predictor may miss a constraint on a metric between -1 and 1 by this much, for rounding."""

# Constraints that can be met within this share of the tolerance are accepted. The rest of it bounds the
# multipliers: a predictor that has some slack left makes large ones expensive.
ACCEPTED = 0.25

# Below this slack the best pure choice of (k, m) is not trusted to be good enough to mix with.
PURE_SLACK = 1e-3


@lru_cache(maxsize=1024)
def constraint_rows(
    constraints: tuple[Constraint, ...],
    n: int,
    positives: int,
    allowed: tuple[int, ...] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `gain` and `offset` of the constraints, each of shape (C, n + 1), after checking them.

    Sizes that are not `allowed` miss every constraint by more than any other set, so that they never help.

    Raises
    ------
    InfeasibleConstraintsError
        Naming the first constraint that cannot be met, alone or with those before it, and the best
        value that can be reached.

    Examples
    --------
    >>> import metricfit as mf
    >>> gain, offset = constraint_rows((mf.recall >= 0.5,), 3, 2)
    >>> gain
    array([[0.5, 0.5, 0.5, 0.5]])
    >>> constraint_rows((mf.precision >= 0.5,), 9, 0)[1][0, :3]
    array([ 0.5, -0.5, -0.5])
    """
    gain = np.empty((len(constraints), n + 1))
    offset = np.empty_like(gain)
    sizes = np.arange(n + 1)
    for c, constraint in enumerate(constraints):
        alpha, beta = constraint.metric.coefficients(sizes, np.full(n + 1, positives), n)
        sign = 1.0 if constraint.sense == ">=" else -1.0
        gain[c] = sign * alpha
        offset[c] = sign * (beta - constraint.threshold)
    if allowed is not None:
        forbidden = ~np.isin(sizes, allowed)
        corners = _corner_slacks(gain, offset, positives)[:, np.tile(~forbidden, 2)]
        span = np.ptp(corners, axis=1)
        gain[:, forbidden] = 0.0
        offset[:, forbidden] = (corners.min(axis=1) - np.where(span > 0.0, span, 1.0))[:, None]
    unit_gain, unit_offset, unit = _in_units(gain, offset, positives)
    enough = -ACCEPTED * SLACK_TOLERANCE
    for c, constraint in enumerate(constraints):
        best = _core.best_pure(unit_gain[c : c + 1], unit_offset[c : c + 1], positives)[2]
        if best < enough:
            raise InfeasibleConstraintsError(_sentence(constraint, best * unit[c], (), n, positives, allowed))
    for c in range(1, len(constraints)):
        known = slice(0, c + 1)
        if _core.best_pure(unit_gain[known], unit_offset[known], positives)[2] >= 0.0:
            continue
        if _best_mixed(unit_gain[known], unit_offset[known], positives)[1] < enough:
            best = _best_beside_others(unit_gain[known], unit_offset[known], positives) * unit[c]
            raise InfeasibleConstraintsError(
                _sentence(constraints[c], best, constraints[:c], n, positives, allowed)
            )
    return gain, offset


def slack_tolerances(
    gain: NDArray[np.float64], offset: NDArray[np.float64], split: int
) -> NDArray[np.float64]:
    """By how much a predictor may miss each constraint: 1e-9, and more for metrics beyond -1 and 1.

    The game is played with constraints that are loosened by this much. So a threshold that is off by
    rounding changes nothing, and multipliers that are too large show in the upper bound.

    Examples
    --------
    >>> import metricfit as mf
    >>> gain, offset = constraint_rows((mf.precision >= 0.5, mf.get_metric("1000*tp") >= 0), 3, 2)
    >>> slack_tolerances(gain, offset, 2)
    array([1.e-09, 1.e-06])
    """
    return SLACK_TOLERANCE * _in_units(gain, offset, split)[2]


def _in_units(
    gain: NDArray[np.float64], offset: NDArray[np.float64], split: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows divided by the magnitude of their slacks, where it is above 2, and what by."""
    if gain.shape[0] == 0:
        return gain, offset, np.ones(0)
    unit = np.maximum(1.0, 0.5 * np.abs(_corner_slacks(gain, offset, split)).max(axis=1))
    return gain / unit[:, None], offset / unit[:, None], unit


def most_slack(gain: NDArray[np.float64], offset: NDArray[np.float64], split: int) -> Strategy:
    """Return the predictor whose worst constraint is met by the widest margin, or nearly so.

    Examples
    --------
    >>> import metricfit as mf
    >>> gain, offset = constraint_rows((mf.precision >= 0.5,), 3, 2)
    >>> most_slack(gain, offset, 2).inclusion
    array([0.5, 0.5, 0. ])
    """
    n = gain.shape[1] - 1
    k, m, slack = _core.best_pure(gain, offset, split)
    if slack > PURE_SLACK or gain.shape[0] == 1:
        sizes, weights, hits = np.array([k]), np.ones(1), np.array([m])
    else:
        share, _ = _best_mixed(gain, offset, split)
        mass = share.sum(axis=0)
        sizes = np.flatnonzero(mass > 0)
        weights = mass[sizes] / mass[sizes].sum()
        low, high = _extremes(n, split)
        hits = (share[0] * low + share[1] * high)[sizes] / mass[sizes]
    rates = np.zeros((sizes.size, 2))
    if split > 0:
        rates[:, 0] = hits / split
    if split < n:
        rates[:, 1] = (sizes - hits) / (n - split)
    marginals = weights[:, None] * np.clip(rates, 0.0, 1.0)
    inner = [split] if 0 < split < n else []
    kept = marginals if inner else marginals[:, :1] if split == n else marginals[:, 1:]
    return Strategy(sizes, weights, np.ascontiguousarray(kept), np.array([0, *inner, n]))


def constraint_slacks(
    gain: NDArray[np.float64], offset: NDArray[np.float64], split: int, predictor: Strategy
) -> NDArray[np.float64]:
    """By how much the predictor meets each constraint on average; negative if it misses it.

    Examples
    --------
    >>> import metricfit as mf
    >>> gain, offset = constraint_rows((mf.precision >= 0.5,), 3, 2)
    >>> constraint_slacks(gain, offset, 2, most_slack(gain, offset, 2))
    array([0.5])
    """
    return _core.constraint_slacks(
        gain,
        offset,
        split,
        predictor.sizes,
        predictor.weights,
        predictor.marginals,
        predictor.blocks,
    )


def make_feasible(
    gain: NDArray[np.float64], offset: NDArray[np.float64], split: int, predictor: Strategy
) -> Strategy:
    """Mix the predictor with the most slack one, by the least share that meets every constraint.

    Examples
    --------
    >>> import metricfit as mf
    >>> import numpy as np
    >>> gain, offset = constraint_rows((mf.recall >= 0.5,), 3, 2)
    >>> none = Strategy(np.array([0]), np.ones(1), np.zeros((1, 2)), np.array([0, 2, 3]))
    >>> make_feasible(gain, offset, 2, none).inclusion
    array([0.5, 0.5, 0. ])
    """
    if gain.shape[0] == 0:
        return predictor
    gain, offset, _ = _in_units(gain, offset, split)
    # Solvers loosen constraints by half the tolerance at most, and are off by rounding.
    enough = -0.75 * SLACK_TOLERANCE
    slacks = constraint_slacks(gain, offset, split, predictor)
    if slacks.min() >= enough:
        return predictor
    for c in np.flatnonzero(slacks < enough):
        own_gain, own_offset = gain[c : c + 1], offset[c : c + 1]
        if _core.best_pure(own_gain, own_offset, split)[2] < PURE_SLACK:
            predictor = _press(own_gain, own_offset, split, predictor)
    slacks = constraint_slacks(gain, offset, split, predictor)
    safe = most_slack(gain, offset, split)
    room = constraint_slacks(gain, offset, split, safe) - slacks
    missing = (slacks < enough) & (room > 0.0)
    if not missing.any():
        return predictor
    share = float(np.max((np.minimum(0.0, slacks + room) - slacks)[missing] / room[missing]))
    return mix(predictor, safe, share)


def _press(
    gain: NDArray[np.float64], offset: NDArray[np.float64], split: int, predictor: Strategy
) -> Strategy:
    """Give each size as much slack of a single constraint as it can have, by the smallest moves.

    This is for a constraint that only certain sets meet, and those without slack, such as recall of
    one: mixing would have to replace the whole predictor, though it may be off by rounding only. Sizes
    that cannot meet the constraint are dropped.
    """
    low, high = _extremes(gain.shape[1] - 1, split)
    aim = np.where(gain[0] >= 0.0, high, low)[predictor.sizes]
    meets = gain[0, predictor.sizes] * aim + offset[0, predictor.sizes] >= -SLACK_TOLERANCE
    kept = float(predictor.weights[meets].sum())
    safe = most_slack(gain, offset, split)
    if kept <= 0.0:
        return mix(predictor, safe, 1.0)
    weights = predictor.weights[meets]
    marginals = predictor.marginals[meets]
    inside = int(np.searchsorted(predictor.blocks, split))
    lengths = np.diff(predictor.blocks).astype(np.float64)
    for part, count, wanted in (
        (slice(0, inside), split, aim[meets] * weights),
        (slice(inside, None), gain.shape[1] - 1 - split, (predictor.sizes - aim)[meets] * weights),
    ):
        have = marginals[:, part] @ lengths[part]
        full = count * weights
        for row in range(weights.size):
            if wanted[row] < have[row]:
                marginals[row, part] *= wanted[row] / have[row]
            elif wanted[row] > have[row]:
                lacking = (full[row] - wanted[row]) / (full[row] - have[row])
                marginals[row, part] = weights[row] - (weights[row] - marginals[row, part]) * lacking
    pressed = Strategy(predictor.sizes[meets], weights / kept, marginals / kept, predictor.blocks)
    return pressed if kept == 1.0 else mix(pressed, safe, 1.0 - kept)


def _extremes(n: int, split: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Fewest and most items before the split in a set of each size."""
    sizes = np.arange(n + 1)
    return np.maximum(sizes - (n - split), 0), np.minimum(sizes, split)


def _corner_slacks(gain: NDArray[np.float64], offset: NDArray[np.float64], split: int) -> NDArray[np.float64]:
    """Slack of every constraint at both extremes of every size, shape (C, 2 (n + 1))."""
    low, high = _extremes(gain.shape[1] - 1, split)
    return np.concatenate((gain * low + offset, gain * high + offset), axis=1)


def _best_mixed(
    gain: NDArray[np.float64], offset: NDArray[np.float64], split: int
) -> tuple[NDArray[np.float64], float]:
    """Shares of both extremes of every size, shape (2, n + 1), with the largest smallest slack."""
    corners = _corner_slacks(gain, offset, split)
    count, columns = corners.shape
    best = minimise(
        np.append(np.zeros(columns), -1.0),
        np.hstack((-corners, np.ones((count, 1)))),
        np.zeros(count),
        np.append(np.ones(columns), 0.0)[None, :],
        np.ones(1),
        slice(columns, columns + 1),
    )
    return best.unknowns[:-1].reshape(2, -1), -best.value


def _best_beside_others(gain: NDArray[np.float64], offset: NDArray[np.float64], split: int) -> float:
    """Largest slack of the last constraint while all others hold."""
    corners = _corner_slacks(gain, offset, split)
    columns = corners.shape[1]
    others = np.full(corners.shape[0] - 1, SLACK_TOLERANCE)
    best = minimise(-corners[-1], -corners[:-1], others, np.ones((1, columns)), np.ones(1), slice(0))
    return -best.value


def _sentence(
    constraint: Constraint,
    slack: float,
    others: tuple[Constraint, ...],
    n: int,
    positives: int,
    allowed: tuple[int, ...] | None,
) -> str:
    at_least = constraint.sense == ">="
    best = constraint.threshold + (slack if at_least else -slack)
    # Close to the threshold more digits are needed to show a difference.
    text = f"{best:.6g}" if abs(slack) > 1e-5 * abs(best) else repr(best)
    together = f" together with {' and '.join(map(str, others))}" if others else ""
    sizes = "" if allowed is None else f" with the sizes {', '.join(map(str, allowed))}"
    return (
        f"no prediction reaches {constraint}{together}{sizes} on these labels "
        f"({positives} positives of {n}): {'at most' if at_least else 'at least'} {text} is possible; "
        "relax the threshold or use larger batches"
    )
