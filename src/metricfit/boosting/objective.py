"""The objective of a boosting library: gradients and curvatures of the rows, for a metric."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from metricfit.boosting.curve import fitted_curve
from metricfit.boosting.drawing import draw_games
from metricfit.boosting.rows import Rows, checked_rows
from metricfit.metrics import Metric, get_metric
from metricfit.solving.certifying import certify

__all__ = ["MetricObjective"]

Floats = npt.NDArray[np.float64]

LEAST_CURVATURE = 0.2
"""What ``curvature="mixed"`` reports for decided rows; it is 1 where the curve is one half."""


@dataclass(frozen=True)
class MetricObjective:
    r"""An objective for LightGBM and XGBoost that trains boosted trees for a metric.

    Pass it as ``objective`` to their scikit-learn interfaces, in the parameters of ``lightgbm.train``, or as
    ``obj`` of ``xgboost.train``. Predict positive where the raw score is above 0, or above a threshold chosen
    on held-out rows.

    In every round, random games are played for the scores :math:`\psi = (scale / n) f` of groups of `n` rows
    (see :func:`metricfit.solve`). An increasing curve `q` of the raw score `f` is fitted to the adversary's
    probabilities: the mean over random groups. The gradient of a row with label `y` is

    .. math:: q(f) - y,

    as :math:`\mathrm{sigmoid}(f) - y` is that of logistic loss. It is the gradient of the mean of
    :class:`metricfit.MetricLoss` over random groups, times `n / scale`. With constraints, which hold on the
    labels of a group, there is one curve per label.

    Parameters
    ----------
    metric : Metric or str
        The metric to train for, or its name or formula. It must be playable.
    scale : float
        How fast the loss falls with the margin, as for :class:`metricfit.MetricLoss`.
    group_size : int
        Rows of a game. Each game holds at least one positive, even if positives are rarer.
    played_rows : int
        About how many rows are in the games of a round; with fewer rows in the data, about all.
    curvature : float or "mixed"
        The second derivative that the library gets. The slope of the curve `q` is zero for decided rows,
        which would make steps infinite. "mixed" is :math:`0.2 + 3.2 \, q (1 - q)`, which is 1 where `q` is
        one half. A number is used for every row; the larger it is, the shorter the steps.
    random_state : int
        Determines the groups, together with the scores. The same scores get the same gradients.
    tol : float
        Largest certified gap of a game, as for :func:`metricfit.solve`.
    threads : int
        How many threads solve the games. The gradients do not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.boosting import MetricObjective
    >>> objective = MetricObjective("f1")
    >>> gradient, curvature = objective(np.array([1, 0, 1, 0]), np.array([9.0, -9.0, 0.0, 0.0]))
    >>> abs(gradient.round(2))
    array([0.  , 0.  , 0.61, 0.39])

    With LightGBM installed, ``LGBMClassifier(objective=MetricObjective("f1"))`` is all.
    """

    metric: Metric | str
    scale: float = 8.0
    group_size: int = 32
    played_rows: int = 1024
    curvature: float | Literal["mixed"] = "mixed"
    random_state: int = 0
    tol: float = 1e-3
    threads: int = 1

    def __post_init__(self) -> None:
        metric = get_metric(self.metric)
        metric.check_playable()
        object.__setattr__(self, "metric", metric)
        for name in ("scale", "tol"):
            if not _is_number(value := getattr(self, name)):
                raise ValueError(f"{name} must be a positive number, got {value!r}")
        if self.curvature != "mixed" and not _is_number(self.curvature):
            raise ValueError(f'curvature must be a positive number or "mixed", got {self.curvature!r}')
        for name in ("played_rows", "threads"):
            if not _is_integer(value := getattr(self, name), 1):
                raise ValueError(f"{name} must be an integer of 1 or more, got {value!r}")
        if not _is_integer(self.group_size, 2):
            raise ValueError(f"group_size must be an integer of 2 or more, got {self.group_size!r}")
        if not _is_integer(self.random_state, 0):
            raise ValueError(f"random_state must be an integer of 0 or more, got {self.random_state!r}")

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> tuple[Floats, Floats]:
        """Return the gradient and the curvature of every row, each times its weight.

        Parameters
        ----------
        y_true : array_like of 0 and 1, shape (n,)
            Labels; or the raw scores, if `y_pred` is a data set of LightGBM or XGBoost.
        y_pred : array_like, shape (n,), or Dataset or DMatrix
            Raw scores; or the data set, with labels and weights, as the libraries' own ``train`` gives it.
        sample_weight : array_like, shape (n,), optional
            Rows are drawn into games in proportion to their weights.
        """
        if hasattr(y_pred, "get_label"):
            y_true, y_pred, sample_weight = y_pred.get_label(), y_true, y_pred.get_weight()
        rows = checked_rows(y_true, y_pred, sample_weight)
        included = self._included(rows)
        gradient = included - rows.positive
        if self.curvature == "mixed":
            curvature = LEAST_CURVATURE + (4.0 - 4.0 * LEAST_CURVATURE) * included * (1.0 - included)
        else:
            curvature = np.full(gradient.size, float(self.curvature))
        if rows.weights is None:
            return gradient, curvature
        return gradient * rows.weights, curvature * rows.weights

    def _included(self, rows: Rows) -> Floats:
        """Return how likely the adversary makes each row positive, on average over random games."""
        assert isinstance(self.metric, Metric)
        n = rows.scores.size
        size = min(self.group_size, n)
        games = max(1, round(min(self.played_rows, n) / size))
        # Seeded by the scores and not by a count of the rounds, so that there is no state between rounds.
        random = np.random.default_rng((self.random_state, zlib.crc32(rows.scores.tobytes())))
        chosen = draw_games(rows.positive, rows.weights, size, games, random)

        scores, labels = rows.scores[chosen], rows.positive[chosen]
        lowest, highest = self.metric.value_range(size)
        # One item changes the metric at most by its range, so a larger score decides its item.
        limit = 2.0 * (highest - lowest)
        played = np.clip(scores * (self.scale / size), -limit, limit)
        (found,) = certify(self.metric, [played], [labels], "auto", self.tol, {}, threads=self.threads)
        shares = found.inclusion[:, 0]
        if not self.metric.constraints:
            return np.interp(rows.scores, *fitted_curve(scores.ravel(), shares.ravel()))
        included = np.empty(n)
        for label in (False, True):
            seen, of_class = labels == label, rows.positive == label
            if seen.any():
                curve = fitted_curve(scores[seen], shares[seen])
                included[of_class] = np.interp(rows.scores[of_class], *curve)
        return included


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < math.inf


def _is_integer(value: object, least: int) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
