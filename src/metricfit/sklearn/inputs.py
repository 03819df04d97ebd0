"""The settings and the metric that an estimator is given, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from skorch.callbacks import Callback

from metricfit import Constraint, Metric, get_metric
from metricfit.sklearn.cut_curve import CutRule

__all__ = [
    "CUTS",
    "check_settings",
    "constrained_metric",
    "is_missing",
    "refuse_dates",
    "refuse_frame",
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


def refuse_frame(X: Any) -> None:
    """Raise an error for a data frame that would be taken apart wrongly, or in other words.

    Examples
    --------
    >>> import pandas as pd
    >>> refuse_frame(pd.DataFrame([[1, 2]], columns=["age", "age"]))
    Traceback (most recent call last):
        ...
    ValueError: X has two columns named 'age'; rename one of them
    """
    if hasattr(X, "collect_schema") and not hasattr(X, "shape"):
        raise TypeError("X is a lazy frame, which has no rows yet; give X.collect()")
    seen: set[Any] = set()
    for name in getattr(X, "columns", ()):
        if name in seen:
            raise ValueError(f"X has two columns named {name!r}; rename one of them")
        seen.add(name)


def refuse_dates(name: object, dtype: Any) -> None:
    """Raise ValueError for a column of dates or durations, which would become nanoseconds or the like.

    Examples
    --------
    >>> refuse_dates("when", np.dtype("datetime64[D]"))
    Traceback (most recent call last):
        ...
    ValueError: column 'when' holds dates or durations; turn it into numbers, such as the day of the year
    """
    # Types of NumPy and pandas have a kind, those of polars have questions to ask.
    temporal = hasattr(dtype, "is_temporal") and dtype.is_temporal()
    if temporal or getattr(dtype, "kind", "") in ("m", "M"):
        raise ValueError(
            f"column {name!r} holds dates or durations; turn it into numbers, such as the day of the year"
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
    if model.validation_fraction is not None and not (
        isinstance(model.validation_fraction, int | float) and 0.0 < model.validation_fraction < 1.0
    ):
        raise ValueError(
            f"validation_fraction must be between 0 and 1, or None, got {model.validation_fraction!r}"
        )
    if not (isinstance(model.min_share, int | float) and 0.0 <= model.min_share < 1.0):
        raise ValueError(f"min_share must be 0 or more and less than 1, got {model.min_share!r}")
    for name in ("max_epochs", "batch_size", "patience"):
        if not isinstance(value := getattr(model, name), Integral) or value < 1:
            raise ValueError(f"{name} must be a whole number of 1 or more, got {value!r}")
    _check_parts(model)


def _check_parts(model: Any) -> None:
    """Raise an error for what PyTorch, skorch or the disk would refuse later and in other words."""
    if not (isinstance(model.optimizer, type) and issubclass(model.optimizer, torch.optim.Optimizer)):
        raise TypeError(
            f"optimizer must be a class such as torch.optim.AdamW, not {model.optimizer!r}; its settings are "
            "lr and weight_decay"
        )
    for given in model.callbacks or ():
        callback = given[1] if isinstance(given, tuple) and len(given) == 2 else given
        if not (
            isinstance(callback, Callback) or (isinstance(callback, type) and issubclass(callback, Callback))
        ):
            raise TypeError(f"callbacks must be a list of skorch callbacks, but one is {given!r}")
    if model.checkpoint is not None and not Path(model.checkpoint).parent.is_dir():
        raise FileNotFoundError(f"there is no folder for checkpoint={str(model.checkpoint)!r}; make it first")


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
    if not isinstance(subject_to, str | Constraint | Iterable):
        raise TypeError(
            f'subject_to must be a constraint such as "recall >= 0.8", or a list of them, got {subject_to!r}'
        )
    given = (subject_to,) if isinstance(subject_to, str | Constraint) else tuple(subject_to)
    constraints: list[Constraint] = []
    for constraint in given:
        if isinstance(constraint, str):
            constraints += get_metric(f"accuracy subject to {constraint}").constraints
        else:
            constraints.append(constraint)
    return metric.subject_to(*constraints) if constraints else metric
