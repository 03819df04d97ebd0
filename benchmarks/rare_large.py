"""Where 1 % of 14,000 to 50,000 rows are positive: the default members of MetricEnsemble beside LightGBM.

    python benchmarks/rare_large.py --data DATA --scores FOLDER --jobs 16 --out rare_large.jsonl

Data sets are thinned out to 1 % of positives, with as many rows as they allow; new rows are weighted so that
1 % of them are positive. "made-0.6" is make_classification with 75,000 rows, of which 50,000 are fitted. What
is fitted, for every table and seed:

    network        the default network, trained for F1, cross-fitted
    trees          the default trees, cross-fitted
    plain trees    HistGradientBoostingClassifier with its own settings, cross-fitted
    rivals         LightGBM in TunedThresholdClassifierCV, for every metric; for F1 also scikit-learn's
                   trees, and a network trained with cross-entropy, with the best cut on its validation part

Their scores are kept in FOLDER, so that a stopped run goes on. Teams of members are then calibrated, weighted
and decided for each metric as MetricEnsemble does it.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ensemble
import numpy as np
import numpy.typing as npt
import tables
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier

import metricfit as mf
from metricfit.sklearn.combination import combined
from metricfit.sklearn.crossfit import crossfit, make_folds
from metricfit.sklearn.cuts import expected_cut
from metricfit.sklearn.defaults import default_members

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
# Rows to fit, of which a hundredth are positive.
SIZES = {
    "made-0.6": 50_000,
    "bankmarketing": 20_000,
    "adult": 20_000,
    "default": 14_000,
    "dutch": 18_000,
}
METRICS = ("f1", "mcc", "kappa")
SHARE = 0.01
TEAMS = {
    "ensemble": ("network", "trees"),
    "ensemble, plain trees": ("network", "plain trees"),
    "network alone": ("network",),
    "trees alone": ("trees",),
    "plain trees alone": ("plain trees",),
}
RIVALS = {"lightgbm": METRICS, "trees": ("f1",), "network": ("f1",)}
PARTS = ("network", "trees", "plain trees", "rivals")


@dataclass(frozen=True)
class Saved:
    """A member whose scores of the new rows are known."""

    name: str
    new: FloatArray

    def scores(self, X: Any) -> FloatArray:
        return self.new


def rows_of(name: str, seed: int, folder: Path) -> tuple[Any, IntArray, Any, IntArray, FloatArray]:
    """Return the rows to fit, and the new rows with their weights."""
    size = SIZES[name]
    if name.startswith("made-"):
        X, y = make_classification(
            75_000,
            20,
            n_informative=6,
            n_redundant=4,
            n_clusters_per_class=3,
            weights=[1.0 - SHARE],
            flip_y=0.004,
            class_sep=float(name.removeprefix("made-")),
            random_state=11 + seed,
        )
        X = X.astype(np.float32)
        return X[:size], y[:size], X[size:], y[size:], np.ones(len(y) - size)
    X, y = tables.load(folder, name)
    few = round(size * SHARE)
    random = np.random.default_rng(seed)
    positive, negative = (random.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    fitted = random.permutation(np.concatenate((positive[:few], negative[: size - few])))
    new = np.concatenate((positive[few : few + 4000], negative[size - few : size - few + 20_000]))
    shares = np.where(y[new] == 1, SHARE, 1.0 - SHARE)
    weights = shares / np.where(y[new] == 1, (y[new] == 1).sum(), (y[new] == 0).sum())
    return X[fitted], y[fitted], X[new], y[new], weights * len(new)


def member(part: str, seed: int, X: Any, y: IntArray) -> Any:
    if part == "network":
        return ensemble.network("f1", "metric", seed=seed)
    if part == "plain trees":
        return HistGradientBoostingClassifier(random_state=seed)
    return dict(default_members(mf.f1, X, y))["trees"].set_params(classifier__random_state=seed)


def one(name: str, seed: int, part: str, folder: Path, scores: Path) -> list[tables.Row]:
    """Fit one member or the rivals, and keep what they say of the rows."""
    warnings.simplefilter("ignore")
    X, y, new, truth, weights = rows_of(name, seed, folder)
    if part == "rivals":
        saved: dict[str, Any] = {"y": y, "truth": truth, "weights": weights}
        for rival, metrics in RIVALS.items():
            for metric in metrics:
                classifier = ensemble.methods(metric, seed, (rival,))[rival]
                saved[f"{rival} {metric}"] = classifier.fit(X, y).predict(new)
            ensemble.FITTED.clear()
    else:
        estimators = [(part, member(part, seed, X, y))]
        folds, random = make_folds(5, X, y, None, seed), np.random.RandomState(seed)
        (models,), (held_out,) = crossfit(
            estimators, X, y, folds, sample_weight=None, random=random, n_jobs=None
        )
        saved = {"oof": held_out, "new": models.scores(new)}
    target = place(scores, name, seed, part)
    fresh = target.with_suffix(".part.npz")
    np.savez_compressed(fresh, **saved)
    os.replace(fresh, target)
    return []


def place(scores: Path, name: str, seed: int, part: str) -> Path:
    return scores / f"{name}_{seed}_{part.replace(' ', '-')}.npz"


def judged(name: str, seed: int, scores: Path) -> list[tables.Row]:
    """Return the metrics on new rows, by method."""
    found = {part: dict(np.load(place(scores, name, seed, part))) for part in PARTS}
    rivals = found.pop("rivals")
    y, truth, weights = rivals["y"], rivals["truth"], rivals["weights"]
    rows = []
    for metric in METRICS:
        measure = mf.get_metric(metric)
        predicted = {
            f"{rival}, tuned": rivals[f"{rival} {metric}"]
            for rival, metrics in RIVALS.items()
            if metric in metrics
        }
        for team, names in TEAMS.items():
            members: list[Any] = [Saved(part, found[part]["new"]) for part in names]
            combination, chances = combined(
                members, np.array([found[part]["oof"] for part in names]), y, None
            )
            cut = expected_cut(measure, chances, y, chances, limits=(0.0, 1.0))
            predicted[team] = combination.probabilities(None) > cut.threshold
        for method, labels in predicted.items():
            value = measure.score(truth, labels, sample_weight=weights)
            rows.append({"set": name, "seed": seed, "metric": metric, "method": method, "value": value})
    return rows


def summary(rows: list[tables.Row]) -> None:
    """Print the mean of every method, and in how many cases the ensemble is ahead of it."""
    values: dict[tuple[str, str], dict[tuple[str, int], float]] = defaultdict(dict)
    for row in rows:
        values[row["metric"], row["method"]][row["set"], row["seed"]] = row["value"]
    print(
        f"{'metric':8s}{'method':24s}{'cases':>6s}{'mean':>8s}{'ensemble less it':>18s}{'ahead':>7s}"
        f"{'worst':>8s}"
    )
    for (metric, method), found in values.items():
        ours = values[metric, "ensemble"]
        less = np.array([ours[case] - found[case] for case in found])
        mean = np.mean(list(found.values()))
        print(
            f"{metric:8s}{method:24s}{len(found):6d}{mean:8.3f}{less.mean():+18.3f}{(less > 0).sum():7d}"
            f"{less.min():+8.3f}"
        )


def main() -> None:
    """Fit what is not in the folder, and judge every table and seed of which all is there."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets, as .npz files")
    parser.add_argument("--sets", nargs="+", default=list(SIZES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--scores", type=Path, default=Path("rare_large_scores"))
    parser.add_argument("--out", type=Path, default=Path("rare_large.jsonl"))
    options = parser.parse_args()
    options.scores.mkdir(exist_ok=True)
    cases = [(name, seed) for seed in range(options.seeds) for name in options.sets]
    missing = [
        (name, seed, part, options.data, options.scores)
        for name, seed in cases
        for part in PARTS
        if not place(options.scores, name, seed, part).exists()
    ]
    tables.run(missing, one, options.jobs, options.out)
    rows = [row for name, seed in cases for row in judged(name, seed, options.scores)]
    options.out.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    summary(rows)


if __name__ == "__main__":
    main()
