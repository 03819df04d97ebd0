"""Losses and optimisers of other libraries, imported when they are used, with their documented settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["ap_loss", "ap_perf", "aucm", "focal", "pesg", "smp", "soap"]


class _Adapted(nn.Module):
    """A loss of another library, with its inputs converted to the form it expects."""

    def __init__(self, loss: nn.Module, call: Callable[..., Tensor]) -> None:
        super().__init__()
        self.loss, self.call = loss, call

    def forward(self, logits: Tensor, targets: Tensor, *rows: Tensor) -> Tensor:
        return self.call(logits, targets, *rows)


def focal() -> nn.Module:
    """Return the focal loss of segmentation-models-pytorch with its default gamma of 2."""
    from segmentation_models_pytorch.losses import BINARY_MODE, FocalLoss

    loss = FocalLoss(BINARY_MODE)
    return _Adapted(loss, lambda logits, targets: loss(logits, targets.to(logits.dtype)))


def smp(metric: str) -> nn.Module:
    """Return the soft loss of segmentation-models-pytorch for F1, F2 or MCC; the batch is one image."""
    from segmentation_models_pytorch.losses import BINARY_MODE, DiceLoss, MCCLoss, TverskyLoss

    if metric == "mcc":
        loss = MCCLoss()
        # It takes probabilities.
        return _Adapted(loss, lambda logits, targets: loss(logits.sigmoid()[None], _floats(logits, targets)))
    # F2 weighs a missed positive four times as much as a false alarm; these weights add up to 1.
    f2 = {"alpha": 0.2, "beta": 0.8}
    loss = DiceLoss(BINARY_MODE) if metric == "f1" else TverskyLoss(BINARY_MODE, **f2)
    return _Adapted(loss, lambda logits, targets: loss(logits[None, None], _floats(logits, targets)))


def _floats(logits: Tensor, targets: Tensor) -> Tensor:
    return targets.to(logits.dtype)[None]


def aucm(device: torch.device) -> nn.Module:
    """Return LibAUC's AUC margin loss of the probabilities."""
    from libauc.losses import AUCMLoss

    loss = AUCMLoss(device=device)
    return _Adapted(loss, lambda logits, targets: loss(logits.sigmoid(), targets))


def pesg(network: nn.Module, loss: nn.Module, l2: float) -> torch.optim.Optimizer:
    """Return LibAUC's optimiser for :func:`aucm`, with its default learning rate and penalties."""
    from libauc.optimizers import PESG

    # It draws numbers from the global generator.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        more = {"weight_decay": 2.0 * l2} if l2 else {}
        made: torch.optim.Optimizer = PESG(
            network.parameters(), loss_fn=loss.loss, verbose=False, device=_device_of(network), **more
        )
    return made


def ap_loss(rows: int, device: torch.device) -> nn.Module:
    """Return LibAUC's average precision loss of the probabilities; it remembers an average for each row."""
    from libauc.losses import APLoss

    loss = APLoss(data_len=rows, device=device)
    return _Adapted(loss, lambda logits, targets, index: loss(logits.sigmoid(), targets, index))


def soap(network: nn.Module, l2: float) -> torch.optim.Optimizer:
    """Return LibAUC's optimiser for :func:`ap_loss`, with its default learning rate."""
    from libauc.optimizers import SOAP

    more = {"weight_decay": 2.0 * l2} if l2 else {}
    made: torch.optim.Optimizer = SOAP(
        network.parameters(), verbose=False, device=_device_of(network), **more
    )
    return made


def _device_of(network: nn.Module) -> torch.device:
    return next(network.parameters()).device


def ap_perf(metric: str) -> nn.Module:
    """Return the loss of the public implementation of the paper, which takes vectors of floats."""
    from ap_perf import MetricLayer, PerformanceMetric

    weight = {"f1": 1.0, "f2": 4.0}[metric]

    class FBeta(PerformanceMetric):
        def define(self, C: Any) -> Any:
            return (1.0 + weight) * C.tp / (weight * C.ap + C.pp)

    target = FBeta()
    target.initialize()
    target.enforce_special_case_positive()
    layer = MetricLayer(target)
    return _Adapted(layer, lambda logits, targets: layer(logits, targets.to(logits.dtype)).sum())
