"""Any classifiers, cross-fitted, calibrated and averaged, and decided for a metric."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from metricfit import Constraint, Metric
from metricfit.sklearn.combination import combined
from metricfit.sklearn.confidence import confident_cut
from metricfit.sklearn.crossfit import crossfit, make_folds, rows_of
from metricfit.sklearn.cut_curve import SLACK, CutCurve, CutRule
from metricfit.sklearn.cuts import cut_by
from metricfit.sklearn.decisions import ClassDecision, LabelDecision, finite_logits
from metricfit.sklearn.defaults import default_members
from metricfit.sklearn.ensemble_rows import check_ensemble_settings, checked_table, held_out_rows
from metricfit.sklearn.inputs import constrained_metric
from metricfit.sklearn.member_names import NamedEstimators, named
from metricfit.sklearn.rows import encoded, is_positive, weights_of_both
from metricfit.sklearn.targets import (
    Target,
    averaged_metric,
    averaged_score,
    check_counts,
    has_many,
    target_of,
)
from metricfit.sklearn.top_rows import top_rows

__all__ = ["MetricEnsemble"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class MetricEnsemble(ClassifierMixin, NamedEstimators, BaseEstimator):
    """Several classifiers, averaged, with the threshold that is best for a metric.

    Of more than two classes, each is calibrated against the rest, and the decision is the largest
    log-probability plus an offset per class. Several labels get a cut each, near the common cut where
    positives are few.

    Every member is fitted once for each fold, so that every row gets a score from a model that has not seen
    it. With these out-of-fold scores the members are calibrated (Platt's sigmoid), weighted (members without
    which the others do better get the weight 0), and the cut of the averaged probability is chosen. What
    predicts is the average over the models of all folds; nothing is fitted again on all rows.

    Parameters
    ----------
    estimators : sequence of classifiers, or of (name, classifier) pairs, optional
        The members. Each needs ``decision_function`` or ``predict_proba``; the positive class is 1 and the
        other 0 for them. By default a network that is trained for the metric, and boosted trees, which take
        data frames with words, categories and missing values.
    metric : Metric or str
        The metric to predict for, its name (``"f2"``) or its formula (``"2*tp / (2*tp + fp + fn)"``).
    subject_to : Constraint, str or sequence of them, optional
        Constraints on the prediction, such as ``"recall >= 0.8"``, beside those of the metric. Without
        `confidence` they hold on the out-of-fold rows.
    cv : int, splitter or iterable of splits
        The folds. With a number they are stratified, and respect the groups given to `fit`.
    cut : {"expected", "empirical", "zero"}
        How the threshold is chosen. "expected": the best one if rows are positive as often as their
        calibrated probabilities say. "empirical": the best one for the labels of the out-of-fold rows.
        "zero": probability one half.
    confidence : float, optional
        Choose the cut so that the constraints hold on new rows with this probability, such as 0.95, over the
        draw of the data. It is chosen on a part of the rows that is held out from everything else.
    holdout : float
        The part of the rows that is held out if there is a `confidence`.
    n_jobs : int, optional
        How many fits run at the same time, with joblib and its backends. For a table of fewer than ten
        million numbers each fit has one OpenMP thread, because more would stall if the machine is busy.
    random_state : int, RandomState or None
        Decides on the folds, the held-out part, and the random states that members leave at None.
    pos_label : object, optional
        The class that the metric counts as positive; by default the last in sorted order.
    verbose : int
        Print the score of each member alone, if above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The classes, or the numbers of the labels.
    metric_ : Metric
        What is decided for, with all constraints; the mean over several classes or labels, except that
        ``"accuracy"`` of classes is the share of correct rows.
    columns_ : list of MetricEnsemble
        For several classes or labels, the fitted members of each, against the rest; members, weights,
        calibrators and cuts are then found there.
    decision_ : ClassDecision, LabelDecision or None
        The offsets of several classes, or the cuts of labels.
    members_ : dict of str to Member
        The fitted models of the members with a weight above 0, ``members_[name].models``.
    weights_ : dict of str to float
        The shares of all members; they add up to 1.
    calibrators_ : dict of str to SigmoidCalibration
        From the scores of a member to logits.
    calibrator_ : MixedCalibration
        From the weighted logits to probabilities.
    oof_ : ndarray of shape (n,)
        The calibrated probability that each row is positive, by models that have not seen it; NaN for rows
        that no fold scores.
    cuts_ : dict
        For the positive class, the :class:`Cut` of the probability: the threshold, and the metric there.
    n_features_in_, feature_names_in_
        The number and the names of the columns, as in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> linear = make_pipeline(StandardScaler(), LogisticRegression())
    >>> trees = HistGradientBoostingClassifier(max_iter=20)
    >>> model = MetricEnsemble([("linear", linear), ("trees", trees)], metric="f2", cv=3, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.97
    True
    >>> model.cut_ < 0.5
    True
    """

    columns_: list[MetricEnsemble]
    decision_: ClassDecision | LabelDecision | None

    def __init__(
        self,
        estimators: Sequence[Any] | None = None,
        *,
        metric: Metric | str = "f1",
        subject_to: Constraint | str | Sequence[Constraint | str] | None = None,
        cv: Any = 5,
        cut: CutRule = "expected",
        confidence: float | None = None,
        holdout: float = 0.25,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        pos_label: object = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.metric = metric
        self.subject_to = subject_to
        self.cv = cv
        self.cut = cut
        self.confidence = confidence
        self.holdout = holdout
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.pos_label = pos_label
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> MetricEnsemble:
        """Fit the members on every fold, and choose weights and cut.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            The table, in any form that the members take.
        y : array_like of shape (n,)
            Labels of two classes or more, or 0 and 1 of shape (n, labels).
        sample_weight : array_like of shape (n,), optional
            How much each row counts: in the members, the calibration, the weights and the cut.
        groups : array_like of shape (n,), optional
            Rows of the same group are never in two folds.
        """
        X = checked_table(self, X, y)
        if has_many(y):
            return self._fit_many(X, target_of(y), sample_weight, groups)
        self.decision_ = None
        self.classes_, labels = encoded(y, self.pos_label)
        check_consistent_length(X, labels, sample_weight, groups)
        weights = weights_of_both(sample_weight, labels)
        self.metric_ = constrained_metric(self.metric, self.subject_to)
        check_ensemble_settings(self, self.metric_, weighted=weights is not None, grouped=groups is not None)
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        fitted, held_out = self._fit_members(X, labels, weights, groups, random, seed)
        self._decide(labels, weights, fitted, held_out)
        return self

    def _fit_members(
        self,
        X: Any,
        labels: IntArray,
        weights: FloatArray | None,
        groups: Any,
        random: np.random.RandomState,
        seed: int,
    ) -> tuple[IntArray, IntArray | None]:
        """Fit, calibrate and weigh the members; return the rows for them, and those held out from them."""
        fitted, held_out = held_out_rows(self.metric_, labels, self.confidence, self.holdout, seed)
        part = [None if given is None else np.asarray(given)[fitted] for given in (weights, groups)]
        rows = X if held_out is None else rows_of(X, fitted)
        if self.estimators is None:
            estimators = default_members(self.metric_, rows, labels[fitted])
        else:
            estimators = named(self.estimators)
        members, scores = crossfit(
            estimators,
            rows,
            labels[fitted],
            make_folds(self.cv, rows, labels[fitted], part[1], seed),
            sample_weight=part[0],
            random=random,
            n_jobs=self.n_jobs,
        )
        report_for = self.metric_ if self.verbose > 0 else None
        self._combination, probabilities = combined(
            members, scores, labels[fitted], part[0], report_for=report_for
        )
        self.members_, self.weights_ = self._combination.members, self._combination.weights
        self.calibrators_, self.calibrator_ = self._combination.calibrators, self._combination.calibrator
        self.oof_ = np.full(len(labels), np.nan)
        self.oof_[fitted] = probabilities
        if held_out is not None:
            self.oof_[held_out] = self._combination.probabilities(rows_of(X, held_out))
        return fitted, held_out

    def _fit_many(self, X: Any, target: Target, sample_weight: Any, groups: Any) -> MetricEnsemble:
        """Fit the members for each class against the rest, or each label, and decide for all together."""
        columns = target.columns
        check_counts(target)
        check_consistent_length(X, columns, sample_weight, groups)
        self.metric_ = averaged_metric(
            constrained_metric(self.metric, self.subject_to), self.pos_label, target.kind
        )
        self.classes_, self._kind = target.classes, target.kind
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        self.columns_ = []
        weights = None
        for column in columns.T:
            one = clone(self)
            one.classes_, one.metric_ = np.arange(2), self.metric_.averaged(None)
            weights = weights_of_both(sample_weight, column)
            check_ensemble_settings(
                one, one.metric_, weighted=weights is not None, grouped=groups is not None
            )
            one._fit_members(X, column, weights, groups, random, seed)
            self.columns_.append(one)
        self.oof_ = self._joint(np.column_stack([one.oof_ for one in self.columns_]))
        scored = ~np.isnan(self.oof_).any(axis=1)
        counts = None if weights is None else weights[scored]
        scores, codes = self._scores_of(self.oof_[scored]), target.codes[scored]
        if target.kind == "classes":
            self.decision_ = ClassDecision.fit(self.metric_, scores, codes, counts, self.cut, calibrated=True)
        else:
            self.decision_ = LabelDecision.fit(self.metric_, scores, codes, counts, self.cut, calibrated=True)
        return self

    def _joint(self, probabilities: FloatArray) -> FloatArray:
        """Return probabilities of classes that add up to 1, and those of labels as they are."""
        if self._kind == "labels":
            return probabilities
        return np.asarray(probabilities / probabilities.sum(axis=1, keepdims=True))

    def _scores_of(self, probabilities: FloatArray) -> FloatArray:
        return np.log(probabilities) if self._kind == "classes" else finite_logits(probabilities)

    def _new_scores(self, X: Any) -> FloatArray:
        X = checked_table(self, X)
        return self._scores_of(
            self._joint(np.column_stack([one._combination.probabilities(X) for one in self.columns_]))
        )

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the calibrated probabilities of the classes or labels."""
        check_is_fitted(self)
        if self.decision_ is not None:
            return self.decision_.probabilities(self._new_scores(X))
        positive = self._new_probabilities(X)
        columns = (1.0 - positive, positive) if self._positive == 1 else (positive, 1.0 - positive)
        return np.column_stack(columns)

    def decision_function(self, X: Any) -> FloatArray:
        """Return how far each row is on the side of ``classes_[1]``: its logit less that of the cut.

        With several classes or labels there is one column for each, as in :class:`MetricClassifier`.
        """
        check_is_fitted(self)
        if self.decision_ is not None:
            return self.decision_.scores(self._new_scores(X))
        margin = logit(self._new_probabilities(X)) - logit(self.cut_)
        return np.asarray(margin if self._positive == 1 else -margin)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the labels of rows."""
        check_is_fitted(self)
        if self.decision_ is not None:
            predicted = self.decision_.predict(self._new_scores(X))
            return predicted if self._kind == "labels" else np.asarray(self.classes_[predicted])
        positive = self._new_probabilities(X)
        if self.metric_.size is not None:
            return self._labels_of(top_rows(self.metric_, positive))
        return self._labels_of(positive > self.cut_)

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return the score of the prediction by ``metric_``, see :meth:`metricfit.Metric.score`.

        Predictions that break a constraint score below all that meet them. The plain number is
        ``metric_.objective.score(y_true, y_pred)``.
        """
        predicted = self.predict(X)
        if self.decision_ is not None:
            return averaged_score(self.metric_, y, predicted, sample_weight)
        positive = self.classes_[self._positive]
        truth = is_positive(y, self.classes_, self._positive)
        return float(self.metric_.score(truth, predicted == positive, sample_weight=sample_weight))

    @property
    def cut_(self) -> float:
        """The probability above which a row is decided to be positive."""
        check_is_fitted(self)
        return float(self.cuts_[self.classes_[self._positive]].threshold)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    @property
    def _positive(self) -> int:
        """The index of the positive class."""
        return 1 if self.pos_label is None or self.classes_[1] == self.pos_label else 0

    def _decide(
        self, labels: IntArray, weights: FloatArray | None, fitted: IntArray, held_out: IntArray | None
    ) -> None:
        """Choose the cut, and warn of what is wrong with it."""
        rows = fitted[~np.isnan(self.oof_[fitted])]
        chances, truth, limits = self.oof_[rows], labels[rows], (0.0, 1.0)
        if held_out is not None and self.confidence is not None:
            plan = CutCurve.of(chances, chances if self.cut == "expected" else truth, limits=limits)
            cut = confident_cut(self.metric_, plan, self.oof_[held_out], labels[held_out], self.confidence)
        else:
            counts = None if weights is None else weights[rows]
            cut = cut_by(
                self.cut, self.metric_, chances, truth, chances, neutral=0.5, weights=counts, limits=limits
            )
            if cut.violation > SLACK:
                warnings.warn(
                    f"no cut meets the constraints of {self.metric_!r} out-of-fold; the best misses them by "
                    f"{cut.violation:.3g}. Relax the constraints, or give better members",
                    stacklevel=3,
                )
        self.cuts_ = {self.classes_[self._positive]: cut}
        decided = np.unique(self._labels_of(self.oof_[rows] > cut.threshold))
        if len(decided) == 1:
            warnings.warn(
                f"every out-of-fold row is predicted to be {decided[0]}: the members do not separate the "
                f"classes well enough for {self.metric_.name}",
                stacklevel=3,
            )
        if self.verbose > 0:
            print(f"cut at the probability {cut.threshold:.3g}: {self.metric_.name} {cut.value:.3f}")

    def _new_probabilities(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self._combination.probabilities(checked_table(self, X))

    def _labels_of(self, positive: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[np.where(positive, self._positive, 1 - self._positive)])
