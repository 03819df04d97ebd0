"""The description of a model: a file of plain values, each checked when it is read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import metricfit as mf
from metricfit.cli.decisions import Kind as PartKind
from metricfit.cli.encoding import Kind
from metricfit.cli.mistakes import UserMistakeError

__all__ = ["CLASS_FORMAT", "FORMAT", "installed", "read_description"]

FORMAT = "metricfit model 5"
# Of more than two classes.
CLASS_FORMAT = "metricfit model of classes 3"
# The encoder consists of their classes, so another version may not be able to read it.
ENCODED_BY = ("scikit-learn", "skrub", "skops")


def installed() -> dict[str, str]:
    """Return the versions of what wrote, or is about to read, an encoder.

    Examples
    --------
    >>> sorted(installed())
    ['scikit-learn', 'skops', 'skrub']
    """
    return {name: version(name) for name in ENCODED_BY}


def read_description(path: Path) -> dict[str, Any]:
    """Return the description of a model in a file, or raise an error if it is not one."""
    foreign = UserMistakeError(f"{path} describes no model of metricfit; train it again.")
    try:
        text = path.read_text(encoding="utf-8")
        description = json.loads(text)
        json.dumps(description, ensure_ascii=False).encode()  # an incomplete character cannot be printed
    except (ValueError, RecursionError):
        raise foreign from None
    if not isinstance(description, dict):
        raise foreign
    written = description.get("format")
    formats = {FORMAT: TWO_CLASSES, CLASS_FORMAT: SEVERAL_CLASSES}
    if isinstance(written, str) and written.startswith("metricfit model") and written not in formats:
        by = str(description.get("metricfit", "another version"))[:40]
        raise UserMistakeError(
            f"{path} was written by metricfit {by}, in a form that metricfit {mf.__version__} does not read; "
            f"train the model again, or predict with that version."
        )
    if not isinstance(written, str) or written not in formats:
        raise foreign
    expected = EXPECTED | formats[written]
    if not all(name in description and holds(description[name]) for name, holds in expected.items()):
        raise foreign
    if not (_fits(description) if written == FORMAT else _classes_fit(description)):
        raise foreign
    if not all(name in description["categories"] for name in _of_kind(description, "categories")):
        raise foreign
    return description


def _fits(decision: dict[str, Any]) -> bool:
    """Whether a threshold is a probability where there is a calibration."""
    return decision["calibration"] is None or 0.0 < decision["threshold"] < 1.0


def _classes_fit(description: dict[str, Any]) -> bool:
    """Whether there is one of everything per class, and either a column each or whole models."""
    classes, columns = len(description["classes"]), description["columns"]
    if (description["whole"] is None) == (not columns) or len(columns) not in (0, classes):
        return False
    if len(description["offsets"]) != classes or len(description["biases"]) != classes or classes < 3:
        return False
    return all(column["calibration"] is not None and _fits(column) for column in columns)


def _of_kind(description: dict[str, Any], kind: Kind) -> list[str]:
    return [name for name, found in description["kinds"].items() if found == kind]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_label(value: Any) -> bool:
    return isinstance(value, str | bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(float(value))
    except OverflowError:
        return False


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _maps_to(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, dict) and all(map(holds, value.values()))


def _has(**expected: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, dict)
        and set(value) == set(expected)
        and all(holds(value[name]) for name, holds in expected.items())
    )


def _list_of(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(holds, value))


_is_part = _has(
    kind=lambda value: value in get_args(PartKind),
    models=_is_count,
    weight=_is_number,
    slope=_is_number,
    intercept=_is_number,
)
_is_line = _has(
    slope=_is_number, intercept=_is_number, scores=_list_of(_is_number), shares=_list_of(_is_number)
)


def _is_calibration(value: Any) -> bool:
    if value is None:
        return True
    return _is_line(value) and len(value["scores"]) == len(value["shares"])


EXPECTED: dict[str, Callable[[Any], bool]] = {
    "metricfit": _is_text,
    "versions": _maps_to(_is_text),
    "metric": _is_text,
    "target": _is_text,
    "kinds": _maps_to(lambda value: value in get_args(Kind)),
    "categories": _maps_to(_list_of(_is_text)),
    "formats": _maps_to(_is_text),
    "odd": _maps_to(_list_of(_is_text)),
    "features": _is_count,
    "digests": _maps_to(_is_text),
}
_DECISION: dict[str, Callable[[Any], bool]] = {
    "threshold": _is_number,
    "calibration": _is_calibration,
    "parts": lambda value: _list_of(_is_part)(value) and bool(value),
}
TWO_CLASSES = {"positive": _is_label, "negative": _is_label, **_DECISION}
_is_whole = _has(kind=lambda value: value in get_args(PartKind), models=_is_count)
SEVERAL_CLASSES: dict[str, Callable[[Any], bool]] = {
    "classes": _list_of(_is_label),
    "columns": _list_of(_has(**_DECISION)),
    "whole": lambda value: value is None or _is_whole(value),
    "slope": _is_number,
    "biases": _list_of(_is_number),
    "offsets": _list_of(_is_number),
}
