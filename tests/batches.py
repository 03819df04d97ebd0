"""Batches of logits and targets for the tests of the loss."""

from __future__ import annotations

import torch


def a_batch(
    *shape: int, seed: int = 0, dtype: torch.dtype = torch.float64, spread: float = 0.1
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits in general position, requiring gradients, and targets with both classes in every column."""
    generator = torch.Generator().manual_seed(seed)
    logits = (spread * torch.randn(*shape, generator=generator, dtype=torch.float64)).to(dtype)
    targets = (torch.rand(*shape, generator=generator) < 0.4).long()
    targets[0], targets[1] = 1, 0
    return logits.requires_grad_(), targets


def gradient(loss: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    (slope,) = torch.autograd.grad(loss, logits)
    return slope
