"""MetricClassifier against its earlier recipe, and against cross-entropy with a tuned cut.

    python benchmarks/estimator.py --data FOLDER --out cells.jsonl --jobs 2

The folder holds the paper's data as ``<name>.npz``. A run that was stopped goes on. Every cell is one data
set, seed and metric. Four ways train the same network on the same rows with the same rows held out:

- ``earlier``: the game's loss, the cut 0, the weights and the epoch of the best counted metric;
- ``tuned``: cross-entropy in the same way, and at every epoch the cut that is best on the held-out rows;
- ``recipe``: cross-entropy as ``MetricClassifier(loss="cross-entropy")`` trains it;
- ``new``: ``MetricClassifier`` as it is.

``recipe - tuned`` is what the recipe adds (averaged weights, calibrated cut, choice of the epoch, repeated
positives), ``new - recipe`` is what the loss adds. A name with a share, as in ``letter@0.01``, stands for the
data set with so many of its positives that they make up this share.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import metricfit as mf
from metricfit.experiments.datasets import DATASETS
from metricfit.sklearn import MLP, MetricClassifier, best_cut, cut_at
from metricfit.sklearn.network import CrossEntropy

SETS = "letter htru2 abalone bankmarketing whitewine default eegeye californiahousing"
RARE = "synthetic letter@0.01 bankmarketing@0.01 default@0.01"
WAYS = ("earlier", "tuned", "recipe", "new")
# Rows to train on, a fifth of them held out, and to test on; and the same for rare positives.
ROWS, TEST_ROWS = 2_000, 4_000
RARE_ROWS = 12_000
EPOCHS, PATIENCE, BATCH = 100, 15, 64


def synthetic(seed: int, n: int = 80_000, share: float = 0.01) -> tuple[np.ndarray, np.ndarray]:
    """Return rows with few positives and a weak signal."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 20))
    logit = X[:, :6] @ random.normal(size=6) / np.sqrt(6) + 0.4 * X[:, 6] * X[:, 7]
    score = 1.1 * logit + random.logistic(size=n)
    return X, (score > np.quantile(score, 1.0 - share)).astype(int)


def read(name: str, folder: Path, seed: int) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Return features, labels, and how many rows to train and to test on."""
    if name == "synthetic":
        return *synthetic(seed), 50_000, 30_000
    base, _, share = name.partition("@")
    arrays = np.load(folder / f"{base}.npz", allow_pickle=False)
    first, last = DATASETS[base].positive
    X, y = arrays["X"], ((arrays["y"] >= first) & (arrays["y"] <= last)).astype(int)
    if not share:
        return X, y, min(ROWS, int(0.6 * len(y))), TEST_ROWS
    random = np.random.default_rng(seed)
    negatives, positives = (random.permutation(np.flatnonzero(y == label)) for label in (0, 1))
    some = positives[: int(len(negatives) * float(share) / (1.0 - float(share)))]
    rows = np.concatenate((negatives, some))
    return X[rows], y[rows], min(RARE_ROWS, int(0.6 * len(rows))), len(rows)


def parts(name: str, folder: Path, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return rows to train on, to hold out and to test on, standardised on the first."""
    X, y, rows, test_rows = read(name, folder, seed)
    X, X_test, y, y_test = train_test_split(X, y, train_size=rows, stratify=y, random_state=seed)
    X, X_out, y, y_out = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    pairs = ((X, y), (X_out, y_out), (X_test[:test_rows], y_test[:test_rows]))
    return [(scaler.transform(features).astype(np.float32), labels) for features, labels in pairs]


def plain(loss: Any, metric: mf.Metric, tune: bool, data: list[Any], seed: int) -> tuple[np.ndarray, float]:
    """Train in a plain loop; return the scores of the test rows at the best epoch, and its cut."""
    (X, y), (X_out, y_out), (X_test, _) = [(torch.from_numpy(X), torch.from_numpy(y)) for X, y in data]
    torch.manual_seed(seed)
    network = MLP(X.shape[1])
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-3)
    best, best_epoch, kept, threshold = -np.inf, 0, np.empty(0), 0.0
    for epoch in range(EPOCHS):
        for rows in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            loss(network(X[rows]).squeeze(1), y[rows]).backward()
            optimizer.step()
        with torch.inference_mode():
            scores = network(X_out).squeeze(1).double().numpy()
            cut = (best_cut if tune else cut_at)(metric, scores, y_out.numpy())
            if cut.rank > best:
                best, best_epoch, threshold = cut.rank, epoch, cut.threshold
                kept = network(X_test).squeeze(1).double().numpy()
        if epoch - best_epoch >= PATIENCE:
            break
    return kept, threshold


