"""From a solver's answer to valid strategies and the bounds that they prove."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metricfit.game import (
    TABLE_LIMIT,
    Game,
    Strategy,
    average_ties,
    bounds,
    clean,
    extent,
    make_feasible,
    predictor_values,
    slack_tolerances,
)
from metricfit.game.linear_program import minimise
from metricfit.solving.solution import Answer

__all__ = ["Certificate", "better_of", "certificate", "plain_answer", "with_fitted_multipliers"]

# Rounds of `with_fitted_multipliers`, each of which adds one set of the predictor.
ROUNDS = 60

# The rounds end when the possible gain is less than this share of the tolerance.
ENOUGH = 0.05


@dataclass(frozen=True, eq=False)
class Certificate:
    """Strategies of both players and the bounds of the value that they prove.

    Attributes
    ----------
    adversary, predictor : Strategy
    multipliers : ndarray, shape (C,)
    lower, upper : float
        What the predictor and the adversary prove, rounding included.
    """

    adversary: Strategy
    predictor: Strategy
    multipliers: NDArray[np.float64]
    lower: float
    upper: float

    @property
    def gap(self) -> float:
        """How far the bounds are apart; negative if they contradict each other."""
        return self.upper - self.lower


def certificate(game: Game, answer: Answer) -> Certificate:
    """Make valid strategies of a solver's answer, and compute the bounds that they prove.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.game import make_game
    >>> game = make_game(mf.accuracy, [0.5, -0.5])
    >>> found = certificate(game, plain_answer(game, 0, ""))
    >>> round(found.lower, 6), round(found.upper, 6)
    (0.5, 0.5)
    """
    multipliers = np.maximum(np.where(np.isnan(answer.multipliers), 0.0, answer.multipliers), 0.0)
    # More than this costs the adversary more than it can gain, since some predictor has slack to spare.
    multipliers = np.minimum(multipliers, 1e16)
    adversary = average_ties(game.scores, game.split, clean(answer.adversary))
    predictor = average_ties(game.scores, game.split, clean(answer.predictor))
    predictor = make_feasible(game.gain, game.offset, game.split, predictor)
    lower, upper = bounds(game, adversary, multipliers, predictor)
    return _within_range(game, Certificate(adversary, predictor, multipliers, lower, upper))


def plain_answer(game: Game, iterations: int, note: str) -> Answer:
    """Return the answer of two players that pick the positive scores, the last resort."""
    chosen = game.scores > 0.0
    size = np.array([np.count_nonzero(chosen)])
    both = Strategy(size, np.ones(1), chosen[None, :].astype(np.float64), np.arange(game.n + 1))
    return Answer(both, both, np.zeros(game.gain.shape[0]), iterations, note)


def better_of(one: Certificate, other: Certificate) -> Certificate:
    """Return the better strategy of each player."""
    upper, lower = min(one, other, key=_upper), max(one, other, key=_lower)
    return replace(upper, predictor=lower.predictor, lower=lower.lower)


def with_fitted_multipliers(game: Game, found: Certificate, tol: float) -> Certificate:
    """Give the adversary the best multipliers for its strategy, if they are better than its own.

    Against a fixed adversary every set of the predictor is a cut: the value that it is paid, and its slacks,
    which the multipliers are paid for. The best multipliers over some cuts are a small linear program; the
    predictor's best answer to them is the next cut.
    """
    gain, offset = game.gain, game.offset
    tolerances = slack_tolerances(gain, offset, game.split)
    count = tolerances.size
    best = found
    multipliers = np.zeros(count)
    rows, right = [], []
    for _ in range(ROUNDS):
        _, upper = bounds(game, found.adversary, multipliers, found.predictor)
        if upper < best.upper:
            best = replace(found, multipliers=multipliers, upper=upper)
        values = predictor_values(game, found.adversary, multipliers)
        k = int(values.argmax())
        hits = _hits(game, found.adversary, multipliers, k)
        slacks = gain[:, k] * hits + offset[:, k]
        rows.append(np.concatenate((slacks, [-1.0])))
        right.append(float(multipliers @ slacks - values[k]))
        try:
            program = minimise(
                np.concatenate((tolerances, [1.0])),
                np.array(rows),
                np.array(right),
                np.zeros((1, count + 1)),
                np.zeros(1),
                slice(count, count + 1),
            )
        except ArithmeticError:
            # Without a cut that pushes them back the multipliers have no optimum: go on from larger ones.
            following = 2.0 * multipliers + np.where(slacks < 0.0, 1.0, 0.0)
        else:
            following = program.unknowns[:count]
            if best.upper - program.value <= ENOUGH * tol:
                break
        if np.array_equal(following, multipliers):
            break
        multipliers = np.minimum(np.maximum(following, 0.0), 1e16)
    return _within_range(game, best)


def _hits(game: Game, adversary: Strategy, multipliers: NDArray[np.float64], k: int) -> float:
    """Return how many items before the split the predictor's best set of size `k` has."""
    alpha, _ = game.payoff_columns(adversary.sizes, k, k + 1)
    worth = (alpha @ adversary.marginals)[0]
    lengths, first = np.diff(adversary.blocks), adversary.blocks[:-1] < game.split
    worth = worth + np.where(first, float(multipliers @ game.gain[:, k]), 0.0)
    order = np.argsort(-worth, kind="stable")
    taken = np.clip(k - np.concatenate(([0], np.cumsum(lengths[order])[:-1])), 0, lengths[order])
    return float(taken[first[order]].sum())


def _within_range(game: Game, found: Certificate) -> Certificate:
    """Mark the bounds as contradictory if they leave the range that the tables allow."""
    if game.n > TABLE_LIMIT:
        return found
    # The adversary earns most from scores by choosing exactly the positive ones.
    lowest, highest, terms = extent(game.metric, game.n)
    paid = float(np.maximum(game.scores, 0.0).sum())
    room = 1e-9 * (terms + float(np.abs(game.scores).sum()))
    if found.upper < lowest - paid - room or found.lower > highest - paid + room:
        return replace(found, lower=np.inf, upper=-np.inf)
    return found


def _upper(found: Certificate) -> float:
    return found.upper


def _lower(found: Certificate) -> float:
    return found.lower
