"""The columns to learn from: without dropped ones and identifiers of the rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metricfit.cli.gaps import is_dates
from metricfit.cli.mistakes import UserMistakeError, did_you_mean, listed
from metricfit.report import ColumnReport

__all__ = ["chosen_columns", "column_reports", "looks_like_identifier", "take_weights"]

# With fewer rows, all values may be different by chance.
ROWS = 20
NEARLY_ALL = 0.95
# Whole numbers that are all different are identifiers where they number the rows, or are named like one.
DENSE = 3
# How a column of each kind is used.
USES = {
    "numbers": "scaled; gaps are filled and marked",
    "dates": "year, month, day and time as numbers",
    "categories": "one feature for each value",
    "text": "20 features from groups of letters",
    "unused": "left out: the same in all rows, or empty",
}
NAMED = re.compile(r"(?i:(^|[^a-z])(id|key|uuid|guid|index|no|nr|row)$)|[a-z](Id|ID)$")


def chosen_columns(
    table: pd.DataFrame, target: str, *, drop: Sequence[str], keep: Sequence[str]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns except the target, dropped ones and identifiers, and a notice of the identifiers.

    Examples
    --------
    >>> table = pd.DataFrame({"id": range(40), "age": [30.5, 41.0] * 20})
    >>> table, notes = chosen_columns(table, "churn", drop=[], keep=[])
    >>> list(table.columns), notes
    (['age'], ['Left out, since it looks like an identifier: id. Add --keep id to learn from it.'])
    """
    for option, names in (("--drop", drop), ("--keep", keep)):
        for name in names:
            if name == target:
                raise UserMistakeError(f"{option} {name}: this is the target, which is not learned from.")
            if name not in table.columns:
                guess = did_you_mean(name, table.columns)
                raise UserMistakeError(f"{option} {name}: there is no such column.{guess}")
            if name in drop and name in keep:
                raise UserMistakeError(f"--drop {name} and --keep {name} contradict each other.")
    table = table.drop(columns=list(dict.fromkeys(drop)))
    if not len(table.columns):
        raise UserMistakeError("Every column is dropped; there is nothing to learn from.")
    found = [name for name in table.columns if name not in keep and looks_like_identifier(name, table[name])]
    if not found or len(found) == len(table.columns):
        return table, []
    looks = "it looks like an identifier" if len(found) == 1 else "they look like identifiers"
    note = f"Left out, since {looks}: {listed(found)}. Add --keep {found[0]} to learn from it."
    return table.drop(columns=found), [note]


def take_weights(
    table: pd.DataFrame, name: str | None, target: str
) -> tuple[pd.DataFrame, npt.NDArray[np.float64] | None]:
    """Return the table without the column of weights, and the weights.

    Examples
    --------
    >>> table, weights = take_weights(pd.DataFrame({"a": [1, 2], "w": [0.5, 2]}), "w", "churn")
    >>> list(table.columns), weights
    (['a'], array([0.5, 2. ]))
    """
    if name is None:
        return table, None
    if name == target:
        raise UserMistakeError(f"--weight {name}: this is the target; give a column of numbers.")
    if name not in table.columns:
        raise UserMistakeError(
            f"--weight {name}: there is no such column.{did_you_mean(name, table.columns)}"
        )
    weights = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    wrong = ~(np.isfinite(weights) & (weights >= 0.0))
    if wrong.any():
        raise UserMistakeError(
            f"--weight {name}: weights must be numbers of 0 or more, but {int(wrong.sum())} rows hold "
            f"{listed(table[name][wrong].map(str).unique())}."
        )
    if not weights.any():
        raise UserMistakeError(f"--weight {name}: all weights are 0; give some rows a weight.")
    table = table.drop(columns=name)
    if not len(table.columns):
        raise UserMistakeError(f"Beside the target and {name} there is no column to learn from.")
    return table, weights


def column_reports(
    table: pd.DataFrame, kinds: Mapping[str, str], dropped: Sequence[str], weight: str | None
) -> tuple[ColumnReport, ...]:
    """Return how each column of a table was used.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [30, None], "id": [1, 2]})
    >>> [(one.column, one.missing, one.use) for one in column_reports(table, {"age": "numbers"}, [], None)]
    [('age', 0.5, 'scaled; gaps are filled and marked'), ('id', 0.0, 'left out: looks like an identifier')]
    """
    reports = []
    for name in table.columns:
        kind = kinds.get(name, "")
        if name in dropped:
            use = "left out by --drop"
        elif name not in kinds:
            use = "left out: looks like an identifier"
        else:
            use = USES[kind]
        reports.append(ColumnReport(str(name), kind, float(table[name].isna().mean()), use))
    if weight is not None:
        reports.append(ColumnReport(weight, "numbers", 0.0, "weights of the rows"))
    return tuple(reports)


def looks_like_identifier(name: str, column: pd.Series[Any]) -> bool:
    """Return whether the values of a column only identify its rows.

    Text of one word with nearly all values different does, unless it holds dates. Whole numbers do if all
    are different, and either number the rows or have a name such as `customer_id`. Measurements do not.

    Examples
    --------
    >>> looks_like_identifier("ref", pd.Series([f"C{i:05}" for i in range(50)]))
    True
    >>> looks_like_identifier("income", pd.Series([1000 + 97 * (i * 31 % 50) for i in range(50)]))
    False
    """
    known = column.dropna()
    if len(known) < ROWS:
        return False
    if pd.api.types.is_numeric_dtype(known.dtype) and not pd.api.types.is_bool_dtype(known.dtype):
        return _numbers_rows(name, known)
    if not (pd.api.types.is_object_dtype(known.dtype) or pd.api.types.is_string_dtype(known.dtype)):
        return False
    texts = known[[isinstance(value, str) for value in known]].astype(str)
    if len(texts) < ROWS or texts.nunique() < NEARLY_ALL * len(known):
        return False
    several_words = texts.str.strip().str.contains(r"\s").mean() > 0.5
    return not several_words and not is_dates(texts)


def _numbers_rows(name: str, known: pd.Series[Any]) -> bool:
    values = known.to_numpy(dtype=np.float64, na_value=np.nan)
    if not np.isfinite(values).all() or (values % 1.0).any():
        return False
    different = len(np.unique(values))
    if NAMED.search(name):
        return different >= NEARLY_ALL * len(values)
    steps = np.diff(values)
    in_order = bool((steps > 0).all() or (steps < 0).all())
    return different == len(values) and (in_order or float(np.ptp(values)) < DENSE * len(values))
