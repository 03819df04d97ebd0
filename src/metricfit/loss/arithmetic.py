"""From logits to the scores of games, and from their solutions to losses and slopes.

It is compiled for the sake of small batches, where every call of NumPy counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metricfit.game.compiled import kernel

__all__ = ["prepare", "settle_up"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@kernel
def prepare(
    logits: Floats,
    targets: Floats,
    places: Ints,
    factor: float,
    limit: float,
    scores: Floats,
    excess: Floats,
    labels: NDArray[np.bool_],
    positives: Ints,
) -> bool:
    """Write down scores and labels of games; return whether all logits are finite and all targets 0 or 1.

    Parameters
    ----------
    logits, targets : ndarray, shape (entries,)
        The flattened batch.
    places : ndarray of int, shape (games, items)
        Where in it the items of each game are.
    factor : float
        What logits are multiplied with.
    limit : float
        Models diverge, and huge scores would drown the metric in rounding. What is beyond the limit goes
        from ``scores`` to ``excess``.
    scores, excess, labels : ndarray, shape (games, items)
        Are filled.
    positives : ndarray of int, shape (games,)
        Is filled with the number of labels that are true.
    """
    usable = True
    for game in range(places.shape[0]):
        positives[game] = 0
        for i in range(places.shape[1]):
            place = places[game, i]
            psi, target = logits[place] * factor, targets[place]
            usable &= np.isfinite(logits[place]) and (target == 0.0 or target == 1.0)
            scores[game, i] = min(max(psi, -limit), limit)
            excess[game, i] = psi - scores[game, i]
            labels[game, i] = target == 1.0
            positives[game] += labels[game, i]
    return usable


@kernel
def settle_up(
    slots: Ints,
    places: Ints,
    factor: float,
    scores: Floats,
    excess: Floats,
    labels: NDArray[np.bool_],
    best: Floats,
    verdict: Floats,
    inclusion: Floats,
    losses: Floats,
    slopes: Floats,
) -> float:
    """Write down the losses of games and their derivatives in the logits; return the largest gap.

    It is infinite if a loss is further below zero than the gap of its game: then its bounds are wrong.

    Parameters
    ----------
    slots : ndarray of int, shape (games,)
        Which of the losses belongs to each game.
    places, factor, scores, excess, labels
        As of `prepare`.
    best : ndarray, shape (games,)
        What the metric can be at best.
    verdict, inclusion : ndarray, shape (games, 3) and (games, 2, items)
        As of :class:`metricfit.solvers.solution.Certified`.
    losses, slopes : ndarray, shape (all games,) and (entries,)
        Are filled at these games' slots and places.
    """
    gap = 0.0
    for game in range(places.shape[0]):
        gap = max(gap, verdict[game, 1])
        loss = best[game] - verdict[game, 0]
        beyond = 0.0
        for i in range(places.shape[1]):
            truth = 1.0 if labels[game, i] else 0.0
            included = inclusion[game, 0, i]
            if excess[game, i] != 0.0:
                # It belongs to an item that the adversary surely includes, or surely does not.
                included = 1.0 if excess[game, i] > 0.0 else 0.0
                beyond += (included - truth) * excess[game, i]
            loss -= truth * scores[game, i]
            slopes[places[game, i]] = (included - truth) * factor
        # The value is an upper bound of the game, so rounding and the gap may take the loss below zero.
        rounding = 1e-9 * (1.0 + abs(best[game]) + abs(verdict[game, 0]))
        if loss < -verdict[game, 1] - rounding:
            gap = np.inf
        losses[slots[game]] = max(loss, 0.0) + beyond
    return gap
