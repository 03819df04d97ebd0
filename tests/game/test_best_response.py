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
from metricfit.solving.fast import solve_fast
from oracles import DEFINITIONS, all_sets, payoffs, slacks


def check(found, exact, player):
    """The best payoff is right, and every other one is bounded from the side that the player wants."""
    best, side = (np.max, found - exact) if player == "predictor" else (np.min, exact - found)
    np.testing.assert_allclose(best(found), best(exact), rtol=0.0, atol=1e-10)
    assert np.all(side >= -1e-10)


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
    check(predictor_values(game, adversary, multipliers), best, "predictor")

    sets, sizes, metric_values = enumerated_payoffs(game, table.T, predictor)
    worth = metric_values - sets @ game.scores
    best = [worth[sizes == k].min() for k in range(n + 1)]
    check(adversary_values(game, predictor), best, "adversary")


def prefix_mixture(random, n):
    """A mixture over sets of the first items, as most of an optimal predictor is."""
    sizes = np.unique(random.integers(0, n + 1, 20))
    weights = random.dirichlet(np.ones(sizes.size))
    items = np.arange(n)
    marginals = np.where(items < sizes[:, None], weights[:, None], 0.0)
    return Strategy(sizes, weights, marginals, np.arange(n + 1))


def optimal(game):
    """Both players' strategies at the solution, where the best payoffs of many sizes are nearly equal."""
    answer = solve_fast(game, 1e-4)
    return clean(answer.adversary), clean(answer.predictor)


def sorted_payoffs(game, adversary, multipliers, predictor):
    """Both players' best payoffs for every size, by sorting all items with NumPy."""
    alpha, beta = game.metric.table(game.n)
    sizes, split = np.arange(game.n + 1), np.arange(game.n) < game.split
    worth = alpha[:, adversary.sizes] @ np.repeat(adversary.marginals, np.diff(adversary.blocks), axis=1)
    worth += (multipliers @ game.gain)[:, None] * split
    largest = np.cumsum(-np.sort(-worth, axis=1), axis=1)
    constant = beta[:, adversary.sizes] @ adversary.weights + multipliers @ game.offset
    constant -= adversary.inclusion @ game.scores
    highest = constant + np.where(sizes > 0, largest[sizes, sizes - 1], 0.0)
    cost = alpha[predictor.sizes].T @ np.repeat(predictor.marginals, np.diff(predictor.blocks), axis=1)
    smallest = np.cumsum(np.sort(cost - game.scores, axis=1), axis=1)
    lowest = predictor.weights @ beta[predictor.sizes] + np.where(sizes > 0, smallest[sizes, sizes - 1], 0.0)
    return highest, lowest


@mf.metric
def mistakes(C):
    return 1 - (C.fp + 2 * C.fn) / C.all


@pytest.mark.parametrize("metric", [mf.f1, mf.kappa, mf.mcc, mistakes], ids=lambda metric: metric.name)
@settings(deadline=None, max_examples=40)
@given(
    n=st.integers(1, 60),
    kind=st.sampled_from(["any", "blocks", "prefixes", "optimal"]),
    constrained=st.booleans(),
    digits=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_best_responses_equal_those_by_sorting_all_items(metric, n, kind, constrained, digits, seed):
    random = np.random.default_rng(seed)
    labels = random.integers(0, 2, n)
    if constrained:
        metric = metric.subject_to(mf.recall >= 0.5)
    game = make_game(metric, (0.3 * random.normal(size=n)).round(digits), labels)
    multipliers = random.random(game.gain.shape[0])
    if kind == "optimal":
        adversary, predictor = optimal(game)
    elif kind == "prefixes":
        adversary, predictor = prefix_mixture(random, n), prefix_mixture(random, n)
    else:
        blocks = None if kind == "any" else 8
        adversary, predictor = (random_strategy(random, n, game.split, blocks) for _ in range(2))
    highest, lowest = sorted_payoffs(game, adversary, multipliers, predictor)
    check(predictor_values(game, adversary, multipliers), highest, "predictor")
    check(adversary_values(game, predictor), lowest, "adversary")


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
    highest, lowest = sorted_payoffs(game, adversary, np.zeros(0), predictor)
    for module in (best_response, definition):
        monkeypatch.setattr(module, "TABLE_LIMIT", 10)
    monkeypatch.setattr(best_response, "CHUNK_CELLS", 5000)
    np.testing.assert_allclose(bounds(game, adversary, np.zeros(0), predictor), exact, atol=1e-8)
    check(predictor_values(game, adversary, np.zeros(0)), highest, "predictor")
    in_parts = adversary_values(game, predictor)
    assert abs(in_parts.min() - lowest.min()) <= 1e-8
    assert np.all(in_parts <= lowest + 1e-11)


def test_a_predictor_that_misses_a_constraint_gives_no_lower_bound():
    game = make_game(mf.precision.subject_to(mf.recall >= 0.5), [0.1, 0.2, 0.3], [1, 0, 1])
    none = Strategy(np.array([0]), np.ones(1), np.zeros((1, 2)), np.array([0, 2, 3]))
    assert bounds(game, none, np.zeros(1), none)[0] == -np.inf
