"""A metric and its constraints as functions of counts."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from metricfit.loss.operator import is_watched
from metricfit.metrics import Constraint, Metric
from metricfit.metrics.soft import SoftFunction, soft_function

__all__ = ["SoftConstraints", "SoftObjective", "Term", "is_on_host", "measured"]


class Term(NamedTuple):
    """A multiple of a soft metric, and a number: ``offset + factor * metric``."""

    function: SoftFunction
    offset: float
    factor: float


def is_on_host(tensor: Tensor) -> bool:
    """Whether NumPy may work on a tensor, since nothing watches what PyTorch does with it."""
    return tensor.is_cpu and not torch.compiler.is_compiling() and not is_watched()


def measured(
    terms: tuple[Term, ...], counts: Tensor, unit: Tensor | float, weights: Tensor | None = None
) -> Tensor:
    """Return the values of terms on counts of shape (4, ...), as a tensor of shape (terms, ...).

    With weights of shape (terms,) or (labels, terms) it is their weighted sum, of shape (1, ...).

    Examples
    --------
    >>> import metricfit as mf
    >>> counts = torch.tensor([1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    >>> terms = (Term(soft_function(mf.f1), 1.0, -1.0), Term(soft_function(mf.recall), 0.0, 1.0))
    >>> measured(terms, counts, 1.0)
    tensor([0.5000, 0.5000], dtype=torch.float64)
    >>> measured(terms, counts, 1.0, torch.tensor([1.0, 3.0])).round(decimals=6)
    tensor([2.], dtype=torch.float64)
    """
    # NumPy does not know the derivative with respect to the weights.
    if is_on_host(counts) and (weights is None or not weights.requires_grad):
        apply: Any = _OnHost.apply
        values: Tensor = apply(counts, unit, terms, weights)
        return values
    return _by_operators(terms, counts, unit, weights)


def _by_operators(
    terms: tuple[Term, ...], counts: Tensor, unit: Tensor | float, weights: Tensor | None
) -> Tensor:
    tp, fp, fn, tn = counts.unbind(0)
    values = torch.stack(
        [offset + factor * function(tp, fp, fn, tn, unit) for function, offset, factor in terms], -1
    )
    return values.movedim(-1, 0) if weights is None else (weights * values).sum(-1).unsqueeze(0)


class _OnHost(torch.autograd.Function):
    """Values and slopes by NumPy, which has a fraction of the cost per call on a few numbers."""

    @staticmethod
    def forward(
        ctx: Any, counts: Tensor, unit: Tensor | float, terms: tuple[Term, ...], weights: Tensor | None
    ) -> Tensor:
        cells = counts.detach().numpy().astype(np.float64, copy=False)
        rows = []
        for function, offset, factor in terms:
            value, slopes = function.with_slopes(cells, float(unit))
            rows.append([offset + factor * value, *(factor * slope for slope in slopes)])
        found = _table(rows, cells.shape[1:])
        if weights is not None:
            shares = weights.numpy().T
            between = [1] * (found.ndim - shares.ndim)
            found = (found * shares.reshape(len(terms), *between, *shares.shape[1:])).sum(0, keepdims=True)
        table = torch.from_numpy(found).to(counts.dtype)
        ctx.save_for_backward(counts)
        ctx.slopes, ctx.terms, ctx.unit, ctx.weights = table[:, 1:], terms, unit, weights
        return table[:, 0].clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        (gradient,) = gradients
        if torch.is_grad_enabled():
            # Second derivatives are asked for.
            (counts,) = ctx.saved_tensors
            values = _by_operators(ctx.terms, counts, ctx.unit, ctx.weights)
            (result,) = torch.autograd.grad(values, counts, gradient, create_graph=True)
            return result, None, None, None
        return (gradient.unsqueeze(1) * ctx.slopes).sum(0), None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        result: Tensor = (ctx.slopes * tangents[0]).sum(1)
        return result


def _table(rows: list[list[Any]], shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Return rows of numbers or arrays as one array, each entry of this shape."""
    if math.prod(shape) > 1:
        # A slope may be a number for all units.
        rows = [[np.broadcast_to(entry, shape) for entry in row] for row in rows]
    table = np.array(rows, dtype=np.float64)
    return table.reshape(*table.shape[:2], *shape)


class SoftConstraints:
    """Measures by how much each constraint is missed on counts of any real size.

    Examples
    --------
    >>> import metricfit as mf
    >>> missed = SoftConstraints((mf.recall >= 0.75, mf.specificity >= 0.5))
    >>> missed(torch.tensor([1.0, 1.0, 1.0, 3.0], dtype=torch.float64), 1.0).round(decimals=6)
    tensor([ 0.2500, -0.2500], dtype=torch.float64)
    """

    def __init__(self, constraints: tuple[Constraint, ...]) -> None:
        self.constraints = constraints
        signs = (1.0 if bound.sense == ">=" else -1.0 for bound in constraints)
        self.terms = tuple(
            Term(soft_function(bound.metric), sign * bound.threshold, -sign)
            for bound, sign in zip(constraints, signs, strict=True)
        )

    def __call__(self, counts: Tensor, unit: Tensor | float) -> Tensor:
        """Return the violations, negative where a constraint is met.

        Parameters
        ----------
        counts : Tensor, shape (4, ...)
            True positives, false positives, false negatives and true negatives.
        unit : Tensor or float
            The weight of one item.

        Returns
        -------
        Tensor, shape (..., constraints)
        """
        return measured(self.terms, counts, unit).movedim(0, -1)

    def on_host(self, counts: npt.NDArray[np.floating], unit: float) -> npt.NDArray[np.float64]:
        """Return the violations of counts of shape (4, labels) in NumPy, as (labels, constraints).

        Examples
        --------
        >>> import metricfit as mf
        >>> SoftConstraints((mf.recall >= 0.75,)).on_host(np.ones((4, 2)), 1.0).round(6)
        array([[0.25],
               [0.25]])
        """
        cells = counts.astype(np.float64, copy=False)
        found = np.empty((counts.shape[1], len(self.terms)))
        for column, (function, offset, factor) in enumerate(self.terms):
            found[:, column] = offset + factor * function.value(cells, unit)
        return found

    def __reduce__(self) -> tuple[type[SoftConstraints], tuple[tuple[Constraint, ...]]]:
        # Generated functions cannot be pickled.
        return (type(self), (self.constraints,))


class SoftObjective:
    """One minus a metric, on counts of any real size.

    Examples
    --------
    >>> import metricfit as mf
    >>> SoftObjective(mf.accuracy)(torch.tensor([1.0, 1.0, 1.0, 1.0], dtype=torch.float64), 1.0)
    tensor(0.5000, dtype=torch.float64)
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.terms = (Term(soft_function(metric), 1.0, -1.0),)

    def __call__(self, counts: Tensor, unit: Tensor | float) -> Tensor:
        """Return the loss of counts of shape (4, ...)."""
        return measured(self.terms, counts, unit)[0]

    def __reduce__(self) -> tuple[type[SoftObjective], tuple[Metric]]:
        return (type(self), (self.metric,))
