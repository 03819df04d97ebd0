"""The tables of an experiment in Markdown, from its cells."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from metricfit.experiments.costs import costs
from metricfit.experiments.metrics import METRICS, TITLES
from metricfit.experiments.recipes import RECIPES
from metricfit.experiments.selection import METHODS, Point, points_of
from metricfit.experiments.statistics import TIE, Comparison, compare, mean_ranks, paired, scores

__all__ = ["CONSTRAINED", "PLAIN", "labels_in", "markdown", "sections", "table", "wins_text"]

OURS = ("metricfit", "metricfit, tuned")
PLAIN = tuple(metric for metric in METRICS if not METRICS[metric].constraints)
CONSTRAINED = tuple(metric for metric in METRICS if METRICS[metric].constraints)


def labels_in(points: Iterable[Point]) -> list[str]:
    """Return the protocols that have points."""
    return sorted({point.label for point in points})


def markdown(cells: Sequence[dict[str, Any]], commands: Sequence[str], images: dict[str, list[str]]) -> str:
    """Return the whole report.

    Parameters
    ----------
    cells : sequence of dict
        The finished runs.
    commands : sequence of str
        What was run, for the reader to run it again.
    images : dict
        The names of the plots of each protocol.
    """
    lines = [
        "# Results",
        "",
        f"{len(cells)} cells, {_time(cells)} of one core. A tie is a difference of {TIE} at most.",
        "Each score is that of the test part, with the epoch and the penalty chosen on the validation part.",
        "",
        "```sh",
        *commands,
        "```",
    ]
    for label in labels_in(points_of(cells)):
        lines += ["", f"## Protocol: {label}", ""]
        lines += [f"![{name}]({name})" for name in images.get(label, ())]
        lines += ["", *sections(cells, label)]
    return "\n".join(lines) + "\n"


def _time(cells: Sequence[dict[str, Any]]) -> str:
    seconds = sum(cell["seconds"] for cell in cells)
    return f"{seconds / 3600:.1f} hours" if seconds >= 3600 else f"{seconds / 60:.1f} minutes"


def sections(cells: Sequence[dict[str, Any]], label: str) -> list[str]:
    """Return the tables of one protocol, each under a heading of the third level."""
    mine = [point for point in points_of(cells) if point.label == label]
    held = [
        point
        for point in points_of(cells, deployed=True)
        if point.label == label and point.metric in CONSTRAINED
    ]
    lines = ["### Data sets", "", *_datasets(mine), "", "### Against the others", "", *_comparisons(mine)]
    ranks = _ranks(mine)
    lines += ["", "### Mean ranks", "", *ranks] if ranks else []
    spent = _costs([cell for cell in cells if cell["protocol"] == label])
    lines += ["", "### Costs", "", *spent] if spent else []
    for metric in METRICS:
        found = _scores([point for point in mine if point.metric == metric])
        lines += ["", f"### {TITLES[metric][0].upper()}{TITLES[metric][1:]}", "", *found] if found else []
    lines += ["", "### Constraints, as deployed", "", *_constraints(held)] if held else []
    return lines


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table; its first column is text and the others are numbers.

    Examples
    --------
    >>> table(["", "F1"], [["abalone", "0.4"]])
    ['|  | F1 |', '| --- | ---: |', '| abalone | 0.4 |']
    """
    rule = ["---", *["---:"] * (len(head) - 1)]
    return ["| " + " | ".join(row) + " |" for row in (head, rule, *rows)]


def _datasets(points: Sequence[Point]) -> list[str]:
    rows = []
    for dataset in dict.fromkeys(point.dataset for point in points):
        cells = [point.cell for point in points if point.dataset == dataset]
        sizes, positives = cells[0]["rows"], cells[0]["positives"]
        share = 100 * positives["train"] / sizes["train"]
        spans = (
            _span([cell["epochs_run"] for cell in cells if cell["loss"] == loss])
            for loss in ("cross-entropy", "metricfit")
        )
        seeds = len({cell["seed"] for cell in cells})
        name = dataset if cells[0]["whole"] else f"{dataset} (in part)"
        parts = f"{sizes['train']} / {sizes['validation']} / {sizes['test']}"
        rows.append([name, parts, f"{share:.0f} %", *spans, str(seeds)])
    head = ("", "train / validation / test", "positive", "epochs, cross-entropy", "metricfit", "seeds")
    return table(head, rows)


