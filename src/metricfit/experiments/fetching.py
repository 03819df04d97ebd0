"""Data sets from the network, by OpenML and scikit-learn's own fetchers, in the form of a local file."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import fetch_california_housing, fetch_openml

from metricfit.experiments.datasets import Dataset, Labelling, Source

__all__ = ["UnavailableError", "classes_of", "fetch"]

SHARES = 5000
# Without a network each retry costs a second for each data set.
RETRIES = 1


class UnavailableError(Exception):
    """A data set that is not available; the message says why and what to do."""


def fetch(dataset: Dataset) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the features and classes of a data set, fetched from its source."""
    if dataset.source is None:
        raise UnavailableError(
            f"{dataset.name} is offered by no fetcher; put {dataset.name}.npz into the data folder"
        )
    source = dataset.source
    try:
        # The fetchers warn of every attempt; the exception below says it once.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            features, target = _fetched(source)
    # URLError and timeouts are OSErrors; a name that OpenML does not know is a ValueError.
    except (OSError, ValueError) as error:
        raise UnavailableError(
            f"{dataset.name} could not be fetched ({error}); put {dataset.name}.npz into the data folder, "
            f"or try again with a network"
        ) from error
    # Files of arrays, which are the other source, need no data frames.
    import pandas as pd

    kept = features.drop(columns=[name for name in source.drop if name in features.columns]).dropna()
    encoded = pd.get_dummies(kept, dtype=np.float32).to_numpy(np.float32)
    return encoded, classes_of(target.loc[kept.index], source.labelling)


def _fetched(source: Source) -> Any:
    """Return the table of features and the target as they are offered."""
    if source.version == 0:
        return fetch_california_housing(return_X_y=True, as_frame=True, n_retries=RETRIES)
    return fetch_openml(
        source.name,
        version=source.version,
        target_column=source.target or "default-target",
        as_frame=True,
        return_X_y=True,
        parser="auto",
        n_retries=RETRIES,
    )


def classes_of(target: Any, labelling: Labelling) -> npt.NDArray[np.int64]:
    """Return the paper's classes of a target.

    Examples
    --------
    >>> classes_of([0.1, 0.4, 0.2, 9.0], "above mean")
    array([0, 0, 0, 1])
    >>> classes_of(["C", "A"], "letters")
    array([3, 1])
    """
    import pandas as pd

    words = pd.Series(list(target))
    numbers = pd.to_numeric(words, errors="coerce")
    if labelling == "letters":
        return np.array([ord(str(word)) - ord("A") + 1 for word in words])
    if numbers.isna().any():
        return np.asarray(np.unique(words.astype(str).to_numpy(), return_inverse=True)[1], dtype=np.int64)
    values: npt.NDArray[np.float64] = numbers.to_numpy(np.float64)
    if labelling == "above mean":
        return np.asarray(values > values.mean(), dtype=np.int64)
    if labelling == "at least 5000":
        return (values >= SHARES).astype(np.int64)
    if labelling == "deciles":
        classes = np.empty(len(values), dtype=np.int64)
        for number, part in enumerate(np.array_split(np.argsort(values, kind="stable"), 10)):
            classes[part] = number + 1
        return classes
    if labelling == "tenths":
        edges = np.linspace(values.min(), values.max(), 11)
        return np.clip(np.digitize(values, edges), 1, 10).astype(np.int64)
    # Two values such as 1 and 2 are the paper's 0 and 1.
    found = np.unique(values)
    return np.asarray(values - found[0] if len(found) == 2 else values, dtype=np.int64)
