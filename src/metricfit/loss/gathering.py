"""One batch out of those of all ranks."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

__all__ = ["add_over_ranks", "gather_batch", "is_parallel"]


def is_parallel() -> bool:
    """Whether there are other processes to gather from."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def gather_batch(logits: Tensor, targets: Tensor) -> tuple[tuple[Tensor, Tensor], slice, int]:
    """Concatenate the batches of all ranks, in the order of ranks.

    Ranks may hold different numbers of rows, also none.

    Parameters
    ----------
    logits, targets : Tensor, shape (n,) or (n, labels)
        On the device that the process group communicates on.

    Returns
    -------
    batch : tuple of Tensor
        Logits and targets of all ranks, in double precision.
    own : slice
        Where this rank's rows are.
    ranks : int
        How many there are.
    """
    ranks, rank = dist.get_world_size(), dist.get_rank()
    rows = torch.stack((logits.detach().double(), targets.double()), dim=1)
    size = torch.tensor([len(rows)], device=rows.device)
    sizes = [torch.empty_like(size) for _ in range(ranks)]
    dist.all_gather(sizes, size)
    counts = [int(count) for count in sizes]
    # Collectives want equal shapes, hence the padding up to the largest rank.
    padded = rows.new_zeros((max(counts), *rows.shape[1:]))
    padded[: len(rows)] = rows
    parts = [torch.empty_like(padded) for _ in range(ranks)]
    dist.all_gather(parts, padded)
    joint = torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])
    start = sum(counts[:rank])
    return (joint[:, 0], joint[:, 1]), slice(start, start + len(rows)), ranks


def add_over_ranks(*parts: Tensor) -> list[Tensor]:
    """Add up tensors over all ranks, which all pass the same shapes.

    Data parallel training averages gradients over the ranks; so that the average is right, the gradient of
    this rank's part is multiplied with the number of ranks.

    Returns
    -------
    list of Tensor
        The sums, in the type of the first part.
    """
    flat = torch.cat([part.flatten().to(parts[0].dtype) for part in parts])
    joint = flat.detach().clone()
    dist.all_reduce(joint)
    joint = joint + dist.get_world_size() * (flat - flat.detach())
    pieces = torch.split(joint, [part.numel() for part in parts])
    return [piece.reshape(part.shape) for piece, part in zip(pieces, parts, strict=True)]
