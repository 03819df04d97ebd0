"""The report: one page with everything in it, which needs nothing from anywhere else."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

import metricfit as mf
from metricfit.report.comparison import Comparison
from metricfit.report.figures import confusion_matrices, precision_recall, score_histograms, training_curves

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
    (True, 4)
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
    figures = [
        ("confusion", "Confusion matrices", confusion_matrices(comparison), "On the test rows."),
        (
            "precision-recall",
            "Precision and recall",
            precision_recall(comparison),
            _curve_caption(comparison),
        ),
        (
            "training",
            "Training",
            training_curves(comparison),
            _training_caption(comparison),
        ),
        (
            "scores",
            "Scores",
            score_histograms(comparison),
            "Shares of the positives and of the negatives among the test rows; positive is predicted right "
            "of the dashed line.",
        ),
    ]
    drawn = "".join(
        f'<figure id="{name}-{index}" class="{name}"><h3>{heading}</h3>'
        f"{_legend(name, comparison)}<div class=drawing>{drawing}</div>"
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for name, heading, drawing, caption in figures
    )
    return (
        f"<section><h2>{escape(comparison.title)}</h2>{_metric(comparison.metric)}{_facts(comparison)}"
        f"{_notes(comparison)}{_table(comparison)}<div class=figures>{drawn}</div></section>"
    )


def _metric(metric: mf.Metric) -> str:
    formula = f"<code>{escape(metric.formula)}</code>"
    name = f"<b>{escape(metric.name)}</b> = {formula}" if metric.name != metric.formula else formula
    bounds = ", ".join(f"<code>{escape(str(constraint))}</code>" for constraint in metric.constraints)
    return f"<p class=metric>{name}{' subject to ' + bounds if bounds else ''}</p>"


def _facts(comparison: Comparison) -> str:
    facts = {
        "test rows": f"{len(comparison.labels)}, of which {int(comparison.labels.sum())} positive",
        **comparison.facts,
    }
    items = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in facts.items()
    )
    return f"<dl class=facts>{items}</dl>"


def _notes(comparison: Comparison) -> str:
    return "".join(f"<p class=note>{escape(note)}</p>" for note in comparison.notes)


def _table(comparison: Comparison) -> str:
    constraints = [str(constraint) for constraint in comparison.metric.constraints]
    heads = [
        "",
        comparison.metric.name,
        "95% interval",
        "ours is better by",
        *constraints,
        "epoch",
        "seconds",
    ]
    ranks = [comparison.rank(method) for method in comparison.methods]
    advantages = ["", *(f"{_signed(gain.low)} to {_signed(gain.high)}" for gain in comparison.advantages)]
    rows = []
    for index, method in enumerate(comparison.methods):
        value = comparison.value(method)
        shown = f"<b>{value:.3f}</b>" if ranks[index] == max(ranks) else f"{value:.3f}"
        cells = [shown, str(comparison.intervals[index]), advantages[index]]
        for _, reached, met in comparison.held(method):
            cells.append(f"{reached:.3f} {'met' if met else '<b class=missed>missed</b>'}")
        cells += [f"{method.best_epoch} of {len(method.epochs)}", f"{method.seconds:.1f}"]
        body = "".join(f"<td>{cell}</td>" for cell in cells)
        rows.append(
            f'<tr><th scope=row><i class="key series-{index}"></i>{escape(method.name)}</th>{body}</tr>'
        )
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in heads)
    return (
        f"<div class=scroll><table class=scores><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
        "<p class=hint>Intervals are bootstraps of the test rows; differences are of the same rows. They "
        "leave out how much another split or seed would change.</p>"
    )


def _legend(name: str, comparison: Comparison) -> str:
    if name == "confusion":
        return ""
    if name == "scores":
        keys = [("positive", "positives"), ("negative", "negatives")]
    else:
        keys = [(f"series-{index}", method.name) for index, method in enumerate(comparison.methods)]
    items = "".join(f'<span><i class="key {style}"></i>{escape(text)}</span>' for style, text in keys)
    return f"<p class=legend>{items}</p>"


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
        caption += " Epochs that meet the constraints there come before those that do not."
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


def _signed(number: float) -> str:
    return f"{number:+.3f}"
