"""From columns to features: numbers scaled, gaps filled, text and dates encoded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skrub import StringEncoder, TableVectorizer, ToDatetime

from metricfit.cli.gaps import is_dates, is_gap, to_numbers
from metricfit.cli.mistakes import UserMistakeError, did_you_mean, listed
from metricfit.cli.tables import as_text, tidy

__all__ = ["COLUMN_STEPS", "STEPS", "Columns", "Kind", "fit_encoder", "transformed"]

Kind = Literal["numbers", "dates", "categories", "text", "unused"]
# Columns of text with fewer different values are categories, one feature each.
CATEGORIES = 30
TEXT_FEATURES = 20
# Each column of text or dates takes about two seconds to encode and store, and five megabytes in the stored
# encoder, which may have 512 (archives.py).
MOST_TEXTS = 100
LAST_DAY = pd.Timestamp(2024, 12, 31, 23, 59, 58)
STEPS = ["columns", "gaps", "scale"]
COLUMN_STEPS = ["numbers", "categories", "others"]


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of the training table, to check other tables against.

    Attributes
    ----------
    kinds : dict
        The kind of every column; those that are "unused" held nothing.
    categories : dict
        The values that were seen in columns of categories.
    formats : dict
        How dates that were read from text are written.
    odd : dict
        The values in columns of numbers that are none, and count as missing.
    """

    kinds: dict[str, Kind]
    categories: dict[str, list[str]]
    formats: dict[str, str]
    odd: dict[str, list[str]] = field(default_factory=dict)

    def check(self, table: pd.DataFrame, *, ignore_unknown: bool) -> pd.DataFrame:
        """Return the columns in the order and of the kinds of the training, or raise an error."""
        used = self._used()
        missing = [name for name in used if name not in table.columns]
        if missing:
            guess = did_you_mean(missing[0], [name for name in table.columns if name not in self.kinds])
            raise UserMistakeError(
                f"The table lacks {_columns(missing)} that the model was trained with.{guess}"
            )
        known = tidy(table[used])
        nothing = pd.Series(np.nan, index=table.index)
        checked = {
            name: nothing if kind == "unused" else self._column(name, known[name], ignore_unknown)
            for name, kind in self.kinds.items()
        }
        return pd.DataFrame(checked, index=table.index)

    def used_in(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of a checked table that the model uses."""
        return table[self._used()]

    def _used(self) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind != "unused"]

    def _column(self, name: str, column: pd.Series[Any], ignore_unknown: bool) -> pd.Series[Any]:
        kind = self.kinds[name]
        if kind == "numbers":
            return _numbers(name, column, self.odd.get(name, []))
        if kind == "dates":
            return _dates(name, column, self.formats.get(name))
        texts = as_text(name, column)
        if kind == "categories" and not ignore_unknown:
            unknown = sorted(set(texts.dropna()) - set(self.categories[name]))
            if unknown:
                raise UserMistakeError(
                    f"Column {name} holds values that were not in the training table: {listed(unknown)}. "
                    f"Correct them, or add --unknown ignore to treat them as none of the known values."
                )
        return texts


def fit_encoder(table: pd.DataFrame, seed: int) -> tuple[Any, Columns]:
    """Return an encoder fitted to a tidy table, and what its columns are.

    Examples
    --------
    >>> encoder, columns = fit_encoder(pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), seed=0)
    >>> columns.kinds
    {'a': 'numbers', 'b': 'categories'}
    """
    filled = [name for name in table.columns if _is_filled(table[name])]
    if not filled:
        raise ValueError("every one of them is empty")
    numbers = [name for name in filled if pd.api.types.is_numeric_dtype(table[name].dtype)]
    categories = {name: sorted(set(table[name].dropna())) for name in filled if _is_category(table[name])}
    others = [name for name in filled if name not in {*numbers, *categories}]
    if len(others) > MOST_TEXTS:
        raise UserMistakeError(
            f"{len(others)} columns hold text or dates: {listed(others)}. Up to {MOST_TEXTS} can be encoded; "
            f"leave some out by --drop, or turn them into numbers."
        )
    vectorizer = TableVectorizer(
        cardinality_threshold=0, high_cardinality=StringEncoder(n_components=TEXT_FEATURES, random_state=seed)
    )
    # The vectorizer has only what needs it: it keeps a megabyte of settings for each of its columns.
    steps = ("passthrough", OneHotEncoder(handle_unknown="ignore", dtype=np.float32), vectorizer)
    chosen = (numbers, list(categories), others)
    columns = ColumnTransformer(list(zip(COLUMN_STEPS, steps, chosen, strict=True)), sparse_threshold=0)
    # Where a value is missing is a feature, too.
    encoder = Pipeline(
        list(zip(STEPS, [columns, SimpleImputer(add_indicator=True), StandardScaler()], strict=True))
    )
    encoder.fit(table[filled])
    kinds: dict[str, Kind] = dict.fromkeys(map(str, table.columns), "unused")
    kinds |= dict.fromkeys(numbers, "numbers")
    kinds |= dict.fromkeys(categories, "categories")
    formats: dict[str, str] = {}
    if others:
        fitted = columns.named_transformers_[COLUMN_STEPS[-1]]
        kinds |= {name: _kind(fitted, name) for name in others}
        formats = _formats(fitted, kinds)
        _name_types(fitted)
    return encoder, Columns(kinds, categories, formats)


def transformed(encoder: Any, table: pd.DataFrame) -> npt.NDArray[np.float32]:
    """Return the features of a checked table."""
    return np.asarray(encoder.transform(table), dtype=np.float32)


def _is_filled(column: pd.Series[Any]) -> bool:
    """Whether a column holds anything but missing values and words for them."""
    return not is_gap(column.dropna().drop_duplicates()).all()


def _is_category(column: pd.Series[Any]) -> bool:
    """Whether a column is text of few different values that are no dates."""
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
        return False
    different = column.dropna().drop_duplicates()
    return len(different) < CATEGORIES and not is_dates(different)


def _kind(vectorizer: TableVectorizer, name: str) -> Kind:
    kinds: dict[str, Kind] = {"numeric": "numbers", "datetime": "dates", "high_cardinality": "text"}
    return kinds.get(vectorizer.column_to_kind_.get(name), "unused")


def _formats(vectorizer: TableVectorizer, kinds: dict[str, Kind]) -> dict[str, str]:
    found = {}
    for name in (name for name, kind in kinds.items() if kind == "dates"):
        for step in vectorizer.all_processing_steps_[name]:
            if getattr(step, "format_", None):
                found[name] = str(step.format_)
    return found


def _name_types(vectorizer: TableVectorizer) -> None:
    """Keep the type of dates by its name, which means the same: skops before 0.16 cannot read a time zone."""
    for steps in vectorizer.all_processing_steps_.values():
        for step in steps:
            if isinstance(step, ToDatetime):
                step.output_dtype_ = str(step.output_dtype_)


def _dates(name: str, column: pd.Series[Any], written: str | None) -> pd.Series[Any]:
    """Return a column as the encoder expects it: as text if its dates were read from text."""
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        return column if written is None else column.dt.tz_localize("UTC").dt.strftime(written)
    texts = as_text(name, column)
    texts = texts.mask(is_gap(texts), None)
    # In UTC, as the encoder takes them: a year of local times has two offsets.
    dates = pd.to_datetime(texts, format=written or "ISO8601", errors="coerce", utc=True).dt.tz_convert(None)
    lost = texts[dates.isna() & texts.notna()]
    if len(lost):
        example = f" such as {LAST_DAY.strftime(written)}" if written else ""
        raise UserMistakeError(
            f"Column {name} held dates{example} in the training table; here it holds {listed(lost.unique())}."
        )
    return dates if written is None else texts


def _numbers(name: str, column: pd.Series[Any], odd: list[str]) -> pd.Series[Any]:
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = column.astype(str)  # pandas would take the nanoseconds since 1970
    numbers = to_numbers(column)
    lost = column[numbers.isna() & column.notna() & ~is_gap(column, {word.casefold() for word in odd})]
    if len(lost):
        raise UserMistakeError(
            f"Column {name} held numbers in the training table; here it holds {listed(lost.unique())}."
        )
    return numbers


def _columns(names: list[str]) -> str:
    return ("the column " if len(names) == 1 else "the columns ") + listed(names)
