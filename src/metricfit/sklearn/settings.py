"""What the settings of the estimator may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metricfit import Constraint, Metric, get_metric

__all__ = ["CUTS", "check_settings", "constrained_metric"]

CUTS = ("expected", "empirical", "zero")


def check_settings(model: Any, *, held_out: bool, groups: bool) -> None:
    """Raise ValueError for a setting that cannot be, or does not go with the rows that are given."""
    if model.loss not in ("metric", "cross-entropy"):
        raise ValueError(f'loss must be "metric" or "cross-entropy", got {model.loss!r}')
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
    """Return a metric with further constraints.

    Examples
    --------
    >>> constrained_metric("precision", "recall >= 0.8")
    Metric(precision = tp/pp subject to recall >= 0.8)
    """
    found = get_metric(metric)
    if subject_to is None:
        return found
    constraints: list[Constraint] = []
    for given in (subject_to,) if isinstance(subject_to, str | Constraint) else tuple(subject_to):
        if isinstance(given, str):
            constraints += get_metric(f"accuracy subject to {given}").constraints
        else:
            constraints.append(given)
    return found.subject_to(*constraints) if constraints else found
