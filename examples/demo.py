"""Cross-entropy, cross-entropy with a tuned threshold, and training for the metric itself, side by side.

The same network, the same data, the same steps; only the loss differs. The data ship with scikit-learn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import metricfit as mf

SEEDS = 5
BATCH = 50
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass
class Task:
    name: str
    features: NDArray[np.float64]
    labels: NDArray[np.int64]
    epochs: int


@dataclass
class Split:
    """Train, validation and test parts, as tensors."""

    features: list[torch.Tensor]
    labels: list[torch.Tensor]


def tasks() -> list[Task]:
    diabetes, progression = load_diabetes(return_X_y=True)
    digits, digit = load_digits(return_X_y=True)
    return [
        Task("diabetes: among the fastest fifth?", diabetes, progression > np.quantile(progression, 0.8), 40),
        Task("digits: is it an 8?", digits, digit == 8, 10),
    ]


def split(task: Task, seed: int) -> Split:
    rest, test, rest_labels, test_labels = train_test_split(
        task.features, task.labels, test_size=0.3, stratify=task.labels, random_state=seed
    )
    train, validation, train_labels, validation_labels = train_test_split(
        rest, rest_labels, test_size=0.25, stratify=rest_labels, random_state=seed
    )
    scaler = StandardScaler().fit(train)
    return Split(
        [torch.tensor(scaler.transform(part), dtype=torch.float32) for part in (train, validation, test)],
        [torch.tensor(part, dtype=torch.int64) for part in (train_labels, validation_labels, test_labels)],
    )


def trained(data: Split, loss_function: Loss, epochs: int, seed: int) -> tuple[NDArray, NDArray]:
    """Train a network and return its logits on the validation and the test part."""
    torch.manual_seed(seed)
    width = data.features[0].shape[1]
    model = torch.nn.Sequential(
        torch.nn.Linear(width, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 1),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3)
    train = torch.utils.data.TensorDataset(data.features[0], data.labels[0])
    for _ in range(epochs):
        for features, labels in torch.utils.data.DataLoader(train, batch_size=BATCH, shuffle=True):
            optimizer.zero_grad()
            loss_function(model(features).squeeze(1), labels).backward()
            optimizer.step()
    with torch.no_grad():
        validation, test = (model(part).squeeze(1).numpy() for part in data.features[1:])
    return validation, test


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.binary_cross_entropy_with_logits(logits, labels.float())


def best_threshold(metric: mf.Metric, logits: NDArray, labels: torch.Tensor) -> float:
    """Return the threshold that does best on the validation part."""
    candidates = np.sort(logits)
    return max(candidates, key=lambda threshold: metric.score(labels, logits >= threshold))


def compare(task: Task, metrics: list[mf.Metric]) -> dict[str, list[float]]:
    """Return the mean test score of the three ways, for every metric."""
    scores: dict[str, list[list[float]]] = {metric.name: [] for metric in metrics}
    for seed in range(SEEDS):
        data = split(task, seed)
        truth = data.labels[2]
        validation, test = trained(data, cross_entropy, task.epochs, seed)
        for metric in metrics:
            threshold = best_threshold(metric, validation, data.labels[1])
            _, ours = trained(data, mf.MetricLoss(metric), task.epochs, seed)
            predictions = (test > 0, test >= threshold, ours > 0)
            scores[metric.name].append([metric.score(truth, prediction) for prediction in predictions])
    return {name: list(np.mean(rows, axis=0)) for name, rows in scores.items()}


def main() -> None:
    start = time.perf_counter()
    torch.set_num_threads(1)
    print(f"Test scores, mean of {SEEDS} splits; the same network each time, only the loss differs.\n")
    print(f"{'':36}{'':8}{'cross-':>10}{'+ tuned':>12}{'trained for':>14}")
    print(f"{'task':36}{'metric':8}{'entropy':>10}{'threshold':>12}{'the metric':>14}")
    for task in tasks():
        for name, row in compare(task, [mf.f1, mf.f2, mf.mcc]).items():
            print(f"{task.name:36}{name:8}{row[0]:>10.3f}{row[1]:>12.3f}{row[2]:>14.3f}", flush=True)
    print(
        f"\n{time.perf_counter() - start:.0f} s. Training for the metric needs no threshold: it decides at 0."
    )


if __name__ == "__main__":
    main()
