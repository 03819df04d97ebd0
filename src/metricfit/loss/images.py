"""Masks: one game per image and class, of some of the pixels."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["PIXELS", "sampled_pixels"]

PIXELS = 256
"""The pixels of a game by default."""


def sampled_pixels(logits: Tensor, targets: Tensor, most: int | None, *, draw: bool) -> tuple[Tensor, Tensor]:
    """Return pixels of masks as rows, and every class of every image as a column.

    The pixels of an image are divided into as many consecutive stretches of equal length as there are to be
    pixels in a game, and one is taken of each.

    Parameters
    ----------
    logits, targets : Tensor, shape (images, classes, height, width), or with a third side
    most : int or None
        How many pixels to take; None takes all.
    draw : bool
        Take a random pixel of each stretch, and not the middle one. All classes of an image share pixels.

    Examples
    --------
    >>> masks = torch.arange(8.0).reshape(1, 1, 2, 4)
    >>> sampled_pixels(masks, masks, 4, draw=False)[0].ravel()
    tensor([1., 3., 5., 7.])
    """
    images, classes = logits.shape[:2]
    flat, truth = logits.flatten(2), targets.flatten(2)
    pixels = flat.shape[2]
    if most is not None and most < pixels:
        stretches = torch.arange(most, device=logits.device, dtype=torch.float64)
        inside = torch.rand(images, most, device=logits.device, dtype=torch.float64) if draw else 0.5
        chosen = ((stretches + inside) * (pixels / most)).long().clamp(max=pixels - 1)
        index = chosen.expand(images, most).unsqueeze(1).expand(images, classes, most)
        flat, truth = flat.gather(2, index), truth.gather(2, index)
    rows = flat.shape[2]
    return tuple(part.permute(2, 0, 1).reshape(rows, images * classes) for part in (flat, truth))  # type: ignore[return-value]
