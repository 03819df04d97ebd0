"""From a formula to its normal form: affine in TP for every (PP, AP).

With the predicted positives PP, the actual positives AP and the number of samples ALL fixed, the other cells
are FP = PP - TP, FN = AP - TP and TN = ALL - PP - AP + TP. A metric is supported when what remains is
``alpha * TP + beta`` with ``alpha`` and ``beta`` free of TP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import sympy as sp

from metricfit.metrics.confusion import CELLS, SUMS, ConfusionMatrix
from metricfit.metrics.errors import UnsupportedMetricError

__all__ = ["ALL", "AP", "PP", "NormalForm", "formula_text", "normalise"]

TP = sp.Symbol("TP", nonnegative=True)
PP = sp.Symbol("PP", nonnegative=True)
AP = sp.Symbol("AP", nonnegative=True)
ALL = sp.Symbol("ALL", positive=True)

_C = ConfusionMatrix
_REDUCE = {
    _C.tp: TP,
    _C.fp: PP - TP,
    _C.fn: AP - TP,
    _C.tn: ALL - PP - AP + TP,
    _C.pp: PP,
    _C.pn: ALL - PP,
    _C.ap: AP,
    _C.an: ALL - AP,
    _C.all: ALL,
}
_WRITE = {TP: _C.tp, PP: _C.pp, AP: _C.ap, ALL: _C.all}

# Beyond these a formula is a mistake or an attack, and SymPy would take minutes over it.
MAX_TERMS = 2000
MAX_EXPONENT = 12
MAX_MAGNITUDE = sp.Integer(10) ** 60

_ACCEPTED = "a supported formula is affine in tp once pp, ap and all are fixed"


@dataclass(frozen=True)
class NormalForm:
    """``alpha * TP + beta`` in the symbols PP, AP and ALL."""

    alpha: sp.Expr
    beta: sp.Expr


def formula_text(expression: sp.Expr) -> str:
    """Print an expression the way a person would type it.

    Examples
    --------
    >>> C = ConfusionMatrix()
    >>> formula_text(1.25 * C.tp / (0.25 * C.ap + C.pp))
    '1.25*tp/(0.25*ap + pp)'
    """
    return str(sp.sstr(expression, full_prec=False))


def normalise(expression: object) -> NormalForm:
    """Bring a formula over the confusion matrix into ``alpha * TP + beta``, or say why it cannot be.

    Examples
    --------
    >>> C = ConfusionMatrix()
    >>> normalise(2 * C.tp / (2 * C.tp + C.fp + C.fn))
    NormalForm(alpha=2/(AP + PP), beta=0)
    """
    written = _checked(expression)
    if not any(symbol.name in CELLS for symbol in written.free_symbols):
        raise _unsupported(
            written, f"it holds none of the cells {', '.join(CELLS)}, so no prediction could change it"
        )
    _refuse_oversized(written)
    reduced = _settled(_exact(written).xreplace(_REDUCE))
    for part in sp.preorder_traversal(reduced):
        if _is_function(part) and part.has(TP):
            raise _unsupported(written, _blame_function(written))
    numerator, denominator = sp.fraction(sp.cancel(reduced))
    if denominator.has(TP):
        raise _unsupported(written, _blame_denominator(written, denominator))
    polynomial = sp.Poly(numerator, TP)
    if any(
        sp.simplify(polynomial.coeff_monomial(TP**power)) != 0 for power in range(2, polynomial.degree() + 1)
    ):
        raise _unsupported(written, _blame_product(written))
    alpha = _canonical(polynomial.coeff_monomial(TP) / denominator)
    if sp.simplify(alpha) == 0:
        raise _unsupported(
            written, "its cells cancel, so no prediction with as many positives could change it"
        )
    return NormalForm(alpha, _canonical(polynomial.coeff_monomial(1) / denominator))


def _unsupported(written: sp.Expr, reason: str) -> UnsupportedMetricError:
    return UnsupportedMetricError(f"{formula_text(written)} is not supported: {reason}")


def _checked(expression: object) -> sp.Expr:
    """Whatever a formula returned, as an expression over the confusion matrix and nothing else."""
    if expression is None:
        raise UnsupportedMetricError("the formula returned nothing; end it with `return <expression over C>`")
    try:
        written = sp.sympify(expression, strict=True)
    except sp.SympifyError:
        written = None
    if not isinstance(written, sp.Expr):
        raise UnsupportedMetricError(
            f"the formula must return one expression over the confusion matrix, not {type(expression).__name__}"
        )
    for symbol in sorted(written.free_symbols, key=str):
        if symbol not in _REDUCE:
            raise UnsupportedMetricError(
                f"{formula_text(written)} holds {symbol}, which is not on the confusion matrix; write it with "
                f"the cells {', '.join(CELLS)} and the sums {', '.join(SUMS)}"
            )
    if written.has(sp.I):
        raise _unsupported(
            written, "it holds the square root of a negative number; a metric is a real number"
        )
    if written.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise _unsupported(written, "it divides by zero, or holds an infinite or undefined constant")
    for part in sp.preorder_traversal(written):
        if not (
            part.is_Symbol or part.is_real or part.is_Add or part.is_Mul or part.is_Pow or _is_function(part)
        ):
            raise _unsupported(
                written,
                f"{formula_text(part)} is none of the operations a formula may use, which are + - * / **, sqrt, "
                "log and exp",
            )
    return written


def _exact(written: sp.Expr) -> sp.Expr:
    """Replace floats by the fraction that their shortest decimal stands for: 0.1 is one tenth."""
    return written.xreplace({number: sp.Rational(repr(float(number))) for number in written.atoms(sp.Float)})


def _is_function(part: sp.Basic) -> bool:
    """Whether a node is a root, a power with a variable exponent, an exponential or a logarithm."""
    if part.is_Pow:
        return not part.exp.is_Integer
    return isinstance(part, sp.exp | sp.log)


def _canonical(expression: sp.Expr) -> sp.Expr:
    # Factors rather than expanded sums: the terms of an expanded ap*an*pp*pn reach n**4, beyond what float64
    # counts exactly, while every factor is a small integer and vanishes exactly at the border.
    return sp.factor(sp.cancel(expression))


def _settled(expression: sp.Expr) -> sp.Expr:
    """Simplify what stands inside roots, logarithms and exponentials, so that a TP that cancels there is gone."""
    if expression.is_Atom:
        return expression
    arguments = [_settled(argument) for argument in expression.args]
    if _is_function(expression):
        arguments = [argument if argument.is_Atom else _canonical(argument) for argument in arguments]
    return expression.func(*arguments)


def _holds_tp(part: sp.Basic) -> bool:
    return bool(sp.cancel(_settled(_exact(part).xreplace(_REDUCE))).has(TP))


def _blame_function(written: sp.Expr) -> str:
    parts = [part for part in sp.preorder_traversal(written) if _is_function(part) and _holds_tp(part)]
    term = formula_text(parts[0] if parts else written)
    return (
        f"{term} puts a cell inside a root, power, log or exp; these may hold only the sums {', '.join(SUMS)} "
        f"and constants, since {_ACCEPTED}"
    )


def _blame_denominator(written: sp.Expr, denominator: sp.Expr) -> str:
    reduced = formula_text(denominator.xreplace(_WRITE))
    for part in sp.preorder_traversal(written):
        if part.is_Pow and part.exp.is_negative and _holds_tp(part.base):
            reduced = f"{formula_text(part.base)} (equal to {formula_text(_write_reduced(part.base))})"
            break
    return (
        f"its denominator {reduced} still depends on tp; a denominator may hold only the sums {', '.join(SUMS)} "
        "and constants, or cells that add up to them, as 2*tp + fp + fn = pp + ap does"
    )


def _write_reduced(part: sp.Expr) -> sp.Expr:
    return sp.cancel(_exact(part).xreplace(_REDUCE)).xreplace(_WRITE)


def _blame_product(written: sp.Expr) -> str:
    for part in sp.preorder_traversal(written):
        factors = [factor for factor in _factors(part) if _holds_tp(factor)]
        if len(factors) > 1:
            return (
                f"{formula_text(sp.Mul(*factors))} multiplies cells; a cell may be multiplied only by the sums "
                f"{', '.join(SUMS)} and constants, since {_ACCEPTED}"
            )
    return f"it is not linear in the cells, and {_ACCEPTED}"


def _factors(part: sp.Basic) -> Iterator[sp.Expr]:
    """Yield the factors of the numerator of a product, repeated ones as often as they occur."""
    if part.is_Mul:
        for argument in part.args:
            yield from _factors(argument)
    elif part.is_Pow and part.exp.is_Integer:
        yield from [part.base] * max(int(part.exp), 0)
    else:
        yield part


def _refuse_oversized(written: sp.Expr) -> None:
    for number in written.atoms(sp.Number):
        if number != 0 and not 1 / MAX_MAGNITUDE <= abs(number) <= MAX_MAGNITUDE:
            raise _unsupported(
                written, f"the constant {formula_text(number)} is beyond the range 1e-60 to 1e60"
            )
    for power in written.atoms(sp.Pow):
        if power.exp.is_number and abs(power.exp) > MAX_EXPONENT:
            raise _unsupported(
                written, f"the exponent {formula_text(power.exp)} is larger than {MAX_EXPONENT}"
            )
    if max(_term_counts(_exact(written).xreplace(_REDUCE))) > MAX_TERMS:
        raise UnsupportedMetricError(
            f"the formula would expand to more than {MAX_TERMS} terms; write it with fewer products of sums"
        )


def _term_counts(expression: sp.Expr) -> tuple[int, int]:
    """Bound the number of terms of numerator and denominator over one common denominator."""
    if expression.is_Add:
        numerator, denominator = Fraction(0), 1
        for argument in expression.args:
            above, below = _term_counts(argument)
            numerator += Fraction(above, below)
            denominator *= below
        return int(numerator * denominator), denominator
    if expression.is_Mul:
        above = below = 1
        for argument in expression.args:
            argument_above, argument_below = _term_counts(argument)
            above, below = above * argument_above, below * argument_below
        return above, below
    if _is_function(expression):
        if max(max(_term_counts(argument)) for argument in expression.args) > MAX_TERMS:
            return MAX_TERMS + 1, 1
        return 1, 1
    if expression.is_Pow:
        counts = _term_counts(expression.base)
        power = abs(int(expression.exp))
        above, below = (comb(min(count, MAX_TERMS) + power - 1, power) for count in counts)
        return (above, below) if expression.exp > 0 else (below, above)
    return 1, 1
