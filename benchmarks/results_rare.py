"""The table of benchmarks/rare_large.py: large tables with 1 % of positives, the ensemble and its rivals."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable

import results_ensemble
import tables

from metricfit.experiments.writing import table

ENSEMBLE = "ensemble"
NAMES = {
    ENSEMBLE: "`MetricEnsemble`, default members",
    "ensemble, plain trees": "the same with scikit-learn's own settings of the trees",
    "trees alone": "its trees alone",
    "plain trees alone": "trees with scikit-learn's own settings alone",
    "network alone": "its network (trained for F1) alone",
    "lightgbm, tuned": "LightGBM, tuned",
    "trees, tuned": "scikit-learn's boosted trees, tuned",
    "network, tuned": "one network, cross-entropy, tuned",
}
Cases = dict[tuple[str, int], float]


def facts(rows: Iterable[tables.Row]) -> dict[str, str]:
    """Return the figures by the names that the templates use."""
    rows = list(rows)
    values: dict[tuple[str, str], Cases] = defaultdict(dict)
    for row in rows:
        values[row["method"], row["metric"]][row["set"], row["seed"]] = row["value"]
    metrics = list(dict.fromkeys(row["metric"] for row in rows))
    cases = len(values[ENSEMBLE, metrics[0]])
    lines = []
    for method, name in NAMES.items():
        if not values.get((method, metrics[0])):
            continue
        means = [_mean(values.get((method, metric), {}), cases) for metric in metrics]
        ours, theirs = values[ENSEMBLE, metrics[0]], values[method, metrics[0]]
        ahead = "" if method == ENSEMBLE else f"{sum(ours[case] > theirs[case] for case in ours)} of {cases}"
        lines.append([name, *means, ahead])
    titles = [results_ensemble.title(metric) for metric in metrics]
    return {
        "rare_large": "\n".join(table(("", *titles, f"the ensemble is ahead ({titles[0]})"), lines)),
        "rare_large_sets": ", ".join(dict.fromkeys(row["set"] for row in rows)),
        "rare_large_cases": f"{cases}",
        "rare_large_by_set": "\n".join(_by_set(values, metrics[0])),
    }


def _mean(found: Cases, cases: int) -> str:
    """Return the mean over all cases, if there is a value for each."""
    return f"{statistics.fmean(found.values()):.3f}" if len(found) == cases else "–"


def _by_set(values: dict[tuple[str, str], Cases], metric: str) -> list[str]:
    shown = (ENSEMBLE, "lightgbm, tuned")
    rows = []
    for name in dict.fromkeys(name for name, _ in values[ENSEMBLE, metric]):
        found = ([v for case, v in values[method, metric].items() if case[0] == name] for method in shown)
        rows.append([name, *(", ".join(f"{value:.3f}" for value in each) for each in found)])
    return table((f"{results_ensemble.title(metric)}, by seed", *(NAMES[method] for method in shown)), rows)
