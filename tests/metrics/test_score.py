"""Scores equal scikit-learn's, but where scikit-learn leaves the value to the caller or chooses otherwise."""

import itertools
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import metricfit as mf
from formulas import BUILT_IN_FORMULAS, SOFT_ONLY_FORMULAS, by_the_rule, close, value_of
from metricfit.metrics.builtin import BUILT_IN

REFERENCES = {
    "accuracy": sk.accuracy_score,
    "precision": lambda y, p: sk.precision_score(y, p, zero_division=0),
    "recall": lambda y, p: sk.recall_score(y, p, zero_division=0),
    "specificity": lambda y, p: sk.recall_score(y, p, pos_label=0, zero_division=0),
    "npv": lambda y, p: sk.precision_score(y, p, pos_label=0, zero_division=0),
    "f1": lambda y, p: sk.f1_score(y, p, zero_division=0),
    "f2": lambda y, p: sk.fbeta_score(y, p, beta=2, zero_division=0),
    "fbeta(0.5)": lambda y, p: sk.fbeta_score(y, p, beta=0.5, zero_division=0),
    "gm_precision_recall": lambda y, p: np.sqrt(
        sk.precision_score(y, p, zero_division=0) * sk.recall_score(y, p, zero_division=0)
    ),
    "balanced_accuracy": sk.balanced_accuracy_score,
    "informedness": lambda y, p: sk.balanced_accuracy_score(y, p, adjusted=True),
    "markedness": lambda y, p: sk.precision_score(y, p) + sk.precision_score(y, p, pos_label=0) - 1,
    "kappa": sk.cohen_kappa_score,
    "mcc": sk.matthews_corrcoef,
    "jaccard": lambda y, p: sk.jaccard_score(y, p, zero_division=0),
    "g_mean": lambda y, p: np.sqrt(
        sk.recall_score(y, p, zero_division=0) * sk.recall_score(y, p, pos_label=0, zero_division=0)
    ),
}
FORMULAS = BUILT_IN_FORMULAS | SOFT_ONLY_FORMULAS
# scikit-learn averages over the classes that occur, or is undefined; our docstrings say what metricfit does.
CONSTRAINED = {name for name in BUILT_IN if "_at_" in name}
ONE_CLASS_DIFFERS = {"balanced_accuracy", "informedness", "markedness"}


def test_every_built_in_metric_has_a_reference():
    assert set(REFERENCES) == set(FORMULAS)
    assert set(BUILT_IN) <= {name.partition("(")[0] for name in FORMULAS} | CONSTRAINED


@pytest.mark.parametrize("name", FORMULAS)
def test_score_is_the_formula_at_every_confusion_matrix_of_six_samples(name):
    metric = mf.get_metric(name)
    assert metric.playable == (name in BUILT_IN_FORMULAS)
    for tp, fp, fn, tn in itertools.product(range(7), repeat=4):
        if tp + fp + fn + tn == 6:
            y, p = np.repeat([[1, 0, 1, 0], [1, 1, 0, 0]], [tp, fp, fn, tn], axis=1)
            expected = by_the_rule(value_of(FORMULAS[name], tp, tp + fp, tp + fn, 6), tp + fp, tp + fn, 6)
            assert close(metric.score(y, p), expected), (tp, fp, fn, tn)


@pytest.mark.parametrize("name", REFERENCES)
def test_score_equals_scikit_learn_on_random_labels(name):
    rng = np.random.default_rng(0)
    metric = mf.get_metric(name)
    for n in (10, 50, 1000):
        for _ in range(10):
            y, p = rng.random(n) < 0.4, rng.random(n) < 0.5
            y[:2] = p[:2] = [True, False]
            assert metric.score(y, p) == pytest.approx(
                REFERENCES[name](y.astype(int), p.astype(int)), abs=1e-12
            )


@pytest.mark.parametrize("name", sorted(set(REFERENCES) - ONE_CLASS_DIFFERS))
@pytest.mark.parametrize("truth", ["zeros", "ones", "mixed"])
@pytest.mark.parametrize("guess", ["zeros", "ones", "mixed"])
def test_score_on_one_class_equals_scikit_learn_or_is_one_where_truth_and_prediction_cannot_differ(
    name, truth, guess
):
    labels = {"zeros": np.zeros(4, int), "ones": np.ones(4, int), "mixed": np.array([0, 1, 1, 0])}
    y, p = labels[truth], labels[guess]
    score = mf.get_metric(name).score(y, p)
    if truth == guess:
        assert score == 1
    else:
        assert score == pytest.approx(REFERENCES[name](y, p), abs=1e-12)


