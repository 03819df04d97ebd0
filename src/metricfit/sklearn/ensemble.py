"""Any classifiers, cross-fitted, calibrated and averaged, and decided for a metric."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from metricfit import Constraint, Metric
from metricfit.sklearn.calibration import MixedCalibrator, SigmoidCalibrator
from metricfit.sklearn.confidence import confident_cut, need_enough_rows
from metricfit.sklearn.crossfit import Member, crossfit, make_folds, rows_of
from metricfit.sklearn.cuts import CutCurve
from metricfit.sklearn.deciding import ClassDecision, LabelDecision, finite_logits
from metricfit.sklearn.defaults import default_members
from metricfit.sklearn.inputs import checked_weights, constrained_metric, encoded
from metricfit.sklearn.named import NamedEstimators, named
from metricfit.sklearn.targets import Target, averaged_metric, has_many, plain_labels, target_of
from metricfit.sklearn.threshold import SLACK
from metricfit.sklearn.top import top_rows
from metricfit.sklearn.weights import member_weights

__all__ = ["MetricEnsemble"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class MetricEnsemble(ClassifierMixin, NamedEstimators, BaseEstimator):
    """Several classifiers that decide together, at the cut that is best for a metric.

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
        What to decide for: a metric, its name (``"f2"``) or its formula (``"2*tp / (2*tp + fp + fn)"``).
    subject_to : Constraint, str or sequence of them, optional
        Constraints on the decision, such as ``"recall >= 0.8"``, beside those of the metric. Without
        `confidence` they hold on the out-of-fold rows.
    cv : int, splitter or iterable of splits
        The folds. With a number they are stratified, and respect the groups given to `fit`.
    cut : {"expected", "empirical", "zero"}
        "expected": the best cut if rows are positive as often as their calibrated probabilities say.
        "empirical": the best cut for the labels of the out-of-fold rows. "zero": probability one half.
    confidence : float, optional
        Choose the cut so that the constraints hold on new rows with this probability, such as 0.95, over the
        draw of the data. It is chosen on a part of the rows that is held out from everything else.
    holdout : float
        The part of the rows that is held out if there is a `confidence`.
    n_jobs : int, optional
        How many fits run at a time, through joblib: its backends decide where.
    random_state : int, RandomState or None
        Decides on the folds, the held-out part, and the random states that members leave at None.
    pos_label : object, optional
        The class that the metric counts as positive; by default the last in sorted order.
    verbose : int
        Print what each member is worth, if above 0.

    Attributes
    ----------
    classes_ : ndarray of shape (classes,)
        The classes, or the numbers of the labels.
    metric_ : Metric
        What is decided for, with all constraints; the mean over several classes or labels.
    columns_ : list of MetricEnsemble
        For several classes or labels, the fitted members of each, against the rest; members, weights,
        calibrators and cuts are then found there.
    decision_ : ClassDecision, LabelDecision or None
        The offsets of several classes, or the cuts of labels.
    members_ : dict of str to Member
        The fitted models of the members that count, ``members_[name].models``.
    weights_ : dict of str to float
        The shares of all members; they add up to 1.
    calibrators_ : dict of str to SigmoidCalibrator
        What makes logits of the scores of a member.
    calibrator_ : MixedCalibrator
        What makes probabilities of the weighted logits.
    oof_ : ndarray of shape (n,)
        The calibrated probability that each row is positive, by models that have not seen it; NaN for rows
        that no fold scores.
    cuts_ : dict
        For the positive class, the :class:`Cut` of the probability: the threshold, and the metric there.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

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
        cut: Literal["expected", "empirical", "zero"] = "expected",
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
        X = self._checked_table(X, y)
        if has_many(y):
            return self._fit_many(X, target_of(y), sample_weight, groups)
        self.decision_ = None
        self.classes_, labels = encoded(y, self.pos_label)
        check_consistent_length(X, labels, sample_weight, groups)
        weights = checked_weights(sample_weight, labels)
        self.metric_ = constrained_metric(self.metric, self.subject_to)
        self._check_settings(weights, groups)
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
        fitted, held_out = self._parts(labels, seed)
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
        probabilities = self._combine(members, scores, labels[fitted], part[0])
        self.oof_ = np.full(len(labels), np.nan)
        self.oof_[fitted] = probabilities
        if held_out is not None:
            self.oof_[held_out] = self._probabilities(rows_of(X, held_out))
        return fitted, held_out

    def _fit_many(self, X: Any, target: Target, sample_weight: Any, groups: Any) -> MetricEnsemble:
        """Fit the members for each class against the rest, or each label, and decide for all together."""
        columns = target.columns
        check_consistent_length(X, columns, sample_weight, groups)
        self.metric_ = averaged_metric(constrained_metric(self.metric, self.subject_to), self.pos_label)
        self.classes_, self._kind = target.classes, target.kind
        random = check_random_state(self.random_state)
        seed = int(random.randint(2**31 - 1))
        self.columns_ = []
        weights = None
        for column in columns.T:
            one = clone(self)
            one.classes_, one.metric_ = np.arange(2), self.metric_.averaged(None)
            weights = checked_weights(sample_weight, column)
            one._check_settings(weights, groups)
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
        X = self._checked_table(X)
        return self._scores_of(self._joint(np.column_stack([one._probabilities(X) for one in self.columns_])))

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

    def score(self, X: Any, y: Any) -> float:
        """Return the score of the prediction by ``metric_``, see :meth:`metricfit.Metric.score`.

        Predictions that break a constraint score below all that meet them. The plain number is
        ``metric_.objective.score(y_true, y_pred)``.
        """
        predicted = self.predict(X)
        if self.decision_ is not None:
            return float(self.metric_.score(plain_labels(y), predicted))
        positive = self.classes_[self._positive]
        return float(self.metric_.score(np.asarray(y) == positive, predicted == positive))

    @property
    def cut_(self) -> float:
        """The probability above which a row is decided to be positive."""
        check_is_fitted(self)
        return float(self.cuts_[self.classes_[self._positive]].threshold)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        inner = [member.__sklearn_tags__().input_tags for _, member in self._named_members()]
        tags.input_tags.allow_nan = all(kind.allow_nan for kind in inner)
        tags.input_tags.sparse = bool(inner) and all(kind.sparse for kind in inner)
        return tags

    @property
    def _positive(self) -> int:
        """The index of the positive class."""
        return 1 if self.pos_label is None or self.classes_[1] == self.pos_label else 0

    def _check_settings(self, weights: FloatArray | None, groups: Any) -> None:
        if self.cut not in ("expected", "empirical", "zero"):
            raise ValueError(f'cut must be "expected", "empirical" or "zero", got {self.cut!r}')
        if self.cut == "zero" and self.metric_.constraints:
            raise ValueError('cut="zero" pays no heed to constraints; use "expected" or "empirical"')
        if self.confidence is None:
            return
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"confidence must be between 0 and 1, such as 0.95, got {self.confidence!r}")
        if not 0.0 < self.holdout < 1.0:
            raise ValueError(f"holdout must be between 0 and 1, got {self.holdout!r}")
        if not self.metric_.constraints:
            raise ValueError('a confidence needs constraints to promise; give subject_to="recall >= 0.8"')
        if weights is not None or groups is not None:
            raise ValueError(
                "a confidence needs rows that are independent and count alike; "
                "fit without sample_weight and groups, or without confidence"
            )

    def _checked_table(self, X: Any, y: Any = None) -> Any:
        """Return data frames as they are, anything else as an array or a sparse matrix with rows.

        With labels the names and the number of columns are kept, without they are compared.
        """
        checked = X
        if not hasattr(X, "columns"):
            checked = check_array(
                X, accept_sparse="csr", dtype=None, ensure_all_finite=False, estimator=self, input_name="X"
            )
        if y is None:
            validate_data(self, checked, reset=False, skip_check_array=True)
        else:
            validate_data(self, checked, y, skip_check_array=True)
        return checked

    def _parts(self, labels: IntArray, seed: int) -> tuple[IntArray, IntArray | None]:
        """Return the rows for the members, and those that are held out for a confidence."""
        everything = np.arange(len(labels))
        if self.confidence is None:
            return everything, None
        # At random, since the exact tests hold for rows drawn at random.
        fitted, held_out = train_test_split(everything, test_size=self.holdout, random_state=seed)
        need_enough_rows(self.metric_.constraints, self.confidence, labels[held_out], labels)
        return np.sort(fitted), np.sort(held_out)

    def _combine(
        self, members: Sequence[Member], scores: FloatArray, labels: IntArray, weights: FloatArray | None
    ) -> FloatArray:
        """Calibrate and weigh the members; return the probabilities of the rows."""
        scored = ~np.isnan(scores[0])
        truth, counts = labels[scored], None if weights is None else weights[scored]
        if len(np.unique(truth)) < 2:
            raise ValueError("the folds score rows of one class only; give folds that score both")
        calibrators = [SigmoidCalibrator().fit(row[scored], truth, counts) for row in scores]
        logits = np.array([c.logits(row[scored]) for c, row in zip(calibrators, scores, strict=True)])
        shares = member_weights(logits, truth, counts)
        self.weights_ = {member.name: float(share) for member, share in zip(members, shares, strict=True)}
        self.calibrators_ = {m.name: calibrator for m, calibrator in zip(members, calibrators, strict=True)}
        self.members_ = {member.name: member for member in members if self.weights_[member.name] > 0.0}
        self.calibrator_ = MixedCalibrator().fit(shares @ logits, truth, counts)
        probabilities = np.full(len(labels), np.nan)
        probabilities[scored] = self.calibrator_.probabilities(shares @ logits)
        if self.verbose > 0:
            for member, row in zip(members, logits, strict=True):
                best = CutCurve.of(
                    MixedCalibrator().fit(row, truth, counts).probabilities(row), truth, counts
                )
                value, share = best.best(self.metric_).value, self.weights_[member.name]
                print(
                    f"{member.name}: {self.metric_.name} {value:.3f} out-of-fold at best, weight {share:.2f}"
                )
        return probabilities

    def _decide(
        self, labels: IntArray, weights: FloatArray | None, fitted: IntArray, held_out: IntArray | None
    ) -> None:
        """Choose the cut, and warn of what is wrong with it."""
        rows = fitted[~np.isnan(self.oof_[fitted])]
        probabilities, counts = self.oof_[rows], None if weights is None else weights[rows]
        truth = probabilities if self.cut == "expected" else labels[rows]
        if self.cut == "zero":
            curve = CutCurve.of(probabilities, truth, counts, thresholds=np.array([0.5]))
        else:
            curve = CutCurve.of(probabilities, truth, counts)
        if held_out is not None and self.confidence is not None:
            cut = confident_cut(self.metric_, curve, self.oof_[held_out], labels[held_out], self.confidence)
        else:
            cut = curve.best(self.metric_)
            if cut.violation > SLACK:
                warnings.warn(
                    f"no cut meets the constraints of {self.metric_!r} out-of-fold; the best misses them by "
                    f"{cut.violation:.3g}. Relax the constraints, or give better members",
                    stacklevel=3,
                )
        self.cuts_ = {self.classes_[self._positive]: cut}
        decided = np.unique(self._labels_of(probabilities > cut.threshold))
        if len(decided) == 1:
            warnings.warn(
                f"every out-of-fold row is decided to be {decided[0]}: the members tell the classes apart "
                f"too little for {self.metric_.name}",
                stacklevel=3,
            )
        if self.verbose > 0:
            print(f"cut at the probability {cut.threshold:.3g}: {self.metric_.name} {cut.value:.3f}")

    def _probabilities(self, X: Any) -> FloatArray:
        total = sum(
            self.weights_[name] * self.calibrators_[name].logits(member.scores(X))
            for name, member in self.members_.items()
        )
        return self.calibrator_.probabilities(np.asarray(total))

    def _new_probabilities(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self._probabilities(self._checked_table(X))

    def _labels_of(self, positive: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[np.where(positive, self._positive, 1 - self._positive)])
