"""The figures of a comparison."""

from __future__ import annotations

from html import escape

import numpy as np
import numpy.typing as npt

import metricfit as mf
from metricfit.report.comparison import Comparison, Importance, Method
from metricfit.report.svg import Plot, bar_chart
from metricfit.report.thresholds import threshold_curve

__all__ = [
    "calibration_curves",
    "confusion_matrices",
    "drawn",
    "importances",
    "metric_by_threshold",
    "precision_recall",
    "score_histograms",
    "training_curves",
]

BINS = 30
# Curves of large test sets are thinned to so many points, which does not change how they look.
POINTS = 400
# The most columns that are shown, the most groups of rows for calibration, the fewest positives of a group.
COLUMNS, GROUPS, POSITIVES = 20, 10, 5


def confusion_matrices(comparison: Comparison) -> str:
    """Return one small table per method."""
    tables = []
    for method in comparison.methods:
        cells = comparison.confusion(method)
        rows = [("actual positive", ("tp", "fn")), ("actual negative", ("fp", "tn"))]
        body = "".join(
            f"<tr><th scope=row>{name}</th>"
            + "".join(
                f'<td class="cell" style="--share:{_share(cells, key, keys):.3f}"><b>{cells[key]:.10g}</b>'
                f"<small>{key}</small></td>"
                for key in keys
            )
            + "</tr>"
            for name, keys in rows
        )
        tables.append(
            f"<table class=confusion><caption>{escape(method.name)}</caption>"
            f"<tr><td></td><th scope=col>predicted positive</th><th scope=col>predicted negative</th></tr>"
            f"{body}</table>"
        )
    return "".join(tables)


def precision_recall(comparison: Comparison) -> str:
    """Return the precision-recall curves, each method's decision, and the constraints as lines."""
    plot = Plot("Precision-recall curves", (0, 1), (0, 1), "recall", "precision")
    for constraint in comparison.metric.constraints:
        _draw_constraint(plot, constraint, comparison.labels)
    for index, method in drawn(comparison):
        recall, precision = _curve(comparison.labels, method.margins, comparison.weights)
        plot.line(list(recall), list(precision), f"series-{index}", method.name)
    for index, method in enumerate(comparison.methods):
        recall_here = comparison.score(mf.recall, method)
        precision_here = comparison.score(mf.precision, method)
        tip = f"{method.name}: recall {recall_here:.3f}, precision {precision_here:.3f}"
        plot.mark(recall_here, precision_here, f"series-{index}", tip)
    return plot.svg()


def score_histograms(comparison: Comparison) -> str:
    """Return, for every method, histograms of the scores of positives and of negatives."""
    return "".join(
        f"<div><p class=legend>{escape(method.name)}</p>{_histogram(comparison.labels, method)}</div>"
        for _, method in drawn(comparison)
    )


def drawn(comparison: Comparison) -> list[tuple[int, Method]]:
    """Return the methods that have a curve, all but the constant ones, with their index."""
    return [(index, one) for index, one in enumerate(comparison.methods) if not one.constant]


def metric_by_threshold(comparison: Comparison) -> str:
    """Return the metric of the first method by threshold, with a band and the range of the best threshold."""
    method = comparison.methods[0]
    curve = threshold_curve(comparison.metric, comparison.labels, method.margins, comparison.weights)
    limits = (float(curve.low.min()), float(curve.high.max()))
    plot = Plot(
        "Metric against threshold",
        (float(curve.thresholds[0]), float(curve.thresholds[-1])),
        limits,
        "threshold minus the chosen one",
        comparison.metric.name,
    )
    low, high = curve.best
    plot.strip(low, high, f"95 % of resamplings have their best threshold from {low:.3g} to {high:.3g}")
    plot.band(curve.thresholds.tolist(), curve.low.tolist(), curve.high.tolist(), "series-0")
    plot.line(curve.thresholds.tolist(), curve.values.tolist(), "series-0", method.name)
    plot.rule(x=0.0, tip="the chosen threshold")
    plot.mark(0.0, comparison.value(method), "series-0", f"chosen: {comparison.value(method):.3f}")
    return plot.svg()


def calibration_curves(comparison: Comparison) -> str:
    """Return, in groups of rows with similar probabilities, how many are positive."""
    groups = []
    for index, method in drawn(comparison):
        if method.probabilities is not None:
            found = _calibration(comparison.labels, method.probabilities, comparison.weights)
            groups.append((index, method, *found))
    top = min(1.0, 1.05 * max((float(max(x.max(), y.max())) for _, _, x, y in groups), default=1.0))
    plot = Plot("Calibration", (0, top), (0, top), "predicted probability", "share of positives")
    plot.line([0, top], [0, top], "rule", "perfect calibration")
    for index, method, predicted, observed in groups:
        plot.line(predicted.tolist(), observed.tolist(), f"series-{index}", method.name)
        for x, y in zip(predicted, observed, strict=True):
            tip = f"{method.name}: predicted {x:.3f}, {y:.3f} are positive"
            plot.mark(float(x), float(y), f"series-{index}", tip, radius=3)
    return plot.svg()


