"""More than two classes, and several labels per row, in the classifier and the ensemble."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score

import metricfit as mf
from metricfit.sklearn import MetricClassifier, MetricEnsemble
from metricfit.sklearn.decisions import ClassDecision, LabelDecision, mean_value

NAMES = np.array(["bird", "cat", "dog"])


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(
        500, 6, n_informative=5, n_redundant=0, n_classes=3, weights=[0.7, 0.2], random_state=0
    )
    return X[:300], NAMES[y[:300]], X[300:], NAMES[y[300:]]


@pytest.fixture(scope="module")
def labels():
    X, y = make_multilabel_classification(500, 8, n_classes=4, n_labels=1, random_state=0)
    X = (X - X.mean(0)) / X.std(0)
    return X[:300], y[:300], X[300:], y[300:]


def models():
    return {
        "network": MetricClassifier("f1", max_epochs=15, lr=0.01, random_state=0),
        "cross-entropy": MetricClassifier("f1", loss="cross-entropy", max_epochs=15, lr=0.01, random_state=0),
        "ensemble": MetricEnsemble([LogisticRegression()], cv=3, random_state=0),
    }


@pytest.mark.parametrize("name", models())
def test_classes_are_learned_and_scored_as_scikit_learn_does(classes, name):
    X, y, new, truth = classes
    model = models()[name].fit(X, y)
    predicted = model.predict(new)
    assert list(model.classes_) == NAMES.tolist()
    assert model.metric_ == mf.f1.macro()
    assert model.score(new, truth) == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert model.score(new, truth) > 0.55
    assert np.array_equal(model.classes_[model.decision_function(new).argmax(1)], predicted)
    chances = model.predict_proba(new)
    assert chances.shape == (200, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert -np.log(chances[np.arange(200), np.searchsorted(NAMES, truth)]).mean() < np.log(3)


@pytest.mark.parametrize("name", models())
def test_labels_are_learned_and_scored_as_scikit_learn_does(labels, name):
    X, y, new, truth = labels
    model = models()[name].fit(X, y)
    predicted = model.predict(new)
    assert model.score(new, truth) == pytest.approx(f1_score(truth, predicted, average="macro"))
    assert model.score(new, truth) > 0.5
    assert np.array_equal(model.decision_function(new) > 0, predicted == 1)
    assert model.predict_proba(new).shape == truth.shape
    assert np.array_equal(models()[name].fit(X, csr_array(y)).predict(new), predicted)


@pytest.mark.parametrize("name", models())
def test_a_weighted_average_is_that_of_scikit_learn(classes, name):
    X, y, new, truth = classes
    model = models()[name].set_params(metric="weighted f1").fit(X, y)
    expected = f1_score(truth, model.predict(new), average="weighted")
    assert model.score(new, truth) == pytest.approx(expected)


@pytest.mark.parametrize("name", models())
def test_weights_of_rows_are_taken(classes, name):
    X, y, new, _ = classes
    weights = np.where(y == "dog", 20.0, 1.0)
    plain, heavy = models()[name].fit(X, y), models()[name].fit(X, y, sample_weight=weights)
    assert heavy.predict_proba(new)[:, 2].mean() > plain.predict_proba(new)[:, 2].mean()


def test_a_fitted_model_can_be_pickled_and_is_the_same_again(classes):
    X, y, new, _ = classes
    for name in models():
        model = models()[name].fit(X, y)
        copy, again = pickle.loads(pickle.dumps(model)), models()[name].fit(X, y)
        for other in (copy, again):
            np.testing.assert_array_equal(other.predict_proba(new), model.predict_proba(new))


def test_training_goes_on_where_it_stopped(classes, tmp_path):
    X, y, new, _ = classes
    settings = {"lr": 0.01, "random_state": 0, "patience": 20}
    whole = MetricClassifier("f1", max_epochs=6, **settings).fit(X, y)
    path = tmp_path / "here.pt"
    MetricClassifier("f1", max_epochs=3, checkpoint=path, **settings).fit(X, y)
    resumed = MetricClassifier("f1", max_epochs=6, checkpoint=path, **settings).fit(X, y)
    np.testing.assert_array_equal(resumed.predict_proba(new), whole.predict_proba(new))


def test_rows_come_in_parts_and_without_any_held_out(classes):
    X, y, new, truth = classes
    model = MetricClassifier("f1", lr=0.01, random_state=0)
    for _ in range(8):
        for part in np.array_split(np.arange(300), 3):
            model.partial_fit(X[part], y[part], classes=NAMES)
    assert model.score(new, truth) > 0.5
    alone = MetricClassifier("f1", validation_fraction=None, cut="zero", max_epochs=10, lr=0.01)
    assert alone.fit(X, y).score(new, truth) > 0.4


def test_a_validation_set_and_groups_hold_rows_out(classes):
    X, y, new, truth = classes
    quick = {"max_epochs": 2, "random_state": 0}
    given = MetricClassifier("f1", **quick).fit(X, y, validation_set=(new, truth))
    assert given.history_[0]["valid_metric"] > 0.0
    MetricClassifier("f1", **quick).fit(X, y, groups=np.arange(300) // 3)


def test_a_class_of_one_row_can_be_fitted():
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.append(np.arange(39) % 3, 3)
    model = MetricClassifier("f1", max_epochs=2, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (40, 4)


def test_a_module_of_ones_own_has_a_logit_per_class(classes):
    X, y, new, _ = classes
    model = MetricClassifier(module=lambda n: torch.nn.Linear(n, 3), max_epochs=2, random_state=0).fit(X, y)
    assert model.decision_function(new).shape == (200, 3)


def test_offsets_raise_the_metric_of_a_rare_class():
    random = np.random.default_rng(0)
    y = random.choice(3, 4000, p=[0.85, 0.1, 0.05])
    logits = np.log([0.85, 0.1, 0.05]) + 1.2 * np.eye(3)[y] + random.normal(size=(4000, 3))
    metric = mf.f1.macro()
    for cut in ("expected", "empirical"):
        decision = ClassDecision.fit(metric, logits[:2000], y[:2000], None, cut, calibrated=False)
        tuned = metric.score(y[2000:], decision.predict(logits[2000:]))
        assert tuned > metric.score(y[2000:], logits[2000:].argmax(1)) + 0.03
    assert not ClassDecision.fit(metric, logits, y, None, "zero", calibrated=False).offsets.any()


def test_calibration_makes_probabilities():
    random = np.random.default_rng(0)
    truth = random.normal(size=(20_000, 3))
    y = (softmax(truth, axis=1).cumsum(axis=1) < random.random((20_000, 1))).sum(axis=1)
    decision = ClassDecision.fit(mf.f1.macro(), 5 * truth - [0, 5, 10], y, None, "zero", calibrated=False)
    assert decision.slope == pytest.approx(0.2, rel=0.1)
    np.testing.assert_allclose(decision.probabilities(5 * truth - [0, 5, 10]), softmax(truth, 1), atol=0.03)


def test_cuts_of_rare_labels_are_near_the_common_one():
    random = np.random.default_rng(0)
    y = (random.random((1000, 3)) < [0.3, 0.3, 0.01]).astype(int)
    logits = 2 * y - 2 + random.normal(size=y.shape)
    given = mf.f1.macro(), logits, y, None, "empirical"
    own = LabelDecision.fit(*given, calibrated=True, prior=0.0).cuts
    common = LabelDecision.fit(*given, calibrated=True, prior=np.inf).cuts
    assert len(set(common)) == 1
    shrunk = LabelDecision.fit(*given, calibrated=True).cuts
    share = y.sum(0) / (y.sum(0) + 20.0)
    np.testing.assert_allclose(shrunk, share * own + (1 - share) * common)


@pytest.mark.parametrize("name", models())
def test_the_score_takes_weights(classes, labels, name):
    for X, y, new, truth in (classes, labels):
        model = models()[name].fit(X, y)
        weights = np.random.default_rng(0).integers(0, 3, len(truth))
        repeated = np.repeat(np.arange(len(truth)), weights)
        expected = model.score(new[repeated], truth[repeated])
        assert model.score(new, truth, sample_weight=weights) == pytest.approx(expected)


def test_a_label_that_no_row_has_is_never_predicted(labels):
    X, y, new, _ = labels
    y = y.copy()
    y[:, 1], y[:, 2] = 0, 1
    with pytest.warns(UserWarning, match=r"no row has the labels \[1\]; they are never predicted"):
        model = models()["network"].fit(X, y)
    predicted = model.predict(new)
    assert not predicted[:, 1].any()
    assert predicted[:, 2].all()
    assert np.isfinite(model.decision_function(new)).all()
    assert model.predict_proba(new)[:, 1].max() < 0.1


@pytest.mark.parametrize("name", ["network", "ensemble"])
@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([["a"], ["a", "b"]] * 20, "MultiLabelBinarizer"),
        (["a", "b", "c", None] * 10, "the target is missing in 10 of 40 rows"),
        ([0.0, 1.0, np.nan, 1.0] * 10, "the target is missing in 10 of 40 rows"),
        (pd.Series([True, False, None, True] * 10, dtype="boolean"), "is missing in 10 of 40 rows"),
        (pd.Series(["a", "b", "c", None] * 10, dtype="string"), "is missing in 10 of 40 rows"),
        (np.eye(40, 3) * 2, "columns of several labels must hold 0 and 1"),
    ],
)
def test_targets_that_are_none_are_refused_with_a_message(name, target, message):
    with pytest.raises(ValueError, match=message):
        models()[name].fit(np.zeros((40, 2)), target)


def test_a_class_that_is_too_rare_to_be_cross_fitted_is_named():
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.raises(ValueError, match="class 'rare' has 1 of 40 rows"):
        models()["ensemble"].fit(X, ["often", "seldom"] * 19 + ["often", "rare"])
    with pytest.raises(ValueError, match="label number 2 has 0 of 40 rows"):
        models()["ensemble"].fit(X, np.tile(np.eye(4, 3, dtype=int)[[0, 1, 3]][[0, 1, 2, 0]], (10, 1)))


def test_a_validation_set_has_the_labels_of_the_target(labels):
    X, y, new, truth = labels
    with pytest.raises(ValueError, match="has 3 labels per row, and the target has 4"):
        models()["network"].fit(X, y, validation_set=(new, truth[:, :3]))


def test_a_device_that_is_not_there_is_refused_before_the_training(classes):
    X, y, _, _ = classes
    with pytest.raises(ValueError, match="device='gpu' cannot be used"):
        MetricClassifier(device="gpu").fit(X, y)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_the_mean_value_is_that_of_scikit_learn(average):
    random = np.random.default_rng(0)
    truth, predicted = random.integers(0, 2, (2, 50, 3))
    weights = random.integers(0, 3, 50).astype(float)
    found = mean_value(mf.f1.averaged(average), predicted, truth.astype(float), weights)
    assert found == pytest.approx(f1_score(truth, predicted, average=average, sample_weight=weights))


@pytest.mark.parametrize(
    "model",
    [
        MetricClassifier("accuracy", max_epochs=5, lr=0.01, random_state=0),
        MetricClassifier("(tp + tn) / all", loss="soft", max_epochs=5, lr=0.01, random_state=0),
        MetricEnsemble([LogisticRegression()], metric="accuracy", cv=2, random_state=0),
    ],
    ids=["network", "soft", "ensemble"],
)
def test_accuracy_of_classes_is_the_share_of_correct_rows(classes, model):
    X, y, new, truth = classes
    model.fit(X, y)
    assert model.metric_ == mf.accuracy
    weights = np.arange(len(truth))
    predicted = model.predict(new)
    assert model.score(new, truth) == pytest.approx(accuracy_score(truth, predicted))
    expected = accuracy_score(truth, predicted, sample_weight=weights)
    assert model.score(new, truth, sample_weight=weights) == pytest.approx(expected)
    birds = truth == "bird"
    assert model.score(new[birds], truth[birds]) == pytest.approx(np.mean(predicted[birds] == "bird"))
    if isinstance(model, MetricClassifier):
        right = [row["valid_metric"] for row in model.history_]
        assert np.allclose(np.array(right) * 60, np.round(np.array(right) * 60))  # of 60 held-out rows


def test_other_averages_of_accuracy_are_as_asked(classes):
    X, y, new, truth = classes
    macro = MetricEnsemble([LogisticRegression()], metric="macro accuracy", cv=2, random_state=0).fit(X, y)
    right = np.mean(macro.predict(new) == truth)
    assert macro.score(new, truth) == pytest.approx(1 - 2 * (1 - right) / 3)


def test_accuracy_of_labels_is_their_mean(labels):
    X, y, new, truth = labels
    model = MetricEnsemble([LogisticRegression()], metric="accuracy", cv=2, random_state=0).fit(X, y)
    assert model.metric_ == mf.accuracy.macro()
    assert model.score(new, truth) == pytest.approx(np.mean(model.predict(new) == truth))
