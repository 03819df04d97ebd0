"""From scores to probabilities, by a curve fitted to rows that the model has not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from metricfit.sklearn.cuts import checked_rows

__all__ = ["BetaCalibration", "MixedCalibration", "SigmoidCalibration"]

FloatArray = npt.NDArray[np.float64]
# Rows of the rarer class from which isotonic regression is mixed in.
ENOUGH = 100
# Probabilities stay this far from 0 and 1, so that their logits are finite.
MARGIN = 1e-12


@dataclass(frozen=True)
class SigmoidCalibration:
    r"""Platt's calibration of scores `f`: the logit of the probability is :math:`slope \cdot f + intercept`.

    Examples
    --------
    >>> fitted = SigmoidCalibration.fit([-2.0, -1.0, 1.0, 2.0], [0, 0, 1, 1])
    >>> fitted([0.0, 3.0]).round(2)
    array([0.5 , 0.88])
    """

    slope: float
    intercept: float

    @classmethod
    def fit(
        cls, scores: npt.ArrayLike, labels: npt.ArrayLike, weights: npt.ArrayLike | None = None
    ) -> SigmoidCalibration:
        """Fit to scores with labels of 0 and 1, as :meth:`BetaCalibration.fit` does.

        A weight is a number of copies of the row.
        """
        (slope,), intercept = _fitted(np.asarray(scores, dtype=np.float64)[:, None], labels, weights)
        return cls(float(slope), intercept)

    def logits(self, scores: npt.ArrayLike) -> FloatArray:
        """Return the logits of the probabilities."""
        return self.slope * np.asarray(scores, dtype=np.float64) + self.intercept

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """Return the probability that a row is positive."""
        return np.asarray(expit(self.logits(scores)))


@dataclass(frozen=True)
class BetaCalibration:
    r"""Beta calibration (Kull, Silva Filho and Flach, 2017) of logits `f`.

    The logit of the probability is

    .. math:: intercept + above \cdot \log(1 + e^f) - below \cdot \log(1 + e^{-f}),

    which rises with the slope `above` where `f` is large and with the slope `below` where it is small. With
    equal slopes it is Platt's curve. Logits trained with :class:`metricfit.MetricLoss` relate to the
    probability in different ways below and above 0, so one slope fits them badly.

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
        slopes. If logits fall with the label, the slopes are 0. Only the
        ratios of weights matter.
        """
        scores, labels, given = checked_rows(scores, labels, weights)
        if given is not None:
            weights = given * (len(given) / given.sum())
        (above, below), intercept = _fitted(_sides(scores), labels, weights)
        return cls(float(above), float(below), intercept)

    def __call__(self, scores: npt.ArrayLike) -> FloatArray:
        """Return the probability that a row is positive."""
        return np.asarray(expit(_sides(scores) @ (self.above, self.below) + self.intercept))


@dataclass(frozen=True, eq=False)
class MixedCalibration:
    """The mean of Platt's and, where there are many rows of both classes, isotonic calibration.

    Isotonic regression alone gives equal probabilities to different scores; the mean rises strictly, so that
    it ranks rows as the scores do.

    Attributes
    ----------
    sigmoid : SigmoidCalibration
        The first part.
    isotonic : IsotonicRegression or None
        The second, if there are 100 rows of each class or more.

    Examples
    --------
    >>> fitted = MixedCalibration.fit(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]))
    >>> fitted(np.array([0.0, 3.0])).round(2)
    array([0.5 , 0.88])
    """

    sigmoid: SigmoidCalibration
    isotonic: IsotonicRegression | None

    @classmethod
    def fit(
        cls, scores: FloatArray, labels: npt.NDArray[np.int64], weights: FloatArray | None = None
    ) -> MixedCalibration:
        """Fit to scores with labels of 0 and 1."""
        sigmoid, isotonic = SigmoidCalibration.fit(scores, labels, weights), None
        if np.bincount(labels, minlength=2).min() >= ENOUGH and sigmoid.slope > 0.0:
            isotonic = IsotonicRegression(out_of_bounds="clip").fit(scores, labels, weights)
        return cls(sigmoid, isotonic)

    def __call__(self, scores: FloatArray) -> FloatArray:
        """Return the probability that a row is positive; none is 0 or 1."""
        result = self.sigmoid(scores)
        if self.isotonic is not None:
            result = (result + self.isotonic.predict(scores)) / 2
        return np.clip(result, MARGIN, 1.0 - MARGIN)


def _sides(scores: npt.ArrayLike) -> FloatArray:
    given = np.asarray(scores, dtype=np.float64)
    return np.stack((np.logaddexp(0.0, given), -np.logaddexp(0.0, -given)), axis=1)


def _fitted(
    columns: FloatArray, labels: npt.ArrayLike, weights: npt.ArrayLike | None
) -> tuple[FloatArray, float]:
    """Return slopes of 0 or more, and an intercept, of the least log-loss for smoothed labels."""
    truth = np.asarray(labels) == 1
    counts = np.ones(len(truth)) if weights is None else np.asarray(weights, dtype=np.float64)
    positives, negatives = float(counts[truth].sum()), float(counts[~truth].sum())
    target = np.where(truth, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    centre = np.average(columns, axis=0, weights=counts)
    spread = np.sqrt(np.average((columns - centre) ** 2, axis=0, weights=counts))
    spread[spread <= 1e-9 * np.maximum(1.0, np.abs(centre))] = np.inf
    standard = (columns - centre) / spread
    size = columns.shape[1]

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        logits = standard @ point[:-1] + point[-1]
        slopes = counts * (expit(logits) - target)
        value = counts @ (np.logaddexp(0.0, logits) - target * logits)
        return float(value), np.append(slopes @ standard, slopes.sum())

    start = np.append(np.full(size, 1.0 / size), np.log((positives + 1) / (negatives + 1)))
    bounds = [(0.0, None)] * size + [(None, None)]
    # L-BFGS-B finds the same, but some OpenBLAS start threads for its tiny systems, which costs milliseconds
    # per step on a busy machine; this is called in every epoch.
    point = minimize(loss, start, jac=True, bounds=bounds, method="TNC").x
    slopes = point[:-1] / spread
    return slopes, float(point[-1] - slopes @ centre)
