"""From scores to probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

__all__ = ["MixedCalibrator", "SigmoidCalibrator"]

FloatArray = npt.NDArray[np.float64]
# Rows of the rarer class from which isotonic regression is mixed in.
ENOUGH = 100
# Probabilities stay this far from 0 and 1, so that their logits are finite.
MARGIN = 1e-12


class SigmoidCalibrator:
    """Platt's calibration: ``probability = expit(slope * score + intercept)``, with a slope of 0 or more.

    The labels are smoothed as Platt proposed, so that scores that divide them perfectly give finite values.

    Attributes
    ----------
    slope_, intercept_ : float
        What was fitted.

    Examples
    --------
    >>> calibrator = SigmoidCalibrator().fit(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]))
    >>> calibrator.logits(np.array([0.0, 3.0])).round(1)
    array([0., 2.])
    """

    slope_: float
    intercept_: float

    def fit(
        self, scores: FloatArray, labels: npt.NDArray[np.int64], sample_weight: FloatArray | None = None
    ) -> SigmoidCalibrator:
        """Fit to scores and their labels, 0 and 1."""
        weights = np.ones(len(scores)) if sample_weight is None else sample_weight
        positives = float(weights @ labels)
        negatives = float(weights.sum()) - positives
        smoothed = np.where(labels == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
        centre = float(np.average(scores, weights=weights))
        spread = float(np.sqrt(np.average((scores - centre) ** 2, weights=weights)))
        self.slope_, self.intercept_ = 0.0, float(np.log((positives + 1) / (negatives + 1)))
        if spread > 1e-12 * max(1.0, abs(centre)):
            # Each row twice, as positive and as negative, since the smoothed label is a share of both.
            standard = np.tile((scores - centre) / spread, 2)[:, None]
            model = LogisticRegression(C=1e6, max_iter=1000).fit(
                standard,
                np.repeat([1, 0], len(scores)),
                sample_weight=np.concatenate((weights * smoothed, weights * (1.0 - smoothed))),
            )
            # A falling curve means that the scores say nothing: folds without a signal give such ones.
            if model.coef_[0, 0] > 0.0:
                self.slope_ = float(model.coef_[0, 0]) / spread
                self.intercept_ = float(model.intercept_[0]) - self.slope_ * centre
        return self

    def logits(self, scores: FloatArray) -> FloatArray:
        """Return the logits of the probabilities."""
        return self.slope_ * scores + self.intercept_


class MixedCalibrator:
    """The mean of Platt's and, where there are many rows of both classes, isotonic calibration.

    Isotonic regression alone gives equal probabilities to different scores; the mean rises strictly, so that
    it ranks rows as the scores do.

    Attributes
    ----------
    sigmoid_ : SigmoidCalibrator
        The first part.
    isotonic_ : IsotonicRegression or None
        The second, if there are 100 rows of each class or more.

    Examples
    --------
    >>> calibrator = MixedCalibrator().fit(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([0, 0, 1, 1]))
    >>> calibrator.probabilities(np.array([0.0, 3.0])).round(2)
    array([0.5 , 0.88])
    """

    sigmoid_: SigmoidCalibrator
    isotonic_: IsotonicRegression | None

    def fit(
        self, scores: FloatArray, labels: npt.NDArray[np.int64], sample_weight: FloatArray | None = None
    ) -> MixedCalibrator:
        """Fit to scores and their labels, 0 and 1."""
        self.sigmoid_ = SigmoidCalibrator().fit(scores, labels, sample_weight)
        self.isotonic_ = None
        if np.bincount(labels, minlength=2).min() >= ENOUGH and self.sigmoid_.slope_ > 0.0:
            self.isotonic_ = IsotonicRegression(out_of_bounds="clip").fit(scores, labels, sample_weight)
        return self

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return the probability of the positive class."""
        result = expit(self.sigmoid_.logits(scores))
        if self.isotonic_ is not None:
            result = (result + self.isotonic_.predict(scores)) / 2
        return np.clip(result, MARGIN, 1.0 - MARGIN)
