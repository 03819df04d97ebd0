"""Soft metrics: the formula as PyTorch code that takes counts of any real size.

Soft counts are sums of probabilities, such as ``tp = sum(p * y)``. SymPy prints the code from the formula of
the metric. Where the formula is undefined, the rule of the border holds in a smooth form: the value tends to
1 where the prediction can only equal the truth, and to 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import sympy as sp

from metricfit.metrics.confusion import ConfusionMatrix
from metricfit.metrics.metric_class import Metric
from metricfit.metrics.written import UNDEFINED

__all__ = ["SoftFormula", "SoftFunction", "soft_formula", "soft_function"]

FloatArray = npt.NDArray[np.float64]

EDGE = 1e-6
"""A sum of counts well below this share of an item counts as zero."""
SHIFT = 1e-12
"""What every cell is raised by, as a share of an item, so that nothing is divided by zero."""
MAX_TERMS = 60
"""Sums are expanded, so that differences of counts cancel, up to this many terms."""

TP, FP, FN, TN, SHIFTED, STEEP = sp.symbols("tp fp fn tn shift steepness", nonnegative=True)
CELLS = TP, FP, FN, TN
_C = ConfusionMatrix
_IN_CELLS = {_C.tp: TP, _C.fp: FP, _C.fn: FN, _C.tn: TN}
# Predicted and actual positives of five samples: none, some, all.
_SIZE, _PREDICTED, _ACTUAL = 5, (0, 2, 5), (0, 3, 5)


class SoftFormula(NamedTuple):
    """Expressions in the cells, finite for all cells >= 0; the metric is ``(1 - edge) * inside + sure``.

    Attributes
    ----------
    inside : sympy.Expr
        The formula, with every cell raised by ``shift``.
    edge : sympy.Expr
        How much the rule for undefined values weighs: ``1 / (1 + steepness * count**2)`` for each count that
        the formula divides by, 0 for a formula that is defined everywhere.
    sure : sympy.Expr
        The part of `edge` where the prediction can only equal the truth.
    """

    inside: sp.Expr
    edge: sp.Expr
    sure: sp.Expr


def soft_formula(metric: Metric) -> SoftFormula:
    """Return the expressions of a metric, without its constraints.

    Examples
    --------
    >>> import metricfit as mf
    >>> soft_formula(mf.accuracy)
    SoftFormula(inside=(2*shift + tn + tp)/(fn + fp + 4*shift + tn + tp), edge=0, sure=0)
    >>> soft_formula(mf.recall).edge
    1/(steepness*(fn + tp)**2 + 1)
    """
    formula = _expanded(sp.together(metric.expression_in_counts().xreplace(_IN_CELLS)))
    inside = _with_float_constants(formula.xreplace({cell: cell + SHIFTED for cell in CELLS}))
    undefined = [
        (row, column)
        for row in range(3)
        for column in range(3)
        if _is_undefined(metric, formula, _PREDICTED[row], _ACTUAL[column])
    ]
    # Symbols stand for the nearness at first, so that the products along a whole edge add up to one term.
    sums = dict(zip(sp.symbols("pp:2 ap:2"), (TP + FP, FN + TN, TP + FN, FP + TN), strict=True))
    none_predicted, all_predicted, none_actual, all_actual = sums
    by_prediction = (none_predicted, 1 - none_predicted - all_predicted, all_predicted)
    by_truth = (none_actual, 1 - none_actual - all_actual, all_actual)
    edge = sp.Add(*(by_prediction[row] * by_truth[column] for row, column in undefined))
    corners = [corner for corner in (0, 2) if (corner, corner) in undefined]
    sure = sp.Add(*(by_prediction[corner] * by_truth[corner] for corner in corners))
    nearness = {symbol: _nearness(count) for symbol, count in sums.items()}
    return SoftFormula(inside, sp.expand(edge).xreplace(nearness), sure.xreplace(nearness))


class SoftFunction:
    """A soft metric as a function of counts and the weight of one item, in PyTorch and in NumPy.

    Near undefined values its derivative is that of the formula, faded out.

    Examples
    --------
    >>> import torch
    >>> import metricfit as mf
    >>> tp, fp, fn, tn = torch.tensor([1.5, 0.5, 0.5, 1.5], dtype=torch.float64)
    >>> SoftFunction(mf.precision)(tp, fp, fn, tn, 1.0)
    tensor(0.7500, dtype=torch.float64)
    """

    def __init__(self, metric: Metric) -> None:
        formula = soft_formula(metric)
        self._inside = _printed([*CELLS, SHIFTED], formula.inside, "torch")
        self._rule = None
        if formula.edge != 0:
            self._rule = _printed([*CELLS, STEEP], [formula.edge, formula.sure], "torch")
        slopes = [sp.diff(formula.inside, cell) for cell in CELLS]
        parts = [formula.edge, formula.sure, formula.inside]
        self._value, self._with_slopes = _OnHost(parts), _OnHost([*parts, *slopes])

    def __call__(self, tp: Any, fp: Any, fn: Any, tn: Any, unit: Any) -> Any:
        """Return the value for tensors, differentiable."""
        inside = self._inside(tp, fp, fn, tn, SHIFT * unit)
        if self._rule is None:
            return inside
        # PyTorch is imported only when soft counts are measured.
        import torch

        with torch.no_grad():
            edge, sure = self._rule(tp, fp, fn, tn, _steepness(unit))
        return (1.0 - edge) * inside + sure

    def with_slopes(self, cells: FloatArray, unit: float) -> tuple[Any, list[Any]]:
        """Return the value for counts of shape (4, ...), and the derivatives with respect to them.

        Examples
        --------
        >>> import numpy as np
        >>> import metricfit as mf
        >>> value, slopes = SoftFunction(mf.precision).with_slopes(np.array([3.0, 1.0, 1.0, 3.0]), 1.0)
        >>> round(value, 6), [round(slope, 6) for slope in slopes]
        (0.75, [0.0625, -0.1875, 0.0, 0.0])
        """
        edge, sure, inside, *slopes = self._with_slopes(cells, unit)
        faded = 1.0 - edge
        return faded * inside + sure, [faded * slope for slope in slopes]

    def value(self, cells: FloatArray, unit: float) -> Any:
        """Return the value for counts of shape (4, ...).

        Examples
        --------
        >>> import numpy as np
        >>> import metricfit as mf
        >>> SoftFunction(mf.precision).value(np.array([[3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [3.0, 3.0]]), 1.0)
        array([0.75, 0.5 ])
        """
        edge, sure, inside = self._value(cells, unit)
        return (1.0 - edge) * inside + sure


class _OnHost:
    """Expressions in the cells as functions of one confusion matrix and of arrays of them."""

    def __init__(self, expressions: list[sp.Expr]) -> None:
        symbols = [*CELLS, SHIFTED, STEEP]
        self._of_numbers = _printed(symbols, expressions, "math")
        self._of_arrays = _printed(symbols, expressions, "numpy")

    def __call__(self, cells: FloatArray, unit: float) -> Any:
        further = SHIFT * unit, _steepness(unit)
        if cells.size == 4:
            # One unit is the usual case, and numbers are much faster than arrays of one number.
            with suppress(ZeroDivisionError, ValueError, OverflowError):
                return self._of_numbers(*cells.ravel().tolist(), *further)
        # As in PyTorch, a division by zero gives infinity or NaN.
        with np.errstate(all="ignore"):
            return self._of_arrays(*cells, *further)


@lru_cache(maxsize=256)
def soft_function(metric: Metric) -> SoftFunction:
    """Return the function of a metric, whose code is generated once.

    Examples
    --------
    >>> import metricfit as mf
    >>> soft_function(mf.f1) is soft_function(mf.f1)
    True
    """
    return SoftFunction(metric)


def _printed(symbols: list[sp.Symbol], expressions: Any, module: str) -> Callable[..., Any]:
    modules: Any = _torch_functions() if module == "torch" else module
    function: Callable[..., Any] = sp.lambdify(symbols, expressions, modules=modules, cse=True)
    return function


def _torch_functions() -> list[dict[str, Any]]:
    """Return what the functions of a formula are in PyTorch; SymPy knows it by itself from 1.14 on."""
    import torch

    return [{"exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt}]


def _steepness(unit: Any) -> Any:
    return 1.0 / (EDGE * EDGE * unit * unit)


def _nearness(count: sp.Expr) -> sp.Expr:
    """Return 1 where a count is zero, and 1e-12 where it is one item."""
    return 1 / (1 + STEEP * count**2)


def _expanded(expression: sp.Expr) -> sp.Expr:
    """Expand every sum, so that terms cancel before anything is rounded."""
    if expression.is_Atom:
        return expression
    rebuilt = expression.func(*map(_expanded, expression.args))
    if not rebuilt.is_Add:
        return rebuilt
    expanded = sp.expand(rebuilt)
    return expanded if len(sp.Add.make_args(expanded)) <= MAX_TERMS else rebuilt


def _with_float_constants(expression: sp.Expr) -> sp.Expr:
    """Replace constants such as sqrt(2) by numbers: torch.sqrt takes tensors only."""
    if expression.is_number:
        return expression if expression.is_Rational else expression.evalf(17)
    if expression.is_Atom:
        return expression
    return expression.func(*map(_with_float_constants, expression.args))


def _is_undefined(metric: Metric, formula: sp.Expr, k: int, l: int) -> bool:
    """Whether the rule of the border decides at `k` predicted and `l` actual positives."""
    border = k in (0, _SIZE) or l in (0, _SIZE)
    rule = metric.evaluate
    if (rule.positive and 0 in (k, l)) or (rule.negative and _SIZE in (k, l)):
        return True
    tp = max(0, k + l - _SIZE)
    counts = {TP: tp, FP: k - tp, FN: l - tp, TN: _SIZE - k - l + tp}
    value = formula.xreplace({cell: sp.Integer(count) for cell, count in counts.items()})
    return border and bool(value.has(*UNDEFINED) or value.is_real is False)
