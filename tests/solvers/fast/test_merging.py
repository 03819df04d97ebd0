"""Groups of items that are decided alike: which they are, and that nothing else changes with them."""

from itertools import pairwise

import numba as nb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metricfit as mf
from metricfit.solvers.fast import interior_point, merging
from metricfit.solvers.fast.memory import memory_for
from metricfit.solvers.fast.solving import judge_fast
from metricfit.solvers.fast.state import (
    DUAL_INSIDE,
    DUAL_OUTSIDE,
    INSIDE,
    MAX_COLUMNS,
    OUTSIDE,
    Columns,
    Grouping,
    Iterate,
    Problem,
)

choose_groups, find_margins = merging.choose_groups, merging.find_margins
find_origins, write_problem = merging.find_origins, merging.write_problem
regroup_chain, regroup_columns = merging.regroup_chain, merging.regroup_columns


@nb.njit
def margins(adversary, groups):
    margin, apart = np.empty(groups), np.empty(groups)
    find_margins(adversary, groups, margin, apart)
    return margin, apart


@nb.njit
def chosen(whole, problem, grouping, margin, apart, spare):
    return choose_groups(whole, problem, grouping, margin, apart, spare)


@nb.njit
def move(whole, it, grouping, groups, count):
    wide = np.empty(whole.items.shape[1] + 1)
    regroup_chain(whole, it, grouping, groups, count, wide)
    weight, origin = np.empty(groups), np.empty(count + 1, np.int64)
    for g in range(groups):
        weight[g] = whole.items[0, grouping.blocks[g] : grouping.blocks[g + 1]].sum()
    find_origins(grouping, count, origin)
    regroup_columns(it.adversary, weight, count, origin, wide)
    write_problem(whole, grouping, count)


def make_problem(scores, labels, weights):
    n = scores.size
    gains = np.arange(2.0 * (n + 1)).reshape(2, n + 1)
    nothing = np.zeros((2, n + 1, n + 1))
    sizes = np.arange(n + 1.0)
    limits = np.zeros((2, 2, n + 1))
    return Problem(
        nothing,
        nothing,
        sizes,
        sizes,
        np.stack((weights, scores, labels)),
        np.arange(n + 1),
        limits,
        gains,
        0,
    )


def problem_on(whole, grouping, count):
    return whole._replace(
        items=grouping.items[: 3 * count].reshape(3, count),
        chain=grouping.chain[: count + 1],
        chain_gain=grouping.gain[: 2 * (count + 1)].reshape(2, count + 1),
    )


def make_grouping(blocks, n):
    grouping = Grouping(
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.empty(3 * n),
        np.empty(n + 1, np.int64),
        np.empty(2 * n + 2),
        0,
    )
    grouping.blocks[: len(blocks)] = blocks
    return grouping


def make_columns(costs):
    used, n = costs.shape
    marginal = np.full((4, MAX_COLUMNS, n), np.nan)
    marginal[DUAL_INSIDE, :used] = np.maximum(costs, 0.0) + 1e-3
    marginal[DUAL_OUTSIDE, :used] = np.maximum(-costs, 0.0) + 1e-3
    mass = np.zeros(MAX_COLUMNS + 2)
    mass[:used] = 1.0 / used
    marginal[INSIDE, :used] = mass[0] * np.random.default_rng(0).random((used, n))
    marginal[OUTSIDE, :used] = mass[0] - marginal[INSIDE, :used]
    sizes = np.zeros(MAX_COLUMNS, np.int64)
    dual_mass, price = np.zeros(MAX_COLUMNS + 2), np.zeros(MAX_COLUMNS)
    member, dropped = np.zeros((2, n + 1), np.bool_)
    return Columns(marginal, mass, dual_mass, price, sizes, np.array([used]), member, dropped, 0)


def test_the_margin_is_that_of_the_least_decided_column():
    margin, apart = margins(make_columns(np.array([[-3.0, -1.0, 2.0, 4.0], [1.0, 2.0, 3.0, 0.5]])), 4)
    np.testing.assert_allclose(margin, [1.0, 1.0, 2.0, 0.5])
    assert apart.tolist() == [0.0, 0.0, 1.0, 0.0]


@st.composite
def situations(draw):
    n = draw(st.integers(1, 12))
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    scores = np.sort(random.normal(size=n))[::-1].copy()
    labels = (random.random(n) < draw(st.sampled_from([0.0, 0.3]))).astype(float)
    weights = random.integers(1, 3, n).astype(float)
    cuts = np.flatnonzero((random.random(n - 1) < 0.5) | (labels[1:] != labels[:-1])) + 1
    blocks = np.concatenate(([0], cuts, [n]))
    return make_problem(scores, labels, weights), make_grouping(blocks, n), blocks, random


def regrouped(whole, grouping, blocks, margin, apart, spare):
    coming = grouping._replace(coming=blocks.copy())
    move(whole, empty_iterate(whole, blocks.size - 1), coming, blocks.size - 1, blocks.size - 1)
    problem = problem_on(whole, coming, blocks.size - 1)
    return chosen(whole, problem, grouping, margin, apart, spare)


def empty_iterate(whole, groups):
    n = whole.items.shape[1]
    columns = make_columns(np.zeros((1, n)))
    mass, slack = np.zeros(n + 1), np.zeros(n + 1)
    mass[: groups + 1], slack[: groups + 1] = 1.0 / (groups + 1), 1.0
    return Iterate(columns, columns, mass, slack, np.zeros(2), np.zeros(2), np.zeros(2), 0)


