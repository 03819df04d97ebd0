"""Errors of games that have no solution."""

from __future__ import annotations

__all__ = ["InfeasibleConstraintsError"]


class InfeasibleConstraintsError(ValueError):
    """No prediction, and no mixture of predictions, satisfies the constraints on these labels.

    Examples
    --------
    >>> import metricfit as mf
    >>> impossible = mf.f1.subject_to(mf.recall >= 0.5, mf.precision <= 0.1)
    >>> mf.solve(impossible, [0.4, 0.1, -0.2], labels=[1, 1, 1])
    Traceback (most recent call last):
        ...
    metricfit.game.errors.InfeasibleConstraintsError: no prediction reaches precision <= 0.1 together with ...
    """
