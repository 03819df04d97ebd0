"""A metric plus multiples of what its constraints bound: affine in TP again, so that it can be played."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp

from metricfit.metrics.digits import Count
from metricfit.metrics.evaluation import FloatArray
from metricfit.metrics.metric_class import Metric
from metricfit.metrics.normal_form import NormalForm
from metricfit.metrics.table import Coefficients

__all__ = ["combined"]


@dataclass(frozen=True)
class _WeightedSum(Coefficients):
    """Adds up the coefficients of several metrics; each follows its own rule where it is undefined.

    It has no normal form of its own, only its parts.
    """

    parts: tuple[tuple[float, Coefficients], ...] = ()

    def __call__(self, k: npt.ArrayLike, l: npt.ArrayLike, n: int) -> tuple[FloatArray, FloatArray]:
        found = [(weight, part(k, l, n)) for weight, part in self.parts]
        alpha = np.add.reduce([weight * part[0] for weight, part in found])
        beta = np.add.reduce([weight * part[1] for weight, part in found])
        return alpha, beta

    def value(self, tp: Count, k: Count, l: Count, n: Count) -> float:
        return sum(weight * part.value(tp, k, l, n) for weight, part in self.parts)

    def values(self, tp: npt.ArrayLike, k: npt.ArrayLike, l: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
        total: FloatArray = np.add.reduce([weight * part.values(tp, k, l, n) for weight, part in self.parts])
        return total

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.form, self.formula, False, False, self.parts))


@lru_cache(maxsize=256)
def combined(metric: Metric, multipliers: tuple[float, ...]) -> Metric:
    r"""Return the mean of a metric and what its constraints bound, weighted by 1 and the multipliers.

    .. math:: \frac{m + \sum_c \pm \lambda_c m_c}{1 + \sum_c \lambda_c}

    The sign is minus for constraints from above. The result has no constraints.

    Examples
    --------
    >>> import metricfit as mf
    >>> both = combined(mf.recall_at_precision(0.9), (3.0,))
    >>> both.score([1, 1, 0, 0], [1, 0, 0, 0])
    0.875
    """
    total = 1.0 + sum(multipliers)
    metric.check_playable()
    weighted = [(1.0 / total, metric)]
    for weight, constraint in zip(multipliers, metric.constraints, strict=True):
        weighted.append(((weight if constraint.sense == ">=" else -weight) / total, constraint.metric))
    parts = [(weight, part.evaluate) for weight, part in weighted if isinstance(part.evaluate, Coefficients)]
    written = sp.Add(*(weight * part.expression for weight, part in weighted))
    name = f"{metric.name} with multipliers {', '.join(f'{weight:.4g}' for weight in multipliers)}"
    given = _WeightedSum(NormalForm(sp.nan, sp.nan), name, parts=tuple(parts))
    return replace(metric, name=name, written=written, given=given, constraints=())
