"""An objective for boosted trees: LightGBM and XGBoost trained for a metric."""

from metricfit.boosting.objective import MetricObjective

__all__ = ["MetricObjective"]
