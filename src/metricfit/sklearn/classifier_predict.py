"""What the network's estimator does once it is trained: decide, predict, score."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted, validate_data

from metricfit import Metric
from metricfit.sklearn.calibration import BetaCalibration
from metricfit.sklearn.callbacks import completed_epochs
from metricfit.sklearn.classifier_rows import GivenRows
from metricfit.sklearn.cut_curve import SLACK, CutRule
from metricfit.sklearn.decisions import ClassDecision, LabelDecision
from metricfit.sklearn.inputs import refuse_frame, refuse_masked
from metricfit.sklearn.network import LogitNet
from metricfit.sklearn.rows import HeldOut, complete, is_positive
from metricfit.sklearn.targets import averaged_score
from metricfit.sklearn.top_rows import top_rows
from metricfit.sklearn.training import release

__all__ = ["TrainedNetwork"]

FloatArray = npt.NDArray[np.float64]


class TrainedNetwork(GivenRows):
    """The part of the estimator that decides by the trained network."""

    metric_: Metric
    decision_: ClassDecision | LabelDecision | None
    calibration_: BetaCalibration | None
    threshold_: float
    history_: list[dict[str, float]]
    best_epoch_: int
    n_iter_: int
    interrupted_: bool
    net_: LogitNet
    max_epochs: int
    patience: int
    cut: CutRule

    def decision_function(self, X: Any) -> FloatArray:
        """Return how far each row is on the side of ``classes_[1]``: its logit less the threshold.

        With several classes or labels there is one column for each: what the decision takes the largest of,
        or what is above 0 where a label is predicted.
        """
        check_is_fitted(self)
        if self.decision_ is not None:
            return self.decision_.scores(self._logits(X))
        margin = self._logits(X) - self.threshold_
        return margin if self._positive == 1 else -margin

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the labels of rows.

        If the metric has a size, as ``"precision@100"``, the positives are the rows with the highest logits
        of those that are given together.
        """
        check_is_fitted(self)
        if self.decision_ is not None:
            predicted = self.decision_.predict(self._logits(X))
            return predicted if self._kind == "labels" else np.asarray(self.classes_[predicted])
        logits = self._logits(X)
        positive = logits > self.threshold_ if self.metric_.size is None else top_rows(self.metric_, logits)
        codes = np.where(positive, self._positive, 1 - self._positive)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, calibrated on the held-out rows.

        The prediction is not the larger of the two: what is best for the metric may be to predict positive
        from a probability of 0.2 on. If nothing was held out, it is the logistic function of the logit, good
        for ranking only. With several labels there is one column per label.
        """
        check_is_fitted(self)
        if self.decision_ is not None:
            return self.decision_.probabilities(self._logits(X))
        logits = self._logits(X)
        positive = expit(logits) if self.calibration_ is None else self.calibration_(logits)
        columns = (1.0 - positive, positive) if self._positive == 1 else (positive, 1.0 - positive)
        return np.column_stack(columns)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the score of the prediction by ``metric_``, see :meth:`metricfit.Metric.score`.

        Predictions that break a constraint score below all that meet them. The plain number is
        ``metric_.objective.score(y_true, y_pred)``.
        """
        check_is_fitted(self)
        if self.decision_ is not None:
            return averaged_score(self.metric_, y, self.predict(X), sample_weight)
        predicted = self.predict(X) == self.classes_[self._positive]
        truth = is_positive(y, self.classes_, self._positive)
        return float(self.metric_.score(truth, predicted, sample_weight=sample_weight))

    def _decide(self, held_out: HeldOut, trained: npt.NDArray[np.int64]) -> None:
        """Choose offsets or cuts on the held-out rows, with the network that was kept.

        `trained` are the labels that it was trained on.
        """
        found: torch.Tensor = self.net_.forward(held_out.X, training=False)
        logits = found.cpu().double().numpy()
        given = self.metric_, logits, held_out.labels, held_out.weights, self.cut
        if self._kind == "classes":
            self.decision_ = ClassDecision.fit(*given, calibrated=False)
        else:
            known = np.concatenate((trained, held_out.labels))
            self.decision_ = LabelDecision.fit(*given, calibrated=False).constant(known)
            if empty := np.flatnonzero(~known.any(axis=0)).tolist():
                warnings.warn(f"no row has the labels {empty}; they are never predicted", stacklevel=4)

    def _undecided(self) -> ClassDecision | LabelDecision | None:
        """Return the decision of several classes or labels without any held-out rows."""
        if self._kind is None:
            return None
        zeros = np.zeros(len(self.classes_))
        return ClassDecision(1.0, zeros, zeros) if self._kind == "classes" else LabelDecision(zeros, ())

    def _keep(self, net: Any, stopping: Any) -> None:
        """Take over what was learned, without what only the training needed."""
        self.history_ = completed_epochs(net.history)
        if not self.history_:
            raise KeyboardInterrupt
        self.net_, self.n_iter_ = net, len(self.history_)
        stopped = stopping is not None and stopping.misses_ >= self.patience
        self.interrupted_ = self.n_iter_ < self.max_epochs and not stopped
        self.best_epoch_ = self.n_iter_ if stopping is None else int(stopping.best_epoch_)
        self.threshold_ = 0.0
        self.calibration_ = None
        self.decision_ = self._undecided()
        if stopping is not None:
            best = self.history_[self.best_epoch_ - 1]
            if self._kind is not None:
                self._warn(best)
                release(net)
                return
            self.threshold_ = best["threshold"]
            self.calibration_ = BetaCalibration(best["above"], best["below"], best["intercept"])
            self._warn(best)
        release(net)

    def _warn(self, best: dict[str, float]) -> None:
        if best["violation"] > SLACK:
            warnings.warn(
                f"no epoch met the constraints of {self.metric_!r} on the held-out rows; the best "
                f"misses them by {best['violation']:.3g}. Train for more epochs, or relax the constraints",
                stacklevel=4,
            )
        if best["one_class"]:
            warnings.warn(
                f"the model predicts one class only on the held-out rows: either the features say little "
                f"about the target, or this maximises {self.metric_.name}. Look at predict_proba, give "
                "other features or more rows, or choose another metric or constraint",
                stacklevel=4,
            )

    def _logits(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        refuse_masked(X=X)
        refuse_frame(X)
        X = validate_data(self, X, dtype=np.float32, reset=False, ensure_all_finite="allow-nan")
        # PyTorch warns of arrays that cannot be written to.
        X = np.require(complete(X, getattr(self, "feature_names_in_", None)), requirements="W")
        logits: torch.Tensor = self.net_.forward(X, training=False)
        return logits.cpu().double().numpy()