@pytest.mark.parametrize("name", ["balanced_accuracy", "informedness"])
def test_a_missing_class_makes_the_score_one_or_zero(name):
    metric = mf.get_metric(name)
    assert metric.score([0, 0, 0], [0, 0, 0]) == 1
    assert metric.score([0, 0, 0], [0, 0, 1]) == 0
    assert metric.score([1, 1, 1], [0, 1, 1]) == 0


def test_a_class_never_predicted_makes_markedness_one_or_zero():
    assert mf.markedness.score([1, 1], [1, 1]) == 1
    assert mf.markedness.score([0, 1], [1, 1]) == 0
    assert mf.markedness.score([0, 1], [0, 0]) == 0


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30),
    st.sampled_from(sorted(BUILT_IN_FORMULAS)),
)
def test_score_is_the_value_of_the_table(pairs, name):
    y, p = np.array(pairs).T
    alpha, beta = mf.get_metric(name).table(len(y))
    expected = alpha[p.sum(), y.sum()] * (y & p).sum() + beta[p.sum(), y.sum()]
    assert mf.get_metric(name).score(y, p) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_right_prediction_scores_exactly_one(name):
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 40, 333):
        y = rng.random(n) < 0.3
        assert mf.get_metric(name).score(y, y) == 1.0


@pytest.mark.parametrize("kind", [bool, int, np.uint8, float, np.float16, object, list])
def test_labels_may_be_of_any_type_that_holds_zero_and_one(kind):
    y, p = [0, 1, 1, 0], [0, 1, 0, 0]
    if kind is not list:
        y, p = np.array(y).astype(kind), np.array(p).astype(kind).reshape(-1, 1)
    assert mf.accuracy.score(y, p) == 0.75


@pytest.mark.parametrize(("labels", "pos_label"), [(["no", "yes"], "Yes"), ([0, 1], "1"), (["0", "1"], 1)])
def test_a_positive_label_that_does_not_occur_is_refused(labels, pos_label):
    with pytest.raises(ValueError, match="is none of the labels, such as"):
        mf.f1.score(labels, labels, pos_label=pos_label)
    # A fold may lack it.
    assert mf.f1.score(labels[:1], labels[:1], pos_label=pos_label) == 1.0


@pytest.mark.parametrize(
    ("y", "p", "phrase"),
    [
        ([], [], "at least one sample"),
        ([0, 1], [1], "y_true has 2 samples and y_pred 1"),
        ([-1, 1], [1, 1], "y_true must hold 0 and 1, but holds -1"),
        ([0, 1], [0.2, 0.7], "logits at 0"),
        ([0, 1], [0, float("nan")], "holds nan"),
        (["a", "b"], ["a", "b"], "pos_label"),
        (np.zeros((2, 2, 2)), np.zeros((2, 2, 2)), "one dimension"),
        (csr_array([[0, 1]]), csr_array([[0, 1]]), r"y_true is a sparse matrix; give y_true\.toarray\(\)"),
        (torch.ones(2, requires_grad=True), [0, 1], "y_true is no array: .*; a score has no gradient"),
    ],
)
def test_invalid_labels_are_refused(y, p, phrase):
    with pytest.raises(ValueError, match=phrase):
        mf.f1.score(y, p)


def test_weights_whose_sum_is_infinite_are_refused():
    with pytest.raises(ValueError, match="the sum of sample_weight is infinite"):
        mf.f1.score([1, 0], [1, 1], sample_weight=[1e308, 1e308])


