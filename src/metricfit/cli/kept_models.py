"""The fitted models of an unfinished run, from which it can go on."""

from __future__ import annotations

import hashlib
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.part_files import (
    ForeignFileError,
    read_networks,
    read_trees,
    write_networks,
    write_objects,
)

__all__ = ["KeptModels"]

NETWORK, TREES = ".pt", ".skops"


class KeptModels:
    """Files of fitted models in a folder, named by a digest of what each was fitted to and how.

    A file appears only when it is complete, so a killed run leaves no partial file.

    Parameters
    ----------
    folder : Path
        Where they are.
    use : str
        What the models are for; models for another use are kept apart.
    """

    def __init__(self, folder: Path, use: str) -> None:
        self.folder = folder
        self.use = use

    def key(self, estimator: Any, *arrays: npt.NDArray[Any] | None) -> str:
        """Return a digest of an estimator with its settings, and of the arrays it is fitted to.

        Examples
        --------
        >>> from sklearn.linear_model import LogisticRegression
        >>> models = KeptModels(Path(), "ensemble")
        >>> one, other = LogisticRegression(C=1.0), LogisticRegression(C=2.0)
        >>> models.key(one, np.zeros(3)) == models.key(other, np.zeros(3))
        False
        """
        settings = sorted((name, repr(value)) for name, value in estimator.get_params().items())
        digest = hashlib.sha256(repr((self.use, type(estimator).__name__, settings)).encode())
        for array in arrays:
            if array is not None:
                digest.update(repr((array.shape, array.dtype)).encode())
                digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:32]

    def take(self, key: str, features: int, classes: int) -> Any | None:
        """Return the model that was kept, or None."""
        readers = (
            (NETWORK, lambda path: read_networks(path, features, 1, classes if classes > 2 else 1)),
            (TREES, lambda path: read_trees(path, features, 1, classes)),
        )
        for ending, read in readers:
            path = self.folder / (key + ending)
            if path.exists():
                try:
                    (model,) = read(path)
                except ForeignFileError:
                    raise UserMistakeError(
                        f"{path} is not as it was written; remove it, and its model is fitted again."
                    ) from None
                return model
        return None

    def keep(self, key: str, model: Any) -> None:
        """Write a model, whole or not at all."""
        aside = self.folder / f"{secrets.token_hex(8)}.new"
        try:
            if isinstance(model, torch.nn.Module):
                write_networks(aside, [model])
            else:
                write_objects(aside, [model])
            aside.replace(self.folder / (key + (NETWORK if isinstance(model, torch.nn.Module) else TREES)))
        finally:
            with suppress(OSError):
                aside.unlink()
