"""From a batch to its soft loss."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from metricfit.loss.classes import as_columns, chosen_class
from metricfit.loss.entries import check_tensors
from metricfit.loss.gathering import add_over_ranks, is_parallel
from metricfit.loss.running import RunningConstraints
from metricfit.loss.soft_counts import BatchCounts, count_batch, decisions, not_negative
from metricfit.loss.soft_inputs import SoftBatch, is_usable, soft_batch, why_not_usable
from metricfit.loss.soft_settings import SoftSettings
from metricfit.loss.soft_terms import SoftConstraints, SoftObjective, is_on_host, measured

__all__ = ["soft_loss"]


def soft_loss(
    logits: Tensor,
    targets: Tensor,
    sample_weight: Tensor | None,
    settings: SoftSettings,
    temperature: float,
    objective: SoftObjective,
    missed: SoftConstraints | None = None,
    weights: Tensor | None = None,
    running: RunningConstraints | None = None,
) -> Tensor:
    """Return one minus the soft metric; with constraints, its sum with their soft violations, by weights.

    Parameters
    ----------
    logits, targets, sample_weight : Tensor
        As for :class:`metricfit.SoftMetricLoss`.
    settings, temperature : SoftSettings, float
        The temperature may differ from that of the settings.
    objective, missed : SoftObjective, SoftConstraints
        The metric and its constraints as functions of counts.
    weights : Tensor, shape (labels, 1 + constraints), optional
        Of the objective and of the violations.
    running : RunningConstraints, optional
        Is moved by this batch first; its weights stand in for `weights`.

    Examples
    --------
    >>> import metricfit as mf
    >>> settings = SoftSettings(mf.accuracy)
    >>> soft_loss(torch.zeros(4), torch.ones(4), None, settings, 1.0, SoftObjective(mf.accuracy))
    tensor(0.5000)
    """
    given = {} if sample_weight is None else {"sample_weight": sample_weight}
    check_tensors(logits=logits, targets=targets, **given)
    average, ignored = settings.average, settings.ignore_index
    columns = as_columns(logits, targets, average, settings.metric.average, ignored, softmax=True)
    logits, targets, exclusive = chosen_class(columns, average)
    batch = soft_batch(logits, targets, sample_weight, settings.ignore_index, exclusive=exclusive)
    counts = count_batch(batch, settings, temperature)
    decided = None if running is None else decisions(batch, per_label=settings.per_label)
    counts, decided, usable = _checked(batch, counts, decided, settings)
    if running is not None and decided is not None:
        running.update(decided, counts.unit)
        weights = running.weights
    losses = _lagrangian(counts, settings, objective, missed, weights)
    if counts.entropy is not None:
        # The mean over all groups: only for that is the bias of a label the best one.
        entries = counts.soft.detach().sum((0, 1)).clamp(min=1e-30)
        losses = losses + settings.cross_entropy * (counts.entropy / entries)
    losses = _reduced(losses, counts.soft, batch, settings)
    if usable is not None:
        losses = losses.where(usable, torch.nan)
    if settings.reduction == "none" and (logits.dim() == 1 or not settings.per_label):
        losses = losses.squeeze(1)
    return losses.to(batch.logits.dtype)


def _lagrangian(
    counts: BatchCounts,
    settings: SoftSettings,
    objective: SoftObjective,
    missed: SoftConstraints | None,
    weights: Tensor | None,
) -> Tensor:
    """Return the losses of units, with the violations of the constraints."""
    if missed is None or weights is None:
        return objective(counts.soft, counts.unit)
    weights = weights.to(counts.soft.dtype)
    if not settings.bounds:
        return measured(objective.terms + missed.terms, counts.soft, counts.unit, weights)[0]
    # Only now, since bounds of the ranks add up before any is raised to 0.
    safe = missed(not_negative(counts.safe), counts.unit)
    return weights[..., 0] * objective(counts.soft, counts.unit) + (weights[..., 1:] * safe).sum(-1)


def _reduced(losses: Tensor, counts: Tensor, batch: SoftBatch, settings: SoftSettings) -> Tensor:
    """Combine the losses of units; those without any weight do not count."""
    if settings.weighted and settings.reduction != "none":
        support = (counts[0] + counts[2]).detach()
        # Without any positive, all units count alike.
        shares = torch.where(support.sum() > 0, support, torch.ones_like(support))
        mean = (losses * shares).sum() / shares.sum()
        return mean if settings.reduction == "mean" else mean * losses.numel()
    if batch.weights is None:
        if settings.reduction == "mean":
            return losses.mean()
        return losses if settings.reduction == "none" else losses.sum()
    present = counts.detach().sum(0) > 0
    losses = losses.where(present, 0.0)
    if settings.reduction == "none":
        return losses
    total = losses.sum()
    return total / present.sum().clamp(min=1) if settings.reduction == "mean" else total


def _checked(
    batch: SoftBatch, counts: BatchCounts, decided: Tensor | None, settings: SoftSettings
) -> tuple[BatchCounts, Tensor | None, Tensor | None]:
    """Refuse values that cannot be used, or return a tensor that says so where looking would mean to wait."""
    usable = is_usable(batch)
    host = is_on_host(usable)
    if settings.gather and is_parallel():
        unit = torch.as_tensor(counts.unit, dtype=counts.soft.dtype, device=counts.soft.device)
        optional = {"entropy": counts.entropy, "decided": decided}
        given = {name: part for name, part in optional.items() if part is not None}
        soft, safe, unit, unusable, *rest = add_over_ranks(
            counts.soft, counts.safe, unit, ~usable, *given.values()
        )
        joint = dict(zip(given, rest, strict=True))
        counts = BatchCounts(soft, safe, unit / dist.get_world_size(), joint.get("entropy"))
        decided, usable = joint.get("decided"), unusable == 0
    if not host:
        return counts, decided, usable
    if not usable:
        raise ValueError(why_not_usable(batch, settings.ignore_index))
    return counts, decided, None
