"""Games that were hard for the solver's steps: they converge, in few of them."""

from __future__ import annotations

import numpy as np
import pytest

import metricfit as mf


@pytest.mark.parametrize("seed", range(5))
def test_games_that_would_drop_and_miss_the_same_sizes_in_turn_are_solved(seed):
    n = 154
    scores = 0.0015 * np.random.default_rng(seed).normal(size=n) - 0.0025
    labels = (np.arange(n) < 10).astype(int)
    solution = mf.solve(mf.recall.subject_to(mf.f1 >= 0.3), scores, labels, solver="fast")
    assert solution.gap <= 1e-4
    assert solution.iterations < 150


def test_constraints_take_few_steps():
    """A mistake in the Newton system is made up for by more steps, or another attempt."""
    random, metric, steps = np.random.default_rng(5), mf.precision_at_recall(0.8), []
    for _ in range(20):
        labels = (random.random(30) < 0.4).astype(int)
        labels[0] = 1
        scores = 0.3 * random.normal(size=30) + 0.3 * labels
        steps.append(mf.solve(metric, scores, labels, solver="fast").iterations)
    assert np.mean(steps) < 12


@pytest.mark.parametrize("metric", [mf.f1, mf.kappa, mf.mcc, mf.precision_at_recall(0.7)])
@pytest.mark.parametrize("spread", [0.01, 0.1])
def test_games_that_need_many_sizes_are_solved_as_by_the_linear_program(metric, spread):
    random = np.random.default_rng(5)
    n = 24
    scores = spread * random.normal(size=n)
    labels = (random.random(n) < 0.4).astype(int)
    fast = mf.solve(metric, scores, labels, solver="fast", tol=1e-6)
    exact = mf.solve(metric, scores, labels, solver="exact-lp")
    assert fast.gap <= 1e-6
    assert fast.value == pytest.approx(exact.value, abs=2e-6)


@pytest.mark.parametrize("metric", [mf.f1, mf.f2, mf.kappa])
@pytest.mark.parametrize("seed", [0, 2, 4, 8])  # games in which items are grouped and groups split again
def test_games_with_groups_are_solved_to_a_small_tolerance(metric, seed):
    scores = 0.03 * np.random.default_rng(seed).normal(size=80) - 0.01
    solution = mf.solve(metric, scores, tol=1e-5)
    assert solution.gap <= 1e-5
    assert solution.iterations < 100
