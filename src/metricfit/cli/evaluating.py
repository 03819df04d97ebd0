"""``metricfit evaluate``: how good a trained model is on a table with labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import metricfit as mf
from metricfit.cli.columns import take_weights
from metricfit.cli.fitting import read_metric
from metricfit.cli.mistakes import UserMistakeError, did_you_mean, listed
from metricfit.cli.model_files import Model, load_model
from metricfit.cli.predicting import model_notes
from metricfit.cli.reading import Reading, read_table
from metricfit.cli.tables import label_text
from metricfit.report import Comparison, Method

__all__ = ["evaluate_table", "evaluation_summary"]


def evaluate_table(
    run: Path,
    table: Path,
    reading: Reading,
    *,
    metric: str | None,
    ignore_unknown: bool,
    weight: str | None = None,
) -> Comparison:
    """Return how the predictions of a model compare with the labels in a table."""
    model = load_model(run)
    wanted = read_metric(metric or model.metric)
    rows, notes = read_table(table, reading)
    rows, labels, left_out = _labelled(rows, model)
    rows, weights = take_weights(rows, weight, model.target)
    features = model.encoded(rows, ignore_unknown=ignore_unknown)
    notes = [*model_notes(model), *notes, *left_out]
    if len(np.unique(labels)) < 2:
        only = model.positive if labels[0] else model.negative
        notes.append(f"Warning: all rows are {model.target} = {only}; most metrics say little then.")
    method = Method("the model", model.decision.margins(features), [], 1, model.decision.cut, 0.0)
    return Comparison(
        f"{model.target} = {model.positive}", wanted, labels, (method,), tuple(notes), weights=weights
    )


def evaluation_summary(comparison: Comparison) -> dict[str, Any]:
    """Return the scores as plain values."""
    (method,) = comparison.methods
    (interval,) = comparison.intervals
    return {
        "title": comparison.title,
        "rows": len(comparison.labels),
        "positives": int(comparison.labels.sum()),
        "metric": comparison.metric.name,
        "formula": comparison.metric.formula,
        "value": comparison.value(method),
        "interval": [interval.low, interval.high],
        "precision": comparison.score(mf.precision, method),
        "recall": comparison.score(mf.recall, method),
        "confusion": comparison.confusion(method),
        "constraints": [
            {"constraint": str(constraint), "value": value, "met": met}
            for constraint, value, met in comparison.held(method)
        ],
        "notes": list(comparison.notes),
    }


def _labelled(rows: pd.DataFrame, model: Model) -> tuple[pd.DataFrame, npt.NDArray[np.int64], list[str]]:
    """Return the rows that have a label, the labels as 0 and 1, and how many have none."""
    name = model.target
    if name not in rows.columns:
        raise UserMistakeError(
            f"There is no column {name} to compare with.{did_you_mean(name, rows.columns)} "
            f"For rows without labels use metricfit predict."
        )
    known = rows[name].notna()
    missing = int((~known).sum())
    if missing == len(rows):
        raise UserMistakeError(f"The column {name} is empty; there is nothing to compare with.")
    rows = rows[known].reset_index(drop=True)
    texts = rows[name].map(label_text)
    positive, negative = label_text(model.positive), label_text(model.negative)
    unknown = texts[~texts.isin([positive, negative])]
    if len(unknown):
        raise UserMistakeError(
            f"The model knows the labels {positive} and {negative} of {name}; the table has "
            f"{listed(unknown.unique())} in {len(unknown)} rows. Write them as the model knows them, or "
            f"leave those rows out."
        )
    notes = [f"{missing} rows without a value in {name} were left out."] if missing else []
    return rows, np.asarray(texts == positive, dtype=np.int64), notes
