"""Games that are solved together have the solutions that they have alone."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import metricfit as mf
from metricfit.solving.fast import judge_fast

METRICS = [mf.f2, mf.kappa, mf.accuracy, mf.mcc]


def drawn(n: int, kind: str, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if kind == "ties":
        return random.integers(-2, 3, n) * 0.1
    if kind == "equal":
        return np.full(n, 0.05)
    if kind == "saturated":
        return random.choice([-1e4, 50.0, 1e4, 0.1, -0.2], n)
    return random.normal(size=n) / np.sqrt(n)


KINDS = ("plain", "ties", "equal", "saturated")
GAMES = [drawn(n, kind, 10 * n) for n in (1, 2, 9, 25, 30) for kind in KINDS] + [drawn(25, "plain", 1)]


# Where small arrays lie in memory decides which of its loops a kernel takes, and so the last digits.
SAME = 1e-7


def same(one: mf.Solution, other: mf.Solution) -> None:
    assert one.value == pytest.approx(other.value, abs=SAME, rel=1e-12)
    assert one.gap == pytest.approx(other.gap, abs=SAME)
    np.testing.assert_allclose(one.adversary, other.adversary, rtol=0, atol=SAME)
    np.testing.assert_allclose(one.predictor, other.predictor, rtol=0, atol=SAME)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_a_batch_of_mixed_sizes_equals_its_games_for_any_number_of_threads(metric):
    alone = [mf.solve(metric, scores) for scores in GAMES]
    assert all(solution.converged for solution in alone)
    for threads in (1, 2, 4):
        together = mf.solve_many(metric, GAMES, threads=threads)
        for one, other in zip(alone, together, strict=True):
            same(one, other)


def test_the_quick_way_and_the_thorough_one_agree():
    for metric in METRICS:
        for scores in GAMES:
            inclusion, verdict, _ = judge_fast(
                metric, scores[None], np.zeros((1, scores.size), dtype=bool), 1e-6
            )
            truth = mf.solve(metric, scores, solver="exact-lp", tol=1e-6)
            value, gap, _ = verdict[0]
            slack = 1e-9 * max(1.0, np.abs(scores).sum())
            assert gap <= 1e-6 + slack
            assert value - gap - slack <= truth.value <= value + truth.gap + slack
            assert inclusion.min() >= 0.0
            assert inclusion.max() <= 1.0 + 1e-12


def test_what_the_quick_way_misses_is_solved_the_thorough_one(monkeypatch):
    scores = [drawn(9, "plain", seed) for seed in range(3)]
    expected = mf.solve_many(mf.f1, scores)

    def half(metric, batch, labels, tol, **options):
        inclusion, verdict, multipliers = judge_fast(metric, batch, labels, tol, **options)
        inclusion[1], verdict[1] = np.nan, np.nan
        return inclusion, verdict, multipliers

    certifying = sys.modules["metricfit.solving.certifying"]
    monkeypatch.setattr(certifying, "find_judge", lambda name, constrained: half)
    for one, other in zip(expected, mf.solve_many(mf.f1, scores), strict=True):
        same(one, other)


def test_the_layout_of_the_scores_in_memory_makes_no_difference():
    labels = np.arange(12) % 2
    strided = np.linspace(-0.5, 0.5, 24)[::2]
    frozen = strided.copy()
    frozen.flags.writeable = False
    for metric in (mf.f1, mf.precision_at_recall(0.5), mf.precision_at_recall_specificity(0.5, 0.3)):
        expected = mf.solve(metric, strided.copy(), labels)
        for scores in (strided, frozen, list(strided)):
            same(mf.solve(metric, scores, labels), expected)


def test_what_was_solved_before_makes_no_difference():
    metrics = (mf.f2, mf.kappa, mf.precision_at_recall(0.6))

    def solved(games):
        found = {}
        for game in games:
            metric, n = metrics[game % 3], 2 + game
            scores = np.random.default_rng(game).normal(size=n) / n
            solution = mf.solve(metric, scores, np.arange(n) % 3 == 0)
            found[game] = solution.value, solution.iterations
        return found

    assert solved(range(40)) == solved(reversed(range(40)))
