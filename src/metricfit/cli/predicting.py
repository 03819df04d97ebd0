"""``metricfit predict``: labels and scores for the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metricfit.cli.folders import write_whole
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import Model, load_model
from metricfit.cli.reading import Reading, read_table

__all__ = ["model_notes", "predict_table"]

# With these a spreadsheet takes a text for a formula, and computes it.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def predict_table(
    run: Path, table: Path, out: Path, reading: Reading, *, ignore_unknown: bool, overwrite: bool
) -> dict[str, Any]:
    """Write a prediction and a score for every row, and return how many of each there are."""
    _check_out(out, overwrite=overwrite)
    model = load_model(run)
    rows, notes = read_table(table, reading)
    features = model.encoded(rows, ignore_unknown=ignore_unknown)
    positive = (margins := model.decision.margins(features)) > 0
    labels = pd.Series(np.where(positive, 1, 0)).map({1: model.positive, 0: model.negative})
    predictions = pd.DataFrame({f"predicted {model.target}": labels, "score": margins})
    probabilities = model.decision.probabilities(features)
    if probabilities is not None:
        predictions["probability"] = probabilities
    write_whole(out, predictions.to_csv(index=False))
    formulas = [label for label in (model.positive, model.negative) if _is_formula(label)]
    if formulas:
        notes.append(
            f"Warning: a spreadsheet takes the label {formulas[0]!r} for a formula. It is written as it is; "
            f"import {out} with that column as text."
        )
    return {
        "rows": len(rows),
        "predicted": {str(model.positive): int(positive.sum()), str(model.negative): int((~positive).sum())},
        "out": str(out),
        "notes": [*model_notes(model), *notes],
    }


def model_notes(model: Model) -> list[str]:
    """Return what there is to say about a model before it is used."""
    if not model.foreign_versions:
        return []
    return [
        f"Warning: the model was written with {model.foreign_versions}; its scores may differ. "
        f"Train it again to be sure."
    ]


def _check_out(out: Path, *, overwrite: bool) -> None:
    try:
        if out.exists() and not out.is_file():
            raise UserMistakeError(f"{out} is no file that can be replaced; choose another --out.")
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
