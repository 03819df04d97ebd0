"""Fitted members and how they are combined: calibrated, weighted, and made one probability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from metricfit import Metric
from metricfit.sklearn.calibration import MixedCalibration, SigmoidCalibration
from metricfit.sklearn.crossfit import Member
from metricfit.sklearn.cuts import best_cut
from metricfit.sklearn.member_weights import member_weights

__all__ = ["Combination", "combined"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Combination:
    """The weighted mean of the logits of members, as a calibrated probability.

    Attributes
    ----------
    members : dict of str to Member
        The fitted models of the members whose weight is not 0.
    weights : dict of str to float
        The shares of all members; they add up to 1.
    calibrators : dict of str to SigmoidCalibration
        From the scores of each member to logits.
    calibrator : MixedCalibration
        From the mean of the logits to a probability.
    """

    members: dict[str, Member]
    weights: dict[str, float]
    calibrators: dict[str, SigmoidCalibration]
    calibrator: MixedCalibration

    def probabilities(self, X: Any) -> FloatArray:
        """Return the probability that new rows are positive."""
        total = sum(
            self.weights[name] * self.calibrators[name].logits(member.scores(X))
            for name, member in self.members.items()
        )
        return self.calibrator(np.asarray(total))


def combined(
    members: Sequence[Member],
    scores: FloatArray,
    labels: IntArray,
    sample_weight: FloatArray | None,
    *,
    report_for: Metric | None = None,
) -> tuple[Combination, FloatArray]:
    """Calibrate and weigh members by their out-of-fold scores.

    Parameters
    ----------
    members : sequence of Member
        The fitted members.
    scores : ndarray of shape (members, rows)
        By models that have not seen the row; NaN for rows without a score.
    labels : ndarray of shape (rows,)
        0 and 1.
    sample_weight : ndarray of shape (rows,), optional
        How much each row counts.
    report_for : Metric, optional
        Print what each member alone is worth by this metric.

    Returns
    -------
    combination : Combination
        For new rows.
    probabilities : ndarray of shape (rows,)
        Out-of-fold; NaN for rows without a score.
    """
    scored = ~np.isnan(scores[0])
    truth, counts = labels[scored], None if sample_weight is None else sample_weight[scored]
    if len(np.unique(truth)) < 2:
        raise ValueError("the folds score rows of one class only; give folds that score both")
    names = [member.name for member in members]
    calibrators = [SigmoidCalibration.fit(row[scored], truth, counts) for row in scores]
    logits = np.array([c.logits(row[scored]) for c, row in zip(calibrators, scores, strict=True)])
    shares = member_weights(logits, truth, counts)
    weights = dict(zip(names, map(float, shares), strict=True))
    combination = Combination(
        {member.name: member for member in members if weights[member.name] > 0.0},
        weights,
        dict(zip(names, calibrators, strict=True)),
        MixedCalibration.fit(shares @ logits, truth, counts),
    )
    if report_for is not None:
        for name, row in zip(names, logits, strict=True):
            alone = MixedCalibration.fit(row, truth, counts)(row)
            value = best_cut(report_for, alone, truth, weights=counts).value
            print(f"{name}: {report_for.name} {value:.3f} out-of-fold at best, weight {weights[name]:.2f}")
    probabilities = np.full(len(labels), np.nan)
    probabilities[scored] = combination.calibrator(shares @ logits)
    return combination, probabilities
