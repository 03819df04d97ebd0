"""The figures that docs/results.md and its appendix quote, from the recorded cells and nothing else."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from scipy.stats import wilcoxon

from metricfit.experiments.costs import Cost, costs
from metricfit.experiments.metrics import METRICS, TITLES
from metricfit.experiments.selection import METHODS, Point, equal_budgets, points_of
from metricfit.experiments.statistics import TIE, compare, paired, scores
from metricfit.experiments.writing import CONSTRAINED, PLAIN, table, told

OURS, PLAINEST, TUNED = "metricfit", "cross-entropy", "cross-entropy, tuned"
# The columns of the first table: everything that a practitioner would reach for.
RIVALS = (
    *("cross-entropy", "cross-entropy, tuned", "weighted", "weighted, tuned", "balanced", "balanced, tuned"),
    *("focal, tuned", "smp", "smp, tuned", "AUCM, tuned", "AP loss, tuned", "soft", "soft, tuned"),
    *("trees", "trees, tuned", "LightGBM, tuned", "MetricEnsemble"),
)
NAMES = {
    "cross-entropy": "cross-entropy, at ½",
    "cross-entropy, tuned": "cross-entropy, tuned",
    "weighted": "class weights, at ½",
    "weighted, tuned": "class weights, tuned",
    "balanced": "balanced batches, at ½",
    "balanced, tuned": "balanced batches, tuned",
    "focal, tuned": "focal loss, tuned",
    "smp": "Dice, Tversky, MCC losses, at ½",
    "smp, tuned": "Dice, Tversky, MCC losses, tuned",
    "AUCM, tuned": "LibAUC's AUCM, tuned",
    "AP loss, tuned": "LibAUC's AP loss, tuned",
    "soft": "`SoftMetricLoss`, at ½",
    "soft, tuned": "`SoftMetricLoss`, tuned",
    "metricfit": "`MetricLoss`, at ½",
    "metricfit, tuned": "`MetricLoss`, tuned",
    "trees": "boosted trees, at ½",
    "trees, tuned": "boosted trees, tuned",
    "LightGBM, tuned": "LightGBM, tuned",
    "MetricEnsemble": "`MetricEnsemble`",
}
# Of each recipe, the cut that suits it, for the figure of costs.
SHOWN = (
    *("cross-entropy", "cross-entropy, tuned", "weighted", "balanced, tuned", "focal, tuned", "smp"),
    *("AUCM, tuned", "AP loss, tuned", "soft", "metricfit", "metricfit, tuned", "trees, tuned"),
    "LightGBM, tuned",
)
NOISE = 0.01
MANY_ROWS = 1000
Table = dict[tuple[str, str], dict[str, float]]


@dataclass(frozen=True)
class Evidence:
    """The cells, and the points of the protocols that the pages speak of."""

    cells: Sequence[dict[str, Any]]
    recommended: Sequence[Point]
    paper: Sequence[Point]
    images: Sequence[Point]

    @classmethod
    def of(cls, cells: Sequence[dict[str, Any]]) -> Evidence:
        """Sort the cells; the paper's protocol is compared at the same number of epochs for both."""
        fair = equal_budgets([c for c in cells if c["protocol"] == "paper"], (PLAINEST, OURS))
        points = points_of([c for c in cells if c["protocol"] in ("recommended", "images")])
        by_label = {name: [p for p in points if p.label == name] for name in ("recommended", "images")}
        return cls(cells, by_label["recommended"], points_of(fair), by_label["images"])


