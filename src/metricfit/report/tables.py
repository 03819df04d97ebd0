"""The tables of the page: scores of all methods, and how each column was used."""

from __future__ import annotations

from html import escape

from metricfit.report.comparison import Comparison

__all__ = ["column_table", "score_table"]


def score_table(comparison: Comparison) -> str:
    """Return a table with a line per method.

    Examples
    --------
    >>> import numpy as np
    >>> import metricfit as mf
    >>> from metricfit.report import Method
    >>> method = Method("ours", np.array([1.0, -1.0]), [], 1, 0.0, 0.1)
    >>> "ours" in score_table(Comparison("toy", mf.f1, np.array([1, 0]), (method,)))
    True
    """
    ranks = [comparison.rank(method) for method in comparison.methods]
    chosen_by = any(method.held_out is not None for method in comparison.methods)
    trained = any(method.epochs for method in comparison.methods)
    further = [comparison.beside(method) for method in comparison.methods]
    heads = ["", comparison.name, "95% interval"]
    if len(comparison.methods) > 1:
        heads.append("the first is better by")
    heads += [*map(str, comparison.metric.constraints), *further[0]]
    heads += ["held out"] * chosen_by + ["epoch"] * trained + ["seconds"]
    advantages = ["", *(f"{gain.low:+.3f} to {gain.high:+.3f}" for gain in comparison.advantages)]
    rows = []
    for index, method in enumerate(comparison.methods):
        value = f"{comparison.value(method):.3f}"
        cells = [
            f"<b>{value}</b>" if ranks[index] == max(ranks) else value,
            str(comparison.intervals[index]),
        ]
        if len(comparison.methods) > 1:
            cells.append(advantages[index])
        for _, reached, met in comparison.held(method):
            cells.append(f"{reached:.3f} {'met' if met else '<b class=missed>missed</b>'}")
        cells += [f"{number:.3f}" for number in further[index].values()]
        if chosen_by:
            cells.append("" if method.held_out is None else f"{method.held_out:.3f}")
        if trained:
            cells.append(f"{method.best_epoch} of {len(method.epochs)}" if method.epochs else "")
        cells.append("" if method.constant else f"{method.seconds:.1f}")
        body = "".join(f"<td>{cell}</td>" for cell in cells)
        key = f'<i class="key series-{index}"></i>'
        rows.append(f"<tr><th scope=row>{key}{escape(method.name)}</th>{body}</tr>")
    head = "".join(f"<th scope=col>{escape(name)}</th>" for name in heads)
    hint = "Intervals are from resampled test rows (bootstrap), the same rows for both methods of a "
    hint += "difference. They do not include how much another split or seed would change."
    if chosen_by:
        hint += (
            " Held out: the metric on training rows that the models had not seen; it decides which is used."
        )
    return (
        f"<div class=scroll><table class=scores><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div><p class=hint>{hint}</p>"
    )


def column_table(comparison: Comparison) -> str:
    """Return how each column was used, or nothing if that is not known."""
    if not comparison.columns:
        return ""
    rows = "".join(
        f"<tr><th scope=row>{escape(one.column)}</th><td>{escape(one.kind)}</td>"
        f"<td>{f'{one.missing:.1%}' if one.missing else ''}</td><td>{escape(one.use)}</td></tr>"
        for one in comparison.columns
    )
    heads = "".join(f"<th scope=col>{name}</th>" for name in ("column", "kind", "missing", "use"))
    return (
        f"<h3 class=columns>Columns</h3><div class=scroll><table class=scores><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )
