"""How much each member of an ensemble counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["member_weights"]

FloatArray = npt.NDArray[np.float64]
# How strongly the weights are held at equal shares, in units of the log-loss of one row. 5 to 20 measured
# alike; without it few rows give weights that are noise.
PULL = 10.0


def member_weights(
    logits: FloatArray, labels: npt.NDArray[np.int64], sample_weight: FloatArray | None = None
) -> FloatArray:
    r"""Return the shares of members in their average, decided on rows that none of them has seen.

    They minimise, over :math:`w \ge 0` and an intercept :math:`b`, the log-loss

    .. math:: \sum_i \log(1 + e^{-s_i (w^\top z_i + b)}) + 10 \sum_m (w_m - 1/M)^2,

    where :math:`s_i` is 1 or -1 and :math:`z_i` holds the logits of the M members; what is returned adds up
    to 1. A member without which the others do better has the weight 0. The last term holds few rows near
    equal shares.

    Parameters
    ----------
    logits : ndarray of shape (members, rows)
        Calibrated and out-of-fold.
    labels : ndarray of shape (rows,)
        0 and 1.
    sample_weight : ndarray of shape (rows,), optional
        How much each row counts.

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> labels = random.integers(0, 2, 1000)
    >>> signal, noise = labels * 2.0 - 1.0 + random.normal(size=1000), random.normal(size=1000)
    >>> member_weights(np.array([2 * signal, noise]), labels) @ [0, 1] < 0.1
    np.True_
    """
    # Constant logits have no information, and their weight cannot be separated from the intercept.
    informative = np.ptp(logits, axis=1) > 0.0
    if not informative.all() and informative.any():
        shares = np.zeros(len(logits))
        shares[informative] = member_weights(logits[informative], labels, sample_weight)
        return shares
    members = len(logits)
    equal = np.full(members, 1.0 / members)
    if members == 1 or not informative.any():
        return equal
    signs = 2.0 * labels - 1.0
    counts = np.ones(len(labels)) if sample_weight is None else sample_weight

    def penalised(parameters: FloatArray) -> tuple[float, FloatArray]:
        weights, margins = parameters[:-1], signs * (parameters[:-1] @ logits + parameters[-1])
        slopes = -counts * signs * expit(-margins)
        value = counts @ np.logaddexp(0.0, -margins) + PULL * ((weights - equal) ** 2).sum()
        return float(value), np.append(logits @ slopes + 2 * PULL * (weights - equal), slopes.sum())

    bounds = [(0.0, None)] * members + [(None, None)]
    found = minimize(penalised, np.append(equal, 0.0), jac=True, bounds=bounds, method="L-BFGS-B")
    weights = np.asarray(found.x[:-1], dtype=np.float64)
    # A member with a smaller weight takes time and changes nothing.
    weights[weights < 0.01 * weights.sum()] = 0.0
    return weights / weights.sum() if weights.sum() > 0.0 else equal
