"""Constraints that cannot be met are named, with the best that can be reached."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import metricfit as mf
from drawn import constraint_sets, labels_of
from metricfit.game import (
    InfeasibleConstraintsError,
    Strategy,
    clean,
    constraint_slacks,
    make_feasible,
    make_game,
)


def test_an_unreachable_constraint_is_named_with_the_best_value():
    # Without negatives the coefficient is 1 for the whole batch and 0 for any other prediction.
    metric = mf.f1.subject_to(mf.accuracy >= 0.2, mf.mcc <= -0.5)
    sentence = (
        r"no prediction reaches mcc <= -0.5 on these labels \(4 positives of 4\): at least 0 is possible"
    )
    with pytest.raises(InfeasibleConstraintsError, match=sentence):
        make_game(metric, np.zeros(4), [1, 1, 1, 1])


def test_constraints_that_exclude_each_other_are_named_together():
    metric = mf.f1.subject_to(mf.recall >= 0.9, mf.accuracy >= 0.2, mf.recall <= 0.3)
    sentence = r"recall <= 0.3 together with recall >= 0.9 and accuracy >= 0.2 .*at least 0\.9 is possible"
    with pytest.raises(InfeasibleConstraintsError, match=sentence):
        make_game(metric, np.zeros(4), [1, 1, 0, 0])


def test_the_error_is_a_value_error():
    assert issubclass(InfeasibleConstraintsError, ValueError)


def test_constraints_that_only_a_mixture_meets_are_accepted():
    # Without positives recall is 1 for the empty prediction and 0 for any other.
    metric = mf.accuracy.subject_to(mf.recall >= 0.4, mf.recall <= 0.6)
    game = make_game(metric, np.zeros(3), [0, 0, 0])
    assert game.gain.shape == (2, 4)


@settings(deadline=None, max_examples=80)
@given(data=st.data(), count=st.integers(1, 3))
def test_any_predictor_can_be_made_feasible(data, count):
    n = data.draw(st.integers(1, 8))
    labels = data.draw(labels_of(n))
    metric = mf.f1.subject_to(*data.draw(constraint_sets(count)))
    try:
        game = make_game(metric, np.zeros(n), labels)
    except InfeasibleConstraintsError:
        assume(False)
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    sizes = np.arange(n + 1)
    weights = random.dirichlet(np.ones(n + 1))
    start = clean(Strategy(sizes, weights, weights[:, None] * random.random((n + 1, n)), np.arange(n + 1)))
    feasible = make_feasible(game.gain, game.offset, game.split, start)
    assert constraint_slacks(game.gain, game.offset, game.split, feasible).min() >= -1e-9


def test_a_rounding_error_under_a_constraint_without_slack_costs_as_little():
    game = make_game(mf.accuracy.subject_to(mf.recall >= 1.0), [0.3, 0.2, 0.1, 0.0], [1, 1, 0, 0])
    weights = np.array([1e-7, 1.0 - 1e-7])
    marginals = np.array([[0.9e-7, 0.1e-7, 0.0, 0.0], [1.0, 1.0 - 1e-7, 0.7, 0.3]]) * weights[1]
    nearly = clean(Strategy(np.array([1, 3]), weights, marginals, np.arange(5)))
    feasible = make_feasible(game.gain, game.offset, game.split, nearly)
    assert constraint_slacks(game.gain, game.offset, game.split, feasible).min() >= -1e-9
    np.testing.assert_allclose(feasible.inclusion, nearly.inclusion, atol=1e-6)
