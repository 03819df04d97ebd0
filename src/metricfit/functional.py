"""The loss as a function."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from metricfit.loss.operator import apply_metric_loss
from metricfit.loss.record import NOBODY
from metricfit.loss.settings import DEFAULT_SCALE, GroupSize, Infeasible, Reduction, Scale, Settings
from metricfit.metrics import Metric, get_metric

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
    group_size: GroupSize = "auto",
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
    text = _text(
        metric, scale, solver, tol, reduction, group_size, ignore_index, gather, infeasible, _name(metric)
    )
    return apply_metric_loss(logits, targets, text, NOBODY)


def _name(metric: Metric | str) -> str:
    # Equal metrics may differ in name, so that it has to be part of what a text is remembered by.
    return metric if isinstance(metric, str) else metric.name


@lru_cache(maxsize=256, typed=True)
def _remembered_text(metric: Metric | str, *others: Any) -> str:
    return Settings(get_metric(metric), *others[:-1]).text()


def _text(*arguments: Any) -> str:
    return _remembered_text(*arguments)


# When a graph is traced, the text becomes a constant in it.
constant: Any = torch.compiler.assume_constant_result
constant(_text)
