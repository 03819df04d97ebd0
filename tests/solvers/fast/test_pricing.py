"""The least total of a set of a given size, which both players' best responses are made of."""

import numba as nb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from metricfit.solvers.fast import playing, pricing

smallest_sum, smallest_sum_bound = pricing.smallest_sum, pricing.smallest_sum_bound
ITEMS = 7


@nb.njit
def exact(value, count, order, size):
    return smallest_sum(value, count, order, size)[0]


@nb.njit
def bound(value, count, order, size):
    return smallest_sum_bound(value, count, order, size, 0, 0.0)[0]


values = arrays(np.float64, ITEMS, elements=st.floats(-10.0, 10.0))
counts = arrays(np.float64, ITEMS, elements=st.integers(1, 4))


@given(values, st.permutations(range(ITEMS)), st.integers(0, ITEMS))
def test_the_least_total_is_that_of_the_smallest_values(value, order, size):
    order = np.array(order)
    assert exact(value, np.ones(ITEMS), order, float(size)) == pytest.approx(np.sort(value)[:size].sum())
    assert (np.diff(value[order]) >= 0.0).all()


@given(values, counts, st.permutations(range(ITEMS)), st.floats(0.0, 1.0))
def test_the_bound_holds_whatever_the_order(value, count, order, share):
    size = share * count.sum()
    order = np.array(order)
    below = bound(value, count, order, size)
    assert below <= exact(value, count, order, size) + 1e-9


@given(values, counts, st.floats(0.0, 1.0))
def test_the_bound_is_exact_in_the_right_order(value, count, share):
    order, size = np.argsort(value), share * count.sum()
    below = bound(value, count, order, size)
    assert below == pytest.approx(exact(value, count, order, size))


@nb.njit
def one_after_the_other(value, count, order, sizes):
    found = np.empty(sizes.shape[0])
    place, before = 0, 0.0
    for x in range(sizes.shape[0]):
        found[x], place, before = smallest_sum_bound(value, count, order, sizes[x], place, before)
        if x % 3 == 1:
            _, place, before = smallest_sum(value, count, order, sizes[x])
    return found


@given(values, counts, st.permutations(range(ITEMS)))
def test_a_place_is_found_from_that_of_a_smaller_size_on(value, count, order):
    order, sizes = np.array(order), np.arange(count.sum() + 1.0)
    below = one_after_the_other(value, count, order, sizes)
    for x, size in enumerate(sizes):
        least = exact(value, count, np.array(order), size)
        assert below[x] <= least + 1e-9
        if x > 1:  # it was sorted on the way
            assert below[x] == pytest.approx(least)


@nb.njit
def bounds_of(values):
    return playing.span(values)


@pytest.mark.parametrize("place", range(3))
def test_payoffs_that_are_not_numbers_prove_nothing(place):
    values = np.array([0.3, -0.2, 0.1])
    assert bounds_of(values) == (-0.2, 0.3)
    values[place] = np.nan
    assert bounds_of(values) == (-np.inf, np.inf)
