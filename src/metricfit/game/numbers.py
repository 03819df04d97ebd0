"""Arrays from what the user gives, with messages that name the argument."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["as_array", "as_numbers"]


def as_array(given: ArrayLike, what: str) -> NDArray[np.generic]:
    """Return an array of any type.

    Examples
    --------
    >>> as_array([True, False], "labels")
    array([ True, False])
    """
    if isinstance(given, np.ma.MaskedArray):
        raise ValueError(
            f"{what} are a masked array, whose mask would be ignored; fill what is masked, or leave it out "
            "of scores and labels alike, as in scores[~mask]"
        )
    try:
        return np.asarray(given)
    except (RuntimeError, TypeError, ValueError) as error:
        reason = str(error).rstrip(".")
        if hasattr(given, "detach"):
            # Tensors of PyTorch that require a gradient, or of a type that NumPy does not have.
            raise ValueError(
                f"{what} cannot be converted to an array: {reason}; pass {what}.detach().double(), since "
                "solve has no gradient"
            ) from error
        raise ValueError(f"{what} must be real numbers: {reason}") from error


def as_numbers(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return a new contiguous array of double precision, because the compiled solver expects it.

    Examples
    --------
    >>> as_numbers([1, 2], "scores")
    array([1., 2.])
    """
    array = as_array(given, what)
    try:
        # Complex numbers, dates and text would be converted silently.
        if array.dtype.kind not in "biufO":
            raise TypeError(f"they are of type {array.dtype}")
        return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{what} must be real numbers: {error}") from error
