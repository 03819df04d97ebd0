"""The loss as a function."""

from __future__ import annotations

import torch
from torch import Tensor

from metricfit.loss.operator import metric_loss as operator
from metricfit.loss.record import NOBODY
from metricfit.loss.settings import DEFAULT_SCALE, Infeasible, Reduction, Scale, Settings, metric_text
from metricfit.metrics import Metric

__all__ = ["metric_loss"]


def metric_loss(
    logits: Tensor,
    targets: Tensor,
    metric: Metric | str,
    *,
    scale: Scale = DEFAULT_SCALE,
    solver: str = "auto",
    tol: float = 1e-4,
    reduction: Reduction = "mean",
    group_size: int | None = None,
    ignore_index: int | None = None,
    gather: bool = False,
    infeasible: Infeasible = "error",
) -> Tensor:
    """Return the loss of a batch for a metric; see :class:`metricfit.MetricLoss`.

    Parameters
    ----------
    logits : Tensor, shape (n,), (n, 1) or (n, labels)
        Scores of the model; above 0 means predicted positive.
    targets : Tensor of 0 and 1
        Of the shape of the logits.
    metric : Metric or str
        What to train for, or its name or formula.
    scale, solver, tol, reduction, group_size, ignore_index, gather, infeasible
        As for :class:`metricfit.MetricLoss`.

    Returns
    -------
    Tensor
        With no dimension, unless `reduction` is "none".

    Examples
    --------
    >>> import metricfit as mf
    >>> logits = torch.tensor([2.0, -1.0, 0.5, -3.0], requires_grad=True)
    >>> targets = torch.tensor([1, 0, 0, 0])
    >>> loss = mf.functional.metric_loss(logits, targets, mf.f1, solver="exact-lp")
    >>> loss.backward()
    >>> logits.grad.shape
    torch.Size([4])
    """
    plain = _plain(scale, solver, tol, reduction, group_size, ignore_index, gather, infeasible)
    loss: Tensor = operator(logits, targets, _text(metric), *plain, NOBODY)[0]
    return loss


# Checked once, when a graph is traced.
@torch.compiler.assume_constant_result
def _text(metric: Metric | str) -> str:
    return metric_text(metric)


@torch.compiler.assume_constant_result
def _plain(*values: object) -> tuple[object, ...]:
    return Settings(*values).plain()
