"""Scores and metrics at the edges of what the solver may meet."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest

import metricfit as mf
from metricfit.game import make_game
from metricfit.solving.fast import solving
from metricfit.solving.solution import ConvergenceWarning

ERROR_RATE = mf.get_metric("(fp + fn) / all")
METRICS = [mf.f1, mf.mcc, mf.kappa, mf.accuracy, mf.precision, ERROR_RATE]
NOISE = np.random.default_rng(0).normal(size=30)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-3, 1.0, 1e3, 1e6], ids=lambda scale: f"scale{scale:g}")
def test_scores_of_every_magnitude_are_solved(metric: mf.Metric, scale: float) -> None:
    # Rounding of a value near 1e7 is what limits the gap at the largest scale.
    assert mf.solve(metric, scale * NOISE, solver="fast", tol=max(1e-4, 1e-10 * scale)).converged


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_games_equal_the_linear_program(metric: mf.Metric, n: int) -> None:
    fast = mf.solve(metric, NOISE[:n] / n, solver="fast", tol=1e-6)
    exact = mf.solve(metric, NOISE[:n] / n, solver="exact-lp", tol=1e-7)
    assert abs(fast.value - exact.value) < 2e-6


def test_a_saturated_batch_is_decided_exactly() -> None:
    scores = np.array([500.0, 400.0, -300.0, -900.0, 0.01])
    solution = mf.solve(mf.f1, scores, solver="fast")
    assert solution.adversary[:2].tolist() == [1.0, 1.0]
    assert solution.adversary[2:4].tolist() == [0.0, 0.0]


def test_a_stalled_attempt_is_finished_by_the_linear_program() -> None:
    assert mf.solve(mf.f1, NOISE[:12] / 12, solver="fast", max_iter=2).converged


def test_too_few_iterations_are_reported_with_the_gap_they_reached() -> None:
    scores = np.random.default_rng(1).normal(size=60) / 60
    with pytest.warns(ConvergenceWarning, match="stalled"):
        solution = mf.solve(mf.f1, scores, solver="fast", max_iter=1)
    assert not solution.converged
    exact = mf.solve(mf.f1, scores, solver="fast")
    assert solution.lower <= exact.value
    assert exact.lower <= solution.value


def test_a_broken_attempt_still_gives_valid_bounds() -> None:
    scores = np.random.default_rng(2).normal(size=80) / 80
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = mf.solve(mf.mcc, scores, solver="fast", max_iter=0)
    exact = mf.solve(mf.mcc, scores, solver="fast")
    assert rough.lower <= exact.value
    assert exact.lower <= rough.value


def test_the_first_game_of_a_process_takes_no_time() -> None:
    code = (
        "import time, metricfit as mf; mf.f1.table(2); start = time.process_time(); "
        "mf.solve(mf.f1, [0.1, -0.2]); print(time.process_time() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.5


@pytest.mark.parametrize("seed", [1, 5, 7, 10])
def test_digits_that_cancel_do_not_stop_the_solver(seed: int) -> None:
    scores = 8e-4 * np.random.default_rng(seed).normal(size=142)
    assert mf.solve(mf.informedness, scores, tol=1e-6).converged


@pytest.mark.parametrize("seed", [0, 1])
def test_what_was_reached_before_a_step_broke_down_is_kept(seed: int) -> None:
    scores = 5e-5 * np.random.default_rng(seed).normal(size=181)
    with pytest.warns(ConvergenceWarning):
        solution = mf.solve(mf.informedness, scores, tol=1e-13)
    assert solution.gap < 1e-3


def test_an_attempt_is_certified_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    game = make_game(mf.f1, np.linspace(0.3, -0.3, 8))
    found = solving.solve_fast(game, 1e-4)
    monkeypatch.setattr(solving, "has_converged", lambda gap, tol: False)
    assert solving.solve_fast(game, 1e-4).iterations > found.iterations
