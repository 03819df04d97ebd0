"""One batch out of those of all ranks."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

__all__ = ["gather_rows", "is_parallel"]


def is_parallel() -> bool:
    """Whether there are other processes to gather from."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def gather_rows(rows: Tensor) -> tuple[Tensor, int]:
    """Concatenate the rows of all ranks, in the order of ranks, and say where this rank's begin.

    Ranks may hold different numbers of rows, also none.

    Parameters
    ----------
    rows : Tensor, shape (n, columns)
        On the device that the process group communicates on.
    """
    world, rank = dist.get_world_size(), dist.get_rank()
    own = torch.tensor([rows.shape[0]], device=rows.device)
    sizes = [torch.empty_like(own) for _ in range(world)]
    dist.all_gather(sizes, own)
    counts = [int(size) for size in sizes]
    # Collectives want equal shapes, hence the padding up to the largest rank.
    padded = rows.new_zeros((max(counts), *rows.shape[1:]))
    padded[: rows.shape[0]] = rows
    parts = [torch.empty_like(padded) for _ in range(world)]
    dist.all_gather(parts, padded)
    return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)]), sum(counts[:rank])
