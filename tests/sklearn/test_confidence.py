"""Constraints that hold on new rows: which tests are exact, how often they hold, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from metricfit.sklearn import MetricEnsemble
from metricfit.sklearn.binomial import as_share, bounds
from metricfit.sklearn.confidence import NotShownError, confident_cut, need_enough_rows
from metricfit.sklearn.cut_curve import CutCurve

SHARES = [
    mf.recall >= 0.8,
    mf.recall <= 0.7,
    mf.specificity >= 0.9,
    mf.precision >= 0.6,
    mf.npv >= 0.6,
    mf.accuracy >= 0.7,
    mf.f1 >= 0.5,
    mf.get_metric("fp / an") <= 0.3,
    mf.get_metric("fp / pp") <= 0.3,
]
OTHERS = [mf.mcc >= 0.3, mf.kappa >= 0.3, mf.balanced_accuracy >= 0.7, mf.f2 >= 0.5, mf.recall >= 1.0]


@given(st.tuples(*[st.integers(1, 30)] * 4))
@pytest.mark.parametrize("constraint", SHARES, ids=str)
def test_a_share_says_what_the_constraint_says(constraint, counts):
    tp, fp, fn, tn = counts
    labels, predicted = np.repeat([1, 0, 1, 0], counts), np.repeat([1, 1, 0, 0], counts)
    value = constraint.metric.score(labels, predicted)
    holds = value >= constraint.threshold if constraint.sense == ">=" else value <= constraint.threshold
    share = as_share(constraint)
    successes, trials = share.counts({"tp": tp, "fp": fp, "fn": fn, "tn": tn})
    if abs(value - constraint.threshold) > 1e-9:
        assert (successes / trials >= share.least) == holds


@pytest.mark.parametrize("constraint", OTHERS, ids=str)
def test_what_is_no_share_is_known(constraint):
    assert as_share(constraint) is None


def test_the_bounds_are_those_of_the_binomial_distribution():
    low, high = bounds(np.array([0, 5, 10]), np.array([10, 10, 10]), 0.025)
    np.testing.assert_allclose(low, [0.0, 0.18709, 0.69150], atol=1e-5)
    np.testing.assert_allclose(high, [0.30850, 0.81291, 1.0], atol=1e-5)


def drawn(random, size):
    """Draw labels, and scores that tell of them."""
    labels = (random.random(size) < 0.3).astype(int)
    return np.clip(random.normal(0.35 + 0.3 * labels, 0.15), 0.001, 0.999), labels


@pytest.mark.parametrize(
    "formula",
    [
        "precision subject to recall >= 0.8",
        "recall subject to precision >= 0.75",
        "recall subject to mcc >= 0.4",
    ],
)
def test_the_constraint_holds_with_the_confidence(formula):
    random = np.random.default_rng(0)
    metric = mf.get_metric(formula)
    constraint = metric.constraints[0]
    new, truth = drawn(random, 200_000)
    given = kept = 0
    for _ in range(250):
        plan = CutCurve.of(*drawn(random, 400))
        try:
            cut = confident_cut(metric, plan, *drawn(random, 400), 0.9)
        except NotShownError:
            continue
        given += 1
        kept += constraint.metric.score(truth, new > cut.threshold) >= constraint.threshold
    assert given > 200
    # Of 200 promises that are each kept with 0.9, fewer than 0.85 are kept once in a hundred times.
    assert kept / given > 0.85


def test_the_ensemble_holds_rows_out_for_the_confidence():
    X, y = make_classification(1200, 5, flip_y=0.1, random_state=0)
    settings = {"metric": "precision", "subject_to": "recall >= 0.8", "cv": 3, "random_state": 0}
    plain = MetricEnsemble([LogisticRegression()], **settings).fit(X, y)
    sure = MetricEnsemble([LogisticRegression()], confidence=0.95, **settings).fit(X, y)
    assert sure.cut_ < plain.cut_
    cut = sure.cuts_[1]
    assert cut.violation == 0.0
    # 300 rows were held out, of which the recall and the precision at the cut are known.
    bigger = MetricEnsemble([LogisticRegression()], confidence=0.95, holdout=0.5, **settings).fit(X, y)
    assert not np.isnan(bigger.oof_).any()


def test_what_few_rows_cannot_show_is_refused_before_anything_is_fitted():
    X, y = make_classification(400, 5, weights=[0.95], flip_y=0.0, random_state=0)
    never = MetricEnsemble(
        ["fit would fail"], metric="precision", subject_to="recall >= 0.9", confidence=0.95
    )
    with pytest.raises(NotShownError, match="needs 29 positive rows held out, and there are"):
        never.fit(X, y)


def test_the_sentence_counts_the_rows_that_matter():
    labels = np.repeat([0, 1], [380, 20])
    held_out = labels[::4]
    with pytest.raises(NotShownError, match=r"give about 116 positive rows in all \(there are 20\)"):
        need_enough_rows([mf.recall >= 0.9], 0.95, held_out, labels)
    with pytest.raises(NotShownError, match="needs 299 negative rows held out, and there are 95"):
        need_enough_rows([mf.specificity >= 0.99], 0.95, held_out, labels)
    with pytest.raises(NotShownError, match="needs 299 rows held out, and there are 100"):
        need_enough_rows([mf.precision >= 0.99], 0.95, held_out, labels)
    need_enough_rows([mf.mcc >= 0.99, mf.recall >= 0.5], 0.95, held_out, labels)


def test_a_confidence_that_the_rows_do_not_support_is_refused():
    random = np.random.default_rng(0)
    noise, labels = random.random(400), random.integers(0, 2, 400)
    metric = mf.recall.subject_to(mf.precision >= 0.9)
    with pytest.raises(NotShownError, match=r"do not show precision >= 0\.9 with confidence 0\.95"):
        confident_cut(metric, CutCurve.of(noise, labels), noise, labels, 0.95)
    with pytest.raises(NotShownError, match="do not show recall >= 1"):
        confident_cut(mf.precision_at_recall(1.0), CutCurve.of(noise, labels), noise, labels, 0.95)


@pytest.mark.parametrize(
    ("settings", "weights", "sentence"),
    [
        ({"confidence": 1.5}, None, "confidence must be between 0 and 1"),
        ({"holdout": 0.0}, None, "holdout must be between 0 and 1"),
        ({"subject_to": None}, None, "confidence needs a constraint"),
        ({}, 1.0 + np.arange(100) % 2, "independent rows of equal weight"),
    ],
)
def test_bad_arguments_raise_a_clear_error(settings, weights, sentence):
    X, y = make_classification(100, 4, random_state=0)
    model = MetricEnsemble(**{"subject_to": "recall >= 0.5", "confidence": 0.9, **settings})
    with pytest.raises(ValueError, match=sentence):
        model.fit(X, y, sample_weight=weights)
