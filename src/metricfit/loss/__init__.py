"""The loss for PyTorch: operator, function (`metricfit.functional`) and module."""

from metricfit.loss.module import MetricLoss
from metricfit.loss.operator import SkippedGameWarning
from metricfit.loss.record import BatchSolution

__all__ = ["BatchSolution", "MetricLoss", "SkippedGameWarning"]
