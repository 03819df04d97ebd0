"""Train a classifier for the metric it will be judged by.

Examples
--------
>>> import metricfit as mf
>>> mf.f1.score([0, 1, 1, 0], [1, 1, 1, 0])
0.8
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metricfit.game import InfeasibleConstraintsError
from metricfit.metrics import (
    ConfusionMatrix,
    Constraint,
    Metric,
    MetricFamily,
    UnsupportedMetricError,
    accuracy,
    balanced_accuracy,
    exp,
    f1,
    f2,
    fbeta,
    g_mean,
    get_metric,
    gm_precision_recall,
    informedness,
    jaccard,
    kappa,
    log,
    markedness,
    mcc,
    metric,
    npv,
    precision,
    precision_at_k,
    precision_at_recall,
    precision_at_recall_specificity,
    recall,
    recall_at_precision,
    specificity,
    sqrt,
)
from metricfit.solving import ConvergenceWarning, Solution, solve, solve_many, solvers

if TYPE_CHECKING:
    from metricfit import functional
    from metricfit.loss import MetricLoss, Running, SkippedGameWarning, SoftMetricLoss

__version__ = "0.1.0"

__all__ = [
    "ConfusionMatrix",
    "Constraint",
    "ConvergenceWarning",
    "InfeasibleConstraintsError",
    "Metric",
    "MetricFamily",
    "MetricLoss",
    "Running",
    "SkippedGameWarning",
    "SoftMetricLoss",
    "Solution",
    "UnsupportedMetricError",
    "accuracy",
    "balanced_accuracy",
    "exp",
    "f1",
    "f2",
    "fbeta",
    "functional",
    "g_mean",
    "get_metric",
    "gm_precision_recall",
    "informedness",
    "jaccard",
    "kappa",
    "log",
    "markedness",
    "mcc",
    "metric",
    "npv",
    "precision",
    "precision_at_k",
    "precision_at_recall",
    "precision_at_recall_specificity",
    "recall",
    "recall_at_precision",
    "solve",
    "solve_many",
    "solvers",
    "specificity",
    "sqrt",
]


def __getattr__(name: str) -> Any:
    # PyTorch takes longer to import than everything else together, and scoring or solving does without it.
    if name in ("MetricLoss", "Running", "SkippedGameWarning", "SoftMetricLoss"):
        return getattr(import_module("metricfit.loss"), name)
    if name == "functional":
        return import_module("metricfit.functional")
    raise AttributeError(f"module 'metricfit' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
