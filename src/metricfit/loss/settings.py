"""The plain values of the loss, checked, in the form the operator takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Literal, TypeAlias

from metricfit.metrics import Metric, get_metric
from metricfit.metrics.text import to_text
from metricfit.solvers.registry import resolve

__all__ = ["DEFAULT_SCALE", "Infeasible", "Reduction", "Scale", "Settings", "metric_text"]

DEFAULT_SCALE = 32.0

Scale: TypeAlias = float | Literal["batch"]
Reduction: TypeAlias = Literal["mean", "sum", "none"]
Infeasible: TypeAlias = Literal["error", "skip"]


@dataclass(frozen=True)
class Settings:
    """Everything about the loss but the metric and the tensors.

    Examples
    --------
    >>> Settings(scale=-1.0)
    Traceback (most recent call last):
        ...
    ValueError: scale must be a positive number or "batch", got -1.0
    """

    scale: Scale = DEFAULT_SCALE
    solver: str = "auto"
    tol: float = 1e-4
    reduction: Reduction = "mean"
    group_size: int | None = None
    ignore_index: int | None = None
    gather: bool = False
    infeasible: Infeasible = "error"

    def __post_init__(self) -> None:
        if self.scale != "batch" and not _is_positive(self.scale):
            raise ValueError(f'scale must be a positive number or "batch", got {self.scale!r}')
        resolve(self.solver)
        if not _is_positive(self.tol):
            raise ValueError(f"tol must be a positive number, got {self.tol!r}")
        if self.reduction not in ("mean", "sum", "none"):
            raise ValueError(f'reduction must be "mean", "sum" or "none", got {self.reduction!r}')
        if self.group_size is not None and not (_is_integer(self.group_size) and self.group_size >= 1):
            raise ValueError(f"group_size must be a positive integer or None, got {self.group_size!r}")
        if self.ignore_index is not None and not _is_integer(self.ignore_index):
            raise ValueError(f"ignore_index must be an integer or None, got {self.ignore_index!r}")
        if self.ignore_index in (0, 1):
            raise ValueError(f"ignore_index={self.ignore_index} would drop a whole class; take another number")
        if self.infeasible not in ("error", "skip"):
            raise ValueError(f'infeasible must be "error" or "skip", got {self.infeasible!r}')
        if self.gather and self.group_size is not None and self.reduction == "none":
            raise ValueError(
                'reduction="none" cannot tell the groups of a gathered batch apart, whose number depends on '
                "the other ranks; use another reduction, or no group_size"
            )

    def plain(self) -> tuple[float | None, str, float, str, int | None, int | None, bool, bool]:
        """Return the operator's arguments, from `scale` to `skip_infeasible`."""
        return (
            None if self.scale == "batch" else float(self.scale),
            self.solver,
            float(self.tol),
            self.reduction,
            self.group_size,
            self.ignore_index,
            self.gather,
            self.infeasible == "skip",
        )


def metric_text(metric: Metric | str) -> str:
    """Return the text that the operator knows a metric by.

    Examples
    --------
    >>> metric_text("recall")
    '{"name": "recall", "formula": "tp/ap"}'
    """
    return _text(metric, "" if isinstance(metric, str) else metric.name)


@lru_cache(maxsize=256)
def _text(metric: Metric | str, _name: str) -> str:
    # Equal metrics may differ in name, which is part of the text.
    return to_text(get_metric(metric))


def _is_positive(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < math.inf


def _is_integer(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
