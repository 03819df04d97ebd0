"""The metric of several classes or labels on held-out rows, after every epoch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from skorch.callbacks import Callback

from metricfit import Metric
from metricfit.sklearn.decisions import ClassDecision, mean_value

__all__ = ["ValidationColumns"]

# The common cuts of labels that are tried.
TRIED = 64


class ValidationColumns(Callback):
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

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Forget the scores of the last epoch."""
        self.logits_: list[npt.NDArray[np.float64]] = []

    def on_batch_end(self, net: Any, training: bool, y_pred: Any, **kwargs: Any) -> None:
        """Keep the scores of the validation part, which skorch has computed anyway."""
        if not training:
            self.logits_.append(y_pred.detach().cpu().double().numpy())

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Record the value, and the rank, which decides."""
        logits = np.concatenate(self.logits_)
        self.logits_ = []
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
