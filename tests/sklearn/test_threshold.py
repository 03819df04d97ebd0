"""Cuts of scores: the best one is the best of all, and honours the constraints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.sklearn import best_cut, cut_at

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


def test_scores_without_labels_are_refused():
    with pytest.raises(ValueError, match="as many scores as labels"):
        best_cut(mf.f1, [1.0, 2.0], [1])
