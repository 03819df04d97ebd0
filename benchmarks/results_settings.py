"""The tables of the appendix on settings that were tried, and on the paper's own implementation."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from metricfit.experiments.metrics import TITLES
from metricfit.experiments.protocols import PROTOCOLS
from metricfit.experiments.writing import table

DEFAULT_SCALE = 8.0
DECISIONS = ("zero", "tuned")
Cells = Sequence[dict[str, Any]]


def settings(cells: Cells, ap_perf: Cells) -> dict[str, str]:
    """Return the tables by the names that the template uses."""
    return {
        "scales": "\n".join(_scales(cells)),
        "large_games": "\n".join(_large_games(cells)),
        **_ap_perf(ap_perf),
        **_solver(cells),
    }


def _scales(cells: Cells) -> list[str]:
    """Return mean scores by the scale of the loss, over the cases that every scale has."""
    found: dict[float, dict[tuple[Any, ...], dict[str, Any]]] = {}
    for cell in cells:
        if cell["protocol"] == "recommended" and cell["loss"] == "metricfit":
            scale = DEFAULT_SCALE if cell["scale"] is None else cell["scale"]
            case = cell["dataset"], cell["metric"], cell["seed"]
            found.setdefault(scale, {})[case] = cell["results"][cell["metric"]]
    common = sorted(set.intersection(*(set(cases) for cases in found.values())))
    rows = [
        [f"{scale:g}", *(f"{value:.3f}" for value in _means([cases[case] for case in common]))]
        for scale, cases in sorted(found.items())
    ]
    head = (
        f"scale ({len(common)} cases)",
        "validation, at 0",
        "test, at 0",
        "validation, tuned",
        "test, tuned",
    )
    return table(head, rows)


def _means(results: Sequence[dict[str, Any]]) -> list[float]:
    return [
        statistics.fmean(found[decision][part] for found in results)
        for decision in DECISIONS
        for part in ("validation", "test")
    ]


def _large_games(cells: Cells) -> list[str]:
    """Return games of 32 beside one game of 256 per batch, on the sets where these were run."""
    by_protocol: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = {"recommended": {}, "large-games": {}}
    for cell in cells:
        if cell["protocol"] in by_protocol and cell["loss"] == "metricfit" and cell["scale"] is None:
            by_protocol[cell["protocol"]][cell["dataset"], cell["metric"], cell["seed"]] = cell
    rows = []
    for case, large in by_protocol["large-games"].items():
        small = by_protocol["recommended"][case]
        row = [f"{case[0]}, {TITLES[case[1]]}"]
        for part in ("validation", "test"):
            row += [f"{cell['results'][case[1]]['zero'][part]:.3f}" for cell in (small, large)]
        row += [f"{cell['results'][case[1]]['tuned']['threshold']:.2f}" for cell in (small, large)]
        rows.append(row)
    head = (
        "at 0",
        "validation, games of 32",
        f"of {PROTOCOLS['large-games'].batch}",
        "test, games of 32",
        f"of {PROTOCOLS['large-games'].batch}",
        "best threshold, games of 32",
        f"of {PROTOCOLS['large-games'].batch}",
    )
    return table(head, rows)


def _ap_perf(cells: Cells) -> dict[str, str]:
    cases: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for cell in cells:
        cases.setdefault((cell["dataset"], cell["metric"]), {})[cell["loss"]] = cell
    rows, ratios = [], []
    for (dataset, metric), found in cases.items():
        theirs, ours = found["ap-perf"], found["metricfit"]
        ratios.append(theirs["seconds"] / ours["seconds"])
        scores = (cell["results"][metric]["zero"]["test"] for cell in (theirs, ours))
        times = (f"{cell['seconds']:.1f}" for cell in (theirs, ours))
        rows.append([f"{dataset}, {TITLES[metric]}", *times, *(f"{score:.3f}" for score in scores)])
    head = ("", "ap-perf, seconds", "metricfit, seconds", "ap-perf, test score at 0", "metricfit")
    return {"ap_perf": "\n".join(table(head, rows)), "ap_perf_times": f"{statistics.median(ratios):.0f}"}


def _solver(cells: Cells) -> dict[str, str]:
    gaps = [cell["mean_gap"] for cell in cells if cell["mean_gap"] is not None]
    return {
        "gap": f"{max(gaps):.1e}",
        "warned": f"{sum(cell['warnings'] > 0 for cell in cells)}",
        "diverged": f"{sum(cell['diverged'] for cell in cells)}",
    }
