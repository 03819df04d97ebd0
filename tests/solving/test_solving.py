"""What `solve` promises whichever solver does the work."""

from __future__ import annotations

import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import metricfit as mf
from metricfit.game import Strategy, make_game
from metricfit.solving.certificate import certificate
from metricfit.solving.solution import Answer, Certified, gap_text, has_converged

SOLVERS = [name for name in mf.solvers() if name != "auto"]
METRICS = [mf.f1, mf.accuracy, mf.mcc, mf.kappa]

# Where an array lies in memory decides how its sum is vectorised, and so the last digits; an interior point
# that stops within the tolerance carries them on.
SAME = 1e-5

CONSTRAINED = mf.precision.subject_to(mf.recall >= 0.6, mf.specificity >= 0.3)


@pytest.fixture(params=SOLVERS)
def solver(request):
    return request.param


def solve(metric, scores, labels, solver):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.ConvergenceWarning)
        return mf.solve(metric, scores, labels, solver=solver, tol=1e-6)


def batch(seed, n=9):
    random = np.random.default_rng(seed)
    return random.integers(-3, 4, n) * 0.1, random.integers(0, 2, n)


@pytest.mark.parametrize("metric", [*METRICS, CONSTRAINED], ids=lambda metric: metric.name)
def test_equal_samples_are_treated_equally(solver, metric):
    scores, labels = batch(1)
    solution = solve(metric, scores, labels, solver)
    kind = scores + (10 * labels if metric.constraints else 0)
    for alike in np.unique(kind):
        assert np.ptp(solution.adversary[kind == alike]) <= 1e-12
        assert np.ptp(solution.predictor[kind == alike]) <= 1e-12


@pytest.mark.parametrize("metric", [*METRICS, CONSTRAINED], ids=lambda metric: metric.name)
def test_permuting_the_batch_permutes_the_answer(solver, metric):
    scores, labels = batch(2)
    order = np.random.default_rng(0).permutation(scores.size)
    first = solve(metric, scores, labels, solver)
    second = solve(metric, scores[order], labels[order], solver)
    assert first.value == pytest.approx(second.value, abs=SAME)
    np.testing.assert_allclose(first.adversary[order], second.adversary, rtol=0, atol=SAME)
    np.testing.assert_allclose(first.predictor[order], second.predictor, rtol=0, atol=SAME)


def test_the_answer_does_not_depend_on_earlier_calls_or_other_threads(solver):
    games = [(metric, *batch(seed, n)) for metric in METRICS for seed, n in ((0, 5), (1, 12), (2, 7))]
    alone = [solve(metric, scores, labels, solver) for metric, scores, labels in games]
    # Warnings are caught around the threads, since the filter belongs to the whole process.
    with warnings.catch_warnings(), ThreadPoolExecutor(4) as pool:
        warnings.simplefilter("ignore", mf.ConvergenceWarning)
        crowd = list(
            pool.map(lambda game: mf.solve(*game, solver=solver, tol=1e-6), (games + games[::-1]) * 2)
        )
    for one, other in zip((alone + alone[::-1]) * 2, crowd, strict=True):
        assert one.value == pytest.approx(other.value, abs=SAME)
        np.testing.assert_allclose(one.adversary, other.adversary, rtol=0, atol=SAME)


def test_many_games_are_solved_as_they_are_one_by_one(solver):
    scores = [batch(seed, n)[0] for seed, n in ((0, 4), (1, 9), (2, 6))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.ConvergenceWarning)
        together = mf.solve_many(mf.f2, scores, solver=solver, tol=1e-6, threads=2)
    for row, solution in zip(scores, together, strict=True):
        alone = solve(mf.f2, row, None, solver)
        np.testing.assert_allclose(solution.adversary, alone.adversary, rtol=0, atol=SAME)


@pytest.mark.parametrize("scores", [[0.3, -0.1, 0.2], np.tile([[0.3], [-0.1], [0.2]], 4)], ids=["1d", "2d"])
def test_a_metric_may_be_given_by_its_name_or_formula(scores):
    expected = mf.solve(mf.f1, scores, solver="exact-lp")
    for written in ("f1", "2*tp / (2*tp + fp + fn)"):
        assert mf.solve(written, scores, solver="exact-lp").value == expected.value
    if np.ndim(scores) == 1:
        (many,) = mf.solve_many("f1", [scores], solver="exact-lp")
        assert many.value == expected.value
        bound = mf.solve("precision subject to recall >= 0.6", scores, [1, 0, 1])
        assert bound.multipliers.shape == (1,)


def test_a_metric_that_is_none_is_refused_with_what_to_give():
    with pytest.raises(mf.UnsupportedMetricError, match="did you mean"):
        mf.solve("recal", [0.1])
    with pytest.raises(TypeError, match=r"not MetricFamily; call it with its numbers: fbeta\(beta\)"):
        mf.solve(mf.fbeta, [0.1])
    with pytest.raises(TypeError, match="a metric must be a Metric, or its name or formula as a string"):
        mf.solve_many(2, [[0.1]])


