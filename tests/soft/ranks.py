"""What each of two processes does in the test of the soft loss over ranks; started by torchrun."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import metricfit as mf

METRIC = mf.recall_at_precision(0.8)


def batch(labels: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(labels)
    features = torch.randn(9, 3, generator=generator, dtype=torch.float64)
    weights = torch.rand(9, generator=generator, dtype=torch.float64)
    return features, (torch.rand(9, labels, generator=generator) < 0.5).double(), weights


def part(cut: int) -> slice:
    return slice(0, cut) if dist.get_rank() == 0 else slice(cut, 9)


def gradients(model: nn.Module, loss: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def close(found: object, expected: object) -> None:
    # Multipliers are kept in single precision.
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def compare(labels: int, cut: int, options: dict[str, object]) -> None:
    """Check the joint batch of two ranks against one process that has it whole."""
    torch.manual_seed(0)
    single = nn.Linear(3, labels).double()
    parallel = DistributedDataParallel(single)
    features, targets, weights = batch(labels)
    own = part(cut)
    running = mf.Running(labels=labels if options.get("average") != "micro" else 1)
    together = mf.SoftMetricLoss(METRIC, gather=True, constraints=running, **options)
    alone = mf.SoftMetricLoss(METRIC, constraints=running, **options)
    for _ in range(2):
        loss = together(parallel(features[own]), targets[own], weights[own])
        whole = alone(single(features), targets, weights)
        close(loss, whole)
        close(gradients(parallel, loss.sum()), gradients(single, whole.sum()))
    torch.testing.assert_close(together.multipliers, alone.multipliers)


def games_have_the_multipliers_of_all_ranks() -> None:
    features, targets, _ = batch(1)
    own, logits = part(4), features[:, :1]
    together = mf.MetricLoss(METRIC, solver="exact-lp", gather=True, constraints="running")
    alone = mf.MetricLoss(METRIC, solver="exact-lp", constraints="running")
    for _ in range(2):
        torch.testing.assert_close(together(logits[own], targets[own]), alone(logits, targets))
    torch.testing.assert_close(together.multipliers, alone.multipliers)


def refuse_together() -> None:
    """Check that a bad value on one rank is an error on both, so that neither waits for the other."""
    targets = torch.tensor([1.0, 0.0 if dist.get_rank() == 0 else -1.0])
    with pytest.raises(ValueError, match="between 0 and 1"):
        mf.SoftMetricLoss(mf.f1, gather=True)(torch.zeros(2), targets)


def main() -> None:
    dist.init_process_group("gloo")
    options = (
        {},
        {"reduction": "sum"},
        {"reduction": "none"},
        {"average": "micro"},
        {"bounds": True},
        {"cross_entropy": 1.0},
    )
    for labels, cut, chosen in itertools.product((1, 2), (5, 3), options):
        compare(labels, cut, chosen)
    games_have_the_multipliers_of_all_ranks()
    refuse_together()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
