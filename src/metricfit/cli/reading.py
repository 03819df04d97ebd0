"""Tables from files: text with any delimiter and encoding, JSON lines, Parquet, compressed or not."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import json
import lzma
import re
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow as pa

from metricfit.cli.delimiters import find_delimiter, find_encoding
from metricfit.cli.gaps import is_gap, to_numbers
from metricfit.cli.mistakes import UserMistakeError, did_you_mean, listed

__all__ = ["FORMATS", "Reading", "read_table"]

FORMATS = ".csv, .tsv, .jsonl, .json or .parquet, of which text may be compressed (.gz, .bz2, .xz)"
COMPRESSED: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DELIMITED = {".csv": ",", ".tsv": "\t", ".tab": "\t", ".txt": ","}
JSON = (".json", ".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "space": " ", "vertical bar": "|"}
# A number with a decimal comma.
DECIMAL_COMMA = r"\s*[+-]?(\d+(,\d+)?([eE][+-]?\d+)?|inf)\s*"
PERHAPS_THOUSANDS = r"\s*[+-]?([1-9]\d{0,2},\d{3}|\d{1,3})\s*"
# The delimiters that the parser of pandas accepts.
SEPARATOR = r'[^\x00\r\n"\x80-\U0010ffff]'
MOSTLY = 0.9
# Such as 1,234,567 or 1.234,50 or 12 %: formatted numbers, which are parsed as text.
FORMATTED = r"\s*[€$£]?\s*[+-]?\d{1,3}(([.,' ]\d{3})*([.,]\d+)?\s*[%€$£]|([.,' ]\d{3})+([.,]\d+)?)\s*"


@dataclass(frozen=True)
class Reading:
    """Settings for reading text; None means that they are detected.

    Attributes
    ----------
    delimiter : str, optional
        One character, or its name.
    encoding : str, optional
        Such as "cp1252".
    """

    delimiter: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.delimiter is not None and not re.fullmatch(SEPARATOR, self._character(self.delimiter)):
            raise UserMistakeError(
                f"--delimiter takes one character of ASCII, no quote or line break, or one of "
                f"{', '.join(NAMED)}; got {self.delimiter!r}."
            )
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except (LookupError, ValueError):
                raise UserMistakeError(
                    f"There is no encoding {self.encoding}; utf-8, utf-16, cp1252 and latin-1 are usual ones."
                ) from None

    def delimiter_of(self, name: str, lines: IO[str], preferred: str) -> str:
        """Return the delimiter that was given, or the one that the first lines suggest."""
        if self.delimiter is None:
            return find_delimiter(name, lines, preferred)
        return self._character(self.delimiter)

    @staticmethod
    def _character(delimiter: str) -> str:
        return NAMED.get(delimiter, delimiter)


def read_table(path: Path, reading: Reading | None = None) -> tuple[pd.DataFrame, list[str]]:
    """Return the table in a file, with text as column names, and the notices about it.

    Examples
    --------
    >>> read_table(Path("notes.docx"))
    Traceback (most recent call last):
        ...
    metricfit.cli.mistakes.UserMistakeError: notes.docx is not a table that can be read; give ...
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    kind = suffixes[-1] if suffixes else ""
    if kind not in (*DELIMITED, *JSON, *PARQUET) or (packed and kind in PARQUET):
        hint = " Save the sheet as CSV." if kind in (".xls", ".xlsx", ".ods") else ""
        raise UserMistakeError(f"{path} is not a table that can be read; give {FORMATS}.{hint}")
    try:
        if not path.is_file():
            if path.exists():
                kinds = "a folder" if path.is_dir() else "a pipe or a device"
                raise UserMistakeError(f"{path} is {kinds}; give a file, which can be read more than once.")
            near = [file.name for file in path.parent.iterdir()] if path.parent.is_dir() else []
            raise UserMistakeError(f"There is no file {path}.{did_you_mean(path.name, near)}")
        if kind in PARQUET:
            table, notes = pd.read_parquet(path), list[str]()
        else:
            table, notes = _read_text(path, kind, packed, reading or Reading())
    except pd.errors.EmptyDataError:
        raise UserMistakeError(f"{path} is empty.") from None
    except UnicodeError as error:
        raise UserMistakeError(
            f"{path} is not written in that encoding: {error.reason if hasattr(error, 'reason') else error}; "
            f"give the right one by --encoding."
        ) from None
    except (
        pd.errors.ParserError,
        pa.ArrowException,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        ValueError,
        OverflowError,
        OSError,
    ) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise UserMistakeError(f"{path} cannot be read as a table: {_in_words(reason)}") from None
    if not len(table):
        raise UserMistakeError(f"{path} has no rows.")
    # Parquet keeps the index of a data frame; with a name, it is a column like the others.
    table = table.reset_index(
        level=[name for name in table.index.names if name is not None], allow_duplicates=True
    )
    table = table.set_axis([str(name) for name in table.columns], axis=1)
    _refuse_twice(path, table.columns)
    return table.reset_index(drop=True), notes


def _in_words(reason: str) -> str:
    """Return what the parser of pandas complains of, and what to change.

    Examples
    --------
    >>> _in_words("Error tokenizing data. C error: Expected 3 fields in line 32, saw 5")
    'line 32 has 5 values, and those before it have 3; put values that hold the delimiter in quotes.'
    """
    longer = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", reason)
    if longer:
        return (
            f"line {longer[2]} has {longer[3]} values, and those before it have {longer[1]}; put values that "
            f"hold the delimiter in quotes."
        )
    if unclosed := re.search(r"EOF inside string starting at row (\d+)", reason):
        return f"the quote that opens in line {int(unclosed[1]) + 1} is never closed; close or remove it."
    return reason