def test_many_games_with_labels_may_come_as_arrays():
    scores = np.random.default_rng(0).normal(size=(3, 6))
    labels = (scores > 0).astype(int)
    solutions = mf.solve_many(CONSTRAINED, scores, labels, solver="exact-lp")
    assert [solution.multipliers.shape for solution in solutions] == [(2,)] * 3
    with pytest.raises(ValueError, match="3 sets of scores but 2 sets of labels"):
        mf.solve_many(CONSTRAINED, scores, labels[:2])
    with pytest.raises(ValueError, match="threads must be a whole number of 1 or more, or None, got 0"):
        mf.solve_many(CONSTRAINED, scores, labels, threads=0)
    assert mf.solve_many(mf.f1, []) == []


def test_a_solver_that_misses_the_tolerance_warns_once_with_its_gap():
    with pytest.warns(mf.ConvergenceWarning, match=r"'admm' stopped with a gap of .*tol=1e-09") as caught:
        solution = mf.solve(mf.f1, [0.3, 0.1, -0.2], solver="admm", tol=1e-9, max_iter=5)
    assert len(caught) == 1
    assert not solution.converged
    assert solution.iterations == 5
    assert gap_text(solution.gap, 1e-9) in str(caught[0].message)


def test_many_games_that_miss_the_tolerance_warn_once():
    with pytest.warns(mf.ConvergenceWarning, match="in 2 of 2 games; the largest gap is") as caught:
        mf.solve_many(mf.f1, [[0.3, 0.1], [0.2, 0.1]], solver="admm", tol=1e-9, max_iter=1)
    assert len(caught) == 1


def test_admm_stops_early_when_its_gap_is_small_enough():
    solution = mf.solve(mf.accuracy, [0.3, -0.3, 0.1], solver="admm", tol=0.1, max_iter=1000)
    assert solution.converged
    assert solution.iterations < 100


def test_admm_comes_close_with_enough_iterations():
    scores, labels = batch(3, 8)
    for metric in (mf.f1, mf.mcc, CONSTRAINED):
        truth = mf.solve(metric, scores, labels, solver="exact-lp")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mf.ConvergenceWarning)
            close = mf.solve(metric, scores, labels, solver="admm", max_iter=3000)
        assert abs(close.value - truth.value) < 2e-3
        assert close.gap < 4e-3


