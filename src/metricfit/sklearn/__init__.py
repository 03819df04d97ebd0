"""Classifiers that are trained, and decided, for the metric they will be judged by.

Where to find what, by file:

============= ==========================================================================================
one network   classifier (fit), classifier_rows, classifier_predict; network, training, averaging,
              callbacks, validation, label_games
the ensemble  ensemble, ensemble_rows, member_names, defaults; crossfit, member_weights, combination;
              confidence, binomial
both          rows, targets, inputs; calibration, cut_curve, cuts, decisions, top_rows
============= ==========================================================================================
"""

from importlib.util import find_spec

_missing = [name for name in ("sklearn", "skorch") if find_spec(name) is None]
if _missing:
    raise ImportError(
        f"metricfit.sklearn needs {' and '.join(_missing)}; run pip install 'metricfit[sklearn]'"
    )

from metricfit.sklearn.calibration import BetaCalibration  # noqa: E402
from metricfit.sklearn.classifier import MetricClassifier  # noqa: E402
from metricfit.sklearn.cut_curve import Cut  # noqa: E402
from metricfit.sklearn.cuts import best_cut, cut_at, expected_cut  # noqa: E402
from metricfit.sklearn.ensemble import MetricEnsemble  # noqa: E402
from metricfit.sklearn.network import MLP  # noqa: E402

__all__ = [
    "MLP",
    "BetaCalibration",
    "Cut",
    "MetricClassifier",
    "MetricEnsemble",
    "best_cut",
    "cut_at",
    "expected_cut",
]
