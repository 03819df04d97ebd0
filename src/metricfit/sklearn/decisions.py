"""From logits of several classes or labels to decisions that are good for a metric, and to probabilities."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

from metricfit import Metric, accuracy
from metricfit.sklearn.calibration import BetaCalibration
from metricfit.sklearn.cut_curve import CutRule
from metricfit.sklearn.cuts import cut_by

__all__ = ["ClassDecision", "LabelDecision", "finite_logits", "mean_value"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# The offsets that are tried, in logits, and how often all classes are gone through.
STEPS = np.linspace(-3.0, 3.0, 25)
ROUNDS = 2
# A smaller gain than this is taken for noise.
GAIN = 0.002
# How strongly the biases of the calibration are held at 0, so that few rows of a class do not decide.
HELD = 1.0
# A label's own cut counts by its positives, the common cut as if it were from so many.
PRIOR = 20.0
# The common cuts that are tried.
TRIED = 200
# No logit is as large. Infinite scores are refused by the ranking metrics of scikit-learn.
FAR = 1e6


def mean_value(
    metric: Metric, predicted: npt.ArrayLike, truth: FloatArray, weights: FloatArray | None
) -> float:
    """Return the average of a metric over columns of predictions.

    Columns without any positive are left out: most metrics are then 1 if nothing is predicted, which would
    be the best decision for labels that are rare among few rows.

    Parameters
    ----------
    metric : Metric
        With its average, "macro" or "weighted"; accuracy without one is the share of rows with the right
        class.
    predicted : array_like of shape (n, columns)
        0 and 1.
    truth : ndarray of shape (n, columns)
        Labels, or probabilities.
    weights : ndarray of shape (n,), optional

    Examples
    --------
    >>> import metricfit as mf
    >>> round(mean_value(mf.f1.macro(), np.ones((2, 2)), np.array([[1.0, 0.0], [0.0, 0.0]]), None), 2)
    0.67
    >>> mean_value(mf.accuracy, np.eye(3)[[0, 1]], np.eye(3)[[0, 2]], None)
    0.5
    """
    chosen = np.asarray(predicted, dtype=np.float64)
    n = len(truth)
    counts = np.ones(n) if weights is None else weights * (n / weights.sum())
    tp, actual = counts @ (chosen * truth), counts @ truth
    if metric == accuracy:
        return float(tp.sum() / n)
    above = counts @ chosen
    values = metric.objective.averaged(None).score_counts(
        tp, above - tp, actual - tp, np.maximum(n - above - actual + tp, 0.0)
    )
    if not actual.any():
        return float(values.mean())
    return float(np.average(values, weights=actual if metric.average == "weighted" else actual > 0.0))


@dataclass(frozen=True, eq=False)
class ClassDecision:
    """Decides for the class with the largest logit, after an offset for each class.

    Attributes
    ----------
    slope : float
        What logits are multiplied with to be those of probabilities.
    biases : ndarray of shape (classes,)
        What is then added.
    offsets : ndarray of shape (classes,)
        What is added to the logits, in their place, for the decision.

    Examples
    --------
    >>> ClassDecision(1.0, np.zeros(2), np.array([0.0, 0.5])).predict(np.array([[0.2, 0.0]]))
    array([1])
    """

    slope: float
    biases: FloatArray
    offsets: FloatArray

    @classmethod
    def fit(
        cls,
        metric: Metric,
        logits: FloatArray,
        codes: IntArray,
        weights: FloatArray | None,
        cut: CutRule,
        *,
        calibrated: bool,
    ) -> ClassDecision:
        """Fit to held-out rows.

        With ``cut="expected"`` the offsets are best if rows are of the classes as often as their calibrated
        probabilities say, with "empirical" for the classes they have; with "zero" there are none. If the
        logits are calibrated, they are those of the probabilities.
        """
        columns = logits.shape[1]
        zeros = np.zeros(columns)
        slope, biases = (1.0, zeros) if calibrated else _calibration(logits, codes, weights)
        if cut == "zero":
            return cls(slope, biases, zeros)
        plain = cls(slope, biases, biases)
        truth = plain.probabilities(logits) if cut == "expected" else np.eye(columns)[codes]
        return cls(slope, biases, _offsets(metric, slope * logits, biases, truth, weights))

    def scores(self, logits: FloatArray) -> FloatArray:
        """Return what the decision takes the largest of."""
        return np.asarray(self.slope * logits + self.offsets)

    def predict(self, logits: FloatArray) -> IntArray:
        """Return the indices of classes."""
        return np.asarray(self.scores(logits).argmax(axis=1))

    def probabilities(self, logits: FloatArray) -> FloatArray:
        """Return the probability of each class; rows add up to 1."""
        return np.asarray(softmax(self.slope * logits + self.biases, axis=1))


@dataclass(frozen=True, eq=False)
class LabelDecision:
    """Decides every label by a cut of its own, which is near the common one where positives are few.

    Labels that no row of the training has are never predicted, see :meth:`constant`.

    Attributes
    ----------
    cuts : ndarray of shape (labels,)
        In logits.
    calibrations : tuple of BetaCalibration
        From logits to probabilities; empty if the logits are those of probabilities.

    Examples
    --------
    >>> LabelDecision(np.array([0.0, 0.5]), ()).predict(np.array([[0.2, 0.2]]))
    array([[1, 0]])
    """

    cuts: FloatArray
    calibrations: tuple[BetaCalibration, ...]

    @classmethod
    def fit(
        cls,
        metric: Metric,
        logits: FloatArray,
        labels: IntArray,
        weights: FloatArray | None,
        cut: CutRule,
        *,
        calibrated: bool,
        prior: float = PRIOR,
    ) -> LabelDecision:
        """Fit to held-out rows; `prior` says how many positives the common cut stands for."""
        columns = range(logits.shape[1])
        calibrations: tuple[BetaCalibration, ...] = ()
        if not calibrated:
            calibrations = tuple(BetaCalibration.fit(logits[:, j], labels[:, j], weights) for j in columns)
        if cut == "zero":
            return cls(np.zeros(len(columns)), calibrations)
        chances = cls(np.zeros(len(columns)), calibrations).probabilities(logits)
        single = metric.objective.averaged(None)
        own = np.array(
            [
                cut_by(cut, single, logits[:, j], labels[:, j], chances[:, j], weights=weights).threshold
                for j in columns
            ]
        )
        tried = np.unique(np.quantile(logits, np.linspace(0.0, 1.0, TRIED)))
        truth = chances if cut == "expected" else labels.astype(np.float64)
        values = [mean_value(metric, logits > point, truth, weights) for point in tried]
        common = tried[int(np.argmax(values))]
        positives = labels.sum(axis=0)
        share = positives / (positives + prior) if prior > 0.0 else np.ones(len(columns))
        return cls(share * own + (1.0 - share) * common, calibrations)

    def constant(self, labels: IntArray) -> LabelDecision:
        """Return a decision that never predicts labels that no row has, and always those that all rows have.

        Nothing can be learned of such labels, and their logits say nothing.

        Examples
        --------
        >>> LabelDecision(np.zeros(2), ()).constant(np.array([[0, 1], [0, 0]])).predict(np.full((1, 2), 5.0))
        array([[0, 1]])
        """
        shares = labels.mean(axis=0)
        return replace(self, cuts=np.where(shares == 0.0, FAR, np.where(shares == 1.0, -FAR, self.cuts)))

    def predict(self, logits: FloatArray) -> IntArray:
        """Return 0 or 1 for every label."""
        return np.asarray(logits > self.cuts, dtype=np.int64)

    def scores(self, logits: FloatArray) -> FloatArray:
        """Return how far logits are above their cuts."""
        return np.asarray(logits - self.cuts)

    def probabilities(self, logits: FloatArray) -> FloatArray:
        """Return the probability of each label."""
        if not self.calibrations:
            return np.asarray(expit(logits))
        return np.column_stack([one(logits[:, j]) for j, one in enumerate(self.calibrations)])


def finite_logits(probabilities: FloatArray) -> FloatArray:
    """Return the logits of probabilities, after moving them away from 0 and 1.

    Examples
    --------
    >>> finite_logits(np.array([0.5, 1.0])).round(1)
    array([ 0. , 27.6])
    """
    return np.asarray(logit(np.clip(probabilities, 1e-12, 1.0 - 1e-12)))


def _calibration(logits: FloatArray, codes: IntArray, weights: FloatArray | None) -> tuple[float, FloatArray]:
    """Return the slope and the biases that make logits those of probabilities, by the log-loss."""
    columns = logits.shape[1]
    known = np.eye(columns)[codes]
    counts = np.ones(len(codes)) if weights is None else weights * (len(codes) / weights.sum())

    def loss(point: FloatArray) -> tuple[float, FloatArray]:
        chances = log_softmax(point[0] * logits + point[1:], axis=1)
        misses = counts[:, None] * (np.exp(chances) - known)
        value = -float(counts @ (chances * known).sum(axis=1)) + HELD * float(point[1:] @ point[1:]) / 2
        return value, np.append((misses * logits).sum(), misses.sum(axis=0) + HELD * point[1:])

    start = np.append(1.0 / max(1.0, float(np.ptp(logits)) / 10.0), np.zeros(columns))
    bounds = [(0.0, None)] + [(None, None)] * columns
    found = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return max(float(found[0]), 1e-6), np.asarray(found[1:])


def _offsets(
    metric: Metric, scores: FloatArray, start: FloatArray, truth: FloatArray, weights: FloatArray | None
) -> FloatArray:
    """Return the offsets for which the metric is best, one class after the other."""
    columns = scores.shape[1]
    numbers = np.arange(columns)
    offsets = start

    def value(point: FloatArray) -> float:
        chosen = (scores + point).argmax(axis=1)
        return mean_value(metric, chosen[:, None] == numbers, truth, weights)

    best = value(offsets)
    for _ in range(ROUNDS):
        before = best
        for column in range(columns):
            points = np.repeat(offsets[None], len(STEPS), axis=0)
            points[:, column] = start[column] + STEPS
            values = [value(point) for point in points]
            if max(values) > best + GAIN:
                best, offsets = max(values), points[int(np.argmax(values))]
        if best <= before:
            break
    return offsets
