"""How often a constraint holds on new rows, and what it costs, with a promise and without.

    python benchmarks/confidence.py --data DATA --jobs 16
    python benchmarks/confidence.py --data DATA --sets letter adult --resamplings 20

A resampling draws 2,000 rows; the rest of the data set stands for the population. With the same rows, three
ways choose the cut of logistic regression and boosted trees, cross-fitted:

    plain          the best cut that meets the constraint out-of-fold, without a promise
    held-out       what MetricEnsemble(confidence=0.95) does: tests on a quarter of the rows that is held out
    cross-fitted   the same tests on the out-of-fold scores of all rows, which are those of other models

Printed is how often the constraint holds on the population, in percent of the resamplings in which a cut was
given; in how many none was ("refused"); and the mean of the objective there. A promise of 95 % is kept if it
holds in 95 % of the resamplings, up to chance: 1.5 points with 200 of them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import tables
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf
from metricfit.sklearn import MetricEnsemble
from metricfit.sklearn.confidence import NotShownError, confident_cut, need_enough_rows
from metricfit.sklearn.cut_curve import CutCurve

SETS = ("adult", "bankmarketing", "californiahousing", "default", "htru2", "letter")
# Objective and constraint; the last two have no exact test, and use bounds of the rates.
CASES = (
    ("precision", "recall >= 0.8"),
    ("recall", "specificity >= 0.9"),
    ("recall", "precision >= 0.6"),
    ("recall", "f1 >= 0.4"),
    ("recall", "mcc >= 0.3"),
    ("precision", "balanced_accuracy >= 0.65"),
)


WAYS = ("plain", "held-out", "cross-fitted")


def ensemble(seed: int) -> MetricEnsemble:
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    trees = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.1)
    return MetricEnsemble([("linear", linear), ("trees", trees)], random_state=seed)


def one(name: str, seed: int, folder: Path, size: int, confidence: float, holdout: float) -> list[tables.Row]:
    """Draw rows, fit once on all of them and once without the part held out, and try every case."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    X, y = tables.load(folder, name)
    drawn = np.random.default_rng(seed).permutation(len(y))
    rows, new = drawn[:size], drawn[size:]
    fitted, held_out = train_test_split(rows, test_size=holdout, random_state=seed)
    whole, part = ensemble(seed).fit(X[rows], y[rows]), ensemble(seed).fit(X[fitted], y[fitted])
    on_new = {id(model): model.predict_proba(X[new])[:, 1] for model in (whole, part)}
    on_held_out = part.predict_proba(X[held_out])[:, 1]
    seconds = time.perf_counter() - start
    results = []
    for objective, bound in CASES:
        metric = mf.get_metric(f"{objective} subject to {bound}")
        curves = {id(model): CutCurve.of(model.oof_, model.oof_) for model in (whole, part)}
        for way, model in zip(WAYS, (whole, part, whole), strict=True):
            curve = curves[id(model)]
            try:
                if way == "plain":
                    cut = curve.best(metric)
                elif way == "held-out":
                    need_enough_rows(metric.constraints, confidence, y[held_out], y[rows])
                    cut = confident_cut(metric, curve, on_held_out, y[held_out], confidence)
                else:
                    cut = confident_cut(metric, curve, model.oof_, y[rows], confidence)
            except NotShownError:
                value = got = None
            else:
                decided = (on_new[id(model)] > cut.threshold).astype(int)
                value = metric.objective.score(y[new], decided)
                got = metric.constraints[0].metric.score(y[new], decided)
            results.append(
                {
                    "set": name,
                    "seed": seed,
                    "case": f"{objective} subject to {bound}",
                    "way": way,
                    "least": metric.constraints[0].threshold,
                    "got": got,
                    "value": value,
                    "seconds": round(seconds, 2),
                }
            )
    return results


def summary(rows: list[tables.Row]) -> None:
    """Print a line for every case, over the sets and for each."""
    groups = defaultdict(lambda: defaultdict(list))
    # The last one counts, if a part was done again.
    for row in {(row["set"], row["seed"], row["case"], row["way"]): row for row in rows}.values():
        for group in (("all sets", row["case"]), (row["set"], row["case"])):
            groups[group][row["way"]].append(row)
    print(f"{'':20s}{'':42s}" + "".join(f"{way:>24s}" for way in WAYS))
    print(f"{'set':20s}{'case':42s}" + "".join(f"{'holds  refused  value':>24s}" for _ in WAYS))
    for (name, case), by_way in sorted(groups.items()):
        line = f"{name:20s}{case:42s}"
        for way in WAYS:
            given = [row for row in by_way[way] if row["got"] is not None]
            refused = 100.0 * (1.0 - len(given) / max(len(by_way[way]), 1))
            if given:
                holds = 100.0 * np.mean([row["got"] >= row["least"] for row in given])
                line += f"{holds:10.1f}{refused:7.1f}{np.mean([row['value'] for row in given]):7.3f}"
            else:
                line += f"{'-':>10s}{refused:7.1f}{'-':>7s}"
        print(line)


def main() -> None:
    """Work on the resamplings that the file does not have, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets, as .npz files")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--resamplings", type=int, default=200)
    parser.add_argument("--rows", type=int, default=2000, help="rows to draw")
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--holdout", type=float, default=0.25)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("confidence.jsonl"))
    options = parser.parse_args()
    counted = Counter((row["set"], row["seed"]) for row in tables.read(options.out))
    # A resampling that a crash left incomplete is repeated.
    done = {task for task, count in counted.items() if count >= len(WAYS) * len(CASES)}
    tasks = [
        (name, seed, options.data, options.rows, options.confidence, options.holdout)
        for seed in range(options.resamplings)
        for name in options.sets
        if (name, seed) not in done
    ]
    tables.run(tasks, one, options.jobs, options.out)
    summary(tables.read(options.out))


if __name__ == "__main__":
    main()
