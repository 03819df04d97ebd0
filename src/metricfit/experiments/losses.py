"""The losses of the recipes that train a network."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.experiments.metrics import METRICS
from metricfit.experiments.peers import ap_loss, ap_perf, aucm, focal, smp
from metricfit.sklearn.network import CrossEntropy

__all__ = ["make_loss"]


class _Weighted(nn.Module):
    """Cross-entropy in which both classes weigh the same."""

    weight: Tensor

    def __init__(self, labels: Tensor) -> None:
        super().__init__()
        positives = int(labels.sum())
        self.register_buffer("weight", torch.tensor((len(labels) - positives) / positives))

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(
            logits, targets.to(logits.dtype), pos_weight=self.weight
        )


def make_loss(
    recipe: str,
    metric: str | None,
    labels: Tensor,
    *,
    scale: float | Literal["batch"] | None,
    group_size: int | Literal["auto"] | None,
) -> nn.Module:
    """Return the loss of a recipe, for the labels of a training part.

    Examples
    --------
    >>> import torch
    >>> make_loss("weighted", None, torch.tensor([0, 0, 1]), scale=None, group_size=None).weight
    tensor(2.)
    """
    if recipe in ("cross-entropy", "balanced"):
        return CrossEntropy()
    if recipe == "weighted":
        return _Weighted(labels)
    if recipe == "focal":
        return focal()
    if recipe == "aucm":
        return aucm(labels.device)
    if recipe == "ap-loss":
        return ap_loss(len(labels), labels.device)
    if metric is None:
        raise ValueError(f"{recipe} is trained for a metric; say which")
    if recipe == "smp":
        return smp(metric)
    if recipe == "ap-perf":
        return ap_perf(metric)
    if recipe == "soft":
        return mf.SoftMetricLoss(METRICS[metric])
    if scale is None:
        return mf.MetricLoss(METRICS[metric], group_size=group_size)
    return mf.MetricLoss(METRICS[metric], scale=scale, group_size=group_size)
