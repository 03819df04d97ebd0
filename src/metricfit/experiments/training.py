"""One training run: from a network with fresh weights to the test scores of its best epochs."""

from __future__ import annotations

import platform
import time
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.experiments.judging import Judge, judges_for
from metricfit.experiments.loading import Part, Prepared, derived_seed
from metricfit.experiments.losses import make_loss
from metricfit.experiments.networks import make_network
from metricfit.experiments.protocols import PROTOCOLS, Protocol
from metricfit.experiments.runs import Run

__all__ = ["train"]


def train(run: Run, data: Prepared) -> dict[str, Any]:
    """Train, judge every epoch on the validation part, and return the cell.

    First weights and the order of the batches depend on the data set and the seed alone, so that losses are
    compared on the same ones. An epoch is tested when it is the best so far; the test decides on nothing.
    """
    protocol = PROTOCOLS[run.protocol]
    draws = derived_seed(run.dataset, run.seed, "training")
    network = make_network(data.train.features.shape[1], image=data.image, glorot=protocol.glorot, seed=draws)
    order = torch.Generator().manual_seed(draws)
    optimizer = _optimizer(network, run, protocol)
    loss = make_loss(
        run.loss,
        run.metric,
        data.train.labels,
        scale=protocol.scale if run.scale is None else run.scale,
        group_size=protocol.group_size,
    )
    judges = judges_for(run.metrics, protocol.patience)
    batches = -(-len(data.train) // protocol.batch)
    epochs = run.epochs_for(batches)
    gaps = _Gaps(loss)
    started, spent, epoch, diverged = time.perf_counter(), 0.0, 0, False
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        while epoch < epochs and not diverged and not all(judge.closed for judge in judges):
            epoch += 1
            begun = time.perf_counter()
            for rows in torch.randperm(len(data.train), generator=order).tensor_split(batches):
                optimizer.zero_grad()
                logits = network(data.train.features[rows]).squeeze(1)
                loss(logits, data.train.labels[rows]).backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                gaps.note()
            spent += time.perf_counter() - begun
            diverged = not _judge(network, epoch, judges, data)
    return {
        **run.plain(),
        "epochs_run": epoch,
        "steps_run": epoch * batches,
        "diverged": diverged,
        "seconds": round(time.perf_counter() - started, 2),
        "training_seconds": round(spent, 2),
        "mean_gap": gaps.mean,
        "warnings": len(raised),
        "whole": data.whole,
        "data": data.fingerprint,
        "rows": {name: len(part) for name, part in _parts(data)},
        "positives": {name: int(part.labels.sum()) for name, part in _parts(data)},
        "results": _results(judges),
        "versions": {
            "metricfit": mf.__version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
    }


def _optimizer(network: nn.Module, run: Run, protocol: Protocol) -> torch.optim.Optimizer:
    rate = protocol.rate_of(run.loss)
    # The penalty is l2 times the sum of squares; its derivative has the factor 2.
    decay = 2.0 * run.l2
    if protocol.optimizer == "sgd":
        return torch.optim.SGD(network.parameters(), lr=rate, weight_decay=decay)
    return torch.optim.Adam(network.parameters(), lr=rate, weight_decay=decay)


def _judge(network: nn.Module, epoch: int, judges: list[Judge], data: Prepared) -> bool:
    """Show an epoch to the judges; return whether its scores are numbers."""
    scores = _scores(network, data.validation)
    if not np.isfinite(scores).all():
        return False
    labels = data.validation.labels.numpy()
    better = [judge for judge in judges if judge.sees(epoch, scores, labels)]
    if better:
        scores, labels = _scores(network, data.test), data.test.labels.numpy()
        if not np.isfinite(scores).all():
            return False
        for judge in better:
            judge.tests(scores, labels)
    return True


def _scores(network: nn.Module, part: Part) -> npt.NDArray[np.float64]:
    with torch.inference_mode():
        logits: Tensor = network(part.features)
        return logits.squeeze(1).double().numpy()


def _parts(data: Prepared) -> tuple[tuple[str, Part], ...]:
    return ("train", data.train), ("validation", data.validation), ("test", data.test)


def _results(judges: list[Judge]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for judge in judges:
        if judge.found:
            found.setdefault(judge.metric, {})[judge.decision] = judge.found
    return found


class _Gaps:
    """The mean certified gap of the games, if the loss plays any that are certified."""

    def __init__(self, loss: object) -> None:
        self.loss = loss if isinstance(loss, mf.MetricLoss) else None
        self.total, self.count = 0.0, 0

    def note(self) -> None:
        if self.loss is not None and self.loss.last_solution is not None:
            self.total += self.loss.last_solution.gap
            self.count += 1

    @property
    def mean(self) -> float | None:
        return float(f"{self.total / self.count:.3g}") if self.count else None
