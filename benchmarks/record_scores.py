"""Record the logits of networks along their training, for the benchmarks of the solvers.

    METRICFIT_DATA=<folder of npz files> python benchmarks/record_scores.py

Each data set is an ``.npz`` file with features ``X`` and classes ``y``.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from recorded import METRICS, RECORDING
from torch import nn

import metricfit as mf

# Data sets and the smallest class that counts as positive.
DATASETS = {"whitewine": 7, "htru2": 1}
EPOCHS = (0, 1, 3, 8)


def load(folder: Path, name: str, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return standardised features and labels of some rows."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as data:
        chosen = np.random.default_rng(0).permutation(len(data["y"]))[:rows]
        features = data["X"][chosen].astype(np.float32)
        labels = (data["y"][chosen] >= DATASETS[name]).astype(np.float32)
    features = (features - features.mean(axis=0)) / (features.std(axis=0) + 1e-9)
    return torch.from_numpy(features), torch.from_numpy(labels)


def train(
    features: torch.Tensor, labels: torch.Tensor, metric: mf.Metric, solver: str, batch: int
) -> NDArray[np.float32]:
    """Train a network for a metric and return its logits after each of the recorded epochs."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(features.shape[1], 100), nn.ReLU(), nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 1)
    )
    criterion = mf.MetricLoss(metric, solver=solver)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    recorded = []
    for epoch in range(max(EPOCHS) + 1):
        if epoch in EPOCHS:
            with torch.no_grad():
                recorded.append(model(features)[:, 0].numpy().copy())
        for rows in torch.randperm(len(features)).split(batch):
            optimizer.zero_grad()
            criterion(model(features[rows])[:, 0], labels[rows]).backward()
            optimizer.step()
    return np.stack(recorded)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=os.environ.get("METRICFIT_DATA"))
    parser.add_argument("--out", type=Path, default=RECORDING)
    parser.add_argument("--rows", type=int, default=1500, help="rows of each data set")
    parser.add_argument("--batch", type=int, default=25, help="items of a batch while training")
    parser.add_argument("--solver", default="auto", choices=mf.solvers())
    arguments = parser.parse_args()
    if arguments.data is None:
        parser.error("say where the data sets are: --data, or the environment variable METRICFIT_DATA")

    arrays: dict[str, NDArray[np.generic]] = {
        "datasets": np.array(list(DATASETS)),
        "epochs": np.array(EPOCHS),
    }
    for name in DATASETS:
        features, labels = load(arguments.data, name, arguments.rows)
        arrays[f"{name}/labels"] = labels.numpy().astype(np.int8)
        for metric in METRICS:
            print(f"{name}: training for {metric}", flush=True)
            arrays[f"{name}/{metric}"] = train(
                features, labels, mf.get_metric(metric), arguments.solver, arguments.batch
            )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(arguments.out, **arrays)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1024:.0f} kB")


if __name__ == "__main__":
    main()
