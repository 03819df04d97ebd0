"""Games as they occur along real training, made from recorded logits.

The file holds the logits of a network on the rows of two data sets, while it was trained for each metric,
after several epochs. A batch of any size is drawn from the rows; for more items than rows, rows are drawn
again with a little noise, so that there are no artificial ties.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RECORDING = Path(__file__).parent / "data" / "training_scores.npz"

METRICS = ("f1", "f2", "gm_precision_recall", "mcc", "kappa", "accuracy")

# Scores are scale * logits / n; "batch" stands for n.
SCALES: tuple[float | str, ...] = (32.0, "batch")


@dataclass(frozen=True, eq=False)
class RecordedGame:
    """Scores and labels of one batch, and where it comes from."""

    scores: NDArray[np.float64]
    labels: NDArray[np.int64]
    dataset: str
    epoch: int
    scale: float | str


def recorded_games(metric: str, n: int, count: int, seed: int = 0) -> Iterator[RecordedGame]:
    """Yield `count` batches of `n` items for a metric, taking data sets, epochs and scales in turn."""
    random = np.random.default_rng([seed, n])
    with np.load(RECORDING) as recording:
        datasets = [str(name) for name in recording["datasets"]]
        epochs = [int(epoch) for epoch in recording["epochs"]]
        logits = {name: recording[f"{name}/{metric}"].astype(np.float64) for name in datasets}
        labels = {name: recording[f"{name}/labels"].astype(np.int64) for name in datasets}
    sources = [(d, e, s) for e in range(len(epochs)) for d in datasets for s in SCALES]
    for number in range(count):
        dataset, epoch, scale = sources[number % len(sources)]
        known = logits[dataset][epoch]
        rows = random.permutation(known.size)[:n]
        drawn = known[rows]
        if n > known.size:
            rows = random.integers(0, known.size, n)
            drawn = known[rows] + 0.05 * known.std() * random.normal(size=n)
        factor = float(n) if scale == "batch" else float(scale)
        yield RecordedGame(factor * drawn / n, labels[dataset][rows], dataset, epochs[epoch], scale)
