"""The figures that docs/results.md and its appendix quote, from the recorded cells and nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from metricfit.experiments.metrics import METRICS
from metricfit.experiments.selection import Point, equal_budgets, points_of
from metricfit.experiments.statistics import TIE, compare, paired
from metricfit.experiments.writing import CONSTRAINED, PLAIN

OURS, PLAINEST, TUNED = "metricfit", "cross-entropy", "cross-entropy, tuned"
NOISE = 0.01


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


def facts(evidence: Evidence) -> dict[str, str]:
    """Return every figure by the name that the templates use."""
    points = evidence.recommended
    return {
        "cells": f"{len(evidence.cells)}",
        "hours": f"{sum(c['seconds'] for c in evidence.cells if c['protocol'] != 'images') / 3600:.0f}",
        "sets": f"{len({point.dataset for point in points})}",
        "all_sets": f"{len({point.dataset for point in (*points, *evidence.images)})}",
        "partial": ", ".join(sorted({p.dataset for p in points if not p.cell["whole"]})) or "none",
        "seeds": _seeds(points),
        "images_seeds": _seeds(evidence.images),
        "paper_seeds": _seeds(evidence.paper),
        "tie": f"{TIE:g}",
        "noise": f"{NOISE:g}",
        "versions": ", ".join(_versions(evidence.cells)),
        **{
            f"cells_{name}": f"{sum(cell['protocol'] == name for cell in evidence.cells)}"
            for name in ("recommended", "paper", "images")
        },
        "older": _older(evidence.cells),
        "timed": f"{sum('epoch_seconds' in cell for cell in evidence.cells)}",
        "processors": _processors(evidence.cells, "cpu"),
        "gpus": _processors(evidence.cells, "cuda"),
        **_against("ce", points, PLAINEST),
        **_against("tuned", points, TUNED),
        **_against("trees_tuned", points, "trees, tuned"),
        **_against("soft_tuned", points, "soft, tuned"),
        **_against("images", evidence.images, PLAINEST),
        **_against("images_tuned", evidence.images, TUNED),
        **_line("paper", evidence.paper, PLAINEST),
        **_line("paper_tuned", evidence.paper, TUNED),
        "more_epochs": _more_epochs(evidence.paper),
        **_promises(evidence.cells),
    }


def _processors(cells: Iterable[dict[str, Any]], device: str) -> str:
    """Return the names of what computed the cells that measured epochs."""
    timed = (cell for cell in cells if "epoch_seconds" in cell and cell["device"] == device)
    return ", ".join(sorted({cell["processor"] for cell in timed}))


def _seeds(points: Sequence[Point]) -> str:
    """Return how many seeds the main comparison has, in words."""
    seeds: dict[str, set[int]] = defaultdict(set)
    for point in points:
        if point.method == OURS and point.metric == "f1":
            seeds[point.dataset].add(point.seed)
    counts = sorted(Counter(map(len, seeds.values())).items(), reverse=True)
    sets = [f"{many} {'set' if many == 1 else 'sets'}" for _, many in counts]
    words = [f"{count} {'seed' if count == 1 else 'seeds'}" for count, _ in counts]
    return ", ".join(f"{word} on {name}" for word, name in zip(words, sets, strict=True))


def _older(cells: Sequence[dict[str, Any]]) -> str:
    """Return how many cells are of an earlier version, which did not measure epochs, in a sentence."""
    older = sum("epoch_seconds" not in cell for cell in cells)
    if not older:
        return "All cells are of the current version of the solver."
    return f"{older} of the {len(cells)} cells are of an earlier version of the solver."


def _against(name: str, points: Sequence[Point], theirs: str) -> dict[str, str]:
    """Return how metricfit does against a method, over the metrics that are measured at a cut."""
    pair = paired(points, OURS, theirs)
    every, clear = compare(pair, OURS, theirs, PLAIN), compare(pair, OURS, theirs, PLAIN, NOISE)
    values = {
        f"{name}_cases": f"{every.cases}",
        f"{name}_good": f"{every.wins + every.ties}",
        f"{name}_difference": f"{every.difference:+z.3f}",
        f"{name}_clear_wins": f"{clear.wins}",
        f"{name}_even": f"{clear.ties}",
        f"{name}_clear_losses": f"{clear.losses}",
    }
    for metric in PLAIN:
        values[f"{name}_{metric}"] = f"{compare(pair, OURS, theirs, (metric,)).difference:+z.3f}"
    return values


def _line(name: str, points: Sequence[Point], theirs: str) -> dict[str, str]:
    """Return the share of points on or above the line of the paper's Figure 2."""
    every = compare(paired(points, OURS, theirs), OURS, theirs, tuple(METRICS))
    share = 100 * (every.wins + every.ties) / every.cases if every.cases else 0.0
    return {
        f"{name}_sets": f"{len({point.dataset for point in points})}",
        f"{name}_points": f"{every.cases}",
        f"{name}_above": f"{every.wins + every.ties}",
        f"{name}_share": f"{share:.0f}",
        f"{name}_line_difference": f"{every.difference:+z.3f}",
    }


def _more_epochs(points: Sequence[Point]) -> str:
    """Return what the share is on the sets whose budget came to the paper's 100 epochs."""
    whole = {p.dataset for p in points if p.cell["epochs_run"] == p.cell["epochs"]}
    chosen = [point for point in points if point.dataset in whole]
    found, tuned = _line("", chosen, PLAINEST), _line("", chosen, TUNED)
    names = ", ".join(sorted(whole))
    sets = "set" if len(whole) == 1 else "sets"
    fewer = sorted({point.cell["epochs_run"] for point in points if point.dataset not in whole})
    others = f" The other sets had {fewer[0]} to {fewer[-1]}." if fewer else ""
    return (
        f"On the {len(whole)} {sets} with all 100 epochs for both ({names})\n`MetricLoss` is on or above "
        f"cross-entropy in {found['_above']} of {found['_points']} cases, and on or above its tuned "
        f"threshold\nin {tuned['_above']} of {tuned['_points']}.{others}"
    )


def _versions(cells: Iterable[dict[str, Any]]) -> list[str]:
    found: dict[str, int] = defaultdict(int)
    for cell in cells:
        versions = cell["versions"]
        found[f"metricfit {versions['metricfit']} with PyTorch {versions['torch']}"] += 1
    return [
        f"{count} with {name}".replace(" with metricfit", " by metricfit") for name, count in found.items()
    ]


def _promises(cells: Sequence[dict[str, Any]]) -> dict[str, str]:
    """Return how often the deployed decision met the recall on test data, in the trainings that all have."""
    points = [p for p in points_of(cells, deployed=True) if p.label == "recommended"]
    values = {}
    for metric in CONSTRAINED:
        target = METRICS[metric].constraints[0].threshold
        recalls = {
            name: {(p.dataset, p.seed): p.recall for p in points if (p.metric, p.method) == (metric, method)}
            for name, method in (("zero", OURS), ("tuned", f"{OURS}, tuned"), ("ce_tuned", TUNED))
        }
        common = set.intersection(*map(set, recalls.values()))
        values[f"{metric}_cases"] = f"{len(common)}"
        for name, found in recalls.items():
            values[f"{metric}_{name}_met"] = f"{sum(found[case] >= target - 1e-9 for case in common)}"
    return values
