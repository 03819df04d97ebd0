"""The file of finished cells: one line of JSON each, appended so that a crash loses one line at most."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from metricfit.experiments.runs import run_of

__all__ = ["CELLS", "append", "read"]

CELLS = "cells.jsonl"


def append(path: Path, cell: dict[str, Any]) -> None:
    r"""Append a cell, and wait until it is on the disk.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     append(Path(folder) / CELLS, {"a": 1})
    ...     (Path(folder) / CELLS).read_text()
    '{"a":1}\n'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        file.seek(0, os.SEEK_END)
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":  # a crash may have left an incomplete line before this one
                file.write(b"\n")
        file.write((json.dumps(cell, separators=(",", ":")) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Return the finished cells by the key of their run; torn lines are left out.

    Examples
    --------
    >>> read(Path("no such file"))
    {}
    """
    if not path.exists():
        return {}
    cells = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            cell = json.loads(line)
            cells[run_of(cell).key] = cell
        except (json.JSONDecodeError, KeyError, TypeError):
            continue
    return cells
