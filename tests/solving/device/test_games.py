"""The solver for GPUs, as a C++ compiler makes it for the CPU: right on what is known, sound everywhere."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import metricfit as mf
from drawn import built_in_metrics, custom_metrics, scores_of
from metricfit.game.tables import whole_tables
from metricfit.solving.device import Layout, SolvedGames, solve_games, solving
from metricfit.solving.device.batch import INFEASIBLE, MISSED, NOT_FINITE, SOLVED

ERROR_RATE = mf.get_metric("(fp + fn) / all")
METRICS = [mf.f1, mf.f2, mf.mcc, mf.kappa, mf.accuracy, mf.precision, ERROR_RATE]
NOISE = np.random.default_rng(0).normal(size=120)


def play(metric: mf.Metric, *games: NDArray[np.float64], tol: float = 1e-4, **options: int) -> SolvedGames:
    sizes = tuple(len(scores) for scores in games)
    starts = tuple(np.cumsum((0, *sizes[:-1])).tolist())
    scores = torch.from_numpy(np.concatenate(games))
    return solve_games(Layout(metric, starts, sizes), scores, tol, **options)


def bounds_of(metric: mf.Metric, scores: NDArray[np.float64], tol: float = 1e-4) -> tuple[float, float]:
    """Bounds of the game as it was asked for, with what was cut off its scores put back."""
    played = play(metric, scores, tol=tol)
    reach = whole_tables(metric, len(scores)).reach
    excess = np.maximum(scores - reach, 0.0).sum()
    lower, upper = (played.bounds[0].numpy() - excess).tolist()
    return lower, upper


@settings(max_examples=60)
@given(st.data())
def test_the_bounds_hold_the_value_of_the_linear_program(data: st.DataObject) -> None:
    metric, _ = data.draw(st.one_of(built_in_metrics(), custom_metrics()))
    scores = data.draw(scores_of(data.draw(st.integers(1, 9))))
    exact = mf.solve(metric, scores, solver="exact-lp", tol=1e-6)
    lower, upper = bounds_of(metric, scores)
    size = 1e-9 * (1.0 + np.abs(scores).sum())
    assert lower <= exact.value + size
    assert upper >= exact.lower - size
    assert upper - lower <= 1e-4


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("n", [25, 60])
def test_games_of_training_agree_with_the_solver_for_the_cpu(metric: mf.Metric, n: int) -> None:
    scores = NOISE[:n] * 8.0 / n
    fast = mf.solve(metric, scores)
    lower, upper = bounds_of(metric, scores)
    assert upper - lower <= 1e-4
    assert lower <= fast.value + 1e-9
    assert upper >= fast.lower - 1e-9


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-3, 1.0, 1e3, 1e6], ids=lambda scale: f"scale{scale:g}")
def test_scores_of_every_magnitude_are_solved(metric: mf.Metric, scale: float) -> None:
    played = play(metric, scale * NOISE[:30])
    assert played.report[0, 0] == SOLVED


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_games_equal_the_linear_program(metric: mf.Metric, n: int) -> None:
    exact = mf.solve(metric, NOISE[:n] / n, solver="exact-lp", tol=1e-7)
    lower, upper = bounds_of(metric, NOISE[:n] / n, tol=1e-6)
    assert abs(upper - exact.value) < 2e-6
    assert abs(lower - exact.value) < 2e-6


def test_games_of_different_sizes_are_solved_together_as_each_alone() -> None:
    games = [NOISE[:7], NOISE[7:40] / 4.0, NOISE[40:41], NOISE[41:90] / 8.0]
    together = play(mf.f1, *games)
    alone = [play(mf.f1, scores) for scores in games]
    assert torch.equal(together.bounds, torch.cat([played.bounds for played in alone]))
    assert torch.equal(together.adversary, torch.cat([played.adversary for played in alone]))


@pytest.mark.parametrize("threads", [0, 3, 48, 544])
def test_threads_that_a_block_cannot_have_are_refused(threads: int) -> None:
    with pytest.raises(ValueError, match=f"got threads={threads}"):
        play(mf.kappa, np.array([0.1, -0.2]), threads=threads)


def test_probabilities_are_those_of_mixtures() -> None:
    played = play(mf.f1, NOISE[:50] / 6.0)
    for probability in (played.adversary, played.predictor):
        assert probability.min() >= 0.0
        assert probability.max() <= 1.0 + 1e-12


def test_equal_scores_have_equal_probabilities() -> None:
    scores = np.repeat([0.3, 0.1, -0.2], 6)
    probability = play(mf.f1, np.random.default_rng(1).permutation(scores)).adversary
    ordered = np.sort(probability.numpy())
    assert np.ptp(ordered.reshape(3, 6), axis=1).max() == 0.0


def test_many_ties_are_priced_exactly() -> None:
    # Means of equal numbers are off by rounding, at which the search for the smallest ones must not stop.
    random = np.random.default_rng(7)
    games = [0.06 * np.round(3.0 * random.normal(size=38)) / 3.0 for _ in range(60)]
    played = play(mf.f1, *games)
    assert (played.report[:, 0] == SOLVED).all()


def test_a_saturated_batch_is_decided_exactly() -> None:
    played = play(mf.f1, np.array([500.0, 400.0, -300.0, -900.0, 0.01]))
    assert played.adversary[:4].tolist() == [1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("strange", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_are_reported_and_spoil_their_own_game_only(strange: float) -> None:
    played = play(mf.f1, np.array([0.1, strange]), NOISE[:8])
    assert played.report[:, 0].tolist() == [NOT_FINITE, SOLVED]
    assert played.adversary[:2].isnan().all()
    assert played.bounds[0].isnan().all()
    assert played.adversary[2:].isfinite().all()


def test_too_few_steps_are_reported_with_bounds_that_hold() -> None:
    scores = NOISE[:60] / 30.0
    fast = mf.solve(mf.f1, scores)
    played = play(mf.f1, scores, max_iter=1)
    lower, upper = played.bounds[0].tolist()
    assert played.report[0, 0] == MISSED
    assert lower <= fast.value
    assert upper >= fast.lower
    assert upper - lower > 1e-4


CONSTRAINED = [
    mf.precision_at_recall(0.8),
    mf.f1.subject_to(mf.recall >= 0.5, mf.specificity >= 0.5),
    mf.recall.subject_to(mf.precision >= 0.4),
]


@pytest.mark.parametrize("metric", CONSTRAINED, ids=str)
@pytest.mark.parametrize("n", [5, 20, 60])
def test_games_under_constraints_agree_with_the_solver_for_the_cpu(metric: mf.Metric, n: int) -> None:
    labels = np.arange(n) % 3 == 0
    fast = mf.solve(metric, NOISE[:n] * 8.0 / n, labels)
    solved = mf.solve(metric, NOISE[:n] * 8.0 / n, labels, solver="device")
    assert solved.gap <= 1e-4
    assert solved.lower <= fast.value + 1e-9
    assert solved.value >= fast.lower - 1e-9
    assert solved.multipliers.shape == fast.multipliers.shape


def test_the_predictor_meets_its_constraints() -> None:
    labels = np.arange(40) % 4 == 0
    predictor = mf.solve(mf.precision_at_recall(0.8), NOISE[:40] / 5.0, labels, solver="device").predictor
    assert predictor[labels].mean() >= 0.8 - 1e-9


def test_constraints_that_cannot_be_met_spoil_their_own_game_only() -> None:
    metric = mf.specificity.subject_to(mf.recall >= 0.9, mf.precision <= 0.5)
    scores = torch.from_numpy(NOISE[:8].copy())
    targets = torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    solved = solve_games(Layout(metric, (0, 4), (4, 4)), scores, targets=targets)
    assert solved.report[:, 0].tolist() == [INFEASIBLE, SOLVED]
    assert solved.adversary[:4].isnan().all()
    assert solved.adversary[4:].isfinite().all()


def test_targets_that_constraints_need_are_checked() -> None:
    metric, scores = mf.precision_at_recall(0.8), torch.zeros(4, dtype=torch.float64)
    targets = torch.tensor([1.0, 0.5, 1.0, 0.0], dtype=torch.float64)
    solved = solve_games(Layout(metric, (0, 2), (2, 2)), scores, targets=targets)
    assert solved.report[:, 0].tolist() == [NOT_FINITE, SOLVED]
    with pytest.raises(ValueError, match="need the targets"):
        solve_games(Layout(metric, (0,), (4,)), scores)


def test_a_game_does_not_depend_on_what_was_in_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = play(mf.kappa, NOISE[:40] / 5.0)
    empty = torch.empty

    def filled(*size: object, **options: object) -> torch.Tensor:
        tensor = empty(*size, **options)
        return tensor.fill_(255) if tensor.dtype == torch.uint8 else tensor  # bytes of NaN

    monkeypatch.setattr(torch, "empty", filled)
    assert torch.equal(play(mf.kappa, NOISE[:40] / 5.0).bounds, expected.bounds)


def test_the_solver_by_name_returns_a_solution_of_the_device() -> None:
    assert "device" in mf.solvers()
    solution = mf.solve(mf.f1, [3.0, 0.2, -0.3], solver="device")
    fast = mf.solve(mf.f1, [3.0, 0.2, -0.3])
    assert solution.solver == "device"
    assert solution.value == pytest.approx(fast.value, abs=1e-4)


def test_games_that_are_too_large_are_solved_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "MOST_ITEMS", 10)
    assert mf.solve(mf.f1, NOISE[:20] / 3.0, solver="device").gap <= 1e-4


@pytest.mark.parametrize("sizes", [(5000,), (), (0,)], ids=str)
def test_sizes_that_the_device_does_not_have_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="1 to 4096 items"):
        Layout(mf.f1, (0,) * len(sizes), sizes)


def test_scores_of_single_precision_are_refused() -> None:
    with pytest.raises(TypeError, match="float64"):
        solve_games(Layout(mf.f1, (0,), (3,)), torch.zeros(3))


def test_more_items_than_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="have 3 items, but there are 2 scores"):
        solve_games(Layout(mf.f1, (0,), (3,)), torch.zeros(2, dtype=torch.float64))


@pytest.mark.parametrize(
    ("formula", "gain", "cost"),
    [("(tp + tn) / all", 2.0, 1.0), ("tp / all", 1.0, 0.0), ("(tp - fp) / all", 2.0, 1.0)],
)
@pytest.mark.parametrize("n", [3, 20, 60])
def test_both_bounds_are_those_that_the_strategies_prove(
    formula: str, gain: float, cost: float, n: int
) -> None:
    # These metrics are (gain tp - cost pp - a ap + b) / all, so that inclusion probabilities say everything.
    metric, scores = mf.get_metric(formula), NOISE[:n] * 3.0 / n
    negatives = 1.0 if formula.startswith("(tp + tn)") else 0.0
    played = play(metric, scores)
    lower, upper = bounds_of(metric, scores)
    p, q = played.predictor.numpy(), played.adversary.numpy()
    against_p = (gain * p - negatives) / n - scores
    proved = negatives - cost * p.sum() / n + np.minimum(against_p, 0.0).sum()
    against_q = (gain * q - cost) / n
    promised = negatives - negatives * q.sum() / n - q @ scores + np.maximum(against_q, 0.0).sum()
    assert lower == pytest.approx(proved, abs=1e-7)
    assert upper == pytest.approx(promised, abs=1e-7)
