"""A scikit-learn classifier that is trained for the metric it will be judged by."""

from metricfit.sklearn.classifier import MetricClassifier
from metricfit.sklearn.ensemble import MetricEnsemble
from metricfit.sklearn.network import MLP
from metricfit.sklearn.threshold import Cut, best_cut, cut_at

__all__ = ["MLP", "Cut", "MetricClassifier", "MetricEnsemble", "best_cut", "cut_at"]
