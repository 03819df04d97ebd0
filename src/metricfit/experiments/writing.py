"""The report of an experiment in Markdown, from its cells."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from metricfit.experiments.metrics import METRICS, TITLES
from metricfit.experiments.selection import METHODS, Point, points_of
from metricfit.experiments.statistics import TIE, Comparison, Scores, compare, mean_ranks, scores

__all__ = ["labels_in", "markdown"]

OURS = ("metricfit", "metricfit, tuned")
RANKED = ("cross-entropy", "cross-entropy, tuned", "weighted", "metricfit", "metricfit, tuned")
PLAIN = tuple(metric for metric in METRICS if not METRICS[metric].constraints)
# About the standard error of a score on a test part of a few thousand rows.
NOISE = 0.01

CONSTRAINED = tuple(metric for metric in METRICS if METRICS[metric].constraints)


def labels_in(points: Iterable[Point]) -> list[str]:
    """Return the protocols that there are points of."""
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
    points, deployed = points_of(cells), points_of(cells, deployed=True)
    hours = sum(cell["seconds"] for cell in cells) / 3600
    lines = [
        "# Results",
        "",
        f"{len(cells)} training runs, {hours:.1f} hours of one core. A tie is a difference of {TIE} at most.",
        "Each score is that of the test part, with the epoch and the penalty chosen on the validation part.",
        "",
        "```sh",
        *commands,
        "```",
    ]
    for label in labels_in(points):
        mine = [point for point in points if point.label == label]
        table = scores(mine)
        lines += ["", f"## Protocol: {label}", ""]
        lines += [f"![{name}]({name})" for name in images.get(label, ())]
        lines += ["", "### Data sets", "", *_datasets(mine)]
        lines += ["", "### Against the others", "", *_comparisons(table)]
        lines += ["", "### Mean ranks", "", *_ranks(table)]
        for metric in METRICS:
            found = _scores(table, metric)
            lines += ["", f"### {TITLES[metric][0].upper()}{TITLES[metric][1:]}", "", *found] if found else []
        held = [point for point in deployed if point.label == label and point.metric in CONSTRAINED]
        if held:
            lines += ["", "### Constraints, as deployed", "", *_constraints(held)]
    return "\n".join(lines) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
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
    return _table(head, rows)


def _span(numbers: Sequence[int]) -> str:
    if not numbers:
        return "–"
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low}–{high}"


def _comparisons(table: Scores) -> list[str]:
    lines = ["Wins / ties / losses, the mean difference, and p of Wilcoxon's signed-rank test.", ""]
    for ours in OURS:
        rivals = [
            name for name in METHODS if name not in OURS and compare(table, ours, name, tuple(METRICS)).cases
        ]
        rows = [
            [title, *(_told(compare(table, ours, theirs, metrics, tie)) for theirs in rivals)]
            for title, metrics, tie in (
                *((TITLES[metric], (metric,), TIE) for metric in METRICS),
                ("all but precision at recall", PLAIN, TIE),
                ("all", tuple(METRICS), TIE),
                (f"all, with ties up to {NOISE}", tuple(METRICS), NOISE),
            )
        ]
        lines += [*_table((f"{ours} against", *rivals), rows), ""]
    return lines[:-1]


def _told(found: Comparison) -> str:
    if not found.cases:
        return "–"
    told = f"{found.wins} / {found.ties} / {found.losses}, {found.difference:+.3f}"
    if found.p is None:
        return told
    return told + (f", p {found.p:.3f}" if found.p >= 0.001 else ", p < 0.001")


def _ranks(table: Scores) -> list[str]:
    present = [method for method in RANKED if any(method in found for found in table.values())]
    rows = []
    for metric in PLAIN:
        ranks = mean_ranks(table, present, (metric,))
        if ranks:
            rows.append([TITLES[metric], *(f"{ranks[method]:.2f}" for method in present)])
    ranks = mean_ranks(table, present, PLAIN)
    if ranks:
        rows.append(["all of these", *(f"{ranks[method]:.2f}" for method in present)])
    return _table(("", *present), rows)


def _scores(table: Scores, metric: str) -> list[str]:
    cases = {dataset: found for (dataset, name), found in table.items() if name == metric}
    present = [method for method in METHODS if any(method in found for found in cases.values())]
    rows = []
    for dataset, found in cases.items():
        best = f"{max(found.values()):.3f}"
        values = [f"{found[method]:.3f}" if method in found else "–" for method in present]
        rows.append([dataset, *(f"**{value}**" if value == best else value for value in values)])
    return _table(("", *present), rows) if rows else []


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
    return _table(head, rows)
