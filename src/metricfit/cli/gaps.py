"""Words for missing values in columns of numbers or dates, such as "?" or "unknown"."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Any

import pandas as pd
from skrub import to_datetime

from metricfit.cli.mistakes import listed

__all__ = ["fill_gaps", "is_dates", "is_gap", "to_numbers"]

WORDS = frozenset(
    ("", "?", "-", "--", ".", "..", "...", "*", "na", "n/a", "n.a.", "#n/a", "nan", "null", "nil", "none")
) | {"missing", "unknown", "not available", "not known"}
# The largest share of words in a column of numbers. With more, the column is text, perhaps of codes.
ODD = 0.02
# The number of values that are checked for dates.
LOOKED_AT = 100


def is_gap(texts: pd.Series[Any], more: Collection[str] = ()) -> pd.Series[bool]:
    """Return where a word means a missing value; False where the value itself is missing.

    Examples
    --------
    >>> is_gap(pd.Series(["1.5", "N/A", None, "?"])).tolist()
    [False, True, False, True]
    """
    words = WORDS.union(more)
    return texts.map(lambda value: isinstance(value, str) and value.strip().casefold() in words).astype(bool)


def to_numbers(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the numbers of a column of text or of objects, NaN where there is none."""
    return pd.to_numeric(column, errors="coerce").astype("float64")


def is_dates(known: pd.Series[Any]) -> bool:
    """Return whether the first values of a column of text, none of them missing, are dates.

    Examples
    --------
    >>> is_dates(pd.Series(["2024-02-28", "2024-02-29"])), is_dates(pd.Series(["2024", "x"]))
    (True, False)
    """
    found = to_datetime(known.iloc[:LOOKED_AT].astype(object))
    return pd.api.types.is_datetime64_any_dtype(found.dtype)


def fill_gaps(table: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, list[str]], list[str]]:
    """Return a table in which columns of numbers are numbers, the odd words in them, and the notices.

    Common words for a missing value count as missing in columns of numbers and of dates. In columns of
    numbers a few other words count as missing, too; only these are returned as odd.

    Examples
    --------
    >>> table = pd.DataFrame({"age": ["31", "?", "47"], "code": ["12", "A7", "14"]})
    >>> table, odd, notes = fill_gaps(table)
    >>> table["age"].tolist(), table["code"].tolist()
    ([31.0, nan, 47.0], ['12', 'A7', '14'])
    >>> notes
    ['These words count as missing: ? (in age).']
    """
    changed: dict[str, pd.Series[Any]] = {}
    words: dict[str, list[str]] = {}
    odd: dict[str, list[str]] = {}
    for name in map(str, table.columns):
        column = table[name]
        if not _may_be_numbers(column):
            continue
        gaps = is_gap(column)
        cleaned = column.mask(gaps)
        known = cleaned.notna()
        if not known.any():
            continue
        numbers = to_numbers(cleaned)
        others = cleaned[known & numbers.isna()]
        if len(others) <= ODD * known.sum():
            changed[name], odd[name] = numbers, _different(others)
        elif gaps.any() and is_dates(cleaned[known]):
            changed[name] = cleaned
        else:
            continue
        words[name] = _different(column[gaps])
    odd = {name: found for name, found in odd.items() if found}
    notes = []
    if any(words.values()):
        notes.append(f"These words count as missing: {_where(words)}.")
    if odd:
        notes.append(
            f"Warning: these values are no numbers and count as missing, since all others of their column "
            f"are: {_where(odd)}."
        )
    return table.assign(**changed), odd, notes


def _may_be_numbers(column: pd.Series[Any]) -> bool:
    """Whether a column holds text, and else at most numbers."""
    if pd.api.types.is_string_dtype(column.dtype) and not pd.api.types.is_object_dtype(column.dtype):
        return True
    if not pd.api.types.is_object_dtype(column.dtype):
        return False
    types = set(map(type, column.dropna()))
    return str in types and types <= {str, int, float, Decimal}


def _different(texts: pd.Series[Any]) -> list[str]:
    return sorted({str(text).strip() for text in texts})


def _where(words: dict[str, Iterable[str]] | dict[str, list[str]]) -> str:
    return listed(f"{word or 'blanks'} (in {name})" for name, found in words.items() for word in found)
