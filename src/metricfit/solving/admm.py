"""The paper's own algorithm: alternating direction method of multipliers, corrected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from metricfit._core import project
from metricfit.game import Game, Strategy, adversary_values, clean, make_feasible, predictor_values
from metricfit.game.payoff import Payoff
from metricfit.solving.solution import Answer

__all__ = ["solve_admm"]

# Iterations between two computations of the gap.
CHECK_EVERY = 10


def solve_admm(game: Game, tol: float, rho: float = 1.0, max_iter: int = 100) -> Answer:
    r"""Solve the game by the method of the paper's Appendix D, in the form of the two tables.

    With marginals of sizes 1 … n only, sizes :math:`s_l = \frac1l \sum_i Q_{il}` and
    :math:`s_0 = 1 - \sum_l s_l` (the same for the predictor), the expected metric becomes

    .. math:: \langle P, \mathcal L(Q) + D \rangle + \langle Q, E \rangle + \beta_{00}, \qquad
              \mathcal L(Q)_{ik} = \sum_l \alpha_{kl} Q_{il} + \frac1k \sum_l
              (\beta_{kl} - \beta_{0l} - \beta_{k0} + \beta_{00}) s_l

    and the problem is :math:`\min_{Q \in \Delta} f(\mathcal L(Q) + D) + \langle Q, E \rangle` where
    `f` is the support function of the predictor's marginals :math:`\Delta`. No special case is left: the
    paper's three follow from the border of the tables. The splitting is the paper's,
    ``Z = L(X) + D`` and ``Q = X``:

    - `Q` is a projection onto :math:`\Delta`,
    - `Z` is a proximal step, by Moreau's identity again a projection; what is projected there is the
      predictor, so both players' strategies are marginals at every step,
    - `X` is a least-squares problem. It splits into the average over the items and the deviations from
      it, the eigenspaces of the paper's :math:`11^\top`, with one precomputed matrix each.

    A constraint's multiplier is one more unknown, not negative, that is split in the same way.

    Parameters
    ----------
    game : Game
        Memory and time per iteration grow like n² and n³.
    tol : float
        Stop when the certified gap is below.
    rho : float
        Penalty of the augmented Lagrangian.
    max_iter : int
        Largest number of iterations; 100 in the paper.
    """
    if not rho > 0.0:
        raise ValueError(f"rho must be a positive number, got {rho:g}")
    if max_iter < 1:
        raise ValueError(f"max_iter must be at least 1, got {max_iter}")
    n = game.n
    operator = _operator(game.metric, n)
    coupling = _coupling(operator, game)
    constraints = game.gain.shape[0]
    linear = operator.linear[:, None] - game.scores
    price = game.offset[:, 0]

    X = np.zeros((n, n))
    image = operator.apply(X)
    U, W = np.zeros((n, n)), np.zeros((n, n))
    multipliers, multiplier_dual = np.zeros(constraints), np.zeros(constraints)
    best = _Best(game)
    iteration = 0
    for iteration in range(1, max_iter + 1):
        Q = project(X + W - linear / rho)
        held = np.maximum(multipliers + multiplier_dual - price / rho, 0.0)
        shifted = image + operator.constant[:, None] + U
        P = project(rho * shifted)
        Z = shifted - P / rho
        best.note(Q, held, P)
        if iteration % CHECK_EVERY == 0 or iteration == max_iter:
            best.look()
            if best.gap <= tol:
                break
        wanted = Z - U - operator.constant[:, None]
        X, multipliers = coupling.least_squares(wanted, Q - W, held - multiplier_dual)
        image = operator.apply(X) + coupling.shift(multipliers)
        U += image + operator.constant[:, None] - Z
        W += X - Q
        multiplier_dual += multipliers - held
    return Answer(best.adversary, best.predictor, best.multipliers, iteration)


@dataclass(frozen=True, eq=False)
class _Operator:
    """The linear map L of a metric's tables on marginals of shape (size, item), and what inverts I + L'L."""

    alpha: NDArray[np.float64]
    average: NDArray[np.float64]
    constant: NDArray[np.float64]
    linear: NDArray[np.float64]
    inverse: NDArray[np.float64]
    inverse_alpha: NDArray[np.float64]
    average_inverse: NDArray[np.float64]

    def apply(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return L(X)."""
        mean = X.mean(axis=1)
        image: NDArray[np.float64] = self.alpha @ X + (self.average @ mean - self.alpha @ mean)[:, None]
        return image

    def least_squares(self, R: NDArray[np.float64], T: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the X with the smallest ``|L(X) - R|² + |X - T|²``."""
        R_mean, T_mean = R.mean(axis=1), T.mean(axis=1)
        deviating = self.inverse_alpha @ R + self.inverse @ T
        mean = self.average_inverse @ (self.average.T @ R_mean + T_mean)
        without = self.inverse_alpha @ R_mean + self.inverse @ T_mean
        fitted: NDArray[np.float64] = deviating + (mean - without)[:, None]
        return fitted


@lru_cache(maxsize=16)
def _operator(metric: Payoff, n: int) -> _Operator:
    alpha, beta = metric.table(n)
    each = 1.0 / np.arange(1, n + 1)
    inner = np.ascontiguousarray(alpha[1:, 1:])
    sizes = beta[1:, 1:] - beta[0, 1:] - beta[1:, :1] + beta[0, 0]
    average = inner + n * each[:, None] * sizes * each
    identity = np.eye(n)
    inverse = np.asarray(np.linalg.inv(inner.T @ inner + identity), dtype=np.float64)
    return _Operator(
        alpha=inner,
        average=average,
        constant=(beta[1:, 0] - beta[0, 0]) * each,
        linear=(beta[0, 1:] - beta[0, 0]) * each,
        inverse=inverse,
        inverse_alpha=inverse @ inner.T,
        average_inverse=np.asarray(np.linalg.inv(average.T @ average + identity), dtype=np.float64),
    )


class _Coupling:
    """The least-squares step with the constraints' multipliers among the unknowns."""

    def __init__(self, operator: _Operator, directions: NDArray[np.float64]) -> None:
        self._operator = operator
        self._directions = directions
        nothing = np.zeros(directions.shape[1:])
        # What is left of each direction after the best X has been fitted to it.
        self._left = np.array(
            [d - operator.apply(operator.least_squares(d, nothing)) for d in directions]
        ).reshape(directions.shape)
        self._schur = np.eye(len(directions)) + np.einsum("aki,bki->ab", directions, self._left)

    def shift(self, multipliers: NDArray[np.float64]) -> NDArray[np.float64] | float:
        """Return what the multipliers add to the item values."""
        return np.tensordot(multipliers, self._directions, axes=1) if multipliers.size else 0.0

    def least_squares(
        self, R: NDArray[np.float64], T: NDArray[np.float64], held: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X and multipliers nearest to `R` in the image, and to `T` and `held` themselves."""
        multipliers = held
        if held.size:
            fitted = self._operator.apply(T)
            right = held + np.einsum("aki,ki->a", self._left, R - fitted)
            multipliers = np.linalg.solve(self._schur, right)
        return self._operator.least_squares(R - self.shift(multipliers), T), multipliers


def _coupling(operator: _Operator, game: Game) -> _Coupling:
    n = game.n
    each = 1.0 / np.arange(1, n + 1)
    before = np.arange(n) < game.split
    sizes = (game.offset[:, 1:] - game.offset[:, :1]) * each
    return _Coupling(operator, game.gain[:, 1:, None] * before + sizes[:, :, None])


class _Best:
    """The best strategies seen: last iterates and their averages since the last power of two."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._count, self._restart = 0, 1
        self._sums: list[NDArray[np.float64]] = []
        self._last: list[NDArray[np.float64]] = []
        self._lower, self._upper = -np.inf, np.inf
        self.adversary = self.predictor = Strategy(
            np.zeros(1, dtype=np.int64), np.ones(1), np.zeros((1, game.n)), np.arange(game.n + 1)
        )
        self.multipliers = np.zeros(game.gain.shape[0])

    @property
    def gap(self) -> float:
        return self._upper - self._lower

    def note(self, Q: NDArray[np.float64], multipliers: NDArray[np.float64], P: NDArray[np.float64]) -> None:
        """Take one iterate into the averages."""
        self._last = [Q, multipliers, P]
        self._count += 1
        if self._count >= 2 * self._restart:
            self._restart, self._sums = self._count, []
        if self._sums:
            self._sums = [total + one for total, one in zip(self._sums, self._last, strict=True)]
        else:
            self._sums = self._last

    def look(self) -> None:
        """Compute the bounds of the last iterates and of the averages, and keep the best."""
        window = self._count - self._restart + 1
        for Q, multipliers, P in (self._last, [total / window for total in self._sums]):
            adversary, predictor = _strategy(Q), _strategy(P)
            upper = float(predictor_values(self._game, adversary, multipliers).max())
            if upper < self._upper:
                self._upper, self.adversary, self.multipliers = upper, adversary, multipliers
            game = self._game
            predictor = make_feasible(game.gain, game.offset, game.split, predictor)
            lower = float(adversary_values(game, predictor).min())
            if lower > self._lower:
                self._lower, self.predictor = lower, predictor


def _strategy(marginals: NDArray[np.float64]) -> Strategy:
    """Complete marginals of sizes 1 … n by the size 0."""
    n = marginals.shape[0]
    weights = marginals.sum(axis=1) / np.arange(1, n + 1)
    sizes = np.flatnonzero(weights > 1e-12) + 1
    rest = max(1.0 - float(weights[sizes - 1].sum()), 0.0)
    return clean(
        Strategy(
            np.concatenate((np.zeros(1, dtype=np.int64), sizes)),
            np.concatenate((np.array([rest]), weights[sizes - 1])),
            np.concatenate((np.zeros((1, n)), marginals[sizes - 1])),
            np.arange(n + 1),
        )
    )
