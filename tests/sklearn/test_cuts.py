"""Cuts of scores: the best one is the best of all, and honours the constraints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.sklearn import BetaCalibration, best_cut, cut_at, expected_cut
from metricfit.sklearn.cuts import cut_by

TABLES = st.lists(
    st.tuples(st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0]), st.integers(0, 1)),
    min_size=1,
    max_size=12,
)


def every_cut(metric, scores, labels):
    thresholds = [min(scores) - 1, *scores]
    return [cut_at(metric, scores, labels, threshold) for threshold in thresholds]


@given(TABLES)
@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.precision.subject_to(mf.recall >= 0.6)], ids=str)
def test_no_cut_is_better_than_the_best(metric, table):
    scores, labels = (list(column) for column in zip(*table, strict=True))
    best = best_cut(metric, scores, labels)
    assert best.rank == pytest.approx(max(cut.rank for cut in every_cut(metric, scores, labels)))


@given(TABLES)
def test_the_threshold_gives_the_value_it_promises(table):
    scores, labels = (list(column) for column in zip(*table, strict=True))
    best = best_cut(mf.f2, scores, labels)
    assert mf.f2.score(labels, np.array(scores) > best.threshold) == pytest.approx(best.value)


def test_constraints_win_over_value():
    scores, labels = [3.0, 2.0, 1.0, 0.0], [1, 0, 0, 1]
    assert best_cut(mf.precision, scores, labels).value == 1.0
    bound = best_cut(mf.precision.subject_to(mf.recall >= 0.9), scores, labels)
    assert (bound.value, bound.violation) == (0.5, 0.0)


def test_neighbouring_floats_are_told_apart():
    upper = np.nextafter(1.0, 2.0)
    cut = best_cut(mf.f1, [upper, 1.0], [1, 0])
    assert cut.value == 1.0
    assert mf.f1.score([1, 0], np.array([upper, 1.0]) > cut.threshold) == 1.0


@given(TABLES)
@pytest.mark.parametrize("metric", [mf.f1, mf.specificity, mf.recall], ids=str)
def test_within_limits_the_same_rows_are_chosen(metric, table):
    scores, labels = (np.array(column) for column in zip(*table, strict=True))
    chances = (scores + 2.5) / 6.0
    cut = best_cut(metric, chances, labels, limits=(0.0, 1.0))
    assert 0.0 < cut.threshold < 1.0
    known = best_cut(metric, chances, labels)
    assert cut.rank == known.rank
    np.testing.assert_array_equal(chances > cut.threshold, chances > known.threshold)


def test_each_rule_cuts_where_it_says():
    chances, labels = np.array([0.9, 0.6, 0.4, 0.1]), np.array([1, 0, 1, 0])
    for rule, known in (
        ("expected", expected_cut(mf.f1, chances, labels, chances)),
        ("empirical", best_cut(mf.f1, chances, labels)),
        ("zero", cut_at(mf.f1, chances, labels, 0.5)),
    ):
        assert cut_by(rule, mf.f1, chances, labels, chances, neutral=0.5) == known
    first = mf.precision.at_size(1)
    assert np.sum(chances > cut_by("zero", first, chances, labels, chances).threshold) == 1


def test_scores_without_labels_are_refused():
    with pytest.raises(ValueError, match="as many scores as labels"):
        best_cut(mf.f1, [1.0, 2.0], [1])


def test_a_metric_may_be_given_by_its_name():
    scores, labels = [3.0, 2.0, 1.0, 0.0], [1, 0, 1, 0]
    assert cut_at("f1", scores, labels, 0.5) == cut_at(mf.f1, scores, labels, 0.5)
    assert best_cut("f1", scores, labels) == best_cut(mf.f1, scores, labels)
    chances = [0.9, 0.7, 0.3, 0.1]
    assert expected_cut("f1", scores, labels, chances) == expected_cut(mf.f1, scores, labels, chances)


def test_labels_and_probabilities_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="labels must be 0 and 1; give"):
        best_cut(mf.f1, [0.4, 0.1], ["yes", "no"])
    assert best_cut(mf.f1, [0.4, 0.1], np.array([True, False], dtype=object)).value == 1.0
    for chances in ([0.8], [[0.2, 0.8], [0.7, 0.3]], [1.5, 0.1], [np.nan, 0.1]):
        with pytest.raises(ValueError, match="probabilities must be 2 numbers from 0 to 1"):
            expected_cut(mf.f1, [0.4, 0.1], [1, 0], chances)


def test_a_calibration_checks_its_rows_as_a_cut_does():
    for scores, labels, sentence in (
        ([0.4, 0.1], ["yes", "no"], "labels must be 0 and 1; give"),
        ([0.4, np.nan], [1, 0], "some scores are nan"),
        ([0.4], [1, 0], "as many scores as labels"),
    ):
        with pytest.raises(ValueError, match=sentence):
            BetaCalibration.fit(scores, labels)
