"""The referee against every set written out, and its bounds for large games against the exact ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricfit as mf
from metricfit.game import (
    Strategy,
    adversary_values,
    best_response,
    bounds,
    clean,
    definition,
    make_game,
    predictor_values,
)
from oracles import DEFINITIONS, all_sets, payoffs, slacks


def random_strategy(random, n, split, blocks=None, sizes=4):
    """Marginals of some mixture, over blocks that do not cross the split."""
    edges = np.arange(n + 1) if blocks is None else random.integers(0, n, blocks)
    edges = np.unique(np.concatenate((edges, [0, split, n])))
    chosen = np.sort(random.choice(n + 1, min(sizes, n + 1), replace=False))
    weights = random.dirichlet(np.ones(chosen.size))
    marginals = weights[:, None] * random.random((chosen.size, edges.size - 1))
    return clean(Strategy(chosen, weights, marginals, edges))


def enumerated_payoffs(game, table, mixture):
    """Expected metric of each set against a mixture; rows of the table are the sets that answer."""
    sets = all_sets(game.n)
    sizes = sets.sum(axis=1)
    expected = np.zeros(len(sets))
    for size, weight, row in zip(mixture.sizes, mixture.weights, mixture.marginals, strict=True):
        items = np.repeat(row, np.diff(mixture.blocks))
        # The table is affine in the common items, so two columns of that size give the whole of it.
        for answer, chosen in enumerate(sets):
            hits = chosen @ items
            column = sizes == size
            common = sets[column] @ chosen
            alpha, beta = np.polyfit(common, table[answer, column], 1) if np.ptp(common) else (0.0, None)
            if beta is None:
                expected[answer] += weight * table[answer, column][0]
            else:
                expected[answer] += alpha * hits + beta * weight
    return sets, sizes, expected


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(deadline=None, max_examples=8)
@given(n=st.integers(1, 5), blocks=st.none() | st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_best_responses_equal_enumeration(name, n, blocks, seed):
    random = np.random.default_rng(seed)
    metric, measure = DEFINITIONS[name]
    constraint = mf.recall >= 0.5
    labels = random.integers(0, 2, n)
    game = make_game(metric.subject_to(constraint), random.normal(size=n).round(1), labels)
    adversary = random_strategy(random, n, game.split, blocks)
    predictor = random_strategy(random, n, game.split, blocks)
    multipliers = random.random(1)
    table = payoffs(measure, n)

    sets, sizes, metric_values = enumerated_payoffs(game, table, adversary)
    slack = slacks((constraint,), labels[game.order])[:, 0]
    worth = metric_values + multipliers[0] * slack - adversary.inclusion @ game.scores
    best = [worth[sizes == k].max() for k in range(n + 1)]
    np.testing.assert_allclose(predictor_values(game, adversary, multipliers), best, atol=1e-10)

    sets, sizes, metric_values = enumerated_payoffs(game, table.T, predictor)
    worth = metric_values - sets @ game.scores
    best = [worth[sizes == k].min() for k in range(n + 1)]
    np.testing.assert_allclose(adversary_values(game, predictor), best, atol=1e-10)


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.accuracy], ids=lambda metric: metric.name)
@pytest.mark.parametrize("scale", [1e-4, 1.0])
def test_large_games_are_bounded_as_small_ones_are(metric, scale, monkeypatch):
    random = np.random.default_rng(0)
    n = 700
    scores = scale * random.normal(size=n).round(2)
    game = make_game(metric, scores)
    adversary = random_strategy(random, n, n, blocks=60)
    predictor = random_strategy(random, n, n, blocks=60, sizes=30)
    exact = bounds(game, adversary, np.zeros(0), predictor)
    by_size = adversary_values(game, predictor)
    for module in (best_response, definition):
        monkeypatch.setattr(module, "TABLE_LIMIT", 10)
    monkeypatch.setattr(best_response, "CHUNK_CELLS", 5000)
    np.testing.assert_allclose(bounds(game, adversary, np.zeros(0), predictor), exact, atol=1e-8)
    in_parts = adversary_values(game, predictor)
    np.testing.assert_allclose(in_parts, by_size, atol=1e-8)
    assert np.all(in_parts <= by_size + 1e-11)


@pytest.mark.parametrize("n", [300, 3000])
def test_prefixes_are_summed_up_as_any_other_sets_are(n, monkeypatch):
    random = np.random.default_rng(n)
    game = make_game(mf.kappa, random.normal(size=n))
    edges = np.unique(np.concatenate((random.integers(0, n, 100), [0, n])))
    weights = random.dirichlet(np.ones(edges.size))
    prefixes = Strategy(edges, weights, weights[:, None] * np.tri(edges.size, edges.size - 1, -1), edges)
    monkeypatch.setattr(best_response, "SMALL_PRODUCT", 0)
    quick = adversary_values(game, prefixes)
    monkeypatch.setattr(best_response, "FEW_CHANGES", 0.0)
    np.testing.assert_allclose(quick, adversary_values(game, prefixes), rtol=0.0, atol=1e-11)


def test_a_predictor_that_misses_a_constraint_proves_nothing():
    game = make_game(mf.precision.subject_to(mf.recall >= 0.5), [0.1, 0.2, 0.3], [1, 0, 1])
    none = Strategy(np.array([0]), np.ones(1), np.zeros((1, 2)), np.array([0, 2, 3]))
    assert bounds(game, none, np.zeros(1), none)[0] == -np.inf
