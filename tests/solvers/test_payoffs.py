"""Games with scores of sizes, and with sizes that the predictor may not choose, against the enumeration."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import metricfit as mf
from drawn import built_in_metrics, constraint_sets, labels_of, scores_of
from metricfit.game import InfeasibleConstraintsError, make_game
from metricfit.solvers.solving import certified
from oracles import all_sets, enumerated_slack, enumerated_value, payoffs, slacks

SOLVERS = [name for name in mf.solvers() if name != "auto"]
# The gap that is asked for and must be reached; ADMM only promises valid bounds.
TOLERANCES = {"exact-lp": 1e-7, "fast": 1e-4}


def check(solver: str, lower: float, value: float, truth: float, scores: NDArray[np.float64]) -> None:
    room = 1e-8 * max(1.0, float(np.abs(scores).sum()))
    assert lower - room <= truth <= value + room
    if solver in TOLERANCES:
        assert value - lower <= 1.001 * TOLERANCES[solver]


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_scores_of_sizes_shift_the_payoffs_of_the_enumeration(solver: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 5))
    metric, measure = data.draw(built_in_metrics())
    scores = data.draw(scores_of(n))
    phi = np.array(
        data.draw(st.lists(st.floats(-2, 2, allow_subnormal=False), min_size=n + 1, max_size=n + 1))
    )
    truth = enumerated_value(payoffs(measure, n) - phi[all_sets(n).sum(axis=1)], scores)
    assert truth is not None
    with warnings.catch_warnings():
        if solver not in TOLERANCES:
            warnings.simplefilter("ignore", mf.ConvergenceWarning)
        found = mf.solve(metric, scores, size_scores=phi, solver=solver, tol=TOLERANCES.get(solver, 1e-4))
    check(solver, found.lower, found.value, truth, scores)


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), constraints=st.integers(0, 1))
def test_only_allowed_sizes_are_chosen(solver: str, data: st.DataObject, constraints: int) -> None:
    n = data.draw(st.integers(2, 6))
    plain, measure = data.draw(built_in_metrics())
    metric = plain.subject_to(*data.draw(constraint_sets(1))) if constraints else plain
    scores, labels = data.draw(scores_of(n)), data.draw(labels_of(n))
    allowed = data.draw(st.sets(st.integers(0, n), min_size=1, max_size=n))
    rows = np.isin(all_sets(n).sum(axis=1), list(allowed))
    table = payoffs(measure, n)[rows]
    slack = slacks(metric.constraints, labels)[rows]
    try:
        game = make_game(metric, scores, labels, allowed_sizes=allowed)
    except InfeasibleConstraintsError:
        assert enumerated_slack(slack) < 1e-9
        return
    assume(not constraints or enumerated_slack(slack) > 1e-6)
    truth = enumerated_value(table, scores, slack)
    assert truth is not None
    found, _, _ = certified(game, solver, TOLERANCES.get(solver, 1e-4), {})
    check(solver, found.lower, found.upper, truth, scores)
    forbidden = ~np.isin(found.predictor.sizes, list(allowed))
    if solver == "exact-lp":
        assert found.predictor.weights[forbidden].sum() <= 1e-6


@pytest.mark.parametrize("solver", ["fast", "exact-lp"])
def test_size_scores_of_several_games_are_those_of_each(solver: str) -> None:
    random = np.random.default_rng(0)
    scores = [0.2 * random.normal(size=n) for n in (5, 9, 5)]
    sizes = [random.normal(size=row.size + 1) for row in scores]
    together = mf.solve_many(mf.f1, scores, size_scores=sizes, solver=solver, threads=2)
    for row, phi, solution in zip(scores, sizes, together, strict=True):
        alone = mf.solve(mf.f1, row, size_scores=phi, solver=solver)
        assert solution.value == pytest.approx(alone.value, abs=1e-7)
    with pytest.raises(ValueError, match="3 sets of scores but 2 sets of size_scores"):
        mf.solve_many(mf.f1, scores, size_scores=sizes[:2])


@pytest.mark.parametrize("solver", SOLVERS)
def test_equal_size_scores_only_shift_the_value(solver: str) -> None:
    scores = 0.3 * np.random.default_rng(1).normal(size=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.ConvergenceWarning)
        plain, shifted = (
            mf.solve(mf.mcc, scores, size_scores=phi, solver=solver) for phi in (None, np.full(9, 0.75))
        )
    assert shifted.lower <= plain.value - 0.75
    assert plain.lower - 0.75 <= shifted.value


@pytest.mark.parametrize("n", [25, 60])
def test_larger_games_of_one_size_reach_the_tolerance(n: int) -> None:
    scores = 8.0 / n * np.random.default_rng(n).normal(size=n)
    game = make_game(mf.precision, scores, allowed_sizes=[5])
    found, _, _ = certified(game, "fast", 1e-4, {})
    assert 0.0 <= found.gap <= 1e-4
    assert found.predictor.inclusion.sum() == pytest.approx(5.0, abs=1e-2)


@pytest.mark.parametrize("sizes", [[], [6], [-1], [2.5]])
def test_sizes_that_no_set_has_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="allowed_sizes must hold whole numbers from 0 to 5"):
        make_game(mf.f1, np.zeros(5), allowed_sizes=sizes)
