"""The split of a table into training rows and test rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.model_selection import train_test_split

from metricfit.cli.fit_options import FitOptions
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.tables import ClassTarget, Target

__all__ = ["Parts", "split_table"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Parts:
    """A table, split into training rows and test rows."""

    train: pd.DataFrame
    test: pd.DataFrame
    train_codes: IntArray
    test_codes: IntArray
    train_weights: FloatArray | None
    test_weights: FloatArray | None


def split_table(
    table: pd.DataFrame, target: Target | ClassTarget, weights: FloatArray | None, options: FitOptions
) -> Parts:
    """Return the training and the test rows; both have rows of every class.

    The table holds the columns to train with, and has one row per row of the target.
    """
    rows = np.arange(len(table))
    try:
        train_rows, test_rows = train_test_split(
            rows, test_size=options.test_fraction, stratify=target.codes, random_state=options.seed
        )
    except ValueError as error:
        raise UserMistakeError(
            f"The {len(table)} rows cannot be split into a training and a test part: {error}"
        ) from None
    parts = (target.codes[train_rows], target.codes[test_rows])
    if any(len(np.unique(part)) < 2 for part in parts):
        raise UserMistakeError(
            "One class is missing in a part of the rows; give more rows or another --test-fraction."
        )
    of_parts = [None if weights is None else weights[rows] for rows in (train_rows, test_rows)]
    for codes, counts in zip(parts, of_parts, strict=True):
        if counts is not None and np.bincount(codes, counts, minlength=codes.max() + 1).min() <= 0.0:
            raise UserMistakeError(
                f"The weights in {options.weight} are 0 for all rows of one class in a part of the table; "
                f"give more rows a weight."
            )
    return Parts(table.iloc[train_rows], table.iloc[test_rows], *parts, *of_parts)
