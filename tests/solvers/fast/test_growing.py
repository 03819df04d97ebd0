"""What keeps the iterate feasible and centred while columns come and go."""

import numba as nb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.solvers.fast import growth, recentring, restoring, stepping
from metricfit.solvers.fast.state import (
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    INSIDE,
    ITEM_SHARE,
    MAX_COLUMNS,
    OUTSIDE,
    Columns,
)

balance, drop_columns = restoring.balance, growth.drop_columns
central_price, open_column = growth.central_price, growth.open_column
approach_columns, nearer = recentring.approach_columns, stepping.nearer

ITEMS = 9


@nb.njit
def balanced(columns, change, count, size, mu, scratch):
    return balance(columns, 0, change, count, size, mu, scratch)


@nb.njit
def price_of(value, count, size, mass, mu, guess):
    return central_price(value, count, size, mass, mu, guess, 1e-10)


@nb.njit
def opened(columns, index, value, count, size, mass, mu, share):
    return open_column(columns, index, value, count, size, mass, mu, share)


@nb.njit
def dropped(columns, gain, level, gap):
    return drop_columns(columns, gain, level, gap, ITEMS)


@nb.njit
def approached(columns, other, share):
    approach_columns(columns, other, ITEMS, share)


@nb.njit
def change_of(product, target):
    return nearer(product, target)


def random_columns(sizes, seed):
    rng = np.random.default_rng(seed)
    used = len(sizes)
    mass = np.zeros(MAX_COLUMNS + 2)
    mass[:used] = rng.dirichlet(np.ones(used))
    inside = rng.uniform(0.01, 0.99, (used, ITEMS)) * mass[:used, None]
    marginal = np.full((4, MAX_COLUMNS, ITEMS), np.nan)
    marginal[INSIDE, :used] = inside
    marginal[OUTSIDE, :used] = mass[:used, None] - inside
    marginal[DUAL_INSIDE:, :used] = rng.uniform(1e-6, 1.0, (2, used, ITEMS))
    size_index = np.zeros(MAX_COLUMNS, np.int64)
    size_index[:used] = sizes
    member = np.zeros(ITEMS + 1, np.bool_)
    member[sizes] = True
    dual_mass = np.zeros(MAX_COLUMNS + 2)
    dual_mass[:used] = rng.random(used)
    price, never = rng.random(MAX_COLUMNS), np.zeros(ITEMS + 1, np.bool_)
    return Columns(marginal, mass, dual_mass, price, size_index, np.array([used]), member, never, 0)


@given(st.integers(0, 10_000), st.integers(1, ITEMS - 1), st.floats(-8.0, 0.0))
def test_a_balanced_column_has_the_new_values_and_positive_duals(seed, size, exponent):
    columns = random_columns([size], seed)
    rng = np.random.default_rng(seed)
    change, mu = rng.normal(size=ITEMS), 10.0**exponent
    before, price = columns.marginal[:, 0].copy(), columns.price[0]
    growth_of_dual = balanced(columns, change, np.ones(ITEMS), float(size), mu, np.empty((2, ITEMS)))
    after = columns.marginal[:, 0]
    shift = price - columns.price[0]
    assert after[DUAL_INSIDE:].min() > 0.0
    np.testing.assert_allclose(
        after[DUAL_INSIDE] - after[DUAL_OUTSIDE],
        before[DUAL_INSIDE] - before[DUAL_OUTSIDE] + change - shift,
        atol=1e-12,
    )
    grown = size * shift - (after[DUAL_OUTSIDE] - before[DUAL_OUTSIDE]).sum()
    assert growth_of_dual == pytest.approx(grown, abs=1e-9)
    both = np.minimum(after[DUAL_INSIDE], after[DUAL_OUTSIDE])
    assert both.sum() <= restoring.ROOM * mu * (1.0 + 2.0 * ITEM_SHARE * ITEMS) * (1.0 + 1e-9)


