"""The delimiter and the encoding of a text table."""

from __future__ import annotations

import codecs
import csv
import itertools
from collections import Counter
from collections.abc import Callable
from typing import IO

from metricfit.cli.mistakes import UserMistakeError

__all__ = ["find_delimiter", "find_encoding"]

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
RECORDS = 200
BLOCK = 2**20
# Those of UTF-32 first: one begins with that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def find_encoding(name: str, opened: Callable[[], IO[bytes]]) -> tuple[str, list[str]]:
    """Return the encoding of a text file, and the notices about it.

    UTF-8 unless a byte order mark says otherwise. A file that is not UTF-8 and holds no character encoded in
    it is read as cp1252, the encoding of Windows in Western Europe and America, with a notice.

    Examples
    --------
    >>> import io
    >>> find_encoding("t.csv", lambda: io.BytesIO("größe,a".encode("cp1252")))
    ('cp1252', ['t.csv is not in UTF-8; it was read as cp1252 (Windows). If letters look wrong, ...'])
    """
    with opened() as file:
        start = file.read(4)
        for mark, encoding in MARKS.items():
            if start.startswith(mark):
                return encoding, []
        decoder, line, block = codecs.getincrementaldecoder("utf-8")(), 1, start
        while block:
            if b"\0" in block:
                raise UserMistakeError(
                    f"{name} holds zero bytes, so it is not text in UTF-8. Save it as CSV in UTF-8, or "
                    f"give its encoding, such as --encoding utf-16."
                )
            try:
                decoder.decode(block)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].count(b"\n")
                break
            line += block.count(b"\n")
            block = file.read(BLOCK)
        else:
            return "utf-8", []
    if not _may_be_cp1252(opened):
        raise UserMistakeError(
            f"{name} is not in UTF-8 (first in line {line}). Save it in UTF-8, or give its encoding, such as "
            f"--encoding cp1252."
        )
    return "cp1252", [
        f"{name} is not in UTF-8; it was read as cp1252 (Windows). If letters look wrong, give the right "
        f"one by --encoding."
    ]


def _may_be_cp1252(opened: Callable[[], IO[bytes]]) -> bool:
    """Return whether every byte is a letter of cp1252, and none is part of a character in UTF-8."""
    with opened() as file:
        for block in iter(lambda: file.read(BLOCK), b""):
            try:
                block.decode("cp1252")
            except UnicodeDecodeError:
                return False
            if not block.decode("utf-8", errors="ignore").isascii():
                return False
    return True


def find_delimiter(name: str, lines: IO[str], preferred: str) -> str:
    r"""Return the delimiter: the one that splits the first rows evenly, and into the most columns.

    Examples
    --------
    >>> import io
    >>> find_delimiter("t.csv", io.StringIO("a;b\n3,5;x\n1,5;y\n"), preferred=",")
    ';'
    """
    text = "".join(itertools.islice(lines, RECORDS))
    widths = {delimiter: _width(text, delimiter) for delimiter in DELIMITERS}
    most = max(widths.values())
    if most < 2:
        return preferred
    best = [delimiter for delimiter, width in widths.items() if width == most]
    if len(best) > 1:
        either = " or ".join(f"--delimiter {DELIMITERS[delimiter]}" for delimiter in best)
        raise UserMistakeError(f"{name} can be divided into columns in two ways; give {either}.")
    return best[0]


def _width(text: str, delimiter: str) -> int:
    """Return how many columns a delimiter makes, or 0 if it does not divide the rows evenly.

    Rows with one value more than the header count as even; the reader raises the error about them.
    """
    try:
        rows = [row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter) if row]
    except csv.Error:
        return 0
    if not rows:
        return 0
    header, body = len(rows[0]), Counter(map(len, rows[1:]))
    even = max(body[header], body[header + 1]) >= 0.9 * body.total()
    return header if even else 0