def fitted(loss: str, metric: mf.Metric, data: list[Any], seed: int) -> tuple[np.ndarray, float]:
    """Train the estimator; return the scores of the test rows and 0, from which they are counted."""
    (X, y), held_out, (X_test, _) = data
    model = MetricClassifier(metric, loss=loss, random_state=seed)
    model.fit(X, y, validation_set=held_out)
    return model.decision_function(X_test), 0.0


def measure(way: str, name: str, seed: int, metric_name: str, folder: Path) -> dict[str, Any]:
    """Train in one way and return what came of it on the test rows."""
    torch.set_num_threads(1)
    metric, data = mf.get_metric(metric_name), parts(name, folder, seed)
    begun = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if way == "earlier":
            scores, threshold = plain(mf.MetricLoss(metric), metric, False, data, seed)
        elif way == "tuned":
            scores, threshold = plain(CrossEntropy(), metric, True, data, seed)
        else:
            loss = "metric" if way == "new" else "cross-entropy"
            scores, threshold = fitted(loss, metric, data, seed)
    predicted, truth = scores > threshold, data[2][1]
    return {
        "way": way,
        "set": name,
        "seed": seed,
        "metric": metric_name,
        "score": round(metric.score(truth, predicted), 5),
        "predicted": int(predicted.sum()),
        "positives": int(truth.sum()),
        "seconds": round(time.perf_counter() - begun, 2),
    }


def finished(path: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return the cells that are done, by way, set, seed and metric."""
    lines = path.read_text().splitlines() if path.exists() else []
    cells = [json.loads(line) for line in lines if line.endswith("}")]
    return {(cell["way"], cell["set"], cell["seed"], cell["metric"]): cell for cell in cells}


def compare(cells: dict[tuple[Any, ...], dict[str, Any]], one: str, other: str, sets: list[str]) -> str:
    """Return the mean difference of two ways with its standard error, wins, ties and losses."""
    keys = [key[1:] for key in cells if key[0] == one and key[1] in sets and (other, *key[1:]) in cells]
    if not keys:
        return "nothing yet"
    gain = np.array([cells[(one, *key)]["score"] - cells[(other, *key)]["score"] for key in keys])
    wins, losses = int((gain > 0.001).sum()), int((gain < -0.001).sum())
    error = gain.std() / np.sqrt(len(gain))
    return f"{gain.mean():+.4f} ± {error:.4f}   {wins} / {len(gain) - wins - losses} / {losses}"


def report(cells: dict[tuple[Any, ...], dict[str, Any]], sets: list[str]) -> None:
    """Print the comparisons, and the means of every data set."""
    for one, other in (("new", "earlier"), ("new", "tuned"), ("recipe", "tuned"), ("new", "recipe")):
        print(f"{one:>7} - {other:8} {compare(cells, one, other, sets)}")
    print(f"\n{'':22}" + "".join(f"{way:>10}" for way in WAYS) + "   seconds of new")
    for name in sets:
        chosen = {way: [cell for key, cell in cells.items() if key[:2] == (way, name)] for way in WAYS}
        means = [np.mean([cell["score"] for cell in chosen[way]] or [np.nan]) for way in WAYS]
        seconds = np.mean([cell["seconds"] for cell in chosen["new"]] or [np.nan])
        print(f"{name:22}" + "".join(f"{mean:10.4f}" for mean in means) + f"{seconds:12.1f}")


def main() -> None:
    """Read the options, train what is missing, and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="the folder of the .npz files")
    parser.add_argument("--out", type=Path, default=Path("estimator.jsonl"))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sets", nargs="+", default=SETS.split(), help=f"for rare positives: {RARE}")
    parser.add_argument("--metrics", nargs="+", default=["f1", "kappa", "mcc"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1])
    options = parser.parse_args()
    done = finished(options.out)
    missing = [
        (way, name, seed, metric)
        for seed in options.seeds
        for name in options.sets
        for metric in options.metrics
        for way in WAYS
        if (way, name, seed, metric) not in done
    ]
    results = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(measure)(*cell, options.data) for cell in missing
    )
    with options.out.open("a") as file:
        for cell in results:
            file.write(json.dumps(cell) + "\n")
            file.flush()
    report(finished(options.out), options.sets)


if __name__ == "__main__":
    main()
