"""Macro-F1 of many classes and of rare labels: training and deciding for it, against cross-entropy.

    python benchmarks/classes.py --data DATA --out classes.jsonl --jobs 2
    python benchmarks/classes.py --data DATA --out classes.jsonl --sets digits --seeds 1 --rates 0.01

DATA holds NAME.npz with X and y: letter, sat and pageblocks of UCI, and two real sets of several labels:
birds of the R package mldr (645 rows, its 15 labels of 2 to 16 % positives), and yeast of the Python
package river (2417 rows, 14 labels of 1 to 75 %). At most 4000 rows of each are used, half of them new.

All networks are MetricClassifier with two hidden layers of 100 units, averaged weights, and 20 % of the
rows held out to end the training and to choose cuts. Each is trained with every learning rate, and the one
with the best held-out metric counts. The two losses differ in nothing else.

Classes: "cross-entropy" and "game", each with

    argmax     the largest logit
    offsets    an offset per class, tuned on the labels of the held-out rows
    expected   an offset per class, for the metric of the expected confusion matrix

and "trees" (boosted, argmax). Labels: 20 synthetic ones of 1 to 5 % positives, tested on 20,000 rows; the
26 letters as labels of about 4 % ("letters"); birds, and yeast. "linear" (logistic regression, cuts from
out-of-fold scores), "cross-entropy" and "game", each with

    own        a cut per label, tuned on labels
    shrunk     the same near the common cut where positives are few
    common     one cut for all
    expected   a cut per label for the expected confusion matrix, shrunk

and "ensemble", MetricEnsemble of logistic regression. Every line of the file is one result. What is there
is not measured again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from metricfit import get_metric
from metricfit.sklearn import MetricClassifier, MetricEnsemble
from metricfit.sklearn.decisions import ClassDecision, LabelDecision

METHODS = {
    "classes": ("cross-entropy", "game", "trees"),
    "labels": ("linear", "cross-entropy", "game", "ensemble"),
}
SETS = {
    "letter": "classes",
    "digits": "classes",
    "sat": "classes",
    "pageblocks": "classes",
    "labels 500": "labels",
    "labels 2000": "labels",
    "letters": "labels",
    "birds": "labels",
    "yeast": "labels",
}
ROWS = 4000
# A label of fewer rows may be missing in a fold.
RAREST = 14
NETWORKS = ("cross-entropy", "game")
CUTS = {"argmax": "zero", "offsets": "empirical", "expected": "expected"}
MACRO_F1 = get_metric("macro f1")
PRIORS = {"own": 0.0, "shrunk": 20.0, "common": float("inf")}


class Cell(NamedTuple):
    """What is measured in one go."""

    set: str
    seed: int
    method: str
    lr: float
    data: str


class Rows(NamedTuple):
    """Rows to train on, and new ones."""

    X: Any
    y: Any
    new: Any
    truth: Any


def load(name: str, folder: Path) -> tuple[Any, Any]:
    if name == "digits":
        return load_digits(return_X_y=True)
    with np.load(folder / f"{name}.npz") as file:
        X, y = file["X"], file["y"]
    rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
    if y.ndim == 2:
        y = y[:, y.sum(axis=0) >= RAREST]
    return X[rows], y[rows]


def labels(seed: int, n: int, random: np.random.Generator) -> tuple[Any, Any]:
    """Return rows with 20 labels with 1 to 5 % positives each, which the features predict more or less
    well."""
    fixed = np.random.default_rng(1000 + seed)
    directions = fixed.normal(size=(20, 20)) / np.sqrt(20)
    noise = fixed.uniform(0.3, 1.0, 20)
    X = random.normal(size=(n, 20))
    latent = (X @ directions) / np.linalg.norm(directions, axis=0) + noise * random.normal(size=(n, 20))
    latent /= np.sqrt(1 + noise**2)
    return X, (latent > norm.ppf(1 - np.linspace(0.01, 0.05, 20))).astype(int)


def rows_of(cell: Cell) -> Rows:
    """Return the rows of a set and seed, scaled."""
    if cell.set.startswith("labels"):
        random = np.random.default_rng(cell.seed)
        return Rows(*labels(cell.seed, int(cell.set.split()[1]), random), *labels(cell.seed, 20_000, random))
    X, y = load("letter" if cell.set == "letters" else cell.set, Path(cell.data))
    strata = y if y.ndim == 1 else None
    X, new, y, truth = train_test_split(X, y, test_size=0.5, random_state=cell.seed, stratify=strata)
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    if cell.set == "letters":
        y, truth = ((codes[:, None] == np.unique(y)).astype(int) for codes in (y, truth))
    return Rows(X, y, new, truth)


def of_classes(cell: Cell, rows: Rows) -> dict[str, float]:
    if cell.method == "trees":
        model = HistGradientBoostingClassifier(random_state=cell.seed).fit(rows.X, rows.y)
        return {"trees argmax": scored(model.predict(rows.new), rows)}
    classes, codes = np.unique(rows.y, return_inverse=True)
    held_out, known, found, truth = network(cell, rows._replace(y=codes))
    results = {"held out": held_out}
    for name, cut in CUTS.items():
        decision = ClassDecision.fit(MACRO_F1, known, truth, None, cut, calibrated=False)
        results[f"{cell.method} {name}"] = scored(classes[decision.predict(found)], rows)
    return results


def of_labels(cell: Cell, rows: Rows) -> dict[str, float]:
    if cell.method == "ensemble":
        model = MetricEnsemble([LogisticRegression(max_iter=500)], random_state=cell.seed)
        return {"ensemble expected": scored(model.fit(rows.X, rows.y).predict(rows.new), rows)}
    results = {}
    if cell.method == "linear":
        (known, found), truth = linear(cell.seed, rows), rows.y
    else:
        results["held out"], known, found, truth = network(cell, rows)
    for name, prior in PRIORS.items():
        decision = LabelDecision.fit(MACRO_F1, known, truth, None, "empirical", calibrated=False, prior=prior)
        results[f"{cell.method} {name}"] = scored(decision.predict(found), rows)
    decision = LabelDecision.fit(MACRO_F1, known, truth, None, "expected", calibrated=False)
    results[f"{cell.method} expected"] = scored(decision.predict(found), rows)
    return results


def network(cell: Cell, rows: Rows) -> tuple[float, Any, Any, Any]:
    """Return the held-out metric, logits of held-out and of new rows, and the truth of the held-out ones."""
    strata = rows.y if rows.y.ndim == 1 and np.bincount(rows.y).min() > 1 else None
    X, held_out, y, truth = train_test_split(
        rows.X, rows.y, test_size=0.2, random_state=cell.seed, stratify=strata
    )
    loss = "metric" if cell.method == "game" else cell.method
    model = MetricClassifier("f1", loss=loss, lr=cell.lr, max_epochs=200, random_state=cell.seed)
    model.fit(X, y, validation_set=(held_out, truth))
    known, found = (
        model.net_.forward(part.astype(np.float32), training=False).double().numpy()
        for part in (held_out, rows.new)
    )
    return model.history_[model.best_epoch_ - 1]["valid_metric"], known, found, truth


def linear(seed: int, rows: Rows) -> tuple[Any, Any]:
    """Return out-of-fold logits of logistic regressions, and those of new rows."""
    oof = np.empty(rows.y.shape)
    whole = [LogisticRegression(max_iter=500).fit(rows.X, column) for column in rows.y.T]
    for number, column in enumerate(rows.y.T):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(rows.X, column):
            model = LogisticRegression(max_iter=500).fit(rows.X[train], column[train])
            oof[test, number] = model.decision_function(rows.X[test])
    return oof, np.column_stack([model.decision_function(rows.new) for model in whole])


def scored(predicted: Any, rows: Rows) -> float:
    return float(f1_score(rows.truth, predicted, average="macro"))


def measured(cell: Cell) -> list[dict[str, Any]]:
    """Return the results of a cell, as lines of the file."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    start = time.perf_counter()
    rows = rows_of(cell)
    found = of_classes(cell, rows) if SETS[cell.set] == "classes" else of_labels(cell, rows)
    line = cell._asdict() | {
        "s": round(time.perf_counter() - start, 1),
        "held_out": found.pop("held out", 0.0),
    }
    del line["data"]
    return [line | {"result": name, "value": value} for name, value in found.items()]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("classes.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rates", nargs="+", type=float, default=[0.001, 0.01], help="of the networks")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds after which to stop")
    settings = parser.parse_args()
    start = time.monotonic()
    rows = [json.loads(line) for line in settings.out.open()] if settings.out.exists() else []
    there = {(row["set"], row["seed"], row["method"], row["lr"]) for row in rows}
    cells = [
        Cell(name, seed, method, lr, str(settings.data))
        for seed in range(settings.seeds)
        for name in settings.sets
        for method in METHODS[SETS[name]]
        for lr in (settings.rates if method in NETWORKS else (0.0,))
        if (name, seed, method, lr) not in there
    ]
    # One process writes; the workers only compute.
    with settings.out.open("a") as file, multiprocessing.get_context("fork").Pool(settings.jobs) as pool:
        results = pool.imap_unordered(measured, cells)
        for _ in cells:
            left = settings.deadline - (time.monotonic() - start)
            try:
                found = results.next(None if left == float("inf") else max(left, 0.0))
            except multiprocessing.TimeoutError:
                break
            rows += found
            file.write("".join(json.dumps(row) + "\n" for row in found))
            file.flush()
    for kind in METHODS:
        if of_kind := [
            row for row in rows if SETS[row["set"]] == kind and row["lr"] in (0.0, *settings.rates)
        ]:
            show(of_kind)


def show(rows: list[dict[str, Any]]) -> None:
    """Print the mean over the seeds, a line per result and a column per set."""
    best: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in rows:
        key = row["result"], row["set"], row["seed"]
        if key not in best or row["held_out"] > best[key]["held_out"]:
            best[key] = row
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (result, name, _), row in best.items():
        values[result, name].append(row["value"])
    sets = [name for name in SETS if any(name == row["set"] for row in rows)]
    print(f"| macro-F1 | {' | '.join(sets)} |\n|{'---|' * (len(sets) + 1)}")
    for result in dict.fromkeys(result for result, _ in values):
        found = [values[result, name] for name in sets]
        print(f"| {result} | {' | '.join(f'{np.mean(one):.3f}' if one else '' for one in found)} |")
    print(f"{min(map(len, values.values()))} to {max(map(len, values.values()))} seeds\n")


if __name__ == "__main__":
    main()
