"""MetricEnsemble against one network, boosted trees with tuned thresholds, and itself with cross-entropy.

    python benchmarks/ensemble.py --data DATA --jobs 16
    python benchmarks/ensemble.py --data DATA --sets letter --seeds 1 --metrics f1 mcc

    ensemble        MetricEnsemble(metric=...), all else by default
    cross-entropy   the same ensemble, but its networks are trained with cross-entropy
    network         one such network, with the threshold that is best on its validation part
    lightgbm        LGBMClassifier in TunedThresholdClassifierCV
    trees           HistGradientBoostingClassifier in TunedThresholdClassifierCV

Everything is fitted on the same rows of a data set, and scored on rows that none has seen. Trees do not
depend on the metric: for a set and a seed, each process fits them once and remembers them for the other
metrics, so that times would say nothing. Tasks go round the sets and the metrics, so that what is there when
the time is over is balanced. Differences are means over the seeds that both methods have; a tie is one below
0.0005.

Each row says with which generation of the estimators it was measured ("code"; 1 where nothing is said), and
with which versions of the libraries. What does not depend on the estimators is not measured again for a new
generation. The summary says which generations are in it.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import tables
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedShuffleSplit, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf
from metricfit.sklearn import MetricClassifier, MetricEnsemble

SETS = (
    *("abalone", "adult", "appliancesenergy", "bankdomains2", "bankmarketing", "californiahousing"),
    *("censusdomains", "computeractivity2", "default", "dutch", "eegeye", "htru2"),
    *("letter", "pageblocks", "redwine", "sat", "shuttle", "whitewine"),
)
# Not precision alone: it is best where a handful of rows is predicted, so that chance decides.
METRICS = ("f1", "f2", "fbeta(0.5)", "mcc", "kappa", "balanced_accuracy")
BASELINES = ("network", "lightgbm", "trees", "cross-entropy")
# To be raised when a change of the estimators or of the solver changes these numbers.
CODE = 2
# What no change of this package changes.
FOREIGN = ("lightgbm", "trees")
TIE = 0.0005
# Of a set, to fit on, if that is not more than `--rows`.
SHARE = 0.7
LIBRARIES = {"PyTorch": "torch", "scikit-learn": "scikit-learn", "LightGBM": "lightgbm"}
FITTED: dict[str, Any] = {}


class Remembered(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once for the same rows and settings, in this process."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Remembered:
        key = hashlib.sha256(np.ascontiguousarray(X).tobytes() + y.tobytes())
        key.update(repr(self.classifier.get_params()).encode())
        name = type(self.classifier).__name__ + key.hexdigest()
        if name not in FITTED:
            FITTED[name] = clone(self.classifier).fit(X, y)
        self.model_ = FITTED[name]
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


def network(metric: str, loss: str, cut: str = "zero", seed: int | None = None) -> Any:
    net = MetricClassifier(metric, loss=loss, cut=cut, random_state=seed)
    return make_pipeline(StandardScaler(), net)


def methods(metric: str, seed: int, wanted: Sequence[str]) -> dict[str, Any]:
    """Return the unfitted classifiers by name."""
    scoring = mf.get_metric(metric).scorer()

    def members(loss: str) -> list[tuple[str, Any]]:
        # The trees of the default members, without the encoding of text, which these tables do not have.
        trees = HistGradientBoostingClassifier(random_state=seed)
        return [("network", network(metric, loss)), ("trees", Remembered(trees))]

    def tuned(classifier: Any) -> Any:
        return TunedThresholdClassifierCV(
            Remembered(classifier), scoring=scoring, response_method="predict_proba", random_state=seed
        )

    made = {
        "ensemble": lambda: MetricEnsemble(members("metric"), metric=metric, random_state=seed),
        "cross-entropy": lambda: MetricEnsemble(members("cross-entropy"), metric=metric, random_state=seed),
        "network": lambda: network(metric, "cross-entropy", "empirical", seed),
        "trees": lambda: tuned(HistGradientBoostingClassifier(random_state=seed)),
        "lightgbm": lambda: tuned(_lightgbm(seed)),
    }
    return {name: made[name]() for name in wanted}


def _lightgbm(seed: int) -> Any:
    # Only here, so that the rest can be measured where LightGBM is not installed.
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def one(name: str, seed: int, metric: str, folder: Path, rows: int, names: list[str]) -> list[tables.Row]:
    """Fit and score the wanted methods for a metric on a set."""
    warnings.simplefilter("ignore")
    X, y = tables.load(folder, name)
    train = min(rows, int(SHARE * len(y)))
    split = StratifiedShuffleSplit(
        1, train_size=train, test_size=min(20_000, len(y) - train), random_state=seed
    )
    fitted, new = next(split.split(X, y))
    results = []
    for method, classifier in methods(metric, seed, names).items():
        predicted = classifier.fit(X[fitted], y[fitted]).predict(X[new])
        value = mf.get_metric(metric).score(y[new], predicted)
        row = {"set": name, "seed": seed, "metric": metric, "method": method, "value": value, "code": CODE}
        row["versions"] = versions()
        if isinstance(classifier, MetricEnsemble):
            row["weights"] = classifier.weights_
        results.append(row)
    return results


def versions() -> str:
    """Return the versions of the libraries that decide on the numbers, as far as they are installed."""
    found = []
    for title, name in LIBRARIES.items():
        with suppress(PackageNotFoundError):
            found.append(f"{title} {version(name)}")
    return ", ".join(found)


def counts(row: tables.Row) -> bool:
    """Whether a row is as good as one of today."""
    return row["method"] in FOREIGN or row.get("code", 1) == CODE


def summary(rows: list[tables.Row]) -> None:
    """Print wins, ties and losses of the ensemble against each other method, by metric and over all."""
    values: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    for row in rows:
        values[row["set"], row["metric"], row["method"]][row["seed"]] = row["value"]
    generations = Counter(row.get("code", 1) for row in rows if row["method"] not in FOREIGN)
    print("rows by generation of the code: " + ", ".join(f"{k}: {n}" for k, n in sorted(generations.items())))
    metrics = sorted({metric for _, metric, _ in values})
    print(
        f"{'ensemble against':18s}{'metric':20s}{'mean':>9s}{'wins':>7s}{'ties':>6s}{'losses':>8s}"
        f"{'worst':>9s}"
    )
    for method in BASELINES:
        for metric in (*metrics, "all"):
            differences = {}
            for (name, m, other), theirs in values.items():
                ours = values.get((name, m, "ensemble"), {})
                common = sorted(ours.keys() & theirs.keys())
                if other == method and metric in (m, "all") and common:
                    differences[name, m] = float(np.mean([ours[seed] - theirs[seed] for seed in common]))
            if not differences:
                continue
            d = np.array(list(differences.values()))
            wins, losses = int((d > TIE).sum()), int((d < -TIE).sum())
            worst = min(differences, key=differences.__getitem__)
            print(
                f"{method:18s}{metric:20s}{d.mean():+9.4f}{wins:7d}{len(d) - wins - losses:6d}{losses:8d}"
                f"{d.min():+9.4f}  ({worst[0]}, {worst[1]})"
            )


def main() -> None:
    """Work on what the file does not have, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets, as .npz files")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument("--methods", nargs="+", default=("ensemble", *BASELINES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=6000, help="the most rows to fit on")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("ensemble.jsonl"))
    options = parser.parse_args()
    recorded = tables.read(options.out)
    done = {(row["set"], row["seed"], row["metric"], row["method"]) for row in recorded if counts(row)}
    tasks = []
    for seed in range(options.seeds):
        for turn in range(len(options.metrics)):
            for place, name in enumerate(options.sets):
                metric = options.metrics[(place + turn) % len(options.metrics)]
                left = [method for method in options.methods if (name, seed, metric, method) not in done]
                if left:
                    tasks.append((name, seed, metric, options.data, options.rows, left))
    tables.run(tasks, one, options.jobs, options.out)
    summary(tables.read(options.out))


if __name__ == "__main__":
    main()
