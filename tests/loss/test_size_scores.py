"""The loss with scores of the number of positives: its value, its gradients, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import metricfit as mf


def batch(n: int = 7, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    random = np.random.default_rng(seed)
    logits, phi = (torch.from_numpy(random.normal(size=size)).requires_grad_() for size in (n, n + 1))
    return logits, torch.from_numpy((random.random(n) < 0.4).astype(np.int64)), phi


@pytest.mark.parametrize("metric", [mf.f1, mf.mcc, mf.kappa, mf.precision_at_k(2)], ids=str)
def test_the_value_is_that_of_the_game(metric: mf.Metric) -> None:
    logits, targets, phi = batch()
    loss = mf.MetricLoss(metric, tol=1e-7)(logits, targets, phi)
    scores = (8.0 / 7 * logits).detach().numpy()
    found = mf.solve(metric, scores, size_scores=phi.detach().numpy(), tol=1e-7)
    truth = targets.numpy()
    actual = int(truth.sum())
    best = metric.score(truth, truth) if metric.size is None else min(1.0, actual / 2)
    expected = best - found.value - float(truth @ scores) - float(phi[actual].detach())
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_scores_of_sizes_that_are_zero_change_nothing() -> None:
    logits, targets, _ = batch()
    plain = mf.MetricLoss(mf.f1)(logits, targets)
    sized = mf.MetricLoss(mf.f1)(logits, targets, torch.zeros(8))
    assert sized.item() == pytest.approx(plain.item(), abs=2e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_gradients_are_subgradients(seed: int) -> None:
    criterion = mf.MetricLoss(mf.f1, tol=1e-8)
    logits, targets, phi = batch(seed=seed)
    loss = criterion(logits, targets, phi)
    loss.backward()
    assert phi.grad.sum().item() == pytest.approx(0.0, abs=1e-9)
    random = torch.Generator().manual_seed(seed)
    for size in (0.01, 0.3, 2.0):
        moves = [size * torch.randn(part.shape, generator=random, dtype=part.dtype) for part in (logits, phi)]
        other = criterion((logits + moves[0]).detach(), targets, (phi + moves[1]).detach())
        linear = (logits.grad * moves[0]).sum() + (phi.grad * moves[1]).sum()
        assert other.item() >= (loss + linear).item() - 1e-6


def test_the_number_of_positives_can_be_learned() -> None:
    _, targets, _ = batch(12)
    criterion = mf.MetricLoss(mf.f1)
    phi = torch.zeros(13, requires_grad=True)
    step = torch.optim.SGD([phi], lr=0.2)
    for _ in range(80):
        step.zero_grad()
        criterion(torch.zeros(12, dtype=torch.float64), targets, phi).backward()
        step.step()
    assert int(phi.argmax()) == int(targets.sum())


def test_single_precision_and_columns_are_taken() -> None:
    logits, targets, phi = batch()
    wide = mf.MetricLoss(mf.f1)(logits, targets, phi)
    found = mf.MetricLoss(mf.f1, reduction="none")(logits.float()[:, None], targets[:, None], phi.float())
    assert found.shape == (1,)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(wide.item(), abs=1e-3)


@pytest.mark.parametrize(
    ("settings", "shape", "message"),
    [
        ({}, (40,), "set group_size=None"),
        ({"gather": True}, (4,), "leave out gather"),
        ({"ignore_index": -1}, (4,), "ignore_index"),
        ({}, (4, 2), "size_scores need one game"),
        ({"solver": "device"}, (4,), 'need solver="auto"'),
    ],
)
def test_what_is_not_one_game_is_refused(settings, shape, message) -> None:
    logits, targets = torch.zeros(shape), torch.zeros(shape, dtype=torch.int64)
    with pytest.raises(ValueError, match=message):
        mf.MetricLoss(mf.f1, **settings)(logits, targets, torch.zeros(shape[0] + 1))


def test_scores_of_the_wrong_number_and_targets_that_are_neither_0_nor_1_are_refused() -> None:
    with pytest.raises(ValueError, match=r"shape \(5,\), got \(4,\)"):
        mf.MetricLoss(mf.f1)(torch.zeros(4), torch.zeros(4), torch.zeros(4))
    with pytest.raises(ValueError, match="targets must be 0 or 1"):
        mf.MetricLoss(mf.f1)(torch.zeros(2), torch.tensor([0, 2]), torch.zeros(3))
