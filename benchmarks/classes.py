"""Macro-F1 of many classes and of rare labels: training and deciding for it, against cross-entropy.

    python benchmarks/classes.py --data DATA --out classes.jsonl --jobs 2
    python benchmarks/classes.py --data DATA --out classes.jsonl --sets digits --seeds 1

Classes (digits, letter, sat; at most 4000 rows, half of them new), all networks the same:

    cross-entropy          argmax of a softmax network
    cross-entropy offsets  the same with an offset per class, tuned on the held-out rows
    game                   MetricClassifier, argmax
    game expected          MetricClassifier, offsets for the expected metric
    trees                  boosted trees, argmax
    ensemble               MetricEnsemble of logistic regression and random forest

Labels, all with a cut per label: 20 synthetic ones of 1 to 5 % positives, tested on 20,000 rows, and the 26
letters of the set letter as labels of about 4 % positives ("letters"), tested on half of 4000 rows:

    linear own, shrunk, common     logistic regression; cuts tuned out-of-fold on the labels: one per label,
                                   near the common one for few positives, or one for all
    linear expected                the same, shrunk, for the expected metric
    cross-entropy own, expected    a network; its cuts from held-out rows, as for "linear"
    game own, expected             the same network, trained by MetricClassifier
    linear game own, expected      a linear model, trained by MetricClassifier
    ensemble                       MetricEnsemble of logistic regression

Every line of the file is one result. What is there is not measured again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.stats import norm
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from metricfit import get_metric
from metricfit.sklearn import MetricClassifier, MetricEnsemble
from metricfit.sklearn.decisions import LabelDecision

METHODS = {
    "classes": (
        "cross-entropy",
        "cross-entropy offsets",
        "game",
        "game expected",
        "trees",
        "ensemble",
    ),
    "labels": ("linear", "linear game", "cross-entropy", "game", "ensemble"),
}
SETS = {
    "digits": "classes",
    "sat": "classes",
    "letter": "classes",
    "labels 500": "labels",
    "labels 2000": "labels",
    "letters": "labels",
}
ROWS = 4000
PRIORS = {"own": 0.0, "shrunk": 20.0, "common": float("inf")}


class Cell(NamedTuple):
    """What is measured in one go."""

    set: str
    seed: int
    method: str
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


def rows_of(cell: Cell) -> Rows:
    """Return the rows of a set and seed, scaled."""
    if cell.set.startswith("labels"):
        random = np.random.default_rng(cell.seed)
        return Rows(*labels(cell.seed, int(cell.set.split()[1]), random), *labels(cell.seed, 20_000, random))
    X, y = load("letter" if cell.set == "letters" else cell.set, Path(cell.data))
    X, new, y, truth = train_test_split(X, y, test_size=0.5, random_state=cell.seed, stratify=y)
    scaler = StandardScaler().fit(X)
    X, new = scaler.transform(X), scaler.transform(new)
    if cell.set == "letters":
        y, truth = ((codes[:, None] == np.unique(y)).astype(int) for codes in (y, truth))
    return Rows(X, y, new, truth)


def of_classes(cell: Cell, rows: Rows) -> dict[str, float]:
    seed = cell.seed
    networks = {
        "cross-entropy": ("cross-entropy", "zero"),
        "cross-entropy offsets": ("cross-entropy", "empirical"),
        "game": ("metric", "zero"),
        "game expected": ("metric", "expected"),
    }
    if cell.method in networks:
        loss, cut = networks[cell.method]
        model: Any = MetricClassifier("f1", loss=loss, cut=cut, random_state=seed)
    elif cell.method == "trees":
        model = HistGradientBoostingClassifier(random_state=seed)
    else:
        members = [
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
            RandomForestClassifier(30),
        ]
        model = MetricEnsemble(members, cv=3, random_state=seed)
    return {cell.method: scored(model.fit(rows.X, rows.y).predict(rows.new), rows)}


def of_labels(cell: Cell, rows: Rows) -> dict[str, float]:
    metric = get_metric("macro f1")
    if cell.method == "ensemble":
        model = MetricEnsemble([LogisticRegression()], random_state=cell.seed).fit(rows.X, rows.y)
        return {"ensemble": scored(model.predict(rows.new), rows)}
    if cell.method == "linear":
        (known, found), truth = linear(cell.seed, rows), rows.y
    else:
        X, held_out, y, truth = train_test_split(rows.X, rows.y, test_size=0.2, random_state=cell.seed)
        settings: dict[str, Any] = {}
        if cell.method == "linear game":
            settings = {"module": partial(torch.nn.Linear, out_features=y.shape[1]), "lr": 0.01}
        loss = "metric" if "game" in cell.method else cell.method
        network = MetricClassifier("f1", loss=loss, random_state=cell.seed, **settings)
        network.fit(X, y, validation_set=(held_out, truth))
        known, found = (
            network.net_.forward(part.astype(np.float32), training=False).double().numpy()
            for part in (held_out, rows.new)
        )
    results = {}
    for name, prior in PRIORS.items():
        decision = LabelDecision.fit(metric, known, truth, None, "empirical", calibrated=False, prior=prior)
        results[f"{cell.method} {name}"] = scored(decision.predict(found), rows)
    decision = LabelDecision.fit(metric, known, truth, None, "expected", calibrated=False)
    results[f"{cell.method} expected"] = scored(decision.predict(found), rows)
    return results


def linear(seed: int, rows: Rows) -> tuple[Any, Any]:
    """Return out-of-fold logits of logistic regressions, and those of new rows."""
    oof = np.empty(rows.y.shape)
    whole = [LogisticRegression().fit(rows.X, column) for column in rows.y.T]
    for number, column in enumerate(rows.y.T):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(rows.X, column):
            model = LogisticRegression().fit(rows.X[train], column[train])
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
    seconds = round(time.perf_counter() - start, 1)
    return [
        {
            "set": cell.set,
            "seed": cell.seed,
            "cell": cell.method,
            "method": name,
            "value": value,
            "s": seconds,
        }
        for name, value in found.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("classes.jsonl"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=float("inf"), help="seconds after which to stop")
    settings = parser.parse_args()
    start = time.monotonic()
    rows = [json.loads(line) for line in settings.out.open()] if settings.out.exists() else []
    there = {(row["set"], row["seed"], row["cell"]) for row in rows}
    cells = [
        Cell(name, seed, method, str(settings.data))
        for seed in range(settings.seeds)
        for name in settings.sets
        for method in METHODS[SETS[name]]
        if (name, seed, method) not in there
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
        if of_kind := [row for row in rows if SETS[row["set"]] == kind]:
            show(of_kind)


def show(rows: list[dict[str, Any]]) -> None:
    """Print the mean over the seeds, a line per method and a column per set."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        values[row["method"], row["set"]].append(row["value"])
    sets = [name for name in SETS if any(name == row["set"] for row in rows)]
    print(f"| macro-F1 | {' | '.join(sets)} |\n|{'---|' * (len(sets) + 1)}")
    for method in dict.fromkeys(method for method, _ in values):
        found = [values[method, name] for name in sets]
        print(f"| {method} | {' | '.join(f'{np.mean(one):.3f}' if one else '' for one in found)} |")
    print(f"{min(map(len, values.values()))} to {max(map(len, values.values()))} seeds\n")


if __name__ == "__main__":
    main()
