"""Macro-F1 of many classes and of rare labels: training and deciding for it, against cross-entropy.

    python benchmarks/classes.py --data DATA --out classes.jsonl
    python benchmarks/classes.py --data DATA --out classes.jsonl --sets digits --seeds 1

Classes (digits, letter, sat; at most 4000 rows, half of them new), all with the same network:

    cross-entropy          argmax of a softmax network
    cross-entropy offsets  the same with an offset per class, tuned on the held-out rows
    game                   MetricClassifier, argmax
    game expected          MetricClassifier, offsets for the expected metric
    ensemble CUT           MetricEnsemble of logistic regression and random forest

Labels (20 synthetic labels of 1 to 5 % positives), tested on 20,000 rows:

    linear CUT PRIOR       logistic regression, a cut per label chosen out-of-fold, the common one standing
                           for PRIOR positives; 0 is per-label tuned thresholds and inf one threshold for all
    linear zero            the same at probability one half
    game CUT               MetricClassifier
    ensemble               MetricEnsemble of logistic regression

Every line of the file is one result. What is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricfit import get_metric
from metricfit.sklearn import MetricClassifier, MetricEnsemble
from metricfit.sklearn.deciding import LabelDecision

SETS = ("digits", "letter", "sat", "labels")
ROWS = 4000
PRIORS = (0.0, 5.0, 20.0, 80.0, 320.0, float("inf"))


def load(name: str, folder: Path) -> tuple[Any, Any]:
    if name == "digits":
        return load_digits(return_X_y=True)
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"]
    rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
    return X[rows], y[rows]


def labels(seed: int, n: int, random: np.random.Generator) -> tuple[Any, Any]:
    """Return rows with 20 labels, from 1 to 5 % of positives each, of which features say more or less."""
    fixed = np.random.default_rng(1000 + seed)
    directions = fixed.normal(size=(20, 20)) / np.sqrt(20)
    noise = fixed.uniform(0.3, 1.0, 20)
    X = random.normal(size=(n, 20))
    latent = (X @ directions) / np.linalg.norm(directions, axis=0) + noise * random.normal(size=(n, 20))
    latent /= np.sqrt(1 + noise**2)
    return X, (latent > norm.ppf(1 - np.linspace(0.01, 0.05, 20))).astype(int)


def classes(name: str, seed: int, folder: Path) -> Iterator[tuple[str, float]]:
    X, y = load(name, folder)
    X, new, y, truth = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)

    def score(model: Any) -> float:
        return float(f1_score(truth, model.fit(X, y).predict(new), average="macro"))

    def network(loss: str, cut: str) -> Any:
        return make_pipeline(StandardScaler(), MetricClassifier("f1", loss=loss, cut=cut, random_state=seed))

    yield "cross-entropy", score(network("cross-entropy", "zero"))
    yield "cross-entropy offsets", score(network("cross-entropy", "empirical"))
    yield "game", score(network("metric", "zero"))
    yield "game expected", score(network("metric", "expected"))
    for cut in ("expected", "empirical", "zero"):
        linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
        members = [linear, RandomForestClassifier(30)]
        yield f"ensemble {cut}", score(MetricEnsemble(members, cut=cut, cv=3, random_state=seed))


def many_labels(seed: int, rows: int) -> Iterator[tuple[str, float]]:
    random = np.random.default_rng(seed)
    (X, y), (new, truth) = labels(seed, rows, random), labels(seed, 20_000, random)
    metric = get_metric("macro f1")

    def logits(Z: Any) -> Any:
        return np.column_stack([model.decision_function(Z) for model in whole])

    oof, whole = np.empty(y.shape), [LogisticRegression().fit(X, column) for column in y.T]
    for number, column in enumerate(y.T):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, column):
            oof[test, number] = LogisticRegression().fit(X[train], column[train]).decision_function(X[test])
    found = logits(new)
    for cut in ("expected", "empirical"):
        for prior in PRIORS:
            decision = LabelDecision.fit(metric, oof, y, None, cut, calibrated=False, prior=prior)
            predicted = decision.predict(found)
            yield f"linear {cut} {prior:g}", float(f1_score(truth, predicted, average="macro"))
    yield "linear zero", float(f1_score(truth, found > 0, average="macro"))
    for cut in ("zero", "expected"):
        model = MetricClassifier("f1", cut=cut, random_state=seed, max_epochs=30).fit(X, y)
        yield f"game {cut}", float(f1_score(truth, model.predict(new), average="macro"))
    ensemble = MetricEnsemble([LogisticRegression()], random_state=seed).fit(X, y)
    yield "ensemble", float(f1_score(truth, ensemble.predict(new), average="macro"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("classes.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[500, 2000], help="training rows of the labels"
    )
    settings = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [json.loads(line) for line in settings.out.open()] if settings.out.exists() else []
    there = {(row["set"], row["seed"]) for row in rows if row["method"] == "end"}
    for name in settings.sets:
        for part in settings.rows if name == "labels" else [0]:
            key = f"labels {part}" if part else name
            for seed in range(settings.seeds):
                if (key, seed) in there:
                    continue
                results = many_labels(seed, part) if part else classes(name, seed, settings.data)
                with settings.out.open("a") as file:
                    for method, value in [*results, ("end", 0.0)]:
                        rows.append({"set": key, "seed": seed, "method": method, "value": value})
                        file.write(json.dumps(rows[-1]) + "\n")
    table: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for row in rows:
        if row["method"] != "end":
            table[row["set"], row["method"]][row["seed"]] = row["value"]
    for (name, method), values in table.items():
        print(f"{name:14s}{method:26s}{np.mean(list(values.values())):.4f}  {len(values)} seeds")


if __name__ == "__main__":
    main()
