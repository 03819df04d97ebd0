"""``metricfit evaluate``: scores of a trained model on a table with labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

import metricfit as mf
from metricfit.cli.class_decisions import ClassChoice
from metricfit.cli.class_evaluating import class_summary, evaluate_classes, with_labels
from metricfit.cli.columns import take_weights
from metricfit.cli.metrics_asked import class_metric, read_metric, refuse_average
from metricfit.cli.mistakes import UserMistakeError, listed
from metricfit.cli.model_files import Model, load_model
from metricfit.cli.predicting import model_notes
from metricfit.cli.reading import Reading, read_table
from metricfit.cli.tables import about_large_numbers, label_text
from metricfit.report import ClassComparison, Comparison, Method

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
    if isinstance(model.decision, ClassChoice):
        wanted = class_metric(wanted, model.target, [label_text(label) for label in model.classes])
        return evaluate_classes(model, rows, notes, wanted, ignore_unknown=ignore_unknown, weight=weight)
    wanted = refuse_average(wanted, model.target)
    rows, labels, left_out = _labelled(rows, model)
    rows, weights = take_weights(rows, weight, model.target)
    features = model.encoded(rows, ignore_unknown=ignore_unknown)
    notes = [*model_notes(model), *notes, *left_out, *about_large_numbers(model.columns.used_in(rows))]
    if len(np.unique(labels)) < 2:
        only = model.positive if labels[0] else model.negative
        notes.append(f"Warning: all rows are {model.target} = {only}; most metrics are not meaningful then.")
    # A metric of one size is measured on so many rows, whatever the model was trained for.
    decided_for = read_metric(model.metric) if wanted.size is None else wanted
    margins = model.decision.decided(decided_for, features)
    method = Method("the model", margins, [], 1, model.decision.cut, 0.0)
    return Comparison(
        f"{model.target} = {model.positive}", wanted, labels, (method,), tuple(notes), weights=weights
    )


def evaluation_summary(comparison: Comparison) -> dict[str, Any]:
    """Return the scores as plain values."""
    if isinstance(comparison, ClassComparison):
        return class_summary(comparison)
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
    rows, texts, notes = with_labels(rows, name)
    positive, negative = label_text(model.positive), label_text(model.negative)
    unknown = texts[~texts.isin([positive, negative])]
    if len(unknown):
        raise UserMistakeError(
            f"The model knows the labels {positive} and {negative} of {name}; the table has "
            f"{listed(unknown.unique())} in {len(unknown)} rows. Write them as the model knows them, or "
            f"leave those rows out."
        )
    return rows, np.asarray(texts == positive, dtype=np.int64), notes
