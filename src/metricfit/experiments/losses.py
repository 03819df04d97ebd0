"""The losses that are compared, and the metrics that they are compared by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.sklearn.network import CrossEntropy

__all__ = ["GAME_LOSSES", "LOSSES", "METRICS", "TITLES", "Loss", "SoftFBeta", "make_loss", "metrics_of"]

Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]

METRICS: dict[str, mf.Metric] = {
    "accuracy": mf.accuracy,
    "f1": mf.f1,
    "f2": mf.f2,
    "gpr": mf.gm_precision_recall,
    "mcc": mf.mcc,
    "kappa": mf.kappa,
    "pr80": mf.precision_at_recall(0.8),
    "pr60": mf.precision_at_recall(0.6),
}
"""The paper's eight, by short names."""

TITLES = {
    "accuracy": "accuracy",
    "f1": "F1",
    "f2": "F2",
    "gpr": "GPR",
    "mcc": "MCC",
    "kappa": "kappa",
    "pr80": "precision at recall 0.8",
    "pr60": "precision at recall 0.6",
}

# What each loss can be trained for; a loss that knows no metric is trained once and judged by all.
LOSSES: dict[str, tuple[str, ...]] = {
    "cross-entropy": (),
    "weighted": (),
    "soft-fbeta": ("f1", "f2"),
    "metricfit": tuple(METRICS),
    "ap-perf": ("f1", "f2"),
}
"""The losses by name, with the metrics they are trained for one at a time."""

GAME_LOSSES = ("metricfit", "ap-perf")
"""Losses that play a game; their gradient is that of a sum over the batch in the paper's protocol."""


def metrics_of(loss: str, metric: str | None) -> tuple[str, ...]:
    """Return the metrics that a training with this loss is judged by.

    Examples
    --------
    >>> metrics_of("metricfit", "f2"), len(metrics_of("cross-entropy", None))
    (('f2',), 8)
    """
    return tuple(METRICS) if metric is None else (metric,)


class SoftFBeta(nn.Module):
    """The hand-written surrogate of F-beta: probabilities stand where decisions should.

    Examples
    --------
    >>> import torch
    >>> SoftFBeta(1.0)(torch.tensor([9.0, -9.0]), torch.tensor([1, 0])) < 1e-3
    tensor(True)
    """

    def __init__(self, beta: float) -> None:
        super().__init__()
        self.weight = beta**2

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return one less the F-beta of the probabilities."""
        probabilities, truth = torch.sigmoid(logits), targets.to(logits.dtype)
        hits = (probabilities * truth).sum()
        return 1.0 - (1.0 + self.weight) * hits / (self.weight * truth.sum() + probabilities.sum() + 1e-8)


class _Weighted(nn.Module):
    """Cross-entropy in which both classes weigh the same."""

    def __init__(self, labels: Tensor) -> None:
        super().__init__()
        positives = int(labels.sum())
        self.weight = torch.tensor((len(labels) - positives) / positives)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(
            logits, targets.to(logits.dtype), pos_weight=self.weight
        )


def make_loss(
    loss: str,
    metric: str | None,
    labels: Tensor,
    *,
    scale: float | Literal["batch"] | None,
    group_size: int | Literal["auto"] | None,
) -> Loss:
    """Return a loss by name, for the labels of a training part.

    Examples
    --------
    >>> import torch
    >>> make_loss("weighted", None, torch.tensor([0, 0, 1]), scale=None, group_size=None).weight
    tensor(2.)
    """
    if loss == "cross-entropy":
        return CrossEntropy()
    if loss == "weighted":
        return _Weighted(labels)
    if metric is None:
        raise ValueError(f"{loss} is trained for a metric; say which")
    if loss == "soft-fbeta":
        return SoftFBeta({"f1": 1.0, "f2": 2.0}[metric])
    if loss == "ap-perf":
        return _ap_perf(metric)
    if scale is None:
        return mf.MetricLoss(METRICS[metric], group_size=group_size)
    return mf.MetricLoss(METRICS[metric], scale=scale, group_size=group_size)


def _ap_perf(metric: str) -> Loss:
    """Return the loss of the public implementation, which takes vectors of floats."""
    # Its metrics are objects of a module, and few use it.
    from ap_perf import MetricLayer, PerformanceMetric

    weight = {"f1": 1.0, "f2": 4.0}[metric]

    class FBeta(PerformanceMetric):
        def define(self, C: Any) -> Any:
            return (1.0 + weight) * C.tp / (weight * C.ap + C.pp)

    target = FBeta()
    target.initialize()
    target.enforce_special_case_positive()
    layer = MetricLayer(target)

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        value: Tensor = layer(logits, targets.to(logits.dtype))
        return value.sum()

    return loss
