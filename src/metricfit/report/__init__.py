"""Comparisons of classifiers by a metric, and the page that shows them."""

from metricfit.report.bootstrap import Interval, difference_interval, score_interval
from metricfit.report.class_comparison import ClassComparison, class_metric_name
from metricfit.report.comparison import ColumnReport, Comparison, Importance, Method, in_words
from metricfit.report.page import render

__all__ = [
    "ClassComparison",
    "ColumnReport",
    "Comparison",
    "Importance",
    "Interval",
    "Method",
    "class_metric_name",
    "difference_interval",
    "in_words",
    "render",
    "score_interval",
]
