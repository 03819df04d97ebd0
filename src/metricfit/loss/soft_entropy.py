"""Cross-entropy beside a soft metric, with a bias of its own, so that it does not move the decision."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import softplus

from metricfit.loss.gathering import add_over_ranks, is_parallel
from metricfit.loss.soft_inputs import SoftBatch
from metricfit.loss.soft_terms import is_on_host

__all__ = ["cross_entropies", "own_bias"]

STEPS = 6
LARGEST_STEP, LARGEST = 2.0, 30.0
"""Of the bias; at 30, the probability of an entry is 0 or 1 within rounding."""
EDGE = 1e-6
"""How far shares are kept from 0 and 1 for the first guess, and how far a mean may be off at the end."""
FLATTEST = 1e-3
"""The smallest mean slope of a sigmoid that a step is divided by."""


@torch.no_grad()
def own_bias(batch: SoftBatch, *, gather: bool = False) -> Tensor:
    """Return the bias of each label for which the cross-entropy of the batch is smallest, shape (labels, 1).

    Then the mean probability is the share of positives. It is found by steps of Newton's method.

    Examples
    --------
    >>> from metricfit.loss.soft_inputs import soft_batch
    >>> logits = torch.tensor([2.0, 1.0, 0.0, -1.0])
    >>> bias = own_bias(soft_batch(logits, torch.tensor([1.0, 0.0, 0.0, 0.0]), None, None))
    >>> torch.sigmoid(logits + bias[0]).mean()
    tensor(0.2500)
    """
    weights = batch.classes.sum(0)
    totals = _sums(gather, batch.classes[0], weights)
    positives, every = totals[0], totals[1].clamp(min=1e-30)
    bias = torch.zeros_like(positives)
    for step in range(STEPS):
        chances = torch.sigmoid(batch.logits + bias)
        expected = weights * chances
        found, slopes = _sums(gather, expected, expected * (1.0 - chances))
        if step == 0:
            # From here on Newton's method needs few steps.
            bias = torch.logit(positives / every, eps=EDGE) - torch.logit(found / every, eps=EDGE)
            continue
        missed = positives - found
        # Ranks take the same number of steps, since they wait for each other in each.
        if not gather and is_on_host(missed) and bool((missed.abs() <= EDGE * every).all()):
            break
        move = missed / torch.maximum(slopes, FLATTEST * every)
        bias = (bias + move.clamp(-LARGEST_STEP, LARGEST_STEP)).clamp(-LARGEST, LARGEST)
    return bias


def _sums(gather: bool, *parts: Tensor) -> tuple[Tensor, ...]:
    """Add up over rows and pixels, and over ranks: shape (labels, 1) each."""
    sums = [part.sum((0, 2)).unsqueeze(1) for part in parts]
    return tuple(add_over_ranks(*sums) if gather and is_parallel() else sums)


def cross_entropies(batch: SoftBatch, *, gather: bool = False) -> Tensor:
    """Return the sum of the cross-entropies of the entries of each label, by their weights.

    Examples
    --------
    >>> from metricfit.loss.soft_inputs import soft_batch
    >>> batch = soft_batch(torch.tensor([5.0, 5.0]), torch.tensor([1.0, 0.0]), None, None)
    >>> cross_entropies(batch)
    tensor([1.3863])
    """
    moved = batch.logits + own_bias(batch, gather=gather)
    positive, negative = batch.classes.unbind(0)
    return (positive * softplus(-moved) + negative * softplus(moved)).sum((0, 2))
