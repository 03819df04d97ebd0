"""Metrics of predictions of one size: the k highest scores are predicted, in training and after it."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import metricfit as mf
from metricfit.sklearn import MetricClassifier, MetricEnsemble, best_cut, expected_cut
from metricfit.sklearn.cut_curve import CutCurve
from metricfit.sklearn.top_rows import as_share, top_margins, top_rows


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(1600, 8, n_informative=4, weights=[0.9], flip_y=0.02, random_state=3)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[:800], y[:800], X[800:], y[800:]


def models(metric):
    return {
        "metric": MetricClassifier(metric, max_epochs=8, random_state=0),
        "cross-entropy": MetricClassifier(metric, loss="cross-entropy", max_epochs=8, random_state=0),
        "ensemble": MetricEnsemble([LogisticRegression()], metric=metric, cv=3, random_state=0),
    }


@pytest.mark.parametrize("name", models("f1"))
@pytest.mark.parametrize(("metric", "size"), [("precision@25", 25), ("recall@5%", 40)])
def test_the_rows_with_the_highest_scores_are_predicted(data, name, metric, size):
    X, y, new, truth = data
    model = models(metric)[name].fit(X, y)
    predicted = model.predict(new)
    assert predicted.sum() == size
    scores = model.decision_function(new)
    assert scores[predicted == 1].min() >= scores[predicted == 0].max()
    assert model.predict(new[:100]).sum() == (25 if size == 25 else 5)
    assert model.score(new, truth) == mf.get_metric(metric).score(truth, predicted)
    hits = truth[np.argsort(-scores, kind="stable")[:size]].mean()
    assert hits > 0.4


def test_the_negative_label_can_be_what_is_looked_for(data):
    X, y, new, _ = data
    model = MetricClassifier("precision@30", pos_label=0, max_epochs=2, random_state=0).fit(X, y)
    assert (model.predict(new) == 0).sum() == 30


def test_held_out_rows_are_cut_at_the_share_of_all_rows(data):
    X, y, new, truth = data
    model = MetricClassifier("precision@80", max_epochs=2, random_state=0)
    model.fit(X, y, validation_set=(new, truth))
    assert (model.decision_function(new) > 0).sum() == 40


def test_a_size_in_rows_is_a_share_for_parts_of_the_rows():
    assert as_share(mf.precision_at_k(30), 600).sizes(100) == (5,)
    assert as_share(mf.precision_at_k(30), 10).sizes(10) == (10,)
    assert as_share(mf.precision.at_size(0.25), 10).size == 0.25


def test_ties_are_broken_by_the_order_of_the_rows():
    scores = np.array([1.0, 2.0, 1.0, 1.0])
    assert top_rows(mf.precision_at_k(2), scores).tolist() == [True, True, False, False]
    assert (top_margins(mf.precision_at_k(2), scores) > 0).tolist() == [True, True, False, False]
    assert (top_margins(mf.precision_at_k(9), scores) > 0).all()
    assert top_margins(mf.precision_at_k(1), np.array([])).size == 0


@pytest.mark.parametrize("size", [1, 7, 0.2])
def test_every_way_to_choose_a_cut_takes_the_one_of_the_size(size):
    random = np.random.default_rng(0)
    scores, labels = random.random(50), random.integers(0, 2, 50)
    metric = mf.precision.at_size(size)
    (count,) = metric.sizes(50)
    for cut in (
        best_cut(metric, scores, labels),
        expected_cut(metric, scores, labels, scores),
        CutCurve.of(scores, labels).best(metric),
    ):
        assert (scores > cut.threshold).sum() == count


@pytest.mark.parametrize(
    ("text", "size", "name"),
    [
        ("precision@100", 100, "precision@100"),
        ("precision @ 100", 100, "precision@100"),
        ("precision at 5 %", 0.05, "precision@5%"),
        ("recall at top 10", 10, "recall@10"),
        ("f1 at size 0.25", 0.25, "f1@0.25"),
        ("2*tp/(ap+pp)@7", 7, "2*tp/(ap + pp)@7"),
    ],
)
def test_sizes_are_read_from_text(text, size, name):
    metric = mf.get_metric(text)
    assert metric.size == size
    assert metric.name == name
    assert mf.get_metric(metric.name) == metric


@pytest.mark.parametrize("text", ["precision@0", "precision@150%", "precision@1.5", "precision@", "@5"])
def test_sizes_that_make_no_sense_are_refused(text):
    with pytest.raises(ValueError, match=r"size must be a whole number|is not a formula|formula is empty"):
        mf.get_metric(text)


def test_families_whose_names_have_an_at_are_read_as_before():
    assert mf.get_metric("precision_at_recall(0.8)") == mf.precision_at_recall(0.8)
    assert mf.get_metric("precision_at_k(3)") == mf.precision_at_k(3)


def test_a_size_is_for_two_classes(data):
    X, y, _, _ = data
    with pytest.raises(ValueError, match="a size is for two classes"):
        MetricClassifier("precision@5").fit(X, y + (X[:, 0] > 1))
