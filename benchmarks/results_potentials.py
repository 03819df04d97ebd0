"""The table of benchmarks/potentials.py: what is lost without scores of the number of positives."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable

import tables

from metricfit.experiments.writing import table


def facts(rows: Iterable[tables.Row]) -> dict[str, str]:
    """Return the figures by the names that the templates use."""
    return {"potentials": "\n".join(losses(rows))}


def losses(rows: Iterable[tables.Row]) -> list[str]:
    """Return by how much the expected metric is below the best: a line per truth, scores and decision."""
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        for decision, value in row["lost"].items():
            found[row["truth"], row["kind"], decision].append(value)
    lines = [
        [", ".join(names), f"{statistics.fmean(values):z.4f}", f"{max(values):z.4f}", f"{len(values)}"]
        for names, values in found.items()
    ]
    return table(("truth, scores, decision", "mean", "worst", "distributions"), lines)
