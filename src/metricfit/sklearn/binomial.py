"""Which constraints are about the share of successes among some rows, and so have an exact test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import sympy as sp
from scipy.stats import beta, binom

from metricfit import Constraint
from metricfit.metrics import ConfusionMatrix

__all__ = ["Share", "as_share", "bounds"]

FloatArray = npt.NDArray[np.float64]
CELLS = ("tp", "fp", "fn", "tn")


@dataclass(frozen=True)
class Share:
    """The claim that among the rows of some cells, a share of them or more is in others of these cells.

    Precision is the share of tp among tp and fp. Also F1 is at least t exactly when the share of tp among
    tp, fp and fn is at least t / (2 - t).

    Attributes
    ----------
    successes, failures : tuple of str
        Names of cells.
    least : float
        The share that is claimed.

    Examples
    --------
    >>> import metricfit as mf
    >>> as_share(mf.recall >= 0.8)
    Share(successes=('tp',), failures=('fn',), least=0.8)
    """

    successes: tuple[str, ...]
    failures: tuple[str, ...]
    least: float

    def counts(self, cells: Mapping[str, FloatArray]) -> tuple[FloatArray, FloatArray]:
        """Return the number of successes and of trials."""
        successes = np.sum([cells[name] for name in self.successes], axis=0)
        return successes, successes + np.sum([cells[name] for name in self.failures], axis=0)

    def p_values(self, cells: Mapping[str, FloatArray]) -> FloatArray:
        """Return how likely so many successes are at most, if the claim is wrong (exact, one-sided)."""
        successes, trials = self.counts(cells)
        return np.asarray(binom.sf(successes - 1, trials, self.least))

    def trials_needed(self, confidence: float) -> int:
        """Return how many rows it takes to show the claim if all of them are successes."""
        return max(1, math.ceil(math.log(1.0 - confidence) / math.log(self.least)))


@lru_cache(maxsize=64)
def as_share(constraint: Constraint) -> Share | None:
    """Return the constraint as a claim about a share, or None if it is not one.

    A ratio of sums of cells, `a / b >= t`, says that `a - t * b` is 0 or more. If only two values, one
    positive and one negative, are among its coefficients, it compares two counts.

    Examples
    --------
    >>> import metricfit as mf
    >>> as_share(mf.f1 >= 0.5)
    Share(successes=('tp',), failures=('fp', 'fn'), least=0.3333333333333333)
    >>> as_share(mf.mcc >= 0.5) is None
    True
    """
    C = ConfusionMatrix()
    cells = [getattr(C, name) for name in CELLS]
    sums = {C.pp: C.tp + C.fp, C.pn: C.tn + C.fn, C.ap: C.tp + C.fn, C.an: C.tn + C.fp, C.all: sum(cells)}
    above, below = sp.fraction(sp.cancel(sp.together(constraint.metric.expression.subs(sums))))
    coefficients = []
    for part in (above, below):
        if not part.is_polynomial(*cells):
            return None
        terms = sp.Poly(part, *cells).as_dict()
        if any(sum(powers) != 1 for powers in terms):
            return None
        coefficients.append([float(terms.get(_power(index), 0)) for index in range(4)])
    if min(coefficients[1]) < 0.0:
        return None
    sign = 1.0 if constraint.sense == ">=" else -1.0
    gains = [sign * (a - constraint.threshold * b) for a, b in zip(*coefficients, strict=True)]
    successes = [index for index, gain in enumerate(gains) if gain > 0.0]
    failures = [index for index, gain in enumerate(gains) if gain < 0.0]
    if not successes or not failures or not _alike(gains, successes) or not _alike(gains, failures):
        return None
    gain, loss = gains[successes[0]], -gains[failures[0]]
    return Share(
        tuple(CELLS[index] for index in successes),
        tuple(CELLS[index] for index in failures),
        loss / (gain + loss),
    )


def bounds(successes: FloatArray, trials: FloatArray, error: float) -> tuple[FloatArray, FloatArray]:
    """Return the bounds of Clopper and Pearson, each of which is wrong with a probability of `error` at most.

    Examples
    --------
    >>> low, high = bounds(np.array([8.0]), np.array([10.0]), 0.05)
    >>> low.round(3), high.round(3)
    (array([0.493]), array([0.963]))
    """
    successes, trials = np.broadcast_arrays(successes, trials)
    failures = trials - successes
    low = np.where(successes > 0, beta.ppf(error, np.maximum(successes, 1), failures + 1), 0.0)
    high = np.where(failures > 0, beta.ppf(1.0 - error, successes + 1, np.maximum(failures, 1)), 1.0)
    return low, high


def _power(index: int) -> tuple[int, ...]:
    return tuple(int(index == other) for other in range(4))


def _alike(gains: list[float], indices: list[int]) -> bool:
    return all(math.isclose(gains[index], gains[indices[0]], rel_tol=1e-9) for index in indices)
