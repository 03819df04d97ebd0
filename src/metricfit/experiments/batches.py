"""The batches of an epoch: every row once, or as many positives as negatives in each."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

__all__ = ["batches"]


def batches(labels: Tensor, count: int, generator: torch.Generator, *, balanced: bool) -> Iterator[Tensor]:
    """Yield the row numbers of each batch of an epoch.

    Balanced batches have the same sizes; half of each is drawn from the positives and half from the
    negatives, with replacement.

    Examples
    --------
    >>> import torch
    >>> labels = torch.tensor([0] * 9 + [1])
    >>> sizes = [len(rows) for rows in batches(labels, 3, torch.Generator(), balanced=False)]
    >>> sizes, [int(labels[rows].sum()) for rows in batches(labels, 2, torch.Generator(), balanced=True)]
    ([4, 3, 3], [2, 2])
    """
    shuffled = torch.randperm(len(labels), generator=generator)
    if not balanced:
        yield from shuffled.tensor_split(count)
        return
    known = labels.cpu()
    positive, negative = known.nonzero().squeeze(1), (known == 0).nonzero().squeeze(1)
    for size in map(len, shuffled.tensor_split(count)):
        half = max(1, size // 2)
        yield torch.cat([_draw(positive, half, generator), _draw(negative, size - half, generator)])


def _draw(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    return rows[torch.randint(len(rows), (count,), generator=generator)]
