"""Strategies stay mixtures whatever is done to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricfit as mf
from metricfit.game import Strategy, average_ties, clean, make_game, mix, predictor_values

seeds = st.integers(0, 2**32 - 1)


def rough(random, n, sizes=None, blocks=None):
    """A strategy as an inexact solver might return it."""
    chosen = np.sort(random.choice(n + 1, min(3, n + 1), replace=False)) if sizes is None else sizes
    edges = (
        np.arange(n + 1)
        if blocks is None
        else np.unique(np.concatenate((random.integers(0, n, blocks), [0, n])))
    )
    weights = random.dirichlet(np.ones(chosen.size)) + random.normal(size=chosen.size) * 1e-3
    marginals = weights[:, None] * random.random((chosen.size, edges.size - 1)) + random.normal() * 1e-3
    return Strategy(chosen, np.abs(weights), marginals, edges)


def assert_mixture(strategy, n):
    lengths = np.diff(strategy.blocks)
    assert strategy.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all(strategy.marginals >= 0.0)
    assert np.all(strategy.marginals <= strategy.weights[:, None] + 1e-15)
    np.testing.assert_allclose(strategy.marginals @ lengths, strategy.sizes * strategy.weights, atol=1e-12)
    assert strategy.inclusion.shape == (n,)


@settings(deadline=None, max_examples=50)
@given(n=st.integers(1, 9), blocks=st.none() | st.integers(1, 4), seed=seeds)
def test_cleaned_marginals_belong_to_a_mixture(n, blocks, seed):
    assert_mixture(clean(rough(np.random.default_rng(seed), n, blocks=blocks)), n)


@settings(deadline=None, max_examples=50)
@given(n=st.integers(1, 9), seed=seeds)
def test_cleaning_a_valid_strategy_changes_nothing(n, seed):
    once = clean(rough(np.random.default_rng(seed), n))
    np.testing.assert_allclose(clean(once).marginals, once.marginals, atol=1e-14)


def test_a_strategy_that_is_not_finite_is_refused():
    broken = Strategy(np.array([1]), np.array([np.nan]), np.array([[0.5, 0.5]]), np.array([0, 1, 2]))
    with pytest.raises(ArithmeticError, match="not finite"):
        clean(broken)


@settings(deadline=None, max_examples=50)
@given(n=st.integers(1, 9), blocks=st.none() | st.integers(1, 4), seed=seeds)
def test_averaging_over_ties_never_raises_the_bound_of_the_adversary(n, blocks, seed):
    random = np.random.default_rng(seed)
    game = make_game(mf.f1, random.integers(-1, 2, n) * 0.3)
    adversary = clean(rough(random, n, blocks=blocks))
    averaged = average_ties(game.scores, game.split, adversary)
    assert_mixture(averaged, n)
    ties = game.scores[1:] == game.scores[:-1]
    np.testing.assert_allclose(np.diff(averaged.inclusion)[ties], 0.0, atol=1e-15)
    before = predictor_values(game, adversary, np.zeros(0)).max()
    assert predictor_values(game, averaged, np.zeros(0)).max() <= before + 1e-12


def test_items_on_two_sides_of_the_split_are_not_ties():
    one = Strategy(np.array([1]), np.ones(1), np.array([[1.0, 0.0]]), np.array([0, 1, 2]))
    np.testing.assert_array_equal(average_ties(np.zeros(2), 1, one).inclusion, [1.0, 0.0])


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 9), share=st.floats(0, 1), seed=seeds)
def test_mixing_two_strategies_mixes_their_inclusion(n, share, seed):
    random = np.random.default_rng(seed)
    fine, coarse = clean(rough(random, n)), clean(rough(random, n, blocks=2))
    mixed = mix(fine, coarse, share)
    assert_mixture(mixed, n)
    expected = (1 - share) * fine.inclusion + share * coarse.inclusion
    np.testing.assert_allclose(mixed.inclusion, expected, atol=1e-12)
