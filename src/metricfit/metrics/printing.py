"""Formulas as text that can be read back, and as LaTeX."""

from __future__ import annotations

import sympy as sp
from sympy.printing.str import StrPrinter

__all__ = ["formula_latex", "formula_text"]


def formula_text(expression: sp.Expr) -> str:
    """Print an expression the way a person would type it.

    Examples
    --------
    >>> import metricfit as mf
    >>> C = mf.ConfusionMatrix()
    >>> formula_text(1.25 * C.tp / (0.25 * C.ap + C.pp))
    '1.25*tp/(0.25*ap + pp)'
    """
    return str(_Printer().doprint(expression))


def formula_latex(expression: sp.Expr) -> str:
    r"""Return an expression as LaTeX, the counts upright.

    Examples
    --------
    >>> import metricfit as mf
    >>> print(formula_latex(mf.ConfusionMatrix.tp))
    \mathrm{TP}
    """
    names = {symbol: rf"\mathrm{{{symbol.name.upper()}}}" for symbol in expression.free_symbols}
    return str(sp.latex(expression, symbol_names=names))


class _Printer(StrPrinter):  # type: ignore[misc]
    """Prints what :func:`metricfit.get_metric` reads back as the same formula."""

    def _print_Float(self, number: sp.Float) -> str:  # noqa: N802 (a name SymPy looks for)
        return repr(float(number))

    def _print_Exp1(self, number: sp.Expr) -> str:  # noqa: N802
        return "exp(1)"