def facts(evidence: Evidence, ensemble: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return every figure by the name that the templates use."""
    points = evidence.recommended
    spent = costs(c for c in evidence.cells if c["protocol"] == "recommended")
    found = {
        "cells": f"{len(evidence.cells)}",
        "hours": f"{sum(cell['seconds'] for cell in evidence.cells) / 3600:.0f}",
        "sets": f"{len({point.dataset for point in points})}",
        "tie": f"{TIE:g}",
        "noise": f"{NOISE:g}",
        "rivals": "\n".join(_rivals(points, spent)),
        "when": "\n".join(_when(points)),
        "costs": "\n".join(_means(points, spent)),
        "versions": ", ".join(_versions(evidence.cells)),
        **_against("ce", points, PLAINEST),
        **_against("tuned", points, TUNED),
        **_against("weighted_tuned", points, "weighted, tuned"),
        **_against("smp_tuned", points, "smp, tuned"),
        **_against("trees_tuned", points, "trees, tuned"),
        **_against("images", evidence.images, PLAINEST),
        **_against("images_tuned", evidence.images, TUNED),
        **_line("paper", evidence.paper, PLAINEST),
        **_line("paper_tuned", evidence.paper, TUNED),
        "more_epochs": _more_epochs(evidence.paper),
        **_promises(evidence.cells),
        **_ensemble(list(ensemble)),
    }
    for name, cost in spent.items():
        key = name.replace("-", "_")
        found[f"cost_{key}"] = "–" if cost.times is None else f"{cost.times:.1f}"
        found[f"whole_{key}"] = f"{cost.whole:.0f}"
    return found


def _against(name: str, points: Sequence[Point], theirs: str) -> dict[str, str]:
    """Return how metricfit does against a method, over the metrics that are measured at a cut."""
    pair = paired(points, OURS, theirs)
    every, clear = compare(pair, OURS, theirs, PLAIN), compare(pair, OURS, theirs, PLAIN, NOISE)
    told = {
        f"{name}_cases": f"{every.cases}",
        f"{name}_good": f"{every.wins + every.ties}",
        f"{name}_difference": f"{every.difference:+.3f}",
        f"{name}_clear_wins": f"{clear.wins}",
        f"{name}_even": f"{clear.ties}",
        f"{name}_clear_losses": f"{clear.losses}",
    }
    for metric in PLAIN:
        told[f"{name}_{metric}"] = f"{compare(pair, OURS, theirs, (metric,)).difference:+.3f}"
    return told


def _line(name: str, points: Sequence[Point], theirs: str) -> dict[str, str]:
    """Return the share of points on or above the line of the paper's Figure 2."""
    every = compare(paired(points, OURS, theirs), OURS, theirs, tuple(METRICS))
    share = 100 * (every.wins + every.ties) / every.cases if every.cases else 0.0
    return {
        f"{name}_points": f"{every.cases}",
        f"{name}_above": f"{every.wins + every.ties}",
        f"{name}_share": f"{share:.0f}",
        f"{name}_line_difference": f"{every.difference:+.3f}",
    }


def _more_epochs(points: Sequence[Point]) -> str:
    """Return what the share is on the sets whose budget came to the paper's 100 epochs."""
    whole = {p.dataset for p in points if p.cell["epochs_run"] == p.cell["epochs"]}
    chosen = [point for point in points if point.dataset in whole]
    found, tuned = _line("", chosen, PLAINEST), _line("", chosen, TUNED)
    names = ", ".join(sorted(whole))
    return (
        f"On the {len(whole)} sets with all 100 epochs for both ({names}) metricfit is on or "
        f"above\ncross-entropy in {found['_above']} of {found['_points']} cases, and on or above its tuned "
        f"threshold in {tuned['_above']} of {tuned['_points']}."
    )


def _rivals(points: Sequence[Point], spent: dict[str, Cost]) -> list[str]:
    rows = []
    for theirs in RIVALS:
        pair = paired(points, OURS, theirs)
        every, clear = compare(pair, OURS, theirs, PLAIN), compare(pair, OURS, theirs, PLAIN, NOISE)
        if not every.cases:
            continue
        cost = spent.get(METHODS[theirs].loss)
        times = "–" if cost is None or cost.times is None else f"{cost.times:.1f}"
        row = [
            NAMES[theirs],
            f"{every.cases}",
            f"{every.wins} / {every.ties} / {every.losses}",
            f"{clear.wins} / {clear.losses}",
            f"{every.difference:+.3f}",
            _over_sets(pair, theirs),
            times,
        ]
        rows.append(row)
    mine = spent.get("metricfit")
    head = (
        "`MetricLoss`, cut at 0, against",
        "cases",
        "better / equal / worse",
        f"by more than {NOISE:g}",
        "mean difference",
        "p",
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


def _when(points: Sequence[Point]) -> list[str]:
    """Return how much training for the metric adds, by the kind of data set."""

    def share(point: Point) -> float:
        return float(point.cell["positives"]["train"] / point.cell["rows"]["train"])

    def validation(point: Point) -> int:
        return int(point.cell["rows"]["validation"])

    kinds: list[tuple[str, Callable[[Point], bool]]] = [
        ("fewer than 10 % positive", lambda point: share(point) < 0.1),
        ("10 to 30 % positive", lambda point: 0.1 <= share(point) < 0.3),
        ("30 % positive or more", lambda point: share(point) >= 0.3),
        (f"fewer than {MANY_ROWS} rows to tune on", lambda point: validation(point) < MANY_ROWS),
        (f"{MANY_ROWS} rows to tune on, or more", lambda point: validation(point) >= MANY_ROWS),
    ]
    rows = []
    for title, holds in kinds:
        chosen = [point for point in points if holds(point)]
        if not chosen:
            continue
        compared = [compare(paired(chosen, OURS, t), OURS, t, PLAIN) for t in (PLAINEST, TUNED)]
        rows.append([title, f"{len({p.dataset for p in chosen})}", *(told(found) for found in compared)])
    return table(("data sets with", "sets", "against cross-entropy at ½", "against a tuned threshold"), rows)


def _means(points: Sequence[Point], spent: dict[str, Cost]) -> list[str]:
    """Return mean scores over the sets that all these methods have, and what they cost."""
    rows = [
        [NAMES[method], *values, "–" if cost is None else f"{cost:.0f}"]
        for method, cost, values in mean_scores(points, spent)
    ]
    return table(("", *(TITLES[metric] for metric in MEANT), "seconds"), rows)


MEANT = ("f1", "f2", "mcc")


def mean_scores(points: Sequence[Point], spent: dict[str, Cost]) -> list[tuple[str, float | None, list[str]]]:
    """Return the methods with their times and mean scores, over the cases that all but the ensemble have."""
    chosen = [p for p in points if p.metric in MEANT and p.method in NAMES and p.method != "MetricEnsemble"]
    found = scores(chosen)
    methods = [method for method in METHODS if any(method in each for each in found.values())]
    whole = [case for case, each in found.items() if all(method in each for method in methods)]
    sets = {name for name, _ in whole if all((name, metric) in whole for metric in MEANT)}
    rows = []
    for method in methods:
        cost = spent.get(METHODS[method].loss)
        values = [
            f"{statistics.fmean(found[name, metric][method] for name in sorted(sets)):.3f}" if sets else "–"
            for metric in MEANT
        ]
        rows.append((method, None if cost is None else cost.whole, values))
    return rows


def _versions(cells: Iterable[dict[str, Any]]) -> list[str]:
    found: dict[str, int] = defaultdict(int)
    for cell in cells:
        versions = cell["versions"]
        found[f"metricfit {versions['metricfit']} with PyTorch {versions['torch']}"] += 1
    return [
        f"{count} with {name}".replace(" with metricfit", " by metricfit") for name, count in found.items()
    ]


def _promises(cells: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return how often the deployed decision met the recall on test data."""
    points = [p for p in points_of(cells, deployed=True) if p.label == "recommended"]
    told = {}
    for metric in CONSTRAINED:
        target = METRICS[metric].constraints[0].threshold
        for name, method in (("zero", OURS), ("tuned", f"{OURS}, tuned"), ("ce_tuned", TUNED)):
            found = [p for p in points if p.metric == metric and p.method == method]
            told[f"{metric}_{name}_met"] = f"{sum(p.recall >= target - 1e-9 for p in found)}"
            told[f"{metric}_cases"] = f"{len(found)}"
    return told


def _ensemble(rows: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return the table of benchmarks/ensemble.py: means over seeds, one case for a set and a metric."""
    values: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        values[row["set"], row["metric"], row["method"]].append(row["value"])
    mean = {key: statistics.fmean(found) for key, found in values.items()}
    names = {
        "network": "one network, cross-entropy, tuned",
        "lightgbm": "LightGBM, tuned",
        "trees": "boosted trees, tuned",
        "cross-entropy": "the same ensemble, its network trained with cross-entropy",
    }
    lines, told = [], {"ensemble_sets": f"{len({name for name, _, _ in mean})}"}
    for method, title in names.items():
        differences = [
            mean[name, metric, "ensemble"] - value
            for (name, metric, other), value in mean.items()
            if other == method and (name, metric, "ensemble") in mean
        ]
        wins, losses = sum(d > TIE for d in differences), sum(d < -TIE for d in differences)
        key = method.replace("-", "_")
        told[f"ensemble_{key}_wins"] = f"{wins}"
        told[f"ensemble_{key}_cases"] = f"{len(differences)}"
        told[f"ensemble_{key}_difference"] = f"{statistics.fmean(differences):+.3f}"
        even = len(differences) - wins - losses
        lines.append(
            [title, f"{len(differences)}", f"{wins} / {even} / {losses}", told[f"ensemble_{key}_difference"]]
        )
    head = ("`MetricEnsemble` against", "cases", "better / equal / worse", "mean difference")
    return {**told, "ensemble": "\n".join(table(head, lines))}
