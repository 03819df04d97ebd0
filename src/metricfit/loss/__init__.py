"""The losses for PyTorch: operator, functions (`metricfit.functional`) and modules."""

from metricfit.loss.module import MetricLoss
from metricfit.loss.operator import SkippedGameWarning
from metricfit.loss.record import BatchSolution
from metricfit.loss.running import Running, RunningConstraints
from metricfit.loss.soft_module import SoftMetricLoss

__all__ = [
    "BatchSolution",
    "MetricLoss",
    "Running",
    "RunningConstraints",
    "SkippedGameWarning",
    "SoftMetricLoss",
]