def importances(found: tuple[Importance, ...]) -> str:
    """Return the columns that matter most, as bars."""
    ranked = sorted(found, key=lambda one: -one.drop)[:COLUMNS]
    tips = [f"{one.column}: {one.drop:.4f}, spread {one.spread:.4f}" for one in ranked]
    return bar_chart(
        "Importance of columns", [one.column for one in ranked], [one.drop for one in ranked], tips
    )


def training_curves(comparison: Comparison) -> str:
    """Return the metric on the held-out rows after every epoch, and the epochs that were kept."""
    values = [epoch["valid_metric"] for method in comparison.methods for epoch in method.epochs]
    longest = max((len(method.epochs) for method in comparison.methods), default=1)
    limits = (min(values, default=0.0), max(values, default=1.0))
    axis = f"{comparison.name}, held-out rows"
    plot = Plot("Training curves", (1, max(longest, 2)), limits, "epoch", axis, counted=True)
    for index, method in enumerate(comparison.methods):
        epochs = list(range(1, len(method.epochs) + 1))
        plot.line(epochs, [epoch["valid_metric"] for epoch in method.epochs], f"series-{index}", method.name)
    for index, method in enumerate(comparison.methods):
        if method.epochs:
            best = method.epochs[method.best_epoch - 1]["valid_metric"]
            tip = f"{method.name}: epoch {method.best_epoch} was kept, {best:.3f}"
            plot.mark(method.best_epoch, best, f"series-{index}", tip)
    return plot.svg()


def _histogram(labels: npt.NDArray[np.int64], method: Method) -> str:
    # Extreme scores are drawn at the border, since they would push all others into one bar.
    low, high = np.quantile(method.margins, [0.01, 0.99])
    edges = np.linspace(min(low, 0.0), max(high, 0.0), BINS + 1)
    if edges[-1] <= edges[0]:
        edges = np.linspace(-1.0, 1.0, BINS + 1)
    within = np.clip(method.margins, edges[0], edges[-1])
    heights = [
        np.histogram(within[labels == label], bins=edges)[0] / max(int((labels == label).sum()), 1)
        for label in (0, 1)
    ]
    top = max(float(height.max()) for height in heights)
    plot = Plot(
        f"Scores of {method.name}",
        (edges[0], edges[-1]),
        (0.0, top),
        "score minus threshold",
        "share of class",
    )
    plot.bars(list(edges), list(heights[0]), "negative", "negatives")
    plot.bars(list(edges), list(heights[1]), "positive", "positives")
    plot.rule(x=0.0, tip="the decision")
    return plot.svg()


def _curve(
    labels: npt.NDArray[np.int64], margins: npt.NDArray[np.float64], weights: npt.NDArray[np.float64] | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    order = np.argsort(-margins, kind="stable")
    ranked = margins[order]
    ends = np.append(np.flatnonzero(ranked[:-1] > ranked[1:]), len(ranked) - 1)
    counts = np.ones(len(labels)) if weights is None else weights[order]
    hits, above = np.cumsum(counts * labels[order])[ends], np.cumsum(counts)[ends]
    recall, precision = hits / max(float(hits[-1]), 1e-300), hits / np.maximum(above, 1e-300)
    kept = np.unique(np.linspace(0, len(ends) - 1, min(len(ends), POINTS)).astype(int))
    return recall[kept], precision[kept]


def _calibration(
    labels: npt.NDArray[np.int64],
    probabilities: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64] | None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the mean probability and the share of positives of groups with about equally many positives."""
    counts = np.ones(len(labels)) if weights is None else weights
    groups = int(np.clip(labels.sum() // POSITIVES, 2, GROUPS))
    order = np.argsort(probabilities, kind="stable")
    # Groups by the sum of probabilities, so that those of rare positives are not all near 0.
    sums = np.cumsum((counts * probabilities)[order])
    group = np.minimum((groups * sums / sums[-1]).astype(np.int64), groups - 1)
    size = np.bincount(group, counts[order], minlength=groups)
    kept = size > 0.0
    predicted = np.bincount(group, (counts * probabilities)[order], minlength=groups)[kept] / size[kept]
    observed = np.bincount(group, (counts * labels)[order], minlength=groups)[kept] / size[kept]
    return predicted, observed


def _draw_constraint(plot: Plot, constraint: mf.Constraint, labels: npt.NDArray[np.int64]) -> None:
    """Draw where a constraint just holds, for metrics that can be drawn on these axes."""
    tip = str(constraint)
    if constraint.metric == mf.recall:
        plot.rule(x=constraint.threshold, tip=tip)
    elif constraint.metric == mf.precision:
        plot.rule(y=constraint.threshold, tip=tip)
    elif constraint.metric == mf.specificity:
        positives, negatives = int(labels.sum()), int((labels == 0).sum())
        false_alarms = (1.0 - constraint.threshold) * negatives
        recall = np.linspace(0.0, 1.0, 101)
        precision = recall * positives / np.maximum(recall * positives + false_alarms, 1e-12)
        plot.line(list(recall), list(precision), "rule", tip)


def _share(cells: dict[str, float], key: str, keys: tuple[str, str]) -> float:
    total = sum(cells[name] for name in keys)
    return cells[key] / total if total else 0.0