@pytest.mark.parametrize(
    ("request_", "error", "sentence"),
    [
        (
            {"solver": "simplex"},
            ValueError,
            "unknown solver 'simplex'; choose one of auto, fast, device, exact-lp",
        ),
        ({"tol": 0.0}, ValueError, "tol must be a positive number, got 0"),
        ({"tol": float("nan")}, ValueError, "tol must be a positive number"),
        ({"tol": float("inf")}, ValueError, "tol must be a positive number, got inf"),
        ({"tol": 10**400}, ValueError, "tol must be a positive number, got 1000"),
        ({"tol": "tight"}, ValueError, "tol must be a positive number, got 'tight'"),
        ({"solver": "exact-lp", "rho": 2.0}, TypeError, "has no option 'rho'; it has no options"),
        ({"solver": "admm", "steps": 2}, TypeError, "no option 'steps'; its options are rho, max_iter"),
        ({"solver": "admm", "rho": 0.0}, ValueError, "rho must be a positive number, got 0"),
        ({"solver": "admm", "max_iter": 0}, ValueError, "max_iter must be at least 1, got 0"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(request_, error, sentence):
    with pytest.raises(error, match=sentence):
        mf.solve(mf.f1, [0.1, 0.2], **request_)


def test_exact_lp_refuses_games_that_are_too_large():
    with pytest.raises(ValueError, match="exact-lp is meant for up to 100 items, got 101; use solver='fast'"):
        mf.solve(mf.f1, np.zeros(101), solver="exact-lp")


def test_a_solution_prints_its_value_and_gap():
    text = repr(mf.solve(mf.accuracy, [0.5, -0.5], solver="exact-lp"))
    assert text.startswith("Solution(value=0.5, gap=")
    assert "solver='exact-lp'" in text


def test_value_is_what_the_adversary_guarantees():
    solution = mf.solve(mf.f1, [0.2, -0.1, 0.05], solver="exact-lp")
    assert solution.lower == solution.value - solution.gap
    assert solution.converged


@pytest.mark.parametrize("tol", [1e300, 1e4, 2.0])
def test_a_tolerance_above_all_payoffs_is_met(solver, tol):
    solution = mf.solve(mf.f1, [0.1, 0.2], solver=solver, tol=tol)
    assert solution.converged
    assert 0.0 <= solution.gap <= 2.0


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_tolerance_below_rounding_ends_in_bounded_time(solver, metric):
    mf.solve(metric, [0.1, 0.2], solver=solver, tol=0.5)
    started = time.thread_time()
    with pytest.warns(mf.ConvergenceWarning, match=r"no gap below .* can be certified in double precision"):
        solution = mf.solve(metric, np.linspace(-1e-3, 1e-3, 12), solver=solver, tol=1e-15)
    assert time.thread_time() - started < 5.0
    assert solution.gap < {"admm": 0.1, "device": 1e-8}.get(solver, 1e-9)


@pytest.mark.parametrize("scale", [1e-4, 1e-3, 1e-2, 0.03, 0.1])
def test_the_linear_program_does_not_cycle(scale):
    started = time.thread_time()
    solution = mf.solve(mf.kappa, np.linspace(-scale, scale, 12), solver="exact-lp", tol=1e-7)
    assert solution.converged
    assert solution.iterations < 5000
    assert time.thread_time() - started < 1.0


@pytest.mark.parametrize("scale", [1e9, 1e12, 1e30])
def test_huge_scores_and_metrics_end_in_valid_bounds(solver, scale):
    huge = mf.get_metric(f"2*{min(scale, 1e10):.0f}*tp/(pp + ap)")
    noise = np.linspace(-0.5, 0.5, 12)
    for metric, scores in ((mf.f1, scale * noise), (huge, noise)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mf.ConvergenceWarning)
            solution = mf.solve(metric, scores, solver=solver)
        assert np.isfinite([solution.value, solution.gap]).all()
        assert solution.gap >= 0.0


def test_a_solver_that_breaks_down_leaves_a_certified_answer(monkeypatch):
    def broken(game, tol):
        raise ArithmeticError("no optimum")

    monkeypatch.setattr(sys.modules["metricfit.solving.certifying"], "find_solver", lambda name: broken)
    with pytest.warns(mf.ConvergenceWarning, match="exact-lp broke down: no optimum"):
        solution = mf.solve(mf.f1, [0.3, 0.2, -0.1], solver="exact-lp")
    monkeypatch.undo()
    exact = mf.solve(mf.f1, [0.3, 0.2, -0.1], solver="exact-lp")
    assert solution.lower <= exact.value
    assert exact.lower <= solution.value


def test_bounds_that_contradict_each_other_are_not_accepted(monkeypatch):
    module = sys.modules["metricfit.solving.certificate"]
    honest = module.bounds

    def crossed(game, adversary, multipliers, predictor):
        # What a wrong best response of the predictor would prove against this adversary, and no other.
        lower, upper = honest(game, adversary, multipliers, predictor)
        return (lower, upper - 0.1) if adversary.sizes.size > 1 else (lower, upper)

    scores = [0.3, 0.2, -0.1, 0.05]
    exact = mf.solve(mf.f1, scores, solver="exact-lp")
    monkeypatch.setattr(module, "bounds", crossed)
    with pytest.warns(mf.ConvergenceWarning, match="its bounds contradicted each other"):
        solution = mf.solve(mf.f1, scores, solver="exact-lp")
    assert not solution.converged
    assert solution.gap > 1e-4
    assert solution.lower <= exact.value
    assert exact.lower <= solution.value


def test_a_value_outside_the_range_of_the_payoffs_is_no_certificate(monkeypatch):
    module = sys.modules["metricfit.solving.certificate"]
    game = make_game(mf.f1, [0.1, -0.2])
    coin = Strategy(np.array([1]), np.ones(1), np.array([[0.5]]), np.array([0, 2]))
    answer = Answer(coin, coin, np.zeros(0), 1)
    assert certificate(game, answer).gap >= 0.0
    monkeypatch.setattr(module, "bounds", lambda *_: (-4.8e18, -4.8e18))
    assert certificate(game, answer).gap < 0.0


def test_a_gap_within_a_thousandth_of_the_tolerance_has_converged():
    verdict = np.array([[0.5, 1.0005e-4, 3.0], [0.5, 1.0021e-4, 3.0], [0.5, -1e-9, 3.0]])
    found = Certified(verdict, np.zeros((3, 2, 4)), np.zeros((3, 0)), [""] * 3, "fast", 1e-4)
    assert [solution.converged for solution in found.solutions()] == [True, False, False]
    assert not has_converged(float("nan"), 1e-4)


@pytest.mark.parametrize("gap", [1.0021e-4, 1.2e-4, 0.3, 1.00000011e-4])
def test_a_gap_is_printed_larger_than_the_tolerance_that_it_missed(gap):
    text = gap_text(gap, 1e-4)
    assert float(text) > 1e-4
    assert float(text) == pytest.approx(gap, rel=0.05)
