"""What an ensemble is given: its settings, its table, and the rows that it keeps apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import train_test_split
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from metricfit import Metric
from metricfit.sklearn.confidence import need_enough_rows
from metricfit.sklearn.inputs import CUTS, refuse_frame, refuse_masked

__all__ = ["check_ensemble_settings", "checked_table", "held_out_rows"]

IntArray = npt.NDArray[np.int64]


def check_ensemble_settings(model: Any, metric: Metric, *, weighted: bool, grouped: bool) -> None:
    """Raise ValueError for a setting that cannot be, or does not go with the rows that are given."""
    if model.cut not in CUTS:
        raise ValueError(f'cut must be "expected", "empirical" or "zero", got {model.cut!r}')
    if model.cut == "zero" and metric.constraints:
        raise ValueError('cut="zero" ignores constraints; use "expected" or "empirical"')
    if model.confidence is None:
        return
    if not 0.0 < model.confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, such as 0.95, got {model.confidence!r}")
    if not 0.0 < model.holdout < 1.0:
        raise ValueError(f"holdout must be between 0 and 1, got {model.holdout!r}")
    if not metric.constraints:
        raise ValueError('confidence needs a constraint; give subject_to="recall >= 0.8"')
    if weighted or grouped:
        raise ValueError(
            "confidence needs independent rows of equal weight; "
            "fit without sample_weight and groups, or without confidence"
        )


def checked_table(model: Any, X: Any, y: Any = None) -> Any:
    """Return data frames as they are, anything else as an array or a sparse matrix with rows.

    With labels the names and the number of columns are kept in the model, without they are compared.
    """
    refuse_masked(X=X, y=y)
    refuse_frame(X)
    checked = X
    if not hasattr(X, "columns"):
        checked = check_array(
            X, accept_sparse="csr", dtype=None, ensure_all_finite=False, estimator=model, input_name="X"
        )
    if y is None:
        validate_data(model, checked, reset=False, skip_check_array=True)
    else:
        validate_data(model, checked, y, skip_check_array=True)
    return checked


def held_out_rows(
    metric: Metric, labels: IntArray, confidence: float | None, share: float, seed: int
) -> tuple[IntArray, IntArray | None]:
    """Return the rows for the members, and those that are held out for a confidence.

    Examples
    --------
    >>> import metricfit as mf
    >>> labels = np.tile([0, 1], 200)
    >>> fitted, held_out = held_out_rows(mf.f1.subject_to(mf.recall >= 0.5), labels, 0.95, 0.25, seed=0)
    >>> len(fitted), len(held_out)
    (300, 100)
    """
    everything = np.arange(len(labels))
    if confidence is None:
        return everything, None
    # At random, since the exact tests hold for rows drawn at random.
    fitted, held_out = train_test_split(everything, test_size=share, random_state=seed)
    need_enough_rows(metric.constraints, confidence, labels[held_out], labels)
    return np.sort(fitted), np.sort(held_out)
