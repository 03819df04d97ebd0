"""``metricfit predict``: labels and scores for the rows of a table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from metricfit.cli.folders import write_whole
from metricfit.cli.mistakes import UserMistakeError
from metricfit.cli.model_files import load_model
from metricfit.cli.tables import read_table

__all__ = ["predict_table"]


def predict_table(
    run: Path, table: Path, out: Path, *, ignore_unknown: bool, overwrite: bool
) -> dict[str, Any]:
    """Write a prediction and a score for every row, and return how many of each there are."""
    if out.exists() and not overwrite:
        raise UserMistakeError(f"{out} exists; choose another --out, or add --overwrite.")
    model = load_model(run)
    rows = read_table(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown categories were dealt with; gaps are filled
        try:
            margins = model.margins(rows, ignore_unknown=ignore_unknown)
        except ValueError as error:
            raise UserMistakeError(
                f"The columns do not fit the model: {str(error).strip().splitlines()[0]}"
            ) from error
    positive = margins > 0
    labels = pd.Series(np.where(positive, 1, 0)).map({1: model.positive, 0: model.negative})
    predictions = pd.DataFrame({f"predicted {model.target}": labels, "score": margins})
    write_whole(out, predictions.to_csv(index=False))
    return {
        "rows": len(rows),
        "predicted": {str(model.positive): int(positive.sum()), str(model.negative): int((~positive).sum())},
        "out": str(out),
    }
