"""The optimiser of a network: that of the protocol, or the one a loss was made for."""

from __future__ import annotations

import torch
from torch import nn

from metricfit.experiments.peers import pesg, soap
from metricfit.experiments.protocols import Protocol
from metricfit.experiments.runs import Run

__all__ = ["make_optimizer"]


def make_optimizer(
    run: Run, protocol: Protocol, network: nn.Module, loss: nn.Module
) -> torch.optim.Optimizer:
    """Return the optimiser of a run, for a network and the loss it is trained with."""
    if run.loss == "aucm":
        return pesg(network, loss, run.l2)
    if run.loss == "ap-loss":
        return soap(network, run.l2)
    rate = protocol.rate_of(run.loss)
    # The penalty is l2 times the sum of squares; its derivative has the factor 2.
    decay = 2.0 * run.l2
    if protocol.optimizer == "sgd":
        return torch.optim.SGD(network.parameters(), lr=rate, weight_decay=decay)
    return torch.optim.Adam(network.parameters(), lr=rate, weight_decay=decay)
