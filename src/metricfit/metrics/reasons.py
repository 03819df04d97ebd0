"""Why a formula cannot be played: the term that is not affine in TP."""

from __future__ import annotations

from collections.abc import Iterator

import sympy as sp

from metricfit.metrics.confusion import CELLS, SUMS, TP
from metricfit.metrics.digits import depends_on
from metricfit.metrics.limits import is_function
from metricfit.metrics.printing import formula_text
from metricfit.metrics.written import reduced, written_again

__all__ = ["why_not_affine"]

_CELLS, _SUMS = ", ".join(CELLS), ", ".join(SUMS)
_ACCEPTED = "a game needs a metric that is affine in tp once pp, ap and all are fixed"


def why_not_affine(written: sp.Expr, denominator: sp.Expr) -> str:
    """Return the reason, naming a function, a denominator or a product that depends on TP.

    Parameters
    ----------
    written : Expr
        The formula.
    denominator : Expr
        That of the formula over one denominator, after cancelling.

    Examples
    --------
    >>> import metricfit as mf
    >>> C = mf.ConfusionMatrix
    >>> why_not_affine(mf.log(C.fp), sp.Integer(1))
    'log(fp) puts a cell inside a root, log or exp, where only the sums pp, ...
    """
    for part in sp.preorder_traversal(written):
        if is_function(part) and _holds_tp(part):
            return _blame_function(part)
    if depends_on(denominator, TP):
        return _blame_denominator(written, denominator)
    return _blame_product(written)


def _holds_tp(part: sp.Expr) -> bool:
    return depends_on(reduced(part), TP)


def _blame_function(part: sp.Expr) -> str:
    return (
        f"{formula_text(part)} puts a cell inside a root, log or exp, where only the sums {_SUMS} and "
        f"constants may stand, since {_ACCEPTED}"
    )


def _blame_denominator(written: sp.Expr, denominator: sp.Expr) -> str:
    term = formula_text(written_again(denominator))
    for part in sp.preorder_traversal(written):
        if part.is_Pow and part.exp.is_negative and _holds_tp(part.base):
            term = formula_text(part.base)
            other = formula_text(written_again(sp.expand(reduced(part.base))))
            if other != term and part.base.is_polynomial():
                term += f", which is {other},"
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
