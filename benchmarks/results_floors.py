"""What benchmarks/operating_points.py recorded: how often a floor was met, and what else was reached."""

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
    "running soft": "`SoftMetricLoss`, running, with cross-entropy",
    "running soft, bounds": "the same, `bounds=True`",
    "running soft, alone": "the same, without cross-entropy",
    "TFCO's proxy-Lagrangian": "TFCO's proxy-Lagrangian, from the papers",
    "Cooper": "Cooper, with soft counts and nuPI",
}
MET, TIE = 1e-9, 0.005
TUNED, SOFT, ALONE = "cross-entropy, cut", "running soft", "running soft, alone"
CHOSEN_ON = (0, 1)
"""Seeds with which the options of `metricfit.Running` were chosen."""
WAYS = ("", "moved", "held")
"""At 0 as trained, with the threshold moved on the training rows, and with what is best on held-out rows."""
Case = tuple[str, str, int]


def facts(rows: Iterable[tables.Row]) -> dict[str, str]:
    """Return the figures by the names that the templates use."""
    rows = list(rows)
    found = {
        model: whole([row for row in rows if row["model"] == model])
        for model in dict.fromkeys(row["model"] for row in rows)
    }
    tables_made = {f"floors_{way}".rstrip("_"): "\n".join(_table(found, way)) for way in WAYS}
    return {
        **tables_made,
        "floors_all": "\n".join(_all_runs(rows)),
        "floors_pair": "\n".join(_against_cross_entropy(rows, "")),
        "floors_pair_moved": "\n".join(_against_cross_entropy(rows, "moved")),
        **_fresh(rows),
        "floors_chosen": " and ".join(map(str, CHOSEN_ON)),
        "floors_runs": f"{len(rows)}",
        "floors_sets": ", ".join(dict.fromkeys(row["set"] for row in rows)),
        "floors_targets": ", ".join(f"`{target}`" for target in dict.fromkeys(row["target"] for row in rows)),
    }


def _table(found: dict[str, dict[str, list[tables.Row]]], way: str) -> list[str]:
    """Return the table of one way to choose the threshold."""
    listed = _listed(method for each in found.values() for method in each)
    parts = ("test",) if way == "held" else ("train", "test")
    words = ", ".join({"train": "training", "test": "test"}[part] for part in parts)
    heads = []
    for model, each in found.items():
        cases = len(next(iter(each.values()), []))
        heads += [f"{MODELS.get(model, model)} ({cases} cases): {words}", f"objective: {words}"]
        heads += ["best or tie"] * (way != "held")
    lines = []
    for method in listed:
        cells = [cell for each in found.values() for cell in _cells(each, method, way, parts)]
        lines.append([NAMES.get(method, method), *cells])
    return table(("", *heads), lines)


def _all_runs(rows: Sequence[tables.Row]) -> list[str]:
    """Return how often each method met the floor at 0, over all of its runs."""
    lines = []
    for method in _listed(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        met = (100 * statistics.fmean(row[part][1] <= MET for row in own) for part in ("train", "test"))
        lines.append([NAMES.get(method, method), f"{len(own)}", *(f"{share:.0f} %" for share in met)])
    return table(("", "runs", "training", "test"), lines)


def _against_cross_entropy(rows: Sequence[tables.Row], way: str) -> list[str]:
    """Return the objective of the soft loss against a tuned threshold, over all cases that both have."""
    lines = []
    named = {(SOFT, model): name for model, name in MODELS.items()}
    named |= {(ALONE, model): f"{name}, soft loss without cross-entropy" for model, name in MODELS.items()}
    for (method, model), name in named.items():
        pair = whole([row for row in rows if row["model"] == model and row["method"] in (TUNED, method)])
        ours, theirs = ordered(pair.get(method, [])), ordered(pair.get(TUNED, []))
        cells: list[str] = []
        for part in ("train", "test") if ours else ():
            gains = [
                _of(one, way)[part][0] - _of(other, way)[part][0]
                for one, other in zip(ours, theirs, strict=True)
            ]
            counts = (sum(gain > TIE for gain in gains), sum(gain < -TIE for gain in gains))
            ties = len(gains) - sum(counts)
            cells += [f"{counts[0]} / {ties} / {counts[1]}", f"{statistics.fmean(gains):+.3f}"]
        if ours:
            met = statistics.fmean(_of(one, way)["train"][1] <= MET for one in ours)
            cells = [f"{len(ours)}", f"{100 * met:.0f} %", *cells]
        lines.append([name, *(cells or ["0", *["–"] * 5])])
    heads = "cases", "met, training", "training: better / equal / worse", "mean", "test", "mean"
    return table(("model", *heads), lines)


def _fresh(rows: Sequence[tables.Row]) -> dict[str, str]:
    """Return how often both ways met the floor on training rows with seeds that chose no setting."""
    found = {}
    for name, method in (("soft", SOFT), ("tuned", TUNED)):
        own = [row for row in rows if row["method"] == method and row["seed"] not in CHOSEN_ON]
        share = statistics.fmean(row["train"][1] <= MET for row in own) if own else float("nan")
        found |= {f"floors_fresh_{name}": f"{100 * share:.0f} %", f"floors_fresh_{name}_runs": f"{len(own)}"}
    return found


def _listed(methods: Iterable[str]) -> list[str]:
    """Return the methods in the order of the tables."""
    given = list(dict.fromkeys(methods))
    return [name for name in NAMES if name in given] + [name for name in given if name not in NAMES]


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
    common = set.intersection(*map(set, by_method.values())) if by_method else set()
    return {
        method: [row for case, row in cases.items() if case in common] for method, cases in by_method.items()
    }


def _cells(each: dict[str, list[tables.Row]], method: str, way: str, parts: Sequence[str]) -> list[str]:
    """Return how often the floor was met, the mean objective, and how often the method was best."""
    rows = [_of(row, way) for row in each.get(method, [])]
    if not rows:
        return ["–"] * (2 if way == "held" else 3)
    met = (100 * statistics.fmean(row[part][1] <= MET for row in rows) for part in parts)
    reached = (statistics.fmean(row[part][0] for row in rows) for part in parts)
    cells = [", ".join(f"{share:.0f} %" for share in met), ", ".join(f"{value:.2f}" for value in reached)]
    if way == "held":
        return cells
    rivals = zip(
        *([_worth(_of(row, way)) for row in ordered(others)] for others in each.values()), strict=True
    )
    best = [
        _worth(_of(row, way)) >= max(worths) - TIE
        for row, worths in zip(ordered(each[method]), rivals, strict=True)
    ]
    return [*cells, f"{100 * statistics.fmean(best):.0f} %"]


def ordered(rows: Sequence[tables.Row]) -> list[tables.Row]:
    """Return rows of one method in an order that is the same for all methods."""
    return sorted(rows, key=lambda row: (row["set"], row["target"], row["seed"]))


def _of(row: tables.Row, way: str) -> tables.Row:
    return row[way] if way else row


def _worth(row: tables.Row) -> float:
    """Return the objective on the training rows, below all others where the floor is missed."""
    value, violation = row["train"]
    return value if violation <= MET else -violation
