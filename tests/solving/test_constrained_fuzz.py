"""No certificate is false: with constraints that nearly contradict each other, at any tolerance."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest

import metricfit as mf
from constrained import drawn_game, exact_bounds
from metricfit.game import InfeasibleConstraintsError, make_game, slack_tolerances
from metricfit.solving.certifying import certified
from oracles import enumerated_slack, enumerated_value, table_payoffs, table_slacks

SOLVERS = ("fast", "exact-lp")


def check(seed: int) -> str:
    """Judge both solvers' certificates of one game in exact arithmetic, and against the enumeration."""
    random = np.random.default_rng(seed)
    metric, scores, labels, tol = drawn_game(random)
    n = scores.size
    try:
        game = make_game(metric, scores, labels)
    except InfeasibleConstraintsError:
        if n <= 5:
            assert enumerated_slack(table_slacks(metric.constraints, labels)) <= 1e-9
        return "infeasible"
    found = [certified(game, solver, tol, {})[0] for solver in SOLVERS]
    for certificate in found:
        lower, upper = exact_bounds(game, certificate)
        assert certificate.lower <= lower <= upper <= certificate.upper
    assert max(one.lower for one in found) <= min(one.upper for one in found)
    if n <= 5:
        table, slack = table_payoffs(metric, n), table_slacks(metric.constraints, labels)
        tolerances = slack_tolerances(game.gain, game.offset, game.split)
        loose = enumerated_value(table, scores, slack + 1.1 * tolerances)
        tight = enumerated_value(table, scores, slack + 0.9 * tolerances)
        assert loose is not None
        assert tight is not None
        # Where a constraint is hard to meet, the reference itself is off by what its tolerance is worth.
        room = 1e-9 * (1.0 + float(np.abs(scores).sum())) + 2.0 * abs(loose - tight)
        for certificate in found:
            assert certificate.lower <= loose + room
            assert certificate.upper >= tight - room
    return "converged" if all(one.gap <= max(tol, 1e-7) for one in found) else "missed"


@pytest.mark.parametrize("seed", range(300))
def test_certificates_hold_in_exact_arithmetic(seed: int) -> None:
    check(seed)


@pytest.mark.slow
def test_ten_thousand_certificates_hold_in_exact_arithmetic() -> None:
    outcomes = [check(seed) for seed in range(300, 10_300)]
    assert outcomes.count("missed") < 0.02 * len(outcomes)


@pytest.mark.parametrize("solver", SOLVERS)
def test_constraints_that_contradict_each_other_by_less_than_rounding_are_met_nearly(solver: str) -> None:
    metric = mf.get_metric("tp-fp").subject_to(
        mf.recall >= 0.8, mf.balanced_accuracy <= 0.999999999999, mf.accuracy >= 1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.ConvergenceWarning)
        solution = mf.solve(metric, [0.5, -0.5], [0, 0], tol=1e-12, solver=solver)
    # The predictor has to choose nothing, the adversary then the first item.
    assert solution.value == pytest.approx(-0.5, abs=1e-8)
    assert solution.gap < 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_tolerance_below_rounding_is_no_gap_of_nothing(solver: str) -> None:
    metric = mf.informedness.subject_to(mf.precision >= 1, mf.f1 >= 1)
    with pytest.warns(mf.ConvergenceWarning, match="double precision"):
        solution = mf.solve(metric, np.zeros(7), np.ones(7), tol=1e-300, solver=solver)
    assert solution.lower <= 0.0 <= solution.value
    assert 0.0 < solution.gap < 1e-9


def test_constraints_that_contradict_each_other_by_more_are_refused() -> None:
    metric = mf.accuracy.subject_to(mf.accuracy >= 1, mf.balanced_accuracy <= 1 - 1e-8)
    with pytest.raises(InfeasibleConstraintsError, match=r"balanced_accuracy <= 0\.99999999 together"):
        mf.solve(metric, [0.5, -0.5, 0.1], [0, 1, 0])


def test_the_exact_referee_sees_what_the_library_computes() -> None:
    game = make_game(mf.f1.subject_to(mf.recall >= 0.5), [0.2, 0.1, -0.1], [1, 0, 1])
    found, _, _ = certified(game, "exact-lp", 1e-9, {})
    lower, upper = exact_bounds(game, found)
    assert isinstance(lower, Fraction)
    assert float(upper - lower) < 1e-8
