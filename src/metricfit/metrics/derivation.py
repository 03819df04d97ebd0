"""From a formula to the code that computes it, which takes SymPy most of the time."""

from __future__ import annotations

from functools import lru_cache
from threading import Lock

import sympy as sp

from metricfit.metrics.count_formula import CountFormula
from metricfit.metrics.normal_form import NormalForm, normalise
from metricfit.metrics.printing import formula_text
from metricfit.metrics.table import Coefficients

__all__ = ["evaluation"]

_DERIVING = Lock()


def evaluation(written: sp.Expr) -> Coefficients | CountFormula:
    """Derive the evaluation of a formula, after every check; results are cached.

    Examples
    --------
    >>> import metricfit as mf
    >>> evaluation(mf.ConfusionMatrix.tp / mf.ConfusionMatrix.ap).form
    NormalForm(alpha=1/AP, beta=0)
    """
    # While SymPy finds out whether a symbol is positive, another thread may read that nothing is known of it.
    with _DERIVING:
        return _evaluation(written)


@lru_cache(maxsize=256)
def _evaluation(written: sp.Expr) -> Coefficients | CountFormula:
    form = normalise(written)
    text = formula_text(written)
    derived = Coefficients(form, text) if isinstance(form, NormalForm) else CountFormula(form, text)
    derived.check()
    return derived