def _span(numbers: Sequence[int]) -> str:
    if not numbers:
        return "–"
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def _comparisons(points: Sequence[Point]) -> list[str]:
    lines = ["Wins / ties / losses and the mean difference; p is that of Wilcoxon's signed-rank test.", ""]
    present = {point.method for point in points}
    for ours in OURS:
        rows = []
        for theirs in METHODS:
            pair = paired(points, ours, theirs)
            every = compare(pair, ours, theirs, PLAIN)
            if theirs in OURS or theirs not in present or not every.cases:
                continue
            each = (wins_text(compare(pair, ours, theirs, (metric,))) for metric in METRICS)
            p = "–" if every.p is None else (f"{every.p:.3f}" if every.p >= 0.001 else "< 0.001")
            rows.append([theirs, *each, wins_text(every), p])
        if rows:
            head = (f"{ours} against", *(TITLES[metric] for metric in METRICS), "the first six", "p")
            lines += [*table(head, rows), ""]
    return lines[:-1]


def wins_text(found: Comparison) -> str:
    """Return a comparison in the form of the tables.

    Examples
    --------
    >>> wins_text(Comparison(3, 1, 0, 0.0123, None))
    '3 / 1 / 0, +0.012'
    """
    return f"{found.wins} / {found.ties} / {found.losses}, {found.difference:+.3f}" if found.cases else "–"


def _ranks(points: Sequence[Point]) -> list[str]:
    """Return mean ranks of the methods that have all cases of MetricLoss, or of any method without it."""
    unconstrained = [point for point in points if point.metric in PLAIN]
    ours = [point for point in unconstrained if point.method == OURS[0]]
    wanted = {(point.dataset, point.metric) for point in ours or unconstrained}
    present = [
        method
        for method in METHODS
        if wanted <= {(point.dataset, point.metric) for point in points if point.method == method}
    ]
    found = scores(point for point in points if point.method in present)
    groups = [*((TITLES[metric], (metric,)) for metric in PLAIN), ("all of these", PLAIN)]
    ranks = [(title, mean_ranks(found, present, metrics)) for title, metrics in groups]
    rows = [[title, *(f"{each[method]:.2f}" for method in present)] for title, each in ranks if each]
    return table(("", *present), rows) if rows else []


def _costs(cells: Sequence[dict[str, Any]]) -> list[str]:
    rows = []
    for name, cost in costs(cells).items():
        times = "–" if cost.times is None else f"{cost.times:.1f}"
        rows.append([f"{name}: {RECIPES[name].about}", f"{cost.sets}", times, f"{cost.whole:.1f}"])
    head = ("", "sets", "an epoch, times cross-entropy", "seconds of a training")
    return table(head, rows) if rows else []


def _scores(points: Sequence[Point]) -> list[str]:
    """Return the scores by one metric, over the seeds that each method has."""
    groups: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for point in points:
        groups[point.dataset][point.method].append(point.test)
    present = [method for method in METHODS if any(method in found for found in groups.values())]
    rows = []
    for dataset, found in groups.items():
        values = {method: f"{statistics.fmean(tests):.3f}" for method, tests in found.items()}
        best = max(values.values())
        shown = [values.get(method, "–") for method in present]
        rows.append([dataset, *(f"**{value}**" if value == best else value for value in shown)])
    return table(("", *present), rows) if rows else []


def _constraints(points: Sequence[Point]) -> list[str]:
    groups: dict[tuple[str, str], list[Point]] = defaultdict(list)
    for point in points:
        groups[point.metric, point.method].append(point)
    rows = []
    for metric in CONSTRAINED:
        target = METRICS[metric].constraints[0].threshold
        for method in METHODS:
            found = groups.get((metric, method), [])
            if not found:
                continue
            short = [max(0.0, target - point.recall) for point in found]
            rows.append(
                [
                    f"recall ≥ {target:g}, {method}",
                    f"{sum(s <= 1e-9 for s in short)} of {len(found)}",
                    f"{sum(s <= 0.02 for s in short)} of {len(found)}",
                    f"{statistics.fmean(point.recall for point in found):.3f}",
                    f"{max(short):.3f}",
                    f"{statistics.fmean(point.test for point in found):.3f}",
                ]
            )
    head = ("", "met on test data", "met within 0.02", "mean recall", "worst shortfall", "mean precision")
    return table(head, rows)
