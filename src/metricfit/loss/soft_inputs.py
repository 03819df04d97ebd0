"""From what a user passes to tensors of one shape: rows, labels, pixels."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from metricfit.loss.entries import how_to_recode

__all__ = ["SoftBatch", "is_usable", "soft_batch", "why_not_usable"]


class SoftBatch(NamedTuple):
    """A batch in single precision at least; all of shape (rows, labels, pixels).

    Attributes
    ----------
    logits, targets : Tensor
        Entries that are ignored hold zeros.
    weights : Tensor or None
        Zero where an entry is ignored; None if all count the same.
    classes : Tensor, shape (2, rows, labels, pixels)
        How much of each entry is positive, and how much negative.
    exclusive : bool
        Whether the decision is the label with the largest logit.
    """

    logits: Tensor
    targets: Tensor
    weights: Tensor | None
    classes: Tensor
    exclusive: bool


def soft_batch(
    logits: Tensor,
    targets: Tensor,
    sample_weight: Tensor | None,
    ignore_index: int | None,
    *,
    exclusive: bool = False,
) -> SoftBatch:
    """Bring a batch into the shape (rows, labels, pixels), without a look at its values.

    Examples
    --------
    >>> batch = soft_batch(torch.tensor([0.5, -1.0]), torch.tensor([1, -1]), None, -1)
    >>> batch.logits.shape, batch.weights.ravel()
    (torch.Size([2, 1, 1]), tensor([1., 0.]))
    """
    if not logits.dtype.is_floating_point:
        raise TypeError(
            f"logits must be floating point numbers, not {logits.dtype}; give the model's raw scores, which "
            "are cut at 0"
        )
    if targets.dtype.is_complex:
        raise TypeError(f"targets must be bool, int or float, not {targets.dtype}")
    if logits.dim() not in (1, 2, 4, 5):
        raise ValueError(
            f"logits must have the shape (n,), (n, 1), (n, labels) or (images, classes, height, width), not "
            f"{tuple(logits.shape)}; add the dimension of classes with unsqueeze(1) if it is missing"
        )
    if logits.numel() == 0:
        raise ValueError(
            f"a batch of shape {tuple(logits.shape)} has no loss; leave empty batches out, or use "
            "drop_last=True in the DataLoader"
        )
    dtype = torch.float64 if logits.dtype == torch.float64 else torch.float32
    rows, labels = logits.shape[0], logits.shape[1] if logits.dim() > 1 else 1
    shape = rows, labels, logits.numel() // (rows * labels)
    truth = _like(logits, targets, "targets").to(dtype).reshape(shape)
    scores = logits.to(dtype).reshape(shape)
    weights = None
    if sample_weight is not None:
        if sample_weight.shape == (rows,):
            sample_weight = sample_weight.reshape(rows, *[1] * (logits.dim() - 1)).expand(logits.shape)
        weights = _like(logits, sample_weight, "sample_weight").to(dtype).reshape(shape)
    if ignore_index is not None:
        valid = truth != ignore_index
        scores, truth = scores.where(valid, 0.0), truth.where(valid, 0.0)
        weights = valid.to(dtype) if weights is None else weights.where(valid, 0.0)
    positive = truth if weights is None else truth * weights
    rest = 1.0 - truth if weights is None else weights - positive
    return SoftBatch(scores, truth, weights, torch.stack((positive, rest)), exclusive)


@torch.no_grad()
def is_usable(batch: SoftBatch) -> Tensor:
    """Whether logits are finite, targets between 0 and 1 and weights neither negative nor infinite."""
    # Zero times what is not finite is no number, which is not >= 0 either.
    return (batch.logits * 0.0).sum() + batch.classes.amin() >= 0


def why_not_usable(batch: SoftBatch, ignore_index: int | None) -> str:
    """Return a sentence about the first value of a batch that cannot be used."""
    strange = batch.targets[~((batch.targets >= 0) & (batch.targets <= 1))]
    if len(strange):
        besides = "" if ignore_index is None else f", or ignore_index={ignore_index}"
        return (
            f"targets must be between 0 and 1{besides}, but one is {strange[0].item():g}; "
            f"{how_to_recode(strange[0].item(), ignore_index)}"
        )
    diverged = batch.logits[~torch.isfinite(batch.logits)]
    if len(diverged):
        return (
            f"logits must be finite, but one is {diverged[0].item():g}; the model has diverged, or there are "
            "missing values in its input"
        )
    if not is_usable(batch):
        return "sample_weight must be finite and not negative; leave out rows by a weight of 0"
    return (
        "the batch of another rank holds logits that are not finite or targets that are not between 0 and 1; "
        "the error of that rank says which"
    )


def _like(logits: Tensor, given: Tensor, name: str) -> Tensor:
    """Return targets or weights in the shape of the logits."""
    if logits.device != given.device:
        raise ValueError(f"logits are on {logits.device} and {name} on {given.device}; move one of them")
    if given.shape == logits.shape:
        return given
    # (n,) with (n, 1), and masks without a dimension of classes where there is one class.
    if logits.numel() == given.numel() and _squeezed(logits.shape) == _squeezed(given.shape):
        return given.reshape(logits.shape)
    hint = "give one value per logit, or the index of a class per row"
    if name == "sample_weight":
        hint = "give one weight per row or per logit"
    raise ValueError(
        f"logits of shape {tuple(logits.shape)} and {name} of shape {tuple(given.shape)} do not match; {hint}"
    )


def _squeezed(shape: torch.Size) -> tuple[int, ...]:
    """Return a shape without a second dimension of size 1."""
    return (shape[0], *shape[2:]) if len(shape) in (2, 4, 5) and shape[1] == 1 else tuple(shape)
