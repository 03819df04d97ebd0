"""Where 1 % of the rows are positive: how to weigh the members of an ensemble, and what the ensemble gains.

    python benchmarks/rare.py --data DATA --jobs 2
    python benchmarks/rare.py --data DATA --sets letter --seeds 1

Data sets are thinned out to 5,000 rows with 50 positives; "made-0.5" and "made-0.3" are 12,000 rows of
make_classification with 20 features, of which 8 say a little. New rows are weighted so that 1 % are positive.

The network is trained for F1. Its scores, those of boosted trees and of logistic regression are cross-fitted
as MetricEnsemble does it, and decided for each metric at the expected cut. What differs are the members, and
how their weights are found:

    log loss       what MetricEnsemble does
    equal          no weights
    balanced       log loss in which both classes count alike
    near the cut   log loss of the rows whose probability is near the cut
    left out       a member is left out if the metric without it is better in 80 % of the bootstrap samples

"empirical" is the cut that is best for the labels, instead. Beside them are each member alone, and for F1
"lightgbm" in TunedThresholdClassifierCV, and "cross-entropy", a network with the cut that is best on its
validation part.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ensemble
import numpy as np
import numpy.typing as npt
import tables
from scipy.special import logit
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import metricfit as mf
from metricfit.sklearn.calibration import MixedCalibration, SigmoidCalibration
from metricfit.sklearn.crossfit import crossfit, make_folds
from metricfit.sklearn.cuts import best_cut, expected_cut
from metricfit.sklearn.member_weights import member_weights

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
SETS = ("californiahousing", "letter", "bankmarketing", "adult", "made-0.5", "made-0.3")
METRICS = ("f1", "mcc", "kappa")
SHARE = 0.01
BOOTSTRAPS = 200
# How far from the cut a row still counts, in logits.
NEAR = 2.0
Scores = dict[str, tuple[FloatArray, FloatArray]]


def rows_of(name: str, seed: int, folder: Path) -> tuple[Any, IntArray, Any, IntArray, FloatArray]:
    """Return the rows to fit, and the new rows with their weights."""
    if name.startswith("made-"):
        X, y = make_classification(
            60_000,
            20,
            n_informative=8,
            weights=[1.0 - SHARE],
            flip_y=0.0,
            class_sep=float(name.removeprefix("made-")),
            random_state=100 + seed,
        )
        X = X.astype(np.float32)
        return X[:12_000], y[:12_000], X[12_000:], y[12_000:], np.ones(48_000)
    X, y = tables.load(folder, name)
    random = np.random.default_rng(seed)
    positive, negative = (random.permutation(np.flatnonzero(y == label)) for label in (1, 0))
    fitted = random.permutation(np.concatenate((positive[:50], negative[:4950])))
    new = np.concatenate((positive[50:3050], negative[4950:19_950]))
    shares = np.where(y[new] == 1, SHARE, 1.0 - SHARE)
    weights = shares / np.where(y[new] == 1, (y[new] == 1).sum(), (y[new] == 0).sum())
    return X[fitted], y[fitted], X[new], y[new], weights * len(new)


def member_scores(X: Any, y: IntArray, new: Any, seed: int) -> Scores:
    """Return the calibrated logits of every member, out-of-fold and for new rows."""
    estimators = [
        ("network", ensemble.network("f1", "metric", seed=seed)),
        ("trees", HistGradientBoostingClassifier(random_state=seed)),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=300))),
    ]
    random = np.random.RandomState(seed)
    folds = make_folds(5, X, y, None, seed)
    members, scores = crossfit(estimators, X, y, folds, sample_weight=None, random=random, n_jobs=None)
    return {member.name: (row, member.scores(new)) for member, row in zip(members, scores, strict=True)}


def near_the_cut(logits: FloatArray, y: IntArray, metric: mf.Metric) -> FloatArray:
    chances = probabilities(logits, y, member_weights(logits, y))
    cut = expected_cut(metric, chances, y, chances, limits=(0.0, 1.0)).threshold
    return member_weights(logits, y, np.exp(-0.5 * ((logit(chances) - logit(cut)) / NEAR) ** 2) + 0.02)


def balanced(logits: FloatArray, y: IntArray, metric: mf.Metric) -> FloatArray:
    return member_weights(logits, y, np.where(y == 1, 1.0, y.sum() / (len(y) - y.sum())))


def left_out(logits: FloatArray, y: IntArray, metric: mf.Metric) -> FloatArray:
    """Leave out members while the metric is better without them in most bootstrap samples of the rows."""
    draws = np.random.default_rng(0).multinomial(len(y), np.full(len(y), 1.0 / len(y)), BOOTSTRAPS)
    actual = (draws @ y).astype(np.float64)

    def values(weights: FloatArray) -> FloatArray:
        chances = probabilities(logits, y, weights)
        chosen = chances > expected_cut(metric, chances, y, chances, limits=(0.0, 1.0)).threshold
        tp = (draws @ (chosen & (y == 1))).astype(np.float64)
        fp = (draws @ (chosen & (y == 0))).astype(np.float64)
        return np.asarray(metric.score_counts(tp, fp, actual - tp, len(y) - actual - fp))

    best = member_weights(logits, y)
    reached = values(best)
    for member in range(len(logits)):
        others = np.delete(np.arange(len(logits)), member)
        weights = np.zeros(len(logits))
        weights[others] = member_weights(logits[others], y)
        without = values(weights)
        if best[member] > 0.0 and np.mean(without > reached) > 0.8:
            best, reached = weights, without
    return best


RULES: dict[str, Callable[[FloatArray, IntArray, mf.Metric], FloatArray]] = {
    "log loss": lambda logits, y, metric: member_weights(logits, y),
    "equal": lambda logits, y, metric: np.full(len(logits), 1.0 / len(logits)),
    "balanced": balanced,
    "near the cut": near_the_cut,
    "left out": left_out,
}


def probabilities(logits: FloatArray, y: IntArray, weights: FloatArray) -> FloatArray:
    return MixedCalibration.fit(weights @ logits, y)(weights @ logits)


def judged(scores: Scores, y: IntArray, truth: IntArray, weights: FloatArray) -> list[dict[str, Any]]:
    """Return the metrics on new rows, by members and rule."""
    rows = []
    teams = [("network", "trees"), ("network", "trees", "linear"), *((name,) for name in scores)]
    for team in teams:
        lines = [SigmoidCalibration.fit(scores[name][0], y) for name in team]
        held_out, new = (
            np.array([line.logits(scores[name][part]) for name, line in zip(team, lines, strict=True)])
            for part in (0, 1)
        )
        for name in METRICS:
            metric = mf.get_metric(name)
            for rule, choose in RULES.items() if len(team) > 1 else [("alone", RULES["equal"])]:
                shares = choose(held_out, y, metric)
                calibration = MixedCalibration.fit(shares @ held_out, y)
                chances, on_new = calibration(shares @ held_out), calibration(shares @ new)
                cuts = {rule: expected_cut(metric, chances, y, chances, limits=(0.0, 1.0))}
                if rule in ("log loss", "alone"):
                    cuts[f"{rule}, empirical"] = best_cut(metric, chances, y, limits=(0.0, 1.0))
                for way, cut in cuts.items():
                    value = metric.score(truth, on_new > cut.threshold, sample_weight=weights)
                    rows.append({"metric": name, "members": "+".join(team), "rule": way, "value": value})
    return rows


def one(name: str, seed: int, folder: Path) -> list[tables.Row]:
    """Fit everything on a set, and judge it."""
    warnings.simplefilter("ignore")
    X, y, new, truth, weights = rows_of(name, seed, folder)
    rows = judged(member_scores(X, y, new, seed), y, truth, weights)
    ensemble.FITTED.clear()
    rivals = ensemble.methods("f1", seed, ("lightgbm", "network"))
    for method, classifier in zip(("lightgbm", "cross-entropy"), rivals.values(), strict=True):
        value = mf.f1.score(truth, classifier.fit(X, y).predict(new), sample_weight=weights)
        rows.append({"metric": "f1", "members": method, "rule": "tuned", "value": value})
    return [{"set": name, "seed": seed, **row} for row in rows]


def summary(rows: list[tables.Row]) -> None:
    """Print the mean of every way, and its difference to the network and trees weighted by log loss."""
    values: dict[tuple[str, str, str], dict[tuple[str, int], float]] = defaultdict(dict)
    for row in rows:
        values[row["members"], row["rule"], row["metric"]][row["set"], row["seed"]] = row["value"]
    print(
        f"{'members':24s}{'rule':22s}{'metric':8s}{'cases':>6s}{'mean':>8s}{'difference':>12s}{'worst':>8s}"
    )
    for (members, rule, metric), found in values.items():
        base = values["network+trees", "log loss", metric]
        difference = np.array([found[case] - base[case] for case in found])
        mean = np.mean(list(found.values()))
        print(
            f"{members:24s}{rule:22s}{metric:8s}{len(found):6d}{mean:8.3f}{difference.mean():+12.4f}"
            f"{difference.min():+8.3f}"
        )


def main() -> None:
    """Work on what the file does not have, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the data sets, as .npz files")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("rare.jsonl"))
    options = parser.parse_args()
    done = {(row["set"], row["seed"]) for row in tables.read(options.out)}
    tasks = [
        (name, seed, options.data)
        for seed in range(options.seeds)
        for name in options.sets
        if (name, seed) not in done
    ]
    tables.run(tasks, one, options.jobs, options.out)
    summary(tables.read(options.out))


if __name__ == "__main__":
    main()
