"""A metric as one line of plain text, and back, for places that carry nothing but plain values."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from sympy.printing.str import StrPrinter

from metricfit.metrics.constraint import Constraint
from metricfit.metrics.metric import Metric, from_expression
from metricfit.metrics.normal_form import exact
from metricfit.metrics.parser import read_formula

__all__ = ["from_text", "to_text"]


class _Printer(StrPrinter):  # type: ignore[misc]
    def _print_Exp1(self, expr: object) -> str:  # noqa: N802
        # SymPy's own E is no word of the formula language; exp(1) is, and becomes E again.
        return "exp(1)"


def to_text(metric: Metric) -> str:
    """Write a metric down exactly, with its special cases and constraints.

    Examples
    --------
    >>> import metricfit as mf
    >>> to_text(mf.recall)
    '{"name": "recall", "formula": "tp/ap"}'
    """
    return json.dumps(_written(metric))


@lru_cache(maxsize=256)
def from_text(text: str) -> Metric:
    """Return the metric that `to_text` wrote down.

    Examples
    --------
    >>> import metricfit as mf
    >>> constrained = mf.precision.subject_to(mf.recall >= 0.8)
    >>> from_text(to_text(constrained)) == constrained
    True
    """
    return _read(json.loads(text))


def _written(metric: Metric) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "name": metric.name,
        "formula": _Printer({"full_prec": False}).doprint(exact(metric.expression)),
    }
    if metric.evaluate.positive or metric.evaluate.negative:
        parts["special_cases"] = [metric.evaluate.positive, metric.evaluate.negative]
    if metric.constraints:
        parts["constraints"] = [
            [_written(constraint.metric), constraint.sense, constraint.threshold]
            for constraint in metric.constraints
        ]
    return parts


def _read(parts: dict[str, Any]) -> Metric:
    metric = from_expression(parts["name"], read_formula(parts["formula"]))
    if "special_cases" in parts:
        positive, negative = parts["special_cases"]
        metric = metric.with_special_cases(positive=positive, negative=negative)
    if "constraints" in parts:
        metric = metric.subject_to(
            *(Constraint(_read(bounded), sense, bound) for bounded, sense, bound in parts["constraints"])
        )
    return metric