@given(situations(), st.sampled_from([0.0, 0.05]))
def test_no_group_is_much_wider_than_its_margin(situation, spare):
    whole, grouping, blocks, random = situation
    groups = blocks.size - 1
    margin = random.exponential(size=groups)
    apart = (random.random(groups) < 0.2).astype(float)
    count, split = regrouped(whole, grouping, blocks, margin, apart, spare)
    begins = grouping.coming[: count + 1]
    assert begins[0] == 0
    assert begins[-1] == whole.items.shape[1]
    assert (np.diff(begins) > 0).all()
    _, scores, labels = whole.items
    was_split = False
    for first, last in pairwise(begins):
        assert len(set(labels[first:last])) == 1
        inside = [g for g in range(groups) if blocks[g] < last and blocks[g + 1] > first]
        if len(inside) > 1:
            assert not apart[inside[1:]].any()
            assert np.ptp(scores[first:last]) <= merging.SPAN * (margin[inside].min() + spare)
        was_split |= last - first < blocks[inside[0] + 1] - blocks[inside[0]]
    assert split == was_split


def test_a_group_that_nobody_has_decided_is_taken_apart():
    whole = make_problem(np.array([3.0, 2.0, 1.0, 0.0]), np.zeros(4), np.ones(4))
    grouping, blocks = make_grouping([0, 4], 4), np.array([0, 4])
    assert regrouped(whole, grouping, blocks, np.zeros(1), np.zeros(1), 0.0) == (4, True)
    assert regrouped(whole, grouping, blocks, np.array([1.6]), np.zeros(1), 0.0) == (1, False)
    assert regrouped(whole, grouping, blocks, np.array([1.4]), np.zeros(1), 0.0) == (2, True)


def new_groups(blocks, random):
    """Merge groups at random, and split some of those that are still alone."""
    kept = np.concatenate((blocks[:1], blocks[1:-1][random.random(blocks.size - 2) < 0.5], blocks[-1:]))
    alone = [set(range(a + 1, b)) for a, b in pairwise(blocks) if a in kept and b in kept]
    cuts = [x for x in sorted(set().union(*alone)) if random.random() < 0.5]
    return np.sort(np.concatenate((kept, np.array(cuts, np.int64))))


@given(situations())
def test_probabilities_of_items_stay_on_the_average(situation):
    whole, grouping, blocks, random = situation
    groups = blocks.size - 1
    weight = whole.items[0]
    it = empty_iterate(whole, groups)
    it.chain_mass[: groups + 1] = random.dirichlet(np.ones(groups + 1))
    before = it.adversary.marginal[:, 0, :groups].copy()
    chain = it.chain_mass.copy()
    coming = new_groups(blocks, random)
    grouping.coming[: coming.size] = coming
    count = coming.size - 1
    move(whole, it, grouping, groups, count)

    def of_items(values, begins):
        return np.repeat(values, np.diff(begins))

    after = it.adversary.marginal[:, 0, :count]
    for g in range(count):
        inside = slice(coming[g], coming[g + 1])
        for kind in range(4):
            mean = np.average(of_items(before[kind], blocks)[inside], weights=weight[inside])
            assert after[kind, g] == pytest.approx(mean)
    assert it.chain_mass[: count + 1].min() > 0.0
    assert it.chain_mass[: count + 1].sum() == pytest.approx(1.0)
    assert it.chain_slack[: count + 1].min() > 0.0

    # How much of the items up to a place that ended a group and still does is expected to be taken.
    def taken(masses, begins):
        reach = np.concatenate(([0.0], np.cumsum(weight)))
        kept = sorted(set(blocks) & set(coming))
        return [sum(m * min(reach[j], reach[x]) for m, j in zip(masses, begins, strict=True)) for x in kept]

    np.testing.assert_allclose(taken(it.chain_mass[: count + 1], coming), taken(chain[: groups + 1], blocks))
    problem = problem_on(whole, grouping, count)
    assert problem.items[0].sum() == pytest.approx(weight.sum())
    assert problem.items[0] @ problem.items[1] == pytest.approx(weight @ whole.items[1])
    np.testing.assert_array_equal(problem.chain, coming)
    np.testing.assert_array_equal(problem.chain_gain, whole.chain_gain[:, coming])


@pytest.mark.parametrize("metric", [mf.f1, mf.kappa, mf.mcc, mf.precision_at_recall(0.7)])
@pytest.mark.parametrize("spread", [0.01, 0.1])
def test_games_that_need_many_sizes_are_solved_as_by_the_linear_program(metric, spread):
    random = np.random.default_rng(5)
    n = 24
    assert n > interior_point.MANY_COLUMNS
    scores = spread * random.normal(size=n)
    labels = (random.random(n) < 0.4).astype(int)
    fast = mf.solve(metric, scores, labels, solver="fast", tol=1e-6)
    exact = mf.solve(metric, scores, labels, solver="exact-lp")
    assert fast.gap <= 1e-6
    assert fast.value == pytest.approx(exact.value, abs=2e-6)


def groups_at_the_end(n):
    """Count the groups that the last game of this thread was left with."""
    blocks = memory_for(n, 0, n + 1, n + 1).room.value.grouping.blocks
    return int(np.flatnonzero(blocks == n)[0])


@pytest.mark.parametrize("metric", [mf.f1, mf.f2, mf.kappa])
@pytest.mark.parametrize("seed", [0, 2, 4, 8])  # games that need more than a few sizes
def test_groups_are_made_and_split_so_that_the_first_attempt_succeeds(metric, seed):
    n, tol = 80, 1e-5
    scores = 0.03 * np.random.default_rng(seed).normal(size=n) - 0.01
    _, verdict = judge_fast(metric, scores[None], tol)
    assert groups_at_the_end(n) < n
    assert verdict[0, 1] <= tol
