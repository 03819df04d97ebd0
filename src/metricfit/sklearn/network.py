"""The networks and losses that the estimator trains."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from skorch import NeuralNet
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Sampler

__all__ = ["MLP", "CrossEntropy", "LogitNet", "ModuleLike", "Table", "build_module", "one_logit_per_row"]

ModuleLike: TypeAlias = nn.Module | Callable[[int], nn.Module] | None


class MLP(nn.Sequential):
    """A network with hidden layers of rectified linear units.

    Parameters
    ----------
    features : int
        The number of inputs.
    hidden : tuple of int
        The widths of the hidden layers.
    outputs : int
        The number of logits.

    Examples
    --------
    >>> import torch
    >>> MLP(3, hidden=(8,))(torch.zeros(5, 3)).shape
    torch.Size([5, 1])
    """

    def __init__(self, features: int, hidden: tuple[int, ...] = (100, 100), outputs: int = 1) -> None:
        layers: list[nn.Module] = []
        width = features
        for units in hidden:
            layers += [nn.Linear(width, units), nn.ReLU()]
            width = units
        super().__init__(*layers, nn.Linear(width, outputs))


class CrossEntropy(nn.Module):
    """Cross-entropy of logits with targets of any type, as :class:`metricfit.MetricLoss` takes them.

    Examples
    --------
    >>> import torch
    >>> CrossEntropy()(torch.zeros(2), torch.tensor([0, 1]))
    tensor(0.6931)
    """

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over the samples."""
        if logits.dim() == 2 and targets.dim() == 1:
            return nn.functional.cross_entropy(logits, targets)
        return nn.functional.binary_cross_entropy_with_logits(logits, targets.to(logits.dtype))


class Table(Dataset[tuple[Tensor, Tensor]]):
    """Rows and their labels, from which a ``DataLoader`` takes a batch at once.

    Examples
    --------
    >>> import numpy as np
    >>> features, labels = Table(np.eye(3, dtype=np.float32), np.array([0, 1, 0])).__getitems__([0, 1])
    >>> features.shape, labels
    (torch.Size([2, 3]), tensor([0, 1]))
    """

    def __init__(self, X: npt.NDArray[np.float32], labels: npt.NDArray[np.int64]) -> None:
        # PyTorch warns of arrays that cannot be written to, as joblib shares them with its workers.
        self.X, self.labels = (torch.from_numpy(np.require(array, requirements="W")) for array in (X, labels))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        return self.X[row], self.labels[row]

    def __getitems__(self, rows: list[int]) -> tuple[Tensor, Tensor]:
        """Return several rows together."""
        return self.X[rows], self.labels[rows]

    @staticmethod
    def collate(batch: Any) -> Any:
        """Return what :meth:`__getitems__` made, which is a batch already."""
        return batch


class LogitNet(NeuralNet):
    """A skorch net whose module returns one logit per row, as ``(n, 1)`` or ``(n,)``, or several.

    It trains on a :class:`Table`, in the batches of `sampler`.
    """

    def __init__(
        self, *args: Any, sampler: Sampler[list[int]] | None = None, outputs: int = 1, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.outputs = outputs
        self.sampler = sampler

    def get_iterator(self, dataset: Any, training: bool = False) -> Any:
        """Return what goes over the batches of a data set."""
        if training:
            return DataLoader(dataset, batch_sampler=self.sampler, collate_fn=Table.collate)
        return super().get_iterator(dataset, training=False)

    def infer(self, x: Any, **fit_params: Any) -> Tensor:
        """Return the logits of a batch, of shape ``(n,)`` or ``(n, outputs)``."""
        found = super().infer(x, **fit_params)
        return (
            one_logit_per_row(found, len(x))
            if self.outputs == 1
            else _all_logits(found, len(x), self.outputs)
        )


def build_module(module: ModuleLike, features: int, outputs: int = 1) -> nn.Module:
    """Return a fresh module for so many features; the default one has so many outputs.

    Examples
    --------
    >>> import torch
    >>> build_module(lambda features: torch.nn.Linear(features, 1), 4)
    Linear(in_features=4, out_features=1, bias=True)
    """
    if module is None:
        return MLP(features, outputs=outputs)
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


def _all_logits(output: Tensor, rows: int, outputs: int) -> Tensor:
    if not isinstance(output, torch.Tensor) or tuple(output.shape) != (rows, outputs):
        got = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise ValueError(
            f"module must return one logit per class or label, of shape ({rows}, {outputs}); "
            f"it returned {got}"
        )
    return output


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
