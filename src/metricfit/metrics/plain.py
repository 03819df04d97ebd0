"""A metric as plain values and back, for formats such as JSON."""

from __future__ import annotations

from typing import Any

from metricfit.metrics.constraint import Constraint
from metricfit.metrics.metric_class import Metric, from_expression
from metricfit.metrics.parser import read_formula
from metricfit.metrics.printing import formula_text
from metricfit.metrics.written import exact

__all__ = ["from_plain", "to_plain"]


def to_plain(metric: Metric) -> dict[str, Any]:
    """Write a metric down exactly, with its special cases and constraints, for JSON and the like.

    Examples
    --------
    >>> import metricfit as mf
    >>> to_plain(mf.recall)
    {'name': 'recall', 'formula': 'tp/ap'}
    """
    parts: dict[str, Any] = {
        "name": metric.name,
        "formula": formula_text(exact(metric.expression)),
    }
    if metric.evaluate.positive or metric.evaluate.negative:
        parts["special_cases"] = [metric.evaluate.positive, metric.evaluate.negative]
    if metric.size is not None:
        parts["size"] = metric.size
    if metric.average:
        parts["average"] = metric.average
    if metric.constraints:
        parts["constraints"] = [
            [to_plain(constraint.metric), constraint.sense, constraint.threshold]
            for constraint in metric.constraints
        ]
    return parts


def from_plain(parts: dict[str, Any]) -> Metric:
    """Return the metric that `to_plain` wrote down.

    Examples
    --------
    >>> import metricfit as mf
    >>> constrained = mf.precision.subject_to(mf.recall >= 0.8)
    >>> from_plain(to_plain(constrained)) == constrained
    True
    """
    metric = from_expression(parts["name"], read_formula(parts["formula"]))
    if "special_cases" in parts:
        positive, negative = parts["special_cases"]
        metric = metric.with_special_cases(positive=positive, negative=negative)
    if "size" in parts:
        metric = metric.at_size(parts["size"])
    if "average" in parts:
        metric = metric.averaged(parts["average"])
    if "constraints" in parts:
        metric = metric.subject_to(
            *(Constraint(from_plain(bounded), sense, bound) for bounded, sense, bound in parts["constraints"])
        )
    return metric
