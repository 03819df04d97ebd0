"""``metricfit predict``: labels and scores for the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from metricfit.cli.class_decisions import ClassChoice
from metricfit.cli.folders import write_whole
from metricfit.cli.metrics_asked import read_metric
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import Model, load_model
from metricfit.cli.reading import COMPRESSED, JSON, PARQUET, Reading, read_table
from metricfit.cli.tables import about_large_numbers

__all__ = ["model_notes", "predict_table"]

# No program could read a CSV file of such a name.
OTHER_FORMATS = (*PARQUET, *JSON, *COMPRESSED, ".tsv", ".tab", ".xls", ".xlsx", ".ods")
# A spreadsheet evaluates text that starts with one of these as a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def predict_table(
    run: Path, table: Path, out: Path, reading: Reading, *, ignore_unknown: bool, overwrite: bool
) -> dict[str, Any]:
    """Write a prediction and a score for every row, and return how many of each there are."""
    _check_out(out, overwrite=overwrite)
    model = load_model(run)
    rows, notes = read_table(table, reading)
    features = model.encoded(rows, ignore_unknown=ignore_unknown)
    notes += about_large_numbers(model.columns.used_in(rows))
    known = model.classes or (model.negative, model.positive)
    codes, predictions = _predictions(model, features, known)
    write_whole(out, predictions.to_csv(index=False))
    formulas = [label for label in known if _is_formula(label)]
    if formulas:
        notes.append(
            f"Warning: a spreadsheet takes the label {formulas[0]!r} for a formula. It is written as it is; "
            f"import {out} with that column as text."
        )
    return {
        "rows": len(rows),
        "predicted": {str(known[code]): int((codes == code).sum()) for code in _order(model, known)},
        "out": str(out),
        "notes": [*model_notes(model), *notes],
    }


def _predictions(
    model: Model, features: npt.NDArray[np.float32], known: Sequence[Any]
) -> tuple[npt.NDArray[np.int64], pd.DataFrame]:
    """Return the number of every row's label, and the table to write."""
    decision = model.decision
    if isinstance(decision, ClassChoice):
        codes = decision.predicted(features)
        chances = decision.probabilities(features)
        scores = {f"probability {label}": chances[:, code] for code, label in enumerate(known)}
    else:
        margins = decision.decided(read_metric(model.metric), features)
        codes = (margins > 0).astype(np.int64)
        scores = {"score": margins}
        probabilities = decision.probabilities(features)
        if probabilities is not None:
            scores["probability"] = probabilities
    labels = pd.Series(codes).map(dict(enumerate(known)))
    return codes, pd.DataFrame({f"predicted {model.target}": labels, **scores})


def _order(model: Model, known: Sequence[Any]) -> list[int]:
    """Return the numbers of labels in the order in which they are shown, the positive one first."""
    return list(range(len(known))) if model.classes else [1, 0]


def model_notes(model: Model) -> list[str]:
    """Return the warnings about a model before it is used."""
    if not model.foreign_versions:
        return []
    return [
        f"Warning: the model was written with {model.foreign_versions}; its scores may differ. "
        f"Train it again to be sure."
    ]


def _check_out(out: Path, *, overwrite: bool) -> None:
    if out.suffix.lower() in OTHER_FORMATS:
        raise UserMistakeError(
            f"Predictions are written as CSV, which is not what {out.name} promises; choose a name such as "
            f"{out.name.partition('.')[0]}.csv."
        )
    try:
        if out.exists() and not out.is_file():
            raise UserMistakeError(f"{out} is not a file that can be replaced; choose another --out.")
        if out.exists() and not overwrite:
            raise UserMistakeError(f"{out} exists; choose another --out, or add --overwrite.")
    except OSError as error:
        raise UserMistakeError(f"{out} cannot be written: {error.strerror}.") from None


def _is_formula(label: Any) -> bool:
    if not isinstance(label, str) or not label.startswith(FORMULA_STARTS):
        return False
    try:
        float(label)
    except ValueError:
        return True
    return False
