"""The settings and the metric that an estimator is given, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np
import torch

from metricfit import Constraint, Metric, get_metric
from metricfit.sklearn.cut_curve import CutRule

__all__ = [
    "CUTS",
    "check_settings",
    "constrained_metric",
    "is_missing",
    "refuse_masked",
]

CUTS = get_args(CutRule)


def is_missing(value: Any) -> bool:
    """Whether a value of a table or a target stands for a missing one.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    # NaN and NaT differ from themselves; pandas' own NA compares to nothing.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def refuse_masked(**given: Any) -> None:
    """Raise ValueError for a masked array, whose mask scikit-learn would ignore.

    Examples
    --------
    >>> refuse_masked(X=np.ma.masked_array([[1.0]], [[True]]))
    Traceback (most recent call last):
        ...
    ValueError: X is a masked array, whose mask would be ignored; fill it in, or leave those rows out
    """
    for name, values in given.items():
        if np.ma.isMaskedArray(values):
            raise ValueError(
                f"{name} is a masked array, whose mask would be ignored; fill it in, or leave those rows out"
            )


def check_settings(model: Any, *, held_out: bool, groups: bool) -> None:
    """Raise ValueError for a setting that cannot be, or does not go with the rows that are given."""
    if model.loss not in ("metric", "soft", "cross-entropy"):
        raise ValueError(f'loss must be "metric", "soft" or "cross-entropy", got {model.loss!r}')
    try:
        torch.empty(0, device=model.device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f'device={model.device!r} cannot be used: {reason}; take "cpu", or what torch.device accepts '
            "on this machine"
        ) from error
    if model.cut not in CUTS:
        raise ValueError(f'cut must be "expected", "empirical" or "zero", got {model.cut!r}')
    if held_out and groups:
        raise ValueError("give groups or validation_set, not both: the validation set is what is held out")
    if not held_out and model.validation_fraction is None:
        if model.cut != "zero":
            raise ValueError(
                f'cut="{model.cut}" needs held-out rows; give validation_fraction, such as 0.2, '
                'or set cut="zero"'
            )
        if model.checkpoint is not None:
            raise ValueError("a checkpoint needs held-out rows; give validation_fraction, such as 0.2")
        if groups:
            raise ValueError("groups are for holding rows out; give validation_fraction, such as 0.2")
    if model.validation_fraction is not None and not 0.0 < model.validation_fraction < 1.0:
        raise ValueError(
            f"validation_fraction must be between 0 and 1, or None, got {model.validation_fraction!r}"
        )
    if not 0.0 <= model.min_share < 1.0:
        raise ValueError(f"min_share must be 0 or more and less than 1, got {model.min_share!r}")
    for name in ("max_epochs", "batch_size", "patience"):
        if getattr(model, name) < 1:
            raise ValueError(f"{name} must be 1 or more, got {getattr(model, name)!r}")


def constrained_metric(
    metric: Metric | str, subject_to: Constraint | str | Sequence[Constraint | str] | None
) -> Metric:
    """Return the metric with further constraints, given in any form.

    Examples
    --------
    >>> constrained_metric("precision", "recall >= 0.8")
    Metric(precision = tp/pp subject to recall >= 0.8)
    """
    metric = get_metric(metric)
    if subject_to is None:
        return metric
    given = (subject_to,) if isinstance(subject_to, str | Constraint) else tuple(subject_to)
    constraints: list[Constraint] = []
    for constraint in given:
        if isinstance(constraint, str):
            constraints += get_metric(f"accuracy subject to {constraint}").constraints
        else:
            constraints.append(constraint)
    return metric.subject_to(*constraints) if constraints else metric
