"""Processor seconds of one game of very many items, as scores of a network at the beginning of training.

    OMP_NUM_THREADS=1 python benchmarks/growth.py
    OMP_NUM_THREADS=1 python benchmarks/growth.py --metrics f1 --sizes 100000

Processor time rather than time, so that other work on the machine hardly matters.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import metricfit as mf

METRICS = ("f1", "precision", "mcc", "kappa")
SIZES = (10_000, 100_000, 1_000_000)
TOL = 1e-3


def main() -> None:
    """Solve a game of every metric and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--metrics", nargs="+", default=METRICS)
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    asked = parser.parse_args()
    for n in asked.sizes:
        scores = np.random.default_rng(0).normal(size=n) * 8.0 / n
        for name in asked.metrics:
            metric = mf.get_metric(name)
            began = time.process_time()
            solution = mf.solve(metric, scores, tol=TOL)
            seconds = time.process_time() - began
            print(f"{n:9,} {name:10} {seconds:7.2f} s  gap {solution.gap:.1e}", flush=True)


if __name__ == "__main__":
    main()
