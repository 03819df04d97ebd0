"""The value of an expression to many digits, and how it depends on TP at a few confusion matrices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

import mpmath
import sympy as sp

from metricfit.metrics.confusion import ALL, AP, PP, TP

__all__ = ["TOO_LARGE", "Count", "degree_in_tp", "depends_on", "value_at", "why_no_value"]

Count: TypeAlias = int | Fraction

DIGITS = 160
# How many of the digits may be lost to rounding.
TOLERANCE = 30
# Beyond 2**LARGEST_POWER a number counts as undefined: its exponential could not be written down.
LARGEST_POWER = 4000

# Fixed (PP, AP, ALL), at which TP may be 1 to 6 with no cell empty, and values that no formula is made for.
_MARGINS = ((9, 11, 23), (11, 8, 29), (13, 17, 37))
_TP = tuple(Fraction(numerator, 7) for numerator in (9, 16, 26, 37))


_INFINITE = "it divides by zero"
_COMPLEX = "it takes the root or log of a negative number"
TOO_LARGE = "it exceeds the range of float64"


class _NoValueError(ArithmeticError):
    """The expression is infinite, complex or out of range; the message says which."""


def value_at(expression: sp.Expr, counts: Mapping[sp.Symbol, Count]) -> mpmath.mpf | None:
    """Return the value to 160 digits, or None where it is undefined, complex or out of range.

    Examples
    --------
    >>> counts = {TP: 1, PP: 4, AP: 2, ALL: 9}
    >>> value_at(TP / PP, counts)
    mpf('0.25')
    >>> value_at(sp.log(TP - PP), counts)
    """
    try:
        return _checked(expression, counts)
    except _NoValueError:
        return None


def why_no_value(expression: sp.Expr, counts: Mapping[sp.Symbol, Count]) -> str:
    """Return what is wrong with an expression that has no finite real value in float64.

    Examples
    --------
    >>> why_no_value(sp.sqrt(TP - PP), {TP: 1, PP: 2})
    'it takes the root or log of a negative number'
    """
    try:
        _checked(expression, counts)
    except _NoValueError as error:
        return str(error)
    return TOO_LARGE


def _checked(expression: sp.Expr, counts: Mapping[sp.Symbol, Count]) -> mpmath.mpf:
    with mpmath.workdps(DIGITS):
        try:
            return _evaluated(expression, counts)
        except ZeroDivisionError:
            raise _NoValueError(_INFINITE) from None


def _evaluated(expression: sp.Expr, counts: Mapping[sp.Symbol, Count]) -> mpmath.mpf:
    if expression.is_Symbol:
        count = counts[expression]
        return mpmath.mpf(count.numerator) / count.denominator
    if expression.is_Rational:
        return mpmath.mpf(int(expression.p)) / int(expression.q)
    if expression.is_Atom:
        return mpmath.mpf(expression.evalf(DIGITS))
    parts = [_evaluated(argument, counts) for argument in expression.args]
    if expression.is_Add:
        value = mpmath.fsum(parts)
        # Roots that cancel leave a rounding error, which must not be divided by and has no root.
        if _equal(value, mpmath.mpf(0), parts):
            value = mpmath.mpf(0)
    elif expression.is_Mul:
        value = mpmath.fprod(parts)
    elif expression.is_Pow:
        value = _power(*parts, whole=bool(expression.exp.is_Integer))
    else:
        value = _FUNCTIONS[expression.func](*parts)
    if value and mpmath.mag(value) > LARGEST_POWER:
        raise _NoValueError(TOO_LARGE)
    return value if not value or mpmath.mag(value) > -LARGEST_POWER else mpmath.mpf(0)


def _power(base: mpmath.mpf, exponent: mpmath.mpf, *, whole: bool) -> mpmath.mpf:
    if whole:
        return base ** int(exponent)
    if base < 0:
        raise _NoValueError(_COMPLEX)
    return base**exponent


def _logarithm(value: mpmath.mpf) -> mpmath.mpf:
    if value <= 0:
        raise _NoValueError(_COMPLEX if value < 0 else _INFINITE)
    return mpmath.log(value)


# SymPy makes a square root of a square an absolute value.
_FUNCTIONS = {sp.exp: mpmath.exp, sp.log: _logarithm, sp.Abs: abs}


def degree_in_tp(expression: sp.Expr) -> int | None:
    """Return 0 if TP plays no part, 1 if the expression is affine in TP, 2 otherwise; None if undefined.

    Examples
    --------
    >>> degree_in_tp(TP / PP), degree_in_tp(TP**2 / PP), degree_in_tp(sp.sqrt(TP + PP - TP))
    (1, 2, 0)
    """
    found = [_degree(_along_tp(expression, margins)) for margins in _MARGINS]
    return max((degree for degree in found if degree is not None), default=None)


def depends_on(expression: sp.Expr, symbol: sp.Symbol) -> bool:
    """Return whether a change of TP or of PP alone changes the value.

    Examples
    --------
    >>> depends_on(AP / ALL, PP), depends_on(PP / ALL, PP)
    (False, True)
    """
    if not expression.has(symbol):
        return False
    if symbol == TP:
        return degree_in_tp(expression) != 0
    moved = [(pp, _MARGINS[0][1], _MARGINS[0][2]) for pp in (9, 10, 12, 13)]
    values = [value for margins in moved if (value := next(_along_tp(expression, margins))) is not None]
    return len(values) < 2 or not all(_equal(value, values[0], values) for value in values)


def _along_tp(expression: sp.Expr, margins: tuple[int, int, int]) -> Iterator[mpmath.mpf | None]:
    for tp in _TP:
        yield value_at(expression, dict(zip((TP, PP, AP, ALL), (tp, *margins), strict=True)))


def _degree(values: Iterator[mpmath.mpf | None]) -> int | None:
    known = [(tp, value) for tp, value in zip(_TP, values, strict=True) if value is not None]
    if len(known) < 3:
        return None
    with mpmath.workdps(DIGITS):
        (first, start), *_, (last, end) = known
        sizes = [value for _, value in known]
        if all(_equal(value, start, sizes) for value in sizes):
            return 0
        shares = [(tp - first) / (last - first) for tp, _ in known]
        straight = [start + (end - start) * share.numerator / share.denominator for share in shares]
        affine = all(_equal(value, line, sizes) for (_, value), line in zip(known, straight, strict=True))
    return 1 if affine else 2


def _equal(left: mpmath.mpf, right: mpmath.mpf, among: list[mpmath.mpf]) -> bool:
    largest = max(map(abs, among))
    return bool(abs(left - right) <= largest * mpmath.mpf(10) ** (TOLERANCE - DIGITS))
