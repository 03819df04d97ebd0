"""Boosted trees for a metric against logistic loss: quality, and time per round.

    python benchmarks/boosting.py quality --data FOLDER --out cells.jsonl --jobs 2
    python benchmarks/boosting.py time

``quality``: LightGBM on up to 5,000 rows of a data set, a fifth of them held out for the cut, 100 rounds, the
same settings for both. Every cell is a data set, a seed and a metric, and holds the metric on other rows at
the cut 0 and at the cut that is best on the held-out rows. A run that was stopped goes on; when it is done,
differences to logistic loss with a tuned cut are printed.

``time``: processor time of a round at 50,000 rows and 20 columns, on one thread, which other work on the
machine hardly changes. The objectives take turns, one round each. Printed are the median round and the
quartiles of the ratios to the logistic round of the same turn. Give OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import itertools
import time
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from results_boosting import quality
from sklearn.model_selection import train_test_split
from tables import Row, load, read, run

import metricfit as mf
from metricfit.boosting import MetricObjective
from metricfit.sklearn import best_cut

SETS = "letter pageblocks whitewine abalone default bankmarketing eegeye htru2"
METRICS = "f1 mcc kappa"
ROWS, TEST_ROWS, ROUNDS = 5_000, 8_000, 100
TIMED_ROWS, COLUMNS, TURNS = 50_000, 20, 40
SETTINGS = {"num_threads": 1, "verbose": -1, "deterministic": True, "force_row_wise": True}


def raw_scores(
    X: NDArray[Any], y: NDArray[Any], objective: Any, seed: int, *others: NDArray[Any]
) -> list[NDArray[Any]]:
    """Return the scores of other rows, of trees trained on these."""
    settings = {**SETTINGS, "objective": objective, "seed": seed}
    trees = lightgbm.train(settings, lightgbm.Dataset(X, y), ROUNDS)
    return [trees.predict(rows, raw_score=True) for rows in others]


def cells(folder: Path, name: str, seed: int, metrics: list[str]) -> list[Row]:
    """Return the cells of a data set and a seed."""
    X, y = load(folder, name)
    size = min(ROWS, int(0.6 * len(y)))
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, stratify=y, random_state=seed)
    X, X_out, y, y_out = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
    X_test, y_test = X_test[:TEST_ROWS], y_test[:TEST_ROWS]
    logistic = raw_scores(X, y, "binary", seed, X_out, X_test)
    rows = []
    for text in metrics:
        metric = mf.get_metric(text)
        own = raw_scores(X, y, MetricObjective(metric), seed, X_out, X_test)
        row: Row = {"set": name, "seed": seed, "metric": text}
        for way, (held_out, tested) in (("logistic", logistic), ("metric", own)):
            cut = best_cut(metric, held_out, y_out).threshold
            row[f"{way} at 0"] = metric.score(y_test, (tested > 0.0).astype(int))
            row[f"{way} tuned"] = metric.score(y_test, (tested > cut).astype(int))
        rows.append(row)
    return rows


def measure_quality(options: argparse.Namespace) -> None:
    """Fill the file with the cells that it lacks, and print what came out."""
    done = {(row["set"], row["seed"]) for row in read(options.out)}
    names, metrics = options.sets.split(), options.metrics.split()
    wanted = [
        (options.data, name, seed, metrics)
        for name, seed in itertools.product(names, options.seeds)
        if (name, seed) not in done
    ]
    run(wanted, cells, options.jobs, options.out)
    print("\n".join(quality(read(options.out))))


def measure_time() -> None:
    """Print the time of a round of several objectives."""
    ways: dict[str, tuple[float, Any]] = {
        "logistic, LightGBM's own": (0.2, None),
        "logistic in NumPy": (0.2, logistic),
        "f1": (0.2, MetricObjective("f1")),
        "mcc": (0.2, MetricObjective("mcc")),
        "kappa": (0.2, MetricObjective("kappa")),
        "f1, 1 % positives": (0.01, MetricObjective("f1")),
        "precision at recall 0.8": (0.2, MetricObjective(mf.precision_at_recall(0.8))),
        "f1, all rows played": (0.2, MetricObjective("f1", played_rows=TIMED_ROWS)),
    }
    sets = {share: timed_rows(share) for share, _ in ways.values()}
    models = {
        name: lightgbm.Booster({**SETTINGS, "objective": "none" if own else "binary"}, sets[share])
        for name, (share, own) in ways.items()
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(TURNS):
        for name, (_, objective) in ways.items():
            started = time.process_time()
            models[name].update(fobj=objective)
            seconds[name].append(time.process_time() - started)
    base = np.array(seconds["logistic, LightGBM's own"])
    print("| objective | ms per round, median | times logistic: quartile, median, quartile |")
    print("|---|---|---|")
    for name, times in seconds.items():
        low, middle, high = np.quantile(np.array(times) / base, (0.25, 0.5, 0.75))
        print(f"| {name} | {1e3 * np.median(times):.1f} | {low:.1f}, {middle:.1f}, {high:.1f} |")


def timed_rows(share: float) -> lightgbm.Dataset:
    """Return rows with this share of positives."""
    random = np.random.default_rng(0)
    X = random.normal(size=(TIMED_ROWS, COLUMNS))
    score = X[:, 0] + X[:, 1] * X[:, 2] + random.logistic(size=TIMED_ROWS)
    y = (score > np.quantile(score, 1.0 - share)).astype(int)
    return lightgbm.Dataset(X, y, params=SETTINGS).construct()


def logistic(scores: NDArray[Any], rows: lightgbm.Dataset) -> tuple[NDArray[Any], NDArray[Any]]:
    """Logistic loss as an objective in Python: what calling one costs."""
    shares = 1.0 / (1.0 + np.exp(-scores))
    return shares - rows.get_label(), shares * (1.0 - shares)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    quality = commands.add_parser("quality")
    quality.add_argument("--data", type=Path, required=True)
    quality.add_argument("--out", type=Path, required=True)
    quality.add_argument("--sets", default=SETS)
    quality.add_argument("--metrics", default=METRICS)
    quality.add_argument("--seeds", type=int, nargs="+", default=[10, 11])
    quality.add_argument("--jobs", type=int, default=1)
    commands.add_parser("time")
    options = parser.parse_args()
    if options.command == "time":
        measure_time()
    else:
        measure_quality(options)


if __name__ == "__main__":
    main()
