"""A scikit-learn classifier that is trained for the metric it will be judged by."""

from metricfit.sklearn.beta import BetaCalibration
from metricfit.sklearn.classifier import MetricClassifier
from metricfit.sklearn.network import MLP
from metricfit.sklearn.threshold import Cut, best_cut, cut_at, expected_cut

__all__ = ["MLP", "BetaCalibration", "Cut", "MetricClassifier", "best_cut", "cut_at", "expected_cut"]
