"""What estimators make of their settings."""

from __future__ import annotations

from collections.abc import Sequence

from metricfit import Constraint, Metric, get_metric

__all__ = ["constrained_metric"]


def constrained_metric(
    metric: Metric | str, subject_to: Constraint | str | Sequence[Constraint | str] | None
) -> Metric:
    """Return the metric with further constraints, given in any form.

    Examples
    --------
    >>> constrained_metric("precision", "recall >= 0.8")
    Metric(precision = tp/pp subject to recall >= 0.8)
    """
    metric = get_metric(metric)
    if subject_to is None:
        return metric
    given = (subject_to,) if isinstance(subject_to, str | Constraint) else tuple(subject_to)
    constraints: list[Constraint] = []
    for constraint in given:
        if isinstance(constraint, str):
            constraints += get_metric(f"accuracy subject to {constraint}").constraints
        else:
            constraints.append(constraint)
    return metric.subject_to(*constraints) if constraints else metric
