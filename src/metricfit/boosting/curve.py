"""How likely the adversary makes a row positive, as a function of its score."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

__all__ = ["fitted_curve"]

Floats = NDArray[np.float64]


def fitted_curve(scores: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the knots of the increasing function that fits the shares best in least squares.

    Examples
    --------
    >>> fitted_curve(np.array([1.0, 0.0, 2.0, 1.0]), np.array([0.5, 0.0, 0.9, 0.7]))
    (array([0., 1., 2.]), array([0. , 0.6, 0.9]))
    """
    order = np.argsort(scores)
    ordered = scores[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-np.inf))
    counts = np.diff(first, append=ordered.size).astype(np.float64)
    means = np.add.reduceat(shares[order], first) / counts
    fitted = isotonic_regression(means, weights=counts)
    # Both ends of every flat piece are enough to draw it.
    starts = fitted.blocks[:-1]
    ends = np.unique(np.concatenate((starts, fitted.blocks[1:] - 1)))
    return ordered[first[ends]], fitted.x[ends]
