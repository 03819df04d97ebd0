"""The paper's networks: two hidden layers of 100 for tables, a small convolutional network for images."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from metricfit.sklearn.network import MLP

__all__ = ["SmallCNN", "make_network"]


class SmallCNN(nn.Sequential):
    """Two convolutions and two dense layers, for rows of 28 by 28 pixels.

    Examples
    --------
    >>> import torch
    >>> SmallCNN()(torch.zeros(2, 784)).shape
    torch.Size([2, 1])
    """

    def __init__(self) -> None:
        super().__init__(
            nn.Unflatten(1, (1, 28, 28)),
            nn.Conv2d(1, 20, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(20, 50, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(800, 500),
            nn.ReLU(),
            nn.Linear(500, 1),
        )


def make_network(features: int, *, image: bool, glorot: bool, seed: int) -> nn.Module:
    """Return a fresh network whose weights depend on the seed alone.

    Examples
    --------
    >>> one, other = (make_network(3, image=False, glorot=True, seed=5) for _ in range(2))
    >>> bool((one[0].weight == other[0].weight).all())
    True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = SmallCNN() if image else MLP(features)
        if glorot:
            network.apply(_glorot)
    return network


def _glorot(layer: nn.Module) -> None:
    if isinstance(layer, nn.Linear | nn.Conv2d):
        nn.init.xavier_uniform_(layer.weight)
        if isinstance(layer.bias, Tensor):
            nn.init.zeros_(layer.bias)
