"""``metricfit metrics``: the metrics that come ready-made."""

from __future__ import annotations

import metricfit as mf
from metricfit import metrics
from metricfit.metrics.names import other_names

__all__ = ["built_in_metrics"]

# A family is shown by one of its members, such as fbeta(2) or precision_at_recall(0.8).
SHOWN = {"beta": 2}
SHARE = 0.8


def built_in_metrics() -> list[dict[str, str]]:
    """Return the name, the formula, the meaning and the other names of every built-in metric.

    Examples
    --------
    >>> found = {one["name"]: one["formula"] for one in built_in_metrics()}
    >>> found["f1"], found["fbeta(beta)"]
    ('2*tp/(ap + pp)', '5*tp/(4*ap + pp) for fbeta(2)')
    """
    found = ((name, getattr(metrics, name)) for name in metrics.__all__)
    return [
        {**_described(metric), "aliases": ", ".join(other_names(name))}
        for name, metric in found
        if isinstance(metric, mf.Metric | mf.MetricFamily)
    ]


def _described(metric: mf.Metric | mf.MetricFamily) -> dict[str, str]:
    meaning = (metric.__doc__ or "").strip().partition("\n")[0].replace("``", "")
    if isinstance(metric, mf.Metric):
        return {"name": metric.name, "formula": _formula(metric), "meaning": meaning}
    parameters = metric.call.partition("(")[2].rstrip(")").split(", ")
    member = metric(*(SHOWN.get(name, SHARE) for name in parameters))
    formula = f"{_formula(member)} for {member.name}"
    return {"name": metric.call, "formula": formula, "meaning": meaning}


def _formula(metric: mf.Metric) -> str:
    bounds = ", ".join(map(str, metric.constraints))
    return metric.formula + (f" subject to {bounds}" if bounds else "")
