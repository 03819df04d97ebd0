"""The networks and losses that the estimator trains."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from skorch import NeuralNet
from torch import Tensor, nn

__all__ = ["MLP", "CrossEntropy", "LogitNet", "ModuleLike", "build_module", "one_logit_per_row"]

ModuleLike: TypeAlias = nn.Module | Callable[[int], nn.Module] | None


class MLP(nn.Sequential):
    """A network with hidden layers of rectified linear units and one logit.

    Parameters
    ----------
    features : int
        The number of inputs.
    hidden : tuple of int
        The widths of the hidden layers.

    Examples
    --------
    >>> import torch
    >>> MLP(3, hidden=(8,))(torch.zeros(5, 3)).shape
    torch.Size([5, 1])
    """

    def __init__(self, features: int, hidden: tuple[int, ...] = (100, 100)) -> None:
        layers: list[nn.Module] = []
        width = features
        for units in hidden:
            layers += [nn.Linear(width, units), nn.ReLU()]
            width = units
        super().__init__(*layers, nn.Linear(width, 1))


class CrossEntropy(nn.Module):
    """Binary cross-entropy of logits with targets of any type, as :class:`metricfit.MetricLoss` takes them.

    Examples
    --------
    >>> import torch
    >>> CrossEntropy()(torch.zeros(2), torch.tensor([0, 1]))
    tensor(0.6931)
    """

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over the samples."""
        return nn.functional.binary_cross_entropy_with_logits(logits, targets.to(logits.dtype))


class LogitNet(NeuralNet):
    """A skorch net whose module returns one logit per row, as ``(n, 1)`` or ``(n,)``."""

    def infer(self, x: Any, **fit_params: Any) -> Tensor:
        """Return the logits of a batch, of shape ``(n,)``."""
        return one_logit_per_row(super().infer(x, **fit_params), len(x))


def build_module(module: ModuleLike, features: int) -> nn.Module:
    """Return a fresh module for so many features.

    Examples
    --------
    >>> import torch
    >>> build_module(lambda features: torch.nn.Linear(features, 1), 4)
    Linear(in_features=4, out_features=1, bias=True)
    """
    if module is None:
        return MLP(features)
    if isinstance(module, nn.Module):
        return copy.deepcopy(module)
    if not callable(module):
        raise TypeError(
            f"module must be a torch.nn.Module, or a function of the number of features that returns one, "
            f"not {type(module).__name__}"
        )
    built = module(features)
    if not isinstance(built, nn.Module):
        raise TypeError(f"module({features}) returned {type(built).__name__}, not a torch.nn.Module")
    return built


def one_logit_per_row(output: Tensor, rows: int) -> Tensor:
    """Return the output of a module as a vector, or say what is wrong with it.

    Examples
    --------
    >>> import torch
    >>> one_logit_per_row(torch.zeros(4, 2), 4)
    Traceback (most recent call last):
        ...
    ValueError: module must return one logit per row, of shape (4, 1) or (4,); it returned (4, 2)
    """
    if not isinstance(output, torch.Tensor) or tuple(output.shape) not in ((rows,), (rows, 1)):
        got = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise ValueError(
            f"module must return one logit per row, of shape ({rows}, 1) or ({rows},); it returned {got}"
        )
    return output.reshape(-1)
