"""A data set in three parts, standardised on the first, as a training run uses it."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from metricfit.experiments.datasets import DATASETS, Dataset
from metricfit.experiments.fetching import UnavailableError, fetch

__all__ = ["Part", "Prepared", "derived_seed", "load"]

TEST_SHARE = 0.3
VALIDATION_SHARE = 0.2

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """Some rows of a data set: features, and labels of 0 and 1."""

    features: Tensor
    labels: Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Prepared:
    """A data set, divided and standardised.

    Attributes
    ----------
    fingerprint : str
        Tells the data it was made of from any other: of rows, classes and an official split.
    """

    name: str
    train: Part
    validation: Part
    test: Part
    whole: bool
    image: bool
    fingerprint: str

    def on(self, device: torch.device) -> Prepared:
        """Return the same parts on a device."""
        train, validation, test = (
            Part(part.features.to(device), part.labels.to(device))
            for part in (self.train, self.validation, self.test)
        )
        return replace(self, train=train, validation=validation, test=test)


def derived_seed(*words: object) -> int:
    """Return a seed that is a function of these words.

    Examples
    --------
    >>> derived_seed("abalone", 0) == derived_seed("abalone", 0) != derived_seed("abalone", 1)
    True
    """
    digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:4], "big")


def load(name: str, seed: int, folder: Path | None, *, partial: bool = False) -> Prepared:
    """Return a data set of the paper, from a local folder or else from the network.

    Parameters
    ----------
    name : str
        The paper's name.
    seed : int
        Decides on the parts, where the file does not.
    folder : Path, optional
        Where ``<name>.npz`` is looked for, and ``partial/<name>_partial.npz`` if a part will do. With `X`
        and `y` it may hold `train_idx` and `test_idx`, the rows that are for training and validation, and for
        the test.
    partial : bool
        Whether a file without all the rows will do.

    Raises
    ------
    UnavailableError
        If the data set cannot be had.
    """
    dataset = DATASETS[name]
    path = None if folder is None else folder / f"{name}.npz"
    if folder is not None and path is not None and not path.exists():
        part = folder / "partial" / f"{name}_partial.npz"
        if part.exists() and not partial:
            raise UnavailableError(
                f"of {name} only {part.name} is there; give --partial to use it all the same"
            )
        path = part
    split: tuple[IntArray, IntArray] | None = None
    if path is not None and path.exists():
        features, classes, split = _read(path)
    else:
        features, classes = fetch(dataset)
    whole = len(classes) == dataset.rows
    if not whole and not partial:
        raise UnavailableError(
            f"{name} has {len(classes)} rows here and {dataset.rows} in the paper; "
            f"give --partial to use it all the same"
        )
    labels = ((classes >= dataset.positive[0]) & (classes <= dataset.positive[1])).astype(np.int64)
    for_training, for_test = split or _split(dataset, len(labels), seed)
    if dataset.image:
        ordered = for_training
    else:
        ordered = np.random.default_rng(derived_seed(name, seed, "validation")).permutation(for_training)
    count = round(len(ordered) * (1.0 - VALIDATION_SHARE))
    parts = ordered[:count], ordered[count:], for_test
    centre, spread = _standard(features[parts[0]], image=dataset.image)
    train, validation, test = (
        Part(
            torch.from_numpy(((features[rows] - centre) / spread).astype(np.float32)),
            torch.from_numpy(labels[rows]),
        )
        for rows in parts
    )
    if not 0 < int(train.labels.sum()) < len(train):
        raise UnavailableError(f"the training part of {name} has one class only")
    found = _fingerprint(features, classes, *(split or ()))
    return Prepared(name, train, validation, test, whole, dataset.image, found)


def _fingerprint(*arrays: npt.NDArray[np.generic]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(f"{array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def _read(
    path: Path,
) -> tuple[npt.NDArray[np.float32], IntArray, tuple[IntArray, IntArray] | None]:
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            found = {key: file[key] for key in ("X", "y", "train_idx", "test_idx") if key in file.files}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UnavailableError(f"{path.name} is not an npz file that can be read ({error})") from error
    if "X" not in found or "y" not in found or len(found["X"]) != len(found["y"]):
        raise UnavailableError(f"{path.name} must hold X and y, with as many rows as classes")
    features, classes = found["X"].astype(np.float32), found["y"].astype(np.int64)
    if "train_idx" not in found or "test_idx" not in found:
        return features, classes, None
    return features, classes, (found["train_idx"].astype(np.int64), found["test_idx"].astype(np.int64))


def _split(dataset: Dataset, rows: int, seed: int) -> tuple[IntArray, IntArray]:
    """Return the rows for training and for the test: official, or 70 and 30 per cent at random."""
    if dataset.training_rows is not None and rows == dataset.rows:
        return np.arange(dataset.training_rows), np.arange(dataset.training_rows, rows)
    order = np.random.default_rng(derived_seed(dataset.name, seed, "test")).permutation(rows)
    count = round(rows * (1.0 - TEST_SHARE))
    return order[:count], order[count:]


def _standard(
    features: npt.NDArray[np.float32], *, image: bool
) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]:
    """Return what to subtract and what to divide by; a constant column is left at 0."""
    if image:
        return np.zeros(1, np.float32), np.full(1, 255.0, np.float32)
    centre, spread = features.mean(axis=0, dtype=np.float64), features.std(axis=0, dtype=np.float64)
    return centre, np.where(spread > 0.0, spread, 1.0)
