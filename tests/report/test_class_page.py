"""Comparisons of more than two classes: scores as in scikit-learn, intervals, and the page."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, f1_score, precision_score, recall_score

import metricfit as mf
from metricfit.report import ClassComparison, Importance, Method, in_words, render
from metricfit.report.class_bootstrap import class_difference_interval, class_score_interval
from report.test_page import Balance


def a_comparison(classes=4, rows=300, weights=False, metric=None):
    random = np.random.default_rng(classes)
    labels = random.integers(0, classes, rows)
    methods = []
    for index, name in enumerate(["trained for <f1>", "cross-entropy"]):
        margins = 2.0 * np.eye(classes)[labels] + random.normal(scale=1.0 + index, size=(rows, classes))
        epochs = [{"valid_metric": 0.5 + 0.01 * epoch} for epoch in range(5)]
        methods.append(Method(name, margins, epochs, 3, 0.0, 1.0, 0.5))
    methods.append(
        Method("always 0", np.tile(np.eye(classes)[0], (rows, 1)), [], 1, 0.0, 0.0, 0.1, constant=True)
    )
    return ClassComparison(
        "a & b",
        metric or mf.f1.macro(),
        labels,
        tuple(methods),
        ("mind <this>",),
        {"table": "x.csv"},
        weights=random.integers(0, 3, rows).astype(float) if weights else None,
        importance=(Importance("column <1>", 0.1, 0.01),),
        classes=tuple(f"class <{index}>" for index in range(classes)),
    )


@pytest.mark.parametrize("weights", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_scores_are_those_of_scikit_learn(weights, average):
    comparison = a_comparison(weights=weights, metric=mf.f1.averaged(average))
    given = {"sample_weight": comparison.weights}
    for method in comparison.methods:
        labels, predicted = comparison.labels, method.predicted
        expected = f1_score(labels, predicted, average=average, zero_division=0.0, **given)
        assert comparison.value(method) == pytest.approx(expected)
        np.testing.assert_allclose(comparison.confusion(method), confusion_matrix(labels, predicted, **given))
        for metric, reference in ((mf.precision, precision_score), (mf.recall, recall_score)):
            found = comparison.of_classes(metric, method)
            expected = reference(labels, predicted, average=None, zero_division=0.0, **given)
            np.testing.assert_allclose(found, expected)
    assert comparison.name == f"{average} f1"


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_intervals_are_those_of_resampled_rows(average):
    metric = mf.f1.averaged(average)
    comparison = a_comparison(rows=200, metric=metric)
    labels, one, other = comparison.labels, *(method.predicted for method in comparison.methods[:2])
    random = np.random.default_rng(5)
    drawn = [random.integers(0, 200, 200) for _ in range(1000)]
    values = np.array([[metric.score(labels[rows], found[rows]) for found in (one, other)] for rows in drawn])
    interval = class_score_interval(metric, labels, one)
    np.testing.assert_allclose(
        [interval.low, interval.high], np.quantile(values[:, 0], [0.025, 0.975]), atol=0.02
    )
    gain = class_difference_interval(metric, labels, one, other)
    expected = np.quantile(values[:, 0] - values[:, 1], [0.025, 0.975])
    np.testing.assert_allclose([gain.low, gain.high], expected, atol=0.02)


def test_whole_weights_give_the_intervals_of_about_repeated_rows():
    comparison = a_comparison(rows=600, weights=True)
    weights = comparison.weights.astype(int)
    labels, predicted = comparison.labels, comparison.methods[0].predicted
    weighted = class_score_interval(mf.f1.macro(), labels, predicted, comparison.weights)
    repeated = class_score_interval(mf.f1.macro(), labels.repeat(weights), predicted.repeat(weights))
    assert weighted.low == pytest.approx(repeated.low, abs=0.03)
    assert weighted.high == pytest.approx(repeated.high, abs=0.03)


@pytest.mark.parametrize("classes", [3, 25])
def test_the_page_is_whole_and_escapes_names(classes):
    page = render([a_comparison(classes)], command="metricfit fit", title="Classes")
    parser = Balance()
    parser.feed(page)
    assert parser.open == []
    assert "<f1>" not in page
    assert "class <" not in page
    assert "class &lt;0&gt;" in page
    assert ("with most mistakes" in page) == (classes > 20)
    shown = page.split('id="matrix-0"')[1].split("</figure>")[0].count("<th scope=row>")
    assert shown == min(classes, 20)


def test_the_comparison_is_put_in_words():
    lines = in_words(a_comparison())
    assert lines[0].startswith("trained for <f1> scores ")
    assert "higher than cross-entropy (95 % interval" in lines[0]
    assert len(lines) == 2
