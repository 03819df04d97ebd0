"""Formulas that are not affine in TP: for scores and ``SoftMetricLoss``, without a table."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import sympy as sp

from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.evaluation import MAX_VALUE, Evaluation, checked_size, why_too_large
from metricfit.metrics.normal_form import CountForm

__all__ = ["CountFormula"]

# The time grows with the third power; so many samples take some seconds.
LARGEST_RANGE = 1000
CHECKED_SIZES = (4, 5, 6, 7, 8, 12, 25)


@dataclass(frozen=True)
class CountFormula(Evaluation):
    """Evaluates a formula of any kind, with the rule for where it has no value.

    Parameters
    ----------
    form : CountForm
        The formula.
    formula : str
        How it was written, for error messages.
    positive, negative : bool
        The special cases of the paper, see :meth:`metricfit.Metric.with_special_cases`.
    """

    form: CountForm
    formula: str = field(default="the formula", compare=False)
    positive: bool = False
    negative: bool = False

    @property
    def whole(self) -> sp.Expr:
        """The formula in TP, PP, AP and ALL."""
        return self.form.expression

    def value_range(self, n: int) -> tuple[float, float]:
        """Return the smallest and the largest value over the confusion matrices that have one."""
        n = checked_size(n)
        if n > LARGEST_RANGE:
            raise ValueError(
                f"value_range of {self.formula} tries all confusion matrices, which are too many for "
                f"n = {n}; {LARGEST_RANGE} is the largest"
            )
        lowest, highest = np.inf, -np.inf
        for l in range(n + 1):
            tp, fp = (count.ravel() for count in np.mgrid[0 : l + 1, 0 : n - l + 1])
            values = self.finite_values(tp, tp + fp, l, n)
            lowest = min(lowest, float(values.min(initial=np.inf)))
            highest = max(highest, float(values.max(initial=-np.inf)))
        return lowest, highest

    def check(self) -> None:
        """Refuse a formula that has no value at a small confusion matrix without an empty cell."""
        for n in CHECKED_SIZES:
            tp, fp, fn = (count.ravel() for count in np.mgrid[1 : n - 2, 1 : n - 2, 1 : n - 2])
            inside = tp + fp + fn < n
            tp, fp, fn = tp[inside], fp[inside], fn[inside]
            values = self.values(tp, tp + fp, tp + fn, n)
            if np.abs(values).max() > MAX_VALUE:
                worst = int(np.abs(values).argmax())
                cell = f"tp = {tp[worst]}, fp = {fp[worst]}, fn = {fn[worst]}, all = {n}"
                raise UnsupportedMetricError(why_too_large(self.formula, values[worst], cell))

    def __reduce__(self) -> tuple[type[CountFormula], tuple[CountForm, str, bool, bool]]:
        # The generated function is made anew where it is needed; it cannot be pickled.
        return (type(self), (self.form, self.formula, self.positive, self.negative))
