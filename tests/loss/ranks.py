"""What each of two processes does in the test of data parallel training; started by torchrun."""

from __future__ import annotations

import itertools

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import metricfit as mf


def batch(labels: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(labels)
    features = torch.randn(9, 3, generator=generator, dtype=torch.float64)
    return features, (torch.rand(9, labels, generator=generator) < 0.5).double()


def gradients(model: nn.Module, loss: torch.Tensor) -> list[torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def compare(labels: int, cut: int, options: dict[str, object]) -> None:
    """Check the joint game of two ranks against one process that has the whole batch."""
    torch.manual_seed(0)
    single = nn.Linear(3, labels).double()
    parallel = DistributedDataParallel(single)
    features, targets = batch(labels)
    own = slice(0, cut) if dist.get_rank() == 0 else slice(cut, 9)
    together = mf.MetricLoss(mf.f1, solver="exact-lp", gather=True, **options)
    alone = mf.MetricLoss(mf.f1, solver="exact-lp", **options)
    loss = together(parallel(features[own]), targets[own]).sum()
    found = gradients(parallel, loss)
    whole = alone(single(features), targets).sum()
    torch.testing.assert_close(loss, whole)
    torch.testing.assert_close(found, gradients(single, whole))


def play_apart() -> None:
    """Check that without gathering every rank plays for itself."""
    features, targets = batch(1)
    own = slice(0, 5) if dist.get_rank() == 0 else slice(5, 9)
    logits = features[own, 0].requires_grad_()
    mf.MetricLoss(mf.f1, scale=32, solver="exact-lp")(logits, targets[own]).backward()
    one = mf.solve(mf.f1, logits.detach().numpy() * 32 / len(logits), solver="exact-lp")
    slope = 32 / len(logits) * (torch.tensor(one.adversary) - targets[own, 0])
    torch.testing.assert_close(logits.grad, slope)


def refuse_together() -> None:
    """Check that a bad value on one rank is an error on both, so that neither waits for the other."""
    targets = torch.tensor([1.0, 0.0 if dist.get_rank() == 0 else -1.0])
    with pytest.raises(ValueError, match="targets must be 0 or 1"):
        mf.MetricLoss(mf.f1, solver="exact-lp", gather=True)(torch.zeros(2), targets)


def compile_to_one_graph() -> None:
    features, targets = batch(2)
    together = mf.MetricLoss(mf.f1, solver="exact-lp", gather=True)
    traced = torch.compile(together, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(traced(features[:, :2], targets), together(features[:, :2], targets))


def main() -> None:
    dist.init_process_group("gloo")
    cuts = (5, 3, 9)
    options = ({}, {"reduction": "sum"}, {"reduction": "none"}, {"group_size": 4})
    for labels, cut, chosen in itertools.product((1, 2), cuts, options):
        compare(labels, cut, chosen)
    play_apart()
    refuse_together()
    compile_to_one_graph()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
