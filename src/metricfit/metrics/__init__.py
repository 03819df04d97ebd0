"""Metrics: formulas over the confusion matrix, and their coefficients."""

from metricfit.metrics.builtin import (
    accuracy,
    balanced_accuracy,
    f1,
    f2,
    fbeta,
    g_mean,
    gm_precision_recall,
    informedness,
    jaccard,
    kappa,
    markedness,
    mcc,
    npv,
    precision,
    precision_at_k,
    precision_at_recall,
    precision_at_recall_specificity,
    recall,
    recall_at_precision,
    specificity,
)
from metricfit.metrics.confusion import ConfusionMatrix, exp, log, sqrt
from metricfit.metrics.constraint import Constraint
from metricfit.metrics.errors import UnsupportedMetricError
from metricfit.metrics.family import MetricFamily, metric
from metricfit.metrics.metric_class import Metric
from metricfit.metrics.parser import get_metric

__all__ = [
    "ConfusionMatrix",
    "Constraint",
    "Metric",
    "MetricFamily",
    "UnsupportedMetricError",
    "accuracy",
    "balanced_accuracy",
    "exp",
    "f1",
    "f2",
    "fbeta",
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
    "specificity",
    "sqrt",
]
