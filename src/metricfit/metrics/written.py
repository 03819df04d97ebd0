"""A formula as it was written: checked, made exact, and reduced to TP, PP, AP and ALL."""

from __future__ import annotations

from functools import cache

import sympy as sp

from metricfit.metrics.confusion import ALL, AP, CELLS, PP, SUMS, TP, ConfusionMatrix
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.limits import is_function, refuse_oversized
from metricfit.metrics.printing import formula_text

__all__ = [
    "UNDEFINED",
    "checked",
    "exact",
    "in_cells",
    "reduced",
    "refuse_unreal",
    "unsupported",
    "written_again",
]

_C = ConfusionMatrix
UNDEFINED = (sp.nan, sp.zoo, sp.oo, -sp.oo)
_WRITE = {TP: _C.tp, PP: _C.pp, AP: _C.ap, ALL: _C.all}


@cache
def _in_counts() -> dict[sp.Symbol, sp.Expr]:
    # Not made before it is needed: at its first sum SymPy imports tensors and groups of permutations.
    return {
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


@cache
def _cells_of_sums() -> dict[sp.Symbol, sp.Expr]:
    return {
        _C.pp: _C.tp + _C.fp,
        _C.pn: _C.fn + _C.tn,
        _C.ap: _C.tp + _C.fn,
        _C.an: _C.fp + _C.tn,
        _C.all: _C.tp + _C.fp + _C.fn + _C.tn,
    }


def checked(expression: object) -> sp.Expr:
    """Return the result of a formula as an expression, or raise an error if it is not one over the counts.

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
    refuse_oversized(written)
    for symbol in sorted(written.free_symbols, key=str):
        if symbol not in _in_counts():
            raise UnsupportedMetricError(
                f"{formula_text(written)} holds {symbol}, which is not a count of the confusion matrix; "
                f"write it with the cells {', '.join(CELLS)} and the sums {', '.join(SUMS)}"
            )
    refuse_unreal(written, written)
    for part in sp.preorder_traversal(written):
        if part.is_Pow and not part.exp.is_number:
            raise unsupported(written, f"the exponent {formula_text(part.exp)} must be a number")
        if not (part.is_Atom or part.is_Add or part.is_Mul or part.is_Pow or is_function(part)):
            raise unsupported(
                written, f"{formula_text(part)} is none of the operations + - * / **, sqrt, log and exp"
            )
    return written


def unsupported(written: sp.Expr, reason: str) -> UnsupportedMetricError:
    """Return the error that says why a formula is no metric."""
    return UnsupportedMetricError(f"{formula_text(written)} is not supported: {reason}")


def refuse_unreal(written: sp.Expr, expression: sp.Expr) -> None:
    """Refuse a formula if it holds the imaginary unit, infinity or NaN in one of its forms."""
    if expression.has(*UNDEFINED):
        # SymPy would print these by its own names, such as zoo.
        shown = "the formula" if written.has(*UNDEFINED) else formula_text(written)
        raise UnsupportedMetricError(
            f"{shown} is not supported: it divides by zero, or holds an infinite or undefined constant"
        )
    if any(part.is_number and part.is_extended_real is False for part in sp.preorder_traversal(expression)):
        raise unsupported(written, "it takes the root or log of a negative number; a metric must be real")


def exact(written: sp.Expr) -> sp.Expr:
    """Replace floats by the fraction that their shortest decimal stands for: 0.1 is one tenth.

    Examples
    --------
    >>> exact(0.1 * ConfusionMatrix.tp)
    tp/10
    """
    return written.xreplace({number: sp.Rational(repr(float(number))) for number in written.atoms(sp.Float)})


def reduced(written: sp.Expr) -> sp.Expr:
    """Return a formula in TP, PP, AP and ALL, with exact constants.

    Examples
    --------
    >>> reduced(ConfusionMatrix.fp + ConfusionMatrix.tp)
    PP
    """
    return exact(written).xreplace(_in_counts())


def written_again(expression: sp.Expr) -> sp.Expr:
    """Return an expression in TP, PP, AP and ALL in the symbols of a formula."""
    return expression.xreplace(_WRITE)


def in_cells(written: sp.Expr) -> sp.Expr:
    """Return a formula in the four cells alone, with exact constants.

    Examples
    --------
    >>> in_cells(ConfusionMatrix.tp / ConfusionMatrix.pp)
    tp/(fp + tp)
    """
    return exact(written).xreplace(_cells_of_sums())
