"""Payoffs at the corners of the table that the public implementations of the method get wrong.

Each test plays two pure strategies against each other: the empty set or the whole batch on one side,
everything on the other.
"""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf
from metricfit.game import Strategy, adversary_values, make_game, predictor_values
from oracles import DEFINITIONS, all_sets, measured

N = 4


def pure(n, size, first=0):
    """The mixture that always plays `size` consecutive items."""
    row = np.zeros((1, n))
    row[0, first : first + size] = 1.0
    return Strategy(np.array([size]), np.ones(1), row, np.arange(n + 1))


def payoff(metric, predicted, actual, n=N):
    """Metric of one pure size against another, as the referee of the game sees it."""
    game = make_game(metric, np.zeros(n))
    against = predictor_values(game, pure(n, actual), np.zeros(0))[predicted]
    replied = adversary_values(game, pure(n, predicted))[actual]
    if predicted in (0, n) or actual in (0, n):
        assert against == pytest.approx(replied, abs=1e-12)
    return against


def test_accuracy_of_no_positives_on_either_side_is_one():
    assert payoff(mf.accuracy, 0, 0) == pytest.approx(1.0)


def test_accuracy_of_all_positives_on_either_side_is_one():
    assert payoff(mf.accuracy, N, N) == pytest.approx(1.0)


def test_accuracy_of_opposite_corners_is_zero():
    assert payoff(mf.accuracy, 0, N) == pytest.approx(0.0)
    assert payoff(mf.accuracy, N, 0) == pytest.approx(0.0)


def test_specificity_of_no_positives_is_one():
    assert payoff(mf.specificity, 0, 0) == pytest.approx(1.0)


def test_specificity_without_negatives_is_one_only_for_the_whole_batch():
    assert payoff(mf.specificity, N, N) == pytest.approx(1.0)
    assert payoff(mf.specificity, N - 1, N) == pytest.approx(0.0)


def test_specificity_of_a_prediction_without_positives_is_one_for_any_truth():
    assert payoff(mf.specificity, 0, 2) == pytest.approx(1.0)


def test_npv_of_no_positives_is_one():
    assert payoff(mf.npv, 0, 0) == pytest.approx(1.0)


def test_npv_of_a_prediction_without_positives_is_the_share_of_negatives():
    assert payoff(mf.npv, 0, 1) == pytest.approx(0.75)


def test_npv_of_a_prediction_without_negatives():
    assert payoff(mf.npv, N, N) == pytest.approx(1.0)
    assert payoff(mf.npv, N, 1) == pytest.approx(0.0)


@pytest.mark.parametrize("name", ["balanced_accuracy", "informedness", "markedness", "kappa", "mcc"])
def test_metrics_of_both_classes_are_one_where_both_sides_agree_on_a_single_class(name):
    metric, _ = DEFINITIONS[name]
    assert payoff(metric, 0, 0) == pytest.approx(1.0)
    assert payoff(metric, N, N) == pytest.approx(1.0)


def test_a_metric_with_false_negatives_only_uses_its_own_table():
    @mf.metric
    def found(C):
        return 1 - C.fn / C.all

    assert payoff(found, 0, N) == pytest.approx(0.0)
    assert payoff(found, N, 0) == pytest.approx(1.0)
    assert payoff(found, 0, 1) == pytest.approx(0.75)


def test_a_metric_with_false_positives_only_uses_its_own_table():
    @mf.metric
    def clear(C):
        return 1 - C.fp / C.all

    assert payoff(clear, N, 0) == pytest.approx(0.0)
    assert payoff(clear, 0, N) == pytest.approx(1.0)
    assert payoff(clear, 1, 0) == pytest.approx(0.75)


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_every_border_payoff_is_that_of_the_definition(name, n):
    metric, measure = DEFINITIONS[name]
    sets = {int(chosen.sum()): chosen for chosen in all_sets(n)}
    for whole in (0, n):
        for size in range(n + 1):
            assert payoff(metric, whole, size, n) == pytest.approx(measured(measure, sets[size], sets[whole]))
            assert payoff(metric, size, whole, n) == pytest.approx(measured(measure, sets[whole], sets[size]))