@given(st.integers(0, 10_000), st.floats(0.0, 1.0))
def test_part_of_the_way_is_a_convex_combination(seed, share):
    columns, other = random_columns([2, 5, 6], seed), random_columns([2, 5, 6], seed + 1)
    expected = [(1.0 - share) * a + share * b for a, b in zip(columns[:4], other[:4], strict=True)]
    approached(columns, other, share)
    for found, wanted in zip(columns[:4], expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_all_the_way_is_a_copy_whatever_was_there():
    other = random_columns([2, 5], 1)
    columns = random_columns([7], 2)
    approached(columns, other, 1.0)
    assert columns.used[0] == 2
    np.testing.assert_array_equal(columns.marginal[:, :2], other.marginal[:, :2])


def test_only_columns_without_hope_and_without_mass_are_dropped():
    columns = random_columns([1, 3, 4, 8], 3)
    columns.mass[:4] = [1e-6, 0.5, 1e-6, 1e-6]
    gain = np.zeros(ITEMS + 1)
    gain[[1, 3, 4, 8]] = [-1.0, -1.0, -1e-3, -1.0]
    kept = columns.marginal[:, 1:3].copy()
    assert dropped(columns, gain, 0.0, 1e-3)
    assert columns.size_index[: columns.used[0]].tolist() == [3, 4]
    assert columns.member.nonzero()[0].tolist() == [3, 4]
    np.testing.assert_array_equal(columns.marginal[:, :2], kept)
    assert not dropped(columns, gain, 0.0, 1e-3)


def test_a_size_that_had_to_join_again_stays():
    columns = random_columns([1, 3, 4], 3)
    columns.mass[:3] = [0.5, 1e-6, 1e-6]
    columns.dropped[3] = True
    assert dropped(columns, np.full(ITEMS + 1, -1.0), 0.0, 1e-3)
    assert columns.size_index[: columns.used[0]].tolist() == [1, 3]
    assert columns.dropped.nonzero()[0].tolist() == [3, 4]


@pytest.mark.parametrize("seed", range(5))
def test_games_that_would_drop_and_miss_the_same_sizes_in_turn_are_solved(seed):
    n = 154
    scores = 0.0015 * np.random.default_rng(seed).normal(size=n) - 0.0025
    labels = (np.arange(n) < 10).astype(int)
    solution = mf.solve(mf.recall.subject_to(mf.f1 >= 0.3), scores, labels, solver="fast")
    assert solution.gap <= 1e-4
    assert solution.iterations < 150


@given(st.floats(-1e3, 1e3), st.floats(1e-9, 1.0))
def test_only_products_far_off_their_target_are_moved_and_not_too_far(product, target):
    change = change_of(product, target)
    if target / stepping.FAR <= product <= target * stepping.FAR:
        assert change == 0.0
    elif product < target:
        assert product + change == pytest.approx(target / stepping.FAR, abs=1e-12 * (abs(product) + target))
    else:
        assert -target * stepping.FAR <= change < 0.0


def test_constraints_take_few_steps():
    """A mistake in the Newton system is made up for by more steps, or another attempt."""
    random, metric, steps = np.random.default_rng(5), mf.precision_at_recall(0.8), []
    for _ in range(20):
        labels = (random.random(30) < 0.4).astype(int)
        labels[0] = 1
        scores = 0.3 * random.normal(size=30) + 0.3 * labels
        steps.append(mf.solve(metric, scores, labels, solver="fast").iterations)
    assert np.mean(steps) < 12


def central_share(value, price, mass, mu):
    """Solve ``mu / x - mu / (1 - x) = mass * (value - price)``, the slow way."""
    low, high = np.zeros_like(value), np.ones_like(value)
    for _ in range(100):
        x = 0.5 * (low + high)
        more = mu / x - mu / (1.0 - x) > mass * (value - price)
        low, high = np.where(more, x, low), np.where(more, high, x)
    return x


@given(st.integers(0, 1000), st.floats(0.0, 1.0), st.floats(-6.0, 1.0), st.sampled_from([np.inf, 0.0]))
def test_at_the_central_price_shares_sum_up_to_the_size(seed, part, exponent, guess):
    rng = np.random.default_rng(seed)
    value, count = rng.normal(size=ITEMS), rng.integers(1, 4, ITEMS).astype(np.float64)
    size = 1.0 + part * (count.sum() - 2.0)
    mass, mu = rng.uniform(0.01, 1.0), 10.0**exponent
    price = price_of(value, count, size, mass, mu, guess)
    assert count @ central_share(value, price, mass, mu) == pytest.approx(size, rel=1e-6)


def test_a_column_that_joins_is_on_the_central_path():
    rng = np.random.default_rng(3)
    columns, share = random_columns([2, 5], 0), np.empty(ITEMS)
    value, mass, mu = 30.0 * rng.normal(size=ITEMS), 0.02, 1e-4
    price = opened(columns, 4, value, np.ones(ITEMS), 4.0, mass, mu, share)
    np.testing.assert_allclose(share, central_share(value, price, mass, ITEM_SHARE * mu), rtol=1e-6)
    inside, outside, dual_inside, dual_outside = columns.marginal[:, 2]
    np.testing.assert_allclose(inside, mass * share)
    np.testing.assert_allclose(inside + outside, mass)
    np.testing.assert_allclose(dual_inside - dual_outside, value - price, rtol=1e-6)
    np.testing.assert_allclose(inside * dual_inside, ITEM_SHARE * mu)
    assert (columns.used[0], columns.size_index[2], columns.member[4]) == (3, 4, True)
