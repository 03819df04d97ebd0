"""Random games of every kind: how many miss the tolerance, and how long they take.

    python benchmarks/stress.py --games 10000 --jobs 2
    python benchmarks/stress.py --games 10000 --tol 1e-6 --jobs 16

Every built-in metric and a few others (negative and mixed signs), up to 200 items, scores from 1e-3 to 1e3,
ties, equal and clipped scores, none to two constraints. Small games are compared with the linear program.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

import metricfit as mf

METRICS = (
    mf.accuracy,
    mf.precision,
    mf.recall,
    mf.specificity,
    mf.npv,
    mf.f1,
    mf.f2,
    mf.fbeta(0.5),
    mf.gm_precision_recall,
    mf.balanced_accuracy,
    mf.informedness,
    mf.markedness,
    mf.kappa,
    mf.mcc,
    mf.get_metric("(fp + fn) / all"),
    mf.get_metric("tp / (ap + 2*pp + 1) - 0.3*fp / (an + 1)"),
    mf.get_metric("(tp / pp) / (ap / all)"),
    mf.get_metric("(3*tp - 2*fp - fn) / all"),
)

CONSTRAINTS: tuple[tuple[mf.Constraint, ...], ...] = (
    (mf.recall >= 0.8,),
    (mf.recall >= 0.6,),
    (mf.recall >= 0.8, mf.specificity >= 0.5),
    (mf.precision >= 0.5,),
    (mf.specificity <= 0.9,),
    (mf.f1 >= 0.3,),
)


def random_game(seed: int, most: int) -> tuple[mf.Metric, NDArray[np.float64], NDArray[np.int64]]:
    """Draw a metric, perhaps with constraints, scores and labels."""
    random = np.random.default_rng(seed)
    metric = METRICS[random.integers(len(METRICS))]
    if random.random() < 1 / 3:
        metric = metric.subject_to(*CONSTRAINTS[random.integers(len(CONSTRAINTS))])
    n = int(random.integers(1, most + 1)) if random.random() < 0.5 else int(most ** random.random())
    labels = (random.random(n) < random.choice([0.05, 0.2, 0.5, 0.8])).astype(np.int64)
    scores = random.normal(size=n) + labels * random.uniform(0, 3) - random.uniform(0, 2)
    kind = random.random()
    if kind < 0.15:
        scores = np.round(2 * scores) / 2
    elif kind < 0.2:
        scores[:] = random.normal()
    elif kind < 0.3:
        scores = np.clip(scores, -1, 1)
    scores *= 10 ** random.uniform(-3, 3) / (n if random.random() < 0.7 else 1)
    return metric, scores, labels


def one(seed: int, most: int, tol: float) -> dict[str, object] | None:
    """Solve one game; None if its constraints cannot be met."""
    metric, scores, labels = random_game(seed, most)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.ConvergenceWarning)
        try:
            solution = mf.solve(metric, scores, labels, tol=tol)
        except mf.InfeasibleConstraintsError:
            return None
        seconds = time.perf_counter() - start
        wrong = False
        if scores.size <= 8:
            exact = mf.solve(metric, scores, labels, solver="exact-lp", tol=1e-7)
            wrong = exact.lower > solution.value + 1e-8 or exact.value < solution.lower - 1e-8
    return {
        "seed": seed,
        "metric": str(metric),
        "n": int(scores.size),
        "gap": solution.gap,
        "missed": not solution.converged,
        "wrong": bool(wrong),
        "seconds": seconds,
    }


def main() -> None:
    """Solve the games in parallel processes and print what happened."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--most", type=int, default=200, help="largest number of items")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", help="write the summary to this JSON file")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.games)
    one(seeds[0], 5, 1e-3)  # the kernels are compiled once, here
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        rows = list(pool.map(one, seeds, repeat(options.most), repeat(options.tol), chunksize=50))
    solved = [row for row in rows if row is not None]
    missed = [row for row in solved if row["missed"]]
    seconds = np.array([row["seconds"] for row in solved], dtype=np.float64)
    summary = {
        "games": options.games,
        "most": options.most,
        "tol": options.tol,
        "seed": options.seed,
        "infeasible": len(rows) - len(solved),
        "missed": len(missed),
        "wrong": sum(bool(row["wrong"]) for row in solved),
        "median_ms": 1e3 * float(np.median(seconds)),
        "p99_ms": 1e3 * float(np.quantile(seconds, 0.99)),
        "slowest_ms": 1e3 * float(np.sort(seconds)[-options.jobs - 1]),
        "worst": sorted(missed, key=lambda row: -float(str(row["gap"])))[:10],
    }
    print(json.dumps(summary, indent=1))
    if options.out:
        with open(options.out, "w") as file:
            json.dump(summary, file, indent=1)


if __name__ == "__main__":
    main()
