"""The metric on held-out rows, after every epoch: of two classes, of several, or of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from skorch.callbacks import Callback

from metricfit import Metric
from metricfit.sklearn.calibration import BetaCalibration
from metricfit.sklearn.cut_curve import Cut, CutRule
from metricfit.sklearn.cuts import cut_by, expected_value
from metricfit.sklearn.decisions import ClassDecision, mean_value

__all__ = ["ValidationColumns", "ValidationMetric"]

# The common cuts of labels that are tried.
TRIED = 64


class HeldOutLogits(Callback):
    """Keeps the logits of the held-out rows of an epoch, which skorch has computed anyway."""

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Forget the logits of the last epoch."""
        self.logits_: list[npt.NDArray[np.float64]] = []

    def on_batch_end(self, net: Any, training: bool, y_pred: Any, **kwargs: Any) -> None:
        """Keep the logits of a batch that is not trained on."""
        if not training:
            self.logits_.append(y_pred.detach().cpu().double().numpy())

    def take_logits(self) -> npt.NDArray[np.float64]:
        """Return the logits of all batches, and keep none."""
        logits = np.concatenate(self.logits_)
        self.logits_ = []
        return logits


class ValidationMetric(HeldOutLogits):
    """Records how good an epoch is on the held-out rows, and with which cut and calibration.

    An epoch is ranked by the mean of two values at its cut: the metric of the counted confusion matrix, and
    that of the expected one, in which every row counts by its calibrated probability. The counted value jumps
    when a few rows change sides, so the best of many epochs is partly luck. The expected value is smooth, but
    only as good as the calibration. Constraints are judged by the counted confusion matrix.
    """

    def __init__(
        self,
        metric: Metric,
        labels: npt.NDArray[np.int64],
        weights: npt.NDArray[np.float64] | None,
        cut: CutRule,
    ) -> None:
        self.metric = metric
        self.labels = labels
        self.weights = weights
        self.cut = cut

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Record the value, what the constraints are missed by, and the rank, which decides."""
        scores = self.take_logits()
        curve = BetaCalibration.fit(scores, self.labels, self.weights)
        chances = curve(scores)
        cut = cut_by(self.cut, self.metric, scores, self.labels, chances, weights=self.weights)
        expected = expected_value(self.metric, scores, chances, cut.threshold, weights=self.weights)
        predicted = scores > cut.threshold
        found = {
            "valid_metric": cut.value,
            "expected_metric": expected,
            "violation": cut.violation,
            "rank": Cut(cut.threshold, (cut.value + expected) / 2, cut.violation).rank,
            "threshold": cut.threshold,
            "one_class": int(predicted.all() or not predicted.any()),
            **vars(curve),
        }
        for name, value in found.items():
            net.history.record(name, value)


class ValidationColumns(HeldOutLogits):
    """Records how good an epoch is on the held-out rows.

    Classes are decided by the largest logit, and ranked by the mean of two values: the metric that was
    counted, and the one to expect if rows are of the classes as often as calibrated probabilities say. Labels
    are decided at the best common cut, since cuts of rare labels would make every epoch look lucky.
    """

    def __init__(
        self, metric: Metric, labels: npt.NDArray[np.int64], weights: npt.NDArray[np.float64] | None
    ) -> None:
        self.metric = metric
        self.labels = labels
        self.weights = weights

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Record the value, and the rank, which decides."""
        logits = self.take_logits()
        if self.labels.ndim == 1:
            decision = ClassDecision.fit(
                self.metric, logits, self.labels, self.weights, "zero", calibrated=False
            )
            numbers = np.arange(logits.shape[1])
            predicted = decision.predict(logits)[:, None] == numbers
            truth = (self.labels[:, None] == numbers).astype(np.float64)
            value = mean_value(self.metric, predicted, truth, self.weights)
            expected = mean_value(self.metric, predicted, decision.probabilities(logits), self.weights)
            alike = predicted.any(axis=0).sum() == 1
        else:
            tried = np.unique(np.quantile(logits, np.linspace(0.0, 1.0, TRIED)))
            truth = self.labels.astype(np.float64)
            value = max(mean_value(self.metric, logits > cut, truth, self.weights) for cut in tried)
            expected, alike = value, False
        found = {
            "valid_metric": value,
            "expected_metric": expected,
            "violation": 0.0,
            "rank": (value + expected) / 2,
            "threshold": 0.0,
            "above": 1.0,
            "below": 1.0,
            "intercept": 0.0,
            "one_class": int(alike),
        }
        for name, recorded in found.items():
            net.history.record(name, recorded)
