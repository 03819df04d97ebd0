"""How an expression depends on TP, by evaluating it at a few confusion matrices."""

from __future__ import annotations

from collections.abc import Iterator

import mpmath
import sympy as sp

from metricfit.metrics.confusion import ALL, AP, PP, TP

__all__ = ["degree_in_tp", "depends_on", "value_at"]

DIGITS = 160
# Rounding may take so many of them.
TOLERANCE = 30
# Beyond 2**LARGEST_POWER a number counts as undefined: its exponential could not be written down.
LARGEST_POWER = 4000

# Fixed (PP, AP, ALL), at which TP may be 1 to 6 with no cell empty, and values that no formula is made for.
_MARGINS = ((9, 11, 23), (11, 8, 29), (13, 17, 37))
_TP = tuple(sp.Rational(numerator, 7) for numerator in (9, 16, 26, 37))


class _NoValueError(Exception):
    """The expression is infinite, complex or out of range."""


def value_at(expression: sp.Expr, counts: dict[sp.Symbol, sp.Rational]) -> mpmath.mpf | None:
    """Return the value to 160 digits, or None where it is undefined, complex or out of range.

    Examples
    --------
    >>> counts = {TP: sp.Integer(1), PP: sp.Integer(4), AP: sp.Integer(2), ALL: sp.Integer(9)}
    >>> value_at(TP / PP, counts)
    mpf('0.25')
    >>> value_at(sp.log(TP - PP), counts)
    """
    with mpmath.workdps(DIGITS):
        try:
            value = _evaluated(expression, counts)
        except (ZeroDivisionError, OverflowError, _NoValueError):
            return None
    return value if mpmath.isfinite(value) else None


def _evaluated(expression: sp.Expr, counts: dict[sp.Symbol, sp.Rational]) -> mpmath.mpf:
    if expression.is_Symbol:
        expression = counts[expression]
    if expression.is_Rational:
        return mpmath.mpf(int(expression.p)) / int(expression.q)
    if expression.is_Atom:
        return mpmath.mpf(expression.evalf(DIGITS))
    parts = [_evaluated(argument, counts) for argument in expression.args]
    if expression.is_Add:
        value = mpmath.fsum(parts)
    elif expression.is_Mul:
        value = mpmath.fprod(parts)
    elif expression.is_Pow:
        value = _power(*parts, whole=bool(expression.exp.is_Integer))
    elif isinstance(expression, sp.exp):
        value = mpmath.exp(parts[0])
    else:
        value = _logarithm(parts[0])
    if value and abs(mpmath.mag(value)) > LARGEST_POWER:
        raise _NoValueError
    return value


def _power(base: mpmath.mpf, exponent: mpmath.mpf, *, whole: bool) -> mpmath.mpf:
    if whole:
        return base ** int(exponent)
    if base < 0:
        raise _NoValueError
    return base**exponent


def _logarithm(value: mpmath.mpf) -> mpmath.mpf:
    if value <= 0:
        raise _NoValueError
    return mpmath.log(value)


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
    counts = dict(zip((PP, AP, ALL), map(sp.Integer, margins), strict=True))
    for tp in _TP:
        yield value_at(expression, {**counts, TP: tp})


def _degree(values: Iterator[mpmath.mpf | None]) -> int | None:
    known = [(tp, value) for tp, value in zip(_TP, values, strict=True) if value is not None]
    if len(known) < 3:
        return None
    with mpmath.workdps(DIGITS):
        (first, start), *_, (_, end) = known
        sizes = [value for _, value in known]
        if all(_equal(value, start, sizes) for value in sizes):
            return 0
        shares = [mpmath.mpf(int((tp - first).p)) / int((tp - first).q) for tp, _ in known]
        whole = shares[-1]
        straight = [start + (end - start) * share / whole for share in shares]
        affine = all(_equal(value, line, sizes) for (_, value), line in zip(known, straight, strict=True))
    return 1 if affine else 2


def _equal(left: mpmath.mpf, right: mpmath.mpf, among: list[mpmath.mpf]) -> bool:
    largest = max(map(abs, among))
    return bool(abs(left - right) <= largest * mpmath.mpf(10) ** (TOLERANCE - DIGITS))
