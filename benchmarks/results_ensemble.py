"""What benchmarks/ensemble.py recorded: the ensemble, and the same with one thing less, on the same rows.

A case is a data set and a metric, with the mean over the seeds that both methods have. Rows of different
generations of the estimators are not compared with each other: each seed counts in the newest generation that
has both methods.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tables
from ensemble import CODE, FOREIGN, SHARE

from metricfit.experiments.datasets import DATASETS
from metricfit.experiments.statistics import TIE
from metricfit.experiments.writing import table

ENSEMBLE = "ensemble"
# What the ensemble is compared with; other methods of the file keep their names.
NAMES = {
    "network": "one network, cross-entropy, tuned",
    "lightgbm": "LightGBM, tuned",
    "trees": "boosted trees, tuned",
    "cross-entropy": "the same ensemble, its network trained with cross-entropy",
}
SHORT = {
    "network": "one network,\ncross-entropy",
    "lightgbm": "LightGBM",
    "trees": "scikit-learn's\nboosted trees",
    "cross-entropy": "itself with\ncross-entropy",
}
# The ensemble should nowhere be worse by more than this in the mean over the seeds.
BEHIND = 0.01
# In how many of the cases it should be better.
AIMS = {"network": 0.9, "lightgbm": 0.7}
Case = tuple[str, str]


@dataclass(frozen=True)
class Differences:
    """One method less another, by case."""

    by_case: dict[Case, float]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.by_case.values())

    @property
    def counts(self) -> tuple[int, int, int]:
        """How many cases are better, equal and worse."""
        better = sum(value > TIE for value in self.by_case.values())
        worse = sum(value < -TIE for value in self.by_case.values())
        return better, len(self.by_case) - better - worse, worse

    @property
    def behind(self) -> list[str]:
        """The cases that are worse by more than `BEHIND`, and by how much, the worst first."""
        cases = sorted(self.by_case, key=self.by_case.__getitem__)
        return [
            f"{title(metric)} on {name} ({self.by_case[name, metric]:+.3f})"
            for name, metric in cases
            if self.by_case[name, metric] < -BEHIND
        ]

    @property
    def worst(self) -> str:
        """The smallest of them, and where it is."""
        name, metric = min(self.by_case, key=self.by_case.__getitem__)
        return f"{self.by_case[name, metric]:+z.3f} ({title(metric)}, {name})"


class Recorded:
    """The rows of the file."""

    def __init__(self, rows: Iterable[tables.Row]) -> None:
        self.rows = list(rows)
        # By method, case and seed: the values of each generation. What is foreign has the same in all.
        self.values: dict[str, dict[Case, dict[int, dict[int, float]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(dict))
        )
        for row in self.rows:
            found = self.values[row["method"]][row["set"], row["metric"]][row["seed"]]
            for code in range(1, CODE + 1) if row["method"] in FOREIGN else (row.get("code", 1),):
                found[code] = row["value"]

    def less(self, ours: str, theirs: str) -> Differences:
        """Return one method less another, over the seeds that both have."""
        found = {}
        for case, mine in self.values[ours].items():
            others = self.values[theirs].get(case, {})
            differences = []
            for seed in sorted(mine.keys() & others.keys()):
                codes = mine[seed].keys() & others[seed].keys()
                if codes:
                    newest = max(codes)
                    differences.append(mine[seed][newest] - others[seed][newest])
            if differences:
                found[case] = statistics.fmean(differences)
        return Differences(found)

    @property
    def generations(self) -> str:
        """Which version of the estimators the fits are of, in a sentence."""
        newest = [
            max(found)
            for method, cases in self.values.items()
            if method not in FOREIGN
            for seeds in cases.values()
            for found in seeds.values()
        ]
        older = sum(code < CODE for code in newest)
        if not older:
            return "All fits are of the current version of the estimators."
        return f"{older} of the {len(newest)} fits are of an earlier version of the estimators."

    @property
    def rivals(self) -> list[str]:
        """What the ensemble is compared with: the known ones first."""
        others = [method for method in self.values if method not in (ENSEMBLE, *NAMES)]
        return [method for method in (*NAMES, *others) if self.less(ENSEMBLE, method).by_case]


def title(metric: str) -> str:
    """Return how pages call a metric.

    Examples
    --------
    >>> title("f1"), title("balanced_accuracy")
    ('F1', 'balanced accuracy')
    """
    return metric.upper() if metric in ("f1", "f2", "mcc") else metric.replace("_", " ")


def facts(found: Recorded, name: str = "ensemble") -> dict[str, str]:
    """Return the figures by the names that the templates use, which begin with `name`."""
    metrics = list(dict.fromkeys(row["metric"] for row in found.rows))
    runs = [len(by_seed) for by_seed in found.values[ENSEMBLE].values()]
    values = {
        f"{name}_sets": f"{len({dataset for dataset, _ in found.values[ENSEMBLE]})}",
        f"{name}_metrics": f"{len(metrics)}",
        f"{name}_metric_names": ", ".join(map(title, metrics)),
        f"{name}_seeds": span(runs),
        f"{name}_versions": "; ".join(sorted({row["versions"] for row in found.rows if "versions" in row})),
        f"{name}_seeds_in_words": f"{span(runs)} {'seed' if max(runs) == 1 else 'seeds'} each",
        f"{name}_runs": f"{sum(runs)}",
        f"{name}_table": "\n".join(_table(found)),
        f"{name}_by_metric": "\n".join(_by_metric(found, metrics)),
        f"{name}_generations": found.generations,
    }
    for method in found.rivals:
        differences, key = found.less(ENSEMBLE, method), f"{name}_{method.replace('-', '_')}"
        better, even, _ = differences.counts
        cases = len(differences.by_case)
        if method in AIMS:
            values[f"{key}_aim"] = f"{100 * AIMS[method]:.0f} %"
        values |= {
            f"{key}_wins": f"{better}",
            f"{key}_good": f"{better + even}",
            f"{key}_cases": f"{cases}",
            f"{key}_share": f"{100 * better / cases:.0f} %",
            f"{key}_difference": f"{differences.mean:+z.3f}",
            f"{key}_losses": f"{cases - better - even}",
            f"{key}_behind": f"{len(differences.behind)}",
            f"{key}_behind_cases": ", ".join(differences.behind) or "none",
        }
    return values


def rows_to_fit(found: Recorded) -> str:
    """Return how many rows the smallest and the largest set has to fit on, if all are used, to thousands."""
    rows = [int(SHARE * DATASETS[dataset].rows) for dataset, _ in found.values[ENSEMBLE]]
    return f"{round(min(rows), -3):,} to {round(max(rows), -3):,}"


def span(numbers: Sequence[int]) -> str:
    """Return the range of some numbers in words.

    Examples
    --------
    >>> span([2, 1, 3]), span([2, 2])
    ('1 to 3', '2')
    """
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def _table(found: Recorded) -> list[str]:
    rows = []
    for method in found.rivals:
        differences = found.less(ENSEMBLE, method)
        rows.append(
            [
                NAMES.get(method, method),
                f"{len(differences.by_case)}",
                " / ".join(map(str, differences.counts)),
                f"{differences.mean:+z.3f}",
                differences.worst,
            ]
        )
    return table(("`MetricEnsemble` against", "cases", "better / equal / worse", "mean", "worst"), rows)


def _by_metric(found: Recorded, metrics: Sequence[str]) -> list[str]:
    rows = []
    for method in found.rivals:
        by_case = found.less(ENSEMBLE, method).by_case
        each = ([value for case, value in by_case.items() if case[1] == metric] for metric in metrics)
        means = (f"{statistics.fmean(values):+z.3f}" if values else "–" for values in each)
        rows.append([NAMES.get(method, method), *means])
    return table(("`MetricEnsemble` against", *map(title, metrics)), rows)
