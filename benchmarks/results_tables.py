"""The tables of docs/results.md and its appendix, from the points of the recommended protocol."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

from results_ensemble import ENSEMBLE, Recorded
from results_facts import OURS, PLAINEST, TUNED
from scipy.stats import wilcoxon

from metricfit.experiments.costs import Cost
from metricfit.experiments.metrics import TITLES
from metricfit.experiments.selection import METHODS, Point
from metricfit.experiments.statistics import compare, paired, scores
from metricfit.experiments.writing import PLAIN, table, wins_text

# What a practitioner would reach for, with the cut that suits it; the strongest first.
RIVALS = (
    *("MetricEnsemble", "LightGBM, tuned", "trees, tuned", "cross-entropy, tuned", "weighted, tuned"),
    *("balanced, tuned", "focal, tuned", "smp, tuned", "AUCM, tuned", "AP loss, tuned", "soft, tuned"),
    *("weighted", "cross-entropy"),
)
NAMES = {
    "cross-entropy": "cross-entropy, at ½",
    "cross-entropy, tuned": "cross-entropy, tuned",
    "weighted": "class weights, at ½",
    "weighted, tuned": "class weights, tuned",
    "balanced": "balanced batches, at ½",
    "balanced, tuned": "balanced batches, tuned",
    "focal, tuned": "focal loss, tuned",
    "smp": "smp's Dice and MCC losses, at ½",
    "smp, tuned": "smp's Dice and MCC losses, tuned",
    "AUCM, tuned": "LibAUC's AUCM, tuned",
    "AP loss, tuned": "LibAUC's AP loss, tuned",
    "soft": "`SoftMetricLoss`, at ½",
    "soft, tuned": "`SoftMetricLoss`, tuned",
    "metricfit": "`MetricLoss`, at 0",
    "metricfit, tuned": "`MetricLoss`, tuned",
    "trees": "boosted trees, at ½",
    "trees, tuned": "boosted trees, tuned",
    "LightGBM, tuned": "LightGBM, tuned",
    "MetricEnsemble": "`MetricEnsemble`",
}
SHOWN = (*RIVALS, "metricfit", "metricfit, tuned")
# The metrics of mean scores: the recipes that are trained for a metric have these on the most sets.
MEANT = ("f1", "mcc")
MANY_ROWS = 1000
Table = dict[tuple[str, str], dict[str, float]]


def steps(points: Sequence[Point], ensemble: Recorded) -> list[str]:
    """Return what each step from a network with cross-entropy to the ensemble adds: the loss and the rest.

    The steps of one network are over the cases that MetricLoss has.
    """
    cases = {(p.dataset, p.metric, p.seed) for p in points if p.method == OURS}
    chosen = [p for p in points if (p.dataset, p.metric, p.seed) in cases]
    rows = []
    for theirs, ours in (
        (PLAINEST, TUNED),
        (TUNED, OURS),
        (TUNED, f"{OURS}, tuned"),
        (TUNED, "trees, tuned"),
    ):
        found = compare(paired(chosen, ours, theirs), ours, theirs, PLAIN)
        counts = found.wins, found.ties, found.losses
        rows.append([f"{NAMES[theirs]} → {NAMES[ours]}", f"{found.difference:+z.3f}", *_counted(counts)])
    names = (
        "cross-entropy, tuned",
        "`MetricEnsemble` with cross-entropy",
        "`MetricEnsemble` with `MetricLoss`",
    )
    for number, (theirs, ours) in enumerate((("network", "cross-entropy"), ("cross-entropy", ENSEMBLE))):
        less = ensemble.less(ours, theirs)
        rows.append([" → ".join(names[number : number + 2]), f"{less.mean:+z.3f}", *_counted(less.counts)])
    return table(("from → to", "adds, on average", "better / equal / worse", "cases"), rows)


def _counted(counts: tuple[int, int, int]) -> tuple[str, str]:
    return " / ".join(map(str, counts)), f"{sum(counts)}"


def rivals(points: Sequence[Point], spent: dict[str, Cost]) -> list[str]:
    """Return MetricLoss against everything else, with the cut at 0 and with a tuned one."""
    rows = []
    for theirs in RIVALS:
        pair = paired(points, OURS, theirs)
        every = compare(pair, OURS, theirs, PLAIN)
        if not every.cases:
            continue
        tuned = compare(paired(points, f"{OURS}, tuned", theirs), f"{OURS}, tuned", theirs, PLAIN)
        cost = spent.get(METHODS[theirs].loss)
        rows.append(
            [
                NAMES[theirs],
                f"{every.cases}",
                f"{every.wins} / {every.ties} / {every.losses}",
                f"{every.difference:+z.3f}",
                _over_sets(pair, theirs),
                f"{tuned.difference:+z.3f}",
                "–" if cost is None or cost.times is None else f"{cost.times:.1f}",
            ]
        )
    mine = spent.get("metricfit")
    head = (
        "`MetricLoss`, at 0, against",
        "cases",
        "better / equal / worse",
        "mean difference",
        "p",
        "with a tuned threshold",
        f"an epoch ({mine.times:.1f} for `MetricLoss`)" if mine and mine.times else "an epoch",
    )
    return table(head, rows)


def _over_sets(pair: Table, theirs: str) -> str:
    """Return p of the signed-rank test with one number per data set: the mean over its metrics."""
    by_set: dict[str, list[float]] = defaultdict(list)
    for (dataset, metric), found in pair.items():
        if metric in PLAIN and OURS in found and theirs in found:
            by_set[dataset].append(found[OURS] - found[theirs])
    means = [statistics.fmean(differences) for differences in by_set.values()]
    if len(means) < 6 or not any(means):
        return "–"
    p = float(wilcoxon(means).pvalue)
    return f"{p:.3f}" if p >= 0.001 else "< 0.001"


def when(points: Sequence[Point], images: Sequence[Point]) -> list[str]:
    """Return how much training for the metric adds, by the kind of data set."""

    def share(point: Point) -> float:
        return float(point.cell["positives"]["train"] / point.cell["rows"]["train"])

    def validation(point: Point) -> int:
        return int(point.cell["rows"]["validation"])

    kinds: list[tuple[str, Callable[[Point], bool]]] = [
        ("sets with fewer than 10 % positive", lambda point: share(point) < 0.1),
        ("sets with 10 to 30 % positive", lambda point: 0.1 <= share(point) < 0.3),
        ("sets with 30 % positive or more", lambda point: share(point) >= 0.3),
        (f"fewer than {MANY_ROWS} rows to tune on", lambda point: validation(point) < MANY_ROWS),
        (f"{MANY_ROWS} rows to tune on, or more", lambda point: validation(point) >= MANY_ROWS),
        *((TITLES[metric], _is(metric)) for metric in PLAIN),
    ]
    rows: list[list[str]] = []
    for title, holds in kinds:
        rows += _kind(title, [point for point in points if holds(point)])
    rows += _kind("images, with the paper's convolutional network", images)
    return table(("cases", "sets", "against cross-entropy at ½", "against a tuned threshold"), rows)


def _kind(title: str, chosen: Sequence[Point]) -> list[list[str]]:
    """Return the row of some points, if there are any."""
    sets = {point.dataset for point in chosen if point.method == OURS}
    if not sets:
        return []
    compared = [compare(paired(chosen, OURS, t), OURS, t, PLAIN) for t in (PLAINEST, TUNED)]
    return [[title, f"{len(sets)}", *(wins_text(found) for found in compared)]]


def _is(metric: str) -> Callable[[Point], bool]:
    return lambda point: point.metric == metric


def means(points: Sequence[Point], spent: dict[str, Cost]) -> list[str]:
    """Return mean scores over the sets that all these methods have, and what they cost."""
    rows = [
        [NAMES[method], *values, "–" if cost is None else f"{cost:.0f}"]
        for method, cost, values in mean_scores(points, spent)
    ]
    return table(("", *(TITLES[metric] for metric in MEANT), "seconds"), rows)


def mean_scores(points: Sequence[Point], spent: dict[str, Cost]) -> list[tuple[str, float | None, list[str]]]:
    """Return the methods with their times and mean scores, over the cases that all but the ensemble have."""
    chosen = [p for p in points if p.metric in MEANT and p.method in NAMES and p.method != "MetricEnsemble"]
    found = scores(chosen)
    methods = [method for method in METHODS if any(method in each for each in found.values())]
    sets = whole_sets(points)
    rows = []
    for method in methods:
        cost = spent.get(METHODS[method].loss)
        values = [
            f"{statistics.fmean(found[name, metric][method] for name in sets):.3f}" if sets else "–"
            for metric in MEANT
        ]
        rows.append((method, None if cost is None else cost.whole, values))
    return rows


def whole_sets(points: Sequence[Point]) -> list[str]:
    """Return the data sets that all methods but the ensemble have, by all metrics of the means."""
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for point in points:
        if point.metric in MEANT and point.method in NAMES and point.method != "MetricEnsemble":
            found[point.dataset].add((point.metric, point.method))
    every = set.union(*found.values()) if found else set()
    return sorted(name for name, present in found.items() if present == every)
