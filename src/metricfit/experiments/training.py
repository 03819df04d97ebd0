"""One training run: from a network with fresh weights to the test scores of its best epochs."""

from __future__ import annotations

import statistics
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

import metricfit as mf
from metricfit.experiments.batches import batches
from metricfit.experiments.cells import cell_of
from metricfit.experiments.clock import now
from metricfit.experiments.judging import Judge, judges_for
from metricfit.experiments.loading import Part, Prepared, derived_seed
from metricfit.experiments.losses import make_loss
from metricfit.experiments.networks import make_network
from metricfit.experiments.optimizers import make_optimizer
from metricfit.experiments.protocols import PROTOCOLS
from metricfit.experiments.recipes import RECIPES
from metricfit.experiments.runs import Run

__all__ = ["train"]


def train(run: Run, data: Prepared, device: str = "cpu") -> dict[str, Any]:
    """Train, judge every epoch on the validation part, and return the cell.

    First weights and the order of the batches depend on the data set and the seed alone, so that losses are
    compared on the same ones. An epoch is tested when it is the best so far; the test decides on nothing.
    """
    protocol, recipe = PROTOCOLS[run.protocol], RECIPES[run.loss]
    data = data.on(torch.device(device))
    draws = derived_seed(run.dataset, run.seed, "training")
    network = make_network(data.train.features.shape[1], image=data.image, glorot=protocol.glorot, seed=draws)
    network.to(device)
    order = torch.Generator().manual_seed(draws)
    loss = make_loss(
        run.loss,
        run.metric,
        data.train.labels,
        scale=protocol.scale if run.scale is None else run.scale,
        group_size=protocol.group_size,
    ).to(device)
    optimizer = make_optimizer(run, protocol, network, loss)
    judges = judges_for(run.metrics, protocol.patience)
    count = -(-len(data.train) // protocol.batch)
    epochs = run.epochs_for(count)
    gaps = _Gaps(loss)
    started, spent, epoch, diverged = now(device), list[float](), 0, False
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        while epoch < epochs and not diverged and not all(judge.closed for judge in judges):
            epoch += 1
            begun = now(device)
            for drawn in batches(data.train.labels, count, order, balanced=recipe.balanced):
                rows = drawn.to(device)
                optimizer.zero_grad()
                logits = network(data.train.features[rows]).squeeze(1)
                loss(logits, data.train.labels[rows], *([rows] if recipe.rows else [])).backward()
                optimizer.step()
            spent.append(now(device) - begun)
            gaps.note()  # once per epoch: on a GPU it waits for the games
            diverged = not _judge(network, epoch, judges, data)
    return cell_of(
        run,
        data,
        judges,
        device=device,
        epochs_run=epoch,
        steps_run=epoch * count,
        diverged=diverged,
        seconds=round(now(device) - started, 2),
        epoch_seconds=round(statistics.median(spent), 5),
        mean_gap=gaps.mean,
        warnings=len(raised),
    )


def _judge(network: nn.Module, epoch: int, judges: list[Judge], data: Prepared) -> bool:
    """Show an epoch to the judges; return whether its scores are numbers."""
    scores = _scores(network, data.validation)
    if not np.isfinite(scores).all():
        return False
    labels = data.validation.labels.cpu().numpy()
    better = [judge for judge in judges if judge.sees(epoch, scores, labels)]
    if better:
        scores, labels = _scores(network, data.test), data.test.labels.cpu().numpy()
        if not np.isfinite(scores).all():
            return False
        for judge in better:
            judge.tests(scores, labels)
    return True


def _scores(network: nn.Module, part: Part) -> npt.NDArray[np.float64]:
    with torch.inference_mode():
        logits: Tensor = network(part.features)
        return logits.squeeze(1).double().cpu().numpy()


class _Gaps:
    """The mean certified gap of the last games of each epoch, if the loss plays any that are certified."""

    def __init__(self, loss: nn.Module) -> None:
        self.loss = loss if isinstance(loss, mf.MetricLoss) else None
        self.total, self.count = 0.0, 0

    def note(self) -> None:
        if self.loss is not None and self.loss.last_solution is not None:
            self.total += self.loss.last_solution.gap
            self.count += 1

    @property
    def mean(self) -> float | None:
        return float(f"{self.total / self.count:.3g}") if self.count else None
