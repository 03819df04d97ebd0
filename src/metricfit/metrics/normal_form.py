"""From a formula to its normal form: affine in TP for every (PP, AP), or a simplified expression.

With the predicted positives PP, the actual positives AP and the number of samples ALL fixed, the other cells
are FP = PP - TP, FN = AP - TP and TN = ALL - PP - AP + TP. A metric can be played when what remains is
``alpha * TP + beta`` with ``alpha`` and ``beta`` free of TP.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import sympy as sp

from metricfit.metrics.confusion import CELLS, PP, TP, ConfusionMatrix
from metricfit.metrics.digits import degree_in_tp, depends_on, value_at
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.limits import digit_count, is_function, term_count
from metricfit.metrics.reasons import why_not_affine
from metricfit.metrics.written import checked, in_cells, reduced, refuse_unreal, unsupported

__all__ = ["CountForm", "NormalForm", "in_counts", "normalise", "simplified"]

# Expanding and factoring more terms than these takes SymPy seconds to hours.
MAX_TERMS = 500
MAX_TERMS_SIMPLIFIED = 150
MAX_DIGITS = 300

_CELLS = tuple(getattr(ConfusionMatrix, name) for name in CELLS)
_EMPTY_OR_NOT = tuple((0, count) for count in (3, 5, 2, 11))


@dataclass(frozen=True)
class NormalForm:
    """``alpha * TP + beta`` in the symbols PP, AP and ALL."""

    alpha: sp.Expr
    beta: sp.Expr


@dataclass(frozen=True)
class CountForm:
    """A formula that is not affine in TP, in the symbols TP, PP, AP and ALL, and the reason."""

    expression: sp.Expr
    reason: str = field(compare=False)


def normalise(expression: object) -> NormalForm | CountForm:
    """Bring a formula over the confusion matrix into ``alpha * TP + beta``, or say why it cannot be.

    Examples
    --------
    >>> import metricfit as mf
    >>> C = mf.ConfusionMatrix()
    >>> normalise(2 * C.tp / (2 * C.tp + C.fp + C.fn))
    NormalForm(alpha=2/(AP + PP), beta=0)
    >>> normalise(C.tp / (C.tp + C.fp + C.fn)).expression
    TP/(AP + PP - TP)
    """
    written = checked(expression)
    counts = reduced(written)
    refuse_unreal(written, counts)
    if not any(symbol.name in (*CELLS, "pp", "pn") for symbol in written.free_symbols):
        raise unsupported(
            written, f"it holds none of the cells {', '.join(CELLS)}, so no prediction could change it"
        )
    degree = degree_in_tp(counts)
    if degree == 0:
        return _without_tp(written, counts)
    if degree == 2:
        return _not_affine(written, counts)
    if degree is None:
        # The check of its values refuses it; SymPy might take minutes to bring it over one denominator.
        return CountForm(counts, "it has no value at most confusion matrices")
    if term_count(counts) > MAX_TERMS:
        raise UnsupportedMetricError(
            f"the formula would expand to more than {MAX_TERMS} terms; write it with fewer products of sums"
        )
    if digit_count(counts) > MAX_DIGITS:
        raise UnsupportedMetricError(
            f"the constants of the formula would have more than {MAX_DIGITS} digits when it is expanded; "
            "write it with rounder numbers or smaller powers"
        )
    return _affine(counts) or _not_affine(written, counts)


def simplified(expression: sp.Expr) -> sp.Expr:
    """Cancel common factors where that is quick, so that 0/0 remains only where the formula has no value.

    Examples
    --------
    >>> import metricfit as mf
    >>> C = mf.ConfusionMatrix()
    >>> simplified(2 / (1 / C.tp + 1 / C.fp))
    2*fp*tp/(fp + tp)
    """
    if term_count(expression) > MAX_TERMS_SIMPLIFIED or digit_count(expression) > MAX_DIGITS:
        return expression
    try:
        return _canonical(_settled(expression))
    except sp.PolynomialError:
        # SymPy takes roots of sums, among others, for no generators of a polynomial.
        return expression


@lru_cache(maxsize=256)
def in_counts(written: sp.Expr) -> sp.Expr:
    """Return a formula in the four cells alone, 0/0 only where it has no value.

    Examples
    --------
    >>> import metricfit as mf
    >>> C = mf.ConfusionMatrix()
    >>> in_counts(C.tp / C.pp)
    tp/(fp + tp)
    >>> in_counts(2 / (C.pp / C.tp + C.ap / C.tp))
    2*tp/(fn + fp + 2*tp)
    """
    plain = in_cells(written)
    shorter = simplified(plain)
    at_empty_cells = (dict(zip(_CELLS, counts, strict=True)) for counts in product(*_EMPTY_OR_NOT))
    for counts in at_empty_cells:
        if value_at(plain, counts) is None and value_at(shorter, counts) is not None:
            return shorter
    return plain


def _without_tp(written: sp.Expr, counts: sp.Expr) -> CountForm:
    if not depends_on(counts, PP):
        raise unsupported(written, "its cells cancel, so no prediction could change it")
    return CountForm(simplified(counts), "its cells cancel: pp, ap and all alone decide its value")


def _not_affine(written: sp.Expr, counts: sp.Expr) -> CountForm:
    form = simplified(counts)
    return CountForm(form, why_not_affine(written, sp.fraction(form)[1]))


def _affine(counts: sp.Expr) -> NormalForm | None:
    """Return the coefficients of TP, or None if TP does not cancel where it may not stand."""
    settled = _settled(counts)
    numerator, denominator = sp.fraction(_cancelled(settled))
    functions = [part for part in sp.preorder_traversal(settled) if is_function(part)]
    if any(part.has(TP) for part in (denominator, *functions)):
        return None
    coefficients = sp.Poly(numerator, TP).all_coeffs()[::-1]
    # Coefficients of higher powers are zero, as the degree says, though SymPy may not see that roots cancel.
    zero, one = (*coefficients, sp.Integer(0))[:2]
    return NormalForm(_canonical(one / denominator), _canonical(zero / denominator))


def _cancelled(expression: sp.Expr) -> sp.Expr:
    # Square roots may cancel against what they are the root of. Everything else is opaque: to SymPy,
    # pp**0.333 is the 333rd power of pp**0.001, and a polynomial of degree 1000 follows.
    opaque = {
        part: sp.Dummy(positive=True)
        for part in sp.preorder_traversal(expression)
        if is_function(part) and not (part.is_Pow and part.exp.is_Rational and part.exp.q == 2)
    }
    back = {dummy: part for part, dummy in opaque.items()}
    return sp.cancel(expression.xreplace(opaque)).xreplace(back)


def _canonical(expression: sp.Expr) -> sp.Expr:
    # Factors rather than expanded sums: the terms of an expanded ap*an*pp*pn reach n**4, beyond what float64
    # counts exactly, while every factor is a small integer and vanishes exactly at the border.
    numerator, denominator = sp.fraction(_cancelled(expression))
    return sp.factor_terms(_factored(numerator) / _factored(denominator))


def _factored(polynomial: sp.Expr) -> sp.Expr:
    functions = [part for part in polynomial.atoms(sp.Pow, sp.exp, sp.log) if is_function(part)]
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
    if is_function(expression):
        arguments = [argument if argument.is_Atom else _canonical(argument) for argument in arguments]
    return expression.func(*arguments)
