"""The loss of a batch of any shape: rows, labels, classes or masks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from metricfit.loss.classes import as_columns, chosen_class
from metricfit.loss.entries import check_tensors
from metricfit.loss.images import PIXELS, sampled_pixels
from metricfit.loss.operator import apply_metric_loss
from metricfit.loss.settings import Settings

__all__ = ["Plan", "batch_columns", "columns_loss"]


class Plan(NamedTuple):
    """What decides on the games of a batch, in the plain values that a traced graph can hold.

    Attributes
    ----------
    text, each : str
        The settings, and for a weighted average those that return every game of its own.
    image_text, image_each : str
        The same for columns that hold one image each.
    average : str or int
    named : str or None
        The average that the metric has.
    reduction : str
    pixels : int or None
        How many pixels of an image make a game.
    ignore_index : int or None
    gather : bool
    """

    text: str
    each: str
    image_text: str
    image_each: str
    average: str | int
    named: str | None
    reduction: str
    pixels: int | None
    ignore_index: int | None
    gather: bool

    @classmethod
    def of(cls, settings: Settings) -> Plan:
        """Return the plan of a loss.

        Examples
        --------
        >>> import metricfit as mf
        >>> Plan.of(Settings(mf.f1)).pixels
        256
        """
        named = settings.metric.average
        average = named if settings.average == "macro" and named == "weighted" else settings.average
        each = {"reduction": "none"} if average == "weighted" else {}
        return cls(
            settings.text(),
            settings.text(**each),
            settings.text(group_size=None),
            settings.text(group_size=None, **each),
            average,
            named,
            settings.reduction,
            PIXELS if settings.group_size == "auto" else settings.group_size,
            settings.ignore_index,
            settings.gather,
        )


def batch_columns(logits: Tensor, targets: Tensor, plan: Plan) -> tuple[Tensor, Tensor]:
    """Return logits and targets with one column per class, for targets that are class indices.

    Examples
    --------
    >>> import metricfit as mf
    >>> plan = Plan.of(Settings(mf.f1, average=1))
    >>> batch_columns(torch.zeros(2, 3), torch.tensor([1, 0]), plan)[1].ravel()
    tensor([1., 0.])
    """
    check_tensors(logits=logits, targets=targets)
    columns = as_columns(logits, targets, plan.average, plan.named, plan.ignore_index, softmax=False)
    columns = chosen_class(columns, plan.average)
    return columns.logits, columns.targets


def columns_loss(
    logits: Tensor,
    targets: Tensor,
    plan: Plan,
    recorder: int,
    multipliers: Tensor | None = None,
    *,
    draw: bool = True,
) -> Tensor:
    """Return the loss of one column per label or class, or of masks.

    Examples
    --------
    >>> import metricfit as mf
    >>> plan = Plan.of(Settings(mf.accuracy, average="weighted"))
    >>> columns_loss(torch.tensor([[9.0, -9.0]]), torch.tensor([[1, 0]]), plan, 0)
    tensor(0.)
    """
    text, each, shape = plan.text, plan.each, None
    if logits.dim() in (4, 5):
        if logits.shape[1] == 1 and targets.shape == logits[:, 0].shape:
            targets = targets.unsqueeze(1)
        if plan.gather:
            raise ValueError(
                "gather=True plays over the rows of all ranks, and every image has games of its own; leave "
                "it out"
            )
        if logits.shape != targets.shape:
            raise ValueError(
                f"logits of shape {tuple(logits.shape)} and targets of shape {tuple(targets.shape)} do not "
                "match; give masks of 0 and 1 of the shape of the logits, or class indices of shape "
                "(images, height, width)"
            )
        shape = logits.shape[:2]
        logits, targets = sampled_pixels(logits, targets, plan.pixels, draw=draw)
        text, each = plan.image_text, plan.image_each
    if plan.average != "weighted" or plan.reduction == "none" or logits.dim() == 1:
        loss = apply_metric_loss(logits, targets, text, recorder, multipliers)
        return loss.reshape(shape) if shape is not None and plan.reduction == "none" else loss
    losses = apply_metric_loss(logits, targets, each, recorder, multipliers)
    weights = _support(targets, losses.shape[0], plan.ignore_index).to(losses.dtype)
    total = weights.sum()
    # Without any positive, all games count alike.
    weights = torch.where(total > 0, weights / total.clamp(min=1.0), 1.0 / weights.numel())
    mean = (weights * losses).sum()
    return mean if plan.reduction == "mean" else mean * losses.numel()


def _support(targets: Tensor, groups: int, ignore_index: int | None) -> Tensor:
    """Return the positives of every game, shape (groups, labels); row ``i`` is in ``i * groups // n``."""
    positive = targets == 1
    if ignore_index is not None:
        positive = positive & (targets != ignore_index)
    n = targets.shape[0]
    group = torch.arange(n, device=targets.device) * groups // n
    zeros = torch.zeros(groups, *targets.shape[1:], dtype=torch.float64, device=targets.device)
    return zeros.index_add(0, group, positive.to(torch.float64))
