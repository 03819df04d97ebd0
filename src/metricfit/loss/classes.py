"""From scores of classes, one of which is right in each row, to one column of scores per class."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = [
    "Columns",
    "as_columns",
    "chosen_class",
    "looks_at_values",
    "margins",
    "one_against_rest",
]


class Columns(NamedTuple):
    """A batch with one column of logits and of targets per class or label."""

    logits: Tensor
    targets: Tensor
    exclusive: bool  # whether exactly one class is right in each row


def as_columns(
    logits: Tensor,
    targets: Tensor,
    average: str | int,
    named: str | None,
    ignore_index: int | None,
    *,
    softmax: bool,
) -> Columns:
    """Return columns for targets that are class indices; other batches as they are.

    Parameters
    ----------
    logits : Tensor, shape (n, classes) or (n, classes, ...)
        With further dimensions, as of sequences, masks or volumes, as for cross-entropy.
    targets : Tensor, shape (n,), (n, 1) or (n, ...)
        Integers. With any other shape nothing is done.
    average : str or int
        That of the loss.
    named : str or None
        That of the metric.
    ignore_index : int, optional
    softmax : bool
        Whether to return the logits of the softmax, or else the margins.

    Examples
    --------
    >>> as_columns(torch.zeros(2, 3), torch.tensor([2, 0]), "macro", None, None, softmax=True).targets
    tensor([[0., 0., 1.],
            [1., 0., 0.]])
    """
    if not _are_classes(logits, targets):
        return Columns(logits, targets, False)
    if logits.shape[1] == 2 and average == "macro" and named is None:
        raise ValueError(
            f"logits of shape {tuple(logits.shape)} and targets of shape {tuple(targets.shape)}: with "
            "two columns pass the difference logits[:, 1] - logits[:, 0], or say which metric you want: "
            "average=1 for that of class 1, or a metric such as mf.f1.macro()"
        )
    if "micro" in (average, named) or "samples" in (average, named):
        raise ValueError(
            'the "micro" average of classes is a function of accuracy, and "samples" has no meaning for '
            'them; take mf.accuracy, or average="macro" or "weighted"'
        )
    targets = targets.reshape(logits.shape[:1] + logits.shape[2:])
    columns = one_against_rest(logits, targets, ignore_index, softmax=softmax)
    if logits.dim() != 3:
        return columns
    # A sequence is a mask of width 1.
    return Columns(columns.logits.unsqueeze(3), columns.targets.unsqueeze(3), True)


def one_against_rest(
    logits: Tensor, targets: Tensor, ignore_index: int | None, *, softmax: bool = True
) -> Columns:
    r"""Return one column per class, for the class against all others.

    With softmax, the sigmoid of a column is the softmax of its class,

    .. math:: f_c = z_c - \log \sum_{d \ne c} e^{z_d}.

    Otherwise columns are what :func:`margins` returns.

    Examples
    --------
    >>> columns = one_against_rest(torch.tensor([[2.0, 0.0, 1.0]]), torch.tensor([0]), None)
    >>> columns.logits.sigmoid()
    tensor([[0.6652, 0.0900, 0.2447]])
    """
    classes = logits.shape[1]
    if targets.dtype.is_floating_point or targets.dtype.is_complex or targets.dtype == torch.bool:
        raise TypeError(
            f"targets of shape {tuple(targets.shape)} for logits of shape {tuple(logits.shape)} are indices "
            f"of classes and must be integers, not {targets.dtype}"
        )
    if logits.device != targets.device:
        raise ValueError(f"logits are on {logits.device} and targets on {targets.device}; move one of them")
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    shape = (1, classes, *[1] * (logits.dim() - 2))
    numbers = torch.arange(classes, device=logits.device)
    encoded = (targets.unsqueeze(1) == numbers.reshape(shape)).to(torch.float32)
    known = (targets >= 0) & (targets < classes)
    if ignore_index is not None:
        ignored = targets == ignore_index
        known = known | ignored
        encoded = encoded.masked_fill(ignored.unsqueeze(1), float(ignore_index))
        # A row that takes no part may hold anything, and must not make NaN of the gradient.
        wide = wide.masked_fill(ignored.unsqueeze(1), 0.0)
    if looks_at_values(logits) and not bool(known.all()):
        strange = targets[~known].flatten()[0].item()
        besides = "" if ignore_index is None else f", or ignore_index={ignore_index}"
        hint = f"the logits have {classes} columns"
        if ignore_index is None and strange < 0:
            hint = f"leave such entries out by ignore_index={strange}"
        raise ValueError(
            f"targets must be classes from 0 to {classes - 1}{besides}, but one is {strange}; {hint}"
        )
    encoded = encoded.masked_fill(~known.unsqueeze(1), torch.nan)
    return Columns(_logits_of_softmax(wide) if softmax else margins(wide), encoded, True)


def chosen_class(columns: Columns, average: str | int) -> Columns:
    """Return the column that an average given as a number stands for.

    Examples
    --------
    >>> columns = one_against_rest(torch.zeros(2, 3), torch.tensor([2, 0]), None)
    >>> chosen_class(columns, 2).targets.ravel()
    tensor([1., 0.])
    """
    if isinstance(average, str):
        return columns
    if columns.logits.dim() < 2 or average >= columns.logits.shape[1]:
        raise ValueError(
            f"average={average} is the index of a class or label, counted from 0, but logits of shape "
            f"{tuple(columns.logits.shape)} have no such column"
        )
    if columns.targets.shape != columns.logits.shape:
        return columns  # refused later, as for every average
    part = slice(average, average + 1)
    return Columns(columns.logits[:, part], columns.targets[:, part], False)


def looks_at_values(tensor: Tensor) -> bool:
    """Whether values may be looked at, neither on a device nor under a tracer or transform."""
    from metricfit.loss.operator import is_watched

    return tensor.is_cpu and not torch.compiler.is_compiling() and not is_watched()


def margins(logits: Tensor) -> Tensor:
    r"""Return by how much the logit of every class is above the largest of the others.

    .. math:: f_c = z_c - \max_{d \ne c} z_d

    So exactly the class with the largest logit is above 0.

    Examples
    --------
    >>> margins(torch.tensor([[2.0, 0.0, 1.5]]))
    tensor([[ 0.5000, -2.0000, -0.5000]])
    """
    (first, second), top = _two_largest(logits)
    return logits - torch.where(top, second, first)


def _two_largest(logits: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
    """Return the largest and the second largest logit of a row, and where the largest is."""
    largest = logits.topk(2, dim=1)
    top = torch.zeros_like(logits, dtype=torch.bool).scatter(1, largest.indices[:, :1], True)
    return (largest.values[:, :1], largest.values[:, 1:]), top


def _logits_of_softmax(logits: Tensor) -> Tensor:
    _, top = _two_largest(logits)
    # For all classes but the largest the share is at most a half, so that 1 - share does not cancel.
    shares = torch.softmax(logits, 1).masked_fill(top, 0.0)
    rest = torch.logsumexp(logits, 1, keepdim=True) + torch.log1p(-shares)
    beside_top = torch.logsumexp(logits.masked_fill(top, -torch.inf), 1, keepdim=True)
    return logits - torch.where(top, beside_top, rest)


def _are_classes(logits: Tensor, targets: Tensor) -> bool:
    if logits.dim() == 2 and logits.shape[1] > 1:
        return tuple(targets.shape) in ((logits.shape[0],), (logits.shape[0], 1))
    if logits.dim() > 2 and logits.shape[1] > 1:
        return tuple(targets.shape) == (logits.shape[0], *logits.shape[2:])
    return False
