"""Weights, several labels and several classes: the numbers of scikit-learn."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.dummy import DummyClassifier

import metricfit as mf
from metricfit.metrics.plain import from_plain, to_plain

REFERENCES = {
    "f1": sk.f1_score,
    "precision": sk.precision_score,
    "recall": sk.recall_score,
    "jaccard": sk.jaccard_score,
    "fbeta(0.5)": lambda *labels, **options: sk.fbeta_score(*labels, beta=0.5, **options),
}
WEIGHTED = REFERENCES | {
    "accuracy": sk.accuracy_score,
    "balanced_accuracy": sk.balanced_accuracy_score,
    "kappa": sk.cohen_kappa_score,
    "mcc": sk.matthews_corrcoef,
}


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro"])
@pytest.mark.parametrize("kind", ["int", "str", "object", "two", "weighted rows"])
def test_classes_against_the_rest_are_averaged_as_in_scikit_learn(name, average, kind):
    rng = np.random.default_rng(0)
    y, p = rng.integers(0, 2 if kind == "two" else 4, size=(2, 60))
    if kind in ("str", "object"):
        names = np.array(["red", "green", "blue", "grey"]).astype(object if kind == "object" else str)
        y, p = names[y], names[p]
    weights = rng.random(60) if kind == "weighted rows" else None
    expected = REFERENCES[name](y, p, average=average, sample_weight=weights, zero_division=0)
    assert mf.get_metric(name).score(y, p, average=average, sample_weight=weights) == pytest.approx(expected)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("average", ["macro", "weighted", "micro", "samples", None])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_averaged_as_in_scikit_learn(name, average, weighted):
    rng = np.random.default_rng(1)
    y, p = rng.random((2, 40, 5)) < 0.5
    y[:, 0] = p[:, 0] = True  # no row without a positive, for which scikit-learn asks for zero_division
    weights = rng.integers(1, 4, size=40) if weighted else None
    expected = REFERENCES[name](y, p, average=average, sample_weight=weights, zero_division=0)
    score = mf.get_metric(name).score(y, p, average=average, sample_weight=weights)
    np.testing.assert_allclose(score, expected, rtol=1e-12)
    assert np.shape(score) == np.shape(expected)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weighted_scores_equal_scikit_learn(name):
    rng = np.random.default_rng(2)
    y, p = rng.random((2, 50)) < 0.4
    weights = rng.random(50) * 3
    expected = WEIGHTED[name](y, p, sample_weight=weights)
    assert mf.get_metric(name).score(y, p, sample_weight=weights) == pytest.approx(expected, rel=1e-9)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 4)), min_size=1).filter(
        lambda rows: any(weight for *_, weight in rows)
    ),
    st.sampled_from(
        ["f1", "mcc", "kappa", "g_mean", "balanced_accuracy", "precision subject to recall >= 0.8"]
    ),
)
def test_whole_weights_are_repeated_rows(rows, name):
    y, p, weights = (np.array(column) for column in zip(*rows, strict=True))
    metric = mf.get_metric(name)
    repeated = metric.score(np.repeat(y, weights), np.repeat(p, weights))
    assert metric.score(y, p, sample_weight=weights) == repeated
    assert metric.score(y, p, sample_weight=weights.astype(float)) == repeated


def test_weights_of_any_size_leave_a_right_prediction_at_one():
    y = np.array([1, 1, 0, 0, 1])
    weights = [0.1, 0.2, 1e-9, 3e8, 0.7]
    for name in ("mcc", "kappa", "f1", "g_mean", "informedness"):
        assert mf.get_metric(name).score(y, y, sample_weight=weights) == 1.0


def test_a_row_of_weight_zero_is_not_there():
    assert mf.precision.score([0, 0], [1, 0], sample_weight=[0, 2]) == 1.0
    assert mf.precision.score([0, 0], [1, 0], sample_weight=[0.0, 0.5]) == 1.0


def test_one_column_is_one_label_when_an_average_is_asked_for():
    column = np.array([[1], [0], [1]])
    assert mf.recall.score(column, column[::-1], average="macro") == 1.0
    assert mf.f1.score(column, [[1], [0], [0]], average="macro") == mf.f1.score([1, 0, 1], [1, 0, 0])


@pytest.mark.parametrize(
    "text", ["macro f1", "macro-f1", "f1_macro", "F1 Macro", "MACRO f1", "macro 2*tp/(ap+pp)", "f1-macro"]
)
def test_an_average_is_part_of_a_metric(text):
    metric = mf.get_metric(text)
    assert metric == mf.f1.macro() == mf.f1.averaged("macro")
    assert hash(metric) == hash(mf.f1.macro())
    assert metric != mf.f1
    assert metric != mf.f1.averaged("micro")
    assert metric.averaged(None) == mf.f1
    assert metric.average == "macro"
    y, p = [0, 1, 2, 2], [0, 2, 2, 1]
    assert metric.score(y, p) == pytest.approx(sk.f1_score(y, p, average="macro"))
    assert metric.score(y, p, average="micro") == 0.5


def test_an_average_is_printed_and_survives_copies():
    metric = mf.f1.macro().subject_to(mf.recall >= 0.5)
    assert repr(metric) == "Metric(macro f1 = 2*tp/(ap + pp) subject to recall >= 0.5)"
    assert metric == mf.get_metric("macro f1 subject to recall >= 0.5")
    for twin in (pickle.loads(pickle.dumps(metric)), copy.deepcopy(metric), from_plain(to_plain(metric))):
        assert twin == metric
        assert twin.average == "macro"
    assert metric.objective == mf.f1.macro()
    assert metric.named("mine").average == "macro"


def test_the_scorer_of_an_average_takes_classes():
    model = DummyClassifier(strategy="constant", constant="b").fit([[0]] * 3, ["a", "b", "c"])
    assert mf.recall.macro().scorer()(model, [[0]] * 3, ["a", "b", "c"]) == pytest.approx(1 / 3)
    weighted = mf.accuracy.scorer()(
        DummyClassifier(strategy="constant", constant=1).fit([[0]] * 2, [0, 1]),
        [[0]] * 2,
        [0, 1],
        sample_weight=[1, 3],
    )
    assert weighted == 0.75


def test_each_label_meets_the_constraint_on_its_own():
    metric = mf.precision.subject_to(mf.recall >= 0.8)
    y = np.array([[1, 1], [1, 1], [0, 0]])
    p = np.array([[1, 1], [1, 0], [0, 0]])
    np.testing.assert_allclose(metric.score(y, p), [1.0, -0.3])
    assert metric.score(y, p, average="macro") == pytest.approx(0.35)
    # Added up, 3 of 4 positives are found.
    assert metric.score(y, p, average="micro") == pytest.approx(-0.05)
    assert metric.score(y.T, p.T, average="samples") == pytest.approx(0.35)


def test_many_counts_are_scored_at_once():
    rng = np.random.default_rng(3)
    cells = rng.integers(0, 4, size=(4, 200))
    cells[3] += cells.sum(0) == 0
    for name in (
        "mcc",
        "jaccard",
        "precision subject to recall >= 0.8, g_mean >= 0.3",
        "tn - fp subject to f1 >= 0.5",
    ):
        metric = mf.get_metric(name)
        alone = [metric.score(*np.repeat([[1, 0, 1, 0], [1, 1, 0, 0]], one, axis=1)) for one in cells.T]
        np.testing.assert_allclose(metric.score_counts(*cells), alone, atol=1e-12)
    assert mf.f1.score_counts(0.5, 0.25, [0.25, 1], 7).shape == (2,)
    assert mf.f1.score_counts(1, 2, 1, 4) == 0.4
    assert mf.precision.score_counts(0, 0, 0, 3) == 1.0


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf")])
def test_wrong_counts_are_refused(wrong):
    with pytest.raises(ValueError, match="counts must be finite numbers of 0 or more"):
        mf.f1.score_counts([1, wrong], 2, 3, 4)
    assert mf.f1.score_counts([1, -1e-12], 2, 3, 4).shape == (2,)


def masked(values):
    return np.ma.array(values, mask=[False] * (len(values) - 1) + [True])


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda: mf.f1.score([0, 1, 2], [0, 1, 1]), 'give average="macro" for several classes'),
        (lambda: mf.f1.score(["a", "b"], ["a", "b"]), 'give average="macro" for several classes'),
        (lambda: mf.f1.score([0, 1], [0, 1], average="mean"), "average must be"),
        (lambda: mf.f1.averaged("mean"), "average must be"),
        (lambda: mf.f1.score([0, 1], [0, 1], average="samples"), "needs several labels"),
        (lambda: mf.f1.score([0, 1], [0, 1], average="macro", pos_label=1), "pos_label has no meaning"),
        (lambda: mf.f1.score([[0, 1]], [[0, 1]], pos_label=1), "pos_label has no meaning"),
        (lambda: mf.f1.score([[0, 1]], [[0, 1]], average="samples", pos_label=1), "pos_label has no meaning"),
        (lambda: mf.f1.score([[0, 1]], [[0, 1, 1]]), r"shape \(1, 2\) and y_pred \(1, 3\)"),
        (lambda: mf.f1.score([[0, 1]], [0, 1]), r"shape \(1, 2\) and y_pred \(2,\)"),
        (lambda: mf.f1.score([[0, 2]], [[0, 1]]), "holds 2"),
        (lambda: mf.f1.score([[], []], [[], []]), "at least one sample"),
        (lambda: mf.f1.score([], [], average="macro"), "at least one sample"),
        (lambda: mf.f1.score(["1", "2"], [1, 2], average="macro"), "both as numbers or both as strings"),
        (
            lambda: mf.f1.score(np.array(["a", 1], object), ["a", "b"], average="macro"),
            "several types: int, str",
        ),
        (lambda: mf.f1.score([0.0, 1.0], [0.2, 0.7], average="macro"), "must hold classes, but holds 0.2"),
        (lambda: mf.f1.score([0.0, float("nan")], [0.0, 1.0], average="macro"), "holds nan"),
        (lambda: mf.f1.score([0, 1, 2], [0, 1], average="macro"), "y_true has 3 samples and y_pred 2"),
        (lambda: mf.f1.score([0, 1], [0, 1], sample_weight=[1]), "one weight for each of 2 samples"),
        (lambda: mf.f1.score([0, 1], [0, 1], sample_weight=[1, -1]), "not negative"),
        (lambda: mf.f1.score([0, 1], [0, 1], sample_weight=[1, float("nan")]), "finite"),
        (lambda: mf.f1.score([0, 1], [0, 1], sample_weight=[0, 0]), "all weights in sample_weight are 0"),
        (lambda: mf.f1.score([0, 1], [0, 1], sample_weight=["1", "2"]), "must hold numbers"),
        (lambda: mf.f1.score(masked([0, 1]), [0, 1]), "y_true is a masked array"),
        (lambda: mf.f1.score([0, 1], masked([0, 1])), "y_pred is a masked array"),
        (lambda: mf.f1.score([[0, 1]], np.ma.array([[0, 1]])), "y_pred is a masked array"),
        (
            lambda: mf.f1.score([0, 1], [0, 1], sample_weight=masked([1, 1])),
            "sample_weight is a masked array",
        ),
        (lambda: mf.f1.macro() >= 0.5, "the macro average of f1 cannot be bounded; bound f1"),
    ],
)
def test_what_cannot_be_scored_raises_a_clear_error(call, phrase):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=phrase):
            call()
