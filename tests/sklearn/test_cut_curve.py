"""Curves of cuts: counted and expected, weighted, and those of a population."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.sklearn import best_cut
from metricfit.sklearn.cut_curve import CutCurve, population_value

METRICS = [mf.f1, mf.mcc, mf.npv, mf.precision.subject_to(mf.recall >= 0.6)]
TABLES = st.lists(
    st.tuples(st.sampled_from([0.01, 0.1, 0.2, 0.5, 0.7, 0.99]), st.integers(0, 1), st.integers(0, 3)),
    min_size=2,
    max_size=12,
).filter(lambda rows: sum(weight for *_, weight in rows) > 0)


def columns(table):
    return (np.array(column) for column in zip(*table, strict=True))


@given(TABLES)
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_with_labels_the_best_cut_is_the_empirical_one(metric, table):
    scores, labels, _ = columns(table)
    cut, known = CutCurve.of(scores, labels).best(metric), best_cut(metric, scores, labels)
    assert cut.rank == pytest.approx(known.rank)
    assert metric.score(labels, scores > cut.threshold) == pytest.approx(cut.value)


@given(TABLES)
@pytest.mark.parametrize("metric", METRICS, ids=str)
def test_a_weight_is_a_number_of_copies(metric, table):
    scores, labels, weights = columns(table)
    curve = CutCurve.of(scores, labels, sample_weight=weights.astype(float))
    copies = CutCurve.of(np.repeat(scores, weights), np.repeat(labels, weights), thresholds=curve.thresholds)
    np.testing.assert_allclose(curve.values(metric), copies.values(metric), atol=2e-6)


def test_with_probabilities_the_counts_are_expected():
    probabilities = np.array([0.9, 0.6, 0.3, 0.1])
    curve = CutCurve.of(probabilities, probabilities)
    np.testing.assert_allclose(curve.hits, [0.0, 0.9, 1.5, 1.8, 1.9])
    np.testing.assert_allclose(curve.values(mf.f1), 2 * curve.hits / (curve.predicted + 1.9))
    # The known rule: the best cut for F1 is half of the best F1.
    best = curve.best(mf.f1)
    assert 0.3 < best.value / 2 < 0.6
    assert np.sum(probabilities > best.threshold) == np.sum(probabilities > best.value / 2)


@pytest.mark.parametrize("metric", [mf.mcc, mf.kappa, mf.npv], ids=str)
def test_to_decide_all_rows_alike_is_worth_nothing_with_fractions_too(metric):
    probabilities = np.random.default_rng(0).beta(1, 3, 997)
    curve = CutCurve.of(probabilities, probabilities)
    ends = curve.values(metric)[[0, -1]]
    np.testing.assert_allclose(ends, [1 - probabilities.mean() if metric == mf.npv else 0.0, 0.0], atol=1e-6)
    assert 0 < np.argmax(curve.values(mf.mcc)) < 997


def test_given_thresholds_divide_as_they_say():
    curve = CutCurve.of([0.2, 0.5, 0.8], [0, 1, 1], thresholds=np.array([0.9, 0.5, 0.1]))
    np.testing.assert_array_equal(curve.predicted, [0, 1, 3])
    assert curve.at(mf.recall, 1).value == 0.5


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.kappa, mf.balanced_accuracy], ids=str)
def test_a_population_is_the_limit_of_large_tables(metric):
    rates = np.array(0.3), np.array(0.8), np.array(0.9)
    labels = np.repeat([1, 1, 0, 0], [240, 60, 70, 630])
    predicted = np.repeat([1, 0, 1, 0], [240, 60, 70, 630])
    assert population_value(metric, *rates) == pytest.approx(metric.score(labels, predicted), abs=1e-6)


def test_rates_of_one_are_within_the_table_of_every_metric():
    rates = np.linspace(0.0, 1.0, 7)
    share, tpr, tnr = rates[:, None, None], rates[None, :, None], rates[None, None, :]
    assert np.isfinite(population_value(mf.mcc, share, tpr, tnr)).all()
