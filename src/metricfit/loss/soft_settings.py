"""The arguments of the soft loss, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from metricfit.loss.settings import (
    Reduction,
    check_ignore_index,
    check_reduction,
    is_count,
    is_index,
    is_positive,
    is_weight,
)
from metricfit.metrics import Metric

__all__ = ["Average", "SoftSettings", "check_temperature", "slack_of"]

SLACK = 0.05
"""How far the bounds of the decision may be off where they do not touch it."""

Average: TypeAlias = Literal["macro", "weighted", "micro", "samples"] | int


@dataclass(frozen=True)
class SoftSettings:
    """Everything about the soft loss but tensors; :class:`metricfit.SoftMetricLoss` says what it means.

    Examples
    --------
    >>> import metricfit as mf
    >>> SoftSettings(mf.f1, temperature=0.0)
    Traceback (most recent call last):
        ...
    ValueError: temperature must be a positive number, got 0.0
    """

    metric: Metric
    temperature: float = 1.0
    reduction: Reduction = "mean"
    group_size: int | None = None
    ignore_index: int | None = None
    gather: bool = False
    average: Average = "macro"
    bounds: float = 0.0
    cross_entropy: float = 0.0

    def __post_init__(self) -> None:
        if self.metric.size is not None:
            raise ValueError(
                f"{self.metric.name} is of predictions of one size, and a soft loss measures decisions at 0; "
                "take mf.MetricLoss, or the metric without its size"
            )
        check_temperature(self.temperature)
        check_reduction(self.reduction)
        check_ignore_index(self.ignore_index)
        if self.group_size is not None and not is_count(self.group_size):
            raise ValueError(f"group_size must be a positive integer or None, got {self.group_size!r}")
        if self.average not in ("macro", "weighted", "micro", "samples") and not is_index(self.average):
            raise ValueError(
                f'average must be "macro", "weighted", "micro", "samples" or the number of a class, got '
                f"{self.average!r}"
            )
        if not is_weight(self.cross_entropy):
            raise ValueError(f"cross_entropy must be a number, 0 or more, got {self.cross_entropy!r}")
        if self.average == "samples" and self.group_size is not None:
            raise ValueError(
                'average="samples" measures every row on its own; leave out group_size, or choose another '
                "average"
            )
        if self.gather and (self.group_size is not None or self.average == "samples"):
            raise ValueError(
                "gather=True measures the batches of all ranks as one; leave out group_size and "
                'average="samples", which divide a batch'
            )

    @property
    def per_label(self) -> bool:
        """Whether every label or class has a confusion matrix of its own."""
        return self.average not in ("micro", "samples")

    @property
    def weighted(self) -> bool:
        """Whether labels or classes count by their positives.

        Examples
        --------
        >>> import metricfit as mf
        >>> SoftSettings(mf.get_metric("weighted f1")).weighted
        True
        """
        return "weighted" in (self.average, self.metric.average if self.average == "macro" else None)

    def group_count(self, n: int) -> int:
        """Return the number of groups that `n` rows are split into; row ``i`` is in ``i * groups // n``.

        Examples
        --------
        >>> import metricfit as mf
        >>> SoftSettings(mf.f1, group_size=32).group_count(70)
        3
        """
        if self.average == "samples":
            return n
        return 1 if self.group_size is None else -(-n // self.group_size)


def check_temperature(temperature: float) -> None:
    """Refuse what logits cannot be divided by."""
    if not is_positive(temperature):
        raise ValueError(f"temperature must be a positive number, got {temperature!r}")


def slack_of(bounds: bool | float) -> float:
    """Return the slack of the bounds of the decision, 0 for none.

    Examples
    --------
    >>> slack_of(False), slack_of(True), slack_of(0.1)
    (0.0, 0.05, 0.1)
    """
    if isinstance(bounds, bool):
        return SLACK if bounds else 0.0
    if not (is_positive(bounds) and bounds < 1.0):
        raise ValueError(f"bounds must be True, False or a number between 0 and 1, got {bounds!r}")
    return float(bounds)
