"""The answer of a solver, and the certified solution that is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricfit.game import Strategy

__all__ = ["Answer", "Certified", "ConvergenceWarning", "Solution", "gap_text", "has_converged"]

ENOUGH = 1.001
"""A gap may exceed the tolerance by a thousandth of it without a warning."""


class ConvergenceWarning(UserWarning):
    """A solver stopped with a certified gap larger than the tolerance.

    The answer is still usable: its bounds are valid, but further apart than requested.

    Examples
    --------
    >>> import warnings
    >>> import metricfit as mf
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     solution = mf.solve(mf.f1, [0.3, 0.1, -0.2], solver="admm", max_iter=2)
    >>> caught[0].category is mf.ConvergenceWarning, solution.converged
    (True, False)
    """


@dataclass(frozen=True, eq=False)
class Answer:
    """A solver's answer, in canonical order, before its bounds are computed.

    Attributes
    ----------
    adversary, predictor : Strategy
        Marginals may be off by rounding, and the predictor may miss a constraint by a little.
    multipliers : ndarray, shape (C,)
        The adversary's multipliers of the constraints.
    iterations : int
        Iterations of whatever kind the solver has.
    note : str
        Why the solver stopped, if there is something to say; part of the warning when it missed
        the tolerance.
    """

    adversary: Strategy
    predictor: Strategy
    multipliers: NDArray[np.float64]
    iterations: int
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """A game's value, certified, and both players' strategies, in the order of the user's items.

    Attributes
    ----------
    value : float
        Upper bound of the value of the game: what the returned adversary guarantees.
    gap : float
        The value of the game is at least ``value - gap``: what the returned predictor guarantees.
    adversary : ndarray, shape (n,)
        Probability `q` of each item to be positive under the adversary.
    predictor : ndarray, shape (n,)
        Probability `p` of each item to be predicted positive.
    multipliers : ndarray, shape (C,)
        Multipliers of the metric's constraints.
    iterations : int
        Iterations of the solver.
    solver : str
        Name of the solver that found the answer.
    converged : bool
        Whether the gap is within the tolerance, up to a thousandth of it.

    Examples
    --------
    >>> import metricfit as mf
    >>> solution = mf.solve(mf.recall, [0.5, -0.5], solver="exact-lp")
    >>> solution.lower <= solution.value, solution.gap <= 1e-4, solution.converged
    (True, True, True)
    >>> len(solution.adversary), solution.multipliers.size
    (2, 0)
    """

    value: float
    gap: float
    adversary: NDArray[np.float64]
    predictor: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    iterations: int
    solver: str
    converged: bool

    @property
    def lower(self) -> float:
        """Lower bound of the value of the game."""
        return self.value - self.gap

    def __repr__(self) -> str:
        return (
            f"Solution(value={self.value:.6g}, gap={self.gap:.2g}, n={self.adversary.size}, "
            f"solver={self.solver!r}, iterations={self.iterations})"
        )


class Certified(NamedTuple):
    """The solutions of games of one size, as arrays with one row per game.

    Attributes
    ----------
    verdict : ndarray, shape (games, 3)
        Value, gap and iterations.
    inclusion : ndarray, shape (games, 2, n)
        Adversary and predictor.
    multipliers : ndarray, shape (games, C)
        All as of a `Solution`.
    notes : list of str
        What the solver has to say about each game.
    solver : str
        Its name.
    tol : float
        The gap that was asked for.
    """

    verdict: NDArray[np.float64]
    inclusion: NDArray[np.float64]
    multipliers: NDArray[np.float64]
    notes: list[str]
    solver: str
    tol: float

    def solutions(self) -> list[Solution]:
        """Return one `Solution` per game."""
        return [
            Solution(
                value=value,
                gap=gap,
                adversary=adversary,
                predictor=predictor,
                multipliers=multipliers,
                iterations=int(iterations),
                solver=self.solver,
                converged=has_converged(gap, self.tol),
            )
            for (value, gap, iterations), (adversary, predictor), multipliers in zip(
                self.verdict.tolist(), self.inclusion, self.multipliers, strict=True
            )
        ]

    @classmethod
    def joined(cls, parts: Sequence[Certified]) -> Certified:
        """Return the games of all parts, which are of one size, solver and tolerance, as one."""
        return cls(
            np.concatenate([part.verdict for part in parts]),
            np.concatenate([part.inclusion for part in parts]),
            np.concatenate([part.multipliers for part in parts]),
            [note for part in parts for note in part.notes],
            parts[0].solver,
            parts[0].tol,
        )


def has_converged(gap: float, tol: float) -> bool:
    """Tell whether a certified gap is within the tolerance.

    A negative gap never is: bounds that contradict each other prove nothing.

    Examples
    --------
    >>> has_converged(1.0004e-4, 1e-4), has_converged(1.1e-4, 1e-4), has_converged(-1e-3, 1e-4)
    (True, False, False)
    """
    return 0.0 <= gap <= ENOUGH * tol


def gap_text(gap: float, tol: float) -> str:
    """Return a gap with as many digits as it takes to tell it from a smaller tolerance.

    Examples
    --------
    >>> gap_text(0.0234, 1e-4), gap_text(1.0021e-4, 1e-4)
    ('0.023', '0.0001002')
    """
    for digits in range(2, 17):
        text = f"{gap:.{digits}g}"
        if float(text) > tol:
            return text
    return repr(gap)
