"""The game itself: a metric, scores, and the constraints' rows for these labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metricfit.game.feasibility import constraint_rows
from metricfit.game.numbers import as_array, as_numbers
from metricfit.game.payoff import Payoff, adjusted, checked_sizes
from metricfit.metrics import Metric

__all__ = ["TABLE_LIMIT", "Game", "checked_input", "make_game"]

TABLE_LIMIT = 2000
"""Up to this many items the whole table of the metric is kept; above, parts of it as needed."""

LARGEST_SCORE = 1e100
"""Sums and products of larger scores may overflow."""


@dataclass(frozen=True, eq=False)
class Game:
    r"""A game of a predictor, who maximises the metric, and an adversary, who minimises it.

    .. math:: v = \min_{Q, \lambda \ge 0} \max_P \; E[\mathrm{metric}(S, T)] - \sum_i q_i \psi_i
              + \sum_c \lambda_c \, E[\mathrm{slack}_c(S)]

    where the predictor draws `S` from `P`, the adversary `T` from `Q`, and ``q_i`` is the probability
    that the adversary includes item `i`.

    Attributes
    ----------
    metric : Metric or AdjustedMetric
        Its table is the payoff; its constraints bind the predictor.
    scores : ndarray, shape (n,)
        In canonical order: items ``[0, split)``, then items ``[split, n)``, scores descending inside
        each part.
    split : int
        The number of positives when there are constraints (labels of one come first), otherwise `n`.
    gain, offset : ndarray, shape (C, n + 1)
        Constraint `c` says that ``gain[c, k] * m + offset[c, k]``, with `k` the number of items of the
        predictor's set and `m` the number of those before the split, is not negative on average.
    order : ndarray of int64, shape (n,)
        ``scores == user_scores[order]``.
    """

    metric: Payoff
    scores: NDArray[np.float64]
    split: int
    gain: NDArray[np.float64]
    offset: NDArray[np.float64]
    order: NDArray[np.int64]

    @property
    def n(self) -> int:
        """Number of items."""
        return self.scores.size

    def payoff_columns(
        self, sizes: NDArray[np.int64], start: int, stop: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Tables at predictor sizes ``start`` to ``stop - 1`` and the given adversary sizes."""
        n = self.n
        if n <= TABLE_LIMIT:
            alpha, beta = self.metric.table(n)
            return alpha[start:stop, sizes], beta[start:stop, sizes]
        return self.metric.coefficients(np.arange(start, stop)[:, None], sizes[None, :], n)

    def payoff_rows(
        self, sizes: NDArray[np.int64], start: int, stop: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Tables at adversary sizes ``start`` to ``stop - 1`` and the given predictor sizes."""
        n = self.n
        if n <= TABLE_LIMIT:
            alpha, beta = self.metric.table(n)
            return alpha[sizes, start:stop].T, beta[sizes, start:stop].T
        return self.metric.coefficients(sizes[None, :], np.arange(start, stop)[:, None], n)

    def __repr__(self) -> str:
        return f"Game({self.metric.name}, n={self.n}, constraints={self.gain.shape[0]})"


def make_game(
    metric: Metric,
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    size_scores: ArrayLike | None = None,
    allowed_sizes: Iterable[int] | None = None,
) -> Game:
    """Check the input, sort it into canonical order and evaluate the constraints on the labels.

    Parameters
    ----------
    metric : Metric
        The payoff, with its constraints.
    scores : array_like, shape (n,)
        One finite number per item, ``n >= 1``.
    labels : array_like of 0 and 1, shape (n,), optional
        Needed if the metric has constraints.
    size_scores : array_like, shape (n + 1,), optional
        One number per number of actual positives: the payoff is the metric less that of the adversary's set.
    allowed_sizes : iterable of int, optional
        The sizes that the predictor may choose; by default those of the metric, or all.

    Raises
    ------
    ValueError
        If the input is not usable; the message says what to change.
    InfeasibleConstraintsError
        If the constraints cannot be satisfied on these labels.

    Examples
    --------
    >>> import metricfit as mf
    >>> game = make_game(mf.f1, [0.1, 0.7, -0.2])
    >>> game.scores, game.order
    (array([ 0.7,  0.1, -0.2]), array([1, 0, 2]))
    """
    values, positive = checked_input(metric, scores, labels)
    n = values.size
    allowed = checked_sizes(metric.sizes(n) if allowed_sizes is None else allowed_sizes, n)
    payoff = adjusted(metric, allowed, size_scores, n)
    if not metric.constraints:
        order = np.argsort(-values, kind="stable")
        empty = np.zeros((0, n + 1))
        return Game(payoff, values[order], n, empty, empty, order)
    order = np.lexsort((-values, ~positive))
    split = int(np.count_nonzero(positive))
    gain, offset = constraint_rows(metric.constraints, n, split, allowed)
    return Game(payoff, values[order], split, gain.copy(), offset.copy(), order)


def checked_input(
    metric: Metric, scores: ArrayLike, labels: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return scores and labels as arrays, missing labels as False; raises as `make_game` does."""
    metric.check_playable()
    values = _checked_scores(scores)
    if labels is not None:
        return values, _checked_labels(labels, values.size)
    if metric.constraints:
        raise ValueError(
            f"the constraints of {metric.name} are about the true labels: pass labels, one 0 or 1 per score"
        )
    return values, np.zeros(values.size, np.bool_)


def _checked_scores(scores: ArrayLike) -> NDArray[np.float64]:
    values = as_numbers(scores, "scores")
    if values.ndim != 1:
        raise ValueError(
            f"scores must have one dimension, got shape {values.shape}; flatten them or use solve_many"
        )
    if values.size == 0:
        raise ValueError("scores are empty: a game needs at least one item")
    if not np.isfinite(values).all():
        worst = int(np.flatnonzero(~np.isfinite(values))[0])
        raise ValueError(
            f"scores must be finite, but scores[{worst}] is {values[worst]}; "
            "look for a diverged model or missing values in its input"
        )
    if not np.abs(values).max() <= LARGEST_SCORE:
        worst = int(np.abs(values).argmax())
        raise ValueError(
            f"scores must be between -{LARGEST_SCORE:g} and {LARGEST_SCORE:g}, but scores[{worst}] is "
            f"{values[worst]}; a metric is of the order of 1, so divide the scores"
        )
    return values


def _checked_labels(labels: ArrayLike, n: int) -> NDArray[np.bool_]:
    given = as_array(labels, "labels")
    if given.shape != (n,):
        raise ValueError(f"labels must have the shape of the scores, ({n},), got {given.shape}")
    positive = given == 1
    if not np.all(positive | (given == 0)):
        wrong = given[~(positive | (given == 0))][0]
        raise ValueError(f"labels must be 0 or 1, got {wrong}; recode them, for instance as labels > 0")
    return np.asarray(positive, dtype=np.bool_)
