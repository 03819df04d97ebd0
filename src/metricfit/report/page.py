"""The report: one self-contained page."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

import metricfit as mf
from metricfit.report.class_comparison import ClassComparison
from metricfit.report.class_figures import class_confusion, class_scores, matrix_caption
from metricfit.report.comparison import Comparison, Method, in_words
from metricfit.report.figures import (
    calibration_curves,
    confusion_matrices,
    importances,
    metric_by_threshold,
    precision_recall,
    score_histograms,
    training_curves,
)
from metricfit.report.tables import column_table, score_table

__all__ = ["render"]

PACKAGES = ("metricfit", "numpy", "pandas", "scikit-learn", "scipy", "skorch", "skrub", "torch")


def render(comparisons: Sequence[Comparison], *, command: str, title: str) -> str:
    """Return a page that shows comparisons, as HTML.

    Parameters
    ----------
    comparisons : sequence of Comparison
        One section each.
    command : str
        What made them, to be shown at the end.
    title : str
        The headline.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.report import Method
    >>> method = Method("ours", np.array([1.0, -1.0]), [{"valid_metric": 0.5}], 1, 0.0, 0.1)
    >>> page = render([Comparison("toy", mf.f1, np.array([1, 0]), (method,))], command="demo", title="Toy")
    >>> page.startswith("<!doctype html>"), page.count("<figure")
    (True, 5)
    """
    style = (files("metricfit.report") / "page.css").read_text(encoding="utf-8")
    sections = "".join(_section(index, comparison) for index, comparison in enumerate(comparisons))
    return (
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{style}</style></head>\n"
        f"<body><main><h1>{escape(title)}</h1>{sections}{_origin(command)}</main></body></html>\n"
    )


def _section(index: int, comparison: Comparison) -> str:
    shown = "".join(
        f'<figure id="{name}-{index}" class="{name}"><h3>{heading}</h3>'
        f"{_legend(name, comparison)}<div class=drawing>{drawing}</div>"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for name, heading, drawing, caption in _figures(comparison)
    )
    return (
        f"<section><h2>{escape(comparison.title)}</h2>{_metric(comparison)}{_facts(comparison)}"
        f"{_notes(comparison)}{_words(comparison)}{score_table(comparison)}"
        f"<div class=figures>{shown}</div>{column_table(comparison)}</section>"
    )


def _figures(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Return the name, heading, drawing and caption of every figure that has data."""
    first = comparison.methods[0].name
    if isinstance(comparison, ClassComparison):
        return _class_figures(comparison)
    found = [
        ("confusion", "Confusion matrices", confusion_matrices(comparison), "On the test rows."),
        (
            "precision-recall",
            "Precision and recall",
            precision_recall(comparison),
            _curve_caption(comparison),
        ),
    ]
    if not comparison.methods[0].constant:
        caption = (
            f"On the test rows, for {first}. The dot is the chosen threshold. The coloured band holds 95 % "
            "of resampled test sets, and the grey strip the best threshold of 95 % of them."
        )
        found.append(("threshold", "Metric against threshold", metric_by_threshold(comparison), caption))
    if any(method.probabilities is not None for method in comparison.methods):
        caption = (
            "The share of positives among test rows with similar predicted probabilities. On the dashed line "
            "the probabilities are right."
        )
        found.append(("calibration", "Calibration", calibration_curves(comparison), caption))
    found += _common_figures(comparison)
    caption = (
        "How the scores of the positive and of the negative test rows are distributed. Rows to the right of "
        "the dashed line are predicted positive."
    )
    found.append(("scores", "Scores", score_histograms(comparison), caption))
    return found


def _class_figures(comparison: ClassComparison) -> list[tuple[str, str, str, str]]:
    first = comparison.methods[0].name
    shown = [
        ("classes", "Classes", class_scores(comparison), f"Each class against the rest, for {first}."),
        ("matrix", "Confusion matrix", class_confusion(comparison), matrix_caption(comparison)),
    ]
    return shown + _common_figures(comparison)


def _common_figures(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Return the figures of two and of more classes."""
    found = []
    if comparison.importance:
        caption = (
            f"For {comparison.methods[0].name}: by how much {comparison.name} falls if the values of a "
            "column are shuffled. Columns with the same information share their importance."
        )
        found.append(("importance", "Importance of columns", importances(comparison.importance), caption))
    if any(method.epochs for method in comparison.methods):
        found.append(("training", "Training", training_curves(comparison), _training_caption(comparison)))
    return found


def _words(comparison: Comparison) -> str:
    lines = "".join(f"<li>{escape(line)}</li>" for line in in_words(comparison))
    return f"<ul class=words>{lines}</ul>" if lines else ""


def _metric(comparison: Comparison) -> str:
    metric, called = comparison.metric, comparison.name
    formula = f"<code>{escape(metric.formula)}</code>"
    name = f"<b>{escape(called)}</b> = {formula}" if called != metric.formula else formula
    bounds = ", ".join(f"<code>{escape(str(constraint))}</code>" for constraint in metric.constraints)
    return f"<p class=metric>{name}{' subject to ' + bounds if bounds else ''}</p>"


def _facts(comparison: Comparison) -> str:
    facts = {
        "test rows": comparison.rows,
        **comparison.facts,
    }
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items()
    )
    return f"<dl class=facts>{items}</dl>"


def _notes(comparison: Comparison) -> str:
    return "".join(f"<p class=note>{escape(note)}</p>" for note in comparison.notes)


def _legend(name: str, comparison: Comparison) -> str:
    if name in ("confusion", "importance", "classes", "matrix"):
        return ""
    if name == "scores":
        keys = [("positive", "positives"), ("negative", "negatives")]
    else:
        keys = [
            (f"series-{index}", method.name)
            for index, method in enumerate(comparison.methods)
            if _has_curve(name, index, method)
        ]
    items = "".join(f'<span><i class="key {style}"></i>{escape(text)}</span>' for style, text in keys)
    return f"<p class=legend>{items}</p>"


def _has_curve(name: str, index: int, method: Method) -> bool:
    if name == "precision-recall":
        return True
    if name == "threshold":
        return index == 0
    if name == "calibration":
        return method.probabilities is not None
    return bool(method.epochs)


def _curve_caption(comparison: Comparison) -> str:
    caption = "On the test rows. Dots are the decisions of each method."
    drawn = (mf.recall, mf.precision, mf.specificity)
    shown = [str(bound) for bound in comparison.metric.constraints if bound.metric in drawn]
    if shown:
        caption += f" Dashed: {', '.join(shown)}."
    return caption


def _training_caption(comparison: Comparison) -> str:
    caption = "The metric on the held-out rows after every epoch; dots are the epochs that were kept."
    if comparison.metric.constraints:
        caption += " Epochs that meet the constraints there are preferred to those that do not."
    return caption


def _origin(command: str) -> str:
    found = [("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    versions = ", ".join(f"{name} {number}" for name, number in found)
    return (
        f"<section id=origin><h2>How this was made</h2><pre><code>{escape(command)}</code></pre>"
        f"<p class=hint>{escape(versions)}</p></section>"
    )
