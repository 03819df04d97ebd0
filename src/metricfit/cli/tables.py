"""Tables of data: columns of numbers, of dates and of text, and a target of two values or of classes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metricfit.cli.mistakes import UserMistakeError, did_you_mean, listed

__all__ = ["ClassTarget", "Target", "about_large_numbers", "as_text", "label_text", "take_target", "tidy"]

# Close to the range of single precision; such values are mostly errors of measurement.
LARGEST = 1e30
FEWEST, FEW = 5, 10
# With more values the check for similar ones is skipped; with more classes the target is refused.
ALIKE, MOST = 10, 100
# The largest share of rows that may be left out because their class is too rare.
RARE = 0.1


@dataclass(frozen=True, eq=False)
class Target:
    """The column to predict: 1 for the positive label, 0 for the other."""

    name: str
    codes: npt.NDArray[np.int64]
    positive: Any
    negative: Any


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """The column to predict, of more than two classes: the number of each row's class."""

    name: str
    codes: npt.NDArray[np.int64]
    classes: tuple[Any, ...]


def tidy(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in which every column is of numbers, of dates, or of text.

    Truth values become text, infinite numbers become missing ones, dates with a time zone those of UTC.

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
        return column.dt.tz_convert(None) if isinstance(kind, pd.DatetimeTZDtype) else column
    if pd.api.types.is_timedelta64_dtype(kind):
        return pd.Series(column.dt.total_seconds(), index=column.index)
    if pd.api.types.is_complex_dtype(kind):
        raise UserMistakeError(f"Column {name} holds complex numbers; leave it out, or split it in two.")
    if _holds_numbers(column):
        numbers = _as_numbers(column)
        return pd.Series(np.where(np.abs(numbers) <= LARGEST, numbers, np.nan), index=column.index)
    return as_text(name, column)


def about_large_numbers(table: pd.DataFrame) -> list[str]:
    """Return a notice about numbers that `tidy` takes for missing ones.

    Examples
    --------
    >>> about_large_numbers(pd.DataFrame({"a": [1.0, np.inf], "b": [1, 2]}))
    ['Infinite numbers and those beyond 1e+30 count as missing; they are in: a.']
    """
    found = [
        name
        for name in table.columns
        if _holds_numbers(table[name]) and (np.abs(_as_numbers(table[name])) > LARGEST).any()
    ]
    if not found:
        return []
    return [f"Infinite numbers and those beyond {LARGEST:g} count as missing; they are in: {listed(found)}."]


def _holds_numbers(column: pd.Series[Any]) -> bool:
    """Whether a column is of real numbers; whole ones of many digits and decimals are objects to pandas."""
    kind = column.dtype
    if pd.api.types.is_bool_dtype(kind) or pd.api.types.is_complex_dtype(kind):
        return False
    if pd.api.types.is_numeric_dtype(kind):
        return True
    if not pd.api.types.is_object_dtype(kind):
        return False
    types = set(map(type, column.dropna()))
    return bool(types) and types <= {int, float, Decimal}


def _as_numbers(column: pd.Series[Any]) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(column.astype("float64").to_numpy(na_value=np.nan), dtype=np.float64)
    except OverflowError:  # whole numbers of more than 308 digits
        return np.asarray(column.map(_nearest_float, na_action="ignore"), dtype=np.float64)


def _nearest_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def as_text(name: str, column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column as text; whole numbers are written without a point, and what is missing stays so.

    Examples
    --------
    >>> as_text("code", pd.Series([1.0, None, "x"], dtype=object)).tolist()
    ['1', None, 'x']
    """
    values = column.astype(object)
    _refuse_nested(f"Column {name}", values)
    texts = [None if pd.isna(value) else label_text(value) for value in values]
    return pd.Series(texts, index=column.index, dtype=object)


def _refuse_nested(name: str, values: pd.Series[Any]) -> None:
    if any(isinstance(value, list | dict | set | tuple | np.ndarray) for value in values):
        raise UserMistakeError(f"{name} holds lists or records; give every value a column of its own.")


def label_text(value: Any) -> str:
    """Return a value as text; a whole number is written without a point.

    Examples
    --------
    >>> label_text(1.0), label_text("yes")
    ('1', 'yes')
    """
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def take_target(
    table: pd.DataFrame, name: str, positive: str | None
) -> tuple[pd.DataFrame, Target | ClassTarget, list[str]]:
    """Return the other columns, the target and the notices about it.

    Rows without a target, or of a class that is too rare, are left out. Of two labels the positive one is
    the one that is asked for; otherwise 1, true or yes (or t beside f, y beside n); otherwise the rarer one.
    """
    if name not in table.columns:
        raise UserMistakeError(
            f"There is no column {name}.{did_you_mean(name, table.columns)} "
            f"The columns are {listed(table.columns)}."
        )
    notes = []
    _refuse_nested(f"The target {name}", table[name])
    known = table[name].notna()
    missing = int((~known).sum())
    if missing:
        notes.append(f"{missing} rows without a value in {name} were left out.")
    table = table[known].reset_index(drop=True)
    column = table.pop(name)
    if _holds_numbers(column) and not np.isfinite(_as_numbers(column)).all():
        raise UserMistakeError(
            f"The target {name} holds infinite numbers; write its values as text or as finite numbers."
        )
    if missing and pd.api.types.is_float_dtype(column.dtype) and _are_whole(column):
        # pandas makes floats of whole numbers beside gaps; labels are to be written as in the file.
        column = column.astype("int64")
    counts = column.map(label_text).value_counts()
    _refuse_alike(name, [str(value) for value in counts.index])
    if len(counts) > 2:
        if positive is not None:
            raise UserMistakeError(
                f"--positive is for a target of two values, and {name} has {len(counts)} "
                f"({listed(counts.index)}). Leave it out to predict all of them, or make a column that is 1 "
                f"for one of them and 0 otherwise."
            )
        return _take_classes(table, column, counts, notes)
    if len(counts) < 2:
        raise UserMistakeError(_why_nothing_to_learn(name, list(counts.index), missing))
    if counts.min() < FEWEST:
        raise UserMistakeError(
            f"The target {name} is {counts.idxmin()} in {counts.min()} rows only; "
            f"{FEWEST} of each kind are needed at least."
        )
    _refuse_no_columns(table, name)
    if counts.min() < FEW:
        notes.append(
            f"Warning: only {counts.min()} rows are {name} = {counts.idxmin()}; scores are very uncertain."
        )
    chosen = _positive_text(name, counts, positive)
    texts = column.map(label_text)
    labels = {text: _plain(column[texts == text].iloc[0]) for text in counts.index}
    (other,) = [text for text in counts.index if text != chosen]
    target = Target(name, np.asarray(texts == chosen, dtype=np.int64), labels[chosen], labels[other])
    return table, target, notes


def _are_whole(column: pd.Series[Any]) -> bool:
    numbers = _as_numbers(column)
    return bool((np.abs(numbers) < 2**53).all() and (numbers == np.floor(numbers)).all())


def _why_nothing_to_learn(name: str, values: list[str], missing: int) -> str:
    if not values:
        return f"The target {name} is empty in every row; there is nothing to learn."
    if not missing:
        return f"The target {name} has the same value ({values[0]}) in every row; there is nothing to learn."
    return (
        f"The target {name} is {values[0]} in every row that has a value; {missing} rows have none. "
        f"Empty cells and texts such as NA, None and null count as missing: write another word if that is a "
        f"value."
    )


def _take_classes(
    table: pd.DataFrame, column: pd.Series[Any], counts: pd.Series[int], notes: list[str]
) -> tuple[pd.DataFrame, ClassTarget, list[str]]:
    """Return what `take_target` does, of more than two classes."""
    name = str(column.name)
    _refuse_no_columns(table, name)
    rare = counts[counts < FEWEST]
    left = counts[counts >= FEWEST]
    if len(left) > MOST or len(left) < 2 or rare.sum() > RARE * counts.sum():
        raise UserMistakeError(
            f"The target {name} has {len(counts)} different values ({listed(counts.index)}), of which "
            f"{len(left)} occur in {FEWEST} rows or more. Up to {MOST} classes can be predicted, and no "
            f"numbers: merge values, or make a column that says in which range they lie."
        )
    if len(left) == 2:
        raise UserMistakeError(
            f"The target {name} has {len(counts)} different values, of which only two occur in {FEWEST} rows "
            f"or more: {listed(left.index)}. Leave the rows of {listed(rare.index)} out of the table."
        )
    texts = column.map(label_text)
    if len(rare):
        kept = texts.isin(left.index)
        notes.append(
            f"Warning: {name} is {listed(rare.index)} in fewer than {FEWEST} rows each, which is too few to "
            f"learn from. These {int(rare.sum())} rows were left out, and such values are never predicted."
        )
        table, texts = table[kept].reset_index(drop=True), texts[kept].reset_index(drop=True)
        column = column[kept].reset_index(drop=True)
    few = left[left < FEW]
    if len(few):
        notes.append(
            f"Warning: {name} is {listed(few.index)} in fewer than {FEW} rows each; the scores of these are "
            f"very uncertain."
        )
    order = sorted(left.index)
    classes = tuple(_plain(column[texts == text].iloc[0]) for text in order)
    return table, ClassTarget(name, np.searchsorted(order, texts).astype(np.int64), classes), notes


def _refuse_no_columns(table: pd.DataFrame, name: str) -> None:
    if not len(table.columns):
        raise UserMistakeError(f"{name} is the only column; there is nothing to predict it from.")


def _refuse_alike(name: str, values: list[str]) -> None:
    """Refuse values that differ by blanks or capitals only."""
    if len(values) > ALIKE:
        return
    seen: dict[str, str] = {}
    for value in sorted(values):
        earlier = seen.setdefault(" ".join(value.split()).casefold(), value)
        if earlier != value:
            raise UserMistakeError(
                f"The target {name} holds {earlier!r} and {value!r}, which differ by blanks or capitals "
                f"only. Write both in the same way."
            )


def _positive_text(name: str, counts: pd.Series[int], positive: str | None) -> str:
    if positive is not None:
        # A file may say 1.0 or true for a label that is 1 or True here.
        for spelling in (positive, _number_text(positive), positive.casefold()):
            for text in counts.index:
                if spelling in (text, text.casefold()):
                    return str(text)
        raise UserMistakeError(f"{positive} is not a value of {name}; it has {listed(counts.index)}.")
    short = {text.strip().casefold() for text in counts.index} in ({"t", "f"}, {"y", "n"})
    for text in counts.index:
        if text.strip().casefold() in ("1", "true", "yes", *(("t", "y") if short else ())):
            return str(text)
    return str(min(counts.index, key=lambda text: (counts[text], text)))


def _number_text(text: str) -> str:
    """Return a number as it is written for a label, and any other text as it is."""
    try:
        return label_text(float(text))
    except ValueError:
        return text


def _plain(value: Any) -> Any:
    """Return a label as a value that JSON has."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | bool | int | float) else str(value)
