"""What happens around an epoch: the order of the rows, a line of progress, and a checkpoint."""

from __future__ import annotations

import io
import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from skorch.callbacks import Callback, EarlyStopping
from skorch.history import History

from metricfit.data import PositiveSampler
from metricfit.sklearn.averaging import AveragedWeights

__all__ = ["Progress", "Reshuffling", "Resume", "completed_epochs"]

RECORDED = (
    "epoch",
    "train_loss",
    "valid_loss",
    "valid_metric",
    "expected_metric",
    "violation",
    "rank",
    "threshold",
    "above",
    "below",
    "intercept",
    "one_class",
    "dur",
)


class Reshuffling(Callback):
    """Gives every epoch an order of rows that depends only on its number.

    So a training that continues has the same batches as one that never stopped.
    """

    def __init__(self, sampler: PositiveSampler) -> None:
        self.sampler = sampler

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Set the order of the rows."""
        self.sampler.set_epoch(net.history[-1, "epoch"] - 1)


class Progress(Callback):
    """Prints a line after every epoch."""

    def __init__(self, name: str, epochs: int) -> None:
        self.name = name
        self.epochs = epochs

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Print the loss, and the metric on the held-out rows if there are any."""
        row = net.history[-1]
        line = f"epoch {row['epoch']} of {self.epochs}: loss {row['train_loss']:.4f}"
        if "rank" in row:
            best = max(net.history[:, "rank"])
            line += f", {self.name} {row['valid_metric']:.4f} on held-out rows"
            line += ", the best so far" if row["rank"] == best else ""
        print(line, flush=True)


class _MisfitError(Exception):
    """What a checkpoint holds does not belong together."""


class Resume(Callback):
    """Writes everything needed to go on after every epoch, and goes on from such a file if there is one.

    The file holds tensors and plain values only, and is read without executing anything from it. It belongs
    to one set of data and settings, told by a fingerprint; of any other it is refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        fingerprint: str,
        stopping: EarlyStopping,
        averaged: AveragedWeights,
    ) -> None:
        self.path = Path(path)
        self.fingerprint = fingerprint
        self.stopping = stopping
        self.averaged = averaged

    def on_train_begin(self, net: Any, **kwargs: Any) -> None:
        """Continue from the file, if there is one."""
        if not self.path.exists():
            return
        try:
            state = torch.load(self.path, weights_only=True, map_location=net.device)
        # torch raises what pickle and zip files raise; of text it takes the letters for instructions.
        except (pickle.UnpicklingError, RuntimeError, EOFError, LookupError, ValueError) as error:
            raise ValueError(f"{self.path} is not a checkpoint; remove it, or name another") from error
        if not isinstance(state, dict) or state.get("fingerprint") != self.fingerprint:
            raise ValueError(
                f"the checkpoint {self.path} belongs to other data or settings; remove it, or name another"
            )
        try:
            self._take_up(net, state)
        # The exception depends on which part of the state does not fit.
        except (_MisfitError, RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{self.path} is not a checkpoint; remove it, or name another") from error

    def _take_up(self, net: Any, state: dict[str, Any]) -> None:
        epochs = [{name: _plain(value) for name, value in row.items()} for row in state["epochs"]]
        stopping = state["stopping"]
        if any(not set(RECORDED) <= set(row) for row in epochs):
            raise _MisfitError
        if not 1 <= int(stopping["best_epoch_"]) <= len(epochs):
            raise _MisfitError
        net.module_.load_state_dict(stopping["best_model_weights_"])
        net.module_.load_state_dict(state["module"])
        net.optimizer_.load_state_dict(state["optimizer"])
        net.criterion_.load_state_dict(state["criterion"])
        for weight, held in net.optimizer_.state.items():
            if any(
                part.ndim and part.shape != weight.shape for part in held.values() if torch.is_tensor(part)
            ):
                raise _MisfitError
        self.averaged.restore(state["averaged"])
        torch.set_rng_state(state["generator"].cpu())
        self.stopping.misses_ = int(stopping["misses_"])
        self.stopping.dynamic_threshold_ = float(stopping["dynamic_threshold_"])
        self.stopping.best_epoch_ = int(stopping["best_epoch_"])
        self.stopping.best_model_weights_ = stopping["best_model_weights_"]
        net.history = History(epochs)
        net.max_epochs = max(net.max_epochs - len(net.history), 0)

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Write the file, so that there is a whole one at any moment."""
        state = {
            "fingerprint": self.fingerprint,
            "module": net.module_.state_dict(),
            "optimizer": net.optimizer_.state_dict(),
            "criterion": net.criterion_.state_dict(),
            "epochs": completed_epochs(net.history),
            "stopping": {
                name: getattr(self.stopping, name)
                for name in ("misses_", "dynamic_threshold_", "best_epoch_", "best_model_weights_")
            },
            "averaged": self.averaged.state(),
            "generator": torch.get_rng_state(),
        }
        # By way of memory, since torch reports a full disk as a RuntimeError without a cause.
        content = io.BytesIO()
        torch.save(state, content)
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            fresh.write_bytes(content.getbuffer())
            fresh.replace(self.path)
        except OSError:
            with suppress(OSError):
                fresh.unlink()
            raise


def completed_epochs(history: History) -> list[dict[str, float]]:
    """Return what was recorded of every epoch that ran to its end.

    Examples
    --------
    >>> history = History([{"epoch": 1, "train_loss": 0.5, "batches": []}, {"epoch": 2, "batches": []}])
    >>> completed_epochs(history)
    [{'epoch': 1, 'train_loss': 0.5}]
    """
    return [
        {name: _plain(row[name]) for name in RECORDED if name in row}
        for row in list(history)
        if "train_loss" in row
    ]


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, int | np.integer) else float(value)