def _refuse_twice(path: Path, names: pd.Index | pd.Series[Any]) -> None:
    twice = names[names.duplicated()]
    if len(twice):
        raise UserMistakeError(f"{path} has two columns named {next(iter(twice))}; rename one of them.")


def _read_text(path: Path, kind: str, packed: str, reading: Reading) -> tuple[pd.DataFrame, list[str]]:
    def opened() -> IO[bytes]:
        file: IO[bytes] = COMPRESSED[packed](path) if packed else path.open("rb")
        return file

    notes: list[str] = []
    encoding = reading.encoding
    if encoding is None:
        encoding, notes = find_encoding(path.name, opened)
    with opened() as raw, io.TextIOWrapper(raw, encoding, newline="") as text:
        if kind in JSON:
            return _from_json(text), notes
        delimiter = reading.delimiter_of(path.name, text, DELIMITED[kind])
    with opened() as raw, io.TextIOWrapper(raw, encoding, newline="") as text:
        # pandas would rename columns of the same name.
        names = pd.read_csv(text, sep=delimiter, header=None, nrows=1, dtype=str).iloc[0].dropna()
        _refuse_twice(path, names)
    with opened() as raw, io.TextIOWrapper(raw, encoding, newline="") as text, warnings.catch_warnings():
        # Where rows are longer than the header, pandas warns and drops values.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            table = pd.read_csv(text, sep=delimiter, index_col=False, low_memory=False)
        except pd.errors.ParserWarning:
            raise ValueError(
                "its rows have more values than its first line has names; name every column, and leave no "
                "delimiter at the ends of lines"
            ) from None
    table = _with_decimal_commas(table, notes, quoted=delimiter == ",")
    notes += _about_formatted_numbers(table)
    return table, notes


def _with_decimal_commas(table: pd.DataFrame, notes: list[str], *, quoted: bool) -> pd.DataFrame:
    """Return a table with numbers where all values have a decimal comma.

    In a comma-separated file a quoted 1,234 may also mean 1234, so at least one value must be unambiguous.
    """
    converted = {}
    for name in _text_columns(table):
        column = table[name].astype(object).mask(is_gap(table[name]))
        texts = column.dropna().astype(str)
        if not texts.str.fullmatch(DECIMAL_COMMA).all() or not texts.str.contains(",").any():
            continue
        if quoted and texts.str.fullmatch(PERHAPS_THOUSANDS).all():
            continue
        converted[name] = to_numbers(column.astype("string").str.replace(",", "."))
    if converted:
        notes.append(f"Read as numbers with a decimal comma: {', '.join(map(str, converted))}.")
    return table.assign(**{str(name): column for name, column in converted.items()})


def _about_formatted_numbers(table: pd.DataFrame) -> list[str]:
    """Return a warning if columns of formatted numbers were read as text."""
    found = [name for name in _text_columns(table) if _formatted(table[name]).mean() > MOSTLY]
    if not found:
        return []
    column = table[found[0]].dropna()
    example = str(column[_formatted(column)].iloc[0]).strip()
    return [
        f"Warning: read as text although the values look like numbers, such as {example!r}: {listed(found)}. "
        f"Write them as 1234567.5, without signs and spaces."
    ]


def _formatted(column: pd.Series[Any]) -> pd.Series[bool]:
    """Return which of the known values are formatted numbers."""
    known = column[~is_gap(column)].dropna()
    return known.astype(str).str.fullmatch(FORMATTED) & to_numbers(known).isna()


def _text_columns(table: pd.DataFrame) -> list[Any]:
    return [
        name
        for name in table.columns
        if not pd.api.types.is_numeric_dtype(table[name].dtype) and table[name].notna().any()
    ]


def _from_json(text: IO[str]) -> pd.DataFrame:
    """Return the table of JSON lines, or of a list of objects; every object is a row."""
    first = next((line for line in text if line.strip()), "")
    text.seek(0)
    if first.lstrip().startswith("["):
        return _frame(_loaded(text.read(), "the file"), "the list")
    return _frame(list(_json_lines(text)), "every line")


def _json_lines(text: IO[str]) -> Iterator[Any]:
    for number, line in enumerate(text, start=1):
        if line.strip():
            yield _loaded(line, f"line {number}")


def _loaded(text: str, where: str) -> Any:
    try:
        found = json.loads(text, object_pairs_hook=_record)
        if "\\ud" in text.lower():
            json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where} holds an incomplete character") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{where} is not valid JSON: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{where} is nested too deeply") from None
    except _SameNameError as error:
        raise ValueError(f"{where} holds {error} twice; keep one of them") from None
    except ValueError:
        raise ValueError(f"{where} holds a number of too many digits; write it as text") from None
    return found


class _SameNameError(ValueError):
    """An object of JSON has two values of the same name; Python would keep only the last."""


def _record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise _SameNameError(next(name for name in names if names.count(name) > 1))
    return record


def _frame(records: list[Any], where: str) -> pd.DataFrame:
    if not all(isinstance(record, dict) for record in records):
        raise ValueError(f'{where} must hold objects such as {{"age": 31, "churn": "yes"}}')
    return pd.DataFrame.from_records(records)
