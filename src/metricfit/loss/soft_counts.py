"""Confusion matrices of a batch from the probabilities of its entries, added up unit by unit.

The metric is computed for each unit: a label of a group of rows, all labels of a group, or one row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from metricfit.loss.soft_entropy import cross_entropies
from metricfit.loss.soft_inputs import SoftBatch
from metricfit.loss.soft_settings import SoftSettings

__all__ = ["BatchCounts", "count_batch", "decisions", "not_negative", "slack_sigmoids"]


class BatchCounts(NamedTuple):
    """Confusion matrices in double precision; ``tp, fp, fn, tn`` stand in the first dimension.

    Attributes
    ----------
    soft : Tensor, shape (4, groups, labels)
        Of the probabilities. There is one label if the average is "micro" or "samples".
    safe : Tensor, shape (4, groups, labels)
        With a lower bound of the true positives and an upper bound of the false positives of the decision, if
        bounds are asked for; otherwise `soft`. Bounds of few entries may be negative.
    unit : Tensor, shape (), or float
        The mean weight of an entry.
    entropy : Tensor, shape (labels,), or None
        The sum of the cross-entropies of all entries, if asked for.
    """

    soft: Tensor
    safe: Tensor
    unit: Tensor | float
    entropy: Tensor | None = None


def count_batch(batch: SoftBatch, settings: SoftSettings, temperature: float) -> BatchCounts:
    """Count the probabilities of a batch.

    Examples
    --------
    >>> import metricfit as mf
    >>> from metricfit.loss.soft_inputs import soft_batch
    >>> batch = soft_batch(torch.tensor([40.0, -40.0]), torch.tensor([1.0, 1.0]), None, None)
    >>> count_batch(batch, SoftSettings(mf.f1), 1.0).soft.ravel().round()
    tensor([1., 0., 1., 0.], dtype=torch.float64)
    """
    logits = batch.logits
    # The probability of being positive and of being negative, each by itself: 1 - p would round to 0.
    steep = torch.linspace(1.0 / temperature, -1.0 / temperature, 2, dtype=logits.dtype, device=logits.device)
    soft = _counts(torch.sigmoid(steep.reshape(2, 1, 1, 1, 1) * logits), batch.classes, settings)
    safe = soft
    if settings.bounds:
        safe = _counts(slack_sigmoids(logits / temperature, settings.bounds), batch.classes, settings)
    entropy = None
    if settings.cross_entropy:
        entropy = cross_entropies(batch, gather=settings.gather).to(soft.dtype)
        entropy = entropy if settings.per_label else entropy.sum(0, keepdim=True)
    if batch.weights is None:
        return BatchCounts(soft, safe, 1.0, entropy)
    weights = batch.weights.detach()
    mean_weight = weights.sum() / (weights > 0).sum().clamp(min=1)
    return BatchCounts(soft, safe, mean_weight.to(soft.dtype).clamp(min=1e-30), entropy)


@torch.no_grad()
def decisions(batch: SoftBatch, *, per_label: bool) -> Tensor:
    """Count the decisions of all rows: shape (4, labels), or (4, 1) over all labels.

    Labels are decided at 0, classes by the largest logit.

    Examples
    --------
    >>> from metricfit.loss.soft_inputs import soft_batch
    >>> batch = soft_batch(torch.tensor([0.1, -0.1]), torch.tensor([1.0, 1.0]), None, None)
    >>> decisions(batch, per_label=True).ravel()
    tensor([1., 0., 1., 0.])
    """
    above = batch.logits > 0
    if batch.exclusive:
        largest = batch.logits.argmax(1, keepdim=True)
        above = torch.zeros_like(above).scatter(1, largest, True)
    cells = torch.stack((above, ~above)).to(batch.logits.dtype).unsqueeze(1) * batch.classes
    counts = cells.sum((2, 4)).flatten(0, 1)
    return counts if per_label else counts.sum(1, keepdim=True)


def slack_sigmoids(tempered: Tensor, slack: float) -> Tensor:
    r"""Return a lower bound of "predicted positive" for positives, an upper one for negatives, and the rest.

    The bounds are sigmoids, one unit off the cut, with the slack :math:`\delta` and the steepness
    :math:`k = -\log \delta`:

    .. math:: \ell(f) = (1 + \delta) \sigma(k (f - 1)) - \delta \le 1[f > 0],
              \qquad u(f) = 1 - \ell(-f) \ge 1[f > 0]

    Returns
    -------
    Tensor, shape (2, 2, ...)
        ``[[lower, upper], [1 - lower, 1 - upper]]``.
    """
    steepness = -math.log(slack)
    lower = (1.0 + slack) * torch.sigmoid(steepness * (tempered - 1.0)) - slack
    upper = 1.0 + slack - (1.0 + slack) * torch.sigmoid(-steepness * (tempered + 1.0))
    bounds = torch.stack((lower, upper))
    return torch.stack((bounds, 1.0 - bounds))


def _counts(share: Tensor, classes: Tensor, settings: SoftSettings) -> Tensor:
    """Add up shares, shape (2, 1 or 2, rows, labels, pixels), to (4, groups, labels)."""
    cells = (share * classes).flatten(0, 1)
    rows = cells.shape[1]
    groups = settings.group_count(rows)
    together = (3,) if settings.per_label else (2, 3)
    if groups == 1:
        together = (1, *together)
    # Rounding is to single precision within a sum only. Apple's GPU has no double precision.
    wide = torch.float32 if cells.device.type == "mps" else torch.float64
    sums = cells.sum(together, keepdim=True).squeeze(3).to(wide)
    if 1 < groups < rows:
        group = torch.arange(rows, device=sums.device) * groups // rows
        sums = torch.zeros_like(sums[:, :groups]).index_add(1, group, sums)
    return sums


def not_negative(counts: Tensor) -> Tensor:
    """Raise counts to 0, with the gradient of the counts as they were."""
    return counts + (counts.clamp(min=0.0) - counts).detach()
