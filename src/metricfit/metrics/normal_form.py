"""From a formula to its normal form: affine in TP for every (PP, AP).

With the predicted positives PP, the actual positives AP and the number of samples ALL fixed, the other cells
are FP = PP - TP, FN = AP - TP and TN = ALL - PP - AP + TP. A metric is supported when what remains is
``alpha * TP + beta`` with ``alpha`` and ``beta`` free of TP.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb, prod

import sympy as sp
from sympy.printing.str import StrPrinter

from metricfit.metrics.confusion import CELLS, SUMS, ConfusionMatrix
from metricfit.metrics.errors import UnsupportedMetricError

__all__ = ["ALL", "AP", "PP", "NormalForm", "checked", "exact", "formula_text", "normalise"]

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
MAX_TERMS = 500
MAX_EXPONENT = 12
MAX_MAGNITUDE = sp.Integer(10) ** 60

_CELLS, _SUMS = ", ".join(CELLS), ", ".join(SUMS)
_ACCEPTED = "a supported formula is affine in tp once pp, ap and all are fixed"
# Counts at which a coefficient that looks complicated is tested for being zero.
_PROBES = ({PP: 3, AP: 5, ALL: 11}, {PP: 7, AP: 2, ALL: 13}, {PP: 5, AP: 11, ALL: 23})


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
    return str(_Printer().doprint(expression))


class _Printer(StrPrinter):  # type: ignore[misc]
    """Prints what :func:`metricfit.get_metric` reads back as the same formula."""

    def _print_Float(self, number: sp.Float) -> str:  # noqa: N802 (a name SymPy looks for)
        return repr(float(number))

    def _print_Exp1(self, number: sp.Expr) -> str:  # noqa: N802
        return "exp(1)"


def normalise(expression: object) -> NormalForm:
    """Bring a formula over the confusion matrix into ``alpha * TP + beta``, or say why it cannot be.

    Examples
    --------
    >>> C = ConfusionMatrix()
    >>> normalise(2 * C.tp / (2 * C.tp + C.fp + C.fn))
    NormalForm(alpha=2/(AP + PP), beta=0)
    """
    written = checked(expression)
    if not any(symbol.name in CELLS for symbol in written.free_symbols):
        raise _unsupported(written, f"it holds none of the cells {_CELLS}, so no prediction could change it")
    _refuse_oversized(written)
    reduced = _settled(exact(written).xreplace(_REDUCE))
    _refuse_unreal(written, reduced)
    for part in sp.preorder_traversal(reduced):
        if _is_function(part) and part.has(TP):
            raise _unsupported(written, _blame_function(written))
    numerator, denominator = sp.fraction(_cancelled(reduced))
    if denominator.has(TP):
        raise _unsupported(written, _blame_denominator(written, denominator))
    coefficients = sp.Poly(numerator, TP).all_coeffs()[::-1]
    if not all(_vanishes(coefficient) for coefficient in coefficients[2:]):
        raise _unsupported(written, _blame_product(written))
    if len(coefficients) < 2 or _vanishes(coefficients[1]):
        raise _unsupported(written, "its cells cancel: pp, ap and all alone decide its value")
    return NormalForm(_canonical(coefficients[1] / denominator), _canonical(coefficients[0] / denominator))


def checked(expression: object) -> sp.Expr:
    """Return what a formula gave as an expression, if it is one over the confusion matrix and nothing else.

    Examples
    --------
    >>> checked(None)
    Traceback (most recent call last):
        ...
    metricfit.metrics.errors.UnsupportedMetricError: the formula returned nothing; ...
    """
    if expression is None:
        raise UnsupportedMetricError("the formula returned nothing; end it with `return <expression over C>`")
    try:
        written = sp.sympify(expression, strict=True)
    except sp.SympifyError:
        written = None
    if not isinstance(written, sp.Expr):
        kind = type(expression).__name__
        raise UnsupportedMetricError(f"the formula must return one expression over C, not {kind}")
    for symbol in sorted(written.free_symbols, key=str):
        if symbol not in _REDUCE:
            raise UnsupportedMetricError(
                f"{formula_text(written)} holds {symbol}, which is not on the confusion matrix; write it "
                f"with the cells {_CELLS} and the sums {_SUMS}"
            )
    _refuse_unreal(written, written)
    for part in sp.preorder_traversal(written):
        if part.is_Pow and not part.exp.is_number:
            raise _unsupported(written, f"the exponent {formula_text(part.exp)} must be a number")
        if not (part.is_Atom or part.is_Add or part.is_Mul or part.is_Pow or _is_function(part)):
            raise _unsupported(
                written, f"{formula_text(part)} is none of the operations + - * / **, sqrt, log and exp"
            )
    return written


def _unsupported(written: sp.Expr, reason: str) -> UnsupportedMetricError:
    return UnsupportedMetricError(f"{formula_text(written)} is not supported: {reason}")


def _refuse_unreal(written: sp.Expr, expression: sp.Expr) -> None:
    if expression.has(sp.I):
        raise _unsupported(written, "it takes the root or log of a negative number; a metric must be real")
    if expression.has(sp.nan, sp.zoo, sp.oo, -sp.oo):
        raise _unsupported(written, "it divides by zero, or holds an infinite or undefined constant")


def _refuse_oversized(written: sp.Expr) -> None:
    for number in written.atoms(sp.Number):
        if number != 0 and not 1 / MAX_MAGNITUDE <= abs(number) <= MAX_MAGNITUDE:
            raise UnsupportedMetricError(
                f"the constant {float(number):.6g} is beyond the range 1e-60 to 1e60 of a formula"
            )
    for power in written.atoms(sp.Pow):
        if abs(power.exp) > MAX_EXPONENT:
            raise UnsupportedMetricError(
                f"the exponent {float(power.exp):.6g} is too large; {MAX_EXPONENT} is the largest"
            )
    if max(_term_counts(exact(written).xreplace(_REDUCE))) > MAX_TERMS:
        raise UnsupportedMetricError(
            f"the formula would expand to more than {MAX_TERMS} terms; write it with fewer products of sums"
        )


def _term_counts(expression: sp.Expr) -> tuple[int, int]:
    """Bound the number of terms of numerator and denominator over one common denominator."""
    if _is_function(expression):
        inside = max(max(_term_counts(argument)) for argument in expression.args)
        return (1, 1) if inside <= MAX_TERMS else (inside, inside)
    if expression.is_Pow:
        power = abs(int(expression.exp))
        above, below = (comb(count + power - 1, power) for count in _term_counts(expression.base))
        return (above, below) if expression.exp > 0 else (below, above)
    if expression.is_Mul:
        parts = [_term_counts(argument) for argument in expression.args]
        return prod(above for above, _ in parts), prod(below for _, below in parts)
    if expression.is_Add:
        parts = [_term_counts(argument) for argument in expression.args]
        denominator = prod(below for _, below in parts)
        return sum(above * denominator // below for above, below in parts), denominator
    return 1, 1


def exact(written: sp.Expr) -> sp.Expr:
    """Replace floats by the fraction that their shortest decimal stands for: 0.1 is one tenth.

    Examples
    --------
    >>> exact(0.1 * ConfusionMatrix.tp)
    tp/10
    """
    return written.xreplace({number: sp.Rational(repr(float(number))) for number in written.atoms(sp.Float)})


def _is_function(part: sp.Basic) -> bool:
    """Whether a node is a root, an exponential or a logarithm, which no polynomial arithmetic enters."""
    if part.is_Pow:
        return not part.exp.is_Integer
    return isinstance(part, sp.exp | sp.log)


def _cancelled(expression: sp.Expr) -> sp.Expr:
    # Square roots may cancel against what they are the root of. Everything else is opaque: to SymPy,
    # pp**0.333 is the 333rd power of pp**0.001, and a polynomial of degree 1000 follows.
    opaque = {
        part: sp.Dummy(positive=True)
        for part in sp.preorder_traversal(expression)
        if _is_function(part) and not (part.is_Pow and part.exp.is_Rational and part.exp.q == 2)
    }
    back = {dummy: part for part, dummy in opaque.items()}
    return sp.cancel(expression.xreplace(opaque)).xreplace(back)


def _canonical(expression: sp.Expr) -> sp.Expr:
    # Factors rather than expanded sums: the terms of an expanded ap*an*pp*pn reach n**4, beyond what float64
    # counts exactly, while every factor is a small integer and vanishes exactly at the border.
    numerator, denominator = sp.fraction(_cancelled(expression))
    return sp.factor_terms(_factored(numerator) / _factored(denominator))


def _factored(polynomial: sp.Expr) -> sp.Expr:
    functions = [part for part in polynomial.atoms(sp.Pow, sp.exp, sp.log) if _is_function(part)]
    hidden = {part: sp.Dummy(positive=True) for part in functions}
    if not hidden:
        return sp.factor(polynomial)
    # What stands before each product of roots and the like is factored on its own. One polynomial in all of
    # them may have ten variables, and factoring it can take hours.
    terms = sp.Poly(polynomial.xreplace(hidden), *hidden.values()).terms()
    products = (sp.Mul(*map(sp.Pow, functions, powers)) * sp.factor(rest) for powers, rest in terms)
    return sp.Add(*products)


def _settled(expression: sp.Expr) -> sp.Expr:
    """Simplify what stands inside roots, logs and exponentials, so that a TP that cancels there is gone."""
    if expression.is_Atom:
        return expression
    arguments = [_settled(argument) for argument in expression.args]
    if _is_function(expression):
        arguments = [argument if argument.is_Atom else _canonical(argument) for argument in arguments]
    return expression.func(*arguments)


def _vanishes(coefficient: sp.Expr) -> bool:
    if coefficient.is_Number or not any(_is_function(part) for part in sp.preorder_traversal(coefficient)):
        return bool(coefficient == 0)
    return all(abs(coefficient.xreplace(_sympified(probe)).evalf(30, chop=True)) < 1e-20 for probe in _PROBES)


def _sympified(probe: dict[sp.Symbol, int]) -> dict[sp.Symbol, sp.Integer]:
    return {symbol: sp.Integer(count) for symbol, count in probe.items()}


def _holds_tp(part: sp.Expr) -> bool:
    return bool(_cancelled(_settled(exact(part).xreplace(_REDUCE))).has(TP))


def _blame_function(written: sp.Expr) -> str:
    parts = [part for part in sp.preorder_traversal(written) if _is_function(part) and _holds_tp(part)]
    term = formula_text(parts[0] if parts else written)
    return (
        f"{term} puts a cell inside a root, log or exp, where only the sums {_SUMS} and constants may stand, "
        f"since {_ACCEPTED}"
    )


def _blame_denominator(written: sp.Expr, denominator: sp.Expr) -> str:
    term = formula_text(denominator.xreplace(_WRITE))
    for part in sp.preorder_traversal(written):
        if part.is_Pow and part.exp.is_negative and _holds_tp(part.base):
            reduced = _cancelled(exact(part.base).xreplace(_REDUCE)).xreplace(_WRITE)
            term = formula_text(part.base)
            if reduced != part.base:
                term += f", which is {formula_text(reduced)},"
            break
    return (
        f"its denominator {term} still depends on tp; a denominator may hold only the sums {_SUMS} and "
        "constants, or cells that add up to them, as 2*tp + fp + fn = pp + ap does"
    )


def _blame_product(written: sp.Expr) -> str:
    for part in sp.preorder_traversal(written):
        factors = [factor for factor in _factors(part) if _holds_tp(factor)]
        if len(factors) > 1:
            return (
                f"{formula_text(sp.Mul(*factors))} multiplies cells; a cell may be multiplied only by the "
                f"sums {_SUMS} and constants, since {_ACCEPTED}"
            )
    return f"it is not linear in the cells {_CELLS}, and {_ACCEPTED}"


def _factors(part: sp.Basic) -> Iterator[sp.Expr]:
    """Yield the factors of the numerator of a product, repeated ones as often as they occur."""
    if part.is_Mul:
        for argument in part.args:
            yield from _factors(argument)
    elif part.is_Pow and part.exp.is_Integer:
        yield from [part.base] * max(int(part.exp), 0)
    elif isinstance(part, sp.Expr):
        yield part
