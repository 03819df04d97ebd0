"""Games with scores of sizes, and with sizes that the predictor may not choose, against the enumeration."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import metricfit as mf
from drawn import built_in_metrics, constraint_sets, labels_of, scores_of
from metricfit.game import InfeasibleConstraintsError, make_game
from metricfit.metrics.plain import from_plain, to_plain
from metricfit.solving.certifying import certified
from oracles import DEFINITIONS, all_sets, enumerated_slack, enumerated_value, payoffs, slacks

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
def test_only_allowed_sizes_are_chosen_whatever_else_there_is(
    solver: str, data: st.DataObject, constraints: int
) -> None:
    """With a constraint, and with scores of sizes."""
    n = data.draw(st.integers(2, 6))
    plain, measure = data.draw(built_in_metrics())
    metric = plain.subject_to(*data.draw(constraint_sets(1))) if constraints else plain
    scores, labels = data.draw(scores_of(n)), data.draw(labels_of(n))
    allowed = data.draw(st.sets(st.integers(0, n), min_size=1, max_size=n))
    phi = np.array(data.draw(st.lists(st.sampled_from([0.0, -0.5, 0.25]), min_size=n + 1, max_size=n + 1)))
    sizes = all_sets(n).sum(axis=1)
    rows = np.isin(sizes, list(allowed))
    table = payoffs(measure, n)[rows] - phi[sizes]
    slack = slacks(metric.constraints, labels)[rows]
    try:
        game = make_game(metric, scores, labels, size_scores=phi, allowed_sizes=allowed)
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


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("size", [1, 2, 4, 9, 0.5])
@pytest.mark.parametrize("name", ["precision", "f1", "mcc"])
def test_a_metric_at_a_size_is_solved_as_the_enumeration_says(solver: str, size: float, name: str) -> None:
    metric, measure = DEFINITIONS[name]
    scores = np.array([0.2, -0.1, 0.05, 0.2])
    (k,) = metric.at_size(size).sizes(4)
    assert k == min(4, size if size >= 1 else 2)
    truth = enumerated_value(payoffs(measure, 4)[all_sets(4).sum(axis=1) == k], scores)
    assert truth is not None
    with warnings.catch_warnings():
        if solver not in TOLERANCES:
            warnings.simplefilter("ignore", mf.ConvergenceWarning)
        found = mf.solve(metric.at_size(size), scores, solver=solver, tol=TOLERANCES.get(solver, 1e-4))
    check(solver, found.lower, found.value, truth, scores)


def test_a_metric_at_a_size_is_another_metric_that_can_be_written_down() -> None:
    metric = mf.precision.at_size(3)
    assert metric != mf.precision
    assert metric == mf.precision_at_k(3) == mf.get_metric("precision_at_k(3)")
    assert hash(metric) == hash(mf.precision_at_k(3))
    assert pickle.loads(pickle.dumps(metric)) == metric
    assert from_plain(to_plain(metric)) == metric
    assert metric.objective.size == 3
    assert "at size" in metric.latex()


@pytest.mark.parametrize("size", [0, -1, 1.0, 1.5, True, float("nan"), "3"])
def test_a_size_that_makes_no_sense_is_refused(size: object) -> None:
    with pytest.raises(ValueError, match="a size must be a whole number from 1 on, or a share"):
        mf.precision.at_size(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", [mf.precision_at_k(3), mf.f1.at_size(0.25)], ids=str)
def test_the_loss_trains_for_one_size(metric: mf.Metric) -> None:
    random = np.random.default_rng(5)
    targets = torch.from_numpy((random.random(32) < 0.3).astype(np.int64))
    logits = torch.from_numpy(random.normal(size=32)).requires_grad_()
    criterion = mf.MetricLoss(metric)
    loss = criterion(logits, targets)
    loss.backward()
    assert loss.item() > 0.0
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0.0
    sure = criterion(200.0 * (2.0 * targets - 1.0), targets)
    assert sure.item() == pytest.approx(0.0, abs=1e-3)


def test_constraints_that_no_set_of_the_size_meets_are_refused_with_the_size() -> None:
    metric = mf.precision.at_size(2).subject_to(mf.recall >= 0.8)
    with pytest.raises(InfeasibleConstraintsError, match=r"with the sizes 2 on these labels .*at most 0\.5"):
        mf.solve(metric, np.zeros(6), [1, 1, 1, 1, 0, 0])
    assert mf.solve(metric, np.zeros(6), [1, 1, 0, 0, 0, 0]).converged


@pytest.mark.parametrize("n", [500, 1500])
@pytest.mark.parametrize("name", ["precision", "f1", "mcc"])
def test_large_games_of_one_size_are_certified(n: int, name: str) -> None:
    """Above 400 items the fast solver plays blocks of items."""
    scores = 8.0 / n * np.random.default_rng(n).normal(size=n)
    found = mf.solve(DEFINITIONS[name][0].at_size(0.02), scores, tol=1e-3)
    assert found.converged
    assert found.predictor.sum() == pytest.approx(0.02 * n, rel=0.02)


@pytest.mark.parametrize("n", [500, 900])
@pytest.mark.parametrize("name", ["f1", "mcc"])
def test_large_games_with_scores_of_sizes_are_certified(n: int, name: str) -> None:
    scores = 8.0 / n * np.random.default_rng(n).normal(size=n)
    sizes = np.arange(n + 1)
    phi = -2.0 * np.abs(sizes / n - 0.1)
    found = mf.solve(DEFINITIONS[name][0], scores, size_scores=phi, tol=1e-3)
    assert found.converged
    plain = mf.solve(DEFINITIONS[name][0], scores, tol=1e-3)
    assert found.value <= plain.value - phi.min() + 1e-3
    assert found.lower >= plain.lower - phi.max() - 1e-3
