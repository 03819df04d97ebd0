"""Tables of data: read from files, with columns of numbers, of dates and of text, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from metricfit.cli.mistakes import UserMistakeError, did_you_mean, listed

__all__ = ["Target", "read_table", "take_target", "tidy"]

READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".parquet": pd.read_parquet,
    ".pq": pd.read_parquet,
}
# Beyond this, single precision runs out of numbers; such values are mostly errors of measurement.
LARGEST = 1e30
FEWEST = 5


@dataclass(frozen=True, eq=False)
class Target:
    """The column to predict: 1 for the positive label, 0 for the other."""

    name: str
    codes: npt.NDArray[np.int64]
    positive: Any
    negative: Any


def read_table(path: Path) -> pd.DataFrame:
    """Return the table in a file; columns are named by text.

    Examples
    --------
    >>> read_table(Path("notes.docx"))
    Traceback (most recent call last):
        ...
    metricfit.cli.mistakes.UserMistakeError: notes.docx is no table that can be read; give ...
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise UserMistakeError(f"{path} is no table that can be read; give a .csv, .tsv or .parquet file.")
    if not path.is_file():
        near = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
        raise UserMistakeError(f"There is no file {path}.{did_you_mean(path.name, near)}")
    try:
        table = reader(path)
    except pd.errors.EmptyDataError:
        raise UserMistakeError(f"{path} is empty.") from None
    except UnicodeError:
        raise UserMistakeError(f"{path} is not in UTF-8; save it in that encoding.") from None
    except (pd.errors.ParserError, pa.ArrowException, ValueError, OSError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserMistakeError(f"{path} cannot be read as a table: {reason}") from None
    if not len(table):
        raise UserMistakeError(f"{path} has no rows.")
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise UserMistakeError(f"{path} has two columns named {twice[0]}; rename one of them.")
    return table.reset_index(drop=True)


def tidy(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which every column is of numbers, of dates, or of text.

    Truth values become text, infinite numbers become missing ones.

    Examples
    --------
    >>> tidy(pd.DataFrame({"a": [1.0, np.inf], "b": [True, False]})).to_dict("list")
    {'a': [1.0, nan], 'b': ['True', 'False']}
    """
    return pd.DataFrame(
        {name: _tidy_column(str(name), table[name]) for name in table.columns}, index=table.index
    )


def _tidy_column(name: str, column: pd.Series[Any]) -> pd.Series[Any]:
    kind = column.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        return column
    if pd.api.types.is_timedelta64_dtype(kind):
        return pd.Series(column.dt.total_seconds(), index=column.index)
    if pd.api.types.is_complex_dtype(kind):
        raise UserMistakeError(f"Column {name} holds complex numbers; leave it out, or split it in two.")
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        numbers = column.astype("float64").to_numpy(dtype=np.float64, na_value=np.nan)
        return pd.Series(np.where(np.abs(numbers) <= LARGEST, numbers, np.nan), index=column.index)
    return as_text(name, column)


def as_text(name: str, column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as text; whole numbers are written without a point, and what is missing stays so.

    Examples
    --------
    >>> as_text("code", pd.Series([1.0, None, "x"], dtype=object)).tolist()
    ['1', None, 'x']
    """
    values = column.astype(object)
    nested = [value for value in values if isinstance(value, list | dict | set | tuple | np.ndarray)]
    if nested:
        raise UserMistakeError(f"Column {name} holds lists or records; give every value a column of its own.")
    texts = [None if pd.isna(value) else _text(value) for value in values]
    return pd.Series(texts, index=column.index, dtype=object)


def _text(value: Any) -> str:
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def take_target(
    table: pd.DataFrame, name: str, positive: str | None
) -> tuple[pd.DataFrame, Target, list[str]]:
    """Return the other columns, the target and what there is to say about it.

    Rows without a target are left out. The positive label is the one that is asked for; otherwise 1, true or
    yes; otherwise the rarer one.
    """
    if name not in table.columns:
        raise UserMistakeError(
            f"There is no column {name}.{did_you_mean(name, table.columns)} "
            f"The columns are {listed(table.columns)}."
        )
    notes = []
    known = table[name].notna()
    if not known.all():
        notes.append(f"{int((~known).sum())} rows without a value in {name} were left out.")
    table = table[known].reset_index(drop=True)
    column = table.pop(name)
    counts = column.map(_text).value_counts()
    if len(counts) > 2:
        raise UserMistakeError(
            f"The target {name} has {len(counts)} different values ({listed(counts.index)}); "
            f"it must have two."
        )
    if len(counts) < 2:
        value = f" ({counts.index[0]})" if len(counts) else ""
        raise UserMistakeError(
            f"The target {name} has the same value{value} in every row; there is nothing to learn."
        )
    if counts.min() < FEWEST:
        raise UserMistakeError(
            f"The target {name} is {counts.idxmin()} in {counts.min()} rows only; "
            f"{FEWEST} of each kind are needed at least."
        )
    if not len(table.columns):
        raise UserMistakeError(f"{name} is the only column; there is nothing to predict it from.")
    chosen = _positive_text(name, counts, positive)
    texts = column.map(_text)
    labels = {text: _plain(column[texts == text].iloc[0]) for text in counts.index}
    (other,) = [text for text in counts.index if text != chosen]
    target = Target(name, np.asarray(texts == chosen, dtype=np.int64), labels[chosen], labels[other])
    return table, target, notes


def _positive_text(name: str, counts: pd.Series[int], positive: str | None) -> str:
    if positive is not None:
        if positive not in counts.index:
            raise UserMistakeError(f"{positive} is no value of {name}; it has {listed(counts.index)}.")
        return positive
    for text in counts.index:
        if text.lower() in ("1", "true", "yes"):
            return str(text)
    return str(min(counts.index, key=lambda text: (counts[text], text)))


def _plain(value: Any) -> Any:
    """Return a label as a value that JSON has."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | bool | int | float) else str(value)
