"""From a normal form to numbers: the coefficients of TP for given numbers of positives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import sympy as sp

from metricfit.metrics.confusion import ALL, AP, PP, TP
from metricfit.metrics.digits import TOO_LARGE, why_no_value
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.evaluation import (
    MAX_VALUE,
    BoolArray,
    Evaluation,
    FloatArray,
    checked_size,
    on_border,
    only_right,
    to_numpy,
    why_too_large,
)
from metricfit.metrics.normal_form import NormalForm

__all__ = ["Coefficients"]

_Numeric = Callable[..., tuple[Any, Any]]

# Of so many samples the tables take 6 GB.
LARGEST_TABLE = 20_000
CHECKED_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 12, 25)


@dataclass(frozen=True)
class Coefficients(Evaluation):
    """Evaluates ``alpha`` and ``beta`` of a formula, with the rules for its undefined cells.

    Where the formula is undefined on the border of the table (``k`` or ``l`` equal to 0 or ``n``), the
    metric is 1 if the prediction can only equal the truth (``k = l = 0`` or ``k = l = n``) and 0 otherwise.
    A formula that is undefined inside the table is refused.

    Parameters
    ----------
    form : NormalForm
        The formula.
    formula : str
        How it was written, for error messages.
    positive, negative : bool
        Force that rule on row and column 0 (positive) or n (negative), whether the formula is defined there
        or not.
    """

    form: NormalForm
    formula: str = field(default="the formula", compare=False)
    positive: bool = False
    negative: bool = False

    def __call__(self, k: npt.ArrayLike, l: npt.ArrayLike, n: int) -> tuple[FloatArray, FloatArray]:
        """Return ``alpha`` and ``beta`` at ``k`` predicted and ``l`` actual positives of ``n``."""
        n = checked_size(n)
        # float64 before any arithmetic: products of four counts overflow int64 from n = 55_000 on.
        predicted = np.asarray(k, dtype=np.float64)
        actual = np.asarray(l, dtype=np.float64)
        alpha, beta = self._evaluate(predicted, actual, float(n))
        undefined = ~(np.isfinite(alpha) & np.isfinite(beta))
        if self.positive or self.negative:
            undefined |= self.forced(predicted, actual, n)
        if undefined.any():
            self._settle(alpha, beta, undefined, predicted, actual, n)
        return alpha, beta

    @property
    def whole(self) -> sp.Expr:
        """The formula in TP, PP, AP and ALL."""
        return self.form.alpha * TP + self.form.beta

    def table(self, n: int) -> tuple[FloatArray, FloatArray]:
        """Return the read-only ``(n + 1, n + 1)`` tables of ``alpha`` and ``beta``."""
        n = checked_size(n)
        if n > LARGEST_TABLE:
            raise ValueError(
                f"the tables of n = {n} samples would take {16e-9 * (n + 1) ** 2:.0f} GB; call "
                f"coefficients(k, l, n) for the cells you need"
            )
        counts = np.arange(n + 1)
        alpha, beta = self(counts[:, None], counts[None, :], n)
        alpha.flags.writeable = False
        beta.flags.writeable = False
        return alpha, beta

    def value_range(self, n: int) -> tuple[float, float]:
        """Return the smallest and the largest value over all confusion matrices of ``n`` samples."""
        alpha, beta = self.table(n)
        k, l = np.ogrid[0 : n + 1, 0 : n + 1]
        ends = np.stack([alpha * np.maximum(k + l - n, 0) + beta, alpha * np.minimum(k, l) + beta])
        return float(ends.min()), float(ends.max())

    def check(self) -> None:
        """Refuse a formula that is undefined inside a small table, complex or too large."""
        for n in CHECKED_SIZES:
            self._refuse_large(n)
            counts = np.arange(n + 1, dtype=np.complex128)
            with np.errstate(all="ignore"):
                values = self._numeric(counts[:, None], counts[None, :], np.complex128(n))
            for value in values:
                unreal = np.broadcast_to(np.isfinite(value) & (np.abs(np.imag(value)) > 1e-9), (n + 1, n + 1))
                if unreal.any():
                    k, l = (int(index[0]) for index in np.nonzero(unreal))
                    raise UnsupportedMetricError(self._why(k, l, n))

    def _refuse_large(self, n: int) -> None:
        alpha, beta = self.table(n)
        sizes = np.abs(alpha) * n + np.abs(beta)
        if sizes.max() > MAX_VALUE:
            k, l = np.unravel_index(sizes.argmax(), sizes.shape)
            raise UnsupportedMetricError(
                why_too_large(self.formula, sizes.max(), f"pp = {k}, ap = {l}, all = {n}")
            )

    def __reduce__(self) -> tuple[Any, ...]:
        # The generated function is made anew where it is needed; it cannot be pickled.
        return (type(self), (self.form, self.formula, self.positive, self.negative))

    @cached_property
    def _numeric(self) -> _Numeric:
        return to_numpy([PP, AP, ALL], [self.form.alpha, self.form.beta])

    def _evaluate(self, predicted: FloatArray, actual: FloatArray, n: float) -> tuple[FloatArray, FloatArray]:
        shape = np.broadcast_shapes(predicted.shape, actual.shape)
        with np.errstate(all="ignore"):
            # A NumPy scalar, since a plain float would raise ZeroDivisionError where n alone is divided by.
            alpha, beta = self._numeric(predicted, actual, np.float64(n))
        return _filled(alpha, shape), _filled(beta, shape)

    def _settle(
        self,
        alpha: FloatArray,
        beta: FloatArray,
        undefined: BoolArray,
        predicted: FloatArray,
        actual: FloatArray,
        n: int,
    ) -> None:
        """Apply the rule of the border in place, or refuse the formula."""
        inside = undefined & ~on_border(predicted, actual, n)
        if inside.any():
            predicted, actual = np.broadcast_arrays(predicted, actual)
            cell = tuple(index[0] for index in np.nonzero(inside)) if inside.ndim else ()
            raise UnsupportedMetricError(self._why(int(predicted[cell]), int(actual[cell]), n))
        alpha[undefined] = 0.0
        sure = np.broadcast_to(only_right(predicted, actual, n), undefined.shape)
        beta[undefined] = sure[undefined]

    def _why(self, k: int, l: int, n: int) -> str:
        cell = f"at pp = {k}, ap = {l}, all = {n}"
        reason = why_no_value(self.whole, {TP: 0, PP: k, AP: l, ALL: n})
        if reason == TOO_LARGE:
            return f"{self.formula} exceeds the range of float64 {cell}; use fewer samples"
        return (
            f"{self.formula} is not supported: {reason} {cell}; a formula may be undefined only where pp or "
            "ap is 0 or equal to all, and never complex"
        )


def _filled(values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return a fresh C-contiguous array of the full shape; a constant coefficient comes as a scalar."""
    filled = np.empty(shape)
    filled[...] = values
    return filled
