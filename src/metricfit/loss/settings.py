"""The settings of the loss: checked, and as the one line of text that the operator takes."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from metricfit.metrics import Metric
from metricfit.metrics.plain import from_plain, to_plain
from metricfit.solving.registry import resolve

__all__ = [
    "AUTO_GROUP_SIZE",
    "DEFAULT_SCALE",
    "DEVICE",
    "Constraints",
    "GroupSize",
    "Infeasible",
    "LabelAverage",
    "Reduction",
    "Scale",
    "Settings",
    "check_ignore_index",
    "check_reduction",
    "from_text",
    "is_count",
    "is_index",
    "is_positive",
]

DEFAULT_SCALE = 8.0
AUTO_GROUP_SIZE = 32
DEVICE = "device"
"""The solver that plays games where their logits are."""

Scale: TypeAlias = float | Literal["batch"]
GroupSize: TypeAlias = int | Literal["auto"] | None
Reduction: TypeAlias = Literal["mean", "sum", "none"]
Infeasible: TypeAlias = Literal["error", "skip"]
Constraints: TypeAlias = Literal["game", "running"]
LabelAverage: TypeAlias = Literal["macro", "weighted"] | int


@dataclass(frozen=True)
class Settings:
    """Everything about the loss but the tensors; :class:`metricfit.MetricLoss` says what it means.

    Examples
    --------
    >>> import metricfit as mf
    >>> Settings(mf.f1, scale=-1.0)
    Traceback (most recent call last):
        ...
    ValueError: scale must be a positive number or "batch", got -1.0
    """

    metric: Metric
    scale: Scale = DEFAULT_SCALE
    solver: str = "auto"
    tol: float = 1e-4
    reduction: Reduction = "mean"
    group_size: GroupSize = "auto"
    ignore_index: int | None = None
    gather: bool = False
    infeasible: Infeasible = "error"
    constraints: Constraints = "game"
    average: LabelAverage = "macro"

    def __post_init__(self) -> None:
        self.metric.check_playable()
        if self.scale != "batch" and not is_positive(self.scale):
            raise ValueError(f'scale must be a positive number or "batch", got {self.scale!r}')
        if self.solver != DEVICE:
            resolve(self.solver)
        elif why := self.why_not_on_device():
            raise ValueError(f'solver="{DEVICE}" cannot play {why}; use solver="auto", which can')
        if not is_positive(self.tol):
            raise ValueError(f"tol must be a positive number, got {self.tol!r}")
        check_reduction(self.reduction)
        if self.group_size not in ("auto", None) and not is_count(self.group_size):
            raise ValueError(
                f'group_size must be a positive integer, None or "auto", got {self.group_size!r}'
            )
        check_ignore_index(self.ignore_index)
        if self.average not in ("macro", "weighted") and not is_index(self.average):
            raise ValueError(
                f'average must be "macro", "weighted" or the number of a class, got {self.average!r}'
            )
        if self.gather and "weighted" in (self.average, self.metric.average):
            raise ValueError(
                'average="weighted" needs the positives of all ranks, which gather=True does not share; take '
                'average="macro", or leave out gather'
            )
        if self.infeasible not in ("error", "skip"):
            raise ValueError(f'infeasible must be "error" or "skip", got {self.infeasible!r}')
        if self.gather and self.largest_group is not None and self.reduction == "none":
            raise ValueError(
                'reduction="none" cannot tell the groups of a gathered batch apart, whose number depends on '
                "the other ranks; use another reduction, or group_size=None"
            )

    def why_not_on_device(self) -> str:
        """Return which of the settings the device solver does not support, or nothing.

        Examples
        --------
        >>> import metricfit as mf
        >>> Settings(mf.f1, gather=True).why_not_on_device()
        'with gather'
        """
        if self.metric.size is not None:
            return "predictions of one size only"
        if self.ignore_index is not None:
            return "with ignore_index, since how many items take part is known on the device only"
        return "with gather" if self.gather else ""

    def factor(self, n: int) -> float:
        """Return the factor from the logits of a game of `n` items to its scores.

        Examples
        --------
        >>> import metricfit as mf
        >>> Settings(mf.f1).factor(64), Settings(mf.f1, scale="batch").factor(64)
        (0.125, 1.0)
        """
        return 1.0 if self.scale == "batch" else self.scale / n

    @property
    def largest_group(self) -> int | None:
        """The largest size of a group, or None if a batch is never split.

        Examples
        --------
        >>> import metricfit as mf
        >>> Settings(mf.f1).largest_group
        32
        >>> Settings(mf.f1, gather=True).largest_group
        """
        if self.group_size == "auto":
            return None if self.gather else AUTO_GROUP_SIZE
        return self.group_size

    def group_count(self, n: int) -> int:
        """Return the number of groups that `n` items are split into.

        Item ``i`` belongs to group ``i * groups // n``, so that sizes differ by one at most.

        Examples
        --------
        >>> import metricfit as mf
        >>> Settings(mf.f1, group_size=32).group_count(70)
        3
        """
        largest = self.largest_group
        return 1 if largest is None else (n + largest - 1) // largest

    def text(self, **changes: Any) -> str:
        """Return one line that `from_text` turns into equal settings, but for changes.

        Examples
        --------
        >>> import metricfit as mf
        >>> settings = Settings(mf.f1.subject_to(mf.recall >= 0.8), reduction="sum")
        >>> from_text(settings.text()) == settings
        True
        """
        if changes:
            return replace(self, **changes).text()
        plain = {
            **vars(self),
            "metric": to_plain(self.metric),
            "scale": self.scale if self.scale == "batch" else float(self.scale),
            "tol": float(self.tol),
            "group_size": int(self.group_size) if isinstance(self.group_size, Integral) else self.group_size,
            "ignore_index": None if self.ignore_index is None else int(self.ignore_index),
            "gather": bool(self.gather),
            "average": self.average if isinstance(self.average, str) else int(self.average),
        }
        return json.dumps(plain)


@lru_cache(maxsize=256)
def from_text(text: str) -> Settings:
    """Return the settings that `Settings.text` wrote.

    Examples
    --------
    >>> import metricfit as mf
    >>> from_text(Settings(mf.f1).text()).metric
    Metric(f1 = 2*tp/(ap + pp))
    """
    plain = json.loads(text)
    return Settings(**{**plain, "metric": from_plain(plain["metric"])})


def check_reduction(reduction: str) -> None:
    """Raise ValueError for anything that is not a reduction of PyTorch."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')


def check_ignore_index(index: int | None) -> None:
    """Raise an error for anything that is not an index, or that is the index of a class."""
    if index is not None and not _is_integer(index):
        raise ValueError(f"ignore_index must be an integer or None, got {index!r}")
    if index in (0, 1):
        raise ValueError(f"ignore_index={index} would drop a whole class; take another number")


def is_positive(value: object) -> bool:
    """Whether a value is a finite number above 0."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < math.inf


def is_weight(value: object) -> bool:
    """Whether a value is a finite number, 0 or more."""
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < math.inf


def is_count(value: object) -> bool:
    """Whether a value is an integer of 1 or more."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1


def is_index(value: object) -> bool:
    """Whether a value is an integer of 0 or more."""
    return _is_integer(value) and int(value) >= 0  # type: ignore[call-overload]


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
