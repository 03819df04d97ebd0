"""The figures of a comparison of more than two classes."""

from __future__ import annotations

from html import escape

import numpy as np

from metricfit.report.class_comparison import ClassComparison

__all__ = ["class_confusion", "class_scores", "matrix_caption"]

# Of more classes, those with the most mistakes are shown.
SHOWN = 20


def class_scores(comparison: ClassComparison) -> str:
    """Return a table with a line per class: its rows, precision, recall and the metric."""
    method = comparison.methods[0]
    metrics = comparison.class_metrics
    columns = [comparison.of_classes(metric, method) for metric in metrics]
    cells = comparison.confusion(method)
    counts = zip(cells.sum(axis=1), cells.sum(axis=0), strict=True)
    rows = "".join(
        f"<tr><th scope=row>{escape(name)}</th><td>{actual:.10g}</td><td>{chosen:.10g}</td>"
        + "".join(f"<td>{column[index]:.3f}</td>" for column in columns)
        + "</tr>"
        for index, (name, (actual, chosen)) in enumerate(zip(comparison.classes, counts, strict=True))
    )
    heads = ["class", "actual", "predicted", *(metric.name for metric in metrics)]
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in heads)
    return (
        f"<div class=scroll><table class=scores><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def class_confusion(comparison: ClassComparison) -> str:
    """Return the confusion matrix of the first method, a line per actual class."""
    cells = comparison.confusion(comparison.methods[0])
    chosen = _shown(cells)
    totals = np.maximum(cells.sum(axis=1), 1e-300)
    head = "".join(f"<th scope=col>{escape(comparison.classes[index])}</th>" for index in chosen)
    body = "".join(
        f"<tr><th scope=row>{escape(comparison.classes[row])}</th>"
        + "".join(
            f'<td class="cell" style="--share:{cells[row, column] / totals[row]:.3f}">'
            f"{cells[row, column]:.10g}</td>"
            for column in chosen
        )
        + "</tr>"
        for row in chosen
    )
    return (
        f"<div class=scroll><table class=confusion><tr><th scope=col>actual \\ predicted</th>{head}</tr>"
        f"{body}</table></div>"
    )


def matrix_caption(comparison: ClassComparison) -> str:
    """Return the caption of the matrix, which says what is left out of it."""
    caption = f"On the test rows, for {comparison.methods[0].name}: a line per actual class."
    if len(comparison.classes) > SHOWN:
        caption += f" Shown are the {SHOWN} of {len(comparison.classes)} classes with most mistakes."
    return caption


def _shown(cells: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[int]:
    if len(cells) <= SHOWN:
        return list(range(len(cells)))
    mistakes = cells.sum(axis=0) + cells.sum(axis=1) - 2 * np.diag(cells)
    return sorted(np.argsort(-mistakes, kind="stable")[:SHOWN].tolist())
