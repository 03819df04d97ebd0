"""Games of blocks: as many items as wanted, certified by the same referee."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.typing import NDArray

import metricfit as mf
from metricfit.solving.fast import solving
from metricfit.solving.fast.solving import SINGLE_ITEMS


def trained_scores(n: int, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Scores of a model that has learned something, and the labels."""
    random = np.random.default_rng(seed)
    labels = (random.random(n) < 0.2).astype(np.int64)
    return 32.0 * (random.normal(size=n) + 2.0 * labels - 1.5) / n, labels


@pytest.mark.parametrize(
    "metric", [mf.f1, mf.f2, mf.gm_precision_recall, mf.mcc, mf.kappa, mf.accuracy], ids=str
)
def test_a_thousand_items_reach_the_tolerance(metric: mf.Metric) -> None:
    scores, _ = trained_scores(1000)
    solution = mf.solve(metric, scores, solver="fast")
    assert solution.converged
    assert solution.gap <= 1e-4


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.kappa], ids=str)
def test_blocks_of_items_find_what_single_items_find(
    metric: mf.Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores, _ = trained_scores(SINGLE_ITEMS)
    alone = mf.solve(metric, scores, solver="fast")
    # As if every game were too large for single items. Both intervals hold the value, so they have to meet.
    monkeypatch.setattr(solving, "SINGLE_ITEMS", 100)
    together = mf.solve(metric, scores, solver="fast", tol=1e-3)
    assert alone.converged
    assert together.converged
    assert together.lower <= alone.value
    assert alone.lower <= together.value


@pytest.mark.parametrize("bound", [mf.recall >= 0.8, mf.specificity >= 0.9], ids=str)
def test_constraints_hold_in_large_games(bound: mf.Constraint) -> None:
    scores, labels = trained_scores(1500)
    solution = mf.solve(mf.precision.subject_to(bound), scores, labels, solver="fast")
    assert solution.converged


def test_a_large_game_needs_no_quadratic_memory() -> None:
    n = 20_000
    scores, _ = trained_scores(n)
    mf.solve(mf.f1, scores[:500], solver="fast")
    tracemalloc.start()
    solution = mf.solve(mf.f1, scores, solver="fast", tol=1e-3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert solution.converged
    assert peak < n * n * 8 / 16


def test_large_games_with_ties_give_equal_scores_equal_probabilities() -> None:
    scores, _ = trained_scores(3000)
    rounded = np.round(scores, 3)
    solution = mf.solve(mf.mcc, rounded, solver="fast")
    assert solution.converged
    for value in np.unique(rounded):
        q = solution.adversary[rounded == value]
        assert np.ptp(q) < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.kappa], ids=str)
def test_a_hundred_thousand_items_reach_a_gap_of_a_thousandth(metric: mf.Metric) -> None:
    scores, _ = trained_scores(100_000)
    assert mf.solve(metric, scores, solver="fast", tol=1e-3).converged
