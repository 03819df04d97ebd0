"""Constraints: a metric compared with a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Literal, NoReturn, cast

from metricfit.metrics.scoring import attainable_range

if TYPE_CHECKING:
    from metricfit.metrics.metric_class import Metric

__all__ = ["Boundable", "Constraint", "constrain"]


@dataclass(frozen=True)
class Constraint:
    """A bound on a metric, as ``mf.recall >= 0.8`` makes it.

    It binds the predictor in expectation, on the true labels of each batch.

    Attributes
    ----------
    metric : Metric
        What is bounded.
    sense : {">=", "<="}
        The direction.
    threshold : float
        The bound.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.recall >= 0.8
    Constraint(recall >= 0.8)
    >>> 0.9 >= mf.specificity
    Constraint(specificity <= 0.9)
    """

    metric: Metric
    sense: Literal[">=", "<="]
    threshold: float

    def __str__(self) -> str:
        return f"{self.metric.name} {self.sense} {self.threshold:.12g}"

    def __repr__(self) -> str:
        return f"Constraint({self})"

    def latex(self) -> str:
        """Return the constraint as LaTeX."""
        sign = r"\ge" if self.sense == ">=" else r"\le"
        return rf"{self.metric.latex()} {sign} {self.threshold:.12g}"

    def __bool__(self) -> NoReturn:
        # Python reads 0.5 <= m <= 0.9 as (0.5 <= m) and (m <= 0.9), and would silently drop the first half.
        raise TypeError(
            f"the constraint {self} is neither true nor false; give both ends of a range as two constraints, "
            "as in subject_to(m >= 0.5, m <= 0.9), instead of chaining or joining comparisons"
        )


class Boundable:
    """What a metric is as one side of a comparison: ``>=`` and ``<=`` make constraints."""

    name: str

    # Otherwise np.float64(0.8) <= metric would be NumPy's comparison, and no constraint.
    __array_ufunc__ = None

    def __ge__(self, threshold: object) -> Constraint:
        return constrain(cast("Metric", self), ">=", threshold)

    def __le__(self, threshold: object) -> Constraint:
        return constrain(cast("Metric", self), "<=", threshold)

    def __gt__(self, threshold: object) -> NoReturn:
        raise TypeError(
            f"write {self.name} >= {threshold}; a constraint holds in expectation and cannot be strict"
        )

    def __lt__(self, threshold: object) -> NoReturn:
        raise TypeError(
            f"write {self.name} <= {threshold}; a constraint holds in expectation and cannot be strict"
        )


def constrain(metric: Metric, sense: Literal[">=", "<="], threshold: object) -> Constraint:
    """Check the threshold and build the constraint.

    Examples
    --------
    >>> import metricfit as mf
    >>> constrain(mf.recall, ">=", 1.5)
    Traceback (most recent call last):
        ...
    ValueError: recall >= 1.5 is outside the range of recall, which is 0 to 1
    """
    if isinstance(threshold, Boundable):
        raise TypeError(
            f"{metric.name} is compared with another metric; a constraint compares one metric with a number"
        )
    if isinstance(threshold, bool) or not isinstance(threshold, Real):
        raise TypeError(
            f"{metric.name} {sense} {threshold!r} needs a number on one side, not {type(threshold).__name__}"
        )
    bound = float(threshold)
    if math.isnan(bound):
        raise ValueError(f"{metric.name} {sense} NaN is not a constraint; give a number")
    if metric.constraints:
        raise ValueError(
            f"{metric.name} has constraints of its own and cannot be bounded; bound the plain metric instead"
        )
    if metric.size is not None:
        raise ValueError(
            f"{metric.name} is limited to one size and cannot be bounded; bound the plain metric instead"
        )
    if metric.average:
        raise ValueError(
            f"the {metric.average} average of {metric.name} cannot be bounded; bound {metric.name} itself, "
            "for each label"
        )
    lowest, highest = attainable_range(metric.evaluate)
    if not lowest - 1e-12 <= bound <= highest + 1e-12:
        raise ValueError(
            f"{metric.name} {sense} {bound:g} is outside the range of {metric.name}, which is "
            f"{lowest:.6g} to {highest:.6g}"
        )
    return Constraint(metric, sense, bound)
