"""The time of a training step with many classes, for cross-entropy and the two losses.

    OMP_NUM_THREADS=1 python benchmarks/class_steps.py

A step is that of a network of two hidden layers of 100 units on a batch of 256 rows, in processor time:
median of the last 25 of 30 steps, the losses taking turns.
"""

from __future__ import annotations

import copy
import statistics
import time

import torch
from torch import nn

import metricfit as mf

BATCH, FEATURES, STEPS = 256, 32, 30
LOSSES = {
    "cross-entropy": nn.CrossEntropyLoss(),
    "SoftMetricLoss": mf.SoftMetricLoss("macro f1"),
    "MetricLoss": mf.MetricLoss("macro f1"),
}


def measured(classes: int) -> dict[str, float]:
    """Return the milliseconds of a step for each loss."""
    torch.manual_seed(0)
    rows = torch.randn(BATCH * 8, FEATURES)
    truth = (rows @ torch.randn(FEATURES, classes) + 3 * torch.randn(len(rows), classes)).argmax(1)
    layers = nn.Linear(FEATURES, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, classes)
    models = {name: copy.deepcopy(nn.Sequential(*layers)) for name in LOSSES}
    times: dict[str, list[float]] = {name: [] for name in LOSSES}
    for step in range(STEPS):
        chosen = slice(step % 8 * BATCH, (step % 8 + 1) * BATCH)
        for name, loss in LOSSES.items():
            optimizer = torch.optim.SGD(models[name].parameters(), lr=0.01)
            start = time.process_time()
            loss(models[name](rows[chosen]), truth[chosen]).backward()
            optimizer.step()
            times[name].append(time.process_time() - start)
            optimizer.zero_grad()
    return {name: 1000 * statistics.median(values[5:]) for name, values in times.items()}


def main() -> None:
    torch.set_num_threads(1)
    print(f"| classes | {' | '.join(LOSSES)} |\n|{'---|' * (len(LOSSES) + 1)}")
    for classes in (3, 26, 100):
        found = measured(classes)
        print(f"| {classes} | {' | '.join(f'{found[name]:.1f} ms' for name in LOSSES)} |")


if __name__ == "__main__":
    main()
