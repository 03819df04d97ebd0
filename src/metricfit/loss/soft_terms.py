"""A metric and its constraints as functions of counts."""

from __future__ import annotations

import torch
from torch import Tensor

from metricfit.metrics import Constraint, Metric
from metricfit.metrics.soft import soft_function

__all__ = ["SoftConstraints", "SoftObjective"]


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
        self._parts = tuple(
            (soft_function(bound.metric), bound.threshold, 1.0 if bound.sense == ">=" else -1.0)
            for bound in constraints
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
        cells = counts.unbind(0)
        return torch.stack(
            [sign * (threshold - function(*cells, unit)) for function, threshold, sign in self._parts], dim=-1
        )

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
        self._function = soft_function(metric)

    def __call__(self, counts: Tensor, unit: Tensor | float) -> Tensor:
        """Return the loss of counts of shape (4, ...)."""
        result: Tensor = 1.0 - self._function(*counts.unbind(0), unit)
        return result

    def __reduce__(self) -> tuple[type[SoftObjective], tuple[Metric]]:
        return (type(self), (self.metric,))
