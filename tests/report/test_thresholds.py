"""The curve of a metric along thresholds counts as a person would."""

import numpy as np
import pytest

import metricfit as mf
from metricfit.report.thresholds import threshold_curve


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(0)
    labels = (random.random(400) < 0.2).astype(np.int64)
    return labels, labels + random.normal(size=400)


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.jaccard])
def test_values_are_those_of_the_predictions_above_each_threshold(rows, metric):
    labels, scores = rows
    curve = threshold_curve(metric, labels, scores)
    assert 0.0 in curve.thresholds
    for threshold, value in zip(curve.thresholds, curve.values, strict=True):
        assert value == pytest.approx(metric.score(labels, (scores > threshold).astype(int)))
    assert (curve.low <= curve.values + 0.02).all()
    assert (curve.values <= curve.high + 0.02).all()
    assert curve.best[0] <= curve.thresholds[np.argmax(curve.values)] <= curve.best[1]


def test_weights_are_copies(rows):
    labels, scores = rows
    weights = np.random.default_rng(1).integers(1, 4, len(labels))
    weighted = threshold_curve(mf.f1, labels, scores, weights.astype(float))
    at = {float(t): v for t, v in zip(weighted.thresholds, weighted.values, strict=True)}
    truth, copied = np.repeat(labels, weights), np.repeat(scores, weights)
    assert at[0.0] == pytest.approx(mf.f1.score(truth, (copied > 0).astype(int)))


def test_a_constraint_moves_the_best_threshold(rows):
    labels, scores = rows
    free = threshold_curve(mf.precision, labels, scores)
    bound = threshold_curve(mf.precision.subject_to(mf.recall >= 0.9), labels, scores)
    assert bound.best[1] < free.best[0]
