"""The value of a formula at confusion matrices, and the rule for where it has none."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp

from metricfit.metrics.confusion import ALL, AP, PP, TP
from metricfit.metrics.digits import Count, value_at, why_no_value
from metricfit.metrics.errors import UnsupportedMetricError

__all__ = [
    "MAX_VALUE",
    "BoolArray",
    "Evaluation",
    "FloatArray",
    "checked_size",
    "on_border",
    "only_right",
    "to_numpy",
    "why_too_large",
]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

MAX_VALUE = 1e12
"""The largest value in tables of up to 25 samples: beyond it float64 has no digits left for the solvers."""

_LARGEST_EXACT_INT = 2**53


def checked_size(n: int) -> int:
    """Return a number of samples as a plain integer, or raise an error if it is none.

    Examples
    --------
    >>> checked_size(0)
    Traceback (most recent call last):
        ...
    ValueError: a metric needs at least one sample, got n = 0
    """
    n = operator.index(n)
    if n < 1:
        raise ValueError(f"a metric needs at least one sample, got n = {n}")
    return n


class Evaluation:
    """What the two kinds of formula have in common: how they are scored.

    Where the formula has no finite real value on the border (``pp`` or ``ap`` equal to 0 or to ``all``), the
    value is 1 if the prediction is all right and 0 otherwise. The same holds for 0/0 at any confusion matrix
    with an empty cell. Every other missing value is an error that names the confusion matrix.
    """

    formula: str
    positive: bool
    negative: bool

    @property
    def whole(self) -> sp.Expr:
        """The formula in TP, PP, AP and ALL."""
        raise NotImplementedError

    def value(self, tp: Count, k: Count, l: Count, n: Count) -> float:
        """Return the metric of one confusion matrix, rounded only at the end.

        Parameters
        ----------
        tp, k, l, n : int or Fraction
            True positives, predicted positives, actual positives and samples.
        """
        if not self.forced(k, l, n):
            value = value_at(self.whole, _named(tp, k, l, n))
            if value is not None and math.isfinite(float(value)):
                return float(value)
            if not (on_border(k, l, n) or self._zero_by_zero(tp, k, l, n)):
                raise UnsupportedMetricError(self._why_undefined(tp, k, l, n))
        return float(tp == k == l)

    def values(self, tp: npt.ArrayLike, k: npt.ArrayLike, l: npt.ArrayLike, n: npt.ArrayLike) -> FloatArray:
        """Return the metric of many confusion matrices, in float64."""
        counts = np.broadcast_arrays(*(np.asarray(count, dtype=np.float64) for count in (tp, k, l, n)))
        _, predicted, actual, total = counts
        values = np.empty(predicted.shape)
        with np.errstate(all="ignore"):
            values[...] = self._numeric_whole(*counts)
        forced = np.asarray(self.forced(predicted, actual, total))
        border = forced | (~np.isfinite(values) & on_border(predicted, actual, total))
        values[border] = only_right(predicted, actual, total)[border]
        # What rounding made undefined, such as the root of -1e-17, or an error.
        for cell in zip(*np.nonzero(~np.isfinite(values)), strict=True):
            values[cell] = self.value(*(Fraction(float(count[cell])) for count in counts))
        return values

    def finite_values(
        self, tp: npt.ArrayLike, k: npt.ArrayLike, l: npt.ArrayLike, n: npt.ArrayLike
    ) -> FloatArray:
        """Return `values` at those confusion matrices that have one."""
        counts = np.broadcast_arrays(*(np.asarray(count, dtype=np.float64) for count in (tp, k, l, n)))
        with np.errstate(all="ignore"):
            finite = np.isfinite(np.broadcast_to(self._numeric_whole(*counts), counts[0].shape))
        defined = finite | on_border(*counts[1:])
        return self.values(*(count[defined] for count in counts))

    def forced(self, k: Any, l: Any, n: Any) -> Any:
        """Return whether a special case of the paper decides the value, for scalars or arrays."""
        return (self.positive & ((k == 0) | (l == 0))) | (self.negative & ((k == n) | (l == n)))

    @cached_property
    def _numeric_whole(self) -> Callable[..., Any]:
        return to_numpy([TP, PP, AP, ALL], self.whole)

    def _zero_by_zero(self, tp: Count, k: Count, l: Count, n: Count) -> bool:
        parts = (value_at(part, _named(tp, k, l, n)) for part in sp.fraction(self.whole))
        return 0 in (tp, k - tp, l - tp, n - k - l + tp) and all(part == 0 for part in parts)

    def _why_undefined(self, tp: Count, k: Count, l: Count, n: Count) -> str:
        cell = f"at tp = {tp}, fp = {k - tp}, fn = {l - tp}, tn = {n - k - l + tp}"
        reason = why_no_value(self.whole, _named(tp, k, l, n))
        return (
            f"{self.formula} has no value {cell}: {reason}; write it so that it has one, for "
            "instance with a small number added to the count"
        )


def why_too_large(formula: str, value: float, cell: str) -> str:
    """Return the message for a value beyond `MAX_VALUE`."""
    return (
        f"{formula} is not supported: it reaches {value:.3g} at {cell}, and float64 has too few digits for "
        f"values beyond {MAX_VALUE:g}; divide it by a constant"
    )


def on_border(k: Any, l: Any, n: Any) -> Any:
    """Return whether all or no samples are positive in the prediction or in the truth."""
    return (k == 0) | (k == n) | (l == 0) | (l == n)


def only_right(k: Any, l: Any, n: Any) -> Any:
    """Return whether a prediction with `k` positives can only equal a truth with `l` positives.

    Examples
    --------
    >>> only_right(0, 0, 4), only_right(0, 1, 4)
    (True, False)
    """
    return (k == l) & ((k == 0) | (k == n))


def to_numpy(symbols: list[sp.Symbol], expressions: Any) -> Callable[..., Any]:
    """Return expressions as a NumPy function.

    Examples
    --------
    >>> float(to_numpy([TP, AP], TP / AP)(1.0, 2.0))
    0.5
    """
    # NumPy would keep integers beyond int64 as objects.
    listed = expressions if isinstance(expressions, list) else [expressions]
    large = {
        number: sp.Float(number, 17)
        for expression in listed
        for number in expression.atoms(sp.Rational)
        if max(abs(int(number.p)), int(number.q)) > _LARGEST_EXACT_INT
    }
    ready = [expression.xreplace(large) for expression in listed]
    function: Callable[..., Any] = sp.lambdify(
        symbols, ready if isinstance(expressions, list) else ready[0], modules="numpy", cse=True
    )
    return function


def _named(tp: Count, k: Count, l: Count, n: Count) -> dict[sp.Symbol, Count]:
    return dict(zip((TP, PP, AP, ALL), (tp, k, l, n), strict=True))
