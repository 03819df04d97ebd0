"""From the logits of a network to probabilities, by a curve fitted to held-out rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["BetaCalibration"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BetaCalibration:
    r"""Beta calibration (Kull, Silva Filho and Flach, 2017) of logits `f`.

    The logit of the probability is

    .. math:: intercept + above \cdot \log(1 + e^f) - below \cdot \log(1 + e^{-f}),

    which rises with the slope `above` where `f` is large and with the slope `below` where it is small. With
    equal slopes it is Platt's curve. Logits trained by the game bend at 0, where they decide, so that one
    slope for both sides fits them badly.

    Examples
    --------
    >>> fitted = BetaCalibration.fit([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1])
    >>> fitted([-2.0, 0.0, 2.0]).round(2)
    array([0.21, 0.5 , 0.79])
    """

    above: float
    below: float
    intercept: float

    @classmethod
    def fit(
        cls, scores: npt.ArrayLike, labels: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> BetaCalibration:
        """Fit to logits with labels of 0 and 1, by the log-loss, with slopes of 0 or more.

        The labels are smoothed as Platt proposed, so that logits that separate the classes give finite
        slopes. Logits that fall with the label say nothing that can be used: the slopes are then 0.
        """
        truth = np.asarray(labels) == 1
        counts = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
        counts = counts * (len(counts) / counts.sum())
        positives, negatives = float(counts[truth].sum()), float(counts[~truth].sum())
        target = np.where(truth, (positives + 1) / (positives + 2), 1 / (negatives + 2))
        sides = _sides(scores)
        centre = np.average(sides, axis=0, weights=counts)
        spread = np.sqrt(np.average((sides - centre) ** 2, axis=0, weights=counts))
        spread[spread <= 1e-9 * np.maximum(1.0, np.abs(centre))] = np.inf
        standard = (sides - centre) / spread

        def loss(point: FloatArray) -> tuple[float, FloatArray]:
            logits = standard @ point[:2] + point[2]
            slopes = counts * (expit(logits) - target)
            value = counts @ (np.logaddexp(0.0, logits) - target * logits)
            return float(value), np.append(slopes @ standard, slopes.sum())

        start = np.array([0.5, 0.5, np.log((positives + 1) / (negatives + 1))])
        bounds = [(0.0, None), (0.0, None), (None, None)]
        point = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
        slopes = point[:2] / spread
        return cls(float(slopes[0]), float(slopes[1]), float(point[2] - slopes @ centre))

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """Return the probability that a row is positive."""
        return np.asarray(expit(_sides(scores) @ (self.above, self.below) + self.intercept))


def _sides(scores: npt.ArrayLike) -> FloatArray:
    given = np.asarray(scores, dtype=np.float64)
    return np.stack((np.logaddexp(0.0, given), -np.logaddexp(0.0, -given)), axis=1)
