"""The table of benchmarks/boosting.py: LightGBM trained for a metric beside logistic loss, tuned."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import tables

from metricfit.experiments.writing import table

WAYS = ("logistic at 0", "metric at 0", "metric tuned")
BASE = "logistic tuned"


def facts(rows: Iterable[tables.Row]) -> dict[str, str]:
    """Return the figures by the names that the templates use."""
    rows = list(rows)
    gains = {
        name: [row["metric at 0"] - row[BASE] for row in rows if row["set"] == name]
        for name in {row["set"] for row in rows}
    }
    best = max(gains, key=lambda name: np.mean(gains[name]))
    others = [gain for name, found in gains.items() if name != best for gain in found]
    at_zero = np.array([row["metric at 0"] - row["logistic at 0"] for row in rows])
    return {
        "boosting": "\n".join(quality(rows)),
        "boosting_sets": f"{len(gains)}",
        "boosting_seeds": f"{len({row['seed'] for row in rows})}",
        "boosting_at_zero": f"{at_zero.mean():+z.3f}",
        "boosting_best": best,
        "boosting_others": f"{np.mean(others):+z.3f}",
    }


def quality(rows: Iterable[tables.Row]) -> list[str]:
    """Return differences to logistic loss with a tuned cut: over all, by metric and by set."""
    rows = list(rows)
    parts = {"all": rows}
    for key in ("metric", "set"):
        for value in dict.fromkeys(row[key] for row in rows):
            parts[value] = [row for row in rows if row[key] == value]
    lines = []
    for name, part in parts.items():
        base = np.array([row[BASE] for row in part])
        differences = {way: np.array([row[way] for row in part]) - base for way in WAYS}
        lines.append(
            [
                name,
                f"{len(part)}",
                f"{base.mean():.3f}",
                *(f"{found.mean():+z.3f}" for found in differences.values()),
                *(f"{100 * np.mean(differences[way] > 0):.0f} %" for way in WAYS[1:]),
            ]
        )
    head = ("", "cells", "logistic, tuned", "logistic at 0", "metric at 0", "metric, tuned")
    return table((*head, "won at 0", "won, tuned"), lines)
