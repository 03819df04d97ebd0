"""Averaged weights, which are validated, kept and deployed instead of the weights of the last step."""

from __future__ import annotations

from typing import Any

import torch
from skorch.callbacks import Callback
from torch import Tensor

__all__ = ["AveragedWeights"]


class AveragedWeights(Callback):
    """Averages the weights over about the last epoch, exponentially.

    The network trains with its own weights. From the end of an epoch's training to the beginning of the next
    one it holds the average, so that validation, other callbacks and checkpoints use the average.

    Parameters
    ----------
    steps : int
        How many steps to average over. The first ones are averaged evenly.
    """

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.seen = 0
        self.average: dict[str, Tensor] | None = None
        self.own: dict[str, Tensor] | None = None

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Continue with the network's own weights."""
        if self.own is not None:
            net.module_.load_state_dict(self.own)
            self.own = None

    @torch.no_grad()
    def on_batch_end(self, net: Any, training: bool, **kwargs: Any) -> None:
        """Take the weights of a step into the average."""
        if not training:
            return
        self.seen += 1
        state = net.module_.state_dict()
        if self.average is None:
            self.average = {name: value.clone() for name, value in state.items()}
            return
        share = max(1.0 / self.seen, 1.0 / self.steps)
        for name, value in state.items():
            if value.is_floating_point():
                self.average[name].lerp_(value, share)
            else:
                self.average[name].copy_(value)

    def on_batch_begin(self, net: Any, training: bool, **kwargs: Any) -> None:
        """Validate the average."""
        if not training:
            self._put_in(net)

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Hold the average, also where nothing is validated."""
        self._put_in(net)

    def on_train_end(self, net: Any, **kwargs: Any) -> None:
        """Hold the average when the last epoch was interrupted."""
        self._put_in(net)

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint has to hold."""
        return {"seen": self.seen, "average": self.average, "own": self.own}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from what :meth:`state` returned."""
        self.seen, self.average, self.own = int(state["seen"]), state["average"], state["own"]

    def _put_in(self, net: Any) -> None:
        if self.own is None and self.average is not None:
            self.own = {name: value.clone() for name, value in net.module_.state_dict().items()}
            net.module_.load_state_dict(self.average)
