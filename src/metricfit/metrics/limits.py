"""How large a formula may be. Everything here is checked before SymPy expands anything."""

from __future__ import annotations

from itertools import islice
from math import comb, prod

import sympy as sp

from metricfit.metrics.errors import UnsupportedMetricError

__all__ = ["MAX_EXPONENT", "MAX_MAGNITUDE", "digit_count", "is_function", "refuse_oversized", "term_count"]

# A larger formula is a mistake or an attack, and SymPy would take minutes for it.
MAX_NODES = 2000
MAX_EXPONENT = 12
MAX_MAGNITUDE = sp.Integer(10) ** 60


def refuse_oversized(written: sp.Expr) -> None:
    """Refuse a formula with too many parts, too large a constant or too large an exponent.

    Examples
    --------
    >>> import metricfit as mf
    >>> refuse_oversized(mf.ConfusionMatrix.tp ** 13)
    Traceback (most recent call last):
        ...
    metricfit.metrics.errors.UnsupportedMetricError: the exponent 13 is too large; 12 is the largest
    """
    if len(list(islice(sp.preorder_traversal(written), MAX_NODES + 1))) > MAX_NODES:
        raise UnsupportedMetricError(f"the formula has more than {MAX_NODES} parts; write a shorter one")
    for number in written.atoms(sp.Number):
        if number.is_finite and not number.is_zero and not 1 / MAX_MAGNITUDE <= abs(number) <= MAX_MAGNITUDE:
            raise UnsupportedMetricError(
                f"the constant {number.evalf(6)!s} is beyond the range 1e-60 to 1e60 of a formula"
            )
    for power in written.atoms(sp.Pow):
        if power.exp.is_number and abs(power.exp) > MAX_EXPONENT:
            raise UnsupportedMetricError(
                f"the exponent {float(power.exp):.6g} is too large; {MAX_EXPONENT} is the largest"
            )


def is_function(part: sp.Basic) -> bool:
    """Whether a node is a root, an exponential or a logarithm, which no polynomial arithmetic enters."""
    if part.is_Pow:
        return not part.exp.is_Integer
    return isinstance(part, sp.exp | sp.log)


def term_count(expression: sp.Expr) -> int:
    """Return a bound of the number of terms that any step of bringing it over one denominator can have.

    Examples
    --------
    >>> import metricfit as mf
    >>> C = mf.ConfusionMatrix
    >>> term_count((C.ap + C.pp) ** 2 / (C.ap + 1))
    3
    """
    inside = [term_count(argument) for part in _outer_functions(expression) for argument in part.args]
    return max(*_counts(expression), *inside)


def digit_count(expression: sp.Expr) -> int:
    """Return a bound of the digits that a constant has after expanding, at any step.

    Examples
    --------
    >>> import metricfit as mf
    >>> digit_count((mf.ConfusionMatrix.ap + 100) ** 3)
    9
    """
    if expression.is_Rational:
        return len(str(abs(int(expression.p)))) + len(str(int(expression.q))) - 1
    inside = [digit_count(argument) for argument in expression.args]
    if is_function(expression):
        return max(inside)
    if expression.is_Pow:
        return inside[0] * abs(int(expression.exp))
    return sum(inside)


def _outer_functions(expression: sp.Expr) -> list[sp.Expr]:
    if is_function(expression):
        return [expression]
    return [part for argument in expression.args for part in _outer_functions(argument)]


def _counts(expression: sp.Expr) -> tuple[int, int]:
    """Bound the number of terms of numerator and denominator over one common denominator."""
    if is_function(expression):
        return 1, 1
    if expression.is_Pow:
        power = abs(int(expression.exp))
        above, below = (comb(count + power - 1, power) for count in _counts(expression.base))
        if power > 3:
            # Every second power of a root is a power of what stands inside.
            roots = (term_count(part.base) for part in _outer_functions(expression.base) if part.is_Pow)
            above *= comb(max(roots, default=1) + power // 2 - 1, power // 2)
        return (above, below) if expression.exp > 0 else (below, above)
    if expression.is_Mul:
        parts = [_counts(argument) for argument in expression.args]
        return prod(above for above, _ in parts), prod(below for _, below in parts)
    if expression.is_Add:
        parts = [_counts(argument) for argument in expression.args]
        denominator = prod(below for _, below in parts)
        return sum(above * denominator // below for above, below in parts), denominator
    return 1, 1
