"""The cut of the probability of one class, chosen on out-of-fold rows."""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt

from metricfit import Metric
from metricfit.sklearn.cuts import CutCurve
from metricfit.sklearn.threshold import SLACK, Cut

__all__ = ["CutRule", "cut_curve", "warned_cut"]

FloatArray = npt.NDArray[np.float64]
CutRule = Literal["expected", "empirical", "zero"]


def cut_curve(
    probabilities: FloatArray,
    labels: npt.NDArray[np.int64],
    sample_weight: FloatArray | None,
    rule: CutRule,
) -> CutCurve:
    """Return the cuts to choose from: all of them, or one half only with the rule "zero".

    Examples
    --------
    >>> probabilities, labels = np.array([0.2, 0.4, 0.9]), np.array([0, 1, 1])
    >>> cut_curve(probabilities, labels, None, "empirical").hits
    array([0., 1., 2., 2.])
    >>> cut_curve(probabilities, labels, None, "expected").hits.round(1)
    array([0. , 0.9, 1.3, 1.5])
    >>> cut_curve(probabilities, labels, None, "zero").thresholds
    array([0.5])
    """
    truth = probabilities if rule == "expected" else labels
    only = np.array([0.5]) if rule == "zero" else None
    return CutCurve.of(probabilities, truth, sample_weight, thresholds=only)


def warned_cut(metric: Metric, curve: CutCurve) -> Cut:
    """Return the best cut for a metric, with a warning if it misses the constraints.

    Examples
    --------
    >>> import metricfit as mf
    >>> curve = cut_curve(np.array([0.2, 0.4, 0.9]), np.array([0, 1, 1]), None, "empirical")
    >>> warned_cut(mf.f1, curve).value
    1.0
    """
    cut = curve.best(metric)
    if cut.violation > SLACK:
        warnings.warn(
            f"no cut meets the constraints of {metric!r} out-of-fold; the best misses them by "
            f"{cut.violation:.3g}. Relax the constraints, or give better members",
            stacklevel=4,
        )
    return cut
