"""The confusion matrix a formula is written over."""

from __future__ import annotations

from typing import NoReturn

import sympy as sp

from metricfit.metrics.errors import UnsupportedMetricError

__all__ = ["ALL", "AP", "CELLS", "PP", "SUMS", "TP", "ConfusionMatrix", "exp", "log", "sqrt"]

CELLS = ("tp", "fp", "fn", "tn")
SUMS = ("pp", "pn", "ap", "an", "all")

# The four numbers that fix a confusion matrix. Unlike the symbols of a written formula they have a sign.
TP = sp.Symbol("TP", nonnegative=True)
PP = sp.Symbol("PP", nonnegative=True)
AP = sp.Symbol("AP", nonnegative=True)
ALL = sp.Symbol("ALL", positive=True)


def sqrt(value: sp.Expr) -> sp.Expr:
    """Return the square root in a formula; a metric whose roots hold sums only can be played.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.metric(lambda C: C.tp / mf.sqrt(C.pp * C.ap)) == mf.gm_precision_recall
    True
    """
    return sp.sqrt(value)


def log(value: sp.Expr) -> sp.Expr:
    """Return the natural logarithm in a formula; it may hold sums such as ``pp`` and no single cell.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.metric(lambda C: C.tp / mf.log(C.pp + 2))
    Metric(tp/log(pp + 2))
    """
    return sp.log(value)


def exp(value: sp.Expr) -> sp.Expr:
    """Return the exponential in a formula; it may hold sums such as ``pp / all`` and no single cell.

    Examples
    --------
    >>> import metricfit as mf
    >>> mf.metric(lambda C: C.tp / C.ap * mf.exp(-C.pp / C.all))
    Metric(tp*exp(-pp/all)/ap)
    """
    return sp.exp(value)


class ConfusionMatrix:
    """The counts a metric is a formula of, as SymPy symbols.

    ========  =====================================================
    ``tp``    true positives
    ``fp``    false positives
    ``fn``    false negatives
    ``tn``    true negatives
    ``pp``    predicted positives, ``tp + fp``
    ``pn``    predicted negatives, ``fn + tn``
    ``ap``    actual positives, ``tp + fn``
    ``an``    actual negatives, ``fp + tn``
    ``all``   the number of samples
    ========  =====================================================

    Examples
    --------
    >>> C = ConfusionMatrix()
    >>> C.tp / (C.tp + C.fp)
    tp/(fp + tp)
    """

    __slots__ = ()

    # No assumptions here: with a sign known, SymPy would pull products out of roots, and a formula would no
    # longer print as it was written. The normal form has its own, non-negative symbols.
    tp = sp.Symbol("tp")
    fp = sp.Symbol("fp")
    fn = sp.Symbol("fn")
    tn = sp.Symbol("tn")
    pp = sp.Symbol("pp")
    pn = sp.Symbol("pn")
    ap = sp.Symbol("ap")
    an = sp.Symbol("an")
    all = sp.Symbol("all")

    def __getattr__(self, name: str) -> NoReturn:
        # Python's own protocols (copy, pickle, inspect) probe for dunders and expect AttributeError.
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedMetricError(
            f"the confusion matrix has no {name!r}; write the metric with the cells {', '.join(CELLS)} "
            f"and the sums {', '.join(SUMS)}"
        )