def test_breaking_a_constraint_scores_below_the_range_by_the_largest_violation():
    y, half, whole = [0, 1, 1, 0], [0, 1, 0, 0], [0, 1, 1, 1]
    metric = mf.precision_at_recall(0.9)
    assert metric.score(y, whole) == mf.precision.score(y, whole)
    assert metric.score(y, half) == pytest.approx(0 - (0.9 - 0.5))
    assert metric.objective.score(y, half) == mf.precision.score(y, half) == 1
    # The range of MCC starts at -1; of several constraints the largest violation counts; <= is one, too.
    several = mf.mcc.subject_to(mf.recall >= 0.6, mf.specificity >= 0.75, mf.recall <= 0.2)
    assert several.score(y, half) == pytest.approx(-1 - (0.5 - 0.2))


def test_a_constraint_met_exactly_is_met():
    assert mf.precision_at_recall(0.7).score([1] * 10, [1] * 7 + [0] * 3) == 1
    assert mf.recall_at_precision(0.1).score([1] + [0] * 9, [1] * 10) == 1


@given(
    st.lists(st.booleans(), min_size=2, max_size=12),
    st.data(),
    st.sampled_from(["mcc", "-5*fn-fp", "(tp/pp)/(ap/all)", "-all*fp/ap-fn", "jaccard"]),
)
def test_every_feasible_prediction_scores_above_every_infeasible_one(y, data, name):
    metric = mf.get_metric(name).subject_to(mf.recall >= 0.5, mf.accuracy >= 0.4)
    guesses = data.draw(st.lists(st.lists(st.booleans(), min_size=len(y), max_size=len(y)), min_size=2))
    feasible, infeasible = [], []
    for p in guesses:
        met = mf.recall.score(y, p) >= 0.5 and mf.accuracy.score(y, p) >= 0.4
        (feasible if met else infeasible).append(metric.score(y, p))
    if feasible and infeasible:
        assert min(feasible) > max(infeasible)


class Fixed(ClassifierMixin, BaseEstimator):
    """Predicts a part of the positives, and some negatives."""

    def __init__(self, found=1.0, alarms=0.0):
        self.found = found
        self.alarms = alarms

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        # The first column is the label, the second its rank within the class.
        share = np.where(X[:, 0] == 1, self.found, self.alarms)
        return (X[:, 1] < share).astype(int)


@pytest.mark.parametrize(
    "scorer",
    [
        mf.precision_at_recall(0.8).scorer(),
        mf.get_metric("precision subject to recall >= 0.8").scorer(),
        mf.precision.subject_to(mf.recall >= 0.8, mf.g_mean >= 0.1).scorer(),
    ],
)
def test_a_search_prefers_the_model_that_meets_the_constraint(scorer):
    ranks = np.random.default_rng(0).permutation(20) / 20
    X = np.array([[label, rank] for rank in ranks for label in (0, 1)])
    y = X[:, 0].astype(int)
    grid = [{"found": [0.15], "alarms": [0.0]}, {"found": [0.85], "alarms": [0.6]}]
    search = GridSearchCV(Fixed(), grid, scoring=scorer, cv=2).fit(X, y)
    assert search.best_params_ == {"found": 0.85, "alarms": 0.6}
    assert search.cv_results_["mean_test_score"][0] < 0 < search.best_score_
    plain = GridSearchCV(Fixed(), grid, scoring=mf.precision.scorer(), cv=2).fit(X, y)
    assert plain.best_params_ == {"found": 0.15, "alarms": 0.0}


def test_a_scorer_selects_a_model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 0.5).astype(int)
    grid = {"class_weight": [None, {0: 1, 1: 10}, {0: 10, 1: 1}]}
    ours, theirs = (
        GridSearchCV(LogisticRegression(), grid, scoring=scoring, cv=3).fit(X, y)
        for scoring in (mf.f2.scorer(), sk.make_scorer(sk.fbeta_score, beta=2))
    )
    scores = [search.cv_results_["mean_test_score"] for search in (ours, theirs)]
    np.testing.assert_allclose(*scores, rtol=1e-12)
    assert ours.best_params_ == {"class_weight": {0: 1, 1: 10}}
    assert ours.best_score_ > scores[0][0] + 0.05


def test_a_scorer_knows_the_positive_label():
    model = DummyClassifier(strategy="constant", constant="sick").fit([[0], [0]], ["sick", "well"])
    assert mf.precision.scorer(pos_label="sick")(model, [[0]] * 4, ["sick", "well", "well", "well"]) == 0.25


def test_scoring_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mf.mcc.score([0, 0], [0, 0]) == 1
