"""What benchmarks/operating_points.py recorded: how often a floor was met at the cut 0, and what else."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import tables

from metricfit.experiments.writing import table

MODELS = {"linear": "linear", "mlp": "network"}
# Other methods of the file keep their names.
NAMES = {
    "cross-entropy, cut": "cross-entropy, threshold tuned on the training rows",
    "game": "`MetricLoss`, constraint in the game",
    "running game": '`MetricLoss`, `constraints="running"`',
    "running soft": "`SoftMetricLoss`, running",
    "running soft, bounds": "the same, `bounds=True`",
}
MET = 1e-9
Case = tuple[str, str, int]


def facts(rows: Iterable[tables.Row]) -> dict[str, str]:
    """Return the figures by the names that the templates use."""
    rows = list(rows)
    found = {
        model: whole([row for row in rows if row["model"] == model])
        for model in dict.fromkeys(row["model"] for row in rows)
    }
    methods = {row["method"]: None for row in rows}
    ordered = [name for name in NAMES if name in methods] + [name for name in methods if name not in NAMES]
    held = all("held" in row for row in rows)
    lines = [
        [
            NAMES.get(method, method),
            *(cell for each in found.values() for cell in _cells(each.get(method, []), held=held)),
        ]
        for method in ordered
    ]
    heads = []
    for model, each in found.items():
        cases = len(next(iter(each.values())))
        heads += [f"{MODELS.get(model, model)} ({cases} cases): training, test", "objective"]
        heads += ["chosen on held-out rows: test", "objective"] if held else []
    return {
        "floors": "\n".join(table(("", *heads), lines)),
        "floors_runs": f"{len(rows)}",
        "floors_sets": ", ".join(dict.fromkeys(row["set"] for row in rows)),
        "floors_targets": ", ".join(f"`{target}`" for target in dict.fromkeys(row["target"] for row in rows)),
    }


def whole(rows: Sequence[tables.Row]) -> dict[str, list[tables.Row]]:
    """Return the rows of each method for the cases that all methods have, so that they can be compared.

    Examples
    --------
    >>> rows = [{"set": name, "target": "recall>=0.9", "seed": 0, "method": method}
    ...         for name, method in [("a", "game"), ("a", "soft"), ("b", "game")]]
    >>> {method: len(found) for method, found in whole(rows).items()}
    {'game': 1, 'soft': 1}
    """
    by_method: dict[str, dict[Case, tables.Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], {})[row["set"], row["target"], row["seed"]] = row
    common = set.intersection(*(set(cases) for cases in by_method.values()))
    return {
        method: [row for case, row in cases.items() if case in common] for method, cases in by_method.items()
    }


def _cells(rows: Sequence[tables.Row], *, held: bool) -> list[str]:
    """Return how often the floor was met, and the objective: at 0, and as chosen on held-out rows."""
    if not rows:
        return ["–"] * (4 if held else 2)
    cells = [f"{_met(rows, 'train')}, {_met(rows, 'test')}", _objective(rows)]
    if held:
        chosen = [row["held"] for row in rows]
        cells += [_met(chosen, "test"), _objective(chosen)]
    return cells


def _met(rows: Sequence[tables.Row], part: str) -> str:
    return f"{100 * statistics.fmean(row[part][1] <= MET for row in rows):.0f} %"


def _objective(rows: Sequence[tables.Row]) -> str:
    return f"{statistics.fmean(row['test'][0] for row in rows):.2f}"
