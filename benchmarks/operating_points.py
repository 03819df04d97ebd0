"""Operating points: how often a classifier that is cut at 0 meets its floor, and what else it reaches.

    python benchmarks/operating_points.py run --data <folder of npz files> --jobs 16
    python benchmarks/operating_points.py run --data <folder> --sets toy sat --seeds 2 --out /tmp/points.jsonl
    python benchmarks/operating_points.py show

Every run is one line of a file; runs that are in it are not repeated, so that a stopped study can be resumed.
Each data set is an ``.npz`` file with features ``X`` and classes ``y``. Set OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.experiments.datasets import DATASETS
from metricfit.sklearn import best_cut, cut_at

RESULTS = Path(__file__).parent / "results" / "operating_points.jsonl"
SETS = (
    "toy",
    "letter",
    "adult",
    "abalone",
    "whitewine",
    "default",
    "bankmarketing",
    "htru2",
    "sat",
    "pageblocks",
)
LARGEST = 8000
MODELS = ("linear", "mlp")
TARGETS = {
    "precision>=0.8": mf.recall.subject_to(mf.precision >= 0.8),
    "precision>=0.9": mf.recall.subject_to(mf.precision >= 0.9),
    "recall>=0.9": mf.precision.subject_to(mf.recall >= 0.9),
    "recall>=0.95": mf.precision.subject_to(mf.recall >= 0.95),
}
BATCH, WARM, EPOCHS, RATE = 256, 20, 60, {"linear": 0.02, "mlp": 0.002}
LOSSES: dict[str, Callable[[mf.Metric], nn.Module]] = {
    "game": lambda metric: mf.MetricLoss(metric, infeasible="skip"),
    "running game": lambda metric: mf.MetricLoss(metric, constraints="running"),
    "running soft": lambda metric: mf.SoftMetricLoss(metric),
    "running soft, bounds": lambda metric: mf.SoftMetricLoss(metric, bounds=True),
}
METHODS = ("cross-entropy, cut", *LOSSES)


class Data:
    """A data set in parts of 50, 25 and 25 per cent, standardised on the first."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        draw = np.random.default_rng([seed, zlib.crc32(name.encode())])
        features, labels = six_blobs(draw) if name == "toy" else read(folder, name)
        order = draw.permutation(len(labels))[:LARGEST]
        train, _, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
        centre, spread = features[train].mean(axis=0), features[train].std(axis=0)
        features = (features - centre) / np.where(spread > 0, spread, 1.0)
        self.train, self.test = (
            (torch.tensor(features[rows], dtype=torch.float32), torch.tensor(labels[rows]).float())
            for rows in (train, test)
        )


def read(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    first, last = DATASETS[name].positive
    with np.load(folder / f"{name}.npz", allow_pickle=False) as file:
        return file["X"].astype(np.float64), (file["y"] >= first) & (file["y"] <= last)


def six_blobs(draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points of which a line can hold a part of the positives purely, far from where cross-entropy cuts.

    Two large blobs of positives are mixed with negatives; a third lies apart, on the other side.
    """
    blobs = (  # centre, rows, positive
        ((-2.0, 0.0), 1500, 1),
        ((-2.0, 0.6), 1000, 0),
        ((2.0, 3.0), 700, 1),
        ((0.5, -2.5), 1500, 0),
        ((2.5, -1.0), 1500, 0),
        ((-3.5, 2.5), 800, 0),
    )
    features = np.concatenate([draw.normal(centre, 0.4, (rows, 2)) for centre, rows, _ in blobs])
    labels = np.concatenate([np.full(rows, positive == 1) for _, rows, positive in blobs])
    return features, labels


def network(kind: str, width: int, seed: int) -> nn.Module:
    torch.manual_seed(seed)
    if kind == "linear":
        return nn.Sequential(nn.Linear(width, 1), nn.Flatten(0))
    return nn.Sequential(
        nn.Linear(width, 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1), nn.Flatten(0)
    )


def train(
    model: nn.Module, data: tuple[Tensor, Tensor], criterion: nn.Module, epochs: int, rate: float
) -> None:
    """Train with Adam and a rate that falls to 0."""
    features, labels = data
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    steps = epochs * max(len(labels) // BATCH, 1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    generator = torch.Generator().manual_seed(0)
    for _ in range(epochs):
        order = torch.randperm(len(labels), generator=generator)
        for rows in order.tensor_split(max(len(labels) // BATCH, 1)):
            optimizer.zero_grad()
            criterion(model(features[rows]), labels[rows]).backward()
            optimizer.step()
            schedule.step()


@torch.no_grad()
def scores(model: nn.Module, features: Tensor) -> np.ndarray:
    return model(features).double().numpy()


@torch.no_grad()
def move_cut(model: nn.Module, metric: mf.Metric, data: tuple[Tensor, Tensor]) -> None:
    """Move the last bias so that 0 is the best cut within the constraints on these rows."""
    cut = best_cut(metric, scores(model, data[0]), data[1].numpy()).threshold
    bias = [module for module in model.modules() if isinstance(module, nn.Linear)][-1].bias
    bias -= cut


def fitted(
    method: str, kind: str, metric: mf.Metric, data: Data, seed: int, base: dict[str, Any]
) -> nn.Module:
    """Train by the recipe of the documentation: cross-entropy first, the bias at the feasible cut, then the loss."""
    model = network(kind, data.train[0].shape[1], seed)
    warm = WARM if method in LOSSES else EPOCHS
    train(model, data.train, nn.BCEWithLogitsLoss(), warm, RATE[kind])
    move_cut(model, metric, data.train)
    if method in LOSSES:
        train(model, data.train, LOSSES[method](metric), EPOCHS, RATE[kind])
    return model


def one_run(folder: Path, case: dict[str, Any]) -> dict[str, Any]:
    torch.set_num_threads(1)
    started = time.perf_counter()
    data = Data(folder, case["set"], case["seed"])
    metric = TARGETS[case["target"]]
    model = fitted(case["method"], case["model"], metric, data, case["seed"], {})
    found: dict[str, Any] = {}
    for part in ("train", "test"):
        features, labels = getattr(data, part)
        cut = cut_at(metric, scores(model, features), labels.numpy())
        found[part] = {"value": cut.value, "violation": cut.violation}
    return {**case, **found, "seconds": time.perf_counter() - started}
