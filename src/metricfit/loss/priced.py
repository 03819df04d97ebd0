"""Settings with the multipliers of constraints over the data built into the metric that is played."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from torch import Tensor

from metricfit.loss.settings import Settings
from metricfit.metrics.combination import combined

__all__ = ["on_grid", "priced"]

STEPS_PER_DOUBLING = 5
"""Every multiplier has tables of its own, so that nearby ones are made equal: to within 7 per cent."""


def on_grid(multipliers: Tensor) -> tuple[float, ...]:
    """Return multipliers rounded to a geometric grid; waits for their device.

    Examples
    --------
    >>> import torch
    >>> on_grid(torch.tensor([[2.1, 1.0]]))
    (2.0, 1.0)
    """
    steps = (round(STEPS_PER_DOUBLING * math.log2(value)) for value in multipliers.flatten().tolist())
    return tuple(2.0 ** (step / STEPS_PER_DOUBLING) for step in steps)


@lru_cache(maxsize=256)
def priced(settings: Settings, multipliers: tuple[float, ...]) -> Settings:
    """Return settings that play for the metric and, as much as the multipliers say, for its constraints.

    Examples
    --------
    >>> import metricfit as mf
    >>> priced(Settings(mf.recall_at_precision(0.9), constraints="running"), (3.0,)).metric.constraints
    ()
    """
    return replace(settings, metric=combined(settings.metric, multipliers))
