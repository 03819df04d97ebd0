"""The skorch net that trains the estimator's network, with its callbacks."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from skorch.callbacks import EarlyStopping
from skorch.dataset import Dataset
from skorch.helper import predefined_split

from metricfit import Metric, MetricLoss, UnsupportedMetricError
from metricfit.data import PositiveSampler
from metricfit.loss.settings import AUTO_GROUP_SIZE
from metricfit.sklearn.averaging import AveragedWeights
from metricfit.sklearn.callbacks import Progress, Reshuffling, Resume
from metricfit.sklearn.label_games import LabelGames
from metricfit.sklearn.network import CrossEntropy, LogitNet, Table
from metricfit.sklearn.rows import HeldOut
from metricfit.sklearn.soft_training import SoftAfterCrossEntropy, warm_epochs
from metricfit.sklearn.top_rows import as_share
from metricfit.sklearn.validation import ValidationColumns, ValidationMetric

__all__ = ["Training", "make_net", "next_rows", "release"]

# Rows that are scored together; more do not make it faster.
SCORED = 1024


@dataclass(frozen=True, eq=False)
class Training:
    """What is trained on: rows, labels, weights, held-out rows, and a seed.

    Labels are 0 and 1, or with several `outputs` the indices of classes, or one column per label.
    """

    X: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]
    weights: npt.NDArray[np.float64] | None
    held_out: HeldOut | None
    seed: int
    outputs: int = 1

    def table(self) -> Table:
        """Return the rows for a ``DataLoader``."""
        return Table(self.X, self.labels)

    def metric(self, model: Any) -> Metric:
        """Return the metric of the estimator; a size is a share of all rows, held-out ones included."""
        held_out = 0 if self.held_out is None else len(self.held_out.labels)
        return as_share(model.metric_, len(self.labels) + held_out)

    def sampler(self, batch_size: int, share: float) -> PositiveSampler:
        """Return the order of the rows."""
        labels = self.labels
        if self.outputs > 1:
            # No class or label is the positive one: rows come as often as they are.
            labels, share = np.zeros(len(labels), dtype=np.int64), 0.0
        visited = labels if self.weights is None else labels[self.weights > 0]
        share = share if visited.any() else 0.0
        return PositiveSampler(
            labels,
            batch_size,
            share=share,
            weights=self.weights,
            seed=self.seed,
            rank=0,
            world_size=1,
        )


def make_net(
    model: Any, training: Training, module: torch.nn.Module
) -> tuple[LogitNet, EarlyStopping | None]:
    """Return the net, and what ends its training if rows are held out."""
    sampler = training.sampler(model.batch_size, model.min_share)
    averaged = AveragedWeights(len(sampler))
    callbacks: list[Any] = [averaged, Reshuffling(sampler)]
    further = [*(model.callbacks or ())]
    if model.verbose:
        further.append(Progress(model.metric_.name, model.max_epochs))
    stopping, validation, held_out = None, None, training.held_out
    if held_out is not None:
        stopping = EarlyStopping(
            monitor="rank", lower_is_better=False, patience=model.patience, threshold=0.0, load_best=True
        )
        validation = Dataset(held_out.X, held_out.labels)
        labels, weights = held_out.labels, held_out.weights
        if training.outputs == 1:
            callbacks.append(ValidationMetric(training.metric(model), labels, weights, model.cut))
        else:
            callbacks.append(ValidationColumns(model.metric_, labels, weights))
        further.append(stopping)
        if model.checkpoint is not None:
            fingerprint = _fingerprint(model, training, module)
            further.append(Resume(model.checkpoint, fingerprint, stopping, averaged))
    net = LogitNet(
        module,
        criterion=_criterion(model, training, sampler),
        optimizer=model.optimizer,
        optimizer__weight_decay=model.weight_decay,
        lr=model.lr,
        batch_size=SCORED,
        max_epochs=model.max_epochs,
        sampler=sampler,
        train_split=None if validation is None else predefined_split(validation),
        callbacks=[*callbacks, *further],
        callbacks__print_log=None,
        device=model.device,
        outputs=training.outputs,
        verbose=0,
    )
    return net, stopping


def next_rows(model: Any, net: LogitNet, training: Training, averaged: AveragedWeights) -> None:
    """Prepare a net that was trained before for one epoch on other rows."""
    sampler = training.sampler(model.batch_size, model.min_share)
    averaged.steps = len(sampler)
    net.set_params(
        callbacks=[averaged, Reshuffling(sampler), *(model.callbacks or ())],
        sampler=sampler,
        max_epochs=1,
    )


def release(net: LogitNet) -> None:
    """Drop the training rows and the callbacks, which are not needed after training."""
    net.set_params(callbacks=None, train_split=None, sampler=None)


def _criterion(model: Any, training: Training, sampler: PositiveSampler) -> torch.nn.Module:
    if model.loss == "cross-entropy":
        return CrossEntropy()
    if model.loss == "soft":
        share = training.sampler(model.batch_size, 0.0).share
        warm = warm_epochs(model.max_epochs) * len(sampler)
        return SoftAfterCrossEntropy(training.metric(model), warm=warm, share=share, drawn=sampler.share)
    return _metric_loss(model, training)


def _metric_loss(model: Any, training: Training) -> torch.nn.Module:
    metric, group_size = training.metric(model), model.group_size
    if metric.why_not_playable:
        raise UnsupportedMetricError(f'{metric.why_not_playable}; set loss="soft"')
    settings = {"metric": metric, "scale": model.scale, "solver": model.solver, "tol": model.tol}
    if training.labels.ndim == 2 and group_size == "auto":
        return LabelGames(share=model.min_share, **settings)
    if group_size == "auto" and metric.size is not None:
        # A game needs as many items as one choice stands for; a batch is the most there can be.
        group_size = max(AUTO_GROUP_SIZE, math.ceil(1.0 / metric.size))
    # A constraint that no prediction can meet on the labels of one small group is no reason to stop.
    return MetricLoss(**settings, group_size=group_size, infeasible="skip")


def _fingerprint(model: Any, training: Training, module: torch.nn.Module) -> str:
    """Return a digest of all that the course of the training depends on, but for when it ends."""
    digest = hashlib.sha256()
    held_out = training.held_out
    arrays: list[Any] = [training.X, training.labels, training.weights]
    if held_out is not None:
        arrays += [held_out.X, held_out.labels, held_out.weights]
    arrays += [value.float().numpy() for value in module.cpu().state_dict().values()]
    for array in arrays:
        if array is not None:
            digest.update(repr(array.shape).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    names = "loss cut batch_size min_share lr weight_decay scale solver tol group_size"
    settings = [repr(getattr(model, name)) for name in names.split()]
    settings += [repr(model.metric_), repr(module), model.optimizer.__name__, str(training.seed)]
    digest.update("\n".join(settings).encode())
    return digest.hexdigest()
