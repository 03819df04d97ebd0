"""Mixtures of strategies: the best share, and that columns of the same size find each other."""

import numba as nb
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metricfit.solvers.fast import blending
from metricfit.solvers.fast.state import INSIDE, MAX_COLUMNS, Columns

best_share, share_of = blending.best_share, blending.share_of
mix_chain, mix_columns = blending.mix_chain, blending.mix_columns


@nb.njit
def the_best_share(kept, new, shift):
    return best_share(kept, new, shift)


@nb.njit
def mixed(kept, new, share, blocks):
    mix_columns(kept, new, share, blocks, blocks.shape[0] - 1)


@nb.njit
def mixed_chain(kept, new, share, blocks):
    mix_chain(kept, new, share, blocks, blocks.shape[0] - 1)


@nb.njit
def the_share_of(kept, new, losses, new_losses):
    return share_of(kept, new, losses, new_losses, 0.0)


losses = st.lists(st.floats(-1.0, 1.0, width=32), min_size=1, max_size=12)


@given(losses, st.randoms(use_true_random=False), st.floats(-0.5, 0.5))
def test_no_share_is_better(kept, random, shift):
    kept = np.array(kept)
    new = np.array([random.uniform(-1.0, 1.0) for _ in kept])
    share = the_best_share(kept, new, shift)
    grid = np.linspace(0.0, 1.0, 101)[:, None]
    best = ((1.0 - grid) * kept + grid * (new + shift)).max(axis=1).min()
    assert 0.0 <= share <= 1.0
    assert ((1.0 - share) * kept + share * (new + shift)).max() <= best + 1e-12


def strategy(sizes, seed, items=5):
    rng = np.random.default_rng(seed)
    columns = Columns(
        np.full((4, MAX_COLUMNS, items), np.nan),
        np.zeros(MAX_COLUMNS + 2),
        np.zeros(MAX_COLUMNS + 2),
        np.zeros(MAX_COLUMNS),
        np.zeros(MAX_COLUMNS, np.int64),
        np.array([len(sizes)]),
        np.zeros(1, np.bool_),
        np.zeros(1, np.bool_),
        0,
    )
    columns.size_index[: len(sizes)] = sizes
    columns.mass[: len(sizes)] = rng.dirichlet(np.ones(len(sizes)))
    columns.marginal[INSIDE, : len(sizes)] = rng.random((len(sizes), items))
    return columns


def by_size(columns):
    found = {}
    for a in range(columns.used[0]):
        assert columns.size_index[a] not in found
        found[int(columns.size_index[a])] = columns.mass[a], columns.marginal[INSIDE, a].copy()
    return found


def test_columns_of_one_size_are_mixed_and_others_kept():
    one, other = strategy([3, 1], 0), strategy([1, 4, 2], 1)
    before, added = by_size(one), by_size(other)
    mixed(one, other, 0.25, np.arange(6))
    after = by_size(one)
    assert set(after) == {1, 2, 3, 4}
    for size, (mass, inside) in after.items():
        was, comes = before.get(size, (0.0, np.zeros(5))), added.get(size, (0.0, np.zeros(5)))
        np.testing.assert_allclose(mass, 0.75 * was[0] + 0.25 * comes[0])
        np.testing.assert_allclose(inside, 0.75 * was[1] + 0.25 * comes[1])


def test_a_whole_share_replaces_what_was_there():
    one, other = strategy([3, 1], 0), strategy([1, 4], 1)
    mixed(one, other, 1.0, np.arange(6))
    assert set(by_size(one)) == {1, 4}


def test_items_of_a_group_get_what_the_group_has():
    one, other = strategy([3, 1], 0), strategy([1], 1)
    before, added = by_size(one)[1][1], by_size(other)[1][1]
    mixed(one, other, 0.25, np.array([0, 2, 5]))
    expected = 0.75 * before + 0.25 * added[[0, 0, 1, 1, 1]]
    np.testing.assert_allclose(by_size(one)[1][1], expected)


def test_sets_of_the_chain_end_with_groups():
    chain = np.full(6, 1.0 / 6.0)
    mixed_chain(chain, np.array([0.5, 0.2, 0.3]), 0.5, np.array([0, 2, 5]))
    np.testing.assert_allclose(chain, 0.5 * np.full(6, 1.0 / 6.0) + 0.5 * np.array([0.5, 0, 0.2, 0, 0, 0.3]))


def test_strategies_that_do_not_fit_together_are_not_mixed():
    one, other = strategy(range(60), 0), strategy(range(50, 110), 1)
    assert the_share_of(one, other, np.array([0.0, 1.0]), np.array([0.9, 0.0])) == 1.0
    assert the_share_of(one, other, np.array([0.9, 0.0]), np.array([0.0, 1.0])) == 0.0
    few = strategy(range(4), 1)
    assert 0.0 < the_share_of(one, few, np.array([0.0, 1.0]), np.array([0.9, 0.0])) < 1.0
