"""Whether the entries of a batch are usable, and which of them take part."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

__all__ = ["check_tensors", "how_to_recode", "valid_entries"]


def check_tensors(**given: Any) -> None:
    """Raise TypeError for what is no dense tensor.

    Examples
    --------
    >>> check_tensors(logits=[0.5])
    Traceback (most recent call last):
        ...
    TypeError: logits must be a tensor of PyTorch, not list; convert them by torch.as_tensor
    """
    for name, value in given.items():
        if not isinstance(value, torch.Tensor):
            raise TypeError(
                f"{name} must be a tensor of PyTorch, not {type(value).__name__}; convert them by "
                "torch.as_tensor"
            )
        if value.layout != torch.strided:
            raise TypeError(f"{name} must be a dense tensor, not a sparse one; give {name}.to_dense()")


def how_to_recode(target: float, ignore_index: int | None) -> str:
    """Return what to do about a target that cannot be used; a label that is missing is no negative.

    Examples
    --------
    >>> how_to_recode(math.nan, None)
    'where a label is missing, give -1 as its target, and ignore_index=-1'
    """
    if math.isnan(target):
        missing = -1 if ignore_index is None else ignore_index
        return f"where a label is missing, give {missing} as its target, and ignore_index={missing}"
    recode = "recode them, for instance as targets > 0"
    if ignore_index is None and target < 0 and target.is_integer():
        return f"{recode}, or leave such entries out by ignore_index={target:.0f}"
    return recode


def valid_entries(
    logits: NDArray[np.float64], targets: NDArray[np.float64], ignore_index: int | None
) -> NDArray[np.bool_]:
    """Say which entries take part, after checking those.

    Examples
    --------
    >>> valid_entries(np.array([[0.3], [np.nan]]), np.array([[1.0], [-100.0]]), -100)
    array([[ True],
           [False]])
    """
    if targets.size == 0:
        n, columns = targets.shape
        raise ValueError(
            f"a batch of {n} items and {columns} labels has no loss; leave empty batches out, or use "
            "drop_last=True in the DataLoader"
        )
    valid = np.ones(targets.shape, np.bool_) if ignore_index is None else targets != ignore_index
    strange = valid & (targets != 0) & (targets != 1)
    unusable = valid & ~np.isfinite(logits)
    if strange.any():
        besides = "" if ignore_index is None else f", or ignore_index={ignore_index}"
        raise ValueError(
            f"targets must be 0 or 1{besides}, but one is {targets[strange][0]:g}; "
            f"{how_to_recode(float(targets[strange][0]), ignore_index)}"
        )
    if unusable.any():
        row, column = (int(index[0]) for index in np.nonzero(unusable))
        raise ValueError(
            f"logits must be finite, but that of item {row}, label {column} is {logits[row, column]:g}; "
            "the model has diverged, or there are missing values in its input"
        )
    return valid
