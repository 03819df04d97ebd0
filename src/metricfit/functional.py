"""The losses as functions."""

from __future__ import annotations

import itertools
from functools import cache, lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from metricfit.loss.record import NOBODY
from metricfit.loss.settings import (
    DEFAULT_SCALE,
    GroupSize,
    Infeasible,
    LabelAverage,
    Reduction,
    Scale,
    Settings,
)
from metricfit.loss.shapes import Plan, batch_columns, columns_loss
from metricfit.loss.soft import soft_loss
from metricfit.loss.soft_settings import Average, SoftSettings, check_temperature, slack_of
from metricfit.loss.soft_terms import SoftConstraints, SoftObjective
from metricfit.metrics import Metric, get_metric

__all__ = ["metric_loss", "soft_metric_loss"]


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
    average: LabelAverage = "macro",
) -> Tensor:
    """Return the loss of a batch for a metric; see :class:`metricfit.MetricLoss`.

    Parameters
    ----------
    logits : Tensor, shape (n,), (n, 1), (n, labels), (n, classes) or (images, classes, height, width)
        Scores of the model; above 0 means predicted positive. Among classes, the largest one is predicted.
    targets : Tensor
        0 and 1 in the shape of the logits, or indices of classes of shape (n,) or (images, height, width).
    metric : Metric or str
        The metric to train for, or its name or formula.
    scale, solver, tol, reduction, group_size, ignore_index, gather, infeasible, average
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
    options = scale, solver, tol, reduction, group_size, ignore_index, gather, infeasible, "game", average
    plan = _plan(metric, *options, _name(metric))
    return columns_loss(*batch_columns(logits, targets, plan), plan, NOBODY)


def soft_metric_loss(
    logits: Tensor,
    targets: Tensor,
    metric: Metric | str,
    sample_weight: Tensor | None = None,
    *,
    temperature: float = 1.0,
    reduction: Reduction = "mean",
    group_size: int | None = None,
    ignore_index: int | None = None,
    gather: bool = False,
    average: Average = "macro",
    multipliers: Tensor | None = None,
    bounds: bool | float = False,
    cross_entropy: float = 0.0,
) -> Tensor:
    """Return one minus the metric of soft counts; see :class:`metricfit.SoftMetricLoss`.

    Parameters
    ----------
    logits : Tensor, shape (n,), (n, 1), (n, labels), (n, classes) or (images, classes, height, width)
        Scores of the model; above 0 means predicted positive. Among classes, the largest one is predicted.
    targets : Tensor
        Numbers from 0 to 1 in the shape of the logits, or indices of classes of shape (n,) or (images,
        height, width).
    metric : Metric or str
        The metric to train for, or its name or formula.
    sample_weight : Tensor, optional
        A weight per row, or per entry.
    temperature, reduction, group_size, ignore_index, gather, average, bounds, cross_entropy
        As for :class:`metricfit.SoftMetricLoss`.
    multipliers : Tensor, shape (constraints,) or (labels, constraints), optional
        The factors of the violations of the constraints, for a metric that has any.

    Returns
    -------
    Tensor
        With no dimension, unless `reduction` is "none".

    Examples
    --------
    >>> import metricfit as mf
    >>> logits = torch.tensor([40.0, -40.0, 40.0, -40.0])
    >>> targets = torch.tensor([1, 0, 0, 1])
    >>> mf.functional.soft_metric_loss(logits, targets, mf.f1)
    tensor(0.5000)
    """
    check_temperature(temperature)
    options = (reduction, group_size, ignore_index, gather, average, slack_of(bounds), cross_entropy)
    settings, objective, missed = _SOFT_TERMS[_soft_terms(metric, *options, _name(metric))]
    if (missed is None) != (multipliers is None):
        raise ValueError(
            "multipliers are for constraints: pass one number per constraint of the metric, or leave both "
            "out; mf.SoftMetricLoss moves them by itself"
        )
    weights = None if multipliers is None else pad(multipliers, (1, 0), value=1.0)
    return soft_loss(logits, targets, sample_weight, settings, temperature, objective, missed, weights)


def _name(metric: Metric | str) -> str:
    # Equal metrics may differ in name, so that it has to be part of what a text is remembered by.
    return metric if isinstance(metric, str) else metric.name


@lru_cache(maxsize=256, typed=True)
def _remembered_plan(metric: Metric | str, *others: Any) -> Plan:
    return Plan.of(Settings(get_metric(metric), *others[:-1]))


def _plan(*arguments: Any) -> Plan:
    return _remembered_plan(*arguments)


# By number, so that a traced graph can hold the number as a constant and find the functions by it.
_SOFT_TERMS: dict[int, tuple[SoftSettings, SoftObjective, SoftConstraints | None]] = {}
_numbers = itertools.count()


@cache
def _remembered_terms(metric: Metric | str, *others: Any) -> int:
    chosen = get_metric(metric)
    missed = SoftConstraints(chosen.constraints) if chosen.constraints else None
    number = next(_numbers)
    _SOFT_TERMS[number] = SoftSettings(chosen, 1.0, *others[:-1]), SoftObjective(chosen), missed
    return number


def _soft_terms(*arguments: Any) -> int:
    return _remembered_terms(*arguments)


# When a graph is traced, what these return becomes a constant in it.
constant: Any = torch.compiler.assume_constant_result
constant(_plan)
constant(_soft_terms)
