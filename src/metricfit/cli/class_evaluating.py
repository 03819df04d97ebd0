"""Scores of a trained model of several classes on a table with labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import metricfit as mf
from metricfit.cli.columns import take_weights
from metricfit.cli.mistakes import UserMistakeError, did_you_mean, listed
from metricfit.cli.model_files import Model
from metricfit.cli.predicting import model_notes
from metricfit.cli.tables import about_large_numbers, label_text
from metricfit.report import ClassComparison, Method

__all__ = ["class_summary", "evaluate_classes", "with_labels"]


def evaluate_classes(
    model: Model,
    rows: pd.DataFrame,
    notes: list[str],
    metric: mf.Metric,
    *,
    ignore_unknown: bool,
    weight: str | None,
) -> ClassComparison:
    """Return how the predictions of a model compare with the classes in a table.

    Rows of classes that the model does not know count as mistakes.
    """
    rows, texts, left_out = with_labels(rows, model.target)
    rows, weights = take_weights(rows, weight, model.target)
    known = [label_text(label) for label in model.classes]
    strange = sorted(set(texts) - set(known))
    notes = [*model_notes(model), *notes, *left_out]
    if strange:
        notes.append(
            f"Warning: {int(texts.isin(strange).sum())} rows are {model.target} = {listed(strange)}, which "
            f"the model was not trained with. They count as mistakes."
        )
    classes = [*known, *strange]
    numbers = {text: code for code, text in enumerate(classes)}
    labels = np.array([numbers[text] for text in texts], dtype=np.int64)
    margins = model.margins(rows, ignore_unknown=ignore_unknown)
    notes += about_large_numbers(model.columns.used_in(rows))
    method = Method("the model", margins, [], 1, 0.0, 0.0)
    return ClassComparison(
        model.target, metric, labels, (method,), tuple(notes), weights=weights, classes=tuple(classes)
    )


def class_summary(comparison: ClassComparison) -> dict[str, Any]:
    """Return the scores as plain values."""
    found = comparison.summary()
    (method,) = found["methods"]
    kept = {name: found[name] for name in ("title", "metric", "formula", "classes", "notes")}
    scores = {name: method[name] for name in ("value", "interval", "accuracy", "macro_recall", "confusion")}
    return {**kept, "rows": len(comparison.labels), **scores, "per_class": method["per_class"]}


def with_labels(rows: pd.DataFrame, name: str) -> tuple[pd.DataFrame, pd.Series[str], list[str]]:
    """Return the rows that have a label, the labels as text, and how many have none.

    Examples
    --------
    >>> rows, texts, notes = with_labels(pd.DataFrame({"a": [1, 2], "kind": ["x", None]}), "kind")
    >>> texts.tolist(), notes
    (['x'], ['1 rows without a value in kind were left out.'])
    """
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
    notes = [f"{missing} rows without a value in {name} were left out."] if missing else []
    return rows, rows[name].map(label_text), notes
