"""Every registered solver against the game written out in full."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import metricfit as mf
from drawn import built_in_metrics, constraint_sets, custom_metrics, labels_of, scores_of
from oracles import DEFINITIONS, enumerated_value, payoffs, slacks

SOLVERS = [name for name in mf.solvers() if name != "auto"]

# The gap that a solver is asked for and must reach; None if it only promises valid bounds.
TOLERANCES = {"exact-lp": 1e-7, "admm": None}
DEFAULT_TOLERANCE = 1e-4

ROUNDING = 1e-9


def check(solver, metric, scores, labels, truth):
    """The true value lies inside the bounds, and the bounds are as tight as the solver promises."""
    tolerance = TOLERANCES.get(solver, DEFAULT_TOLERANCE)
    with warnings.catch_warnings():
        if tolerance is None:
            warnings.simplefilter("ignore", mf.ConvergenceWarning)
        solution = mf.solve(metric, scores, labels, solver=solver, tol=tolerance or 1e-4)
    # Constraints may be missed by as much, which is worth their multipliers.
    rounding = ROUNDING * (max(1.0, np.abs(scores).sum()) + solution.multipliers.sum())
    assert solution.lower - rounding <= truth <= solution.value + rounding
    assert solution.adversary.shape == solution.predictor.shape == scores.shape
    for inclusion in (solution.adversary, solution.predictor):
        assert np.all((inclusion >= 0.0) & (inclusion <= 1.0 + 1e-12))
    if tolerance is not None:
        assert solution.gap <= tolerance
        assert abs(solution.value - truth) <= tolerance + rounding


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_value_equals_full_enumeration(solver, name, n):
    metric, measure = DEFINITIONS[name]
    random = np.random.default_rng(n)
    table = payoffs(measure, n)
    for scale in (1e-3, 0.1, 1.0, 1e2):
        scores = scale * random.normal(size=n).round(1)
        check(solver, metric, scores, None, enumerated_value(table, scores))


@pytest.mark.parametrize("solver", SOLVERS)
@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_value_of_any_supported_metric_equals_full_enumeration(solver, data):
    n = data.draw(st.integers(1, 5))
    metric, measure = data.draw(custom_metrics())
    scores = data.draw(scores_of(n))
    check(solver, metric, scores, None, enumerated_value(payoffs(measure, n), scores))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("constraints", [1, 2])
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_constrained_value_equals_full_enumeration(solver, constraints, data):
    n = data.draw(st.integers(1, 5))
    objective, measure = data.draw(built_in_metrics())
    metric = objective.subject_to(*data.draw(constraint_sets(constraints)))
    scores, labels = data.draw(scores_of(n)), data.draw(labels_of(n))
    table, slack = payoffs(measure, n), slacks(metric.constraints, labels)
    # On the border of feasibility the answer hangs on rounding, of the reference too.
    assume(enumerated_value(table, scores, slack - 1e-6) is not None)
    check(solver, metric, scores, labels, enumerated_value(table, scores, slack))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    ("objective", "constraint"), [("precision", mf.recall >= 0.8), ("recall", mf.precision >= 0.7)]
)
@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]], ids=str)
def test_one_class_batches_are_ordinary_input(solver, objective, constraint, labels):
    metric, measure = DEFINITIONS[objective]
    scores, labels = np.array([0.3, -0.2, 0.1, 0.0]), np.array(labels)
    truth = enumerated_value(payoffs(measure, 4), scores, slacks((constraint,), labels))
    check(solver, metric.subject_to(constraint), scores, labels, truth)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("constraint", [mf.recall >= 1.0, mf.specificity >= 1.0, mf.recall <= 0.0], ids=str)
def test_constraints_without_any_slack_are_solved(solver, constraint):
    metric, measure = DEFINITIONS["accuracy"]
    scores, labels = np.array([0.2, 0.1, -0.1, 0.05, -0.3]), np.array([1, 0, 0, 1, 1])
    truth = enumerated_value(payoffs(measure, 5), scores, slacks((constraint,), labels))
    check(solver, metric.subject_to(constraint), scores, labels, truth)


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_constraints_are_refused_exactly_when_no_mixture_meets_them(data):
    n = data.draw(st.integers(1, 5))
    metric = mf.accuracy.subject_to(*data.draw(constraint_sets(2)))
    labels = data.draw(labels_of(n))
    table = payoffs(DEFINITIONS["accuracy"][1], n)
    slack = slacks(metric.constraints, labels)
    scores = np.zeros(n)
    possible = enumerated_value(table, scores, slack - 1e-6) is not None
    assume(possible == (enumerated_value(table, scores, slack + 1e-6) is not None))
    if possible:
        mf.solve(metric, scores, labels, solver="exact-lp", tol=1e-7)
    else:
        with pytest.raises(mf.InfeasibleConstraintsError):
            mf.solve(metric, scores, labels, solver="exact-lp")


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "exact-lp"])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_value_agrees_with_the_marginal_program(solver, name):
    metric, _ = DEFINITIONS[name]
    random = np.random.default_rng(20)
    for n, scale in ((20, 0.3), (15, 0.02), (12, 2.0)):
        scores = scale * random.normal(size=n)
        exact = mf.solve(metric, scores, solver="exact-lp", tol=1e-7)
        check(solver, metric, scores, None, exact.value)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "exact-lp"])
@pytest.mark.parametrize("name", ["precision", "f1", "accuracy"])
def test_constrained_value_agrees_with_the_marginal_program(solver, name):
    metric = DEFINITIONS[name][0].subject_to(mf.recall >= 0.7, mf.specificity >= 0.4)
    random = np.random.default_rng(20)
    for n, scale in ((20, 0.3), (15, 0.02), (12, 2.0)):
        scores = scale * random.normal(size=n)
        labels = (scores + scale * random.normal(size=n) > 0).astype(np.int64)
        exact = mf.solve(metric, scores, labels, solver="exact-lp", tol=1e-7)
        check(solver, metric, scores, labels, exact.value)


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("constraints", [0, 1, 2, 3])
@settings(deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_many_values_equal_full_enumeration(solver, constraints, data):
    n = data.draw(st.integers(1, 6))
    objective, measure = data.draw(built_in_metrics())
    metric = objective.subject_to(*data.draw(constraint_sets(constraints))) if constraints else objective
    scores, labels = data.draw(scores_of(n)), data.draw(labels_of(n))
    table, slack = payoffs(measure, n), slacks(metric.constraints, labels)
    assume(enumerated_value(table, scores, slack - 1e-6) is not None)
    check(solver, metric, scores, labels, enumerated_value(table, scores, slack))
