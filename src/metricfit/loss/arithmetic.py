"""From logits to the scores of games, and from their solutions to losses and slopes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["PreparedGames", "losses_and_gradients", "prepare"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PreparedGames(NamedTuple):
    """Games of one size, ready to be solved.

    Attributes
    ----------
    places : ndarray of int, shape (games, items)
        Where in the flattened batch the items of each game are.
    factor : float
        What logits were multiplied with.
    scores : ndarray, shape (games, items)
        Clipped to a limit: models diverge, and huge scores would drown the metric in rounding.
    excess : ndarray, shape (games, items)
        What was clipped off.
    labels : ndarray of bool, shape (games, items)
    """

    places: Ints
    factor: float
    scores: Floats
    excess: Floats
    labels: NDArray[np.bool_]


def prepare(
    logits: Floats, targets: Floats, places: Ints, factor: float, limit: float
) -> PreparedGames | None:
    """Return the games of a flattened batch; None if a logit is not finite or a target is neither 0 nor 1.

    Examples
    --------
    >>> games = prepare(np.array([3.0, -1.0]), np.array([1.0, 0.0]), np.array([[0, 1]]), 2.0, 5.0)
    >>> games.scores, games.excess
    (array([[ 5., -2.]]), array([[1., 0.]]))
    """
    truth = targets.take(places)
    labels = truth == 1.0
    whole = logits.take(places) * factor
    if not (np.isfinite(whole).all() and (labels | (truth == 0.0)).all()):
        return None
    scores = np.clip(whole, -limit, limit)
    return PreparedGames(places, factor, scores, whole - scores, labels)


def losses_and_gradients(
    games: PreparedGames, best: Floats, values: Floats, adversary: Floats
) -> tuple[Floats, Floats]:
    """Return the loss of every game and its derivative in each logit.

    Parameters
    ----------
    games : PreparedGames
    best : ndarray, shape (games,)
        The largest value that the metric can take on the labels of each game.
    values : ndarray, shape (games,)
        The value of each game.
    adversary : ndarray, shape (games, items)
        The adversary's inclusion probabilities.

    Examples
    --------
    >>> games = prepare(np.array([3.0, -1.0]), np.array([1.0, 0.0]), np.array([[0, 1]]), 1.0, 5.0)
    >>> losses_and_gradients(games, np.ones(1), np.array([-2.5]), np.array([[1.0, 0.25]]))
    (array([0.5]), array([[0.  , 0.25]]))
    """
    truth = games.labels.astype(np.float64)
    # A clipped score belongs to an item that the adversary surely includes, or surely does not.
    included = np.where(games.excess == 0.0, adversary, games.excess > 0.0)
    slopes = included - truth
    losses = best - values - np.einsum("gi,gi->g", truth, games.scores)
    # The value is an upper bound of the game's, so rounding and the gap may take the loss below zero.
    losses = np.maximum(losses, 0.0) + np.einsum("gi,gi->g", slopes, games.excess)
    return losses, slopes * games.factor
